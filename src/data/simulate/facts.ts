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

/** One simulated ticker as its facts see it. */
interface Simulated {
  ticker: string
  /** Its number. */
  index: number
  bars: Series
  company: Company
  /** From which all streams of its facts branch off. */
  root: number
}

/**
 * All facts about a company known by its last bar, each kind in the order in which it became known. Facts depend on
 * past closes and on their own chance. Of two runs that start on the same day, the longer one has, by the end of the
 * shorter, exactly its facts. Only the market capitalisation is that of the last bar.
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

/** The records known by the last bar, sorted by known day; ties keep their order. */
function inOrder<T>(records: readonly T[], known: (record: T) => number, last: number): T[] {
  return records.filter(record => known(record) <= last).sort((a, b) => known(a) - known(b))
}

/** Quarters before the first report in which business and price settle into each other. */
const SETTLING = 24
// Share of the way to the last day's price that worth moves in a quarter. Also the share of the way to worth that sales
// and book value move. So price over earnings follows the price at first and returns within some years.
const LEARNING = 0.16
const SALES_LEARNING = 0.1
const BOOK_LEARNING = 0.05
// How strongly the cycle of a company keeps to itself from one quarter to the next, and its margin.
const CYCLE_MEMORY = 0.93
const MARGIN_MEMORY = 0.6
/** Quarters in which the growth of a company's early years falls to a third. */
const FADING = 40
const REVENUE_NOISE = 0.009
const TYPICAL_BEAT = 0.03

/**
 * A company's figures, quarter after quarter. Worth follows the closes up to a quarter's last day; everything else is
 * independent chance, so that a report predicts no prices.
 */
class Ledger {
  readonly #business: Business
  readonly #prices: Prices
  readonly #stream: (number: number) => Random
  #next = -QUARTERS_BEFORE - SETTLING
  #worth: number
  #sales: number
  #book: number
  #cycle = 0
  #cycleBefore = 0
  #margin = 0

  constructor(business: Business, prices: Prices, stream: (number: number) => Random) {
    this.#business = business
    this.#prices = prices
    this.#stream = stream
    this.#worth = prices.log(quarterEnd(prices.first, business.shift, this.#next).end)
    this.#sales = this.#worth
    this.#book = this.#worth
  }

  /** The figures of a quarter that has ended by the last bar; call it for the quarters in order. */
  figures(quarter: Quarter) {
    let random = this.#advance()
    while (this.#next <= quarter.number) random = this.#advance()
    return this.#draw(quarter, random)
  }

  /** One quarter on; hands over the rest of its random numbers. */
  #advance(): Random {
    const { turn, swing, unrest, shift } = this.#business
    const random = this.#stream(this.#next)
    const { end } = quarterEnd(this.#prices.first, shift, this.#next++)
    this.#worth += LEARNING * (this.#prices.log(end) - this.#worth)
    this.#sales += SALES_LEARNING * (this.#worth - this.#sales)
    this.#book += BOOK_LEARNING * (this.#worth - this.#book)
    const cycle = 2 * CYCLE_MEMORY * turn * this.#cycle - CYCLE_MEMORY ** 2 * this.#cycleBefore
    this.#cycleBefore = this.#cycle
    this.#cycle = cycle + swing * random.normal()
    this.#margin = MARGIN_MEMORY * this.#margin + 0.8 * unrest * random.normal()
    return random
  }

  #draw({ number, season, end, reported, session }: Quarter, random: Random) {
    const { pe, margin, seasons, leverage, blur, writeOffs, priceToBook, shares: atFirst } = this.#business
    const quarter = seasons[season]! / pe / 4
    const usual = quarter * Math.exp(this.#worth)
    const shares = atFirst * Math.exp(this.#grown(number))
    const actual = usual * (1 + leverage * this.#cycle + this.#margin)
    const sales = Math.exp(this.#sales + this.#cycle + REVENUE_NOISE * random.normal())
    const revenue = (quarter / margin) * shares * sales
    const surprise = TYPICAL_BEAT + blur * random.normal() * Math.exp(0.8 * random.normal())
    const writtenOff = random.uniform() < writeOffs ? usual * (0.5 + 2.5 * random.uniform()) : 0
    const report: Report = {
      period_end: end,
      known: reported,
      session,
      eps: cents(actual - writtenOff),
      revenue: thousands(revenue),
      book_value_ps: cents((Math.exp(this.#book) / priceToBook) * Math.exp(0.01 * random.normal())),
      basis: 'bars',
    }
    // Analysts leave write-offs out, on both sides.
    const estimate = actual - surprise * Math.max(Math.abs(actual), usual / 2)
    const result = { report_date: reported, session, eps_estimate: cents(estimate), eps_actual: cents(actual) }
    return { versions: [report, ...restated(report, usual, random)], result, shares }
  }

  #grown(number: number): number {
    const age = number + QUARTERS_BEFORE + SETTLING
    return this.#business.growth * FADING * (1 - Math.exp(-age / FADING))
  }
}

/** One report in thirty is corrected later. */
function restated(report: Report, usual: number, random: Random): Report[] {
  if (random.uniform() >= 1 / 30) return []
  const known = sessionUpTo(report.known + 30 + random.below(120))
  const eps = cents(report.eps! + 0.08 * usual * random.normal())
  const revenue = thousands(report.revenue! * (1 + 0.01 * random.normal()))
  return [{ ...report, known, session: 'post', eps, revenue }]
}

function cents(value: number): number {
  // Without the 0, a loss of less than half a cent would be -0.
  return Math.round(value * 100) / 100 + 0
}

function thousands(value: number): number {
  return Math.round(value / 1000) * 1000
}

// A fall of this much (log) within this many days brings insiders to buy.
const FALL = -0.12
const FALL_DAYS = 182
const BUYING = 0.2
const BUYING_AFTER_FALL = 0.5
// Median values of a trade; purchases are smaller than sales.
const SALE = 600_000
const PURCHASE = 250_000
/** Days after a report in which insiders may trade, and of one cluster. */
const WINDOW = 45
const CLUSTER = 10

/** Chance that one insider does the opposite of the others. */
const LONER = 0.3

/**
 * The open-market trades after a quarter's report, by filing date. Sales are more frequent. Purchases come after a
 * price fall. Both come in clusters of several people within days, never on both sides.
 */
function drawTrades(quarter: Quarter, business: Business, prices: Prices, random: Random): InsiderTrade[] {
  const fallen = prices.log(quarter.reported) - prices.log(quarter.reported - FALL_DAYS) < FALL
  const sellers = random.uniform() < (fallen ? business.selling / 2 : business.selling) ? crowd(random) : 0
  const buyers = random.uniform() < (fallen ? BUYING_AFTER_FALL : BUYING) ? crowd(random) : 0
  const loner = sellers + buyers > 0 && random.uniform() < LONER ? 1 : 0
  const { insiders } = business
  const first = random.below(insiders)
  const people = (count: number, from: number, step: number): number[] =>
    Array.from({ length: Math.min(count, insiders >> 1) }, (_, i) => (from + step * i) % insiders)
  const sold = people(Math.max(sellers, loner), first, 1)
  const bought = people(Math.max(buyers, loner), first + insiders - 1, insiders - 1)
  const opening = quarter.reported + 2
  return [
    ...cluster({ side: 'sell', value: SALE, people: sold, opening }, prices, random),
    ...cluster({ side: 'buy', value: PURCHASE, people: bought, opening }, prices, random),
  ].sort((a, b) => a.known - b.known)
}

/** How many people act together. */
function crowd(random: Random): number {
  return 1 + Math.floor(-1.8 * Math.log(1 - random.uniform()))
}

interface Cluster {
  side: 'buy' | 'sell'
  /** Median value of a trade. */
  value: number
  people: readonly number[]
  /** From this day on. */
  opening: Day
}

function cluster({ side, value, people, opening }: Cluster, prices: Prices, random: Random): InsiderTrade[] {
  const from = opening + random.below(WINDOW - CLUSTER)
  return people.flatMap(person =>
    Array.from({ length: random.uniform() < 0.3 ? 2 : 1 }, (): InsiderTrade => {
      const day = sessionUpTo(from + random.below(CLUSTER))
      const price = Math.round(100 * Math.exp(prices.log(day))) / 100
      const shares = 10 * Math.ceil((value * Math.exp(random.normal())) / price / 10)
      // Filed in the evening, mostly on the second day after the trade.
      const known = sessionUpTo(weekdaysAfter(day, Math.min(2, random.below(5))))
      return { known, session: 'post', insider: titleOf(person), side, shares, value: Math.round(shares * price) }
    }),
  )
}

function titleOf(person: number): string {
  return TITLES[person] ?? `Director ${person - TITLES.length + 1}`
}

const TITLES = ['Chief Executive Officer', 'Chief Financial Officer', 'General Counsel']

/** Days before the first bar on which coverage starts: more than the past that any field compares it with. */
const COVERED_BEFORE = 280
/** Days in which an analyst thinks an opinion over. */
const THINKING = 200
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
  const opinion = (known: Day): number => {
    // From the days before, because most opinions come before the session.
    const momentum = Math.max(-0.5, Math.min(0.5, prices.log(known - 1) - prices.log(known - MOMENTUM_DAYS)))
    const mind = business.esteem + MOMENTUM * momentum + mood + OWN_VIEW * random.normal()
    return Math.max(1, Math.min(5, Math.round(mind)))
  }
  let day = prices.first - COVERED_BEFORE
  const opinions = Array.from({ length: business.analysts }, () => opinion(day))
  for (; ; day += wait(business.analysts, random)) {
    const known = sessionUpTo(day)
    if (known > prices.last) return records
    const analyst = random.below(opinions.length)
    mood = MOOD_MEMORY * mood + MOOD * random.normal()
    const leaves = random.uniform() < COVERAGE_CHANGE && opinions[analyst] !== NONE
    const before = opinions[analyst]
    opinions[analyst] = leaves ? NONE : opinion(known)
    const session = random.uniform() < 0.8 ? 'pre' : 'post'
    if (opinions[analyst] === before && records.length > 0) continue
    const counts = countsOf(opinions, known, session)
    // One record per day: the later one replaces the earlier.
    if (records.at(-1)?.known === known) records.pop()
    records.push(counts)
  }
}

const NONE = 0

/** Days until the next analyst's opinion; exponential, at least one. */
function wait(analysts: number, random: Random): number {
  return Math.ceil((-Math.log(1 - random.uniform()) * THINKING) / analysts)
}

function countsOf(opinions: readonly number[], known: Day, session: 'pre' | 'post'): RatingCounts {
  const holding = (opinion: number): number => opinions.filter(other => other === opinion).length
  return {
    known,
    session,
    strong_buy: holding(5),
    buy: holding(4),
    hold: holding(3),
    sell: holding(2),
    strong_sell: holding(1),
  }
}
