import { remedy } from '../../../core/errors.js'
import type { Damage } from '../store.js'

/**
 * The table `about`, for a person who opens the file with another program. No question reads it. After a change of a
 * sentence, another step of the schema has to put the rows again.
 */

const TABLE_DESCRIPTIONS: readonly (readonly [name: string, about: string])[] = [
  [
    'bands.db',
    'Prices, facts and band events in the packed form of bands: bands sql asks them in SQL, and bands export writes them as rows (CSV, JSON, Parquet); https://github.com/bands-dev/bands/blob/main/docs/sql.md has recipes.',
  ],
  [
    'chunks',
    'Bars, returns and events as binary columns, at most 256 bars a row: bands sql and bands export show them as rows.',
  ],
  [
    'tickers',
    'One row per ticker with bars: its first and last day, the file that it came from, and the hashes of its chunks.',
  ],
  ['series', 'One row per ticker and timeframe: its bars, its events by field (JSON), and the hashes of its chunks.'],
  ['facts', 'Reports, earnings, ratings, splits and others by ticker and kind (JSON): bands facts shows them.'],
  ['pulled', 'Events as a server sent them (compressed JSON): bands events shows them.'],
  ['listed', 'Everything that was written of a ticker: bands verify finds a lost or an additional row by it.'],
  ['meta', 'The version of the definitions, and work that is still to do (JSON).'],
  ['writer', 'The process that is writing: bands unlock removes the row of one that is gone.'],
  ['about', 'This list.'],
]

/** The schema from which on the table exists. */
const SINCE_SCHEMA = 10

export const CREATE_ABOUT = 'CREATE TABLE about (name TEXT PRIMARY KEY, about TEXT NOT NULL) STRICT'

interface Reader {
  all<Row>(sql: string): Row[]
}

interface Writer extends Reader {
  run(sql: string, ...values: string[]): unknown
}

/** Whether the table has exactly the rows of TABLE_DESCRIPTIONS. */
function isUnchanged(db: Reader): boolean {
  const rows = db.all('SELECT name, about FROM about ORDER BY rowid')
  return JSON.stringify(rows) === JSON.stringify(TABLE_DESCRIPTIONS.map(([name, about]) => ({ name, about })))
}

/** Writes the rows again if any is missing or changed. */
export function putAbout(db: Writer): void {
  if (isUnchanged(db)) return
  db.run('DELETE FROM about')
  for (const row of TABLE_DESCRIPTIONS) db.run('INSERT INTO about (name, about) VALUES (?, ?)', ...row)
}

/** The damage of a changed table. @param schema the schema of the file: older ones have no such table */
export function aboutTableDamages(db: Reader, schema: number): Damage[] {
  if (schema < SINCE_SCHEMA || isUnchanged(db)) return []
  return [{ ticker: '', what: 'the table about was changed', mend: remedy('rebuild') }]
}
