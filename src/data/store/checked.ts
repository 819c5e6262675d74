import { countUpTo, type Day } from '../../core/model/day.js'
import { type FieldColumns, type FieldRecord, recordIn, recordsIn } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import { chunkOf, decodeCalendar, decodeEvents, decodeHeads, decodeOutcomes, HASH } from './codec.js'
import {
  BAR_PARTS,
  type ChunkList,
  chunkDamage,
  chunkHash,
  DAMAGE,
  DERIVED_PARTS,
  type DerivedPart,
  type EntryRow,
  entryHash,
  entryOf,
  type Hashed,
  hashesIn,
  missing,
  type Part,
  type SeriesName,
  type SeriesRow,
  seriesHash,
  sheetHash,
} from './content.js'
import {
  type BarBySeries,
  type Damage,
  Damaged,
  type FieldHead,
  type PackedEnd,
  type Recorded,
  type RecordedSeries,
  type SeriesQuery,
  type SheetRow,
  type Store,
} from './store.js'

/**
 * Checked rows: for questions, changes and verification, from any database. Each function throws Damaged if a row is
 * missing or differs from the written one.
 */

/** Where rows were read, for messages. */
export interface StoreLocation {
  readonly location: string
}

export function damaged({ location }: StoreLocation, damage: Damage): Damaged {
  return new Damaged(location, damage)
}

export function checkedEntry<Row extends Hashed<EntryRow>>(at: StoreLocation, row: Row): Row {
  if (!isSoundEntry(row)) throw damaged(at, DAMAGE.entry(row.ticker))
  return row
}

export function isSoundEntry(row: Hashed<EntryRow>): boolean {
  return entryHash(row) === row.hash
}

export function checkedSeries(at: StoreLocation, name: SeriesName, row: Hashed<SeriesRow> | undefined): SeriesRow {
  if (row === undefined) throw damaged(at, DAMAGE.series(name, 'missing'))
  if (seriesHash(name, row) !== row.hash) throw damaged(at, DAMAGE.series(name))
  return row
}

export function checkedSheet(at: StoreLocation, row: Hashed<SheetRow>): SheetRow {
  if (sheetHash(row) !== row.hash) throw damaged(at, DAMAGE.sheet(row.ticker, row.kind))
  return row
}

/** The kinds of a ticker's facts, but for some. @param listed what the list names of the ticker */
export function checkedSheets(
  at: StoreLocation,
  ticker: string,
  rows: readonly Hashed<SheetRow>[],
  listed: readonly string[],
  but: readonly string[],
): SheetRow[] {
  const found = new Set<string>(rows.map(({ kind }) => kind))
  for (const what of listed) if (!found.has(what) && !but.includes(what)) throw damaged(at, missing(ticker, what))
  return rows.filter(({ kind }) => !but.includes(kind)).map(row => checkedSheet(at, row))
}

export interface ChunkRow {
  chunk: number
  columns: Buffer
}

export interface PartRow extends ChunkRow {
  part: Part
}

/** All chunks of one part of a series, in their order. @param hashes of each of them, one after another */
export function checkedChunks(
  at: StoreLocation,
  name: SeriesName,
  part: Part,
  rows: readonly ChunkRow[],
  hashes: string,
): Buffer[] {
  const count = hashes.length / HASH
  if (rows.length !== count) throw damaged(at, chunkDamage(name, part, rows.length > count ? 'changed' : 'missing'))
  return rows.map((row, i) => checkedChunk(at, name, part, row, { hashes, chunk: i }))
}

function checkedChunk(
  at: StoreLocation,
  name: SeriesName,
  part: Part,
  { chunk, columns }: ChunkRow,
  due: { hashes: string; chunk: number },
): Buffer {
  const hash = due.hashes.slice(chunk * HASH, (chunk + 1) * HASH)
  if (chunk === due.chunk && chunkHash(name, part, chunk, columns) === hash) return columns
  throw damaged(at, chunkDamage(name, part, 'changed'))
}

/** Tickers whose series are read at one moment; decoded one by one. */
const TOGETHER = 32

/** Batches that start small and grow: a caller may need only the first tickers. */
export function* growingBatches(tickers: readonly string[]): Generator<readonly string[]> {
  for (let from = 0, some = 1; from < tickers.length; from += some, some = Math.min(2 * some, TOGETHER))
    yield tickers.slice(from, from + some)
}

/** The date of the newest bar up to a day. If a ticker's last bar is later than the day, its bars are read. */
export async function newestUpTo(store: Pick<Store, 'tickers' | 'bars'>, day: Day): Promise<Day | null> {
  let found = Number.NEGATIVE_INFINITY
  for (const { ticker, last } of await store.tickers()) {
    if (last <= day) found = Math.max(found, last)
    else {
      const { days } = (await store.bars(ticker))!
      found = Math.max(found, days[countUpTo(days, day) - 1] ?? found)
    }
  }
  return Number.isFinite(found) ? found : null
}

/**
 * Rows of one series, read at one moment. They are checked only when used, so each damage is reported where it
 * matters.
 */
export interface RawSeries extends SeriesName {
  entry: Hashed<EntryRow> | undefined
  /** Whether the list has bars of the ticker. */
  isListed: boolean
  series: Hashed<SeriesRow> | undefined
  /** Chunks of the needed parts, each part in order. */
  chunks: readonly PartRow[]
}

/** The parts of a series that a query needs. */
export function partsFor({ fields, outcomes }: Pick<SeriesQuery, 'fields' | 'outcomes'>): DerivedPart[] {
  return DERIVED_PARTS.filter(part => part === 'calendar' || (part === 'outcomes' ? outcomes : fields.length > 0))
}

/** The requested columns of a series; null: unknown ticker. */
export function checkedRecorded(
  at: StoreLocation,
  found: RawSeries,
  { fields, outcomes }: Pick<SeriesQuery, 'fields' | 'outcomes'>,
  unsettled: readonly string[],
): RecordedSeries | null {
  const { ticker, timeframe } = found
  if (found.entry === undefined && found.isListed) throw damaged(at, missing(ticker, 'bars'))
  if (found.entry === undefined) return null
  const entry = entryOf(checkedEntry(at, found.entry))
  const series = checkedSeries(at, found, found.series)
  const hashes = hashesIn(series)
  const heads = decodeHeads(series.fields, field => fields.includes(field))
  const chunks = (part: DerivedPart): Buffer[] => {
    const rows = found.chunks.filter(row => row.part === part)
    return checkedChunks(at, found, part, rows, hashes[part] ?? '')
  }
  return {
    entry,
    calendar: decodeCalendar(timeframe, chunks('calendar')),
    outcomes: outcomes ? decodeOutcomes(timeframe, chunks('outcomes')) : null,
    fields: fieldsIn(at, found, heads, () => chunks('events')),
    unsettled,
  }
}

/** One field of a series, with the returns after each bar. */
export function oneField(found: RecordedSeries | null, field: string): Recorded | null {
  if (found === null) return null
  const { outcomes, fields, ...series } = found
  return { ...series, outcomes: outcomes!, field: recordIn(fields, field) }
}

/** The events of some of the fields of a series. */
function fieldsIn(
  at: StoreLocation,
  name: SeriesName,
  heads: ReadonlyMap<string, FieldHead>,
  chunks: () => readonly Buffer[],
): FieldColumns {
  const found = decodeEvents(heads, heads.size === 0 ? [] : chunks())
  if (found === null) throw damaged(at, DAMAGE.events(name))
  return found
}

/** The events of the fields of a series with data, or of some of them. @param rows of the chunks of events */
export function recordsOf(
  at: StoreLocation,
  name: SeriesName,
  series: SeriesRow,
  rows: () => readonly ChunkRow[],
  isWanted?: (field: string) => boolean,
): Map<string, FieldRecord> {
  const chunks = (): Buffer[] => checkedChunks(at, name, 'events', rows(), hashesIn(series).events ?? '')
  return recordsIn(fieldsIn(at, name, decodeHeads(series.fields, isWanted), chunks))
}

/** The stored end of a series before a bar. @param rows its last chunks of events and outcomes */
export function packedEndBefore(
  at: StoreLocation,
  name: SeriesName,
  found: Hashed<SeriesRow> | undefined,
  rows: readonly PartRow[],
  { since, from }: { since: BarBySeries; from: BarBySeries },
): PackedEnd {
  const series = checkedSeries(at, name, found)
  const hashes = hashesIn(series)
  const first = chunkOf(from[name.timeframe])
  const own = chunkOf(since[name.timeframe])
  const of = (part: Part, chunk: number): Buffer[] => {
    const all = rows.filter(row => row.part === part && row.chunk >= chunk)
    const count = Math.max(0, (hashes[part] ?? '').length / HASH - chunk)
    if (all.length !== count) throw damaged(at, chunkDamage(name, part, all.length > count ? 'changed' : 'missing'))
    return all.map((row, i) => checkedChunk(at, name, part, row, { hashes: hashes[part]!, chunk: chunk + i }))
  }
  const { bars, fields, chunks } = series
  return { bars, fields, hashes: chunks, first, events: of('events', first), outcomes: of('outcomes', own) }
}

/** The stored rows of a ticker with bars, read on first use. */
export interface RawTicker {
  entry: Hashed<EntryRow>
  series(timeframe: Timeframe): Hashed<SeriesRow> | undefined
  chunks(timeframe: Timeframe, part: Part): readonly ChunkRow[]
}

/** All that is not as it was written. @param derived the series that must be there */
export function tickerDamages(at: StoreLocation, raw: RawTicker, derived: readonly Timeframe[]): Damage[] {
  const { entry } = raw
  const { ticker } = entry
  return [
    ...damagesIn(() => checkedEntry(at, entry)),
    ...partDamages(at, { ticker, timeframe: 'daily' }, BAR_PARTS, raw, entry),
    ...derived.flatMap(timeframe => seriesDamages(at, { ticker, timeframe }, raw)),
  ]
}

function seriesDamages(at: StoreLocation, name: SeriesName, raw: RawTicker): Damage[] {
  const row = raw.series(name.timeframe)
  const damages = damagesIn(() => checkedSeries(at, name, row))
  if (row === undefined || damages.length > 0) return damages
  const ofParts = partDamages(at, name, DERIVED_PARTS, raw, row)
  if (ofParts.length > 0) return ofParts
  return damagesIn(() => recordsOf(at, name, row, () => raw.chunks(name.timeframe, 'events')))
}

/** @param list names the hashes; a part that it does not name has no chunks */
function partDamages(
  at: StoreLocation,
  name: SeriesName,
  parts: readonly Part[],
  raw: RawTicker,
  list: ChunkList,
): Damage[] {
  const hashes = hashesIn(list)
  return parts.flatMap(part =>
    damagesIn(() => checkedChunks(at, name, part, raw.chunks(name.timeframe, part), hashes[part] ?? '')),
  )
}

/** The damages that a read throws. */
export function damagesIn(read: () => unknown): Damage[] {
  try {
    read()
    return []
  } catch (error) {
    if (error instanceof Damaged) return [error.damage]
    throw error
  }
}
