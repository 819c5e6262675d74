import { twoSidedNormal, twoSidedT } from './distributions.js'
import { deviation, mean } from './moments.js'
import { regression } from './robust.js'

/** A two-sided test of "no abnormal return"; all null, with the reason, where there is no test. */
export type EventTest =
  | { statistic: number; df: number | null; p: number; reason: null }
  | { statistic: null; df: null; p: null; reason: string }

/** Mean cumulative abnormal return, standard error, and z from the events' variances (MacKinlay 1997, eq. 16-20). */
export function meanAbnormalReturn(
  events: readonly AbnormalEvent[],
): EventTest & { car: number | null; se: number | null } {
  const n = events.length
  if (n === 0) return { ...noTest(NO_EVENT), car: null, se: null }
  const car = sumOver(events, event => event.car) / n
  const se = Math.sqrt(sumOver(events, event => event.carVariance)) / n
  return { ...normalTest(car / se), car, se }
}

/**
 * Cross-section t of the cumulative abnormal returns: mean / (sd / √N), N - 1 degrees of freedom. It allows for higher
 * variances after the event, but not for events on common days (Brown & Warner 1985).
 */
export function crossSection(events: readonly AbnormalEvent[]): EventTest {
  return testOfMean(events.map(event => event.car))
}

/**
 * Patell's z: Σ SCAR / √Σ df/(df - 2). Each SCAR is a CAR over its own standard deviation, with a t distribution of the
 * model's degrees of freedom (Patell 1976). It assumes independent events and an unchanged variance.
 */
export function patell(events: readonly AbnormalEvent[]): EventTest {
  if (events.length === 0) return noTest(NO_EVENT)
  if (events.some(event => event.df <= 2)) return noTest('an estimation window has too few bars')
  const variance = sumOver(events, event => event.df / (event.df - 2))
  return normalTest(sumOver(events, standardisedCar) / Math.sqrt(variance))
}

/** Patell's test, robust to higher variance: t, N - 1 degrees of freedom (Boehmer, Musumeci & Poulsen 1991). */
export function bmp(events: readonly AbnormalEvent[]): EventTest {
  return testOfMean(events.map(standardisedCar))
}

/**
 * BMP for events on common days: t √((1 - r) / (1 + (N - 1) r)). r is the average correlation of their abnormal returns
 * (Kolari & Pynnönen 2010).
 * @param r from `averageCorrelation`
 */
export function kolariPynnonen(events: readonly AbnormalEvent[], r: number): EventTest {
  const plain = bmp(events)
  if (plain.reason !== null) return plain
  const inflation = 1 + (events.length - 1) * r
  if (!(inflation > 0) || !(r < 1)) return noTest('the average correlation of the events leaves no variance')
  return tTest(plain.statistic * Math.sqrt((1 - r) / inflation), events.length - 1)
}

/**
 * Generalised sign test: (w - N p) / √(N p (1 - p)). w counts events with a CAR above 0; p is the share of abnormal
 * returns above 0 in the estimation windows (Cowan 1992).
 */
export function cowanSign(events: readonly AbnormalEvent[]): EventTest {
  const n = events.length
  if (n === 0) return noTest(NO_EVENT)
  const share =
    sumOver(events, ({ estimation }) => estimation.filter(value => value > 0).length / estimation.length) / n
  if (share === 0 || share === 1) return noTest('the estimation windows have abnormal returns of only one sign')
  const positive = events.filter(event => event.car > 0).length
  return normalTest((positive - n * share) / Math.sqrt(n * share * (1 - share)))
}

/** The test of a statistic that is standard normal without an abnormal return. */
function normalTest(z: number): EventTest {
  return { statistic: z, df: null, p: twoSidedNormal(z), reason: null }
}

export function noTest(reason: string): EventTest & { statistic: null } {
  return { statistic: null, df: null, p: null, reason }
}

export const NO_EVENT = 'no event has a whole estimation window and a whole event window'

/** Student's t of the mean of values, N - 1 degrees of freedom. */
function testOfMean(values: readonly number[]): EventTest {
  const average = mean(values)
  const sd = deviation(values)
  if (average === null) return noTest(NO_EVENT)
  if (sd === null) return noTest('one event has no spread')
  if (sd === 0) return noTest('the events do not differ')
  return tTest((average / sd) * Math.sqrt(values.length), values.length - 1)
}

function tTest(t: number, df: number): EventTest {
  return { statistic: t, df, p: twoSidedT(t, df), reason: null }
}

/** The cumulative abnormal return over its standard deviation. */
function standardisedCar({ car, carVariance }: AbnormalEvent): number {
  return car / Math.sqrt(carVariance)
}

function sumOver(events: readonly AbnormalEvent[], figureOf: (event: AbnormalEvent) => number): number {
  return events.reduce((sum, event) => sum + figureOf(event), 0)
}

/** The days of an event's windows, or indices in one calendar, ascending. */
export interface DatedEvent extends AbnormalEvent {
  estimationDays: Int32Array
  eventDays: Int32Array
}

/** The fewest common days for a correlation; pairs with fewer count as uncorrelated. */
const MIN_COMMON_DAYS = 10

/**
 * Average correlation of the events' cumulative abnormal returns over all pairs, for `kolariPynnonen`. For each pair it
 * is the correlation of their estimation residuals on common days, times the share of common event days (relative to
 * √(h_i h_j)).
 * With one event date for all this is the average of Kolari & Pynnönen (2010); the share follows Kolari, Pape &
 * Pynnönen (2018) for windows that overlap in part. Events without a common day count 0.
 */
export function averageCorrelation(events: readonly DatedEvent[]): number {
  const placed = placeOnCalendar(events.filter(event => event.eventDays.length > 0))
  placed.sort((a, b) => a.eventIndices[0]! - b.eventIndices[0]!)
  let sum = 0
  for (const [i, event] of placed.entries()) {
    const lastDay = event.eventIndices.at(-1)!
    // Later events begin after this one has ended.
    for (let j = i + 1; j < placed.length && placed[j]!.eventIndices[0]! <= lastDay; j++)
      sum += overlappingCorrelation(event, placed[j]!)
  }
  const pairs = (events.length * (events.length - 1)) / 2
  return pairs === 0 ? 0 : sum / pairs
}

/** An event with its windows as indices of the common calendar, and running sums of its residuals. */
interface PlacedEvent {
  eventIndices: Int32Array
  estimationIndices: Int32Array
  /** Whether the estimation window has no gaps: then a subtraction aligns two of them. */
  isGapless: boolean
  residuals: Float64Array
  sums: Float64Array
  squares: Float64Array
}

/** The events on the calendar of all days of their windows, with the running sums for `alignedCorrelation`. */
function placeOnCalendar(events: readonly DatedEvent[]): PlacedEvent[] {
  const days = new Set<number>()
  for (const { estimationDays, eventDays } of events) {
    for (const day of estimationDays) days.add(day)
    for (const day of eventDays) days.add(day)
  }
  const indexOfDay = new Map([...days].sort((a, b) => a - b).map((day, index) => [day, index]))
  return events.map(({ estimationDays, eventDays, estimation }) => {
    const estimationIndices = estimationDays.map(day => indexOfDay.get(day)!)
    return {
      eventIndices: eventDays.map(day => indexOfDay.get(day)!),
      estimationIndices,
      isGapless:
        estimationIndices.length > 0 &&
        estimationIndices.at(-1)! - estimationIndices[0]! === estimationIndices.length - 1,
      residuals: estimation,
      sums: runningSums(estimation, value => value),
      squares: runningSums(estimation, value => value * value),
    }
  })
}

/** The sum of `figureOf(value)` over all values before each index; one more than there are values. */
function runningSums(values: Float64Array, figureOf: (value: number) => number): Float64Array {
  const sums = new Float64Array(values.length + 1)
  for (let i = 0; i < values.length; i++) sums[i + 1] = sums[i]! + figureOf(values[i]!)
  return sums
}

/** The correlation of two events as averageCorrelation() counts it. */
function overlappingCorrelation(a: PlacedEvent, b: PlacedEvent): number {
  const shared = countCommonDays(a.eventIndices, b.eventIndices)
  if (shared === 0) return 0
  const r = a.isGapless && b.isGapless ? alignedCorrelation(a, b) : mergedCorrelation(a, b)
  return r * (shared / Math.sqrt(a.eventIndices.length * b.eventIndices.length))
}

/** How many days two event windows have in common. @param a indices of days, ascending, as in `b` */
function countCommonDays(a: Int32Array, b: Int32Array): number {
  let count = 0
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const distance = a[i]! - b[j]!
    if (distance === 0) count++
    if (distance <= 0) i++
    if (distance >= 0) j++
  }
  return count
}

/**
 * The correlation of two events whose estimation windows have no gaps; 0 with too few common days. A pool has millions
 * of pairs, so sums and squares are differences of running sums.
 */
function alignedCorrelation(a: PlacedEvent, b: PlacedEvent): number {
  const first = Math.max(a.estimationIndices[0]!, b.estimationIndices[0]!)
  const n = Math.min(a.estimationIndices.at(-1)!, b.estimationIndices.at(-1)!) + 1 - first
  if (n < MIN_COMMON_DAYS) return 0
  const fromA = first - a.estimationIndices[0]!
  const fromB = first - b.estimationIndices[0]!
  let products = 0
  for (let k = 0; k < n; k++) products += a.residuals[fromA + k]! * b.residuals[fromB + k]!
  const sumFrom = (runningSums: Float64Array, from: number): number => runningSums[from + n]! - runningSums[from]!
  return pearson(n, products, [
    [sumFrom(a.sums, fromA), sumFrom(a.squares, fromA)],
    [sumFrom(b.sums, fromB), sumFrom(b.squares, fromB)],
  ])
}

/** The correlation of two events whose estimation windows have gaps, from their common days. */
function mergedCorrelation(a: PlacedEvent, b: PlacedEvent): number {
  let n = 0
  let sumA = 0
  let sumB = 0
  let squaresA = 0
  let squaresB = 0
  let products = 0
  for (let i = 0, j = 0; i < a.estimationIndices.length && j < b.estimationIndices.length; ) {
    const distance = a.estimationIndices[i]! - b.estimationIndices[j]!
    if (distance === 0) {
      const x = a.residuals[i]!
      const y = b.residuals[j]!
      n++
      sumA += x
      sumB += y
      squaresA += x * x
      squaresB += y * y
      products += x * y
    }
    if (distance <= 0) i++
    if (distance >= 0) j++
  }
  if (n < MIN_COMMON_DAYS) return 0
  return pearson(n, products, [
    [sumA, squaresA],
    [sumB, squaresB],
  ])
}

/**
 * Correlation of n pairs from their sum of products, and the sum and sum of squares of either side. It is 0 if one side
 * does not vary. Residuals lie near 0, so the sums lose no important digits.
 */
function pearson(n: number, products: number, [[sumA, squaresA], [sumB, squaresB]]: [Sums, Sums]): number {
  const spread = (squaresA - sumA ** 2 / n) * (squaresB - sumB ** 2 / n)
  return spread > 0 ? (products - (sumA * sumB) / n) / Math.sqrt(spread) : 0
}

type Sums = [sum: number, squares: number]

/**
 * Rank test: each event's abnormal returns are ranked over its estimation and event window together, T bars. K_t is the
 * mean rank of bar t over the events, and k = (T + 1) / 2. The statistic is √h (mean of K over the h event bars - k) /
 * √(Σ_t (K_t - k)² / T), standard normal.
 * Corrado 1989; over several bars Corrado & Zivney 1992, Cowan 1992. Equal returns share their mean rank. Windows must
 * have one length.
 */
export function corradoRank(events: readonly AbnormalEvent[]): EventTest {
  const [firstEvent] = events
  if (firstEvent === undefined) return noTest(NO_EVENT)
  const estimationLength = firstEvent.estimation.length
  const h = firstEvent.event.length
  if (events.some(({ estimation, event }) => estimation.length !== estimationLength || event.length !== h)) {
    return noTest('the windows of the events differ in length')
  }
  const bars = estimationLength + h
  const meanRanks = new Float64Array(bars)
  for (const { estimation, event } of events) {
    const ranks = sharedRanks(Float64Array.of(...estimation, ...event))
    for (let t = 0; t < bars; t++) meanRanks[t]! += ranks[t]! / events.length
  }
  const expected = (bars + 1) / 2
  const deviation = Math.sqrt(meanRanks.reduce((sum, rank) => sum + (rank - expected) ** 2, 0) / bars)
  if (deviation === 0) return noTest('the ranks do not differ')
  const observed = meanRanks.subarray(estimationLength).reduce((sum, rank) => sum + rank, 0) / h
  return normalTest((Math.sqrt(h) * (observed - expected)) / deviation)
}

/** The rank of each value, 1 for the least; equal values share the mean of their ranks. */
export function sharedRanks(values: Float64Array): Float64Array {
  const order = Int32Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!)
  const ranks = new Float64Array(values.length)
  for (let i = 0; i < order.length; ) {
    let end = i + 1
    while (end < order.length && values[order[end]!] === values[order[i]!]) end++
    for (let j = i; j < end; j++) ranks[order[j]!] = (i + 1 + end) / 2
    i = end
  }
  return ranks
}

/** The model of a security's expected returns, estimated on the bars before an event. */
export interface ReturnModel {
  alpha: number
  /** 0 for the mean-adjusted model. */
  beta: number
  /** Abnormal returns of the estimation window. */
  residuals: Float64Array
  /** Σ residuals² / df */
  variance: number
  /** L - 2 for the market model, L - 1 for the mean-adjusted one. */
  df: number
  /** Mean and Σ(Rm - mean)² of the market in the estimation window; 0 for the mean-adjusted model. */
  marketMean: number
  marketSquares: number
}

export interface AbnormalEvent {
  /** Abnormal returns of the estimation window, oldest first. */
  estimation: Float64Array
  /** Abnormal returns of the bars 1..h after the event. */
  event: Float64Array
  /** Σ event, and its variance, the error of the estimated model included. */
  car: number
  carVariance: number
  /** Degrees of freedom of the model's variance. */
  df: number
}

/**
 * Market model: R = alpha + beta Rm + e, least squares (MacKinlay, "Event studies in economics and finance", 1997).
 * null with fewer than three bars, or where the market or the residuals do not vary.
 */
export function marketModel(returns: Float64Array, market: Float64Array): ReturnModel | null {
  const line = regression(returns, market)
  if (line === null) return null
  const { alpha, beta, residuals, meanX: marketMean, sxx: marketSquares } = line
  return withVariance({ alpha, beta, residuals, df: returns.length - 2, marketMean, marketSquares })
}

/** Mean-adjusted returns: R = alpha + e (Brown & Warner 1985). null with fewer than two bars, or without variation. */
export function meanAdjusted(returns: Float64Array): ReturnModel | null {
  if (returns.length < 2) return null
  const alpha = mean(returns)!
  const residuals = returns.map(value => value - alpha)
  return withVariance({ alpha, beta: 0, residuals, df: returns.length - 1, marketMean: 0, marketSquares: 0 })
}

/** Returns minus the model's expected returns. Without a market: those of the mean-adjusted model. */
export function abnormalReturns(model: ReturnModel, returns: Float64Array, market?: Float64Array): Float64Array {
  return returns.map((value, i) => value - model.alpha - (market === undefined ? 0 : model.beta * market[i]!))
}

/**
 * The event of a model: cumulative abnormal return over h bars, and its variance s² (h + h²/L + (Σ(Rm - mean))² / Sxx).
 * The last term exists only in the market model (Patell 1976; MacKinlay 1997).
 */
export function abnormalEvent(model: ReturnModel, returns: Float64Array, market?: Float64Array): AbnormalEvent {
  const event = abnormalReturns(model, returns, market)
  const h = event.length
  const marketDrift = market === undefined ? 0 : market.reduce((sum, value) => sum + value - model.marketMean, 0)
  const marketTerm = model.marketSquares === 0 ? 0 : marketDrift ** 2 / model.marketSquares
  return {
    estimation: model.residuals,
    event,
    car: event.reduce((sum, value) => sum + value, 0),
    carVariance: model.variance * (h + h ** 2 / model.residuals.length + marketTerm),
    df: model.df,
  }
}

/** Adds the variance of its residuals to a model; null where they do not vary. */
function withVariance(model: Omit<ReturnModel, 'variance'>): ReturnModel | null {
  const variance = model.residuals.reduce((sum, value) => sum + value * value, 0) / model.df
  return variance > 0 ? { ...model, variance } : null
}
