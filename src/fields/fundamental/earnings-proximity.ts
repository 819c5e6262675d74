import { formatDay } from '../../model/day.js'
import { DEFINITIONS } from '../../model/definitions.js'
import { UNDEFINED } from '../../model/series.js'
import { codes, type Field, factCodes, factReadings, type Reading, reading } from '../field.js'
import type { Fundamentals } from '../fundamentals.js'
import { sinceWhen } from '../readings.js'

const { cuts, cycle, maxLate, reports } = DEFINITIONS.proximity
const bands = ['within_days', 'this_week', 'this_month', 'next_month', 'not_soon'] as const

export const earningsProximity: Field<(typeof bands)[number]> = {
  name: 'earnings_proximity',
  tier: 'plus',
  needs: 'facts',
  bands,
  summary: 'days until the next earnings report',
  rule: `days from the bar's date to the latest announced report date that has not passed; without one to the fourth latest report + ${cycle} days, if that is after the latest report and at most ${maxLate} days past; ${cuts.map((cut, i) => `≤ ${cut} ${bands[i]}`).join(', ')}, else ${bands[cuts.length]}`,
  warmUp: () => 0,
  classify: panel =>
    factCodes(panel, ({ nextReports, series: { days } }) =>
      codes(days.length, t => {
        const { date } = nextReports[t]!
        return date === null ? UNDEFINED : nearness(date - days[t]!)
      }),
    ),
  readings: (panel, t) => factReadings(panel, known => readings(known, t)),
}

function nearness(days: number): number {
  let band = 0
  while (band < cuts.length && days > cuts[band]!) band++
  return band
}

function readings(known: Fundamentals, t: number): Reading[] {
  const next = known.nextReports[t]!
  const reported = known.earnings.usable[t]!
  const days = next.date === null ? undefined : next.date - known.series.days[t]!
  return [reading('reports_known', reported), reading('days_until', days, noteOn(known, t))]
}

function noteOn(known: Fundamentals, t: number): string {
  const next = known.nextReports[t]!
  if ('scheduled' in next) {
    const { expected_date, known: announced } = next.scheduled
    return `expected on ${formatDay(expected_date)}, ${sinceWhen(announced, null)}`
  }
  if (next.guess === null) return `no report is announced, and to guess from ${reports} past reports must be known`
  const { timeline, usable } = known.earnings
  const [first, latest] = [timeline.records[usable[t]! - reports]!, timeline.records[usable[t]! - 1]!]
  const guess = `${cycle} days after the report of ${formatDay(first.report_date)}: ${formatDay(next.guess)}`
  if (next.date !== null) return `none is announced; ${guess}`
  const late = next.guess > latest.report_date
  return `none is announced; ${guess} is ${late ? `more than ${maxLate} days past` : `not after the report of ${formatDay(latest.report_date)}`}`
}
