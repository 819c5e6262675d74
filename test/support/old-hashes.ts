import { digest } from '../../src/store/codec.js'
import type { Database } from './database.js'

/** Gives the rows of a database the hashes that they had up to schema 5, which did not know what they were about. */
export function setOldHashes(db: Database): void {
  const rows = (sql: string, ...of: unknown[]) => db.prepare(sql).all(...of) as Record<string, Buffer | string | null>[]
  for (const { ticker_id, columns, unadjusted } of rows('SELECT * FROM bars')) {
    const hash = digest(unadjusted == null ? [columns as Buffer] : [columns as Buffer, unadjusted])
    db.prepare('UPDATE bars SET hash = ? WHERE ticker_id = ?').run(hash, ticker_id)
  }
  for (const { ticker_id, timeframe, calendar, outcomes } of rows('SELECT * FROM series')) {
    const of = 'FROM events WHERE ticker_id = ? AND timeframe = ? ORDER BY field'
    const events = rows(`SELECT field, CAST(events AS TEXT) AS events, columns ${of}`, ticker_id, timeframe)
    const parts = events.flatMap(({ field, events, columns }) => [field!, events!, columns!])
    const hash = digest([calendar!, outcomes!, ...parts])
    db.prepare('UPDATE series SET hash = ? WHERE ticker_id = ? AND timeframe = ?').run(hash, ticker_id, timeframe)
  }
  for (const { ticker, kind, sheet } of rows('SELECT * FROM facts')) {
    const hash = digest([Buffer.from(sheet as string)])
    db.prepare('UPDATE facts SET hash = ? WHERE ticker = ? AND kind = ?').run(hash, ticker, kind)
  }
}
