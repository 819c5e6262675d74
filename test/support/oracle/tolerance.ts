/** Section 0: comparisons that tolerate rounding, zones, and the percentile in integers. */

/** |a − b| ≤ 1e-10 · scale; the scale is the larger of |a|, |b| unless given, and counts without its sign. */
export function equal(a: number, b: number, scale = Math.max(Math.abs(a), Math.abs(b))): boolean {
  return Math.abs(a - b) <= 1e-10 * Math.abs(scale)
}

export function above(a: number, b: number, scale?: number): boolean {
  return !equal(a, b, scale) && a > b
}

export function below(a: number, b: number, scale?: number): boolean {
  return !equal(a, b, scale) && a < b
}

/** −1, 0 or 1: the sign of a − b, 0 when they are equal. */
export function signOf(a: number, b: number, scale?: number): number {
  if (above(a, b, scale)) return 1
  if (below(a, b, scale)) return -1
  return 0
}

/** Zones are [lower, upper): a value equal to a cut belongs to the zone above it. */
export function zone(value: number, cuts: readonly number[], names: readonly string[], scale: number): string {
  let index = 0
  for (const cut of cuts) if (!below(value, cut, scale)) index += 1
  return names[index]!
}

export interface Rank {
  less: number
  equal: number
  n: number
}

/** Where x stands in a set: how many are below x − 1e-10, how many lie within ± 1e-10 of x, the size. */
export function rank(x: number, set: readonly number[]): Rank {
  let less = 0
  let same = 0
  for (const y of set) {
    if (y < x - 1e-10) less += 1
    else if (y <= x + 1e-10) same += 1
  }
  return { less, equal: same, n: set.length }
}

export function percentile(of: Rank): number {
  return (100 * (of.less + of.equal / 2)) / of.n
}

/** The zone of a percentile, compared with the cuts in integers. */
export function zoneOfRank(of: Rank, cuts: readonly number[], names: readonly string[]): string {
  let index = 0
  for (const cut of cuts) if (!(50 * (2 * of.less + of.equal) < cut * of.n)) index += 1
  return names[index]!
}
