import { formatDay } from '../../model/day.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import type { Consensus } from '../dated-facts.js'
import { codes, type Field, factCodes, factReadings, type Reading, reading, zoneBothWays } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { areKnown, consensusReading } from '../readings.js'

const { change, least, lookback } = DEFINITIONS.consensus
const bands = ['downgrading', 'stable', 'upgrading'] as const

export const analystConsensusDirection: Field<(typeof bands)[number]> = {
  name: 'analyst_consensus_direction',
  tier: 'pro',
  needs: 'facts',
  bands,
  summary: `the ratings against those of ${lookback} days before`,
  rule: `mean of the latest counts of at least ${least} analysts (as in analyst_consensus) minus the one in force ${lookback} days earlier; ≥ ${change} upgrading, ≤ -${change} downgrading, else stable`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ consensus: { now, before } }) => codes(now.length, t => directionOf(now[t], before[t]))),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function directionOf(now: Consensus | undefined, before: Consensus | undefined): number {
  return now === undefined || before === undefined ? UNDEFINED : zoneBothWays(now.mean - before.mean, [change])
}

function readings({ consensus, series }: Fundamentals, t: number): Reading[] {
  const now = consensus.now[t]
  const before = consensus.before[t]
  const parts = [
    consensusReading('consensus_mean', now, 'yet'),
    consensusReading('consensus_mean_before', before, `by ${formatDay(series.days[t]! - lookback)}`),
  ]
  return areKnown(parts) ? [...parts, reading('change', now!.mean - before!.mean)] : parts
}
