import { type Day, formatDay } from '../../core/model/day.js'
import { EVENT_COLUMNS, WINDOW_PREFIX } from '../../core/model/event.js'
import { NOT_ENDED } from '../../core/model/history.js'
import { BAR_FIGURES, numbersBetween, PERFORMANCES, STABILITIES } from '../../core/model/series.js'
import { TIMEFRAMES, windowNames } from '../../core/model/terms.js'
import { runInOrder } from '../threads.js'
import type { Cache } from './cache.js'
import {
  type ExportData,
  type ExportedColumns,
  type ExportFilter,
  type ExportTable,
  filteredBars,
  filteredEvents,
  filteredSeries,
  readTableFilter,
  tableColumns,
} from './export.js'
import { type EncodedGroup, GROUP_ROWS, NULL_INTEGER, type ParquetColumn, RowGroup } from './parquet.js'
import { eventColumnsOf, outcomesAfterBars, type View } from './view.js'

/** Row groups of some tickers. `year` is null where rows are not divided. */
export interface TableGroup {
  year: string | null
  group: EncodedGroup
}

/** The rows of an export that become row groups. */
export interface GroupedTable {
  table: ExportTable
  filter: ExportFilter
  byYear: boolean
}

/** Splits tickers into lists that one task reads, so that row groups do not depend on the number of threads. */
export function splitIntoTasks(tickers: readonly string[], size = 64): string[][] {
  return Array.from({ length: Math.ceil(tickers.length / size) }, (_, i) => tickers.slice(i * size, (i + 1) * size))
}

/** The row groups of each list of tickers, in order; large exports use threads. Throws as `readTableFilter` does. */
export async function* exportGroups(
  cache: Cache,
  { table, filter, byYear }: GroupedTable,
  tasks: readonly (readonly string[])[],
): AsyncGenerator<TableGroup[]> {
  const { canUseThreads, today } = await readTableFilter(cache, table, filter)
  const tickers = tasks.reduce((sum, task) => sum + task.length, 0)
  const rows = { table, byYear }
  yield* runInOrder(
    {
      job: 'export',
      data: (): ExportData => ({ path: cache.store.location, tier: cache.tier, today, filter, rows }),
      tasks,
      // 0: only this thread works.
      ms: canUseThreads ? tickers * MS_PER_TICKER : 0,
      here: task => tableGroups(cache, { table, filter, byYear }, task),
    },
    { threads: cache.threads },
  )
}

/** About how long a ticker with five years of bars takes, in milliseconds, with all fields. */
const MS_PER_TICKER = 5

/** The rows of some tickers as Parquet row groups: of one year each if `byYear`; none if no row passes the filter. */
export async function tableGroups(
  cache: Cache,
  { table, filter, byYear }: GroupedTable,
  tickers: readonly string[],
): Promise<TableGroup[]> {
  const groups = new GroupBuilder(tableColumns(table, filter, cache.fieldSet), byYear)
  const tickerFilter = { ...filter, tickers }
  if (table === 'events') {
    const figures = new OutcomeCache()
    for await (const { field, view, indexes } of filteredEvents(cache, tickerFilter)) {
      const columns = eventColumnsOf(view, indexes)
      for (const { group, from, to } of groups.assignRows(columns.days))
        addEvents(group, { field, view, columns, figures: figures.outcomesOf(view) }, indexes, [from, to])
    }
  } else if (table === 'series') {
    for await (const { ticker, ...columns } of filteredSeries(cache, tickerFilter))
      addBars(groups, { ticker, timeframe: columns.series.timeframe }, columns)
  } else {
    for await (const { ticker, series, rows } of filteredBars(cache, tickerFilter)) {
      const numbers = BAR_FIGURES.map(name => [name, series[name]] as const)
      addBars(groups, { ticker }, { series, numbers, bands: [], rows })
    }
  }
  return groups.finish()
}

/** Collects rows in row groups, of one year each if `byYear`; a full group is encoded and another one begun. */
class GroupBuilder {
  readonly #columns: readonly ParquetColumn[]
  readonly #byYear: boolean
  readonly #openGroups = new Map<string | null, RowGroup>()
  readonly #finished: TableGroup[] = []

  constructor(columns: readonly ParquetColumn[], byYear: boolean) {
    this.#columns = columns
    this.#byYear = byYear
  }

  /**
   * Divides rows among groups: each group takes the rows from `from` up to `to`.
   * @param days the days of the rows, ascending
   */
  *assignRows(days: Int32Array): Generator<{ group: RowGroup; from: number; to: number }> {
    let from = 0
    while (from < days.length) {
      const year = this.#byYear ? yearText(days[from]!) : null
      let to = year === null ? days.length : from + 1
      while (to < days.length && yearText(days[to]!) === year) to++
      yield { group: this.#groupWithRoom(year), from, to }
      from = to
    }
  }

  /** Encodes the open groups, and returns all of them. */
  finish(): TableGroup[] {
    for (const year of this.#openGroups.keys()) this.#finishGroup(year)
    return this.#finished
  }

  /** The open group of a year, or a new one if it is full. @param year null: rows are not divided by year */
  #groupWithRoom(year: string | null): RowGroup {
    if ((this.#openGroups.get(year)?.rows ?? 0) >= GROUP_ROWS) this.#finishGroup(year)
    let group = this.#openGroups.get(year)
    if (group === undefined) {
      group = new RowGroup(this.#columns)
      this.#openGroups.set(year, group)
    }
    return group
  }

  #finishGroup(year: string | null): void {
    const group = this.#openGroups.get(year)!
    if (group.rows > 0) this.#finished.push({ year, group: group.encode() })
    this.#openGroups.delete(year)
  }
}

const years = new Map<Day, string>()

/** The year of a day, such as `2017`; each day is formatted once. */
function yearText(day: Day): string {
  let year = years.get(day)
  if (year === undefined) {
    year = formatDay(day).slice(0, 4)
    years.set(day, year)
  }
  return year
}

type EventColumns = ReturnType<typeof eventColumnsOf>

/** The returns after each bar of a series, computed once for all its fields. */
class OutcomeCache {
  #days: Int32Array | null = null
  #windows: ReturnType<typeof outcomesAfterBars> = []

  /** The outcomes after every bar of the view's series. */
  outcomesOf(view: View): ReturnType<typeof outcomesAfterBars> {
    if (view.days === this.#days) return this.#windows
    this.#days = view.days
    this.#windows = outcomesAfterBars(view, numbersBetween(0, view.bars))
    return this.#windows
  }
}

/** Adds the bars `rows` of a series to row groups. @param texts the columns that have one text for all bars */
function addBars(
  groups: GroupBuilder,
  texts: Readonly<Record<string, string>>,
  { series, numbers, bands, rows }: Omit<ExportedColumns, 'ticker'>,
): void {
  const days = rows.map(t => series.days[t]!)
  for (const { group, from, to } of groups.assignRows(days)) {
    const rowsOfGroup = rows.subarray(from, to)
    const start = group.addNulls(to - from)
    fillSame(group, start, texts)
    group.column('date').values.set(days.subarray(from, to), start)
    for (const [name, values] of numbers) copyRows(group.column(name).values, start, values, rowsOfGroup)
    for (const { field, codes } of bands)
      fillCoded(group.column(field.name), start, { words: field.bands, codes, rows: rowsOfGroup })
  }
}

/**
 * Adds the events `from` up to `to` of a list to a group.
 * @param events the list as columns; `figures` has the returns after every bar of the view
 * @param indexes the number of each listed event in the view
 */
function addEvents(
  group: RowGroup,
  events: { field: string; view: View; columns: EventColumns; figures: ReturnType<typeof outcomesAfterBars> },
  indexes: Int32Array,
  [from, to]: [from: number, to: number],
): void {
  const { field, view, columns, figures } = events
  const { ticker, timeframe, bands } = view
  const { duration: durationName, flipsLookback, unit } = TIMEFRAMES[timeframe]
  const start = group.addNulls(to - from)
  const rows = Int32Array.from({ length: to - from }, (_, i) => from + i)
  fillSame(group, start, { ticker, field, timeframe, flips_lookback: `${flipsLookback}${unit}` })
  group.column('date').values.set(columns.days.subarray(from, to), start)
  const [entered, left, stability] = EVENT_COLUMNS.bands.map(name => group.column(name))
  fillCoded(entered!, start, { words: bands, codes: columns.entered, rows })
  fillCoded(left!, start, { words: bands, codes: columns.left, rows })
  fillCoded(stability!, start, { words: STABILITIES, codes: columns.stability, rows })
  copyRows(group.column('flips_recent_at_entry').values, start, columns.flips, rows)
  const durations = group.column(durationName).values
  for (const [i, row] of rows.entries()) {
    const lasted = columns.lasted[row]!
    durations[start + i] = lasted === NOT_ENDED ? NULL_INTEGER : lasted
  }
  // `columns` has a row for each listed event, `figures` one for each bar.
  const bars = indexes.subarray(from, to).map(i => view.record!.bars[i]!)
  for (const [w, name] of windowNames(timeframe).entries()) {
    const { performances, unrounded } = figures[w]!
    const outcome = group.column(WINDOW_PREFIX.performance + name)
    fillCoded(outcome, start, { words: PERFORMANCES, codes: performances, rows: bars })
    copyRows(group.column(WINDOW_PREFIX.returns + name).values, start, unrounded.returns, bars)
    copyRows(group.column(WINDOW_PREFIX.percentiles + name).values, start, unrounded.percentiles, bars)
  }
}

type ColumnBuffer = ReturnType<RowGroup['column']>

/** Fills columns from row `start` on, each with one text. */
function fillSame(group: RowGroup, start: number, texts: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(texts)) {
    const column = group.column(name)
    column.values.fill(column.code(text), start, group.rows)
  }
}

/** Fills a column with words by their codes. A code that is not among `words` becomes null. */
function fillCoded(
  column: ColumnBuffer,
  start: number,
  { words, codes, rows }: { words: readonly string[]; codes: Uint8Array; rows: Int32Array },
): void {
  const codesInColumn = words.map(word => column.code(word))
  const { values, nullValue } = column
  for (let i = 0; i < rows.length; i++) values[start + i] = codesInColumn[codes[rows[i]!]!] ?? nullValue
}

/** Copies the values of some rows into a column, from its row `start` on. */
function copyRows(
  into: Float64Array | Int32Array,
  start: number,
  values: Float64Array | Uint8Array,
  rows: Int32Array,
): void {
  for (let i = 0; i < rows.length; i++) into[start + i] = values[rows[i]!]!
}
