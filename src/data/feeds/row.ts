import { BadData, type Words } from '../../core/errors.js'
import type { Rejected } from './feed.js'

/** How a text table is cut into rows: first byte and line, delimiter and line end. */
export interface Cut {
  offset: number
  line: number
  delimiter: string
  eol: '\n' | '\r'
}

/** 1,000 tickers side by side have eight columns each. */
export const MAX_FIELDS = 8192
export const MAX_LINE = 1 << 20

/** The field positions of the current row; one object for a whole file, overwritten row after row. */
export class Row {
  bytes: Buffer = Buffer.alloc(0)
  /** Field i is bytes[starts[i]..ends[i]), blanks and quotes taken off. */
  readonly starts = new Int32Array(MAX_FIELDS)
  readonly ends = new Int32Array(MAX_FIELDS)
  count = 0
  /** Line on which the row starts, from 1. */
  line = 0
  /** The raw text of the row: set explicitly, or a part of the bytes. */
  raw: string | null = null
  from = 0
  to = 0
  /** Whether a line end follows it: the last line of a truncated file has none. */
  ended = true

  text(): string {
    return this.raw ?? this.bytes.toString('utf8', this.from, this.to)
  }

  field(index: number): string | undefined {
    if (index >= this.count) return undefined
    const text = this.bytes.toString('utf8', this.starts[index], this.ends[index])
    return text.startsWith(MARK) ? withoutMark(text) : text
  }

  /** The row as a rejected one, with the position of the bad field. */
  rejected(delimiter: string, field: number, reason: Words): Rejected {
    const text = this.text()
    return { line: this.line, column: columnOf(text, delimiter, field), reason, text }
  }

  /** Takes over fields that were cut elsewhere. */
  fill(fields: readonly string[]): void {
    const text = fields.join('')
    this.bytes = Buffer.from(text)
    const isAscii = this.bytes.length === text.length
    this.count = fields.length
    let end = 0
    for (let i = 0; i < fields.length; i++) {
      const field = fields[i]!
      this.starts[i] = end
      end += isAscii ? field.length : Buffer.byteLength(field)
      this.ends[i] = end
    }
  }
}

/** Before a text that a spreadsheet would run, it makes it show the text instead. */
const MARK = "'"

/** A text that a spreadsheet shows and never runs: with a mark if it needs one, or already begins with one. */
export function withMark(text: string): string {
  return isFormula(text.replace(MARKS, '')) ? MARK + text : text
}

function withoutMark(text: string): string {
  return isFormula(text.replace(MARKS, '')) ? text.slice(MARK.length) : text
}

const MARKS = /^'+/

/** A formula, also with the wide signs of East Asia, or one after a spreadsheet has dropped a leading blank. */
function isFormula(text: string): boolean {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)
}

/** A wrong number of fields or a missing end, and the field. */
export interface RowFault {
  field: number
  reason: string
}

/** Number of rows that must agree before the last one is compared with them. */
const ENOUGH = 5

/**
 * Finds incomplete rows of a table, one after the other. A row is as wide as its header; trailing columns without a
 * name and trailing delimiters do not count.
 *
 * A last line without a line end counts as truncated if its last number is shorter than in every other row: fewer
 * digits after the point, or fewer before it and less than half of the smallest value. With as many digits after the
 * point as any other row it counts as complete. If last fields are empty or no numbers, truncation is not detected.
 */
export class RowChecker {
  readonly #least: number
  readonly #most: number
  #rows = 0
  /** The fewest digits before the point of a last number, the fewest and the most after it, and the smallest number. */
  #whole = Number.POSITIVE_INFINITY
  #part = Number.POSITIVE_INFINITY
  #mostPart = 0
  #smallest = Number.POSITIVE_INFINITY

  constructor(names: readonly string[]) {
    this.#least = names.findLastIndex(name => name !== '') + 1
    this.#most = names.length
  }

  /** null for a row that is whole. */
  faultOf(row: Row): RowFault | null {
    if (row.count < this.#least) return this.#faultAt(row, row.count, 'the row is cut off, or fields are missing')
    const surplus = row.count > this.#most ? surplusField(row, this.#most) : -1
    if (surplus >= 0) return this.#faultAt(row, surplus, 'a delimiter inside a value needs quotes')
    const field = row.count - 1
    const digits = digitsOf(row, field)
    if (!row.ended) return this.#rows >= ENOUGH && this.#isShort(digits) ? { field, reason: CUT_OFF } : null
    this.#rows++
    this.#whole = Math.min(this.#whole, digits.whole)
    this.#part = Math.min(this.#part, digits.part)
    this.#mostPart = Math.max(this.#mostPart, digits.part)
    this.#smallest = Math.min(this.#smallest, digits.size)
    return null
  }

  #isShort({ whole, part, size }: Digits): boolean {
    if (part > 0 && part >= this.#mostPart) return false
    return part < this.#part || (whole < this.#whole && size < this.#smallest / 2)
  }

  #faultAt({ count }: Row, field: number, why: string): RowFault {
    const fields = `${count} field${count === 1 ? '' : 's'}`
    const header = count < this.#least ? this.#least : this.#most
    return { field, reason: `the row has ${fields}, the header ${header}; ${why}` }
  }
}

const CUT_OFF =
  'the last line has no line end, and its last number is shorter than that of every other row, as in a file that was cut off; a line end after it says that it is whole'

/** The first field with a value beyond the width of the table; -1 when a row is wider by nothing but delimiters. */
function surplusField(row: Row, width: number): number {
  for (let i = width; i < row.count; i++) if (row.starts[i] !== row.ends[i]) return i
  return -1
}

const POINT = 46
const COMMA = 44

/** The number of digits before and after a number's point, and the value before the point. */
interface Digits {
  whole: number
  part: number
  size: number
}

/** None for a number with other characters than digits. */
function digitsOf({ bytes, starts, ends }: Row, field: number): Digits {
  let whole = 0
  let part = 0
  let size = 0
  let isWhole = true
  for (let i = starts[field]!; i < ends[field]!; i++) {
    const byte = bytes[i]!
    if (isWhole && (byte === POINT || byte === COMMA)) isWhole = false
    else if (byte < 48 || byte > 57) return { whole: 0, part: 0, size: 0 }
    else if (isWhole) {
      whole++
      size = size * 10 + byte - 48
    } else part++
  }
  return { whole, part, size }
}

export function tooMany(file: string, line: number): BadData {
  return new BadData({ file, line }, `more than ${MAX_FIELDS} fields; this is no table of bars`)
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
  // In a quoted field each quote counts: a doubled one closes and reopens it.
  let opened = false
  for (let i = 0; i < line.length; i++) {
    const character = line[i]!
    if (character === '"' && (opened || blank)) {
      quoted = !quoted
      opened = true
    }
    if (character === delimiter && !quoted) {
      found.push({ start, end: i })
      start = i + 1
      blank = true
      opened = false
    } else if (character !== ' ' && character !== '"') blank = false
  }
  found.push({ start, end: line.length })
  return found
}

function unquote(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}
