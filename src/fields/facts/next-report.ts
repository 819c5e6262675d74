import type { Day } from '../../model/day.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { EarningsResult, ScheduledReport } from '../../model/facts.js'
import { Timeline } from './timeline.js'

const { reports, cycle, maxLate } = DEFINITIONS.proximity

/** When the next report is due at a bar, and why. */
export type NextReport =
  | { date: Day; scheduled: ScheduledReport }
  /** `guess`: the fourth latest report's date and a year; `date` is the bar's own when that has passed. */
  | { date: Day; guess: Day }
  | { date: null; guess: Day | null }

/** Timeline of the schedule; of what was announced on one day the earlier date comes last, and so counts. */
export function announced(schedule: readonly ScheduledReport[]): Timeline<ScheduledReport> {
  const latestFirst = [...schedule].sort((a, b) => b.expected_date - a.expected_date)
  return new Timeline(latestFirst, ({ known }) => ({ known }))
}

/** The next report at each of the ascending days. */
export function nextReports(
  days: Int32Array,
  schedule: readonly ScheduledReport[],
  earnings: Timeline<EarningsResult>,
): NextReport[] {
  const timeline = announced(schedule)
  const usable = timeline.counts(days)
  const reported = earnings.counts(days)
  /** Announced dates in the order in which they became usable; one that has passed never counts again. */
  const ahead: ScheduledReport[] = []
  let taken = 0
  return Array.from(days, (day, t) => {
    while (taken < usable[t]!) ahead.push(timeline.records[taken++]!)
    while (ahead.length > 0 && ahead.at(-1)!.expected_date < day) ahead.pop()
    const scheduled = ahead.at(-1)
    if (scheduled !== undefined) return { date: scheduled.expected_date, scheduled }
    return guessed(day, earnings.records, reported[t]!)
  })
}

/** A year after the fourth latest report, if that is still to come or only a little late. */
function guessed(day: Day, earnings: readonly EarningsResult[], reported: number): NextReport {
  if (reported < reports) return { date: null, guess: null }
  const guess = earnings[reported - reports]!.report_date + cycle
  const fits = guess > earnings[reported - 1]!.report_date && guess >= day - maxLate
  return fits ? { date: Math.max(guess, day), guess } : { date: null, guess }
}
