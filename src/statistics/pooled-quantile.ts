import { countUpTo } from '../ascending.js'
import { quantile } from './quantile.js'

/** Values of one member of a pool, ascending and not empty, and how much the member counts (above 0). */
export interface Weighted {
  ascending: Float64Array
  weight: number
}

/** Each halving leaves half of the bracket: 50 leave less than rounding does. */
const HALVINGS = 50

/**
 * Quantile `p` of a pool to which each member contributes by its weight, however many values it has: of the mixture
 * F = Σ weight · F_i / Σ weight, where F_i is the member's distribution function, linear between order statistics as in
 * quantile.ts. So one member alone has its own quantile, and the order of members does not matter. null of no members.
 */
export function pooledQuantile(members: readonly Weighted[], p: number): number | null {
  if (members.length === 0) return null
  const own = members.map(({ ascending }) => quantile(ascending, p)!)
  // The quantile of a mixture lies between the least and the greatest of its members' quantiles.
  let low = pointAt(members, Math.min(...own))
  let high = pointAt(members, Math.max(...own))
  if (low.x === high.x || low.share >= p) return low.x
  for (let i = 0; i < HALVINGS && hasValues(low, high); i++) {
    const middle = pointAt(members, (low.x + high.x) / 2, low.counts, high.counts)
    if (middle.share < p) low = middle
    else high = middle
  }
  if (hasValues(low, high)) return leastWithin(members, low, high)
  return low.x + ((p - low.share) / (high.share - low.share)) * (high.x - low.x)
}

/** The mixture at x: how many values of each member are up to x, and the share that they make. */
interface Point {
  x: number
  counts: Int32Array
  share: number
}

/** @param least @param most bounds of the counts, so that a narrow bracket is searched quickly */
function pointAt(members: readonly Weighted[], x: number, least?: Int32Array, most?: Int32Array): Point {
  const counts = new Int32Array(members.length)
  let sum = 0
  let weights = 0
  members.forEach(({ ascending, weight }, i) => {
    counts[i] = countUpTo(ascending, x, least?.[i] ?? 0, most?.[i] ?? ascending.length)
    sum += weight * shareUpTo(ascending, x, counts[i]!)
    weights += weight
  })
  return { x, counts, share: sum / weights }
}

/** The member's share of values up to x, linear between them. */
function shareUpTo(ascending: Float64Array, x: number, count: number): number {
  if (count === 0) return 0
  if (count === ascending.length) return 1
  const from = ascending[count - 1]!
  return (count - 1 + (x - from) / (ascending[count]! - from)) / (ascending.length - 1)
}

/** Between two points without a value the mixture is a straight line. */
function hasValues(low: Point, high: Point): boolean {
  return low.counts.some((count, i) => count < high.counts[i]!)
}

/** Where the distribution jumps the quantile is a value itself, not a number beside it. */
function leastWithin(members: readonly Weighted[], low: Point, high: Point): number {
  return members.reduce((least, { ascending }, i) => Math.min(least, ascending[low.counts[i]!] ?? least), high.x)
}
