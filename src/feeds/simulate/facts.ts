import type { EarningsResult, InsiderTrade, Report, ScheduledReport, Security } from '../../model/facts.js'
import type { Series } from '../../model/series.js'
import { Random } from '../../random.js'
import type { TickerFacts } from '../feed.js'
import { type Business, drawBusiness } from './business.js'
import { Ledger } from './figures.js'
import { drawTrades } from './insiders.js'
import type { Company } from './path.js'
import { Prices } from './prices.js'
import { drawQuarter, QUARTERS_BEFORE } from './quarters.js'
import { drawRatings } from './ratings.js'

/** Days from the announcement of a quarter's report to the quarter's end, at most. */
const ANNOUNCED_BEFORE_END = 60

/** One simulated ticker as its facts see it. */
export interface Simulated {
  ticker: string
  /** Its number. */
  index: number
  bars: Series
  company: Company
  /** From which all streams of its facts branch off. */
  root: number
}

/**
 * All that is known about a company by its last bar, each kind in the order in which it became known. Facts are made of
 * past closes and of chance of their own. Of two runs that start on the same day, the longer knows by the end of the
 * shorter exactly what the shorter knows; only the market capitalisation is that of the last bar.
 */
export function companyFacts({ ticker, index, bars, company, root }: Simulated): TickerFacts[] {
  const stream = (purpose: number, number = 0): Random => Random.stream(root, (purpose << 16) | number)
  const business = drawBusiness(stream(TRAITS), index, company.volume)
  const prices = new Prices(bars, company.price, stream(PAST))
  const made = drawQuarters(business, prices, stream)
  const security: Security = {
    name: `Simulated Company ${index}`,
    sector: business.sector,
    asset_class: 'stock',
    market_cap: Math.round(made.shares * bars.close.at(-1)!),
  }
  const { last } = prices
  const all: TickerFacts[] = [
    { ticker, kind: 'reports', records: inOrder(made.reports, report => report.known, last) },
    { ticker, kind: 'earnings', records: inOrder(made.earnings, result => result.report_date, last) },
    { ticker, kind: 'schedule', records: inOrder(made.schedule, record => record.known, last) },
    { ticker, kind: 'ratings', records: drawRatings(business, prices, stream(RATINGS)) },
    { ticker, kind: 'insiders', records: inOrder(made.insiders, trade => trade.known, last) },
    { ticker, kind: 'securities', records: [security] },
  ]
  return all.filter(({ records }) => records.length > 0)
}

/** A coin has a name and no more. */
export function coinFacts({ ticker, index }: Pick<Simulated, 'ticker' | 'index'>): TickerFacts[] {
  const security: Security = {
    name: `Simulated Coin ${index}`,
    sector: null,
    asset_class: 'crypto',
    market_cap: null,
  }
  return [{ ticker, kind: 'securities', records: [security] }]
}

const [TRAITS, PAST, RATINGS, DATES, FIGURES, TRADES] = [1, 2, 3, 4, 5, 6] as const
/** Added to the number of a quarter, so that it is never negative within a stream's number. */
const QUARTER_ZERO = 1000

interface Made {
  reports: Report[]
  earnings: EarningsResult[]
  schedule: ScheduledReport[]
  insiders: InsiderTrade[]
  /** Outstanding by the last quarter. */
  shares: number
}

function drawQuarters(business: Business, prices: Prices, stream: (purpose: number, number: number) => Random): Made {
  const made: Made = { reports: [], earnings: [], schedule: [], insiders: [], shares: business.shares }
  const ledger = new Ledger(business, prices, number => stream(FIGURES, QUARTER_ZERO + number))
  for (let number = -QUARTERS_BEFORE; ; number++) {
    const quarter = drawQuarter(number, prices.first, business, stream(DATES, QUARTER_ZERO + number))
    if (quarter.end > prices.last + ANNOUNCED_BEFORE_END) return made
    made.schedule.push(...quarter.announced)
    if (quarter.end > prices.last) continue
    const { versions, result, shares } = ledger.figures(quarter)
    made.reports.push(...versions)
    made.earnings.push(result)
    made.shares = shares
    made.insiders.push(...drawTrades(quarter, business, prices, stream(TRADES, QUARTER_ZERO + number)))
  }
}

/** Those known by the last bar, by the day on which they became known; ties stay as they were. */
function inOrder<T>(records: readonly T[], known: (record: T) => number, last: number): T[] {
  return records.filter(record => known(record) <= last).sort((a, b) => known(a) - known(b))
}
