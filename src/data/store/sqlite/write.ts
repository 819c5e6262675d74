import type { Timeframe } from '../../../core/model/terms.js'
import {
  type ColumnValues,
  encodeChunkHashes,
  entryColumnValues,
  entryRowOf,
  type SeriesRow,
  seriesColumnValues,
} from '../content.js'
import { amendSeries, pack } from '../packed.js'
import { assetClassChange, sheetRowOf } from '../sheets.js'
import type { Amendment, PackedPart, PackedRecord, Part, TickerRecord, TickerSheet } from '../store.js'
import type { Session } from './connection.js'
import { addToListed } from './pages.js'
import { chunkRows, entryRow, type Numbered, seriesRow } from './read.js'

/**
 * Replaces one ticker, but writes only the chunks that differ. If the record is a tail (earlier stored chunks stay),
 * all its chunks are written. Must be called inside a transaction. @param record may be packed already
 */
export function putRecord(db: Session, record: TickerRecord | PackedRecord): void {
  const { entry, isTail, bars, daily, weekly } = 'isTail' in record ? record : pack(record)
  const { ticker } = entry
  const { id } = upsert(db, 'tickers', ['ticker'], entryColumnValues(entryRowOf(entry, bars)))
  const chunks: NewChunk[] = []
  for (const { timeframe, parts } of [{ ...daily, parts: [...bars, ...daily.parts] }, weekly]) {
    const chunksToWrite = isTail ? cutToNewChunks : cutToChangedChunks
    for (const part of parts) chunks.push(...chunksToWrite(db, id, timeframe, part))
  }
  if (!isTail && !bars.some(({ part }) => part === 'unadjusted'))
    db.run(DELETE_CHUNKS_FROM, id, 'daily', 'unadjusted', 0)
  // Lost rows are noticed by `listed`, which has the ticker of a tail already.
  if (!isTail) addToListed(db, ticker, 'bars')
  // The last chunks of all parts are written next to each other, because a new bar changes all of them.
  for (const chunk of chunks) if (!chunk.isLast) putChunk(db, id, chunk)
  for (const chunk of chunks) if (chunk.isLast) putChunk(db, id, chunk)
  for (const { timeframe, summary, parts } of [daily, weekly])
    putSeriesRow(db, { id, ticker }, timeframe, { ...summary, chunks: encodeChunkHashes(parts) })
}

type Chunks = Omit<PackedPart, 'hashes'>

interface NewChunk {
  timeframe: Timeframe
  part: Part
  chunk: number
  columns: Uint8Array
  isLast: boolean
}

/** Deletes the stored chunks after the new ones of a part, and returns all new ones. */
function cutToNewChunks(
  db: Session,
  id: number,
  timeframe: Timeframe,
  { part, first, chunks, endsBeforeStored }: Chunks,
): NewChunk[] {
  if (endsBeforeStored) db.run(DELETE_CHUNKS_FROM, id, timeframe, part, first + chunks.length)
  return chunks.map((columns, i) => ({ timeframe, part, chunk: first + i, columns, isLast: i === chunks.length - 1 }))
}

/** Deletes the stored chunks after the new ones of a part, and returns the new ones that differ from the stored. */
function cutToChangedChunks(db: Session, id: number, timeframe: Timeframe, part: Chunks): NewChunk[] {
  const storedRows = db.all<{ chunk: number; columns: Buffer }>(
    SELECT_CHUNKS_FROM,
    id,
    timeframe,
    part.part,
    part.first,
  )
  const stored = new Map(storedRows.map(({ chunk, columns }) => [chunk, columns]))
  const end = part.first + part.chunks.length
  const endsBeforeStored = storedRows.some(({ chunk }) => chunk >= end)
  // Compares the bytes and not the hashes, so that damaged chunks are repaired.
  return cutToNewChunks(db, id, timeframe, { ...part, endsBeforeStored }).filter(
    ({ chunk, columns }) => stored.get(chunk)?.equals(columns) !== true,
  )
}

function putChunk(db: Session, id: number, { timeframe, part, chunk, columns }: NewChunk): void {
  db.run(PUT_CHUNK, id, timeframe, part, chunk, columns)
}

const WHERE_PART_FROM = 'ticker_id = ? AND timeframe = ? AND part = ? AND chunk >= ?'
const SELECT_CHUNKS_FROM = `SELECT chunk, columns FROM chunks WHERE ${WHERE_PART_FROM}`
const DELETE_CHUNKS_FROM = `DELETE FROM chunks WHERE ${WHERE_PART_FROM}`
const PUT_CHUNK = `INSERT INTO chunks (ticker_id, timeframe, part, chunk, columns) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET columns = excluded.columns`

function putSeriesRow(db: Session, { id, ticker }: Numbered, timeframe: Timeframe, row: SeriesRow): void {
  const values = { ticker_id: id, ...seriesColumnValues({ ticker, timeframe }, row) }
  upsert(db, 'series', ['ticker_id', 'timeframe'], values)
}

/** Inserts or replaces the row with a key, and returns its row number, which stays the same. */
function upsert(db: Session, table: 'tickers' | 'series', key: readonly string[], row: ColumnValues): { id: number } {
  // All rows of a table have the same columns.
  upserts[table] ??= upsertSql(table, key, Object.keys(row))
  return db.get<{ id: number }>(upserts[table], ...Object.values(row))!
}

const upserts: { tickers?: string; series?: string } = {}

function upsertSql(table: string, key: readonly string[], columns: readonly string[]): string {
  const values = columns.map(() => '?')
  const changed = columns.filter(name => !key.includes(name)).map(name => `${name} = excluded.${name}`)
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changed.join(', ')} RETURNING rowid AS id`
}

/** Replaces some fields of one series. A missing ticker is skipped. */
export function putAmendment(db: Session, { ticker, timeframe, fields }: Amendment): void {
  const entry = entryRow(db, ticker)
  if (entry === undefined) return
  const series = seriesRow(db, entry, timeframe)
  const stored = (): ReturnType<typeof chunkRows> => chunkRows(db, entry, timeframe, 'events')
  const { row, part } = amendSeries(db, { ticker, timeframe, fields }, series, stored)
  for (const chunk of cutToChangedChunks(db, entry.id, timeframe, part)) putChunk(db, entry.id, chunk)
  putSeriesRow(db, entry, timeframe, row)
}

/** Replaces one kind of a ticker's facts, and its entry in `listed`; without records both are deleted. */
export function putSheet(db: Session, { ticker, kind, sheet }: TickerSheet): void {
  db.run('DELETE FROM facts WHERE ticker = ? AND kind = ?', ticker, kind)
  if (sheet.rows.length === 0) {
    db.run('DELETE FROM listed WHERE ticker = ? AND what = ?', ticker, kind)
    return
  }
  const row = sheetRowOf({ ticker, kind, sheet })
  const values = [ticker, kind, row.records, row.hash, row.sheet]
  db.run('INSERT INTO facts (ticker, kind, records, hash, sheet) VALUES (?, ?, ?, ?, ?)', ...values)
  addToListed(db, ticker, kind)
  if (kind !== 'securities') return
  // The ticker's row repeats the asset class.
  const entry = entryRow(db, ticker)
  if (entry === undefined) return
  const { assetClass, hash } = assetClassChange(entry, { ticker, kind, sheet })
  db.run('UPDATE tickers SET asset_class = ?, hash = ? WHERE id = ?', assetClass, hash, entry.id)
}
