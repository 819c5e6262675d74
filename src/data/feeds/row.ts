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
  rawText: string | null = null
  rawStart = 0
  rawEnd = 0
  /** Whether a line end follows it: the last line of a truncated file has none. */
  hasLineEnd = true

  text(): string {
    return this.rawText ?? this.bytes.toString('utf8', this.rawStart, this.rawEnd)
  }

  /** The text of a field, without the mark of `addTextMark`; undefined if the row has no such field. */
  field(index: number): string | undefined {
    if (index >= this.count) return undefined
    const text = this.bytes.toString('utf8', this.starts[index], this.ends[index])
    return text.startsWith(TEXT_MARK) ? removeTextMark(text) : text
  }

  /** The row as a rejected one, with the position of the bad field. */
  rejected(delimiter: string, field: number, reason: Words): Rejected {
    const text = this.text()
    return { line: this.line, column: columnOf(text, delimiter, field), reason, text }
  }

  /** Sets the bytes and the fields of the row from the texts of the fields. */
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

/** A mark before a text that makes a spreadsheet show the text instead of running it as a formula. */
const TEXT_MARK = "'"

/**
 * The text with a mark before it if a spreadsheet would run it. A formula that already has such marks gets one more, so
 * that `removeTextMark` gives back the same text.
 */
export function addTextMark(text: string): string {
  return isFormula(text.replace(LEADING_MARKS, '')) ? TEXT_MARK + text : text
}

/** Undoes `addTextMark`. */
function removeTextMark(text: string): string {
  return isFormula(text.replace(LEADING_MARKS, '')) ? text.slice(TEXT_MARK.length) : text
}

const LEADING_MARKS = /^'+/

/** Whether a spreadsheet would run a text as a formula: it starts with a sign such as `=`, and is no number. */
function isFormula(text: string): boolean {
  return /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)
}

/** Why a row is incomplete, and the index of the field at which that shows. */
export interface RowFault {
  field: number
  reason: string
}

/** Number of rows that must agree before the last one is compared with them. */
const MIN_ROWS_TO_COMPARE = 5

/**
 * Finds incomplete rows of a table, one after the other. A row is as wide as its header; trailing columns without a
 * name and trailing delimiters do not count.
 *
 * A last line without a line end counts as truncated if its last number is shorter than in every other row: fewer
 * digits after the point, or fewer before it and less than half of the smallest value. With as many digits after the
 * point as any other row it counts as complete. If last fields are empty or no numbers, truncation is not detected.
 */
export class RowChecker {
  readonly #minFields: number
  readonly #maxFields: number
  #rows = 0
  /** Limits of the last numbers of all rows so far: their digits before and after the point, and their whole values. */
  #minWholeDigits = Number.POSITIVE_INFINITY
  #minFractionDigits = Number.POSITIVE_INFINITY
  #maxFractionDigits = 0
  #minValue = Number.POSITIVE_INFINITY

  constructor(names: readonly string[]) {
    this.#minFields = names.findLastIndex(name => name !== '') + 1
    this.#maxFields = names.length
  }

  /**
   * The fault of a row; null for a sound one. A row may have too few or too many fields. A line without a line end may
   * be cut off: then its last number is shorter than in all earlier rows, whose digit counts are remembered here.
   */
  checkRow(row: Row): RowFault | null {
    if (row.count < this.#minFields)
      return this.#widthFault(row, row.count, 'the row is cut off, or fields are missing')
    const surplusField = firstFilledBeyond(row, this.#maxFields)
    if (surplusField >= 0) return this.#widthFault(row, surplusField, 'a delimiter inside a value needs quotes')
    const field = row.count - 1
    const lastNumber = countDigits(row, field)
    if (!row.hasLineEnd) {
      const isFault = this.#rows >= MIN_ROWS_TO_COMPARE && this.#isTruncated(lastNumber)
      return isFault ? { field, reason: TRUNCATED_LINE } : null
    }
    this.#rows++
    this.#minWholeDigits = Math.min(this.#minWholeDigits, lastNumber.wholeDigits)
    this.#minFractionDigits = Math.min(this.#minFractionDigits, lastNumber.fractionDigits)
    this.#maxFractionDigits = Math.max(this.#maxFractionDigits, lastNumber.fractionDigits)
    this.#minValue = Math.min(this.#minValue, lastNumber.wholeValue)
    return null
  }

  /**
   * Whether a last number is shorter than those of all earlier rows. A whole number must also be less than half of each,
   * because 98 may follow 100.
   */
  #isTruncated({ wholeDigits, fractionDigits, wholeValue }: DigitCounts): boolean {
    if (fractionDigits > 0 && fractionDigits >= this.#maxFractionDigits) return false
    if (fractionDigits < this.#minFractionDigits) return true
    return wholeDigits < this.#minWholeDigits && wholeValue < this.#minValue / 2
  }

  #widthFault({ count }: Row, field: number, why: string): RowFault {
    const fields = `${count} field${count === 1 ? '' : 's'}`
    const header = count < this.#minFields ? this.#minFields : this.#maxFields
    return { field, reason: `the row has ${fields}, the header ${header}; ${why}` }
  }
}

const TRUNCATED_LINE =
  'the last line has no line end, and its last number is shorter than that of every other row, as in a file that was cut off; a line end after it says that it is whole'

/** The index of the first field that is not empty beyond the width of the table; -1 if there is none. */
function firstFilledBeyond(row: Row, width: number): number {
  for (let i = width; i < row.count; i++) if (row.starts[i] !== row.ends[i]) return i
  return -1
}

const POINT = 46
const COMMA = 44

/** The number of digits before and after a number's point, and the value before the point. */
interface DigitCounts {
  wholeDigits: number
  fractionDigits: number
  wholeValue: number
}

/** Counts the digits of a number in a field; all counts are 0 for a text with other characters. */
function countDigits({ bytes, starts, ends }: Row, field: number): DigitCounts {
  let wholeDigits = 0
  let fractionDigits = 0
  let wholeValue = 0
  let isBeforePoint = true
  for (let i = starts[field]!; i < ends[field]!; i++) {
    const byte = bytes[i]!
    if (isBeforePoint && (byte === POINT || byte === COMMA)) isBeforePoint = false
    else if (byte < 48 || byte > 57) return { wholeDigits: 0, fractionDigits: 0, wholeValue: 0 }
    else if (isBeforePoint) {
      wholeDigits++
      wholeValue = wholeValue * 10 + byte - 48
    } else fractionDigits++
  }
  return { wholeDigits, fractionDigits, wholeValue }
}

export function tooManyFields(file: string, line: number): BadData {
  return new BadData({ file, line }, `more than ${MAX_FIELDS} fields; this is no table of bars`)
}

/**
 * The fields of one line, unquoted and trimmed; for headers, samples and messages. A quoted field may hold the
 * delimiter and doubled quotes; line breaks in quotes are beyond it.
 */
export function splitLine(line: string, delimiter: string): string[] {
  return fieldSpans(line, delimiter).map(({ start, end }) => unquote(line.slice(start, end).trim()))
}

/** The column, from 1, of the character at which a field starts; one past the end when the line has no such field. */
export function columnOf(line: string, delimiter: string, field: number): number {
  const span = fieldSpans(line, delimiter)[field]
  if (span === undefined) return characterCount(line) + 1
  const text = line.slice(span.start, span.end)
  const blanks = text.trim() === '' ? 0 : text.length - text.trimStart().length
  return characterCount(line.slice(0, span.start + blanks)) + 1
}

/** The number of characters as people count them: a letter outside the basic plane is one. */
export function characterCount(text: string): number {
  return [...text].length
}

/** The start and end index of each field of a line, with blanks and quotes. */
function fieldSpans(line: string, delimiter: string): { start: number; end: number }[] {
  const spans: { start: number; end: number }[] = []
  let start = 0
  let inQuotes = false
  /** Whether the field at hand has only blanks so far: a quote after them opens a quoted field. */
  let isBlank = true
  // In a quoted field each quote counts: a doubled one closes and reopens it.
  let hasQuote = false
  for (let i = 0; i < line.length; i++) {
    const character = line[i]!
    if (character === '"' && (hasQuote || isBlank)) {
      inQuotes = !inQuotes
      hasQuote = true
    }
    if (character === delimiter && !inQuotes) {
      spans.push({ start, end: i })
      start = i + 1
      isBlank = true
      hasQuote = false
    } else if (character !== ' ' && character !== '"') isBlank = false
  }
  spans.push({ start, end: line.length })
  return spans
}

/** The text inside quotes, with doubled quotes as single ones; a text without quotes around it is unchanged. */
function unquote(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}
