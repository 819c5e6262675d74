import { barsAt, NO_TRANSITIONS, recordOfCodes, transitions } from '../../core/engine/record.js'
import { Busy, type NotFound } from '../../core/errors.js'
import { type AnyField, type FieldSet, isRecorded } from '../../core/fields/index.js'
import { Panel } from '../../core/fields/panel.js'
import { codesByRules, isConditionField, isRuled, type RuledField } from '../../core/language/as-field.js'
import { printSubject, type Subject } from '../../core/language/condition.js'
import { type Column, truthOf } from '../../core/language/truth.js'
import { bandsByBar, columnsOf, recordIn, recordsIn, type Series } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { firstItem } from '../../core/source.js'
import { recordBytes, sharedBytes } from '../store/cached-store.js'
import type { Recorded, RecordedSeries, SeriesQuery, Store } from '../store/store.js'

interface FieldSource {
  readonly store: Store
  field(name: string): AnyField
  /** The error for a ticker without bars. */
  unknownTicker(ticker: string): Promise<NotFound>
}

/** A query of series that includes derived fields: conditions, and the user's own fields. */
export interface DerivedQuery extends SeriesQuery {
  /** Conditions read the other tickers that they name this number of bars earlier (default 0). */
  lag?: number | undefined
}

/**
 * Series that include records of derived fields. They are computed on demand from the bars and from the records of the
 * fields that they name, in the same read. No value uses later bars, so they can be cut at an as-of day like stored
 * records. Conditions read the tickers that they name `lag` bars earlier. Throws NotFound if such a ticker has no bars,
 * and Busy if an import replaces bars during the read.
 * @returns a series for each ticker of the query, in its order; null for an unknown ticker
 */
export async function* derivedSeries(cache: FieldSource, query: DerivedQuery): AsyncGenerator<RecordedSeries | null> {
  const { tickers, timeframe, outcomes, lag = 0 } = query
  const fields = query.fields.map(name => cache.field(name))
  const needs = neededData(cache, fields, timeframe)
  const namedData = await readNamedTickers(cache, needs)
  // The needed data of the queried tickers, in the timeframe of the query and in the other one.
  const need = needs.get(dataKey(QUERIED, timeframe))!
  const otherNeed = needs.get(dataKey(QUERIED, otherTimeframe(timeframe)))
  const needsBars = need.bars || otherNeed?.bars === true
  const series = cache.store.series({ tickers, timeframe, fields: [...need.fields], outcomes })
  const otherSeries = otherNeed && seriesForNeed(cache, tickers, otherTimeframe(timeframe), otherNeed)
  // Both have the same tickers in the same order.
  for await (const [recorded, otherRecorded] of inPairs(series, otherSeries)) {
    if (recorded === null) {
      yield null
      continue
    }
    const daily = needsBars ? await cache.store.bars(recorded.entry.ticker) : null
    const data = new Map(namedData)
      .set(dataKey(QUERIED, timeframe), seriesData(recorded, daily, timeframe))
      .set(dataKey(QUERIED, otherTimeframe(timeframe)), seriesData(otherRecorded, daily, otherTimeframe(timeframe)))
    const derivation = new Derivation(cache, data)
    const records = recordsIn(recorded.fields)
    for (const field of fields) {
      if (isRecorded(field)) continue
      const codes = derivation.codes(field, QUERIED, timeframe, isConditionField(field) ? lag : 0)
      records.set(field.name, recordOfCodes(codes, timeframe))
    }
    yield { ...recorded, fields: columnsOf(records) }
  }
}

/** Yields each item of a stream with the item of `others` at the same position; null where `others` has none. */
async function* inPairs<Item>(items: AsyncIterable<Item>, others?: AsyncIterable<Item>) {
  const iterator = others?.[Symbol.asyncIterator]()
  try {
    for await (const item of items) {
      const other: Item | null = (await iterator?.next())?.value ?? null
      yield [item, other] as const
    }
  } finally {
    await iterator?.return?.()
  }
}

/**
 * Caches records of derived fields with their series, up to a number of bytes and until any write: a condition may name
 * any ticker. A query with other fields is derived again, because the user's own names may differ there.
 */
export class DerivedCache {
  readonly #maxBytes: number
  /** By name, in the order of last use. */
  readonly #cache = new Map<string, { recorded: Recorded; bytes: number }>()
  #validFor: { version: string; fields: FieldSet } | null = null
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /**
   * A record from the cache, or a new one; null for an unknown ticker. A new one is not cached if the store changed
   * while it was made.
   */
  async getOrMake(
    store: Store,
    fields: FieldSet,
    key: string,
    make: () => Promise<Recorded | null>,
  ): Promise<Recorded | null> {
    const version = await store.version()
    if (this.#validFor?.version !== version || this.#validFor.fields !== fields) this.#clearFor({ version, fields })
    const cached = this.#cache.get(key)
    if (cached !== undefined) {
      // Moves it to the end: the records used longest ago are dropped first.
      this.#cache.delete(key)
      this.#cache.set(key, cached)
      return { ...cached.recorded }
    }
    const validBefore = this.#validFor
    const made = await make()
    if (made !== null && (await store.version()) === version && this.#validFor === validBefore)
      this.#addToCache(key, made)
    return made
  }

  #clearFor(validFor: { version: string; fields: FieldSet }): void {
    this.#validFor = validFor
    this.#cache.clear()
    this.#bytes = 0
  }

  /** Caches a record, and drops those used longest ago while the cache is too large. */
  #addToCache(key: string, recorded: Recorded): void {
    const bytes = sharedBytes(recorded) + recordBytes(recorded.field)
    if (bytes > this.#maxBytes || this.#cache.has(key)) return
    this.#cache.set(key, { recorded: { ...recorded }, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#cache) {
      if (this.#bytes <= this.#maxBytes) break
      this.#cache.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

function seriesForNeed(cache: FieldSource, tickers: readonly string[], timeframe: Timeframe, { fields }: Need) {
  return cache.store.series({ tickers, timeframe, fields: [...fields], outcomes: false })
}

function otherTimeframe(timeframe: Timeframe): Timeframe {
  return timeframe === 'daily' ? 'weekly' : 'daily'
}

/** In place of a ticker's name: the queried ticker, whose series is being derived. */
const QUERIED = null

/** The data needed of one ticker and timeframe: recorded fields, and whether bars are needed. */
interface Need {
  ticker: string | typeof QUERIED
  timeframe: Timeframe
  fields: Set<string>
  bars: boolean
}

type Needs = ReadonlyMap<string, Need>

/** The key of the data of a ticker and timeframe in `Needs` and `NamedData`. */
function dataKey(ticker: string | typeof QUERIED, timeframe: Timeframe): string {
  return `${timeframe} ${ticker ?? ''}`
}

/**
 * The data that some fields need, by `dataKey`: recorded fields their records, own fields their bars. A condition (a
 * ruled field) needs what the fields that it names need, so the entry of its own ticker may stay empty.
 */
function neededData(cache: FieldSource, fields: readonly AnyField[], timeframe: Timeframe): Needs {
  const needs = new Map<string, Need>()
  const visited = new Set<string>()
  const addNeeds = (field: AnyField, ticker: string | typeof QUERIED, timeframe: Timeframe): void => {
    const key = dataKey(ticker, timeframe)
    const need = needs.get(key) ?? { ticker, timeframe, fields: new Set(), bars: false }
    needs.set(key, need)
    if (visited.has(`${key} ${field.name}`)) return
    visited.add(`${key} ${field.name}`)
    if (isRecorded(field)) {
      need.fields.add(field.name)
      return
    }
    if (!isRuled(field)) {
      need.bars = true
      return
    }
    for (const subject of field.subjects)
      addNeeds(cache.field(subject.field), subject.ticker ?? ticker, subject.timeframe ?? timeframe)
  }
  for (const field of fields) addNeeds(field, QUERIED, timeframe)
  return needs
}

/** The data read for a ticker and timeframe; series is null if it has no bars. */
interface SeriesData {
  series: RecordedSeries | null
  bars: Series | null
}

/** The data of the tickers that conditions name, shared by all tickers of a query. */
export type NamedData = ReadonlyMap<string, SeriesData>

/** Reads the data of the tickers that conditions name. Throws NotFound for a ticker without bars. */
async function readNamedTickers(cache: FieldSource, needs: Needs): Promise<NamedData> {
  const data = new Map<string, SeriesData>()
  for (const [key, need] of needs)
    if (need.ticker !== QUERIED) data.set(key, await readSeriesData(cache, need.ticker, need))
  return data
}

/** The needed data of one ticker. Throws NotFound for a ticker without bars. */
async function readSeriesData(cache: FieldSource, ticker: string, need: Need): Promise<SeriesData> {
  const series = await firstItem(seriesForNeed(cache, [ticker], need.timeframe, need))
  if (series === null) throw await cache.unknownTicker(ticker)
  const daily = need.bars ? await cache.store.bars(ticker) : null
  return seriesData(series, daily, need.timeframe)
}

/**
 * A series with the bars of its timeframe. Throws Busy if an import has replaced the bars since the series was read.
 * @param daily all daily bars; null if no bars are needed
 */
function seriesData(series: RecordedSeries | null, daily: Series | null, timeframe: Timeframe): SeriesData {
  if (series === null || daily === null) return { series, bars: null }
  const bars = barsAt(timeframe, daily, series.entry.assetClass)
  if (bars.days.length === series.calendar.days.length) return { series, bars }
  throw new Busy(`${series.entry.ticker} was imported anew while it was being read; try again`)
}

/** The data of the tickers that a condition names, for queries about many tickers. */
export function dataOfNamedTickers(cache: FieldSource, field: RuledField, timeframe: Timeframe): Promise<NamedData> {
  return readNamedTickers(cache, neededData(cache, [field], timeframe))
}

/**
 * The columns of a condition's subjects (the fields that it tests) on one ticker, by their printed names.
 * @param named the data of the tickers that it names, if they are already read
 */
export async function subjectColumns(
  cache: FieldSource,
  field: RuledField,
  ticker: string,
  timeframe: Timeframe,
  named?: NamedData,
): Promise<ReadonlyMap<string, Column>> {
  const needs = neededData(cache, [field], timeframe)
  const data = new Map(named ?? (await readNamedTickers(cache, needs)))
  for (const [key, need] of needs) if (need.ticker === QUERIED) data.set(key, await readSeriesData(cache, ticker, need))
  const derivation = new Derivation(cache, data)
  const column = (subject: Subject): Column =>
    derivation.column(subject.ticker ?? QUERIED, subject.timeframe ?? timeframe, subject.field)
  return new Map(field.subjects.map(subject => [printSubject(subject), column(subject)]))
}

/** Computes the bands by bar of fields that depend on each other, each once. */
class Derivation {
  readonly #cache: FieldSource
  readonly #data: NamedData
  readonly #columns = new Map<string, Column>()

  constructor(cache: FieldSource, data: NamedData) {
    this.#cache = cache
    this.#data = data
  }

  /** The bands of a field, computed on first use. */
  column(ticker: string | typeof QUERIED, timeframe: Timeframe, name: string): Column {
    const key = `${dataKey(ticker, timeframe)} ${name}`
    const column = this.#columns.get(key) ?? this.#makeColumn(ticker, timeframe, this.#cache.field(name))
    this.#columns.set(key, column)
    return column
  }

  /** The bands of a field on the bars of a ticker: as recorded, or computed. */
  #makeColumn(ticker: string | typeof QUERIED, timeframe: Timeframe, field: AnyField): Column {
    const { series } = this.#dataOf(ticker, timeframe)
    const calendar = series?.calendar ?? NO_BARS
    const { bands } = field
    if (!isRecorded(field)) {
      const codes = this.codes(field, ticker, timeframe, 0)
      return { ...calendar, bands, codes, transitions: transitions(codes) }
    }
    // A ticker without data for the field has no bands.
    const record = (series && recordIn(series.fields, field.name)) ?? NO_TRANSITIONS
    return { ...calendar, bands, codes: bandsByBar(record, calendar.days.length), transitions: record }
  }

  /**
   * The codes of a derived field's bands by bar.
   * @param lag a condition reads the tickers that it names this number of bars earlier
   */
  codes(field: AnyField, ticker: string | typeof QUERIED, timeframe: Timeframe, lag: number): Uint8Array {
    const { series, bars } = this.#dataOf(ticker, timeframe)
    const calendar = series?.calendar ?? NO_BARS
    if (!isRuled(field)) return bars === null ? new Uint8Array() : field.classify(new Panel(bars))
    const columnOf = (subject: Subject): Column =>
      this.column(subject.ticker ?? ticker, subject.timeframe ?? timeframe, subject.field)
    return codesByRules(field, calendar.days.length, condition => truthOf(condition, { on: calendar, columnOf, lag }))
  }

  #dataOf(ticker: string | typeof QUERIED, timeframe: Timeframe): SeriesData {
    return this.#data.get(dataKey(ticker, timeframe)) ?? { series: null, bars: null }
  }
}

const NO_BARS = { days: new Int32Array(), known: new Int32Array() }
