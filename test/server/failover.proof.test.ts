import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect } from 'vitest'
import { scratch } from '../cli/support/run.js'
import { draws, provenInFull } from '../support/full.js'
import { describePatroni, Machines } from '../support/patroni.js'
import { Fleet } from './support/kills.js'

const CLIENTS = 12
const ROUNDS = draws(2)
const NAMES = "SELECT encode(name, 'hex') FROM bands_accounts.named"

describePatroni('three servers on a database of three machines, as docs/scale-out.md sets them up', () => {
  const folder = scratch()
  let machines: Machines | undefined
  let fleet: Fleet | undefined
  afterAll(async () => {
    fleet?.end()
    await machines?.end()
    folder.remove()
  })

  provenInFull(
    `charge each request once while the primary is killed: ${CLIENTS} clients, ${ROUNDS} rounds`,
    async () => {
      machines = await Machines.begin()
      await machines.sql(`CREATE ROLE bands LOGIN PASSWORD '${machines.password}'`)
      await machines.sql('CREATE DATABASE bands OWNER bands')
      const given = { BANDS_ACCOUNTS: machines.url('bands', 'bands'), PGPASSWORD: machines.password }
      // Several accounts: one would have spent its credits of an hour in some rounds.
      fleet = await Fleet.begin(folder, 3, given, 6)
      fleet.ask(CLIENTS)
      const outages: number[] = []
      for (let round = 0; round < ROUNDS; round++) {
        await sleep(500 + Math.random() * 1_000)
        const killed = await machines.primary()
        await machines.kill(killed)
        outages.push(await longestSilence(fleet))
        expect(await machines.primary()).not.toBe(killed)
        if (round + 1 === ROUNDS) break
        machines.start(killed)
        await machines.whole()
      }
      await fleet.quiet()
      await fleet.expectExact()
      // Not as many alone, but these.
      const names = [...fleet.answered].map(id => createHash('sha256').update(id).digest('hex'))
      expect((await machines.sql(NAMES, 'bands')).sort()).toEqual(names.sort())
      expect(fleet.answered.size).toBeGreaterThan(CLIENTS * ROUNDS)
      await fleet.stop()
      const seconds = outages.map(outage => (outage / 1_000).toFixed(1)).join(', ')
      process.stdout.write(`${fleet.answered.size} requests, each charged once; without an answer for ${seconds} s\n`)
    },
  )
})

/** The longest time without an answer until there are many again, in milliseconds. */
async function longestSilence(fleet: Fleet): Promise<number> {
  let longest = 0
  let last = performance.now()
  let size = fleet.answered.size
  // What was under way when the primary died may be answered; all clients together have one request each of that.
  for (const enough = size + 10 * CLIENTS; size < enough; await sleep(5)) {
    if (fleet.answered.size === size) continue
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
    size = fleet.answered.size
  }
  return longest
}
