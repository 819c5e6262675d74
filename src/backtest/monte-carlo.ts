import { dateOf } from '../model/day.js'
import { expandedTail, politisWhite, stationaryIndices } from '../statistics/bootstrap.js'
import { quantile } from '../statistics/moments.js'
import { Random } from '../statistics/random.js'
import { freeRate } from '../statistics/sharpe.js'
import type { FanPoint, Interval, MonteCarlo } from './result.js'
import { type Curve, returnsOf } from './statistics.js'

/** Dates of the fan, beside its first: more are not to be told apart, and each keeps a value of every draw. */
const FAN_DATES = 120
/** Of the draws at a date: nine of ten, half of them, and the middle one. */
const FAN = { p5: 0.05, p25: 0.25, median: 0.5, p75: 0.75, p95: 0.95 } as const

/**
 * What could have come of the same returns in other orders: the returns of the bars redrawn in blocks by the stationary
 * bootstrap (Politis & Romano, "The stationary bootstrap", 1994), the mean block that of Politis and White. Each draw is a
 * curve as long as the strategy's own. Intervals of 95 % are Hesterberg's expanded percentiles, by as many values as there
 * are blocks. Days that did not happen are in no draw.
 * @param days of the curve
 */
export function monteCarlo(days: Int32Array, curve: Curve, draws: number, seed: number): MonteCarlo {
  const returns = returnsOf(curve)
  const why = reasonAgainst(curve, returns)
  if (why !== null) return { draws: 0, block: null, ...NOTHING, fan: [], reason: why }
  const block = politisWhite(returns)
  const random = Random.stream(new Random(seed).word(), STREAM)
  const drawn = new Draws(curve, returns, draws)
  const indices = new Int32Array(returns.length)
  for (let draw = 0; draw < draws; draw++) drawn.add(stationaryIndices(random, returns.length, block, indices))
  const tail = expandedTail(Math.max(2, returns.length / block))
  return {
    draws,
    block,
    cagr: intervalOf(drawn.cagr, tail),
    sharpe: intervalOf(drawn.sharpe, tail),
    max_drawdown: intervalOf(drawn.falls, tail),
    lost: drawn.cagr.filter(value => value < 0).length / draws,
    fan: drawn.fan(days),
    reason: null,
  }
}

/** Draws of other purposes have streams of their own. */
const STREAM = 3

const NONE: Interval = { low: null, median: null, high: null }
const NOTHING = { cagr: NONE, sharpe: NONE, max_drawdown: NONE, lost: null }

function reasonAgainst({ equity, start }: Curve, returns: Float64Array): string | null {
  if (returns.length < 2) return 'there are fewer than two returns'
  if (start <= 0 || equity.some(value => value <= 0)) return 'the equity fell to 0 or below'
  return returns.every(value => value === returns[0]) ? 'the returns do not vary' : null
}

/** A value that a draw does not have is NaN, and left out. */
function intervalOf(values: Float64Array, tail: number): Interval {
  const known = values.filter(value => !Number.isNaN(value)).sort()
  return { low: quantile(known, tail), median: quantile(known, 0.5), high: quantile(known, 1 - tail) }
}

/** What is kept of every draw: three statistics, and its value on some dates. */
class Draws {
  readonly cagr: Float64Array
  readonly sharpe: Float64Array
  readonly falls: Float64Array
  readonly #curve: Curve
  readonly #returns: Float64Array
  /** Bars of the fan, from the second on, and of each the values of all draws. */
  readonly #bars: number[]
  readonly #values: Float64Array[]
  #made = 0

  constructor(curve: Curve, returns: Float64Array, draws: number) {
    this.#curve = curve
    this.#returns = returns
    this.cagr = new Float64Array(draws)
    this.sharpe = new Float64Array(draws)
    this.falls = new Float64Array(draws)
    const dates = Math.min(FAN_DATES, returns.length)
    this.#bars = Array.from({ length: dates }, (_, i) => Math.round(((i + 1) * returns.length) / dates))
    this.#values = this.#bars.map(() => new Float64Array(draws))
  }

  add(indices: Int32Array): void {
    const [returns, draw] = [this.#returns, this.#made++]
    const n = returns.length
    let [value, high, fall, sum, next] = [1, 1, 0, 0, 0]
    for (let i = 0; i < n; i++) {
      const own = returns[indices[i]!]!
      sum += own
      value *= 1 + own
      if (value > high) high = value
      else if (value / high - 1 < fall) fall = value / high - 1
      if (i + 1 === this.#bars[next]) this.#values[next++]![draw] = value
    }
    const { barsAYear, riskFree } = this.#curve
    this.cagr[draw] = value ** (barsAYear / n) - 1
    this.falls[draw] = fall
    this.sharpe[draw] = this.#ratio(indices, sum / n - freeRate(barsAYear, riskFree), sum / n)
  }

  /** NaN of a draw in which nothing varies. */
  #ratio(indices: Int32Array, excess: number, centre: number): number {
    const returns = this.#returns
    const n = indices.length
    let squares = 0
    for (let i = 0; i < n; i++) squares += (returns[indices[i]!]! - centre) ** 2
    const spread = Math.sqrt(squares / (n - 1))
    return spread > ROUNDING * Math.abs(centre) ? (excess / spread) * Math.sqrt(this.#curve.barsAYear) : Number.NaN
  }

  fan(days: Int32Array): FanPoint[] {
    const { start } = this.#curve
    const [first, ...dates] = [0, ...this.#bars].map(bar => dateOf(days[bar]) ?? '')
    const begun = { date: first!, p5: start, p25: start, median: start, p75: start, p95: start }
    const points = dates.map((date, i): FanPoint => {
      const ascending = this.#values[i]!.sort()
      const at = (p: number): number => start * quantile(ascending, p)!
      return { date, p5: at(FAN.p5), p25: at(FAN.p25), median: at(FAN.median), p75: at(FAN.p75), p95: at(FAN.p95) }
    })
    return [begun, ...points]
  }
}

/** A deviation that is a smaller part of the mean is what rounding leaves of none. */
const ROUNDING = 1e-12
