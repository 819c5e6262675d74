import { compare } from '../indicators/rank.js'
import { formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { EarningsResult } from '../model/facts.js'
import { UNDEFINED } from '../model/series.js'
import { codesByBar, cutsInWords, factField, type Reading, reading, zoneBothWays, zonesByBar } from './field.js'
import type { Fundamentals, GrowthRates } from './fundamentals.js'
import { sumOfYear } from './quarters.js'
import { areKnown, quarterReadings, sinceWhen } from './readings.js'

/** Company reports: growth, the next report, and the surprise of the last report. */

const { growth, directions, surprise, proximity } = DEFINITIONS

export const GROWTH_BANDS = ['shrinking', 'slowing', 'stable', 'moderate_growth', 'high_growth'] as const

export const growthZone = factField({
  name: 'growth_zone',
  tier: 'plus',
  bands: GROWTH_BANDS,
  summary: 'revenue of four quarters against the four before',
  rule: `revenue of the newest four quarters / that of the four before (which must be positive) - 1; ${cutsInWords(GROWTH_BANDS, growth.cuts)}`,
  classify: company => zonesByBar(company.growth(), growth.cuts, 1),
  readings: (company, t) => {
    const quarters = quarterReadings(company, t, 'revenue', [0, 1, 2, 3, 4, 5, 6, 7])
    if (!areKnown(quarters)) return quarters
    const chain = company.quarters().at(t)
    const yearBefore = sumOfYear(chain, 'revenue', 4)
    return [
      ...quarters,
      reading('revenue_ttm', sumOfYear(chain, 'revenue')),
      reading('revenue_ttm_before', yearBefore),
      reading('growth', company.growth()[t], yearBefore > 0 ? undefined : 'revenue_ttm_before must be above 0'),
    ]
  },
})

const DIRECTIONS = ['deteriorating', 'decelerating', 'steady', 'accelerating'] as const
const DETERIORATING = 0
const DECELERATING = 1
const STEADY = 2
const ACCELERATING = 3

export const revenueGrowthDirection = factField({
  name: 'revenue_growth_direction',
  tier: 'pro',
  bands: DIRECTIONS,
  summary: 'whether revenue growth quickens',
  rule: `g = revenue of the newest quarter / that of four quarters earlier (positive) - 1; h = the same one quarter before; ${directionInWords(directions.revenue)}`,
  classify: company => directionOf(company.revenueGrowth(), directions.revenue),
  readings: (company, t) => directionReadings(company, t, 'revenue', company.revenueGrowth(), 'above 0'),
})

export const epsGrowthDirection = factField({
  name: 'eps_growth_direction',
  tier: 'pro',
  bands: DIRECTIONS,
  summary: 'whether earnings growth quickens',
  rule: `g = (diluted EPS of the newest quarter - that of four quarters earlier) / the size of the latter (at least ${directions.leastEps}); h = the same one quarter before; ${directionInWords(directions.eps)}`,
  classify: company => directionOf(company.epsGrowth(), directions.eps),
  readings: (company, t) =>
    directionReadings(company, t, 'eps', company.epsGrowth(), `at least ${directions.leastEps} away from 0`),
})

/**
 * The code in DIRECTIONS of each bar, from the growth rate now and one quarter before; UNDEFINED without both.
 * @param step the least difference that counts as a change
 */
function directionOf({ now, before }: GrowthRates, step: number): Uint8Array {
  return codesByBar(now.length, 0, t => {
    const rate = now[t]!
    const change = rate - before[t]!
    if (Number.isNaN(change)) return UNDEFINED
    // Scale 1: a rate is a quotient less 1, and has its rounding errors.
    if (compare(change, step, 1) >= 0) return ACCELERATING
    if (compare(change, -step, 1) > 0) return STEADY
    return rate < 0 ? DETERIORATING : DECELERATING
  })
}

function directionInWords(step: number): string {
  return `g - h ≥ ${step} accelerating; > -${step} steady; otherwise deteriorating when g < 0, else decelerating`
}

/**
 * The four compared quarters, both growth rates and their difference; the list ends at a missing value.
 * @param needs what the earlier figure of a rate must be, for the note of a missing rate: `above 0`
 */
function directionReadings(
  company: Fundamentals,
  t: number,
  figure: 'eps' | 'revenue',
  { now, before }: GrowthRates,
  needs: string,
): Reading[] {
  // The newest quarter (1) is compared with the same one a year before (5), and the one before it (2) with 6.
  const quarters = quarterReadings(company, t, figure, [0, 4, 1, 5])
  if (!areKnown(quarters)) return quarters
  const rate = (name: string, value: number, earlier: string): Reading =>
    reading(name, value, Number.isNaN(value) ? `${earlier} must be ${needs}` : undefined)
  const rates = [rate('g', now[t]!, `${figure}_q5`), rate('h', before[t]!, `${figure}_q6`)]
  if (!areKnown(rates)) return [...quarters, ...rates]
  return [...quarters, ...rates, reading('g_minus_h', now[t]! - before[t]!)]
}

const PROXIMITY = ['within_days', 'this_week', 'this_month', 'next_month', 'not_soon'] as const

export const earningsProximity = factField({
  name: 'earnings_proximity',
  tier: 'plus',
  bands: PROXIMITY,
  summary: 'days until the next earnings report',
  rule: `days from the bar's date to the latest announced report date that has not passed; without one to the fourth latest report + ${proximity.cycle} days, if that is after the latest report and at most ${proximity.maxLate} days past; ${proximity.cuts.map((cut, i) => `≤ ${cut} ${PROXIMITY[i]}`).join(', ')}, else ${PROXIMITY[proximity.cuts.length]}`,
  classify: company => {
    const { days } = company.series
    const next = company.nextReports()
    return codesByBar(days.length, 0, t => {
      const { date } = next[t]!
      return date === null ? UNDEFINED : codeOfDistance(date - days[t]!)
    })
  },
  readings: (company, t) => {
    const next = company.nextReports()[t]!
    const reported = company.earnings().usable[t]!
    const days = next.date === null ? undefined : next.date - company.series.days[t]!
    return [reading('reports_known', reported), reading('days_until', days, nextReportNote(company, t))]
  },
})

/** The code in PROXIMITY of a number of days until the next report. */
function codeOfDistance(days: number): number {
  return proximity.cuts.filter(cut => days > cut).length
}

/** Where the date of the next report comes from, or why there is none. */
function nextReportNote(company: Fundamentals, t: number): string {
  const { reports, cycle, maxLate } = proximity
  const next = company.nextReports()[t]!
  if ('scheduled' in next) {
    const { expected_date, known: announced } = next.scheduled
    const unknownSession = null
    return `expected on ${formatDay(expected_date)}, ${sinceWhen(announced, unknownSession)}`
  }
  if (next.guess === null) return `no report is announced, and to guess from ${reports} past reports must be known`
  const { timeline, usable } = company.earnings()
  const fourthLatest = timeline.records[usable[t]! - reports]!
  const latest = timeline.records[usable[t]! - 1]!
  const guess = `${cycle} days after the report of ${formatDay(fourthLatest.report_date)}: ${formatDay(next.guess)}`
  if (next.date !== null) return `none is announced; ${guess}`
  const fault =
    next.guess > latest.report_date
      ? `more than ${maxLate} days past`
      : `not after the report of ${formatDay(latest.report_date)}`
  return `none is announced; ${guess} is ${fault}`
}

export const earningsSurprise = factField({
  name: 'earnings_surprise',
  tier: 'pro',
  bands: ['big_miss', 'missed', 'met', 'beat', 'big_beat'],
  summary: 'the last report against the estimate',
  rule: `s = (actual EPS - estimate) / the larger of |estimate| and ${surprise.leastEstimate}, of the latest report, at most ${surprise.maxAge} days old; ≥ ${surprise.big} big_beat, ≥ ${surprise.met} beat, ≤ -${surprise.big} big_miss, ≤ -${surprise.met} missed, else met`,
  classify: company => {
    const { days } = company.series
    const { timeline, usable } = company.earnings()
    const codes = timeline.records.map(codeOfReport)
    return codesByBar(days.length, 0, t => {
      const latest = usable[t]! - 1
      if (latest < 0) return UNDEFINED
      const age = days[t]! - timeline.records[latest]!.report_date
      return age > surprise.maxAge ? UNDEFINED : codes[latest]!
    })
  },
  readings: (company, t) => {
    const { timeline, usable } = company.earnings()
    const report = timeline.records[usable[t]! - 1]
    if (report === undefined) return [reading('report_age', undefined, 'no earnings report is known yet')]
    const reportText = `report of ${formatDay(report.report_date)}`
    const age = company.series.days[t]! - report.report_date
    if (age > surprise.maxAge) {
      const note = `the latest, the ${reportText}, is ${age} days old: over ${surprise.maxAge}`
      return [reading('report_age', undefined, note)]
    }
    const figure = (name: string, value: number | null): Reading =>
      reading(name, value ?? undefined, value === null ? `the ${reportText} lacks it` : undefined)
    const inputs = [
      reading('report_age', age, `days since the ${reportText}`),
      figure('eps_estimate', report.eps_estimate),
      figure('eps_actual', report.eps_actual),
    ]
    return areKnown(inputs) ? [...inputs, reading('surprise', surpriseOf(report))] : inputs
  },
})

/** The code of a report's band; UNDEFINED without an estimate or an actual figure. */
function codeOfReport(report: EarningsResult): number {
  const ratio = surpriseOf(report)
  return Number.isNaN(ratio) ? UNDEFINED : zoneBothWays(ratio, [surprise.met, surprise.big])
}

/** The surprise of a report relative to the estimate; NaN without an estimate or an actual figure. */
function surpriseOf({ eps_actual, eps_estimate }: EarningsResult): number {
  if (eps_actual === null || eps_estimate === null) return Number.NaN
  return (eps_actual - eps_estimate) / Math.max(Math.abs(eps_estimate), surprise.leastEstimate)
}
