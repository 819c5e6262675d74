import { BOOK_NAMES, BOOKS, type Book, type BookValue, type EachRows, ROWS_TOGETHER } from '../../accounts/accounts.js'
import { type BookRow, eachBook } from '../account-rows.js'
import type { Session } from './connection.js'

/** By what the rows of a table are read on; an account has a number here, and is filed under its name elsewhere. */
const KEYS: Record<Book, readonly string[]> = {
  accounts: ['id'],
  keys: ['id'],
  secrets: ['use'],
  ledger: ['request'],
  days: ['account', 'start'],
  counters: ['account', 'period', 'start'],
  named: ['id'],
}

/** All rows as they stand in a transaction. */
export function readBooks(db: Session, each: EachRows): Promise<void> {
  return eachBook(each, (book, last) => {
    const keys = KEYS[book].map(name => `t.${name}`)
    const columns = BOOKS[book].map(column => `${outside(book, column)} AS ${column}`)
    const selected = [...columns, ...keys.map((key, i) => `${key} AS key_${i}`)].join(', ')
    const after = last === null ? '' : `WHERE (${keys.join(', ')}) > (${keys.map(() => '?').join(', ')})`
    const sql = `SELECT ${selected} FROM ${book} t ${after} ORDER BY ${keys.join(', ')} LIMIT ${ROWS_TOGETHER}`
    return db.all<BookRow>(sql, ...(last ?? []))
  })
}

function outside(book: Book, column: string): string {
  if (column !== 'account') return `t.${column}`
  return book === 'accounts' ? 't.folded' : '(SELECT folded FROM accounts WHERE id = t.account)'
}

export function clearBooks(db: Session): void {
  for (const table of BOOK_NAMES.toReversed()) db.run(`DELETE FROM ${table}`)
}

export function putBooks(db: Session, book: Book, rows: readonly (readonly BookValue[])[]): void {
  const columns = BOOKS[book].map(column => (book === 'accounts' && column === 'account' ? 'folded' : column))
  const values = columns.map(column => (column === 'account' ? '(SELECT id FROM accounts WHERE folded = ?)' : '?'))
  const sql = `INSERT INTO ${book} (${columns.join(', ')}) VALUES (${values.join(', ')})`
  for (const row of rows) db.run(sql, ...row)
}
