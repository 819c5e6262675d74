import { formatDay } from '../model/day.js'
import type { SeriesRecord } from '../model/record.js'
import type { Timeframe } from '../model/timeframe.js'
import { encodeBars, encodeCalendar, encodeOutcomes, encodeRecord } from './codec.js'
import { barsHash, derivedHash, type FieldRow } from './hash.js'
import type { Session } from './session.js'
import type { TickerEntry, TickerRecord } from './store.js'

/** Puts one ticker in place of whatever was there. To be called inside a transaction. */
export function putRecord(db: Session, { entry, daily, weekly }: TickerRecord): void {
  // Under a new id: the rows of the old one go with it.
  db.run('DELETE FROM tickers WHERE ticker = ?', entry.ticker)
  const id = insertEntry(db, entry)
  const columns = encodeBars(daily.series)
  db.run('INSERT INTO bars (ticker_id, hash, columns) VALUES (?, ?, ?)', id, barsHash(columns), columns)
  insertSeries(db, id, 'daily', daily)
  insertSeries(db, id, 'weekly', weekly)
}

function insertEntry(db: Session, entry: TickerEntry): number {
  const row = db.get<{ id: number }>(
    `INSERT INTO tickers (ticker, asset_class, prices, bars, first_date, last_date, source, format, imported_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    entry.ticker,
    entry.assetClass,
    entry.prices,
    entry.bars,
    formatDay(entry.first),
    formatDay(entry.last),
    entry.source,
    entry.format,
    entry.importedAt,
  )
  return row!.id
}

function insertSeries(db: Session, id: number, timeframe: Timeframe, record: SeriesRecord): void {
  const calendar = encodeCalendar(record.series)
  const outcomes = encodeOutcomes(record.outcomes)
  const fields: FieldRow[] = [...record.fields].map(([field, kept]) => ({
    field,
    events: kept.bars.length,
    columns: encodeRecord(kept),
  }))
  db.run(
    'INSERT INTO series (ticker_id, timeframe, hash, calendar, outcomes) VALUES (?, ?, ?, ?, ?)',
    id,
    timeframe,
    derivedHash(calendar, outcomes, fields),
    calendar,
    outcomes,
  )
  for (const { field, events, columns } of fields) {
    db.run(
      'INSERT INTO events (ticker_id, timeframe, field, events, columns) VALUES (?, ?, ?, ?, ?)',
      id,
      timeframe,
      field,
      events,
      columns,
    )
  }
}
