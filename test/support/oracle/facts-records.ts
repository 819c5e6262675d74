/** Section 3, its first and last paragraphs: from which date a record counts, which is the latest, what raw sources give. */
import type { Grade, RatingCounts, Report, Session } from '../../../src/core/model/facts.js'
import type { Company } from './facts.js'

interface Dated {
  known: number
  session?: Session
}

/** The first date on whose bar a record counts. */
export function usableDate({ known, session }: Dated): number {
  return session === 'pre' ? known : known + 1
}

export function usableOn<R extends Dated>(records: readonly R[], date: number): R[] {
  return records.filter(record => usableDate(record) <= date)
}

/** The later usable date, then the later known date, then the one given last. */
export function latest<R extends Dated>(records: readonly R[]): R | null {
  let found: R | null = null
  for (const record of records) if (found === null || !isBefore(record, found)) found = record
  return found
}

function isBefore(a: Dated, b: Dated): boolean {
  if (usableDate(a) !== usableDate(b)) return usableDate(a) < usableDate(b)
  return a.known < b.known
}

/**
 * A report whose figures a share stand on the split basis of the bars at bar t. Splits between the day it became known
 * and the last bar divide them: at every bar, or only from the split on where the bars themselves jump there.
 */
export function onBasisOfBars(report: Report, company: Company, t: number): Report {
  if (report.basis === 'bars') return report
  let divisor = 1
  for (const [exDate, ratio] of splitsUpToLastBar(company)) {
    if (exDate <= report.known) continue
    if (barsShow(exDate, ratio, company) && company.days[t]! < exDate) continue
    divisor *= ratio
  }
  return {
    ...report,
    eps: report.eps === null ? null : report.eps / divisor,
    book_value_ps: report.book_value_ps === null ? null : report.book_value_ps / divisor,
  }
}

/** Date → ratio; of several of one date the one given last. */
function splitsUpToLastBar({ facts, days }: Company): Map<number, number> {
  const splits = new Map<number, number>()
  for (const { ex_date, ratio } of facts!.splits) if (ex_date <= days.at(-1)!) splits.set(ex_date, ratio)
  return splits
}

/** Whether the close falls there by a factor nearer, in logarithms, to the ratio than to 1. */
function barsShow(exDate: number, ratio: number, { days, closes }: Company): boolean {
  const after = days.findIndex(day => day >= exDate)
  if (after < 1) return false
  const fall = Math.log(closes[after - 1]! / closes[after]!)
  return Math.abs(fall - Math.log(ratio)) < Math.abs(fall)
}

const WORDS: readonly (readonly string[])[] = [
  ['strong sell'],
  ['sell', 'underperform', 'underweight', 'reduce', 'negative', 'sector underperform'],
  [
    ...['hold', 'neutral', 'equal-weight', 'equal weight', 'market perform', 'sector perform', 'sector weight'],
    ...['peer perform', 'perform', 'in-line', 'fair value', 'mixed'],
  ],
  [
    ...['buy', 'outperform', 'overweight', 'market outperform', 'sector outperform', 'positive', 'accumulate', 'add'],
    'outperformer',
  ],
  ['strong buy', 'conviction buy', 'top pick', 'long-term buy'],
]

/** 5 strong buy to 1 strong sell; 0 for a word that does not count. */
function scoreOf(grade: string): number {
  return WORDS.findIndex(words => words.includes(grade.toLowerCase())) + 1
}

/**
 * Single grades as counts: one record on each date that brings a grade, of each firm's latest in the 365 days up to it.
 * A date with grades before and after its session brings a record for each, or the earlier would wait for the later.
 */
export function countsOf(grades: readonly Grade[]): RatingCounts[] {
  const counted = grades.filter(({ grade }) => scoreOf(grade) > 0)
  const dates = [...new Set(counted.map(grade => grade.known))]
  return dates.flatMap(date =>
    (['pre', 'post'] as const)
      .filter(session => counted.some(({ known, session: own }) => known === date && (own ?? 'post') === session))
      .map(session => standing(counted, date, session)),
  )
}

function standing(counted: readonly Grade[], date: number, session: 'pre' | 'post'): RatingCounts {
  const recent = usableOn(counted, usableDate({ known: date, session })).filter(
    ({ known }) => known > date - 365 && known <= date,
  )
  const firms = [...new Set(recent.map(({ firm }) => firm.toLowerCase()))]
  const scores = firms.map(firm => scoreOf(latest(recent.filter(other => other.firm.toLowerCase() === firm))!.grade))
  const of = (score: number): number => scores.filter(other => other === score).length
  return { known: date, session, strong_buy: of(5), buy: of(4), hold: of(3), sell: of(2), strong_sell: of(1) }
}
