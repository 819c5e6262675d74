import { formatDay, parseDay } from './day.js'
import type { Aftermath, BandEvent, Baseline, EventHistory, HistoricEvent } from './event.js'
import { PERFORMANCES, STABILITIES, UNDEFINED } from './series.js'
import { TIMEFRAMES, windowNames } from './terms.js'

/** Events in columns of one row an event; bands are codes, places in a vocabulary. */
interface CodedEvents {
  days: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** Index into STABILITIES, flips in the lookback; UNDEFINED where the answerer does not tell. */
  stability: Uint8Array
  flips: Uint8Array
  /** Bars until the next event; -1 while the band is active, or where it is not told. */
  lasted: Int32Array
  /** The band of the context ticker on the date, when one was asked for; null before its first event. */
  contexts: readonly (string | null)[] | null
}

/** The events of one field of one ticker that match a question, oldest first. */
export interface History extends CodedEvents, Omit<EventHistory, 'events'> {
  /** The field's vocabulary, with every band that was told. */
  bands: readonly string[]
  /** By window, in the order of the timeframe; null where they were not asked for, or the tier does not show them. */
  outcomes: readonly WindowOutcomes[] | null
  /** What any bar of the range was followed by; null where it was not asked for, or no prices are known. */
  base: Baseline | null
  /** The same events as a server told them, with keys that nobody here knows; absent where they were derived here. */
  told?: readonly HistoricEvent[]
}

/** What followed each event over one window. */
export interface WindowOutcomes {
  /** 1 where the window is known to have ended. */
  ended: Uint8Array
  /** Index into PERFORMANCES; UNDEFINED where there is none. */
  performances: Uint8Array
  /** Fractions, and their percentiles, 0..100; NaN where there is none. null where no prices are known. */
  exact: { returns: Float64Array; percentiles: Float64Array } | null
}

/** Events as a server tells them, in columns. @param bands the vocabulary of the field, as far as it is known here */
export function historyOf({ events, ...head }: EventHistory, bands: readonly string[]): History {
  const { duration } = TIMEFRAMES[head.timeframe]
  const vocabulary = vocabularyOf(events, head.present, bands)
  const code = (band: string): number => vocabulary.indexOf(band)
  const bytes = (of: (event: HistoricEvent) => number): Uint8Array => Uint8Array.from(events, of)
  const hasContext = events.some(event => event.context_band !== undefined)
  return {
    ...head,
    bands: vocabulary,
    days: Int32Array.from(events, event => parseDay(event.date)!),
    entered: bytes(event => code(event.band)),
    left: bytes(event => code(event.prev_band)),
    stability: bytes(({ stability_at_entry: known }) => (known === undefined ? UNDEFINED : STABILITIES.indexOf(known))),
    flips: bytes(event => event.flips_recent_at_entry ?? UNDEFINED),
    lasted: Int32Array.from(events, event => event[duration] ?? -1),
    contexts: hasContext ? events.map(event => event.context_band ?? null) : null,
    outcomes: events.some(event => event.aftermath === null)
      ? null
      : windowNames(head.timeframe).map(window => {
          const performances = bytes(({ aftermath }) => {
            const outcome = aftermath![window] ?? null
            return outcome === null ? UNDEFINED : PERFORMANCES.indexOf(outcome.performance)
          })
          return { performances, ended: performances.map(found => Number(found !== UNDEFINED)), exact: null }
        }),
    base: null,
    told: events,
  }
}

/** Who tells events may know bands of the field that this version does not. */
function vocabularyOf(
  events: readonly BandEvent[],
  present: EventHistory['present'],
  bands: readonly string[],
): readonly string[] {
  const told = events.flatMap(event => [event.band, event.prev_band])
  if (present !== null) told.push(present.band)
  return [...new Set([...bands, ...told])]
}

/** The same as the specification spells events. */
export function eventHistoryOf(history: History): EventHistory {
  const { ticker, field, timeframe, query_range, after, as_of, present, source } = history
  const events = eventsOf(history)
  const found: EventHistory = { ticker, field, timeframe, query_range, after, as_of, events, present }
  return source === undefined ? found : { ...found, source }
}

/** Events in columns, and what it takes to spell them. */
type EventColumns = Omit<History, Exclude<keyof EventHistory, 'timeframe'> | 'base'>

/** Events as the specification spells them: what the answerer does not tell is left out. */
export function eventsOf(columns: EventColumns): HistoricEvent[] {
  return Array.from(columns.days, (_, i) => eventAt(columns, i))
}

/** One of them, by its number. */
export function eventAt(history: EventColumns, i: number): HistoricEvent {
  const { timeframe, bands, outcomes, contexts, told } = history
  const context = contexts === null ? {} : { context_band: contexts[i]! }
  if (told !== undefined) return { ...told[i]!, ...context }
  const { duration, flipsLookback, unit } = TIMEFRAMES[timeframe]
  const stability = STABILITIES[history.stability[i]!]
  return {
    date: formatDay(history.days[i]!),
    band: bands[history.entered[i]!]!,
    prev_band: bands[history.left[i]!]!,
    ...(stability === undefined
      ? {}
      : {
          stability_at_entry: stability,
          flips_recent_at_entry: history.flips[i]!,
          flips_lookback: `${flipsLookback}${unit}`,
        }),
    [duration]: history.lasted[i] === -1 ? null : history.lasted[i]!,
    aftermath: outcomes === null ? null : aftermathOf(history, outcomes, i),
    ...(outcomes?.[0]?.exact == null ? {} : exactOf(history, outcomes, i)),
    ...context,
  }
}

function aftermathOf({ timeframe }: EventColumns, outcomes: readonly WindowOutcomes[], i: number): Aftermath {
  const aftermath: Aftermath = {}
  windowNames(timeframe).forEach((name, w) => {
    const performance = PERFORMANCES[outcomes[w]!.performances[i]!]
    aftermath[name] = performance === undefined ? null : { performance }
  })
  return aftermath
}

function exactOf({ timeframe }: EventColumns, outcomes: readonly WindowOutcomes[], i: number) {
  const exact = { returns: {}, percentiles: {}, missing: {} } as Required<
    Pick<HistoricEvent, 'returns' | 'percentiles' | 'missing'>
  >
  windowNames(timeframe).forEach((name, w) => {
    const { ended, performances, exact: figures } = outcomes[w]!
    const ranked = performances[i] !== UNDEFINED
    exact.returns[name] = ended[i] === 1 ? figures!.returns[i]! : null
    exact.percentiles[name] = ranked ? figures!.percentiles[i]! : null
    if (ended[i] === 0) exact.missing[name] = 'pending'
    else if (!ranked) exact.missing[name] = 'no_history'
  })
  return exact
}

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
interface Present {
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
export interface TransitionColumns extends CodedEvents {
  first: Int32Array
  /** The first day on which the bar is final; null where the answerer does not tell. */
  known: Int32Array | null
}

/** So many transitions of so many fields, to be filled; `known` for who tells it. */
export function emptyTransitions(fields: number, rows: number): TransitionColumns & { known: Int32Array } {
  const numbers = (index: number): Int32Array => new Int32Array(buffer, 4 * index * rows, rows)
  const bytes = (index: number): Uint8Array => new Uint8Array(buffer, (12 + index) * rows, rows)
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
