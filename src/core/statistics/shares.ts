import { countOverlap, wilson } from './counts.js'
import { sum } from './moments.js'
import { ratioError } from './robust.js'

/** A share of events with its 95 % interval; nulls without events. */
export interface ShareInterval {
  share: number | null
  low: number | null
  high: number | null
  /** Effective number of independent cases, rounded. */
  independent: number
}

/**
 * Wilson interval of a share on the effective number of independent cases (`independentCases`). The share is a ratio of
 * two daily sums, of (holds - base) and of the events, with the error of Newey and West, lag `window` - 1.
 */
export class CalendarShare {
  readonly #excess: Float64Array
  readonly #events: Float64Array
  #held = 0

  constructor(days: number) {
    this.#excess = new Float64Array(days)
    this.#events = new Float64Array(days)
  }

  /**
   * Adds an event.
   * @param index its day of the calendar
   * @param holds 1 where the event counts in the share, 0 where not
   * @param base the same share after any bar
   */
  add(index: number, holds: number, base: number): void {
    this.#events[index]!++
    this.#excess[index]! += holds - base
    this.#held += holds
  }

  /**
   * The share and its interval.
   * @param window length of the events' windows in days
   * @param isCounted by day of the calendar: 1 for each day that counts, with or without an event (default: all)
   */
  interval(window: number, isCounted?: Uint8Array): ShareInterval {
    const excess = isCounted === undefined ? this.#excess : valuesOn(isCounted, this.#excess)
    const events = isCounted === undefined ? this.#events : valuesOn(isCounted, this.#events)
    return effectiveInterval(this.#held, excess, events, window)
  }
}

/** The values of the counted days. A loop: `filter` with a function takes several times as long. */
function valuesOn(isCounted: Uint8Array, values: Float64Array): Float64Array {
  const counted = new Float64Array(values.length)
  let n = 0
  for (let day = 0; day < values.length; day++) if (isCounted[day] === 1) counted[n++] = values[day]!
  return counted.subarray(0, n)
}

/**
 * Interval of a share whose events are counted day by day.
 * @param held events of each day that count in the share
 * @param events of each day
 */
export function dailyShare(held: Float64Array, events: Float64Array, window: number): ShareInterval {
  return effectiveInterval(sum(held), held, events, window)
}

/**
 * Wilson interval of a share on its effective number of independent cases.
 * @param held number of events that count in the share
 * @param excess the sum of each day's deviations from the base
 */
function effectiveInterval(held: number, excess: Float64Array, events: Float64Array, window: number): ShareInterval {
  const n = sum(events)
  if (n === 0) return { share: null, low: null, high: null, independent: 0 }
  const share = held / n
  const cases = independentCases(share, n, excess, events, window)
  return { share, ...wilson(share * cases, cases)!, independent: Math.round(cases) }
}

/**
 * Effective number of independent cases among events that are counted day by day, not rounded; 0 without events.
 * @param held of each day of the calendar: events that count in the share
 */
export function effectiveCases(held: Float64Array, events: Float64Array, window: number): number {
  const n = sum(events)
  return n === 0 ? 0 : independentCases(sum(held) / n, n, held, events, window)
}

/**
 * The effective number of independent cases among n events: share · (1 - share) / error², at most n. Where the error is
 * 0 or the result below 1, it is the number of dates with events whose windows share no day.
 */
function independentCases(
  share: number,
  n: number,
  excess: Float64Array,
  events: Float64Array,
  window: number,
): number {
  const { error } = ratioError(excess, events, window)
  const effective = error > ROUNDING ? Math.min(n, (share * (1 - share)) / error ** 2) : 0
  if (effective >= 1) return effective
  const dates = Int32Array.from(events.keys()).filter(day => events[day]! > 0)
  return countOverlap(dates, window).independent
}

/** An error below this is rounding. */
const ROUNDING = 1e-12
