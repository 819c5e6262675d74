import { remedy } from '../../errors.js'
import type { FactKind } from '../../model/facts.js'
import type { Timeframe } from '../../model/terms.js'
import { digest } from '../codec.js'
import type { Damage, TickerEntry } from '../store.js'

/**
 * How a database tells that it holds what was written, which SQLite does not: about one flipped bit in ten changes data
 * without any error, and anyone may edit a row.
 *  1. Each row has a hash of what it holds and of what it is about: a question checks those that it reads.
 *  2. A row of a series names the fields of which there are events.
 *  3. A list names every ticker and what there is of it, so that what is missing is not taken for what never was.
 */

/** What is said of a ticker, as its row has it. */
export interface EntryRow extends Omit<TickerEntry, 'first' | 'last' | 'origins'> {
  first: string
  last: string
  origins: string | null
}

export const ENTRY_COLUMNS = `ticker, asset_class AS assetClass, prices, bars, first_date AS first, last_date AS last,
  source, format, imported_at AS importedAt, origins`

export function entryHash({ ticker, assetClass, prices, bars, first, last, ...from }: EntryRow): string {
  const { source, format, importedAt, origins } = from
  return contentHash({ ticker, assetClass, prices, bars, first, last, source, format, importedAt, origins })
}

/**
 * Hash of what a row holds and of what it is about. What is null counts for nothing, so that a column that comes later
 * changes no hash.
 */
function contentHash(content: Readonly<Record<string, string | number | Buffer | null>>): string {
  const told = Object.entries(content).filter(([, value]) => value !== null)
  const blobs = told.flatMap(([, value]) => (Buffer.isBuffer(value) ? [value] : []))
  const values = told.map(([name, value]) => [name, Buffer.isBuffer(value) ? value.length : value])
  // In few parts: each costs about as much as a kilobyte of it.
  return digest([JSON.stringify(values), ...blobs])
}

export interface BarsRow {
  columns: Buffer
  unadjusted: Buffer | null
}

export function barsHash(ticker: string, { columns, unadjusted }: BarsRow): string {
  return contentHash({ ticker, columns, unadjusted })
}

/** Which series of which ticker. */
export interface SeriesName {
  ticker: string
  timeframe: Timeframe
}

export interface SeriesRow {
  /** Names of those with events, in order, apart by spaces. */
  fields: string
  calendar: Buffer
  outcomes: Buffer
}

export function seriesHash({ ticker, timeframe }: SeriesName, { fields, calendar, outcomes }: SeriesRow): string {
  return contentHash({ ticker, timeframe, fields, calendar, outcomes })
}

/** One field's events as they are kept. */
export interface FieldRow {
  field: string
  events: number
  columns: Buffer
}

export function eventsHash({ ticker, timeframe }: SeriesName, { field, events, columns }: FieldRow): string {
  return contentHash({ ticker, timeframe, field, events, columns })
}

export function fieldList(names: Iterable<string>): string {
  return [...names].sort().join(' ')
}

/** One kind of a ticker's facts as they are kept. */
export interface SheetRow {
  ticker: string
  kind: FactKind
  records: number
  sheet: string
}

export function sheetHash({ ticker, kind, records, sheet }: SheetRow): string {
  return contentHash({ ticker, kind, records, sheet })
}

/** What there is of tickers, as the list names it. */
export const PRESENT = `SELECT ticker, 'bars' AS what FROM tickers UNION ALL SELECT ticker, kind FROM facts
  UNION ALL SELECT ticker, 'pulled ' || timeframe || ' ' || field FROM pulled`

/** What is wrong with a ticker in words that follow it, and what mends it. */
export const DAMAGE = {
  entry: (ticker: string): Damage => ({
    ticker,
    what: 'what is said of it (dates, prices, source) is not what was written',
    mend: AGAIN,
  }),
  bars: (ticker: string): Damage => ({ ticker, what: 'its bars are not what was written', mend: AGAIN }),
  noBars: (ticker: string): Damage => ({ ticker, what: 'its bars are missing', mend: AGAIN }),
  series: ({ ticker, timeframe }: SeriesName): Damage => ({
    ticker,
    what: `its ${timeframe} series is not what was written`,
    mend: remedy('rebuild'),
  }),
  noSeries: ({ ticker, timeframe }: SeriesName): Damage => ({
    ticker,
    what: `its ${timeframe} series is missing`,
    mend: remedy('rebuild'),
  }),
  events: ({ ticker, timeframe }: SeriesName, field: string): Damage => ({
    ticker,
    what: `its ${timeframe} ${field} events are not what was written`,
    mend: remedy('rebuild'),
  }),
  noEvents: ({ ticker, timeframe }: SeriesName, field: string): Damage => ({
    ticker,
    what: `its ${timeframe} ${field} events are missing`,
    mend: remedy('rebuild'),
  }),
  sheet: (ticker: string, kind: string): Damage => ({
    ticker,
    what: `its ${kind} are not what was written`,
    mend: FACTS_AGAIN,
  }),
  pulled: ({ ticker, timeframe }: SeriesName, field: string): Damage => ({
    ticker,
    what: `its pulled ${timeframe} ${field} events are not what was written`,
    mend: remedy('remove', [ticker]),
  }),
}

const AGAIN = remedy('import', ['FILE'], { replace: true })
const FACTS_AGAIN = remedy('import-facts', ['FILE'], { replace: true })

/** What the list has and the tables have not. */
export function missing(ticker: string, what: string): Damage {
  if (what === 'bars') return DAMAGE.noBars(ticker)
  if (!what.startsWith('pulled ')) return { ticker, what: `its ${what} are missing`, mend: FACTS_AGAIN }
  return { ticker, what: `its ${what} events are missing`, mend: remedy('remove', [ticker]) }
}

/** What the tables have and the list has not. */
export function unlisted(ticker: string, what: string): Damage {
  return {
    ticker,
    what: `its ${what} were written under another name, or not at all`,
    mend: remedy('remove', [ticker]),
  }
}
