import type { FactKind } from '../../model/facts.js'
import { TIMEFRAME_NAMES, type Timeframe } from '../../model/terms.js'
import {
  type ChunkRow,
  checkedChunks,
  checkedEntry,
  checkedSeries,
  checkedSheet,
  checkedSheets,
  damaged,
  endOf,
  type FoundSeries,
  type KeptTicker,
  type PartRow,
} from '../checked.js'
import { chunkOf } from '../codec.js'
import {
  contentsIn,
  DAMAGE,
  type DerivedPart,
  ENTRY_COLUMNS,
  type EntryRow,
  type Hashed,
  hashesIn,
  type Listed,
  missing,
  type Part,
  SERIES_COLUMNS,
  type SeriesRow,
  unsettledIn,
} from '../content.js'
import type { FoundTicker } from '../copies.js'
import type { PulledRow } from '../pages.js'
import type { BarBySeries, Content, PackedTail, SheetRow } from '../store.js'
import { kept, ofBytes, type Queries } from './connection.js'

/**
 * Rows for whoever asks, changes or verifies them, of one moment each: what belongs together comes in one statement.
 * Chunks come one after another in one value, with their names beside it. Each throws Damaged for a row that is not what
 * was written, and for one that is missing, unless it says otherwise.
 *
 * Each table is held against the tickers that are asked for by itself, and not against another table: partitions that have
 * none of them are left out before any is touched, and one on another server is sent the whole condition.
 */

/** Who is asked, and where that is, for messages. */
export interface Reading extends Queries {
  readonly location: string
}

type Entry = Hashed<EntryRow>
type Series = Hashed<SeriesRow>

export const ENTRIES = `SELECT hash, chunks, ${ENTRY_COLUMNS} FROM bands_data.tickers`
const SERIES = `SELECT ticker, ${SERIES_COLUMNS}, hash FROM bands_data.series`
/** Those of the days, which lie where no dead shard hides them. */
export const NEWEST = `SELECT hash, chunks, ${ENTRY_COLUMNS} FROM bands_data.days ORDER BY last_date DESC, ticker DESC`
const UNSETTLED = "(SELECT value FROM bands_data.meta WHERE key = 'unsettled')"

const ASKED = 'ticker = ANY ($1)'
const LIST = 'unnest($1::text[])'
const LIST_OF_ONE = 'ARRAY[$1::text]'

/** The tickers that are asked for, in their order; to what is joined to them, each by its ticker. */
const FROM_ASKED = `FROM ${LIST} WITH ORDINALITY AS asked (ticker, place)`
const IN_ORDER = 'ORDER BY asked.place'

const WITH_ENTRY = `LEFT JOIN (${ENTRIES} WHERE ${ASKED}) entry ON entry.ticker = asked.ticker`
const WITH_LISTED = `LEFT JOIN (SELECT ticker FROM bands_data.listed WHERE ${ASKED} AND what = 'bars') listed
  ON listed.ticker = asked.ticker`
const ENTRY_IS_LISTED = 'row_to_json(entry) AS entry, listed.ticker IS NOT NULL AS "isListed"'

function withSeries(as: string, timeframe: string): string {
  return `LEFT JOIN (${SERIES} WHERE ${ASKED} AND timeframe = ${timeframe}) ${as} ON ${as}.ticker = asked.ticker`
}

function withChunks(as: string, which: string): string {
  return `LEFT JOIN (
    SELECT ticker, string_agg(part || ' ' || chunk || ' ' || octet_length(columns), ',' ORDER BY part, chunk) AS names,
      string_agg(columns, ''::bytea ORDER BY part, chunk) AS columns
    FROM bands_data.chunks WHERE ${ASKED} AND ${which} GROUP BY ticker) ${as} ON ${as}.ticker = asked.ticker`
}

/** Takes the chunks apart. */
function partRows(names: string | null, columns: Buffer | null): PartRow[] {
  if (names === null || columns === null) return []
  let at = 0
  return names.split(',').map(name => {
    const [part, chunk, bytes] = name.split(' ') as [Part, string, string]
    at += Number(bytes)
    return { part, chunk: Number(chunk), columns: columns.subarray(at - Number(bytes), at) }
  })
}

function ofPart(rows: readonly PartRow[], part: Part): ChunkRow[] {
  return rows.filter(row => row.part === part)
}

function found(more = ''): string {
  return `SELECT asked.ticker, ${ENTRY_IS_LISTED}, row_to_json(series) AS series, kept.names, kept.columns,
    ${UNSETTLED} AS unsettled${more}
  ${FROM_ASKED} ${WITH_ENTRY} ${WITH_LISTED} ${withSeries('series', '$2')}
  ${withChunks('kept', 'timeframe = $2 AND part = ANY ($3)')} ${IN_ORDER}`
}

const FOUND = ofBytes(found())

interface FoundRow {
  ticker: string
  entry: Entry | null
  series: Series | null
  isListed: boolean
  names: string | null
  columns: Buffer | null
  unsettled: string | null
}

/** What was read of a series, and what waited for an import then. */
type Found = FoundSeries & { unsettled: readonly string[] }

/** What there is of the series of some tickers, in their order. Nothing is checked. */
export async function findSeries(
  db: Queries,
  tickers: readonly string[],
  timeframe: Timeframe,
  parts: readonly DerivedPart[],
): Promise<Found[]> {
  const rows = await db.query<FoundRow>(FOUND, [tickers, timeframe, parts])
  return rows.map(row => foundIn(row, timeframe))
}

function foundIn(
  { ticker, entry, series, isListed, names, columns, unsettled }: FoundRow,
  timeframe: Timeframe,
): Found {
  return {
    ...{ ticker, timeframe, isListed },
    ...{ entry: entry ?? undefined, series: series ?? undefined },
    chunks: partRows(names, columns),
    unsettled: unsettledIn(unsettled),
  }
}

/** What a question asks of the whole store; the last comes with a series, and is remembered by who remembers that. */
export interface Look {
  version: string
  definitions: string | null
  unsettled: string | null
  /** That of the newest bar, which may be damaged; null: there is none. */
  newest?: Entry | null
}

const ofMeta = (key: string): string => `(SELECT value FROM bands_data.meta WHERE key = '${key}')`

/** Of what is being written over several servers: another one each time, so that nobody keeps what is read meanwhile. */
export const VERSION = `CASE WHEN EXISTS (SELECT FROM bands_data.meta WHERE key LIKE 'writing %')
  THEN gen_random_uuid()::text ELSE ${ofMeta('version')} END`

const LOOK = `${VERSION} AS version, ${ofMeta('definitions')} AS definitions`

const ONLY_LOOK = kept(`SELECT ${LOOK}, ${UNSETTLED} AS unsettled`)

export async function lookAt(db: Queries): Promise<Look> {
  const [look] = await db.query<Look>(ONLY_LOOK)
  return look!
}

const WIDE_LOOK = `${LOOK}, (SELECT row_to_json(found) FROM (${NEWEST} LIMIT 1) found) AS newest`

/**
 * Of one ticker, by a plan that is made once. One for any list of tickers would have to touch every partition; of a list of
 * one, those that have none of it are left out when it is asked. `ticker = $1` would do on this server, and is not sent to
 * another one: the planner gives the value the collation of the column, of which postgres_fdw cannot tell whether it is known.
 */
function keptOfOne(statement: string): string {
  return kept(statement.replace(LIST, `unnest(${LIST_OF_ONE})`).replaceAll(ASKED, `ticker = ANY (${LIST_OF_ONE})`))
}

const FOUND_LOOKING = ofBytes(keptOfOne(found(`, ${WIDE_LOOK}`)))

/** What there is of a series, and of the whole store at the same moment. Nothing is checked. */
export async function findLooking(
  db: Queries,
  ticker: string,
  timeframe: Timeframe,
  parts: readonly DerivedPart[],
): Promise<{ found: Found; look: Look }> {
  const [row] = await db.query<FoundRow & Look>(FOUND_LOOKING, [ticker, timeframe, parts])
  return { found: foundIn(row!, timeframe), look: row! }
}

const ENTRY = `SELECT ${ENTRY_IS_LISTED} ${FROM_ASKED} ${WITH_ENTRY} ${WITH_LISTED}`

/** undefined: unknown ticker */
export async function entryRow(db: Reading, ticker: string): Promise<Entry | undefined> {
  const [row] = await db.query<Pick<FoundRow, 'entry' | 'isListed'>>(ENTRY, [[ticker]])
  return entryIn(db, ticker, row!)
}

function entryIn(db: Reading, ticker: string, found: Pick<FoundRow, 'entry' | 'isListed'>): Entry | undefined {
  if (found.entry !== null) return checkedEntry(db, found.entry)
  if (found.isListed) throw damaged(db, missing(ticker, 'bars'))
  return undefined
}

const ALL_ENTRIES = `SELECT listed.ticker AS listed, entries.*
  FROM (${ENTRIES}) entries FULL JOIN (SELECT ticker FROM bands_data.listed WHERE what = 'bars') listed ON listed.ticker = entries.ticker
  ORDER BY coalesce(entries.ticker, listed.ticker)`

/** By ticker. */
export async function entryRows(db: Reading): Promise<Entry[]> {
  const rows = await db.query<Entry & { listed: string | null }>(ALL_ENTRIES)
  const lost = rows.find(({ ticker }) => ticker === null)
  if (lost !== undefined) throw damaged(db, missing(lost.listed!, 'bars'))
  return rows.map(({ listed: _listed, ...row }) => checkedEntry(db, row))
}

const BARS = ofBytes(`SELECT ${ENTRY_IS_LISTED}, kept.names, kept.columns ${FROM_ASKED} ${WITH_ENTRY} ${WITH_LISTED}
  ${withChunks('kept', "timeframe = 'daily' AND part IN ('prices', 'unadjusted')")}`)

/** The chunks of a ticker's bars; undefined: unknown ticker. @param isTrusted looks away from what is said of the ticker */
export async function barChunks(
  db: Reading,
  ticker: string,
  isTrusted = false,
): Promise<{ prices: Buffer[]; unadjusted: Buffer[] | null } | undefined> {
  const [row] = await db.query<Omit<FoundRow, 'series'>>(BARS, [[ticker]])
  const entry = isTrusted ? row!.entry : entryIn(db, ticker, row!)
  if (entry == null) return undefined
  const { prices = '', unadjusted } = hashesIn(entry)
  const rows = partRows(row!.names, row!.columns)
  const chunks = (part: Part, hashes: string): Buffer[] =>
    checkedChunks(db, { ticker, timeframe: 'daily' }, part, ofPart(rows, part), hashes)
  return {
    prices: chunks('prices', prices),
    unadjusted: unadjusted === undefined ? null : chunks('unadjusted', unadjusted),
  }
}

const ofEnd = (timeframe: Timeframe, first: string): string =>
  `timeframe = '${timeframe}' AND part IN ('events', 'outcomes') AND chunk >= ${first}`

const BOTH_SERIES = `row_to_json(daily) AS daily, row_to_json(weekly) AS weekly,
    days.names AS daily_names, days.columns AS daily_columns, weeks.names AS weekly_names, weeks.columns AS weekly_columns`

const WITH_BOTH = `${WITH_ENTRY} ${withSeries('daily', "'daily'")} ${withSeries('weekly', "'weekly'")}`

const TAIL = ofBytes(`SELECT ${ENTRY_IS_LISTED}, ${BOTH_SERIES} ${FROM_ASKED} ${WITH_BOTH} ${WITH_LISTED}
  ${withChunks('days', ofEnd('daily', '$2'))} ${withChunks('weeks', ofEnd('weekly', '$3'))}`)

interface TailRow extends Pick<FoundRow, 'entry' | 'isListed'> {
  daily: Series | null
  weekly: Series | null
  daily_names: string | null
  daily_columns: Buffer | null
  weekly_names: string | null
  weekly_columns: Buffer | null
}

/** What is stored of a ticker before some bars, with its events from others on; null: unknown ticker */
export async function tailOf(
  db: Reading,
  ticker: string,
  since: BarBySeries,
  from: BarBySeries,
): Promise<PackedTail | null> {
  const [row] = await db.query<TailRow>(TAIL, [[ticker], chunkOf(from.daily), chunkOf(from.weekly)])
  const entry = entryIn(db, ticker, row!)
  if (entry === undefined) return null
  const end = (timeframe: Timeframe): PackedTail['daily'] => {
    const rows = partRows(row![`${timeframe}_names`], row![`${timeframe}_columns`])
    return endOf(db, { ticker, timeframe }, row![timeframe] ?? undefined, rows, { since, from })
  }
  return { since, hashes: entry.chunks, daily: end('daily'), weekly: end('weekly') }
}

const EVENTS = ofBytes(`SELECT ${ENTRY_IS_LISTED}, row_to_json(series) AS series, kept.names, kept.columns
  ${FROM_ASKED} ${WITH_ENTRY} ${WITH_LISTED} ${withSeries('series', '$2')}
  ${withChunks('kept', "timeframe = $2 AND part = 'events'")}`)

/** A series and its events, to be changed; undefined: unknown ticker */
export async function eventRows(
  db: Reading,
  ticker: string,
  timeframe: Timeframe,
): Promise<{ series: SeriesRow; chunks: ChunkRow[] } | undefined> {
  const [row] = await db.query<FoundRow>(EVENTS, [[ticker], timeframe])
  if (entryIn(db, ticker, row!) === undefined) return undefined
  const series = checkedSeries(db, { ticker, timeframe }, row!.series ?? undefined)
  return { series, chunks: partRows(row!.names, row!.columns) }
}

const ALL_SERIES = `SELECT tickers.ticker, ${SERIES_COLUMNS}, series.hash
  FROM bands_data.tickers LEFT JOIN bands_data.series ON series.ticker = tickers.ticker AND timeframe = $1 ORDER BY tickers.ticker`

/** The rows of all series of a timeframe, in the order of the tickers. */
export async function allSeries(db: Reading, timeframe: Timeframe): Promise<SeriesRow[]> {
  const rows = await db.query<{ ticker: string } & (Series | { hash: null })>(ALL_SERIES, [timeframe])
  return rows.map(({ ticker, ...row }) => {
    const name = { ticker, timeframe }
    if (row.hash === null) throw damaged(db, DAMAGE.series(name, false))
    return checkedSeries(db, name, row)
  })
}

const SHEETS = `SELECT listed.what, facts.hash, facts.ticker, facts.kind, facts.records, facts.sheet
  FROM (SELECT * FROM bands_data.facts WHERE ticker = $1) facts
  FULL JOIN (SELECT what FROM bands_data.listed WHERE ticker = $1 AND what <> 'bars' AND what NOT LIKE 'pulled %') listed
    ON listed.what = facts.kind
  ORDER BY coalesce(facts.kind, listed.what)`

/** All kinds of a ticker's facts, but for those that are not to be read. */
export async function sheetRows(db: Reading, ticker: string, but: readonly FactKind[] = []): Promise<SheetRow[]> {
  const rows = await db.query<Hashed<SheetRow> & { what: string | null }>(SHEETS, [ticker])
  const listed = rows.flatMap(({ what }) => what ?? [])
  const found = rows.filter(({ kind }) => kind !== null)
  return checkedSheets(db, ticker, found, listed, but)
}

const SECURITIES =
  "SELECT hash, ticker, kind, records, sheet FROM bands_data.facts WHERE kind = 'securities' ORDER BY ticker"

/** What is known of every ticker. */
export async function securityRows(db: Reading): Promise<SheetRow[]> {
  return (await db.query<Hashed<SheetRow>>(SECURITIES)).map(row => checkedSheet(db, row))
}

const WHOLE = ofBytes(`SELECT row_to_json(entry) AS entry, ${BOTH_SERIES} ${FROM_ASKED} ${WITH_BOTH}
  ${withChunks('days', "timeframe = 'daily'")} ${withChunks('weeks', "timeframe = 'weekly'")} ${IN_ORDER}`)

/** All that is kept of some tickers, in their order; null: there are no bars of one. Nothing is checked. */
export async function wholeTickers(db: Queries, tickers: readonly string[]): Promise<(KeptTicker | null)[]> {
  return (await db.query<Omit<TailRow, 'isListed'>>(WHOLE, [tickers])).map(row => {
    const { entry } = row
    if (entry === null) return null
    const rows = Object.fromEntries(
      TIMEFRAME_NAMES.map(name => [name, partRows(row[`${name}_names`], row[`${name}_columns`])]),
    )
    return {
      entry,
      series: timeframe => row[timeframe] ?? undefined,
      chunks: (timeframe, part) => ofPart(rows[timeframe]!, part),
    }
  })
}

/** What lies in the tables of some tickers, in their order. */
export async function foundTickers(db: Queries, tickers: readonly string[]): Promise<FoundTicker[]> {
  const kept = await wholeTickers(db, tickers)
  const of = async <Row extends { ticker: string }>(table: string): Promise<Row[]> =>
    db.query<Row>(`SELECT * FROM bands_data.${table} WHERE ticker = ANY ($1)`, [tickers])
  const [sheets, pulled, listed] = [
    await of<Hashed<SheetRow>>('facts'),
    await of<PulledRow>('pulled'),
    await of<Listed>('listed'),
  ]
  return tickers.map((ticker, i) => ({
    ticker,
    bars: kept[i]!,
    sheets: sheets.filter(row => row.ticker === ticker),
    pulled: pulled.filter(row => row.ticker === ticker),
    listed: listed.filter(row => row.ticker === ticker).map(({ what }) => what),
  }))
}

const CONTENTS = contentsIn('SELECT ticker, timeframe, hash, events FROM bands_data.series', 'bands_data.')

export function contentRows(db: Queries): Promise<Content[]> {
  return db.query<Content>(CONTENTS)
}
