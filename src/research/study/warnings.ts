import { fieldNamed } from '../../fields/index.js'
import { formatDay } from '../../model/day.js'
import { unionCalendar } from '../calendar.js'
import { LEAST_UNITS } from '../cell/series.js'
import { lostOf } from '../forward.js'
import type { StudyWindow } from './result.js'
import type { Subject } from './subject.js'
import type { Material } from './window.js'

/** As many tickers as a sentence names. */
const NAMED = 5

/** What a reader must know before believing a number, in sentences; the gravest first. */
export function warningsOf({ subjects, query, asOf }: Material, windows: readonly StudyWindow[]): string[] {
  const events = subjects.reduce((sum, { signals }) => sum + signals.bars.length, 0)
  if (events === 0) return [noEvent(subjects)]
  return [
    fewEvents(windows),
    fewDates(subjects, query.horizons),
    overlapping(windows),
    leaning(query),
    severalLooks(windows),
    open(windows),
    delisted(subjects, query.horizons, asOf),
    unadjusted(subjects),
    without(subjects),
  ].filter(sentence => sentence !== null)
}

function noEvent(subjects: readonly Subject[]): string {
  const days = subjects.flatMap(({ eligible, prices }) =>
    [...eligible.slice(0, 1), ...eligible.slice(-1)].map(bar => prices.series.days[bar]!),
  )
  if (days.length === 0) return 'No bar in range has a band of this field, so there is no event.'
  return `No event from ${formatDay(Math.min(...days))} to ${formatDay(Math.max(...days))}.`
}

function fewEvents(windows: readonly StudyWindow[]): string | null {
  const few = windows.filter(({ grey }) => grey)
  if (few.length === 0) return null
  const list = few.map(({ window, n, n_indep }) => `${window}: ${n}, ${n_indep} without overlap`).join('; ')
  return `Too few events for a p-value or an interval (${list}): read them one by one, not as an average.`
}

/** Of pools: many events on few dates are one event seen by many tickers. */
function fewDates(subjects: readonly Subject[], horizons: readonly number[]): string | null {
  if (subjects.length === 1) return null
  const dates = unionCalendar(
    subjects.map(({ prices, signals }) => Int32Array.from(signals.bars, bar => prices.series.days[bar]!)),
  )
  const all = unionCalendar(subjects.map(({ prices }) => prices.series.days))
  const few = horizons.filter(horizon => stretches(dates, all, horizon) < LEAST_UNITS)
  if (few.length === 0) return null
  return `The events of all tickers lie in fewer than ${LEAST_UNITS} stretches of dates that share no window (${few.join(', ')} bars): tickers move together, so this is little evidence, however many events there are.`
}

function stretches(dates: Int32Array, calendar: Int32Array, horizon: number): number {
  const places = new Map([...calendar].map((day, place) => [day, place]))
  let count = 0
  let free = 0
  for (const day of dates) {
    const place = places.get(day)!
    if (place < free) continue
    count++
    free = place + horizon
  }
  return count
}

function overlapping(windows: readonly StudyWindow[]): string | null {
  const some = windows.filter(({ n, n_indep }) => n_indep < n)
  if (some.length === 0) return null
  const list = some.map(({ window, n, n_indep }) => `${window}: ${n_indep} of ${n}`).join(', ')
  return `Windows overlap; those that share no bar are fewer than the events (${list}). The tests and intervals allow for it, the mean alone does not.`
}

/** Of bands that are made from prices: the abnormal return is measured against the very fall or rise that led to the event. */
function leaning({ filter: { field }, abnormal }: Material['query']): string | null {
  if (abnormal === 'none' || fieldNamed(field)?.needs !== 'bars') return null
  return `${field} is made from prices: the estimation window of an event holds part of the fall or rise that led to it, so abnormal returns lean the other way. Their tests find something in up to one random walk of eight; trust the p of the shift.`
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
      : `${unknown} are lost, because the bars of their ticker end early and its final price is not known`,
    settled === 0 ? '' : `${settled} end with the final price of a delisting`,
  ].filter(part => part !== '')
  return parts.length === 0 ? null : `Of the windows of ${longest} bars ${parts.join('; ')}.`
}

function unadjusted(subjects: readonly Subject[]): string | null {
  const raw = subjects.filter(({ prices, signals }) => prices.adjustment === 'raw' && signals.bars.length > 0)
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
