import { compare } from '../indicators/rank.js'
import type { Day } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import {
  type EarningsResult,
  type Facts,
  firstUsableDay,
  type Grade,
  type InsiderTrade,
  opinionOf,
  type RatingCounts,
  type ScheduledReport,
} from '../model/facts.js'
import { Timeline } from './quarters.js'

/** Number of analysts per opinion, and their mean: 5 strong buy .. 1 strong sell. */
export type Consensus = ReturnType<typeof consensusOf>

/** Every consensus of enough analysts, from grades or vendor counts; of one day, the counts win. */
export function consensusTimeline({ ratings, grades }: Pick<Facts, 'ratings' | 'grades'>): Timeline<Consensus> {
  const fromGrades = currentCounts(grades).map(counts => consensusOf(counts, true))
  const fromCounts = ratings.map(counts => consensusOf(counts, false))
  const { least } = DEFINITIONS.consensus
  // The counts come last: a timeline keeps the order of records of one day, and its last one is the latest.
  const withEnoughAnalysts = [...fromGrades, ...fromCounts].filter(({ analysts }) => analysts >= least)
  return new Timeline(withEnoughAnalysts, ({ counts }) => counts)
}

/**
 * The number of analysts per opinion after each date with a new grade. The latest grade of each firm counts, while it
 * is not too old. Grades in words that mean no opinion do not count.
 */
export function currentCounts(grades: readonly Grade[]): RatingCounts[] {
  const withOpinion = grades.filter(({ grade }) => opinionOf(grade) !== null)
  const { records } = new Timeline(withOpinion, grade => grade)
  const latestOfFirm = new Map<string, Grade>()
  const counts: RatingCounts[] = []
  records.forEach((grade, i) => {
    latestOfFirm.set(grade.firm.trim().toLowerCase(), grade)
    const next = records[i + 1]
    // The counts change on each day on which grades become usable: after the last grade of a day, they are complete.
    const isNextLater = next?.known !== grade.known || firstUsableDay(next) !== firstUsableDay(grade)
    if (isNextLater) counts.push(countsAfter(grade, latestOfFirm.values()))
  })
  return counts
}

/** The number of analysts per opinion on the date of a grade. @param latest of each firm; too old ones do not count */
function countsAfter({ known, session }: Grade, latest: Iterable<Grade>): RatingCounts {
  const counts: RatingCounts = { known, session, strong_buy: 0, buy: 0, hold: 0, sell: 0, strong_sell: 0 }
  for (const { known: graded, grade } of latest) {
    if (graded > known - DEFINITIONS.consensus.gradeLife) counts[opinionOf(grade)!]++
  }
  return counts
}

/** The consensus of some counts. @param isFromGrades whether they come from single firms' grades, not from a vendor */
function consensusOf(counts: RatingCounts, isFromGrades: boolean) {
  const { strong_buy, buy, hold, sell, strong_sell } = counts
  const analysts = strong_buy + buy + hold + sell + strong_sell
  const mean = (5 * strong_buy + 4 * buy + 3 * hold + 2 * sell + strong_sell) / analysts
  return { counts, analysts, mean, isFromGrades }
}

/** The open-market trades that became usable in the last 90 days, added up. */
export type Dealings = ReturnType<typeof sumTrades>

/** The sums of the insiders' trades of the last 90 days at each bar; null before the first usable trade. */
export function dealingsByBar(days: Int32Array, trades: readonly InsiderTrade[]): (Dealings | null)[] {
  const timeline = new Timeline(trades, trade => trade)
  const byBar = new Array<Dealings | null>(days.length).fill(null)
  const usable = timeline.counts(days)
  const tooOld = timeline.counts(days, DEFINITIONS.insiders.lookback)
  for (let t = 0; t < days.length; t++) {
    if (usable[t] === 0) continue
    const isUnchanged = t > 0 && usable[t] === usable[t - 1] && tooOld[t] === tooOld[t - 1]
    byBar[t] = isUnchanged ? byBar[t - 1]! : sumTrades(timeline.records.slice(tooOld[t], usable[t]))
  }
  return byBar
}

/** The number of trades, the insiders who mostly bought or sold, and the money of both. */
function sumTrades(trades: readonly InsiderTrade[]) {
  const shares = new Map<string, { buy: number; sell: number }>()
  const money = { buy: 0, sell: 0 }
  for (const { insider, side, shares: count, value } of trades) {
    const sharesOfInsider = shares.get(insider) ?? { buy: 0, sell: 0 }
    sharesOfInsider[side] += count
    money[side] += value ?? 0
    shares.set(insider, sharesOfInsider)
  }
  // Parts of shares add up with rounding. The order of records must not turn a balance of 0 into a purchase.
  const nets = Array.from(shares.values(), ({ buy, sell }) => compare(buy, sell))
  return {
    trades: trades.length,
    /** Insiders who bought more shares than they sold, and those who sold more than they bought. */
    buyers: nets.filter(sign => sign > 0).length,
    sellers: nets.filter(sign => sign < 0).length,
    /** Money paid and received, where known. */
    bought: money.buy,
    sold: money.sell,
  }
}

const { reports: REPORTS_A_YEAR, cycle: DAYS_A_YEAR, maxLate: MAX_DAYS_LATE } = DEFINITIONS.proximity

/** The date of the next report at a bar, and its source. */
export type NextReport =
  | { date: Day; scheduled: ScheduledReport }
  /** `guess`: the fourth latest report's date plus a year; once that has passed, `date` is the bar's own. */
  | { date: Day; guess: Day }
  | { date: null; guess: Day | null }

/** Announced dates in order of announcement. If one day has several, the earliest date comes last, and so counts. */
function scheduleTimeline(schedule: readonly ScheduledReport[]): Timeline<ScheduledReport> {
  const latestFirst = [...schedule].sort((a, b) => b.expected_date - a.expected_date)
  return new Timeline(latestFirst, ({ known }) => ({ known }))
}

/** The next report at each of the ascending days. */
export function nextReports(
  days: Int32Array,
  schedule: readonly ScheduledReport[],
  earnings: Timeline<EarningsResult>,
): NextReport[] {
  const timeline = scheduleTimeline(schedule)
  const usable = timeline.counts(days)
  const reported = earnings.counts(days)
  /** The usable announcements, the latest last; one whose date has passed never counts again. */
  const pending: ScheduledReport[] = []
  let added = 0
  const next = new Array<NextReport>(days.length)
  for (let t = 0; t < next.length; t++) {
    const day = days[t]!
    while (added < usable[t]!) pending.push(timeline.records[added++]!)
    while (pending.length > 0 && pending.at(-1)!.expected_date < day) pending.pop()
    const scheduled = pending.at(-1)
    if (scheduled !== undefined) next[t] = { date: scheduled.expected_date, scheduled }
    else next[t] = guessNextReport(day, earnings.records, reported[t]!)
  }
  return next
}

/** A year after the fourth latest report, if that is in the future or a little late. @param reported their number */
function guessNextReport(day: Day, earnings: readonly EarningsResult[], reported: number): NextReport {
  if (reported < REPORTS_A_YEAR) return { date: null, guess: null }
  const guess = earnings[reported - REPORTS_A_YEAR]!.report_date + DAYS_A_YEAR
  const isPlausible = guess > earnings[reported - 1]!.report_date && guess >= day - MAX_DAYS_LATE
  return isPlausible ? { date: Math.max(guess, day), guess } : { date: null, guess }
}
