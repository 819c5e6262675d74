import type { Timeframe } from '../../model/terms.js'
import {
  type EntryRow,
  entryRowOf,
  type Hashed,
  hashesOf,
  type SeriesRow,
  type Written,
  writtenEntry,
  writtenSeries,
} from '../content.js'
import { amended, pack, unpacking } from '../packed.js'
import { entryBeside, sheetRowOf } from '../sheets.js'
import type { Amendment, PackedPart, PackedRecord, SheetRow, TickerCopy, TickerRecord, TickerSheet } from '../store.js'
import type { Queries } from './connection.js'
import { insertPulled, list } from './pages.js'
import { entryRow, eventRows, type Reading } from './read.js'

/**
 * What is written in a transaction. Rows go and come again instead of being changed in place: one statement for all of a
 * kind, whether they were there or not, which partitions on other servers take as well.
 */

/** As it is written, whoever packed it. */
export function packedOf(record: TickerRecord | PackedRecord): PackedRecord {
  return 'bytes' in record ? record : pack(record)
}

/** Chunks of one part of a series, which come in the place of all from the first of them on. */
interface Part {
  ticker: string
  timeframe: Timeframe
  part: PackedPart['part']
  first: number
  chunks: readonly Buffer[]
}

/** Bytes of chunks that go in one statement, about. */
const MOST_BYTES = 8 * 2 ** 20

/** Puts tickers in place of whatever was there; or where what is stored of one stays, only the chunks that come after. */
export async function putRecords(db: Queries, records: readonly PackedRecord[]): Promise<void> {
  if (records.length === 0) return
  const names = records.map(({ entry }) => entry.ticker)
  await db.query('DELETE FROM bands_data.tickers WHERE ticker = ANY ($1)', [names])
  await insert(db, 'tickers', records.map(entryOf))
  await db.query("INSERT INTO bands_data.listed SELECT unnest($1::text[]), 'bars' ON CONFLICT DO NOTHING", [names])
  const series = records.flatMap(({ entry: { ticker }, daily, weekly }) =>
    [daily, weekly].map(({ timeframe, summary, parts }) => {
      return { ticker, timeframe, row: { ...summary, chunks: hashesOf(parts) } }
    }),
  )
  await putSeries(db, series)
  await putParts(db, records.flatMap(partsOf))
}

function partsOf(record: PackedRecord): Part[] {
  const { entry, isTail, bars, daily, weekly } = record
  const { ticker } = entry
  const chunksOf = unpacking(record)
  const own = (timeframe: Timeframe, parts: readonly PackedPart[]): Part[] =>
    parts.map(part => ({ ticker, timeframe, part: part.part, first: part.first, chunks: chunksOf(part) }))
  const all = [...own('daily', bars), ...own('daily', daily.parts), ...own('weekly', weekly.parts)]
  if (!isTail && !bars.some(({ part }) => part === 'unadjusted'))
    all.push({ ticker, timeframe: 'daily', part: 'unadjusted', first: 0, chunks: [] })
  return all
}

/** By an expression over a chunk's own columns and no join: a partition on another server takes it as a whole. */
const CUT = `DELETE FROM bands_data.chunks WHERE ticker = ANY ($1)
  AND chunk >= ($3::int[])[array_position($2::text[], ticker || ' ' || timeframe || ' ' || part)]`

/** Cut out of one value: an array of as many would be sent as text, twice as long. */
const PUT_CHUNKS = `INSERT INTO bands_data.chunks (ticker, timeframe, part, chunk, columns)
  SELECT ticker, timeframe, part, chunk, substr($1::bytea, first + 1, bytes)
  FROM unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::int[])
    AS cut (ticker, timeframe, part, chunk, first, bytes)`

async function putParts(db: Queries, parts: readonly Part[]): Promise<void> {
  await db.query(CUT, [
    [...new Set(parts.map(({ ticker }) => ticker))],
    parts.map(({ ticker, timeframe, part }) => `${ticker} ${timeframe} ${part}`),
    parts.map(({ first }) => first),
  ])
  let chunks: Chunk[] = []
  let bytes = 0
  for (const { ticker, timeframe, part, first, chunks: own } of parts) {
    chunks.push(...own.map((columns, i) => ({ ticker, timeframe, part, chunk: first + i, at: 0, columns })))
    bytes += own.reduce((sum, { length }) => sum + length, 0)
    if (bytes < MOST_BYTES) continue
    await putChunks(db, chunks)
    chunks = []
    bytes = 0
  }
  await putChunks(db, chunks)
}

interface Chunk extends Pick<Part, 'ticker' | 'timeframe' | 'part'> {
  chunk: number
  at: number
  columns: Buffer
}

async function putChunks(db: Queries, chunks: readonly Chunk[]): Promise<void> {
  if (chunks.length === 0) return
  let at = 0
  for (const chunk of chunks) {
    chunk.at = at
    at += chunk.columns.length
  }
  const column = <K extends keyof Chunk>(name: K): Chunk[K][] => chunks.map(chunk => chunk[name])
  const sizes = chunks.map(({ columns }) => columns.length)
  const names = [column('ticker'), column('timeframe'), column('part'), column('chunk')]
  await db.query(PUT_CHUNKS, [Buffer.concat(column('columns')), ...names, column('at'), sizes])
}

/** Has days that are newer than what is said of their tickers count beforehand. */
export async function putDays(db: Queries, records: readonly PackedRecord[]): Promise<void> {
  const rows = records.map(entryOf)
  const names = Object.keys(rows[0]!).map(name => `${name} = excluded.${name}`)
  const later = `ON CONFLICT (ticker) DO UPDATE SET ${names.join(', ')} WHERE days.last_date < excluded.last_date`
  await insert(db, 'days', rows, later)
}

function entryOf({ entry, bars }: PackedRecord): Written {
  return writtenEntry(entryRowOf(entry, bars))
}

interface NamedSeries {
  ticker: string
  timeframe: Timeframe
  row: SeriesRow
}

/** @param series each of the tickers in each of the timeframes, such as one of one */
async function putSeries(db: Queries, series: readonly NamedSeries[]): Promise<void> {
  await db.query('DELETE FROM bands_data.series WHERE ticker = ANY ($1) AND timeframe = ANY ($2)', [
    [...new Set(series.map(({ ticker }) => ticker))],
    [...new Set(series.map(({ timeframe }) => timeframe))],
  ])
  const rows = series.map(({ ticker, timeframe, row }) => ({ ...writtenSeries({ ticker, timeframe }, row), ticker }))
  await insert(db, 'series', rows)
}

/** Columns of numbers; all others are of text. */
const NUMBERS = ['bars', 'events', 'events_on_last', 'records']

/** Rows in one statement, a list a column. */
async function insert(db: Queries, table: string, rows: readonly Written[], otherwise = ''): Promise<void> {
  const names = Object.keys(rows[0]!)
  const lists = names.map((name, i) => `$${i + 1}::${NUMBERS.includes(name) ? 'int' : 'text'}[]`)
  await db.query(
    `INSERT INTO bands_data.${table} (${names.join(', ')}) SELECT * FROM unnest(${lists.join(', ')}) ${otherwise}`,
    names.map(name => rows.map(row => row[name])),
  )
}

/** Puts some fields of one series in place of what they were. A ticker that is not there stays away. */
export async function putAmendment(db: Reading, amendment: Amendment): Promise<void> {
  const { ticker, timeframe } = amendment
  const stored = await eventRows(db, ticker, timeframe)
  if (stored === undefined) return
  const { row, part, chunks } = amended(db, amendment, stored.series, () => stored.chunks)
  await putSeries(db, [{ ticker, timeframe, row }])
  await putParts(db, [{ ticker, timeframe, part: part.part, first: part.first, chunks }])
}

/** Puts one kind of a ticker's facts in place of what they were; without records it goes. */
export async function putSheet(db: Reading, given: TickerSheet): Promise<void> {
  const { ticker, kind, sheet } = given
  await db.query('DELETE FROM bands_data.facts WHERE ticker = $1 AND kind = $2', [ticker, kind])
  if (sheet.rows.length === 0) {
    await db.query('DELETE FROM bands_data.listed WHERE ticker = $1 AND what = $2', [ticker, kind])
    return
  }
  await insertSheet(db, sheetRowOf(given))
  if (kind !== 'securities') return
  const entry: Hashed<EntryRow> | undefined = await entryRow(db, ticker)
  if (entry === undefined) return
  const { assetClass, hash } = entryBeside(entry, given)
  await db.query('UPDATE bands_data.tickers SET asset_class = $2, hash = $3 WHERE ticker = $1', [
    ticker,
    assetClass,
    hash,
  ])
}

async function insertSheet(db: Queries, { ticker, kind, records, hash, sheet }: Hashed<SheetRow>): Promise<void> {
  await insert(db, 'facts', [{ ticker, kind, records, hash, sheet }])
  await list(db, ticker, kind)
}

/** Puts tickers where nothing is of them, as they lie in another store. */
export async function putCopies(db: Queries, copies: readonly TickerCopy[]): Promise<void> {
  const records = copies.flatMap(({ record }) => record ?? [])
  await putRecords(db, records)
  for (const { sheets, pulled } of copies) {
    for (const row of sheets) await insertSheet(db, row)
    for (const row of pulled) await insertPulled(db, row)
  }
}
