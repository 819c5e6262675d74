import type { Series } from '../../core/model/series.js'
import type { Random } from '../../core/statistics/random.js'

// Daily: standard deviation of the market's log return (15 % a year) and mean of its simple return (about 8 % a year).
const MARKET_SPREAD = 0.0095
const MARKET_GROWTH = 0.0003
const MARKET_CLUSTERING: Clustering = { reaction: 0.03, fallReaction: 0.12, persistence: 0.89 }
const COMPANY_CLUSTERING: Clustering = { reaction: 0.06, fallReaction: 0.06, persistence: 0.89 }

// Share of a day's variance that falls before the open.
const OVERNIGHT = 0.2

// A price outside these is pulled back by this share of the (log) excess per day. Between them, where nearly all prices
// are, there is no pull and so no edge. Without it some ticker of thousands ends at a cent or at millions.
const LOWEST = Math.log(3)
const HIGHEST = Math.log(4000)
const PULL = 0.03

const VOLUME_MEMORY = 0.9
const VOLUME_DRIFT = 0.15
const VOLUME_NOISE = 0.15
// Exponent with which volume follows the day's variance: a day of twice the spread trades about 1.9 times as much.
const VOLUME_ON_VARIANCE = 0.45

/** The factor that all tickers of a seed share: one log return without drift, and its spread, for each bar. */
export class Market {
  readonly shock: Float64Array
  readonly spread: Float64Array

  constructor(random: Random, bars: number) {
    this.shock = new Float64Array(bars)
    this.spread = new Float64Array(bars)
    const shocks = new Shocks(random, MARKET_CLUSTERING)
    for (let i = 0; i < bars; i++) {
      shocks.drawNext()
      this.shock[i] = MARKET_SPREAD * shocks.shock
      this.spread[i] = MARKET_SPREAD * shocks.spread
    }
  }
}

export type Company = ReturnType<typeof drawCompany>

/**
 * Draws a company: its beta (its part in the market's moves), the spread (standard deviation) of its own daily log
 * returns, its price before the first bar, and its median daily volume in shares.
 */
export function drawCompany(random: Random) {
  const beta = 0.4 + 1.2 * random.uniform()
  const spread = 0.009 * Math.exp(1.0 * random.uniform())
  const price = Math.max(8, Math.min(600, 55 * Math.exp(0.7 * random.normal())))
  const turnover = 3e7 * Math.exp(1.2 * random.normal())
  return { beta, spread, price, volume: turnover / price }
}

/**
 * Fills the columns of a series from a company's own shocks and the market's. Each day's draws from `random` do not
 * depend on later days, so a longer series begins with the shorter one.
 */
export function fillBars(bars: Series, company: Company, market: Market, random: Random): void {
  const shocks = new Shocks(random, COMPANY_CLUSTERING)
  const usualVariance = company.beta ** 2 * MARKET_SPREAD ** 2 + company.spread ** 2
  let logClose = Math.log(company.price)
  // The part of the log volume that lasts over days.
  let mood = (VOLUME_DRIFT / Math.sqrt(1 - VOLUME_MEMORY ** 2)) * random.normal()
  for (let i = 0; i < bars.days.length; i++) {
    shocks.drawNext()
    const variance = (company.beta * market.spread[i]!) ** 2 + (company.spread * shocks.spread) ** 2
    // Half the day's variance off the log return keeps the expected simple return the same in calm and in wild times.
    const drift = company.beta * MARKET_GROWTH - variance / 2 + pullToUsualPrices(logClose)
    const change = drift + company.beta * market.shock[i]! + company.spread * shocks.shock
    fillPrices(bars, i, logClose, change, variance, random)
    logClose += change
    mood = VOLUME_MEMORY * mood + VOLUME_DRIFT * random.normal()
    const dayActivity = VOLUME_ON_VARIANCE * Math.log(variance / usualVariance) + VOLUME_NOISE * random.normal()
    bars.volume[i] = Math.max(1, Math.round(company.volume * Math.exp(mood + dayActivity)))
  }
}

/**
 * Fills bar `i` around a close-to-close change that is already drawn. The open is a point of the Brownian bridge over
 * the day. High and low are the exact extremes of the bridge from open to close (each on its own).
 * @param logPrice the logarithm of the close before
 * @param change the log return from that close to this one, and `variance` its variance
 */
function fillPrices(bars: Series, i: number, logPrice: number, change: number, variance: number, random: Random): void {
  const overnight = OVERNIGHT * change + Math.sqrt(OVERNIGHT * (1 - OVERNIGHT) * variance) * random.normal()
  const openToClose = change - overnight
  const above = drawBridgeMaximum(openToClose, (1 - OVERNIGHT) * variance, random)
  const below = drawBridgeMaximum(-openToClose, (1 - OVERNIGHT) * variance, random)
  const open = Math.exp(logPrice + overnight)
  bars.open[i] = toCents(open)
  bars.high[i] = toCents(open * Math.exp(above))
  bars.low[i] = toCents(open * Math.exp(-below))
  bars.close[i] = toCents(Math.exp(logPrice + change))
  widenRange(bars, i)
}

/** A random maximum of a Brownian bridge from 0 to `end`; never below either. */
function drawBridgeMaximum(end: number, variance: number, random: Random): number {
  return (end + Math.sqrt(end * end - 2 * variance * Math.log(1 - random.uniform()))) / 2
}

/** Widens high and low to open and close, which rounding may have put outside. */
function widenRange({ open, high, low, close }: Series, i: number): void {
  high[i] = Math.max(open[i]!, high[i]!, close[i]!)
  low[i] = Math.min(open[i]!, low[i]!, close[i]!)
}

function toCents(price: number): number {
  return Math.max(1, Math.round(price * 100)) / 100
}

/** The daily log return that pulls an unusual price back; 0 for a usual one. */
function pullToUsualPrices(logPrice: number): number {
  if (logPrice < LOWEST) return PULL * (LOWEST - logPrice)
  return logPrice > HIGHEST ? PULL * (HIGHEST - logPrice) : 0
}

/** How a day's shock raises the next day's variance; stable while reaction + fallReaction / 2 + persistence < 1. */
interface Clustering {
  /** Weight of yesterday's squared shock. */
  reaction: number
  /** Extra weight of it when the shock was negative: falls excite more than rises (the leverage effect). */
  fallReaction: number
  /** Weight of yesterday's variance. */
  persistence: number
}

// Log-normal activity of this spread gives a kurtosis of 3 exp(4 * 0.4^2) = 5.7 within a day, before any clustering.
const ACTIVITY_SPREAD = 0.4
// Both limits are out of reach for all but a few days in a million; they keep a long run finite.
const MOST_VARIANCE = 30
const LARGEST_SHOCK = 15

/**
 * A stream of daily shocks of mean 0 and long-run variance 1: GJR-GARCH(1,1) variance, times a day's activity. The
 * activity is a log-normal factor on the spread (Clark's mixture: busy days have both large moves and large volume),
 * which makes the tails fat. Shocks are uncorrelated; their sizes are not.
 */
class Shocks {
  /** Of the day last drawn. */
  shock = 0
  /** The standard deviation that the day's shock was drawn with, activity included. */
  spread = 1
  readonly #random: Random
  readonly #clustering: Clustering
  readonly #baseVariance: number
  #variance: number

  constructor(random: Random, clustering: Clustering) {
    const { reaction, fallReaction, persistence } = clustering
    this.#random = random
    this.#clustering = clustering
    // Half the days fall: with this the mean variance is 1.
    this.#baseVariance = 1 - reaction - fallReaction / 2 - persistence
    // Log-normal of mean 1: a spread of 0.5 in the logarithm, less half its square.
    this.#variance = Math.exp(0.5 * random.normal() - 0.125)
  }

  /** Draws the next day: sets `shock` and `spread`. */
  drawNext(): void {
    const { reaction, fallReaction, persistence } = this.#clustering
    const activity = Math.exp(ACTIVITY_SPREAD * this.#random.normal() - ACTIVITY_SPREAD ** 2)
    this.spread = Math.sqrt(this.#variance) * activity
    this.shock = Math.max(-LARGEST_SHOCK, Math.min(LARGEST_SHOCK, this.spread * this.#random.normal()))
    const weight = reaction + (this.shock < 0 ? fallReaction : 0)
    const variance = this.#baseVariance + weight * this.shock * this.shock + persistence * this.#variance
    this.#variance = Math.min(variance, MOST_VARIANCE)
  }
}
