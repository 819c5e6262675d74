import { type Day, isWeekend } from './day.js'
import type { Series } from './series.js'

/** From one daily bar to the next: what is usual, and what is worth a word wherever two bars come to stand side by side. */

/** The longest closure that holidays explain. */
export const USUAL_CLOSURE = 5

/** A close this far from the one before is a split, a slip or a day to remember. */
const JUMP = 0.3

export function isJump(before: number, after: number): boolean {
  return Math.abs(after / before - 1) > JUMP
}

/** A word about the close after another; null where it is near enough. */
export function jumpBetween(before: number, after: number): string | null {
  if (!isJump(before, after)) return null
  const move = after / before - 1
  return `close ${move > 0 ? '+' : '-'}${(Math.abs(move) * 100).toFixed(0)} % from the bar before`
}

/** A word about the date after another; null where no more days than `most` lie between. */
export function gapBetween(before: Day, after: Day, most: number): string | null {
  return after - before > most ? `${after - before} days after the bar before` : null
}

/** What stays odd about a ticker's bars. */
export interface BarMarks {
  /** Two bars in a row, between which lie more days than holidays explain. */
  gaps: readonly (readonly [after: Day, before: Day])[]
  /** Days of the bars that open or close outside their high and low. */
  outside: readonly Day[]
}

/** Kept with the bars, so a store has to be brought up to date where a rule changes. */
export function marksOf(series: Series): BarMarks {
  const { days } = series
  const gaps: [Day, Day][] = []
  const outside: Day[] = []
  for (let t = 0; t < days.length; t++) {
    if (t > 0 && days[t]! - days[t - 1]! > USUAL_CLOSURE) gaps.push([days[t - 1]!, days[t]!])
    if (isOutside(series, t)) outside.push(days[t]!)
  }
  return { gaps, outside }
}

/** Beyond this share of the price it is no rounding. */
const ROUNDING = 0.001

function isOutside({ open, high, low, close }: Series, t: number): boolean {
  const most = Math.max(open[t]!, close[t]!)
  const least = Math.min(open[t]!, close[t]!)
  return most > high[t]! * (1 + ROUNDING) || least < low[t]! * (1 - ROUNDING)
}

/** The middle number of days from bar to bar; 1 when there are too few to tell. */
export function middleSpacing(days: Int32Array): number {
  if (days.length < 11) return 1
  // Nearly all are small: counted, which costs far less than sorting them.
  const counts = new Int32Array(SPACINGS)
  let left = (days.length - 1) >> 1
  for (let i = 1; i < days.length; i++) counts[Math.min(days[i]! - days[i - 1]!, SPACINGS - 1)]!++
  for (let spacing = 0; spacing < SPACINGS - 1; spacing++) {
    left -= counts[spacing]!
    if (left < 0) return spacing
  }
  const spacings = days.subarray(1).map((day, i) => day - days[i]!)
  return spacings.sort()[spacings.length >> 1]!
}

const SPACINGS = 64

/** Most bars of daily ones are at most this many days apart. */
export const DAILY = 4

/** From how many days on bars are missing; a ticker that trades at weekends knows no holiday. */
export function usualGap(days: Int32Array, spacing = middleSpacing(days)): number {
  if (spacing > DAILY) return Number.POSITIVE_INFINITY
  let weekends = 0
  for (const day of days) if (isWeekend(day)) weekends++
  return weekends > days.length / 7 ? 1 : USUAL_CLOSURE
}
