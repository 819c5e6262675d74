import { compare } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { type Field, reading } from '../field.js'
import type { Panel } from '../panel.js'

const { fast, slow, signal } = DEFINITIONS.macd
const bands = ['expanding_negative', 'contracting_negative', 'contracting_positive', 'expanding_positive'] as const

export const macdState: Field<(typeof bands)[number]> = {
  name: 'macd_state',
  tier: 'free',
  needs: 'bars',
  bands,
  summary: 'on which side of its signal line MACD is, and whether it grows',
  rule: `MACD = EMA ${fast} - EMA ${slow} of the close, signal = EMA ${signal} of MACD, each seeded with the mean of its first values; positive above the signal, negative below, unchanged when equal; expanding when |MACD| is above the bar before, otherwise contracting`,
  warmUp: () => slow + signal - 2,
  classify,
  readings: (panel, t) => [
    reading('macd', panel.macd.macd[t]),
    reading('macd_before', panel.macd.macd[t - 1]),
    reading('signal', panel.macd.signal[t]),
  ],
}

const EXPANDING_NEGATIVE = bands.indexOf('expanding_negative')
const CONTRACTING_NEGATIVE = bands.indexOf('contracting_negative')
const CONTRACTING_POSITIVE = bands.indexOf('contracting_positive')
const EXPANDING_POSITIVE = bands.indexOf('expanding_positive')

function classify({ series: { close }, from, macd: { macd: line, signal: signalLine } }: Panel): Uint8Array {
  const out = new Uint8Array(line.length).fill(UNDEFINED)
  const warmUp = slow + signal - 2
  const sideOn = (t: number): number => compare(line[t]!, signalLine[t]!, close[t]!)
  // When the lines meet the last side stands: a touch is no crossing.
  let side = 0
  for (let t = Math.min(from, out.length) - 1; side === 0 && t >= warmUp; t--) side = sideOn(t)
  for (let t = Math.max(from, warmUp); t < out.length; t++) {
    side = sideOn(t) || side
    if (side === 0) continue
    const grows = compare(Math.abs(line[t]!), Math.abs(line[t - 1]!), close[t]!) > 0
    if (side > 0) out[t] = grows ? EXPANDING_POSITIVE : CONTRACTING_POSITIVE
    else out[t] = grows ? EXPANDING_NEGATIVE : CONTRACTING_NEGATIVE
  }
  return out
}
