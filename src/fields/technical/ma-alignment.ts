import { compare } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { type Field, reading } from '../field.js'
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
  classify,
  readings: (panel, t) => [
    reading('close', panel.series.close[t]),
    reading(`sma${short}`, panel.smaShort[t]),
    reading(`sma${middle}`, panel.smaMiddle[t]),
    reading(`sma${long}`, panel.smaLong[t]),
  ],
}

const MIXED = bands.indexOf('mixed')

function classify({ series: { close }, from, smaShort, smaMiddle, smaLong }: Panel): Uint8Array {
  const out = new Uint8Array(close.length).fill(UNDEFINED)
  for (let t = Math.max(from, long - 1); t < out.length; t++) {
    const steps =
      compare(close[t]!, smaShort[t]!) + compare(smaShort[t]!, smaMiddle[t]!) + compare(smaMiddle[t]!, smaLong[t]!)
    out[t] = MIXED + (steps === 3 ? 1 : steps === -3 ? -1 : 0)
  }
  return out
}
