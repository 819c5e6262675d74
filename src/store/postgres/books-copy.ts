import { BOOK_NAMES, BOOKS, type Book, type BookValue, type EachRows, ROWS_TOGETHER } from '../../accounts/accounts.js'
import type { Queries } from './connection.js'

/** By what the rows of a table are read on, and the types of its columns. */
const TABLES: Record<Book, { key: readonly string[]; types: string }> = {
  accounts: { key: ['id'], types: 'text text text bigint' },
  keys: { key: ['made'], types: 'text text text text bigint bigint bigint bigint' },
  secrets: { key: ['use'], types: 'text bytea' },
  ledger: { key: ['account', 'request'], types: 'text text text text bigint bigint' },
  days: { key: ['account', 'start'], types: 'text bigint bigint bigint' },
  counters: { key: ['account', 'period', 'start'], types: 'text text bigint bigint bigint' },
  // Other databases forget them in the order in which they were written.
  named: { key: ['at', 'account', 'name'], types: 'text bytea bytea bytea bigint' },
}

/** All rows as they stand in a transaction that sees one state of them. */
export async function readBooks({ query }: Queries, each: EachRows): Promise<void> {
  for (const book of BOOK_NAMES) {
    const { key } = TABLES[book]
    const columns = [...BOOKS[book], ...key.map((name, i) => `${name} AS key_${i}`)].join(', ')
    const sorted = `FROM bands_accounts.${book} %s ORDER BY ${key.join(', ')} LIMIT ${ROWS_TOGETHER}`
    const after = `WHERE (${key.join(', ')}) > (${key.map((_, i) => `$${i + 1}`).join(', ')})`
    let last: Record<string, BookValue> | undefined
    do {
      const place = last === undefined ? [] : key.map((_, i) => last![`key_${i}`])
      const sql = `SELECT ${columns} ${sorted.replace('%s', last === undefined ? '' : after)}`
      const rows = await query<Record<string, BookValue>>(sql, place)
      await each(
        book,
        rows.map(row => BOOKS[book].map(column => row[column]!)),
      )
      last = rows.length < ROWS_TOGETHER ? undefined : rows.at(-1)
    } while (last !== undefined)
  }
}

/** Empties all of it. Whoever charges waits until the transaction is through. */
export async function clearBooks({ query }: Queries): Promise<void> {
  await query('LOCK TABLE bands_accounts.books IN EXCLUSIVE MODE')
  for (const table of [...BOOK_NAMES.toReversed(), 'books']) await query(`DELETE FROM bands_accounts.${table}`)
}

export async function putBooks({ query }: Queries, book: Book, rows: readonly (readonly BookValue[])[]): Promise<void> {
  const [columns, types] = [BOOKS[book], TABLES[book].types.split(' ')]
  const lists = columns.map((_, i) => rows.map(row => row[i]))
  const given = types.map((type, i) => `$${i + 1}::${type}[]`).join(', ')
  const into = `INSERT INTO bands_accounts.${book} (${columns.join(', ')}) SELECT * FROM unnest(${given})`
  await query(into, lists)
  if (book === 'accounts') await query('INSERT INTO bands_accounts.books SELECT unnest($1::text[])', [lists[0]])
}
