import { type AnyField, type FieldSet, isRecorded } from '../../core/fields/index.js'
import { INDICATORS } from '../../core/fields/panel.js'
import { isRuled, TRUE, TRUTHS } from '../../core/language/as-field.js'
import { type Day, formatDay } from '../../core/model/day.js'
import {
  type Column,
  EVENT_COLUMNS,
  type ExportedBar,
  type ExportedEvent,
  type ExportedSeriesBar,
  WINDOW_PREFIX,
} from '../../core/model/event.js'
import { BAR_FIGURES, bandsByBar, barOf, type Series } from '../../core/model/series.js'
import { TIMEFRAME_NAMES, TIMEFRAMES, type Tier, type Timeframe, windowNames } from '../../core/model/terms.js'
import { checkDay, listOf, objectOf, withoutNulls } from '../../core/params/arguments.js'
import { definedParams, readParams } from '../../core/params/row.js'
import {
  bandsValue,
  conditionValue,
  fieldValue,
  textOf,
  tickerValue,
  timeframeValue,
} from '../../core/params/values.js'
import { readLag, WHEN } from '../../core/params/when.js'
import { firstItem } from '../../core/source.js'
import { entitleExport } from '../../core/tiers.js'
import { runInOrder } from '../threads.js'
import { Bytes } from './bytes.js'
import type { Cache } from './cache.js'
import { EventTexts, TICKER_TEXT_BYTES } from './event-texts.js'
import { Sectors } from './sectors.js'
import { historicEvents, matchingEvents, NO_EXTRA_VIEWS, type View } from './view.js'

/** The filter of an export; a missing or empty list means all. */
export interface ExportFilter {
  tickers?: readonly string[]
  fields?: readonly string[]
  timeframes?: readonly Timeframe[]
  /** Only events that enter one of these bands; of series, only bars on which a field is in one. */
  bands?: readonly string[]
  /** The events of a condition; with fields, and for series, only rows on bars where it is true. */
  when?: string
  /** How many bars earlier the condition reads the tickers that it names. */
  context_lag?: number
  /** Both days are excluded. */
  after?: Day
  before?: Day
}

/**
 * Every event of the store, by ticker, timeframe (daily, weekly), field (in the order of the specification) and date.
 * It ignores the tier's range: an export is for the owner of the store, and a comparison needs the whole history. The
 * as-of day applies. Throws TierRestricted below Pro, InvalidParameter for an unknown field or timeframe, NotFound for
 * an unknown ticker, Busy during an import of facts; all before the first row.
 */
export async function* exportEvents(cache: Cache, filter: ExportFilter = {}): AsyncGenerator<ExportedEvent> {
  for await (const { field, view, indexes } of filteredEvents(cache, filter)) {
    const { ticker, timeframe } = view
    for (const { returns, percentiles, missing: _missing, ...event } of historicEvents(view, indexes))
      yield { ticker, field, timeframe, ...event, returns: returns!, percentiles: percentiles! }
  }
}

/** Rows as text that can be written as it is. */
export interface TextBlock {
  text: Uint8Array<ArrayBuffer>
  rows: number
}

/** The data that a thread reads, and the separator of its rows. */
export interface ExportData {
  path: string
  tier: Tier | null
  today: Day
  filter: ExportFilter
  /** The form of the rows: JSON with this text between two rows, or row groups of a table. */
  rows: { between: string } | { table: ExportTable; byYear: boolean }
}

/** The events as JSON, in blocks of many rows, never empty; large exports use threads. */
export async function* exportEventBlocks(
  cache: Cache,
  filter: ExportFilter,
  separator: string,
): AsyncGenerator<TextBlock> {
  const { tickers, today, canUseThreads } = await readTableFilter(cache, 'events', filter)
  const rows = { between: separator }
  const blocks = runInOrder(
    {
      job: 'export',
      data: (): ExportData => ({ path: cache.store.location, tier: cache.tier, today, filter, rows }),
      tasks: tickers,
      // 0: only this thread works.
      ms: canUseThreads ? tickers.length * MS_PER_TICKER : 0,
      here: ticker => eventBlock(cache, { ...filter, tickers: [ticker] }, separator),
    },
    { threads: cache.threads },
  )
  for await (const block of blocks) if (block.rows > 0) yield block
}

/** No tier limits the range of an export. */
const FROM_FIRST_DAY = Number.NEGATIVE_INFINITY

/** About how long a ticker with five years of bars takes, in milliseconds, with all fields. */
const MS_PER_TICKER = 10

/** All events of a filter at once, as JSON. */
export async function eventBlock(cache: Cache, filter: ExportFilter, separator: string): Promise<TextBlock> {
  const bytes = new Bytes(TICKER_TEXT_BYTES)
  const texts = new EventTexts(separator)
  let rows = 0
  for await (const { field, view, indexes } of filteredEvents(cache, filter))
    rows += texts.add(bytes, field, view, indexes)
  return { text: bytes.writtenBytes(), rows }
}

/**
 * The events that pass a filter, as indexes into the view of each field, in the order of an export. Each series is read
 * once. The condition of the filter is read as a field, `when`.
 */
export async function* filteredEvents(
  cache: Cache,
  filter: ExportFilter,
): AsyncGenerator<{ field: string; view: View; indexes: Int32Array }> {
  const { fields, bands, when, lag } = await readExportFilter(cache, filter, 'events')
  const { after, before } = filter
  const names = fields.map(({ name }) => name)
  const seriesQuery = { fields: when === null ? names : [...names, when], outcomes: true, lag }
  const eventFilter = withoutNulls({ bands: bands.length > 0 ? bands : undefined, after, before })
  for (const ticker of await chosenTickers(cache, filter)) {
    for (const timeframe of chosenTimeframes(filter)) {
      const viewOfField = await firstItem(cache.views({ ...seriesQuery, tickers: [ticker], timeframe }))
      const extraViews = when === null ? NO_EXTRA_VIEWS : { ...NO_EXTRA_VIEWS, when: await viewOfField(when) }
      for (const field of names) {
        const view = await viewOfField(field)
        const query = { ticker, field, timeframe, ...eventFilter }
        yield { field, view, indexes: matchingEvents(view, query, FROM_FIRST_DAY, extraViews) }
      }
    }
  }
}

/**
 * The fields, bands and condition (`when`, null for none) of an export's filter. Throws TierRestricted,
 * InvalidParameter and Busy, all before the first row.
 */
async function readExportFilter(cache: Cache, filter: ExportFilter, what: 'events' | 'series') {
  const { tier, fieldSet } = cache
  objectOf('filter', filter)
  const params = readParams(WHEN, withoutNulls({ when: filter.when, context_lag: filter.context_lag }), fieldSet)
  // Throws for a lag without a condition that names a ticker.
  readLag({ field: '', ...params }, fieldSet)
  const { when: condition = null, context_lag: lag = 0 } = params
  // A condition without fields is itself exported as a field.
  const exportsCondition = what === 'events' && condition !== null && checkedList(filter, 'fields').length === 0
  entitleExport(tier)
  const fields = exportsCondition ? [conditionValue('when', condition, fieldSet)] : chosenFields(filter, fieldSet)
  const when = exportsCondition ? null : condition
  const namedBands = checkedList(filter, 'bands')
  const bands = bandsValue('band', exportsCondition && namedBands.length === 0 ? [TRUTHS[TRUE]!] : namedBands, fields)
  await cache.refuseWaitingFields(when === null ? fields : [...fields, cache.field(when)])
  return { fields, bands, when, lag }
}

/**
 * The tickers of a table's filter, today, and `canUseThreads`: false with a condition or a field of the user's own.
 * Throws like readExportFilter.
 */
export async function readTableFilter(cache: Cache, table: ExportTable, filter: ExportFilter) {
  if (table === 'bars') entitleExport(cache.tier)
  const { fields, when } = table === 'bars' ? NO_FIELDS : await readExportFilter(cache, filter, table)
  // A thread knows only the built-in fields.
  const canUseThreads = when === null && fields.every(isRecorded)
  return { tickers: await chosenTickers(cache, filter), today: await cache.today(), canUseThreads }
}

const NO_FIELDS = { fields: [], when: null }

/** A test for days between two bounds, both excluded. */
function dayFilter({ after = Number.NEGATIVE_INFINITY, before = Number.POSITIVE_INFINITY }: ExportFilter) {
  return (day: Day): boolean => after < day && day < before
}

/** The stored daily bars, by ticker and date. Throws like `exportEvents`. */
export async function* exportBars(
  cache: Cache,
  filter: Pick<ExportFilter, 'tickers' | 'after' | 'before'> = {},
): AsyncGenerator<ExportedBar> {
  for await (const { ticker, series, rows } of filteredBars(cache, filter))
    for (const t of rows) yield { ticker, date: formatDay(series.days[t]!), ...barOf(series, t) }
}

/** The bars that pass a filter, by number. */
export async function* filteredBars(
  cache: Cache,
  filter: Pick<ExportFilter, 'tickers' | 'after' | 'before'>,
): AsyncGenerator<{ ticker: string; series: Series; rows: Int32Array }> {
  entitleExport(cache.tier)
  // First, because it refuses an invalid filter.
  const tickers = await chosenTickers(cache, filter)
  const isWantedDay = dayFilter(filter)
  for (const ticker of tickers) {
    const series = await cache.series(ticker, 'daily')
    yield { ticker, series, rows: rowsWhere(series.days.length, t => isWantedDay(series.days[t]!)) }
  }
}

/** The numbers of the bars that pass a test. @param bars the number of all bars */
function rowsWhere(bars: number, isWanted: (t: number) => boolean): Int32Array {
  const rows = new Int32Array(bars)
  let length = 0
  for (let t = 0; t < bars; t++) if (isWanted(t)) rows[length++] = t
  return rows.subarray(0, length)
}

const LISTS = ['tickers', 'fields', 'timeframes', 'bands'] as const

/**
 * The texts of one list of a filter; an empty list selects all. Throws InvalidParameter for an unknown key of the
 * filter, and for a value of another type in this list or in the filter's days.
 */
function checkedList(filter: ExportFilter, name: (typeof LISTS)[number]): string[] {
  const allowedNames: (keyof ExportFilter)[] = [...LISTS, 'when', 'context_lag', 'after', 'before']
  const lists = definedParams(filter, allowedNames)
  for (const bound of ['after', 'before'] as const) if (bound in lists) checkDay(bound, lists[bound])
  return listOf(name, lists[name] ?? []).map(value => textOf(name, value))
}

/** The tickers of a filter, ascending, each once. Throws NotFound with the nearest tickers. */
async function chosenTickers(cache: Cache, filter: ExportFilter): Promise<string[]> {
  const tickers = checkedList(filter, 'tickers')
  if (tickers.length === 0) return cache.store.names('bars')
  const chosen = [...new Set(tickers.map(text => tickerValue('ticker', text)))].sort()
  for (const ticker of chosen) await cache.entry(ticker)
  return chosen
}

/** The fields of a filter, in the order of the specification. Throws InvalidParameter. */
function chosenFields(filter: ExportFilter, known: FieldSet): readonly AnyField[] {
  const fields = checkedList(filter, 'fields')
  if (fields.length === 0) return known.all
  const wanted = new Set(fields.map(name => fieldValue('field', name, known)))
  return known.all.filter(field => wanted.has(field))
}

/** The timeframes of a filter, daily first. Throws InvalidParameter. */
function chosenTimeframes(filter: ExportFilter): readonly Timeframe[] {
  const timeframes = checkedList(filter, 'timeframes')
  if (timeframes.length === 0) return TIMEFRAME_NAMES
  const wanted = new Set(timeframes.map(name => timeframeValue('timeframe', name)))
  return TIMEFRAME_NAMES.filter(name => wanted.has(name))
}

/**
 * One row per bar: prices, every indicator, and each field's band on that very bar, by ticker, timeframe and date. A
 * bar without a band of its own has null, not the earlier band that is still in force. `fields` selects the bands.
 * Throws like `exportEvents`.
 */
export async function* exportSeries(cache: Cache, filter: ExportFilter = {}): AsyncGenerator<ExportedSeriesBar> {
  for await (const { ticker, series, numbers, bands, rows } of filteredSeries(cache, filter)) {
    for (const t of rows) {
      const date = formatDay(series.days[t]!)
      const row: Record<string, string | number | null> = { ticker, timeframe: series.timeframe, date }
      for (const [name, values] of numbers) row[name] = Number.isNaN(values[t]!) ? null : values[t]!
      for (const { field, codes } of bands) row[field.name] = field.bands[codes[t]!] ?? null
      yield row
    }
  }
}

/** A series as columns over all its bars. */
export interface ExportedColumns {
  ticker: string
  series: Series
  /** Prices and indicators. */
  numbers: (readonly [name: string, values: Float64Array])[]
  bands: BandsByBar[]
  /** The bars that a filter lets through. */
  rows: Int32Array
}

/** The bands of a field on all bars; for a derived field, from its events. */
interface BandsByBar {
  field: AnyField
  codes: Uint8Array
}

/**
 * The series of an export, each with the bars that a filter lets through. On those, the condition `when` is true; it
 * looks at named tickers `lag` bars earlier. Ruled fields (the user's own) are read, others computed from the bars.
 */
export async function* filteredSeries(cache: Cache, filter: ExportFilter): AsyncGenerator<ExportedColumns> {
  const { fields, bands: wantedBands, when, lag } = await readExportFilter(cache, filter, 'series')
  const sectors = new Sectors(cache.store)
  const computedFields = fields.flatMap(field => (isRuled(field) ? [] : [field]))
  const isWantedDay = dayFilter(filter)
  for (const ticker of await chosenTickers(cache, filter)) {
    for (const timeframe of chosenTimeframes(filter)) {
      const { days } = await cache.series(ticker, timeframe)
      const panel = await cache.panel(ticker, timeframe, computedFields, sectors)
      // An import may have begun since the first row.
      await cache.refuseWaitingFields(computedFields)
      const codesOf = async (name: string, lag?: number): Promise<Uint8Array> => {
        const { record, bars } = await cache.view(ticker, timeframe, name, lag)
        return bandsByBar(record!, bars)
      }
      const bands: BandsByBar[] = []
      for (const field of fields)
        bands.push({ field, codes: isRuled(field) ? await codesOf(field.name) : field.classify(panel) })
      const truths = when === null ? null : await codesOf(when, lag)
      const { series } = panel
      const numbers = [
        ...BAR_FIGURES.map(name => [name, series[name]] as const),
        ...INDICATORS.map(([name, column]) => [name, column(panel)] as const),
      ]
      const hasWantedBand = (t: number): boolean =>
        wantedBands.length === 0 || bands.some(({ field, codes }) => wantedBands.includes(field.bands[codes[t]!] ?? ''))
      const isWanted = (t: number): boolean =>
        isWantedDay(series.days[t]!) && hasWantedBand(t) && (truths === null || truths[t] === TRUE)
      yield { ticker, series, numbers, bands, rows: rowsWhere(days.length, isWanted) }
    }
  }
}

/** Flat columns of exported events, with one column for each figure and window, such as `returns_5d`. */
export function eventColumns(filter: ExportFilter = {}): Column<ExportedEvent>[] {
  const timeframes = chosenTimeframes(filter)
  const windows = timeframes.flatMap(windowNames)
  const durations = timeframes.map(name => TIMEFRAMES[name].duration)
  type PlainName = Exclude<keyof ExportedEvent, 'aftermath' | 'returns' | 'percentiles'>
  const plainValue = (event: ExportedEvent, name: PlainName) => event[name]
  const performance = (event: ExportedEvent, name: string) => event.aftermath?.[name]?.performance
  const returnOver = (event: ExportedEvent, name: string) => event.returns[name]
  const percentile = (event: ExportedEvent, name: string) => event.percentiles[name]
  return [
    ...columnsOfKind('text', EVENT_COLUMNS.series, plainValue),
    ...columnsOfKind('date', ['date'], plainValue),
    ...columnsOfKind('text', EVENT_COLUMNS.bands, plainValue),
    ...columnsOfKind('integer', EVENT_COLUMNS.counts, plainValue),
    ...columnsOfKind('text', EVENT_COLUMNS.texts, plainValue),
    ...columnsOfKind('integer', durations, plainValue),
    ...columnsOfKind('text', windows, performance, WINDOW_PREFIX.performance),
    ...columnsOfKind('number', windows, returnOver, WINDOW_PREFIX.returns),
    ...columnsOfKind('number', windows, percentile, WINDOW_PREFIX.percentiles),
  ]
}

/** Columns of exported series, in the order of their rows. @param fields the available fields */
export function seriesColumns(filter: ExportFilter, fields: FieldSet): Column<ExportedSeriesBar>[] {
  const figureOf = (row: ExportedSeriesBar, name: string) => row[name]
  const bands = chosenFields(filter, fields).map(field => field.name)
  return [
    ...columnsOfKind('text', ['ticker', 'timeframe'], figureOf),
    ...columnsOfKind('date', ['date'], figureOf),
    ...columnsOfKind('number', [...BAR_FIGURES, ...INDICATORS.map(([name]) => name)], figureOf),
    ...columnsOfKind('text', bands, figureOf),
  ]
}

export const BAR_COLUMNS: readonly Column<ExportedBar>[] = [
  ...columnsOfKind('text', ['ticker'], ({ ticker }: ExportedBar) => ticker),
  ...columnsOfKind('date', ['date'], ({ date }: ExportedBar) => date),
  ...columnsOfKind('number', BAR_FIGURES, (bar: ExportedBar, name) => bar[name]),
]

export const EXPORT_TABLES = ['events', 'series', 'bars'] as const
export type ExportTable = (typeof EXPORT_TABLES)[number]

/** The rows of a table, read on demand, and its columns. */
export interface ExportedTable {
  rows: AsyncIterable<object>
  columns: readonly Column<object>[]
}

/** An export as a table: its columns, and its rows, which are read on demand. */
export function exportTable(cache: Cache, table: ExportTable, filter: ExportFilter): ExportedTable {
  const columns = tableColumns(table, filter, cache.fieldSet)
  if (table === 'events') return { rows: exportEvents(cache, filter), columns }
  return { rows: table === 'series' ? exportSeries(cache, filter) : exportBars(cache, filter), columns }
}

/** The columns of a table, which read only rows of this table. @param fields the available fields */
export function tableColumns(table: ExportTable, filter: ExportFilter, fields: FieldSet): readonly Column<object>[] {
  if (table === 'events') return eventColumns(filter) as Column<object>[]
  return (table === 'series' ? seriesColumns(filter, fields) : BAR_COLUMNS) as readonly Column<object>[]
}

/** Columns of one kind; a missing value is null. */
function columnsOfKind<Row, const Name extends string>(
  kind: Column<Row>['kind'],
  names: readonly Name[],
  figureOf: (row: Row, name: Name) => string | number | null | undefined,
  prefix = '',
): Column<Row>[] {
  return names.map(name => ({ name: prefix + name, kind, of: row => figureOf(row, name) ?? null }))
}
