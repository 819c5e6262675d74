import { existsSync } from 'node:fs'
import { Busy, quoted, remedy } from '../../../core/errors.js'
import type { Timeframe } from '../../../core/model/terms.js'
import type { Lists, Mark, NamedList, ReadLists, ReadTrials, Trial, Trials } from '../../../core/source.js'
import { type Damage, Damaged } from '../store.js'
import { type Notice, openForReading, openForWriting, Session } from './connection.js'
import type { DatabaseKind } from './migrations.js'
import {
  addRowHashesSql,
  damagedRows,
  hashWrittenRows,
  JUST_WRITTEN,
  markWrittenSql,
  rowHashSql,
  type Table,
} from './row-hash.js'

/** The user's watch lists, in a file next to the data: a question never writes to the data. */
export const LISTS: DatabaseKind = {
  table: 'lists',
  createCommand: remedy('watch add', ['NAME', 'TICKER']),
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
    `
    -- Marks of fields that answers left out; every other field has the mark of its ticker in seen
    CREATE TABLE seen_fields (
      list TEXT NOT NULL COLLATE NOCASE,
      ticker TEXT NOT NULL,
      timeframe TEXT NOT NULL CHECK (timeframe IN ('daily', 'weekly')),
      field TEXT NOT NULL,
      day INTEGER NOT NULL,
      PRIMARY KEY (list, ticker, timeframe, field)
    ) STRICT, WITHOUT ROWID;
    `,
    addRowHashesSql(['lists', 'list_tickers', 'seen', 'seen_fields']),
  ],
}

/**
 * The lists in one SQLite file, which is made if it is missing. Throws StorageError if it cannot be made or written.
 */
export function openSqliteLists(path: string, now: () => number = Date.now, notice?: Notice): Lists {
  return new SqliteLists(openWritable(path, LISTS, notice), now)
}

/** Opens a file for writing, and tries a write now rather than after the work. Throws, unless the file is only busy. */
function openWritable(path: string, kind: DatabaseKind, notice: Notice | undefined): Session {
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

/** Opens the lists for reading; null if there is no file yet. Throws StorageError for lists that cannot be read. */
export function openSqliteListsForReading(path: string): ReadLists | null {
  if (!existsSync(path)) return null
  return new SqliteLists(new Session(path, openForReading(path, LISTS), LISTS))
}

/** A user's conditions by their names in lower case. Throws StorageError for lists that cannot be read. */
export function readConditions(path: string): Map<string, string> {
  const db = new Session(path, openForReading(path, LISTS), LISTS)
  try {
    const rows = db.readAtOneMoment(() => db.all<ListRow>(`${SELECT_LISTS} WHERE condition IS NOT NULL ORDER BY name`))
    return new Map(rows.map(({ name, condition }) => [name.toLowerCase(), condition!]))
  } finally {
    db.close()
  }
}

interface ListRow {
  name: string
  condition: string | null
}

class SqliteLists implements Lists {
  readonly #db: Session
  readonly #now: () => number

  /** @param now milliseconds since 1970 */
  constructor(db: Session, now: () => number = Date.now) {
    this.#db = db
    this.#now = now
  }

  async all(): Promise<NamedList[]> {
    const db = this.#db
    return db.readAtOneMoment(() => db.all<ListRow>(`${SELECT_LISTS} ORDER BY name`).map(row => listFromRow(db, row)))
  }

  async named(name: string): Promise<NamedList | undefined> {
    return this.#db.readAtOneMoment(() => findList(this.#db, name))
  }

  /** Adds tickers to a list, which is made if it is missing. Returns the list. */
  async add(name: string, tickers: readonly string[]): Promise<NamedList> {
    return this.#writeAndHash(db => {
      db.run(INSERT_LIST, name, null, this.#now())
      const { nextPlace } = db.get<{ nextPlace: number }>(SELECT_NEXT_PLACE, name)!
      for (const [i, ticker] of tickers.entries()) db.run(INSERT_TICKER, name, ticker, nextPlace + i)
      return findList(db, name)!
    })
  }

  async addCondition(name: string, condition: string): Promise<NamedList> {
    return this.#writeAndHash(db => {
      db.run(INSERT_LIST, name, condition, this.#now())
      return findList(db, name)!
    })
  }

  async removeTickers(name: string, tickers: readonly string[]): Promise<NamedList> {
    return this.#writeAndHash(db => {
      for (const ticker of tickers) db.run('DELETE FROM list_tickers WHERE list = ? AND ticker = ?', name, ticker)
      return findList(db, name)!
    })
  }

  async remove(name: string): Promise<void> {
    this.#writeAndHash(db => {
      db.run('DELETE FROM lists WHERE name = ?', name)
      // A later list of that name begins without marks.
      for (const table of MARK_TABLES) db.run(`DELETE FROM ${table} WHERE ${isAmongListsSql('?')}`, name)
    })
  }

  /** Gives a ticker the new name in all lists and marks. Returns the names of the lists that have it. */
  async renameTicker(ticker: string, newName: string): Promise<string[]> {
    return this.#writeAndHash(db => {
      const lists = db.all<{ list: string }>(SELECT_LISTS_WITH_TICKER, ticker).map(({ list }) => list)
      // Rows that already have the new name belong to a deleted ticker.
      for (const list of lists) db.run('DELETE FROM list_tickers WHERE list = ? AND ticker = ?', list, newName)
      db.run(renameTickerSql('list_tickers'), newName, ticker)
      for (const table of MARK_TABLES) {
        db.run(`DELETE FROM ${table} WHERE ticker = ?`, newName)
        db.run(renameTickerSql(table), newName, ticker)
      }
      return lists
    })
  }

  async readMarks(question: string): Promise<Mark[]> {
    return this.#db.readAtOneMoment(() => selectMarks(this.#db, question))
  }

  /**
   * Saves up to which day the series of a question were answered; a stored later day stays. A mark without a field
   * counts for all fields of its series, so a field's own mark of the same day is deleted.
   */
  async saveMarks(question: string, marks: readonly Mark[]): Promise<void> {
    this.#writeAndHash(db => {
      const before = marksBySeries(selectMarks(db, question))
      for (const [series, marksNow] of marksBySeries(marks)) {
        const [ticker, timeframe] = series.split(' ') as [string, string]
        const changed = changedMarks(before.get(series) ?? new Map(), marksNow)
        for (const field of changed.redundant) db.run(DELETE_FIELD_MARK, question, ticker, timeframe, field)
        for (const [field, day] of changed.marks)
          if (field === null) db.run(PUT_MARK, question, ticker, timeframe, day)
          else db.run(PUT_FIELD_MARK, question, ticker, timeframe, field, day)
      }
    })
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  /** Does some writing in one transaction, and gives the written rows their hashes. */
  #writeAndHash<T>(write: (db: Session) => T): T {
    const db = this.#db
    return db.transaction(() => {
      const result = write(db)
      hashWrittenRows(db, LIST_TABLES)
      return result
    })
  }
}

function findList(db: Session, name: string): NamedList | undefined {
  const row = db.get<ListRow>(`${SELECT_LISTS} WHERE name = ?`, name)
  return row && listFromRow(db, row)
}

function listFromRow(db: Session, { name, condition }: ListRow): NamedList {
  const rows = db.all<{ ticker: string }>(SELECT_TICKERS, name)
  return { name, condition, tickers: rows.map(({ ticker }) => ticker) }
}

/**
 * The marks of a question: up to which day each ticker was answered. Throws Damaged if any mark of the file is damaged,
 * even one of another question: the damage may be in its question. A wrong day would leave out changes.
 */
function selectMarks(db: Session, question: string): Mark[] {
  // A file that is only read keeps its schema, which may have no hashes, or no marks of fields.
  const [damage] = db.schema < SCHEMA_WITH_HASHES ? [] : markDamages(db)
  if (damage !== undefined) throw new Damaged(db.location, damage)
  const marks = db.all<Mark>(SELECT_MARKS, question)
  if (db.schema >= SCHEMA_WITH_FIELD_MARKS) marks.push(...db.all<Mark>(SELECT_FIELD_MARKS, question))
  return marks
}

/** The days of the marks of one ticker in one timeframe, by field; null: all fields without a mark of their own. */
type SeriesMarks = ReadonlyMap<string | null, number>

/** Marks (up to which day changes were reported) by `TICKER timeframe`, and then by field. */
function marksBySeries(marks: readonly Mark[]): Map<string, Map<string | null, number>> {
  const bySeries = new Map<string, Map<string | null, number>>()
  for (const { ticker, timeframe, field = null, day } of marks) {
    const series = `${ticker} ${timeframe}`
    const days = bySeries.get(series) ?? new Map<string | null, number>()
    bySeries.set(series, days.set(field, day))
  }
  return bySeries
}

/**
 * What to write after a question was answered again. `marks` has the days that changed, by field; null: all fields
 * without a mark of their own. `redundant` are fields whose own mark is no longer needed. The later of two days counts.
 */
function changedMarks(
  before: SeriesMarks,
  marksNow: SeriesMarks,
): { marks: Map<string | null, number>; redundant: string[] } {
  const dayIn = (marks: SeriesMarks, field: string | null): number =>
    marks.get(field) ?? marks.get(null) ?? Number.NEGATIVE_INFINITY
  const laterDay = (field: string | null): number => Math.max(dayIn(before, field), dayIn(marksNow, field))
  const dayOfAllFields = laterDay(null)
  const marks = new Map<string | null, number>()
  const redundant: string[] = []
  for (const field of new Set([null, ...before.keys(), ...marksNow.keys()])) {
    const day = laterDay(field)
    const needsNoMark = field !== null && day === dayOfAllFields
    if (needsNoMark && before.has(field)) redundant.push(field)
    if (!needsNoMark && day !== before.get(field) && Number.isFinite(day)) marks.set(field, day)
  }
  return { marks, redundant }
}

const SCHEMA_WITH_FIELD_MARKS = 2

const SCHEMA_WITH_HASHES = 3

const MARK_TABLES = ['seen', 'seen_fields'] as const
const LIST_TABLES = ['lists', 'list_tickers', ...MARK_TABLES] as const

/** SQL for the names of a question's lists in `seen`, separated by commas. */
const LIST_NAMES_SQL = "substr(list, 1, instr(list || '#', '#') - 1)"

/** SQL for whether a list is among the lists of a question. @param name SQL for the name of the list */
function isAmongListsSql(name: string): string {
  return `instr(',' || lower(${LIST_NAMES_SQL}) || ',', ',' || lower(${name}) || ',') > 0`
}

const SELECT_LISTS = 'SELECT name, condition FROM lists'
const SELECT_TICKERS = 'SELECT ticker FROM list_tickers WHERE list = ? ORDER BY place'
const SELECT_LISTS_WITH_TICKER = 'SELECT list FROM list_tickers WHERE ticker = ? ORDER BY list'
const SELECT_NEXT_PLACE = 'SELECT coalesce(max(place) + 1, 0) AS nextPlace FROM list_tickers WHERE list = ?'
const INSERT_LIST = `INSERT INTO lists (name, condition, made, row_hash) VALUES (?, ?, ?, ${JUST_WRITTEN}) ON CONFLICT (name) DO NOTHING`
const INSERT_TICKER = `INSERT INTO list_tickers (list, ticker, place, row_hash) VALUES (?, ?, ?, ${JUST_WRITTEN}) ON CONFLICT DO NOTHING`
const SELECT_MARKS = 'SELECT ticker, timeframe, day FROM seen WHERE list = ? ORDER BY ticker, timeframe'
const SELECT_FIELD_MARKS =
  'SELECT ticker, timeframe, day, field FROM seen_fields WHERE list = ? ORDER BY ticker, timeframe, field'
const PUT_MARK = `INSERT OR REPLACE INTO seen (list, ticker, timeframe, day, row_hash) VALUES (?, ?, ?, ?, ${JUST_WRITTEN})`
const PUT_FIELD_MARK = `INSERT OR REPLACE INTO seen_fields (list, ticker, timeframe, field, day, row_hash) VALUES (?, ?, ?, ?, ?, ${JUST_WRITTEN})`
const renameTickerSql = (table: Table): string =>
  `UPDATE ${table} SET ticker = ?, ${markWrittenSql(table)} WHERE ticker = ?`
const DELETE_FIELD_MARK = 'DELETE FROM seen_fields WHERE list = ? AND ticker = ? AND timeframe = ? AND field = ?'

/**
 * SQL that finds lists without a name, or with both a condition and tickers, and marks of missing lists. A mark is the
 * day up to which the changes of some lists were reported; it has their names, joined by commas.
 * @param schema of the file: older ones have fewer tables
 */
export function strayRowsSql(schema: number): string {
  const tables = MARK_TABLES.slice(0, schema < SCHEMA_WITH_FIELD_MARKS ? 1 : 2)
  // A mark has one name more than commas. With fewer lists than names, one of its lists is gone.
  const marks = `(${tables.map(table => `SELECT list FROM ${table}`).join(' UNION ALL ')})`
  return `
  SELECT 'the list ' || name || ' has a condition and tickers' AS what FROM lists
    WHERE condition IS NOT NULL AND EXISTS (SELECT 1 FROM list_tickers WHERE list = name)
  UNION ALL SELECT 'a list has no name' FROM lists WHERE name = ''
  UNION ALL SELECT 'what was told of ' || ${LIST_NAMES_SQL} || ' is of no list' FROM ${marks}
    WHERE ${LIST_NAMES_SQL} <> '' AND (SELECT count(*) FROM lists WHERE ${isAmongListsSql('name')})
      < 1 + length(${LIST_NAMES_SQL}) - length(replace(${LIST_NAMES_SQL}, ',', '')) GROUP BY ${LIST_NAMES_SQL}`
}

/** Damaged rows of lists and marks, each with the command that deletes it. */
export function listRowDamages(db: Session): Damage[] {
  return [
    ...damagedRows<ListRow>(db, 'lists').map(({ name }) =>
      changedRowDamage(`the list ${quoted(name)}`, remedy('watch remove', [name])),
    ),
    ...damagedRows<{ list: string; ticker: string }>(db, 'list_tickers').map(({ list, ticker }) =>
      changedRowDamage(`${quoted(ticker)} in the list ${quoted(list)}`, remedy('watch remove', [list, ticker])),
    ),
    ...markDamages(db),
  ]
}

/** Damaged marks, each with the command that deletes its list, if it has one. */
function markDamages(db: Session): Damage[] {
  return MARK_TABLES.flatMap(table => damagedRows<Mark & { list: string }>(db, table)).map(
    ({ list, ticker, timeframe }) => {
      // `a,b#digest`: the lists of a question, and a hash of its other options.
      const [names = ''] = list.split('#')
      const [name = ''] = names.split(',')
      const forList = name === '' ? '' : ` for ${quoted(name)}`
      const what = `the day up to which changes of ${quoted(ticker)} (${quoted(timeframe)}) were reported${forList}`
      return changedRowDamage(what, name === '' ? null : remedy('watch remove', [name]))
    },
  )
}

/** The damage of a row that differs from the written one. @param what the row, in words */
function changedRowDamage(what: string, mend: Damage['mend']): Damage {
  return { ticker: '', what: `${what} is not what was written`, mend }
}

/** The form of a trial of an older version, which has no hash. */
const SOUND_TRIAL = `NOT (hash GLOB '*[^0-9a-f]*' OR kind NOT IN ('cell', 'strategy') OR spec = ''
  OR coalesce(p, 0) NOT BETWEEN 0 AND 1 OR seen NOT BETWEEN 0 AND 253402300799999)`

/**
 * Every combination ever tried on the data, in a file next to them. A study only reads the data, and they can be
 * rebuilt from the imported files; the trials cannot.
 */
export const TRIALS: DatabaseKind = {
  table: 'trials',
  createCommand: remedy('study', ['TICKER', 'FIELD']),
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
    `
    -- question: SHA-256 of what was asked without the window. first, last: days since 1970, the range of the data
    ALTER TABLE trials ADD COLUMN question TEXT;
    ALTER TABLE trials ADD COLUMN timeframe TEXT;
    ALTER TABLE trials ADD COLUMN first INTEGER;
    ALTER TABLE trials ADD COLUMN last INTEGER;
    `,
    addRowHashesSql(['trials'], SOUND_TRIAL),
  ],
}

/**
 * The trial log in one SQLite file, which is made if it is missing. Throws StorageError if it cannot be made or
 * written.
 */
export function openSqliteTrials(path: string, now: () => number = Date.now, notice?: Notice): Trials {
  return trialLog(openWritable(path, TRIALS, notice), now)
}

/** The rows of a trial log; the file is only read. Throws StorageError if it is missing or unreadable. */
export function openSqliteTrialsForReading(path: string): ReadTrials {
  return trialLog(new Session(path, openForReading(path, TRIALS), TRIALS), Date.now)
}

/** The trial log in an open file: `note` adds trials and returns their number, `of` reads those of a kind. */
function trialLog(db: Session, now: () => number): Trials {
  return {
    async note(kind, trials) {
      const seen = now()
      return db.transaction(() => {
        for (const { hash, spec, p, test, sharpe, asked } of trials) {
          const { question = null, timeframe = null, first = null, last = null } = asked ?? {}
          const values = [hash, kind, spec, p, test, sharpe, seen, question, timeframe, first, last]
          if (db.run(PUT_TRIAL, ...values) > 0) db.run(HASH_TRIAL, hash)
        }
        return db.get<{ ofKind: number; all: number }>(COUNT_TRIALS, kind)!
      })
    },
    async of(kind, since = 0) {
      // A file opened for reading keeps its schema: columns of later steps may be missing.
      const columns = TRIAL_COLUMNS.map(([name, step]) => (db.schema < step ? `NULL AS ${name}` : name)).join(', ')
      const sql = `SELECT ${columns} FROM trials WHERE kind = ? AND seen >= ? ORDER BY id`
      return db.all<TrialRow>(sql, kind, since).map(trialFromRow)
    },
    close: async () => db.close(),
  }
}

type TrialRow = Pick<Trial, 'hash' | 'spec' | 'p' | 'test' | 'sharpe'> &
  Record<'question' | 'timeframe', string | null> &
  Record<'first' | 'last', number | null>

/** The columns of a trial, each with the step of the schema that adds it. */
const TRIAL_COLUMNS: readonly (readonly [name: keyof TrialRow, step: number])[] = [
  ...(['hash', 'spec', 'p', 'sharpe'] as const).map(name => [name, 1] as const),
  ['test', 2],
  ...(['question', 'timeframe', 'first', 'last'] as const).map(name => [name, 3] as const),
]

function trialFromRow({ question, timeframe, first, last, ...trial }: TrialRow): Trial {
  if (question === null) return trial
  return { ...trial, asked: { question, timeframe: timeframe as Timeframe, first, last } }
}

// A second test of the same trial does not count again. Its p replaces that of another test. The question of a trial
// that an older version noted is filled in.
const PUT_TRIAL = `
  INSERT INTO trials (hash, kind, spec, p, test, sharpe, seen, question, timeframe, first, last, row_hash)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${JUST_WRITTEN})
  ON CONFLICT (hash) DO UPDATE SET
    p = iif(excluded.test IS NULL, trials.p, excluded.p),
    test = coalesce(excluded.test, trials.test),
    sharpe = coalesce(trials.sharpe, excluded.sharpe),
    question = excluded.question, timeframe = excluded.timeframe, first = excluded.first, last = excluded.last,
    ${markWrittenSql('trials')}
  WHERE (excluded.test IS NOT NULL AND excluded.test IS NOT trials.test) OR trials.question IS NOT excluded.question`
const HASH_TRIAL = `UPDATE trials SET row_hash = ${rowHashSql('trials')} WHERE hash = ? AND row_hash = ${JUST_WRITTEN}`
const COUNT_TRIALS = 'SELECT count(*) FILTER (WHERE kind = ?) AS ofKind, count(*) AS "all" FROM trials'

/** Damaged rows of the trial log. Their original content is lost. */
export function trialDamages(db: Session): Damage[] {
  return damagedRows<{ id: number }>(db, 'trials').map(({ id }) => changedRowDamage(`the trial ${id}`, null))
}
