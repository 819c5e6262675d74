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
import { encodeBars, encodeCalendar, encodeOutcomes, encodeRecord, encodeUnadjusted } from '../codec.js'
import type { Amendment, TickerEntry, TickerRecord, TickerSheet } from '../store.js'
import type { Session } from './connection.js'
import {
  barsHash,
  type EntryRow,
  entryHash,
  eventsHash,
  type FieldRow,
  fieldList,
  type SeriesName,
  seriesHash,
  sheetHash,
} from './content.js'
import { entryRow, seriesRow } from './read.js'

/** Puts one ticker in place of whatever was there. To be called inside a transaction. */
export function putRecord(db: Session, { entry, daily, weekly }: TickerRecord): void {
  // Under a new id: the rows of the old one go with it.
  db.run('DELETE FROM tickers WHERE ticker = ?', entry.ticker)
  const id = insertEntry(db, entry)
  const row = { columns: encodeBars(daily.series), unadjusted: encodeUnadjusted(daily.series) }
  db.run(
    'INSERT INTO bars (ticker_id, hash, columns, unadjusted) VALUES (?, ?, ?, ?)',
    id,
    barsHash(entry.ticker, row),
    row.columns,
    row.unadjusted,
  )
  list(db, entry.ticker, 'bars')
  insertSeries(db, id, { ticker: entry.ticker, timeframe: 'daily' }, daily)
  insertSeries(db, id, { ticker: entry.ticker, timeframe: 'weekly' }, weekly)
}

/** Says in the list that there is something of a ticker. */
function list(db: Session, ticker: string, what: string): void {
  db.run('INSERT OR IGNORE INTO listed (ticker, what) VALUES (?, ?)', ticker, what)
}

/** Puts some fields of one series in place of what they were. A ticker that is not there stays away. */
export function putAmendment(db: Session, { ticker, timeframe, fields }: Amendment): void {
  const row = entryRow(db, ticker)
  if (row === undefined) return
  const series = seriesRow(db, row, timeframe)
  const listed = new Set(series.fields.split(' ').filter(name => name !== ''))
  for (const [field, kept] of fields) {
    db.run('DELETE FROM events WHERE ticker_id = ? AND timeframe = ? AND field = ?', row.id, timeframe, field)
    if (kept === null) listed.delete(field)
    else {
      insertField(db, row.id, { ticker, timeframe }, fieldRow(field, kept))
      listed.add(field)
    }
  }
  const now = fieldList(listed)
  if (now === series.fields) return
  const hash = seriesHash({ ticker, timeframe }, { ...series, fields: now })
  const update = 'UPDATE series SET fields = ?, hash = ? WHERE ticker_id = ? AND timeframe = ?'
  db.run(update, now, hash, row.id, timeframe)
}

/** Puts one kind of a ticker's facts in place of what they were; without records it goes. */
export function putSheet(db: Session, { ticker, kind, sheet }: TickerSheet): void {
  db.run('DELETE FROM facts WHERE ticker = ? AND kind = ?', ticker, kind)
  if (sheet.rows.length === 0) {
    db.run('DELETE FROM listed WHERE ticker = ? AND what = ?', ticker, kind)
    return
  }
  const row = { ticker, kind, records: sheet.rows.length, sheet: encodeSheet(kind, sheet) }
  const values = [ticker, kind, row.records, sheetHash(row), row.sheet]
  db.run('INSERT INTO facts (ticker, kind, records, hash, sheet) VALUES (?, ?, ?, ?, ?)', ...values)
  list(db, ticker, kind)
  if (kind !== 'securities') return
  const entry = entryRow(db, ticker)
  if (entry === undefined) return
  const { asset_class } = securityOf({ securities: sheet as FactSheet<'securities'> })!
  const hash = entryHash({ ...entry, assetClass: asset_class })
  db.run('UPDATE tickers SET asset_class = ?, hash = ? WHERE id = ?', asset_class, hash, entry.id)
}

function insertEntry(db: Session, { first, last, origins, ...entry }: TickerEntry): number {
  const row: EntryRow = {
    ...entry,
    first: formatDay(first),
    last: formatDay(last),
    origins: origins === undefined ? null : JSON.stringify(origins),
  }
  const inserted = db.get<{ id: number }>(
    `INSERT INTO tickers (ticker, asset_class, prices, bars, first_date, last_date, source, format, imported_at, origins,
       hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    row.ticker,
    row.assetClass,
    row.prices,
    row.bars,
    row.first,
    row.last,
    row.source,
    row.format,
    row.importedAt,
    row.origins,
    entryHash(row),
  )
  return inserted!.id
}

function insertSeries(db: Session, id: number, name: SeriesName, record: SeriesRecord): void {
  const row = {
    fields: fieldList(record.fields.keys()),
    calendar: encodeCalendar(record.series),
    outcomes: encodeOutcomes(record.outcomes),
  }
  db.run(
    'INSERT INTO series (ticker_id, timeframe, hash, fields, calendar, outcomes) VALUES (?, ?, ?, ?, ?, ?)',
    id,
    name.timeframe,
    seriesHash(name, row),
    row.fields,
    row.calendar,
    row.outcomes,
  )
  for (const [field, kept] of record.fields) insertField(db, id, name, fieldRow(field, kept))
}

function fieldRow(field: string, kept: FieldRecord): FieldRow {
  return { field, events: kept.bars.length, columns: encodeRecord(kept) }
}

function insertField(db: Session, id: number, name: SeriesName, row: FieldRow): void {
  const values = [id, name.timeframe, row.field, row.events, eventsHash(name, row), row.columns]
  db.run('INSERT INTO events (ticker_id, timeframe, field, events, hash, columns) VALUES (?, ?, ?, ?, ?, ?)', ...values)
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
