import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { PLANS } from '../../src/core/tiers.js'
import { DAY_MS } from '../../src/server/accounts/accounts.js'
import { scratch } from '../cli/support/run.js'
import { draws, NIGHT } from '../support/full.js'
import { clusterForAll, describePostgres } from '../support/postgres.js'
import { Fleet, keyOf } from './support/kills.js'

const CLIENTS = 12
const ANSWERS = draws(2_000)
const SKEWED = 2
const LIMIT = PLANS.free.credits.hour

describePostgres('three servers on one set of accounts, of which one has a wrong clock', () => {
  const cluster = clusterForAll()

  it.each([3, -3])('charge each request once and keep limits: %i days ahead', async days => {
    const folder = scratch()
    const accounts = await cluster.current.createDatabase()
    const fleet = await Fleet.begin(folder, 3, { BANDS_ACCOUNTS: accounts })
    onTestFinished(() => {
      fleet.end()
      folder.remove()
    })
    await fleet.kill(SKEWED)
    await fleet.start(SKEWED, {
      NODE_OPTIONS: `--import ${fileURLToPath(new URL('support/clock-ahead.mjs', import.meta.url))}`,
      BANDS_TEST_AHEAD: String(days * DAY_MS),
    })
    const get = (at: number, path: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${fleet.ports[at]}${path}`, { headers })
    const readiness = await Promise.all([0, 1, 2].map(at => get(at, '/readyz')))
    expect(readiness.map(({ status }) => status)).toEqual([200, 200, 503])
    const ahead = /^bands_accounts_clock_ahead_seconds (\S+)$/m.exec(await (await get(SKEWED, '/metrics')).text())
    expect(Math.abs(Number(ahead?.[1]) - days * 86_400)).toBeLessThan(60)

    // Under load, at all three servers.
    fleet.ask(CLIENTS)
    await fleet.answers(ANSWERS)
    await fleet.quiet()
    await fleet.expectExact()

    // The skewed server is asked between a request and its repetition at another server.
    const env = { PATH: process.env.PATH ?? '', HOME: folder.path, BANDS_ACCOUNTS: accounts }
    const free = await keyOf('free', env, 'free')
    const ask = async (at: number, name: string): Promise<number> => {
      const path = '/v1/events?ticker=SIM0001&field=rsi_zone'
      return (await get(at, path, { Authorization: `Bearer ${free}`, 'Idempotency-Key': name })).status
    }
    const names = Array.from({ length: 6 }, (_, i) => `name-${i}`)
    const rows = async (): Promise<number> => {
      const sql = "SELECT count(*) FROM bands_accounts.ledger WHERE account = 'free'"
      return Number((await cluster.current.sql(sql, new URL(accounts).pathname.slice(1)))[0])
    }
    for (const name of names) expect(await ask(0, name)).toBe(200)
    for (let i = 0; i < 4; i++) expect(await ask(SKEWED, `between-${i}`)).toBe(200)
    for (const at of [0, 1, SKEWED]) for (const name of names) expect(await ask(at, name)).toBe(200)
    expect(await rows()).toBe(names.length + 4)

    // All three servers at the same time, for more than the limit.
    const asked = Array.from({ length: 3 * LIMIT }, (_, i) => ask(i % 3, `more-${i}`))
    const granted = (await Promise.all(asked)).filter(status => status === 200).length
    expect(await rows()).toBe(names.length + 4 + granted)
    const sums = await cluster.current.sql(
      `SELECT period, max(credits), bool_and(abs(start - extract(epoch FROM now()) * 1000) < ${DAY_MS})
       FROM bands_accounts.counters WHERE account = 'free' GROUP BY 1 ORDER BY 1`,
      new URL(accounts).pathname.slice(1),
    )
    expect(sums[0]).toMatch(/^day\|\d+\|t$/)
    // One hour may turn into the next meanwhile.
    const [, hour, isNow] = sums[1]!.split('|')
    expect([Number(hour) <= LIMIT, isNow]).toEqual([true, 't'])
    if (granted + names.length + 4 <= LIMIT) expect(hour).toBe(String(LIMIT))
    await fleet.stop()
    if (NIGHT)
      process.stdout.write(`${days} days: ${fleet.answered.size} under load, ${granted} granted of ${asked.length}\n`)
  })
})
