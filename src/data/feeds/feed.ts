import type { Words } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import type { FactKind, FactRecords } from '../../core/model/facts.js'
import type { Adjustment, Series } from '../../core/model/series.js'

/** One file to read; `name` is what people see (`-` for standard input, whose path is null). */
export interface Input {
  name: string
  path: string | null
  bytes: number | null
}

/** Recognised layouts, as shown; `csv` and `json rows` belong to no known vendor. */
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

/** The user's hints, as typed, which overrule detection; an invalid value throws InvalidParameter. */
export interface Hints {
  /** A name of FORMATS. Settles the scale of a LEAN file; otherwise the file must be of this format. */
  format?: string
  /** The character, or comma, semicolon, tab, pipe. */
  delimiter?: string
  dateFormat?: string
  decimal?: string
  /** The IANA name of the exchange's time zone, in which days begin; for dates with a time of day. */
  timeZone?: string
  /** Names of the columns, separated by commas; they replace the header line, if there is one. */
  header?: string
}

export interface Progress {
  /** Size of the file on disk. */
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
  /** Today's date (default: the UTC day of this machine's clock): no bar is later than tomorrow. */
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
  /** They are in a temporary file, and are read from it on each use. */
  spilled?: true
}

/** A bad row with the position of its first fault and its raw text, so that it can be corrected and loaded again. */
export interface Rejected {
  line: number
  column: number
  reason: Words
  text: string
}

/** Kinds of odd bars in a file, in the order of reporting. */
export const ODDITIES = ['sundays', 'not_daily', 'doubled', 'outside_range', 'zero_volume', 'gap', 'jump'] as const
export type WarningKind = (typeof ODDITIES)[number] | 'other_name'

export interface Oddity {
  ticker: string
  date: string
  /** `file:line`. */
  place: string
  detail: Words
}

/** Odd bars that are loaded: their number, and at most three of them. */
export interface Warning {
  kind: WarningKind
  count: number
  first: Oddity[]
}

/** The result for any file. */
interface FileRead {
  file: string
  /** The dialect, detected or from hints, in words: delimiter, quotes, header, dates, order … */
  dialect: Record<string, string>
  /** The header's raw text, for a file of rejects; null for JSON, XML and files without one. */
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
  /** The tickers without any volume. */
  withoutVolume: string[]
  warnings: Warning[]
  adjustmentNote: string
  /** Call it when the bars are no longer needed: it deletes the temporary file. null: all bars are in memory. */
  release: (() => void) | null
}

/** Records of one kind of one ticker, in the order of the file. */
export interface TickerFacts<Kind extends FactKind = FactKind> {
  ticker: string
  kind: Kind
  records: readonly FactRecords[Kind][]
}

/** A remark about a file: what was left out or assumed, how often, and the first case. */
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
