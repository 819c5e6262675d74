import { countBelow } from '../model/day.js'
import { integerColumn } from './columns.js'
import { WASM } from './ranks.wasm.js'
import { instantiated } from './wasm.js'

/**
 * Percentile ranks within a changing subset of one series, in integers: `2 · less + equal`, where values within 1e-10
 * count as equal. With n in the subset the percentile is 50 · rank / n.
 *
 * All values are sorted once. A Fenwick tree (Peter Fenwick 1994) over the sorted indices counts the members, so that
 * adding, removing and ranking cost O(log n).
 */
export class Ranking {
  /** Sorted index of each value; equal values share the first index. */
  readonly #sortedIndex: Int32Array
  /** For each sorted index the first index that counts as equal, and the first beyond those. */
  readonly #from: Int32Array
  readonly #upTo: Int32Array
  /** Fenwick tree: number of members by sorted index. */
  readonly #tree: Int32Array
  size = 0

  /** A ranking of `values` without members yet. An index with NaN (undefined) is never added or ranked. */
  constructor(values: Float64Array) {
    const sorted = sortedDefined(values)
    this.#sortedIndex = sortedIndexes(values, sorted)
    const { from, upTo } = equalRuns(sorted)
    this.#from = from
    this.#upTo = upTo
    this.#tree = new Int32Array(sorted.length + 1)
  }

  add(index: number): void {
    this.#changeCount(index, 1)
  }

  remove(index: number): void {
    this.#changeCount(index, -1)
  }

  /** Twice the number of members below the value at `index`, plus the number of those equal to it. */
  rankOf(index: number): number {
    const sortedIndex = this.#sortedIndex[index]!
    return this.#countBefore(this.#from[sortedIndex]!) + this.#countBefore(this.#upTo[sortedIndex]!)
  }

  #changeCount(index: number, step: 1 | -1): void {
    this.size += step
    const tree = this.#tree
    for (let i = this.#sortedIndex[index]! + 1; i < tree.length; i += i & -i) tree[i]! += step
  }

  /** Number of members before a sorted index. */
  #countBefore(sortedIndex: number): number {
    const tree = this.#tree
    let sum = 0
    for (let i = sortedIndex; i > 0; i -= i & -i) sum += tree[i]!
    return sum
  }
}

// Plain loops: `filter` and `from` with a function take longer than sorting does.

/**
 * The values of a column in ascending order, as `toSorted` returns them. @param into buffer of the same length, or the
 * column itself
 */
export function sortedColumn(values: Float64Array, into: Float64Array = new Float64Array(values.length)): Float64Array {
  if (into !== values) into.set(values)
  sortInPlace(into)
  return into
}

/** Up to this number of values, a call of the compiled module takes longer than sorting. */
const MAX_PLAIN_SORT = 256

/**
 * Sorts values ascending, NaN last. Many values are sorted by the compiled module; a column too long for it is divided
 * into smaller and greater values first.
 */
function sortInPlace(values: Float64Array): void {
  const { length } = values
  if (length <= MAX_PLAIN_SORT) {
    values.sort()
    return
  }
  if (length > MAX_KERNEL_VALUES) {
    const smallerCount = partition(values)
    // Many equal values or NaN leave nearly all in the second part. Dividing again hardly helps: `sort` sorts them
    // below.
    if (Math.min(smallerCount, length - smallerCount) > length / 8) {
      sortInPlace(values.subarray(0, smallerCount))
      sortInPlace(values.subarray(smallerCount))
      return
    }
  }
  // null for too many values or NaN, and without the compiled module.
  const ordered = kernelAscending(values)
  if (ordered === null) values.sort()
  else values.set(ordered)
}

/**
 * Moves the values below a middle one, the median of 31, to the front, and returns their number. NaN is not below it.
 */
function partition(values: Float64Array): number {
  const step = Math.floor(values.length / 31)
  const middle = Float64Array.from({ length: 31 }, (_, i) => values[i * step]!).sort()[15]!
  let smallerCount = 0
  // Arithmetic in place of an unpredictable branch.
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    values[i] = values[smallerCount]!
    values[smallerCount] = value
    smallerCount += Number(value < middle)
  }
  return smallerCount
}

/** The values that are not NaN, ascending. */
function sortedDefined(values: Float64Array): Float64Array {
  const defined = new Float64Array(values.length)
  let count = 0
  for (let i = 0; i < values.length; i++) if (!Number.isNaN(values[i]!)) defined[count++] = values[i]!
  return defined.subarray(0, count).sort()
}

/** The index of each value in the sorted column; equal values have the first one, and NaN has 0. */
function sortedIndexes(values: Float64Array, sorted: Float64Array): Int32Array {
  const indexes = new Int32Array(values.length)
  for (let i = 0; i < values.length; i++) indexes[i] = countBelow(sorted, values[i]!)
  return indexes
}

/** For each value of an ascending column: the first index whose value counts as equal, and the one after the last. */
function equalRuns(sorted: Float64Array): { from: Int32Array; upTo: Int32Array } {
  const from = new Int32Array(sorted.length)
  const upTo = new Int32Array(sorted.length)
  let first = 0
  let end = 0
  for (let index = 0; index < sorted.length; index++) {
    const value = sorted[index]!
    while (sorted[first]! < value - TOLERANCE) first++
    while (end < sorted.length && sorted[end]! <= value + TOLERANCE) end++
    from[index] = first
    upTo[index] = end
  }
  return { from, upTo }
}

/** Rank of `x` among the first `count` values: 2 for each smaller one, 1 for each equal one, 0 for NaN. */
function rankAmong(x: number, values: Float64Array, count: number): number {
  const from = x - TOLERANCE
  const upTo = x + TOLERANCE
  let rank = 0
  // Arithmetic in place of unpredictable branches.
  for (let i = 0; i < count; i++) rank += Number(values[i]! < from) + Number(values[i]! <= upTo)
  return rank
}

/** Up to this number of ranks, counting one by one is faster than sorting. */
export const MAX_RANKS_ONE_BY_ONE = 16

/**
 * Each value's rank among the defined values of a moving subset. The rank is -1 where the value is undefined, or the
 * subset has too few values. WebAssembly computes it in a tenth of the time (assembly/ranks.ts).
 * @param from the first needed bar; ranks before it may be undefined
 * @param memory for the ranks, at least as long as the values; it may be left unused
 */
export function movingRanks(values: Float64Array, subset: Subset, from = 0, memory?: Ranks): Ranks {
  if (values.length - from <= MAX_RANKS_ONE_BY_ONE) return ranksOneByOne(values, subset, from)
  return kernelRanks(values, subset, TOLERANCE, memory) ?? plainRanks(values, subset)
}

/** The ranks of the bars from `from` on, each counted on its own: fastest for a few bars. */
function ranksOneByOne(values: Float64Array, { lag, history, least }: Subset, from: number): Ranks {
  const rank = integerColumn(values.length).fill(-1)
  const size = integerColumn(values.length).fill(0)
  for (let t = Math.max(0, from); t < values.length; t++) {
    if (Number.isNaN(values[t]!)) continue
    const rankedAmong = values.subarray(Math.max(0, t - lag - history + 1), Math.max(0, t - lag + 1))
    let defined = 0
    for (let i = 0; i < rankedAmong.length; i++) defined += Number(!Number.isNaN(rankedAmong[i]!))
    size[t] = defined
    if (defined >= least) rank[t] = rankAmong(values[t]!, rankedAmong, rankedAmong.length)
  }
  return { rank, size }
}

/** As `movingRanks` for all bars, without WebAssembly. */
export function plainRanks(values: Float64Array, { lag, history, least }: Subset): Ranks {
  const rank = new Int32Array(values.length).fill(-1)
  const size = new Int32Array(values.length)
  const ranking = new Ranking(values)
  const isDefined = (t: number): boolean => t >= 0 && !Number.isNaN(values[t]!)
  for (let t = 0; t < values.length; t++) {
    if (isDefined(t - lag - history)) ranking.remove(t - lag - history)
    if (isDefined(t - lag)) ranking.add(t - lag)
    if (!isDefined(t)) continue
    size[t] = ranking.size
    if (ranking.size >= least) rank[t] = ranking.rankOf(t)
  }
  return { rank, size }
}

/** Each value's rank among defined values of the last `history` bars, itself included. @param from first needed bar */
export function rollingRanks(values: Float64Array, history: number, minHistory: number, from = 0): Ranks {
  return movingRanks(values, { lag: 0, history, least: minHistory }, from)
}

/** The percentile, 0..100, of an integer rank among `size`; NaN where the rank is undefined. */
export function percentile(rank: number, size: number): number {
  return rank < 0 ? Number.NaN : (50 * rank) / size
}

/** Number of ascending cuts that a rank's percentile has reached, compared in integers. */
export function zoneOfRank(rank: number, size: number, cuts: readonly number[]): number {
  let zone = 0
  // Arithmetic in place of unpredictable branches.
  for (let i = 0; i < cuts.length; i++) zone += Number(50 * rank >= cuts[i]! * size)
  return zone
}

/** Numbers are equal when they differ by at most this share of their scale, so no summation order changes a band. */
export const TOLERANCE = 1e-10

/**
 * -1, 0 or 1 as `a` is below, equal to or above `b`. The default scale is the larger magnitude of the two. NaN is an
 * error of the caller and returns 0.
 */
export function compare(a: number, b: number, scale = Math.max(Math.abs(a), Math.abs(b))): -1 | 0 | 1 {
  const difference = a - b
  const slack = TOLERANCE * Math.abs(scale)
  if (difference > slack) return 1
  if (difference < -slack) return -1
  return 0
}

/** A rank for every bar, and the size of the set that it was ranked in; rank -1 = undefined. */
export interface Ranks {
  rank: Int32Array
  size: Int32Array
}

/** The set in which a bar's value is ranked: the `history` bars that end `lag` bars before it. */
export interface Subset {
  lag: number
  history: number
  /** Least number of defined values. */
  least: number
}

/** The exports of assembly/ranks.ts. */
interface Kernel {
  memory: { buffer: ArrayBuffer }
  /** Allocates a column and returns its address, 0 on failure; ranks and sizes follow it. */
  reserve(length: number): number
  rank(length: number, lag: number, history: number, least: number, tolerance: number): void
  /** Sorts the column and returns its address, or 0 where a value is undefined. */
  ascending(length: number): number
}

/** undefined: not loaded yet; null: WebAssembly with vectors is not available. */
let kernel: Kernel | null | undefined

/**
 * Ranks by the compiled module; null where it cannot run, or has too little memory.
 * @param memory is filled with the ranks and returned; default new columns
 */
export function kernelRanks(values: Float64Array, subset: Subset, tolerance: number, memory?: Ranks): Ranks | null {
  const { length } = values
  const [module, address] = copyToKernel(values)
  if (module === null) return null
  module.rank(length, subset.lag, subset.history, subset.least, tolerance)
  const ranksAndSizes = new Int32Array(module.memory.buffer, address + values.byteLength, 2 * length)
  if (memory === undefined) return { rank: ranksAndSizes.slice(0, length), size: ranksAndSizes.slice(length) }
  memory.rank.set(ranksAndSizes.subarray(0, length))
  memory.size.set(ranksAndSizes.subarray(length))
  return memory
}

/**
 * Values sorted by the compiled module. They are in its memory, which its next call overwrites. null where it cannot
 * run, there are too many values, or one is NaN.
 */
function kernelAscending(values: Float64Array): Float64Array | null {
  const [module] = copyToKernel(values)
  if (module === null) return null
  const address = module.ascending(values.length)
  return address === 0 ? null : new Float64Array(module.memory.buffer, address, values.length)
}

/** This number of values takes 4 MB of the module's memory, which is never freed. */
const MAX_KERNEL_VALUES = 65_536

/** Copies values to the module's memory, and returns the module and their address; null where that is not possible. */
function copyToKernel(values: Float64Array): [Kernel, number] | [null, 0] {
  kernel ??= instantiated<Kernel>(WASM)
  if (kernel === null || values.length > MAX_KERNEL_VALUES) return [null, 0]
  const address = kernel.reserve(values.length)
  if (address === 0) return [null, 0]
  new Float64Array(kernel.memory.buffer, address, values.length).set(values)
  return [kernel, address]
}
