import type { Day } from '../../src/model/day.js'
import type { Facts, Grade, RatingCounts, Report, Session } from '../../src/model/facts.js'
import type { Series } from '../../src/model/series.js'

/**
 * The twelve rules of section 3 once more, word by word: every bar looks at every record anew. Figures are on the basis of
 * the bars. Nothing is shared with the engine but the types.
 */
export interface Company {
  series: Series
  facts: Facts
}

const TINY = 1e-10
const atLeast = (x: number, cut: number): boolean => x >= cut - TINY
const atMost = (x: number, cut: number): boolean => x <= cut + TINY

type Rule = (own: Company, t: number, peers: readonly Company[]) => string | null

export const LITERAL: Record<string, Rule> = {
  pe_vs_historical(own, t) {
    const p = rolling(own, t, s => negated(earningsYield(own, s)))
    if (p === null) return null
    return p < 10
      ? 'deep_value'
      : p < 30
        ? 'undervalued'
        : p < 70
          ? 'fair_value'
          : p < 90
            ? 'overvalued'
            : 'deeply_overvalued'
  },
  pe_vs_sector(own, t, peers) {
    const e = earningsYield(own, t)
    const others = yieldsOf(own, t, peers)
    if (e === null || others.length < 5) return null
    const sorted = others.sort((a, b) => a - b)
    const m = (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
    if (m <= 0) return null
    if (e <= 0 || atLeast(m / e, 2)) return 'deeply_overvalued'
    if (atLeast(m / e, 1.25)) return 'overvalued'
    if (atLeast(m / e, 0.8)) return 'fair_value'
    return atLeast(m / e, 0.5) ? 'undervalued' : 'deep_value'
  },
  valuation_zone(own, t, peers) {
    const history = rolling(own, t, s => negated(earningsYield(own, s)))
    if (history === null) return null
    const others = yieldsOf(own, t, peers)
    const e = earningsYield(own, t)!
    const measures = [
      history,
      others.length < 5
        ? null
        : percentile(
            -e,
            [e, ...others].map(value => -value),
          ),
      rolling(own, t, s => negated(bookYield(own, s))),
    ].filter(measure => measure !== null)
    const points = { high_growth: -10, moderate_growth: -5, slowing: 5, shrinking: 10 } as Record<string, number>
    const mean = measures.reduce((a, b) => a + b) / measures.length
    const score = Math.max(0, Math.min(100, mean + (points[LITERAL.growth_zone!(own, t, peers) ?? ''] ?? 0)))
    if (atLeast(score, 85)) return 'deeply_overvalued'
    if (atLeast(score, 65)) return 'overvalued'
    if (atLeast(score, 35)) return 'fair_value'
    return atLeast(score, 15) ? 'undervalued' : 'deep_value'
  },
  growth_zone(own, t) {
    const chain = chainAt(own, t)
    if (chain.length < 8) return null
    const now = sum(chain.slice(0, 4).map(q => q.revenue))
    const before = sum(chain.slice(4, 8).map(q => q.revenue))
    if (now === null || before === null || before <= 0) return null
    const g = now / before - 1
    if (atLeast(g, 0.2)) return 'high_growth'
    if (atLeast(g, 0.1)) return 'moderate_growth'
    if (atLeast(g, 0.03)) return 'stable'
    return atLeast(g, 0) ? 'slowing' : 'shrinking'
  },
  revenue_growth_direction(own, t) {
    const chain = chainAt(own, t)
    const rate = (i: number): number | null => {
      const [now, before] = [chain[i]?.revenue ?? null, chain[i + 4]?.revenue ?? null]
      return now === null || before === null || before <= 0 ? null : now / before - 1
    }
    return direction(rate(0), rate(1), 0.02)
  },
  eps_growth_direction(own, t) {
    const chain = chainAt(own, t)
    const rate = (i: number): number | null => {
      const [now, before] = [epsOf(own, chain[i]), epsOf(own, chain[i + 4])]
      return now === null || before === null || !atLeast(Math.abs(before), 0.01)
        ? null
        : (now - before) / Math.abs(before)
    }
    return direction(rate(0), rate(1), 0.05)
  },
  earnings_surprise({ series, facts }, t) {
    const date = series.days[t]!
    const dated = facts.earnings.map(record => ({ ...record, known: record.report_date }))
    const last = latest(usable(dated, date))
    if (last === undefined || date - last.report_date > 200) return null
    if (last.eps_actual === null || last.eps_estimate === null) return null
    const s = (last.eps_actual - last.eps_estimate) / Math.max(Math.abs(last.eps_estimate), 0.01)
    if (atLeast(s, 0.15)) return 'big_beat'
    if (atLeast(s, 0.02)) return 'beat'
    if (atMost(s, -0.15)) return 'big_miss'
    return atMost(s, -0.02) ? 'missed' : 'met'
  },
  earnings_proximity({ series, facts }, t) {
    const date = series.days[t]!
    const ahead = facts.schedule
      .map(record => ({ ...record, session: null }))
      .filter(record => record.known + 1 <= date && record.expected_date >= date)
      .sort((a, b) => b.known - a.known || a.expected_date - b.expected_date)
    let next = ahead[0]?.expected_date
    if (next === undefined) {
      const reports = usable(
        facts.earnings.map(record => ({ ...record, known: record.report_date })),
        date,
      ).sort(later)
      if (reports.length < 4) return null
      const candidate = reports[3]!.report_date + 364
      if (candidate <= reports[0]!.report_date || candidate < date - 14) return null
      next = Math.max(candidate, date)
    }
    const days = next - date
    return days <= 3
      ? 'within_days'
      : days <= 7
        ? 'this_week'
        : days <= 30
          ? 'this_month'
          : days <= 60
            ? 'next_month'
            : 'not_soon'
  },
  analyst_consensus({ series, facts }, t) {
    const mean = consensusOn(facts, series.days[t]!)
    if (mean === null) return null
    if (atLeast(mean, 4.5)) return 'strong_buy'
    if (atLeast(mean, 3.5)) return 'buy'
    if (atLeast(mean, 2.5)) return 'hold'
    return atLeast(mean, 1.5) ? 'sell' : 'strong_sell'
  },
  analyst_consensus_direction({ series, facts }, t) {
    const now = consensusOn(facts, series.days[t]!)
    const before = consensusOn(facts, series.days[t]! - 90)
    if (now === null || before === null) return null
    return atLeast(now - before, 0.1) ? 'upgrading' : atMost(now - before, -0.1) ? 'downgrading' : 'stable'
  },
  net_direction({ series, facts }, t) {
    const window = tradesOn(facts, series.days[t]!)
    if (window === null) return null
    const { buyers, sellers } = netted(window)
    const x = buyers + sellers === 0 ? 0 : (buyers - sellers) / (buyers + sellers)
    if (atLeast(x, 0.6)) return 'strong_buying'
    if (atLeast(x, 0.2)) return 'buying'
    if (atMost(x, -0.6)) return 'strong_selling'
    return atMost(x, -0.2) ? 'selling' : 'neutral'
  },
  insider_activity_zone({ series, facts }, t) {
    const window = tradesOn(facts, series.days[t]!)
    if (window === null) return null
    if (window.length === 0) return 'no_activity'
    const value = (side: 'buy' | 'sell'): number =>
      sum(window.map(trade => (trade.side === side ? (trade.value ?? 0) : 0)))!
    const [bought, sold] = [value('buy'), value('sell')]
    if (bought === 0 && sold === 0) return null
    const r = (bought - sold) / (bought + sold)
    const { buyers, sellers } = netted(window)
    if (atLeast(Math.abs(r), 0.6) && (r > 0 ? buyers : sellers) >= 3) return r > 0 ? 'heavy_buying' : 'heavy_selling'
    if (atLeast(Math.abs(r), 0.2)) return r > 0 ? 'moderate_buying' : 'moderate_selling'
    return 'neutral'
  },
}

interface Dated {
  known: Day
  session: Session
}

function from({ known, session }: Dated): Day {
  return session === 'pre' ? known : known + 1
}

function usable<R extends Dated>(records: readonly R[], date: Day): R[] {
  return records.filter(record => from(record) <= date)
}

/** For `sort`, which is stable: the latest first, so of equals the one given last has to be brought forward. */
function later(a: Dated, b: Dated): number {
  return from(b) - from(a) || b.known - a.known
}

function latest<R extends Dated>(records: readonly R[]): R | undefined {
  return [...records].reverse().sort(later)[0]
}

function chainAt({ series, facts }: Company, t: number): Report[] {
  const date = series.days[t]!
  const ends = [...new Set(usable(facts.reports, date).map(report => report.period_end))].sort((a, b) => b - a)
  if (ends.length === 0 || date - ends[0]! > 200) return []
  const gap = ends.findIndex((end, i) => i > 0 && (ends[i - 1]! - end < 70 || ends[i - 1]! - end > 110))
  const chain = gap < 0 ? ends : ends.slice(0, gap)
  return chain.map(end => latest(usable(facts.reports, date).filter(report => report.period_end === end))!)
}

/** Every split lies before the first bar, so one that follows the filing counts on every bar. */
function onBasis({ series, facts }: Company, report: Report, figure: number | null): number | null {
  if (figure === null || report.basis === 'bars') return figure
  const counted = facts.splits.filter(split => split.ex_date > report.known && split.ex_date <= series.days.at(-1)!)
  return counted.reduce((value, split) => value / split.ratio, figure)
}

function epsOf(own: Company, report: Report | undefined): number | null {
  return report === undefined ? null : onBasis(own, report, report.eps)
}

/** Kept, as looking back would repeat it for every pair of bars; so is what grades say, below. */
const KEPT = new WeakMap<Company, Map<number, number | null>>()

function earningsYield(own: Company, t: number): number | null {
  const kept = KEPT.get(own) ?? new Map<number, number | null>()
  KEPT.set(own, kept)
  if (!kept.has(t)) kept.set(t, yieldAt(own, t))
  return kept.get(t)!
}

function yieldAt(own: Company, t: number): number | null {
  const chain = chainAt(own, t)
  const ttm = chain.length < 4 ? null : sum(chain.slice(0, 4).map(report => epsOf(own, report)))
  return ttm === null ? null : ttm / own.series.close[t]!
}

function bookYield(own: Company, t: number): number | null {
  const newest = chainAt(own, t)[0]
  const book = newest === undefined ? null : onBasis(own, newest, newest.book_value_ps)
  return book === null ? null : book / own.series.close[t]!
}

/** Of the peers' bars that were final when the own was. */
function yieldsOf({ series }: Company, t: number, peers: readonly Company[]): number[] {
  const date = series.days[t]!
  return peers.flatMap(peer => {
    const bars = [...peer.series.days.keys()]
    const last = bars.filter(s => peer.series.days[s]! <= date && peer.series.known[s]! <= series.known[t]!).at(-1)
    if (last === undefined || date - peer.series.days[last]! > 7) return []
    const e = earningsYield(peer, last)
    return e === null ? [] : [e]
  })
}

function rolling({ series }: Company, t: number, value: (s: number) => number | null): number | null {
  const [hist, least] = series.timeframe === 'daily' ? [1260, 252] : [260, 52]
  const x = value(t)
  if (x === null) return null
  const set: number[] = []
  for (let s = Math.max(0, t - hist + 1); s <= t; s++) {
    const other = value(s)
    if (other !== null) set.push(other)
  }
  return set.length < least ? null : percentile(x, set)
}

function percentile(x: number, set: readonly number[]): number {
  const less = set.filter(other => other < x - TINY).length
  const equal = set.filter(other => Math.abs(other - x) <= TINY).length
  return (50 * (2 * less + equal)) / set.length
}

function negated(value: number | null): number | null {
  return value === null ? null : -value
}

function sum(values: readonly (number | null)[]): number | null {
  if (values.length === 0) return 0
  return values.includes(null) ? null : (values as number[]).reduce((a, b) => a + b)
}

function direction(g: number | null, h: number | null, step: number): string | null {
  if (g === null || h === null) return null
  if (atLeast(g - h, step)) return 'accelerating'
  if (!atMost(g - h, -step)) return 'steady'
  return g < 0 ? 'deteriorating' : 'decelerating'
}

const MADE = new WeakMap<readonly Grade[], RatingCounts[]>()

function consensusOn(facts: Facts, date: Day): number | null {
  const size = (c: RatingCounts): number => c.strong_buy + c.buy + c.hold + c.sell + c.strong_sell
  const made = MADE.get(facts.grades) ?? madeOfGrades(facts.grades)
  MADE.set(facts.grades, made)
  const records = [...made, ...facts.ratings].filter(record => size(record) >= 3)
  const c = latest(usable(records, date))
  if (c === undefined) return null
  return (5 * c.strong_buy + 4 * c.buy + 3 * c.hold + 2 * c.sell + c.strong_sell) / size(c)
}

const POINTS: Record<string, keyof RatingCounts> = {
  'strong buy': 'strong_buy',
  buy: 'buy',
  hold: 'hold',
  'equal-weight': 'hold',
  sell: 'sell',
  'strong sell': 'strong_sell',
}

/** What stands after a date, and what stood before its session when some of its grades came before it. */
function madeOfGrades(grades: readonly Grade[]): RatingCounts[] {
  const counting = grades.filter(({ grade }) => grade.toLowerCase() in POINTS)
  const moments = new Map(counting.map(({ known, session }) => [`${known} ${session === 'pre'}`, { known, session }]))
  return [...moments.values()].map(({ known, session }) => {
    const given = counting.filter(
      other => from(other) <= from({ known, session }) && other.known > known - 365 && other.known <= known,
    )
    const out = { known, session, strong_buy: 0, buy: 0, hold: 0, sell: 0, strong_sell: 0 }
    for (const firm of new Set(given.map(other => other.firm.toLowerCase()))) {
      const { grade } = latest(given.filter(other => other.firm.toLowerCase() === firm))!
      out[POINTS[grade.toLowerCase()] as 'hold']++
    }
    return out
  })
}

type Trades = Facts['insiders'][number][]

function tradesOn({ insiders }: Facts, date: Day): Trades | null {
  const known = usable(insiders, date)
  return known.length === 0 ? null : known.filter(trade => from(trade) > date - 90)
}

function netted(trades: Trades): { buyers: number; sellers: number } {
  const nets = [...new Set(trades.map(trade => trade.insider))].map(
    insider =>
      sum(
        trades
          .filter(trade => trade.insider === insider)
          .map(({ side, shares }) => (side === 'buy' ? shares : -shares)),
      )!,
  )
  return { buyers: nets.filter(net => net > 0).length, sellers: nets.filter(net => net < 0).length }
}
