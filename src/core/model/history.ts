import { formatDay, parseDay } from './day.js'
import type { Aftermath, BandEvent, Baseline, EventHistory, HistoricEvent } from './event.js'
import { PERFORMANCES, STABILITIES, UNDEFINED } from './series.js'
import { TIMEFRAMES, windowNames } from './terms.js'

/** The length of a band that has not ended yet, or whose end is unknown, in a column of lengths. */
export const NOT_ENDED = -1

/** Events as columns with one row an event; bands are codes, indices into a vocabulary. */
interface CodedEvents {
  days: Int32Array
  entered: Uint8Array
  left: Uint8Array
  /** Index into STABILITIES, flips in the lookback; UNDEFINED where the source does not say. */
  stability: Uint8Array
  flips: Uint8Array
  /** Bars until the next event; NOT_ENDED while the band is active, or if unknown. */
  lasted: Int32Array
  /** The band of the context ticker on the date, if the query has a context; null before its first event. */
  contexts: readonly (string | null)[] | null
}

/** The events of one field of one ticker that match a query, oldest first. */
export interface History extends CodedEvents, Omit<EventHistory, 'events'> {
  /** The field's vocabulary, with every band in the source's answer. */
  bands: readonly string[]
  /** By window, in the order of the timeframe; null if not queried, or if the tier hides them. */
  outcomes: readonly WindowOutcomes[] | null
  /** Outcomes after any bar of the range; null if not queried, or without prices. */
  base: Baseline | null
  /** The same events as a server sent them, with unknown keys; absent for events derived here. */
  sentEvents?: readonly HistoricEvent[]
}

/** Outcomes after each event over one window. */
export interface WindowOutcomes {
  /** 1 where the window has ended. */
  ended: Uint8Array
  /** Index into PERFORMANCES; UNDEFINED without one. */
  performances: Uint8Array
  /** Fractions, and their percentiles, 0..100; NaN without one. null without prices. */
  unrounded: { returns: Float64Array; percentiles: Float64Array } | null
}

/** A server's events as columns; a server gives neither unrounded returns nor base rates. @param bands of the field */
export function historyOf({ events, ...head }: EventHistory, bands: readonly string[]): History {
  const { duration } = TIMEFRAMES[head.timeframe]
  const vocabulary = vocabularyOf(events, head.present, bands)
  const byteColumn = (numberOf: (event: HistoricEvent) => number): Uint8Array => Uint8Array.from(events, numberOf)
  const outcomesOver = (window: string): WindowOutcomes => {
    const performances = byteColumn(({ aftermath }) => {
      const outcome = aftermath![window] ?? null
      return outcome === null ? UNDEFINED : PERFORMANCES.indexOf(outcome.performance)
    })
    return { performances, ended: performances.map(code => Number(code !== UNDEFINED)), unrounded: null }
  }
  const isAftermathHidden = events.some(event => event.aftermath === null)
  const hasContext = events.some(event => event.context_band !== undefined)
  return {
    ...head,
    bands: vocabulary,
    days: Int32Array.from(events, event => parseDay(event.date)!),
    entered: byteColumn(event => vocabulary.indexOf(event.band)),
    left: byteColumn(event => vocabulary.indexOf(event.prev_band)),
    stability: byteColumn(({ stability_at_entry: stability }) =>
      stability === undefined ? UNDEFINED : STABILITIES.indexOf(stability),
    ),
    flips: byteColumn(event => event.flips_recent_at_entry ?? UNDEFINED),
    lasted: Int32Array.from(events, event => event[duration] ?? NOT_ENDED),
    contexts: hasContext ? events.map(event => event.context_band ?? null) : null,
    outcomes: isAftermathHidden ? null : windowNames(head.timeframe).map(outcomesOver),
    base: null,
    sentEvents: events,
  }
}

/** The known bands, then those that only the server's answer has: the server may be newer than this program. */
function vocabularyOf(
  events: readonly BandEvent[],
  present: EventHistory['present'],
  bands: readonly string[],
): readonly string[] {
  const namedBands = events.flatMap(event => [event.band, event.prev_band])
  if (present !== null) namedBands.push(present.band)
  return [...new Set([...bands, ...namedBands])]
}

/** A history in the spelling of the specification, with one object an event instead of columns. */
export function eventHistoryOf(history: History): EventHistory {
  const { ticker, field, timeframe, query_range, after, as_of, present, source } = history
  const events = eventsOf(history)
  const spelled: EventHistory = { ticker, field, timeframe, query_range, after, as_of, events, present }
  return source === undefined ? spelled : { ...spelled, source }
}

/** Events as columns, with the data to spell them. */
type EventColumns = Omit<History, Exclude<keyof EventHistory, 'timeframe'> | 'base'>

/** Events in the spelling of the specification; unknown values are left out. */
export function eventsOf(columns: EventColumns): HistoricEvent[] {
  return Array.from(columns.days, (_, i) => eventAt(columns, i))
}

/**
 * Event `i` in the spelling of the specification. If a server sent the event, its own keys stay. Keys whose values are
 * unknown are left out; a duration and an aftermath that are unknown are null.
 */
export function eventAt(history: EventColumns, i: number): HistoricEvent {
  const { timeframe, bands, outcomes, contexts, sentEvents } = history
  const context = contexts === null ? {} : { context_band: contexts[i]! }
  if (sentEvents !== undefined) return { ...sentEvents[i]!, ...context }
  const { duration } = TIMEFRAMES[timeframe]
  const lasted = history.lasted[i]!
  return {
    date: formatDay(history.days[i]!),
    band: bands[history.entered[i]!]!,
    prev_band: bands[history.left[i]!]!,
    ...stabilityAt(history, i),
    [duration]: lasted === NOT_ENDED ? null : lasted,
    aftermath: outcomes === null ? null : aftermathOf(history, outcomes, i),
    ...unroundedOf(history, outcomes, i),
    ...context,
  }
}

/** The stability of the band that event `i` left, and recent changes (flips); empty if the source does not say. */
function stabilityAt({ timeframe, stability, flips }: EventColumns, i: number): Partial<HistoricEvent> {
  const word = STABILITIES[stability[i]!]
  if (word === undefined) return {}
  const { flipsLookback, unit } = TIMEFRAMES[timeframe]
  return {
    stability_at_entry: word,
    flips_recent_at_entry: flips[i]!,
    flips_lookback: `${flipsLookback}${unit}`,
  }
}

/** The performance band of event `i` by the name of each window; null where it has none. */
function aftermathOf({ timeframe }: EventColumns, outcomes: readonly WindowOutcomes[], i: number): Aftermath {
  const aftermath: Aftermath = {}
  windowNames(timeframe).forEach((name, w) => {
    const performance = PERFORMANCES[outcomes[w]!.performances[i]!]
    aftermath[name] = performance === undefined ? null : { performance }
  })
  return aftermath
}

/** The unrounded return and percentile of event `i` in each window, and why one is missing; empty without prices. */
function unroundedOf(
  { timeframe }: EventColumns,
  outcomes: readonly WindowOutcomes[] | null,
  i: number,
): Pick<HistoricEvent, 'returns' | 'percentiles' | 'missing'> {
  const hasPrices = outcomes !== null && outcomes.length > 0 && outcomes[0]!.unrounded !== null
  if (!hasPrices) return {}
  const byWindow: Required<Pick<HistoricEvent, 'returns' | 'percentiles' | 'missing'>> = {
    returns: {},
    percentiles: {},
    missing: {},
  }
  windowNames(timeframe).forEach((name, w) => {
    const { ended, performances, unrounded: figures } = outcomes[w]!
    const isRanked = performances[i] !== UNDEFINED
    byWindow.returns[name] = ended[i] === 1 ? figures!.returns[i]! : null
    byWindow.percentiles[name] = isRanked ? figures!.percentiles[i]! : null
    if (ended[i] === 0) byWindow.missing[name] = 'pending'
    else if (!isRanked) byWindow.missing[name] = 'no_history'
  })
  return byWindow
}

/**
 * The periods in bands of some fields of one ticker, as columns. The current band has one row a field, in the order of
 * the query; the earlier periods are computed on demand.
 * A whole market has ten thousands of fields: an object for each costs more than its data.
 */
export interface BandPeriods extends Pick<EventHistory, 'ticker' | 'timeframe' | 'query_range' | 'after' | 'as_of'> {
  fields: readonly string[]
  /** The vocabulary of each field, with every band of the source's answer; codes index it. */
  bands: readonly (readonly string[])[]
  present: Present
  /**
   * Lengths of the completed periods in the current band, within the bounds, oldest first. Valid until the next call,
   * and the caller may change them. @param f index of the field
   */
  completed(f: number): Int32Array
  /** All transitions within the bounds, field after field and oldest first. */
  transitions(): TransitionColumns
  /** The last final bar: its date, and the first day on which it was final; null without one, or where unknown. */
  last: { day: number; known: number } | null
}

/** The current period at the end, regardless of the bounds of a query, by field. */
interface Present {
  /** UNDEFINED where none is visible. A period continues over bars without a band, until another band is entered. */
  band: Uint8Array
  /** 1 where no transition entered it. */
  initial: Uint8Array
  /** The band before the transition that entered it; UNDEFINED without one, or where that was before the range. */
  left: Uint8Array
  /** The day of its entry (for an initial one the first bar with a band); NO_NUMBER where that was before the range. */
  since: Int32Array
  /** Bars since then; NO_NUMBER also where the source does not say. */
  bars: Int32Array
  /** The band of the last bar itself: UNDEFINED without one. null where the source does not say. */
  onLast: Uint8Array | null
}

/** A missing value in a column of numbers. */
export const NO_NUMBER = -(2 ** 31)

/** Transitions of some fields. Field `f` has the rows from `first[f]` up to, but not including, `first[f + 1]`. */
export interface TransitionColumns extends CodedEvents {
  first: Int32Array
  /** The first day on which the bar is final; null where the source does not say. */
  known: Int32Array | null
}

/**
 * Columns for transitions, still empty: one buffer holds them all.
 * @param fields the number of fields
 * @param rows the number of transitions of all fields together
 */
export function emptyTransitions(fields: number, rows: number): TransitionColumns & { known: Int32Array } {
  // A row takes 16 bytes: three numbers of 4 bytes and four bytes. The columns of numbers come first.
  const buffer = new ArrayBuffer(16 * rows)
  const numbers = (index: number): Int32Array => new Int32Array(buffer, 4 * index * rows, rows)
  const bytes = (index: number): Uint8Array => new Uint8Array(buffer, (12 + index) * rows, rows)
  return {
    first: new Int32Array(fields + 1),
    days: numbers(0),
    known: numbers(1),
    lasted: numbers(2),
    entered: bytes(0),
    left: bytes(1),
    stability: bytes(2),
    flips: bytes(3),
    contexts: null,
  }
}

/** Empty columns for some fields without a visible band. */
export function emptyPresent(fields: number): Present & { onLast: Uint8Array } {
  return {
    band: new Uint8Array(fields).fill(UNDEFINED),
    initial: new Uint8Array(fields),
    left: new Uint8Array(fields).fill(UNDEFINED),
    since: new Int32Array(fields).fill(NO_NUMBER),
    bars: new Int32Array(fields).fill(NO_NUMBER),
    onLast: new Uint8Array(fields).fill(UNDEFINED),
  }
}

/** The periods in bands of each ticker. @param histories ticker by ticker, one a field @param fields their number */
export async function* bandPeriodsOf(histories: AsyncIterable<History>, fields: number): AsyncGenerator<BandPeriods> {
  let historiesOfTicker: History[] = []
  for await (const history of histories) {
    historiesOfTicker.push(history)
    if (historiesOfTicker.length < fields) continue
    yield bandPeriodsOfTicker(historiesOfTicker)
    historiesOfTicker = []
  }
}

/** The periods in bands of one ticker. @param histories the history of each field; at least one */
function bandPeriodsOfTicker(histories: readonly History[]): BandPeriods {
  const [{ ticker, timeframe, query_range, after, as_of }] = histories as [History]
  const present = emptyPresent(histories.length)
  for (const [f, history] of histories.entries()) {
    if (history.present === null) continue
    const { band, since, bars, initial } = history.present
    present.band[f] = history.bands.indexOf(band)
    present.initial[f] = Number(initial)
    if (since !== null) {
      present.since[f] = parseDay(since)!
      // The transition that entered the current band, if it is in the range.
      const row = history.days.lastIndexOf(present.since[f]!)
      if (!initial && row !== -1) present.left[f] = history.left[row]!
    }
    if (bars !== null) present.bars[f] = bars
  }
  return {
    ticker,
    timeframe,
    query_range,
    after,
    as_of,
    // A history has neither the last bar nor the band on it.
    last: null,
    fields: histories.map(({ field }) => field),
    bands: histories.map(({ bands }) => bands),
    present: { ...present, onLast: null },
    completed(f) {
      const { entered, lasted } = histories[f]!
      return lasted.filter((bars, row) => bars !== NOT_ENDED && entered[row] === present.band[f])
    },
    transitions: () => joinTransitions(histories),
  }
}

/** All events of some histories as columns of transitions, field after field. */
function joinTransitions(histories: readonly History[]): TransitionColumns {
  const rows = histories.reduce((sum, { days }) => sum + days.length, 0)
  // A history does not say when its bars were final.
  const columns = { ...emptyTransitions(histories.length, rows), known: null }
  let row = 0
  for (const [f, history] of histories.entries()) {
    for (const name of ['days', 'entered', 'left', 'stability', 'flips', 'lasted'] as const)
      columns[name].set(history[name], row)
    row += history.days.length
    columns.first[f + 1] = row
  }
  if (histories.every(({ contexts }) => contexts === null)) return columns
  return { ...columns, contexts: histories.flatMap(({ contexts, days }) => contexts ?? Array.from(days, () => null)) }
}

/** The day in a row of a column of days, as text; null where it is NO_NUMBER. */
export function dateIn(column: Int32Array, row: number): string | null {
  return column[row] === NO_NUMBER ? null : formatDay(column[row]!)
}
