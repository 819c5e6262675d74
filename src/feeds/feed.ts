import type { Words } from '../errors.js'
import type { Day } from '../model/day.js'
import type { FactKind, FactRecords } from '../model/facts.js'
import type { Adjustment, Series } from '../model/series.js'

/** One file to read; `name` is what people see (`-` for standard input, whose path is null). */
export interface Input {
  name: string
  path: string | null
  bytes: number | null
}

/** Layouts that are told apart and shown; `csv` and `json rows` are those of no known vendor. */
export const FORMATS = [
  'bands csv',
  'yahoo',
  'yfinance',
  'stooq',
  'nasdaq',
  'alpha vantage csv',
  'tiingo',
  'quandl',
  'quantmod',
  'lean equity',
  'lean crypto',
  'investing',
  'binance',
  'kraken',
  'eodhd',
  'csv',
  'yahoo chart json',
  'alpha vantage json',
  'polygon',
  'hqchart',
  'alpaca',
  'nasdaq data link',
  'json rows',
] as const

export type Format = (typeof FORMATS)[number]

/** What the user may say to overrule detection, as typed; a value that is not allowed is an InvalidParameter. */
export interface Hints {
  /** A name of FORMATS. Settles the scale of a LEAN file; otherwise the file must be of this format. */
  format?: string
  /** The character, or comma, semicolon, tab, pipe. */
  delimiter?: string
  /** A name of DATE_FORMATS. */
  dateFormat?: string
  decimal?: string
  /** The IANA name of the exchange's time zone, in which days begin; for dates with a time of day. */
  timeZone?: string
  /** Names of the columns, separated by commas; they take the place of a header line, where there is one. */
  header?: string
}

export interface Progress {
  /** Bytes of the file as it lies on disk. */
  bytes: number
  total: number | null
  rows: number
}

export interface ReadOptions {
  ticker?: string
  /** Default: adjusted where the file has an adjusted close, raw otherwise. */
  prices?: Adjustment
  /** Load the good rows and hand back the bad ones, instead of refusing the file at its first bad row. */
  skipBadRows?: boolean
  hints?: Hints
  /** The day on which facts without a date of their own became known, such as that of a download. */
  known?: Day
  /** Which day it is: no bar is later than the next one. The UTC day of this machine's clock unless given. */
  today?: Day
  stdin?: AsyncIterable<string | Uint8Array>
  /** Called after every chunk of the file; the caller throttles. */
  onProgress?(progress: Progress): void
}

/** The good bars of one ticker: daily, ascending, `known` is `days`. */
export interface TickerBars {
  ticker: string
  bars: Series
  prices: Adjustment
  /** They wait in a temporary file, from which they are read whenever they are asked for. */
  waits?: true
}

/** A row that is no bar, with the place of its first fault and its raw text, to be mended and loaded again. */
export interface Rejected {
  line: number
  column: number
  reason: Words
  text: string
}

/** What may be odd about the bars of a file, in the order in which it is told. */
export const ODDITIES = ['sundays', 'not_daily', 'doubled', 'outside_range', 'zero_volume', 'gap', 'jump'] as const
export type WarningKind = (typeof ODDITIES)[number] | 'other_name'

export interface Oddity {
  ticker: string
  date: string
  /** `file:line`. */
  place: string
  detail: Words
}

/** Bars that look odd and stay: how many, and at most three of them. */
export interface Warning {
  kind: WarningKind
  count: number
  first: Oddity[]
}

/** What is told of any file that was read. */
interface FileRead {
  file: string
  /** What was detected or given, in words for people: delimiter, quotes, header, dates, order … */
  dialect: Record<string, string>
  /** The header as it stands in the file, to head a file of rejects; null for JSON, XML and files without one. */
  header: string | null
  /** Rows of data, bad ones included. */
  rows: number
  /** In the order of the file; empty unless `skipBadRows`. */
  rejected: Rejected[]
  remarks: Remark[]
}

export interface ReadResult extends FileRead {
  holds: 'bars'
  format: Format
  /** Sorted by ticker; each has at least one bar. */
  tickers: TickerBars[]
  /** The tickers of which no row has a volume. */
  withoutVolume: string[]
  warnings: Warning[]
  adjustmentNote: string
  /** To be called when nobody looks at the bars any more: what memory did not hold goes. null: memory held all. */
  release: (() => void) | null
}

/** Records of one kind of one ticker, in the order of the file. */
export interface TickerFacts<Kind extends FactKind = FactKind> {
  ticker: string
  kind: Kind
  records: readonly FactRecords[Kind][]
}

/** Something about a file that its user ought to know: what was left out or assumed, how often, where first. */
export interface Remark {
  what: Words
  count: number
  /** At most three places, `file:line` or a value. */
  first: string[]
}

export interface FactsResult extends FileRead {
  holds: 'facts'
  /** The layout, in words for people: `reports csv`, `SEC company facts`. */
  format: string
  /** By ticker, then kind; each has at least one record. */
  facts: TickerFacts[]
}
