import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import type { Charge } from '../../src/accounts/accounts.js'
import { openAccounts } from '../../src/open.js'

/**
 * A server's part in charging, as a process of its own: it charges batches until a limit is reached or it is killed, and
 * writes the number of a request to its output once that is charged, never before.
 *
 * Words: database, name of the process, limit, milliseconds since 1970.
 */
const [db = '', name = '', limit = '', at = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const accounts = await openAccounts({ db, env: {} })
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
    const charged = await accounts.charge(batch)
    const acknowledged = batch.filter((_, i) => charged[i]!.outcome === 'charged').map(charge => charge.requestId)
    if (acknowledged.length > 0) writeSync(1, `${acknowledged.join('\n')}\n`)
    if (charged.some(({ outcome }) => outcome === 'limited')) break
    // A server lets its sockets have their turn between two commits.
    await new Promise(resolve => setImmediate(resolve))
  }
  await accounts.close()
}

void main()
