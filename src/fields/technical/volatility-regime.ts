import { DEFINITIONS } from '../../model/definitions.js'
import { TIMEFRAMES } from '../../model/terms.js'
import { cutsInWords, type Field, rankReading, rankZones, reading } from '../field.js'

const { cuts } = DEFINITIONS.volatility
const { length } = DEFINITIONS.atr
const bands = ['low', 'normal', 'above_normal', 'high', 'extreme'] as const

export const volatilityRegime: Field<(typeof bands)[number]> = {
  name: 'volatility_regime',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: 'how wide the bars are against their own history',
  rule: `NATR = ATR ${length} (Wilder) / close; its rolling percentile: ${cutsInWords(bands, cuts)}`,
  warmUp: ({ series }) => length + TIMEFRAMES[series.timeframe].minHistory - 1,
  classify: panel => rankZones(panel.natrRanks, cuts, panel.from),
  readings: (panel, t) => [
    reading('atr', panel.atr[t]),
    reading('natr', panel.natr[t]),
    rankReading('natr_pct', panel.natrRanks, t),
  ],
}
