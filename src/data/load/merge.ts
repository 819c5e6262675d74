import { countBelow, type Day } from '../../core/model/day.js'
import { BAR_FIGURES, emptySeries, type Series } from '../../core/model/series.js'
import type { ImportStamp, IndexedOrigin, Origin } from '../store/store.js'

/** Consecutive bars that are all stored already, or all new. */
export interface BarRange {
  /** Index of the first among the stored bars; -1 for new bars. */
  index: number
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
  /** All of the series, in their order. */
  ranges: BarRange[]
}

/** Merges new daily bars into stored ones; on a common date the new bar wins. */
export function mergeSeries(present: Series, incoming: Series): Merged {
  const presentCount = present.days.length
  const incomingCount = incoming.days.length
  const common = incoming.days.reduce((sum, day) => sum + Number(hasDay(present.days, day)), 0)
  const series = emptySeries('daily', presentCount + incomingCount - common)
  series.known = series.days
  // If only one series has unadjusted closes, some bars lack them; an adjusted close cannot replace them.
  const unadjusted = present.unadjustedClose || incoming.unadjustedClose ? new Float64Array(series.days.length) : null
  const counts = { added: 0, replaced: 0, unchanged: 0 }
  const ranges: BarRange[] = []
  let t = 0
  let i = 0
  let j = 0
  while (i < presentCount || j < incomingCount) {
    // Stored bars before the next new bar stay.
    if (j === incomingCount || present.days[i]! < incoming.days[j]!) {
      const until = j === incomingCount ? presentCount : countBelow(present.days, incoming.days[j]!)
      copyBars(present, i, until, series, t)
      unadjusted?.fill(Number.NaN, t, t + until - i)
      if (present.unadjustedClose) unadjusted?.set(present.unadjustedClose.subarray(i, until), t)
      appendRange(ranges, i, until - i)
      t += until - i
      i = until
      continue
    }
    const isCommon = present.days[i] === incoming.days[j]
    const same = isCommon && sameBar(present, i, incoming, j)
    if (same) copyBars(present, i, i + 1, series, t)
    else copyBars(incoming, j, j + 1, series, t)
    if (unadjusted !== null) {
      // The unadjusted close of a day never changes, unlike the adjusted one.
      const close = unadjustedCloseAt(incoming, j)
      unadjusted[t] = Number.isNaN(close) && isCommon ? unadjustedCloseAt(present, i) : close
    }
    counts[!isCommon ? 'added' : same ? 'unchanged' : 'replaced']++
    appendRange(ranges, same ? i : -1, 1)
    if (isCommon) i++
    j++
    t++
  }
  if (unadjusted?.some(close => !Number.isNaN(close))) series.unadjustedClose = unadjusted
  return { series, ...counts, ranges }
}

function hasDay(days: Int32Array, day: Day): boolean {
  return days[countBelow(days, day)] === day
}

function copyBars(from: Series, first: number, until: number, to: Series, at: number): void {
  if (until - first === 1) {
    to.days[at] = from.days[first]!
    for (const column of BAR_FIGURES) to[column][at] = from[column][first]!
    return
  }
  to.days.set(from.days.subarray(first, until), at)
  for (const column of BAR_FIGURES) to[column].set(from[column].subarray(first, until), at)
}

/** Adds bars to ranges: extends the last range if they continue it. */
function appendRange(ranges: BarRange[], index: number, bars: number): void {
  const last = ranges.at(-1)
  const goesOn =
    last !== undefined && (index < 0 ? last.index < 0 : last.index >= 0 && last.index + last.bars === index)
  if (goesOn) last.bars += bars
  else ranges.push({ index, bars })
}

/** Whether two bars have the same prices and volume; unknown volumes are equal. */
function sameBar(a: Series, i: number, b: Series, j: number): boolean {
  for (const column of BAR_FIGURES) if (!Object.is(a[column][i]!, b[column][j]!)) return false
  // A file with only adjusted closes says nothing about unadjusted ones.
  return b.unadjustedClose === undefined || unadjustedCloseAt(a, i) === b.unadjustedClose[j]
}

/** The close before adjustment; NaN if the series does not have it. */
function unadjustedCloseAt({ unadjustedClose }: Series, t: number): number {
  return unadjustedClose?.[t] ?? Number.NaN
}

/** The first day on which two series have different bars; undefined when they agree. */
export function firstContradiction(a: Series, b: Series): Day | undefined {
  return b.days.find((day, j) => hasDay(a.days, day) && !sameBar(a, countBelow(a.days, day), b, j))
}

/**
 * The origins of the merged bars; a jump starts a range of its own.
 * @param earlier the origins of the stored bars
 * @param jumps by the bar that they lead to
 */
export function originsAfter(
  earlier: readonly IndexedOrigin[],
  ranges: readonly BarRange[],
  jumps: ReadonlyMap<number, number>,
  own: ImportStamp,
): Origin[] {
  const origins: Origin[] = []
  const borders = [...jumps.keys()].sort((a, b) => a - b)
  let last: Pick<Origin, 'begun'> | null = null
  let t = 0
  for (const { index, bars } of ranges) {
    for (let done = 0; done < bars; ) {
      const before = index < 0 ? null : earlier.findLast(({ from }) => from <= index + done)!
      const most = before === null ? bars : before.from + before.bars - index
      const border = borders.find(border => border > t) ?? Number.POSITIVE_INFINITY
      const count = Math.min(bars, most, done + border - t) - done
      const jump = jumps.get(t)
      const of: ImportStamp & Pick<Origin, 'begun'> = before ?? own
      if (of !== last || jump !== undefined) {
        const begun = of.begun && { begun: of.begun }
        origins.push({ ...stampOf(of), bars: 0, ...begun, ...(jump === undefined ? {} : { jump }) })
      }
      origins.at(-1)!.bars += count
      last = of
      done += count
      t += count
    }
  }
  return origins
}

/** Maximum number of ranges per ticker: every question reads the list, and each day may add one. */
const MAX_ORIGINS = 16

/** Number of newest ranges that are never merged. */
const UNMERGED_NEWEST = 4

/** Limits the number of origins: too many are merged with their neighbours, the shortest first. */
export function limitOrigins(origins: readonly Origin[]): Origin[] {
  const merged = [...origins]
  while (merged.length > MAX_ORIGINS) {
    const at = shortestPair(merged)
    if (at === null) break
    merged.splice(at, 2, joinOrigins(merged[at]!, merged[at + 1]!))
  }
  return merged
}

/** Index of the first of two neighbours, the oldest of equal ones; null if jumps separate all of them. */
function shortestPair(origins: readonly Origin[]): number | null {
  let found: number | null = null
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i + 1 < origins.length - UNMERGED_NEWEST; i++) {
    const bars = origins[i]!.bars + origins[i + 1]!.bars
    if (origins[i + 1]!.jump !== undefined || bars >= least) continue
    found = i
    least = bars
  }
  return found
}

/** The first and the last import by their times: that of older bars may be the later one, as a correction is. */
function joinOrigins(one: Origin, next: Origin): Origin {
  const bringers = [one, next].flatMap(origin => [origin.begun ?? origin, origin]).map(stampOf)
  const first = bringers.reduce((a, b) => (b.importedAt < a.importedAt ? b : a))
  const last = bringers.reduce((a, b) => (b.importedAt < a.importedAt ? a : b))
  const jump = one.jump === undefined ? {} : { jump: one.jump }
  return { ...last, bars: one.bars + next.bars, begun: first, ...jump }
}

function stampOf({ source, format, importedAt }: ImportStamp): ImportStamp {
  return { source, format, importedAt }
}
