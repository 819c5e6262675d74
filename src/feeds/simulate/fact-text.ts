import { formatDay } from '../../model/day.js'
import { FACT_COLUMNS, type FactColumn, type FactKind } from '../../model/facts.js'
import type { TickerFacts } from '../feed.js'

/**
 * One kind of record as the text of its own file (`reports.csv`), in chunks: the header `ticker,` and the columns, then
 * one chunk for each ticker that has such records; other kinds are passed over. Dates YYYY-MM-DD, an unknown value
 * empty, lines ended by a line feed.
 */
export function* factsToCsv(kind: FactKind, facts: Iterable<TickerFacts>): Generator<string> {
  yield factHeader(kind)
  for (const part of facts) if (part.kind === kind) yield factRows(part)
}

/** The first line of the file of a kind, with its line feed. */
export function factHeader(kind: FactKind): string {
  return `${['ticker', ...columnsOf(kind).map(column => column.name)].join(',')}\n`
}

/** The lines of one ticker's records of one kind, for whoever writes several files in one pass. */
export function factRows({ ticker, kind, records }: TickerFacts): string {
  const columns = columnsOf(kind)
  let text = ''
  for (const record of records) {
    const values = Object(record) as Record<string, string | number | null | undefined>
    text += `${[quoted(ticker), ...columns.map(column => cell(values[column.name], column))].join(',')}\n`
  }
  return text
}

/** What is simulated is never delisted: the columns for that stay out of its files. */
function columnsOf(kind: FactKind): FactColumn[] {
  return FACT_COLUMNS[kind].filter(({ rare }) => rare !== true)
}

function cell(value: string | number | null | undefined, { holds }: FactColumn): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return quoted(value)
  return holds === 'date' ? formatDay(value) : String(value)
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
