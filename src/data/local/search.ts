import { setImmediate } from 'node:timers/promises'
import { type Day, formatDay } from '../../core/model/day.js'
import type { SearchColumn, SearchFilter, SearchPage, SearchQuery } from '../../core/model/pages.js'
import { type BAR_FIGURES, barOf } from '../../core/model/series.js'
import { PRICES } from '../../core/params/places.js'
import { ALL_COLUMNS, OWN_COLUMNS, USUAL_COLUMNS } from '../../core/params/search.js'
import type { Omitted } from '../../core/source.js'
import { entitle, entitleDate } from '../../core/tiers.js'
import type { Local } from './local.js'
import {
  assetClassOf,
  hasStopped,
  type ListedTicker,
  marketCapTierOf,
  refuseUnknownSector,
  sectorOf,
} from './scan-states.js'
import { lastBand } from './view.js'

/**
 * The tickers that meet all filters on a day, with some columns of each: `GET /v1/search`. A ticker is judged on its
 * last bar that is final on the day. As in a scan, that bar is at most seven days older; `total_scanned` has no other
 * tickers. A band is the one in force. A missing value meets no filter. Class, sector and market capitalisation are the
 * present ones. A column that waits for an import is `omitted`; if the query names it, Busy is thrown. Throws as
 * checkSearch does, and the signal's reason after an abort.
 */
export async function search(
  local: Local,
  query: SearchQuery,
  { signal }: { signal?: AbortSignal } = {},
): Promise<SearchPage> {
  const day = await checkSearch(local, query)
  const datedLocal = query.date === undefined ? local : local.on(query.date)
  const { columns, omitted } = await answerColumns(datedLocal, query)
  const rows = new Rows(datedLocal, query, { columns, day, signal })
  const { found, scanned } = await rows.findMatches()
  const sorted = await rows.sort(found)
  const results: SearchPage['results'] = []
  for (const row of sorted.slice(query.offset, query.offset + query.limit)) {
    const result: SearchPage['results'][number] = {}
    for (const column of columns) result[column.name] = await rows.value(row, column)
    results.push(result)
  }
  return {
    timeframe: query.timeframe,
    date: formatDay(day),
    fields: columns.map(({ name }) => name),
    filter_count: query.filters.length,
    result_count: results.length,
    match_count: found.length,
    total_scanned: scanned,
    has_more: query.offset + results.length < found.length,
    results,
    ...(omitted.length > 0 && { omitted }),
  }
}

/**
 * Checks a search before any ticker is read; returns its day. Throws TierRestricted for a field or a day of a higher
 * tier. Throws InvalidParameter for a day that no tier has, and for a sector without tickers.
 */
export async function checkSearch(local: Local, { filters, sort, columns = [], date }: SearchQuery): Promise<Day> {
  const { store, tier, fieldSet } = local
  const sectors = filters.filter(({ name }) => name === 'sector').flatMap(({ values }) => values)
  if (sectors.length > 0) {
    const securities = await store.securities()
    for (const sector of sectors) refuseUnknownSector(String(sector), securities.values(), 'filters')
  }
  for (const { field } of [...filters, ...(sort === undefined ? [] : [sort]), ...columns])
    if (field !== null) entitle({ field }, tier, fieldSet)
  const today = await local.today()
  if (date !== undefined) entitleDate(date, tier, today)
  return date ?? today
}

/**
 * The columns of the answer: the named ones, or those of the tier that wait for no import.
 * @param query `all` selects every column, otherwise an answer has the usual ones
 */
async function answerColumns(
  local: Local,
  { columns, all }: SearchQuery,
): Promise<{ columns: readonly SearchColumn[]; omitted: Omitted[] }> {
  if (columns !== undefined) return { columns, omitted: [] }
  const { fields, omitted } = await local.granted()
  const possibleColumns = all ? ALL_COLUMNS : USUAL_COLUMNS
  const isReadable = ({ field }: SearchColumn): boolean => field === null || fields.some(({ name }) => name === field)
  const omittedOfWanted = omitted.filter(waiting => possibleColumns.some(({ field }) => field === waiting.field))
  return { columns: possibleColumns.filter(isReadable), omitted: omittedOfWanted }
}

/** A ticker with a recent bar. */
interface Row {
  listed: ListedTicker
  /** The date of that bar. */
  last: Day
  /** The band in force of each field that was read; null without one. */
  bands: Map<string, string | null>
}

type Value = string | number | null

interface RowOptions {
  columns: readonly SearchColumn[]
  day: Day
  signal?: AbortSignal | undefined
}

/** The tickers of a search. Columns are read as they are needed. */
class Rows {
  readonly #local: Local
  readonly #query: SearchQuery
  readonly #options: RowOptions

  constructor(local: Local, query: SearchQuery, options: RowOptions) {
    this.#local = local
    this.#query = query
    this.#options = options
  }

  /**
   * The rows that meet all filters; `scanned` counts the tickers with a recent bar whose identity meets its filters.
   */
  async findMatches(): Promise<{ found: Row[]; scanned: number }> {
    const { filters, sort } = this.#query
    const bandFilters = filters.filter(({ field }) => field !== null)
    const barFilters = filters.filter(({ name }) => isOfBar(name))
    const fields = [...bandFilters, ...(sort === undefined ? [] : [sort])].flatMap(({ field }) => field ?? [])
    let scanned = 0
    const matches: Row[] = []
    for await (const row of this.#readRows(await this.#tickersByIdentity(), fields)) {
      scanned++
      if ((await this.#meetsAll(row, bandFilters)) && (await this.#meetsAll(row, barFilters))) matches.push(row)
    }
    return { found: matches, scanned }
  }

  /** The tickers that meet the filters of class, sector and size: all filters apart from those of the bar. */
  async #tickersByIdentity(): Promise<ListedTicker[]> {
    const { store } = this.#local
    const securities = await store.securities()
    const filters = this.#query.filters.filter(({ name, field }) => field === null && !isOfBar(name))
    const passed: ListedTicker[] = []
    for (const entry of await store.tickers()) {
      const listed = { entry, security: securities.get(entry.ticker) ?? null }
      if (await this.#meetsAll({ listed, last: entry.last, bands: new Map() }, filters)) passed.push(listed)
    }
    return passed
  }

  /** A row for each ticker with a recent bar, with the bands of some fields. */
  async *#readRows(listed: readonly ListedTicker[], fields: readonly string[]): AsyncGenerator<Row> {
    const { timeframe } = this.#query
    const tickers = listed.map(({ entry }) => entry.ticker)
    if (tickers.length === 0) return
    const readFields = fields.length > 0 ? [...new Set(fields)] : [FIELD_FOR_DATES]
    let i = 0
    for await (const viewOfField of this.#local.views({ tickers, timeframe, fields: readFields, outcomes: false })) {
      const { days, bars } = await viewOfField(readFields[0]!)
      const listedTicker = listed[i++]!
      // Lets the thread work on other requests.
      if (i % TICKERS_PER_TURN === 0) await setImmediate()
      this.#options.signal?.throwIfAborted()
      if (hasStopped({ days: days.subarray(0, bars), timeframe }, this.#options.day)) continue
      const row: Row = { listed: listedTicker, last: days[bars - 1]!, bands: new Map() }
      for (const field of fields) row.bands.set(field, lastBand(await viewOfField(field)))
      yield row
    }
  }

  async #meetsAll(row: Row, filters: readonly SearchFilter[]): Promise<boolean> {
    for (const filter of filters) if (!meetsFilter(await this.value(row, filter), filter)) return false
    return true
  }

  /** The value of a column in a row; null if it has none, as fundamentals of a coin. Reads bands missing in the row. */
  async value(row: Row, { name, field }: SearchColumn): Promise<Value> {
    const { listed, last, bands } = row
    if (field !== null) {
      if (!bands.has(field)) await this.#readBands(row)
      return (await this.#canHaveBand(listed, field)) ? bands.get(field)! : null
    }
    if (isPrice(name)) return this.#price(row, name)
    const columns: Record<string, () => Value | Promise<Value>> = {
      ticker: () => listed.entry.ticker,
      asset_class: () => assetClassOf(listed, this.#local.store, this.#options.day),
      sector: () => sectorOf(listed),
      market_cap_tier: () => marketCapTierOf(listed),
      market_cap: () => listed.security?.market_cap ?? null,
      as_of_date: () => formatDay(last),
    }
    return columns[name]!()
  }

  /** Whether a ticker can have a band of a field: coins and funds have no fundamentals. */
  async #canHaveBand(listed: ListedTicker, field: string): Promise<boolean> {
    if (this.#local.field(field).needs === 'bars') return true
    const assetClass = await assetClassOf(listed, this.#local.store, this.#options.day)
    return assetClass !== 'crypto' && assetClass !== 'etf'
  }

  /** Reads the bands of all columns of the answer at once. */
  async #readBands({ listed, bands }: Row): Promise<void> {
    const { timeframe } = this.#query
    const { columns, signal } = this.#options
    const fields = columns.flatMap(({ field }) => (field === null || bands.has(field) ? [] : [field]))
    const seriesQuery = { tickers: [listed.entry.ticker], timeframe, fields, outcomes: false }
    for await (const viewOfField of this.#local.views(seriesQuery))
      for (const field of fields) bands.set(field, lastBand(await viewOfField(field)))
    // A result takes a millisecond, so this lets the thread work on other requests.
    await setImmediate()
    signal?.throwIfAborted()
  }

  async #price({ listed }: Row, name: string): Promise<number | null> {
    const series = await this.#local.series(listed.entry.ticker, this.#query.timeframe)
    return barOf(series, series.days.length - 1)[name as (typeof BAR_FIGURES)[number]]
  }

  /** Sorts rows by the query's column; rows without a value come last, ties are ordered by ticker. */
  async sort(rows: readonly Row[]): Promise<Row[]> {
    const { sort = { name: 'ticker', field: null }, order } = this.#query
    const sign = order === 'asc' ? 1 : -1
    const ranked: { row: Row; rank: Value }[] = []
    for (const row of rows) ranked.push({ row, rank: this.#sortValue(await this.value(row, sort), sort) })
    ranked.sort((a, b) => compare(a.rank, b.rank, sign) || compare(tickerOf(a.row), tickerOf(b.row), 1))
    return ranked.map(({ row }) => row)
  }

  /** What to sort a value by: the index of a word in the vocabulary of its column, otherwise the value itself. */
  #sortValue(value: Value, { name, field }: SearchColumn): Value {
    const words = field === null ? OWN_COLUMNS[name]!.values : this.#local.field(field).bands
    return value === null || words === undefined ? value : words.indexOf(String(value))
  }
}

/** A field to read if only the dates of bars are needed: every ticker has it. */
const FIELD_FOR_DATES = 'rsi_zone'

/** The number of tickers to read before other work of this process may run. */
const TICKERS_PER_TURN = 64

function isPrice(name: string): boolean {
  return OWN_COLUMNS[name]?.category === PRICES
}

/** Whether a column depends on the bar that is judged, and not only on the ticker. */
function isOfBar(name: string): boolean {
  return isPrice(name) || name === 'as_of_date'
}

function tickerOf({ listed }: Row): string {
  return listed.entry.ticker
}

/** Orders two values for a sort; missing ones come last. @param sign 1: ascending, -1: descending */
function compare(a: Value, b: Value, sign: number): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return a < b ? -sign : sign
}

/** Whether a value meets a filter; a missing value never does. */
function meetsFilter(value: Value, { name, op, values }: SearchFilter): boolean {
  if (value === null) return false
  const [first] = values
  switch (op) {
    case 'eq':
    case 'in':
      return values.some(allowed => isSame(name, value, allowed))
    case 'neq':
      return !isSame(name, value, first!)
    case 'gt':
      return value > first!
    case 'gte':
      return value >= first!
    case 'lt':
      return value < first!
    case 'lte':
      return value <= first!
  }
}

/** Whether a value equals that of a filter; case does not matter in names of sectors. */
function isSame(name: string, value: string | number, other: string | number): boolean {
  if (name !== 'sector') return value === other
  return String(value).toLowerCase() === String(other).trim().toLowerCase()
}
