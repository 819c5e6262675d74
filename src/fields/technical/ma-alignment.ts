import { compare } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { codes, type Field, reading } from '../field.js'
import type { Panel } from '../panel.js'

const { short, middle, long } = DEFINITIONS.averages
const bands = ['aligned_bearish', 'mixed', 'aligned_bullish'] as const

export const maAlignment: Field<(typeof bands)[number]> = {
  name: 'ma_alignment',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: 'whether close and averages stand in one order',
  rule: `aligned_bullish: close > SMA ${short} > SMA ${middle} > SMA ${long}; aligned_bearish: the other way round; otherwise mixed`,
  warmUp: () => long - 1,
  classify: panel => codes(panel.series.close.length, t => alignmentOf(panel, t)),
  readings: (panel, t) => [
    reading('close', panel.series.close[t]),
    reading(`sma${short}`, panel.smaShort[t]),
    reading(`sma${middle}`, panel.smaMiddle[t]),
    reading(`sma${long}`, panel.smaLong[t]),
  ],
}

function alignmentOf({ series, smaShort, smaMiddle, smaLong }: Panel, t: number): number {
  if (Number.isNaN(smaLong[t]!)) return UNDEFINED
  const steps =
    compare(series.close[t]!, smaShort[t]!) + compare(smaShort[t]!, smaMiddle[t]!) + compare(smaMiddle[t]!, smaLong[t]!)
  if (steps === 3) return bands.indexOf('aligned_bullish')
  if (steps === -3) return bands.indexOf('aligned_bearish')
  return bands.indexOf('mixed')
}
