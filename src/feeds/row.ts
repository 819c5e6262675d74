import { BadData, type Words } from '../errors.js'
import type { Rejected } from './feed.js'

/** How a table of text is cut into rows: from which byte and line on, by which delimiter and line end. */
export interface Cut {
  offset: number
  line: number
  delimiter: string
  eol: '\n' | '\r'
}

export const MAX_FIELDS = 512
export const MAX_LINE = 1 << 20

/** Where the fields of the present row lie; one object for a whole file, overwritten row after row. */
export class Row {
  bytes: Buffer = Buffer.alloc(0)
  /** Field i is bytes[starts[i]..ends[i]), blanks and quotes taken off. */
  readonly starts = new Int32Array(MAX_FIELDS)
  readonly ends = new Int32Array(MAX_FIELDS)
  count = 0
  /** Line on which the row starts, from 1. */
  line = 0
  /** The row as it stands in the file: given, or a part of the bytes. */
  raw: string | null = null
  from = 0
  to = 0

  text(): string {
    return this.raw ?? this.bytes.toString('utf8', this.from, this.to)
  }

  field(index: number): string | undefined {
    return index < this.count ? this.bytes.toString('utf8', this.starts[index], this.ends[index]) : undefined
  }

  /** The row as one that is not loaded, with the place of the field at fault. */
  rejected(delimiter: string, field: number, reason: Words): Rejected {
    const text = this.text()
    return { line: this.line, column: columnOf(text, delimiter, field), reason, text }
  }

  /** Takes over fields that were cut elsewhere. */
  fill(fields: readonly string[]): void {
    this.bytes = Buffer.from(fields.join(''))
    this.count = fields.length
    let end = 0
    for (const [i, field] of fields.entries()) {
      this.starts[i] = end
      end += Buffer.byteLength(field)
      this.ends[i] = end
    }
  }
}

/** The first field with a value beyond the width of the table; -1 when a row is wider by nothing but delimiters. */
export function surplusField(row: Row, width: number): number {
  for (let i = width; i < row.count; i++) if (row.starts[i] !== row.ends[i]) return i
  return -1
}

export function surplusReason(row: Row, width: number): string {
  return `the row has ${row.count} fields, the header ${width}; a delimiter inside a value needs quotes`
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
