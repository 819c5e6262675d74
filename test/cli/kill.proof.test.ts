import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { BUILT_IN } from '../../src/core/fields/index.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { eventHistory } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { draws, FULL, provenInFull } from '../support/full.js'
import { bundled, started } from '../support/processes.js'
import { pulledIn } from '../support/pulled.js'
import { serve, simulatedGround } from '../support/serve.js'
import { type Ran, scratch, shell, typed } from './support/run.js'

const folder = scratch()
const sh = (line: string): Promise<Ran> => shell(line, { BANDS_DB: folder.file('bands.db') })
afterAll(folder.remove)

test('finishes with the next import what a killed import of facts has left', async () => {
  const bars = folder.file('many.csv')
  const facts = folder.file('many-facts')
  const whole = folder.file('whole.db')
  const killed = folder.file('killed.db')
  await sh(
    `bands simulate ${FULL ? 40 : 10} --bars 500 --facts "${facts}" > "${bars}"; bands import "${bars}" --db "${whole}" -q`,
  )
  const events = (db: string) => sh(`bands export events --csv --db "${db}"`)
  const load = (db: string): string => `import "${facts}" --db "${db}" -q`
  await sh(`cp "${whole}" "${folder.file('before.db')}"; bands ${load(whole)}`)
  const expected = (await events(whole)).out
  expect(expected).toContain('valuation_zone')
  for (const seconds of [FULL ? 0.5 : 0.2, 0.3, 0.7, 0.9].slice(0, draws(4))) {
    await sh(`rm -f "${killed}"*; cp "${folder.file('before.db')}" "${killed}"`)
    await sh(`"$NODE" "$BIN" ${load(killed)} > /dev/null & sleep ${seconds}; kill -9 $!; wait $!`)
    expect((await sh(`bands verify --db "${killed}"`)).code).toBe(0)
    expect((await sh(`bands ${load(killed)}`)).code).toBe(0)
    expect((await events(killed)).out === expected, `killed after ${seconds} s`).toBe(true)
  }
})

provenInFull.each([
  ['INT', 130],
  ['TERM', 143],
])('an import is ended by SIG%s with %d, and the database can be written again', async (signal, code) => {
  const db = folder.file(`killed-${signal}.db`)
  const line = `"$NODE" "$BIN" simulate 3000 --load --db "${db}"`
  expect((await sh(`set -m; ${line} & sleep 1.5; kill -${signal} $!; wait $!; echo $?`)).out).toContain(`${code}\n`)
  expect((await sh(`bands simulate 1 --load --db "${db}"`)).code).toBe(0)
})

const TICKER = 'SIM0001'
/** After so many a pull is let to its end; in the full run it gets there before. */
const MOST_KILLS = draws(60)

test('a pull that is killed again and again pays for each page once, and keeps what the server has', async () => {
  const ground = await simulatedGround({ count: 1, bars: 1_600 })
  const server = await serve(ground)
  onTestFinished(async () => {
    await server.stop()
    ground.remove()
  })
  const account = await server.account('puller', 'pro')
  const keyFile = folder.file('key')
  writeFileSync(keyFile, account.key)
  const program = await bundled('test/cli/bands-process.ts', folder.path)
  const db = folder.file('own.db')
  const line = [
    ...['pull', TICKER, 'all', '--timeframe', 'both', '--db', db, '-q'],
    ...['--remote', server.url, '--key-file', keyFile],
  ]
  const used = async (): Promise<number> => (await server.accounts.usedCredits(account.id, Date.now())).day
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
    for (const field of BUILT_IN.names) {
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
