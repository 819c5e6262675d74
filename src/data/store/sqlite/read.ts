import type { FactKind } from '../../../core/model/facts.js'
import type { Timeframe } from '../../../core/model/terms.js'
import {
  type ChunkRow,
  checkedChunks,
  checkedEntry,
  checkedSeries,
  checkedSheet,
  checkedSheets,
  damaged,
  type PartRow,
  packedEndBefore,
  type RawSeries,
  type RawTicker,
} from '../checked.js'
import { chunkOf } from '../codec.js'
import {
  type ChunkList,
  DAMAGE,
  type DerivedPart,
  type Hashed,
  hashesIn,
  missing,
  type Part,
  SERIES_COLUMNS,
  type SeriesRow,
} from '../content.js'
import type { BarBySeries, PackedEnd, PackedTail, SheetRow } from '../store.js'
import type { Session } from './connection.js'
import { SELECT_TICKERS, type TickerRow } from './schema.js'

/**
 * Rows for questions, changes and verification. Each function throws Damaged for a missing or changed row, unless it
 * says otherwise.
 */

/** undefined: unknown ticker */
export function entryRow(db: Session, ticker: string): TickerRow | undefined {
  const row = db.get<TickerRow>(`${SELECT_TICKERS} WHERE ticker = ?`, ticker)
  if (row !== undefined) return checkedEntry(db, row)
  if (db.get(IS_LISTED, ticker, 'bars') !== undefined) throw damaged(db, missing(ticker, 'bars'))
  return undefined
}

/** By ticker. */
export function entryRows(db: Session): TickerRow[] {
  const lost = db.get<{ ticker: string }>(LOST)
  if (lost !== undefined) throw damaged(db, missing(lost.ticker, 'bars'))
  return db.all<TickerRow>(`${SELECT_TICKERS} ORDER BY ticker`).map(row => checkedEntry(db, row))
}

const LOST = "SELECT ticker FROM listed WHERE what = 'bars' EXCEPT SELECT ticker FROM tickers ORDER BY ticker"
const IS_LISTED = 'SELECT 1 FROM listed WHERE ticker = ? AND what = ?'

/** A ticker's number, which its other rows refer to. */
export type Numbered = Pick<TickerRow, 'id' | 'ticker'>

/** The chunks of a ticker's bars. */
export function barChunks(db: Session, row: Numbered & ChunkList): { prices: Buffer[]; unadjusted: Buffer[] | null } {
  const { prices = '', unadjusted } = hashesIn(row)
  return {
    prices: chunksOf(db, row, 'daily', 'prices', prices),
    unadjusted: unadjusted === undefined ? null : chunksOf(db, row, 'daily', 'unadjusted', unadjusted),
  }
}

export function seriesRow(db: Session, row: Numbered, timeframe: Timeframe): SeriesRow {
  return checkedSeries(db, { ticker: row.ticker, timeframe }, rawSeriesRow(db, row, timeframe))
}

/** The unchecked row, if there is one. */
function rawSeriesRow(db: Session, { id }: Numbered, timeframe: Timeframe): Hashed<SeriesRow> | undefined {
  return db.get<Hashed<SeriesRow>>(SERIES, id, timeframe)
}

const SERIES = `SELECT ${SERIES_COLUMNS}, hash FROM series WHERE ticker_id = ? AND timeframe = ?`

function chunksOf(db: Session, row: Numbered, timeframe: Timeframe, part: Part, hashes: string): Buffer[] {
  return checkedChunks(db, { ticker: row.ticker, timeframe }, part, chunkRows(db, row, timeframe, part), hashes)
}

/** All chunks of one part of a series as they lie there. */
export function chunkRows(db: Session, { id }: Numbered, timeframe: Timeframe, part: Part): ChunkRow[] {
  return db.all<ChunkRow>(`${CHUNKS} ORDER BY chunk`, id, timeframe, part)
}

const CHUNKS = 'SELECT chunk, columns FROM chunks WHERE ticker_id = ? AND timeframe = ? AND part = ?'

/**
 * The series of some tickers, read with as few statements as one series: in a whole market a statement costs more than
 * its rows. Nothing is checked.
 */
export function findSeries(
  db: Session,
  tickers: readonly string[],
  timeframe: Timeframe,
  parts: readonly DerivedPart[],
): (ticker: string) => RawSeries {
  const rows = db.all<TickerRow>(`${SELECT_TICKERS} WHERE ticker IN (${placeholders(tickers)})`, ...tickers)
  const ids = rows.map(({ id }) => id)
  const these = `ticker_id IN (${placeholders(ids)}) AND timeframe = ?`
  const seriesSql = `SELECT ticker_id AS id, ${SERIES_COLUMNS}, hash FROM series WHERE ${these}`
  const chunksSql = `SELECT ticker_id AS id, part, chunk, columns FROM chunks
    WHERE ${these} AND part IN (${placeholders(parts)}) ORDER BY ticker_id, part, chunk`
  const entries = new Map(rows.map(row => [row.ticker, row]))
  const others = tickers.filter(ticker => !entries.has(ticker))
  const lost = new Set(others.filter(ticker => db.get(IS_LISTED, ticker, 'bars') !== undefined))
  const series = new Map(
    db.all<Hashed<SeriesRow> & { id: number }>(seriesSql, ...ids, timeframe).map(({ id, ...row }) => [id, row]),
  )
  const chunks = new Map<number, PartRow[]>()
  for (const row of db.all<PartRow & { id: number }>(chunksSql, ...ids, timeframe, ...parts)) {
    const own = chunks.get(row.id)
    if (own === undefined) chunks.set(row.id, [row])
    else own.push(row)
  }
  return ticker => {
    const entry = entries.get(ticker)
    const own = entry && { series: series.get(entry.id), chunks: chunks.get(entry.id) ?? [] }
    return { ticker, timeframe, entry, isListed: lost.has(ticker), ...(own ?? { series: undefined, chunks: [] }) }
  }
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join()
}

/** The stored rows of a ticker with bars. Nothing is checked. */
export function rawTicker(db: Session, entry: TickerRow): RawTicker {
  return {
    entry,
    series: timeframe => rawSeriesRow(db, entry, timeframe),
    chunks: (timeframe, part) => chunkRows(db, entry, timeframe, part),
  }
}

/** The stored data of a ticker before some bars, with its events from other bars on. */
export function tailOf(db: Session, row: TickerRow, since: BarBySeries, from: BarBySeries): PackedTail {
  const of = (timeframe: Timeframe): PackedEnd => {
    const rows = db.all<PartRow>(END, row.id, timeframe, chunkOf(from[timeframe]))
    return packedEndBefore(db, { ticker: row.ticker, timeframe }, rawSeriesRow(db, row, timeframe), rows, {
      since,
      from,
    })
  }
  return { since, hashes: row.chunks, daily: of('daily'), weekly: of('weekly') }
}

const END = `SELECT part, chunk, columns FROM chunks
  WHERE ticker_id = ? AND timeframe = ? AND part IN ('events', 'outcomes') AND chunk >= ? ORDER BY part, chunk`

/** The rows of all series of a timeframe, in the order of the tickers. */
export function allSeries(db: Session, timeframe: Timeframe): SeriesRow[] {
  return db.all<Numbered & (Hashed<SeriesRow> | { hash: null })>(ALL_SERIES, timeframe).map(row => {
    const name = { ticker: row.ticker, timeframe }
    if (row.hash === null) throw damaged(db, DAMAGE.series(name, 'missing'))
    return checkedSeries(db, name, row)
  })
}

const ALL_SERIES = `SELECT ticker, ${SERIES_COLUMNS}, series.hash
  FROM tickers LEFT JOIN series ON ticker_id = id AND timeframe = ? ORDER BY ticker`

/** All kinds of a ticker's facts, except some. */
export function sheetRows(db: Session, ticker: string, but: readonly FactKind[] = []): SheetRow[] {
  const rows = db.all<Hashed<SheetRow>>(`${SHEETS} WHERE ticker = ?`, ticker)
  const listed = db.all<{ what: string }>(LISTED_SHEETS, ticker).map(({ what }) => what)
  return checkedSheets(db, ticker, rows, listed, but)
}

/** The securities of all tickers. */
export function securityRows(db: Session): SheetRow[] {
  const rows = db.all<Hashed<SheetRow>>(`${SHEETS} WHERE kind = 'securities'`)
  return rows.map(row => checkedSheet(db, row))
}

const LISTED_SHEETS = "SELECT what FROM listed WHERE ticker = ? AND what <> 'bars' AND what NOT LIKE 'pulled %'"
export const SHEETS = 'SELECT hash, ticker, kind, records, sheet FROM facts'
