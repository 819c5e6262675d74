import { quantile } from './quantile.js'

/** Arithmetic mean; null of no values. */
export function mean(x: ArrayLike<number>): number | null {
  return x.length === 0 ? null : sum(x) / x.length
}

/** Variance of the population that `x` is a sample of: divided by n - 1. null of fewer than two values. */
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

/** m4 / m2^2: the plain kurtosis, 3 of a normal distribution, not the excess over it. null where all values are the same. */
export function kurtosis(x: ArrayLike<number>): number | null {
  if (areEqual(x)) return null
  return centralMoment(x, 4) / centralMoment(x, 2) ** 2
}

/** The middle value, or the mean of the two in the middle; null of no values. */
export function median(x: ArrayLike<number>): number | null {
  return quantile(Float64Array.from(x).sort(), 0.5)
}

/** From the first value to the last; 0 of no values. */
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

/** Asked of the values, because rounding of their mean may leave a variance a little above 0. */
function areEqual(x: ArrayLike<number>): boolean {
  for (let i = 1; i < x.length; i++) if (x[i] !== x[0]) return false
  return true
}
