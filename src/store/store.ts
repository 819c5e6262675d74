import { type Busy, parameter, type Remedy, StorageError, sentence, WriterBusy } from '../errors.js'
import type { Day } from '../model/day.js'
import type { FactKind, FactSheet, FactSheets, Security } from '../model/facts.js'
import type {
  Adjustment,
  AssetClass,
  BarMarks,
  FieldColumns,
  FieldRecord,
  Outcomes,
  Series,
  SeriesRecord,
  SeriesTail,
} from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { PageStore } from './pages.js'

/** What a store says of a ticker without touching its bars. */
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
  /** Where several imports brought them, which are no longer told apart: the first of these in time; it itself is the last. */
  begun?: ImportStamp
  /** They are this many times the bars before them, which no trading explains and the user has accepted. */
  jump?: number
}

/** With the place of its first bar. */
export interface IndexedOrigin extends Origin {
  from: number
}

/** Where the first `bars` bars of a ticker are from, in their order. */
export function originsOf(entry: TickerEntry, bars = entry.bars): IndexedOrigin[] {
  const { source, format, importedAt, origins = [{ source, format, importedAt, bars }] } = entry
  const placed: IndexedOrigin[] = []
  let from = 0
  for (const origin of origins) {
    if (from < bars) placed.push({ ...origin, from, bars: Math.min(origin.bars, bars - from) })
    from += origin.bars
  }
  return placed
}

/** What is said of a series beside its columns. */
export interface SeriesSummary {
  bars: number
  /** The day on which its last bar is final. */
  final: Day
  /** Of all fields, and those of them on the last bar. */
  events: number
  eventsOnLast: number
}

/** What is said of a ticker and its series. */
export interface TickerSummary {
  entry: TickerEntry
  marks: BarMarks
  /** First and last day of what each file brought, in their order. */
  stretches: readonly (readonly [first: Day, last: Day])[]
  daily: SeriesSummary
  weekly: SeriesSummary
}

/** A step from one bar to the next that no trading made: the bars from `day` on are `factor` times those up to `from`. */
export interface AcceptedJump {
  from: Day
  day: Day
  factor: number
}

/** The accepted jumps between the bars of a ticker. @param days of all of them */
export function jumpsOf(entry: TickerEntry, days: Int32Array): AcceptedJump[] {
  // Of most there are none, which is found out without placing them.
  if (!entry.origins?.some(({ jump }) => jump !== undefined)) return []
  return originsOf(entry).flatMap(({ from, jump }) =>
    jump === undefined ? [] : [{ from: days[from - 1]!, day: days[from]!, factor: jump }],
  )
}

/** The dates of a series: enough to know what was final when. */
export type Calendar = Pick<Series, 'days' | 'known'>

/** The definitions of a store whose bars are there, and what is derived from them is not. */
export const UNDERIVED = 'none'

/** What of the series of which tickers is to be read. */
export interface SeriesQuery {
  tickers: readonly string[]
  timeframe: Timeframe
  fields: readonly string[]
  /** What followed each bar, too: most of a series, and not needed to say when its band changed. */
  outcomes: boolean
}

/** Fields of one series. */
export interface RecordedSeries {
  entry: TickerEntry
  calendar: Calendar
  /** null: not asked for */
  outcomes: Outcomes | null
  /** Those that were asked for and have data. */
  fields: FieldColumns
  /** What an import had yet to record anew, at the same moment. */
  unsettled: readonly string[]
}

/** What one question needs of one series: its calendar, what followed each bar, and one field's events. */
export interface Recorded extends Omit<RecordedSeries, 'outcomes' | 'fields'> {
  outcomes: Outcomes
  /** null: the ticker has no data for the field */
  field: FieldRecord | null
}

/** What is said of a field's events beside them: its first bar and band, and how many there are. */
export interface FieldHead {
  initialBar: number
  initialBand: number
  events: number
}

/** A bar of each series of a ticker. */
export type BarBySeries = Record<Timeframe, number>

/**
 * What is stored of a ticker up to a bar of each series, as far as it takes to go on from there: codec.ts reads it, maybe
 * in another thread.
 */
export interface PackedTail extends Record<Timeframe, PackedEnd> {
  since: BarBySeries
  /** The hashes of the chunks of its bars, as its row has them. */
  hashes: string
}

export interface PackedEnd {
  /** What is said of its fields, and the hashes of its chunks, as its row has them. */
  fields: string
  hashes: string
  /** The last chunks of events, from the number `first` on; of what followed the one with the bar, where it is not its first. */
  first: number
  events: Uint8Array[]
  outcomes: Uint8Array | null
}

/** One ticker's bars with all that was derived from them; written as one. */
export interface TickerRecord {
  entry: TickerEntry
  daily: SeriesRecord | SeriesTail
  weekly: SeriesRecord | SeriesTail
  /**
   * What is there already and stays as it is: all before some bars, as it was read since which nothing else was written.
   * No ranks that ended before them are needed, and of fields no events but those that are in it. Absent: all of the
   * ticker is written.
   */
  stored?: PackedTail | undefined
}

/** Fields of one series of a ticker that is there already, to be replaced; null takes a field's events out. */
export interface Amendment {
  ticker: string
  timeframe: Timeframe
  fields: ReadonlyMap<string, FieldRecord | null>
}

/** One ticker's records of one kind, as they are to be from now on. */
export interface TickerSheet {
  ticker: string
  kind: FactKind
  sheet: FactSheet
}

/** One kind of a ticker's facts as they are kept. */
export interface SheetRow {
  ticker: string
  kind: FactKind
  records: number
  sheet: string
}

/** Everything that one step of an import changes; written as one, or not at all. */
export interface Batch {
  /** Tickers that go first, with all that there is of them. */
  removed?: readonly string[]
  /** Tickers to be replaced, whole or from a bar on. */
  records?: Iterable<TickerRecord>
  amendments?: Iterable<Amendment>
  sheets?: Iterable<TickerSheet>
  /** Tickers whose pulled events go, because bars come in their place. */
  unpulled?: readonly string[]
  /** What is behind from now on, in the words of who writes; as before unless given. */
  unsettled?: readonly string[]
}

/** Something that is not as it was written. */
export interface Damage {
  /** Empty where it is no ticker's. */
  ticker: string
  what: string
  /** What mends it, where something does but a backup. */
  mend: Remedy | null
}

/** What was read is not what was written; whoever can do without it may catch this. */
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

/** Who is writing. */
export interface Writer {
  pid: number
  host: string
  started: string
}

/** How it lies on its disk. */
export interface Footprint {
  /** The number of the schema, and the newest that this version knows. */
  schema: number
  newestSchema: number
  bytes: number
}

/**
 * Keeps bars and what was derived from them, and events that servers told; decides nothing. Coarse on purpose, so that a
 * database over a network answers as well as a file: one call a question, one call a written batch. Whoever reads is given
 * what was written, or a StorageError that names what is damaged.
 */
export interface Store {
  /** Where it lives, for messages. */
  readonly location: string
  /** Stays the same as long as nobody else writes; of what is written through this very store it need not tell. */
  version(): Promise<string>
  /** Pages of other tickers' events, as servers told them. */
  readonly pages: PageStore
  /** The definitions its derived rows were made with; UNDERIVED where they are yet to be made, '' where there is nothing. */
  definitions(): Promise<string>
  /** All tickers, ascending. */
  tickers(): Promise<TickerEntry[]>
  ticker(ticker: string): Promise<TickerEntry | null>
  /** The newest bar's date over all tickers, of those up to a day where one is given; null when there is none. */
  newestDay(upTo?: Day): Promise<Day | null>
  bars(ticker: string): Promise<Series | null>
  /** All facts about a ticker, whether or not it has bars; but for kinds that are not to be read. */
  sheets(ticker: string, but?: readonly FactKind[]): Promise<FactSheets>
  /** Every ticker of which bars were written, or anything: bars, facts, or pulled events; ascending. None is looked at. */
  names(what?: 'bars'): Promise<string[]>
  /** Every ticker of which there are facts, with or without bars; ascending. */
  factTickers(): Promise<string[]>
  /** What is known of tickers with or without bars, by ticker. */
  securities(): Promise<Map<string, Security>>
  /** What an import has yet to record anew, as it was written. */
  unsettled(): Promise<readonly string[]>
  /** In the order of the tickers, each of one moment; null: unknown ticker. */
  series(query: SeriesQuery): AsyncIterable<RecordedSeries | null>
  /** null: unknown ticker */
  recorded(ticker: string, timeframe: Timeframe, field: string): Promise<Recorded | null>
  /** What is stored of a ticker before some bars. @param from the first of which events are needed; null: unknown ticker */
  tail(ticker: string, since: BarBySeries, from: BarBySeries): Promise<PackedTail | null>
  /** All tickers, ascending, with what is kept of each beside its columns, which are not read. */
  summaries(): Promise<TickerSummary[]>
  /** Stays the same as long as what is recorded of a series does, which is not read; null: unknown ticker. */
  stamp(ticker: string, timeframe: Timeframe): Promise<string | null>
  /** Has everything that is read by some work be of one moment, whatever is written meanwhile; one at a time. */
  atOneMoment<T>(work: () => Promise<T>): Promise<T>
  /** All or none; stamps the store with the definitions. */
  write(batch: Batch, definitions: string): Promise<void>
  /** Takes out bars, events, facts, and what was pulled; false when there were none. `unsettled` as in a batch. */
  remove(ticker: string, unsettled?: readonly string[]): Promise<boolean>
  footprint(): Promise<Footprint>
  /** Re-computes every content hash and checks the file's own structure. */
  verify(): Promise<Damage[]>
  /** Takes the one writing place; throws Busy naming the holder. */
  lock(writer: Writer): Promise<void>
  unlock(writer: Writer): Promise<void>
  close(): Promise<void>
}

/** How often the writing place is looked at while another holds it, in milliseconds. */
const RETRY_MS = 200

/** Takes a store's one writing place. Throws Busy naming the holder, or with `wait` stays until it is free. */
export function lockForWriting(store: Store, writer: Writer, { wait = false } = {}): Promise<void> {
  return retryWhileBusy(() => store.lock(writer), wait)
}

/** What is said to the second who wants to write. @param holder undefined: it has not said who it is */
export function writerBusy(location: string, holder: Writer | undefined): Busy {
  const by = holder === undefined ? 'another process' : writerWords(holder)
  return new WriterBusy(
    sentence`${location} is being written by ${by}; try again later, or wait (${parameter('wait')})`,
  )
}

export function writerWords({ pid, host, started }: Writer): string {
  return `process ${pid} on ${host} since ${started}`
}

/**
 * Does what the writing place is needed for. Throws Busy naming the holder, or where that is waited for tries until it is
 * free; a database that is away is not waited for, as nobody says when it is back.
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
