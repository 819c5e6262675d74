import type { FactKind } from '../../../core/model/facts.js'
import type { Timeframe } from '../../../core/model/terms.js'
import {
  type ChunkRow,
  damageError,
  type PartRow,
  packedEndOf,
  type RawSeries,
  type RawTicker,
  verifyChunks,
  verifyEntry,
  verifySeriesRow,
  verifySheet,
  verifySheets,
} from '../checked.js'
import { fullChunksBefore } from '../codec.js'
import {
  type ChunkList,
  DAMAGE,
  decodeChunkHashes,
  type Hashed,
  missingItemDamage,
  SERIES_COLUMNS,
  type SeriesRow,
} from '../content.js'
import type { BarBySeries, DerivedPart, PackedEnd, PackedTail, Part, SheetRow } from '../store.js'
import type { Session } from './connection.js'
import { SELECT_TICKERS, type TickerRow } from './schema.js'

// Rows for questions, changes and verification. Each function throws Damaged for a missing or changed row, unless it
// says otherwise.

/** The row of a ticker; undefined: unknown ticker. */
export function entryRow(db: Session, ticker: string): TickerRow | undefined {
  const row = db.get<TickerRow>(SELECT_TICKER, ticker)
  if (row !== undefined) return verifyEntry(db, row)
  if (db.get(SELECT_LISTED, ticker, 'bars') !== undefined) throw damageError(db, missingItemDamage(ticker, 'bars'))
  return undefined
}

const SELECT_TICKER = `${SELECT_TICKERS} WHERE ticker = ?`

/** The rows of all tickers, ascending. */
export function entryRows(db: Session): TickerRow[] {
  const lost = db.get<{ ticker: string }>(SELECT_LOST_TICKER)
  if (lost !== undefined) throw damageError(db, missingItemDamage(lost.ticker, 'bars'))
  return db.all<TickerRow>(`${SELECT_TICKERS} ORDER BY ticker`).map(row => verifyEntry(db, row))
}

const SELECT_LOST_TICKER =
  "SELECT ticker FROM listed WHERE what = 'bars' EXCEPT SELECT ticker FROM tickers ORDER BY ticker"
const SELECT_LISTED = 'SELECT 1 FROM listed WHERE ticker = ? AND what = ?'

/** A ticker's number, which its other rows refer to. */
export type Numbered = Pick<TickerRow, 'id' | 'ticker'>

export function barChunks(db: Session, row: Numbered & ChunkList): { prices: Buffer[]; unadjusted: Buffer[] | null } {
  const { prices = '', unadjusted } = decodeChunkHashes(row)
  return {
    prices: verifiedChunks(db, row, 'daily', 'prices', prices),
    unadjusted: unadjusted === undefined ? null : verifiedChunks(db, row, 'daily', 'unadjusted', unadjusted),
  }
}

export function seriesRow(db: Session, row: Numbered, timeframe: Timeframe): SeriesRow {
  return verifySeriesRow(db, { ticker: row.ticker, timeframe }, rawSeriesRow(db, row, timeframe))
}

function rawSeriesRow(db: Session, { id }: Numbered, timeframe: Timeframe): Hashed<SeriesRow> | undefined {
  return db.get<Hashed<SeriesRow>>(SELECT_SERIES, id, timeframe)
}

const SELECT_SERIES = `SELECT ${SERIES_COLUMNS}, hash FROM series WHERE ticker_id = ? AND timeframe = ?`

/** The chunks of one part of a series. @param hashes the expected hashes, one after another */
function verifiedChunks(db: Session, row: Numbered, timeframe: Timeframe, part: Part, hashes: string): Buffer[] {
  return verifyChunks(db, { ticker: row.ticker, timeframe }, part, chunkRows(db, row, timeframe, part), hashes)
}

/** All chunks of one part of a series, unchecked. */
export function chunkRows(db: Session, { id }: Numbered, timeframe: Timeframe, part: Part): ChunkRow[] {
  return db.all<ChunkRow>(SELECT_CHUNKS, id, timeframe, part)
}

// With `= ?` next to ORDER BY, SQLite prepares the statement again for each ticker; with `= +?` it does not.
const SELECT_CHUNKS =
  'SELECT chunk, columns FROM chunks WHERE ticker_id = +? AND timeframe = +? AND part = +? ORDER BY chunk'

/**
 * Reads the series of some tickers at once, and returns a function that gives the rows of one of them. In a whole
 * market a statement costs more than its rows. Nothing is checked.
 */
export function readRawSeries(
  db: Session,
  tickers: readonly string[],
  timeframe: Timeframe,
  parts: readonly DerivedPart[],
): (ticker: string) => RawSeries {
  const rows = db.all<TickerRow>(`${SELECT_TICKERS} WHERE ticker IN (${placeholders(tickers)})`, ...tickers)
  const ids = rows.map(({ id }) => id)
  const ofTheseSeries = `ticker_id IN (${placeholders(ids)}) AND timeframe = ?`
  const seriesSql = `SELECT ticker_id AS id, ${SERIES_COLUMNS}, hash FROM series WHERE ${ofTheseSeries}`
  const chunksSql = `SELECT ticker_id AS id, part, chunk, columns FROM chunks
    WHERE ${ofTheseSeries} AND part IN (${placeholders(parts)}) ORDER BY ticker_id, part, chunk`
  const entries = new Map(rows.map(row => [row.ticker, row]))
  const withoutRow = tickers.filter(ticker => !entries.has(ticker))
  // Listed as having bars, but the row is missing.
  const lost = new Set(withoutRow.filter(ticker => db.get(SELECT_LISTED, ticker, 'bars') !== undefined))
  const series = new Map(
    db.all<Hashed<SeriesRow> & { id: number }>(seriesSql, ...ids, timeframe).map(({ id, ...row }) => [id, row]),
  )
  const chunks = new Map<number, PartRow[]>()
  for (const row of db.all<PartRow & { id: number }>(chunksSql, ...ids, timeframe, ...parts)) {
    const chunksOfTicker = chunks.get(row.id)
    if (chunksOfTicker === undefined) chunks.set(row.id, [row])
    else chunksOfTicker.push(row)
  }
  return ticker => {
    const entry = entries.get(ticker)
    const identity = { ticker, timeframe, entry, isLost: lost.has(ticker) }
    if (entry === undefined) return { ...identity, series: undefined, chunks: [] }
    return { ...identity, series: series.get(entry.id), chunks: chunks.get(entry.id) ?? [] }
  }
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join()
}

/** The stored rows of a ticker with bars. Nothing is checked. */
export function rawRowsOfTicker(db: Session, entry: TickerRow): RawTicker {
  return {
    entry,
    series: timeframe => rawSeriesRow(db, entry, timeframe),
    chunks: (timeframe, part) => chunkRows(db, entry, timeframe, part),
  }
}

/**
 * The end of a ticker's stored data, enough to derive it again from some bars on.
 * @param since per timeframe, the first bar that may change @param from the first bar whose events are needed
 */
export function readTail(db: Session, row: TickerRow, since: BarBySeries, from: BarBySeries): PackedTail {
  const readEnd = (timeframe: Timeframe): PackedEnd => {
    const rows = db.all<PartRow>(SELECT_LAST_CHUNKS, row.id, timeframe, fullChunksBefore(from[timeframe]))
    const bars = { since, from }
    return packedEndOf(db, { ticker: row.ticker, timeframe }, rawSeriesRow(db, row, timeframe), rows, bars)
  }
  return { since, hashes: row.chunks, daily: readEnd('daily'), weekly: readEnd('weekly') }
}

const SELECT_LAST_CHUNKS = `SELECT part, chunk, columns FROM chunks
  WHERE ticker_id = +? AND timeframe = +? AND part IN ('events', 'outcomes') AND chunk >= +? ORDER BY part, chunk`

/** The rows of all series of a timeframe, in the order of the tickers. */
export function seriesRows(db: Session, timeframe: Timeframe): SeriesRow[] {
  return db.all<Numbered & (Hashed<SeriesRow> | { hash: null })>(SELECT_ALL_SERIES, timeframe).map(row => {
    const name = { ticker: row.ticker, timeframe }
    if (row.hash === null) throw damageError(db, DAMAGE.series(name, 'missing'))
    return verifySeriesRow(db, name, row)
  })
}

const SELECT_ALL_SERIES = `SELECT ticker, ${SERIES_COLUMNS}, series.hash
  FROM tickers LEFT JOIN series ON ticker_id = id AND timeframe = ? ORDER BY ticker`

/** All kinds of a ticker's facts, except some. */
export function sheetRows(db: Session, ticker: string, except: readonly FactKind[] = []): SheetRow[] {
  const rows = db.all<Hashed<SheetRow>>(`${SELECT_SHEETS} WHERE ticker = ?`, ticker)
  const listed = db.all<{ what: string }>(SELECT_LISTED_SHEETS, ticker).map(({ what }) => what)
  return verifySheets(db, ticker, rows, listed, except)
}

export function securityRows(db: Session): SheetRow[] {
  const rows = db.all<Hashed<SheetRow>>(`${SELECT_SHEETS} WHERE kind = 'securities'`)
  return rows.map(row => verifySheet(db, row))
}

const SELECT_LISTED_SHEETS = "SELECT what FROM listed WHERE ticker = ? AND what <> 'bars' AND what NOT LIKE 'pulled %'"
export const SELECT_SHEETS = 'SELECT hash, ticker, kind, records, sheet FROM facts'
