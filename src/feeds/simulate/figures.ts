import type { EarningsResult, Report } from '../../model/facts.js'
import type { Random } from '../../random.js'
import type { Business } from './business.js'
import type { Prices } from './prices.js'
import { QUARTERS_BEFORE, type Quarter, quarterEnd, sessionUpTo } from './quarters.js'

/** Quarters before the first report in which business and price settle into each other. */
const SETTLING = 24
// Share of the way to the price of its last day that worth goes in a quarter, and of the way to worth that sales and book
// value go. Price over earnings so follows the price at first and comes back within some years.
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

/** What one quarter brings to light. */
export interface Figures {
  versions: readonly Report[]
  result: EarningsResult
  shares: number
}

/**
 * A company's figures, quarter after quarter. Worth follows the closes up to a quarter's last day, everything else is
 * chance of its own, so that a report tells nothing about the prices to come.
 */
export class Ledger {
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

  /** The figures of a quarter that has ended by the last bar; quarters are asked for in their order. */
  figures(quarter: Quarter): Figures {
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

  #draw({ number, season, end, reported, session }: Quarter, random: Random): Figures {
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
  // Without the 0, a loss of less than half a cent were -0.
  return Math.round(value * 100) / 100 + 0
}

function thousands(value: number): number {
  return Math.round(value / 1000) * 1000
}
