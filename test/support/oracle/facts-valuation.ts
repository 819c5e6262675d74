/** Section 3: the three fields that compare the earnings yield, with its own history and with the sector. */
import type { Report } from '../../../src/core/model/facts.js'
import type { Timeframe } from './bars.js'
import type { Company } from './facts.js'
import { growthZone, quartersAt, trailing } from './facts-quarters.js'
import { atLeast } from './facts-tolerance.js'
import { type Column, rollingRanks } from './indicators.js'
import { percentile, rank, zoneOfRank } from './tolerance.js'

type Bands = (string | null)[]

const VALUES = ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued'] as const

export function valuations(
  own: Company,
  quarters: readonly Report[][],
  timeframe: Timeframe,
  peers: readonly Company[],
): { pe_vs_historical: Bands; pe_vs_sector: Bands; valuation_zone: Bands } {
  const yields = earningsYields(own, quarters)
  const peerYields = peers.map(peer => (peer.facts === null ? [] : earningsYields(peer, everyQuarter(peer))))
  const inHistory = rollingRanks(negated(yields), timeframe)
  const bookInHistory = rollingRanks(negated(bookYields(own, quarters)), timeframe)
  const among = own.days.map((_, t) => yieldsOfPeers(own, t, peers, peerYields))
  return {
    pe_vs_historical: inHistory.map(of => (of === null ? null : zoneOfRank(of, [10, 30, 70, 90], VALUES))),
    pe_vs_sector: yields.map((e, t) => (e === null ? null : againstSector(e, among[t]!))),
    valuation_zone: inHistory.map((of, t) => {
      if (of === null) return null
      const percentiles = [percentile(of)]
      const others = among[t]!
      const e = yields[t]!
      if (others.length >= 5) percentiles.push(percentile(rank(-e, [-e, ...others.map(other => -other)])))
      if (bookInHistory[t] !== null) percentiles.push(percentile(bookInHistory[t]!))
      return valuationZone(percentiles, growthZone(quarters[t]!))
    }),
  }
}

function valuationZone(percentiles: readonly number[], growth: string | null): string {
  let score = percentiles.reduce((sum, x) => sum + x, 0) / percentiles.length
  if (growth === 'high_growth') score -= 10
  if (growth === 'moderate_growth') score -= 5
  if (growth === 'slowing') score += 5
  if (growth === 'shrinking') score += 10
  score = Math.min(100, Math.max(0, score))
  if (atLeast(score, 85)) return 'deeply_overvalued'
  if (atLeast(score, 65)) return 'overvalued'
  if (atLeast(score, 35)) return 'fair_value'
  if (atLeast(score, 15)) return 'undervalued'
  return 'deep_value'
}

function againstSector(e: number, others: readonly number[]): string | null {
  if (others.length < 5) return null
  const m = median(others)
  if (!(m > 0)) return null
  if (e <= 0) return 'deeply_overvalued'
  if (atLeast(m / e, 2)) return 'deeply_overvalued'
  if (atLeast(m / e, 1.25)) return 'overvalued'
  if (atLeast(m / e, 0.8)) return 'fair_value'
  if (atLeast(m / e, 0.5)) return 'undervalued'
  return 'deep_value'
}

function median(x: readonly number[]): number {
  const sorted = [...x].sort((a, b) => a - b)
  const middle = sorted.length / 2
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** E of each peer that has it at its last bar that is dated, and final, no later than the own one, and 7 days old at most. */
function yieldsOfPeers(own: Company, t: number, peers: readonly Company[], yields: readonly Column[]): number[] {
  const date = own.days[t]!
  return peers.flatMap((peer, i) => {
    let last = -1
    for (const [s, day] of peer.days.entries()) if (day <= date && peer.known[s]! <= own.known[t]!) last = s
    const e = last < 0 || date - peer.days[last]! > 7 ? null : (yields[i]![last] ?? null)
    return e === null ? [] : [e]
  })
}

function everyQuarter(company: Company): Report[][] {
  return company.days.map((_, t) => quartersAt(company, t))
}

function earningsYields({ closes }: Company, quarters: readonly Report[][]): Column {
  return closes.map((close, t) => {
    const eps = trailing(quarters[t]!, 'eps')
    return eps === null ? null : eps / close
  })
}

function bookYields({ closes }: Company, quarters: readonly Report[][]): Column {
  return closes.map((close, t) => {
    const book = quarters[t]![0]?.book_value_ps ?? null
    return book === null ? null : book / close
  })
}

function negated(x: Column): Column {
  return x.map(value => (value === null ? null : -value))
}
