// For: keep bars, facts and events, packed in columns.
// In: columns of one series.
// Out: packed pages with hashes, and the same columns again.

import { type Busy, parameter, type Remedy, StorageError, sentence, WriterBusy } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import type { FactKind, FactSheet, FactSheets, Security } from '../../core/model/facts.js'
import type {
  Adjustment,
  AssetClass,
  BarMarks,
  FieldColumns,
  FieldRecord,
  Outcomes,
  Series,
  SeriesMemory,
  SeriesRecord,
  SeriesTail,
} from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { PageStore } from './pages.js'

/** The memory for bars that are read. */
export interface SeriesAllocation {
  /** Number of further bars that it has room for after the stored ones; the caller fills them (default 0). */
  extraBars?: number
  /** Memory to reuse (default: new memory). */
  memory?: SeriesMemory | undefined
}

/** A ticker's row, without its bars. */
export interface TickerEntry {
  ticker: string
  assetClass: AssetClass | null
  /** Belongs to the whole series: adjusted and raw prices never mix. */
  prices: Adjustment
  /** Number of daily bars, and the dates of the first and the last. */
  bars: number
  first: Day
  last: Day
  /** The file that changed it last, its format, and when (ISO time, UTC). */
  source: string
  format: string
  importedAt: string
  /** Which file brought which bars, in their order; absent where all are of that file. */
  origins?: readonly Origin[]
}

/** An import that brought bars. */
export type ImportStamp = Pick<TickerEntry, 'source' | 'format' | 'importedAt'>

/** Bars in a row that one file brought. */
export interface Origin extends ImportStamp {
  bars: number
  /** The earliest import, if several were merged into this origin. The origin itself names the latest one. */
  begun?: ImportStamp
  /** A price step at the first of these bars that no trading explains and the user has accepted: new over old price. */
  jump?: number
}

/** An origin with the index of its first bar. */
export interface IndexedOrigin extends Origin {
  from: number
}

/** The origins (which file brought which bars) of the first `bars` bars of a ticker, in order. */
export function originsOf(entry: TickerEntry, bars = entry.bars): IndexedOrigin[] {
  const { source, format, importedAt, origins = [{ source, format, importedAt, bars }] } = entry
  const indexed: IndexedOrigin[] = []
  let from = 0
  for (const origin of origins) {
    if (from < bars) indexed.push({ ...origin, from, bars: Math.min(origin.bars, bars - from) })
    from += origin.bars
  }
  return indexed
}

/** A series without its columns. */
export interface SeriesSummary {
  bars: number
  /** The day on which its last bar is final. */
  final: Day
  events: number
  /** The number of these events that are on the last bar. */
  eventsOnLast: number
}

/** A ticker and its series, without columns. */
export interface TickerSummary {
  entry: TickerEntry
  marks: BarMarks
  /** First and last day of the bars that each file brought, in their order. */
  originDays: readonly (readonly [first: Day, last: Day])[]
  daily: SeriesSummary
  weekly: SeriesSummary
}

/** A price step between two bars that no trading caused: bars from `day` on are `factor` times those up to `from`. */
export interface AcceptedJump {
  from: Day
  day: Day
  factor: number
}

/** The accepted jumps between the bars of a ticker. @param days the day of each bar */
export function jumpsOf(entry: TickerEntry, days: Int32Array): AcceptedJump[] {
  // Most tickers have no jumps; this check is cheap.
  if (!entry.origins?.some(({ jump }) => jump !== undefined)) return []
  return originsOf(entry).flatMap(({ from, jump }) =>
    jump === undefined ? [] : [{ from: days[from - 1]!, day: days[from]!, factor: jump }],
  )
}

/** The dates of a series: when each bar was final. */
export type Calendar = Pick<Series, 'days' | 'known'>

/** The definitions of a store that has bars, but no derived data yet. */
export const UNDERIVED = 'none'

/** The series and columns to read. */
export interface SeriesQuery {
  tickers: readonly string[]
  timeframe: Timeframe
  fields: readonly string[]
  /** Whether to read the returns after each bar: most of a series, and not needed to date its changes of band. */
  outcomes: boolean
}

export interface RecordedSeries {
  entry: TickerEntry
  calendar: Calendar
  /** null: not requested */
  outcomes: Outcomes | null
  /** The requested fields that have data. */
  fields: FieldColumns
  /** The tickers and sectors that an import still had to derive at that moment. */
  unsettled: readonly string[]
}

/** One question's data of one series: its calendar, the returns after each bar, and one field's events. */
export interface Recorded extends Omit<RecordedSeries, 'outcomes' | 'fields'> {
  outcomes: Outcomes
  /** null: the ticker has no data for the field */
  field: FieldRecord | null
}

/** A field's first bar and band, and its number of events. */
export interface FieldHead {
  initialBar: number
  initialBand: number
  events: number
}

export type BarBySeries = Record<Timeframe, number>

/**
 * The end of a ticker's stored data up to a bar of each series, enough to continue from there. codec.ts reads it,
 * possibly in another thread.
 */
export interface PackedTail extends Record<Timeframe, PackedEnd> {
  since: BarBySeries
  /** The hashes of the chunks of its bars, as its row has them. */
  hashes: string
}

export interface PackedEnd {
  /** How many bars are stored. */
  bars: number
  /** The heads of its fields and the hashes of its chunks, as in its row. */
  fields: string
  hashes: string
  /** The last chunks of events, from number `first` on. */
  first: number
  events: Uint8Array[]
  /** The last chunks of outcomes, from the first one that may change on. */
  outcomes: Uint8Array[]
}

/** One ticker's bars with all that was derived from them; written as one. */
export interface TickerRecord {
  entry: TickerEntry
  daily: SeriesRecord | SeriesTail
  weekly: SeriesRecord | SeriesTail
  /**
   * The stored data that stay unchanged: everything before some bars. Nothing else was written since they were read.
   * Ranks that ended before those bars and events of unchanged fields are not needed. Absent: the whole ticker is
   * written.
   */
  stored?: PackedTail | undefined
}

/** The parts of a series that are stored in chunks: bars (only of daily series), and derived data. */
export const BAR_PARTS = ['prices', 'unadjusted'] as const
export const DERIVED_PARTS = ['calendar', 'outcomes', 'events'] as const
export type BarPart = (typeof BAR_PARTS)[number]
export type DerivedPart = (typeof DERIVED_PARTS)[number]
export type Part = BarPart | DerivedPart

/** A ticker's bars and derived data in chunks, ready to be written. */
export interface PackedRecord extends Pick<TickerRecord, 'entry'> {
  /** Whether earlier chunks are already stored and left out here. */
  isTail: boolean
  bars: PackedPart[]
  daily: PackedSeries
  weekly: PackedSeries
}

export interface PackedSeries {
  timeframe: Timeframe
  /** The columns of its row, except the hashes of its chunks. */
  summary: { bars: number; final: string; events: number; eventsOnLast: number; fields: string; marks: string | null }
  parts: PackedPart[]
}

/** Chunks of a part, from the one with number `first` on. */
export interface PackedPart {
  part: Part
  first: number
  chunks: readonly Uint8Array[]
  /** The hashes of these chunks and of all earlier ones. */
  hashes: string
  /** Whether there are stored chunks after these, which will be deleted. */
  endsBeforeStored?: boolean
}

/** New events for some fields of a stored series. null deletes the field's events. */
export interface Amendment {
  ticker: string
  timeframe: Timeframe
  fields: ReadonlyMap<string, FieldRecord | null>
}

/** The new records of one ticker and kind. */
export interface TickerSheet {
  ticker: string
  kind: FactKind
  sheet: FactSheet
}

/** One kind of a ticker's facts as stored. */
export interface SheetRow {
  ticker: string
  kind: FactKind
  records: number
  sheet: string
}

/** Everything that one step of an import changes; written as one, or not at all. */
export interface Batch {
  /** Tickers whose data are all deleted, before anything is written. */
  removed?: readonly string[]
  /** Tickers to replace, completely or from a bar on. */
  records?: Iterable<TickerRecord | PackedRecord>
  amendments?: Iterable<Amendment>
  sheets?: Iterable<TickerSheet>
  /** Tickers whose pulled events are deleted, because bars replace them. */
  replacedPulled?: readonly string[]
  /** The tickers and sectors that the import still has to derive (default: unchanged). */
  unsettled?: readonly string[]
}

/** Something that is not as it was written. */
export interface Damage {
  /** The damaged ticker; empty for damage of the whole file. */
  ticker: string
  what: string
  /** The command that repairs it; null: only a backup does. */
  mend: Remedy | null
}

/** Stored data differ from the written data; callers that can do without them may catch this. */
export class Damaged extends StorageError {
  readonly damage: Damage

  constructor(location: string, damage: Damage) {
    const { ticker, what, mend } = damage
    const about = mend === null ? {} : { remedy: mend }
    super(
      `${location} is damaged: ${ticker === '' ? '' : `${ticker}: `}${what}; mend that, or put a backup in its place`,
      about,
    )
    this.damage = damage
  }
}

export interface Writer {
  pid: number
  host: string
  started: string
}

/** Schema and size of a database file. */
export interface Footprint {
  /** The number of the schema, and the newest that this version knows. */
  schema: number
  newestSchema: number
  bytes: number
}

/**
 * Stores bars with their derived data, and events pulled from servers; decides nothing. The interface is coarse, so
 * that a database over a network is fast as well: one call per question, one per written batch. Readers get the written
 * data, or a StorageError that names the damage.
 */
export interface Store {
  /** Where it lives, for messages. */
  readonly location: string
  /** Unchanged while no other process writes; writes through this very store may leave it unchanged. */
  version(): Promise<string>
  /** Pages of events from servers, for other tickers. */
  readonly pages: PageStore
  /** The definitions of its derived rows; UNDERIVED if they are not derived yet, '' for an empty store. */
  definitions(): Promise<string>
  /** All tickers, ascending. */
  tickers(): Promise<TickerEntry[]>
  ticker(ticker: string): Promise<TickerEntry | null>
  /** The date of the newest bar of all tickers, optionally up to a day; null without bars. */
  newestDay(upTo?: Day): Promise<Day | null>
  /** @param memory that the bars are read into (default: new memory) */
  bars(ticker: string, memory?: SeriesMemory): Promise<Series | null>
  /** A ticker and its bars, read at one moment; null: unknown ticker. */
  tickerWithBars(ticker: string, allocation?: SeriesAllocation): Promise<{ entry: TickerEntry; series: Series } | null>
  /** All facts about a ticker, whether or not it has bars. @param except kinds that are not read */
  sheets(ticker: string, except?: readonly FactKind[]): Promise<FactSheets>
  /**
   * Every ticker with data (bars, facts or pulled events), or only those with bars; ascending. Their data are not read.
   */
  names(what?: 'bars'): Promise<string[]>
  /** Every ticker that has facts, with or without bars; ascending. */
  factTickers(): Promise<string[]>
  /** The securities of all tickers, with or without bars, by ticker. */
  securities(): Promise<Map<string, Security>>
  /** The tickers and sectors that an import still has to derive, as written. */
  unsettled(): Promise<readonly string[]>
  /** One series for each ticker of the query, in its order; each is read at one moment. null: unknown ticker. */
  series(query: SeriesQuery): AsyncIterable<RecordedSeries | null>
  /** null: unknown ticker */
  recorded(ticker: string, timeframe: Timeframe, field: string): Promise<Recorded | null>
  /**
   * The stored data of a ticker before some bars; null: unknown ticker.
   * @param since the first bar of each series that may change
   * @param from the first bar of each series whose events are needed
   */
  tail(ticker: string, since: BarBySeries, from: BarBySeries): Promise<PackedTail | null>
  /** All tickers, ascending, with their rows; columns are not read. */
  summaries(): Promise<TickerSummary[]>
  /** A hash that changes with the recorded data of a series, which are not read. null: unknown ticker. */
  stamp(ticker: string, timeframe: Timeframe): Promise<string | null>
  /** A hash of everything in it, made of the hashes of its rows: equal data have equal hashes, in any file. */
  snapshot(): Promise<string>
  /** A hash of a ticker's bars and derived data as they are known on a day; null: unknown ticker. */
  content(ticker: string, today: Day): Promise<string | null>
  /** Makes all reads of some work see one state, regardless of writes; one such work at a time. */
  atOneMoment<T>(work: () => Promise<T>): Promise<T>
  /** Writes the whole batch or nothing, and notes the version of the definitions. */
  write(batch: Batch, definitions: string): Promise<void>
  /** Deletes bars, events, facts and pulled pages; false if there were none. `unsettled` as in a batch. */
  remove(ticker: string, unsettled?: readonly string[]): Promise<boolean>
  footprint(): Promise<Footprint>
  /** Re-computes every content hash and checks the file's own structure. */
  verify(): Promise<Damage[]>
  /** Takes the writer lock; throws Busy naming the holder. */
  lock(writer: Writer): Promise<void>
  /** Gives a new database its name, unless it has it. Until then no other process sees it, and `close` discards it. */
  publish(): Promise<void>
  unlock(writer: Writer): Promise<void>
  close(): Promise<void>
}

/** How often a taken writer lock is tried again, in milliseconds. */
const RETRY_MS = 200

/** Takes a store's writer lock. Throws Busy naming the holder; with `wait` it waits until the lock is free. */
export function lockForWriting(store: Store, writer: Writer, { wait = false } = {}): Promise<void> {
  return retryWhileBusy(() => store.lock(writer), wait)
}

/** The error for a second writer. @param holder undefined if the holder is unknown */
export function writerBusyError(location: string, holder: Writer | undefined): Busy {
  const by = holder === undefined ? 'another process' : describeWriter(holder)
  return new WriterBusy(
    sentence`${location} is being written by ${by}; try again later, or wait (${parameter('wait')})`,
  )
}

export function describeWriter({ pid, host, started }: Writer): string {
  return `process ${pid} on ${host} since ${started}`
}

/**
 * Runs work that needs the writer lock. Throws Busy naming the holder, or with `wait` retries until the lock is free.
 * It does not wait for an unreachable database, which may never return.
 */
export async function retryWhileBusy<T>(work: () => T | Promise<T>, wait: boolean): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(wait && error instanceof WriterBusy)) throw error
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }
}
