/**
 * Quantile `p` (0..1) of ascending values, linear between order statistics: place (n - 1) · p, counted from 0.
 * Hyndman & Fan, "Sample quantiles in statistical packages" (1996), type 7; the default of R, NumPy and spreadsheets.
 * null of no values.
 */
export function quantile(ascending: ArrayLike<number>, p: number): number | null {
  if (ascending.length === 0) return null
  const place = (ascending.length - 1) * p
  const below = Math.floor(place)
  const low = ascending[below]!
  const high = ascending[Math.min(below + 1, ascending.length - 1)]!
  return low + (place - below) * (high - low)
}
