/**
 * A calendar date in two forms: `Day`, days since 1970-01-01 (UTC), for arithmetic and columns, and the text
 * `YYYY-MM-DD`, for people and JSON.
 */
export type Day = number

const DAY_MS = 86_400_000
const SHAPE = /^(\d{4})-(\d{2})-(\d{2})$/

/** The day of a `YYYY-MM-DD` text, or null when it is no real calendar date (2023-02-29, 2024-1-5). */
export function parseDay(text: string): Day | null {
  const match = SHAPE.exec(text)
  if (match === null) return null
  return dayOf(Number(match[1]), Number(match[2]), Number(match[3]))
}

/** The day of a year, month (1..12) and day of the month, or null when there is no such date. */
export function dayOf(year: number, month: number, date: number): Day | null {
  if (month < 1 || month > 12 || date < 1 || date > daysInMonth(year, month)) return null
  // Howard Hinnant's algorithm: exact integer arithmetic, much faster than Date for whole files. Years begin in March,
  // so that a leap day is their last. An era is 400 years, or 146,097 days; 1970-01-01 is day 719,468 from the first.
  const marchYear = month <= 2 ? year - 1 : year
  const era = Math.floor(marchYear / 400)
  const yearOfEra = marchYear - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + date - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146097 + dayOfEra - 719468
}

/** Whether a value is a day from the year 0 to 9999. */
export function isDay(value: unknown): value is Day {
  return typeof value === 'number' && Number.isInteger(value) && value >= FIRST && value <= LAST
}

const FIRST = dayOf(0, 1, 1)!
const LAST = dayOf(9999, 12, 31)!

/** The UTC day of a moment, in milliseconds since 1970. */
export function dayAt(moment: number): Day {
  return Math.floor(moment / DAY_MS)
}

/** The UTC day of this machine's clock. */
export function utcToday(): Day {
  return dayAt(Date.now())
}

/** A day as `YYYY-MM-DD`. */
export function formatDay(day: Day): string {
  let text = TEXTS.get(day)
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10)
    TEXTS.set(day, text)
  }
  return text
}

/** A day as `YYYY-MM-DD`; null for a missing day. */
export function dateOf(day: Day | null | undefined): string | null {
  return day === null || day === undefined ? null : formatDay(day)
}

/** Exclusive bounds of dates. */
export interface DateBounds {
  after?: Day | undefined
  before?: Day | undefined
}

/** `after 2018-01-01 and before 2017-01-01`; empty without either. */
export function boundsText({ after, before }: DateBounds): string {
  const parts: string[] = []
  if (after !== undefined) parts.push(`after ${formatDay(after)}`)
  if (before !== undefined) parts.push(`before ${formatDay(before)}`)
  return parts.join(' and ')
}

/** The clause that no day lies between some bounds; null if one does. */
export function noDayClause({ after, before }: DateBounds): string | null {
  if (after === undefined || before === undefined || before - after > 1) return null
  return `no day lies ${boundsText({ after, before })}`
}

/** Cache: the same few thousand dates appear for every ticker, field and window. */
const TEXTS = new Map<Day, string>()

/** 0 = Monday .. 6 = Sunday. */
export function weekdayOf(day: Day): number {
  return (((day + 3) % 7) + 7) % 7
}

/** The Monday of the ISO week in which a day lies. */
export function mondayOf(day: Day): Day {
  return day - weekdayOf(day)
}

/**
 * The first day on which the week of its last session is final. That is the session's day if it closes the week,
 * otherwise the day after the last trading day.
 */
export function weekFinalOn(lastSession: Day, tradesAtWeekends: boolean): Day {
  const closing = mondayOf(lastSession) + (tradesAtWeekends ? SUNDAY : FRIDAY)
  return lastSession >= closing ? lastSession : closing + 1
}

export function isWeekend(day: Day): boolean {
  return weekdayOf(day) > FRIDAY
}

const FRIDAY = 4
const SUNDAY = 6

/** The day that is `weekdays` weekdays (Monday to Friday) later. */
export function weekdaysAfter(day: Day, weekdays: number): Day {
  let later = day
  let remaining = weekdays
  while (remaining > 0) if (!isWeekend(++later)) remaining--
  return later
}

/** The same date some years earlier; 29 February becomes 28 February. */
export function yearsBefore(day: Day, years: number): Day {
  const date = new Date(day * DAY_MS)
  const year = date.getUTCFullYear() - years
  const month = date.getUTCMonth() + 1
  return dayOf(year, month, Math.min(date.getUTCDate(), daysInMonth(year, month)))!
}

export function yearOf(day: Day): number {
  return new Date(day * DAY_MS).getUTCFullYear()
}

/** 1..12 */
export function monthOf(day: Day): number {
  return new Date(day * DAY_MS).getUTCMonth() + 1
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

type Column = Int32Array | Float64Array

/** The number of values of an ascending column that are at most `x`. @param least and `most`: bounds of the result */
export function countUpTo(ascending: Column, x: number, least = 0, most = ascending.length): number {
  let low = least
  let high = most
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= x) low = middle + 1
    else high = middle
  }
  return low
}

/** The number of values of an ascending column below `x`; 0 if `x` is NaN. @param most a known bound of the result */
export function countBelow(ascending: Column, x: number, most = ascending.length): number {
  let low = 0
  let high = most
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! < x) low = middle + 1
    else high = middle
  }
  return low
}
