import { parseDay } from '../../model/day.js'
import type { BandEvent } from '../../model/event.js'
import { TIMEFRAMES, type Timeframe } from '../../model/timeframe.js'

/**
 * The first event that time may still change: its band is active, or a window of it may not have ended. All before it
 * are final. A window without a performance has ended for certain, and only lacks the history to be ranked in, once the
 * stays and windows of later events prove that so many bars have followed.
 * @param events oldest first, none missing between them
 * @returns their number where all are final, which is so of none only
 */
export function firstOpen(events: readonly BandEvent[], timeframe: Timeframe): number {
  let open = events.length
  // Bars that are known to have followed the event.
  let followed = 0
  for (let i = events.length - 1; i >= 0; i--) {
    const event = events[i]!
    const stayed = event[TIMEFRAMES[timeframe].duration] ?? null
    const windows = Object.entries(event.aftermath ?? {}).map(([name, outcome]) => ({
      bars: Number.parseInt(name, 10),
      ended: outcome !== null,
    }))
    const ended = windows.filter(window => window.ended).map(window => window.bars)
    followed = Math.max(stayed === null ? 0 : lasted(stayed, event, events[i + 1], timeframe) + followed, ...ended)
    if (stayed === null || windows.some(({ bars, ended }) => !ended && bars > followed)) open = i
  }
  return open
}

/** Bars of a stay at least: the specification's words allow a server to count calendar days. */
function lasted(stayed: number, event: BandEvent, next: BandEvent | undefined, timeframe: Timeframe): number {
  if (next === undefined) return 0
  const days = parseDay(next.date)! - parseDay(event.date)!
  return Math.min(stayed, days * LEAST_BARS_A_DAY[timeframe])
}

/** A little less than any ticker has in a calendar day. */
const LEAST_BARS_A_DAY: Readonly<Record<Timeframe, number>> = { daily: 2 / 3, weekly: 1 / 7 }
