import { Busy, remedy } from '../../errors.js'
import type { ReadTrials, Trial, TrialKind, Trials } from '../../source.js'
import { type Notice, openForReading, openForWriting, Session } from './connection.js'
import type { DatabaseKind } from './migrations.js'

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
  const db = openForWriting(path, TRIALS, notice)
  const session = new Session(path, db, TRIALS)
  try {
    // A file that cannot be written opens all the same: said now, and not when the work is done.
    session.transaction(() => {})
  } catch (error) {
    if (!(error instanceof Busy)) {
      db.close()
      throw error
    }
  }
  return new SqliteTrials(session, now)
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
    const [{ user_version: schema }] = this.#db.pragma('user_version') as [{ user_version: number }]
    const test = schema < WITH_TESTS ? 'NULL AS test' : 'test'
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
