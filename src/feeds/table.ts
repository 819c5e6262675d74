import { BadData } from '../errors.js'
import { parseTicker } from '../model/terms.js'
import { Collector, type Places } from './bars.js'
import type { FactsResult, Format, ReadOptions, ReadResult } from './feed.js'
import {
  checkSpan,
  givenTicker,
  type Layout,
  layoutOf,
  missingFrom,
  PRICES,
  type Role,
  tickerOfFile,
} from './layout.js'
import { adjustmentOf, latestBar, type PricePlan, PriceRows } from './price-rows.js'
import type { Row } from './row.js'
import type { Source } from './source.js'
import { TextTable } from './text-table.js'

/** Reads a table of text: its head decides what it holds and how, then the whole file streams through. */
export async function readTable(
  source: Source,
  head: { bytes: Buffer; whole: boolean },
  options: ReadOptions,
): Promise<ReadResult | FactsResult> {
  const table = new TextTable(source, head, options)
  const layout = barsLayout(table)
  if (layout !== null) return readBarsTable(table, layout)
  const { readFactsTable } = await import('./facts/read-facts.js')
  return readFactsTable(table)
}

async function readBarsTable(table: TextTable, layout: Layout): Promise<ReadResult> {
  const { file, dialect, options } = table
  const { columns } = layout
  const plan = await planTable(table, layout)
  let at: Row | null = null
  const places: Places = {
    lineOf: line => line,
    reject: (_, { role, reason, field = columns[role] ?? 0 }) => at!.rejected(dialect.delimiter, field, reason),
  }
  const collector = new Collector(file, places, options.skipBadRows ?? false)
  const rows = new PriceRows(plan, collector)
  const { prices, note } = adjustmentOf(columns.adj_close !== undefined, options.prices)
  return collector.whole(async () => {
    await table.eachRow((row, misfit) => {
      at = row
      rows.visit(row, misfit)
    })
    const format = settleFormat(table, layout, rows.whole)
    const { order } = collector
    const found = collector.finish(prices, format === 'lean equity' ? 10_000 : 1)
    const words: Record<string, string> = { ...describe(table, layout, plan), order, ...rows.words }
    if (format === 'lean equity') words.scale = 'prices divided by 10,000'
    return { holds: 'bars', file, format, dialect: words, header: dialect.header, ...found, adjustmentNote: note }
  })
}

function describe(table: TextTable, { columns, names }: Layout, plan: PricePlan): Record<string, string> {
  const used = Object.entries(columns).map(([role, i]) =>
    names[i] === role ? role : `${role} = ${names[i] || '(unnamed)'}`,
  )
  return table.words({ columns: used.join(', '), dates: plan.dates.format }, plan.decimal)
}

/** Decides, from the first rows and what the user gave, how every row of a table is to be read. */
async function planTable(table: TextTable, layout: Layout): Promise<PricePlan> {
  const { source, dialect, options } = table
  const { columns } = layout
  const given = givenTicker(options.ticker)
  const placesOf = (...roles: Role[]) => roles.flatMap(role => columns[role] ?? [])
  const dates = await table.dates({ name: 'date', index: columns.date! })
  return {
    format: layout.format,
    columns,
    ticker:
      columns.ticker === undefined
        ? (given ?? tickerOfFile(source, dialect.ticker ?? layout.ticker, layout.format))
        : given,
    dates,
    latest: latestBar(options.today),
    decimal: table.decimal(placesOf(...PRICES, 'adj_close'), placesOf('volume')),
    adjust: adjustmentOf(columns.adj_close !== undefined, options.prices).adjust,
  }
}

/** What the columns mean; null when they are not those of daily bars. */
function barsLayout({ file, dialect }: TextTable): Layout | null {
  const layout = layoutOf(file, dialect.headerLine, dialect.names)
  if (missingFrom(layout.columns).length > 0) return null
  const { ticker } = layout.columns
  // A column "name" may hold names of companies as well as tickers.
  if (ticker !== undefined && /^name$/i.test(layout.names[ticker]!.trim())) {
    const first = dialect.samples[0]![ticker] ?? ''
    if (parseTicker(first) !== first) delete layout.columns.ticker
  }
  if (layout.format === 'binance') checkSpan(file, layout.names, dialect.samples[0]!)
  if (dialect.ticker !== null) return { ...layout, format: 'yfinance' }
  const isLean = dialect.samples.every(fields => /^\d{8} \d{2}:\d{2}$/.test(fields[0] ?? ''))
  return isLean && dialect.header === null ? { ...layout, format: 'lean equity' } : layout
}

/**
 * The format to call a file by, once all of it is read. LEAN writes prices of equities times 10,000 as whole numbers,
 * those of crypto as they are: nothing in the file says which, but a fraction proves the latter.
 */
function settleFormat({ file, given }: TextTable, layout: Layout, whole: boolean): Format {
  const isLean = layout.format === 'lean equity'
  const found = isLean && !whole ? 'lean crypto' : layout.format
  const wanted = given.format ?? found
  if (wanted === found || wanted === 'csv' || (isLean && wanted === 'lean crypto')) return wanted
  throw new BadData({ file }, `this is not ${wanted}; it looks like ${found}`)
}
