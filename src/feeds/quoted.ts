import { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { BadData } from '../errors.js'
import { type Cut, MAX_FIELDS, MAX_LINE, Row, tooMany } from './row.js'

/** Rows of any quoting, through csv-parse, which knows doubled quotes and line breaks inside them. */
export async function eachQuotedRow(
  file: string,
  chunks: AsyncIterable<Buffer>,
  cut: Cut,
  visit: (row: Row) => void,
): Promise<void> {
  const source = Readable.from(chunks)
  const parser = source.pipe(parse(options(cut)))
  source.on('error', error => parser.destroy(error))
  const row = new Row()
  let line = cut.line
  try {
    for await (const { record, raw, info } of parser as AsyncIterable<Parsed>) {
      // The raw text of a record starts with the blank lines before it and may end within its line end.
      row.raw = raw.replace(/^[\r\n]+|[\r\n]+$/g, '')
      row.line = cut.line + info.lines - row.raw.split(cut.eol).length
      line = cut.line + info.lines
      if (record.length > MAX_FIELDS) throw tooMany(file, row.line)
      row.fill(record.map(field => field.trim()))
      visit(row)
    }
  } catch (error) {
    throw quoteError(file, line, error)
  } finally {
    source.destroy()
  }
}

interface Parsed {
  record: string[]
  raw: string
  info: { lines: number }
}

function options({ delimiter, eol }: Cut) {
  const lenient = { relax_column_count: true, relax_quotes: true, skip_empty_lines: true, trim: true } as const
  const record_delimiter = eol === '\n' ? ['\r\n', '\n'] : ['\r']
  return { ...lenient, delimiter, record_delimiter, raw: true, info: true, max_record_size: MAX_LINE } as const
}

/** What csv-parse says about quotes, with the line on which the unreadable row starts. */
function quoteError(file: string, line: number, error: unknown): unknown {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'CSV_QUOTE_NOT_CLOSED':
    case 'CSV_MAX_RECORD_SIZE':
      return new BadData({ file, line }, 'a quoted field opens here and is never closed', { cause: error })
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
    case 'CSV_INVALID_CLOSING_QUOTE':
      return new BadData({ file, line }, 'a quoted field is followed by more text before the next delimiter', {
        cause: error,
      })
    default:
      return error
  }
}
