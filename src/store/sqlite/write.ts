import { formatDay, parseDay } from '../../model/day.js'
import {
  FACT_COLUMNS,
  type FactColumn,
  type FactKind,
  type FactSheet,
  type FactSource,
  securityOf,
} from '../../model/facts.js'
import type { FieldRecord, SeriesRecord } from '../../model/series.js'
import type { Timeframe } from '../../model/terms.js'
import {
  barsHash,
  derivedHash,
  encodeBars,
  encodeCalendar,
  encodeOutcomes,
  encodeRecord,
  encodeUnadjusted,
  type FieldRow,
  sheetHash,
} from '../codec.js'
import type { Amendment, TickerEntry, TickerRecord, TickerSheet } from '../store.js'
import type { Session } from './connection.js'

/** Puts one ticker in place of whatever was there. To be called inside a transaction. */
export function putRecord(db: Session, { entry, daily, weekly }: TickerRecord): void {
  // Under a new id: the rows of the old one go with it.
  db.run('DELETE FROM tickers WHERE ticker = ?', entry.ticker)
  const id = insertEntry(db, entry)
  const columns = encodeBars(daily.series)
  const unadjusted = encodeUnadjusted(daily.series)
  db.run(
    'INSERT INTO bars (ticker_id, hash, columns, unadjusted) VALUES (?, ?, ?, ?)',
    id,
    barsHash(columns, unadjusted),
    columns,
    unadjusted,
  )
  insertSeries(db, id, 'daily', daily)
  insertSeries(db, id, 'weekly', weekly)
}

/** Puts some fields of one series in place of what they were. A ticker that is not there stays away. */
export function putAmendment(db: Session, { ticker, timeframe, fields }: Amendment): void {
  const series = db.get<{ ticker_id: number; calendar: Buffer; outcomes: Buffer }>(
    `SELECT ticker_id, calendar, outcomes FROM series JOIN tickers ON id = ticker_id
     WHERE ticker = ? AND timeframe = ?`,
    ticker,
    timeframe,
  )
  if (series === undefined) return
  const { ticker_id: id, calendar, outcomes } = series
  for (const [field, kept] of fields) {
    db.run('DELETE FROM events WHERE ticker_id = ? AND timeframe = ? AND field = ?', id, timeframe, field)
    if (kept !== null) insertField(db, id, timeframe, fieldRow(field, kept))
  }
  const all = db.all<FieldRow>(
    'SELECT field, events, columns FROM events WHERE ticker_id = ? AND timeframe = ?',
    id,
    timeframe,
  )
  db.run(
    'UPDATE series SET hash = ? WHERE ticker_id = ? AND timeframe = ?',
    derivedHash(calendar, outcomes, all),
    id,
    timeframe,
  )
}

/** Puts one kind of a ticker's facts in place of what they were; without records it goes. */
export function putSheet(db: Session, { ticker, kind, sheet }: TickerSheet): void {
  db.run('DELETE FROM facts WHERE ticker = ? AND kind = ?', ticker, kind)
  if (sheet.rows.length === 0) return
  const text = encodeSheet(kind, sheet)
  const values = [ticker, kind, sheet.rows.length, sheetHash(text), text]
  db.run('INSERT INTO facts (ticker, kind, records, hash, sheet) VALUES (?, ?, ?, ?, ?)', ...values)
  if (kind !== 'securities') return
  const { asset_class } = securityOf({ securities: sheet as FactSheet<'securities'> })!
  db.run('UPDATE tickers SET asset_class = ? WHERE ticker = ?', asset_class, ticker)
}

function insertEntry(db: Session, entry: TickerEntry): number {
  const row = db.get<{ id: number }>(
    `INSERT INTO tickers (ticker, asset_class, prices, bars, first_date, last_date, source, format, imported_at, origins)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    entry.ticker,
    entry.assetClass,
    entry.prices,
    entry.bars,
    formatDay(entry.first),
    formatDay(entry.last),
    entry.source,
    entry.format,
    entry.importedAt,
    entry.origins === undefined ? null : JSON.stringify(entry.origins),
  )
  return row!.id
}

function insertSeries(db: Session, id: number, timeframe: Timeframe, record: SeriesRecord): void {
  const calendar = encodeCalendar(record.series)
  const outcomes = encodeOutcomes(record.outcomes)
  const fields = [...record.fields].map(([field, kept]) => fieldRow(field, kept))
  db.run(
    'INSERT INTO series (ticker_id, timeframe, hash, calendar, outcomes) VALUES (?, ?, ?, ?, ?)',
    id,
    timeframe,
    derivedHash(calendar, outcomes, fields),
    calendar,
    outcomes,
  )
  for (const row of fields) insertField(db, id, timeframe, row)
}

function fieldRow(field: string, kept: FieldRecord): FieldRow {
  return { field, events: kept.bars.length, columns: encodeRecord(kept) }
}

function insertField(db: Session, id: number, timeframe: Timeframe, { field, events, columns }: FieldRow): void {
  const values = [id, timeframe, field, events, columns]
  db.run('INSERT INTO events (ticker_id, timeframe, field, events, columns) VALUES (?, ?, ?, ?, ?)', ...values)
}

/** Records as text that a SQL tool can read: columns by name, dates as `YYYY-MM-DD`. */
interface SheetText {
  sources: readonly FactSource[]
  columns: readonly string[]
  /** The number of the source, then a value for each column. */
  rows: readonly (readonly (string | number | null)[])[]
}

function encodeSheet(kind: FactKind, { sources, rows }: FactSheet): string {
  const records = rows.map(({ record }) => record as unknown as Readonly<Record<string, string | number | null>>)
  const columns = FACT_COLUMNS[kind]
    .filter(({ name, rare }) => rare !== true || records.some(record => record[name] !== undefined))
    .map(({ name, holds }) => ({ name, isDate: holds === 'date' }))
  const encoded = (value: string | number | null | undefined, isDate: boolean): string | number | null =>
    isDate && value != null ? formatDay(value as number) : (value ?? null)
  const text: SheetText = {
    sources,
    columns: columns.map(({ name }) => name),
    rows: records.map((record, i) => [
      rows[i]!.source,
      ...columns.map(({ name, isDate }) => encoded(record[name], isDate)),
    ]),
  }
  return JSON.stringify(text)
}

export function decodeSheet(kind: FactKind, json: string): FactSheet {
  const { sources, columns, rows } = JSON.parse(json) as SheetText
  const named = (test: (column: FactColumn) => boolean): ReadonlySet<string> =>
    new Set(FACT_COLUMNS[kind].filter(test).map(({ name }) => name))
  const dates = named(({ holds }) => holds === 'date')
  const rare = named(column => column.rare === true)
  return {
    sources,
    rows: rows.map(([source, ...values]) => {
      const told = columns.flatMap((name, i) => (values[i] === null && rare.has(name) ? [] : [[name, values[i]!]]))
      const pairs = told.map(([name, value]) => [name, dates.has(name as string) ? parseDay(value as string) : value])
      return { source: source as number, record: Object.fromEntries(pairs) }
    }),
  }
}
