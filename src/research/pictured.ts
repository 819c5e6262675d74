import type { Market } from '../market.js'
import type { Adjustment } from '../model/series.js'
import type { Backtest } from './backtest/result.js'
import { hashOfInputs, type Inputs, type PriceChart, priceCharts } from './chart.js'
import type { EventStudy } from './study/result.js'
import type { Sweep } from './sweep/result.js'

/** What a report of a result needs beside it. */

/** The prices around the events. */
export function studyCharts(market: Market, study: EventStudy): Promise<PriceChart[]> {
  return priceCharts(market, { ...study, marked: study.occurrences })
}

/** The prices around the signals that were traded. */
export function backtestCharts(market: Market, found: Backtest): Promise<PriceChart[]> {
  const marked = found.trades.map(({ ticker, signal_date: date, band }) => ({ ticker, date, band }))
  const { entry } = found.strategy as unknown as StrategyInputs
  return priceCharts(market, { ...found, field: entry.field, marked })
}

/**
 * Which prices and bands an answer stands on: how those of its tickers are adjusted (null where they differ), and the hash
 * of all of them, contexts and benchmarks included.
 */
export async function inputsOf(
  market: Market,
  found: EventStudy | Backtest | Sweep,
): Promise<{ adjustment: string | null; inputs: string }> {
  const kinds = new Set<Adjustment>()
  for (const ticker of found.tickers) kinds.add((await market.bars(ticker, found.timeframe)).adjustment)
  const [only, other] = kinds
  const adjustment = only === undefined || other !== undefined ? null : ADJUSTMENTS[only]
  return { adjustment, inputs: await hashOfInputs(market, inputsNamed(found)) }
}

function inputsNamed(found: EventStudy | Backtest | Sweep): Inputs {
  const { tickers, timeframe } = found
  if (found.schema === 'bands.sweep/1') return { tickers, timeframe, fields: found.fields, beside: found.contexts }
  if (found.schema === 'bands.study/1')
    return { tickers, timeframe, fields: [found.field], beside: besides(found.context, found.benchmark) }
  const { entry, exit, benchmark } = found.strategy as unknown as StrategyInputs
  const fields = [...new Set([entry.field, ...(exit.on === null ? [] : [exit.on.field])])]
  return { tickers, timeframe, fields, beside: besides(entry.context, benchmark) }
}

/** What is read of the document of a strategy. */
interface StrategyInputs {
  entry: { field: string; context: { ticker: string; field: string } | null }
  exit: { on: { field: string } | null }
  benchmark: string | null
}

function besides(context: { ticker: string; field: string } | null, benchmark: string | null): Inputs['beside'] & {} {
  return [...(context === null ? [] : [context]), ...(benchmark === null ? [] : [{ ticker: benchmark, field: null }])]
}

const ADJUSTMENTS: Readonly<Record<Adjustment, string>> = {
  adjusted: 'adjusted for splits and dividends',
  raw: 'as the files have them, not adjusted for dividends',
}
