import { deviation, mean, sum } from './moments.js'

/** An estimate, its standard error, and their ratio t with `df` degrees of freedom. */
interface Estimate {
  estimate: number
  se: number
  t: number
  df: number
}

/**
 * The mean excess of events, Σ excess / Σ events. Both are calendar series of equal length: by day the sum of the
 * excess of its events, and their number.
 * Its standard error follows Newey & West, "A simple, positive semi-definite, heteroskedasticity and autocorrelation
 * consistent covariance matrix" (1987): autocovariances of excess - ratio · events up to `lag` days, with falling
 * (Bartlett) weights. For windows of h bars `lag` is h - 1; lag 0 only allows for different variances.
 *
 * The normal distribution would treat the standard error as known and find too much with few events. `df` is
 * `effectiveBlocks` of `lag` + 1 days, less one. null where one block has all events, or without variance.
 */
export function neweyWest(excess: Float64Array, events: Float64Array, lag: number): Estimate | null {
  return ratioEstimate(excess, events, lag + 1, deviations => bartlettVariance(deviations, lag))
}

/**
 * The estimate of `neweyWest`, but autocovariances up to `lag` have full weights: Hansen & Hodrick, "Forward exchange
 * rates as optimal predictors of future spot rates" (1980). Their sum can be 0 or less: then the standard error is that
 * of Newey and West, and `fallback` is true. null where one block of `lag` + 1 days has all events, or no variance.
 */
export function hansenHodrick(
  excess: Float64Array,
  events: Float64Array,
  lag: number,
): (Estimate & { fallback: boolean }) | null {
  let fallback = false
  const block = lag + 1
  const estimate = ratioEstimate(excess, events, block, deviations => {
    const uniformVariance = longRunVariance(deviations, lag, () => 1)
    fallback = uniformVariance <= 0
    return fallback ? bartlettVariance(deviations, lag) : uniformVariance
  })
  return estimate && { ...estimate, fallback }
}

/**
 * The ratio Σ excess / Σ events of two calendar series, and its standard error. The days are in clusters of `block`
 * consecutive ones; values of a cluster may depend on each other (Liang & Zeger 1986). The variance has no correction
 * for few or unequal clusters: Student's t with `effectiveBlocks` - 1 degrees of freedom allows for them (Cameron &
 * Miller 2015). null with less than two clusters with events, or without variance.
 */
export function clusterByBlock(excess: Float64Array, events: Float64Array, block: number): Estimate | null {
  return ratioEstimate(excess, events, block, deviations => {
    let variance = 0
    for (let start = 0; start < deviations.length; start += block) {
      variance += sum(deviations.subarray(start, start + block)) ** 2
    }
    return variance
  })
}

/**
 * Effective number of blocks of `block` consecutive days: (Σ n²)² / Σ n⁴, with n events in a block. It is the effective
 * number of clusters with full dependence inside (Carter, Schnepel & Steigerwald, "Asymptotic behavior of a t-test
 * robust to cluster heterogeneity", 2017).
 * A fall of all tickers fills one block with most of the events; counting it as one of many finds too much. 0 without
 * events.
 */
export function effectiveBlocks(events: Float64Array, block: number): number {
  let squares = 0
  let fourths = 0
  for (let start = 0; start < events.length; start += block) {
    const square = sum(events.subarray(start, start + block)) ** 2
    squares += square
    fourths += square ** 2
  }
  return fourths === 0 ? 0 : squares ** 2 / fourths
}

/** The mean of values, assumed independent; overlapping windows and correlated tickers are not. */
export function naiveT(x: ArrayLike<number>): Estimate | null {
  const estimate = mean(x)
  const spread = deviation(x)
  if (estimate === null || !spread) return null
  const se = spread / Math.sqrt(x.length)
  return { estimate, se, t: estimate / se, df: x.length - 1 }
}

/** Least squares of y = alpha + beta · x. */
interface Regression {
  alpha: number
  beta: number
  residuals: Float64Array
  /** Correlation of x and y. */
  r: number
  /** Mean of x, and its sum of squares about the mean. */
  meanX: number
  sxx: number
}

/** The regression of y on x by least squares; null with fewer than three pairs, or where x or y does not vary. */
export function regression(y: Float64Array, x: Float64Array): Regression | null {
  const n = y.length
  const meanX = mean(x) ?? 0
  const meanY = mean(y) ?? 0
  const sxx = squaresAbout(x, meanX)
  const syy = squaresAbout(y, meanY)
  const sxy = productsAbout(x, meanX, y, meanY)
  if (n < 3 || sxx <= RELATIVE_ROUNDING * squaresAbout(x, 0) || syy <= RELATIVE_ROUNDING * squaresAbout(y, 0))
    return null
  const beta = sxy / sxx
  const alpha = meanY - beta * meanX
  const residuals = y.map((value, i) => value - alpha - beta * x[i]!)
  return { alpha, beta, residuals, r: sxy / Math.sqrt(sxx * syy), meanX, sxx }
}

/** Lag of Newey & West, "Automatic lag selection in covariance matrix estimation" (1994), if returns share no bar. */
export function automaticLag(n: number): number {
  return Math.floor(4 * (n / 100) ** (2 / 9))
}

/** The alpha of `regression` with Newey and West's standard error; lag in bars. null without a regression or error. */
export function neweyWestAlpha(
  y: Float64Array,
  x: Float64Array,
  lag: number,
): { alpha: number; se: number; t: number } | null {
  const line = regression(y, x)
  if (line === null) return null
  const { meanX, sxx, residuals } = line
  // The influence of each bar on alpha: its row of (X'X)⁻¹X' times its residual.
  const influence = residuals.map((residual, i) => residual * (1 / x.length - (meanX * (x[i]! - meanX)) / sxx))
  const se = Math.sqrt(bartlettVariance(influence, lag))
  return se > 0 ? { alpha: line.alpha, se, t: line.alpha / se } : null
}

/** A smaller sum of squares, relative to the whole, is rounding. */
const RELATIVE_ROUNDING = 1e-24

/** Effective blocks within this distance of 1 count as one. */
const ROUNDING = 1e-9

/**
 * The ratio Σ excess / Σ events of two calendar series, with its standard error; null where one block has all events,
 * or without variance.
 * @param block length of the blocks that set the degrees of freedom
 * @param varianceOf variance of a sum, from the deviations excess - ratio · events of each day
 */
function ratioEstimate(
  excess: Float64Array,
  events: Float64Array,
  block: number,
  varianceOf: (deviations: Float64Array) => number,
): Estimate | null {
  const df = effectiveBlocks(events, block) - 1
  if (!(df > ROUNDING)) return null
  const eventCount = sum(events)
  const estimate = sum(excess) / eventCount
  const variance = varianceOf(excess.map((value, i) => value - estimate * events[i]!))
  if (!(variance > RELATIVE_ROUNDING * squaresAbout(excess, 0))) return null
  const se = Math.sqrt(variance) / eventCount
  return { estimate, se, t: estimate / se, df }
}

/** Variance of a sum of values that depend on the previous `lag` values: Bartlett's weights keep it at or above 0. */
function bartlettVariance(values: Float64Array, lag: number): number {
  return longRunVariance(values, lag, distance => 1 - distance / (lag + 1))
}

/**
 * Bartlett's variance with lag `days` - 1: the squared sums of all windows of `days` values, added up and divided by
 * `days`. Windows may reach beyond either end of the values.
 */
function windowVariance(values: Float64Array, days: number): number {
  const n = values.length
  let windowSum = 0
  let variance = 0
  for (let day = 0; day < n + days - 1; day++) {
    if (day < n) windowSum += values[day]!
    if (day >= days) windowSum -= values[day - days]!
    variance += windowSum * windowSum
  }
  return variance / days
}

/** The ratio of two calendar series of equal length, its number of events, and its error. */
export interface RatioError {
  mean: number
  n: number
  error: number
}

/**
 * The ratio Σ excess / Σ events and its error.
 * @param days length of the windows in which values may depend on each other
 */
export function ratioError(excess: Float64Array, events: Float64Array, days: number): RatioError {
  let total = 0
  let n = 0
  for (let day = 0; day < excess.length; day++) {
    total += excess[day]!
    n += events[day]!
  }
  const mean = total / n
  const residuals = new Float64Array(excess.length)
  for (let day = 0; day < excess.length; day++) residuals[day] = excess[day]! - mean * events[day]!
  return { mean, n, error: Math.sqrt(windowVariance(residuals, days)) / n }
}

/**
 * The result of `ratioError` for each of several pairs of series (excess, events), whose events fall on the same few
 * days.
 * @param eventDays the days, ascending
 * @param excesses by event day, the excess of each pair; changed by this call
 * @param events by event day, the number of events of every pair
 * @param missing indices into `excesses`, once for each missing event of a pair
 * @param days as in `ratioError`
 */
export function ratioErrors(
  eventDays: Int32Array,
  excesses: Float64Array,
  events: Float64Array,
  missing: readonly number[],
  days: number,
): RatioError[] {
  const pairs = eventDays.length === 0 ? 0 : excesses.length / eventDays.length
  const totals = new Float64Array(pairs)
  for (let from = 0; from < excesses.length; from += pairs)
    for (let pair = 0; pair < pairs; pair++) totals[pair]! += excesses[from + pair]!
  const counts = new Float64Array(pairs).fill(sum(events))
  for (const index of missing) counts[index % pairs]! -= 1
  const means = totals.map((total, pair) => total / counts[pair]!)
  // A missing event counts as one at the mean.
  for (const index of missing) excesses[index]! += means[index % pairs]!
  const windowSums = new Float64Array(pairs)
  const variance = new Float64Array(pairs)
  let day = 0
  // As `windowVariance`, over all windows of `days` days: an event day enters the window on its own day, and leaves it
  // `days` later. Between two such changes the sum in the window stays the same, for `length` days.
  for (let enters = 0, leaves = 0; leaves < eventDays.length; ) {
    const isEntry = enters < eventDays.length && eventDays[enters]! <= eventDays[leaves]! + days
    const nextChange = isEntry ? eventDays[enters]! : eventDays[leaves]! + days
    const dayIndex = isEntry ? enters++ : leaves++
    const from = dayIndex * pairs
    const n = events[dayIndex]!
    const sign = isEntry ? 1 : -1
    const length = nextChange - day
    for (let pair = 0; pair < pairs; pair++) {
      const before = windowSums[pair]!
      variance[pair]! += length * before * before
      windowSums[pair] = before + sign * (excesses[from + pair]! - n * means[pair]!)
    }
    day = nextChange
  }
  return Array.from(means, (mean, pair) => {
    return { mean, n: counts[pair]!, error: Math.sqrt(variance[pair]! / days) / counts[pair]! }
  })
}

/**
 * Variance of a sum of values that depend on the previous `lag` values. It multiplies only days with a value: the
 * events of one ticker are few.
 * @param weightOf weight of the products of values that are this many days apart
 */
function longRunVariance(values: Float64Array, lag: number, weightOf: (distance: number) => number): number {
  const weights = Float64Array.from({ length: lag + 1 }, (_, distance) => 2 * weightOf(distance))
  const days = Int32Array.from(values.keys()).filter(day => values[day] !== 0)
  let variance = squaresAbout(values, 0)
  for (let i = 1; i < days.length; i++) {
    const day = days[i]!
    for (let j = i - 1; j >= 0 && day - days[j]! <= lag; j--) {
      variance += weights[day - days[j]!]! * values[day]! * values[days[j]!]!
    }
  }
  return variance
}

function squaresAbout(x: Float64Array, centre: number): number {
  return productsAbout(x, centre, x, centre)
}

/** The sum of the products of the distances of x and y from their centres (often their means). */
function productsAbout(x: Float64Array, meanX: number, y: Float64Array, meanY: number): number {
  let total = 0
  for (let i = 0; i < x.length; i++) total += (x[i]! - meanX) * (y[i]! - meanY)
  return total
}
