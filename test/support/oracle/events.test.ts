import { describe, expect, it } from 'vitest'
import { assortedBars, dateOf, series } from '../bars.js'
import {
  type Archive,
  type Event,
  eventsOfEveryField,
  type FieldName,
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
