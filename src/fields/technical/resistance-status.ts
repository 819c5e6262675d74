import { LEVEL_STATES } from '../../indicators/levels.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { TIMEFRAMES } from '../../model/terms.js'
import { type Field, reading } from '../field.js'

const { approachingAtr, breaches } = DEFINITIONS.levels

export const resistanceStatus: Field<(typeof LEVEL_STATES)[number]> = {
  name: 'resistance_status',
  tier: 'free',
  needs: 'bars',
  bands: LEVEL_STATES,
  summary: 'how the close stands to the nearest pivot high that is not below it',
  rule: `level = the lowest pivot high in sight that is not below the previous close; breached: close above it (given up after ${breaches} such closes in a row); approaching: level - close ≤ ${approachingAtr} ATR; otherwise intact`,
  // An ATR is needed, and a pivot that has as many bars before it as after it.
  warmUp: ({ series }) => Math.max(DEFINITIONS.atr.length, 2 * TIMEFRAMES[series.timeframe].pivotReach),
  classify: panel => panel.resistance.state,
  readings: (panel, t) => [
    reading('close', panel.series.close[t]),
    reading('resistance_level', panel.resistance.level[t]),
    reading('atr', panel.atr[t]),
  ],
}
