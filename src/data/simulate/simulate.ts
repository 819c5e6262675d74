// For: make up prices and companies for demos and tests.
// In: a seed and a number of bars.
// Out: bars and facts that look like a market.

import { type Day, formatDay } from '../../core/model/day.js'
import { FACT_COLUMNS, type FactColumn, type FactKind } from '../../core/model/facts.js'
import { emptySeries, type Series } from '../../core/model/series.js'
import { Random } from '../../core/statistics/random.js'
import type { TickerFacts } from '../feeds/feed.js'
import { sessionsUpTo } from './business.js'
import { coinFacts, companyFacts } from './facts.js'
import { drawCompany, fillBars, Market } from './path.js'

/** The first line of a file of one kind of records (`reports.csv`), with its line feed. */
export function factHeader(kind: FactKind): string {
  return `${['ticker', ...simulatedColumns(kind).map(column => column.name)].join(',')}\n`
}

/** The lines of one ticker's records of one kind: dates YYYY-MM-DD, an unknown value empty; no text needs quotes. */
export function factRows({ ticker, kind, records }: TickerFacts): string {
  const columns = simulatedColumns(kind)
  let text = ''
  for (const record of records) {
    const values = Object(record) as Record<string, string | number | null | undefined>
    text += `${[ticker, ...columns.map(column => factCell(values[column.name], column))].join(',')}\n`
  }
  return text
}

/** The columns of one kind of facts in simulated files: without those of delisted tickers, as none is delisted. */
function simulatedColumns(kind: FactKind): FactColumn[] {
  return FACT_COLUMNS[kind].filter(({ rare }) => rare !== true)
}

/** A value as the field of a file: dates as YYYY-MM-DD, an unknown value empty. */
function factCell(value: string | number | null | undefined, { holds }: FactColumn): string {
  if (value === null || value === undefined) return ''
  return holds === 'date' ? formatDay(Number(value)) : String(value)
}

export interface SimulateOptions {
  /** How many tickers. */
  count: number
  /** Daily bars of each. */
  bars: number
  /** From 0 to 2^32 - 1. */
  seed: number
  /** The last bar's date; when it is no session, the last session before it. */
  end: Day
  /** A bar on every day, weekends and holidays included. */
  sevenDays?: boolean
}

export interface SimulatedTicker {
  ticker: string
  bars: Series
  /**
   * The facts known by its last bar, at most one entry per kind: reports, earnings, schedule, ratings, insider trades
   * and the security. With seven days a week it is a coin, which has only the last kind. Computed on first use.
   */
  readonly facts: readonly TickerFacts[]
}

/**
 * The simulated ticker of a number: SIM0001 for 1, SIM10000 for 10000. Daily bars with fat tails, volatility clusters,
 * a market shared by all tickers of a seed, overnight gaps and log-normal volume. Prices are in whole cents, seldom
 * below 2 or above 5,000.
 *
 * It depends only on seed, number and sessions, never on `count`; of two runs that start on the same day, the longer
 * begins with the shorter. The past predicts the size of later moves, not their direction: between 3 and 4,000 the
 * expected return is the same small rise on every day, so an edge found there is chance.
 *
 * Its facts follow its past prices and use random streams of their own. They predict no prices, and the bars are the
 * same with or without facts.
 */
export function simulatedTicker(index: number, options: SimulateOptions): SimulatedTicker {
  return simulateTicker(index, drawWorld(options))
}

/** The `count` tickers in order, from number 1 on. They share one `days` column. */
export function* simulatedTickers(options: SimulateOptions): Generator<SimulatedTicker> {
  const world = drawWorld(options)
  for (let index = 1; index <= options.count; index++) yield simulateTicker(index, world)
}

/** The bars of simulated tickers, all of the same days, as CSV text: the header, then one chunk for each ticker. */
export function* barsToCsv(tickers: Iterable<SimulatedTicker>): Generator<string> {
  yield 'ticker,date,open,high,low,close,volume\n'
  let dates: string[] | null = null
  for (const { ticker, bars } of tickers) {
    dates ??= Array.from(bars.days, formatDay)
    yield csvRows(ticker, dates, bars)
  }
}

/** Beyond the number of every ticker, whose bars have the streams up to it. */
const FACTS_STREAM = 0x40000000

interface World {
  /** Number from which the streams of the tickers branch off. */
  root: number
  /** Root of the random streams of their facts. */
  factsRoot: number
  days: Int32Array
  sevenDays: boolean
  market: Market
}

/** The random streams, the sessions and the market that all tickers of a seed share. */
function drawWorld({ seed, bars, end, sevenDays = false }: SimulateOptions): World {
  // Streams use a derived word of the seed, because the streams of seeds 1 and 2 themselves are equal in another order.
  const root = new Random(seed).word()
  return {
    root,
    factsRoot: Random.stream(root, FACTS_STREAM).word(),
    days: sessionsUpTo(end, bars, sevenDays),
    sevenDays,
    market: new Market(Random.stream(root, 0), bars),
  }
}

/** The ticker of a number in a world. Its bars are drawn at once, its facts on first use. */
function simulateTicker(index: number, { root, factsRoot, days, sevenDays, market }: World): SimulatedTicker {
  const random = Random.stream(root, index)
  const bars: Series = { ...emptySeries('daily', days.length), days, known: days }
  const company = drawCompany(random)
  fillBars(bars, company, market, random)
  const ticker = `SIM${String(index).padStart(4, '0')}`
  const makeFacts = (): TickerFacts[] => {
    if (sevenDays) return coinFacts({ ticker, index })
    return companyFacts({ ticker, index, bars, company, root: Random.stream(factsRoot, index).word() })
  }
  let facts: TickerFacts[] | null = null
  return {
    ticker,
    bars,
    get facts() {
      facts ??= makeFacts()
      return facts
    },
  }
}

/** The bars of one ticker as lines of a CSV file. @param dates the date of each bar */
function csvRows(ticker: string, dates: readonly string[], { open, high, low, close, volume }: Series): string {
  let text = ''
  for (const [i, date] of dates.entries()) {
    const prices = `${centsText(open[i]!)},${centsText(high[i]!)},${centsText(low[i]!)},${centsText(close[i]!)}`
    text += `${ticker},${date},${prices},${volume[i]!}\n`
  }
  return text
}

/** A price with two decimals; several times faster than toFixed, which matters in files of millions of prices. */
function centsText(price: number): string {
  const totalCents = Math.round(price * 100)
  const cents = totalCents % 100
  return `${(totalCents - cents) / 100}.${cents < 10 ? '0' : ''}${cents}`
}
