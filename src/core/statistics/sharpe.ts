import { normalCdf, normalQuantile } from './distributions.js'
import { deviation, kurtosis, mean, quantile, skewness } from './moments.js'

/** A Sharpe ratio with what its tests need: `n` returns, their skewness and kurtosis (3 for a normal distribution). */
export interface SharpeSample {
  /** Per bar, not per year. */
  sharpe: number
  n: number
  skewness: number
  kurtosis: number
  /** The benchmark's ratio a bar (default 0). */
  benchmark?: number
}

/** Number of trials, and the variance of their Sharpe ratios a bar; null with fewer than two ratios. */
interface Trials {
  trials: number
  variance: number | null
}

const EULER_MASCHERONI = 0.5772156649015329

/**
 * Sharpe ratio a year: mean(r - f) / sd(r) · √m, sd with n - 1, f = (1 + rf)^(1/m) - 1 (Sharpe, "The Sharpe ratio",
 * 1994). null with fewer than two returns, or where all are equal.
 * @param rf risk-free rate a year, a fraction
 */
export function sharpe(returns: ArrayLike<number>, barsAYear: number, rf = 0): number | null {
  const average = mean(returns)
  const sd = deviation(returns)
  if (average === null || sd === null || sd === 0) return null
  return ((average - freeRate(barsAYear, rf)) / sd) * Math.sqrt(barsAYear)
}

/** The sample for tests of a yearly Sharpe ratio, per bar; null without a ratio. */
export function sampleOf(yearly: number | null, returns: Float64Array, barsAYear: number): SharpeSample | null {
  const skew = skewness(returns)
  const kurt = kurtosis(returns)
  if (yearly === null || skew === null || kurt === null) return null
  return { sharpe: yearly / Math.sqrt(barsAYear), n: returns.length, skewness: skew, kurtosis: kurt }
}

/** Sharpe ratio a year of redrawn returns; NaN where they do not vary. @param drawn indices of the drawn returns */
export function drawnSharpe(returns: Float64Array, drawn: Int32Array, barsAYear: number, rf: number): number {
  const n = drawn.length
  let sum = 0
  for (let i = 0; i < n; i++) sum += returns[drawn[i]!]!
  const centre = sum / n
  let squares = 0
  for (let i = 0; i < n; i++) squares += (returns[drawn[i]!]! - centre) ** 2
  const spread = Math.sqrt(squares / (n - 1))
  if (!(spread > ROUNDING * Math.abs(centre))) return Number.NaN
  return ((centre - freeRate(barsAYear, rf)) / spread) * Math.sqrt(barsAYear)
}

/** A smaller deviation, relative to the mean, is rounding. */
const ROUNDING = 1e-12

/**
 * Sortino ratio a year: mean(r - f) / √mean(min(r - f, 0)²) · √m, f the risk-free rate a bar. The mean is
 * over all n, not only over those below f (Sortino & van der Meer, "Downside risk", 1991). null without returns, or
 * where no return is below f.
 * @param rf risk-free rate a year, a fraction
 */
export function sortino(returns: ArrayLike<number>, barsAYear: number, rf = 0): number | null {
  const average = mean(returns)
  const free = freeRate(barsAYear, rf)
  let squares = 0
  for (let i = 0; i < returns.length; i++) squares += Math.min(returns[i]! - free, 0) ** 2
  if (average === null || squares === 0) return null
  return ((average - free) / Math.sqrt(squares / returns.length)) * Math.sqrt(barsAYear)
}

/** The rate per bar from a rate a year. */
export function freeRate(barsAYear: number, rf: number): number {
  return rf === 0 ? 0 : (1 + rf) ** (1 / barsAYear) - 1
}

/**
 * Probability that the true Sharpe ratio is above the benchmark's: Φ((SR - SR*) √(n - 1) / √(1 - γ₃ SR + (γ₄ - 1)/4
 * SR²)) (Bailey & López de Prado, "The Sharpe ratio efficient frontier", 2012). null with fewer than two returns, or
 * for impossible moments.
 */
export function probabilisticSharpe({ n, benchmark = 0, ...sample }: SharpeSample): number | null {
  const variance = ratioVariance(sample)
  if (n < 2 || variance === null) return null
  return normalCdf(((sample.sharpe - benchmark) * Math.sqrt(n - 1)) / Math.sqrt(variance))
}

/**
 * Returns needed for a Sharpe ratio above the benchmark's with the level's probability, not rounded: 1 + (1 - γ₃ SR +
 * (γ₄ - 1)/4 SR²) (z / (SR - SR*))² (Bailey & López de Prado 2012). null where the ratio is not above the benchmark's:
 * then no length is enough.
 */
export function minTrackRecord(
  { benchmark = 0, ...sample }: Omit<SharpeSample, 'n'> & { n?: number },
  level = 0.95,
): number | null {
  const variance = ratioVariance(sample)
  const edge = sample.sharpe - benchmark
  if (variance === null || !(edge > 0)) return null
  return 1 + variance * (normalQuantile(level) / edge) ** 2
}

/**
 * The expected Sharpe ratio a bar of the best of N worthless trials: √V ((1 - γ) z(1 - 1/N) + γ z(1 - 1/(N e))), γ =
 * 0.5772… (Bailey & López de Prado, "The deflated Sharpe ratio", 2014). 0 for one trial, where nothing was chosen; null
 * without trials or variance.
 */
export function expectedMaximumSharpe(trials: number, variance: number | null): number | null {
  if (variance === null || !(trials >= 1) || !(variance >= 0)) return null
  if (trials === 1) return 0
  const first = normalQuantile(1 - 1 / trials)
  const second = normalQuantile(1 - 1 / (trials * Math.E))
  return Math.sqrt(variance) * ((1 - EULER_MASCHERONI) * first + EULER_MASCHERONI * second)
}

/**
 * Probability that the true Sharpe ratio of the best trial is above the expected best of that many worthless ones. It
 * is the probabilistic ratio with `expectedMaximumSharpe` as benchmark (Bailey & López de Prado 2014).
 */
export function deflatedSharpe(best: Omit<SharpeSample, 'benchmark'> & Trials): number | null {
  const { trials, variance, ...sample } = best
  const benchmark = expectedMaximumSharpe(trials, variance)
  return benchmark === null ? null : probabilisticSharpe({ ...sample, benchmark })
}

/** n times the variance of the estimated ratio (Mertens 2002); null for impossible moments. */
function ratioVariance(sample: Pick<SharpeSample, 'sharpe' | 'skewness' | 'kurtosis'>): number | null {
  const { sharpe, skewness, kurtosis } = sample
  const spread = 1 - skewness * sharpe + ((kurtosis - 1) / 4) * sharpe ** 2
  return spread > 0 ? spread : null
}

/** The worst twentieth of all bars. */
const TAIL = 0.05
/** Fewer bars have no twentieth. */
const LEAST_FOR_TAIL = 1 / TAIL

/** Value at risk at 95 %: the 5 % quantile of the returns a bar; a loss is negative. null under 20 returns. */
export function valueAtRisk(returns: ArrayLike<number>): number | null {
  return returns.length < LEAST_FOR_TAIL ? null : quantile(Float64Array.from(returns).sort(), TAIL)
}

/**
 * Historical conditional value at risk (expected shortfall) at 95 %: the mean of the worst twentieth of the returns a
 * bar. The last of them counts in part (Acerbi & Tasche, "On the coherence of expected shortfall", 2002).
 * It is not the mean of all returns up to the value at risk: for a strategy that is rarely in the market most of those
 * are 0. Never above the value at risk. null with fewer than 20 returns.
 */
export function expectedShortfall(returns: ArrayLike<number>): number | null {
  const ascending = Float64Array.from(returns).sort()
  if (ascending.length < LEAST_FOR_TAIL) return null
  const worstCount = ascending.length * TAIL
  const wholeBars = Math.floor(worstCount)
  const sum = ascending.subarray(0, wholeBars).reduce((all, value) => all + value, 0)
  return (sum + (worstCount - wholeBars) * ascending[wholeBars]!) / worstCount
}

/** Drawdowns of an equity curve. Fractions, 0 or below; bars are indices of the curve. */
interface Drawdowns {
  /** equity / running maximum - 1, bar by bar. */
  series: Float64Array
  /** The deepest; null for an empty curve. */
  maximum: number | null
  /** Mean depth of the spells; null where it never fell. */
  average: number | null
  /** Bars of the longest spell, from the high to the bar that reaches it again, or to the last; 0 if it never fell. */
  longest: number
  /** √mean(drawdown²) (Martin & McCann, "The investor's guide to Fidelity funds", 1989); null for an empty curve. */
  ulcer: number | null
  /** In order of time. */
  spells: DrawdownSpell[]
}

/** From a high until it is reached again. */
interface DrawdownSpell {
  /** The last bar at the high. */
  from: number
  /** The (first) lowest bar. */
  low: number
  /** The first bar at or above the high again; null where there is none yet. */
  to: number | null
  depth: number
}

/** The drawdowns of an equity curve from its own highs; its first value is the starting capital. */
export function drawdowns(equity: Float64Array): Drawdowns {
  const series = new Float64Array(equity.length)
  const spells: DrawdownSpell[] = []
  let highBar = 0
  let current: DrawdownSpell | null = null
  let squares = 0
  for (let bar = 0; bar < equity.length; bar++) {
    if (equity[bar]! >= equity[highBar]!) {
      highBar = bar
      if (current !== null) current.to = bar
      current = null
      continue
    }
    const depth = equity[bar]! / equity[highBar]! - 1
    series[bar] = depth
    squares += depth * depth
    if (current === null) {
      current = { from: highBar, low: bar, to: null, depth }
      spells.push(current)
    } else if (depth < current.depth) {
      current.low = bar
      current.depth = depth
    }
  }
  const lengths = spells.map(({ from, to }) => (to ?? equity.length - 1) - from)
  const total = spells.reduce((sum, { depth }) => sum + depth, 0)
  return {
    series,
    maximum: equity.length === 0 ? null : spells.reduce((least, { depth }) => Math.min(least, depth), 0),
    average: spells.length === 0 ? null : total / spells.length,
    longest: lengths.reduce((longest, length) => Math.max(longest, length), 0),
    ulcer: equity.length === 0 ? null : Math.sqrt(squares / equity.length),
    spells,
  }
}
