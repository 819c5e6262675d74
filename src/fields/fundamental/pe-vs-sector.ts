import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { codes, cutsInWords, type Field, factCodes, factReadings, type Reading, reading, zoneOf } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { areKnown, VALUATION_BANDS, type ValuationBand, YIELD_IN_WORDS, yieldReadings } from '../readings.js'

const { least, maxAge } = DEFINITIONS.peers
const cuts = [...DEFINITIONS.peers.cuts].reverse()
const LOSS = VALUATION_BANDS.indexOf('deeply_overvalued')

export const peVsSector: Field<ValuationBand> = {
  name: 'pe_vs_sector',
  tier: 'pro',
  needs: 'sector',
  bands: VALUATION_BANDS,
  summary: 'earnings yield against the sector',
  rule: `${YIELD_IN_WORDS}; m = median E of at least ${least} other tickers of the sector, each at its last bar of the past ${maxAge} days, which must be positive; E ≤ 0: deeply_overvalued; otherwise m/E: ${cutsInWords(VALUATION_BANDS, cuts)}`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ yield: yields, peers: { median } }) =>
      codes(yields.length, t => zoneOfYield(yields[t]!, median[t]!)),
    ),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function zoneOfYield(own: number, median: number): number {
  if (Number.isNaN(own) || !(median > 0)) return UNDEFINED
  return own <= 0 ? LOSS : zoneOf(median / own, cuts)
}

function readings(known: Fundamentals, t: number): Reading[] {
  const parts = yieldReadings(known, t)
  if (!areKnown(parts)) return parts
  const count = known.peers.count[t]!
  const own = known.yield[t]!
  const median = known.peers.median[t]!
  const lack = known.hasSector ? `of ${count} peers, at least ${least} are needed` : 'it has no sector'
  const found = [
    ...parts,
    reading('peers', count),
    reading('peers_median', median, Number.isNaN(median) ? lack : undefined),
  ]
  if (Number.isNaN(median)) return found
  if (!(median > 0)) return [...found, reading('median_to_own', undefined, 'peers_median must be above 0')]
  return own > 0 ? [...found, reading('median_to_own', median / own)] : found
}
