import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import type { Charge, ChargeResult } from '../../../src/server/accounts/accounts.js'
import { openPostgresAccounts } from '../../../src/server/accounts/postgres/accounts.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { CHARGE_FUNCTION, chargeBatch } from '../../../src/server/accounts/postgres/charging.js'
import { Database, keepPrepared } from '../../../src/server/accounts/postgres/connection.js'
import { prepareSchema } from '../../../src/server/accounts/postgres/steps.js'
import { functionOf, type Release, tablesOf } from './builds.js'

/**
 * A server of some release that charges during an update, as a process of its own. It writes a line for each charge
 * once its result is known, never before: result, request and, after a slash, the name of the request. Half of the names
 * are also used by the other processes, as by callers who ask again.
 *
 * Words: URL of the accounts, name of the process, its release, the round to begin with, milliseconds since 1970.
 */
const [url = '', name = '', release = '', first = '', at = ''] = process.argv.slice(2)

type ChargeAll = (charges: readonly Charge[]) => Promise<ChargeResult[]>

/** The numbers of the accounts: alice, bob and carol. */
const ALICE = 1
const BOB = 2
const CAROL = 3

async function main(): Promise<void> {
  const charge = functionOf(Number(release) as Release) === CHARGE_FUNCTION ? await ofThis() : await ofAnother()
  for (let round = Number(first); ; round++) {
    const batch = Array.from({ length: 2 + (round % 7) }, (_, i) => chargeOf(round, i))
    const charged = await charge(batch)
    writeSync(1, batch.map(({ requestId }, i) => `${charged[i]!.outcome} ${requestId}\n`).join(''))
    await turn()
  }
}

async function ofThis(): Promise<ChargeAll> {
  const accounts = await openPostgresAccounts(parseAddress('accounts', url, {}))
  return charges => accounts.charge(charges)
}

/** The protocol of every release is the same so far; each calls its own function. */
async function ofAnother(): Promise<ChargeAll> {
  const database = await Database.open(parseAddress('accounts', url, {}))
  const own = Number(release) as Release
  await prepareSchema(database, tablesOf(own), { create: false })
  const query: Database['query'] = (text, values, within) =>
    database.query(keepPrepared(text.replace(CHARGE_FUNCTION, functionOf(own))), values, within)
  const stored: Record<number, string> = { [ALICE]: 'alice', [BOB]: 'bob', [CAROL]: 'carol' }
  return charges =>
    chargeBatch(
      { query },
      charges,
      charges.map(({ account }) => stored[account]!),
      { wasSent: false, timeoutMs: 60_000 },
    )
}

/** The first of each batch is one of carol, who has a limit and no names. */
function chargeOf(round: number, i: number): Charge {
  const requestName = i % 2 === 0 ? `${round}-${i}` : `${name}-${round}-${i}`
  const limit = i === 0 ? 300 : 1e9
  return {
    account: i === 0 ? CAROL : [ALICE, BOB][(round + i) % 2]!,
    key: 'Identity',
    requestId: `${name}-${round}-${i}/${requestName}`,
    idempotency: i === 0 ? null : sha256(requestName),
    question: sha256('AAPL rsi_zone'),
    answer: sha256('{"events":[]}'),
    endpoint: '/v1/events',
    credits: 1,
    limits: { day: limit, hour: limit },
    at: Number(at),
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

void main()
