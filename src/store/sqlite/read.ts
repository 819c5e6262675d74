import type { FactKind } from '../../model/facts.js'
import { type FieldColumns, type FieldRecord, recordsIn } from '../../model/series.js'
import type { Timeframe } from '../../model/terms.js'
import { CHUNK, chunkOf, decodeEvents, decodeHeads, HASH } from '../codec.js'
import { type BarBySeries, type Damage, Damaged, type PackedEnd, type PackedTail } from '../store.js'
import type { Session } from './connection.js'
import {
  type ChunkList,
  chunkDamage,
  chunkHash,
  DAMAGE,
  type DerivedPart,
  entryHash,
  hashesIn,
  missing,
  type Part,
  SERIES_COLUMNS,
  type SeriesName,
  type SeriesRow,
  type SheetRow,
  seriesHash,
  sheetHash,
} from './content.js'
import { TICKERS, type TickerRow } from './schema.js'

/**
 * Rows as they were written, for whoever asks, changes or verifies them. Each throws Damaged for one that is not what was
 * written, and for one that is missing.
 */

/** undefined: unknown ticker */
export function entryRow(db: Session, ticker: string): TickerRow | undefined {
  const row = db.get<TickerRow>(`${TICKERS} WHERE ticker = ?`, ticker)
  if (row !== undefined) return checkedEntry(db, row)
  if (db.get(IS_LISTED, ticker, 'bars') !== undefined) throw damaged(db, missing(ticker, 'bars'))
  return undefined
}

/** By ticker. */
export function entryRows(db: Session): TickerRow[] {
  const lost = db.get<{ ticker: string }>(LOST)
  if (lost !== undefined) throw damaged(db, missing(lost.ticker, 'bars'))
  return db.all<TickerRow>(`${TICKERS} ORDER BY ticker`).map(row => checkedEntry(db, row))
}

const LOST = "SELECT ticker FROM listed WHERE what = 'bars' EXCEPT SELECT ticker FROM tickers ORDER BY ticker"
const IS_LISTED = 'SELECT 1 FROM listed WHERE ticker = ? AND what = ?'

export function checkedEntry(db: Session, row: TickerRow): TickerRow {
  if (!isSoundEntry(row)) throw damaged(db, DAMAGE.entry(row.ticker))
  return row
}

export function isSoundEntry(row: TickerRow): boolean {
  return entryHash(row) === row.hash
}

/** What belongs to a ticker is found by its number. */
export type Numbered = Pick<TickerRow, 'id' | 'ticker'>

/** The chunks of a ticker's bars. */
export function barChunks(db: Session, row: Numbered & ChunkList): { prices: Buffer[]; unadjusted: Buffer[] | null } {
  const { prices = '', unadjusted } = hashesIn(row)
  return {
    prices: chunksOf(db, row, 'daily', 'prices', prices),
    unadjusted: unadjusted === undefined ? null : chunksOf(db, row, 'daily', 'unadjusted', unadjusted),
  }
}

export function seriesRow(db: Session, { id, ticker }: Numbered, timeframe: Timeframe): SeriesRow {
  return checkedSeries(db, { ticker, timeframe }, db.get<Hashed<SeriesRow>>(SERIES, id, timeframe))
}

const SERIES = `SELECT ${SERIES_COLUMNS}, hash FROM series WHERE ticker_id = ? AND timeframe = ?`

function checkedSeries(db: Session, name: SeriesName, row: Hashed<SeriesRow> | undefined): SeriesRow {
  if (row === undefined) throw damaged(db, DAMAGE.noSeries(name))
  if (seriesHash(name, row) !== row.hash) throw damaged(db, DAMAGE.series(name))
  return row
}

/** All chunks of one part of a series. @param hashes of each of them, one after another */
export function chunksOf(
  db: Session,
  { id, ticker }: Numbered,
  timeframe: Timeframe,
  part: Part,
  hashes: string,
): Buffer[] {
  const rows = db.all<ChunkRow>(`${CHUNKS} ORDER BY chunk`, id, timeframe, part)
  return checkedChunks(db, { ticker, timeframe }, part, rows, hashes)
}

function checkedChunks(db: Session, name: SeriesName, part: Part, rows: readonly ChunkRow[], hashes: string): Buffer[] {
  const count = hashes.length / HASH
  if (rows.length !== count) throw damaged(db, chunkDamage(name, part, rows.length > count))
  return rows.map((row, i) => checkedChunk(db, name, part, row, { hashes, chunk: i }))
}

/**
 * What there is of the series of some tickers, read in as few statements as of one: of a whole market each costs more than
 * what it reads. Nothing is checked before it is asked for, so that what is damaged is told in its turn.
 */
export class SeriesRows {
  readonly #db: Session
  readonly #timeframe: Timeframe
  readonly #entries: ReadonlyMap<string, TickerRow>
  readonly #series: ReadonlyMap<number, Hashed<SeriesRow>>
  readonly #chunks = new Map<number, PartRow[]>()
  readonly #lost: ReadonlySet<string>

  constructor(db: Session, tickers: readonly string[], timeframe: Timeframe, parts: readonly DerivedPart[]) {
    this.#db = db
    this.#timeframe = timeframe
    const entries = db.all<TickerRow>(`${TICKERS} WHERE ticker IN (${placesOf(tickers)})`, ...tickers)
    const ids = entries.map(({ id }) => id)
    const these = `ticker_id IN (${placesOf(ids)}) AND timeframe = ?`
    const series = `SELECT ticker_id AS id, ${SERIES_COLUMNS}, hash FROM series WHERE ${these}`
    const chunks = `SELECT ticker_id AS id, part, chunk, columns FROM chunks
      WHERE ${these} AND part IN (${placesOf(parts)}) ORDER BY ticker_id, part, chunk`
    this.#entries = new Map(entries.map(row => [row.ticker, row]))
    const others = tickers.filter(ticker => !this.#entries.has(ticker))
    this.#lost = new Set(others.filter(ticker => db.get(IS_LISTED, ticker, 'bars') !== undefined))
    this.#series = new Map(
      db.all<Hashed<SeriesRow> & { id: number }>(series, ...ids, timeframe).map(({ id, ...row }) => [id, row]),
    )
    for (const row of db.all<PartRow>(chunks, ...ids, timeframe, ...parts)) {
      const own = this.#chunks.get(row.id)
      if (own === undefined) this.#chunks.set(row.id, [row])
      else own.push(row)
    }
  }

  /** undefined: unknown ticker */
  entry(ticker: string): TickerRow | undefined {
    if (this.#lost.has(ticker)) throw damaged(this.#db, missing(ticker, 'bars'))
    const row = this.#entries.get(ticker)
    return row === undefined ? undefined : checkedEntry(this.#db, row)
  }

  series({ id, ticker }: Numbered): SeriesRow {
    return checkedSeries(this.#db, { ticker, timeframe: this.#timeframe }, this.#series.get(id))
  }

  /** All chunks of one of the parts. @param hashes of each of them, one after another */
  chunks({ id, ticker }: Numbered, part: DerivedPart, hashes = ''): Buffer[] {
    const rows = (this.#chunks.get(id) ?? []).filter(row => row.part === part)
    return checkedChunks(this.#db, { ticker, timeframe: this.#timeframe }, part, rows, hashes)
  }

  /** The events of some of the fields. */
  fields(
    { id, ticker }: Numbered,
    series: SeriesRow,
    hashes: ReturnType<typeof hashesIn>,
    isWanted: (field: string) => boolean,
  ): FieldColumns {
    const name = { ticker, timeframe: this.#timeframe }
    const chunks = (): Buffer[] => this.chunks({ id, ticker }, 'events', hashes.events)
    return fieldsIn(this.#db, name, series, chunks, isWanted)
  }
}

function placesOf(values: readonly unknown[]): string {
  return values.map(() => '?').join()
}

interface ChunkRow {
  chunk: number
  columns: Buffer
}

interface PartRow extends ChunkRow {
  id: number
  part: Part
}

const CHUNKS = 'SELECT chunk, columns FROM chunks WHERE ticker_id = ? AND timeframe = ? AND part = ?'

function checkedChunk(
  db: Session,
  name: SeriesName,
  part: Part,
  { chunk, columns }: ChunkRow,
  due: { hashes: string; chunk: number },
): Buffer {
  const hash = due.hashes.slice(chunk * HASH, (chunk + 1) * HASH)
  if (chunk === due.chunk && chunkHash(name, part, chunk, columns) === hash) return columns
  throw damaged(db, chunkDamage(name, part, true))
}

/** The events of the fields of a series with data, or of some of them. */
export function recordsOf(
  db: Session,
  { id, ticker }: Numbered,
  timeframe: Timeframe,
  series: SeriesRow,
  isWanted: (field: string) => boolean = () => true,
): Map<string, FieldRecord> {
  const chunks = (): Buffer[] => chunksOf(db, { id, ticker }, timeframe, 'events', hashesIn(series).events ?? '')
  return recordsIn(fieldsIn(db, { ticker, timeframe }, series, chunks, isWanted))
}

function fieldsIn(
  db: Session,
  name: SeriesName,
  series: SeriesRow,
  chunks: () => readonly Buffer[],
  isWanted: (field: string) => boolean,
): FieldColumns {
  const heads = decodeHeads(series.fields, isWanted)
  const found = decodeEvents(heads, heads.size === 0 ? [] : chunks())
  if (found === null) throw damaged(db, DAMAGE.events(name))
  return found
}

/** What is stored of a ticker before some bars, with its events from others on. */
export function tailOf(db: Session, ticker: TickerRow, since: BarBySeries, from: BarBySeries): PackedTail {
  const of = (timeframe: Timeframe): PackedEnd => endOf(db, ticker, timeframe, since[timeframe], from[timeframe])
  return { since, hashes: ticker.chunks, daily: of('daily'), weekly: of('weekly') }
}

function endOf(db: Session, { id, ticker }: Numbered, timeframe: Timeframe, since: number, from: number): PackedEnd {
  const name = { ticker, timeframe }
  const series = seriesRow(db, { id, ticker }, timeframe)
  const hashes = hashesIn(series)
  const [first, own] = [chunkOf(from), chunkOf(since)]
  const rows = db.all<PartRow>(END, id, timeframe, first)
  const of = (part: Part, chunk: number): Buffer[] => {
    const all = rows.filter(row => row.part === part && row.chunk >= chunk)
    const count = Math.max(0, (hashes[part] ?? '').length / HASH - chunk)
    if (all.length !== count) throw damaged(db, chunkDamage(name, part, all.length > count))
    return all.map((row, i) => checkedChunk(db, name, part, row, { hashes: hashes[part]!, chunk: chunk + i }))
  }
  const outcomes = since % CHUNK === 0 ? null : of('outcomes', own)[0]!
  return { fields: series.fields, hashes: series.chunks, first, events: of('events', first), outcomes }
}

const END = `SELECT part, chunk, columns FROM chunks
  WHERE ticker_id = ? AND timeframe = ? AND part IN ('events', 'outcomes') AND chunk >= ? ORDER BY part, chunk`

/** The rows of all series of a timeframe, in the order of the tickers. */
export function allSeries(db: Session, timeframe: Timeframe): SeriesRow[] {
  return db.all<Numbered & (Hashed<SeriesRow> | { hash: null })>(ALL_SERIES, timeframe).map(row => {
    const name = { ticker: row.ticker, timeframe }
    if (row.hash === null) throw damaged(db, DAMAGE.noSeries(name))
    return checkedSeries(db, name, row)
  })
}

const ALL_SERIES = `SELECT ticker, ${SERIES_COLUMNS}, series.hash
  FROM tickers LEFT JOIN series ON ticker_id = id AND timeframe = ? ORDER BY ticker`

/** All kinds of a ticker's facts, but for those that are not to be read. */
export function sheetRows(db: Session, ticker: string, but: readonly FactKind[] = []): SheetRow[] {
  const rows = db.all<Hashed<SheetRow>>(`${SHEETS} WHERE ticker = ?`, ticker)
  const found = new Set<string>(rows.map(({ kind }) => kind))
  for (const { what } of db.all<{ what: string }>(LISTED_SHEETS, ticker))
    if (!found.has(what) && !(but as readonly string[]).includes(what)) throw damaged(db, missing(ticker, what))
  return rows.filter(({ kind }) => !but.includes(kind)).map(row => checkedSheet(db, row))
}

const LISTED_SHEETS = "SELECT what FROM listed WHERE ticker = ? AND what <> 'bars' AND what NOT LIKE 'pulled %'"
export const SHEETS = 'SELECT hash, ticker, kind, records, sheet FROM facts'

export function checkedSheet(db: Session, row: Hashed<SheetRow>): SheetRow {
  if (sheetHash(row) !== row.hash) throw damaged(db, DAMAGE.sheet(row.ticker, row.kind))
  return row
}

/** A row with the hash of what it must hold. */
export type Hashed<Row> = Row & { hash: string }

export function damaged({ location }: Session, damage: Damage): Damaged {
  return new Damaged(location, damage)
}
