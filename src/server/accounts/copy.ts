import { createHash } from 'node:crypto'
import { InvalidParameter, parameter, StorageError, sentence } from '../../core/errors.js'
import {
  ACCOUNT_TABLE_NAMES,
  type Accounts,
  type AccountTable,
  type ColumnValue,
  type Reconciliation,
} from './accounts.js'

/**
 * Copies accounts between any two databases: all data of one moment in one transaction, or nothing. Before the commit
 * it
 * reads the target back and compares it, row by row, with the data sent.
 */

export interface AccountsCopy {
  from: string
  to: string
  /** Rows of each table. */
  rows: Record<AccountTable, number>
  /** The check sums of the copy. */
  proof: Reconciliation
}

/** Throws InvalidParameter for a target that is the source, or has accounts that are not to be replaced. */
export async function copyAccounts(from: Accounts, to: Accounts, { replace = false } = {}): Promise<AccountsCopy> {
  const { location } = to
  if (from.location === location)
    throw refused(sentence`${parameter('to')} is ${location}, which is the source of the copy; name another one.`)
  if (!replace && (await to.accounts()).length > 0)
    throw refused(
      sentence`${location} has accounts; copy to where there are none, or put them in the place of those (${parameter('replace')}).`,
    )
  const rows = await to.replaceTables(async (put, look) => {
    const sent = new Digest()
    const there = new Digest()
    await from.readTables(async (book, rows) => {
      sent.add(book, rows)
      await put(book, rows)
    })
    await look((book, rows) => there.add(book, rows))
    const other = ACCOUNT_TABLE_NAMES.find(book => sent.of(book) !== there.of(book))
    if (other !== undefined) throw new StorageError(`${location}: its ${other} are not what was sent; nothing was kept`)
    return there.rows
  })
  return { from: from.location, to: location, rows, proof: await to.reconcile() }
}

function refused(words: ReturnType<typeof sentence>): InvalidParameter {
  return new InvalidParameter(words, { param: 'to' })
}

/** A hash of all rows of each table, in any order; for keys in their order, which matters. */
class Digest {
  readonly rows = Object.fromEntries(ACCOUNT_TABLE_NAMES.map(book => [book, 0])) as Record<AccountTable, number>
  readonly #sums = Object.fromEntries(ACCOUNT_TABLE_NAMES.map(book => [book, 0n])) as Record<AccountTable, bigint>

  add(book: AccountTable, rows: readonly (readonly ColumnValue[])[]): void {
    for (const row of rows) {
      this.rows[book] += 1
      const place = book === 'keys' ? this.rows.keys : 0
      const text = JSON.stringify([
        place,
        ...row.map(value => (Buffer.isBuffer(value) ? value.toString('hex') : value)),
      ])
      this.#sums[book] += BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)
    }
  }

  of(book: AccountTable): string {
    return `${this.rows[book]} ${this.#sums[book]}`
  }
}
