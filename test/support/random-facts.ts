import type { Day } from '../../src/core/model/day.js'
import type {
  EarningsResult,
  Facts,
  Grade,
  InsiderTrade,
  RatingCounts,
  Report,
  ScheduledReport,
  Session,
  Split,
} from '../../src/core/model/facts.js'
import type { Random } from '../../src/core/statistics/random.js'

export interface FactsForm {
  /** About what a share costs, so that yields are those of companies. */
  price: number
  basis: Report['basis'] | 'mixed'
  /** Few and round earnings, so that yields tie, and stand in exact ratios where closes are round too. */
  round: boolean
  /** Share of quarters that bring a loss, or nothing. */
  losses: number
}

/**
 * Records such as real files hold at their worst, around the first and last of the given days: before and after them, at
 * weekends, in no order, twice; figures that lack, are 0 or below, or lie on a cut or beside it by about the tolerance.
 */
export function randomFacts(random: Random, first: Day, last: Day, form: FactsForm): Facts {
  const grades = randomGrades(random, first, last)
  const graded = new Set(grades.map(grade => grade.known))
  const reports = randomReports(random, first, last, form)
  return {
    reports: untidy(random, reports),
    earnings: untidy(random, randomEarnings(random, first, last)),
    schedule: untidy(random, randomSchedule(random, first, last)),
    // Which of counts and grades of one day was given last, no page can say: they come from different files.
    ratings: untidy(random, randomRatings(random, first, last)).filter(({ known }) => !graded.has(known)),
    grades: untidy(random, grades),
    insiders: untidy(random, randomTrades(random, first, last)),
    splits: untidy(random, randomSplits(random, first, last, reports)),
  }
}

export function pick<T>(random: Random, of: readonly T[]): T {
  return of[random.below(of.length)]!
}

export function chance(random: Random, share: number): boolean {
  return random.uniform() < share
}

export function shuffled<T>(random: Random, of: readonly T[]): T[] {
  const out = [...of]
  for (let i = out.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[out[i], out[j]] = [out[j]!, out[i]!]
  }
  return out
}

/** Beside an edge by nothing, by less than the tolerance, or by more. */
const NUDGES = [0, 0, 0, 0.4e-10, -0.4e-10, 2e-10, -2e-10]

const sessionOf = (random: Random): Session => pick(random, ['pre', 'post', null] as const)

/** Most files are in order, some in none, some hold rows twice. */
function untidy<T>(random: Random, records: readonly T[]): T[] {
  const twice = records.flatMap(record => (chance(random, 0.04) ? [record, record] : [record]))
  return chance(random, 0.5) ? twice : shuffled(random, twice)
}

/** Days on which something happens, `apart` days apart on average, from some time before the first to after the last. */
function happenings(random: Random, first: Day, last: Day, apart: number): Day[] {
  const days: Day[] = []
  let day = first - random.below(400)
  while (day < last + 60) {
    days.push(day)
    // Bursts, and silences of most of a year.
    day += chance(random, 0.3) ? random.below(3) : 1 + random.below(2 * apart)
    if (chance(random, 0.03)) day += 80 + random.below(250)
  }
  return days
}

function randomReports(random: Random, first: Day, last: Day, form: FactsForm): Report[] {
  const reports: Report[] = []
  const eps: number[] = []
  const revenue: number[] = []
  let end = first - 300 - random.below(700)
  while (end < last + 100) {
    eps.push(randomEps(random, eps, form))
    revenue.push(randomRevenue(random, revenue))
    reports.push(...versions(random, end, eps.at(-1)!, revenue.at(-1)!, form))
    end += nextEnd(random)
  }
  return reports
}

function nextEnd(random: Random): number {
  if (chance(random, 0.86)) return 88 + random.below(7)
  return pick(random, [70, 110, 70, 110, 69, 111, 71, 109, 3, 182])
}

function randomEps(random: Random, before: readonly number[], { price, round, losses }: FactsForm): number {
  const usual = 0.0125 * price
  if (chance(random, losses)) return round ? usual * pick(random, [0, 0, 0, 0, -1]) : -usual * random.uniform()
  if (round) return usual * pick(random, [1, 1, 1, 2, 0.5, 0.25, 1.25, 0.8, 4])
  const lately = before.at(-1)
  const once = before.at(-4)
  const earlier = before.at(-5)
  if (lately !== undefined && once !== undefined && earlier !== undefined && chance(random, 0.4)) {
    const h = (lately - earlier) / Math.abs(earlier)
    const g = h + pick(random, [0.05, -0.05, 0, -h]) + pick(random, NUDGES)
    const eps = once + g * Math.abs(once)
    if (Number.isFinite(eps) && Math.abs(eps) < 4 * usual) return eps
  }
  if (chance(random, 0.12)) return pick(random, [0, 0.01, -0.01, 0.01 - 0.4e-10, 0.01 - 2e-10, 0.009])
  return Number((usual * Math.exp(0.4 * random.normal())).toFixed(3))
}

function randomRevenue(random: Random, before: readonly number[]): number {
  const nudge = pick(random, NUDGES)
  if (before.length >= 7 && chance(random, 0.4)) {
    const trailing = before.slice(-7, -3).reduce((sum, x) => sum + x, 0)
    const growth = pick(random, [0.2, 0.1, 0.03, 0, 0]) + nudge
    const revenue = (1 + growth) * trailing - before.slice(-3).reduce((sum, x) => sum + x, 0)
    if (revenue > 0) return revenue
  }
  const lately = before.at(-1)
  const once = before.at(-4)
  const earlier = before.at(-5)
  if (earlier !== undefined && earlier > 0 && chance(random, 0.5)) {
    const revenue = once! * (pick(random, [lately! / earlier + 0.02, lately! / earlier - 0.02, 1]) + nudge)
    if (revenue > 0 && revenue < 1e7) return revenue
  }
  if (chance(random, 0.04)) return pick(random, [0, -500])
  const level = before.at(-1) ?? 1_000
  return Math.round(Math.min(1e6, Math.max(100, level)) * Math.exp(0.08 * random.normal() + 0.02))
}

/** What was first told of a quarter, and what was told of it later. */
function versions(random: Random, end: Day, eps: number, revenue: number, form: FactsForm): Report[] {
  const told = (known: Day, change: (figure: number) => number): Report => ({
    period_end: end,
    known,
    session: sessionOf(random),
    eps: chance(random, 0.04) ? null : change(eps),
    revenue: chance(random, 0.05) ? null : change(revenue),
    book_value_ps: chance(random, 0.15) ? null : change(form.price * pick(random, [0.2, 0.25, 0.5, -0.1])),
    basis: form.basis === 'mixed' ? pick(random, ['bars', 'filed'] as const) : form.basis,
  })
  const known = end + (chance(random, 0.9) ? 15 + random.below(60) : pick(random, [0, 130, 195, 199, 200, 201, 260]))
  const all = [told(known, figure => figure)]
  while (chance(random, 0.3))
    all.push(told(known + pick(random, [0, 0, 1, 2, 30, 90, 250, 400, -3]), restated(random, form)))
  return all
}

function restated(random: Random, { price }: FactsForm): (figure: number) => number {
  const factor = pick(random, [1, 1, 0.9, 1.5, -1])
  const shift = price * pick(random, [0, 0.4e-10, 1.7e-10, -3e-10])
  return figure => factor * figure + shift
}

function randomEarnings(random: Random, first: Day, last: Day): EarningsResult[] {
  const results: EarningsResult[] = []
  let day = first - random.below(600)
  while (day < last + 100) {
    const estimate = pick(random, [0, 0.005, -0.01, 0.01, 0.5, -0.4, 1.37, 2, 0.01 + 0.4e-10])
    const edge = pick(random, [0.15, 0.02, -0.15, -0.02]) + pick(random, NUDGES)
    const surprise = chance(random, 0.6) ? edge : 0.2 * random.normal()
    const result: EarningsResult = {
      report_date: day,
      session: sessionOf(random),
      eps_estimate: chance(random, 0.05) ? null : estimate,
      eps_actual: chance(random, 0.05) ? null : estimate + surprise * Math.max(Math.abs(estimate), 0.01),
    }
    results.push(result)
    if (chance(random, 0.08)) results.push({ ...result, session: sessionOf(random), eps_actual: 0.3 })
    const once = results.at(-3)?.report_date
    if (once !== undefined && chance(random, 0.1)) day = Math.max(day + 1, once + pick(random, [363, 364, 365]))
    else day += chance(random, 0.85) ? 84 + random.below(14) : pick(random, [1, 30, 182, 200, 201, 300, 364])
  }
  return results
}

function randomSchedule(random: Random, first: Day, last: Day): ScheduledReport[] {
  if (chance(random, 0.25)) return []
  return happenings(random, first, last, pick(random, [20, 60, 150])).flatMap(known => {
    const ahead = (): number => pick(random, [-30, -1, 0, 1, 3, 4, 7, 8, 30, 31, 60, 61, 20 + random.below(80)])
    const record = { known, expected_date: known + ahead() }
    return chance(random, 0.2) ? [record, { known, expected_date: known + ahead() }] : [record]
  })
}

function randomRatings(random: Random, first: Day, last: Day): RatingCounts[] {
  if (chance(random, 0.25)) return []
  let opinions = [5, 4, 4, 4, 3, 4, 5, 3, 2, 4]
  return happenings(random, first + pick(random, [0, 200]), last, 20).flatMap(known => {
    // One opinion of ten moves the mean by the 0.1 that counts; now and then there are few, or all are the same.
    const i = random.below(opinions.length)
    const moved = Math.min(5, Math.max(1, opinions[i]! + pick(random, [-1, 1])))
    opinions = opinions.with(i, moved)
    if (chance(random, 0.15)) opinions = drawnOpinions(random)
    const counts = countsOfOpinions(chance(random, 0.1) ? opinions.slice(0, random.below(4)) : opinions)
    const record = { known, session: sessionOf(random), ...counts }
    return chance(random, 0.1) ? [record, { ...record, session: sessionOf(random), strong_sell: 3 }] : [record]
  })
}

function drawnOpinions(random: Random): number[] {
  const size = pick(random, [3, 4, 10, 10, 10, 20, 40])
  const most = pick(random, [5, 4, 3, 2, 1])
  // Half of one opinion and half of the next below: a mean on a cut.
  if (chance(random, 0.4)) return Array.from({ length: size }, (_, i) => Math.max(1, most - (i % 2)))
  return Array.from({ length: size }, () => Math.max(1, most - random.below(2)))
}

function countsOfOpinions(opinions: readonly number[]): Omit<RatingCounts, 'known' | 'session'> {
  const of = (score: number): number => opinions.filter(opinion => opinion === score).length
  return { strong_buy: of(5), buy: of(4), hold: of(3), sell: of(2), strong_sell: of(1) }
}

const FIRMS = ['Alpha', 'ALPHA', 'alpha', 'Beta & Co', 'Gamma', 'gamma', 'Delta', 'Epsilon Securities', 'Zeta']
const GRADES = [
  ...['Buy', 'BUY', 'Strong Buy', 'Conviction Buy', 'Top Pick', 'Long-Term Buy', 'Outperform', 'Overweight'],
  ...['Market Outperform', 'Sector Outperform', 'Positive', 'Accumulate', 'Add', 'Outperformer', 'Hold', 'Neutral'],
  ...['Equal-Weight', 'Equal-weight', 'equal weight', 'Market Perform', 'Sector Perform', 'Sector Weight', 'In-Line'],
  ...['Peer Perform', 'Perform', 'Fair Value', 'Mixed', 'Sell', 'Underperform', 'Underweight', 'Reduce', 'Negative'],
  ...['Sector Underperform', 'Strong Sell', 'STRONG SELL', 'Speculative Buy', 'Not Rated', 'In Line', 'Market Weight'],
]

function randomGrades(random: Random, first: Day, last: Day): Grade[] {
  if (chance(random, 0.5)) return []
  return happenings(random, first, last, 25).flatMap(known => {
    const grade = (on: Day): Grade => ({
      known: on,
      session: sessionOf(random),
      firm: pick(random, FIRMS),
      grade: pick(random, GRADES),
    })
    // The first is forgotten on the day of the second, or just not.
    return chance(random, 0.3) ? [grade(known), grade(known + pick(random, [363, 364, 365, 366]))] : [grade(known)]
  })
}

function randomTrades(random: Random, first: Day, last: Day): InsiderTrade[] {
  const people = ['A', 'B', 'C', 'D', 'E', 'F'].slice(0, 2 + random.below(5))
  let leaning = random.uniform()
  return happenings(random, first + pick(random, [0, 0, 300]), last, 15).flatMap(known => {
    if (chance(random, 0.1)) leaning = pick(random, [0, 1, 0.5, 0.2, 0.9])
    const trade: InsiderTrade = {
      known,
      session: sessionOf(random),
      insider: pick(random, people),
      side: chance(random, leaning) ? 'buy' : 'sell',
      shares: pick(random, [100, 200, 300, 250]),
      value: chance(random, 0.1) ? null : 1_000 * pick(random, [0, 1, 1, 2, 3, 4, 6, 8]),
    }
    // The same person on the other side, often with as many shares.
    const back: InsiderTrade = {
      ...trade,
      side: trade.side === 'buy' ? 'sell' : 'buy',
      known: known + random.below(40),
    }
    return chance(random, 0.2) ? [trade, back] : [trade]
  })
}

function randomSplits(random: Random, first: Day, last: Day, reports: readonly Report[]): Split[] {
  const splits: Split[] = []
  while (chance(random, 0.55)) {
    const between = first - 60 + random.below(last - first + 120)
    const ex_date = pick(random, [between, between, between, pick(random, reports).known, last, last + 1, first])
    splits.push({ ex_date, ratio: pick(random, [2, 2, 3, 7, 1.5, 0.5, 0.05, 1]) })
    if (chance(random, 0.15)) splits.push({ ex_date, ratio: pick(random, [4, 0.1, 2]) })
  }
  return splits
}
