import { parameter, sentence, type Words } from '../errors.js'
import type { Day } from '../model/day.js'
import { TICKER_SHAPE } from '../model/terms.js'
import type { Role } from './layout.js'
import { type DateReader, type Decimal, isNullWord, readNumber, shown } from './values.js'

/** How the fields of a file are to be read. */
export interface Reading {
  dates: DateReader
  decimal: Decimal
  /** Prices are to be adjusted by the adjusted close, which the file has. */
  adjust: boolean
}

/** The fields of one row as text; what the row lacks is absent. */
export type Cells = { [role in Role]?: string | undefined }

export interface Bar {
  day: Day
  /** Time of day, where the row has one: tells bars of minutes from a date given twice. */
  seconds: number
  open: number
  high: number
  low: number
  close: number
  volume: number
  /** The close before it was adjusted; NaN where nothing is adjusted. */
  unadjusted: number
}

/** Why a row is no bar, and which of its fields is at fault. */
export interface Fault {
  role: Role
  reason: Words
}

const PRICES = ['open', 'high', 'low', 'close'] as const
const NEEDS = 'a bar needs open, high, low and close'
const ADJUSTING_NEEDS = 'adjusted prices need it'

/** The bar that a row of text is, or the first fault that makes it none. */
export function judge(cells: Cells, reading: Reading): Bar | Fault {
  const { dates } = reading
  const text = cells.date ?? ''
  const day = dates.read(text)
  if (day === null) return { role: 'date', reason: dateReason('date', text, dates.format) }
  const bar: Bar = {
    day,
    seconds: dates.seconds,
    open: 0,
    high: 0,
    low: 0,
    close: 0,
    volume: Number.NaN,
    unadjusted: Number.NaN,
  }
  if (cells.time !== undefined) bar.seconds = timeValue(cells.time)
  for (const role of PRICES) {
    bar[role] = readNumber(cells[role] ?? '', reading.decimal)
    if (!isPrice(bar[role])) return { role, reason: priceReason(role, cells[role] ?? '', bar[role]) }
  }
  if (bar.high < bar.low) return { role: 'high', reason: `high ${cells.high} is below low ${cells.low}` }
  const volume = cells.volume ?? ''
  if (!isNullWord(volume)) bar.volume = readNumber(volume, reading.decimal)
  if (!isNullWord(volume) && !isVolume(bar.volume)) return { role: 'volume', reason: volumeReason(volume, bar.volume) }
  return reading.adjust ? adjusted(bar, cells.adj_close ?? '', reading) : bar
}

export function isFault(verdict: Bar | Fault): verdict is Fault {
  return 'reason' in verdict
}

/** Finite and above 0; NaN is not. */
export function isPrice(value: number): boolean {
  return value > 0 && value < Number.POSITIVE_INFINITY
}

export function isVolume(value: number): boolean {
  return value >= 0 && value < Number.POSITIVE_INFINITY
}

/**
 * Multiplies the four prices by adjusted close over close; false when one is then beyond what a double can hold. The
 * close becomes the adjusted close itself, and so does every price that equals it.
 */
export function adjustBy(bar: Bar, adjustedClose: number): boolean {
  const { close } = bar
  const factor = adjustedClose / close
  bar.unadjusted = close
  for (const role of PRICES) bar[role] = bar[role] === close ? adjustedClose : bar[role] * factor
  return isPrice(bar.low) && isPrice(bar.open) && isPrice(bar.high)
}

/** The time of day in a column of its own; only compared, so any digits will do. */
export function timeValue(text: string): number {
  return Number(text.replace(/\D/g, '')) || 0
}

function adjusted(bar: Bar, text: string, reading: Reading): Bar | Fault {
  const value = readNumber(text, reading.decimal)
  if (isPrice(value) && adjustBy(bar, value)) return bar
  const reason = priceReason('adj_close', text, value)
  return { role: 'adj_close', reason: sentence`${reason}; ${parameter('prices', 'raw')} loads the prices without it` }
}

function priceReason(role: Role, text: string, value: number): string {
  if (isNullWord(text)) return `${role} is ${emptyWord(text)}; ${role === 'adj_close' ? ADJUSTING_NEEDS : NEEDS}`
  if (Number.isNaN(value)) return `${role} ${shown(text)} is no number; a price is a decimal number above 0`
  if (value <= 0) return `${role} ${shown(text)} is not above 0, as a price must be`
  return `${role} ${shown(text)} is too large or too small for a price`
}

function volumeReason(text: string, value: number): string {
  if (Number.isNaN(value)) return `volume ${shown(text)} is no number; it may be 0 or more, or empty where unknown`
  if (value < 0) return `volume ${shown(text)} is below 0; it may be 0 or more, or empty where unknown`
  return `volume ${shown(text)} is too large for a volume`
}

export function dateReason(name: string, text: string, format: string): string {
  if (isNullWord(text)) return `${name} is ${emptyWord(text)}`
  return `${name} ${shown(text)} is no calendar date as ${format}, which the dates of this file are`
}

export function tickerReason(text: string): string {
  return isNullWord(text) ? 'ticker is empty' : `ticker ${shown(text)} is not ${TICKER_SHAPE}`
}

/** How a field that holds nothing is told: a word for it as it stands. */
export function emptyWord(text: string): string {
  return text === '' ? 'empty' : shown(text)
}

/**
 * The fields of one line, unquoted and trimmed; for headers, samples and messages. A quoted field may hold the
 * delimiter and doubled quotes; line breaks in quotes are beyond it.
 */
export function splitLine(line: string, delimiter: string): string[] {
  return spans(line, delimiter).map(({ start, end }) => unquote(line.slice(start, end).trim()))
}

/** The column, from 1, of the character at which a field starts; one past the end when the line has no such field. */
export function columnOf(line: string, delimiter: string, field: number): number {
  const span = spans(line, delimiter)[field]
  if (span === undefined) return lengthOf(line) + 1
  const text = line.slice(span.start, span.end)
  const blanks = text.trim() === '' ? 0 : text.length - text.trimStart().length
  return lengthOf(line.slice(0, span.start + blanks)) + 1
}

/** Characters as people count them: a letter outside the basic plane is one. */
export function lengthOf(text: string): number {
  return [...text].length
}

function spans(line: string, delimiter: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = []
  let start = 0
  let quoted = false
  let blank = true
  for (let i = 0; i < line.length; i++) {
    const character = line[i]!
    if (character === '"' && (quoted || blank)) quoted = !quoted
    if (character === delimiter && !quoted) {
      found.push({ start, end: i })
      start = i + 1
      blank = true
    } else if (character !== ' ' && character !== '"') blank = false
  }
  found.push({ start, end: line.length })
  return found
}

function unquote(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}
