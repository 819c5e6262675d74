import { BadData } from '../../errors.js'

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
