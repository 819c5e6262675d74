// For: chance: tests, intervals and draws, each with its source.
// In: numbers.
// Out: numbers; NaN or null where there is no answer.

/** Arithmetic mean; null without values. */
export function mean(x: ArrayLike<number>): number | null {
  return x.length === 0 ? null : sum(x) / x.length
}

/** Variance of the population from a sample: divided by n - 1. null with fewer than two values. */
export function variance(x: ArrayLike<number>): number | null {
  if (x.length < 2) return null
  return areEqual(x) ? 0 : (centralMoment(x, 2) * x.length) / (x.length - 1)
}

/** Standard deviation, the root of the variance with n - 1. */
export function deviation(x: ArrayLike<number>): number | null {
  const squared = variance(x)
  return squared === null ? null : Math.sqrt(squared)
}

/** m3 / m2^1.5 of central moments divided by n (g1 of Joanes & Gill 1998); null where all values are the same. */
export function skewness(x: ArrayLike<number>): number | null {
  if (areEqual(x)) return null
  return centralMoment(x, 3) / centralMoment(x, 2) ** 1.5
}

/** m4 / m2^2: the plain kurtosis, 3 for a normal distribution, not the excess. null where all values are equal. */
export function kurtosis(x: ArrayLike<number>): number | null {
  if (areEqual(x)) return null
  return centralMoment(x, 4) / centralMoment(x, 2) ** 2
}

/** The middle value, or the mean of the two in the middle; null without values. */
export function median(x: ArrayLike<number>): number | null {
  return quantile(Float64Array.from(x).sort(), 0.5)
}

/** Name of each null value, with its reason. */
export function reasonsFor(figures: object, why: (name: string) => string): Record<string, string> {
  const missing = Object.entries(figures).filter(([, value]) => value === null)
  return Object.fromEntries(missing.map(([name]) => [name, why(name)]))
}

/** Adds from the first value to the last; 0 without values. */
export function sum(x: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < x.length; i++) total += x[i]!
  return total
}

function centralMoment(x: ArrayLike<number>, power: number): number {
  const centre = sum(x) / x.length
  let total = 0
  for (let i = 0; i < x.length; i++) total += (x[i]! - centre) ** power
  return total / x.length
}

/** Compares the values, because rounding of their mean may leave a variance a little above 0. */
function areEqual(x: ArrayLike<number>): boolean {
  for (let i = 1; i < x.length; i++) if (x[i] !== x[0]) return false
  return true
}

/**
 * Quantile `p` (0..1) of ascending values, linear between order statistics: index (n - 1) · p, counted from 0. Hyndman
 * & Fan, "Sample quantiles in statistical packages" (1996), type 7; the default of R, NumPy and spreadsheets. null
 * without values.
 */
export function quantile(ascending: ArrayLike<number>, p: number): number | null {
  if (ascending.length === 0) return null
  const index = (ascending.length - 1) * p
  const below = Math.floor(index)
  const low = ascending[below]!
  const high = ascending[Math.min(below + 1, ascending.length - 1)]!
  return low + (index - below) * (high - low)
}
