import { formatDay } from '../../model/day.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { EarningsResult } from '../../model/facts.js'
import { UNDEFINED } from '../../model/series.js'
import { codes, type Field, factCodes, factReadings, type Reading, reading, zoneBothWays } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'

const { maxAge, leastEstimate, met, big } = DEFINITIONS.surprise
const bands = ['big_miss', 'missed', 'met', 'beat', 'big_beat'] as const

export const earningsSurprise: Field<(typeof bands)[number]> = {
  name: 'earnings_surprise',
  tier: 'pro',
  needs: 'facts',
  bands,
  summary: 'the last report against the estimate',
  rule: `s = (actual EPS - estimate) / the larger of |estimate| and ${leastEstimate}, of the latest report, at most ${maxAge} days old; ≥ ${big} big_beat, ≥ ${met} beat, ≤ -${big} big_miss, ≤ -${met} missed, else met`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ earnings: { timeline, usable }, series: { days } }) => {
      const zones = timeline.records.map(zoneOfReport)
      return codes(days.length, t => {
        const place = usable[t]! - 1
        return place < 0 || days[t]! - timeline.records[place]!.report_date > maxAge ? UNDEFINED : zones[place]!
      })
    }),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function zoneOfReport(report: EarningsResult): number {
  const surprise = surpriseOf(report)
  return Number.isNaN(surprise) ? UNDEFINED : zoneBothWays(surprise, [met, big])
}

function latest({ earnings }: Fundamentals, t: number): EarningsResult | undefined {
  return earnings.timeline.records[earnings.usable[t]! - 1]
}

function ageOf(known: Fundamentals, t: number): number {
  return known.series.days[t]! - latest(known, t)!.report_date
}

/** NaN without a report, or when it lacks a figure. */
function surpriseOf(report: EarningsResult | undefined): number {
  if (report === undefined || report.eps_actual === null || report.eps_estimate === null) return Number.NaN
  return (report.eps_actual - report.eps_estimate) / Math.max(Math.abs(report.eps_estimate), leastEstimate)
}

function readings(known: Fundamentals, t: number): Reading[] {
  const report = latest(known, t)
  if (report === undefined) return [reading('report_age', undefined, 'no earnings report is known yet')]
  const of = `report of ${formatDay(report.report_date)}`
  const age = ageOf(known, t)
  if (age > maxAge)
    return [reading('report_age', undefined, `the latest, the ${of}, is ${age} days old: over ${maxAge}`)]
  const figure = (name: string, value: number | null): Reading =>
    reading(name, value ?? undefined, value === null ? `the ${of} lacks it` : undefined)
  const parts = [
    reading('report_age', age, `days since the ${of}`),
    figure('eps_estimate', report.eps_estimate),
    figure('eps_actual', report.eps_actual),
  ]
  const surprise = surpriseOf(report)
  return Number.isNaN(surprise) ? parts : [...parts, reading('surprise', surprise)]
}
