import { describe, expect, it } from 'vitest'
import { performanceIndex, rankOutcomes } from '../../src/core/engine/outcomes.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import type { Trial, Trials } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import {
  aftermathMemory,
  barsWithAftermath,
  baseOf,
  cellOf,
  independentUnits,
  memberBars,
} from '../../src/research/study/cell.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import type { EventStudy } from '../../src/research/study/result.js'
import { eligibleBars, forwardReturns } from '../../src/research/study/signals.js'
import { defaultTest, randomEntry } from '../../src/research/study/tests.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { codesWith, cut, type Listing, marketOf, queryOf, randomWalks } from './support/study-market.js'

const QUICK = { reps: 199, resamples: 99, min_events: 5, path: { before: 3, after: 12 } }
const POOL = randomWalks(11, { tickers: 4, bars: 700, common: 0.5, holidays: 0.02, chance: 0.02 })
const NAMES = POOL.map(({ ticker }) => ticker)
const HIGH = { field: 'made', bands: ['high'], ...QUICK }

function studyOf(listings: readonly Listing[], more = {}): Promise<EventStudy> {
  return eventStudy(marketOf(listings), queryOf({ tickers: listings.map(({ ticker }) => ticker), ...HIGH, ...more }))
}

describe('B8: the seed', () => {
  it('reproduces the bytes, in whatever order tickers are named', async () => {
    const all = { abnormal: 'market', benchmark: 'W02', naive: true, hansen_hodrick: true }
    const bytes = JSON.stringify(await studyOf(POOL, all))
    expect(JSON.stringify(await studyOf(POOL, all))).toBe(bytes)
    expect(JSON.stringify(await studyOf(POOL.toReversed(), all))).toBe(bytes)
    expect(JSON.stringify(await studyOf(POOL, { ...all, tickers: [...NAMES, 'W01', 'W03'] }))).toBe(bytes)
  })

  it('leaves a window as it is, whichever others are asked for with it', async () => {
    const [alone] = (await studyOf(POOL, { horizons: [20] })).windows
    const many = (await studyOf(POOL, { horizons: [3, 5, 20, 60] })).windows
    // Only the correction counts the others.
    const { p_corrected, verdict: _verdict, ...rest } = many[2]!
    expect(rest).toEqual({ ...alone, p_corrected: undefined, verdict: undefined })
    expect(p_corrected).toBeGreaterThanOrEqual(alone!.p_corrected!)
  })

  notInQuick('moves the p of the plain shift by no more than the draws may, and P not at all', async () => {
    const bars = randomWalks(12, { tickers: 1, bars: 4000, chance: 0.01 })
    const tests = await Promise.all(
      [1, 2, 3].map(async seed => (await studyOf(bars, { seed, horizons: [5], reps: 999 })).windows[0]!.tests),
    )
    expect(new Set(tests.map(([first]) => first!.p)).size).toBe(1)
    const ps = tests.map(([, shift]) => shift!.p!)
    const spread = Math.max(...ps) - Math.min(...ps)
    expect(spread).toBeGreaterThan(0)
    expect(spread).toBeLessThan(8 * Math.sqrt((ps[0]! * (1 - ps[0]!)) / 999))
  })
})

describe('B15: all bars against themselves', () => {
  const members = POOL.map(({ ticker, series, codes }) => {
    const prices = { series, delisting: null }
    const filter = { after: null, before: null }
    const eligible = eligibleBars(prices, { codes: codes!, from: 0, to: series.days.length }, filter)
    return memberBars(ticker, series.days, forwardReturns(prices, 10), eligible, eligible)
  })
  const cell = cellOf(members, 10)

  it('differ by 0, with a lift of 1 and a p of 1', () => {
    const base = baseOf(members)
    expect(cell.diff).toBeCloseTo(0, 15)
    const returns = members.flatMap(member => [...member.returns])
    expect(returns.reduce((sum, value) => sum + value, 0) / returns.length).toBeCloseTo(base.mean!, 14)
    expect(returns.filter(value => value > 0).length / returns.length / base.hit!).toBeCloseTo(1, 14)
    expect(defaultTest(cellOf(members.slice(0, 1), 10)).p).toBeCloseTo(1, 9)
  })

  it('are one stretch of time, which is too little to draw from', () => {
    expect(independentUnits(cell.series, 10)).toHaveLength(1)
    expect(randomEntry(cell, 99, new Random(1))).toMatchObject({ draws: 0, p: null, reason: expect.any(String) })
  })
})

describe('random entry', () => {
  it('measures each draw, and the events, by its own error', () => {
    const random = new Random(4)
    const returns = Float64Array.from({ length: 400 }, (_, t) => (t % 100 < 20 ? 4 : 1) * random.normal())
    const days = Int32Array.from(returns.keys())
    const signals = days.filter(t => t % 100 < 20 && t % 3 === 0)
    const cell = cellOf([memberBars('A', days, returns, days, signals)], 1)
    const found = randomEntry(cell, 199, new Random(9))!
    const tOf = (values: readonly number[], centre: number): number => {
      const mean = values.reduce((sum, x) => sum + x, 0) / values.length
      return (mean - centre) / (Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0)) / values.length)
    }
    // Fisher and Yates's first steps, again and again over the same days: windows of one bar are units of their own.
    const stream = new Random(9)
    const order = [...days]
    const draws = Array.from({ length: 199 }, () => {
      for (let i = 0; i < signals.length; i++) {
        const j = i + stream.below(order.length - i)
        ;[order[i], order[j]] = [order[j]!, order[i]!]
      }
      return order.slice(0, signals.length).map(day => returns[day]!)
    })
    const means = draws.map(values => values.reduce((sum, x) => sum + x, 0) / values.length)
    const centre = means.reduce((sum, x) => sum + x, 0) / means.length
    const own = Math.abs(
      tOf(
        [...signals].map(day => returns[day]!),
        centre,
      ),
    )
    const asFar = draws.filter(values => Math.abs(tOf(values, centre)) >= own).length
    expect(found).toMatchObject({ draws: 199, mean: expect.closeTo(centre, 12), p: (1 + asFar) / 200 })
  })
})

describe('prices', () => {
  it.each(firstInQuick([0.01, 3, 1024, 1 / 7]))('times %f change nothing but the closes', async factor => {
    const scaled = POOL.map(listing => ({ ...listing, series: times(listing.series, factor) }))
    const more = { abnormal: 'market', benchmark: 'W00' }
    const study = await studyOf(POOL, more)
    const other = await studyOf(scaled, more)
    const closes = (of: EventStudy): number[] => of.occurrences.map(({ close }) => close)
    for (const [i, close] of closes(other).entries()) expect(close / closes(study)[i]!).toBeCloseTo(factor, 10)
    const rest = (of: EventStudy): unknown => rounded({ ...of, occurrences: of.occurrences.map(bare) })
    expect(rest(other)).toEqual(rest(study))
  })

  it('that come later change no occurrence that is there, but fill its open windows', async () => {
    const whole = (await studyOf(POOL)).occurrences
    for (const bars of [300, 451, 640]) {
      const earlier = (await studyOf(POOL.map(listing => cut(listing, bars)))).occurrences
      for (const one of earlier) {
        const later = whole.find(({ ticker, date }) => ticker === one.ticker && date === one.date)!
        for (const key of ['returns', 'mfe', 'mae'] as const) {
          for (const [window, value] of Object.entries(one[key]))
            if (value !== null) expect(later[key][window]).toBe(value)
        }
        const { returns, mfe, mae, ...known } = one
        expect(later).toMatchObject(known)
      }
    }
  })
})

describe('few events', () => {
  const few = [{ ...POOL[0]!, codes: codesWith(POOL[0]!.codes!.length, [100, 102, 200, 300, 400], 20) }]

  it('have neither p-value nor interval, and are grey', async () => {
    const { windows, warnings } = await studyOf(few, { min_events: 1 })
    for (const { n_indep, grey, tests, intervals, random_entry, aftermath } of windows) {
      expect(n_indep).toBeLessThan(10)
      expect(grey).toBe(true)
      for (const { p, reason } of tests) expect([p, reason]).toEqual([null, expect.stringContaining('fewer than 10')])
      for (const { low, reason } of intervals) expect([low, reason]).toEqual([null, expect.any(String)])
      expect(random_entry.p).toBeNull()
      expect(aftermath?.p ?? null).toBeNull()
    }
    expect(warnings[0]).toContain('Too few events')
  })

  it('are fewer than asked for where so many are asked for', async () => {
    const [window] = (await studyOf(POOL, { min_events: 500, horizons: [5] })).windows
    expect(window!.n_indep).toBeGreaterThanOrEqual(10)
    expect(window!.tests[0]!.reason).toBe(`${window!.n} events are fewer than the 500 asked for`)
  })

  it.each([
    ['none', []],
    ['one', [300]],
    ['one whose windows are open', [699]],
  ])('down to %s: every null has its reason', async (_, bars) => {
    const { series } = randomWalks(5, { tickers: 1, bars: 700 })[0]!
    const listing = { ticker: 'ONE', series, codes: codesWith(700, bars, 20) }
    const { windows } = await studyOf([listing], { abnormal: 'mean' })
    for (const window of windows) {
      for (const [name, value] of Object.entries(window)) {
        if (value !== null) continue
        expect(window.reasons, name).toHaveProperty(name)
        expect(window.reasons[name]).not.toBe('no value')
      }
      if (window.hit.share === null) expect(window.reasons).toHaveProperty('hit')
      if (window.base.mean === null) expect(window.reasons).toHaveProperty('base')
      const { tests, intervals, abnormal, random_entry } = window
      for (const { p, reason } of [...tests, ...abnormal!.tests, random_entry]) expect(p === null).toBe(reason !== null)
      for (const { low, reason } of intervals) expect(low === null).toBe(reason !== null)
      expect(abnormal!.car === null).toBe(abnormal!.reason !== null)
    }
  })
})

describe('the windows', () => {
  it('are any number of bars, daily and weekly, of a ticker that trades every day too', async () => {
    const crypto = randomWalks(6, { tickers: 1, bars: 900, daysAWeek: 7, chance: 0.05 })
    for (const [timeframe, field] of [
      ['daily', 'made'],
      ['weekly', 'rsi_zone'],
    ] as const) {
      const study = await studyOf(crypto, {
        timeframe,
        field,
        bands: field === 'made' ? ['high'] : null,
        horizons: [1, 13],
      })
      expect(study.windows.map(({ window }) => window)).toEqual(timeframe === 'daily' ? ['1d', '13d'] : ['1w', '13w'])
      expect(study.windows[0]!.n).toBeGreaterThan(0)
    }
  })

  it('have the aftermath bands that the engine records', () => {
    const { series } = randomWalks(8, { tickers: 1, bars: 600 })[0]!
    const { ranks } = rankOutcomes(series)
    for (const [w, horizon] of [5, 10, 20, 50, 100].entries()) {
      const recorded = Array.from(ranks[w]!, (rank, t) => (rank < 0 ? UNDEFINED : performanceIndex(rank, t, horizon)))
      const eligible = Int32Array.from(series.days.keys())
      const none = { bars: new Int32Array() }
      const subject = { prices: { series }, eligible, signals: none }
      const found = barsWithAftermath(subject, horizon, aftermathMemory([subject]))
      expect([...found.codes]).toEqual(recorded.filter(code => code !== UNDEFINED))
      expect([...found.days]).toEqual([...series.days].filter((_, t) => recorded[t] !== UNDEFINED))
    }
  })

  it('that a delisting ends count with its final price, and are lost where that is not known', async () => {
    const [dead, alive] = randomWalks(9, { tickers: 2, bars: 500 })
    const codes = codesWith(400, [100, 395], 20)
    const gone = { ...cut(dead!, 400), codes }
    const day = gone.series.days[399]! + 1
    const known = await studyOf([{ ...gone, delisting: { day, price: 0 } }, alive!], {
      tickers: ['W00'],
      horizons: [10],
    })
    expect(known.windows[0]).toMatchObject({ n: 2, worst: -1, lost: { delisted: 0, not_elapsed: 0 } })
    expect(known.occurrences[1]).toMatchObject({ returns: { '10d': -1 }, mae: { '10d': -1 } })
    const unknown = await studyOf([gone, alive!], { tickers: ['W00'], horizons: [10] })
    expect(unknown.windows[0]).toMatchObject({ n: 1, lost: { delisted: 1, not_elapsed: 0 } })
    expect(unknown.warnings.join(' ')).toContain('final price is not known')
  })
})

describe('the trial ledger', () => {
  it('is told each window once, under a hash of what was asked and of the range', async () => {
    const noted: Trial[] = []
    const trials: Trials = {
      note: async (_, more) => ({ ofKind: noted.push(...more), all: noted.length }),
      of: async () => noted,
      close: async () => {},
    }
    const market = marketOf(POOL)
    const query = queryOf({ tickers: NAMES, ...HIGH })
    const study = await eventStudy(market, query, { trials })
    expect(study.trials).toEqual({ run: 5, ledger: 5 })
    await eventStudy(market, { ...query, tickers: NAMES.toReversed(), seed: 2 }, { trials })
    expect(new Set(noted.map(({ hash }) => hash)).size).toBe(5)
    await eventStudy(marketOf(POOL.map(listing => cut(listing, 600))), query, { trials })
    await eventStudy(market, { ...query, filter: { ...query.filter, bands: ['low'] } }, { trials })
    expect(new Set(noted.map(({ hash }) => hash)).size).toBe(15)
    expect(noted[0]).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/), p: study.windows[0]!.tests[0]!.p })
    expect(noted[0]!.sharpe).toEqual(expect.any(Number))
    expect(noted[0]!.spec).toMatch(/^made = high; 5d; 4 tickers; \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d$/)
  })
})

it('refuses a market model without a benchmark', async () => {
  await expect(studyOf(POOL, { abnormal: 'market' })).rejects.toThrow('needs a benchmark')
})

it('gives random entries the mean of the same calendar years beside', async () => {
  const { year_matched, mean, low, high, p } = (await studyOf(POOL, { horizons: [5] })).windows[0]!.random_entry
  expect(low!).toBeLessThan(mean!)
  expect(mean!).toBeLessThan(high!)
  expect(p!).toBeGreaterThan(0)
  expect(year_matched).not.toBeNull()
})

notInQuick(
  'gives random entries a range that the mean of the events lies outside of where p is below .05',
  async () => {
    const found = { within: 0, outside: 0 }
    for (let seed = 1; seed <= 12; seed++) {
      const windows = (await studyOf(POOL, { horizons: [1, 5, 10, 20], seed, reps: 99 })).windows
      for (const { mean, random_entry } of windows) {
        const { low, high, p, mean: centre } = random_entry
        if (p === null) continue
        // The 95th of a hundred is either.
        if (Math.abs(p - 0.05) <= 0.011) continue
        const isOutside = mean! < low! || mean! > high!
        expect(isOutside).toBe(p < 0.05)
        expect(high! - centre!).toBeCloseTo(centre! - low!, 12)
        found[isOutside ? 'outside' : 'within']++
      }
    }
    expect(found.within).toBeGreaterThan(0)
  },
)

function times(series: Listing['series'], factor: number): Listing['series'] {
  const by = (column: Float64Array): Float64Array => column.map(price => price * factor)
  const { open, high, low, close } = series
  return { ...series, open: by(open), high: by(high), low: by(low), close: by(close) }
}

function bare({ close: _, ...rest }: EventStudy['occurrences'][number]): unknown {
  return rest
}

/** Nine digits: factors that are no power of two move the last ones. */
function rounded(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, inner) =>
    typeof inner === 'number' && !Number.isInteger(inner) ? Math.round(inner * 1e9) / 1e9 + 0 : inner,
  )
}
