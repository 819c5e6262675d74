import { formatDay, parseDay } from '../../model/day.js'
import {
  FACT_COLUMNS,
  type FactColumn,
  type FactKind,
  type FactSheet,
  type FactSource,
  securityOf,
} from '../../model/facts.js'
import type { Timeframe } from '../../model/terms.js'
import { CHUNK, encodeEvents, HASH, keepRanks } from '../codec.js'
import type {
  Amendment,
  PackedPart,
  PackedRecord,
  PackedSeries,
  TickerEntry,
  TickerRecord,
  TickerSheet,
} from '../store.js'
import type { Session } from './connection.js'
import { chunkHash, type EntryRow, entryHash, type Part, type SeriesRow, seriesHash, sheetHash } from './content.js'
import { chunkOf, countsOf, pack, packedPart, unpacking } from './packed.js'
import { chunkAt, entryRow, hashesIn, type Numbered, recordsOf, seriesRow } from './read.js'

/**
 * Puts one ticker in place of whatever was there, and of its chunks only those that differ; those that end before `since`
 * are not looked at. To be called inside a transaction.
 */
export function putRecord(db: Session, record: TickerRecord | PackedRecord): void {
  const whole = 'bytes' in record ? record : pack(record)
  const { entry, since, bars, daily, weekly } = whole
  const { ticker } = entry
  const chunksOf = unpacking(whole)
  const before = since === undefined ? undefined : entryRow(db, ticker)
  const parts = barTails(bars, chunksOf, chunkOf(since?.daily), before === undefined ? {} : hashesIn(before))
  const id = putEntry(db, { ...rowOf(entry), chunks: hashesOf(parts) })
  for (const tail of parts) putTail(db, id, 'daily', tail)
  if (!parts.some(({ part }) => part === 'unadjusted')) putTail(db, id, 'daily', { ...NO_CHUNKS, part: 'unadjusted' })
  list(db, ticker, 'bars')
  putSeries(db, { id, ticker }, daily, chunksOf, since?.daily)
  putSeries(db, { id, ticker }, weekly, chunksOf, since?.weekly)
}

type ChunksOf = ReturnType<typeof unpacking>

/** Chunks of one part from one of them on, and the hashes of all, those before too. */
interface Tail {
  part: Part
  first: number
  chunks: readonly Buffer[]
  hashes: string
}

const NO_CHUNKS = { first: 0, chunks: [], hashes: '' }

/** @param stored the hashes of what is kept now, of the parts that are there */
function tailOf(
  { part, first, hashes }: Omit<PackedPart, 'sizes'>,
  chunks: readonly Buffer[],
  stored: Partial<Record<Part, string>>,
): Tail {
  const before = (stored[part] ?? '').slice(0, first * HASH)
  if (before.length < first * HASH)
    throw new RangeError(`${part}: chunks before ${first} are to stay, and are not there`)
  return { part, first, chunks, hashes: before + hashes }
}

/** Those of unadjusted closes are all given, and are all written where none are there. */
function barTails(
  bars: readonly PackedPart[],
  chunksOf: ChunksOf,
  since: number,
  stored: Partial<Record<Part, string>>,
): Tail[] {
  return bars.map(given => {
    const { part, first, hashes } = given
    const from = stored[part] === undefined ? first : since
    const kept = { part, first: from, hashes: hashes.slice((from - first) * HASH) }
    return tailOf(kept, chunksOf(given).slice(from - first), stored)
  })
}

function hashesOf(tails: readonly Tail[], others: Partial<Record<Part, string>> = {}): string {
  return JSON.stringify({ ...others, ...Object.fromEntries(tails.map(({ part, hashes }) => [part, hashes])) })
}

/** Writes the chunks that are not there as they are to be, and takes out those after them. */
function putTail(db: Session, id: number, timeframe: Timeframe, { part, first, chunks }: Tail): void {
  const there = db.all<{ chunk: number; columns: Buffer }>(TAIL, id, timeframe, part, first)
  const stored = new Map(there.map(({ chunk, columns }) => [chunk, columns]))
  // Their bytes, and not their hashes: what is damaged is mended.
  for (const [i, columns] of chunks.entries())
    if (stored.get(first + i)?.equals(columns) !== true) db.run(PUT_CHUNK, id, timeframe, part, first + i, columns)
  const end = first + chunks.length
  if (there.some(({ chunk }) => chunk >= end)) db.run(CUT_CHUNKS, id, timeframe, part, end)
}

const OF_PART = 'ticker_id = ? AND timeframe = ? AND part = ? AND chunk >= ?'
const TAIL = `SELECT chunk, columns FROM chunks WHERE ${OF_PART}`
const CUT_CHUNKS = `DELETE FROM chunks WHERE ${OF_PART}`
const PUT_CHUNK = `INSERT INTO chunks (ticker_id, timeframe, part, chunk, columns) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET columns = excluded.columns`

/** Says in the list that there is something of a ticker. */
function list(db: Session, ticker: string, what: string): void {
  db.run('INSERT OR IGNORE INTO listed (ticker, what) VALUES (?, ?)', ticker, what)
}

function putSeries(db: Session, of: Numbered, series: PackedSeries, chunksOf: ChunksOf, since = 0): void {
  const { timeframe, summary, parts } = series
  const before = since === 0 ? {} : hashesIn(seriesRow(db, of, timeframe))
  const tails = parts.map(part => tailOf(part, chunksOf(part), before))
  if (since % CHUNK > 0) for (const tail of tails) if (tail.part === 'outcomes') keepStoredRanks(tail)
  for (const tail of tails) putTail(db, of.id, timeframe, tail)
  putSeriesRow(db, of, timeframe, { ...summary, chunks: hashesOf(tails) })

  function keepStoredRanks(tail: Tail): void {
    const { first } = tail
    const stored = chunkAt(db, of, timeframe, { part: 'outcomes', chunk: first }, before)
    keepRanks(tail.chunks[0]!, stored, since % CHUNK, timeframe)
    const hash = chunkHash({ ticker: of.ticker, timeframe }, 'outcomes', first, tail.chunks[0]!)
    tail.hashes = tail.hashes.slice(0, first * HASH) + hash + tail.hashes.slice((first + 1) * HASH)
  }
}

function putSeriesRow(db: Session, { id, ticker }: Numbered, timeframe: Timeframe, row: SeriesRow): void {
  const hash = seriesHash({ ticker, timeframe }, row)
  const { bars, final, events, eventsOnLast, fields, marks, chunks } = row
  db.run(PUT_SERIES, id, timeframe, bars, final, events, eventsOnLast, fields, marks, chunks, hash)
}

const PUT_SERIES = `INSERT INTO series (ticker_id, timeframe, bars, final_date, events, events_on_last, fields, marks,
    chunks, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET bars = excluded.bars, final_date = excluded.final_date, events = excluded.events,
    events_on_last = excluded.events_on_last, fields = excluded.fields, marks = excluded.marks, chunks = excluded.chunks,
    hash = excluded.hash`

/** Puts some fields of one series in place of what they were. A ticker that is not there stays away. */
export function putAmendment(db: Session, { ticker, timeframe, fields }: Amendment): void {
  const row = entryRow(db, ticker)
  if (row === undefined) return
  const series = seriesRow(db, row, timeframe)
  const hashes = hashesIn(series)
  const records = recordsOf(db, row, timeframe, series, field => !fields.has(field))
  for (const [field, record] of fields) if (record !== null) records.set(field, record)
  const chunks: Buffer[] = []
  const part = packedPart({ ticker, timeframe }, 'events', 0, encodeEvents(records, series.bars), chunks)
  const tail = tailOf(part, chunks, {})
  putTail(db, row.id, timeframe, tail)
  const counts = countsOf(records, series.bars)
  putSeriesRow(db, row, timeframe, { ...series, ...counts, chunks: hashesOf([tail], hashes) })
}

/** Puts one kind of a ticker's facts in place of what they were; without records it goes. */
export function putSheet(db: Session, { ticker, kind, sheet }: TickerSheet): void {
  db.run('DELETE FROM facts WHERE ticker = ? AND kind = ?', ticker, kind)
  if (sheet.rows.length === 0) {
    db.run('DELETE FROM listed WHERE ticker = ? AND what = ?', ticker, kind)
    return
  }
  const row = { ticker, kind, records: sheet.rows.length, sheet: encodeSheet(kind, sheet) }
  const values = [ticker, kind, row.records, sheetHash(row), row.sheet]
  db.run('INSERT INTO facts (ticker, kind, records, hash, sheet) VALUES (?, ?, ?, ?, ?)', ...values)
  list(db, ticker, kind)
  if (kind !== 'securities') return
  const entry = entryRow(db, ticker)
  if (entry === undefined) return
  const { asset_class } = securityOf({ securities: sheet as FactSheet<'securities'> })!
  const hash = entryHash({ ...entry, assetClass: asset_class })
  db.run('UPDATE tickers SET asset_class = ?, hash = ? WHERE id = ?', asset_class, hash, entry.id)
}

function rowOf({ first, last, origins, ...entry }: TickerEntry): Omit<EntryRow, 'chunks'> {
  return {
    ...entry,
    first: formatDay(first),
    last: formatDay(last),
    origins: origins === undefined ? null : JSON.stringify(origins),
  }
}

/** Its number, which stays what it is. */
function putEntry(db: Session, row: EntryRow): number {
  const { ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins, chunks } = row
  const values = [ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins, chunks]
  return db.get<{ id: number }>(PUT_ENTRY, ...values, entryHash(row))!.id
}

const PUT_ENTRY = `INSERT INTO tickers (ticker, asset_class, prices, bars, first_date, last_date, source, format,
    imported_at, origins, chunks, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (ticker) DO UPDATE SET asset_class = excluded.asset_class, prices = excluded.prices, bars = excluded.bars,
    first_date = excluded.first_date, last_date = excluded.last_date, source = excluded.source, format = excluded.format,
    imported_at = excluded.imported_at, origins = excluded.origins, chunks = excluded.chunks, hash = excluded.hash
  RETURNING id`

/** Records as text that a SQL tool can read: columns by name, dates as `YYYY-MM-DD`. */
interface SheetText {
  sources: readonly FactSource[]
  columns: readonly string[]
  /** The number of the source, then a value for each column. */
  rows: readonly (readonly (string | number | null)[])[]
}

function encodeSheet(kind: FactKind, { sources, rows }: FactSheet): string {
  const records = rows.map(({ record }) => record as unknown as Readonly<Record<string, string | number | null>>)
  const columns = FACT_COLUMNS[kind]
    .filter(({ name, rare }) => rare !== true || records.some(record => record[name] !== undefined))
    .map(({ name, holds }) => ({ name, isDate: holds === 'date' }))
  const encoded = (value: string | number | null | undefined, isDate: boolean): string | number | null =>
    isDate && value != null ? formatDay(value as number) : (value ?? null)
  const text: SheetText = {
    sources,
    columns: columns.map(({ name }) => name),
    rows: records.map((record, i) => [
      rows[i]!.source,
      ...columns.map(({ name, isDate }) => encoded(record[name], isDate)),
    ]),
  }
  return JSON.stringify(text)
}

export function decodeSheet(kind: FactKind, json: string): FactSheet {
  const { sources, columns, rows } = JSON.parse(json) as SheetText
  const named = (test: (column: FactColumn) => boolean): ReadonlySet<string> =>
    new Set(FACT_COLUMNS[kind].filter(test).map(({ name }) => name))
  const dates = named(({ holds }) => holds === 'date')
  const rare = named(column => column.rare === true)
  return {
    sources,
    rows: rows.map(([source, ...values]) => {
      const told = columns.flatMap((name, i) => (values[i] === null && rare.has(name) ? [] : [[name, values[i]!]]))
      const pairs = told.map(([name, value]) => [name, dates.has(name as string) ? parseDay(value as string) : value])
      return { source: source as number, record: Object.fromEntries(pairs) }
    }),
  }
}
