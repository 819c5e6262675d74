import { BadData } from '../errors.js'
import { parseTicker } from '../model/terms.js'
import { Collector, type Places } from './bars.js'
import {
  checkHints,
  type Dialect,
  dateFormatOf,
  decimalIn,
  describeText,
  detectDialect,
  type Given,
} from './dialect.js'
import type { FactsResult, Format, ReadOptions, ReadResult } from './feed.js'
import { givenTicker, type Layout, layoutOf, missingFrom, PRICES, type Role, tickerOfFile } from './layout.js'
import { adjustmentOf, type PricePlan, PriceRows } from './price-rows.js'
import type { Row } from './row.js'
import { eachRow } from './rows.js'
import type { Source } from './source.js'
import { DateReader } from './values.js'

/** Reads a table of text: its head decides what it holds and how, then the whole file streams through. */
export async function readTable(
  source: Source,
  head: { bytes: Buffer; whole: boolean },
  options: ReadOptions,
): Promise<ReadResult | FactsResult> {
  const given = checkHints(options.hints)
  const dialect = detectDialect(source.file, head.bytes, head.whole, given)
  const layout = tableLayout(source.file, dialect)
  if (layout !== null) return readBarsTable(source, dialect, layout, given, options)
  const { readFactsTable } = await import('./facts/read-facts.js')
  return readFactsTable(source, dialect, given, options)
}

async function readBarsTable(
  source: Source,
  dialect: Dialect,
  layout: Layout,
  given: Given,
  options: ReadOptions,
): Promise<ReadResult> {
  const { file } = source
  const plan = await planTable(source, dialect, layout, given, options)
  const { columns } = layout
  let at: Row | null = null
  const places: Places = {
    lineOf: line => line,
    reject: (_, { role, reason, field = columns[role] ?? 0 }) => at!.rejected(dialect.delimiter, field, reason),
  }
  const collector = new Collector(file, places, options.skipBadRows ?? false)
  const rows = new PriceRows(plan, collector)
  const tick = () => options.onProgress?.({ bytes: source.taken(), total: source.total, rows: collector.rows })
  const visit = (row: Row) => {
    at = row
    rows.visit(row)
  }
  await eachRow(file, source.chunks(), dialect, visit, tick)
  const format = settleFormat(file, layout, rows.whole, given)
  const { order, rejected } = collector
  const { prices, note } = adjustmentOf(columns.adj_close !== undefined, options.prices)
  const { tickers, warnings } = collector.finish(prices, format === 'lean equity' ? 10_000 : 1)
  const words: Record<string, string> = { ...describe(source, dialect, layout, plan), order }
  if (format === 'lean equity') words.scale = 'prices divided by 10,000'
  const counts = { rows: collector.rows, tickers, rejected, warnings }
  return { holds: 'bars', file, format, dialect: words, header: dialect.header, ...counts, adjustmentNote: note }
}

function describe(source: Source, dialect: Dialect, layout: Layout, plan: PricePlan): Record<string, string> {
  const { columns, names } = layout
  const used = Object.entries(columns).map(([role, i]) =>
    names[i] === role ? role : `${role} = ${names[i] || '(unnamed)'}`,
  )
  return {
    ...describeText(source, dialect),
    columns: used.join(', '),
    dates: plan.dates.format,
    decimal: plan.decimal === '.' ? 'point' : 'comma',
  }
}

/** Decides, from the first rows and what the user gave, how every row of a table is to be read. */
async function planTable(
  source: Source,
  dialect: Dialect,
  layout: Layout,
  given: Given,
  options: ReadOptions,
): Promise<PricePlan> {
  const { file } = source
  const { columns } = layout
  const ticker = givenTicker(options.ticker)
  const own = dialect.ticker ?? layout.ticker
  const format = given.dateFormat ?? (await dateFormatOf(source, dialect, { name: 'date', index: columns.date! }))
  return {
    columns,
    width: layout.names.length,
    ticker: columns.ticker === undefined ? (ticker ?? tickerOfFile(source, own)) : ticker,
    dates: new DateReader(format),
    decimal:
      given.decimal ??
      decimalIn(file, dialect, columnsOf(layout, [...PRICES, 'adj_close']), columnsOf(layout, ['volume'])),
    adjust: adjustmentOf(columns.adj_close !== undefined, options.prices).adjust,
  }
}

/** What the columns mean; null when they are not those of daily bars. */
function tableLayout(file: string, dialect: Dialect): Layout | null {
  const layout = layoutOf(file, dialect.headerLine, dialect.names)
  if (missingFrom(layout.columns).length > 0) return null
  const { ticker } = layout.columns
  // A column "name" may hold names of companies as well as tickers.
  if (ticker !== undefined && /^name$/i.test(layout.names[ticker]!.trim())) {
    const first = dialect.samples[0]![ticker] ?? ''
    if (parseTicker(first) !== first) delete layout.columns.ticker
  }
  if (dialect.ticker !== null) return { ...layout, format: 'yfinance' }
  const isLean = dialect.samples.every(fields => /^\d{8} \d{2}:\d{2}$/.test(fields[0] ?? ''))
  return isLean && dialect.header === null ? { ...layout, format: 'lean equity' } : layout
}

/**
 * The format to call a file by, once all of it is read. LEAN writes prices of equities times 10,000 as whole numbers,
 * those of crypto as they are: nothing in the file says which, but a fraction proves the latter.
 */
function settleFormat(file: string, layout: Layout, whole: boolean, given: Given): Format {
  const isLean = layout.format === 'lean equity'
  const found = isLean && !whole ? 'lean crypto' : layout.format
  const wanted = given.format ?? found
  if (wanted === found || wanted === 'csv' || (isLean && wanted === 'lean crypto')) return wanted
  throw new BadData({ file }, `this is not ${wanted}; it looks like ${found}`)
}

function columnsOf(layout: Layout, roles: readonly Role[]): number[] {
  return roles.flatMap(role => layout.columns[role] ?? [])
}
