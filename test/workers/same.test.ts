import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import { parseGrid } from '../../src/core/params/grid.js'
import { parseStudy, parseSweep } from '../../src/core/params/studies.js'
import { type ExportFilter, exportEventBlocks } from '../../src/data/local/export.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { grid } from '../../src/research/backtest/grid.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import { sweep } from '../../src/research/sweep/sweep.js'
import { drained } from '../support/drain.js'
import { FULL } from '../support/full.js'
import { fixture, openedForAll, storeOf, temporaryFolder } from '../support/store.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DIST = join(ROOT, 'dist')
/** Of an even and an odd number of tasks, and more threads than most machines here have cores. */
const THREADS = FULL ? [1, 2, 3, 5] : [1, 3]
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
    const { answer, started } = await watched(() => ask(new Local(store, 'pro', day, { threads })))
    found.push(answer)
    // A validation begins anew.
    expect(threads === 1 ? [0] : [threads, 2 * threads]).toContain(started)
  }
  return found
}

/** What is answered, and how many threads were started for it. */
async function watched<Answer>(ask: () => Promise<Answer>): Promise<{ answer: Answer; started: number }> {
  let started = 0
  const count = (): void => void started++
  process.on('worker', count)
  const answer = await ask().finally(() => process.off('worker', count))
  return { answer, started }
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

  it('exports the same bytes of a condition, which no thread makes', async () => {
    const when = 'rsi_zone = oversold and SIM0002:trend_direction != downtrend'
    for (const filter of [{ when }, { when, fields: ['macd_state'] }]) {
      const texts: string[] = []
      for (const threads of THREADS) {
        const local = new Local(store, 'pro', null, { threads })
        const { answer, started } = await watched(() => drained(exportEventBlocks(local, filter, '\n')))
        expect(started).toBe(0)
        texts.push(answer.map(({ text }) => new TextDecoder().decode(text)).join('\n'))
      }
      expectAlike(texts)
    }
  })

  it.each([
    { by: 'ticker' },
    { by: 'pool', cv: { k: 3 } },
    { by: 'ticker', when: 'SIM0002:trend_direction != downtrend', field: 'all' },
  ])('sweeps to the same bytes: %o', async asked => {
    const query = parseSweep({ tickers: await store.names(), resamples: 99, pbo_blocks: 4, ...asked })
    expectAlike(await answers(async local => JSON.stringify(await sweep(local, query))))
  })

  it('studies many tickers to the same bytes, and starts one more thread at most', async () => {
    const tickers = Array.from({ length: 100 }, (_, i) => fixture(i + 1, 120))
    const many = await storeOf(tickers)
    const asked = { tickers: await many.names(), field: 'rsi_zone', horizon: '3,10', resamples: 99, reps: 99 }
    const query = parseStudy({ ...asked, abnormal: 'mean' })
    const found: string[] = []
    for (const threads of THREADS) {
      const local = new Local(many, 'pro', null, { threads })
      const { answer, started } = await watched(async () => JSON.stringify(await eventStudy(local, query)))
      expect(started).toBe(Math.min(threads, 2) - 1)
      found.push(answer)
    }
    expectAlike(found)
  })

  it('trades a grid to the same bytes', async () => {
    // As many combinations as make it worth a thread.
    const hold = Array.from({ length: 400 }, (_, i) => i + 1).join(',')
    const asked = { tickers: await store.names(), field: 'rsi_zone', vary: `hold=${hold}` }
    const query = parseGrid(asked, { tier: null })
    expectAlike(await answers(async local => JSON.stringify(await grid(local, query))))
  })

  it('answer the same of a build that has no program of threads', () => {
    const home = temporaryFolder()
    // What a thread would run is left out; the rest is as it is built.
    cpSync(DIST, join(home, 'dist'), { recursive: true, filter: path => !path.startsWith(join(DIST, 'workers')) })
    cpSync(join(ROOT, 'bin', 'bands.js'), join(home, 'bin', 'bands.js'))
    cpSync(join(ROOT, 'bin', 'package.json'), join(home, 'bin', 'package.json'))
    const exported = (at: string): string =>
      execFileSync(process.execPath, [join(at, 'bin', 'bands.js'), 'export', 'events', '--db', store.location], {
        maxBuffer: 2 ** 26,
        encoding: 'utf8',
        env: { ...process.env, BANDS_THREADS: '3' },
      })
    expectAlike([exported(ROOT), exported(home)])
  })
})
