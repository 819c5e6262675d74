// For: from bars to events.
// In: one history and its fields.
// Out: bands by bar, transitions, stability and outcomes.

import type { Field } from '../fields/field.js'
import type { SectorView } from '../fields/fundamentals.js'
import { FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import { withReusedMemory } from '../indicators/columns.js'
import { countBelow, isWeekend, mondayOf, weekFinalOn } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import {
  type AssetClass,
  type Entries,
  emptySeries,
  type FieldRecord,
  type FieldTail,
  type Series,
  type SeriesRecord,
  type SeriesTail,
  STABILITIES,
  type Stability,
  type Transitions,
  UNDEFINED,
} from '../model/series.js'
import { TIMEFRAMES, type Timeframe } from '../model/terms.js'
import { rankOutcomes, ranksEndingSince } from './outcomes.js'

/**
 * One ticker's daily bars and facts → its complete record, daily and weekly.
 *  1. make weekly bars            `weekly`
 *  2. classify every bar          fields/
 *  3. store changes of the band   `transitions`
 *  4. label each entry            `labelEntries`
 *  5. rank later returns          `rankOutcomes`
 *
 * Fields that compare a ticker with its sector see no other ticker here: `recordSeries` takes a sector, too. Where only
 * the last bars are new, `recordTail` computes the same from the stored record.
 */
export function record(
  daily: Series,
  assetClass: AssetClass | null = null,
  facts: Facts | null = null,
  fields: readonly Field[] = FIELDS,
): { daily: SeriesRecord; weekly: SeriesRecord } {
  return {
    daily: recordSeries(daily, facts, null, fields),
    weekly: recordSeries(weekly(daily, assetClass), facts, null, fields),
  }
}

/** The complete record of one series: the bands of each field, and the ranks of later returns. */
export function recordSeries(
  series: Series,
  facts: Facts | null = null,
  sector: SectorView | null = null,
  fields: readonly Field[] = FIELDS,
): SeriesRecord {
  const records = withReusedMemory(() => recordFields(new Panel(series, facts, sector), fields))
  return { series, outcomes: rankOutcomes(series), fields: records }
}

/** The record of each field that has a band on some bar. */
export function recordFields(panel: Panel, fields: readonly Field[]): Map<string, FieldRecord> {
  const records = new Map<string, FieldRecord>()
  for (const field of fields) {
    if (field.needs !== 'bars' && panel.fundamentals === null) continue
    const record = recordOfCodes(field.classify(panel), panel.series.timeframe)
    if (record.initialBar >= 0) records.set(field.name, record)
  }
  return records
}

/** The record of one field from its bands by bar. @param from a bar before which there is no band */
export function recordOfCodes(codes: Uint8Array, timeframe: Timeframe, from = 0): FieldRecord {
  const changes = transitions(codes, from)
  return { ...changes, ...labelEntries(changes, TIMEFRAMES[timeframe].flipsLookback) }
}

/** Buffer of one call of `changesFrom`, for any number of bars. */
let changedBarsBuffer = new Int32Array()

/**
 * Stores the defined bars on which the band differs from the current one. Undefined bars continue the current band.
 * @param from a bar before which there is no band
 */
export function transitions(codes: Uint8Array, from = 0): Transitions {
  let initialBar = from
  while (initialBar < codes.length && codes[initialBar] === UNDEFINED) initialBar++
  if (initialBar === codes.length) return NO_TRANSITIONS
  const initialBand = codes[initialBar]!
  return { initialBar, initialBand, ...changesFrom(codes, initialBar + 1, initialBand) }
}

/**
 * The changes of the band from bar `from` on, given the code of the band before it. A gap is a run of bars without a
 * band; `gaps` has two numbers for each: its first bar, and the bar after its last.
 */
function changesFrom(codes: Uint8Array, from: number, startBand: number): Pick<Transitions, 'bars' | 'bands' | 'gaps'> {
  if (changedBarsBuffer.length < codes.length) changedBarsBuffer = new Int32Array(codes.length)
  const gaps: number[] = []
  let changes = 0
  let inForce = startBand
  for (let t = from; t < codes.length; t++) {
    if (codes[t] === inForce) continue
    if (codes[t] === UNDEFINED) {
      gaps.push(t)
      while (t + 1 < codes.length && codes[t + 1] === UNDEFINED) t++
      gaps.push(t + 1)
      continue
    }
    inForce = codes[t]!
    changedBarsBuffer[changes++] = t
  }
  const bars = changedBarsBuffer.slice(0, changes)
  const bands = new Uint8Array(changes)
  for (let i = 0; i < changes; i++) bands[i] = codes[bars[i]!]!
  return { bars, bands, gaps: Int32Array.from(gaps) }
}

const NONE = new Int32Array()
export const NO_TRANSITIONS: Transitions = {
  initialBar: -1,
  initialBand: UNDEFINED,
  bars: NONE,
  bands: new Uint8Array(),
  gaps: NONE,
}

/**
 * For each event, the number of events on the last `lookback` bars, its own included (flips), and the stability of the
 * band that it left. The length of that band runs from the event before, or for the first event from `initialBar`.
 */
export function labelEntries(
  { initialBar, bars }: Pick<Transitions, 'initialBar' | 'bars'>,
  lookback: number,
): Entries {
  const flips = new Uint8Array(bars.length)
  const stability = new Uint8Array(bars.length)
  /** Index of the oldest event within the lookback. */
  let oldestCounted = 0
  let lastChange = initialBar
  for (let i = 0; i < bars.length; i++) {
    const bar = bars[i]!
    while (bars[oldestCounted]! <= bar - lookback) oldestCounted++
    const flipCount = i - oldestCounted + 1
    flips[i] = flipCount
    stability[i] = STABILITIES.indexOf(stabilityOf(flipCount, bar - lastChange))
    lastChange = bar
  }
  return { flips, stability }
}

/** The stability of a band, from the flips within the lookback and its length in bars. */
export function stabilityOf(flips: number, lasted: number): Stability {
  const { volatileFlips, holdingFrom, establishedFrom } = DEFINITIONS.stability
  if (flips >= volatileFlips) return 'volatile'
  if (lasted < holdingFrom) return 'fresh'
  return lasted < establishedFrom ? 'holding' : 'established'
}

/**
 * Daily bars → weekly bars, one for every ISO week with a session: first open, highest high, lowest low, last close,
 * summed volume (NaN if one is unknown), dated on the last session. The last week may be incomplete; `known` is the day
 * from which each week is final.
 */
export function weekly(daily: Series, assetClass: AssetClass | null = null): Series {
  const starts = weekStarts(daily.days)
  const weeks = starts.length
  const series = emptySeries('weekly', weeks)
  if (daily.unadjustedClose !== undefined) series.unadjustedClose = new Float64Array(weeks)
  let hasWeekendSessions = assetClass === 'crypto'
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
    }
    series.open[w] = daily.open[from]!
    series.high[w] = high
    series.low[w] = low
    series.volume[w] = volume
    const last = days[to - 1]!
    // After a first session on a weekend, weeks end on Sunday.
    hasWeekendSessions ||= isWeekend(last)
    series.close[w] = daily.close[to - 1]!
    if (series.unadjustedClose !== undefined) series.unadjustedClose[w] = daily.unadjustedClose![to - 1]!
    series.days[w] = last
    series.known[w] = weekFinalOn(last, hasWeekendSessions)
  }
  return series
}

export function barsAt(timeframe: Timeframe, daily: Series, assetClass: AssetClass | null): Series {
  return timeframe === 'daily' ? daily : weekly(daily, assetClass)
}

/** Index of the first session of every ISO week. */
function weekStarts(days: Int32Array): number[] {
  const starts: number[] = []
  let monday = Number.NEGATIVE_INFINITY
  for (let t = 0; t < days.length; t++) {
    if (days[t]! < monday + 7) continue
    monday = mondayOf(days[t]!)
    starts.push(t)
  }
  return starts
}

/** The first bar of each series that is new or has changed. */
export type Since = Record<Timeframe, number>

/** The first changed weekly bar after a change of daily bars: that of the same week. */
export function firstChangedBars(days: Int32Array, daily: number): Since {
  return { daily, weekly: weekStarts(days.subarray(0, daily + 1)).length - 1 }
}

/** The first bar whose recorded events are needed to label those from `since` on, for flips and lengths. */
export function firstBarNeededForLabels(timeframe: Timeframe, since: number): number {
  return Math.max(0, since - Math.max(TIMEFRAMES[timeframe].flipsLookback, DEFINITIONS.stability.establishedFrom))
}

/** The record of a series' fields, by name, at least from `firstBarNeededForLabels` on. */
export type RecordedEnd = ReadonlyMap<string, FieldTail>

/**
 * Computes the same as `record` for the bars from `since` on, with the recorded events and ranks before them.
 * Indicators that depend on all earlier bars, such as an EMA, cover all bars; others and all bands only cover the new
 * ones. Bands from facts are computed completely: they rarely change and cost little. null where the band before those
 * bars is older than the stored part.
 */
export function recordTail(
  daily: Series,
  assetClass: AssetClass | null,
  facts: Facts | null,
  {
    since,
    recorded,
    fields = FIELDS,
  }: { since: Since; recorded: Record<Timeframe, RecordedEnd>; fields?: readonly Field[] },
): { daily: SeriesTail; weekly: SeriesTail } | null {
  const tailOf = (timeframe: Timeframe, series: Series): SeriesTail | null =>
    seriesTail(series, facts, { since: since[timeframe], recorded: recorded[timeframe], fields })
  const dailyTail = tailOf('daily', daily)
  if (dailyTail === null) return null
  const weeklyTail = tailOf('weekly', weekly(daily, assetClass))
  return weeklyTail && { daily: dailyTail, weekly: weeklyTail }
}

/** Continues the stored records of one series from bar `since` on; null where the band before it is unknown. */
function seriesTail(
  series: Series,
  facts: Facts | null,
  { since, recorded, fields }: { since: number; recorded: RecordedEnd; fields: readonly Field[] },
): SeriesTail | null {
  const tails = withReusedMemory(() => {
    const tailByField = new Map<string, FieldRecord | FieldTail>()
    // From the bar before the new ones: its band is in force when they begin.
    const panel = new Panel(series, null, null, Math.max(0, since - 1))
    for (const field of fields.filter(({ needs }) => needs === 'bars')) {
      const before = recorded.get(field.name)
      const tail = extendRecord(before, field.classify(panel), { since, timeframe: series.timeframe })
      if (tail === null) return null
      // Negative for a field without any band.
      if (tail.initialBar >= 0) tailByField.set(field.name, tail)
    }
    if (facts === null) return tailByField
    const byFacts = fields.filter(({ needs }) => needs !== 'bars')
    for (const [name, record] of recordFields(new Panel(series, facts), byFacts)) tailByField.set(name, record)
    return tailByField
  })
  return tails && { series, outcomes: { ranks: ranksEndingSince(series, since) }, fields: tails }
}

/**
 * A field's record after bars from `since` on are new: its stored events before that bar, and the changes of `codes`
 * from it on. null if the band in force before that bar is unknown.
 * @param recorded the newest stored events, without `earlier` older ones; undefined for a field without a record
 */
function extendRecord(
  recorded: FieldTail | undefined,
  codes: Uint8Array,
  { since, timeframe }: { since: number; timeframe: Timeframe },
): FieldTail | null {
  if (recorded === undefined || recorded.initialBar >= since)
    return { ...recordOfCodes(codes, timeframe, since), earlier: 0 }
  const { initialBar, initialBand, earlier } = recorded
  const keptCount = countBelow(recorded.bars, since)
  const inForce = bandInForce(recorded, keptCount, codes[since - 1]!)
  if (inForce === UNDEFINED) return null
  const gapsEnd = recorded.gaps.at(-1) ?? 0
  const keepsAll = keptCount === recorded.bars.length && gapsEnd <= since
  if (keepsAll && allCodesEqual(codes, since, inForce)) return recorded
  const added = changesFrom(codes, since, inForce)
  const bars = new Int32Array(keptCount + added.bars.length)
  bars.set(recorded.bars.subarray(0, keptCount))
  bars.set(added.bars, keptCount)
  // The loaded events reach back to `firstBarNeededForLabels`. A band from before them is long enough for any label, so
  // that its first bar does not matter.
  const firstBar = earlier === 0 ? initialBar : Number.NEGATIVE_INFINITY
  const labels = labelEntries({ initialBar: firstBar, bars }, TIMEFRAMES[timeframe].flipsLookback)
  labels.flips.set(recorded.flips.subarray(0, keptCount))
  labels.stability.set(recorded.stability.subarray(0, keptCount))
  const bands = new Uint8Array(bars.length)
  bands.set(recorded.bands.subarray(0, keptCount))
  bands.set(added.bands, keptCount)
  const gaps = joinGaps(recorded.gaps, added.gaps, since)
  return { initialBar, initialBand, bars, bands, gaps, ...labels, earlier }
}

/**
 * The code of the band that the last of the first `kept` events left in force; UNDEFINED if it is unknown.
 * @param codeBefore the code of the bar before the new ones
 */
function bandInForce({ bands, initialBand, earlier }: FieldTail, kept: number, codeBefore: number): number {
  if (kept > 0) return bands[kept - 1]!
  // The event that entered the band was not loaded, if there are earlier ones.
  return earlier === 0 ? initialBand : codeBefore
}

/**
 * Joins runs without a band up to bar `since` with those from it on; a run across it becomes one run. As in
 * Transitions, each run is two numbers: its first bar, and the bar after its last.
 */
function joinGaps(recorded: Int32Array, added: Int32Array, since: number): Int32Array {
  const gaps: number[] = []
  for (let g = 0; g < recorded.length && recorded[g]! < since; g += 2)
    gaps.push(recorded[g]!, Math.min(recorded[g + 1]!, since))
  const isOneRun = gaps.at(-1) === since && added[0] === since
  if (isOneRun) gaps.pop()
  return Int32Array.from([...gaps, ...(isOneRun ? added.subarray(1) : added)])
}

function allCodesEqual(codes: Uint8Array, from: number, code: number): boolean {
  for (let t = from; t < codes.length; t++) if (codes[t] !== code) return false
  return true
}
