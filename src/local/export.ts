import type { Field } from '../fields/field.js'
import { FIELDS } from '../fields/index.js'
import type { Panel } from '../fields/panel.js'
import { percentile, type Ranks } from '../indicators/rank.js'
import { formatDay } from '../model/day.js'
import type { Column, ExportedBar, ExportedEvent, ExportedSeriesBar } from '../model/event.js'
import { UNDEFINED } from '../model/series.js'
import { TIMEFRAME_NAMES, TIMEFRAMES, type Timeframe, windowNames } from '../model/terms.js'
import { fieldValue, tickerValue, timeframeValue } from '../params/values.js'
import { entitleExport } from '../tiers.js'
import type { Cache } from './cache.js'
import { Sectors } from './sectors.js'
import { historicEvents } from './view.js'

/** What to export; a list that is not given or empty means all. */
export interface ExportFilter {
  tickers?: readonly string[]
  fields?: readonly string[]
  timeframes?: readonly Timeframe[]
}

/**
 * Every event of the store, by ticker, timeframe (daily, weekly), field (in the order of the specification) and date.
 * The whole history, whatever the tier's range: an export is for the owner of the store, and a comparison needs all of
 * it. The as-of day holds. Throws TierRestricted below Pro, InvalidParameter for an unknown field or timeframe,
 * NotFound for an unknown ticker, Busy while
 * an import of facts is not finished; all before the first row.
 */
export async function* exportEvents(cache: Cache, filter: ExportFilter = {}): AsyncGenerator<ExportedEvent> {
  entitleExport(cache.tier)
  const fields = chosenFields(filter)
  await cache.checkFinished(fields)
  for (const ticker of await chosenTickers(cache, filter)) {
    for (const timeframe of chosenTimeframes(filter)) {
      for (const field of fields) {
        const view = await cache.view(ticker, timeframe, field.name)
        for (const { returns, percentiles, missing: _missing, ...event } of historicEvents(view))
          yield { ticker, field: field.name, timeframe, ...event, returns: returns!, percentiles: percentiles! }
      }
    }
  }
}

/** The daily bars as they are kept, by ticker and date. Throws as `exportEvents` does. */
export async function* exportBars(
  cache: Cache,
  filter: Pick<ExportFilter, 'tickers'> = {},
): AsyncGenerator<ExportedBar> {
  entitleExport(cache.tier)
  for (const ticker of await chosenTickers(cache, filter)) {
    const { days, open, high, low, close, volume } = await cache.series(ticker, 'daily')
    for (let t = 0; t < days.length; t++) {
      yield {
        ticker,
        date: formatDay(days[t]!),
        open: open[t]!,
        high: high[t]!,
        low: low[t]!,
        close: close[t]!,
        volume: Number.isNaN(volume[t]!) ? null : volume[t]!,
      }
    }
  }
}

/** Ascending, each once. Throws NotFound with the nearest tickers. */
async function chosenTickers(cache: Cache, { tickers = [] }: ExportFilter): Promise<string[]> {
  if (tickers.length === 0) return (await cache.store.tickers()).map(entry => entry.ticker)
  const asked = [...new Set(tickers.map(text => tickerValue('ticker', text)))].sort()
  for (const ticker of asked) await cache.entry(ticker)
  return asked
}

/** In the order of the specification. Throws InvalidParameter. */
function chosenFields({ fields = [] }: ExportFilter): readonly Field[] {
  if (fields.length === 0) return FIELDS
  const asked = new Set(fields.map(name => fieldValue('field', name)))
  return FIELDS.filter(field => asked.has(field))
}

/** Daily before weekly. Throws InvalidParameter. */
function chosenTimeframes({ timeframes = [] }: ExportFilter): readonly Timeframe[] {
  if (timeframes.length === 0) return TIMEFRAME_NAMES
  const asked = new Set(timeframes.map(name => timeframeValue('timeframe', name)))
  return TIMEFRAME_NAMES.filter(name => asked.has(name))
}

/**
 * A row a bar: prices, every indicator, and the band of every field on that very bar (null where undefined; not the
 * band in force), by ticker, timeframe and date. `fields` chooses among the bands. Throws as `exportEvents` does.
 */
export async function* exportSeries(cache: Cache, filter: ExportFilter = {}): AsyncGenerator<ExportedSeriesBar> {
  entitleExport(cache.tier)
  const fields = chosenFields(filter)
  await cache.checkFinished(fields)
  const sectors = new Sectors(cache.store)
  for (const ticker of await chosenTickers(cache, filter)) {
    for (const timeframe of chosenTimeframes(filter)) {
      const { days } = await cache.series(ticker, timeframe)
      yield* rowsOf(ticker, await cache.panel(ticker, timeframe, fields, sectors), days.length, fields)
    }
  }
}

/** The indicators' names and where each comes from, in the order in which they are written. */
const INDICATORS: readonly (readonly [name: string, column: (panel: Panel) => Float64Array])[] = [
  ['rsi', panel => panel.rsi],
  ['atr', panel => panel.atr],
  ['natr', panel => panel.natr],
  ['natr_pct', panel => percentiles(panel.natrRanks)],
  ['macd', panel => panel.macd.macd],
  ['signal', panel => panel.macd.signal],
  ['sma20', panel => panel.smaShort],
  ['sma50', panel => panel.smaMiddle],
  ['sma200', panel => panel.smaLong],
  ['slope20', panel => panel.slope],
  ['volume_ratio', panel => panel.volumeRatio],
  ['adl_slope', panel => panel.accumulation],
  ['adl_pct', panel => percentiles(panel.accumulationRanks)],
  ['support_level', panel => panel.support.level],
  ['resistance_level', panel => panel.resistance.level],
]

const PRICES = ['open', 'high', 'low', 'close', 'volume'] as const

function* rowsOf(ticker: string, panel: Panel, bars: number, fields: readonly Field[]): Generator<ExportedSeriesBar> {
  const { series } = panel
  const numbers = [
    ...PRICES.map(name => [name, series[name]] as const),
    ...INDICATORS.map(([name, column]) => [name, column(panel)] as const),
  ]
  const bands = fields.map(field => ({ field, codes: field.classify(panel) }))
  for (let t = 0; t < bars; t++) {
    const row: Record<string, string | number | null> = {
      ticker,
      timeframe: series.timeframe,
      date: formatDay(series.days[t]!),
    }
    for (const [name, values] of numbers) row[name] = Number.isNaN(values[t]!) ? null : values[t]!
    for (const { field, codes } of bands) {
      const code = codes[t]!
      row[field.name] = code === UNDEFINED ? null : field.bands[code]!
    }
    yield row
  }
}

function percentiles({ rank, size }: Ranks): Float64Array {
  return Float64Array.from(rank, (at, t) => percentile(at, size[t]!))
}

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
