import { DEFINITIONS } from '../../model/definitions.js'
import { type Field, factCodes, factReadings } from '../field.js'
import { DIRECTION_BANDS, type DirectionBand, directionInWords, directionReadings, directions } from '../readings.js'

const { eps: step, leastEps } = DEFINITIONS.directions

export const epsGrowthDirection: Field<DirectionBand> = {
  name: 'eps_growth_direction',
  tier: 'pro',
  needs: 'facts',
  bands: DIRECTION_BANDS,
  summary: 'whether earnings growth quickens',
  rule: `g = (diluted EPS of the newest quarter - that of four quarters earlier) / the size of the latter (at least ${leastEps}); h = the same one quarter before; ${directionInWords(step)}`,
  warmUp: () => 0,
  classify: panel => factCodes(panel, known => directions(known.epsGrowth, step)),
  readings: (panel, t) =>
    factReadings(panel, known =>
      directionReadings(known, t, 'eps', known.epsGrowth, `at least ${leastEps} away from 0`),
    ),
}
