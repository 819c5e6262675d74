import { LEVEL_STATES } from '../../indicators/levels.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { TIMEFRAMES } from '../../model/terms.js'
import { type Field, reading } from '../field.js'

const { approachingAtr, breaches } = DEFINITIONS.levels

export const supportStatus: Field<(typeof LEVEL_STATES)[number]> = {
  name: 'support_status',
  tier: 'free',
  needs: 'bars',
  bands: LEVEL_STATES,
  summary: 'how the close stands to the nearest pivot low that is not above it',
  rule: `level = the highest pivot low in sight that is not above the previous close; breached: close below it (given up after ${breaches} such closes in a row); approaching: close - level ≤ ${approachingAtr} ATR; otherwise intact`,
  // An ATR is needed, and a pivot that has as many bars before it as after it.
  warmUp: ({ series }) => Math.max(DEFINITIONS.atr.length, 2 * TIMEFRAMES[series.timeframe].pivotReach),
  classify: panel => panel.support.state,
  readings: (panel, t) => [
    reading('close', panel.series.close[t]),
    reading('support_level', panel.support.level[t]),
    reading('atr', panel.atr[t]),
  ],
}
