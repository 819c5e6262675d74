import type { Series } from '../../model/series.js'
import type { Random } from '../../random.js'
import { type Clustering, Shocks } from './shocks.js'

// Daily: standard deviation of the market's log return (15 % a year) and mean of its simple return (about 8 % a year).
const MARKET_SPREAD = 0.0095
const MARKET_GROWTH = 0.0003
const MARKET_CLUSTERING: Clustering = { reaction: 0.03, fallReaction: 0.12, persistence: 0.89 }
const COMPANY_CLUSTERING: Clustering = { reaction: 0.06, fallReaction: 0.06, persistence: 0.89 }

// Share of a day's variance that falls before the open.
const OVERNIGHT = 0.2

// A price beyond these is drawn back by this share of the (log) excess a day. Between them, where nearly all prices
// stay, there is no pull and so no edge; without it some ticker of thousands ends at a cent or at millions.
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
      shocks.next()
      this.shock[i] = MARKET_SPREAD * shocks.shock
      this.spread[i] = MARKET_SPREAD * shocks.spread
    }
  }
}

/** What sets one ticker apart from another for good. */
export interface Company {
  /** Its part in the market's moves. */
  beta: number
  /** Standard deviation of its own daily log returns. */
  spread: number
  /** Price before the first bar. */
  price: number
  /** Median volume in shares. */
  volume: number
}

export function drawCompany(random: Random): Company {
  const beta = 0.4 + 1.2 * random.uniform()
  const spread = 0.009 * Math.exp(1.0 * random.uniform())
  const price = Math.max(8, Math.min(600, 55 * Math.exp(0.7 * random.normal())))
  const turnover = 3e7 * Math.exp(1.2 * random.normal())
  return { beta, spread, price, volume: turnover / price }
}

/**
 * Fills the columns of a series from a company's own shocks and the market's. Each day draws from `random` the same way
 * whatever the days after it, so a longer series begins with the shorter one.
 */
export function writeBars(bars: Series, company: Company, market: Market, random: Random): void {
  const shocks = new Shocks(random, COMPANY_CLUSTERING)
  const usual = company.beta ** 2 * MARKET_SPREAD ** 2 + company.spread ** 2
  let log = Math.log(company.price)
  let mood = (VOLUME_DRIFT / Math.sqrt(1 - VOLUME_MEMORY ** 2)) * random.normal()
  for (let i = 0; i < bars.days.length; i++) {
    shocks.next()
    const variance = (company.beta * market.spread[i]!) ** 2 + (company.spread * shocks.spread) ** 2
    // Half the day's variance off the log return keeps the expected simple return the same in calm and in wild times.
    const drift = company.beta * MARKET_GROWTH - variance / 2 + pull(log)
    const change = drift + company.beta * market.shock[i]! + company.spread * shocks.shock
    writePrices(bars, i, log, change, variance, random)
    log += change
    mood = VOLUME_MEMORY * mood + VOLUME_DRIFT * random.normal()
    const busy = VOLUME_ON_VARIANCE * Math.log(variance / usual) + VOLUME_NOISE * random.normal()
    bars.volume[i] = Math.max(1, Math.round(company.volume * Math.exp(mood + busy)))
  }
}

/**
 * One bar around a close-to-close change that is already drawn: the open is a point of the Brownian bridge over the
 * day, high and low are the exact extremes of the bridge from open to close (each on its own).
 */
function writePrices(bars: Series, i: number, log: number, change: number, variance: number, random: Random): void {
  const gap = OVERNIGHT * change + Math.sqrt(OVERNIGHT * (1 - OVERNIGHT) * variance) * random.normal()
  const session = change - gap
  const above = reach(session, (1 - OVERNIGHT) * variance, random)
  const below = reach(-session, (1 - OVERNIGHT) * variance, random)
  const open = Math.exp(log + gap)
  bars.open[i] = toCents(open)
  bars.high[i] = toCents(open * Math.exp(above))
  bars.low[i] = toCents(open * Math.exp(-below))
  bars.close[i] = toCents(Math.exp(log + change))
  contain(bars, i)
}

/** The maximum of a Brownian bridge from 0 to `end`: never below either. */
function reach(end: number, variance: number, random: Random): number {
  return (end + Math.sqrt(end * end - 2 * variance * Math.log(1 - random.uniform()))) / 2
}

/** Open and close lie within low and high by construction; this keeps the last bit of exp from undoing it. */
function contain({ open, high, low, close }: Series, i: number): void {
  high[i] = Math.max(open[i]!, high[i]!, close[i]!)
  low[i] = Math.min(open[i]!, low[i]!, close[i]!)
}

function toCents(price: number): number {
  return Math.max(1, Math.round(price * 100)) / 100
}

function pull(log: number): number {
  if (log < LOWEST) return PULL * (LOWEST - log)
  return log > HIGHEST ? PULL * (HIGHEST - log) : 0
}
