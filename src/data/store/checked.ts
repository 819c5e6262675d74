import { countUpTo, type Day } from '../../core/model/day.js'
import { type FieldColumns, type FieldRecord, recordIn, recordsIn } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { CHECKSUM_LENGTH } from './checksum.js'
import { decodeCalendar, decodeEvents, decodeHeads, decodeOutcomes, fullChunksBefore } from './codec.js'
import {
  type ChunkList,
  chunkDamage,
  chunkHash,
  DAMAGE,
  decodeChunkHashes,
  type EntryRow,
  entryHash,
  entryOf,
  type Hashed,
  missingItemDamage,
  type SeriesName,
  type SeriesRow,
  seriesHash,
  sheetHash,
} from './content.js'
import {
  BAR_PARTS,
  type BarBySeries,
  type Damage,
  Damaged,
  DERIVED_PARTS,
  type DerivedPart,
  type FieldHead,
  type PackedEnd,
  type Part,
  type Recorded,
  type RecordedSeries,
  type SeriesQuery,
  type SheetRow,
  type Store,
} from './store.js'

/**
 * Rows of any database, verified before use: for questions, changes and verification. Each function throws Damaged if a
 * row is missing or differs from the written one.
 */

/** Where rows were read, for messages. */
export interface StoreLocation {
  readonly location: string
}

export function damageError({ location }: StoreLocation, damage: Damage): Damaged {
  return new Damaged(location, damage)
}

/** Returns a ticker's row unchanged. Throws Damaged if its content differs from its hash. */
export function verifyEntry<Row extends Hashed<EntryRow>>(store: StoreLocation, row: Row): Row {
  if (!isSoundEntry(row)) throw damageError(store, DAMAGE.entry(row.ticker))
  return row
}

export function isSoundEntry(row: Hashed<EntryRow>): boolean {
  return entryHash(row, row.hash) === row.hash
}

/** Returns the row of a series. Throws Damaged if it is missing, or its content differs from its hash. */
export function verifySeriesRow(store: StoreLocation, name: SeriesName, row: Hashed<SeriesRow> | undefined): SeriesRow {
  if (row === undefined) throw damageError(store, DAMAGE.series(name, 'missing'))
  if (seriesHash(name, row, row.hash) !== row.hash) throw damageError(store, DAMAGE.series(name))
  return row
}

/** Returns a row of facts. Throws Damaged if its content differs from its hash. */
export function verifySheet(store: StoreLocation, row: Hashed<SheetRow>): SheetRow {
  if (sheetHash(row, row.hash) !== row.hash) throw damageError(store, DAMAGE.sheet(row.ticker, row.kind))
  return row
}

/**
 * The rows of a ticker's facts, except some kinds. Throws Damaged if a row is missing or changed.
 * @param listed the kinds that were written of the ticker, by the table `listed`
 */
export function verifySheets(
  store: StoreLocation,
  ticker: string,
  rows: readonly Hashed<SheetRow>[],
  listed: readonly string[],
  except: readonly string[],
): SheetRow[] {
  const storedKinds = new Set<string>(rows.map(({ kind }) => kind))
  for (const what of listed)
    if (!storedKinds.has(what) && !except.includes(what)) throw damageError(store, missingItemDamage(ticker, what))
  return rows.filter(({ kind }) => !except.includes(kind)).map(row => verifySheet(store, row))
}

export interface ChunkRow {
  chunk: number
  columns: Buffer
}

export interface PartRow extends ChunkRow {
  part: Part
}

/** All chunks of one part of a series, in their order. @param hashes the expected hashes, one after another */
export function verifyChunks(
  store: StoreLocation,
  name: SeriesName,
  part: Part,
  rows: readonly ChunkRow[],
  hashes: string,
): Buffer[] {
  const count = hashes.length / CHECKSUM_LENGTH
  if (rows.length !== count)
    throw damageError(store, chunkDamage(name, part, rows.length > count ? 'changed' : 'missing'))
  return rows.map((row, i) => verifyChunk(store, name, part, row, { hashes, chunk: i }))
}

/** The bytes of a chunk. Throws Damaged if it is not the expected one, or its hash differs. */
function verifyChunk(
  store: StoreLocation,
  name: SeriesName,
  part: Part,
  { chunk, columns }: ChunkRow,
  expected: { hashes: string; chunk: number },
): Buffer {
  const hash = expected.hashes.slice(chunk * CHECKSUM_LENGTH, (chunk + 1) * CHECKSUM_LENGTH)
  if (chunk === expected.chunk && chunkHash(name, part, chunk, columns, hash) === hash) return columns
  throw damageError(store, chunkDamage(name, part, 'changed'))
}

/** The most tickers whose series are read at one moment. */
const MAX_BATCH = 32

/** Splits tickers into batches of 1, 2, 4 … up to MAX_BATCH, because a caller may need only the first tickers. */
export function* growingBatches(tickers: readonly string[]): Generator<readonly string[]> {
  let size = 1
  for (let from = 0; from < tickers.length; ) {
    yield tickers.slice(from, from + size)
    from += size
    size = Math.min(2 * size, MAX_BATCH)
  }
}

/** The date of the newest bar of all tickers up to a day; null if there is none. Reads the bars of later tickers. */
export async function newestUpTo(store: Pick<Store, 'tickers' | 'bars'>, day: Day): Promise<Day | null> {
  let newest = Number.NEGATIVE_INFINITY
  for (const { ticker, last } of await store.tickers()) {
    if (last <= day) newest = Math.max(newest, last)
    else {
      const { days } = (await store.bars(ticker))!
      newest = Math.max(newest, days[countUpTo(days, day) - 1] ?? newest)
    }
  }
  return Number.isFinite(newest) ? newest : null
}

/**
 * Rows of one series, read at one moment. They are checked only when used, so each damage is reported where it matters.
 */
export interface RawSeries extends SeriesName {
  entry: Hashed<EntryRow> | undefined
  /** Whether the ticker is listed as having bars, but its row is missing. */
  isLost: boolean
  series: Hashed<SeriesRow> | undefined
  /** Chunks of the needed parts, each part in order. */
  chunks: readonly PartRow[]
}

/** The parts of a series that a query needs: its calendar always, outcomes and events if they are requested. */
export function neededParts({ fields, outcomes }: Pick<SeriesQuery, 'fields' | 'outcomes'>): DerivedPart[] {
  const isNeeded = { calendar: true, outcomes, events: fields.length > 0 }
  return DERIVED_PARTS.filter(part => isNeeded[part])
}

/**
 * Checks the rows of a series and decodes its requested columns; null: unknown ticker. Throws Damaged.
 * @param unsettled the tickers and sectors that an import still has to derive, for the result
 */
export function decodeSeries(
  store: StoreLocation,
  raw: RawSeries,
  { fields, outcomes }: Pick<SeriesQuery, 'fields' | 'outcomes'>,
  unsettled: readonly string[],
): RecordedSeries | null {
  const { ticker, timeframe } = raw
  if (raw.isLost) throw damageError(store, missingItemDamage(ticker, 'bars'))
  if (raw.entry === undefined) return null
  const entry = entryOf(verifyEntry(store, raw.entry))
  const series = verifySeriesRow(store, raw, raw.series)
  const hashes = decodeChunkHashes(series)
  const heads = decodeHeads(series.fields, field => fields.includes(field))
  const chunksOf = (part: DerivedPart): Buffer[] => {
    const rows = raw.chunks.filter(row => row.part === part)
    return verifyChunks(store, raw, part, rows, hashes[part] ?? '')
  }
  return {
    entry,
    calendar: decodeCalendar(timeframe, chunksOf('calendar')),
    outcomes: outcomes ? decodeOutcomes(timeframe, chunksOf('outcomes')) : null,
    fields: decodeFields(store, raw, heads, () => chunksOf('events')),
    unsettled,
  }
}

/** One field of a series that was read with outcomes; null if the series is null. */
export function recordedOf(series: RecordedSeries | null, field: string): Recorded | null {
  if (series === null) return null
  const { outcomes, fields, ...shared } = series
  return { ...shared, outcomes: outcomes!, field: recordIn(fields, field) }
}

/**
 * The events of some fields of a series. Throws Damaged if their numbers differ from the heads.
 * @param readChunks reads the chunks of events; not called without wanted fields
 */
function decodeFields(
  store: StoreLocation,
  name: SeriesName,
  heads: ReadonlyMap<string, FieldHead>,
  readChunks: () => readonly Buffer[],
): FieldColumns {
  const events = decodeEvents(heads, heads.size === 0 ? [] : readChunks())
  if (events === null) throw damageError(store, DAMAGE.events(name))
  return events
}

/**
 * The events of a series by field. Throws Damaged for a missing or changed chunk.
 * @param readRows reads the rows of its chunks of events
 * @param isWanted selects fields (default: all)
 */
export function decodeRecords(
  store: StoreLocation,
  name: SeriesName,
  series: SeriesRow,
  readRows: () => readonly ChunkRow[],
  isWanted?: (field: string) => boolean,
): Map<string, FieldRecord> {
  const hashes = decodeChunkHashes(series).events ?? ''
  const readChunks = (): Buffer[] => verifyChunks(store, name, 'events', readRows(), hashes)
  return recordsIn(decodeFields(store, name, decodeHeads(series.fields, isWanted), readChunks))
}

/**
 * The stored end of a series: the heads of its fields (initial band, number of events) and the hashes of its chunks.
 * Also its last chunks of events, from number `first` on, and of outcomes. Throws Damaged for a missing or changed row.
 * @param rows its last chunks of events and outcomes
 * @param bars per timeframe, `since`: the first bar that may change; `from`: the first bar whose events are needed
 */
export function packedEndOf(
  store: StoreLocation,
  name: SeriesName,
  storedRow: Hashed<SeriesRow> | undefined,
  rows: readonly PartRow[],
  { since, from }: { since: BarBySeries; from: BarBySeries },
): PackedEnd {
  const series = verifySeriesRow(store, name, storedRow)
  const decodedHashes = decodeChunkHashes(series)
  const firstEvents = fullChunksBefore(from[name.timeframe])
  const firstOutcomes = fullChunksBefore(since[name.timeframe])
  const chunksFrom = (part: Part, firstChunk: number): Buffer[] => {
    const rowsOfPart = rows.filter(row => row.part === part && row.chunk >= firstChunk)
    const count = Math.max(0, (decodedHashes[part] ?? '').length / CHECKSUM_LENGTH - firstChunk)
    if (rowsOfPart.length !== count)
      throw damageError(store, chunkDamage(name, part, rowsOfPart.length > count ? 'changed' : 'missing'))
    return rowsOfPart.map((row, i) =>
      verifyChunk(store, name, part, row, { hashes: decodedHashes[part]!, chunk: firstChunk + i }),
    )
  }
  const { bars, fields, chunks } = series
  return {
    bars,
    fields,
    hashes: chunks,
    first: firstEvents,
    events: chunksFrom('events', firstEvents),
    outcomes: chunksFrom('outcomes', firstOutcomes),
  }
}

/** The stored rows of a ticker with bars, read on first use. */
export interface RawTicker {
  entry: Hashed<EntryRow>
  series(timeframe: Timeframe): Hashed<SeriesRow> | undefined
  chunks(timeframe: Timeframe, part: Part): readonly ChunkRow[]
}

/** All damages of a ticker's bars and series. @param derivedTimeframes the timeframes whose series must exist */
export function tickerDamages(store: StoreLocation, raw: RawTicker, derivedTimeframes: readonly Timeframe[]): Damage[] {
  const { entry } = raw
  const { ticker } = entry
  return [
    ...collectDamage(() => verifyEntry(store, entry)),
    ...damagesOfChunks(store, { ticker, timeframe: 'daily' }, BAR_PARTS, raw, entry),
    ...derivedTimeframes.flatMap(timeframe => seriesDamages(store, { ticker, timeframe }, raw)),
  ]
}

/**
 * The damages of a series: of its row, otherwise of its chunks, otherwise of the events that they hold. It stops at the
 * first of these with a damage, which the next ones depend on. A missing row is a damage.
 */
function seriesDamages(store: StoreLocation, name: SeriesName, raw: RawTicker): Damage[] {
  const row = raw.series(name.timeframe)
  const rowDamages = collectDamage(() => verifySeriesRow(store, name, row))
  if (row === undefined || rowDamages.length > 0) return rowDamages
  const chunkDamages = damagesOfChunks(store, name, DERIVED_PARTS, raw, row)
  if (chunkDamages.length > 0) return chunkDamages
  return collectDamage(() => decodeRecords(store, name, row, () => raw.chunks(name.timeframe, 'events')))
}

/** The damages of the chunks of some parts. @param list the row with their hashes; a part without any has no chunks */
function damagesOfChunks(
  store: StoreLocation,
  name: SeriesName,
  parts: readonly Part[],
  raw: RawTicker,
  list: ChunkList,
): Damage[] {
  const hashes = decodeChunkHashes(list)
  return parts.flatMap(part =>
    collectDamage(() => verifyChunks(store, name, part, raw.chunks(name.timeframe, part), hashes[part] ?? '')),
  )
}

/** The damage that a read throws as Damaged, in a list; empty if it throws nothing. */
export function collectDamage(read: () => unknown): Damage[] {
  try {
    read()
    return []
  } catch (error) {
    if (error instanceof Damaged) return [error.damage]
    throw error
  }
}
