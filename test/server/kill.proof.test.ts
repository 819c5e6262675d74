import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scratch } from '../cli/support/run.js'
import { draws } from '../support/full.js'
import { Fleet } from './support/kills.js'

const CLIENTS = 16
const KILLS = draws(60)

const folder = scratch()
let fleet: Fleet

beforeAll(async () => {
  // One account would use up the credits of its hour.
  fleet = await Fleet.begin(folder, 2, {}, 4)
})
afterAll(() => {
  fleet.end()
  folder.remove()
})

describe('servers that are killed while they charge', () => {
  it(`charge each request once: ${CLIENTS} clients, two servers on one store, ${KILLS} kills`, async () => {
    fleet.ask(CLIENTS)
    for (let kill = 0; kill < KILLS; kill++) {
      const at = kill % 2
      await fleet.answers(1)
      await sleep(20 + Math.random() * 150)
      await fleet.kill(at)
      await fleet.start(at)
    }
    await fleet.quiet()
    await fleet.expectExact()
    expect(fleet.answered.size).toBeGreaterThanOrEqual(KILLS)
    await fleet.stop()
  })
})
