import { existsSync } from 'node:fs'
import { Busy, remedy } from '../../errors.js'
import type { Lists, Mark, NamedList, ReadLists, ReadTrials, Trial, TrialKind, Trials } from '../../source.js'
import { type Notice, openForReading, openForWriting, Session } from './connection.js'
import type { DatabaseKind } from './migrations.js'

/** The lists of a user, in a file of their own beside the data: a question never writes to those. */
export const LISTS: DatabaseKind = {
  table: 'lists',
  made: remedy('watch add', ['NAME', 'TICKER']),
  mend: 'put a copy from before in its place, or take it away and make the lists again',
  mode: 0o644,
  migrations: [
    `
    -- condition: as it is printed, of a list of the tickers for which it holds; NULL where its tickers were named.
    -- made: milliseconds since 1970
    CREATE TABLE lists (
      name TEXT PRIMARY KEY COLLATE NOCASE,
      condition TEXT,
      made INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- place: the order in which they were named
    CREATE TABLE list_tickers (
      list TEXT NOT NULL COLLATE NOCASE REFERENCES lists (name) ON DELETE CASCADE,
      ticker TEXT NOT NULL,
      place INTEGER NOT NULL,
      PRIMARY KEY (list, ticker)
    ) STRICT, WITHOUT ROWID;
    -- The last final bar of a ticker that was told, by question. list: of which lists (a, or a,b; '' of none), and what
    -- narrows it (a#digest). day: since 1970
    CREATE TABLE seen (
      list TEXT NOT NULL COLLATE NOCASE,
      ticker TEXT NOT NULL,
      timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
      day INTEGER NOT NULL,
      PRIMARY KEY (list, ticker, timeframe)
    ) STRICT, WITHOUT ROWID;
    `,
  ],
}

/** The lists in one SQLite file, made first if it is missing. Throws StorageError where none can be made or written. */
export function openSqliteLists(path: string, now: () => number = Date.now, notice?: Notice): Lists {
  return new SqliteLists(writable(path, LISTS, notice), now)
}

/** A file that cannot be written opens all the same: that is said now, and not when the work is done. */
function writable(path: string, kind: DatabaseKind, notice: Notice | undefined): Session {
  const session = new Session(path, openForWriting(path, kind, notice), kind)
  try {
    session.transaction(() => {})
  } catch (error) {
    if (!(error instanceof Busy)) {
      session.close()
      throw error
    }
  }
  return session
}

/** The same for reading; null where none was made yet. Throws StorageError for one that cannot be read. */
export function openSqliteListsForReading(path: string): ReadLists | null {
  if (!existsSync(path)) return null
  return new SqliteLists(new Session(path, openForReading(path, LISTS), LISTS), Date.now)
}

interface ListRow {
  name: string
  condition: string | null
}

class SqliteLists implements Lists {
  readonly #db: Session
  readonly #now: () => number

  constructor(db: Session, now: () => number) {
    this.#db = db
    this.#now = now
  }

  async all(): Promise<readonly NamedList[]> {
    return this.#db.reading(() => this.#db.all<ListRow>(`${ALL} ORDER BY name`).map(row => this.#whole(row)))
  }

  async named(name: string): Promise<NamedList | undefined> {
    return this.#db.reading(() => this.#named(name))
  }

  async add(name: string, tickers: readonly string[]): Promise<NamedList> {
    return this.#db.transaction(() => {
      this.#db.run(INTO_LISTS, name, null, this.#now())
      const { places } = this.#db.get<{ places: number }>(PLACES, name)!
      for (const [i, ticker] of tickers.entries()) this.#db.run(INTO_TICKERS, name, ticker, places + i)
      return this.#named(name)!
    })
  }

  async addCondition(name: string, condition: string): Promise<NamedList> {
    return this.#db.transaction(() => {
      this.#db.run(INTO_LISTS, name, condition, this.#now())
      return this.#named(name)!
    })
  }

  async take(name: string, tickers: readonly string[]): Promise<NamedList> {
    return this.#db.transaction(() => {
      for (const ticker of tickers) this.#db.run('DELETE FROM list_tickers WHERE list = ? AND ticker = ?', name, ticker)
      return this.#named(name)!
    })
  }

  async remove(name: string): Promise<void> {
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM lists WHERE name = ?', name)
      // Another of that name has told nothing yet.
      this.#db.run(`DELETE FROM seen WHERE ${isOf('?')}`, name)
    })
  }

  async renameTicker(ticker: string, name: string): Promise<string[]> {
    return this.#db.transaction(() => {
      const lists = this.#db.all<{ list: string }>(LISTS_WITH, ticker).map(({ list }) => list)
      // What is there of the new name is of a ticker that is no more.
      for (const list of lists) this.#db.run('DELETE FROM list_tickers WHERE list = ? AND ticker = ?', list, name)
      this.#db.run('UPDATE list_tickers SET ticker = ? WHERE ticker = ?', name, ticker)
      this.#db.run('DELETE FROM seen WHERE ticker = ?', name)
      this.#db.run('UPDATE seen SET ticker = ? WHERE ticker = ?', name, ticker)
      return lists
    })
  }

  async seen(question: string): Promise<readonly Mark[]> {
    return this.#db.all<Mark>(SEEN, question)
  }

  async see(question: string, marks: readonly Mark[]): Promise<void> {
    this.#db.transaction(() => {
      for (const { ticker, timeframe, day } of marks) this.#db.run(INTO_SEEN, question, ticker, timeframe, day)
    })
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  #named(name: string): NamedList | undefined {
    const row = this.#db.get<ListRow>(`${ALL} WHERE name = ?`, name)
    return row && this.#whole(row)
  }

  #whole({ name, condition }: ListRow): NamedList {
    const rows = this.#db.all<{ ticker: string }>(TICKERS_OF, name)
    return { name, condition, tickers: rows.map(({ ticker }) => ticker) }
  }
}

/** The lists of a question in `seen`. */
const LISTS_OF = "substr(list, 1, instr(list || '#', '#') - 1)"

/** Whether a list is among them. */
function isOf(name: string): string {
  return `instr(',' || lower(${LISTS_OF}) || ',', ',' || lower(${name}) || ',') > 0`
}

const ALL = 'SELECT name, condition FROM lists'
const TICKERS_OF = 'SELECT ticker FROM list_tickers WHERE list = ? ORDER BY place'
const LISTS_WITH = 'SELECT list FROM list_tickers WHERE ticker = ? ORDER BY list'
const PLACES = 'SELECT coalesce(max(place) + 1, 0) AS places FROM list_tickers WHERE list = ?'
const INTO_LISTS = 'INSERT INTO lists (name, condition, made) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING'
const INTO_TICKERS = 'INSERT INTO list_tickers (list, ticker, place) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
const SEEN = 'SELECT ticker, timeframe, day FROM seen WHERE list = ? ORDER BY ticker, timeframe'
// What was told stays told, whatever day a later question is asked as of.
const INTO_SEEN = `INSERT INTO seen (list, ticker, timeframe, day) VALUES (?, ?, ?, ?)
  ON CONFLICT (list, ticker, timeframe) DO UPDATE SET day = max(day, excluded.day)`

/** Rows that no list has, as verify looks for them. */
export const STRANGE_LISTS = `
  SELECT 'the list ' || name || ' has a condition and tickers' AS what FROM lists
    WHERE condition IS NOT NULL AND EXISTS (SELECT 1 FROM list_tickers WHERE list = name)
  UNION ALL SELECT 'a list has no name' FROM lists WHERE name = ''
  UNION ALL SELECT 'what was told of ' || ${LISTS_OF} || ' is of no list' FROM seen
    WHERE ${LISTS_OF} <> '' AND (SELECT count(*) FROM lists WHERE ${isOf('name')})
      < 1 + length(${LISTS_OF}) - length(replace(${LISTS_OF}, ',', '')) GROUP BY ${LISTS_OF}`

/**
 * Every look that was ever taken at the data, in a file of its own beside them: a study only reads those, and they are
 * made anew of the files that were imported, which the looks cannot be.
 */
export const TRIALS: DatabaseKind = {
  table: 'trials',
  made: remedy('study', ['TICKER', 'FIELD']),
  mend: 'put a copy from before in its place, or take it away: trials are then counted from there',
  mode: 0o644,
  migrations: [
    `
    -- id: the order in which they came. hash: SHA-256 in hexadecimal digits. seen: milliseconds since 1970
    CREATE TABLE trials (
      id INTEGER PRIMARY KEY,
      hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
      kind TEXT NOT NULL CHECK (kind IN ('cell', 'strategy')),
      spec TEXT NOT NULL,
      p REAL,
      sharpe REAL,
      seen INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX trials_by_kind ON trials (kind);
    `,
    `
    -- test: which one p is of; NULL where that was not noted yet
    ALTER TABLE trials ADD COLUMN test TEXT;
    `,
  ],
}

/** The ledger in one SQLite file, made first if it is missing. Throws StorageError where none can be made or written. */
export function openSqliteTrials(path: string, now: () => number = Date.now, notice?: Notice): Trials {
  return new SqliteTrials(writable(path, TRIALS, notice), now)
}

/** What a ledger holds; the file is only read. Throws StorageError where there is none, or none that can be read. */
export function openSqliteTrialsForReading(path: string): ReadTrials {
  return new SqliteTrials(new Session(path, openForReading(path, TRIALS), TRIALS), Date.now)
}

class SqliteTrials implements Trials {
  readonly #db: Session
  readonly #now: () => number

  constructor(db: Session, now: () => number) {
    this.#db = db
    this.#now = now
  }

  async note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }> {
    const seen = this.#now()
    return this.#db.transaction(() => {
      for (const { hash, spec, p, test, sharpe } of trials)
        this.#db.run(INTO_TRIALS, hash, kind, spec, p, test, sharpe, seen)
      return this.#db.get<{ ofKind: number; all: number }>(COUNTS, kind)!
    })
  }

  async of(kind: TrialKind): Promise<readonly Trial[]> {
    // One that is only read takes no step of its schema, and may know of no tests yet.
    const test = this.#db.schema < WITH_TESTS ? 'NULL AS test' : 'test'
    return this.#db.all<Trial>(`SELECT hash, spec, p, ${test}, sharpe FROM trials WHERE kind = ? ORDER BY id`, kind)
  }

  async close(): Promise<void> {
    this.#db.close()
  }
}

/** The step of the schema from which on the test of each p is kept. */
const WITH_TESTS = 2

// What was seen before stays as it was seen: a second look at the same is none. But p-values of two tests are no family.
const INTO_TRIALS = `
  INSERT INTO trials (hash, kind, spec, p, test, sharpe, seen) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (hash) DO UPDATE SET p = excluded.p, test = excluded.test
  WHERE excluded.test IS NOT NULL AND excluded.test IS NOT trials.test`
const COUNTS = 'SELECT count(*) FILTER (WHERE kind = ?) AS ofKind, count(*) AS "all" FROM trials'
