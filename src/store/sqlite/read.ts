import type { FactKind } from '../../model/facts.js'
import type { Timeframe } from '../../model/terms.js'
import { type Damage, Damaged } from '../store.js'
import type { Session } from './connection.js'
import {
  type BarsRow,
  barsHash,
  DAMAGE,
  entryHash,
  eventsHash,
  type FieldRow,
  fieldList,
  missing,
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

export function barsRow(db: Session, { id, ticker }: Numbered): BarsRow {
  const row = db.get<Hashed<BarsRow>>('SELECT hash, columns, unadjusted FROM bars WHERE ticker_id = ?', id)
  if (row === undefined) throw damaged(db, missing(ticker, 'bars'))
  if (barsHash(ticker, row) !== row.hash) throw damaged(db, DAMAGE.bars(ticker))
  return row
}

export function seriesRow(db: Session, { id, ticker }: Numbered, timeframe: Timeframe): SeriesRow {
  const name = { ticker, timeframe }
  const row = db.get<Hashed<SeriesRow>>(SERIES, id, timeframe)
  if (row === undefined) throw damaged(db, DAMAGE.noSeries(name))
  if (seriesHash(name, row) !== row.hash) throw damaged(db, DAMAGE.series(name))
  return row
}

const SERIES = 'SELECT hash, fields, calendar, outcomes FROM series WHERE ticker_id = ? AND timeframe = ?'

/** Those of the fields of which there are events. @param listed the fields that the series names */
export function eventsRows(
  db: Session,
  { id, ticker }: Numbered,
  { timeframe, fields, listed }: { timeframe: Timeframe; fields: readonly string[]; listed: string },
): FieldRow[] {
  if (fields.length === 0) return []
  const name = { ticker, timeframe }
  const [field = ''] = fields
  // Found one by one, those of all fields would take twice as long.
  const found =
    fields.length === 1
      ? db.all<Hashed<FieldRow>>(`${EVENTS} AND field = ?`, id, timeframe, field)
      : db.all<Hashed<FieldRow>>(EVENTS, id, timeframe)
  const rows = new Map(found.map(row => [row.field, row]))
  const names = new Set(namesIn(listed))
  return fields.flatMap(field => {
    const row = rows.get(field)
    const isListed = names.has(field)
    if (row === undefined && !isListed) return []
    if (row === undefined) throw damaged(db, DAMAGE.noEvents(name, field))
    if (!isListed || eventsHash(name, row) !== row.hash) throw damaged(db, DAMAGE.events(name, field))
    return [row]
  })
}

const EVENTS = 'SELECT hash, field, events, columns FROM events WHERE ticker_id = ? AND timeframe = ?'

/**
 * How many events there are of each ticker. Their hashes would take reading them: held against each other are the number
 * that is kept of a field with the bytes of its columns, and the fields with those that the series names.
 */
export function eventCounts(db: Session, timeframe: Timeframe): Map<string, number> {
  const rows = db.all<Numbered & CountedEvents>(COUNTS, timeframe, timeframe)
  for (const row of rows) if (row.differing > 0 || !isSameList(row)) checkEvents(db, row, timeframe)
  return new Map(rows.map(({ ticker, events }) => [ticker, events]))
}

interface CountedEvents {
  events: number
  /** The fields that have some, apart by spaces. */
  found: string | null
  /** Fields of which number and columns differ. */
  differing: number
  /** null where the series is missing */
  listed: string | null
}

const COUNTS = `SELECT id, ticker, total(events) AS events, group_concat(field, ' ') AS found,
    total(length(columns) <> 8 + 7 * events) AS differing,
    (SELECT fields FROM series WHERE ticker_id = id AND timeframe = ?) AS listed
  FROM tickers LEFT JOIN events ON ticker_id = id AND timeframe = ? GROUP BY id`

function isSameList({ found, listed }: CountedEvents): boolean {
  return listed !== null && fieldList(namesIn(found)) === listed
}

/** Throws Damaged for the first that is not what was written. */
function checkEvents(db: Session, row: Numbered, timeframe: Timeframe): void {
  const { fields: listed } = seriesRow(db, row, timeframe)
  const found = db.all<FieldRow>(EVENTS, row.id, timeframe).map(({ field }) => field)
  eventsRows(db, row, { timeframe, fields: [...new Set([...found, ...namesIn(listed)])].sort(), listed })
}

function namesIn(list: string | null): string[] {
  return list === null || list === '' ? [] : list.split(' ')
}

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
