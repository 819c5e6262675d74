import { execFileSync } from 'node:child_process'
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type ExportFilter, exportEventBlocks } from '../../src/local/export.js'
import { Local } from '../../src/local/local.js'
import { parseDay } from '../../src/model/day.js'
import { parseStudy, parseSweep } from '../../src/params/studies.js'
import type { Store } from '../../src/store/store.js'
import { eventStudy } from '../../src/study/event-study.js'
import { sweep } from '../../src/sweep/sweep.js'
import { drained } from '../support/drain.js'
import { fixture, openedForAll, storeOf, temporaryFolder } from '../support/store.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DIST = join(ROOT, 'dist')
const THREADS = [1, 2, 3, 5]
/** Enough that threads are started for them. */
const TICKERS = 7

let store: Store
openedForAll(async folder => {
  store = await storeOf(
    Array.from({ length: TICKERS }, (_, i) => fixture(i + 1, 400)),
    folder,
  )
  return store
})

/** What is answered by each number of threads, as text; as many are started, and none beside the first for one. */
async function answers(ask: (local: Local) => Promise<string>, asOf: string | null = null): Promise<string[]> {
  const day = asOf === null ? null : parseDay(asOf)
  const found: string[] = []
  for (const threads of THREADS) {
    let started = 0
    const count = (): void => void started++
    process.on('worker', count)
    found.push(await ask(new Local(store, 'pro', day, { threads })).finally(() => process.off('worker', count)))
    // A validation begins anew.
    expect(threads === 1 ? [0] : [threads, 2 * threads]).toContain(started)
  }
  return found
}

function expectAlike([first, ...others]: readonly string[]): void {
  expect(first).not.toBe('')
  for (const other of others) expect(other === first).toBe(true)
}

describe('any number of threads', () => {
  it.each([null, '2017-05-17'])('exports the same bytes, as of %s', async asOf => {
    const exported = async (local: Local, filter: ExportFilter): Promise<string> => {
      const blocks = await drained(exportEventBlocks(local, filter, '\n'))
      return blocks.map(({ text, rows }) => `${rows}\n${new TextDecoder().decode(text)}`).join('\n')
    }
    expectAlike(await answers(local => exported(local, {}), asOf))
    expectAlike(await answers(local => exported(local, { fields: ['rsi_zone'], timeframes: ['daily'] }), asOf))
  })

  it.each([{ by: 'pool' }, { by: 'ticker' }, { by: 'pool', cv: { k: 3 } }])(
    'sweeps to the same bytes: %o',
    async asked => {
      const query = parseSweep({ tickers: await store.names(), resamples: 99, reps: 99, ...asked })
      expectAlike(await answers(async local => JSON.stringify(await sweep(local, query))))
    },
  )

  it.each([{}, { context: 'SIM0002:trend_direction=uptrend', abnormal: 'mean' }])(
    'studies to the same bytes: %o',
    async asked => {
      const horizon = Array.from({ length: 25 }, (_, i) => i + 1)
      const query = parseStudy({ tickers: await store.names(), field: 'rsi_zone', horizon, resamples: 99, ...asked })
      const studied = async (local: Local): Promise<string> => JSON.stringify(await eventStudy(local, query))
      expectAlike(await answers(studied))
    },
  )

  it('answer the same of a build that has no program of threads', () => {
    const home = temporaryFolder()
    // What a thread would run is left out; the rest is as it is built.
    cpSync(DIST, join(home, 'dist'), { recursive: true, filter: path => !path.startsWith(join(DIST, 'workers')) })
    cpSync(join(ROOT, 'bin', 'bands.js'), join(home, 'bin', 'bands.js'))
    cpSync(join(ROOT, 'bin', 'package.json'), join(home, 'bin', 'package.json'))
    for (const own of ['node_modules', 'bin/node-20']) symlinkSync(join(ROOT, own), join(home, own))
    const exported = (at: string): string =>
      execFileSync(process.execPath, [join(at, 'bin', 'bands.js'), 'export', 'events', '--db', store.location], {
        maxBuffer: 2 ** 26,
        encoding: 'utf8',
        env: { ...process.env, BANDS_THREADS: '3' },
      })
    expectAlike([exported(ROOT), exported(home)])
  })
})
