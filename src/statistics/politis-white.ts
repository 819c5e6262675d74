/**
 * Mean block lengths for a bootstrap of the mean of a series: Politis & White, "Automatic block-length selection for the
 * dependent bootstrap" (2004), as corrected by Patton, Politis & White (2009). Autocovariances are weighted by a flat-top
 * window that reaches twice as far as the last correlation that differs from 0.
 * @param x a series in time order
 * @returns for the stationary and the circular bootstrap, between 1 and min(3 √n, n / 3); 1 where nothing varies
 */
export function politisWhite(x: ArrayLike<number>): { stationary: number; circular: number } {
  const n = x.length
  const deviations = deviationsOf(x)
  const covariances = autocovariances(deviations)
  const reach = Math.min(2 * Math.max(1, uncorrelatedFrom(deviations, covariances)), covariances.length - 1)
  let spectrum = covariances[0] ?? 0
  let slope = 0
  for (let lag = 1; lag <= reach; lag++) {
    const weight = 2 * lag <= reach ? 1 : 2 * (1 - lag / reach)
    spectrum += 2 * weight * covariances[lag]!
    slope += 2 * weight * lag * covariances[lag]!
  }
  const most = Math.max(1, Math.ceil(Math.min(3 * Math.sqrt(n), n / 3)))
  const length = (factor: number) => {
    const block = Math.cbrt((2 * slope * slope * n) / (factor * spectrum * spectrum))
    return Number.isFinite(block) ? Math.min(most, Math.max(1, block)) : 1
  }
  return { stationary: length(2), circular: length(4 / 3) }
}

function deviationsOf(x: ArrayLike<number>): Float64Array {
  const deviations = Float64Array.from(x)
  const mean = deviations.reduce((sum, value) => sum + value, 0) / x.length
  return deviations.map(value => value - mean)
}

/** How many correlations in a row must be small. */
function run(n: number): number {
  return Math.max(5, Math.floor(Math.log10(n)))
}

/** From lag 0 to √n and a run more, as far as the series is long enough to correlate. */
function autocovariances(deviations: Float64Array): Float64Array {
  const n = deviations.length
  const most = Math.min(Math.ceil(Math.sqrt(n)) + run(n), n - 2)
  return Float64Array.from({ length: Math.max(0, most + 1) }, (_, lag) => product(deviations, lag) / n)
}

function product(deviations: Float64Array, lag: number): number {
  let sum = 0
  for (let i = lag; i < deviations.length; i++) sum += deviations[i]! * deviations[i - lag]!
  return sum
}

/** The first lag from which a run of correlations cannot be told from 0; beyond every lag where there is none. */
function uncorrelatedFrom(deviations: Float64Array, covariances: Float64Array): number {
  const n = deviations.length
  const critical = 2 * Math.sqrt(Math.log10(n) / n)
  let head = deviations[0]! ** 2
  let tail = deviations[n - 1]! ** 2
  const total = covariances[0]! * n
  let small = 0
  for (let lag = 0; lag < covariances.length - 1; lag++) {
    // Each correlation by the squares that are left without lag + 1 values at the one end and at the other.
    const scale = Math.sqrt((total - head) * (total - tail))
    small = Math.abs(covariances[lag]! * n) / scale < critical ? small + 1 : 0
    if (small === run(n)) return lag + 1 - run(n)
    head += deviations[lag + 1]! ** 2
    tail += deviations[n - 2 - lag]! ** 2
  }
  return Number.POSITIVE_INFINITY
}
