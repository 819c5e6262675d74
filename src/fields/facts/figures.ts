import { compare } from '../../indicators/compare.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { Chain } from './quarters.js'

/** The quarters of a year. */
const YEAR = 4

/** A figure of the last four quarters added up; NaN when one is missing. `from`: quarters before the newest. */
export function ofYear(chain: Chain, figure: 'eps' | 'revenue', from = 0): number {
  let sum = 0
  for (let i = from; i < from + YEAR; i++) sum += chain[i]?.[figure] ?? Number.NaN
  return sum
}

/** Revenue of four quarters over that of the four before, minus 1; NaN unless both are known and the latter positive. */
export function yearlyGrowth(chain: Chain): number {
  return growth(ofYear(chain, 'revenue'), ofYear(chain, 'revenue', YEAR))
}

/** Revenue of a quarter over that of four quarters earlier, minus 1; NaN unless the latter is positive. */
export function revenueGrowth(chain: Chain, from = 0): number {
  return growth(chain[from]?.revenue ?? Number.NaN, chain[from + YEAR]?.revenue ?? Number.NaN)
}

/** The change of EPS over four quarters by the size of the earlier; NaN when that is unknown or too small to divide by. */
export function epsGrowth(chain: Chain, from = 0): number {
  const now = chain[from]?.eps ?? Number.NaN
  const before = Math.abs(chain[from + YEAR]?.eps ?? Number.NaN)
  if (Number.isNaN(before) || compare(before, DEFINITIONS.directions.leastEps, 1) < 0) return Number.NaN
  return (now - chain[from + YEAR]!.eps) / before
}

function growth(now: number, before: number): number {
  return before > 0 ? now / before - 1 : Number.NaN
}
