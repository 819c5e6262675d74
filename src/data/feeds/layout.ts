import { basename } from 'node:path'
import { BadData, invalid, parameter, quoted, remedy, sentence } from '../../core/errors.js'
import { parseTicker, TICKER_SHAPE } from '../../core/model/terms.js'
import type { Format } from './feed.js'
import {
  DOUBTFUL_TICKERS,
  isExchange,
  normalizedColumnName,
  PRICES,
  ROLES,
  type Role,
  SPELLINGS,
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
  /** Several tickers side by side, which share the date; empty where there is one column for each role. */
  parts: readonly { ticker: string; columns: Columns }[]
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

/** Throws BadData when the times at which the first bar opens and closes are not a day apart. */
export function checkSpan(file: string, names: readonly string[], first: readonly string[]): void {
  const [opened, closed] = ['opentime', 'closetime'].map(name => Number(first[names.map(plain).indexOf(name)]))
  const minutes = ((closed! - opened!) * (opened! > 1e14 ? 1e-6 : 1e-3)) / 60
  if (Number.isNaN(minutes) || Math.round(minutes) === 24 * 60) return
  const long = minutes > 24 * 60 ? `${Math.round(minutes / 24 / 60)} days` : `${Math.round(minutes)} minutes`
  throw new BadData({ file }, `these are bars of ${long}; only daily bars are imported`)
}

/** Whether a name spells one of some roles. */
export function spells(name: string, roles: readonly Role[] = ROLES): boolean {
  const text = plain(name)
  return roles.some(role => SPELLINGS[role].includes(text))
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
  const symbols = [...new Set(byTicker?.tickers.filter(ticker => ticker !== null))]
  if (byTicker !== null && symbols.length > 1) {
    const columnsOf = (ticker: string) => {
      const names = byTicker.names.map((name, i) => ([ticker, null].includes(byTicker.tickers[i]!) ? name : NO_NAME))
      return layoutOf(file, line, names, first, null).columns
    }
    const parts = symbols.map(ticker => ({ ticker, columns: columnsOf(ticker) }))
    const whole = parts.filter(({ columns }) => missingFrom(columns).length === 0)
    const columns = whole[0]?.columns ?? {}
    return { format: formatByTicker(header, byTicker), names: header, columns, ticker: null, parts: whole }
  }
  const [prefix = null] = symbols
  const own = byTicker?.names ?? header
  const names = own.map(plain)
  const bare = own.map(name => plain(name.replace(UNIT, '')))
  const columns: Columns = {}
  for (const role of ROLES) {
    const spelling = SPELLINGS[role].find(text => names.includes(text) || bare.includes(text))
    if (spelling === undefined) continue
    columns[role] = indexOfName({ file, line }, header, names.includes(spelling) ? names : bare, spelling)
  }
  if (columns.date === undefined && names[0] === '') columns.date = 0
  if (columns.time === columns.date) delete columns.time
  const volume = columns.volume ?? own.findIndex(name => VOLUME_OF.test(name))
  if (volume >= 0) columns.volume = volume
  const ticker = columns.ticker ?? names.findIndex((name, i) => isTickerColumn(name, first?.[i]))
  if (ticker >= 0) columns.ticker = ticker
  const format = byTicker === null ? formatOf(header, names) : formatByTicker(header, byTicker)
  return { format, names: header, columns, ticker: prefix, parts: [] }
}

function formatByTicker(header: readonly string[], { names }: ByTicker): Format {
  if (names === header) return 'yfinance'
  return header.some(name => /\.open$/i.test(name)) ? 'quantmod' : 'csv'
}

/** Placeholder for the name of another ticker's column. */
const NO_NAME = 'column of another ticker'

/** A unit after a name: `Volume (BTC)`, `开盘价(元)`. */
const UNIT = /\s*[(（][^()（）]*[)）]\s*$/

/** The volume of a pair in one of its currencies: `Volume BTC`. */
const VOLUME_OF = /^volume (?!ma$)[a-z0-9]{2,10}$/i

function isTickerColumn(name: string, first: string | undefined): boolean {
  return DOUBTFUL_TICKERS.includes(name) && first !== undefined && parseTicker(first) === first
}

/** The roles that daily bars need and a layout does not have. */
export function missingFrom(columns: Columns): Role[] {
  return (['date', ...PRICES] as const).filter(role => columns[role] === undefined)
}

/** A plain name without the numbering and the currency that Alpha Vantage puts around its names. */
function plain(name: string): string {
  return normalizedColumnName(name.replace(/^\s*\d+[ab]?\. /, '').replace(/ \(USD\)$/, ''))
}

/** Each column's ticker and its name without it. */
interface ByTicker {
  tickers: readonly (string | null)[]
  names: readonly string[]
}

const PRICE = '(open|high|low|close|adj[ ._]?close|adjusted|volume|dividends|stock[ ._]splits|capital[ ._]gains)'
const TICKER_FIRST = new RegExp(`^(.+?)[._ |:/-]${PRICE}$`, 'i')
const PRICE_FIRST = new RegExp(`^${PRICE}[._ |:/-](.+)$`, 'i')
const ONE_PRICE = new RegExp(`^${PRICE}$`, 'i')
const TUPLE = /^\('(.+)', '(.+)'\)$/
/** Words before or after prices that are no tickers. */
const NO_TICKERS = new Set(['BID', 'ASK', 'MID', 'PRICE', 'ADJ', 'ADJUSTED', 'RAW', 'DAY', 'DAILY', 'INTEREST'])

/** Names that each have a ticker (`AAPL.Open`, `Close_AAPL`, `('Close', 'AAPL')`); null where prices have their own names. */
function tickersInNames(header: readonly string[]): ByTicker | null {
  const names = header.map(plain)
  if (PRICES.every(role => SPELLINGS[role].some(text => names.includes(text)))) return null
  const cut = header.map(splitTupleName)
  const tickers = cut.map(found => found?.ticker ?? null)
  const isWhole = (ticker: string) =>
    PRICES.every(role => cut.some(found => found?.ticker === ticker && plain(found.name) === role))
  const whole = new Set(tickers.filter(ticker => ticker !== null && isWhole(ticker)))
  if (whole.size === 0) return null
  // One word before all prices is a ticker only if a point follows.
  const isOne = whole.size === 1 && cut.some(found => found?.isSure)
  if (whole.size === 1 && !isOne) return null
  return {
    tickers: tickers.map(ticker => (ticker !== null && whole.has(ticker) ? ticker : null)),
    names: cut.map((found, i) => (found !== null && whole.has(found.ticker) ? found.name : header[i]!)),
  }
}

function splitTupleName(name: string): { ticker: string; name: string; isSure: boolean } | null {
  const [, ...pair] = TUPLE.exec(name) ?? PRICE_FIRST.exec(name) ?? TICKER_FIRST.exec(name) ?? []
  const [price, symbol] = ONE_PRICE.test(pair[0] ?? '') ? pair : pair.reverse()
  const ticker = parseTicker(symbol ?? '')
  if (ticker === null || NO_TICKERS.has(ticker) || !ONE_PRICE.test(price ?? '')) return null
  return { ticker, name: price!, isSure: !name.startsWith(symbol!) || name[symbol!.length] === '.' }
}

/** Index of a name among the plain names of a header, -1 if absent; throws BadData for a repeated name. */
export function indexOfName(
  place: { file: string; line: number },
  header: readonly string[],
  names: readonly string[],
  wanted: string,
): number {
  const first = names.indexOf(wanted)
  const second = first < 0 ? -1 : names.indexOf(wanted, first + 1)
  if (second < 0) return first
  const repeated = [first, second].map(i => `column ${i + 1} ("${header[i]}")`).join(' and ')
  throw new BadData(place, `${repeated} have the same name; take one of them out`)
}

/** The vendor with this header. Only shown: columns are read by their own names. */
function formatOf(header: readonly string[], names: readonly string[]): Format {
  const has = (...wanted: string[]) => wanted.every(name => names.includes(name))
  const text = header.join(',')
  if (/^(ticker,)?date,open,high,low,close,volume(,adj_close)?$/.test(text)) return 'bands csv'
  if (has('stocksplits')) return 'yfinance'
  const theirs = VENDOR_ORDERS.find(order => order[1].join(',') === text)
  if (theirs !== undefined) return theirs[0]
  if (has('price', 'change')) return 'investing'
  if (has('code', 'ex')) return 'eodhd'
  if (has('closelast') || text === 'date,close,volume,open,high,low') return 'nasdaq'
  if (has('splitratio') && (has('exdividend') || has('adjclose'))) return 'quandl'
  if (has('divcash') && has('adjclose')) return 'tiingo'
  if (header[0] === 'timestamp' && has('volume') && (names.length === 6 || has('splitcoefficient')))
    return 'alpha vantage csv'
  if (has('adjclose') && header.includes('Adj Close')) return 'yahoo'
  if (text === 'Date,Open,High,Low,Close,Volume' || header[0] === '<TICKER>') return 'stooq'
  return 'csv'
}

const EXTENSIONS = /\.(csv|txt|tsv|json|ndjson|jsonl|gz|zip)$/i

/** The ticker that the user gave, null when none; throws InvalidParameter when it is malformed. */
export function tickerOption(text: string | undefined): string | null {
  if (text === undefined) return null
  const ticker = parseTicker(text)
  if (ticker !== null) return ticker
  throw invalid('not_allowed', { param: 'ticker', value: text, allowed: TICKER_SHAPE })
}

/** What gave a ticker that no row names. */
export interface NamedByFile {
  ticker: string
  /** Further contents of the file name, for a remark. */
  remark: string | null
}

/**
 * The ticker of a file whose rows name none: the document's own, or the name of the file without what a tool adds.
 * @param symbol what a column seems to say it is
 */
export function tickerOfFile(
  { file, entry }: Source,
  own: string | null,
  format: Format,
  symbol?: string,
): NamedByFile {
  if (own !== null) return { ticker: tickerOfSymbol(file, own), remark: null }
  const again = (ticker: string) => ({ remedy: remedy('import', [file], { ticker }, true) })
  const give = sentence`give it with ${parameter('ticker')}`
  if (file === '-') {
    const what = sentence`standard input has no name that gives the ticker; ${give}`
    throw new BadData({ file }, what, again(symbol ?? 'AAPL'))
  }
  const names = [entry, basename(file)].filter(name => name !== null).map(stem)
  for (const name of names) {
    const found = symbolInName(name, format)
    const ticker = found === null ? null : parseTicker(found.symbol)
    if (found === null || ticker === null) continue
    const { exchange } = found
    const what = `the ticker ${ticker} is from the name of the file, in which ${exchange} is the exchange`
    return { ticker, remark: exchange === undefined ? null : what }
  }
  const name = names.at(-1)!
  const what = `no column names the ticker, and the file's name (${name}) is no ticker`
  throw new BadData({ file }, sentence`${what}; ${give}`, again(symbol ?? likelySymbol(name)))
}

function likelySymbol(name: string): string {
  const parts = name.split(/[^A-Za-z0-9.^=-]+/).filter(part => parseTicker(part) !== null)
  const [first = 'AAPL', second] = parts
  return (second !== undefined && isExchange(first) ? second : first).toUpperCase()
}

/** The ticker that a document says it is of; throws BadData when that is none. */
export function tickerOfSymbol(file: string, symbol: string): string {
  const ticker = parseTicker(symbol)
  if (ticker !== null) return ticker
  const what = `its symbol ${quoted(symbol)} is not ${TICKER_SHAPE}`
  throw new BadData({ file }, sentence`${what}; give one with ${parameter('ticker')}`)
}

export function stem(name: string): string {
  let rest = name
  while (EXTENSIONS.test(rest)) rest = rest.replace(EXTENSIONS, '')
  return rest
}
