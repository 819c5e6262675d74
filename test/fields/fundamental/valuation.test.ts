import { describe, expect, it } from 'vitest'
import type { SectorView } from '../../../src/core/fields/fundamentals.js'
import { BUILT_IN } from '../../../src/core/fields/index.js'
import { Panel } from '../../../src/core/fields/panel.js'
import type { Day } from '../../../src/core/model/day.js'
import { DEFINITIONS } from '../../../src/core/model/definitions.js'
import type { Facts, Report } from '../../../src/core/model/facts.js'
import type { Series } from '../../../src/core/model/series.js'
import { bandsOf, barsOn, barsOnDays, facts, lastBand, on, quarters, sectorOf } from '../made-facts.js'

const BANDS = ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued']

/** Twelve quarters, one every 91 days, each known 30 days after its end; the first years stand before the bars. */
function everyQuarter(first: Day, figures: Partial<Report>, count = 12): Report[] {
  return Array.from({ length: count }, (_, i) => {
    const period_end = first + 91 * i
    return {
      period_end,
      known: period_end + 30,
      session: 'pre',
      eps: null,
      revenue: null,
      book_value_ps: null,
      basis: 'bars',
      ...figures,
    }
  })
}

const START = on('2018-01-31')

/** Bars on so many calendar days in a row while four quarters of EPS are known without a break. */
function held(closes: readonly number[]): Series {
  return barsOnDays(
    closes.map((_, t) => START + t),
    closes,
  )
}
const steady = (figures: Partial<Report>, count?: number): Facts =>
  facts({ reports: everyQuarter(START - 30 - 91 * 8, figures, count ?? 14) })

/** `below` bars of a close of 5, one of 10, dearer ones of 20, and last one of 10. */
function closesWith(below: number, n = 400): number[] {
  return [...Array(below).fill(5), 10, ...Array(n - below - 2).fill(20), 10]
}

describe('pe_vs_historical', () => {
  const known = steady({ eps: 1 })

  // Of 400 bars `below` are cheaper and 2 as dear: percentile = 50 · (2 · below + 2) / 400 = (below + 1) / 4.
  it.each(DEFINITIONS.valuation.historicalCuts.map((cut, i) => [cut, i] as const))('cut %d', (cut, i) => {
    expect(lastBand('pe_vs_historical', held(closesWith(4 * cut - 2)), known)).toBe(BANDS[i])
    expect(lastBand('pe_vs_historical', held(closesWith(4 * cut - 1)), known)).toBe(BANDS[i + 1])
  })

  it('has no band before 252 bars with earnings', () => {
    const bands = bandsOf('pe_vs_historical', held(Array(260).fill(10)), known)
    expect(bands.findIndex(band => band !== null)).toBe(251)
    expect(bands[251]).toBe('fair_value')
  })

  it('counts bars with earnings only', () => {
    // Known from bar 10 on: the 252nd bar with earnings is bar 261.
    const late = facts({ reports: known.reports.map(one => ({ ...one, known: Math.max(one.known, START + 10) })) })
    const bands = bandsOf('pe_vs_historical', held(Array(265).fill(10)), late)
    expect(bands.findIndex(band => band !== null)).toBe(261)
  })

  it('looks back over 1,260 bars', () => {
    // 630 dear bars, 1,259 cheap ones, one in between: the dear have all left, 100 · 1,259.5 / 1,260. With 400 cheap ones
    // fewer 399 dear ones are still there: 100 · 860.5 / 1,260 = 68.3.
    const closes = [...Array(630).fill(20), ...Array(1_259).fill(5), 10]
    const long = steady({ eps: 1 }, 40)
    expect(lastBand('pe_vs_historical', held(closes), long)).toBe('deeply_overvalued')
    expect(lastBand('pe_vs_historical', held([...closes.slice(0, -400), 10]), long)).toBe('fair_value')
  })

  it('takes a loss for dear', () => {
    // From the loss on the sum of four quarters is 3 − 20 < 0.
    const loss = { ...known.reports.find(one => one.known > START + 255)!, eps: -20 }
    const reports = known.reports.map(one => (one.period_end === loss.period_end ? loss : one))
    const bands = bandsOf('pe_vs_historical', held(Array(400).fill(10)), facts({ reports }))
    const first = loss.known - START
    expect(bands[first - 1]).toBe('fair_value')
    expect(bands[first]).toBe('deeply_overvalued')
  })

  it('calls yields equal that differ by 1e-10 at most', () => {
    // E = 4/10; a close of 10 − 1e-9 gives 0.4 + 4e-11, one of 10 − 5e-9 gives 0.4 + 2e-10.
    const lastOf = (close: number) => lastBand('pe_vs_historical', held([...Array(399).fill(10), close]), known)
    expect(lastOf(10 - 1e-9)).toBe('fair_value')
    expect(lastOf(10 - 5e-9)).toBe('deep_value')
  })

  it('compares with the close that was paid, not with one adjusted for dividends', () => {
    const series = held(Array(400).fill(10))
    // Adjusted closes rise, as they do when dividends are taken out of the past; what was paid stayed at 10.
    const adjusted = held(Array.from({ length: 400 }, (_, t) => 6 + t / 100))
    expect(lastBand('pe_vs_historical', { ...adjusted, unadjustedClose: series.close }, known)).toBe('fair_value')
    expect(lastBand('pe_vs_historical', adjusted, known)).toBe('deeply_overvalued')
  })

  it('is ranked among 52 to 260 weekly bars', () => {
    const weeks = (n: number): Series => ({
      ...barsOnDays(Array.from({ length: n }, (_, w) => START + 2 + 7 * w)),
      timeframe: 'weekly',
    })
    const bands = bandsOf('pe_vs_historical', weeks(60), known)
    expect(bands.findIndex(band => band !== null)).toBe(51)
  })
})

describe('pe_vs_sector', () => {
  // Four quarters of 1 over a close of 40: E = 0.1.
  const bar = barsOn(['2018-03-02'], 40)
  const own = facts({ reports: quarters('2018-01-31', 'eps', [1, 1, 1, 1]) })
  const against = (...yields: number[]) => lastBand('pe_vs_sector', bar, own, sectorOf(...yields))
  const againstMedian = (m: number) => against(-9, -9, m, 9, 9)

  it.each([...DEFINITIONS.peers.cuts].reverse().map((cut, i) => [cut, i] as const))('m/E cut at %d', (cut, i) => {
    expect(againstMedian(0.1 * (cut - 0.01))).toBe(BANDS[i])
    expect(againstMedian(0.1 * (cut - 1.1e-10))).toBe(BANDS[i])
    expect(againstMedian(0.1 * (cut - 0.9e-10))).toBe(BANDS[i + 1])
    expect(againstMedian(0.1 * cut)).toBe(BANDS[i + 1])
  })

  it('takes the mean of the two in the middle of an even number', () => {
    // (0.15 + 0.25) / 2 = 0.2: m/E = 2.
    expect(against(0, 0, 0.15, 0.25, 1, 1)).toBe('deeply_overvalued')
    expect(against(0, 0, 0.15, 0.24, 1, 1)).toBe('overvalued')
  })

  it('needs five peers', () => {
    expect(against(0.1, 0.1, 0.1, 0.1)).toBeNull()
    expect(against(0.1, 0.1, 0.1, 0.1, 0.1)).toBe('fair_value')
    expect(lastBand('pe_vs_sector', bar, own)).toBeNull()
  })

  it('needs a positive median, exactly', () => {
    expect(againstMedian(0)).toBeNull()
    expect(against(-1, -1, -0.1, 1, 1)).toBeNull()
    expect(againstMedian(1e-12)).toBe('deep_value')
  })

  it.each([[-1], [0]])('calls own earnings of %d deeply overvalued, when the median is positive', eps => {
    const losing = facts({ reports: quarters('2018-01-31', 'eps', [eps, 0, 0, 0]) })
    const positive = sectorOf(0.1, 0.1, 0.1, 0.1, 0.1)
    expect(lastBand('pe_vs_sector', bar, losing, positive)).toBe('deeply_overvalued')
    expect(lastBand('pe_vs_sector', bar, losing, sectorOf(-1, -1, -1, -1, -1))).toBeNull()
    expect(lastBand('pe_vs_sector', bar, losing, sectorOf(0.1, 0.1, 0.1, 0.1))).toBeNull()
  })

  it('is undefined without own earnings of four quarters', () => {
    const positive = sectorOf(0.1, 0.1, 0.1, 0.1, 0.1)
    for (const eps of [
      [1, 1, 1],
      [1, null, 1, 1],
    ])
      expect(lastBand('pe_vs_sector', bar, facts({ reports: quarters('2018-01-31', 'eps', eps) }), positive)).toBeNull()
  })
})

describe('valuation_zone', () => {
  const readings = (series: Series, known: Facts, sector?: SectorView): Map<string, number | null> => {
    const panel = new Panel(series, known, sector ?? null)
    const told = BUILT_IN.named('valuation_zone')!.readings(panel, series.days.length - 1)
    return new Map(told.map(({ name, value }) => [name, value]))
  }
  const flat = held(Array(300).fill(10))
  const earning = steady({ eps: 1 })

  it('is the own history alone when nothing else exists', () => {
    // Percentile (below + 1) / 4, as above; no growth, no peers, no book value.
    for (const [i, cut] of DEFINITIONS.valuation.cuts.entries()) {
      expect(lastBand('valuation_zone', held(closesWith(4 * cut - 2)), earning)).toBe(BANDS[i])
      expect(lastBand('valuation_zone', held(closesWith(4 * cut - 1)), earning)).toBe(BANDS[i + 1])
    }
  })

  it('needs the percentile in the own history', () => {
    const peers = sectorOf(0.1, 0.1, 0.1, 0.1, 0.1)
    expect(lastBand('valuation_zone', held(Array(251).fill(10)), earning, peers)).toBeNull()
    expect(lastBand('valuation_zone', held(Array(252).fill(10)), earning, peers)).not.toBeNull()
    expect(lastBand('valuation_zone', flat, steady({ book_value_ps: 1 }), peers)).toBeNull()
  })

  // Own E = 4/10. Of 10 in all `dearer` peers have a higher E (the own −E is above theirs) and `same` the same E:
  // percentile = 50 · (2 · dearer + same + 1) / 10. The own history is flat: 50.
  it.each([
    [1, 1, 'fair_value', 35],
    [1, 0, 'undervalued', 32.5],
    [7, 1, 'overvalued', 65],
    [7, 0, 'fair_value', 62.5],
  ])('is the mean with the percentile among %d cheaper and %d equal of nine peers', (dearer, same, band, score) => {
    const peers = sectorOf(...Array(dearer).fill(0.9), ...Array(same).fill(0.4), ...Array(9 - dearer - same).fill(-0.3))
    expect(lastBand('valuation_zone', flat, earning, peers)).toBe(band)
    expect(readings(flat, earning, peers).get('score')).toBeCloseTo(score, 9)
  })

  it('calls peers equal whose yield differs by 1e-10 at most', () => {
    // Own E = 0.4. Five of six in all are equal: 50 · 6 / 6 = 50; were they above, the own −E ranked 50 · 11 / 6 = 91.7.
    const near = (distance: number) =>
      readings(flat, earning, sectorOf(...Array(5).fill(0.4 + distance))).get('sector_pct')
    expect(near(0.9e-10)).toBe(50)
    expect(near(-0.9e-10)).toBe(50)
    expect(near(1.1e-10)).toBeCloseTo(550 / 6, 9)
    expect(near(-1.1e-10)).toBeCloseTo(50 / 6, 9)
  })

  it('ranks among peers whatever their median', () => {
    // All nine lose money: the own −E is the lowest, percentile 50 · 1 / 10 = 5; mean 27.5.
    const losing = sectorOf(...Array(9).fill(-1))
    expect(lastBand('valuation_zone', flat, earning, losing)).toBe('undervalued')
    expect(lastBand('pe_vs_sector', flat, earning, losing)).toBeNull()
  })

  it('leaves fewer than five peers out', () => {
    expect(readings(flat, earning, sectorOf(9, 9, 9, 9)).get('score')).toBe(50)
    expect(readings(flat, earning, sectorOf(9, 9, 9, 9)).get('sector_pct')).toBeNull()
  })

  it('is the mean with the percentile of the book yield', () => {
    // Price rises by 1 a bar: E falls and −E ranks 100 · (n − 0.5) / n; book value is raised a hundredfold at the end, so
    // that −B ranks lowest, 100 · 0.5 / n: the mean is 50.
    const closes = Array.from({ length: 300 }, (_, t) => 100 + t)
    const reports = earning.reports.map(one => ({ ...one, book_value_ps: 1 }))
    const newest = reports.filter(one => one.known <= START + 290).at(-1)!
    const restated = { ...newest, known: START + 299, book_value_ps: 100 }
    expect(lastBand('valuation_zone', held(closes), facts({ reports }))).toBe('deeply_overvalued')
    expect(readings(held(closes), facts({ reports: [...reports, restated] })).get('score')).toBeCloseTo(50, 9)
  })

  // Revenue of the year before is 400; a version of the newest quarter, known on the last bar, brings the growth.
  const growing = (rate: number, last = 299): Facts => {
    const reports = earning.reports.map(one => ({ ...one, revenue: 100 }))
    const newest = reports.filter(one => one.known <= START + last).at(-1)!
    return facts({ reports: [...reports, { ...newest, known: START + last, revenue: 100 + 400 * rate }] })
  }

  it.each([
    [0.2, -10],
    [0.1, -5],
    [0.03, 0],
    [0, 5],
    [-0.01, 10],
  ])('growth of %d moves the score by %d', (rate, points) => {
    expect(readings(flat, growing(rate)).get('growth_points')).toBe(points)
    expect(readings(flat, growing(rate)).get('score')).toBe(50 + points)
  })

  it('is not moved by growth that is undefined', () => {
    expect(readings(flat, earning).get('growth_points')).toBe(0)
  })

  it('reaches its outer cuts with growth', () => {
    // (below + 1) / 4 percent of 400 bars: 75 and 74.75 with 10 for shrinking; 25 and 24.75 less 10 for high growth.
    const moved = (below: number, rate: number) =>
      lastBand('valuation_zone', held(closesWith(below)), growing(rate, 399))
    expect(moved(299, -0.1)).toBe('deeply_overvalued')
    expect(moved(298, -0.1)).toBe('overvalued')
    expect(moved(99, 0.3)).toBe('undervalued')
    expect(moved(98, 0.3)).toBe('deep_value')
  })

  it('stays within 0 and 100', () => {
    const rising = held(Array.from({ length: 300 }, (_, t) => 100 + t))
    const falling = held(Array.from({ length: 300 }, (_, t) => 500 - t))
    expect(readings(rising, growing(-0.1)).get('score')).toBe(100)
    expect(readings(falling, growing(0.3)).get('score')).toBe(0)
  })
})
