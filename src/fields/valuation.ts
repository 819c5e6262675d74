import { ofYear } from './facts/figures.js'
import { type Reading, reading } from './field.js'
import type { Fundamentals } from './fundamentals.js'
import { areKnown, closeReading, quarterReadings } from './told.js'

/** From cheap to dear. */
export const VALUATION_BANDS = ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued'] as const
export type ValuationBand = (typeof VALUATION_BANDS)[number]

export const YIELD_IN_WORDS =
  'earnings yield E = diluted EPS of the newest four quarters / close (not adjusted for dividends)'

/** The close and earnings that a yield is made of, and the yield; what is missing ends the list. */
export function yieldReadings(known: Fundamentals, t: number): Reading[] {
  const parts = [closeReading(known.series, t), ...quarterReadings(known, t, 'eps', [0, 1, 2, 3])]
  if (!areKnown(parts)) return parts
  const earnings = reading('eps_ttm', ofYear(known.quarters.at(t), 'eps'), 'a share, of the four quarters')
  return [...parts, earnings, reading('earnings_yield', known.yield[t])]
}
