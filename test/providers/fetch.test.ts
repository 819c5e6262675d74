import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openBands } from '../../src/app/client.js'
import { type FetchOptions, fetchBars, updateBars } from '../../src/app/open/fetching.js'
import { BUILT_IN_PROVIDERS } from '../../src/app/providers/provider.js'
import { parseDay } from '../../src/core/model/day.js'
import { scratch } from '../cli/support/run.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import {
  type FakeVendor,
  fakeVendor,
  type History,
  KEYS,
  MARKET,
  STOCKS,
  scaled,
  type VendorBar,
  walk,
} from '../support/vendors.js'

/** Fetching from a local server that answers in each vendor's shape, and is strict about keys and pace. */

const FAST = '  pace: [1000, 1]\n'
const PRICED = ['tiingo', 'alpaca', 'eodhd', 'massive', 'coinbase'] as const

/** Noon of a day on which all simulated bars are final. */
const NOW = Date.parse('2026-11-27T17:00:00Z')

const MARKETS: History = symbol =>
  symbol === 'BTC-USD'
    ? walk(symbol, { everyDay: true })
    : MARKET.includes(symbol.replace('-', '.'))
      ? walk(symbol.replace('-', '.'))
      : null

const opened: FakeVendor[] = []

afterEach(async () => {
  for (const vendor of opened.splice(0)) {
    await vendor.close()
    expect(vendor.offences).toEqual([])
  }
})

interface Setting {
  vendor: FakeVendor
  folder: ReturnType<typeof scratch>
  /** The waits of pace and patience, in milliseconds. */
  waits: number[]
  options: FetchOptions & { from: string }
}

/** A vendor of that name at a local address, and an empty database. */
async function setting(
  name: string,
  {
    history = MARKETS,
    rest = FAST,
    now = NOW,
    row = `  like: ${name}\n`,
  }: { history?: History; rest?: string; now?: number; row?: string } = {},
): Promise<Setting> {
  const folder = scratch()
  onTestFinished(folder.remove)
  const vendor = await fakeVendor(name, { history })
  opened.push(vendor)
  const providers = folder.file('providers.yaml')
  mkdirSync(dirname(providers), { recursive: true })
  writeFileSync(providers, `${name}:\n${row}  base: ${vendor.base}\n${rest}`)
  const waits: number[] = []
  let clock = now
  const sleep = async (ms: number): Promise<void> => {
    waits.push(ms)
    clock += ms
  }
  const env = { HOME: folder.path, ...(KEYS[name] && { [`BANDS_${name.toUpperCase()}_KEY`]: KEYS[name] }) }
  const hooks = { sleep, now: () => clock, random: () => 0.5 }
  return { vendor, folder, waits, options: { from: name, db: folder.file('bands.db'), env, providers, hooks } }
}

async function storedBars({ options: { db } }: Setting, ticker: string): Promise<VendorBar[]> {
  const bands = await openBands({ db: db!, asOf: '2030-12-31' })
  const found: VendorBar[] = []
  for await (const { date, open, high, low, close, volume } of bands.exportBars({ tickers: [ticker] }))
    found.push({ date, open, high, low, close, volume: volume! })
  await bands.close()
  return found
}

/** Adjusted prices of a vendor that gives factors are equal to about 15 digits. */
function expectBars(found: readonly VendorBar[], truth: readonly VendorBar[]): void {
  expect(found.map(({ date }) => date)).toEqual(truth.map(({ date }) => date))
  for (const [i, bar] of found.entries())
    for (const key of ['open', 'high', 'low', 'close', 'volume'] as const)
      expect(bar[key], `${bar.date} ${key}`).toBeCloseTo(truth[i]![key], 6)
}

describe('a fetch', () => {
  it.each(firstInQuick(PRICED, 2))('loads the bars of %s as they are', async name => {
    const here = await setting(name)
    const tickers = name === 'coinbase' ? ['BTC-USD'] : ['AAPL', 'MSFT']
    const found = await fetchBars(tickers, here.options)
    expect(found.map(({ ticker, outcome }) => [ticker, outcome])).toEqual(tickers.map(ticker => [ticker, 'loaded']))
    for (const ticker of tickers) expectBars(await storedBars(here, ticker), MARKETS(ticker)!)
  })

  it.each(firstInQuick(['tiingo', 'alpaca', 'massive']))('takes BRK.B and BRK-B for one ticker of %s', async name => {
    for (const typed of ['BRK.B', 'BRK-B']) {
      const here = await setting(name)
      const [found] = await fetchBars([typed], here.options)
      expect(found).toMatchObject({ ticker: 'BRK.B', outcome: 'loaded' })
      expectBars(await storedBars(here, 'BRK.B'), MARKETS('BRK.B')!)
    }
  })

  it('asks for a hundred tickers in a call, and follows the pages', async () => {
    const here = await setting('alpaca')
    await fetchBars(MARKET, here.options)
    const rows = MARKET.reduce((sum, ticker) => sum + MARKETS(ticker)!.length, 0)
    expect(here.vendor.calls).toHaveLength(Math.ceil(rows / 1_000))
    for (const ticker of MARKET) expectBars(await storedBars(here, ticker), MARKETS(ticker)!)
  })

  it('names a ticker that the vendor does not know, and loads the others', async () => {
    for (const name of firstInQuick(PRICED.filter(name => name !== 'coinbase'))) {
      const here = await setting(name)
      const found = await fetchBars(['AAPL', 'NONE'], here.options)
      expect(found.map(({ ticker, outcome }) => [ticker, outcome])).toEqual([
        ['AAPL', 'loaded'],
        ['NONE', 'unknown'],
      ])
    }
  })

  it('leaves out a bar that may still change', async () => {
    // Twenty past seven in the evening of New York, and twenty past eight.
    for (const [time, last] of [
      ['2026-11-20T00:20:00Z', '2026-11-18'],
      ['2026-11-20T01:20:00Z', '2026-11-19'],
    ] as const) {
      const here = await setting('tiingo', { now: Date.parse(time) })
      expect(await fetchBars(['AAPL'], here.options)).toMatchObject([{ last }])
    }
    const here = await setting('coinbase', { now: Date.parse('2026-11-20T23:59:00Z') })
    expect(await fetchBars(['BTC-USD'], here.options)).toMatchObject([{ last: '2026-11-19' }])
  })

  it('has only bars after a day, and the next update keeps that', async () => {
    const here = await setting('tiingo')
    const after = 19_800
    const [found] = await fetchBars(['AAPL'], { ...here.options, after })
    expect(found).toMatchObject({ first: '2024-03-19' })
  })

  it('makes no call where nothing new can have come', async () => {
    const here = await setting('tiingo', { now: Date.now() })
    await fetchBars(['AAPL'], here.options)
    const calls = here.vendor.calls.length
    const plans: unknown[] = []
    const found = await fetchBars(['AAPL'], { ...here.options, onPlan: plan => void plans.push(plan) })
    expect(found).toMatchObject([{ outcome: 'current', added: 0 }])
    expect(plans).toMatchObject([{ tickers: 1, done: 1, calls: 0 }])
    expect(here.vendor.calls).toHaveLength(calls)
  })
})

describe('a plan', () => {
  it.each([
    ['tiingo', MARKET, 5, 0],
    ['tiingo', Array.from({ length: 505 }, (_, i) => `T${i}`), 505, 36_000],
    ['alpaca', Array.from({ length: 505 }, (_, i) => `T${i}`), 145, 0],
    ['coinbase', ['BTC-USD'], 14, 1],
  ] as const)('of %s has its calls and its time at the pace', async (name, tickers, calls, seconds) => {
    const { Fetching } = await import('../../src/app/providers/fetch.js')
    const { openVendor } = await import('../../src/app/open/fetching.js')
    const { openImporter } = await import('../../src/app/open/writing.js')
    const here = await setting(name)
    const provider = BUILT_IN_PROVIDERS.find(one => one.name === name)!
    const vendor = openVendor(provider, here.options)
    const importer = await openImporter({ db: here.options.db! })
    const plan = await new Fetching(importer, vendor, { tickers }).plan()
    await importer.close()
    await vendor.close()
    expect(plan.tickers).toBe(tickers.length)
    expect(Math.abs(plan.calls - calls)).toBeLessThanOrEqual(3)
    expect(plan.seconds).toBe(seconds)
  })
})

describe('patience', () => {
  const limit = (headers: Record<string, string> = {}) => ({ status: 429, body: '{"detail":"too many"}', headers })

  it('waits as long as Retry-After says, and with jitter where the vendor says nothing', async () => {
    const here = await setting('tiingo')
    here.vendor.faults.push(limit({ 'retry-after': '7' }), limit())
    expect(await fetchBars(['AAPL'], here.options)).toMatchObject([{ outcome: 'loaded' }])
    expect(here.waits).toEqual([7_005, 500])
    const again = await setting('alpaca')
    again.vendor.faults.push(limit({ 'x-ratelimit-reset': String(NOW / 1000 + 11) }))
    expect(await fetchBars(['AAPL'], again.options)).toMatchObject([{ outcome: 'loaded' }])
    expect(again.waits).toEqual([11_000])
  })

  it.each(['reset', 'cut', { status: 500, body: 'x' }, { status: 503, body: 'x' }] as const)(
    'asks again after %s',
    async fault => {
      const here = await setting('tiingo')
      here.vendor.faults.push(fault, fault)
      expect(await fetchBars(['AAPL'], here.options)).toMatchObject([{ outcome: 'loaded' }])
      expect(here.vendor.calls).toHaveLength(3)
    },
  )

  it('asks again after an attempt that takes too long', async () => {
    const here = await setting('tiingo')
    here.vendor.faults.push('hang')
    expect(await fetchBars(['AAPL'], { ...here.options, timeoutMs: 300 })).toMatchObject([{ outcome: 'loaded' }])
  })

  it('ends after five attempts, or where the vendor wants a longer wait, with the time to come back', async () => {
    const here = await setting('tiingo')
    here.vendor.faults.push(...Array.from({ length: 9 }, () => limit()))
    await expect(fetchBars(['AAPL'], here.options)).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
    expect(here.vendor.calls).toHaveLength(5)
    here.vendor.faults.splice(0, 9, limit({ 'retry-after': '3600' }))
    await expect(fetchBars(['MSFT'], here.options)).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(/allows no more calls now until 2026-11-27T18:0\d:\d\dZ: too many; the same line/),
    })
  })

  it('keeps the pace of a vendor over several runs', async () => {
    const here = await setting('tiingo', { rest: '  pace: [2, 60]\n' })
    await fetchBars(['AAPL', 'MSFT', 'GE'], here.options)
    expect(here.waits.length).toBe(1)
    expect(here.waits[0]!).toBeGreaterThan(59_000)
    // Another run, a moment later.
    await fetchBars(['F'], here.options)
    expect(here.waits.length).toBe(1)
    await fetchBars(['BRK.B'], here.options)
    expect(here.waits.length).toBe(2)
  })
})

describe('an answer that cannot be used', () => {
  it.each([
    ['html', /: this is a web page/],
    [{ status: 200, body: '{"Information":"You have exceeded the limit"}' }, /You have exceeded the limit/],
    [
      (sent: { body: string }) => ({ status: 200, body: sent.body.replace(/"high":[\d.]+/, '"high":0.01') }),
      /high 0.01 is below/,
    ],
    [{ status: 200, body: '{"a":' }, /./],
  ])('is refused in a sentence, and the other tickers are loaded', async (fault, words) => {
    const here = await setting('tiingo')
    here.vendor.faults.push(fault as 'html')
    const found = await fetchBars(['AAPL', 'MSFT'], here.options)
    expect(found).toMatchObject([
      { ticker: 'AAPL', outcome: 'refused', added: 0, note: expect.stringMatching(words) },
      { ticker: 'MSFT', outcome: 'loaded' },
    ])
    expect(await storedBars(here, 'AAPL').catch(() => [])).toEqual([])
  })

  notInQuick('costs only its own ticker in a call of several', async () => {
    const here = await setting('alpaca')
    const bad = (sent: { body: string }) => {
      const document = JSON.parse(sent.body)
      if (document.bars.GE) document.bars.GE[0].h = 0.01
      return { status: 200, body: JSON.stringify(document) }
    }
    here.vendor.faults.push(...Array.from({ length: 40 }, () => bad))
    const found = await fetchBars(MARKET, here.options)
    expect(found.filter(({ outcome }) => outcome === 'refused').map(({ ticker }) => ticker)).toEqual(['GE'])
    for (const ticker of MARKET.filter(name => name !== 'GE'))
      expectBars(await storedBars(here, ticker), MARKETS(ticker)!)
  })

  it('is refused where a page names itself as the next one', async () => {
    const here = await setting('alpaca')
    here.vendor.faults.push(
      ...Array.from({ length: 4 }, () => (sent: { body: string }) => ({
        status: 200,
        body: sent.body.replace(/"next_page_token":("[^"]*"|null)/, '"next_page_token":"MTAwMA=="'),
      })),
    )
    expect(await fetchBars(['AAPL'], here.options)).toMatchObject([
      { outcome: 'refused', note: expect.stringContaining('its next page is the same page again') },
    ])
  })

  it('is a redirect, which is not followed', async () => {
    const here = await setting('tiingo')
    const other = await fakeVendor('tiingo', { history: MARKETS })
    opened.push(other)
    here.vendor.faults.push({ status: 302, body: '', headers: { location: `${other.base}/stolen` } })
    await expect(fetchBars(['AAPL'], here.options)).rejects.toThrow('redirects to another address')
    expect(other.calls).toEqual([])
  })
})

describe('a key', () => {
  it('is in no error, whatever the vendor repeats', async () => {
    for (const name of firstInQuick(['eodhd', 'tiingo', 'alpaca'])) {
      for (const status of [200, 400, 401, 429, 500]) {
        const here = await setting(name)
        const parts = KEYS[name]!.split(':')
        const body = `{"message":"bad ${KEYS[name]}, and ${parts.join(' ')}"}`
        here.vendor.faults.push(...Array.from({ length: 9 }, () => ({ status, body })))
        const said = await fetchBars(['AAPL'], here.options).then(JSON.stringify, String)
        for (const part of parts) expect(said).not.toContain(part)
        expect(said).toContain('****')
      }
    }
  })

  it('that the vendor refuses ends the work with where to get one', async () => {
    const here = await setting('tiingo')
    here.vendor.faults.push({ status: 401, body: '{"detail":"Invalid token."}' })
    await expect(fetchBars(['AAPL', 'MSFT'], here.options)).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringMatching(/refuses the key \(401\): Invalid token\.; get one at https:\/\/www\.tiingo/),
    })
    expect(here.vendor.calls).toHaveLength(1)
    await expect(fetchBars(['AAPL'], { ...here.options, env: { HOME: here.folder.path } })).rejects.toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('BANDS_TIINGO_KEY'),
    })
  })

  it('is in none of the files that a fetch leaves', async () => {
    const here = await setting('eodhd')
    await fetchBars(['AAPL'], here.options)
    const files = readdirSync(here.folder.path, { recursive: true, withFileTypes: true }).filter(one => one.isFile())
    expect(files.length).toBeGreaterThan(1)
    for (const file of files)
      expect(readFileSync(`${file.parentPath}/${file.name}`, 'latin1'), file.name).not.toContain(KEYS.eodhd)
  })
})

describe('an update', () => {
  const day = (date: string): number => Date.parse(`${date}T12:00:00Z`)

  /** A vendor whose history grows, and is rewritten by a factor on a day. */
  async function over(name: string, factor: number, splits = true) {
    const truth = walk('AAPL', { first: '2028-01-03', last: '2030-12-31' })
    let today = '2030-06-14'
    const history: History = symbol => {
      if (symbol !== 'AAPL') return null
      const known = truth.filter(({ date }) => date <= today)
      return today < '2030-07-01'
        ? known
        : [
            ...scaled(
              known.filter(({ date }) => date < '2030-07-01'),
              factor,
              splits,
            ),
            ...known.filter(({ date }) => date >= '2030-07-01'),
          ]
    }
    const first = await setting(name, { history, now: day('2030-06-15') })
    await fetchBars(['AAPL'], first.options)
    today = '2030-07-05'
    const clock = { ...first.options.hooks, now: () => day('2030-07-06') }
    return { here: first, history, options: { ...first.options, hooks: clock } }
  }

  const ACTIONS = [
    ['a split of 4:1', 0.25, true],
    ['no event', 1, true],
    ['a dividend of .1 %', 0.999, false],
    ['a dividend of .3 %', 0.997, false],
    ['a dividend of .8 %', 0.992, false],
    ['a dividend of 1.5 %', 0.985, false],
  ] as const

  it.each(firstInQuick(ACTIONS, 2))('after %s leaves what one fetch of the truth leaves', async (_, factor, splits) => {
    for (const name of ['tiingo', 'alpaca']) {
      const { here, history, options } = await over(name, factor, splits)
      const { from: _from, ...known } = options
      const calls = here.vendor.calls.length
      const [found] = await updateBars(['AAPL'], known)
      expect(found).toMatchObject({ ticker: 'AAPL', outcome: factor === 1 ? 'loaded' : 'reloaded' })
      expect(here.vendor.calls.length - calls).toBe(factor === 1 ? 1 : 2)
      if (factor === 1) expect(found!.added).toBe(15)
      else expect(found!.events_changed).toBeGreaterThanOrEqual(0)
      expectBars(await storedBars(here, 'AAPL'), history('AAPL')!)
      const once = await setting(name, { history, now: day('2030-07-06') })
      await fetchBars(['AAPL'], once.options)
      expect(await eventsOf(here)).toEqual(await eventsOf(once))
    }
  })

  async function eventsOf({ options: { db } }: Setting): Promise<unknown[]> {
    const bands = await openBands({ db: db!, asOf: '2030-12-31' })
    const found: unknown[] = []
    for await (const event of bands.exportEvents({ tickers: ['AAPL'] })) found.push(event)
    await bands.close()
    return found
  }

  it('asks Massive ticker by ticker where days take more calls', async () => {
    let today = '2030-06-14'
    const history: History = symbol =>
      MARKET.includes(symbol) ? walk(symbol, { first: '2029-01-02', last: today }) : null
    const here = await setting('massive', { history, now: day('2030-06-15') })
    await fetchBars(MARKET, here.options)
    today = '2030-06-17'
    const { from: _, ...known } = here.options
    const calls = here.vendor.calls.length
    const hooks = { ...known.hooks, now: () => day('2030-06-18') }
    // Ten days back are more calls than five tickers.
    const found = await updateBars(MARKET, { ...known, hooks })
    expect(found.map(({ added }) => added)).toEqual([1, 1, 1, 1, 1])
    expect(here.vendor.calls.length - calls).toBe(5)
    for (const ticker of MARKET) expectBars(await storedBars(here, ticker), history(ticker)!)
  })

  it('asks Massive for whole days where tickers take more calls, and keeps the range of each ticker', async () => {
    let today = '2030-06-14'
    const history: History = symbol =>
      STOCKS.includes(symbol) ? walk(symbol, { first: '2029-01-02', last: today }) : null
    const here = await setting('massive', { history, now: day('2030-06-15') })
    const [first = '', ...others] = STOCKS
    await fetchBars([first], here.options)
    await fetchBars(others, { ...here.options, after: parseDay('2029-12-31')! })
    today = '2030-06-17'
    const { from: _, ...known } = here.options
    const hooks = { ...known.hooks, now: () => day('2030-06-18') }
    const calls = here.vendor.calls.length
    const found = await updateBars(STOCKS, { ...known, hooks })
    // Ten working days, of the twelve stocks.
    expect(here.vendor.calls.length - calls).toBe(10)
    expect(found.map(({ ticker, added }) => [ticker, added]).sort()).toEqual(STOCKS.map(ticker => [ticker, 1]).sort())
    const bands = await openBands({ db: known.db! })
    onTestFinished(() => bands.close())
    const sources = new Map((await bands.tickers()).map(({ ticker, source }) => [ticker, source]))
    expect(sources.get(first)).toBe('fetched from massive')
    for (const ticker of others) expect(sources.get(ticker), ticker).toBe('fetched from massive after 2029-12-31')
    expectBars(await storedBars(here, first), history(first)!)
    for (const ticker of others)
      expectBars(
        await storedBars(here, ticker),
        history(ticker)!.filter(({ date }) => date > '2029-12-31'),
      )
  })

  it('is refused for a ticker that was not fetched', async () => {
    const here = await setting('tiingo')
    await fetchBars(['AAPL'], here.options)
    const { from: _, ...known } = here.options
    await expect(updateBars(['GE'], known)).rejects.toMatchObject({
      code: 'invalid_parameter',
      message: expect.stringContaining('GE is not loaded'),
    })
  })
})

describe('a client of a program', () => {
  it('fetches and updates, and answers from what came', async () => {
    const here = await setting('coinbase')
    const { db, ...rest } = here.options
    await fetchBars(['BTC-USD'], { ...rest, db: db!, after: 20_000 })
    const bands = await openBands({ db: db! })
    onTestFinished(() => bands.close())
    const before = (await bands.now({ tickers: ['BTC-USD'] })).states.length
    expect(before).toBeGreaterThan(0)
    expect(await bands.fetch(['BTC-USD'], { ...rest, replace: true })).toMatchObject([{ outcome: 'loaded' }])
    const bars: unknown[] = []
    for await (const bar of bands.exportBars({ tickers: ['BTC-USD'] })) bars.push(bar)
    expect(bars).toHaveLength(MARKETS('BTC-USD')!.length)
    const { from: _, ...known } = rest
    expect(await bands.update(['BTC-USD'], known)).toMatchObject([{ ticker: 'BTC-USD', outcome: 'current' }])
  })

  it('does not write into the sample', async () => {
    vi.stubEnv('HOME', scratch().path)
    vi.stubEnv('XDG_DATA_HOME', '')
    vi.stubEnv('BANDS_DB', '')
    onTestFinished(() => void vi.unstubAllEnvs())
    const bands = await openBands()
    onTestFinished(() => bands.close())
    await expect(bands.fetch(['BTC-USD'], { from: 'coinbase' })).rejects.toThrow('the sample is open')
  })
})

describe('a vendor of one’s own', () => {
  const ROW = [
    '  about: Twelve Data',
    '  needs: key',
    '  path: /time_series?symbol={symbol}&interval=1day&start_date={from}&end_date={to}&outputsize=5000&apikey={key}',
    '  prices: raw',
    '  refusal: { status: code, message: message }',
    '  final: { zone: America/New_York, hour: 20 }\n',
  ].join('\n')

  it('refuses with status 200 by the keys that its row names', async () => {
    const here = await setting('twelve', { row: ROW })
    const limit = { status: 200, body: '{"code":429,"message":"You have run out of API credits","status":"error"}' }
    here.vendor.faults.push(limit)
    const found = await fetchBars(['AAPL', 'NONE'], here.options)
    expect(found.map(({ outcome }) => outcome)).toEqual(['loaded', 'unknown'])
    expect(here.waits).toEqual([250])
    expectBars(await storedBars(here, 'AAPL'), MARKETS('AAPL')!)
    here.vendor.faults.push(...Array.from({ length: 5 }, () => limit))
    await expect(fetchBars(['MSFT'], here.options)).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  })

  it.each([
    ['twelve:\n  base: https://api.example.com\n', '1:1: twelve lacks path: '],
    ['twelve:\n  pathh: https://api.example.com\n', '2:3: there is no key "pathh" in a vendor. Did you mean "path"?'],
    ['Twelve:\n  base: x\n', '1:1: "Twelve" is no name of a vendor'],
    ['t:\n  like: tiingu\n', '2:9: like "tiingu" is none of '],
    ['t:\n  like: tiingo\n  base: http://api.example.com\n', '3:9: base: http://api.example.com would be sent the key'],
    ['t:\n  like: tiingo\n  pace: fast\n', '3:9: pace: it is [calls, seconds]'],
    ['t:\n  like: tiingo\n  needs: nothing\n', '3:10: needs is nothing, and a header or the path has a key'],
    ['t:\n  like: tiingo\n  path: /x/{sybol}\n', '3:9: path: it has {symbol}'],
    ['t:\n  like: tiingo\n  path: /x/{symbol}/{days}\n', '3:9: there is no {days}'],
    ['t:\n  like: tiingo\n  first: yesterday\n', '3:10: first: it is a day as YYYY-MM-DD'],
    ['t:\n  like: tiingo\n  final: { zone: Mars, hour: 20 }\n', '3:18: final.zone: it is a time zone'],
    ['- a\n', '1:1: it is a mapping of names to vendors'],
    ['t: 5\n', '1:4: t is a mapping that has at least base, path and prices'],
  ])('is refused at the place of its fault: %j', async (text, words) => {
    const { parseProviders } = await import('../../src/app/providers/file.js')
    expect(() => parseProviders(text, 'p.yaml')).toThrow(`p.yaml:${words}`)
  })
})
