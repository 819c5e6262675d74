import { record } from '../../src/engine/record.js'
import { TECHNICAL_FIELDS } from '../../src/fields/index.js'
import { historicEvent, type View, viewOf } from '../../src/local/view.js'
import { type Day, parseDay } from '../../src/model/day.js'
import type { AssetClass, SeriesRecord } from '../../src/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../src/model/terms.js'
import type { TickerEntry } from '../../src/store/store.js'
import { seriesOf } from '../support/convert.js'
import type { Bar, Event } from '../support/oracle/index.js'

/** All that was recorded of one ticker, ready to be viewed as of any day without a store. */
export interface Recording {
  entry: TickerEntry
  daily: SeriesRecord
  weekly: SeriesRecord
}

/** Field → its events as a view shows them, oldest first. */
export type Shown = Record<string, Event[]>

/** Runs the engine over daily bars, which are at least one. */
export function recording(bars: readonly Bar[], assetClass?: AssetClass): Recording {
  const series = seriesOf(bars)
  const entry: TickerEntry = {
    ticker: 'SIM0001',
    assetClass: assetClass ?? null,
    prices: 'raw',
    bars: bars.length,
    first: series.days[0]!,
    last: series.days.at(-1)!,
    source: 'a test',
    format: 'rows',
    importedAt: '2024-01-01T00:00:00.000Z',
  }
  return { entry, ...record(series, assetClass) }
}

/** One field of a recording as it stood on a day; without one, as its own last bar shows it. */
export function viewIn(recorded: Recording, timeframe: Timeframe, field: string, asOf: Day | null = null): View {
  const { series, outcomes, fields } = recorded[timeframe]
  const { days, known } = series
  const one = {
    entry: recorded.entry,
    calendar: { days, known },
    outcomes,
    field: fields.get(field) ?? null,
    unsettled: [],
  }
  return viewOf(one, timeframe, field, asOf)
}

/** Every technical field's events of a recording as it stood on a date, in the words of the oracle. */
export function shown(recorded: Recording, timeframe: Timeframe, asOf?: string): Shown {
  const day = asOf === undefined ? null : parseDay(asOf)
  const events: Shown = {}
  for (const { name: field } of TECHNICAL_FIELDS) {
    const view = viewIn(recorded, timeframe, field, day)
    events[field] = Array.from({ length: view.events }, (_, i) => inOracleWords(view, i))
  }
  return events
}

function inOracleWords(view: View, i: number): Event {
  const event = historicEvent(view, i)
  const performances = Object.entries(event.aftermath!).map(([window, found]) => [window, found?.performance ?? null])
  return {
    date: event.date,
    band: event.band,
    prev_band: event.prev_band,
    stability_at_entry: event.stability_at_entry!,
    flips_recent_at_entry: event.flips_recent_at_entry!,
    flips_lookback: event.flips_lookback!,
    duration: event[TIMEFRAMES[view.timeframe].duration]!,
    aftermath: Object.fromEntries(performances) as Event['aftermath'],
    returns: event.returns!,
    percentiles: event.percentiles!,
  }
}
