/** How often the best of several was no better than their median where it had not been chosen. */
export interface Overfitting {
  /** Share of the splits with a logit of 0 or below. */
  probability: number
  splits: number
  /** ln(ω / (1 - ω)) of each split, ω = rank out of sample / (columns + 1). */
  logits: Float64Array
}

/** Bars of a block in which one column is summed: n, mean, sum of squared deviations. */
interface Sums {
  n: number
  means: Float64Array
  squares: Float64Array
}

/** C(20, 10) = 184,756 splits are as many as can be ranked at one sitting. */
const MOST_BLOCKS = 20

/**
 * Probability of backtest overfitting, by combinatorially symmetric cross-validation (Bailey, Borwein, López de Prado &
 * Zhu, "The probability of backtest overfitting", 2017): the bars are cut into blocks (their lengths differ by one at
 * most), each half of them once is the sample in which the column with the best Sharpe ratio is chosen, and its rank
 * among all columns is looked up in the other half. Equal ones share their mean rank; of several that are best, the mean
 * of their ranks counts. A column that never moves has a ratio of 0 (of an infinite one, if it rises steadily).
 * @param columns returns per bar of what was tried, all equally long
 */
export function pbo(columns: readonly Float64Array[], blocks: number): Overfitting | { reason: string } {
  const bars = columns[0]?.length ?? 0
  if (columns.length < 2) return { reason: 'fewer than two to choose from' }
  if (columns.some(column => column.length !== bars)) throw new RangeError('columns differ in length')
  if (!Number.isInteger(blocks) || blocks < 2 || blocks % 2 === 1 || blocks > MOST_BLOCKS) {
    return { reason: `${blocks} blocks, but it takes an even number from 2 to ${MOST_BLOCKS}` }
  }
  if (bars < 2 * blocks) return { reason: `${bars} bars are fewer than two for each of ${blocks} blocks` }
  const sums = Array.from({ length: blocks }, (_, i) =>
    blockSums(columns, Math.floor((i * bars) / blocks), Math.floor(((i + 1) * bars) / blocks)),
  )
  const logits = Float64Array.from(halves(blocks), half => {
    const inSample = sharpes(sums.filter((_, i) => (half >> i) & 1))
    const outOfSample = sharpes(sums.filter((_, i) => !((half >> i) & 1)))
    const omega = rankOfBest(inSample, outOfSample) / (columns.length + 1)
    return Math.log(omega / (1 - omega))
  })
  return { probability: logits.filter(logit => logit <= 0).length / logits.length, splits: logits.length, logits }
}

function blockSums(columns: readonly Float64Array[], from: number, to: number): Sums {
  const n = to - from
  const means = Float64Array.from(columns, column => {
    let sum = 0
    for (let bar = from; bar < to; bar++) sum += column[bar]!
    return sum / n
  })
  const squares = Float64Array.from(columns, (column, i) => {
    let sum = 0
    for (let bar = from; bar < to; bar++) sum += (column[bar]! - means[i]!) ** 2
    return sum
  })
  return { n, means, squares }
}

/** Every half of the blocks as a set of bits, ascending. */
function* halves(blocks: number): Generator<number> {
  for (let set = 0; set < 1 << blocks; set++) {
    let bits = 0
    for (let rest = set; rest !== 0; rest &= rest - 1) bits++
    if (bits === blocks / 2) yield set
  }
}

/** Sharpe ratio a bar of each column over the blocks, their moments put together (Chan, Golub & LeVeque 1979). */
function sharpes(blocks: readonly Sums[]): Float64Array {
  const bars = blocks.reduce((sum, { n }) => sum + n, 0)
  return Float64Array.from(blocks[0]!.means, (_, column) => {
    let mean = 0
    for (const { n, means } of blocks) mean += (n / bars) * means[column]!
    let square = 0
    for (const { n, means, squares } of blocks) square += squares[column]! + n * (means[column]! - mean) ** 2
    const deviation = Math.sqrt(square / (bars - 1))
    if (deviation > 1e-12 * Math.abs(mean)) return mean / deviation
    return mean === 0 ? 0 : Math.sign(mean) * Number.POSITIVE_INFINITY
  })
}

/** Mean rank out of sample, 1 the worst, of those that are best in sample. */
function rankOfBest(inSample: Float64Array, outOfSample: Float64Array): number {
  let best = Number.NEGATIVE_INFINITY
  for (const value of inSample) best = Math.max(best, value)
  let ranks = 0
  let chosen = 0
  for (const [column, value] of inSample.entries()) {
    if (value !== best) continue
    chosen++
    let below = 0
    let equal = 0
    for (const other of outOfSample) {
      if (other < outOfSample[column]!) below++
      else if (other === outOfSample[column]!) equal++
    }
    ranks += below + (equal + 1) / 2
  }
  return ranks / chosen
}
