import type { Market } from '../market.js'
import type { Adjustment } from '../model/series.js'
import type { Timeframe } from '../model/timeframe.js'
import type { Backtest } from './backtest/result.js'
import { hashOfInputs, type PriceChart, priceCharts } from './chart.js'
import type { EventStudy } from './study/result.js'

/** What a report of a result needs beside it. */

/** The prices around the events. */
export function studyCharts(market: Market, study: EventStudy): Promise<PriceChart[]> {
  return priceCharts(market, { ...study, marked: study.occurrences })
}

/** The prices around the signals that were traded. */
export function backtestCharts(market: Market, found: Backtest): Promise<PriceChart[]> {
  const marked = found.trades.map(({ ticker, signal_date: date, band }) => ({ ticker, date, band }))
  return priceCharts(market, { ...found, field: fieldOf(found), marked })
}

/** The field whose events a backtest trades. */
export function fieldOf({ strategy }: Backtest): string {
  return (strategy.entry as { field: string }).field
}

/** Which prices and bands an answer stands on: how they are adjusted (null where the tickers differ), and their hash. */
export async function inputsOf(
  market: Market,
  asked: { tickers: readonly string[]; fields: readonly string[]; timeframe: Timeframe },
): Promise<{ adjustment: string | null; inputs: string }> {
  const kinds = new Set<Adjustment>()
  for (const ticker of asked.tickers) kinds.add((await market.bars(ticker, asked.timeframe)).adjustment)
  const [only, other] = kinds
  const adjustment = only === undefined || other !== undefined ? null : ADJUSTMENTS[only]
  return { adjustment, inputs: await hashOfInputs(market, asked) }
}

const ADJUSTMENTS: Readonly<Record<Adjustment, string>> = {
  adjusted: 'adjusted for splits and dividends',
  raw: 'as the files have them, not adjusted for dividends',
}
