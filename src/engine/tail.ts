import type { Field } from '../fields/field.js'
import { FIELDS } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import { transient } from '../indicators/columns.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import {
  type AssetClass,
  type FieldRecord,
  type FieldTail,
  type Series,
  type SeriesTail,
  UNDEFINED,
} from '../model/series.js'
import { TIMEFRAMES, type Timeframe } from '../model/terms.js'
import { ranksSince } from './outcomes.js'
import { changesFrom, entries, recordFields, recordOf, weekly, weekStarts } from './record.js'

/** The first bar of each series that is new or has changed. */
export type Since = Record<Timeframe, number>

/** Where weeks begin to differ when daily bars do from one of them on: with its own week. */
export function sinceBar(days: Int32Array, daily: number): Since {
  return { daily, weekly: weekStarts(days.subarray(0, daily + 1)).length - 1 }
}

/** The first bar of which recorded events are needed to label those from `since` on: by flips, and by how long one lasted. */
export function neededFrom(timeframe: Timeframe, since: number): number {
  return Math.max(0, since - Math.max(TIMEFRAMES[timeframe].flipsLookback, DEFINITIONS.stability.establishedFrom))
}

/** What is recorded of the fields of a series, by name, at least from `neededFrom` on. */
export type RecordedEnd = ReadonlyMap<string, FieldTail>

/**
 * What `record` gives of the bars from `since` on, and the events and ranks that are recorded of those before, which stay:
 * indicators that go on from bar to bar run over all of them, the others, and all categories, only where a new bar counts.
 * What stands on facts is made whole: it mostly stays the same, and costs little. null where the band in force before
 * those bars is older than what is at hand.
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
  const of = (timeframe: Timeframe, series: Series): SeriesTail | null =>
    tailOf(series, facts, { since: since[timeframe], recorded: recorded[timeframe], fields })
  const days = of('daily', daily)
  const weeks = days && of('weekly', weekly(daily, assetClass))
  return weeks && { daily: days!, weekly: weeks }
}

function tailOf(
  series: Series,
  facts: Facts | null,
  { since, recorded, fields }: { since: number; recorded: RecordedEnd; fields: readonly Field[] },
): SeriesTail | null {
  const tails = transient(() => {
    const found = new Map<string, FieldRecord | FieldTail>()
    // The bar before tells the band in force.
    const panel = new Panel(series, null, null, Math.max(0, since - 1))
    for (const field of fields.filter(({ needs }) => needs === 'bars')) {
      const before = recorded.get(field.name)
      const tail = prolonged(before, field.classify(panel), { since, timeframe: series.timeframe })
      if (tail === null) return null
      if (tail.initialBar >= 0) found.set(field.name, tail)
    }
    if (facts === null) return found
    const byFacts = fields.filter(({ needs }) => needs !== 'bars')
    for (const [name, record] of recordFields(new Panel(series, facts), byFacts)) found.set(name, record)
    return found
  })
  return tails && { series, outcomes: { ranks: ranksSince(series, since) }, fields: tails }
}

/** What is recorded up to a bar, and what the codes from there on make of it; null where its band in force is unknown. */
function prolonged(
  recorded: FieldTail | undefined,
  codes: Uint8Array,
  { since, timeframe }: { since: number; timeframe: Timeframe },
): FieldTail | null {
  if (recorded === undefined || recorded.initialBar >= since)
    return { ...recordOf(codes, timeframe, since), earlier: 0 }
  const { initialBar, initialBand, earlier } = recorded
  let kept = recorded.bars.length
  while (kept > 0 && recorded.bars[kept - 1]! >= since) kept--
  const inForce = kept > 0 ? recorded.bands[kept - 1]! : earlier === 0 ? initialBand : codes[since - 1]!
  if (inForce === UNDEFINED) return null
  // Mostly nothing changes.
  if (kept === recorded.bars.length && !reaches(recorded.gaps, since) && isOn(codes, since, inForce)) return recorded
  const added = changesFrom(codes, since, inForce)
  const bars = new Int32Array(kept + added.bars.length)
  bars.set(recorded.bars.subarray(0, kept))
  bars.set(added.bars, kept)
  // One before all that is at hand is so old that it is all the same which.
  const begun = earlier === 0 ? initialBar : Number.NEGATIVE_INFINITY
  const label = entries({ initialBar: begun, bars }, TIMEFRAMES[timeframe].flipsLookback)
  label.flips.set(recorded.flips.subarray(0, kept))
  label.stability.set(recorded.stability.subarray(0, kept))
  const bands = new Uint8Array(bars.length)
  bands.set(recorded.bands.subarray(0, kept))
  bands.set(added.bands, kept)
  const gaps = gapsJoined(recorded.gaps, added.gaps, since)
  return { initialBar, initialBand, bars, bands, gaps, ...label, earlier }
}

/** Runs without a band up to a bar, and those from it on; one that goes on there is one. */
function gapsJoined(recorded: Int32Array, added: Int32Array, since: number): Int32Array {
  const gaps: number[] = []
  for (let g = 0; g < recorded.length && recorded[g]! < since; g += 2)
    gaps.push(recorded[g]!, Math.min(recorded[g + 1]!, since))
  const goesOn = gaps.at(-1) === since && added[0] === since
  if (goesOn) gaps.pop()
  for (let g = goesOn ? 1 : 0; g < added.length; g++) gaps.push(added[g]!)
  return Int32Array.from(gaps)
}

/** Whether the last run without a band lies, or ends, beyond a bar. */
function reaches(gaps: Int32Array, bar: number): boolean {
  return gaps.length > 0 && gaps.at(-1)! > bar
}

/** Whether the codes of all bars from one on are the same. */
function isOn(codes: Uint8Array, from: number, code: number): boolean {
  for (let t = from; t < codes.length; t++) if (codes[t] !== code) return false
  return true
}
