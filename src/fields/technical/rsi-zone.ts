import { DEFINITIONS } from '../../model/definitions.js'
import { cutsInWords, type Field, reading, zones } from '../field.js'

const { length, cuts } = DEFINITIONS.rsi
const bands = [
  'deep_oversold',
  'oversold',
  'neutral_low',
  'neutral',
  'neutral_high',
  'overbought',
  'deep_overbought',
] as const

export const rsiZone: Field<(typeof bands)[number]> = {
  name: 'rsi_zone',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: 'relative strength index, from deeply oversold to deeply overbought',
  rule: `RSI = 100·u/(u+d), u and d Wilder ${length} of the rises and falls between closes, seeded with the mean of the first ${length}; ${cutsInWords(bands, cuts)}`,
  warmUp: () => length,
  classify: panel => zones(panel.rsi, cuts, 100, panel.from),
  readings: (panel, t) => [reading('close', panel.series.close[t]), reading('rsi', panel.rsi[t])],
}
