import { describe, expect, it } from 'vitest'
import { assortedBars, dateOf, day, series } from '../bars.js'
import {
  type Archive,
  type Bar,
  bands,
  type Event,
  eventsOfEveryField,
  type FieldName,
  indicators,
  rangeStart,
  recorded,
  search,
  type Timeframe,
} from './index.js'

describe('events', () => {
  it('labels flips, stability and duration', () => {
    const classified: (string | null)[] = Array(47).fill('a').fill(null, 0, 2).fill('b', 12, 13).fill('b', 15, 16)
    classified[13] = null
    classified.fill('b', 44, 45).fill('b', 46)
    const short = recorded(series(Array(47).fill(50)), classified, 'daily').map(event => [
      event.date,
      `${event.prev_band}>${event.band}`,
      event.stability_at_entry,
      event.flips_recent_at_entry,
      event.duration,
    ])
    expect(short).toEqual([
      [dateOf(12), 'a>b', 'established', 1, 2], // a, the initial band, lasted bars 2 to 11: ten
      [dateOf(14), 'b>a', 'fresh', 2, 1], // bar 12 and the undefined 13: two
      [dateOf(15), 'a>b', 'fresh', 3, 1],
      [dateOf(16), 'b>a', 'volatile', 4, 28],
      [dateOf(44), 'a>b', 'established', 3, 1], // bars 15 to 44 hold the flips of 15, 16, 44
      [dateOf(45), 'b>a', 'fresh', 3, 1], // 16, 44, 45
      [dateOf(46), 'a>b', 'fresh', 3, null], // 44, 45, 46
    ])
  })

  it('calls a band of 3 to 9 bars holding', () => {
    const lasted = (bars: number) => {
      const classified = [...Array(bars).fill('a'), 'b']
      return recorded(series(classified.map(() => 50)), classified, 'weekly')[0]!.stability_at_entry
    }
    expect([1, 2, 3, 9, 10].map(lasted)).toEqual(['fresh', 'fresh', 'holding', 'holding', 'established'])
  })

  it('ranks the aftermath among the returns that had ended by the event', () => {
    // Weekly, window 2w: at bar t there are t − 1 ended returns, so 52 from bar 53 on.
    expect(twoWeeksAfter(52, Array(55).fill(100))).toEqual([null, 0, null])
    expect(twoWeeksAfter(53, Array(56).fill(100))).toEqual(['flat', 0, 50])
    expect(twoWeeksAfter(53, Array(55).fill(100))).toEqual([null, null, null])
    expect(twoWeeksAfter(53, [...Array(55).fill(100), 150])).toEqual(['sharp_gain', 0.5, 100])
    // A halving at bar 1 makes one bad return, one at bar 10 two. Then −1/4 has 3 below it: of 60 that is the fifth
    // percentile, at the cut; of 61 it is under it.
    const halved = [200, ...Array(9).fill(100), ...Array(60).fill(50)]
    expect(twoWeeksAfter(61, halved.with(63, 37.5))).toEqual(['moderate_decline', -0.25, 5])
    expect(twoWeeksAfter(62, halved.with(64, 37.5))).toEqual(['sharp_decline', -0.25, 300 / 61])
  })

  it.each(['daily', 'weekly'] as const)('are the same on a prefix, %s', timeframe => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const bars = assortedBars(seed, 500)
      const whole = eventsOfEveryField(bars, timeframe)
      for (const c of [bars.length - 2, Math.floor(bars.length / 2)].filter(index => index >= 0)) {
        const asOf = bars[c]!.date
        for (const [field, cut] of Object.entries(eventsOfEveryField(bars, timeframe, { asOf }))) {
          const expected = whole[field as FieldName].filter(event => event.date <= asOf).slice(0, cut.length)
          expect(cut.map(fixedAtEntry), `${field}, seed ${seed}`).toEqual(expected.map(fixedAtEntry))
        }
      }
    }
  })
})

describe('the linear search', () => {
  const all: Archive = { A: archiveOf([event('2024-02-01', 'x'), event('2024-03-01', 'y'), event('2024-03-02', 'x')]) }
  all.B = archiveOf([event('2024-02-20', 'up'), event('2024-03-02', 'down')])
  const dates = (query: object) => {
    const body = search(all, { ticker: 'a', field: 'rsi_zone', today: '2024-05-30', ...query })
    return [...(body.events as Event[]).map(found => found.date), body.total_occurrences]
  }

  it('lists newest first, with exclusive bounds and a limit that leaves the total', () => {
    expect(dates({})).toEqual(['2024-03-02', '2024-03-01', '2024-02-01', 3])
    expect(dates({ limit: 1 })).toEqual(['2024-03-02', 3])
    expect(dates({ before: '2024-03-02', after: '2024-02-01' })).toEqual(['2024-03-01', 1])
    expect(dates({ band: 'x' })).toEqual(['2024-03-02', '2024-02-01', 2])
  })

  it('joins the context as of the event date; before its first event it has no band', () => {
    const context = { context_ticker: 'b', context_field: 'rsi_zone' }
    expect(dates({ ...context, context_band: 'up' })).toEqual(['2024-03-01', 1])
    expect(dates({ ...context, context_band: 'down' })).toEqual(['2024-03-02', 1])
  })

  it('starts the range of a tier after today minus 90 days, 2 or 5 years', () => {
    // 30 May − 30 = 30 April, − 30 = 31 March, − 30 = 1 March, itself out of range.
    expect(dates({ tier: 'free' })).toEqual(['2024-03-02', 1])
    expect(rangeStart('2024-02-29', 'plus')).toBe('2022-02-28')
    expect(rangeStart('2024-02-29', 'pro')).toBe('2019-02-28')
  })

  it('shows the keys of the tier', () => {
    const first = (tier: 'free' | 'pro') => {
      const body = search(all, { ticker: 'A', field: 'rsi_zone', today: '2024-05-30', tier, limit: 1 })
      return (body.events as object[])[0]
    }
    const free = { date: '2024-03-02', band: 'x', prev_band: 'p', duration_days: null, aftermath: null }
    expect(first('free')).toEqual(free)
    const entry = { stability_at_entry: 'fresh', flips_recent_at_entry: 1, flips_lookback: '30d' }
    expect(first('pro')).toEqual({ ...free, ...entry, aftermath: { '5d': { performance: 'flat' }, '10d': null } })
  })
})

/** Band, return and percentile of window 2w of an event at bar t. */
function twoWeeksAfter(t: number, closes: number[]): unknown[] {
  const classified = closes.map((_, index) => (index < t ? 'a' : 'b'))
  const found = recorded(series(closes), classified, 'weekly')[0]!
  return [found.aftermath['2w'], found.returns['2w'], found.percentiles['2w']]
}

function fixedAtEntry(found: Event): Partial<Event> {
  const { date, band, prev_band, stability_at_entry, flips_recent_at_entry } = found
  return { date, band, prev_band, stability_at_entry, flips_recent_at_entry }
}

function event(date: string, band: string): Event {
  return {
    date,
    band,
    prev_band: 'p',
    stability_at_entry: 'fresh',
    flips_recent_at_entry: 1,
    flips_lookback: '30d',
    duration: null,
    aftermath: { '5d': 'flat', '10d': null },
    returns: {},
    percentiles: {},
  }
}

function archiveOf(rsiZone: Event[]): Archive[string] {
  const fields = { rsi_zone: rsiZone } as Archive[string][Timeframe]
  return { daily: fields, weekly: fields }
}

describe('fields', () => {
  it('joins the sides of the averages and the slope into a trend', () => {
    const flatThen = (...closes: number[]) => series([...Array(200).fill(100), ...closes])
    // 101: above all averages (100.05, 100.02, 100.005), slope up.
    expect(bands(flatThen(101), 'daily', 'trend_direction').slice(198)).toEqual([null, 'neutral', 'strong_uptrend'])
    expect(bands(flatThen(101), 'daily', 'ma_alignment').at(-1)).toBe('aligned_bullish')
    // 101, 99: below averages of 100 each; slope ~ 8.5 · ln 1.01 + 9.5 · ln 0.99 = 0.0846 − 0.0955 < 0.
    expect(bands(flatThen(101, 99), 'daily', 'trend_direction').at(-1)).toBe('strong_downtrend')
    expect(bands(flatThen(101, 99), 'daily', 'ma_alignment').at(-1)).toBe('mixed')
    // 102, 99: below averages of 100.05, 100.02, 100.005, but 8.5 · ln 1.02 − 0.0955 = 0.1683 − 0.0955 > 0.
    expect(bands(flatThen(102, 99), 'daily', 'trend_direction').at(-1)).toBe('downtrend')
  })

  it('leaves the volume ratio undefined where a volume is unknown or fewer than 25 of 50 are positive', () => {
    const ratio = (before: (number | null)[], today: number | null) =>
      bands(withVolumes([...before, today]), 'daily', 'volume_ratio_band').at(-1)
    const half = [...Array(25).fill(0), ...Array(25).fill(2)]
    expect(ratio(half, 4)).toBe('extremely_high')
    expect(ratio(half, 3.9999)).toBe('high')
    expect(ratio(half, 0)).toBe('extremely_low')
    expect(ratio(half.with(49, 0), 4)).toBeNull()
    expect(ratio(half.with(0, null), 4)).toBeNull()
    expect(ratio(half, null)).toBeNull()
    expect(ratio(half.slice(1), 4)).toBeNull()
  })

  it('starts the money flow at 0 on the first of 20 bars', () => {
    // Closes at the high: m = V = 100 a bar, y = 0, 100, …, 1900, slope 100, mean volume 100. The first m is left out.
    const atHigh = series(Array(20).fill(50)).map(bar => ({ ...bar, high: bar.close }))
    expect(indicators(atHigh, 'daily').adl_slope[19]).toBeCloseTo(1, 12)
    const fall = { ...atHigh[0]!, high: 52, low: 50 }
    expect(indicators(atHigh.with(0, fall), 'daily').adl_slope[19]).toBeCloseTo(1, 12)
    // High equal to low: no flow.
    const oneprice = atHigh.map(bar => ({ ...bar, low: bar.high }))
    expect(indicators(oneprice, 'daily').adl_slope).toEqual([...Array(19).fill(null), 0])
  })

  it('gives macd_state no band before the first sign, and expands to the peak of MACD after a step', () => {
    // j bars after the step MACD is (25/27)^j − (11/13)^j, which rises up to j = 9 (0.2779) and falls at 10 (0.2750).
    const state = bands(series([...Array(40).fill(100), ...Array(10).fill(101)]), 'daily', 'macd_state')
    expect(state.slice(0, 40)).toEqual(Array(40).fill(null))
    expect(state.slice(40)).toEqual([...Array(9).fill('expanding_positive'), 'contracting_positive'])
  })
})

describe('support and resistance, weekly: K 4, lookback 104', () => {
  // Lows are closes − 1, highs closes + 1 and steps at most 1, so every true range and the ATR (from bar 14) are 2.
  const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, i) => from - i)
  const up = (from: number, to: number) => down(to, from).reverse()
  // Bars 0–5: 20..15 (pivot low 14 at 5, known at 9); 6–11: 16..21; 12–21: 20..11; 22–27: 12..17; 28–31: 16..13; 14; 15.
  const closes = [...down(20, 15), ...up(16, 21), ...down(20, 11), ...up(12, 17), ...down(16, 13), 14, 15]
  const judged = [
    ['intact', 'intact'], // 14, 15: closes 18, 17, more than 2 above the level
    ['approaching', 'approaching', 'approaching'], // 16–18: 16 is exactly one ATR above, 14 is on the level
    ['breached', 'breached', 'breached'], // 19–21: 13, 12, 11; the third gives the level up
    [null, null, null], // 22–24: the only pivot is above the close before
    ['approaching', 'approaching', 'intact'], // 25–27: after the close of 14 the level is back, above the new pivot 10
    ['approaching', 'approaching', 'approaching'], // 28–30: 16, 15, 14
    ['breached', 'approaching', 'approaching'], // 31–33: one close at 13, and back: the level outlives the breach
  ].flat()

  it('goes through its states by hand', () => {
    expect(bands(series(closes), 'weekly', 'support_status')).toEqual([...Array(14).fill(null), ...judged])
    const level = judged.map(band => (band === null ? null : 14))
    expect(indicators(series(closes), 'weekly').support_level).toEqual([...Array(14).fill(null), ...level])
  })

  it('mirrors resistance', () => {
    const mirrored = series(closes.map(close => 40 - close))
    expect(bands(mirrored, 'weekly', 'resistance_status')).toEqual([...Array(14).fill(null), ...judged])
    expect(indicators(mirrored, 'weekly').resistance_level[20]).toBe(26)
  })

  it('forgets a pivot after the lookback, allows a tie after it and none before it', () => {
    const lastLevel = (start: number[]) =>
      indicators(series([...start, ...Array(130).fill(20)]), 'weekly').support_level.findLastIndex(x => x !== null)
    // Pivot at 5: in force while 5 > t − 104.
    expect(lastLevel([...down(20, 15), ...up(16, 20)])).toBe(108)
    // A double bottom at 5 and 7: the second has an equal low before it, the first may have one after it.
    expect(lastLevel([...down(20, 15), 16, 15, ...up(16, 20)])).toBe(108)
    // Bar 3 has three bars before it, bar 4 has four.
    expect(lastLevel([...down(18, 15), ...up(16, 20)])).toBe(-1)
    expect(lastLevel([...down(19, 15), ...up(16, 20)])).toBe(107)
  })
})

function withVolumes(volumes: (number | null)[]): Bar[] {
  return volumes.map((volume, t) => ({ ...day(dateOf(t), 50), volume }))
}
