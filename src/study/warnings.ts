import { type Day, formatDay } from '../model/day.js'
import type { EventFilter } from '../params/studies.js'
import { LEAST_UNITS } from './cell.js'
import { type StudyWindow, spreadWarnings } from './result.js'
import { benchmarkReach, contextReach, eligibleBars, lacksDividends, lostOf } from './signals.js'
import type { Subject } from './subject.js'
import type { Material } from './window.js'

/** As many tickers as a sentence names. */
const NAMED = 5

/** What a reader must know before believing a number, in sentences; the gravest first. */
export function warningsOf(material: Material, windows: readonly StudyWindow[]): string[] {
  const { subjects, query, asOf } = material
  if (datesOf(subjects, 'signals').length === 0) return [noEvent(material), ...reach(material)]
  return [
    fewEvents(windows),
    fewDates(subjects, windows),
    ...spreadWarnings(windows),
    ...reach(material),
    anyContext(query.filter),
    overlapping(windows),
    narrow(windows),
    leaning(material),
    severalLooks(windows),
    open(windows),
    delisted(subjects, query.horizons, asOf),
    unadjusted(subjects),
    without(subjects),
  ].filter(sentence => sentence !== null)
}

function datesOf(subjects: readonly Subject[], which: 'signals' | 'anyContext'): Day[] {
  return subjects.flatMap(subject => Array.from(subject[which].bars, bar => subject.prices.series.days[bar]!))
}

function noEvent({ subjects, query: { filter } }: Material): string {
  const inRange = extent(subjects, ({ eligible }) => eligible)
  if (inRange !== null) return `No event from ${inRange}.`
  const all = extent(subjects, ({ prices, states }) => eligibleBars(prices, states, { after: null, before: null }))
  if (all === null) return 'No bar has a band of this field, so there is no event.'
  return `No event: the dates asked for leave out every bar with a band of ${filter.field}, from ${all}.`
}

function extent(subjects: readonly Subject[], barsOf: (subject: Subject) => Int32Array): string | null {
  const days = subjects.flatMap(subject => {
    const bars = barsOf(subject)
    return [...bars.slice(0, 1), ...bars.slice(-1)].map(bar => subject.prices.series.days[bar]!)
  })
  return days.length === 0 ? null : `${formatDay(Math.min(...days))} to ${formatDay(Math.max(...days))}`
}

/** A second ticker that has ended, or begins later. */
function reach({ query: { filter, benchmark }, subjects, contextDays, benchmark: held }: Material): string[] {
  const events = datesOf(subjects, 'signals')
  const { context } = filter
  return [
    ...(context === null ? [] : contextReach(context.ticker, contextDays!, events, datesOf(subjects, 'anyContext'))),
    ...(benchmark === null ? [] : benchmarkReach(benchmark, held!.days, events)),
  ]
}

function anyContext({ context }: EventFilter): string | null {
  if (context === null || context.bands !== null) return null
  const { ticker, field } = context
  return `No band of ${ticker} ${field} was asked for: the context leaves out no event, and only tells its band beside each. ${ticker}:${field}=BAND narrows to a band, and a sweep splits by all of them.`
}

function fewEvents(windows: readonly StudyWindow[]): string | null {
  const few = windows.filter(({ grey }) => grey)
  if (few.length === 0) return null
  const list = few.map(({ window, n, n_indep }) => `${window}: ${n}, ${n_indep} without overlap`).join('; ')
  return `Too few events for a p-value or an interval (${list}): read them one by one, not as an average.`
}

/** Of pools: many events on few dates are one event seen by many tickers. */
function fewDates(subjects: readonly Subject[], windows: readonly StudyWindow[]): string | null {
  if (subjects.length === 1) return null
  const few = windows.filter(({ n, n_stretches }) => n > 0 && n_stretches < LEAST_UNITS)
  if (few.length === 0) return null
  const list = few.map(({ window, n, n_stretches }) => `${window}: ${n} events, ${n_stretches}`).join('; ')
  return `The events of all tickers lie in fewer than ${LEAST_UNITS} stretches of dates that share no window (${list}): tickers move together, so this is little evidence, however many events there are.`
}

function overlapping(windows: readonly StudyWindow[]): string | null {
  const some = windows.filter(({ n, n_indep }) => n_indep < n)
  if (some.length === 0) return null
  const list = some.map(({ window, n, n_indep }) => `${window}: ${n_indep} of ${n}`).join(', ')
  return `Windows overlap; those that share no bar are fewer than the events (${list}). The tests and intervals allow for it, the mean alone does not.`
}

/** BCa intervals of fewer stretches miss the truth of random walks up to twice as often as they say. */
const ENOUGH_FOR_BCA = 50

function narrow(windows: readonly StudyWindow[]): string | null {
  const told = windows.filter(({ intervals }) => intervals.some(({ method, low }) => method === 'bca' && low !== null))
  const some = told.filter(({ n_stretches }) => n_stretches < ENOUGH_FOR_BCA)
  if (some.length === 0) return null
  const list = some.map(({ window }) => window).join(', ')
  return `The events lie in fewer than ${ENOUGH_FOR_BCA} stretches of dates that share no window (${list}): BCa intervals of so few are too narrow, and miss the truth up to one time in ten. The stationary bootstrap allows for it.`
}

/** Of bands that are made from prices: the abnormal return is measured against the very fall or rise that led to the event. */
function leaning({ query: { filter, abnormal }, fromPrices }: Material): string | null {
  const { field } = filter
  if (abnormal === 'none' || !fromPrices) return null
  return `${field} is made from prices: the estimation window of an event holds part of the fall or rise that led to it, so abnormal returns lean the other way, and their tests find an edge in random walks more often than one time in twenty, the more events the more often. Trust the p of the shifts.`
}

function severalLooks(windows: readonly StudyWindow[]): string | null {
  const looks = windows.filter(({ tests }) => tests[0]?.p !== null).length
  if (looks < 2) return null
  const chance = Math.round(100 * (1 - 0.95 ** looks))
  return `${looks} windows were looked at: were they independent, at least one p below .05 would come by luck ${chance} % of the time.`
}

function open(windows: readonly StudyWindow[]): string | null {
  const some = windows.filter(({ lost }) => lost.not_elapsed > 0)
  if (some.length === 0) return null
  const list = some.map(({ window, lost }) => `${window}: ${lost.not_elapsed}`).join(', ')
  return `Events whose window has not elapsed are left out (${list}).`
}

function delisted(subjects: readonly Subject[], horizons: readonly number[], asOf: number | null): string | null {
  const longest = Math.max(...horizons)
  let unknown = 0
  let settled = 0
  for (const { prices, signals } of subjects) {
    const lost = lostOf(prices, longest, signals.bars, asOf)
    unknown += lost.delisted
    settled += lost.settled
  }
  const parts = [
    unknown === 0
      ? ''
      : `${unknown} ${unknown === 1 ? 'is' : 'are'} lost, because the bars of their ticker end early and its final price is not known`,
    settled === 0 ? '' : `${settled} ${settled === 1 ? 'ends' : 'end'} with the final price of a delisting`,
  ].filter(part => part !== '')
  return parts.length === 0 ? null : `Of the windows of ${longest} bars ${parts.join('; ')}.`
}

function unadjusted(subjects: readonly Subject[]): string | null {
  const raw = subjects.filter(({ prices, signals }) => lacksDividends(prices) && signals.bars.length > 0)
  if (raw.length === 0) return null
  return `Prices of ${named(raw)} are not adjusted for dividends, whose ex-dates look like falls.`
}

function without(subjects: readonly Subject[]): string | null {
  const none = subjects.filter(({ signals }) => signals.bars.length === 0)
  if (none.length === 0) return null
  return `${none.length} of ${subjects.length} tickers have no such event and count nowhere: ${named(none)}.`
}

function named(subjects: readonly Subject[]): string {
  const names = subjects.slice(0, NAMED).map(({ ticker }) => ticker)
  return subjects.length > NAMED ? `${names.join(', ')} and ${subjects.length - NAMED} more` : names.join(', ')
}
