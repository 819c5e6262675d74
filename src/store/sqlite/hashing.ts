import { parseDay } from '../../model/day.js'
import { TIMEFRAME_NAMES } from '../../model/terms.js'
import { decodeBars, digest } from '../codec.js'
import {
  type BarsRow,
  barsHash,
  ENTRY_COLUMNS,
  type EntryRow,
  entryHash,
  eventsHash,
  type FieldRow,
  fieldList,
  PRESENT,
  type SeriesName,
  type SeriesRow,
  type SheetRow,
  seriesHash,
  sheetHash,
} from './content.js'
import type { Connection } from './migrations.js'

/**
 * Gives a database of before the hashes that it lacks. What is not as it was written by the hashes of before gets none, so
 * that it is found damaged afterwards, too.
 */
export function hashContent(db: Connection): void {
  db.exec(`INSERT INTO listed (ticker, what) ${PRESENT}`)
  // One by one: those of a market do not fit into the memory together.
  for (const id of db.prepare('SELECT id FROM tickers').pluck().all() as number[]) hashTicker(db, id)
  const sheet = db.prepare('SELECT ticker, kind, records, sheet, hash FROM facts WHERE rowid = ?')
  const update = db.prepare('UPDATE facts SET hash = ? WHERE rowid = ?')
  for (const id of db.prepare('SELECT rowid FROM facts').pluck().all() as number[]) {
    const row = sheet.get(id) as Old<SheetRow>
    update.run(row.hash === digest([Buffer.from(row.sheet)]) ? sheetHash(row) : NONE, id)
  }
}

/** A row with the hash of before, which did not know what it is about. */
type Old<Row> = Row & { hash: string }

/** That of nothing. */
const NONE = ''

function hashTicker(db: Connection, id: number): void {
  const entry = db.prepare(`SELECT ${ENTRY_COLUMNS} FROM tickers WHERE id = ?`).get(id) as EntryRow
  const bars = db.prepare('SELECT hash, columns, unadjusted FROM bars WHERE ticker_id = ?').get(id)
  const isSound = bars !== undefined && areAsWritten(bars as Old<BarsRow>)
  if (isSound) {
    const hash = barsHash(entry.ticker, bars as BarsRow)
    db.prepare('UPDATE bars SET hash = ? WHERE ticker_id = ?').run(hash, id)
  }
  const isTrue = isSound && isSaidOf(entry, bars as BarsRow)
  db.prepare('UPDATE tickers SET hash = ? WHERE id = ?').run(isTrue ? entryHash(entry) : NONE, id)
  for (const timeframe of TIMEFRAME_NAMES) hashSeries(db, id, { ticker: entry.ticker, timeframe })
}

function areAsWritten({ hash, columns, unadjusted }: Old<BarsRow>): boolean {
  return hash === digest(unadjusted === null ? [columns] : [columns, unadjusted])
}

function isSaidOf({ bars, first, last }: EntryRow, { columns }: BarsRow): boolean {
  const { days } = decodeBars(columns, null)
  return days.length === bars && days[0] === parseDay(first) && days.at(-1) === parseDay(last)
}

function hashSeries(db: Connection, id: number, name: SeriesName): void {
  const series = db
    .prepare('SELECT hash, calendar, outcomes FROM series WHERE ticker_id = ? AND timeframe = ?')
    .get(id, name.timeframe) as Old<Omit<SeriesRow, 'fields'>> | undefined
  if (series === undefined) return
  const rows = db
    .prepare('SELECT field, events, columns FROM events WHERE ticker_id = ? AND timeframe = ? ORDER BY field')
    .all(id, name.timeframe) as FieldRow[]
  const parts = rows.flatMap(({ field, events, columns }) => [field, String(events), columns])
  if (digest([series.calendar, series.outcomes, ...parts]) !== series.hash) return
  const fields = fieldList(rows.map(({ field }) => field))
  const hash = seriesHash(name, { ...series, fields })
  const update = 'UPDATE series SET fields = ?, hash = ? WHERE ticker_id = ? AND timeframe = ?'
  db.prepare(update).run(fields, hash, id, name.timeframe)
  const events = db.prepare('UPDATE events SET hash = ? WHERE ticker_id = ? AND timeframe = ? AND field = ?')
  for (const row of rows) events.run(eventsHash(name, row), id, name.timeframe, row.field)
}
