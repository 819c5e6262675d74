import erfcinv from '@stdlib/math-base-special-erfcinv'
import gammainc from '@stdlib/math-base-special-gammainc'
import normalCumulative from '@stdlib/stats-base-dists-normal-cdf'
import tCumulative from '@stdlib/stats-base-dists-t-cdf'
import tInverse from '@stdlib/stats-base-dists-t-quantile'

/** P(Z <= x) of a standard normal number. */
export function normalCdf(x: number): number {
  return normalCumulative(x, 0, 1)
}

/**
 * The x with P(Z <= x) = p, p in 0..1; infinite at the ends. It uses the complementary error function, because the
 * plain inverse loses its digits in the lower tail.
 */
export function normalQuantile(p: number): number {
  return -Math.SQRT2 * erfcinv(2 * p)
}

/** P(T <= x) of Student's t with `df` degrees of freedom, above 0. */
export function tCdf(x: number, df: number): number {
  return tCumulative(x, df)
}

/** The x with P(T <= x) = p, p in 0..1. */
export function tQuantile(p: number, df: number): number {
  return tInverse(p, df)
}

/**
 * P(X > x) of chi-square with `df` degrees of freedom. It uses the upper incomplete gamma function, because 1 - P(X <=
 * x) would be 0 where the evidence is strongest.
 */
export function chiSquareSurvival(x: number, df: number): number {
  return x <= 0 ? 1 : gammainc(x / 2, df / 2, true, true)
}

/** P(|Z| >= |z|), from the lower tail, which keeps its digits. */
export function twoSidedNormal(z: number): number {
  return 2 * normalCdf(-Math.abs(z))
}

/** P(|T| >= |t|). */
export function twoSidedT(t: number, df: number): number {
  return 2 * tCdf(-Math.abs(t), df)
}
