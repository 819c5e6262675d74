import type { Day } from '../model/day.js'
import type { Stability } from '../model/series.js'
import type { Tier, Timeframe } from '../model/terms.js'

/** Rules made of events, parsed and complete: what a backtest is run with. A strategy file and flags end as this. */
export interface Strategy {
  name: string | null
  /** Ascending, each once. */
  tickers: readonly string[]
  timeframe: Timeframe
  side: Side
  /** What is a signal. */
  entry: EventFilter
  fill: Fill
  exit: Exit
  overlap: 'skip' | 'allow' | 'extend'
  costs: Costs
  portfolio: Portfolio
  /** A ticker to compare with, beside buy and hold of the same tickers. */
  benchmark: string | null
  /** Risk-free rate a year, a fraction. */
  riskFree: number
  seed: number
}

/** What is not 0, nothing or the plainest of its kind where it is left out. */
export const UNLESS_GIVEN: Readonly<Record<'bps' | 'maxPositions' | 'capital' | 'cap', number>> = {
  bps: 5,
  maxPositions: 10,
  capital: 1,
  cap: 1,
}

/** A strategy as a file spells it: what `documentOf` gives and `strategyOf` takes. */
export type StrategyDocument = Record<string, unknown>

export type Side = 'long' | 'short'

/** Signal at bar t: filled at the open of t + 1, at the close of t + 1, or (not tradable on such data) at the close of t. */
export type Fill = 'next-open' | 'next-close' | 'close'

/** Whichever comes first; null: not used. */
export interface Exit {
  /** Close of the bar so many after the signal. */
  hold: number | null
  /** On the first later event of the field. */
  leave: boolean
  /** On the first later event that enters one of these bands, of the entry's field unless another is named. */
  on: { field: string; bands: readonly string[] } | null
  stop: Distance | null
  target: Distance | null
  trailing: Distance | null
}

/** From the entry price: a fraction of it, or a multiple of the ATR at the signal's bar. */
export type Distance = { fraction: number } | { atr: number }

/** All a side unless said otherwise. */
export interface Costs {
  /** Commission and half the spread, basis points of the traded value. */
  bps: number
  /** Slippage, basis points of the traded value; together with the above the c of every formula. */
  slippageBps: number
  /** Money a share. */
  perShare: number
  /** Money a fill. */
  fixed: number
  /** Of a short's entry value, a fraction a year. */
  borrow: number
}

interface Portfolio {
  capital: number
  maxPositions: number
  sizing: Sizing
  wholeShares: boolean
  /** Interest on cash a year, a fraction. */
  cashRate: number
  /** More signals than places on one date: in the order of tickers, or drawn by the seed. */
  shuffle: boolean
}

/** equal: 1 / maxPositions; vol-target: target / (NATR at the signal · √bars a year), at most `cap`. Of equity. */
export type Sizing =
  | { method: 'equal' }
  | { method: 'fixed-fraction'; fraction: number }
  | { method: 'vol-target'; target: number; cap: number }

/** What else a run is asked for; not part of the strategy. */
export interface RunOptions {
  tier: Tier | null
  /** Random entries drawn to compare with. */
  reps: number
  /** First date of the second half: the first is for choosing, the second for checking. */
  split: string | null
  walkForward: WalkForward | null
  /** Fewer closed trades than this are warned of. */
  minTrades: number
  /** What the Sharpe ratio is deflated by: the strategies of this run (unless given), or all that the ledger knows. */
  family?: 'run' | 'ledger'
  /** Bars left out before the split date, between what is chosen on and what is checked on; 0 unless given. */
  embargo?: number
  /**
   * Strategies of which the training part of each fold chooses one, by the t statistic of the mean net return a trade; the
   * strategy itself is not among them unless it is named. None unless given.
   */
  candidates?: readonly Strategy[]
}

/** Bars of training, of testing, from one fold to the next; anchored: training always begins with the first bar. */
export interface WalkForward {
  train: number
  test: number
  step: number
  anchored: boolean
  embargo: number
}

/**
 * Which events count as signals. Everything here is known when the event happens; how long a band lasts and what follows
 * are not, and cannot be asked for.
 */
export interface EventFilter {
  field: string
  timeframe: Timeframe
  /** Bands entered; null: any. */
  bands: readonly string[] | null
  /** Bands left; null: any. */
  prevBands: readonly string[] | null
  stability: readonly Stability[] | null
  /** At most so many flips in the lookback at entry. */
  maxFlips: number | null
  context: ContextFilter | null
  /** Both exclusive, of the day of the event. */
  after: Day | null
  before: Day | null
}

/** The bands that a second ticker was in on the date of the event (lag 0), or at its bar before that date (lag 1). */
export interface ContextFilter {
  ticker: string
  field: string
  bands: readonly string[] | null
  lag: 0 | 1
}
