import { deviation, mean } from '../statistics/moments.js'
import { placesIn } from './signals.js'

/** What a position of each event earns bar by bar. */
interface Holder {
  /** Days and closes of all bars of the ticker. */
  days: Int32Array
  close: Float64Array
  /** Bars of the events, each held from its close to the close `horizon` bars later. */
  events: ArrayLike<number>
  /** What the ticker earns on any bar, left out of the excess. */
  base: number
  /** Place of each bar on the calendar, where that is known already. */
  places?: Int32Array
}

/** Mean return of all positions that are open, by day of a calendar (Jaffe 1974; Fama 1998). */
export interface CalendarTime {
  /** Open positions; 0 on days without any, whose returns are 0. */
  open: Float64Array
  /** Sum of their returns, and of what these exceed their tickers' base by. */
  sum: Float64Array
  excess: Float64Array
}

/** @param calendar union of the days of all holders */
export function calendarTime(calendar: Int32Array, holders: readonly Holder[], horizon: number): CalendarTime {
  const made = {
    open: new Float64Array(calendar.length),
    sum: new Float64Array(calendar.length),
    excess: new Float64Array(calendar.length),
  }
  // Nothing but zeros before and after each holder.
  const opened = new Int32Array(holders.reduce((most, { days }) => Math.max(most, days.length), 0))
  for (const { days, close, events, base, places = placesIn(calendar, days) } of holders) {
    openPositions(opened, events, horizon, days.length)
    let positions = 0
    for (let bar = 1; bar < days.length; bar++) {
      positions += opened[bar]!
      opened[bar] = 0
      if (positions === 0) continue
      const earned = close[bar]! / close[bar - 1]! - 1
      made.open[places[bar]!]! += positions
      made.sum[places[bar]!]! += positions * earned
      made.excess[places[bar]!]! += positions * (earned - base)
    }
  }
  return made
}

/**
 * Sharpe ratio per day of the portfolio that holds every event for the horizon, in equal parts, and cash that earns
 * nothing while there is none; null where all days are alike.
 */
export function portfolioSharpe({ open, sum }: CalendarTime): number | null {
  const returns = sum.map((total, day) => (open[day] === 0 ? 0 : total / open[day]!))
  const spread = deviation(returns)
  return spread === null || spread === 0 ? null : mean(returns)! / spread
}

/** How many positions more, or less, are held over each bar than over the one before. */
function openPositions(opened: Int32Array, events: ArrayLike<number>, horizon: number, bars: number): void {
  for (let i = 0; i < events.length; i++) {
    const from = events[i]! + 1
    if (from >= bars) continue
    opened[from]! += 1
    if (from + horizon < bars) opened[from + horizon]! -= 1
  }
}
