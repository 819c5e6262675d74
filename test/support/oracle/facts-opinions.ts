/** Section 3: the fields of earnings, analysts and insiders, each at one date. */
import type { EarningsResult, Facts, InsiderTrade, RatingCounts } from '../../../src/core/model/facts.js'
import { countsOf, latest, usableDate, usableOn } from './facts-records.js'
import { atLeast, atMost } from './facts-tolerance.js'

type Earnings = EarningsResult & { known: number }

/** Known on the report date. */
function earningsUsable({ earnings }: Facts, date: number): Earnings[] {
  const records = earnings.map(record => ({ ...record, known: record.report_date }))
  return usableOn(records, date)
}

export function earningsSurprise(facts: Facts, date: number): string | null {
  const record = latest(earningsUsable(facts, date))
  if (record === null || date - record.report_date > 200) return null
  const { eps_actual: actual, eps_estimate: estimate } = record
  if (actual === null || estimate === null) return null
  const s = (actual - estimate) / Math.max(Math.abs(estimate), 0.01)
  if (atLeast(s, 0.15)) return 'big_beat'
  if (atLeast(s, 0.02)) return 'beat'
  if (atMost(s, -0.15)) return 'big_miss'
  if (atMost(s, -0.02)) return 'missed'
  return 'met'
}

export function earningsProximity(facts: Facts, date: number): string | null {
  const next = announced(facts, date) ?? foreseeable(facts, date)
  if (next === null) return null
  const days = next - date
  if (days <= 3) return 'within_days'
  if (days <= 7) return 'this_week'
  if (days <= 30) return 'this_month'
  if (days <= 60) return 'next_month'
  return 'not_soon'
}

function announced({ schedule }: Facts, date: number): number | null {
  const open = usableOn(schedule, date).filter(record => record.expected_date >= date)
  if (open.length === 0) return null
  const newest = Math.max(...open.map(record => record.known))
  return Math.min(...open.filter(record => record.known === newest).map(record => record.expected_date))
}

/** The report date of the fourth latest, 364 days on. */
function foreseeable(facts: Facts, date: number): number | null {
  let left = earningsUsable(facts, date)
  const newestFirst: Earnings[] = []
  while (newestFirst.length < 4) {
    const record = latest(left)
    if (record === null) return null
    newestFirst.push(record)
    left = left.filter(other => other !== record)
  }
  const expected = newestFirst[3]!.report_date + 364
  if (!(expected > newestFirst[0]!.report_date) || date - expected > 14) return null
  return Math.max(expected, date)
}

export function analystConsensus(counts: readonly RatingCounts[], date: number): string | null {
  const mean = meanInForce(counts, date)
  if (mean === null) return null
  if (atLeast(mean, 4.5)) return 'strong_buy'
  if (atLeast(mean, 3.5)) return 'buy'
  if (atLeast(mean, 2.5)) return 'hold'
  if (atLeast(mean, 1.5)) return 'sell'
  return 'strong_sell'
}

export function analystConsensusDirection(counts: readonly RatingCounts[], date: number): string | null {
  const now = meanInForce(counts, date)
  const before = meanInForce(counts, date - 90)
  if (now === null || before === null) return null
  if (atLeast(now - before, 0.1)) return 'upgrading'
  if (atMost(now - before, -0.1)) return 'downgrading'
  return 'stable'
}

/** All counts of a ticker, those made of single grades too. */
export function allCounts({ ratings, grades }: Facts): RatingCounts[] {
  return [...ratings, ...countsOf(grades)]
}

function meanInForce(counts: readonly RatingCounts[], date: number): number | null {
  const record = latest(usableOn(counts, date).filter(one => analysts(one) >= 3))
  if (record === null) return null
  const { strong_buy, buy, hold, sell, strong_sell } = record
  return (5 * strong_buy + 4 * buy + 3 * hold + 2 * sell + strong_sell) / analysts(record)
}

function analysts({ strong_buy, buy, hold, sell, strong_sell }: RatingCounts): number {
  return strong_buy + buy + hold + sell + strong_sell
}

export function netDirection({ insiders }: Facts, date: number): string | null {
  if (usableOn(insiders, date).length === 0) return null
  const { buyers, sellers } = netted(tradesIn90Days(insiders, date))
  const balance = buyers + sellers === 0 ? 0 : (buyers - sellers) / (buyers + sellers)
  if (atLeast(balance, 0.6)) return 'strong_buying'
  if (atLeast(balance, 0.2)) return 'buying'
  if (atMost(balance, -0.6)) return 'strong_selling'
  if (atMost(balance, -0.2)) return 'selling'
  return 'neutral'
}

export function insiderActivityZone({ insiders }: Facts, date: number): string | null {
  if (usableOn(insiders, date).length === 0) return null
  const trades = tradesIn90Days(insiders, date)
  if (trades.length === 0) return 'no_activity'
  const worth = (side: 'buy' | 'sell'): number =>
    trades.filter(trade => trade.side === side).reduce((sum, trade) => sum + (trade.value ?? 0), 0)
  const bought = worth('buy')
  const sold = worth('sell')
  if (bought === 0 && sold === 0) return null
  const r = (bought - sold) / (bought + sold)
  const { buyers, sellers } = netted(trades)
  if (atLeast(Math.abs(r), 0.6) && r > 0 && buyers >= 3) return 'heavy_buying'
  if (atLeast(Math.abs(r), 0.6) && r < 0 && sellers >= 3) return 'heavy_selling'
  if (atLeast(Math.abs(r), 0.2)) return r > 0 ? 'moderate_buying' : 'moderate_selling'
  return 'neutral'
}

function tradesIn90Days(insiders: readonly InsiderTrade[], date: number): InsiderTrade[] {
  return insiders.filter(trade => usableDate(trade) > date - 90 && usableDate(trade) <= date)
}

function netted(trades: readonly InsiderTrade[]): { buyers: number; sellers: number } {
  const people = [...new Set(trades.map(trade => trade.insider))]
  const nets = people.map(person =>
    trades
      .filter(trade => trade.insider === person)
      .reduce((net, { side, shares }) => (side === 'buy' ? net + shares : net - shares), 0),
  )
  return { buyers: nets.filter(net => net > 0).length, sellers: nets.filter(net => net < 0).length }
}
