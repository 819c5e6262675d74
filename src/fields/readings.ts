import { compare, percentile, type Ranks } from '../indicators/rank.js'
import { type Day, formatDay } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import { type Report, type Session, usableFrom } from '../model/facts.js'
import { type Series, tradedClose, UNDEFINED } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import type { Consensus, Dealings } from './dated-facts.js'
import { codes, type Reading, reading } from './field.js'
import type { Fundamentals, GrowthRates } from './fundamentals.js'
import { ofYear, type Quarter } from './quarters.js'

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
function closeReading(series: Series, t: number): Reading {
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

/** Whether growth quickens. */
export const DIRECTION_BANDS = ['deteriorating', 'decelerating', 'steady', 'accelerating'] as const
export type DirectionBand = (typeof DIRECTION_BANDS)[number]

const DETERIORATING = DIRECTION_BANDS.indexOf('deteriorating')
const DECELERATING = DIRECTION_BANDS.indexOf('decelerating')
const STEADY = DIRECTION_BANDS.indexOf('steady')
const ACCELERATING = DIRECTION_BANDS.indexOf('accelerating')

/** One code per bar: the growth rate against that of one quarter before; a step either way is a change. */
export function directions({ now, before }: GrowthRates, step: number): Uint8Array {
  return codes(now.length, t => {
    const growth = now[t]!
    const change = growth - before[t]!
    if (Number.isNaN(change)) return UNDEFINED
    if (compare(change, step, 1) >= 0) return ACCELERATING
    if (compare(change, -step, 1) > 0) return STEADY
    return growth < 0 ? DETERIORATING : DECELERATING
  })
}

export function directionInWords(step: number): string {
  return `g - h ≥ ${step} accelerating; > -${step} steady; otherwise deteriorating when g < 0, else decelerating`
}

/** The four quarters compared, both growth rates and their difference; what is missing ends the list. */
export function directionReadings(
  known: Fundamentals,
  t: number,
  figure: 'eps' | 'revenue',
  { now, before }: GrowthRates,
  needs: string,
): Reading[] {
  const parts = quarterReadings(known, t, figure, [0, 4, 1, 5])
  if (!areKnown(parts)) return parts
  const rate = (name: string, value: number, earlier: string): Reading =>
    reading(name, value, Number.isNaN(value) ? `${earlier} must be ${needs}` : undefined)
  const rates = [rate('g', now[t]!, `${figure}_q5`), rate('h', before[t]!, `${figure}_q6`)]
  return areKnown(rates) ? [...parts, ...rates, reading('g_minus_h', now[t]! - before[t]!)] : [...parts, ...rates]
}

/** From cheap to dear. */
export const VALUATION_BANDS = ['deep_value', 'undervalued', 'fair_value', 'overvalued', 'deeply_overvalued'] as const
export type ValuationBand = (typeof VALUATION_BANDS)[number]

export const YIELD_IN_WORDS =
  'earnings yield E = diluted EPS of the newest four quarters / close (not adjusted for dividends)'

/** The close and earnings that a yield is made of, and the yield; what is missing ends the list. */
export function yieldReadings(known: Fundamentals, t: number): Reading[] {
  const parts = [closeReading(known.series, t), ...quarterReadings(known, t, 'eps', [0, 1, 2, 3])]
  if (!areKnown(parts)) return parts
  const earnings = reading('eps_ttm', ofYear(known.quarters.at(t), 'eps'), 'a share, of the four quarters')
  return [...parts, earnings, reading('earnings_yield', known.yield[t])]
}
