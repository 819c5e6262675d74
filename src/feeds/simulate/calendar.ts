import { type Day, dayOf, weekdayOf, yearOf } from '../../model/day.js'

const SATURDAY = 5
const SUNDAY = 6

/**
 * The last `count` sessions up to and including `end`, ascending. Sessions are Monday to Friday without New Year's Day,
 * Independence Day, Thanksgiving and Christmas (a simplified American calendar, the same in every year), or every day.
 */
export function sessionsUpTo(end: Day, count: number, sevenDays: boolean): Int32Array {
  const days = new Int32Array(count)
  const holidays = new Map<number, ReadonlySet<Day>>()
  const isSession = (day: Day): boolean => {
    if (sevenDays) return true
    if (weekdayOf(day) >= SATURDAY) return false
    const year = yearOf(day)
    if (!holidays.has(year)) holidays.set(year, holidaysOf(year))
    return !holidays.get(year)!.has(day)
  }
  for (let day = end, i = count - 1; i >= 0; day--) if (isSession(day)) days[i--] = day
  return days
}

function holidaysOf(year: number): ReadonlySet<Day> {
  return new Set([
    observed(dayOf(year, 1, 1)!),
    observed(dayOf(year, 7, 4)!),
    thanksgiving(year),
    observed(dayOf(year, 12, 25)!),
  ])
}

/**
 * A holiday on a Saturday is kept on the Friday before, one on a Sunday on the Monday after. A New Year's Day on a
 * Saturday so falls out of its year's set and closes no day at all, which is the rule of the New York exchange too.
 */
function observed(holiday: Day): Day {
  const weekday = weekdayOf(holiday)
  if (weekday === SATURDAY) return holiday - 1
  return weekday === SUNDAY ? holiday + 1 : holiday
}

/** The fourth Thursday of November. */
function thanksgiving(year: number): Day {
  const first = dayOf(year, 11, 1)!
  return first + ((10 - weekdayOf(first)) % 7) + 21
}
