import { type Day, formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import { firstUsableDay, type Report, type Session } from '../model/facts.js'
import { type Reading, reading } from './field.js'
import type { Fundamentals } from './fundamentals.js'
import type { Quarter } from './quarters.js'

const { maxAge, leastGap, mostGap } = DEFINITIONS.quarters

const FIGURES = { eps: 'eps', revenue: 'revenue', bookValue: 'book_value_ps' } as const

/**
 * A figure of some of the quarters known at a bar, each as `eps_q1`. The list ends at the first missing quarter, with
 * the reason for its null. @param indices of the quarters, 0 for the newest
 */
export function quarterReadings(
  company: Fundamentals,
  t: number,
  figure: keyof typeof FIGURES,
  indices: readonly number[],
): Reading[] {
  const chain = company.quarters().at(t)
  const readings: Reading[] = []
  for (const index of indices) {
    const name = `${FIGURES[figure]}_q${index + 1}`
    const quarter = chain[index]
    if (quarter === undefined) return [...readings, reading(name, undefined, whyNoQuarter(company, t))]
    readings.push(reading(name, quarter[figure], quarterNote(quarter, figure)))
  }
  return readings
}

/** Whether these readings are enough for a band. */
export function areKnown(readings: readonly Reading[]): boolean {
  return readings.every(({ value }) => value !== null)
}

/** The date on which a record became known, and the day from which it counts. */
export function sinceWhen(known: Day, session: Session): string {
  return `known on ${formatDay(known)}, counted from ${formatDay(firstUsableDay({ known, session }))}`
}

/** The dates of a quarter, and the splits that divided its value; or that the value is unknown. */
function quarterNote({ report, splits }: Quarter, figure: keyof typeof FIGURES): string {
  const quarterText = `quarter ended ${formatDay(report.period_end)}, ${sinceWhen(report.known, report.session)}`
  if (report[FIGURES[figure]] === null) return `unknown in the latest version of the ${quarterText}`
  const isDivided = figure !== 'revenue' && splits.length > 0
  return isDivided ? `${quarterText}; as filed, divided by ${splitNote(splits)}` : quarterText
}

/** For example `2 and 7: splits of 2014-06-09 and 2020-08-31`. */
function splitNote(splits: Quarter['splits']): string {
  const ratios = splits.map(({ ratio }) => ratio).join(' and ')
  const dates = splits.map(({ ex_date }) => formatDay(ex_date)).join(' and ')
  return `${ratios}: split${splits.length > 1 ? 's' : ''} of ${dates}`
}

/** Why no more quarters are known at a bar: none at all, too old ones, or a gap before the oldest. */
function whyNoQuarter(company: Fundamentals, t: number): string {
  const newest = company.quarters().newest(t)
  if (newest === null) return 'no quarter is known yet'
  const ended = (report: Report): string => formatDay(report.period_end)
  const { quarter, age } = newest
  if (age > maxAge)
    return `the newest known quarter ended on ${ended(quarter.report)}, ${age} days before: over ${maxAge}`
  const oldest = company.quarters().at(t).at(-1)!
  return `none is known that ended ${leastGap} to ${mostGap} days before ${ended(oldest.report)}`
}
