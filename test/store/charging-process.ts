import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { openAccounts } from '../../src/app/open/accounts.js'
import { Busy } from '../../src/core/errors.js'
import type { Accounts, Charge, ChargeResult } from '../../src/server/accounts/accounts.js'

/**
 * A server's part in charging, as a process of its own: it charges batches until a limit is reached or it is killed, and
 * writes the number of a request to its output once that is charged, never before.
 *
 * Words: database that the accounts lie beside, or the URL of one in which they are; name of the process, limit,
 * milliseconds since 1970.
 */
const [db = '', name = '', limit = '', at = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const accounts = await openAccounts(db.startsWith('postgres:') ? { accounts: db, env: {} } : { db, env: {} })
  const { id } = await accounts.account('alice')
  for (let round = 0; ; round++) {
    const batch = Array.from({ length: 1 + (round % 7) }, (_, i): Charge => {
      const requestId = `${name}-${round}-${i}`
      return {
        account: id,
        key: 'Identity',
        requestId,
        idempotency: createHash('sha256').update(requestId).digest(),
        question: createHash('sha256').update('AAPL rsi_zone').digest(),
        answer: createHash('sha256').update('{"events":[]}').digest(),
        endpoint: '/v1/events',
        credits: 1,
        limits: { day: Number(limit), hour: Number(limit) },
        at: Number(at),
      }
    })
    const charged = await chargedOrNull(accounts, batch)
    if (charged === null) continue
    const acknowledged = batch.filter((_, i) => charged[i]!.outcome === 'charged').map(charge => charge.requestId)
    if (acknowledged.length > 0) writeSync(1, `${acknowledged.join('\n')}\n`)
    if (charged.some(({ outcome }) => outcome === 'limited')) break
    // A server lets its sockets have their turn between two commits.
    await new Promise(resolve => setImmediate(resolve))
  }
  await accounts.close()
}

/** null: the database is away for longer than a server waits; its callers would ask again. */
async function chargedOrNull(accounts: Accounts, batch: readonly Charge[]): Promise<ChargeResult[] | null> {
  try {
    return await accounts.charge(batch)
  } catch (error) {
    if (!(error instanceof Busy)) throw error
    await new Promise(resolve => setTimeout(resolve, 20))
    return null
  }
}

void main()
