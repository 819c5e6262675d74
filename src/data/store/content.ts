import { type Remedy, remedy } from '../../core/errors.js'
import { type Day, formatDay, parseDay } from '../../core/model/day.js'
import type { Timeframe } from '../../core/model/terms.js'
import { digest } from './codec.js'
import type { Damage, SeriesSummary, SheetRow, TickerEntry, TickerSummary } from './store.js'

/**
 * How a store recognises damaged data, which a database may not notice. In SQLite about one flipped bit in ten changes
 * data without any error. PostgreSQL has checksums only if they were enabled, and anyone may edit a row.
 * 1. Each row except chunks has a hash of its content and its key. A question checks the rows that it reads.
 * 2. A ticker's row lists the hashes of its bar chunks, a series' row those of its derived chunks.
 * 3. A list names every ticker and its data, so missing data are noticed.
 */

/** The columns of a ticker's row. */
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

/** The row of a ticker. @param bars the parts of its bars */
export function entryRowOf({ first, last, origins, ...entry }: TickerEntry, bars: readonly PartHashes[]): EntryRow {
  return {
    ...entry,
    first: formatDay(first),
    last: formatDay(last),
    origins: origins === undefined ? null : JSON.stringify(origins),
    chunks: hashesOf(bars),
  }
}

/** Only the columns of the row: the caller's object may have more. */
export function writtenEntry(row: EntryRow): ColumnValues {
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

/** @param entry without its chunks as it was up to schema 6 */
export function entryHash(entry: Omit<EntryRow, 'chunks'> & Partial<ChunkList>): string {
  const { ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins, chunks = null } = entry
  return contentHash({ ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins, chunks })
}

/** Hash of a row's content and key. Null values are skipped, so that a new column changes no existing hash. */
export function contentHash(content: Readonly<Record<string, string | number | Buffer | null>>): string {
  const values: [name: string, value: string | number][] = []
  // Few parts: each costs as much time as a kilobyte of text.
  const parts: (string | Buffer)[] = ['']
  for (const [name, value] of Object.entries(content)) {
    if (value === null) continue
    if (Buffer.isBuffer(value)) parts.push(value)
    values.push([name, Buffer.isBuffer(value) ? value.length : value])
  }
  parts[0] = JSON.stringify(values)
  return digest(parts)
}

/** A ticker and one of its timeframes. */
export interface SeriesName {
  ticker: string
  timeframe: Timeframe
}

/** The parts of a series that are stored in chunks: bars (only of daily series), and derived data. */
export const BAR_PARTS = ['prices', 'unadjusted'] as const
export const DERIVED_PARTS = ['calendar', 'outcomes', 'events'] as const
export type BarPart = (typeof BAR_PARTS)[number]
export type DerivedPart = (typeof DERIVED_PARTS)[number]
export type Part = BarPart | DerivedPart

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

/** The hashes of chunks that a row names, by part; none where it is so damaged that it names nothing. */
export function hashesIn({ chunks }: ChunkList): Partial<Record<Part, string>> {
  try {
    return JSON.parse(chunks)
  } catch {
    return {}
  }
}

/** What a row names of its chunks. @param others parts that stay as they were */
export function hashesOf(parts: readonly PartHashes[], others: Partial<Record<Part, string>> = {}): string {
  return JSON.stringify({ ...others, ...Object.fromEntries(parts.map(({ part, hashes }) => [part, hashes])) })
}

export function chunkHash({ ticker, timeframe }: SeriesName, part: Part, chunk: number, columns: Buffer): string {
  return digest([`${timeframe} ${part} ${chunk} ${ticker}`, columns])
}

/** The columns of a series' row, without its chunks. */
export interface SeriesRow extends ChunkList {
  bars: number
  /** The day on which the last bar is final. */
  final: string
  /** Of all fields, and of these the ones on the last bar. */
  events: number
  eventsOnLast: number
  /** JSON: by name of each with data, in order: initial bar, initial band, events. */
  fields: string
  /** JSON, of daily series: pairs of days with a gap between, days of bars outside their range, first and last day by file. */
  marks: string | null
}

export const SERIES_COLUMNS = `series.bars, final_date AS final, events, events_on_last AS "eventsOnLast", fields, marks,
  series.chunks`

export function writtenSeries(name: SeriesName, row: SeriesRow): ColumnValues {
  const { bars, final: final_date, events, eventsOnLast: events_on_last, fields, marks, chunks } = row
  const columns = { bars, final_date, events, events_on_last, fields, marks, chunks }
  return { timeframe: name.timeframe, ...columns, hash: seriesHash(name, row) }
}

export function summaryOf({ bars, final, events, eventsOnLast }: SeriesRow): SeriesSummary {
  return { bars, final: parseDay(final)!, events, eventsOnLast }
}

export function seriesHash({ ticker, timeframe }: SeriesName, row: SeriesRow): string {
  const { bars, final, events, eventsOnLast, fields, marks, chunks } = row
  return contentHash({ ticker, timeframe, bars, final, events, eventsOnLast, fields, marks, chunks })
}

type Marks = Pick<TickerSummary, 'marks' | 'stretches'>

export function marksText({ marks: { gaps, outside }, stretches }: Marks): string {
  const dates = (days: readonly Day[]): string[] => days.map(formatDay)
  return JSON.stringify({ gaps: gaps.map(dates), outside: dates(outside), stretches: stretches.map(dates) })
}

export function marksIn({ marks }: Pick<SeriesRow, 'marks'>): Marks {
  const { gaps, outside, stretches } = JSON.parse(marks!) as MarksText
  const pair = ([from, to]: [string, string]) => [parseDay(from)!, parseDay(to)!] as const
  return {
    marks: { gaps: gaps.map(pair), outside: outside.map(day => parseDay(day)!) },
    stretches: stretches.map(pair),
  }
}

interface MarksText {
  gaps: [string, string][]
  outside: string[]
  stretches: [string, string][]
}

export function sheetHash({ ticker, kind, records, sheet }: SheetRow): string {
  return contentHash({ ticker, kind, records, sheet })
}

/** The data that tickers have, as the list names them. @param schema of the tables, with a dot (default: none) */
export function presentRows(schema = ''): string {
  return `SELECT ticker, 'bars' AS what FROM ${schema}tickers UNION ALL SELECT ticker, kind FROM ${schema}facts
    UNION ALL SELECT ticker, 'pulled ' || timeframe || ' ' || field FROM ${schema}pulled`
}

/** A ticker and one kind of its data. */
export interface ListedItem {
  ticker: string
  what: string
}

/** Rows that only the list or only the tables have. */
export function lostRows(schema = ''): string {
  return `SELECT ticker, what FROM ${schema}listed EXCEPT SELECT * FROM (${presentRows(schema)}) present ORDER BY ticker, what`
}

export function strangeRows(schema = ''): string {
  return `SELECT * FROM (${presentRows(schema)}) present EXCEPT SELECT ticker, what FROM ${schema}listed ORDER BY ticker, what`
}

/** The tickers and sectors that an import still has to derive. */
export function parseUnsettled(text: string | null | undefined): readonly string[] {
  return text == null ? [] : (JSON.parse(text) as string[])
}

const AGAIN = remedy('import', ['FILE'], { replace: true })
const FACTS_AGAIN = remedy('import', ['FACTS.csv'], { replace: true })
const REBUILD = remedy('rebuild')

/**
 * What is wrong with a ticker, and the command that repairs it. isThere: a row exists, but differs from the written
 * one.
 */
export const DAMAGE = {
  entry: (ticker: string) => damage(ticker, 'what is said of it (dates, prices, source) is', true, AGAIN),
  bars: (ticker: string, isThere = true) => damage(ticker, 'its bars are', isThere, AGAIN),
  series: ({ ticker, timeframe }: SeriesName, isThere = true) =>
    damage(ticker, `its ${timeframe} series is`, isThere, REBUILD),
  events: ({ ticker, timeframe }: SeriesName, isThere = true) =>
    damage(ticker, `its ${timeframe} events are`, isThere, REBUILD),
  sheet: (ticker: string, kind: string, isThere = true) => damage(ticker, `its ${kind} are`, isThere, FACTS_AGAIN),
  /** @param what as the list names it */
  pulled: (ticker: string, what: string, isThere = true) =>
    damage(ticker, `its ${what} events are`, isThere, remedy('remove', [ticker])),
}

function damage(ticker: string, what: string, isThere: boolean, mend: Remedy): Damage {
  return { ticker, what: `${what} ${isThere ? 'not what was written' : 'missing'}`, mend }
}

/** The damage of a chunk that is missing or differs from the written one. */
export function chunkDamage(name: SeriesName, part: Part, isThere: boolean): Damage {
  if (part === 'prices' || part === 'unadjusted') return DAMAGE.bars(name.ticker, isThere)
  return part === 'events' ? DAMAGE.events(name, isThere) : DAMAGE.series(name, isThere)
}

/** The list has it, the tables do not. */
export function missing(ticker: string, what: string): Damage {
  if (what === 'bars') return DAMAGE.bars(ticker, false)
  return what.startsWith('pulled ') ? DAMAGE.pulled(ticker, what, false) : DAMAGE.sheet(ticker, what, false)
}

/** @param lost what the list has and the tables have not @param strange the other way round */
export function listDamages(lost: readonly ListedItem[], strange: readonly ListedItem[]): Damage[] {
  return [
    ...lost.map(({ ticker, what }) => missing(ticker, what)),
    ...strange.map(({ ticker, what }) => unlisted(ticker, what)),
  ]
}

/** The tables have it, the list does not. */
function unlisted(ticker: string, what: string): Damage {
  return {
    ticker,
    what: `its ${what} were written under another name, or not at all`,
    mend: remedy('remove', [ticker]),
  }
}
