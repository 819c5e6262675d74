import { BadData } from '../../errors.js'
import { parseTicker } from '../../model/ticker.js'
import { adjustmentOf } from '../adjustment.js'
import type { Format, ReadOptions } from '../feed.js'
import type { Source } from '../file/source.js'
import type { Given } from '../hints.js'
import { type Layout, layoutOf, missingFrom, type Role } from '../layout.js'
import { givenTicker, tickerOfFile } from '../naming.js'
import { DateReader } from '../value/dates.js'
import { dateFormatOf, decimalIn } from './detect.js'
import type { Dialect } from './dialect.js'
import type { TablePlan } from './read-rows.js'

const PRICES = ['open', 'high', 'low', 'close'] as const

/** Decides, from the first rows and what the user gave, how every row of a table is to be read. */
export async function planTable(
  source: Source,
  dialect: Dialect,
  layout: Layout,
  given: Given,
  options: ReadOptions,
): Promise<TablePlan> {
  const { file } = source
  const { columns } = layout
  const ticker = givenTicker(options.ticker)
  const own = dialect.ticker ?? layout.ticker
  const format = given.dateFormat ?? (await dateFormatOf(source, dialect, { name: 'date', index: columns.date! }))
  return {
    file,
    delimiter: dialect.delimiter,
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
export function tableLayout(file: string, dialect: Dialect): Layout | null {
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
export function settleFormat(file: string, layout: Layout, whole: boolean, given: Given): Format {
  const isLean = layout.format === 'lean equity'
  const found = isLean && !whole ? 'lean crypto' : layout.format
  const wanted = given.format ?? found
  if (wanted === found || wanted === 'csv' || (isLean && wanted === 'lean crypto')) return wanted
  throw new BadData({ file }, `this is not ${wanted}; it looks like ${found}`)
}

function columnsOf(layout: Layout, roles: readonly Role[]): number[] {
  return roles.flatMap(role => layout.columns[role] ?? [])
}
