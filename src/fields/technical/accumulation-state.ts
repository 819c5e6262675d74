import { DEFINITIONS } from '../../model/definitions.js'
import { TIMEFRAMES } from '../../model/terms.js'
import { cutsInWords, type Field, rankReading, rankZones, reading } from '../field.js'

const { length, minPositive, cuts } = DEFINITIONS.accumulation
const bands = ['strong_distribution', 'distribution', 'neutral', 'accumulation', 'strong_accumulation'] as const

export const accumulationState: Field<(typeof bands)[number]> = {
  name: 'accumulation_state',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: 'whether volume has gone with the buyers or the sellers, against its own history',
  rule: `slope of the accumulation/distribution line over ${length} bars by their mean volume (at least ${minPositive} volumes positive); its rolling percentile: ${cutsInWords(bands, cuts)}`,
  warmUp: ({ series }) => length - 1 + TIMEFRAMES[series.timeframe].minHistory - 1,
  classify: panel => rankZones(panel.accumulationRanks, cuts, panel.from),
  readings: (panel, t) => [
    reading('volume', panel.series.volume[t]),
    reading('adl_slope', panel.accumulation[t]),
    rankReading('adl_pct', panel.accumulationRanks, t),
  ],
}
