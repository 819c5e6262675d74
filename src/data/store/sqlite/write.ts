import type { Timeframe } from '../../../core/model/terms.js'
import {
  type ColumnValues,
  entryRowOf,
  type Hashed,
  hashesOf,
  type SeriesRow,
  writtenEntry,
  writtenSeries,
} from '../content.js'
import { amended, type PackedPart, pack } from '../packed.js'
import { entryChange, sheetRowOf } from '../sheets.js'
import type { Amendment, SheetRow, TickerRecord, TickerSheet } from '../store.js'
import type { Session } from './connection.js'
import { list } from './pages.js'
import { chunkRows, entryRow, type Numbered, seriesRow } from './read.js'

/**
 * Replaces one ticker, but writes only the chunks that differ. If stored data remain valid, only later chunks are
 * written. Must be called inside a transaction.
 */
export function putRecord(db: Session, record: TickerRecord): void {
  const { entry, isTail, bars, daily, weekly } = pack(record)
  const { ticker } = entry
  const { id } = put(db, 'tickers', 'ticker', writtenEntry(entryRowOf(entry, bars)))
  const putChunksOf = isTail ? putChunks : putPart
  for (const part of bars) putChunksOf(db, id, 'daily', part)
  if (!isTail && !bars.some(({ part }) => part === 'unadjusted')) putPart(db, id, 'daily', NO_UNADJUSTED)
  if (!isTail) list(db, ticker, 'bars')
  for (const { timeframe, summary, parts } of [daily, weekly]) {
    for (const part of parts) putChunksOf(db, id, timeframe, part)
    putSeriesRow(db, { id, ticker }, timeframe, { ...summary, chunks: hashesOf(parts) })
  }
}

type Chunks = Omit<PackedPart, 'hashes'>

const NO_UNADJUSTED: Chunks = { part: 'unadjusted', first: 0, chunks: [] }

function putChunks(db: Session, id: number, timeframe: Timeframe, { part, first, chunks }: Chunks): void {
  for (let i = 0; i < chunks.length; i++) db.run(PUT_CHUNK, id, timeframe, part, first + i, chunks[i]!)
}

/** Writes the chunks that differ, and deletes those after them. */
function putPart(db: Session, id: number, timeframe: Timeframe, { part, first, chunks }: Chunks): void {
  const there = db.all<{ chunk: number; columns: Buffer }>(TAIL, id, timeframe, part, first)
  const stored = new Map(there.map(({ chunk, columns }) => [chunk, columns]))
  // Compares the bytes and not the hashes, so that damaged chunks are repaired.
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

function putSeriesRow(db: Session, { id, ticker }: Numbered, timeframe: Timeframe, row: SeriesRow): void {
  put(db, 'series', 'ticker_id, timeframe', { ticker_id: id, ...writtenSeries({ ticker, timeframe }, row) })
}

/** Replaces the row with that key. @returns its unchanged number */
function put(db: Session, table: string, key: string, row: ColumnValues): { id: number } {
  const names = Object.keys(row)
  const [values, changed] = [names.map(() => '?'), names.map(name => `${name} = excluded.${name}`)]
  const sql = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values.join(', ')})
    ON CONFLICT (${key}) DO UPDATE SET ${changed.join(', ')} RETURNING rowid AS id`
  return db.get<{ id: number }>(sql, ...Object.values(row))!
}

/** Replaces some fields of one series. A missing ticker is skipped. */
export function putAmendment(db: Session, { ticker, timeframe, fields }: Amendment): void {
  const entry = entryRow(db, ticker)
  if (entry === undefined) return
  const series = seriesRow(db, entry, timeframe)
  const stored = (): ReturnType<typeof chunkRows> => chunkRows(db, entry, timeframe, 'events')
  const { row, part } = amended(db, { ticker, timeframe, fields }, series, stored)
  putPart(db, entry.id, timeframe, part)
  putSeriesRow(db, entry, timeframe, row)
}

/** Replaces one kind of a ticker's facts; without records the kind is deleted. */
export function putSheet(db: Session, { ticker, kind, sheet }: TickerSheet): void {
  db.run('DELETE FROM facts WHERE ticker = ? AND kind = ?', ticker, kind)
  if (sheet.rows.length === 0) {
    db.run('DELETE FROM listed WHERE ticker = ? AND what = ?', ticker, kind)
    return
  }
  insertSheet(db, sheetRowOf({ ticker, kind, sheet }))
  if (kind !== 'securities') return
  const entry = entryRow(db, ticker)
  if (entry === undefined) return
  const { assetClass, hash } = entryChange(entry, { ticker, kind, sheet })
  db.run('UPDATE tickers SET asset_class = ?, hash = ? WHERE id = ?', assetClass, hash, entry.id)
}

function insertSheet(db: Session, { ticker, kind, records, hash, sheet }: Hashed<SheetRow>): void {
  const values = [ticker, kind, records, hash, sheet]
  db.run('INSERT INTO facts (ticker, kind, records, hash, sheet) VALUES (?, ?, ?, ?, ?)', ...values)
  list(db, ticker, kind)
}
