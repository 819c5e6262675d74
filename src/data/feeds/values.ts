import { didYouMean, quoted, suggest, wrong } from '../../core/errors.js'
import { type Day, dayOf, parseDay, weekdayOf } from '../../core/model/day.js'

/** The date formats; `/` means any of `/ - .` where the year comes last. */
export const DATE_FORMATS = [
  'YYYY-MM-DD',
  'YYYYMMDD',
  'YYYY/MM/DD',
  'MM/DD/YYYY',
  'DD/MM/YYYY',
  'DD-Mon-YYYY',
  'Mon DD, YYYY',
  'epoch seconds',
  'epoch milliseconds',
  'epoch microseconds',
  'Excel serial',
  'Excel serial 1904',
] as const

export type DateFormat = (typeof DATE_FORMATS)[number]

const TIME_OF_DAY =
  '(?:[T ](?<hour>\\d{1,2}):(?<minute>\\d{2})(?::(?<second>\\d{2})(?:\\.\\d+)?)?(?: ?(?<half>[AP]M))?(?: ?(?<zone>Z|(?:UTC|GMT)?[+-]\\d{2}(?::?\\d{2})?|UTC|GMT))?)?'
const dateShape = (date: string): RegExp => new RegExp(`^${date}${TIME_OF_DAY}$`)
const SERIAL_SHAPE = /^\d{1,6}(?:\.\d+)?$/
const EPOCH_SHAPE = /^-?\d{1,17}$/
const DATE_SHAPES: Record<DateFormat, RegExp> = {
  'YYYY-MM-DD': dateShape('(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})'),
  YYYYMMDD: dateShape('(?<year>\\d{4})(?<month>\\d{2})(?<day>\\d{2})'),
  'YYYY/MM/DD': dateShape('(?<year>\\d{4})[/.年](?<month>\\d{1,2})[/.月](?<day>\\d{1,2})日?'),
  'MM/DD/YYYY': dateShape('(?<month>\\d{1,2})([/.-])(?<day>\\d{1,2})\\2(?<year>\\d{4}|\\d{2})'),
  'DD/MM/YYYY': dateShape('(?<day>\\d{1,2})([/.-])(?<month>\\d{1,2})\\2(?<year>\\d{4}|\\d{2})'),
  'DD-Mon-YYYY': /^(?<day>\d{1,2})[- ](?<month>[A-Za-z]{3,9})[- ](?<year>\d{4}|\d{2})$/,
  'Mon DD, YYYY': /^(?<month>[A-Za-z]{3,9})\.? (?<day>\d{1,2}),? (?<year>\d{4})$/,
  'epoch seconds': EPOCH_SHAPE,
  'epoch milliseconds': EPOCH_SHAPE,
  'epoch microseconds': EPOCH_SHAPE,
  'Excel serial': SERIAL_SHAPE,
  'Excel serial 1904': SERIAL_SHAPE,
}
const HYPHEN = 45
const YEAR_LAST_SHAPE = DATE_SHAPES['DD/MM/YYYY']
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/**
 * Reads dates of one format. Dates are taken as written, regardless of their time zone; epochs are UTC. With the
 * calendar of an exchange, a date with a time of day becomes the day there. Midnight UTC is no time of day: vendors
 * write dates that way.
 */
export class DateReader {
  readonly format: DateFormat
  /** The time of day of the date read last, 0 where there is none. */
  seconds = 0
  /** Whether that time is UTC according to the text, and the date a UTC date. */
  inUtc = false
  readonly #calendar: Calendar | null

  constructor(format: DateFormat, calendar: Calendar | null = null) {
    this.format = format
    this.#calendar = calendar
  }

  /** The day of the date in bytes[start..end), NaN when it is none. */
  readBytes(bytes: Buffer, start: number, end: number): Day {
    const hasHyphens = bytes[start + 4] === HYPHEN && bytes[start + 7] === HYPHEN
    if (this.format !== 'YYYY-MM-DD' || end - start !== 10 || !hasHyphens)
      return this.read(bytes.toString('utf8', start, end)) ?? Number.NaN
    this.seconds = 0
    this.inUtc = false
    const year = readDigits(bytes, start, 4)
    return dayOf(year, readDigits(bytes, start + 5, 2), readDigits(bytes, start + 8, 2)) ?? Number.NaN
  }

  /** The day of a text; null for another format or an impossible date. Sets `seconds` and `inUtc` by its time. */
  read(text: string): Day | null {
    const match = DATE_SHAPES[this.format].exec(text.trim())
    if (match === null) return null
    const { groups } = match
    if (groups === undefined) {
      // Only numbers have no groups for year, month and day.
      const value = Number(match[0])
      return this.format.startsWith('Excel') ? this.#daySinceSerial(value) : this.#dayOfEpoch(value)
    }
    this.seconds = groups.hour === undefined ? 0 : secondsSinceMidnight(groups as unknown as ClockTexts)
    if (Number.isNaN(this.seconds)) return null
    const day = dayOf(fullYear(groups.year!), monthNumber(groups.month!), Number(groups.day))
    return day === null ? null : this.#dayAtExchange(day, this.seconds, secondsEastOfUtc(groups.zone))
  }

  /** The day of a serial number of Excel, whose fraction is the time of day. */
  #daySinceSerial(value: number): Day {
    const day = Math.floor(value)
    this.seconds = Math.round((value - day) * 86_400)
    this.inUtc = false
    return day - (this.format === 'Excel serial' ? SERIAL_1970 : SERIAL_1970 - DAYS_1900_TO_1904)
  }

  #dayOfEpoch(value: number): Day | null {
    const seconds = Math.floor(value / unitsPerSecond(value, this.format))
    if (Math.abs(seconds) > 253_402_300_799) return null
    this.seconds = ((seconds % 86_400) + 86_400) % 86_400
    return this.#dayAtExchange(Math.floor(seconds / 86_400), this.seconds, 0)
  }

  /**
   * The day on the exchange's calendar of a date and time of day; `day` itself without a calendar or a time of day.
   * @param offset the time zone of both, in seconds east of UTC
   */
  #dayAtExchange(day: Day, seconds: number, offset: number): Day | null {
    const isTimed = (seconds - offset) % 86_400 !== 0
    this.inUtc = isTimed && offset === 0 && this.#calendar === null
    if (!isTimed || this.#calendar === null) return day
    return this.#calendar.dayAt((day * 86_400 + seconds - offset) * 1000)
  }
}

/** Excel's number of 1970-01-01, and the offset of the calendar on old Macs in days. */
const SERIAL_1970 = 25_569
const DAYS_1900_TO_1904 = 1462
const SERIAL_2100 = 73_051

/** Whether serial numbers may be those of an old Mac: counted from 1900 some bars are on weekends, from 1904 none. */
export function maySerialsCountFrom1904(texts: readonly string[]): boolean {
  const anyOnWeekend = (from: 'Excel serial' | 'Excel serial 1904') => {
    const dates = new DateReader(from)
    return texts.some(text => weekdayOf(dates.read(text) ?? 0) > FRIDAY)
  }
  return anyOnWeekend('Excel serial') && !anyOnWeekend('Excel serial 1904')
}

const FRIDAY = 4

/** The seconds by which a time zone such as `UTC+05:30` is ahead of UTC, negative behind it; 0 without an offset. */
function secondsEastOfUtc(zone: string | undefined): number {
  const [, sign, hours = '0', minutes = '0'] = /([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? '') ?? []
  const seconds = (Number(hours) * 60 + Number(minutes)) * 60
  return sign === '-' ? -seconds : seconds
}

/**
 * The unit of a time since 1970, in parts of a second. From 1973 on its size shows it, even if a file changes its unit.
 */
function unitsPerSecond(epoch: number, format: DateFormat): number {
  const size = Math.abs(epoch)
  if (size >= 1e14) return 1e6
  if (size >= 1e11) return 1000
  if (format === 'epoch microseconds') return 1e6
  return format === 'epoch milliseconds' ? 1000 : 1
}

/** Whether a text is a time since 1970 in seconds or parts of them, after 1973. */
export function isEpoch(text: string): boolean {
  return /^(\d{9,10}|\d{12,13}|\d{15,16})$/.test(text)
}

type DateGuess = { format: DateFormat } | { unknown: true } | { ambiguous: true }

/**
 * The date format that fits most texts. Parts above 12 decide between month first and day first. The larger number of
 * proofs wins, so that a single typo does not change the whole file. `unknown`: no format fits, or the year may come
 * first with two digits (`24/05/03`). `ambiguous`: month and day may be either way round.
 */
export function guessDateFormat(texts: readonly string[]): DateGuess {
  let best: DateFormat | null = null
  let mostTexts = 0
  for (const format of DATE_FORMATS) {
    const count = texts.filter(text => isCandidate(format, text.trim())).length
    if (count > mostTexts) [best, mostTexts] = [format, count]
  }
  if (best === null) return { unknown: true }
  if (!best.endsWith('/YYYY')) return { format: best }
  if (!haveYearLast(texts)) return { unknown: true }
  // Dates with points have the day first wherever they are in use.
  if (texts.every(text => !YEAR_LAST_SHAPE.test(text.trim()) || text.includes('.'))) return { format: 'DD/MM/YYYY' }
  const balance = texts.reduce((sum, text) => sum + dayFirstProof(text), 0)
  if (balance === 0) return { ambiguous: true }
  return { format: balance > 0 ? 'DD/MM/YYYY' : 'MM/DD/YYYY' }
}

/** Whether the last of three numbers is a year of two digits: the one that changes least. True without such dates. */
function haveYearLast(texts: readonly string[]): boolean {
  const matches = texts
    .map(text => /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{2})(?!\d)/.exec(text.trim()))
    .filter(match => match !== null)
  const distinctNumbersAt = (position: number) => new Set(matches.map(match => match[position])).size
  const distinctYears = distinctNumbersAt(3)
  return matches.length === 0 || distinctYears < Math.max(distinctNumbersAt(1), distinctNumbersAt(2))
}

/** The evidence of a date with the year last: 1 for day first, -1 for month first, 0 for none. */
export function dayFirstProof(text: string): -1 | 0 | 1 {
  const match = YEAR_LAST_SHAPE.exec(text.trim())
  if (match === null) return 0
  const isDayProof = Number(match.groups!.day) > 12
  const isMonthProof = Number(match.groups!.month) > 12
  if (isDayProof === isMonthProof) return 0
  return isDayProof ? 1 : -1
}

/** Whether a text may be a date of a format. Numbers count from 1973 as epochs, from 1970 to 2099 as Excel's days. */
function isCandidate(format: DateFormat, text: string): boolean {
  if (format === 'epoch seconds') return /^\d{9,10}$/.test(text)
  if (format === 'epoch milliseconds') return /^\d{12,13}$/.test(text)
  if (format === 'epoch microseconds') return /^\d{15,16}$/.test(text)
  if (format === 'Excel serial')
    return /^\d{5}(\.\d+)?$/.test(text) && Number(text) >= SERIAL_1970 && Number(text) < SERIAL_2100
  if (format === 'Excel serial 1904') return false
  return DATE_SHAPES[format].test(text)
}

interface ClockTexts {
  hour: string
  minute: string
  second?: string
  half?: string
}

/** Seconds since midnight, NaN when there is no such time. */
function secondsSinceMidnight({ hour, minute, second = '0', half }: ClockTexts): number {
  if (Number(hour) > (half === undefined ? 23 : 12) || Number(minute) > 59 || Number(second) > 60) return Number.NaN
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (half === 'PM' ? 12 : 0)
  return (hours * 60 + Number(minute)) * 60 + Number(second)
}

/** The number of a month, 1 to 12, from digits or a name; 0 for another word. */
function monthNumber(text: string): number {
  return /^\d/.test(text) ? Number(text) : MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1
}

/** The year that two or four digits mean; two are a year from 1970 to 2069. */
function fullYear(text: string): number {
  const year = Number(text)
  return text.length === 4 ? year : year + (year < 70 ? 2000 : 1900)
}

/** The number of `count` digits; NaN for other characters. */
function readDigits(bytes: Buffer, start: number, count: number): number {
  let value = 0
  for (let i = start; i < start + count; i++) {
    const digit = bytes[i]! - 48
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

export type Decimal = '.' | ','

/** The byte of a point less that of the digit 0. */
const POINT_MINUS_ZERO = 46 - 48
const POWERS_OF_TEN = Float64Array.from({ length: 23 }, (_, power) => 10 ** power)
const NUMBER_SHAPES: Record<Decimal, RegExp> = {
  // In India groups of two follow the first group of three.
  '.': /^[-+]?\$?(?:\d+|\d{1,3}(?:[,'’ \u00a0\u202f]\d{3})+|\d{1,2}(?:,\d{2})+,\d{3})?(?:\.\d*)?(?:[eE][+-]?\d+)?$/,
  ',': /^[-+]?\$?(?:\d+|\d{1,3}(?:[.'’ \u00a0\u202f]\d{3})+)?(?:,\d*)?(?:[eE][+-]?\d+)?$/,
}
const NULL_WORDS = new Set(['', 'na', 'n/a', 'null', 'none', 'nan'])

/**
 * The number spelled by bytes[start..end), NaN when there is none. The fast way covers plain numbers; `$`, exponents
 * and long fractions go through `readNumber`.
 */
export function readNumberBytes(bytes: Buffer, start: number, end: number, decimal: Decimal): number {
  // Up to 15 digits are an exact integer, and so is the power of ten below them: one division rounds correctly.
  if (end - start > 16 || decimal !== '.') return readNumber(bytes.toString('utf8', start, end), decimal)
  let digitsAsInteger = 0
  let digitCount = 0
  let pointIndex = -1
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 48
    if (digit >= 0 && digit <= 9) {
      digitsAsInteger = digitsAsInteger * 10 + digit
      digitCount++
    } else if (digit === POINT_MINUS_ZERO && pointIndex < 0) pointIndex = i
    else return readNumber(bytes.toString('utf8', start, end), decimal)
  }
  if (digitCount === 0 || digitCount > 15) return readNumber(bytes.toString('utf8', start, end), decimal)
  return pointIndex < 0 ? digitsAsInteger : digitsAsInteger / POWERS_OF_TEN[end - 1 - pointIndex]!
}

/**
 * The number that a text spells: a decimal or with an exponent, thousands in full groups, a sign and a `$` before it.
 * NaN when it spells none, an infinity when it is too large for a double.
 */
export function readNumber(text: string, decimal: Decimal = '.'): number {
  const trimmed = text.trim()
  if (!NUMBER_SHAPES[decimal].test(trimmed) || !/\d/.test(trimmed)) return Number.NaN
  const plain = decimal === '.' ? trimmed.replaceAll(',', '') : trimmed.replaceAll('.', '').replace(',', '.')
  return Number(plain.replace(/[$'’\s]/g, ''))
}

const VOLUME_UNITS: Record<string, number> = { K: 1e3, M: 1e6, B: 1e9, T: 1e12 }

/** Reads a number of shares, which may be in thousands (`40.5K`), millions, billions or trillions. */
export function readVolume(text: string, decimal: Decimal = '.'): number {
  const trimmed = text.trim()
  const unit = VOLUME_UNITS[trimmed.slice(-1).toUpperCase()]
  if (unit === undefined) return readNumber(trimmed, decimal)
  // In decimals: 58.41 times a million is not exactly 58410000.
  return Math.round(readNumber(trimmed.slice(0, -1), decimal) * unit * 1000) / 1000
}

/** Whether a text is empty, or a word for a missing value such as `n/a`. */
export function isNullWord(text: string): boolean {
  return NULL_WORDS.has(text.trim().toLowerCase())
}

/**
 * The decimal separator of a file, judged by its numbers; null when they are ambiguous, such as `1,234`. `100.000` is
 * ambiguous with semicolons, which are used where the comma is the decimal separator. Commas in volumes count only as
 * proof: shares have no thousandths.
 */
export function guessDecimal(prices: readonly string[], volumes: readonly string[], delimiter = ','): Decimal | null {
  const proofs = [...prices, ...volumes]
    .filter(text => /^[-+$\d.,\s]+$/.test(text))
    .map(text => decimalProvedBy(text.trim()))
  if (proofs.includes('.')) return '.'
  if (proofs.includes(',')) return ','
  const mayBeThousands = (sign: string) => (text: string) =>
    new RegExp(`^\\+?\\$?\\d{1,3}${sign}\\d{3}$`).test(text.trim())
  if (prices.some(mayBeThousands(','))) return null
  return delimiter === ';' && [...prices, ...volumes].some(mayBeThousands('\\.')) ? null : '.'
}

/** The decimal separator that one number proves; null where its separator may also be that of thousands. */
function decimalProvedBy(text: string): Decimal | null {
  const points = text.split('.').length - 1
  const commas = text.split(',').length - 1
  if (points > 0 && commas > 0) return text.lastIndexOf('.') > text.lastIndexOf(',') ? '.' : ','
  // A repeated sign separates thousands.
  if (points > 1) return ','
  if (commas > 1) return '.'
  // Three digits after a separator may be thousands, except after 0.
  const doubtful = /^[-+$]{0,2}(?!0)\d{1,3}[.,]\d{3}$/.test(text)
  if (points === 1 && !doubtful) return '.'
  if (commas === 1 && !doubtful) return ','
  return null
}

/** Why a text is no date of a column. */
export function dateReason(name: string, text: string, format: string): string {
  if (isNullWord(text)) return `${name} is ${emptyWord(text)}`
  return `${name} ${quoted(text)} is no calendar date as ${format}, which the dates of this file are`
}

/** The description of an empty field: its word for "empty", if it has one. */
export function emptyWord(text: string): string {
  return text === '' ? 'empty' : quoted(text)
}

/** The calendar of a time zone: says which day it is there at an instant. */
export class Calendar {
  readonly zone: string
  readonly #format: Intl.DateTimeFormat

  /** Throws RangeError for a name that is no time zone's. */
  constructor(zone: string) {
    // This locale writes YYYY-MM-DD.
    const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const
    this.#format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, ...parts })
    this.zone = this.#format.resolvedOptions().timeZone
  }

  /** The date at an instant in milliseconds since 1970. */
  dateAt(milliseconds: number): string {
    return this.#format.format(milliseconds)
  }

  dayAt(milliseconds: number): Day | null {
    return parseDay(this.dateAt(milliseconds))
  }
}

/** The calendar of the zone that a document names; that of UTC for an invalid name. */
export function calendarOf(zone: string): Calendar {
  try {
    return new Calendar(zone)
  } catch {
    return new Calendar('UTC')
  }
}

/** The calendar of the zone that a user names; throws InvalidParameter that names the nearest zones. */
export function calendarOption(zone: string): Calendar {
  try {
    // Some versions of Node take offsets, which know no summer time. An unknown name is refused below.
    if (/^[a-z]/i.test(zone)) return new Calendar(zone)
  } catch {}
  const names = Intl.supportedValuesOf('timeZone')
  const cityOf = (name: string) => name.slice(name.lastIndexOf('/') + 1)
  let suggestions = suggest(zone, names)
  if (suggestions.length === 0) {
    const cities = suggest(cityOf(zone).replaceAll(' ', '_'), names.map(cityOf))
    suggestions = names.filter(name => cities.includes(cityOf(name))).slice(0, 3)
  }
  const allowed = 'the name of a time zone (IANA), such as Asia/Tokyo'
  const message = `time_zone ${quoted(zone)} is not ${allowed}.${didYouMean(suggestions)}`
  throw wrong('time_zone', message, { value: zone, allowed, suggestions })
}
