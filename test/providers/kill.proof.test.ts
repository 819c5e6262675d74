import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { fetchBars } from '../../src/app/open/fetching.js'
import { Random } from '../../src/core/statistics/random.js'
import { BIN, scratch, typed } from '../cli/support/run.js'
import { draws } from '../support/full.js'
import { type FakeVendor, fakeVendor, type History, KEYS, scaled, type VendorBar, walk } from '../support/vendors.js'

/** The built program is killed in a fetch and in an update, at many places; the same line then finishes the work. */

const TICKERS = Array.from({ length: 12 }, (_, i) => `T${String.fromCharCode(65 + i)}`)
/** Two tickers of each call of several, one of them the first. */
const SPLIT = ['TA', 'TE', 'TF', 'TL']

const DAY = 86_400_000
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY).toISOString().slice(0, 10)
const FETCHED = daysAgo(40)
const SPLIT_ON = daysAgo(15)
const NEWEST = daysAgo(3)

/** The bars of a ticker: those of the first fetch, or those of today after a split of 4:1. */
function historyOf(symbol: string, isLater: boolean): VendorBar[] | null {
  if (!TICKERS.includes(symbol)) return null
  const bars = walk(symbol, { last: NEWEST })
  if (!isLater) return bars.filter(({ date }) => date <= FETCHED)
  if (!SPLIT.includes(symbol)) return bars
  const isBefore = ({ date }: VendorBar): boolean => date < SPLIT_ON
  return [...scaled(bars.filter(isBefore), 0.25), ...bars.filter(bar => !isBefore(bar))]
}

interface Ended {
  code: number | null
  err: string
}

describe.each([
  ['tiingo', '', 10],
  ['alpaca', '  symbols: 3\n', 3],
] as const)('a run with %s that is killed', (name, more, places) => {
  const folder = scratch()
  const random = new Random(7)
  let isLater = true
  let vendor: FakeVendor
  const env = {
    HOME: folder.path,
    XDG_CONFIG_HOME: folder.file('config'),
    LANG: 'C.UTF-8',
    PATH: process.env.PATH ?? '',
    [`BANDS_${name.toUpperCase()}_KEY`]: KEYS[name]!,
  }
  beforeAll(async () => {
    const history: History = symbol => historyOf(symbol, isLater)
    vendor = await fakeVendor(name, { history })
    mkdirSync(folder.file('config/bands'), { recursive: true })
    const row = `${name}:\n  like: ${name}\n  base: ${vendor.base}\n  pace: [100000, 1]\n${more}`
    writeFileSync(folder.file('config/bands/providers.yaml'), row)
  })
  afterAll(async () => {
    await vendor.close()
    folder.remove()
    expect(vendor.offences).toEqual([])
  })

  /** A line as a process of its own. */
  function begun(line: string, db: string) {
    const child = spawn(process.execPath, [BIN, ...line.split(' '), '--db', db, '-q'], { env })
    let err = ''
    child.stderr.on('data', chunk => {
      err += chunk
    })
    child.stdout.resume()
    const ended = new Promise<Ended>(resolve => child.on('close', code => resolve({ code, err })))
    return { child, ended }
  }

  /** Whether the line was killed: after so many calls, and some milliseconds. */
  async function killed(line: string, db: string, calls: number, ms: number): Promise<boolean> {
    const before = vendor.calls.length
    const { child, ended } = begun(line, db)
    let isOver = false
    const over = ended.then(() => {
      isOver = true
    })
    while (!isOver && vendor.calls.length - before < calls) await sleep(1)
    await sleep(ms)
    child.kill('SIGKILL')
    await over
    // What the dead process had sent has arrived by then.
    await sleep(30)
    return child.signalCode === 'SIGKILL'
  }

  /** The tickers that are in a database, with the day of their last bar. */
  async function storedIn(db: string): Promise<Map<string, string>> {
    const bands = await openBands({ db }).catch(() => null)
    if (bands === null) return new Map()
    const entries = await bands.tickers()
    await bands.close()
    return new Map(entries.map(({ ticker, last }) => [ticker, new Date(last * DAY).toISOString().slice(0, 10)]))
  }

  async function contentOf(db: string): Promise<{ bars: string; events: string }> {
    const bands = await openBands({ db })
    const bars = [] as string[]
    const events = [] as string[]
    for await (const bar of bands.exportBars()) bars.push(JSON.stringify(bar))
    for await (const event of bands.exportEvents()) events.push(JSON.stringify(event))
    await bands.close()
    return { bars: bars.join('\n'), events: events.join('\n') }
  }

  const symbolsOf = ({ path, query }: FakeVendor['calls'][number]): string[] =>
    query.get('symbols')?.split(',') ?? [path.split('/').at(-2)!]

  async function prove(line: string, { from, newest }: { from: string | null; newest: string }): Promise<void> {
    const whole = folder.file('whole.db')
    const db = folder.file('killed.db')
    const begin = (path: string): void => {
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
      if (from !== null) copyFileSync(from, path)
    }
    begin(whole)
    const first = vendor.calls.length
    const { code, err } = await begun(line, whole).ended
    expect([code, err]).toEqual([0, ''])
    const calls = vendor.calls.length - first
    const expected = await contentOf(whole)
    expect((await storedIn(whole)).size).toBe(TICKERS.length)

    const rounds = draws(places)
    const seen = { none: 0, some: 0 }
    for (let round = 0; round < rounds; round++) {
      begin(db)
      const at = Math.round((calls * (round + 0.5)) / rounds)
      const ms = random.below(40)
      const isKilled = await killed(line, db, at, ms)
      const finished = [...(await storedIn(db))].flatMap(([ticker, last]) => (last === newest ? [ticker] : []))
      const about = `${line}, killed after ${at} calls and ${ms} ms with ${finished.length} finished`
      if (isKilled) seen[finished.length === 0 ? 'none' : 'some']++
      const before = vendor.calls.length
      const again = await begun(line, db).ended
      expect([again.code, again.err], about).toEqual([0, ''])
      const asked = new Set(vendor.calls.slice(before).flatMap(symbolsOf))
      expect(
        finished.filter(ticker => asked.has(ticker)),
        about,
      ).toEqual([])
      const found = await contentOf(db)
      expect([found.bars === expected.bars, found.events === expected.events], about).toEqual([true, true])
      const verified = await typed(`verify --db ${db}`)
      expect(verified.code, `${about}: ${verified.err}`).toBe(0)
    }
    if (rounds >= 10) expect(seen.some).toBeGreaterThan(rounds / 2)
  }

  const newestOf = (isNow: boolean): string => historyOf('TB', isNow)!.at(-1)!.date

  test('in a fetch leaves what the same line finishes', async () => {
    await prove(`fetch ${TICKERS.join(' ')} --from ${name}`, { from: null, newest: newestOf(true) })
  })

  test('in an update after splits leaves what the same line finishes', async () => {
    const base = folder.file('base.db')
    isLater = false
    // The bars are those of a fetch of that day.
    vi.setSystemTime(Date.parse(FETCHED) + 3 * DAY)
    const providers = folder.file('config/bands/providers.yaml')
    const found = await fetchBars(TICKERS, { from: name, db: base, env, providers }).finally(() => vi.useRealTimers())
    expect(found.map(({ outcome }) => outcome)).toEqual(TICKERS.map(() => 'loaded'))
    isLater = true
    await prove('update --all', { from: base, newest: newestOf(true) })
  })
})
