import { createHash } from 'node:crypto'
import { formatDay, parseDay } from '../../core/model/day.js'
import { type Adjustment, UNDEFINED } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { first, type MarketBars, type PricedSource, type States } from '../../core/source.js'
import type { Backtest, Comparison, Grid } from '../../research/backtest/result.js'
import { fieldsOf } from '../../research/backtest/trade.js'
import type { EventStudy } from '../../research/study/result.js'
import type { Sweep } from '../../research/sweep/result.js'
import type { Tally } from '../../research/tally/tally.js'
import { describeBacktest } from './backtest.js'
import type { PriceChart } from './chart.js'
import { describeComparison } from './comparison.js'
import { compact, type Description } from './description.js'
import { describeGrid } from './grid.js'
import { describeStudy } from './study.js'
import { describeSweep } from './sweep.js'
import { bySpelling } from './words.js'

/** The results that have a page. */
export type Reported = Priced | Tally

/** The results that need prices; a tally only needs stored ranks. */
export type Priced = EventStudy | Backtest | Sweep | Grid | Comparison

/** Describes a result with the prices around its events, or around its traded signals. */
export async function describeWithPrices(market: PricedSource, found: Priced): Promise<Description> {
  if (found.schema === 'bands.sweep/3') return describeSweep(found)
  if (found.schema === 'bands.grid/3') return describeGrid(found)
  if (found.schema === 'bands.comparison/3') return describeComparison(found)
  if (found.schema === 'bands.study/3')
    return describeStudy(found, await priceCharts(market, { ...found, marked: found.occurrences }))
  const marked = found.trades.map(({ ticker, signal_date: date, band }) => ({ ticker, date, band }))
  const { entry, lag } = found.strategy
  return describeBacktest(found, await priceCharts(market, { ...found, field: entry.field, lag, marked }))
}

/**
 * The prices and bands of an answer: the adjustment of its tickers (null if they differ), and a hash of all, with
 * contexts and benchmarks.
 */
export async function inputsOf(
  source: PricedSource,
  found: Priced,
): Promise<{ adjustment: string | null; inputs: string }> {
  const kinds = new Set<Adjustment>()
  const inputs = await hashOfInputs(source, inputsNamed(found), kinds)
  const [only, other] = kinds
  return { adjustment: only === undefined || other !== undefined ? null : ADJUSTMENTS[only], inputs }
}

function inputsNamed(found: Priced): Inputs {
  const { tickers, timeframe } = found
  if (found.schema === 'bands.sweep/3') {
    const { fields, contexts, when, lag = 0 } = found
    return { tickers, timeframe, fields: compact([...fields, when]), lags: [lag], beside: contexts }
  }
  if ('fields' in found) return { tickers, timeframe, fields: found.fields, lags: found.lags, beside: found.contexts }
  if (found.schema === 'bands.study/3') {
    const { field, when, lag = 0, context, benchmark } = found
    return {
      tickers,
      timeframe,
      fields: compact([field, when]),
      lags: [lag],
      beside: comparedTickers(context, benchmark),
    }
  }
  const { entry, benchmark, lag = 0 } = found.strategy
  const compared = comparedTickers(entry.context, benchmark)
  return { tickers, timeframe, fields: fieldsOf(found.strategy), lags: [lag], beside: compared }
}

function comparedTickers(context: { ticker: string; field: string; lag?: number } | null, benchmark: string | null) {
  return compact([context, benchmark !== null && { ticker: benchmark, field: null }])
}

const ADJUSTMENTS: Readonly<Record<Adjustment, string>> = {
  adjusted: 'adjusted for splits and dividends',
  raw: 'as the files have them, not adjusted for dividends',
}

interface ChartQuestion {
  field: string
  timeframe: Timeframe
  lag?: number | undefined
  /** Dates of the first and the last drawn bar; null: all. */
  first: string | null
  last: string | null
  /** The marked events or signals. Tickers without marks are only drawn if no ticker has one. */
  marked: readonly { ticker: string; date: string; band: string }[]
  /** All tickers of the question. */
  tickers: readonly string[]
}

/** The largest number of price charts in a report. */
export const CHARTED_TICKERS = 6

/** The prices of the tickers with the most marks, then by name, sorted by name. */
export async function priceCharts(source: PricedSource, question: ChartQuestion): Promise<PriceChart[]> {
  const charts: PriceChart[] = []
  const { field, timeframe, lag } = question
  const tickers = chartedTickers(question)
  for await (const { prices, states } of source.states({ tickers, fields: [field], timeframe, lag }))
    charts.push(priceChart(prices, states[0]!, question))
  return charts
}

export function chartedTickers({ tickers, marked }: Pick<ChartQuestion, 'tickers' | 'marked'>): string[] {
  const marks = new Map(tickers.map(ticker => [ticker, 0]))
  for (const { ticker } of marked) marks.set(ticker, (marks.get(ticker) ?? 0) + 1)
  const ranked = [...marks].sort(([a, m], [b, n]) => n - m || bySpelling(a, b))
  const withMarks = ranked.filter(([, n]) => n > 0)
  const chosen = withMarks.length > 0 ? withMarks.slice(0, CHARTED_TICKERS) : ranked.slice(0, 1)
  return chosen.map(([ticker]) => ticker).sort()
}

function priceChart({ ticker, series }: MarketBars, states: States, question: ChartQuestion): PriceChart {
  const [first, last] = [question.first, question.last].map(date => (date === null ? null : parseDay(date)))
  const from = first == null ? 0 : series.days.findIndex(day => day >= first)
  const beyond = last == null ? -1 : series.days.findIndex(day => day > last)
  const bars = from < 0 ? [] : Array.from(series.days.subarray(from, beyond < 0 ? undefined : beyond))
  const dates = bars.map(formatDay)
  const indexByDate = new Map(dates.map((date, i) => [date, i]))
  return {
    ticker,
    field: question.field,
    dates,
    close: Array.from(series.close.subarray(from, from + bars.length)),
    bands: [...states.bands],
    codes: bars.map((_, i) => (states.codes[from + i] === UNDEFINED ? -1 : states.codes[from + i]!)),
    events: question.marked
      .filter(mark => mark.ticker === ticker && indexByDate.has(mark.date))
      .map(({ date, band }) => ({ at: indexByDate.get(date)!, band }))
      .sort((a, b) => a.at - b.at),
  }
}

/** The prices and bands of an answer. */
interface Inputs {
  tickers: readonly string[]
  fields: readonly string[]
  timeframe: Timeframe
  /** The numbers of bars that conditions among the fields look back at other tickers (default only 0). */
  lags?: readonly number[] | undefined
  /** Contexts with their lags, and benchmarks: other tickers with a field, or null for prices only. */
  beside?: readonly { ticker: string; field: string | null; lag?: number }[]
}

/**
 * SHA-256 of the bars of the tickers and the bands of the fields on them, as known on the as-of day. Two answers with
 * the same hash and command line are equal.
 * @param kinds receives the adjustments of the tickers' bars, which are only read once
 */
export async function hashOfInputs(
  source: PricedSource,
  { tickers, fields, timeframe, lags = [0], beside: compared = [] }: Inputs,
  kinds = new Set<Adjustment>(),
): Promise<string> {
  const hash = createHash('sha256')
  const ordered = { tickers: [...tickers].sort(), fields: [...fields].sort(), timeframe }
  for (const lag of lags) {
    if (lag > 0) hash.update(`lag ${lag}`)
    for await (const { prices, states } of source.states({ ...ordered, lag })) {
      kinds.add(prices.adjustment)
      hash.update(barBytes(prices))
      for (const one of states) hash.update(stateBytes(one))
    }
  }
  const named = new Map(
    compared.map(({ ticker, field, lag = 0 }) => [
      `${ticker} ${field}${lag > 0 ? ` lag ${lag}` : ''}`,
      { tickers: [ticker], fields: field === null ? [] : [field], timeframe },
    ]),
  )
  for (const [name, asked] of [...named].sort(([a], [b]) => bySpelling(a, b))) {
    const { prices, states } = await first(source.states(asked))
    hash.update(`beside ${name}`).update(barBytes(prices))
    for (const one of states) hash.update(stateBytes(one))
  }
  return hash.digest('hex')
}

function barBytes({ ticker, series, adjustment, delisting }: MarketBars): Buffer {
  const head = JSON.stringify([ticker, series.timeframe, adjustment, delisting, series.days.length])
  const columns = [series.days, series.open, series.high, series.low, series.close, series.volume]
  return Buffer.concat([Buffer.from(head), ...columns.map(bytes)])
}

function stateBytes({ field, bands, codes, from, to, stability, flips }: States): Buffer {
  return Buffer.concat([Buffer.from(JSON.stringify([field, bands, from, to])), codes, stability, flips])
}

function bytes(column: Int32Array | Float64Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}
