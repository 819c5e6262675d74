import { overlap } from '../../statistics/overlap.js'
import { placesIn, unionCalendar } from '../calendar.js'
import { type MemberBars, memberBars } from '../cell/member.js'
import { type Book, signalBars } from './books.js'
import type { Condition } from './conditions.js'

/** One ticker's bars of one field and horizon on which the window has elapsed. */
export interface Ground extends MemberBars {
  book: Book
  /** Share of the windows that gained. */
  baseHit: number
}

/** Which bars count: 1 for each place of the timeline that does; null: all. */
export type Mask = Uint8Array | null

/** The days of all tickers from the first on which a field has a band, and where each ticker's bars lie on it. */
export interface Timeline {
  days: Int32Array
  /** Places up to and without this one have events. */
  end: number
  /** By book; -1 for a bar before the first day. */
  places: ReadonlyMap<Book, Int32Array>
}

/** Without a day where no bar counts. */
export function timelineOf(books: readonly Book[]): Timeline {
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { days, fields } of books) {
    for (const { eligible } of fields) {
      if (eligible.length === 0) continue
      first = Math.min(first, days[eligible[0]!]!)
      last = Math.max(last, days[eligible.at(-1)!]!)
    }
  }
  const days = unionCalendar(books.map(book => book.days)).filter(day => day >= first)
  return { days, end: days.indexOf(last) + 1, places: new Map(books.map(book => [book, placesIn(days, book.days)])) }
}

/** @param which place of the horizon in the query's list */
export function groundOf(book: Book, field: number, which: number, mask: Mask, timeline: Timeline): Ground {
  const { eligible } = book.fields[field]!
  const places = timeline.places.get(book)!
  const counting = mask === null ? eligible : eligible.filter(bar => mask[places[bar]!] === 1)
  const bars = memberBars(book.ticker, book.days, book.forward[which]!, counting, NO_EVENTS)
  let gains = 0
  for (const value of bars.returns) if (value > 0) gains++
  return { ...bars, book, baseHit: gains / bars.returns.length }
}

const NO_EVENTS = new Int32Array()

/** The events of a condition on each ticker's ground; `lost` are those that it does not have. */
export interface Pool {
  grounds: Ground[]
  lost: number
}

export function poolOf(grounds: readonly Ground[], signals: ReadonlyMap<Book, Int32Array>): Pool {
  let lost = 0
  const pool: Ground[] = []
  for (const ground of grounds) {
    const bars = signals.get(ground.book)!
    if (bars.length === 0) continue
    const events = placesIn(ground.bars, bars).filter(index => index >= 0)
    lost += bars.length - events.length
    if (events.length > 0) pool.push({ ...ground, events })
  }
  return { grounds: pool, lost }
}

export function signalsOf(books: readonly Book[], condition: Condition): ReadonlyMap<Book, Int32Array> {
  return new Map(books.map(book => [book, signalBars(book, condition)]))
}

/** Sums over the events of a pool, and over the base of each one's ticker. */
export interface Sums {
  n: number
  returns: number
  hits: number
  base: number
  baseHits: number
}

export const NOTHING: Readonly<Sums> = { n: 0, returns: 0, hits: 0, base: 0, baseHits: 0 }

/** @param sign -1 counts a fall as a gain */
export function sumsOf(grounds: readonly Ground[], sign: 1 | -1 = 1): Sums {
  const sums = { ...NOTHING }
  for (const { events, returns, base, baseHit } of grounds) {
    sums.n += events.length
    sums.base += events.length * base * sign
    if (sign === 1) sums.baseHits += events.length * baseHit
    else sums.baseHits += events.length * (losses(returns) / returns.length)
    for (const i of events) {
      sums.returns += sign * returns[i]!
      if (sign * returns[i]! > 0) sums.hits++
    }
  }
  return sums
}

export function added(a: Sums, b: Sums): Sums {
  return {
    n: a.n + b.n,
    returns: a.returns + b.returns,
    hits: a.hits + b.hits,
    base: a.base + b.base,
    baseHits: a.baseHits + b.baseHits,
  }
}

/** Greedy count of windows that share no bar, added up over the tickers. */
export function independentWindows(grounds: readonly Ground[], horizon: number): number {
  return grounds.reduce((sum, { bars, events }) => {
    const at = Array.from(events, i => bars[i]!)
    return sum + overlap(at, horizon).independent
  }, 0)
}

function losses(returns: Float64Array): number {
  let count = 0
  for (const value of returns) if (value < 0) count++
  return count
}
