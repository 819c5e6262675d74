import { expect, it, onTestFinished } from 'vitest'
import { openPostgresAccounts, type PostgresAccounts } from '../../../src/server/accounts/postgres/accounts.js'
import { parseAddress } from '../../../src/server/accounts/postgres/address.js'
import { chargeOf, iso, NOON, sha256 } from '../../contracts/accounts.js'
import { draws } from '../../support/full.js'
import { clusterForAll, describePostgres } from '../../support/postgres.js'
import { bundled, type Started, started } from '../../support/processes.js'
import { temporaryFolder } from '../../support/store.js'

const ROUNDS = draws(2)

describePostgres('several processes with accounts in one database', () => {
  const cluster = clusterForAll()

  const withProgram = async (): Promise<{ url: string; accounts: PostgresAccounts; program: string }> => {
    const url = await cluster.current.createDatabase()
    const accounts = await openPostgresAccounts(parseAddress('accounts', url, {}), { create: true })
    onTestFinished(() => accounts.close())
    await accounts.create('alice', 'free', iso(NOON))
    return { url, accounts, program: await bundled('test/store/charging-process.ts', temporaryFolder()) }
  }

  it(`keep every charge that was acknowledged when the database is killed under them, ${ROUNDS} rounds`, async () => {
    const { url, accounts, program } = await withProgram()
    const processes = ['a', 'b', 'c'].map(name => started(program, [url, name, '99999999', String(NOON)]))
    onTestFinished(() => {
      for (const { child } of processes) child.kill('SIGKILL')
    })
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(processes.map(one => untilMoreLines(one, 50)))
      await cluster.current.kill()
      await cluster.current.start()
    }
    await Promise.all(processes.map(one => untilMoreLines(one, 50)))
    for (const { child } of processes) child.kill('SIGKILL')
    await Promise.all(processes.map(({ ended }) => ended))
    // The server may still finish the last batch of each.
    await cluster.current.stop()
    await cluster.current.start()
    const acknowledged = processes.flatMap(({ lines }) => lines())
    const written = new Set(
      await cluster.current.sql('SELECT request FROM bands_accounts.ledger', new URL(url).pathname.slice(1)),
    )
    expect(acknowledged.filter(request => !written.has(request))).toEqual([])
    expect(new Set(acknowledged).size).toBe(acknowledged.length)
    const alice = await accounts.account('alice')
    const again = acknowledged.slice(-40).map(name => chargeOf(alice, { idempotency: sha256(name) }))
    expect(new Set((await accounts.charge(again)).map(({ outcome }) => outcome))).toEqual(new Set(['repeated']))
    const { rows, requests, credits, discrepancies } = await accounts.reconcile()
    expect(discrepancies).toEqual([])
    expect(requests).toBe(rows)
    expect(await accounts.usedCredits(alice.id, NOON)).toEqual({ day: credits, hour: credits })
  })
})

async function untilMoreLines({ lines, child }: Started, count: number): Promise<void> {
  const before = lines().length
  while (lines().length < before + count && child.exitCode === null)
    await new Promise(resolve => setTimeout(resolve, 5))
  expect(child.exitCode).toBeNull()
}
