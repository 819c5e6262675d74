import { type Remedy, remedy } from '../../core/errors.js'
import { type Day, formatDay, parseDay } from '../../core/model/day.js'
import type { Timeframe } from '../../core/model/terms.js'
import { checksum, digest, isChecksum } from './checksum.js'
import type { Damage, Part, SeriesSummary, SheetRow, TickerEntry, TickerSummary } from './store.js'

/**
 * How a store recognises damaged data, which a database may not notice. In SQLite about one flipped bit in ten changes
 * data without any error. PostgreSQL has checksums only if they were enabled, and anyone may edit a row.
 * 1. Each row except chunks has a checksum of its content and its key. A question checks the rows that it reads. Rows
 *    that an older version wrote have SHA-256 digests until they are written again.
 * 2. A ticker's row lists the hashes of its bar chunks, a series' row those of its derived chunks.
 * 3. A list names every ticker and its data, so missing data are noticed.
 */

export interface EntryRow extends Omit<TickerEntry, 'first' | 'last' | 'origins'>, ChunkList {
  first: string
  last: string
  origins: string | null
}

/** A row as it is written, by its columns. */
export type ColumnValues = Readonly<Record<string, string | number | null>>

/** SQL column lists for any database; rows read with them have these types. */
export const ENTRY_COLUMNS = `ticker, asset_class AS "assetClass", prices, bars, first_date AS first, last_date AS last,
  source, format, imported_at AS "importedAt", origins`

/** A row with the hash of its expected content. */
export type Hashed<Row> = Row & { hash: string }

/** The row of a ticker. @param barParts the hashes of the chunks of its bars */
export function entryRowOf({ first, last, origins, ...entry }: TickerEntry, barParts: readonly PartHashes[]): EntryRow {
  return {
    ...entry,
    first: formatDay(first),
    last: formatDay(last),
    origins: origins === undefined ? null : JSON.stringify(origins),
    chunks: encodeChunkHashes(barParts),
  }
}

/** The values of a ticker's row by SQL column, with its hash. Other properties of the object are left out. */
export function entryColumnValues(row: EntryRow): ColumnValues {
  const { ticker, prices, bars, source, format, origins, chunks } = row
  const { assetClass: asset_class, first: first_date, last: last_date, importedAt: imported_at } = row
  const renamedColumns = { asset_class, first_date, last_date, imported_at }
  return { ticker, prices, bars, ...renamedColumns, source, format, origins, chunks, hash: entryHash(row) }
}

export function entryOf(row: EntryRow): TickerEntry {
  const { ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins } = row
  const days = { first: parseDay(first)!, last: parseDay(last)! }
  const entry: TickerEntry = { ticker, assetClass, prices, bars, ...days, source, format, importedAt }
  if (origins !== null) entry.origins = JSON.parse(origins)
  return entry
}

/** The checksum of a ticker's row; a digest if `storedHash` is one. @param entry has no `chunks` up to schema 6 */
export function entryHash(entry: Omit<EntryRow, 'chunks'> & Partial<ChunkList>, storedHash?: string): string {
  const { ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins, chunks = null } = entry
  return rowChecksum(
    { ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins, chunks },
    storedHash,
  )
}

type RowContent = Readonly<Record<string, string | number | Buffer | null>>

/** The SHA-256 digest of a row's content: for rows next to the data (row-hash.ts), and for the hash of the data. */
export function contentHash(content: RowContent): string {
  return digest(contentParts(content))
}

/**
 * The checksum of a row's content and key.
 * @param stored the stored one to compare with: a digest of an older version is compared with a digest
 */
export function rowChecksum(content: RowContent, stored?: string): string {
  return partsHash(contentParts(content), stored)
}

/** The checksum of some parts; their digest if `stored` is one. */
export function partsHash(parts: readonly (string | Buffer)[], stored?: string): string {
  return stored === undefined || isChecksum(stored) ? checksum(parts) : digest(parts)
}

/** A row's content as parts of a hash. Null values are skipped, so that a new column changes no existing hash. */
function contentParts(content: RowContent): (string | Buffer)[] {
  const values: [name: string, value: string | number][] = []
  // Few parts: each costs as much time as a kilobyte of text.
  const parts: (string | Buffer)[] = ['']
  for (const [name, value] of Object.entries(content)) {
    if (value === null) continue
    if (Buffer.isBuffer(value)) parts.push(value)
    values.push([name, Buffer.isBuffer(value) ? value.length : value])
  }
  parts[0] = JSON.stringify(values)
  return parts
}

export interface SeriesName {
  ticker: string
  timeframe: Timeframe
}

/** A part, and the hashes of its chunks one after another. */
interface PartHashes {
  part: Part
  hashes: string
}

/** A row that names the hashes of chunks. */
export interface ChunkList {
  /** JSON: the hashes of the chunks in order, by part. */
  chunks: string
}

/** The hashes of chunks that a row lists, by part; none if the list is damaged and no JSON object. */
export function decodeChunkHashes({ chunks }: ChunkList): Partial<Record<Part, string>> {
  try {
    return JSON.parse(chunks) ?? {}
  } catch {
    return {}
  }
}

/** The list of chunk hashes for a row, as JSON. @param others the hashes of parts that stay unchanged */
export function encodeChunkHashes(parts: readonly PartHashes[], others: Partial<Record<Part, string>> = {}): string {
  return JSON.stringify({ ...others, ...Object.fromEntries(parts.map(({ part, hashes }) => [part, hashes])) })
}

/** The checksum of a chunk; a digest if `storedHash` is one. @param chunk its number @param columns its bytes */
export function chunkHash(
  { ticker, timeframe }: SeriesName,
  part: Part,
  chunk: number,
  columns: Buffer,
  storedHash?: string,
): string {
  return partsHash([`${timeframe} ${part} ${chunk} ${ticker}`, columns], storedHash)
}

export interface SeriesRow extends ChunkList {
  bars: number
  /** The day on which the last bar is final. */
  final: string
  /** Of all fields, and of these the ones on the last bar. */
  events: number
  eventsOnLast: number
  /** JSON: of each field with data, by name: `[initialBar, initialBand, events]`. */
  fields: string
  /** JSON (encodeMarks) in the row of a daily series; null in that of a weekly one. */
  marks: string | null
}

export const SERIES_COLUMNS = `series.bars, final_date AS final, events, events_on_last AS "eventsOnLast", fields, marks,
  series.chunks`

/** The values of a series' row by SQL column, with its hash. */
export function seriesColumnValues(name: SeriesName, row: SeriesRow): ColumnValues {
  const { bars, final: final_date, events, eventsOnLast: events_on_last, fields, marks, chunks } = row
  const columns = { bars, final_date, events, events_on_last, fields, marks, chunks }
  return { timeframe: name.timeframe, ...columns, hash: seriesHash(name, row) }
}

export function summaryOf({ bars, final, events, eventsOnLast }: SeriesRow): SeriesSummary {
  return { bars, final: parseDay(final)!, events, eventsOnLast }
}

/** The checksum of a series' row; a digest if `storedHash` is one. */
export function seriesHash({ ticker, timeframe }: SeriesName, row: SeriesRow, storedHash?: string): string {
  const { bars, final, events, eventsOnLast, fields, marks, chunks } = row
  return rowChecksum({ ticker, timeframe, bars, final, events, eventsOnLast, fields, marks, chunks }, storedHash)
}

type Marks = Pick<TickerSummary, 'marks' | 'originDays'>

/** JSON of a daily series' gaps, days that open or close outside high and low, and days of each file (`stretches`). */
export function encodeMarks({ marks: { gaps, outside }, originDays }: Marks): string {
  const formatDays = (days: readonly Day[]): string[] => days.map(formatDay)
  return JSON.stringify({
    gaps: gaps.map(formatDays),
    outside: formatDays(outside),
    stretches: originDays.map(formatDays),
  })
}

/** The marks of a daily series from the JSON of `encodeMarks`. */
export function decodeMarks({ marks }: Pick<SeriesRow, 'marks'>): Marks {
  const { gaps, outside, stretches } = JSON.parse(marks!) as MarksText
  const parsePair = ([from, to]: [string, string]) => [parseDay(from)!, parseDay(to)!] as const
  return {
    marks: { gaps: gaps.map(parsePair), outside: outside.map(day => parseDay(day)!) },
    originDays: stretches.map(parsePair),
  }
}

interface MarksText {
  gaps: [string, string][]
  outside: string[]
  stretches: [string, string][]
}

/** The checksum of a row of facts; a digest if `storedHash` is one. */
export function sheetHash({ ticker, kind, records, sheet }: SheetRow, storedHash?: string): string {
  return rowChecksum({ ticker, kind, records, sheet }, storedHash)
}

/**
 * SQL for what the tables have of each ticker, as rows like those of the table `listed`.
 * @param schema the SQL schema of the tables with a dot, such as `bands.`
 */
export function presentRowsSql(schema = ''): string {
  return `SELECT ticker, 'bars' AS what FROM ${schema}tickers UNION ALL SELECT ticker, kind FROM ${schema}facts
    UNION ALL SELECT ticker, 'pulled ' || timeframe || ' ' || field FROM ${schema}pulled`
}

export interface ListedItem {
  ticker: string
  what: string
}

/** SQL for the items that the list has and the tables do not. */
export function lostRowsSql(schema = ''): string {
  return `SELECT ticker, what FROM ${schema}listed EXCEPT SELECT * FROM (${presentRowsSql(schema)}) present ORDER BY ticker, what`
}

/** SQL for the items that the tables have and the list does not. */
export function unlistedRowsSql(schema = ''): string {
  return `SELECT * FROM (${presentRowsSql(schema)}) present EXCEPT SELECT ticker, what FROM ${schema}listed ORDER BY ticker, what`
}

/** The tickers and sectors that an import still has to derive, from their JSON; none without a text. */
export function parseUnsettled(text: string | null | undefined): readonly string[] {
  return text == null ? [] : (JSON.parse(text) as string[])
}

const IMPORT_BARS_AGAIN = remedy('import', ['FILE'], { replace: true })
const IMPORT_FACTS_AGAIN = remedy('import', ['FACTS.csv'], { replace: true })
const REBUILD = remedy('rebuild')

/** Whether a damaged row exists and differs from the written one, or is gone. */
export type RowState = 'changed' | 'missing'

/** Makes the damages of a ticker, each with the command that repairs it. */
export const DAMAGE = {
  entry: (ticker: string) =>
    newDamage(ticker, 'what is said of it (dates, prices, source) is', 'changed', IMPORT_BARS_AGAIN),
  bars: (ticker: string, state: RowState = 'changed') => newDamage(ticker, 'its bars are', state, IMPORT_BARS_AGAIN),
  series: ({ ticker, timeframe }: SeriesName, state: RowState = 'changed') =>
    newDamage(ticker, `its ${timeframe} series is`, state, REBUILD),
  events: ({ ticker, timeframe }: SeriesName, state: RowState = 'changed') =>
    newDamage(ticker, `its ${timeframe} events are`, state, REBUILD),
  sheet: (ticker: string, kind: string, state: RowState = 'changed') =>
    newDamage(ticker, `its ${kind} are`, state, IMPORT_FACTS_AGAIN),
  /** @param what as the list names it */
  pulled: (ticker: string, what: string, state: RowState = 'changed') =>
    newDamage(ticker, `its ${what} events are`, state, remedy('remove', [ticker])),
}

function newDamage(ticker: string, what: string, state: RowState, mend: Remedy): Damage {
  return { ticker, what: `${what} ${state === 'missing' ? 'missing' : 'not what was written'}`, mend }
}

/** The damage of a chunk: of the ticker's bars, or of its derived events or series. */
export function chunkDamage(name: SeriesName, part: Part, state: RowState): Damage {
  if (part === 'prices' || part === 'unadjusted') return DAMAGE.bars(name.ticker, state)
  return part === 'events' ? DAMAGE.events(name, state) : DAMAGE.series(name, state)
}

/** The damage of an item that the list has and the tables do not. */
export function missingItemDamage(ticker: string, what: string): Damage {
  if (what === 'bars') return DAMAGE.bars(ticker, 'missing')
  return what.startsWith('pulled ') ? DAMAGE.pulled(ticker, what, 'missing') : DAMAGE.sheet(ticker, what, 'missing')
}

/**
 * The damages of items that only the list or only the tables have.
 * @param lost the list has them, the tables do not
 * @param unlisted the tables have them, the list does not
 */
export function listDamages(lost: readonly ListedItem[], unlisted: readonly ListedItem[]): Damage[] {
  return [
    ...lost.map(({ ticker, what }) => missingItemDamage(ticker, what)),
    ...unlisted.map(({ ticker, what }) => unlistedDamage(ticker, what)),
  ]
}

/** The damage of an item that the tables have and the list does not. */
function unlistedDamage(ticker: string, what: string): Damage {
  return {
    ticker,
    what: `its ${what} were written under another name, or not at all`,
    mend: remedy('remove', [ticker]),
  }
}
