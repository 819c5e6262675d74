import { daysAt, indicesIn, rangeOf, unionCalendar } from '../../core/model/calendar.js'
import { countBelow } from '../../core/model/day.js'
import type { Strategy } from '../../core/params/strategy.js'
import type { Member } from './members.js'
import { entryBar } from './trade.js'

/** A part of the calendar: from the first index up to, but not including, the last. */
export interface CalendarPart {
  from: number
  to: number
  /** Signals only below this index (default `to`). */
  signalsTo?: number
}

/** The signals of a part, numbered in order of members; each has a member, and an index among its signals. */
export interface Candidates {
  memberOf: Int32Array
  signalOf: Int32Array
  /**
   * The candidates in order of their fill days, then of members. Those that fill on calendar index i begin at
   * `fillDayStarts[i]` and end before `fillDayStarts[i + 1]`.
   */
  byFillDay: Int32Array
  fillDayStarts: Int32Array
  /** The greatest number of fills on one day. */
  maxFillsADay: number
  /** The last index with a fill; -1 without. */
  lastFillDay: number
  /** Signals without a bar in the part for their fill. */
  unfilled: readonly number[]
  /** For each member, index after its last signal in the part. */
  signalEnds: Int32Array
  /** For each member, the calendar index of each bar; -1 before the calendar begins. */
  calendarIndices: Int32Array[]
}

/** The days of all members from the first possible signal on, and later delisting days; empty without such a signal. */
export function portfolioCalendar(members: readonly Member[]): Int32Array {
  const { first } = rangeOf(members.map(({ bars, eligible }) => daysAt(bars.days, eligible)))
  if (first === null) return new Int32Array()
  const calendar = unionCalendar(members.map(({ bars }) => bars.days))
  const last = calendar.at(-1)!
  const delistingDays = members.map(({ bars }) => bars.delisting?.day ?? last)
  const laterDays = [...new Set(delistingDays.filter(day => day > last))].sort((a, b) => a - b)
  return Int32Array.from([...calendar.subarray(countBelow(calendar, first)), ...laterDays])
}

/** The signals of a part of the calendar, as candidates for a run. A signal whose fill has no bar yet is `unfilled`. */
export function candidatesOf(
  members: readonly Member[],
  { fill }: Pick<Strategy, 'fill'>,
  calendar: Int32Array,
  { from, to, signalsTo = to }: CalendarPart,
): Candidates {
  const calendarIndices = members.map(({ bars }) => indicesIn(calendar, bars.days))
  const signalEnds = new Int32Array(members.length)
  const memberOf: number[] = []
  const signalOf: number[] = []
  const fillDays: number[] = []
  members.forEach(({ signals }, memberIndex) => {
    const indexOfBar = calendarIndices[memberIndex]!
    signals.bars.forEach((bar, signalIndex) => {
      if (indexOfBar[bar]! < from || indexOfBar[bar]! >= signalsTo) return
      signalEnds[memberIndex] = signalIndex + 1
      memberOf.push(memberIndex)
      signalOf.push(signalIndex)
      // A fill on a bar that does not exist yet counts as one after the part.
      fillDays.push(indexOfBar[entryBar(fill, bar)] ?? to)
    })
  })
  const unfilled = [...fillDays.keys()].filter(candidate => fillDays[candidate]! >= to)
  const { byFillDay, fillDayStarts } = groupByFillDay(fillDays, to, calendar.length)
  let maxFillsADay = 0
  let lastFillDay = -1
  for (let day = 0; day < calendar.length; day++) {
    const fills = fillDayStarts[day + 1]! - fillDayStarts[day]!
    maxFillsADay = Math.max(maxFillsADay, fills)
    if (fills > 0) lastFillDay = day
  }
  return {
    memberOf: Int32Array.from(memberOf),
    signalOf: Int32Array.from(signalOf),
    byFillDay,
    fillDayStarts,
    maxFillsADay,
    lastFillDay,
    unfilled,
    signalEnds,
    calendarIndices,
  }
}

/**
 * Groups candidates by the day of their fill, by a counting sort that keeps their order. `byFillDay` has the indexes of
 * the candidates, day after day; `fillDayStarts` has where each day starts among them.
 * @param fillDays for each candidate, the calendar index of its fill
 * @param endDay candidates that fill on this calendar index or later are left out
 * @param days number of days of the calendar
 */
function groupByFillDay(
  fillDays: readonly number[],
  endDay: number,
  days: number,
): Pick<Candidates, 'byFillDay' | 'fillDayStarts'> {
  const fillDayStarts = new Int32Array(days + 1)
  // First the number of candidates of the day before, then the sum of all days before.
  for (const day of fillDays) if (day < endDay) fillDayStarts[day + 1]!++
  for (let day = 0; day < days; day++) fillDayStarts[day + 1]! += fillDayStarts[day]!
  const byFillDay = new Int32Array(fillDayStarts.at(-1)!)
  const next = fillDayStarts.slice()
  for (const [candidate, day] of fillDays.entries()) if (day < endDay) byFillDay[next[day]!++] = candidate
  return { byFillDay, fillDayStarts }
}
