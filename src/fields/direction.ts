import { compare } from '../indicators/compare.js'
import { UNDEFINED } from '../model/record.js'
import { codes, type Reading, reading } from './field.js'
import type { Fundamentals, GrowthRates } from './fundamentals.js'
import { areKnown, quarterReadings } from './told.js'

/** Whether growth quickens. */
export const DIRECTION_BANDS = ['deteriorating', 'decelerating', 'steady', 'accelerating'] as const
export type DirectionBand = (typeof DIRECTION_BANDS)[number]

/** One code per bar: the growth rate against that of one quarter before; a step either way is a change. */
export function directions({ now, before }: GrowthRates, step: number): Uint8Array {
  return codes(now.length, t => {
    const growth = now[t]!
    const change = growth - before[t]!
    if (Number.isNaN(change)) return UNDEFINED
    if (compare(change, step, 1) >= 0) return DIRECTION_BANDS.indexOf('accelerating')
    if (compare(change, -step, 1) > 0) return DIRECTION_BANDS.indexOf('steady')
    return DIRECTION_BANDS.indexOf(growth < 0 ? 'deteriorating' : 'decelerating')
  })
}

export function directionInWords(step: number): string {
  return `g - h ≥ ${step} accelerating; > -${step} steady; otherwise deteriorating when g < 0, else decelerating`
}

/** The four quarters compared, both growth rates and their difference; what is missing ends the list. */
export function directionReadings(
  known: Fundamentals,
  t: number,
  figure: 'eps' | 'revenue',
  { now, before }: GrowthRates,
  needs: string,
): Reading[] {
  const parts = quarterReadings(known, t, figure, [0, 4, 1, 5])
  if (!areKnown(parts)) return parts
  const rate = (name: string, value: number, earlier: string): Reading =>
    reading(name, value, Number.isNaN(value) ? `${earlier} must be ${needs}` : undefined)
  const rates = [rate('g', now[t]!, `${figure}_q5`), rate('h', before[t]!, `${figure}_q6`)]
  return areKnown(rates) ? [...parts, ...rates, reading('g_minus_h', now[t]! - before[t]!)] : [...parts, ...rates]
}
