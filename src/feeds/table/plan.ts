import { BadData } from '../../errors.js'
import { parseTicker } from '../../model/ticker.js'
import { adjustmentOf } from '../adjustment.js'
import type { Format, ReadOptions } from '../feed.js'
import type { Source } from '../file/source.js'
import type { Given } from '../hints.js'
import { type Layout, layoutOf, missingFrom, type Role } from '../layout.js'
import { givenTicker, tickerOfFile } from '../naming.js'
import { refuseLayout } from '../refusals.js'
import { DATE_FORMATS, type DateFormat, DateReader, guessDateFormat, orderProof } from '../value/dates.js'
import { columnOf } from '../value/fields.js'
import { type Decimal, decimalOf } from '../value/numbers.js'
import { shown } from '../value/shown.js'
import type { Dialect } from './dialect.js'
import type { TablePlan } from './read-rows.js'
import { eachRow } from './rows.js'

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
  const format = given.dateFormat ?? (await dateFormat(source, dialect, columns.date!))
  return {
    file,
    delimiter: dialect.delimiter,
    columns,
    width: layout.names.length,
    ticker: columns.ticker === undefined ? (ticker ?? tickerOfFile(source, own)) : ticker,
    dates: new DateReader(format),
    decimal: given.decimal ?? decimal(file, dialect, layout),
    adjust: adjustmentOf(columns.adj_close !== undefined, options.prices).adjust,
  }
}

/** What the columns mean; throws BadData when they are not those of daily bars. */
export function tableLayout(file: string, dialect: Dialect): Layout {
  const layout = layoutOf(file, dialect.headerLine, dialect.names)
  if (missingFrom(layout.columns).length > 0) throw refuseLayout(file, dialect.headerLine, layout)
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

async function dateFormat(source: Source, dialect: Dialect, column: number): Promise<DateFormat> {
  const texts = dialect.samples.map(fields => fields[column] ?? '').filter(text => text !== '')
  const guess = guessDateFormat(texts)
  if ('format' in guess) return guess.format
  const { file } = source
  const place = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, column) }
  if ('unknown' in guess)
    throw new BadData(
      place,
      `date ${shown(texts[0] ?? '')} is in no known form; dates may be ${DATE_FORMATS.join(', ')}`,
    )
  let balance = 0
  await eachRow(file, source.chunks(), dialect, row => {
    balance += orderProof(row.field(column) ?? '')
  })
  if (balance !== 0) return balance > 0 ? 'DD/MM/YYYY' : 'MM/DD/YYYY'
  const forms = 'give --date-format MM/DD/YYYY or DD/MM/YYYY'
  throw new BadData(
    place,
    `no date of the file tells whether ${shown(texts[0]!)} has the month or the day first; ${forms}`,
  )
}

function decimal(file: string, dialect: Dialect, { columns }: Layout): Decimal {
  if (dialect.delimiter === ',' && !dialect.quoted) return '.'
  const texts = (roles: readonly Role[]) =>
    dialect.samples.flatMap(fields => roles.flatMap(role => fields[columns[role] ?? -1] ?? []))
  const prices = texts(['open', 'high', 'low', 'close', 'adj_close'])
  const sign = decimalOf(prices, texts(['volume']))
  if (sign !== null) return sign
  const example = prices.find(text => text.includes(','))!
  throw new BadData({ file }, `${shown(example)} can be a decimal or thousands; give --decimal , or --decimal .`)
}
