/** Normal quantile of 97.5 %, for two-sided 95 %. */
const Z = 1.959963984540054

/**
 * 95 % interval of a share, `successes` of `n`; null of none. Wilson, "Probable inference, the law of succession, and
 * statistical inference" (1927): it never leaves 0..1 and holds for few trials, unlike the textbook interval.
 */
export function wilson(successes: number, n: number): { low: number; high: number } | null {
  if (n === 0) return null
  const share = successes / n
  const scale = 1 + (Z * Z) / n
  const centre = (share + (Z * Z) / (2 * n)) / scale
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / n + (Z * Z) / (4 * n * n))
  return {
    low: successes === 0 ? 0 : centre - half,
    high: successes === n ? 1 : centre + half,
  }
}
