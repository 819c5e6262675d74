import { InvalidParameter } from '../../errors.js'
import type { Day } from '../../model/day.js'
import type { Timeframe } from '../../model/timeframe.js'
import { whole } from '../amounts.js'
import type { WalkForward } from '../backtest/strategy.js'
import type { Adjustment } from './result.js'

/** What a sweep looks at, and how: parsed and complete. */
export interface SweepQuery {
  tickers: readonly string[]
  timeframe: Timeframe
  fields: readonly string[]
  /** Windows in bars. */
  horizons: readonly number[]
  /** Each makes cells of its own, one for every band that it was in. */
  contexts: readonly SweepContext[]
  /** One cell for all tickers together, or one for each. */
  by: 'pool' | 'ticker'
  /** Cells are told apart by the band left, too. */
  prevBand: boolean
  /** Both exclusive, of the day of the event. */
  after: Day | null
  before: Day | null
  minEvents: number
  /** Shifts drawn where more than 2,000 are possible. */
  reps: number | 'all'
  /** Bootstrap resamples: of each interval, and of the test of the best. */
  resamples: number
  adjust: Adjustment
  family: 'run' | 'ledger'
  /** At most one of these: the first day of what is checked on, YYYY-MM-DD; bars of each part; folds. */
  split: string | null
  walkForward: WalkForward | null
  cv: { k: number; embargo: number } | null
  cpcv: { n: number; k: number } | null
  pboBlocks: number
  seed: number
}

export interface SweepContext {
  ticker: string
  field: string
  lag: 0 | 1
}

/** So many that a table of them still fits the memory. */
export const MOST_CELLS = 500_000

/** Throws InvalidParameter for a question that has no cells, too many, or two ways of validation. */
export function checkQuery(query: SweepQuery, cells: number): void {
  for (const [param, list] of [
    ['ticker', query.tickers],
    ['fields', query.fields],
    ['horizon', query.horizons],
  ] as const) {
    if (list.length === 0) throw new InvalidParameter(`a sweep needs a ${param}.`, { param })
  }
  const ways = (['split', 'walkForward', 'cv', 'cpcv'] as const).filter(way => query[way] !== null)
  if (ways.length > 1)
    throw new InvalidParameter(`${ways.join(' and ')} are two ways to the same end; choose one.`, { param: ways[1]! })
  if (cells > MOST_CELLS) {
    const allowed = `at most ${whole(MOST_CELLS)} cells`
    const what = `${whole(cells)} cells are more than a sweep takes`
    const advice = 'ask for fewer tickers, fields, windows or contexts, or for all tickers together'
    throw new InvalidParameter(`${what}: ${allowed}; ${advice}.`, { param: 'fields', value: cells, allowed })
  }
}
