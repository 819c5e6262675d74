import type { Session } from './connection.js'

/** The columns covered by `row_hash` in the files next to the data. NULL values are skipped. */
const HASHED_COLUMNS = {
  lists: ['name', 'condition', 'made'],
  list_tickers: ['list', 'ticker', 'place'],
  seen: ['list', 'ticker', 'timeframe', 'day'],
  seen_fields: ['list', 'ticker', 'timeframe', 'field', 'day'],
  accounts: ['name', 'folded', 'tier', 'created'],
  // Without last_used, which every answer may change.
  keys: ['identity', 'hash', 'account', 'name', 'created', 'expires', 'revoked'],
  trials: ['hash', 'kind', 'spec', 'p', 'test', 'sharpe', 'seen', 'question', 'timeframe', 'first', 'last'],
} as const

export type Table = keyof typeof HASHED_COLUMNS

/** The hash that a row should have, in SQL. */
export function rowHashSql(table: Table): string {
  return `row_hash('${table}', ${HASHED_COLUMNS[table].map(column => `'${column}', ${table}.${column}`).join(', ')})`
}

/**
 * A schema step that adds hashes to the rows of tables.
 * @param soundRows SQL condition of the rows that get one: the others are damaged
 */
export function addRowHashesSql(tables: readonly Table[], soundRows = 'TRUE'): string {
  return tables
    .map(
      table => `ALTER TABLE ${table} ADD COLUMN row_hash TEXT NOT NULL DEFAULT '';
      UPDATE ${table} SET row_hash = ${rowHashSql(table)} WHERE ${soundRows};`,
    )
    .join('\n')
}

/** The `row_hash` of a row that was just written. The row gets its real hash before the transaction ends. */
export const JUST_WRITTEN = "'written'"

/** SQL for an update: marks the row as just written only if its hash was right, so that no update hides damage. */
export const markWrittenSql = (table: Table): string =>
  `row_hash = iif(${table}.row_hash = ${rowHashSql(table)}, ${JUST_WRITTEN}, ${table}.row_hash)`

/** Gives rows that were just written their hashes. */
export function hashWrittenRows(db: Session, tables: readonly Table[]): void {
  for (const table of tables)
    db.run(`UPDATE ${table} SET row_hash = ${rowHashSql(table)} WHERE row_hash = ${JUST_WRITTEN}`)
}

/** Rows of a table that differ from the written ones. */
export function damagedRows<Row>(db: Session, table: Table): Row[] {
  return db.all<Row>(`SELECT * FROM ${table} WHERE row_hash <> ${rowHashSql(table)}`)
}
