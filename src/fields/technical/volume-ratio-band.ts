import { DEFINITIONS } from '../../model/definitions.js'
import { cutsInWords, type Field, reading, zones } from '../field.js'

const { length, minPositive, cuts } = DEFINITIONS.volumeRatio
const bands = ['extremely_low', 'low', 'normal', 'above_average', 'high', 'extremely_high'] as const

export const volumeRatioBand: Field<(typeof bands)[number]> = {
  name: 'volume_ratio_band',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: "today's volume against the mean of the bars before it",
  rule: `volume / mean volume of the ${length} bars before; undefined when one of them is unknown or fewer than ${minPositive} are positive; ${cutsInWords(bands, cuts)}`,
  warmUp: () => length,
  classify: panel => zones(panel.volumeRatio, cuts, 1, panel.from),
  readings: (panel, t) => [reading('volume', panel.series.volume[t]), reading('volume_ratio', panel.volumeRatio[t])],
}
