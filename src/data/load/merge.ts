import { countBelow, type Day } from '../../core/model/day.js'
import { BAR_FIGURES, emptySeries, type Series } from '../../core/model/series.js'
import type { ImportStamp, IndexedOrigin, Origin } from '../store/store.js'

/** Consecutive bars that are all stored already, or all new. */
export interface BarRange {
  /** Index of the first among the stored bars; null for new bars. */
  index: number | null
  bars: number
}

/** Bars that are new, replaced or unchanged, by their dates. */
export interface Counts {
  added: number
  replaced: number
  unchanged: number
}

export interface Merged extends Counts {
  series: Series
  /** Runs of merged bars, in their order: which were stored already and which are new. */
  ranges: BarRange[]
}

/**
 * Merges new daily bars into stored ones; on a common date the new bar wins. Returns also the `ranges`: runs of merged
 * bars, each with its index among the stored ones, or null for new bars.
 * @param storedWithRoom the stored bars, in columns with room after them, for new bars that are all later
 */
export function mergeSeries(stored: Series, incoming: Series, storedWithRoom: Series | null = null): Merged {
  const storedCount = stored.days.length
  const incomingCount = incoming.days.length
  if (storedCount === 0 || stored.days[storedCount - 1]! < incoming.days[0]!)
    return appendSeries(stored, incoming, storedWithRoom)
  const commonDays = incoming.days.reduce((sum, day) => sum + Number(hasDay(stored.days, day)), 0)
  const series = emptySeries('daily', storedCount + incomingCount - commonDays)
  // A daily bar is known on its own day.
  series.known = series.days
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const ranges: BarRange[] = []
  let nextMerged = 0
  let nextStored = 0
  let nextIncoming = 0
  while (nextStored < storedCount || nextIncoming < incomingCount) {
    const incomingDay = nextIncoming < incomingCount ? incoming.days[nextIncoming]! : Number.POSITIVE_INFINITY
    const storedDay = nextStored < storedCount ? stored.days[nextStored]! : Number.POSITIVE_INFINITY
    // Stored bars before the next new bar stay.
    if (storedDay < incomingDay) {
      const until = countBelow(stored.days, incomingDay)
      copyBars(stored, nextStored, until, series, nextMerged)
      appendRange(ranges, nextStored, until - nextStored)
      nextMerged += until - nextStored
      nextStored = until
      continue
    }
    const isCommon = storedDay === incomingDay
    const isUnchanged = isCommon && sameBar(stored, nextStored, incoming, nextIncoming)
    copyBars(incoming, nextIncoming, nextIncoming + 1, series, nextMerged)
    if (isUnchanged) counts.unchanged++
    else if (isCommon) counts.replaced++
    else counts.added++
    appendRange(ranges, isUnchanged ? nextStored : null, 1)
    if (isCommon) nextStored++
    nextIncoming++
    nextMerged++
  }
  return { series: withUnadjusted(series, stored, incoming), ...counts, ranges }
}

/** Appends new bars that are all later. They are copied at once, which is much faster than bar by bar. */
function appendSeries(stored: Series, incoming: Series, storedWithRoom: Series | null): Merged {
  const storedCount = stored.days.length
  const added = incoming.days.length
  const series = storedWithRoom ?? emptySeries('daily', storedCount + added)
  // A daily bar is known on its own day.
  series.known = series.days
  if (storedWithRoom === null) copyBars(stored, 0, storedCount, series, 0)
  copyBars(incoming, 0, added, series, storedCount)
  const ranges: BarRange[] = []
  if (storedCount > 0) ranges.push({ index: 0, bars: storedCount })
  if (added > 0) ranges.push({ index: null, bars: added })
  return { series: withUnadjusted(series, stored, incoming), added, replaced: 0, unchanged: 0, ranges }
}

/** Merged bars with the closes before adjustment; without that column if no close before adjustment is known. */
function withUnadjusted({ unadjustedClose: _, ...merged }: Series, stored: Series, incoming: Series): Series {
  const unadjustedClose = mergeUnadjustedCloses(merged.days, stored, incoming)
  return unadjustedClose === null ? merged : { ...merged, unadjustedClose }
}

/**
 * The close before adjustment on each merged day, NaN where unknown; null if all are unknown. That of the new bar
 * counts. If it has none, the stored one stays, because such a close never changes.
 */
function mergeUnadjustedCloses(days: Int32Array, stored: Series, incoming: Series): Float64Array | null {
  if (stored.unadjustedClose === undefined && incoming.unadjustedClose === undefined) return null
  const merged = new Float64Array(days.length).fill(Number.NaN)
  for (const { days: barDays, unadjustedClose } of [stored, incoming]) {
    if (unadjustedClose === undefined) continue
    let mergedBar = 0
    for (let bar = 0; bar < barDays.length; bar++) {
      while (days[mergedBar]! < barDays[bar]!) mergedBar++
      if (!Number.isNaN(unadjustedClose[bar]!)) merged[mergedBar] = unadjustedClose[bar]!
    }
  }
  return merged.every(Number.isNaN) ? null : merged
}

function hasDay(days: Int32Array, day: Day): boolean {
  return days[countBelow(days, day)] === day
}

/** Copies the bars from `first` up to, but not including, `until` into `to`, from its bar `toFirst` on. */
function copyBars(from: Series, first: number, until: number, to: Series, toFirst: number): void {
  // Mostly one bar, which is faster without views.
  if (until - first === 1) {
    to.days[toFirst] = from.days[first]!
    for (const column of BAR_FIGURES) to[column][toFirst] = from[column][first]!
    return
  }
  to.days.set(from.days.subarray(first, until), toFirst)
  for (const column of BAR_FIGURES) to[column].set(from[column].subarray(first, until), toFirst)
}

/** Appends bars to ranges, or extends the last range if they continue it. @param index as in BarRange */
function appendRange(ranges: BarRange[], index: number | null, bars: number): void {
  const last = ranges.at(-1)
  const indexAfterLast = last === undefined || last.index === null ? null : last.index + last.bars
  if (last !== undefined && indexAfterLast === index) last.bars += bars
  else ranges.push({ index, bars })
}

/** Whether two bars have the same prices and volume; unknown volumes are equal. */
function sameBar(stored: Series, storedBar: number, incoming: Series, incomingBar: number): boolean {
  for (const column of BAR_FIGURES)
    if (!Object.is(stored[column][storedBar]!, incoming[column][incomingBar]!)) return false
  // A file with only adjusted closes says nothing about unadjusted ones.
  if (incoming.unadjustedClose === undefined) return true
  return stored.unadjustedClose?.[storedBar] === incoming.unadjustedClose[incomingBar]
}

/** The first day that two series have with different bars; undefined if there is none. */
export function firstContradiction(earlier: Series, later: Series): Day | undefined {
  return later.days.find((day, laterBar) => {
    const earlierBar = countBelow(earlier.days, day)
    return earlier.days[earlierBar] === day && !sameBar(earlier, earlierBar, later, laterBar)
  })
}

/**
 * The origins of the merged bars: runs of bars from one import each, in order. A jump starts a new origin.
 * @param earlier the origins of the stored bars
 * @param jumps the factor of each jump, by the index of the merged bar after it
 * @param stamp of the import that brings the new bars
 */
export function originsAfter(
  earlier: readonly IndexedOrigin[],
  ranges: readonly BarRange[],
  jumps: ReadonlyMap<number, number>,
  stamp: ImportStamp,
): Origin[] {
  const origins: Origin[] = []
  const jumpBars = [...jumps.keys()].sort((a, b) => a - b)
  let lastSource: Pick<Origin, 'begun'> | null = null
  // The merged bar at which the next origin begins or continues.
  let bar = 0
  for (const { index, bars } of ranges) {
    const end = bar + bars
    // A merged bar of this range is that number of bars later among the stored ones.
    const offset = (index ?? bar) - bar
    while (bar < end) {
      const storedBar = bar + offset
      const stored = index === null ? null : earlier.findLast(({ from }) => from <= storedBar)!
      const originEnd = stored === null ? end : stored.from + stored.bars - offset
      const nextJump = jumpBars.find(jumpBar => jumpBar > bar) ?? end
      const until = Math.min(end, originEnd, nextJump)
      const jump = jumps.get(bar)
      const source: ImportStamp & Pick<Origin, 'begun'> = stored ?? stamp
      if (source !== lastSource || jump !== undefined) {
        const origin: Origin = { ...importStamp(source), bars: 0 }
        if (source.begun !== undefined) origin.begun = source.begun
        if (jump !== undefined) origin.jump = jump
        origins.push(origin)
      }
      origins.at(-1)!.bars += until - bar
      lastSource = source
      bar = until
    }
  }
  return origins
}

/** Maximum number of origins per ticker: every question reads the list, and each day may add one. */
const MAX_ORIGINS = 16
/** The number of newest origins that are never joined. */
const NEWEST_ORIGINS = 4

/**
 * Limits the number of origins, runs of bars from one import: joins neighbours, shortest first. It never joins two with
 * an accepted jump of the prices between them, so more may remain.
 */
export function limitOrigins(origins: readonly Origin[]): Origin[] {
  const limited = [...origins]
  while (limited.length > MAX_ORIGINS) {
    const index = shortestPair(limited)
    if (index === null) break
    limited.splice(index, 2, joinOrigins(limited[index]!, limited[index + 1]!))
  }
  return limited
}

/** Index of the first of the two neighbours with the fewest bars, the oldest if equal; null if none may be joined. */
function shortestPair(origins: readonly Origin[]): number | null {
  let shortest: number | null = null
  let leastBars = Number.POSITIVE_INFINITY
  for (let i = 0; i + 1 < origins.length - NEWEST_ORIGINS; i++) {
    const bars = origins[i]!.bars + origins[i + 1]!.bars
    if (origins[i + 1]!.jump !== undefined || bars >= leastBars) continue
    shortest = i
    leastBars = bars
  }
  return shortest
}

/**
 * Joins two neighbouring origins into one, with the last of their imports by time, and the first as `begun`. The import
 * of older bars may be the later one, as a correction is.
 */
function joinOrigins(older: Origin, newer: Origin): Origin {
  const imports = [older.begun ?? older, older, newer.begun ?? newer, newer].map(importStamp)
  const first = imports.reduce((a, b) => (b.importedAt < a.importedAt ? b : a))
  const last = imports.reduce((a, b) => (b.importedAt < a.importedAt ? a : b))
  const joined: Origin = { ...last, bars: older.bars + newer.bars, begun: first }
  if (older.jump !== undefined) joined.jump = older.jump
  return joined
}

function importStamp({ source, format, importedAt }: ImportStamp): ImportStamp {
  return { source, format, importedAt }
}
