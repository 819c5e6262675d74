/** Two numbers are equal when they differ by at most this share of their scale, so no summation order changes a band. */
export const TOLERANCE = 1e-10

/**
 * -1, 0 or 1 as `a` is below, equal to or above `b`. The scale is the larger magnitude of the two unless one is given.
 * Comparisons with NaN are the caller's mistake and answer 0.
 */
export function compare(a: number, b: number, scale = Math.max(Math.abs(a), Math.abs(b))): -1 | 0 | 1 {
  const difference = a - b
  const slack = TOLERANCE * Math.abs(scale)
  if (difference > slack) return 1
  if (difference < -slack) return -1
  return 0
}
