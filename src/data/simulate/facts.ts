import { type Day, weekdaysAfter } from '../../core/model/day.js'
import type {
  EarningsResult,
  InsiderTrade,
  RatingCounts,
  Report,
  ScheduledReport,
  Security,
} from '../../core/model/facts.js'
import type { Series } from '../../core/model/series.js'
import { Random } from '../../core/statistics/random.js'
import type { TickerFacts } from '../feeds/feed.js'
import {
  type Business,
  drawBusiness,
  drawQuarter,
  Prices,
  QUARTERS_BEFORE,
  type Quarter,
  quarterEnd,
  sessionUpTo,
} from './business.js'
import type { Company } from './path.js'

/** Days from the announcement of a quarter's report to the quarter's end, at most. */
const ANNOUNCED_BEFORE_END = 60

interface Simulated {
  ticker: string
  index: number
  bars: Series
  company: Company
  /** Seed of all random streams of its facts. */
  root: number
}

/**
 * All facts about a company known by its last bar, each kind in the order in which it became known. Facts depend on
 * past closes and on random numbers of their own. A longer run from the same first day has the facts of a shorter one,
 * except the market capitalisation: that is of the last bar.
 */
export function companyFacts({ ticker, index, bars, company, root }: Simulated): TickerFacts[] {
  const stream = (purpose: number, number = 0): Random => Random.stream(root, (purpose << 16) | number)
  const business = drawBusiness(stream(TRAITS), index, company.volume)
  const prices = new Prices(bars, company.price, stream(PAST))
  const history = drawHistory(business, prices, stream)
  const security: Security = {
    name: `Simulated Company ${index}`,
    sector: business.sector,
    asset_class: 'stock',
    market_cap: Math.round(history.shares * bars.close.at(-1)!),
  }
  const { last } = prices
  const facts: TickerFacts[] = [
    { ticker, kind: 'reports', records: sortedKnownRecords(history.reports, report => report.known, last) },
    { ticker, kind: 'earnings', records: sortedKnownRecords(history.earnings, result => result.report_date, last) },
    { ticker, kind: 'schedule', records: sortedKnownRecords(history.schedule, record => record.known, last) },
    { ticker, kind: 'ratings', records: drawRatings(business, prices, stream(RATINGS)) },
    { ticker, kind: 'insiders', records: sortedKnownRecords(history.insiders, trade => trade.known, last) },
    { ticker, kind: 'securities', records: [security] },
  ]
  return facts.filter(({ records }) => records.length > 0)
}

/** The facts about a coin: only its name. */
export function coinFacts({ ticker, index }: Pick<Simulated, 'ticker' | 'index'>): TickerFacts[] {
  const name = `Simulated Coin ${index}`
  const security: Security = { name, sector: null, asset_class: 'crypto', market_cap: null }
  return [{ ticker, kind: 'securities', records: [security] }]
}

const [TRAITS, PAST, RATINGS, DATES, FIGURES, TRADES] = [1, 2, 3, 4, 5, 6] as const
/** Added to the number of a quarter, so that it is never negative within a stream's number. */
const QUARTER_ZERO = 1000

interface CompanyHistory {
  reports: Report[]
  earnings: EarningsResult[]
  schedule: ScheduledReport[]
  insiders: InsiderTrade[]
  /** Outstanding by the last quarter. */
  shares: number
}

/**
 * Draws the quarters of a company up to its last bar, and the announcement of the next one.
 * @param stream the random numbers of a purpose and a quarter
 */
function drawHistory(
  business: Business,
  prices: Prices,
  stream: (purpose: number, number: number) => Random,
): CompanyHistory {
  const history: CompanyHistory = { reports: [], earnings: [], schedule: [], insiders: [], shares: business.shares }
  const figures = new CompanyFigures(business, prices, number => stream(FIGURES, QUARTER_ZERO + number))
  for (let number = -QUARTERS_BEFORE; ; number++) {
    const quarter = drawQuarter(number, prices.first, business, stream(DATES, QUARTER_ZERO + number))
    if (quarter.end > prices.last + ANNOUNCED_BEFORE_END) return history
    history.schedule.push(...quarter.announced)
    if (quarter.end > prices.last) continue
    const { versions, result, shares } = figures.drawUpTo(quarter)
    history.reports.push(...versions)
    history.earnings.push(result)
    history.shares = shares
    history.insiders.push(...drawTrades(quarter, business, prices, stream(TRADES, QUARTER_ZERO + number)))
  }
}

/** The records known by the day `last`, sorted by the day they became known; ties keep their order. */
function sortedKnownRecords<T>(records: readonly T[], known: (record: T) => number, last: number): T[] {
  return records.filter(record => known(record) <= last).sort((a, b) => known(a) - known(b))
}

/** Quarters before the first report, in which the business adapts to the price. */
const SETTLING_QUARTERS = 24
// Share of the way to the last day's price that worth moves in a quarter. Also the share of the way to worth that sales
// and book value move. So price over earnings follows the price at first and returns within some years.
const LEARNING = 0.16
const SALES_LEARNING = 0.1
const BOOK_LEARNING = 0.05
// How strongly the cycle of a company keeps to itself from one quarter to the next, and its margin.
const CYCLE_MEMORY = 0.93
const MARGIN_MEMORY = 0.6
/** Quarters in which the growth of a company's early years falls to a third. */
const FADING_QUARTERS = 40
/** sqrt(1 - MARGIN_MEMORY²), so that the spread of the margin is as wide as the company's `unrest`. */
const MARGIN_NOISE = 0.8
const REVENUE_NOISE = 0.009
const TYPICAL_BEAT = 0.03
/** Makes large surprises more frequent than a normal distribution has them. */
const SURPRISE_TAIL = 0.8

/**
 * A company's figures, quarter after quarter. Worth follows the closes up to a quarter's last day; everything else is
 * independent chance, so that a report predicts no prices.
 */
class CompanyFigures {
  readonly #business: Business
  readonly #prices: Prices
  readonly #randomOfQuarter: (quarter: number) => Random
  #nextQuarter = -QUARTERS_BEFORE - SETTLING_QUARTERS
  /** Logarithms of amounts a share, all on the scale of the price; figures are scaled when they are drawn. */
  #logWorth: number
  #logSales: number
  #logBook: number
  /** How far business is from usual: the cycle of sales, now and a quarter before, and the margin. */
  #cycle = 0
  #cycleBefore = 0
  #marginDeviation = 0

  constructor(business: Business, prices: Prices, randomOfQuarter: (quarter: number) => Random) {
    this.#business = business
    this.#prices = prices
    this.#randomOfQuarter = randomOfQuarter
    // All three start at the close of the first quarter, which ends `shift` months after that of the calendar.
    this.#logWorth = prices.logClose(quarterEnd(prices.first, business.shift, this.#nextQuarter).end)
    this.#logSales = this.#logWorth
    this.#logBook = this.#logWorth
  }

  /** Draws the quarters up to one that has ended by the last bar, and returns the figures of that one. */
  drawUpTo(quarter: Quarter) {
    let random = this.#startQuarter()
    while (this.#nextQuarter <= quarter.number) random = this.#startQuarter()
    return this.#drawFigures(quarter, random)
  }

  /** Moves the business to the next quarter, and returns the random numbers for the rest of that quarter. */
  #startQuarter(): Random {
    const { turn, swing, unrest, shift } = this.#business
    const random = this.#randomOfQuarter(this.#nextQuarter)
    const { end } = quarterEnd(this.#prices.first, shift, this.#nextQuarter++)
    this.#logWorth += LEARNING * (this.#prices.logClose(end) - this.#logWorth)
    this.#logSales += SALES_LEARNING * (this.#logWorth - this.#logSales)
    this.#logBook += BOOK_LEARNING * (this.#logWorth - this.#logBook)
    // A damped oscillation, AR(2): a quarter turns it by the angle whose cosine is `turn`.
    const cycle = 2 * CYCLE_MEMORY * turn * this.#cycle - CYCLE_MEMORY ** 2 * this.#cycleBefore
    this.#cycleBefore = this.#cycle
    this.#cycle = cycle + swing * random.normal()
    this.#marginDeviation = MARGIN_MEMORY * this.#marginDeviation + MARGIN_NOISE * unrest * random.normal()
    return random
  }

  /** Draws the report of the quarter that the business is in, later corrections of it, and the number of shares. */
  #drawFigures({ number, season, end, reported, session }: Quarter, random: Random) {
    const { pe, margin, seasons, leverage, errorSpread, writeOffs, priceToBook, shares: firstShares } = this.#business
    const earningsPerWorth = seasons[season]! / pe / 4
    const usual = earningsPerWorth * Math.exp(this.#logWorth)
    const shares = firstShares * Math.exp(this.#logGrowthOfShares(number))
    const actual = usual * (1 + leverage * this.#cycle + this.#marginDeviation)
    const sales = Math.exp(this.#logSales + this.#cycle + REVENUE_NOISE * random.normal())
    const revenue = (earningsPerWorth / margin) * shares * sales
    const surprise = TYPICAL_BEAT + errorSpread * random.normal() * Math.exp(SURPRISE_TAIL * random.normal())
    const writtenOff = random.uniform() < writeOffs ? usual * (0.5 + 2.5 * random.uniform()) : 0
    const report: Report = {
      period_end: end,
      known: reported,
      session,
      eps: toCents(actual - writtenOff),
      revenue: toThousands(revenue),
      book_value_ps: toCents((Math.exp(this.#logBook) / priceToBook) * Math.exp(0.01 * random.normal())),
      // Figures count the shares of the bars, not those on the day of the report.
      basis: 'bars',
    }
    // Estimates and actual results both leave write-offs out.
    const estimate = actual - surprise * Math.max(Math.abs(actual), usual / 2)
    const result = { report_date: reported, session, eps_estimate: toCents(estimate), eps_actual: toCents(actual) }
    return { versions: [report, ...drawCorrection(report, usual, random)], result, shares }
  }

  /** Log growth of the number of shares up to a quarter. */
  #logGrowthOfShares(number: number): number {
    const age = number + QUARTERS_BEFORE + SETTLING_QUARTERS
    return this.#business.growth * FADING_QUARTERS * (1 - Math.exp(-age / FADING_QUARTERS))
  }
}

/** A later correction of a report, which one report in thirty has; otherwise empty. */
function drawCorrection(report: Report, usual: number, random: Random): Report[] {
  if (random.uniform() >= 1 / 30) return []
  const known = sessionUpTo(report.known + 30 + random.below(120))
  const eps = toCents(report.eps! + 0.08 * usual * random.normal())
  const revenue = toThousands(report.revenue! * (1 + 0.01 * random.normal()))
  return [{ ...report, known, session: 'post', eps, revenue }]
}

function toCents(value: number): number {
  // Without the 0, a loss of less than half a cent would be -0.
  return Math.round(value * 100) / 100 + 0
}

function toThousands(value: number): number {
  return Math.round(value / 1000) * 1000
}

// After a fall of this much (log) within this number of days, insiders buy more often.
const MIN_FALL = -0.12
const FALL_DAYS = 182
const BUYING_CHANCE = 0.2
const BUYING_CHANCE_AFTER_FALL = 0.5
// Median values of a trade; purchases are smaller than sales.
const MEDIAN_SALE = 600_000
const MEDIAN_PURCHASE = 250_000
/** Days after a report in which insiders may trade, and days of one cluster of trades. */
const TRADING_WINDOW_DAYS = 45
const CLUSTER_DAYS = 10

/** Chance that one insider does the opposite of the others. */
const LONER_CHANCE = 0.3

/**
 * The open-market trades after a quarter's report, by filing date. Sales are more frequent than purchases, less so
 * after a price fall. Both come in clusters of several people within days, and nobody is in both.
 */
function drawTrades(quarter: Quarter, business: Business, prices: Prices, random: Random): InsiderTrade[] {
  const hasFallen = prices.logClose(quarter.reported) - prices.logClose(quarter.reported - FALL_DAYS) < MIN_FALL
  const sellingChance = hasFallen ? business.selling / 2 : business.selling
  const buyingChance = hasFallen ? BUYING_CHANCE_AFTER_FALL : BUYING_CHANCE
  const sellerCount = random.uniform() < sellingChance ? drawCrowdSize(random) : 0
  const buyerCount = random.uniform() < buyingChance ? drawCrowdSize(random) : 0
  // A loner does the opposite of a cluster: it counts only for a side that has nobody.
  const loners = sellerCount + buyerCount > 0 && random.uniform() < LONER_CHANCE ? 1 : 0
  const { insiders } = business
  const first = random.below(insiders)
  // Sellers are numbered upwards from the first, buyers downwards from the one before it, at most half of all each.
  const mostPeople = Math.floor(insiders / 2)
  const people = (count: number, numberOf: (i: number) => number): number[] =>
    Array.from({ length: Math.min(count, mostPeople) }, (_, i) => (numberOf(i) + insiders) % insiders)
  const sellers = people(Math.max(sellerCount, loners), i => first + i)
  const buyers = people(Math.max(buyerCount, loners), i => first - 1 - i)
  const opening = quarter.reported + 2
  return [
    ...drawCluster({ side: 'sell', value: MEDIAN_SALE, people: sellers, opening }, prices, random),
    ...drawCluster({ side: 'buy', value: MEDIAN_PURCHASE, people: buyers, opening }, prices, random),
  ].sort((a, b) => a.known - b.known)
}

/** How many insiders trade in one cluster. */
function drawCrowdSize(random: Random): number {
  return 1 + Math.floor(-1.8 * Math.log(1 - random.uniform()))
}

interface TradeCluster {
  side: 'buy' | 'sell'
  /** Median value of a trade. */
  value: number
  people: readonly number[]
  /** From this day on. */
  opening: Day
}

/** The trades of some insiders within CLUSTER_DAYS; each makes one or two. */
function drawCluster({ side, value, people, opening }: TradeCluster, prices: Prices, random: Random): InsiderTrade[] {
  const firstDay = opening + random.below(TRADING_WINDOW_DAYS - CLUSTER_DAYS)
  return people.flatMap(person =>
    Array.from({ length: random.uniform() < 0.3 ? 2 : 1 }, (): InsiderTrade => {
      const day = sessionUpTo(firstDay + random.below(CLUSTER_DAYS))
      const price = Math.round(100 * Math.exp(prices.logClose(day))) / 100
      const shares = 10 * Math.ceil((value * Math.exp(random.normal())) / price / 10)
      // Filed in the evening, mostly on the second day after the trade.
      const known = sessionUpTo(weekdaysAfter(day, Math.min(2, random.below(5))))
      const insider = TITLES[person] ?? `Director ${person - TITLES.length + 1}`
      return { known, session: 'post', insider, side, shares, value: Math.round(shares * price) }
    }),
  )
}

const TITLES = ['Chief Executive Officer', 'Chief Financial Officer', 'General Counsel']

/** Days before the first bar on which coverage starts: more than the past that any field compares it with. */
const COVERED_DAYS_BEFORE = 280
/** Mean number of days between two opinions of one analyst. */
const DAYS_PER_OPINION = 200
// The parts of an analyst's opinion besides the esteem of the company: its return over half a year, a shared mood, and
// the analyst's own view. The mood fades from one opinion to the next.
const MOMENTUM_DAYS = 182
const MOMENTUM = 0.8
const MOOD_MEMORY = 0.95
const MOOD = 0.12
const OWN_VIEW = 0.75
/** Chance that an analyst takes leave of the company, or comes back, instead. */
const COVERAGE_CHANGE = 0.06

/** The counts of a company's analysts, a record for each day on which one of them changed, up to the last bar. */
function drawRatings(business: Business, prices: Prices, random: Random): RatingCounts[] {
  const records: RatingCounts[] = []
  let mood = 0
  // An opinion is a number from 1 (strong sell) to 5 (strong buy).
  const drawOpinion = (known: Day): number => {
    // Prices count up to the day before, because most opinions come before the session.
    const change = prices.logClose(known - 1) - prices.logClose(known - MOMENTUM_DAYS)
    const momentum = Math.max(-0.5, Math.min(0.5, change))
    const opinion = business.esteem + MOMENTUM * momentum + mood + OWN_VIEW * random.normal()
    return Math.max(1, Math.min(5, Math.round(opinion)))
  }
  let day = prices.first - COVERED_DAYS_BEFORE
  const opinions = Array.from({ length: business.analysts }, () => drawOpinion(day))
  for (; ; day += drawWait(business.analysts, random)) {
    const known = sessionUpTo(day)
    if (known > prices.last) return records
    const analyst = random.below(opinions.length)
    mood = MOOD_MEMORY * mood + MOOD * random.normal()
    const leaves = random.uniform() < COVERAGE_CHANGE && opinions[analyst] !== NO_OPINION
    const earlierOpinion = opinions[analyst]
    opinions[analyst] = leaves ? NO_OPINION : drawOpinion(known)
    const session = random.uniform() < 0.8 ? 'pre' : 'post'
    if (opinions[analyst] === earlierOpinion && records.length > 0) continue
    const counts = countOpinions(opinions, known, session)
    // One record per day: the later one replaces the earlier.
    if (records.at(-1)?.known === known) records.pop()
    records.push(counts)
  }
}

const NO_OPINION = 0

/** Days until the next analyst's opinion; exponential, at least one. */
function drawWait(analysts: number, random: Random): number {
  return Math.ceil((-Math.log(1 - random.uniform()) * DAYS_PER_OPINION) / analysts)
}

/** The number of analysts with each opinion, from 5 (strong buy) to 1 (strong sell). */
function countOpinions(opinions: readonly number[], known: Day, session: 'pre' | 'post'): RatingCounts {
  const count = (opinion: number): number => opinions.filter(other => other === opinion).length
  return { known, session, strong_buy: count(5), buy: count(4), hold: count(3), sell: count(2), strong_sell: count(1) }
}
