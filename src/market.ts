import type { Day } from './model/day.js'
import type { Adjustment, AssetClass, Series } from './model/series.js'
import type { Timeframe } from './model/timeframe.js'

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
