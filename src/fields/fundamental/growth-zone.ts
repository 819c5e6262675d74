import { DEFINITIONS } from '../../model/definitions.js'
import { cutsInWords, type Field, factCodes, factReadings, type Reading, reading, zones } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { ofYear } from '../quarters.js'
import { areKnown, quarterReadings } from '../readings.js'

const { cuts } = DEFINITIONS.growth
const bands = ['shrinking', 'slowing', 'stable', 'moderate_growth', 'high_growth'] as const

export const growthZone: Field<(typeof bands)[number]> = {
  name: 'growth_zone',
  tier: 'plus',
  needs: 'facts',
  bands,
  summary: 'revenue of four quarters against the four before',
  rule: `revenue of the newest four quarters / that of the four before (which must be positive) - 1; ${cutsInWords(bands, cuts)}`,
  warmUp: () => 0,
  classify: panel => factCodes(panel, known => zones(known.growth, cuts, 1)),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function readings(known: Fundamentals, t: number): Reading[] {
  const parts = quarterReadings(known, t, 'revenue', [0, 1, 2, 3, 4, 5, 6, 7])
  if (!areKnown(parts)) return parts
  const chain = known.quarters.at(t)
  const before = ofYear(chain, 'revenue', 4)
  return [
    ...parts,
    reading('revenue_ttm', ofYear(chain, 'revenue')),
    reading('revenue_ttm_before', before),
    reading('growth', known.growth[t], before > 0 ? undefined : 'revenue_ttm_before must be above 0'),
  ]
}
