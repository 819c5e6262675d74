/**
 * How far the windows of events share bars. A window covers the `window` bars after its event.
 * @param bars places of one ticker's events, ascending
 */
export interface Overlap {
  /** Events whose window shares a bar with another event's. */
  overlapping: number
  /** Events left when each must begin at or after the end of the window before: the first, then the next that can. */
  independent: number
}

export function overlap(bars: readonly number[], window: number): Overlap {
  let overlapping = 0
  let independent = 0
  let free = Number.NEGATIVE_INFINITY
  bars.forEach((bar, i) => {
    const before = i > 0 && bar - bars[i - 1]! < window
    const after = i + 1 < bars.length && bars[i + 1]! - bar < window
    if (before || after) overlapping++
    if (bar < free) return
    independent++
    free = bar + window
  })
  return { overlapping, independent }
}
