import type { Field } from '../fields/field.js'
import type { SectorView } from '../fields/fundamentals.js'
import { FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import { transient } from '../indicators/columns.js'
import { isWeekend, mondayOf, weekFinalOn } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import {
  type AssetClass,
  type Entries,
  emptySeries,
  type FieldRecord,
  type Series,
  type SeriesRecord,
  STABILITIES,
  type Stability,
  type Transitions,
  UNDEFINED,
} from '../model/series.js'
import { TIMEFRAMES, type Timeframe } from '../model/terms.js'
import { outcomes } from './outcomes.js'

/**
 * One ticker's daily bars and facts → all that is recorded of it, daily and weekly.
 *  1. make weekly bars            `weekly`
 *  2. classify every bar          fields/
 *  3. keep where the band changes `transitions`
 *  4. label each entry            `entries`
 *  5. look ahead from every bar   `outcomes`
 *
 * Fields that compare a ticker with its sector see no other ticker here: `recordSeries` takes a sector, too. Where only
 * the last bars are new, `recordTail` gives the same from what is recorded.
 */
export function record(
  daily: Series,
  assetClass: AssetClass | null = null,
  facts: Facts | null = null,
  fields: readonly Field[] = FIELDS,
): { daily: SeriesRecord; weekly: SeriesRecord } {
  const of = (series: Series): SeriesRecord => recordSeries(series, facts, null, fields)
  return { daily: of(daily), weekly: of(weekly(daily, assetClass)) }
}

export function recordSeries(
  series: Series,
  facts: Facts | null = null,
  sector: SectorView | null = null,
  fields: readonly Field[] = FIELDS,
): SeriesRecord {
  const found = transient(() => recordFields(new Panel(series, facts, sector), fields))
  return { series, outcomes: outcomes(series), fields: found }
}

/** The record of each field that has a band on some bar; of the others there is none. */
export function recordFields(panel: Panel, fields: readonly Field[]): Map<string, FieldRecord> {
  const found = new Map<string, FieldRecord>()
  for (const field of fields) {
    if (field.needs !== 'bars' && panel.fundamentals === null) continue
    const record = recordOf(field.classify(panel), panel.series.timeframe)
    if (record.initialBar >= 0) found.set(field.name, record)
  }
  return found
}

/** What bands by bar make of one field. @param from a bar before which there is no band */
export function recordOf(codes: Uint8Array, timeframe: Timeframe, from = 0): FieldRecord {
  const changes = transitions(codes, from)
  return { ...changes, ...entries(changes, TIMEFRAMES[timeframe].flipsLookback) }
}

/** Room for the bars of one call of `changesFrom`, however many there are. */
let changed = new Int32Array()

/**
 * Keeps the defined bars on which the band differs from the one in force; undefined bars keep the band in force, as gaps.
 * @param from a bar before which there is no band
 */
export function transitions(codes: Uint8Array, from = 0): Transitions {
  let initialBar = from
  while (initialBar < codes.length && codes[initialBar] === UNDEFINED) initialBar++
  if (initialBar === codes.length) return NO_TRANSITIONS
  const initialBand = codes[initialBar]!
  return { initialBar, initialBand, ...changesFrom(codes, initialBar + 1, initialBand) }
}

/** Where the band changes on a bar or later, which one was in force before. */
export function changesFrom(
  codes: Uint8Array,
  from: number,
  before: number,
): Pick<Transitions, 'bars' | 'bands' | 'gaps'> {
  if (changed.length < codes.length) changed = new Int32Array(codes.length)
  const gaps: number[] = []
  let changes = 0
  let inForce = before
  for (let t = from; t < codes.length; t++) {
    if (codes[t] === inForce) continue
    if (codes[t] === UNDEFINED) {
      gaps.push(t)
      while (t + 1 < codes.length && codes[t + 1] === UNDEFINED) t++
      gaps.push(t + 1)
      continue
    }
    inForce = codes[t]!
    changed[changes++] = t
  }
  const bars = changed.slice(0, changes)
  const bands = new Uint8Array(changes)
  for (let i = 0; i < changes; i++) bands[i] = codes[bars[i]!]!
  return { bars, bands, gaps: Int32Array.from(gaps) }
}

const NONE = new Int32Array()
export const NO_TRANSITIONS: Transitions = {
  ...{ initialBar: -1, initialBand: UNDEFINED },
  ...{ bars: NONE, bands: new Uint8Array(), gaps: NONE },
}

/** Labels each event with what was known at its entry: flips in the lookback, and how settled the band left behind was. */
export function entries({ initialBar, bars }: Pick<Transitions, 'initialBar' | 'bars'>, lookback: number): Entries {
  const flips = new Uint8Array(bars.length)
  const stability = new Uint8Array(bars.length)
  let oldest = 0
  let before = initialBar
  for (let i = 0; i < bars.length; i++) {
    const bar = bars[i]!
    while (bars[oldest]! <= bar - lookback) oldest++
    flips[i] = i - oldest + 1
    stability[i] = STABILITIES.indexOf(stabilityOf(i - oldest + 1, bar - before))
    before = bar
  }
  return { flips, stability }
}

/** How settled a band is, by the flips within the lookback and the bars that it has lasted. */
export function stabilityOf(flips: number, lasted: number): Stability {
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  if (flips >= volatileFlips) return 'volatile'
  if (lasted < holdingFrom) return 'fresh'
  return lasted < establishedFrom ? 'holding' : 'established'
}

/**
 * Daily bars → weekly bars, one for every ISO week that has a session: first open, highest high, lowest low, last close,
 * summed volume (NaN if one is unknown), dated on the last session. The last week is there even while it is incomplete;
 * `known` says from which day on each week is final.
 */
export function weekly(daily: Series, assetClass: AssetClass | null = null): Series {
  const starts = weekStarts(daily.days)
  const weeks = starts.length
  const series = emptySeries('weekly', weeks)
  if (daily.unadjustedClose !== undefined) series.unadjustedClose = new Float64Array(weeks)
  let weekends = assetClass === 'crypto'
  const { days, high: highs, low: lows, volume: volumes } = daily
  for (let w = 0; w < weeks; w++) {
    const from = starts[w]!
    const to = w + 1 < weeks ? starts[w + 1]! : days.length
    let high = highs[from]!
    let low = lows[from]!
    let volume = 0
    for (let t = from; t < to; t++) {
      if (highs[t]! > high) high = highs[t]!
      if (lows[t]! < low) low = lows[t]!
      volume += volumes[t]!
      weekends ||= isWeekend(days[t]!)
    }
    series.open[w] = daily.open[from]!
    series.high[w] = high
    series.low[w] = low
    series.volume[w] = volume
    const last = days[to - 1]!
    series.close[w] = daily.close[to - 1]!
    if (series.unadjustedClose !== undefined) series.unadjustedClose[w] = daily.unadjustedClose![to - 1]!
    series.days[w] = last
    series.known[w] = weekFinalOn(last, weekends)
  }
  return series
}

/** A ticker's daily bars at a timeframe: as they are, or its weeks. */
export function barsAt(timeframe: Timeframe, daily: Series, assetClass: AssetClass | null): Series {
  return timeframe === 'daily' ? daily : weekly(daily, assetClass)
}

/** Index of the first session of every ISO week. */
export function weekStarts(days: Int32Array): number[] {
  const starts: number[] = []
  let monday = Number.NEGATIVE_INFINITY
  for (let t = 0; t < days.length; t++) {
    if (days[t]! < monday + 7) continue
    monday = mondayOf(days[t]!)
    starts.push(t)
  }
  return starts
}
