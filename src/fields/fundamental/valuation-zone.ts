import { undefinedColumn } from '../../indicators/columns.js'
import { percentile } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { TIMEFRAMES } from '../../model/terms.js'
import { cutsInWords, type Field, factCodes, factReadings, type Reading, reading, zoneOf, zones } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import {
  areKnown,
  historyReading,
  quarterReadings,
  VALUATION_BANDS,
  type ValuationBand,
  YIELD_IN_WORDS,
  yieldReadings,
} from '../readings.js'
import { growthZone } from './growth-zone.js'

const { cuts, growth: adjustments } = DEFINITIONS.valuation
const { least } = DEFINITIONS.peers

export const valuationZone: Field<ValuationBand> = {
  name: 'valuation_zone',
  tier: 'plus',
  needs: 'sector',
  bands: VALUATION_BANDS,
  summary: 'how dear the stock is, all measures together',
  rule: `${YIELD_IN_WORDS}; mean of the percentiles that exist of: -E in its own history (needed), -E among itself and at least ${least} peers of its sector, -(book value a share / close) in its own history; plus ${adjustmentsInWords()} by growth_zone; clipped to 0..100; ${cutsInWords(VALUATION_BANDS, cuts)}`,
  warmUp: ({ series }) => TIMEFRAMES[series.timeframe].minHistory - 1,
  classify: panel => factCodes(panel, known => zones(scores(known), cuts, 1)),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

/** 0..100 on every bar, NaN where undefined. */
function scores({ yieldRanks, peers, bookRanks, growth }: Fundamentals): Float64Array {
  const scores = undefinedColumn(growth.length)
  const others = [peers.ranks, bookRanks]
  for (let t = 0; t < scores.length; t++) {
    if (yieldRanks.rank[t]! < 0) continue
    let sum = percentile(yieldRanks.rank[t]!, yieldRanks.size[t]!)
    let count = 1
    for (let i = 0; i < others.length; i++) {
      const { rank, size } = others[i]!
      if (rank[t]! < 0) continue
      sum += percentile(rank[t]!, size[t]!)
      count++
    }
    scores[t] = Math.min(100, Math.max(0, sum / count + adjustment(growth[t]!)))
  }
  return scores
}

/** What growth makes up for; 0 where it is undefined. */
function adjustment(growth: number): number {
  return Number.isNaN(growth) ? 0 : adjustments[zoneOf(growth, DEFINITIONS.growth.cuts)]!
}

function adjustmentsInWords(): string {
  return adjustments.map((points, zone) => `${points} for ${growthZone.bands[zone]}`).join(', ')
}

function readings(known: Fundamentals, t: number): Reading[] {
  const parts = yieldReadings(known, t)
  if (!areKnown(parts)) return parts
  const history = historyReading('history_pct', known.yieldRanks, known.series, t)
  if (history.value === null) return [...parts, history]
  // From here on a null is a measure that is left out of the mean.
  const measures = [history, sectorReading(known, t), ...bookReadings(known, t)]
  return [...parts, ...measures, growthReading(known, t), reading('score', scores(known)[t])]
}

function sectorReading({ peers, hasSector }: Fundamentals, t: number): Reading {
  const { count, ranks } = peers
  const lack = hasSector ? `${count[t]} peers, at least ${least} are needed` : 'it has no sector'
  const note = ranks.rank[t]! < 0 ? `left out: ${lack}` : `among itself and ${count[t]} peers`
  return reading('sector_pct', percentile(ranks.rank[t]!, ranks.size[t]!), note)
}

function bookReadings(known: Fundamentals, t: number): Reading[] {
  const book = quarterReadings(known, t, 'bookValue', [0])
  return areKnown(book) ? [...book, historyReading('book_pct', known.bookRanks, known.series, t)] : book
}

function growthReading(known: Fundamentals, t: number): Reading {
  const growth = known.growth[t]!
  const zone = Number.isNaN(growth) ? 'undefined' : growthZone.bands[zoneOf(growth, DEFINITIONS.growth.cuts)]
  return reading('growth_points', adjustment(growth), `growth_zone is ${zone}`)
}
