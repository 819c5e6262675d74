import {
  type Day,
  dateOf,
  dayOf,
  formatDay,
  isWeekend,
  monthOf,
  parseDay,
  weekdayOf,
  yearOf,
} from '../../core/model/day.js'

/** Reads dates as people type them, for the line that works after a date that is not YYYY-MM-DD. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const NAMED_MONTH = /^(?:(\d\d?)[. -]+)?([a-z]{3})[a-z]*[. ,-]+(?:(\d\d?), *)?(\d{4})$/i
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const RELATIVE_DATE = /^(?:-?(\d{1,3})|last) ?(?:([dwmqy])(?:ays?|eeks?|onths?|uarters?|ears?)?)?(?: ago)?$/
const MONTHS_PER_UNIT = { m: 1, q: 3, y: 12 } as const

/** A typed date as YYYY-MM-DD; null for others. @param reading of an ambiguous date @param today for `yesterday` */
export function isoDate(text: string, reading: number, today: Day | null): string | null {
  const day = parseDay(text)
  if (day !== null) return formatDay(day)
  const readings = possibleDates(text)
  const date = readings[reading] ?? readings[0]
  if (date !== undefined) return date
  return today === null ? null : dateOf(relativeDay(text.toLowerCase(), today))
}

/** Whether a word looks like a date in digits, such as 01/02/2017, 2017 or 2017-2; it need not be one. */
export function isDateLike(word: string): boolean {
  return parseDay(word) !== null || /^(\d{1,2}[/.-]\d{1,2}[/.-]\d{4}|(19|20)\d\d([-/.]?\d\d?){0,2})$/.test(word)
}

/** The day of `1w`, `2 months ago`, `5` (bars), `monday` or `may`, back from the last of the data; null for others. */
function relativeDay(text: string, today: Day): Day | null {
  if (text === 'today') return today
  if (text === 'yesterday') return today - 1
  const weekday = text.length < 3 ? -1 : WEEKDAYS.findIndex(name => name.startsWith(text))
  // From 1 to 7: the same weekday as today is that of a week ago.
  const daysSince = ((weekdayOf(today) - weekday + 6) % 7) + 1
  if (weekday >= 0) return today - daysSince
  const month = MONTHS.findIndex(name => text.startsWith(name)) + 1
  if (month > 0 && /^[a-z]+$/.test(text)) {
    const isLastYear = month > monthOf(today)
    return dayOf(isLastYear ? yearOf(today) - 1 : yearOf(today), month, 1)
  }
  const [, digits, unit] = RELATIVE_DATE.exec(text) ?? []
  if (digits === undefined && unit === undefined) return null
  const count = Number(digits ?? 1)
  if (unit === undefined) return weekdaysBefore(today, count)
  if (unit === 'd' || unit === 'w') return today - count * (unit === 'w' ? 7 : 1)
  return monthsBefore(today, count * MONTHS_PER_UNIT[unit as keyof typeof MONTHS_PER_UNIT])
}

function weekdaysBefore(day: Day, weekdays: number): Day {
  let earlier = day
  for (let left = weekdays; left > 0; ) if (!isWeekend(--earlier)) left--
  return earlier
}

/** The same day some months earlier, or the last day of that month if it is shorter. */
function monthsBefore(day: Day, months: number): Day | null {
  const monthIndex = yearOf(day) * 12 + monthOf(day) - 1 - months
  const month = String((monthIndex % 12) + 1).padStart(2, '0')
  const dayOfMonth = formatDay(day).slice(8)
  return parseDay(clampToMonth(`${Math.floor(monthIndex / 12)}-${month}-${dayOfMonth}`))
}

/** The dates that a text may mean: 2017-01-02 and 2017-02-01 for 01/02/2017, one for Feb 2017; empty for others. */
function possibleDates(text: string): string[] {
  const withName = NAMED_MONTH.exec(text)
  if (withName !== null) {
    const [, dayBefore, name = '', dayAfter, year] = withName
    const month = MONTHS.indexOf(name.toLowerCase()) + 1
    return month === 0 ? [] : possibleDates(`${year}-${month}-${dayBefore ?? dayAfter ?? 1}`)
  }
  const iso = (year: string, month: string, day: string): string =>
    `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const readings: string[] = []
  const yearLast = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})$/.exec(text)
  const yearFirst = /^(\d{4})(?:[-/.]?(\d{1,2})(?:[-/.]?(\d{1,2}))?)?$/.exec(text)
  if (yearLast !== null) {
    const [, first = '', second = '', year = ''] = yearLast
    if (text.includes('/')) readings.push(iso(year, first, second))
    readings.push(iso(year, second, first))
  } else if (yearFirst !== null) {
    const [, year = '', month = '1', day = '1'] = yearFirst
    readings.push(iso(year, month, day))
  }
  return [...new Set(readings.map(clampToMonth))].filter(date => parseDay(date) !== null)
}

/** A date with its day moved to the last of its month if it is later: 2016-02-30 → 2016-02-29. */
function clampToMonth(text: string): string {
  const [, yearAndMonth, day] = /^(\d{4}-\d\d)-(29|30|31)$/.exec(text) ?? []
  if (day === undefined) return text
  const lastDays = ['31', '30', '29', '28'].filter(lastDay => lastDay <= day)
  return lastDays.map(lastDay => `${yearAndMonth}-${lastDay}`).find(date => parseDay(date) !== null) ?? text
}
