import { createHash } from 'node:crypto'
import { InvalidParameter, parameter, StorageError, sentence } from '../../core/errors.js'
import {
  ACCOUNT_TABLE_NAMES,
  type Accounts,
  type AccountTable,
  type ColumnValue,
  type Reconciliation,
} from './accounts.js'

export interface AccountsCopy {
  from: string
  to: string
  rows: Record<AccountTable, number>
  /** The sums of the ledger in the copy. */
  proof: Reconciliation
}

/**
 * Copies all accounts of one moment to another database, in one transaction or not at all. Before the commit it reads
 * the target back, and compares it with the rows that it sent. Throws InvalidParameter if the target is the source, or
 * has accounts and `replace` is false.
 * @returns the rows of each table; `proof` compares the credits of the target with its ledger
 */
export async function copyAccounts(from: Accounts, to: Accounts, { replace = false } = {}): Promise<AccountsCopy> {
  const { location } = to
  if (from.location === location)
    throw targetError(sentence`${parameter('to')} is ${location}, which is the source of the copy; name another one.`)
  if (!replace && (await to.accounts()).length > 0)
    throw targetError(
      sentence`${location} has accounts; copy to where there are none, or replace them (${parameter('replace')}).`,
    )
  const rowCounts = await to.replaceTables(async (insert, readBack) => {
    const sent = new TablesDigest()
    const stored = new TablesDigest()
    await from.readTables(async (table, rows) => {
      sent.add(table, rows)
      await insert(table, rows)
    })
    await readBack((table, rows) => stored.add(table, rows))
    const damagedTable = ACCOUNT_TABLE_NAMES.find(table => sent.digestOf(table) !== stored.digestOf(table))
    if (damagedTable !== undefined)
      throw new StorageError(`${location}: its ${damagedTable} are not what was sent; nothing was kept`)
    return stored.rowCounts
  })
  return { from: from.location, to: location, rows: rowCounts, proof: await to.reconcile() }
}

function targetError(words: ReturnType<typeof sentence>): InvalidParameter {
  return new InvalidParameter(words, { param: 'to' })
}

/** The number of rows of each table, and the sum of their hashes: it is the same in any order of the rows. */
class TablesDigest {
  readonly rowCounts = Object.fromEntries(ACCOUNT_TABLE_NAMES.map(table => [table, 0])) as Record<AccountTable, number>
  readonly #hashSums = Object.fromEntries(ACCOUNT_TABLE_NAMES.map(table => [table, 0n])) as Record<AccountTable, bigint>

  /** Adds rows to the sums of a table. */
  add(table: AccountTable, rows: readonly (readonly ColumnValue[])[]): void {
    for (const row of rows) {
      this.rowCounts[table] += 1
      // The order of keys matters, so the position of a key is part of its hash.
      const position = table === 'keys' ? this.rowCounts.keys : 0
      const values = row.map(value => (Buffer.isBuffer(value) ? value.toString('hex') : value))
      const text = JSON.stringify([position, ...values])
      this.#hashSums[table] += BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)
    }
  }

  /** Equal for equal rows of a table. */
  digestOf(table: AccountTable): string {
    return `${this.rowCounts[table]} ${this.#hashSums[table]}`
  }
}
