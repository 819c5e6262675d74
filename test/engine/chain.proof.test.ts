import { describe, expect, it } from 'vitest'
import { earlierReturns, performanceIndex, rankOutcomes } from '../../src/core/engine/outcomes.js'
import { transitions } from '../../src/core/engine/record.js'
import { BUILT_IN_FIELDS, TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { Ranking, zoneOfRank } from '../../src/core/indicators/rank.js'
import { DEFINITIONS } from '../../src/core/model/definitions.js'
import { barsKnownBy, forwardReturns } from '../../src/core/model/series.js'
import { TIMEFRAMES, windowNames } from '../../src/core/model/terms.js'
import { randomNumbers } from '../support/bars.js'
import { everywhere, onRealBars, recording, shown } from './drawn.js'

const NAMES = ['daily', 'weekly'] as const

describe('P06: each event follows from the one before', () => {
  everywhere((bars, what) => {
    const recorded = recording(bars)
    for (const timeframe of NAMES) {
      for (const [field, events] of Object.entries(shown(recorded, timeframe))) {
        const at = `${what}, ${timeframe} ${field}`
        const record = recorded[timeframe].fields.get(field)
        // A field without a band on any bar has no record, and no event either.
        if (record === undefined) expect(events, at).toEqual([])
        if (record === undefined) continue
        const { bars: all, initialBar, initialBand } = record
        // An event of the last, incomplete week is recorded and not yet shown.
        const entered = all.slice(0, events.length)
        const initial = BUILT_IN_FIELDS.named(field)!.bands[initialBand]
        const broken = events.filter((event, i) => {
          const inForce = i === 0 ? initial : events[i - 1]!.band
          const rises = entered[i]! > (i === 0 ? initialBar : entered[i - 1]!)
          const lasts = i + 1 < events.length ? event.duration! >= 1 : event.duration === null
          return !(event.prev_band === inForce && event.band !== inForce && rises && lasts)
        })
        expect(broken, at).toEqual([])
        const dates = events.map(event => event.date)
        expect(dates, at).toEqual([...new Set(dates)].sort())
        expect(Math.min(1, ...events.map(event => event.flips_recent_at_entry)), at).toBe(1)
        const lasted = events.reduce((sum, event) => sum + (event.duration ?? 0), 0)
        expect(lasted, at).toBe(events.length === 0 ? 0 : entered.at(-1)! - entered[0]!)
      }
    }
  })
})

describe('P19: the band sequence reversed has the transposed transition counts', () => {
  everywhere((bars, what) => {
    const recorded = recording(bars)
    for (const timeframe of NAMES) {
      const panel = new Panel(recorded[timeframe].series)
      for (const field of TECHNICAL_FIELDS) {
        const codes = field.classify(panel)
        const there = countsOf(codes)
        const back = countsOf(codes.slice().reverse())
        const transposed = [...back].map(([pair, n]) => [pair.split('>').reverse().join('>'), n] as const)
        expect(new Map(transposed), `${what}, ${timeframe} ${field.name}`).toEqual(there)
      }
    }
  })
})

describe('P20: bookkeeping', () => {
  everywhere((bars, what) => {
    const recorded = recording(bars)
    for (const timeframe of NAMES) {
      const { series, fields } = recorded[timeframe]
      const final = barsKnownBy(series, recorded.entry.last)
      expect(series.days.length - final, what).toBeLessThanOrEqual(timeframe === 'daily' ? 0 : 1)
      const { windows, flipsLookback } = TIMEFRAMES[timeframe]
      const names = windowNames(timeframe)
      for (const [field, events] of Object.entries(shown(recorded, timeframe))) {
        const entered = fields.get(field)?.bars ?? []
        const wrong = events.filter((event, i) => {
          const inVocabulary = BUILT_IN_FIELDS.named(field)!.bands.includes(event.band)
          const ended = names.map((_, w) => entered[i]! + windows[w]! < final)
          const returned = names.every((name, w) => (event.returns[name] !== null) === ended[w])
          return !(inVocabulary && returned && event.flips_recent_at_entry <= flipsLookback)
        })
        expect(wrong, `${what}, ${timeframe} ${field}`).toEqual([])
      }
    }
  })
})

describe('P18: aftermath is monotone in the return, null while pending or without enough history', () => {
  everywhere((bars, what, seed) => {
    const { series } = recording(bars).daily
    const random = randomNumbers(seed)
    const { windows, minReference } = TIMEFRAMES.daily
    for (const [w, k] of windows.entries()) {
      const { ranks, close } = rankOutcomes(series)
      const returns = forwardReturns(close, k)
      const wrong = Array.from(ranks[w]!.keys()).filter(t => {
        const pending = t + k > series.close.length - 1
        const none = pending || t - k + 1 < minReference
        return ranks[w]![t]! < 0 !== none || Number.isNaN(returns[t]!) !== pending
      })
      expect(wrong, `${what}, ${k}d: bars whose null is wrong`).toEqual([])
      const t = minReference + k - 1 + Math.floor(random() * 50)
      if (t + k >= series.close.length) continue
      let worse = -1
      for (const factor of [0.01, 0.5, 0.8, 0.9, 0.97, 0.99, 1, 1.01, 1.03, 1.1, 1.3, 2, 100]) {
        const close = series.close.slice()
        close[t + k] = close[t]! * factor
        const found = performanceIndex(rankOutcomes({ close, timeframe: 'daily' }).ranks[w]![t]!, t, k)
        expect(found, `${what}, ${k}d at ${t}, × ${factor}`).toBeGreaterThanOrEqual(worse)
        worse = found
      }
      expect(earlierReturns(t, k)).toBe(t - k + 1)
    }
  })
})

describe('P12: ranked in the whole history, returns fall into 5, 15, 20, 20, 20, 15 and 5 %', () => {
  onRealBars((bars, name) => {
    const { series, outcomes: found } = recording(bars).daily
    TIMEFRAMES.daily.windows.forEach(k => {
      const returns = forwardReturns(found.close, k).slice(0, Math.max(0, series.close.length - k))
      if (returns.length < 250) return
      const whole = new Ranking(returns)
      returns.forEach((_, t) => {
        whole.add(t)
      })
      const shares = new Array<number>(7).fill(0)
      returns.forEach((_, t) => {
        shares[zoneOfRank(whole.rankOf(t), whole.size, DEFINITIONS.performance.cuts)]! += 100 / returns.length
      })
      // Prices in sixteenths come back to the same price often: equal returns fall on one side of a cut.
      const expected = [5, 15, 20, 20, 20, 15, 5]
      const gap = Math.max(...shares.map((share, i) => Math.abs(share - expected[i]!)))
      expect(gap, `${name}, ${k}d: ${shares}`).toBeLessThanOrEqual(0.5 + tiedShare(returns))
    })
  })
})

it('an undefined bar keeps the band in force', () => {
  const none = 255
  const { initialBar, initialBand, bars, bands } = transitions(Uint8Array.of(none, 2, none, 2, none, 1, none, 2))
  expect([initialBar, initialBand, [...bars], [...bands]]).toEqual([1, 2, [5, 7], [1, 2]])
  expect(transitions(Uint8Array.of(none, none)).initialBar).toBe(-1)
  expect(transitions(new Uint8Array()).initialBar).toBe(-1)
})

/** The largest group of equal returns, in percent. */
function tiedShare(returns: Float64Array): number {
  const groups = new Map<number, number>()
  for (const value of returns) groups.set(value, (groups.get(value) ?? 0) + 1)
  return (100 * Math.max(...groups.values())) / returns.length
}

function countsOf(codes: Uint8Array): Map<string, number> {
  const { initialBand, bands } = transitions(codes)
  const counts = new Map<string, number>()
  bands.forEach((band, i) => {
    const pair = `${i === 0 ? initialBand : bands[i - 1]!}>${band}`
    counts.set(pair, (counts.get(pair) ?? 0) + 1)
  })
  return counts
}
