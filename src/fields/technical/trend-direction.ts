import { compare } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { codes, type Field, reading } from '../field.js'
import type { Panel } from '../panel.js'

const { short, middle, long } = DEFINITIONS.averages
const bands = ['strong_downtrend', 'downtrend', 'neutral', 'uptrend', 'strong_uptrend'] as const

export const trendDirection: Field<(typeof bands)[number]> = {
  name: 'trend_direction',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: 'where the close stands to its averages, and which way the last month points',
  rule: `a = signs of close - SMA ${short}, ${middle}, ${long} added up; g = sign of the slope of ln close over ${DEFINITIONS.slope.length} bars; strong_uptrend: a = 3 and g > 0; strong_downtrend: a = -3 and g < 0; uptrend: a = 3, or a ≥ 1 and g > 0; downtrend: a = -3, or a ≤ -1 and g < 0; otherwise neutral`,
  warmUp: () => long - 1,
  classify: panel => codes(panel.series.close.length, t => trendOf(panel, t)),
  readings: (panel, t) => [
    reading('close', panel.series.close[t]),
    reading(`sma${short}`, panel.smaShort[t]),
    reading(`sma${middle}`, panel.smaMiddle[t]),
    reading(`sma${long}`, panel.smaLong[t]),
    reading('slope20', panel.slope[t], 'of ln close, a bar'),
  ],
}

function trendOf(panel: Panel, t: number): number {
  if (Number.isNaN(panel.smaLong[t]!)) return UNDEFINED
  const close = panel.series.close[t]!
  const above =
    compare(close, panel.smaShort[t]!) + compare(close, panel.smaMiddle[t]!) + compare(close, panel.smaLong[t]!)
  const slope = compare(panel.slope[t]!, 0, 1)
  if (above === 3 && slope > 0) return bands.indexOf('strong_uptrend')
  if (above === -3 && slope < 0) return bands.indexOf('strong_downtrend')
  if (above === 3 || (above >= 1 && slope > 0)) return bands.indexOf('uptrend')
  if (above === -3 || (above <= -1 && slope < 0)) return bands.indexOf('downtrend')
  return bands.indexOf('neutral')
}
