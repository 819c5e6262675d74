import type { Column, ExportedBar, ExportedEvent, ExportedSeriesBar } from '../model/export.js'
import { TIMEFRAMES, windowNames } from '../model/timeframe.js'
import { chosenFields, chosenTimeframes, type ExportFilter } from './export.js'
import { INDICATORS, PRICES } from './export-series.js'

/** Flat columns of exported events: what differs by window has a column a window (`returns_5d`). */
export function eventColumns(filter: ExportFilter = {}): Column<ExportedEvent>[] {
  const timeframes = chosenTimeframes(filter)
  const windows = timeframes.flatMap(windowNames)
  return [
    text('ticker', event => event.ticker),
    text('field', event => event.field),
    text('timeframe', event => event.timeframe),
    { name: 'date', kind: 'date', of: event => event.date },
    text('band', event => event.band),
    text('prev_band', event => event.prev_band),
    text('stability_at_entry', event => event.stability_at_entry ?? null),
    integer('flips_recent_at_entry', event => event.flips_recent_at_entry ?? null),
    text('flips_lookback', event => event.flips_lookback ?? null),
    ...timeframes
      .map(name => TIMEFRAMES[name].duration)
      .map(key => integer<ExportedEvent>(key, event => event[key] ?? null)),
    ...windows.map(name =>
      text<ExportedEvent>(`aftermath_${name}`, event => event.aftermath?.[name]?.performance ?? null),
    ),
    ...windows.map(name => number<ExportedEvent>(`returns_${name}`, event => event.returns[name] ?? null)),
    ...windows.map(name => number<ExportedEvent>(`percentile_${name}`, event => event.percentiles[name] ?? null)),
  ]
}

/** Columns of exported series, in the order of their rows. */
export function seriesColumns(filter: ExportFilter = {}): Column<ExportedSeriesBar>[] {
  const numbers = [...PRICES, ...INDICATORS.map(([name]) => name)]
  const bands = chosenFields(filter).map(field => field.name)
  return [
    text('ticker', row => row.ticker!),
    text('timeframe', row => row.timeframe!),
    { name: 'date', kind: 'date', of: row => row.date! },
    ...numbers.map(name => number<ExportedSeriesBar>(name, row => row[name]!)),
    ...bands.map(name => text<ExportedSeriesBar>(name, row => row[name]!)),
  ]
}

export const BAR_COLUMNS: readonly Column<ExportedBar>[] = [
  text('ticker', bar => bar.ticker),
  { name: 'date', kind: 'date', of: bar => bar.date },
  ...PRICES.map(name => number<ExportedBar>(name, bar => bar[name])),
]

function text<Row>(name: string, of: Column<Row>['of']): Column<Row> {
  return { name, kind: 'text', of }
}

function integer<Row>(name: string, of: Column<Row>['of']): Column<Row> {
  return { name, kind: 'integer', of }
}

function number<Row>(name: string, of: Column<Row>['of']): Column<Row> {
  return { name, kind: 'number', of }
}
