import { basename } from 'node:path'
import { BadData, invalid, parameter, quoted, sentence, typedLineWith } from '../../core/errors.js'
import { parseTicker, TICKER_SHAPE } from '../../core/model/terms.js'
import type { Format } from './feed.js'
import {
  COLUMN_NAMES,
  DOUBTFUL_TICKERS,
  isOrigin,
  normalizedColumnName,
  PRICES,
  ROLES,
  type Role,
  symbolInName,
} from './names.js'
import type { Source } from './source.js'
import { isEpoch } from './values.js'

/** Index of each role in a row. */
export type Columns = Partial<Record<Role, number>>

export interface Layout {
  format: Format
  names: readonly string[]
  columns: Columns
  /** A ticker that the header itself names (`AAPL.Open`). */
  ticker: string | null
  /** Tickers with columns of their own side by side, which share the date; empty where each role has one column. */
  parallelTickers: readonly { ticker: string; columns: Columns }[]
}

/** Orders of the columns in which vendors give bars without a header: their names, the first a time since 1970. */
const VENDOR_ORDERS: readonly (readonly [format: Format, names: readonly string[]])[] = [
  [
    'binance',
    [
      ...['open_time', 'open', 'high', 'low', 'close', 'volume', 'close_time', 'quote_volume', 'count'],
      ...['taker_buy_volume', 'taker_buy_quote_volume', 'ignore'],
    ],
  ],
  ['kraken', ['time', 'open', 'high', 'low', 'close', 'volume', 'trades']],
  ['kraken', ['time', 'open', 'high', 'low', 'close', 'vwap', 'volume', 'count']],
]

/** The names of the columns of a row in the order of a vendor; null for other rows. */
export function vendorOrder(row: readonly string[]): readonly string[] | null {
  if (!isEpoch(row[0] ?? '')) return null
  const order = VENDOR_ORDERS.find(([, names]) => names.length === row.length)
  if (order === undefined) return null
  const [format, names] = order
  // Kraken's trade count may be an adjusted close instead.
  return format === 'kraken' && !/^\d+$/.test(row.at(-1)!) ? null : names
}

/** Throws BadData if the first bar does not close a day after it opens; not for bars without both times. */
export function refuseNonDailyBars(file: string, names: readonly string[], first: readonly string[]): void {
  const plainNames = names.map(plainName)
  const openTime = Number(first[plainNames.indexOf('opentime')])
  const closeTime = Number(first[plainNames.indexOf('closetime')])
  // Times since 1970 are in milliseconds, or in microseconds if they are greater than any milliseconds of this age.
  const secondsPerUnit = openTime > 1e14 ? 1e-6 : 1e-3
  const minutes = ((closeTime - openTime) * secondsPerUnit) / 60
  if (Number.isNaN(minutes) || Math.round(minutes) === 24 * 60) return
  const span = minutes > 24 * 60 ? `${Math.round(minutes / 24 / 60)} days` : `${Math.round(minutes)} minutes`
  throw new BadData({ file }, `these are bars of ${span}; only daily bars are imported`)
}

/** Whether a column's name is a known spelling of one of some roles. */
export function isNameOfRole(name: string, roles: readonly Role[] = ROLES): boolean {
  const text = plainName(name)
  return roles.some(role => COLUMN_NAMES[role].includes(text))
}

/**
 * The meaning of each column of a header. Throws BadData when two columns of one name claim a role. Roles without a
 * column are absent; the caller knows which are needed.
 * @param first the first row, which decides whether a column such as `name` holds tickers
 * @param byTicker each column's ticker, if the names do not have it
 */
export function layoutOf(
  file: string,
  line: number,
  header: readonly string[],
  first?: readonly string[],
  byTicker: ByTicker | null = tickersInNames(header),
): Layout {
  const tickers = [...new Set(byTicker?.tickers.filter(ticker => ticker !== null))]
  // Several tickers side by side: each has a layout of its own, of the columns without those of the others.
  if (byTicker !== null && tickers.length > 1) {
    const columnsOf = (ticker: string): Columns =>
      layoutOf(file, line, namesForTicker(byTicker, ticker), first, null).columns
    const parallelTickers = tickers
      .map(ticker => ({ ticker, columns: columnsOf(ticker) }))
      .filter(({ columns }) => missingBarRoles(columns).length === 0)
    const columns = parallelTickers[0]?.columns ?? {}
    return { format: formatByTicker(header, byTicker), names: header, columns, ticker: null, parallelTickers }
  }
  const namesWithoutTicker = byTicker?.names ?? header
  const plainNames = namesWithoutTicker.map(plainName)
  const namesWithoutUnit = namesWithoutTicker.map(name => plainName(name.replace(UNIT_AFTER_NAME, '')))
  const columns: Columns = {}
  // Each role gets the column with its best known name, as written or without a unit after it.
  for (const role of ROLES) {
    const spelling = COLUMN_NAMES[role].find(text => plainNames.includes(text) || namesWithoutUnit.includes(text))
    if (spelling === undefined) continue
    const names = plainNames.includes(spelling) ? plainNames : namesWithoutUnit
    columns[role] = indexOfName({ file, line }, header, names, spelling)
  }
  // Programs write the dates of rows in a first column without a name.
  if (columns.date === undefined && plainNames[0] === '') columns.date = 0
  if (columns.time === columns.date) delete columns.time
  const volume = columns.volume ?? namesWithoutTicker.findIndex(name => VOLUME_IN_CURRENCY.test(name))
  if (volume >= 0) columns.volume = volume
  const tickerColumn = columns.ticker ?? plainNames.findIndex((name, i) => isTickerColumn(name, first?.[i]))
  if (tickerColumn >= 0) columns.ticker = tickerColumn
  const format = byTicker === null ? formatOf(header, plainNames) : formatByTicker(header, byTicker)
  return { format, names: header, columns, ticker: tickers[0] ?? null, parallelTickers: [] }
}

/** The names of the columns, with a name of no role for the columns of other tickers. */
function namesForTicker({ tickers, names }: ByTicker, ticker: string): string[] {
  return names.map((name, i) => (tickers[i] === null || tickers[i] === ticker ? name : OTHER_TICKERS_COLUMN))
}

/** The format of a header with tickers. yfinance has them on a second line, so that its names need no splitting. */
function formatByTicker(header: readonly string[], { names }: ByTicker): Format {
  if (names === header) return 'yfinance'
  return header.some(name => /\.open$/i.test(name)) ? 'quantmod' : 'csv'
}

/** Placeholder for the name of another ticker's column. */
const OTHER_TICKERS_COLUMN = 'column of another ticker'

/** A unit after a name: `Volume (BTC)`, `开盘价(元)`. */
const UNIT_AFTER_NAME = /\s*[(（][^()（）]*[)）]\s*$/

/** The volume of a pair in one of its currencies: `Volume BTC`. */
const VOLUME_IN_CURRENCY = /^volume (?!ma$)[a-z0-9]{2,10}$/i

/** Whether a column whose name is doubtful, such as `name`, has a ticker in the first row. */
function isTickerColumn(name: string, first: string | undefined): boolean {
  return DOUBTFUL_TICKERS.includes(name) && first !== undefined && parseTicker(first) === first
}

/** The roles that daily bars need and a layout does not have. */
export function missingBarRoles(columns: Columns): Role[] {
  return (['date', ...PRICES] as const).filter(role => columns[role] === undefined)
}

/** The normalized name of a column, without Alpha Vantage's numbering and currency (`1. open`, `1a. open (USD)`). */
function plainName(name: string): string {
  return normalizedColumnName(name.replace(/^\s*\d+[ab]?\. /, '').replace(/ \(USD\)$/, ''))
}

/** The ticker of each column, null where it has none, and the column's name without it. */
interface ByTicker {
  tickers: readonly (string | null)[]
  names: readonly string[]
}

const COLUMN_NAME = '(open|high|low|close|adj[ ._]?close|adjusted|volume|dividends|stock[ ._]splits|capital[ ._]gains)'
const TICKER_FIRST = new RegExp(`^(.+?)[._ |:/-]${COLUMN_NAME}$`, 'i')
const PRICE_FIRST = new RegExp(`^${COLUMN_NAME}[._ |:/-](.+)$`, 'i')
const WHOLE_NAME = new RegExp(`^${COLUMN_NAME}$`, 'i')
const TUPLE_NAME = /^\('(.+)', '(.+)'\)$/
/** Words before or after prices that are no tickers. */
const NO_TICKERS = new Set(['BID', 'ASK', 'MID', 'PRICE', 'ADJ', 'ADJUSTED', 'RAW', 'DAY', 'DAILY', 'INTEREST'])

/**
 * Splits names such as `AAPL.Open`, `Close_AAPL` and `('Close', 'AAPL')` into tickers and names. Returns null where
 * columns have plain names, or no ticker has all four prices.
 */
function tickersInNames(header: readonly string[]): ByTicker | null {
  const names = header.map(plainName)
  if (PRICES.every(role => COLUMN_NAMES[role].some(text => names.includes(text)))) return null
  const splitNames = header.map(splitTickerName)
  const tickers = splitNames.map(split => split?.ticker ?? null)
  const isComplete = (ticker: string) =>
    PRICES.every(role => splitNames.some(split => split?.ticker === ticker && plainName(split.name) === role))
  const completeTickers = new Set(tickers.filter(ticker => ticker !== null && isComplete(ticker)))
  if (completeTickers.size === 0) return null
  // A single word before all prices may be something else, unless a point follows it.
  if (completeTickers.size === 1 && !splitNames.some(split => split?.isSure)) return null
  return {
    tickers: tickers.map(ticker => (ticker !== null && completeTickers.has(ticker) ? ticker : null)),
    names: splitNames.map((split, i) =>
      split !== null && completeTickers.has(split.ticker) ? split.name : header[i]!,
    ),
  }
}

/**
 * The ticker and the price in a column's name; null where it has none. `isSure`: the form shows it, as in `AAPL.Open`,
 * `Open AAPL` or `('Open', 'AAPL')`. `Gap Open` may as well be a column of another kind.
 */
function splitTickerName(name: string): { ticker: string; name: string; isSure: boolean } | null {
  const match = TUPLE_NAME.exec(name) ?? PRICE_FIRST.exec(name) ?? TICKER_FIRST.exec(name)
  if (match === null) return null
  const [, left, right] = match
  const [price, symbol] = WHOLE_NAME.test(left!) ? [left!, right!] : [right!, left!]
  const ticker = parseTicker(symbol)
  if (ticker === null || NO_TICKERS.has(ticker) || !WHOLE_NAME.test(price)) return null
  const beginsWithTicker = name.startsWith(symbol)
  return { ticker, name: price, isSure: !beginsWithTicker || name[symbol.length] === '.' }
}

/** Index of a name among the plain names of a header, -1 if absent; throws BadData for a repeated name. */
export function indexOfName(
  place: { file: string; line: number },
  header: readonly string[],
  names: readonly string[],
  wanted: string,
): number {
  const first = names.indexOf(wanted)
  const second = names.indexOf(wanted, first + 1)
  if (second < 0) return first
  const repeated = [first, second].map(i => `column ${i + 1} ("${header[i]}")`).join(' and ')
  throw new BadData(place, `${repeated} have the same name; take one of them out`)
}

/** The vendor with this header, `csv` for an unknown one. It is only shown: columns are read by their own names. */
function formatOf(header: readonly string[], plainNames: readonly string[]): Format {
  const hasAll = (...wanted: string[]) => wanted.every(name => plainNames.includes(name))
  const text = header.join(',')
  if (/^(ticker,)?date,open,high,low,close,volume(,adj_close)?$/.test(text)) return 'bands csv'
  if (hasAll('stocksplits')) return 'yfinance'
  const vendor = VENDOR_ORDERS.find(order => order[1].join(',') === text)
  if (vendor !== undefined) return vendor[0]
  if (hasAll('price', 'change')) return 'investing'
  if (hasAll('code', 'ex')) return 'eodhd'
  if (hasAll('closelast') || text === 'date,close,volume,open,high,low') return 'nasdaq'
  if (hasAll('splitratio') && (hasAll('exdividend') || hasAll('adjclose'))) return 'quandl'
  if (hasAll('divcash') && hasAll('adjclose')) return 'tiingo'
  if (header[0] === 'timestamp' && hasAll('volume') && (plainNames.length === 6 || hasAll('splitcoefficient')))
    return 'alpha vantage csv'
  if (hasAll('adjclose') && header.includes('Adj Close')) return 'yahoo'
  if (text === 'Date,Open,High,Low,Close,Volume' || header[0] === '<TICKER>') return 'stooq'
  return 'csv'
}

const EXTENSIONS = /\.(csv|txt|tsv|json|ndjson|jsonl|gz|zip)$/i

/** The ticker of the option `ticker`, null where it is absent; throws InvalidParameter when it is malformed. */
export function parseTickerOption(text: string | undefined): string | null {
  if (text === undefined) return null
  const ticker = parseTicker(text)
  if (ticker !== null) return ticker
  throw invalid('not_allowed', { param: 'ticker', value: text, allowed: TICKER_SHAPE })
}

/**
 * The ticker of a file whose rows name none, and a remark where its name also has an exchange. Throws BadData if there
 * is none.
 * @param documentSymbol the symbol in the document; it is preferred to the file's name
 * @param suggestion a likely ticker, for the suggested command
 */
export function tickerOfFile(
  { file, entry }: Source,
  documentSymbol: string | null,
  format: Format,
  suggestion?: string,
): { ticker: string; remark: string | null } {
  if (documentSymbol !== null) return { ticker: tickerOfSymbol(file, documentSymbol), remark: null }
  const withRemedy = (ticker: string) => ({ remedy: typedLineWith('import', [file], { ticker }) })
  const advice = sentence`give it with ${parameter('ticker')}`
  if (file === '-') {
    const reason = sentence`standard input has no name that gives the ticker; ${advice}`
    throw new BadData({ file }, reason, withRemedy(suggestion ?? 'AAPL'))
  }
  const names = [entry, basename(file)].filter(name => name !== null).map(withoutExtensions)
  for (const name of names) {
    const { symbol: symbolOfName, exchange } = symbolInName(name, format) ?? {}
    const ticker = parseTicker(symbolOfName ?? '')
    if (ticker === null) continue
    const remark = `the ticker ${ticker} is from the name of the file, in which ${exchange} is the exchange`
    return { ticker, remark: exchange === undefined ? null : remark }
  }
  const name = names.at(-1)!
  const reason = `no column names the ticker, and the file's name (${name}) is no ticker`
  throw new BadData({ file }, sentence`${reason}; ${advice}`, withRemedy(suggestion ?? likelySymbol(name)))
}

/** A likely ticker in the name of a file, for the suggested command; AAPL where there is none. */
export function likelySymbol(name: string): string {
  const parts = name.split(/[^A-Za-z0-9.^=-]+/).filter(part => parseTicker(part) !== null)
  return (parts.find(part => !isOrigin(part)) ?? parts[0] ?? 'AAPL').toUpperCase()
}

/** A document's own symbol as a ticker; throws BadData when it is not one. */
export function tickerOfSymbol(file: string, symbol: string): string {
  const ticker = parseTicker(symbol)
  if (ticker !== null) return ticker
  const what = `its symbol ${quoted(symbol)} is not ${TICKER_SHAPE}`
  throw new BadData({ file }, sentence`${what}; give one with ${parameter('ticker')}`)
}

/** A file's name without its known extensions, of which it may have several: `AAPL.csv.gz` becomes `AAPL`. */
export function withoutExtensions(name: string): string {
  let rest = name
  while (EXTENSIONS.test(rest)) rest = rest.replace(EXTENSIONS, '')
  return rest
}
