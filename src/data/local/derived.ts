import { barsAt, NO_TRANSITIONS, recordOf, transitions } from '../../core/engine/record.js'
import { Busy, type NotFound } from '../../core/errors.js'
import { type AnyField, type FieldSet, isRecorded } from '../../core/fields/index.js'
import { Panel } from '../../core/fields/panel.js'
import { codesByRules, isConditionField, isRuled, type RuledField } from '../../core/language/as-field.js'
import { printSubject, type Subject } from '../../core/language/condition.js'
import { type Column, truthOf } from '../../core/language/truth.js'
import { bandsByBar, columnsOf, recordIn, recordsIn, type Series } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { first } from '../../core/source.js'
import type { Recorded, RecordedSeries, SeriesQuery, Store } from '../store/store.js'

/** What knows the fields, and reads. */
interface FieldSource {
  readonly store: Store
  field(name: string): AnyField
  /** The error for a ticker without bars. */
  unknown(ticker: string): Promise<NotFound>
}

/** A query of series that includes derived fields: conditions, and the user's own fields. */
export interface DerivedQuery extends SeriesQuery {
  /** How many bars earlier conditions read the tickers that they name (default 0). */
  lag?: number | undefined
}

/**
 * Series that include records of derived fields. They are computed on demand from the bars and from the records of the
 * fields that they name, in the same read. No value uses later bars, so they can be cut at an as-of day like stored
 * records. Throws NotFound, Busy for a ticker that a condition names.
 */
export async function* derivedSeries(cache: FieldSource, query: DerivedQuery): AsyncGenerator<RecordedSeries | null> {
  const { tickers, timeframe, outcomes, lag = 0 } = query
  const wanted = query.fields.map(name => cache.field(name))
  const needs = needsOf(cache, wanted, timeframe)
  const named = await readNamed(cache, needs)
  const own = needs.get(dataKey(null, timeframe))!
  const otherTimeframe = needs.get(dataKey(null, otherThan(timeframe)))
  const series = cache.store.series({ tickers, timeframe, fields: [...own.fields], outcomes })
  // Both walk through the same tickers in the same order.
  const others =
    otherTimeframe && seriesAt(cache, tickers, otherThan(timeframe), otherTimeframe)[Symbol.asyncIterator]()
  try {
    for await (const found of series) {
      const otherwise = (await others?.next())?.value ?? null
      if (found === null) {
        yield null
        continue
      }
      const daily = own.bars || otherTimeframe?.bars ? await cache.store.bars(found.entry.ticker) : null
      const places = new Map(named)
        .set(dataKey(null, timeframe), dataIn(found, daily, timeframe))
        .set(dataKey(null, otherThan(timeframe)), dataIn(otherwise, daily, otherThan(timeframe)))
      const derivation = new Derivation(cache, places)
      const records = recordsIn(found.fields)
      for (const field of wanted) {
        if (isRecorded(field)) continue
        const codes = derivation.codes(field, null, timeframe, isConditionField(field) ? lag : 0)
        records.set(field.name, recordOf(codes, timeframe))
      }
      yield { ...found, fields: columnsOf(records) }
    }
  } finally {
    await others?.return?.()
  }
}

/**
 * Caches records of derived fields with their series, up to a number of bytes and until any write: a condition may name
 * any ticker. A query with other fields is derived again, because the user's own names may differ there.
 */
export class DerivedMemory {
  readonly #most: number
  /** By name, in the order of last use. */
  readonly #cache = new Map<string, { found: Recorded; bytes: number }>()
  #of: { version: string; fields: FieldSet } | null = null
  #bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  /** @param make derives the record; it is not cached if a write happens meanwhile */
  async of(
    store: Store,
    fields: FieldSet,
    name: string,
    make: () => Promise<Recorded | null>,
  ): Promise<Recorded | null> {
    const version = await store.version()
    if (this.#of?.version !== version || this.#of.fields !== fields) this.#forget({ version, fields })
    const known = this.#cache.get(name)
    if (known !== undefined) {
      this.#cache.delete(name)
      this.#cache.set(name, known)
      return { ...known.found }
    }
    const of = this.#of
    const found = await make()
    if (found !== null && (await store.version()) === version && this.#of === of) this.#keep(name, found)
    return found
  }

  #forget(of: { version: string; fields: FieldSet }): void {
    this.#of = of
    this.#cache.clear()
    this.#bytes = 0
  }

  #keep(name: string, found: Recorded): void {
    const bytes = bytesOf(found)
    if (bytes > this.#most || this.#cache.has(name)) return
    this.#cache.set(name, { found: { ...found }, bytes })
    this.#bytes += bytes
    for (const [oldest, { bytes }] of this.#cache) {
      if (this.#bytes <= this.#most) break
      this.#cache.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

/** Of all columns, about. */
function bytesOf({ calendar, outcomes, field }: Recorded): number {
  const columns = [calendar.days, calendar.known, outcomes.close, ...outcomes.ranks]
  const record = field === null ? 0 : field.bars.byteLength + field.gaps.byteLength + 3 * field.bands.byteLength
  return columns.reduce((sum, { byteLength }) => sum + byteLength, record + 1_500)
}

function seriesAt(cache: FieldSource, tickers: readonly string[], timeframe: Timeframe, { fields }: Need) {
  return cache.store.series({ tickers, timeframe, fields: [...fields], outcomes: false })
}

function otherThan(timeframe: Timeframe): Timeframe {
  return timeframe === 'daily' ? 'weekly' : 'daily'
}

/** For one ticker and timeframe: the recorded fields needed, and whether bars are. */
interface Need {
  ticker: string | null
  timeframe: Timeframe
  fields: Set<string>
  bars: boolean
}

/** By ticker and timeframe; null is the ticker of the query. */
type Needs = ReadonlyMap<string, Need>

function dataKey(ticker: string | null, timeframe: Timeframe): string {
  return `${timeframe} ${ticker ?? ''}`
}

function needsOf(cache: FieldSource, wanted: readonly AnyField[], timeframe: Timeframe): Needs {
  const needs = new Map<string, Need>()
  const seen = new Set<string>()
  const add = (field: AnyField, ticker: string | null, timeframe: Timeframe): void => {
    const place = dataKey(ticker, timeframe)
    const need = needs.get(place) ?? { ticker, timeframe, fields: new Set(), bars: false }
    needs.set(place, need)
    if (seen.has(`${place} ${field.name}`)) return
    seen.add(`${place} ${field.name}`)
    if (isRecorded(field)) need.fields.add(field.name)
    else if (!isRuled(field)) need.bars = true
    else
      for (const subject of field.subjects)
        add(cache.field(subject.field), subject.ticker ?? ticker, subject.timeframe ?? timeframe)
  }
  for (const field of wanted) add(field, null, timeframe)
  return needs
}

/** The data read for a ticker and timeframe; series is null if it has no bars. */
interface SeriesData {
  series: RecordedSeries | null
  bars: Series | null
}

/** The data of the tickers that conditions name, shared by all tickers of a query. */
export type NamedData = ReadonlyMap<string, SeriesData>

/** Throws NotFound for one that is not there. */
async function readNamed(cache: FieldSource, needs: Needs): Promise<NamedData> {
  const places = new Map<string, SeriesData>()
  for (const [place, need] of needs)
    if (need.ticker !== null) places.set(place, await readData(cache, need.ticker, need))
  return places
}

async function readData(cache: FieldSource, ticker: string, need: Need): Promise<SeriesData> {
  const series = await first(seriesAt(cache, [ticker], need.timeframe, need))
  if (series === null) throw await cache.unknown(ticker)
  const daily = need.bars ? await cache.store.bars(ticker) : null
  return dataIn(series, daily, need.timeframe)
}

/** A series that was read, with all of its bars where they are needed. Throws Busy where others have come meanwhile. */
function dataIn(series: RecordedSeries | null, daily: Series | null, timeframe: Timeframe): SeriesData {
  if (series === null || daily === null) return { series, bars: null }
  const bars = barsAt(timeframe, daily, series.entry.assetClass)
  if (bars.days.length === series.calendar.days.length) return { series, bars }
  throw new Busy(`${series.entry.ticker} was imported anew while it was being read; try again`)
}

/** The data of the tickers that a condition names, for queries about many tickers. */
export function dataOfNamed(cache: FieldSource, field: RuledField, timeframe: Timeframe): Promise<NamedData> {
  return readNamed(cache, needsOf(cache, [field], timeframe))
}

/**
 * The columns of a condition's subjects on one ticker, by their printed names.
 * @param named places of the tickers that it names, where they were read
 */
export async function subjectsOn(
  cache: FieldSource,
  field: RuledField,
  ticker: string,
  timeframe: Timeframe,
  named?: NamedData,
): Promise<ReadonlyMap<string, Column>> {
  const needs = needsOf(cache, [field], timeframe)
  const places = new Map(named ?? (await readNamed(cache, needs)))
  for (const [place, need] of needs) if (need.ticker === null) places.set(place, await readData(cache, ticker, need))
  const derivation = new Derivation(cache, places)
  const column = ({ ticker, timeframe: own, field }: Subject) => derivation.column(ticker, own ?? timeframe, field)
  return new Map(field.subjects.map(subject => [printSubject(subject), column(subject)]))
}

/** Bands by bar of fields that depend on each other, each computed once. */
class Derivation {
  readonly #cache: FieldSource
  readonly #places: NamedData
  readonly #columns = new Map<string, Column>()

  constructor(cache: FieldSource, places: NamedData) {
    this.#cache = cache
    this.#places = places
  }

  /** @param ticker null: the ticker of the query */
  column(ticker: string | null, timeframe: Timeframe, name: string): Column {
    const key = `${dataKey(ticker, timeframe)} ${name}`
    const column = this.#columns.get(key) ?? this.#made(ticker, timeframe, this.#cache.field(name))
    this.#columns.set(key, column)
    return column
  }

  #made(ticker: string | null, timeframe: Timeframe, field: AnyField): Column {
    const { series } = this.#at(ticker, timeframe)
    const calendar = series?.calendar ?? NO_BARS
    const { bands } = field
    if (!isRecorded(field)) {
      const codes = this.codes(field, ticker, timeframe, 0)
      return { ...calendar, bands, codes, transitions: transitions(codes) }
    }
    // A ticker without data for it has none.
    const record = (series && recordIn(series.fields, field.name)) ?? NO_TRANSITIONS
    return { ...calendar, bands, codes: bandsByBar(record, calendar.days.length), transitions: record }
  }

  /** @param lag how many bars earlier a condition reads the tickers that it names */
  codes(field: AnyField, ticker: string | null, timeframe: Timeframe, lag: number): Uint8Array {
    const { series, bars } = this.#at(ticker, timeframe)
    const on = series?.calendar ?? NO_BARS
    if (!isRuled(field)) return bars === null ? new Uint8Array() : field.classify(new Panel(bars))
    const columnOf = (subject: Subject): Column =>
      this.column(subject.ticker ?? ticker, subject.timeframe ?? timeframe, subject.field)
    return codesByRules(field, on.days.length, condition => truthOf(condition, { on, columnOf, lag }))
  }

  #at(ticker: string | null, timeframe: Timeframe): SeriesData {
    return this.#places.get(dataKey(ticker, timeframe)) ?? { series: null, bars: null }
  }
}

const NONE = new Int32Array()
const NO_BARS = { days: NONE, known: NONE }
