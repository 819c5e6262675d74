import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import type { Dealings } from '../dated-facts.js'
import { codesOf, type Field, factCodes, factReadings, type Reading, reading, zoneBothWays } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { dealingsReading } from '../readings.js'

const { lookback, directionCuts } = DEFINITIONS.insiders
const [mild, strong] = directionCuts
const bands = ['strong_selling', 'selling', 'neutral', 'buying', 'strong_buying'] as const

export const netDirection: Field<(typeof bands)[number]> = {
  name: 'net_direction',
  tier: 'pro',
  needs: 'facts',
  bands,
  summary: 'insiders who bought against those who sold',
  rule: `b and s = insiders who in the last ${lookback} days bought more shares than they sold, and those who sold more; (b - s) / (b + s), 0 without any; ≥ ${strong} strong_buying, ≥ ${mild} buying, ≤ -${strong} strong_selling, ≤ -${mild} selling, else neutral; from the first trade ever known on`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ dealings }) =>
      codesOf(dealings, window => (window === null ? UNDEFINED : zoneBothWays(directionOf(window), directionCuts))),
    ),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function directionOf({ buyers, sellers }: Dealings): number {
  return buyers + sellers === 0 ? 0 : (buyers - sellers) / (buyers + sellers)
}

function readings({ dealings, series }: Fundamentals, t: number): Reading[] {
  const window = dealings[t]!
  const trades = dealingsReading(window, series.days[t]!)
  if (window === null) return [trades]
  return [
    trades,
    reading('net_buyers', window.buyers),
    reading('net_sellers', window.sellers),
    reading('direction', directionOf(window)),
  ]
}
