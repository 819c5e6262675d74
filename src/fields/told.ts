import { percentile, type Ranks } from '../indicators/rank.js'
import { type Day, formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import { type Report, type Session, usableFrom } from '../model/facts.js'
import { type Series, tradedClose } from '../model/series.js'
import { TIMEFRAMES } from '../model/timeframe.js'
import type { Dealings } from './facts/insiders.js'
import type { Consensus } from './facts/opinions.js'
import type { Quarter } from './facts/quarters.js'
import { type Reading, reading } from './field.js'
import type { Fundamentals } from './fundamentals.js'

const { maxAge, leastGap, mostGap } = DEFINITIONS.quarters

const FIGURES = { eps: 'eps', revenue: 'revenue', bookValue: 'book_value_ps' } as const

/**
 * A figure of some quarters of the chain at a bar, 0 the newest, as `eps_q1` ..; the first quarter that there is none
 * of ends the list, and a null one says why.
 */
export function quarterReadings(
  known: Fundamentals,
  t: number,
  figure: keyof typeof FIGURES,
  places: readonly number[],
): Reading[] {
  const chain = known.quarters.at(t)
  const found: Reading[] = []
  for (const place of places) {
    const name = `${FIGURES[figure]}_q${place + 1}`
    const quarter = chain[place]
    if (quarter === undefined) return [...found, reading(name, undefined, whyNoQuarter(known, t))]
    found.push(reading(name, quarter[figure], quarterNote(quarter, figure)))
  }
  return found
}

/** Whether a bar can be judged by these figures. */
export function areKnown(readings: readonly Reading[]): boolean {
  return readings.every(({ value }) => value !== null)
}

/** The close that figures a share are compared with. */
export function closeReading(series: Series, t: number): Reading {
  const note = series.unadjustedClose === undefined ? undefined : 'not adjusted for dividends'
  return reading('close', tradedClose(series)[t], note)
}

/** A rolling percentile with the size of its sample, or why there is none. */
export function historyReading(name: string, { rank, size }: Ranks, series: Series, t: number): Reading {
  const { history, minHistory } = TIMEFRAMES[series.timeframe]
  const note =
    rank[t]! >= 0
      ? `among ${size[t]} defined bars`
      : `defined on ${size[t]} of the last ${history} bars, at least ${minHistory} are needed`
  return reading(name, percentile(rank[t]!, size[t]!), note)
}

/** When a record became known, and from which day it counts. */
export function sinceWhen(known: Day, session: Session): string {
  return `known on ${formatDay(known)}, counted from ${formatDay(usableFrom({ known, session }))}`
}

/** A mean of analysts' opinions with its origin, or why there is none; `when` says by when none was known. */
export function consensusReading(name: string, consensus: Consensus | undefined, when: string): Reading {
  const least = DEFINITIONS.consensus.least
  if (consensus === undefined)
    return reading(name, undefined, `no counts of at least ${least} analysts are known ${when}`)
  const { counts, analysts, made } = consensus
  const origin = made ? `their latest grades of ${DEFINITIONS.consensus.gradeLife} days` : 'given as counts'
  return reading(name, consensus.mean, `of ${analysts} analysts, ${origin}, ${sinceWhen(counts.known, counts.session)}`)
}

/** How many trades of insiders lie in the window that ends on a day. */
export function dealingsReading(window: Dealings | null, day: Day): Reading {
  const first = formatDay(day - DEFINITIONS.insiders.lookback + 1)
  if (window === null) return reading('trades', undefined, 'no trade of an insider has been known yet')
  return reading('trades', window.trades, `counted for the first time from ${first} to ${formatDay(day)}`)
}

function quarterNote({ report, splits }: Quarter, figure: keyof typeof FIGURES): string {
  const of = `quarter ended ${formatDay(report.period_end)}, ${sinceWhen(report.known, report.session)}`
  if (report[FIGURES[figure]] === null) return `unknown in the latest version of the ${of}`
  return figure === 'revenue' || splits.length === 0 ? of : `${of}; as filed, divided by ${splitNote(splits)}`
}

function splitNote(splits: Quarter['splits']): string {
  const ratios = splits.map(({ ratio }) => ratio).join(' and ')
  const dates = splits.map(({ ex_date }) => formatDay(ex_date)).join(' and ')
  return `${ratios}: split${splits.length > 1 ? 's' : ''} of ${dates}`
}

function whyNoQuarter(known: Fundamentals, t: number): string {
  const newest = known.quarters.newest(t)
  if (newest === null) return 'no quarter is known yet'
  const ended = (report: Report): string => formatDay(report.period_end)
  const { quarter, age } = newest
  if (age > maxAge)
    return `the newest known quarter ended on ${ended(quarter.report)}, ${age} days before: over ${maxAge}`
  const oldest = known.quarters.at(t).at(-1)!
  return `none is known that ended ${leastGap} to ${mostGap} days before ${ended(oldest.report)}`
}
