import { copyFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../src/data/store/sqlite/connection.js'
import { scratch, shell } from '../cli/support/run.js'
import { draws } from '../support/full.js'
import { Fleet } from './support/kills.js'

const CLIENTS = 32
/** 200 with BANDS_FULL=20. */
const ROUNDS = draws(10)

const folder = scratch()
const db = folder.file('bands.db')
const snapshots = [7, 8].map(seed => folder.file(`snapshot-${seed}.db`))
let fleet: Fleet

beforeAll(async () => {
  // One account has credits for ten thousand requests an hour.
  fleet = await Fleet.begin(folder, 1, {}, Math.max(CLIENTS, ROUNDS))
  for (const [i, path] of snapshots.entries()) {
    const env = { PATH: process.env.PATH ?? '', HOME: folder.path, BANDS_DB: path }
    const made = await shell(`bands simulate 2 --bars 600 --seed ${7 + i} --load`, env)
    expect(made.code, made.err).toBe(0)
  }
})
afterAll(() => {
  fleet.end()
  folder.remove()
})

/** Puts a file in the place of the data, as `mv` does. */
function put(make: (next: string) => void): void {
  make(`${db}.next`)
  renameSync(`${db}.next`, db)
}

const good = (round: number) => (next: string) => copyFileSync(snapshots[round % 2]!, next)

function changed(sql: string) {
  return (next: string): void => {
    good(0)(next)
    const other = connect(next, {})
    other.pragma('journal_mode = DELETE')
    other.exec(sql)
    other.close()
  }
}

const UNSOUND: readonly ((next: string) => void)[] = [
  changed("UPDATE chunks SET columns = zeroblob(length(columns)) WHERE part = 'events'"),
  changed('PRAGMA user_version = 99'),
  next => {
    good(0)(next)
    truncateSync(next, 40_000)
  },
  next => writeFileSync(next, 'no database'),
]

describe('a server whose data are replaced', () => {
  it(`answers each question from one file: ${CLIENTS} clients, ${ROUNDS} rounds of good and unsound files, and kills`, async () => {
    fleet.ask(CLIENTS)
    let taken = 0
    for (let round = 0; round < ROUNDS; round++) {
      const before = await fleet.ready(0)
      put(UNSOUND[round % UNSOUND.length]!)
      await fleet.until(0, ({ refused }) => refused !== undefined)
      expect((await fleet.ready(0)).data).toBe(before.data)
      put(good(round))
      if (round % 5 === 4) {
        await sleep(Math.random() * 1_500)
        await fleet.kill(0)
        await fleet.start(0)
      }
      const { data } = await fleet.until(0, ({ refused }) => refused === undefined)
      if (data !== before.data) taken++
      await fleet.answers(1)
    }
    await fleet.quiet()
    expect(taken).toBeGreaterThanOrEqual(ROUNDS - 2)
    // One body for each question and file, whichever server, cache or moment it came from.
    expect([...fleet.bodies.values()].map(bodies => bodies.size)).toEqual(Array(fleet.bodies.size).fill(1))
    expect(new Set([...fleet.bodies.keys()].map(name => name.split(' ')[0])).size).toBeGreaterThanOrEqual(2)
    await fleet.expectCharged()
    process.stderr.write(`${taken} take-overs, ${fleet.answered.size} answers, ${fleet.bodies.size} bodies\n`)
    await fleet.stop()
  })
})
