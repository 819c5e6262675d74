import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { FIELD_NAMES } from '../../src/fields/index.js'
import { TIMEFRAME_NAMES } from '../../src/model/terms.js'
import { eventHistory } from '../../src/source.js'
import { Random } from '../../src/statistics/random.js'
import { openSqlite } from '../../src/store/sqlite/data.js'
import { draws } from '../support/full.js'
import { bundled, started } from '../support/processes.js'
import { pulledIn } from '../support/pulled.js'
import { type Ground, type Served, serve, simulatedGround } from '../support/serve.js'
import { scratch, typed } from './support/run.js'

const TICKER = 'SIM0001'
/** After so many it is let to its end; in the full run it gets there before. */
const MOST_KILLS = draws(60)
const folder = scratch()
let ground: Ground
let server: Served
beforeAll(async () => {
  ground = await simulatedGround({ count: 1, bars: 1_600 })
  server = await serve(ground)
})
afterAll(async () => {
  await server.stop()
  ground.remove()
  folder.remove()
})

it('a pull that is killed again and again pays for each page once, and keeps what the server has', async () => {
  const account = await server.account('puller', 'pro')
  const keyFile = folder.file('key')
  writeFileSync(keyFile, account.key)
  const program = await bundled('test/cli/bands-process.ts', folder.path)
  const db = folder.file('own.db')
  const line = [
    ...['pull', TICKER, '--all-fields', '--timeframe', 'both', '--db', db, '-q'],
    ...['--remote', server.url, '--key-file', keyFile],
  ]
  const used = async (): Promise<number> => (await server.accounts.used(account.id, Date.now())).day
  const random = new Random(3)
  let kills = 0
  for (let done = false; !done; ) {
    const run = started(program, line)
    const enough = (await used()) + 1 + random.below(12)
    let ended = false
    const code = run.ended.finally(() => {
      ended = true
    })
    while (!ended && (kills === MOST_KILLS || (await used()) < enough)) await sleep(2)
    done = ended
    if (done) expect(await code).toBe(0)
    else {
      run.child.kill('SIGKILL')
      kills++
      await code
    }
  }
  expect(kills).toBeGreaterThanOrEqual(Math.min(4, MOST_KILLS))

  let pages = 0
  const store = openSqlite(db, { readonly: true })
  const local = server.service.bands('pro')
  for (const timeframe of TIMEFRAME_NAMES)
    for (const field of FIELD_NAMES) {
      const key = { ticker: TICKER, timeframe, field }
      const { total_occurrences: total } = await local.events({ ...key, limit: 100 })
      const events = (await eventHistory(local, key)).events.map(
        ({ returns, percentiles, missing, ...resource }) => resource,
      )
      expect(await pulledIn(store).series(key)).toMatchObject({ state: 'complete', under_way: null })
      expect((await pulledIn(store).series(key))!.events).toEqual(events)
      pages += Math.max(1, Math.ceil(total / 100))
    }
  await store.close()
  expect(pages).toBeGreaterThan(2 * 21)
  expect(await used()).toBe(pages)
  for (const name of readdirSync(folder.path).filter(name => name.startsWith('own.db')))
    expect(readFileSync(folder.file(name)).includes(account.key.slice(6, 40)), name).toBe(false)
  const verified = await typed(`verify --db ${db}`)
  expect(verified.code, verified.err).toBe(0)
})
