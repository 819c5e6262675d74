import { createHash } from 'node:crypto'
import { formatDay, parseDay } from '../../core/model/day.js'
import { type Adjustment, UNDEFINED } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { firstItem, type MarketBars, type PricedSource, type States } from '../../core/source.js'
import { fieldsOf } from '../../research/backtest/members.js'
import type { Backtest, Comparison, Grid } from '../../research/backtest/result.js'
import type { EventStudy } from '../../research/study/result.js'
import type { Sweep } from '../../research/sweep/result.js'
import type { Tally } from '../../research/tally/tally.js'
import { describeBacktest } from './backtest.js'
import type { ChartPrices } from './chart.js'
import { describeComparison } from './comparison.js'
import { compact, type Description } from './description.js'
import { describeGrid } from './grid.js'
import { describeStudy } from './study.js'
import { describeSweep } from './sweep.js'
import { compareTexts } from './words.js'

export type PagedResult = PricedResult | Tally

/** The results that need prices; a tally only needs stored ranks. */
export type PricedResult = EventStudy | Backtest | Sweep | Grid | Comparison

/** Describes a result for its page; a study or a backtest with charts of the prices around its events or signals. */
export async function describeWithPrices(market: PricedSource, result: PricedResult): Promise<Description> {
  if (result.schema === 'bands.sweep/2') return describeSweep(result)
  if (result.schema === 'bands.grid/3') return describeGrid(result)
  if (result.schema === 'bands.comparison/3') return describeComparison(result)
  if (result.schema === 'bands.study/2')
    return describeStudy(result, await readChartPrices(market, { ...result, marked: result.occurrences }))
  const marked = result.trades.map(({ ticker, signal_date: date, band }) => ({ ticker, date, band }))
  const { entry, lag } = result.strategy
  return describeBacktest(result, await readChartPrices(market, { ...result, field: entry.field, lag, marked }))
}

/** The adjustment of the tickers' prices, null if they differ, and `inputs`, a hash of all bars and bands. */
export async function describeInputs(
  source: PricedSource,
  result: PricedResult,
): Promise<{ adjustment: string | null; inputs: string }> {
  const adjustments = new Set<Adjustment>()
  const inputs = await hashOfInputs(source, inputsOfResult(result), adjustments)
  const [adjustment] = adjustments
  const isUniform = adjustment !== undefined && adjustments.size === 1
  return { adjustment: isUniform ? ADJUSTMENTS[adjustment] : null, inputs }
}

/** The tickers, fields, lags, contexts and benchmarks that a result depends on. */
function inputsOfResult(result: PricedResult): Inputs {
  const { tickers, timeframe } = result
  if (result.schema === 'bands.sweep/2') {
    const { fields, contexts, when, lag = 0 } = result
    return { tickers, timeframe, fields: compact([...fields, when]), lags: [lag], companions: contexts }
  }
  // A grid or a comparison already lists its inputs.
  if ('fields' in result)
    return { tickers, timeframe, fields: result.fields, lags: result.lags, companions: result.contexts }
  if (result.schema === 'bands.study/2') {
    const { field, when, lag = 0, context, benchmark } = result
    const companions = contextAndBenchmark(context, benchmark)
    return { tickers, timeframe, fields: compact([field, when]), lags: [lag], companions }
  }
  const { entry, benchmark, lag = 0 } = result.strategy
  const companions = contextAndBenchmark(entry.context, benchmark)
  return { tickers, timeframe, fields: fieldsOf(result.strategy), lags: [lag], companions }
}

/** The companions of a question: its context, and its benchmark without a field, each if there is one. */
function contextAndBenchmark(context: Companion | null, benchmark: string | null): Companion[] {
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
  tickers: readonly string[]
}

export const MOST_PRICE_CHARTS = 6

/** Reads the prices and bands of the tickers that tickersToChart chooses. */
export async function readChartPrices(source: PricedSource, question: ChartQuestion): Promise<ChartPrices[]> {
  const charts: ChartPrices[] = []
  const { field, timeframe, lag } = question
  const tickers = tickersToChart(question)
  for await (const { prices, states } of source.states({ tickers, fields: [field], timeframe, lag }))
    charts.push(chartPricesOf(prices, states[0]!, question))
  return charts
}

/** The MOST_PRICE_CHARTS tickers with the most marks, sorted; the first by name if no ticker has one. */
export function tickersToChart({ tickers, marked }: Pick<ChartQuestion, 'tickers' | 'marked'>): string[] {
  const marksByTicker = new Map(tickers.map(ticker => [ticker, 0]))
  for (const { ticker } of marked) marksByTicker.set(ticker, (marksByTicker.get(ticker) ?? 0) + 1)
  const ranked = [...marksByTicker].sort(([a, marksOfA], [b, marksOfB]) => marksOfB - marksOfA || compareTexts(a, b))
  const withMarks = ranked.filter(([, marks]) => marks > 0)
  const chosen = withMarks.length > 0 ? withMarks.slice(0, MOST_PRICE_CHARTS) : ranked.slice(0, 1)
  return chosen.map(([ticker]) => ticker).sort()
}

/** The bars, bands and marks of one ticker from the first to the last drawn bar. */
function chartPricesOf({ ticker, series }: MarketBars, states: States, question: ChartQuestion): ChartPrices {
  const firstDay = question.first === null ? null : parseDay(question.first)
  const lastDay = question.last === null ? null : parseDay(question.last)
  // Bars from `from` to before `to`; none if all of them are before the first day.
  const indexOrEnd = (index: number): number => (index < 0 ? series.days.length : index)
  const from = firstDay === null ? 0 : indexOrEnd(series.days.findIndex(day => day >= firstDay))
  const to = indexOrEnd(lastDay === null ? -1 : series.days.findIndex(day => day > lastDay))
  const days = Array.from(series.days.subarray(from, to))
  const dates = days.map(formatDay)
  const indexByDate = new Map(dates.map((date, i) => [date, i]))
  return {
    ticker,
    field: question.field,
    dates,
    close: Array.from(series.close.subarray(from, from + days.length)),
    bands: [...states.bands],
    codes: days.map((_, i) => (states.codes[from + i] === UNDEFINED ? -1 : states.codes[from + i]!)),
    events: question.marked
      .filter(mark => mark.ticker === ticker && indexByDate.has(mark.date))
      .map(({ date, band }) => ({ at: indexByDate.get(date)!, band }))
      .sort((a, b) => a.at - b.at),
  }
}

/** Another ticker that a question compares with: a context with its field and lag, or a benchmark (field null). */
interface Companion {
  ticker: string
  field: string | null
  lag?: number
}

interface Inputs {
  tickers: readonly string[]
  fields: readonly string[]
  timeframe: Timeframe
  /** The numbers of bars that conditions among the fields look back at other tickers (default only 0). */
  lags?: readonly number[] | undefined
  companions?: readonly Companion[]
}

/**
 * SHA-256 of the bars of the tickers and the bands of the fields on them, then of each companion, as known on the as-of
 * day. Two answers with the same hash and command line are equal.
 * @param adjustments the adjustments of the tickers' bars are added to this set, so that no bar is read twice
 */
export async function hashOfInputs(
  source: PricedSource,
  { tickers, fields, timeframe, lags = [0], companions = [] }: Inputs,
  adjustments = new Set<Adjustment>(),
): Promise<string> {
  const hash = createHash('sha256')
  const addTicker = (prices: MarketBars, states: readonly States[]): void => {
    hash.update(barBytes(prices))
    for (const fieldStates of states) hash.update(stateBytes(fieldStates))
  }
  const sortedInputs = { tickers: [...tickers].sort(), fields: [...fields].sort(), timeframe }
  for (const lag of lags) {
    if (lag > 0) hash.update(`lag ${lag}`)
    for await (const { prices, states } of source.states({ ...sortedInputs, lag })) {
      adjustments.add(prices.adjustment)
      addTicker(prices, states)
    }
  }
  // A companion that is named twice is read once. Its lag is hashed with its name; its bars are those without lag.
  const queriesByName = new Map(
    companions.map(({ ticker, field, lag = 0 }) => [
      `${ticker} ${field}${lag > 0 ? ` lag ${lag}` : ''}`,
      { tickers: [ticker], fields: field === null ? [] : [field], timeframe },
    ]),
  )
  for (const [name, query] of [...queriesByName].sort(([a], [b]) => compareTexts(a, b))) {
    const { prices, states } = await firstItem(source.states(query))
    hash.update(`beside ${name}`)
    addTicker(prices, states)
  }
  return hash.digest('hex')
}

/** The bars of a ticker as bytes for a hash: its properties as JSON, then its columns. */
function barBytes({ ticker, series, adjustment, delisting }: MarketBars): Buffer {
  const head = JSON.stringify([ticker, series.timeframe, adjustment, delisting, series.days.length])
  const columns = [series.days, series.open, series.high, series.low, series.close, series.volume]
  return Buffer.concat([Buffer.from(head), ...columns.map(bytesOf)])
}

/** The bands of a field as bytes for a hash: its name, bands and range as JSON, then the columns of each bar. */
function stateBytes({ field, bands, codes, from, to, stability, flips }: States): Buffer {
  return Buffer.concat([Buffer.from(JSON.stringify([field, bands, from, to])), codes, stability, flips])
}

function bytesOf(column: Int32Array | Float64Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}
