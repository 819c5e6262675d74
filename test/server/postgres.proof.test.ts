import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { scratch } from '../cli/support/run.js'
import { draws, NIGHT } from '../support/full.js'
import { clusterForAll, describePostgres } from '../support/postgres.js'
import { Fleet } from './support/kills.js'

const CLIENTS = 12
const ROUNDS = draws(2)
/** Several: a night of rounds has more requests than one account may make in an hour. */
const ACCOUNTS = 4

describePostgres('three servers on copies of one file of data and one database of accounts', () => {
  const cluster = clusterForAll()
  const folder = scratch()
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await Fleet.begin(folder, 3, { BANDS_ACCOUNTS: await cluster.current.createDatabase() }, ACCOUNTS)
  })
  afterAll(() => {
    fleet.end()
    folder.remove()
  })

  /** Processes of the database that answer servers, and what they are doing. */
  const backends = async (): Promise<number[]> => {
    const sql = `SELECT pid FROM pg_stat_activity WHERE application_name = 'bands' ORDER BY state, random()`
    for (;;) {
      try {
        return (await cluster.current.sql(sql)).map(Number)
      } catch (error) {
        // After one of its processes was killed it answers nobody until it has recovered.
        if (!/not yet accepting|starting up|in recovery mode/.test(String(error))) throw error
        await sleep(20)
      }
    }
  }

  it(`charge each request once, whatever is killed: ${CLIENTS} clients, ${ROUNDS} rounds`, async () => {
    const { current } = cluster
    fleet.ask(CLIENTS)
    const answeredSoon = (): Promise<void> => fleet.answers(CLIENTS)
    for (let round = 0; round < ROUNDS; round++) {
      for (const at of [0, 1, 2]) {
        await answeredSoon()
        await fleet.kill(at)
        await fleet.start(at)
      }
      await answeredSoon()
      // One process alone: its server starts all anew.
      const [pid] = await backends()
      process.kill(pid!, 'SIGKILL')
      await answeredSoon()
      const [other = 0] = await backends()
      await current.sql(`SELECT pg_terminate_backend(${other})`)
      await answeredSoon()
      await current.kill()
      await sleep(50 + Math.random() * 500)
      await current.start()
    }
    await answeredSoon()
    await fleet.quiet()
    await fleet.expectExact()
    expect(fleet.answered.size).toBeGreaterThan(6 * CLIENTS * ROUNDS)
    await fleet.stop()
    if (NIGHT) process.stdout.write(`${ROUNDS} rounds: ${fleet.answered.size} requests, each charged once\n`)
  })
})
