import { formatDay, parseDay } from './day.js'
import type { Aftermath, BandEvent, Baseline, EventHistory, HistoricEvent } from './event.js'
import { PERFORMANCES, STABILITIES, UNDEFINED } from './series.js'
import { TIMEFRAMES, windowNames } from './terms.js'

/** The events of one field of one ticker that match a question, in columns of one row an event, oldest first. */
export interface History extends Omit<EventHistory, 'events'> {
  /** The field's vocabulary, with every band that was told; codes are places in it. */
  bands: readonly string[]
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
export type EventColumns = Omit<History, Exclude<keyof EventHistory, 'timeframe'> | 'base'>

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
