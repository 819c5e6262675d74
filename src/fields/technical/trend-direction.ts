import { compare } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { type Field, reading } from '../field.js'
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
  classify,
  readings: (panel, t) => [
    reading('close', panel.series.close[t]),
    reading(`sma${short}`, panel.smaShort[t]),
    reading(`sma${middle}`, panel.smaMiddle[t]),
    reading(`sma${long}`, panel.smaLong[t]),
    reading('slope20', panel.slope[t], 'of ln close, a bar'),
  ],
}

const NEUTRAL = bands.indexOf('neutral')

function classify({ series: { close }, from, smaShort, smaMiddle, smaLong, slope }: Panel): Uint8Array {
  const out = new Uint8Array(close.length).fill(UNDEFINED)
  for (let t = Math.max(from, long - 1); t < out.length; t++) {
    const c = close[t]!
    const above = compare(c, smaShort[t]!) + compare(c, smaMiddle[t]!) + compare(c, smaLong[t]!)
    out[t] = NEUTRAL + trendOf(above, compare(slope[t]!, 0, 1))
  }
  return out
}

/** Steps from neutral: 2 strongly up .. -2 strongly down. */
function trendOf(above: number, slope: number): number {
  if (above === 3) return slope > 0 ? 2 : 1
  if (above === -3) return slope < 0 ? -2 : -1
  if (above >= 1 && slope > 0) return 1
  return above <= -1 && slope < 0 ? -1 : 0
}
