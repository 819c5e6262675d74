import { describe, expect, it } from 'vitest'
import type { PricedSource } from '../../src/core/source.js'
import { normalCdf, tCdf, tQuantile } from '../../src/core/statistics/distributions.js'
import { modelledEvents, pathComputer } from '../../src/research/study/abnormal.js'
import { histogram, streamOf } from '../../src/research/study/cell.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import type { EventStudy, PathPoint, StudyWindow } from '../../src/research/study/result.js'
import { subjectsOf } from '../../src/research/study/subject.js'
import { loadPrices } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { QUICK } from '../support/full.js'
import { cacheOf } from '../support/store.js'
import {
  average,
  type PlainTicker,
  plainCalendar,
  plainClusters,
  plainHeld,
  plainNeweyWest,
  plainSeries,
  plainShift,
  plainTickers,
} from './support/plain-study.js'
import { type Listing, marketOf, queryOf, randomWalks } from './support/study-market.js'

/** Two tickers that lack days of each other, and one without events. */
const POOL: Listing[] = randomWalks(3, { tickers: 3, bars: 420, common: 0.4, holidays: 0.05 }).map((listing, i) =>
  i === 1 ? { ...listing, codes: listing.codes!.map(code => (code === 2 ? 1 : code)) } : listing,
)
const ALONE = randomWalks(4, { tickers: 1, bars: 800, chance: 0.04 })

it('the path of a study is the same in parts', async () => {
  const delisted = POOL.map((listing, i) => (i === 0 ? { ...listing, delisting: { day: 20_000, price: 1 } } : listing))
  const query = { ...queryOf({ tickers: POOL.map(({ ticker }) => ticker), horizons: [5] }), abnormal: 'mean' as const }
  const market = marketOf(delisted)
  const subjects = await subjectsOf(market, query, () => {})
  const modelled = modelledEvents(subjects, 'mean', null)
  const part = pathComputer(subjects, modelled, query)
  const { before, after } = query.path
  const whole = part(-before, after)
  for (const points of [1, 7, 40]) {
    const parts: PathPoint[] = []
    for (let from = -before; from <= after; from += points)
      parts.push(...part(from, Math.min(after, from + points - 1)))
    expect(parts).toEqual(whole)
  }
  expect(whole.some(({ abnormal }) => abnormal !== null)).toBe(true)
})

describe.each([
  ['one ticker', ALONE],
  ['a pool', POOL],
])('the study of %s equals a second calculation', (_, listings) => {
  describe.each([1, 7, 20])('over %i bars', h => {
    const tickers = plainTickers(listings, h)
    const study = studyOf(listings, h)
    const window = study.then(({ windows }) => windows[0]!)

    it('in counts, figures and base', async () => {
      const found = await window
      const followed = tickers.flatMap(({ events, returns }) => events.map(t => returns[t]!)).sort((a, b) => a - b)
      const n = followed.length
      const weighted = (of: (ticker: PlainTicker) => number): number =>
        tickers.reduce((sum, ticker) => sum + ticker.events.length * of(ticker), 0) / n
      expect(found).toMatchObject({ n, n_indep: independent(tickers, h), best: followed.at(-1), worst: followed[0] })
      expect(found.events).toBe(n + found.lost.not_elapsed)
      close(found.mean, average(followed))
      close(found.median, (followed[Math.floor((n - 1) / 2)]! + followed[Math.ceil((n - 1) / 2)]!) / 2)
      const squares = followed.map(x => (x - average(followed)) ** 2)
      close(found.deviation, Math.sqrt((average(squares) * n) / (n - 1)))
      close(found.hit.share, followed.filter(x => x > 0).length / n)
      expect(found.base.n).toBe(tickers.reduce((sum, { base }) => sum + base.length, 0))
      close(
        found.base.mean,
        weighted(({ mean }) => mean),
      )
      close(
        found.base.hit,
        weighted(({ base, returns }) => average(base.map(t => Number(returns[t]! > 0)))),
      )
      close(found.diff, average(followed) - weighted(({ mean }) => mean))
      close(found.lift, found.hit.share! / found.base.hit!)
    })

    it('in the tests', async () => {
      const { tests } = await window
      const series = plainSeries(tickers)
      const shift = plainShift(tickers, h)
      const [first, plain] = tests
      expect(first!.test).toBe('newey_west')
      close(first!.statistic, plainNeweyWest(series, h - 1))
      expect(plain).toMatchObject({ test: 'shift', shifts: shift.shifts })
      expect(plain!.name).toContain('takes volatile days for days like others')
      close(plain!.p, shift.p)
      const [t, df] = plainClusters(series, h)
      close(statistic(tests, 'cluster'), t)
      close(tests.find(({ test }) => test === 'cluster')!.df, df)
      close(first!.df, df)
      close(first!.p, 2 * (1 - tCdf(Math.abs(first!.statistic!), df)))
      const held = plainHeld(tickers, h)
      const lag = Math.floor(4 * (held.length / 100) ** (2 / 9))
      close(statistic(tests, 'calendar_time'), plainNeweyWest({ count: held.map(() => 1), sum: held }, lag))
    })

    it('in the stationary bootstrap, draw by draw', async () => {
      const [interval] = (await window).intervals
      const { count, sum } = plainSeries(tickers)
      const n = count.length
      const random = streamOf(1, 'bootstrap', h)
      const ratios: number[] = []
      for (let rep = 0; rep < 199; rep++) {
        let place = 0
        let events = 0
        let excess = 0
        for (let i = 0; i < n; i++) {
          const begins = i === 0 || random.uniform() < 1 / interval!.block!
          place = begins ? random.below(n) : (place + 1) % n
          events += count[place]!
          excess += sum[place]!
        }
        if (events > 0) ratios.push(excess / events)
      }
      ratios.sort((a, b) => a - b)
      const at = (p: number): number => {
        const place = p * (ratios.length - 1)
        const low = ratios[Math.floor(place)]!
        const high = ratios[Math.ceil(place)]!
        return low + (place - Math.floor(place)) * (high - low)
      }
      expect(interval!.block).toBeGreaterThanOrEqual(h)
      // Hesterberg's expanded percentiles, for as many blocks of equal size as the events amount to.
      const blocks = plainClusters(plainSeries(tickers), h)[1] + 1
      const tail = normalCdf(-Math.sqrt(blocks / (blocks - 1)) * tQuantile(0.975, blocks - 1))
      expect(tail).toBeLessThan(0.025)
      close(interval!.low, at(tail))
      close(interval!.high, at(1 - tail))
    })

    it('in excursions, aftermath and other bands', async () => {
      const found = await window
      const each = tickers.flatMap(({ ticker, events, close: prices }) => {
        const { high, low } = listings.find(listing => listing.ticker === ticker)!.series
        return events.map(t => [
          Math.max(0, ...[...high.slice(t + 1, t + h + 1)].map(x => x / prices[t]! - 1)),
          Math.min(0, ...[...low.slice(t + 1, t + h + 1)].map(x => x / prices[t]! - 1)),
        ])
      })
      close(found.mfe, average(each.map(([mfe]) => mfe!)))
      close(found.mae, average(each.map(([, mae]) => mae!)))
      const bands = (bars: (ticker: PlainTicker) => number[]): number[] => {
        const codes = tickers.flatMap(ticker => bars(ticker).map(t => performance(ticker.returns, t, h)))
        return [0, 1, 2, 3, 4, 5, 6].map(code => codes.filter(one => one === code).length)
      }
      expect(found.aftermath!.counts).toEqual(bands(({ events }) => events))
      expect(found.aftermath!.base).toEqual(bands(({ base }) => base))
      expect(found.other_bands.map(({ band }) => band)).toEqual(['low', 'middle'])
      const [low] = found.other_bands
      const lows = lowReturns(listings, h)
      expect(low!.n).toBe(lows.length)
      close(low!.mean, average(lows))
      close(low!.hit, lows.filter(value => value > 0).length / lows.length)
      const ascending = lows.toSorted((a, b) => a - b)
      const half = (lows.length - 1) / 2
      close(low!.median, (ascending[Math.floor(half)]! + ascending[Math.ceil(half)]!) / 2)
    })
  })

  it.runIf(listings.length > 1)('by sector', async () => {
    const [first, , last] = listings
    const sectors = new Map([
      [first!.ticker, 'B'],
      [last!.ticker, 'A'],
    ])
    const market = { ...marketOf(listings), sectors: async () => sectors }
    const { windows } = await studyOf(listings, 7, {}, market)
    const found = windows[0]!.by_sector
    expect(found.map(({ sector }) => sector)).toEqual(['A', 'B'])
    for (const [i, ticker] of [last!, first!].entries()) {
      const [plain] = plainTickers([ticker], 7)
      const own = plain!.events.map(t => plain!.returns[t]!).filter(value => !Number.isNaN(value))
      expect(found[i]!.n).toBe(own.length)
      close(found[i]!.mean, average(own))
      close(found[i]!.hit, own.filter(value => value > 0).length / own.length)
      close(found[i]!.base, average(plain!.base.map(t => plain!.returns[t]!).filter(value => !Number.isNaN(value))))
    }
    expect((await studyOf(listings, 7)).windows[0]!.by_sector).toEqual([])
  })

  it('in the path', async () => {
    const { path, band_paths } = await studyOf(listings, 5)
    expect(band_paths.map(({ band }) => band)).toEqual(['low', 'middle'])
    expect(band_paths[0]!.n).toBe(lowReturns(listings, 0).length)
    expect(path.map(({ bar }) => bar)).toEqual(Array.from({ length: 21 }, (_, i) => i - 5))
    for (const point of path) {
      // Every event and every bar that reaches so far, whatever the windows.
      const tickers = plainTickers(listings, 0)
      const moves = (ticker: PlainTicker, bars: number[]): number[] =>
        bars.map(t => ticker.close[t + point.bar]! / ticker.close[t]! - 1).filter(x => !Number.isNaN(x))
      const own = tickers.flatMap(ticker => moves(ticker, ticker.events))
      expect(point.n).toBe(own.length)
      close(point.mean, average(own))
      close(band_paths[0]!.mean[path.indexOf(point)], average(lowReturns(listings, point.bar)))
      const weights = tickers.map(ticker => moves(ticker, ticker.events).length)
      const bases = tickers.map(ticker => average(moves(ticker, ticker.base)))
      const total = weights.reduce((sum, x) => sum + x, 0)
      close(point.base, bases.reduce((sum, base, i) => sum + base * weights[i]!, 0) / total)
    }
    expect(path[5]).toMatchObject({ bar: 0, mean: 0, median: 0, low: 0, high: 0, base: 0 })
  })
})

describe('abnormal returns equal a second calculation', () => {
  it.each(['mean', 'market'] as const)('of the %s model', async abnormal => {
    const h = 10
    const study = await studyOf(POOL, h, { abnormal, benchmark: 'W01' })
    const { abnormal: found } = study.windows[0]!
    const cars = plainTickers(POOL, h).flatMap(ticker =>
      ticker.events.filter(t => t >= 131).map(t => plainCar(ticker, t, h, abnormal)),
    )
    const known = cars.filter(car => !Number.isNaN(car))
    expect(found!.n).toBe(known.length)
    expect(found!.n + found!.lost.too_early + found!.lost.not_elapsed + found!.lost.no_benchmark).toBe(study.events)
    close(found!.car, average(known))
    expect(found!.tests.map(({ test }) => test)).toEqual([
      'kolari_pynnonen',
      'car',
      'cross_section',
      'patell',
      'bmp',
      'corrado',
      'cowan',
    ])
  })
})

/** Σ of what alpha and beta of t-130..t-11 leave over 1..h, the benchmark's last close by each day. */
function plainCar({ days, close }: PlainTicker, t: number, h: number, model: 'mean' | 'market'): number {
  const { series } = POOL[1]!
  const theirs = (day: number): number => {
    const place = series.days.findLastIndex(other => other <= day)
    return series.close[place]!
  }
  const own = (s: number): number => close[s]! / close[s - 1]! - 1
  const market = (s: number): number => theirs(days[s]!) / theirs(days[s - 1]!) - 1
  const window = Array.from({ length: 120 }, (_, i) => t - 130 + i)
  const y = window.map(own)
  const x = window.map(market)
  const meanY = average(y)
  const meanX = average(x)
  const sxx = x.reduce((sum, value) => sum + (value - meanX) ** 2, 0)
  const sxy = x.reduce((sum, value, i) => sum + (value - meanX) * (y[i]! - meanY), 0)
  const beta = model === 'mean' ? 0 : sxy / sxx
  const alpha = meanY - beta * meanX
  return Array.from({ length: h }, (_, i) => own(t + 1 + i) - alpha - beta * market(t + 1 + i)).reduce((a, b) => a + b)
}

function studyOf(
  listings: readonly Listing[],
  horizon: number,
  more = {},
  market: PricedSource = marketOf(listings),
): Promise<EventStudy> {
  const query = { tickers: listings.map(({ ticker }) => ticker), field: 'made', bands: ['high'], horizons: [horizon] }
  const quick = { min_events: 1, reps: 'all' as const, resamples: 199, path: { before: 5, after: 15 } }
  return eventStudy(market, queryOf({ ...query, ...quick, ...more }))
}

function statistic(tests: StudyWindow['tests'], name: string): number | null {
  return tests.find(({ test }) => test === name)!.statistic
}

function independent(tickers: readonly PlainTicker[], h: number): number {
  let count = 0
  for (const { events } of tickers) {
    let free = 0
    for (const t of events) {
      if (t < free) continue
      count++
      free = t + h
    }
  }
  return count
}

/** Zone of a return among those that had ended by its bar; -1 with fewer than 252 of them. */
function performance(returns: readonly number[], t: number, h: number): number {
  const past = returns.slice(0, Math.max(0, t - h + 1))
  if (past.length < 252 || Number.isNaN(returns[t]!)) return -1
  const less = past.filter(x => x < returns[t]! - 1e-10).length
  const equal = past.filter(x => Math.abs(x - returns[t]!) <= 1e-10).length
  const percentile = (100 * (less + equal / 2)) / past.length
  return [5, 20, 40, 60, 80, 95].filter(cut => percentile >= cut - 1e-9).length
}

function lowReturns(listings: readonly Listing[], h: number): number[] {
  return listings.flatMap(({ series: { close: prices }, codes }) =>
    [...prices.keys()]
      .filter(t => codes![t] === 0 && codes![t - 1] !== 0 && codes![t - 1] !== 255)
      .map(t => (prices[t + h] ?? Number.NaN) / prices[t]! - 1)
      .filter(value => !Number.isNaN(value)),
  )
}

/** Equal to about ten digits. */
function close(actual: number | null | undefined, expected: number): void {
  expect(actual).not.toBeNull()
  expect(Math.abs(actual! - expected)).toBeLessThanOrEqual(1e-10 * Math.max(1, Math.abs(expected)))
}

it('pools on a calendar that no ticker has whole', () => {
  const tickers = plainTickers(POOL, 1)
  const calendar = plainCalendar(tickers)
  for (const { base } of tickers) expect(base.length).toBeLessThan(calendar.length)
})

const SPY = loadPrices('SPY')

/** From the specification of studies: SPY 1999-11 to 2020-08, unadjusted, rsi_zone oversold, 20 bars, close to close. */
it.skipIf(QUICK || SPY === null)('finds the published figures of SPY oversold (needs ../shared)', async () => {
  const local = await cacheOf([{ ticker: 'SPY', series: seriesOf(SPY!) }], { tier: null })
  const market = local
  const asked = queryOf({ tickers: ['SPY'], bands: ['oversold'], horizons: [20], reps: 'all' })
  const [window] = (await eventStudy(market, asked)).windows
  expect(window).toMatchObject({ window: '20d', events: 52, n: 52, n_indep: 29, base: { n: 5207 } })
  expect(100 * window!.mean!).toBeCloseTo(3.5574, 4)
  expect(100 * window!.base.mean!).toBeCloseTo(0.4506, 4)
  const shift = window!.tests.find(({ test }) => test === 'shift')
  expect(shift).toMatchObject({ name: expect.stringMatching(/^plain joint circular shift.*, 5168 shifts$/) })
  expect(shift!.p!).toBeCloseTo(0.001935, 6)
})

describe('the bins of the returns of a pool', () => {
  const sums = (counts: readonly number[]): number => counts.reduce((sum, n) => sum + n, 0)
  const calm = Float64Array.from({ length: 5000 }, (_, i) => 0.05 * Math.sin(i)).sort()
  const events = calm.filter((_, i) => i % 50 === 0)

  it('show how most of them are spread, whatever one ticker did', () => {
    const wild = Float64Array.of(-0.9, -0.5, 0.2, 9)
    const found = histogram(events, [
      { ascending: calm, weight: 99 },
      { ascending: wild, weight: 1 },
    ])!
    expect(found.edges.length - 1).toBeLessThanOrEqual(63)
    expect(found.base.filter(n => n > 50).length).toBeGreaterThan(10)
    expect([sums(found.base), sums(found.events)]).toEqual([5004, 100])
    // What lies beyond the last bins is in them.
    expect([found.base[0], found.base.at(-1)]).toEqual([2, 2])
  })

  it('reach from the least to the greatest value where none lies far out', () => {
    const { edges, base } = histogram(events, [{ ascending: calm, weight: 1 }])!
    expect(edges[0]).toBeLessThanOrEqual(calm[0]!)
    expect(edges.at(-1)).toBeGreaterThanOrEqual(calm.at(-1)!)
    expect(edges[1]).toBeGreaterThan(calm[0]!)
    expect(sums(base)).toBe(5000)
  })
})
