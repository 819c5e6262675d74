import type { Series } from '../../model/series.js'
import { unionCalendar } from '../calendar.js'
import type { MemberBars } from '../cell/member.js'
import { type CalendarTime, calendarTime } from '../cell/portfolio.js'
import { benchmarkReturns } from './benchmark.js'
import type { Subject } from './subject.js'

/** The portfolio that holds every event for the horizon, day by day. */
export interface Held {
  portfolio: CalendarTime
  /** Return of the benchmark on each of its days, NaN where it has none; null without one. */
  benchmark: Float64Array | null
}

/** Over the days from the first bar that counts to the end of the last window. */
export function heldPositions(
  subjects: readonly Pick<Subject, 'ticker' | 'prices'>[],
  members: readonly MemberBars[],
  horizon: number,
  benchmark: Series | null,
): Held {
  const pricesOf = new Map(subjects.map(({ ticker, prices }) => [ticker, prices]))
  const counting = members.filter(({ events }) => events.length > 0)
  const spans = counting.map(({ ticker, bars }) => {
    const { days } = pricesOf.get(ticker)!.series
    return days.subarray(bars[0]!, bars.at(-1)! + horizon + 1)
  })
  const calendar = unionCalendar(spans)
  const holders = counting.map(({ ticker, bars, events }) => {
    const { days, close } = pricesOf.get(ticker)!.series
    return { days, close, events: events.map(i => bars[i]!), base: meanBarReturn(close, bars) }
  })
  const portfolio = calendarTime(calendar, holders, horizon)
  return { portfolio, benchmark: benchmark === null ? null : benchmarkReturns(benchmark, calendar) }
}

/** What one bar earns on average, from the close of a base bar to the next. */
function meanBarReturn(close: Float64Array, bars: Int32Array): number {
  let sum = 0
  let n = 0
  for (const bar of bars) {
    if (bar + 1 >= close.length) continue
    sum += close[bar + 1]! / close[bar]! - 1
    n++
  }
  return n === 0 ? 0 : sum / n
}
