import { formatDay, parseDay } from './day.js'
import type { EventHistory } from './event.js'
import type { History } from './history.js'
import { UNDEFINED } from './series.js'

/**
 * What there is to say of the stays of some fields of one ticker, in columns: where each field stands, a row a field in the
 * order asked, and what led there, made when it is asked for. Of a whole market there are ten thousands of fields: an object
 * for each costs more than what is in it.
 */
export interface Stays extends Pick<EventHistory, 'ticker' | 'timeframe' | 'query_range' | 'after' | 'as_of'> {
  fields: readonly string[]
  /** By field its vocabulary, with every band that was told; codes are places in it. */
  bands: readonly (readonly string[])[]
  present: Present
  /** How long the stays in the band in force lasted that began and ended within the bounds, oldest first. @param f number of the field */
  completed(f: number): Int32Array
  /** All transitions within the bounds, field after field and oldest first. */
  transitions(): TransitionColumns
  /** The last bar that is final: its date, and the first day on which it was; null where there is none, or it is not told. */
  last: { day: number; known: number } | null
}

/** The stay in force at the end, whatever the bounds of a question are, by field. */
export interface Present {
  /** UNDEFINED where none can be seen. A stay goes on over bars without a band, until another is entered. */
  band: Uint8Array
  /** 1 where no transition entered it. */
  initial: Uint8Array
  /** The band left by the transition that entered it; UNDEFINED where none did, or that was before the range. */
  left: Uint8Array
  /** The day on which it was entered, of an initial one of its first defined bar; UNTOLD where that was before the range. */
  since: Int32Array
  /** Bars since then; UNTOLD as well where the answerer does not tell. */
  bars: Int32Array
  /** The band of the last bar itself: UNDEFINED where it has none. null where the answerer does not tell. */
  onLast: Uint8Array | null
}

/** What stands in a column of numbers where there is none. */
export const UNTOLD = -(2 ** 31)

/** Those of field `f` are the rows from `first[f]` up to and without `first[f + 1]`. */
export interface TransitionColumns {
  first: Int32Array
  days: Int32Array
  /** The first day on which the bar is final; null where the answerer does not tell. */
  known: Int32Array | null
  entered: Uint8Array
  left: Uint8Array
  /** As in a history. */
  stability: Uint8Array
  flips: Uint8Array
  /** Bars until the next transition; -1 while the band is active, or where it is not told. */
  lasted: Int32Array
  /** The band of the context ticker on the day, when one was asked for; null before its first event. */
  contexts: readonly (string | null)[] | null
}

/** So many transitions of so many fields, to be filled; `known` for who tells it. */
export function emptyTransitions(fields: number, rows: number): TransitionColumns & { known: Int32Array } {
  const numbers = (place: number): Int32Array => new Int32Array(buffer, 4 * place * rows, rows)
  const bytes = (place: number): Uint8Array => new Uint8Array(buffer, (12 + place) * rows, rows)
  const buffer = new ArrayBuffer(16 * rows)
  return {
    ...{ first: new Int32Array(fields + 1), days: numbers(0), known: numbers(1), lasted: numbers(2) },
    ...{ entered: bytes(0), left: bytes(1), stability: bytes(2), flips: bytes(3), contexts: null },
  }
}

/** So many fields, of none of which a band can be seen. */
export function emptyPresent(fields: number): Present & { onLast: Uint8Array } {
  return {
    band: new Uint8Array(fields).fill(UNDEFINED),
    initial: new Uint8Array(fields),
    left: new Uint8Array(fields).fill(UNDEFINED),
    since: new Int32Array(fields).fill(UNTOLD),
    bars: new Int32Array(fields).fill(UNTOLD),
    onLast: new Uint8Array(fields).fill(UNDEFINED),
  }
}

/** The same of who tells histories, ticker by ticker, and of each the fields in the order asked. */
export async function* staysOf(histories: AsyncIterable<History>, fields: number): AsyncGenerator<Stays> {
  let own: History[] = []
  for await (const history of histories) {
    own.push(history)
    if (own.length < fields) continue
    yield staysIn(own)
    own = []
  }
}

/** @param histories of one ticker, at least one */
function staysIn(histories: readonly History[]): Stays {
  const [{ ticker, timeframe, query_range, after, as_of }] = histories as [History]
  const present = emptyPresent(histories.length)
  for (const [f, history] of histories.entries()) {
    if (history.present === null) continue
    const { band, since, bars, initial } = history.present
    present.band[f] = history.bands.indexOf(band)
    present.initial[f] = Number(initial)
    if (since !== null) {
      present.since[f] = parseDay(since)!
      const row = initial ? -1 : history.days.lastIndexOf(present.since[f]!)
      if (row !== -1) present.left[f] = history.left[row]!
    }
    if (bars !== null) present.bars[f] = bars
  }
  return {
    ...{ ticker, timeframe, query_range, after, as_of, last: null },
    ...{ fields: histories.map(({ field }) => field), bands: histories.map(({ bands }) => bands) },
    present: { ...present, onLast: null },
    completed(f) {
      const { entered, lasted } = histories[f]!
      return lasted.filter((bars, row) => bars !== -1 && entered[row] === present.band[f])
    },
    transitions: () => transitionsIn(histories),
  }
}

function transitionsIn(histories: readonly History[]): TransitionColumns {
  const rows = histories.reduce((sum, { days }) => sum + days.length, 0)
  const found = { ...emptyTransitions(histories.length, rows), known: null }
  let row = 0
  for (const [f, history] of histories.entries()) {
    for (const name of ['days', 'entered', 'left', 'stability', 'flips', 'lasted'] as const)
      found[name].set(history[name], row)
    row += history.days.length
    found.first[f + 1] = row
  }
  if (histories.every(({ contexts }) => contexts === null)) return found
  return { ...found, contexts: histories.flatMap(({ contexts, days }) => contexts ?? Array.from(days, () => null)) }
}

/** A day of one of the columns as it is written; null where it is not told. */
export function dateIn(column: Int32Array, row: number): string | null {
  return column[row] === UNTOLD ? null : formatDay(column[row]!)
}
