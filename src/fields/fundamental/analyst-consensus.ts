import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { codesOf, cutsInWords, type Field, factCodes, factReadings, type Reading, reading, zoneOf } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { consensusReading } from '../readings.js'

const { cuts, least } = DEFINITIONS.consensus
const bands = ['strong_sell', 'sell', 'hold', 'buy', 'strong_buy'] as const

export const analystConsensus: Field<(typeof bands)[number]> = {
  name: 'analyst_consensus',
  tier: 'plus',
  needs: 'facts',
  bands,
  summary: 'mean of the analysts’ ratings',
  rule: `mean of the latest counts of at least ${least} analysts, 5 strong buy, 4 buy, 3 hold, 2 sell, 1 strong sell; ${cutsInWords(bands, cuts)}`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ consensus }) =>
      codesOf(consensus.now, now => (now === undefined ? UNDEFINED : zoneOf(now.mean, cuts))),
    ),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function readings({ consensus }: Fundamentals, t: number): Reading[] {
  const now = consensus.now[t]
  const mean = consensusReading('consensus_mean', now, 'yet')
  if (now === undefined) return [mean]
  const opinions = ['strong_buy', 'buy', 'hold', 'sell', 'strong_sell'] as const
  return [...opinions.map(opinion => reading(opinion, now.counts[opinion], 'analysts')), mean]
}
