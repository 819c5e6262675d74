import { readFileSync } from 'node:fs'
import { type Day, weekdayOf } from '../../src/core/model/day.js'
import type { Series } from '../../src/core/model/series.js'
import { Random } from '../../src/core/statistics/random.js'

/** How the returns of a day vary; none of them can be foretold from those before. */
export const WALKS = ['iid', 'garch', 'student', 'drift'] as const
/**
 * With `gjr` volatility comes with falls (Glosten, Jagannathan & Runkle 1993), as it does of stocks. `flipped` takes the
 * returns of an index and draws their signs, so that volatility follows a real calendar.
 */
export type Walk = (typeof WALKS)[number] | 'gjr' | 'flipped'

export interface NullForm {
  walk: Walk
  /** 1, or several that share half of each day's news with each other and with the benchmark `MKT`. */
  tickers: number
  bars: number
  /** What a bar earns more, on average, over so many bars after the close enters RSI below 30; none unless given. */
  edge?: { perBar: number; bars: number }
}

export interface NullTicker {
  ticker: string
  series: Series
  /** Of a market with an edge: 1 on the bars that earned more, and the bars of the events that this comes after. */
  active: Uint8Array
  events: number[]
}

/** Deviation of a bar's return. */
export const VOLATILITY = 0.012
/** Of a walk with drift: what a bar earns on average, 16 % a year. */
const DRIFT = 0.0006
/** Of a day's variance, the part that the night has. */
const NIGHT = 0.3

/**
 * Prices that nothing before them foretells: the return of each bar has the same mean whatever came before, so that no
 * rule has an edge. Volatility may come in spells (GARCH(1,1) of .05, .1 and .85, of the common and of the own news), tails
 * may be fat (Student's t with 4 degrees of freedom), prices may rise. The last ticker, `MKT`, is the common news alone.
 */
export function nullMarket(seed: number, form: NullForm): NullTicker[] {
  const random = new Random(new Random(seed).word())
  const days = weekdays(form.bars)
  const common = news(random, form)
  const share = form.tickers === 1 ? 0 : 0.5
  const own = Array.from({ length: form.tickers }, (_, i) => {
    const apart = news(random, form)
    const mixed = apart.map((value, t) => Math.sqrt(share) * common[t]! + Math.sqrt(1 - share) * value)
    return { ticker: `N${String(i).padStart(2, '0')}`, ...walked(random, days, mixed, form) }
  })
  return form.tickers === 1 ? own : [...own, { ticker: 'MKT', ...walked(random, days, common, form) }]
}

const FIRST: Day = 12_000

function weekdays(bars: number): Int32Array {
  const days = new Int32Array(bars)
  for (let day = FIRST, t = 0; t < bars; day++) if (weekdayOf(day) < 5) days[t++] = day
  return days
}

/** Of unit variance on average. */
function news(random: Random, { walk, bars }: NullForm): Float64Array {
  if (walk === 'flipped') return flipped(random, bars)
  const shocks = new Float64Array(bars)
  let variance = 1
  for (let t = 0; t < bars; t++) {
    const normal = random.normal()
    if (walk === 'student') {
      let chiSquare = 0
      for (let i = 0; i < 4; i++) chiSquare += random.normal() ** 2
      shocks[t] = normal / Math.sqrt(chiSquare / 2)
    } else shocks[t] = Math.sqrt(variance) * normal
    if (walk === 'garch') variance = 0.05 + 0.1 * shocks[t]! ** 2 + 0.85 * variance
    if (walk === 'gjr') variance = 0.05 + (shocks[t]! < 0 ? 0.18 : 0.02) * shocks[t]! ** 2 + 0.85 * variance
  }
  return shocks
}

/** Consecutive returns of the index from a day drawn at random, each with a sign drawn at random. */
function flipped(random: Random, bars: number): Float64Array {
  indexReturns ??= returnsOfIndex()
  const from = random.below(indexReturns.length - bars + 1)
  return indexReturns.slice(from, from + bars).map(value => (random.uniform() < 0.5 ? -value : value))
}

let indexReturns: Float64Array | null = null

/** The S&P 500 from 2000 to 2020, from a development dependency; scaled to unit variance. */
function returnsOfIndex(): Float64Array {
  const [header = '', ...rows] = readFileSync('node_modules/vega-datasets/data/sp500-2000.csv', 'utf8')
    .trim()
    .split(/\r?\n/)
  const column = header.split(',').indexOf('close')
  const close = rows.map(row => Number(row.split(',')[column]))
  const returns = Float64Array.from(close.slice(1), (value, i) => value / close[i]! - 1)
  const scale = Math.sqrt(returns.reduce((sum, value) => sum + value ** 2, 0) / returns.length)
  return returns.map(value => value / scale)
}

function walked(
  random: Random,
  days: Int32Array,
  shocks: Float64Array,
  { walk, edge }: NullForm,
): Omit<NullTicker, 'ticker'> {
  const bars = days.length
  const [open, high, low, close] = [0, 1, 2, 3].map(() => new Float64Array(bars)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ]
  const volume = new Float64Array(bars)
  const active = new Uint8Array(bars)
  const events: number[] = []
  const oversold = new Oversold()
  let price = 100
  let until = -1
  for (let t = 0; t < bars; t++) {
    active[t] = t <= until ? 1 : 0
    const extra = (walk === 'drift' ? DRIFT : 0) + (edge !== undefined && t <= until ? edge.perBar : 0)
    // Simple returns, so that what is earned on average does not depend on the volatility; far tails end before 0.
    const total = Math.max(-0.5, extra + VOLATILITY * shocks[t]!)
    const night = NIGHT * total + VOLATILITY * Math.sqrt(NIGHT * (1 - NIGHT)) * random.normal()
    open[t] = price * (1 + Math.max(-0.4, night))
    close[t] = price * (1 + total)
    high[t] = Math.max(open[t]!, close[t]!) * (1 + 0.4 * VOLATILITY * random.uniform())
    low[t] = Math.min(open[t]!, close[t]!) * (1 - 0.4 * VOLATILITY * random.uniform())
    volume[t] = Math.round(1e6 * Math.exp(0.4 * random.normal()))
    price = close[t]!
    if (edge === undefined || !oversold.entered(price)) continue
    until = t + edge.bars
    events.push(t)
  }
  return { series: { timeframe: 'daily', days, known: days, open, high, low, close, volume }, active, events }
}

/** Whether the RSI of 14 closes falls below 30 with this one, as field rsi_zone defines it. */
class Oversold {
  #before = Number.NaN
  #seen = 0
  #up = 0
  #down = 0
  #below = false

  entered(close: number): boolean {
    const change = close - this.#before
    this.#before = close
    if (Number.isNaN(change)) return false
    this.#seen++
    const weight = this.#seen <= 14 ? 1 / this.#seen : 1 / 14
    this.#up += (Math.max(change, 0) - this.#up) * weight
    this.#down += (Math.max(-change, 0) - this.#down) * weight
    if (this.#seen < 14) return false
    const below = 100 * this.#up < 30 * (this.#up + this.#down)
    const entered = below && !this.#below && this.#seen > 14
    this.#below = below
    return entered
  }
}

/** How many of n fair tests at 5 % find something in all but 1 % of all cases, two-sided: the exact binomial bounds. */
export function fairRejections(n: number, share = 0.05): { least: number; most: number } {
  let chance = (1 - share) ** n
  let below = 0
  let least = -1
  let most = n
  for (let count = 0; count <= n; count++) {
    if (least < 0 && below + chance > 0.005) least = count
    below += chance
    if (below >= 0.995) {
      most = count
      break
    }
    chance *= ((n - count) / (count + 1)) * (share / (1 - share))
  }
  return { least, most }
}
