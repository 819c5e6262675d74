import type { Bands } from '../bands.js'
import { TierRestricted } from '../errors.js'
import type { EventHistory, HistoricEvent } from '../model/event.js'
import type { HistoryQuery } from '../model/query.js'
import { PERFORMANCES, UNDEFINED } from '../model/record.js'
import { TIMEFRAMES, windowNames } from '../model/timeframe.js'
import { type TickerBase, tickerBase } from './base.js'
import type { Answered } from './scope.js'

/**
 * All that a tally needs of one ticker: columns of one row an event, oldest first, because the events themselves of
 * hundreds of tickers fill the memory and are slow to walk through.
 */
export interface TickerSource extends Answered {
  ticker: string
  /** What each event is grouped by. */
  values: (string | null)[]
  /** Where each lies among the ticker's events, in bars. */
  bars: Int32Array
  /** By window, in the order of the timeframe. */
  outcomes: OutcomeColumns[]
  /** By window; null where no prices are known. */
  base: TickerBase[] | null
}

export interface OutcomeColumns {
  /** 1 where the window is known to have ended. */
  ended: Uint8Array
  /** Index into PERFORMANCES; 255 where there is none. */
  performances: Uint8Array
  /** NaN where not known. */
  returns: Float64Array
}

/**
 * Asks for one ticker's events and its base. Throws TierRestricted where the tier shows no aftermath.
 * @param value what an event is grouped by
 */
export async function tickerSource(
  bands: Bands,
  query: HistoryQuery,
  value: (event: HistoricEvent) => string | null,
): Promise<TickerSource> {
  // First, because it refuses a tier that may not see what followed.
  const baseline = await bands.baseline(query)
  const { ticker, field, timeframe, band, after, before, context } = query
  const bounds = { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
  // All events of the field, because only their unbroken chain of durations tells how many bars lie between two of them.
  const all = await bands.history({ ticker, field, timeframe, ...bounds })
  const places = placesOf(all)
  const events =
    context === undefined
      ? all.events.filter(event => band === undefined || event.band === band)
      : (await bands.history(query)).events
  if (events.some(event => event.aftermath === null)) throw new TierRestricted('aftermath', 'free', 'plus')
  const windows = windowNames(timeframe)
  return {
    ticker,
    query_range: all.query_range,
    after: all.after,
    as_of: all.as_of,
    values: events.map(value),
    bars: Int32Array.from(events, event => places.get(event.date)!),
    outcomes: windows.map(window => outcomesOf(events, window)),
    base: baseline === null ? null : windows.map(window => tickerBase(baseline.windows[window]!)),
  }
}

/** Date of each event → its place in bars, counted from the first event. */
function placesOf({ events, timeframe }: EventHistory): Map<string, number> {
  const { duration } = TIMEFRAMES[timeframe]
  const places = new Map<string, number>()
  let bar = 0
  for (const event of events) {
    places.set(event.date, bar)
    bar += event[duration] ?? 0
  }
  return places
}

function outcomesOf(events: readonly HistoricEvent[], window: string): OutcomeColumns {
  const performances = new Uint8Array(events.length)
  const ended = new Uint8Array(events.length)
  const returns = new Float64Array(events.length)
  events.forEach((event, row) => {
    const outcome = event.aftermath![window] ?? null
    performances[row] = outcome === null ? UNDEFINED : PERFORMANCES.indexOf(outcome.performance)
    ended[row] = outcome !== null || event.missing?.[window] === 'no_history' ? 1 : 0
    returns[row] = event.returns?.[window] ?? Number.NaN
  })
  return { performances, ended, returns }
}
