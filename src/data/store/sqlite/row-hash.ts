import type { Session } from './connection.js'

/** The columns covered by `row_hash` in the files next to the data. NULL values are skipped. */
const COVERED = {
  lists: ['name', 'condition', 'made'],
  list_tickers: ['list', 'ticker', 'place'],
  seen: ['list', 'ticker', 'timeframe', 'day'],
  seen_fields: ['list', 'ticker', 'timeframe', 'field', 'day'],
  accounts: ['name', 'folded', 'tier', 'created'],
  // Without last_used, which every answer may change.
  keys: ['identity', 'hash', 'account', 'name', 'created', 'expires', 'revoked'],
  trials: ['hash', 'kind', 'spec', 'p', 'test', 'sharpe', 'seen', 'question', 'timeframe', 'first', 'last'],
} as const

export type Table = keyof typeof COVERED

/** The hash that a row should have, in SQL. */
export function hashOf(table: Table): string {
  return `row_hash('${table}', ${COVERED[table].map(column => `'${column}', ${table}.${column}`).join(', ')})`
}

/** A step of the schema that gives the rows of tables a hash. @param sound rows of an older version that are as it wrote them */
export function withHashes(tables: readonly Table[], sound = 'TRUE'): string {
  return tables
    .map(
      table => `ALTER TABLE ${table} ADD COLUMN row_hash TEXT NOT NULL DEFAULT '';
      UPDATE ${table} SET row_hash = ${hashOf(table)} WHERE ${sound};`,
    )
    .join('\n')
}

/** The mark of a row that a statement has written. It gets its hash before the transaction ends. */
export const WRITTEN = "'written'"

/** An update marks a row only if its hash was right: no update hides damage. */
export const marked = (table: Table): string =>
  `row_hash = iif(${table}.row_hash = ${hashOf(table)}, ${WRITTEN}, ${table}.row_hash)`

export function giveHashes(db: Session, tables: readonly Table[]): void {
  for (const table of tables) db.run(`UPDATE ${table} SET row_hash = ${hashOf(table)} WHERE row_hash = ${WRITTEN}`)
}

/** Rows of a table that differ from the written ones. */
export function damagedRows<Row>(db: Session, table: Table): Row[] {
  return db.all<Row>(`SELECT * FROM ${table} WHERE row_hash <> ${hashOf(table)}`)
}
