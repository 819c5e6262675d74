import type { Random } from './random.js'

/** A candidate's excess over the benchmark: its non-zero days, by index in the calendar. */
export interface Column {
  indices: Int32Array
  values: Float64Array
}

export interface SuperiorAbility {
  /** White's reality check: greatest mean, not studentised, every candidate centred. */
  realityCheck: number
  /** Hansen's three p-values, studentised: without all poor candidates, without the clearly poor ones, with all. */
  lower: number
  consistent: number
  upper: number
  /** Index of the column with the greatest studentised mean. */
  best: number
}

/**
 * Is the best of many candidates better than the benchmark, allowing for their number? White, "A reality check for data
 * snooping" (2000), and Hansen, "A test for superior predictive ability" (2005). The days are resampled by the
 * stationary bootstrap, the same for every column, so that common movements remain. Variances are the exact ones of
 * that bootstrap.
 * One-sided; where either sign counts, each candidate also enters with reversed signs. p = (1 + resamples at least as
 * great) / (1 + resamples).
 *
 * Hansen's tests treat the variances as known. Few blocks may hold all events (many tickers that fall together, blocks
 * of a tenth of the calendar). Then the best column is too often one with an underestimated variance. The reality check
 * does not divide by it, and is cautious.
 * @param n days of the calendar
 * @param block mean length of blocks, in days
 * @returns a function that resamples and returns the p-values; null where no column varies
 */
export function superiorAbility(
  columns: readonly Column[],
  n: number,
  { block, eitherSign = false }: { block: number; eitherSign?: boolean },
): ((reps: number, random: Random) => SuperiorAbility) | null {
  const kernel = distanceKernel(n, block)
  const varying = columns
    .map((column, id) => varyingColumn(column, id, kernel, eitherSign))
    .filter(column => column !== null)
  const candidates = varying.flatMap(column => column.candidates)
  if (candidates.length === 0) return null
  const best = candidates.reduce((a, b) => (studentisedMean(b) > studentisedMean(a) ? b : a))
  const greatestSum = candidates.reduce((greatest, { sum }) => Math.max(greatest, sum), Number.NEGATIVE_INFINITY)
  const hansenStatistic = Math.max(0, studentisedMean(best))
  // The observed statistic of each test: the reality check, then Hansen's lower, consistent and upper.
  const statistics = [greatestSum, hansenStatistic, hansenStatistic, hansenStatistic]
  return (reps, random) => {
    const exceeding = [0, 0, 0, 0]
    const timesDrawn = new Float64Array(n * RESAMPLES_PER_PASS)
    const indices = new Int32Array(n)
    for (let done = 0; done < reps; done += RESAMPLES_PER_PASS) {
      const resamples = Math.min(RESAMPLES_PER_PASS, reps - done)
      timesDrawn.fill(0)
      for (let rep = 0; rep < resamples; rep++) {
        random.fillBlocks(indices, n, 1 / block)
        for (let i = 0; i < n; i++) timesDrawn[indices[i]! * RESAMPLES_PER_PASS + rep]!++
      }
      greatestInResamples(varying, timesDrawn).forEach((maxima, test) => {
        for (let rep = 0; rep < resamples; rep++) if (maxima[rep]! >= statistics[test]!) exceeding[test]!++
      })
    }
    const [realityCheck, lower, consistent, upper] = exceeding.map(count => (1 + count) / (1 + reps))
    return { realityCheck: realityCheck!, lower: lower!, consistent: consistent!, upper: upper!, best: best.id }
  }
}

/** Resamples that are summed together, so that a column is read once for all of them. */
const RESAMPLES_PER_PASS = 8

interface Varying extends Column {
  candidates: Candidate[]
}

interface Candidate {
  id: number
  sign: 1 | -1
  sum: number
  /** Factor from a sum over the days to a studentised mean. */
  scale: number
  /** What Hansen's lower and consistent tests subtract from a resampled sum: `sum`, or 0 for a poor candidate. */
  lowerCentre: number
  consistentCentre: number
}

function studentisedMean({ sum, scale }: Candidate): number {
  return sum * scale
}

/** The candidates of a column, with one or both signs; null if the column does not vary. */
function varyingColumn({ indices, values }: Column, id: number, kernel: Kernel, eitherSign: boolean): Varying | null {
  const total = values.reduce((sum, value) => sum + value, 0)
  const variance = resampledVariance(indices, values, total, kernel)
  if (variance === null) return null
  const scale = 1 / Math.sqrt(variance)
  // Hansen's bound of the studentised mean.
  const clearlyPoor = -Math.sqrt(2 * Math.max(0, Math.log(Math.log(kernel.n))))
  const signs: Candidate['sign'][] = eitherSign ? [1, -1] : [1]
  // Centred on its sum, a candidate is as good as the benchmark. With centre 0 a poor one stays poor: it hardly counts.
  const candidates = signs.map(sign => {
    const sum = sign * total
    const lowerCentre = Math.max(0, sum)
    const consistentCentre = sum * scale < clearlyPoor ? 0 : sum
    return { id, sign, sum, scale, lowerCentre, consistentCentre }
  })
  return { indices, values, candidates }
}

/**
 * The greatest value of all candidates in each resample, for each test: reality check, lower, consistent, upper. The
 * tests subtract different centres from a resampled sum; Hansen's three also scale it, and count nothing below 0.
 * @param timesDrawn how often each resample contains each day, day after day
 */
function greatestInResamples(columns: readonly Varying[], timesDrawn: Float64Array): Float64Array[] {
  const maxima = [Number.NEGATIVE_INFINITY, 0, 0, 0].map(least => new Float64Array(RESAMPLES_PER_PASS).fill(least))
  const [reality, lower, consistent, upper] = maxima as [Float64Array, Float64Array, Float64Array, Float64Array]
  const sums = new Float64Array(RESAMPLES_PER_PASS)
  for (const column of columns) {
    sumResamples(column, timesDrawn, sums)
    for (const candidate of column.candidates) {
      for (let rep = 0; rep < RESAMPLES_PER_PASS; rep++) {
        const sum = candidate.sign * sums[rep]!
        reality[rep] = Math.max(reality[rep]!, sum - candidate.sum)
        lower[rep] = Math.max(lower[rep]!, (sum - candidate.lowerCentre) * candidate.scale)
        consistent[rep] = Math.max(consistent[rep]!, (sum - candidate.consistentCentre) * candidate.scale)
        upper[rep] = Math.max(upper[rep]!, (sum - candidate.sum) * candidate.scale)
      }
    }
  }
  return maxima
}

/**
 * Writes to `sums` the sum of a column in each of eight resamples (`RESAMPLES_PER_PASS`). Eight variables take half as
 * long as a column of totals.
 * @param timesDrawn how often each resample contains each day, day after day
 */
function sumResamples({ indices, values }: Column, timesDrawn: Float64Array, sums: Float64Array): void {
  let [a, b, c, d, e, f, g, h] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let i = 0; i < indices.length; i++) {
    const value = values[i]!
    const first = indices[i]! * RESAMPLES_PER_PASS
    a += value * timesDrawn[first]!
    b += value * timesDrawn[first + 1]!
    c += value * timesDrawn[first + 2]!
    d += value * timesDrawn[first + 3]!
    e += value * timesDrawn[first + 4]!
    f += value * timesDrawn[first + 5]!
    g += value * timesDrawn[first + 6]!
    h += value * timesDrawn[first + 7]!
  }
  sums.set([a, b, c, d, e, f, g, h])
}

/**
 * Variance of the sum of a resample: n times Hansen's ω². A product of two days weighs by the probability that
 * the stationary bootstrap keeps the distance of the days, in either direction. null where the column does not vary.
 * @param values those of the days at `indices`; all other days have 0
 */
function resampledVariance(
  indices: Int32Array,
  values: Float64Array,
  sum: number,
  { n, weights, totalWeight }: Kernel,
): number | null {
  let squares = 0
  let pairs = 0
  for (let i = 0; i < indices.length; i++) {
    const value = values[i]!
    let weightedEarlier = 0
    for (let j = 0; j < i; j++) weightedEarlier += values[j]! * weights[indices[i]! - indices[j]!]!
    squares += value * value
    pairs += value * weightedEarlier
  }
  // The products are of values, not of deviations from the mean sum / n: the part of the mean is subtracted.
  const variance = squares + 2 * pairs - ((sum * sum) / n) * totalWeight
  return variance > RELATIVE_ROUNDING * squares ? variance : null
}

interface Kernel {
  n: number
  /** The weight of a pair of days by their distance, from 1 to n - 1. */
  weights: Float64Array
  /** Of one day: its own weight 1, and the weights of its pairs with all other days. */
  totalWeight: number
}

function distanceKernel(n: number, block: number): Kernel {
  const sameBlock = 1 - 1 / block
  const weights = Float64Array.from({ length: n }, (_, distance) =>
    distance === 0 ? 0 : (1 - distance / n) * sameBlock ** distance + (distance / n) * sameBlock ** (n - distance),
  )
  return { n, weights, totalWeight: weights.reduce((sum, weight) => sum + weight, 1) }
}

/** A smaller variance, relative to the squares, is rounding. */
const RELATIVE_ROUNDING = 1e-12

/** How often the best of several was no better than their median on other data. */
export interface Overfitting {
  /** Share of the splits with a logit of 0 or below. */
  probability: number
  splits: number
  blocks: number
}

interface RankedSplits {
  overfitting: Overfitting
  /** ln(ω / (1 - ω)) of each split, ω = rank out of sample / (columns + 1). */
  logits: Float64Array
}

/** Moments of each column over the n bars of a block. */
interface BlockMoments {
  n: number
  means: Float64Array
  squaredDeviations: Float64Array
}

/** C(20, 10) = 184,756 splits can still be ranked in reasonable time. */
const MAX_BLOCKS = 20

/**
 * Probability of backtest overfitting, by combinatorially symmetric cross-validation (Bailey, Borwein, López de Prado &
 * Zhu, "The probability of backtest overfitting", 2017). The bars are cut into blocks of nearly equal length. Each half
 * of them is once the sample that chooses the column with the best Sharpe ratio; the other half ranks it among all
 * columns.
 * Equal columns share their mean rank; several best ones count with the mean of their ranks. A choice that ranks just
 * in the middle counts as overfitted. A column without variation has a ratio of 0, or an infinite one if it rises.
 * @param columns the returns of each candidate, bar by bar, all equally long
 */
export function pbo(columns: readonly Float64Array[], blocks: number): RankedSplits | { reason: string } {
  const bars = columns[0]?.length ?? 0
  if (columns.length < 2) return { reason: 'fewer than two to choose from' }
  if (columns.some(column => column.length !== bars)) throw new RangeError('columns differ in length')
  if (!Number.isInteger(blocks) || blocks < 2 || blocks % 2 === 1 || blocks > MAX_BLOCKS) {
    return { reason: `${blocks} blocks, but it takes an even number from 2 to ${MAX_BLOCKS}` }
  }
  if (bars < 2 * blocks) return { reason: `${bars} bars are fewer than two for each of ${blocks} blocks` }
  const moments = Array.from({ length: blocks }, (_, i) =>
    blockMoments(columns, Math.floor((i * bars) / blocks), Math.floor(((i + 1) * bars) / blocks)),
  )
  const halves = [...halvesOfBlocks(blocks)]
  const logits = new Float64Array(halves.length)
  const logitOf = (inSample: Float64Array, outOfSample: Float64Array): number => {
    const relativeRank = rankOfBest(inSample, outOfSample) / (columns.length + 1)
    return Math.log(relativeRank / (1 - relativeRank))
  }
  // The complement of the i-th half from the front is the i-th from the back.
  for (let i = 0; i < halves.length / 2; i++) {
    const isInHalf = (block: number): boolean => ((halves[i]! >> block) & 1) === 1
    const ratios = sharpeRatios(moments.filter((_, block) => isInHalf(block)))
    const complementRatios = sharpeRatios(moments.filter((_, block) => !isInHalf(block)))
    logits[i] = logitOf(ratios, complementRatios)
    logits[halves.length - 1 - i] = logitOf(complementRatios, ratios)
  }
  const probability = logits.filter(logit => logit <= 0).length / logits.length
  return { overfitting: { probability, splits: logits.length, blocks }, logits }
}

/** The mean of each column over the bars of a block, and the sum of the squared deviations from it. */
function blockMoments(columns: readonly Float64Array[], from: number, to: number): BlockMoments {
  const n = to - from
  const means = Float64Array.from(columns, column => {
    let sum = 0
    for (let bar = from; bar < to; bar++) sum += column[bar]!
    return sum / n
  })
  const squaredDeviations = Float64Array.from(columns, (column, i) => {
    let sum = 0
    for (let bar = from; bar < to; bar++) sum += (column[bar]! - means[i]!) ** 2
    return sum
  })
  return { n, means, squaredDeviations }
}

/** Every way to choose half of the blocks, ascending: an integer with bit b set if block b is chosen. */
function* halvesOfBlocks(blocks: number): Generator<number> {
  for (let half = 0; half < 1 << blocks; half++) {
    let chosen = 0
    // Each step clears the lowest bit.
    for (let rest = half; rest !== 0; rest &= rest - 1) chosen++
    if (chosen === blocks / 2) yield half
  }
}

/** Sharpe ratio a bar of each column over the blocks, from combined moments (Chan, Golub & LeVeque 1979). */
function sharpeRatios(blocks: readonly BlockMoments[]): Float64Array {
  const bars = blocks.reduce((sum, { n }) => sum + n, 0)
  const ratios = new Float64Array(blocks[0]!.means.length)
  // Loops by index: there are tens of thousands of splits, and iterators take three times as long.
  for (let column = 0; column < ratios.length; column++) {
    let mean = 0
    for (let i = 0; i < blocks.length; i++) mean += (blocks[i]!.n / bars) * blocks[i]!.means[column]!
    let square = 0
    for (let i = 0; i < blocks.length; i++) {
      const { n, means, squaredDeviations } = blocks[i]!
      square += squaredDeviations[column]! + n * (means[column]! - mean) ** 2
    }
    const deviation = Math.sqrt(square / (bars - 1))
    if (deviation > 1e-12 * Math.abs(mean)) ratios[column] = mean / deviation
    else ratios[column] = mean === 0 ? 0 : Math.sign(mean) * Number.POSITIVE_INFINITY
  }
  return ratios
}

/** Mean rank out of sample (1 is the worst) of the best columns in sample. */
function rankOfBest(inSample: Float64Array, outOfSample: Float64Array): number {
  let best = Number.NEGATIVE_INFINITY
  for (let column = 0; column < inSample.length; column++) best = Math.max(best, inSample[column]!)
  let ranks = 0
  let bestColumns = 0
  for (let column = 0; column < inSample.length; column++) {
    if (inSample[column] !== best) continue
    bestColumns++
    let below = 0
    let equal = 0
    for (let other = 0; other < outOfSample.length; other++) {
      if (outOfSample[other]! < outOfSample[column]!) below++
      else if (outOfSample[other] === outOfSample[column]) equal++
    }
    ranks += below + (equal + 1) / 2
  }
  return ranks / bestColumns
}

/**
 * q-values of Benjamini & Hochberg, "Controlling the false discovery rate" (1995), in the order of `p`. Rejecting where
 * q <= a keeps the expected share of false findings at a, for independent or positively dependent tests.
 * @param p p-values, each in 0..1
 */
export function benjaminiHochberg(p: readonly number[]): number[] {
  return stepUp(p, 1)
}

/**
 * q-values of Benjamini & Yekutieli, "The control of the false discovery rate in multiple testing under dependency"
 * (2001): those of Benjamini & Hochberg times Σ 1/i, valid under any dependence.
 */
export function benjaminiYekutieli(p: readonly number[]): number[] {
  let harmonic = 0
  for (let i = 1; i <= p.length; i++) harmonic += 1 / i
  return stepUp(p, harmonic)
}

/**
 * Adjusted p-values of Holm, "A simple sequentially rejective multiple test procedure" (1979). Rejecting where they are
 * <= a keeps the probability of any false finding at a.
 */
export function holm(p: readonly number[]): number[] {
  const adjusted = new Array<number>(p.length)
  let greatest = 0
  ascendingOrder(p).forEach((index, rank) => {
    greatest = Math.max(greatest, Math.min(1, (p.length - rank) * p[index]!))
    adjusted[index] = greatest
  })
  return adjusted
}

/** q-values of m p-values: from the greatest p down factor · p · m / rank, and never above that of a greater p. */
function stepUp(p: readonly number[], factor: number): number[] {
  const order = ascendingOrder(p)
  const adjusted = new Array<number>(p.length)
  let least = 1
  for (let rank = p.length; rank > 0; rank--) {
    const index = order[rank - 1]!
    least = Math.min(least, p[index]! * ((p.length * factor) / rank))
    adjusted[index] = least
  }
  return adjusted
}

/** The indices of p-values, that of the least first. */
function ascendingOrder(p: readonly number[]): number[] {
  return p.map((_, i) => i).sort((a, b) => p[a]! - p[b]!)
}
