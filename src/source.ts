import type { Day } from './model/day.js'
import type { Baseline, EventHistory, EventsPage, EventsQuery, HistoryQuery } from './model/event.js'
import type { OversoldPage, OversoldQuery } from './model/oversold.js'
import type { Adjustment, AssetClass, Series } from './model/series.js'
import type { Timeframe } from './model/terms.js'

/**
 * What anyone may ask, whoever answers: the local cache, or a server with a key. Questions that stand on events (tally,
 * transitions, now) are built on this alone, so they work on either.
 */
export interface Bands {
  /** The specified search. Throws TierRestricted above the caller's tier, NotFound for a ticker that is not there. */
  events(query: EventsQuery): Promise<EventsPage>
  /** Which tickers are oversold: `GET /v1/scan/oversold`. Throws TierRestricted for a date below Plus, or out of range. */
  oversold(query: OversoldQuery): Promise<OversoldPage>
  /** All matching events of the tier's range. Throws as `events` does. */
  history(query: HistoryQuery): Promise<EventHistory>
  /** What followed any bar of the same range; null where the answerer knows no prices. */
  baseline(query: HistoryQuery): Promise<Baseline | null>
  /** Well-formed tickers that can be asked for, ascending; null where the answerer does not tell. */
  tickers(): Promise<readonly string[] | null>
  close(): Promise<void>
}

/**
 * Prices and bands by bar, as known on the as-of day: what event studies, backtests and sweeps stand on. Who answers may
 * have the bands from elsewhere (a server) than the prices.
 */
export interface Market {
  /** The bars of a ticker. Throws NotFound with the nearest tickers. */
  bars(ticker: string, timeframe: Timeframe): Promise<MarketBars>
  /** One field on those bars. Throws NotFound, TierRestricted, Busy as a question about its events does. */
  states(ticker: string, field: string, timeframe: Timeframe): Promise<States>
  /** Tickers with bars, ascending. */
  tickers(): Promise<readonly string[]>
  /** The day as of which all of it is known; null where there is nothing. */
  asOf(): Promise<Day | null>
  /** What must be said of everything that it told so far, in sentences: bars that were lacking, bands of another. */
  remarks(): readonly string[]
}

export interface MarketBars {
  ticker: string
  /** null: not told; then no fundamental field counts it as anything but a stock. */
  assetClass: AssetClass | null
  adjustment: Adjustment
  /** All bars that were final on the as-of day, oldest first. */
  series: Series
  /** 252; 365 for a ticker that trades at weekends; 52 weekly. */
  barsAYear: number
  /** How trading of it ended, where that was known on the as-of day: when, not before the last bar, and a share's worth then. */
  delisting: { day: Day; price: number } | null
}

/** One field of one ticker, in columns. Bars are numbered as in the series of `bars`. */
export interface States {
  ticker: string
  field: string
  timeframe: Timeframe
  /** The field's vocabulary, in its order; codes are places in it. */
  bands: readonly string[]
  /** Band on each bar of the series; UNDEFINED where there is none. */
  codes: Uint8Array
  /** Bars that the caller may ask about: from the first, up to and without the last. Others may be looked back at only. */
  from: number
  to: number
  /** Events on those bars, oldest first: bar, band entered, band left. */
  bars: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** Of each event: index into STABILITIES, flips in the lookback; 255 where the answerer does not tell. */
  stability: Uint8Array
  flips: Uint8Array
  /**
   * The band entered by the last transition before the first event here, and the first day on which that is known; absent
   * where there was none. It is what a second ticker was in on dates of the range before its first event.
   */
  earlier?: { band: number; since: Day }
  /** The last day of which it was told; absent where everything up to the as-of day is here. */
  upTo?: Day
}

/**
 * The trial ledger: every distinct cell or strategy that was ever looked at, known by the hash of what was asked and of
 * the range of data that answered. The number of looks is what a best result has to be deflated by.
 */
export interface Trials {
  /** Adds those that are new. The answer: how many distinct ones there are now, of the kind and of all kinds. */
  note(kind: TrialKind, trials: readonly Trial[]): Promise<{ ofKind: number; all: number }>
  /** All of a kind, in the order in which they came. */
  of(kind: TrialKind): Promise<readonly Trial[]>
  close(): Promise<void>
}

export type TrialKind = 'cell' | 'strategy'

export interface Trial {
  /** Hex SHA-256 of the spec and the data range, canonical JSON. */
  hash: string
  /** The same for people: `rsi_zone = oversold, 20d, 505 tickers, 2013-02-08 to 2018-02-07`. */
  spec: string
  /** Two-sided p of a cell; null where it has none. */
  p: number | null
  /** Sharpe ratio per bar, of a strategy or of a cell's calendar-time portfolio; null where it has none. */
  sharpe: number | null
}
