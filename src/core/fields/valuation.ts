import { columnWithNaN } from '../indicators/columns.js'
import { percentile, type Ranks } from '../indicators/rank.js'
import { DEFINITIONS } from '../model/definitions.js'
import { type Series, tradedClose, UNDEFINED } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import { GROWTH_BANDS } from './earnings.js'
import {
  codesByBar,
  cutsInWords,
  type Field,
  factField,
  type Reading,
  rankZones,
  reading,
  zoneOf,
  zonesByBar,
} from './field.js'
import type { Fundamentals } from './fundamentals.js'
import { sumOfYear } from './quarters.js'
import { areKnown, quarterReadings } from './readings.js'

/** Valuation of a stock: by all measures, against its own history, against its sector. */

const { valuation, peers, growth } = DEFINITIONS

/** From cheap to expensive. */
const BANDS = ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued'] as const

const YIELD_IN_WORDS = 'earnings yield E = diluted EPS of the newest four quarters / close (not adjusted for dividends)'

const POINTS_IN_WORDS = valuation.growth.map((points, zone) => `${points} for ${GROWTH_BANDS[zone]}`).join(', ')

/** Needs a percentile of its own history. */
const afterHistory: Field['warmUp'] = ({ series }) => TIMEFRAMES[series.timeframe].minHistory - 1

export const valuationZone = factField({
  name: 'valuation_zone',
  tier: 'plus',
  needs: 'sector',
  bands: BANDS,
  summary: 'how dear the stock is, all measures together',
  rule: `${YIELD_IN_WORDS}; mean of the percentiles that exist of: -E in its own history (needed), -E among itself and at least ${peers.least} peers of its sector, -(book value a share / close) in its own history; plus ${POINTS_IN_WORDS} by growth_zone; clipped to 0..100; ${cutsInWords(BANDS, valuation.cuts)}`,
  warmUp: afterHistory,
  classify: company => zonesByBar(valuationScores(company), valuation.cuts, 1),
  readings: (company, t) => {
    const inputs = yieldReadings(company, t)
    if (!areKnown(inputs)) return inputs
    const history = historyReading('history_pct', company.yieldRanks(), company.series, t)
    if (history.value === null) return [...inputs, history]
    // Measures that are null are left out of the mean, except for the history.
    const measures = [history, sectorReading(company, t), ...bookReadings(company, t)]
    return [...inputs, ...measures, growthReading(company, t), reading('score', valuationScores(company)[t])]
  },
})

/** The score that sets the zone, 0..100 on every bar; NaN where undefined. */
function valuationScores(company: Fundamentals): Float64Array {
  const yieldRanks = company.yieldRanks()
  const growth = company.growth()
  const scores = columnWithNaN(growth.length)
  const optionalRanks = [company.peers().ranks, company.bookRanks()]
  for (let t = 0; t < scores.length; t++) {
    if (yieldRanks.rank[t]! < 0) continue
    let sum = percentile(yieldRanks.rank[t]!, yieldRanks.size[t]!)
    let count = 1
    for (let i = 0; i < optionalRanks.length; i++) {
      const { rank, size } = optionalRanks[i]!
      if (rank[t]! < 0) continue
      sum += percentile(rank[t]!, size[t]!)
      count++
    }
    scores[t] = Math.min(100, Math.max(0, sum / count + growthPoints(growth[t]!)))
  }
  return scores
}

/** The adjustment for growth; 0 where growth is undefined. */
function growthPoints(rate: number): number {
  return Number.isNaN(rate) ? 0 : valuation.growth[zoneOf(rate, growth.cuts)]!
}

function sectorReading(company: Fundamentals, t: number): Reading {
  const { count, ranks } = company.peers()
  const reason = company.hasSector ? `${count[t]} peers, at least ${peers.least} are needed` : 'it has no sector'
  const note = ranks.rank[t]! < 0 ? `left out: ${reason}` : `among itself and ${count[t]} peers`
  return reading('sector_pct', percentile(ranks.rank[t]!, ranks.size[t]!), note)
}

function bookReadings(company: Fundamentals, t: number): Reading[] {
  const book = quarterReadings(company, t, 'bookValue', [0])
  return areKnown(book) ? [...book, historyReading('book_pct', company.bookRanks(), company.series, t)] : book
}

function growthReading(company: Fundamentals, t: number): Reading {
  const rate = company.growth()[t]!
  const zone = Number.isNaN(rate) ? 'undefined' : GROWTH_BANDS[zoneOf(rate, growth.cuts)]
  return reading('growth_points', growthPoints(rate), `growth_zone is ${zone}`)
}

export const peVsHistorical = factField({
  name: 'pe_vs_historical',
  tier: 'pro',
  bands: BANDS,
  summary: 'earnings yield against its own history',
  rule: `${YIELD_IN_WORDS}; rolling percentile of -E: ${cutsInWords(BANDS, valuation.historicalCuts)}`,
  warmUp: afterHistory,
  classify: company => rankZones(company.yieldRanks(), valuation.historicalCuts),
  readings: (company, t) => {
    const parts = yieldReadings(company, t)
    return areKnown(parts) ? [...parts, historyReading('history_pct', company.yieldRanks(), company.series, t)] : parts
  },
})

const peerCuts = [...peers.cuts].reverse()
/** The band of a company without earnings. */
const LOSS = BANDS.indexOf('deeply_overvalued')

export const peVsSector = factField({
  name: 'pe_vs_sector',
  tier: 'pro',
  needs: 'sector',
  bands: BANDS,
  summary: 'earnings yield against the sector',
  rule: `${YIELD_IN_WORDS}; m = median E of at least ${peers.least} other tickers of the sector, each at its last bar of the past ${peers.maxAge} days, which must be positive; E ≤ 0: deeply_overvalued; otherwise m/E: ${cutsInWords(BANDS, peerCuts)}`,
  classify: company => {
    const yields = company.yield()
    const { median } = company.peers()
    return codesByBar(yields.length, 0, t => codeOfYield(yields[t]!, median[t]!))
  },
  readings: (company, t) => {
    const readings = yieldReadings(company, t)
    if (!areKnown(readings)) return readings
    const count = company.peers().count[t]!
    const median = company.peers().median[t]!
    const ownYield = company.yield()[t]!
    const reason = company.hasSector ? `of ${count} peers, at least ${peers.least} are needed` : 'it has no sector'
    readings.push(reading('peers', count))
    readings.push(reading('peers_median', median, Number.isNaN(median) ? reason : undefined))
    if (median <= 0) readings.push(reading('median_to_own', undefined, 'peers_median must be above 0'))
    if (median > 0 && ownYield > 0) readings.push(reading('median_to_own', median / ownYield))
    return readings
  },
})

/** The code of a yield's band relative to its peers; UNDEFINED without a yield, or unless the median is positive. */
function codeOfYield(ownYield: number, median: number): number {
  if (Number.isNaN(ownYield) || !(median > 0)) return UNDEFINED
  return ownYield <= 0 ? LOSS : zoneOf(median / ownYield, peerCuts)
}

/** The close and earnings of a yield, and the yield; the list ends at a missing value. */
function yieldReadings(company: Fundamentals, t: number): Reading[] {
  const parts = [closeReading(company.series, t), ...quarterReadings(company, t, 'eps', [0, 1, 2, 3])]
  if (!areKnown(parts)) return parts
  const earnings = reading('eps_ttm', sumOfYear(company.quarters().at(t), 'eps'), 'a share, of the four quarters')
  return [...parts, earnings, reading('earnings_yield', company.yield()[t])]
}

/** The close that is compared with values a share. */
function closeReading(series: Series, t: number): Reading {
  const note = series.unadjustedClose === undefined ? undefined : 'not adjusted for dividends'
  return reading('close', tradedClose(series)[t], note)
}

/** A rolling percentile with the size of its sample, or why there is none. */
function historyReading(name: string, { rank, size }: Ranks, series: Series, t: number): Reading {
  const { history, minHistory } = TIMEFRAMES[series.timeframe]
  const note =
    rank[t]! >= 0
      ? `among ${size[t]} defined bars`
      : `defined on ${size[t]} of the last ${history} bars, at least ${minHistory} are needed`
  return reading(name, percentile(rank[t]!, size[t]!), note)
}
