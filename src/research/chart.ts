import { createHash } from 'node:crypto'
import type { Market, MarketBars, States } from '../market.js'
import { formatDay, parseDay } from '../model/day.js'
import { UNDEFINED } from '../model/record.js'
import type { Timeframe } from '../model/timeframe.js'

/** What the chart of one ticker's price needs. */
export interface PriceChart {
  ticker: string
  field: string
  dates: string[]
  close: number[]
  /** The field's vocabulary, in its order. */
  bands: string[]
  /** Of each bar, its place in `bands`; -1: none. */
  codes: number[]
  /** Bars at which something happened that the report is about, ascending. */
  events: { at: number; band: string }[]
}

export interface ChartQuestion {
  field: string
  timeframe: Timeframe
  /** Dates of the first and the last bar drawn; null: all that there is. */
  first: string | null
  last: string | null
  /** What is marked: events, or signals. Tickers without any are charted only if no ticker has one. */
  marked: readonly { ticker: string; date: string; band: string }[]
  /** All that were asked about. */
  tickers: readonly string[]
}

/** A report draws the price of at most so many tickers. */
export const CHARTED_TICKERS = 6

/** The prices to draw: of the tickers with most marks (by name where as many), in the order of their names. */
export async function priceCharts(market: Market, question: ChartQuestion): Promise<PriceChart[]> {
  const charts: PriceChart[] = []
  for (const ticker of chartedTickers(question)) {
    const prices = await market.bars(ticker, question.timeframe)
    charts.push(priceChart(prices, await market.states(ticker, question.field, question.timeframe), question))
  }
  return charts
}

export function chartedTickers({ tickers, marked }: Pick<ChartQuestion, 'tickers' | 'marked'>): string[] {
  const marks = new Map(tickers.map(ticker => [ticker, 0]))
  for (const { ticker } of marked) marks.set(ticker, (marks.get(ticker) ?? 0) + 1)
  const ranked = [...marks].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const withMarks = ranked.filter(([, n]) => n > 0)
  const chosen = withMarks.length > 0 ? withMarks.slice(0, CHARTED_TICKERS) : ranked.slice(0, 1)
  return chosen.map(([ticker]) => ticker).sort()
}

function priceChart({ ticker, series }: MarketBars, states: States, question: ChartQuestion): PriceChart {
  const first = question.first === null ? null : parseDay(question.first)
  const last = question.last === null ? null : parseDay(question.last)
  const from = first === null ? 0 : series.days.findIndex(day => day >= first)
  const beyond = last === null ? -1 : series.days.findIndex(day => day > last)
  const bars = from < 0 ? [] : Array.from(series.days.subarray(from, beyond < 0 ? undefined : beyond))
  const dates = bars.map(formatDay)
  const places = new Map(dates.map((date, i) => [date, i]))
  return {
    ticker,
    field: question.field,
    dates,
    close: Array.from(series.close.subarray(from, from + bars.length)),
    bands: [...states.bands],
    codes: bars.map((_, i) => (states.codes[from + i] === UNDEFINED ? -1 : states.codes[from + i]!)),
    events: question.marked
      .filter(mark => mark.ticker === ticker && places.has(mark.date))
      .map(({ date, band }) => ({ at: places.get(date)!, band }))
      .sort((a, b) => a.at - b.at),
  }
}

/** Which prices and bands an answer stands on. */
export interface Inputs {
  tickers: readonly string[]
  fields: readonly string[]
  timeframe: Timeframe
  /** Contexts and benchmarks: other tickers, of which a field is looked at, or (null) the prices alone. */
  beside?: readonly { ticker: string; field: string | null }[]
}

/**
 * SHA-256 of all that an answer stands on: the bars of the tickers and the bands of the fields on them, as known on the
 * as-of day. Two answers with one hash and one command line are the same answer.
 */
export async function hashOfInputs(
  market: Market,
  { tickers, fields, timeframe, beside = [] }: Inputs,
): Promise<string> {
  const hash = createHash('sha256')
  for (const ticker of [...tickers].sort()) {
    hash.update(await barsOf(market, ticker, timeframe))
    for (const field of [...fields].sort()) hash.update(await statesOf(market, ticker, field, timeframe))
  }
  const named = new Map(beside.map(other => [`${other.ticker} ${other.field}`, other]))
  for (const name of [...named.keys()].sort()) {
    const { ticker, field } = named.get(name)!
    hash.update(`beside ${name}`).update(await barsOf(market, ticker, timeframe))
    if (field !== null) hash.update(await statesOf(market, ticker, field, timeframe))
  }
  return hash.digest('hex')
}

async function barsOf(market: Market, ticker: string, timeframe: Timeframe): Promise<Buffer> {
  const { series, adjustment, delisting } = await market.bars(ticker, timeframe)
  const head = JSON.stringify([ticker, timeframe, adjustment, delisting, series.days.length])
  const columns = [series.days, series.open, series.high, series.low, series.close]
  return Buffer.concat([Buffer.from(head), ...columns.map(bytes)])
}

async function statesOf(market: Market, ticker: string, field: string, timeframe: Timeframe): Promise<Buffer> {
  const { bands, codes, from, to, stability, flips } = await market.states(ticker, field, timeframe)
  return Buffer.concat([Buffer.from(JSON.stringify([field, bands, from, to])), codes, stability, flips])
}

function bytes(column: Int32Array | Float64Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}
