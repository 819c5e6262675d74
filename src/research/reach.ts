import { countBelow, countUpTo } from '../ascending.js'
import { type Day, formatDay } from '../model/day.js'

/** A band may be carried over a weekend or a holiday without a word. */
const CURRENT_DAYS = 7

/**
 * What must be said of a context ticker whose bars do not reach over the events: its band is the most recent one on or
 * before the date, however old that is. Sentences, none where its bars do.
 *
 * @param days dates of its bars, ascending
 * @param events dates of the events that count, in any order
 * @param unfiltered the same with those that the context leaves out; before its first bar it leaves out all
 */
export function contextReach(
  ticker: string,
  days: Int32Array,
  events: readonly Day[],
  unfiltered: readonly Day[] = events,
): string[] {
  const leavesOut = unfiltered.length > events.length
  return [
    ...lateWords(ticker, days, events, 'whose band is carried forward'),
    ...earlyWords(ticker, days, unfiltered, leavesOut ? 'so in no band of it: left out' : 'so in no band of it'),
  ]
}

/** The same of a benchmark: it has no return where it has no bars. */
export function benchmarkReach(ticker: string, days: Int32Array, events: readonly Day[]): string[] {
  return [
    ...lateWords(ticker, days, events, 'and there is nothing to compare them with'),
    ...earlyWords(ticker, days, events, 'so have nothing to be compared with'),
  ]
}

function lateWords(ticker: string, days: Int32Array, events: readonly Day[], so: string): string[] {
  const last = days.at(-1)
  if (last === undefined) return []
  const late = events.length - countUpTo(ascending(events), last + CURRENT_DAYS)
  return late === 0 ? [] : [`${some(late, events)} after the last bar of ${ticker} (${formatDay(last)}), ${so}.`]
}

function earlyWords(ticker: string, days: Int32Array, events: readonly Day[], so: string): string[] {
  const first = days[0]
  if (first === undefined) return []
  const early = countBelow(ascending(events), first)
  return early === 0
    ? []
    : [`${some(early, events)} before the first bar of ${ticker} (${formatDay(first)}) and ${so}.`]
}

function some(n: number, of: readonly Day[]): string {
  return `${n} of ${of.length} events ${n === 1 ? 'lies' : 'lie'}`
}

function ascending(days: readonly Day[]): Int32Array {
  return Int32Array.from(days).sort()
}
