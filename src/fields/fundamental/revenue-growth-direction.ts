import { DEFINITIONS } from '../../model/definitions.js'
import { type Field, factCodes, factReadings } from '../field.js'
import { DIRECTION_BANDS, type DirectionBand, directionInWords, directionReadings, directions } from '../readings.js'

const step = DEFINITIONS.directions.revenue

export const revenueGrowthDirection: Field<DirectionBand> = {
  name: 'revenue_growth_direction',
  tier: 'pro',
  needs: 'facts',
  bands: DIRECTION_BANDS,
  summary: 'whether revenue growth quickens',
  rule: `g = revenue of the newest quarter / that of four quarters earlier (positive) - 1; h = the same one quarter before; ${directionInWords(step)}`,
  warmUp: () => 0,
  classify: panel => factCodes(panel, known => directions(known.revenueGrowth, step)),
  readings: (panel, t) =>
    factReadings(panel, known => directionReadings(known, t, 'revenue', known.revenueGrowth, 'above 0')),
}
