import { type Day, isWeekend } from './day.js'

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
  const move = after / before - 1
  const percent = `${move > 0 ? '+' : '-'}${(Math.abs(move) * 100).toFixed(0)} %`
  return isJump(before, after) ? `close ${percent} from the bar before` : null
}

/** A word about the date after another; null where no more days than `most` lie between. */
export function gapBetween(before: Day, after: Day, most: number): string | null {
  return after - before > most ? `${after - before} days after the bar before` : null
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
