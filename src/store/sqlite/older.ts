import { parseDay } from '../../model/day.js'
import { TIMEFRAME_NAMES } from '../../model/terms.js'
import { chunkCount, decodePrices, digest, encodePrices, encodeUnadjusted, HASH } from '../codec.js'
import {
  type BarPart,
  chunkHash,
  contentHash,
  ENTRY_COLUMNS,
  type EntryRow,
  entryHash,
  presentRows,
  type SeriesName,
  sheetHash,
} from '../content.js'
import { type SheetRow, UNDERIVED } from '../store.js'
import type { Connection } from './migrations.js'

/**
 * Steps that read rows as older versions wrote them. What is not as it was written by the hashes of before gets none, so
 * that it is found damaged afterwards, too.
 */

/** Gives a database the hashes that it lacks. */
export function hashContent(db: Connection): void {
  db.exec(`INSERT INTO listed (ticker, what) ${presentRows()}`)
  // One by one: those of a market do not fit into the memory together.
  for (const id of db.prepare('SELECT id FROM tickers').pluck().all() as number[]) hashTicker(db, id)
  const sheet = db.prepare('SELECT ticker, kind, records, sheet, hash FROM facts WHERE rowid = ?')
  const update = db.prepare('UPDATE facts SET hash = ? WHERE rowid = ?')
  for (const id of db.prepare('SELECT rowid FROM facts').pluck().all() as number[]) {
    const row = sheet.get(id) as Old<SheetRow>
    update.run(row.hash === digest([Buffer.from(row.sheet)]) ? sheetHash(row) : NONE, id)
  }
}

/** A row with the hash of before. */
type Old<Row> = Row & { hash: string }

/** That of nothing. */
const NONE = ''

/** What is said of a ticker, without the list of chunks that there was not. */
type OldEntry = Omit<EntryRow, 'chunks'>

interface BarsRow {
  columns: Buffer
  unadjusted: Buffer | null
}

interface SeriesRow {
  /** Names of those with events, in order, apart by spaces. */
  fields: string
  calendar: Buffer
  outcomes: Buffer
}

interface FieldRow {
  field: string
  events: number
  columns: Buffer
}

function barsHash(ticker: string, { columns, unadjusted }: BarsRow): string {
  return contentHash({ ticker, columns, unadjusted })
}

function hashTicker(db: Connection, id: number): void {
  const entry = db.prepare(`SELECT ${ENTRY_COLUMNS} FROM tickers WHERE id = ?`).get(id) as OldEntry
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

function isSaidOf({ bars, first, last }: OldEntry, { columns }: BarsRow): boolean {
  const { days } = decodePrices([columns], null)
  return days.length === bars && days[0] === parseDay(first) && days.at(-1) === parseDay(last)
}

function hashSeries(db: Connection, id: number, { ticker, timeframe }: SeriesName): void {
  const series = db
    .prepare('SELECT hash, calendar, outcomes FROM series WHERE ticker_id = ? AND timeframe = ?')
    .get(id, timeframe) as Old<Omit<SeriesRow, 'fields'>> | undefined
  if (series === undefined) return
  const { calendar, outcomes } = series
  const rows = db
    .prepare('SELECT field, events, columns FROM events WHERE ticker_id = ? AND timeframe = ? ORDER BY field')
    .all(id, timeframe) as FieldRow[]
  const parts = rows.flatMap(({ field, events, columns }) => [field, String(events), columns])
  if (digest([calendar, outcomes, ...parts]) !== series.hash) return
  const fields = rows.map(({ field }) => field).join(' ')
  const hash = contentHash({ ticker, timeframe, fields, calendar, outcomes })
  const update = 'UPDATE series SET fields = ?, hash = ? WHERE ticker_id = ? AND timeframe = ?'
  db.prepare(update).run(fields, hash, id, timeframe)
  const events = db.prepare('UPDATE events SET hash = ? WHERE ticker_id = ? AND timeframe = ? AND field = ?')
  for (const row of rows) events.run(contentHash({ ticker, timeframe, ...row }), id, timeframe, row.field)
}

/** Moves bars into chunks. What is derived from them goes, and is to be derived anew. */
export function chunkBars(db: Connection): void {
  const ids = db.prepare('SELECT id FROM tickers ORDER BY id').pluck().all() as number[]
  const take = db.prepare('DELETE FROM bars WHERE ticker_id = ? RETURNING hash, columns, unadjusted')
  // One by one, in the room that the one before has left.
  for (const id of ids) chunkTicker(db, id, take.get(id) as Old<BarsRow> | undefined)
  if (ids.length > 0) db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('definitions', ?)").run(UNDERIVED)
}

function chunkTicker(db: Connection, id: number, row: Old<BarsRow> | undefined): void {
  const { hash, ...entry } = db
    .prepare(`SELECT hash, ${ENTRY_COLUMNS} FROM tickers WHERE id = ?`)
    .get(id) as Old<OldEntry>
  const name = { ticker: entry.ticker, timeframe: 'daily' } as const
  const insert = db.prepare(
    "INSERT INTO chunks (ticker_id, timeframe, part, chunk, columns) VALUES (?, 'daily', ?, ?, ?)",
  )
  const isSound = row !== undefined && row.hash === barsHash(entry.ticker, row)
  const put = (part: BarPart, chunks: readonly Buffer[]): string =>
    chunks
      .map((columns, i) => {
        insert.run(id, part, i, columns)
        return isSound ? chunkHash(name, part, i, columns) : UNKNOWN
      })
      .join('')
  const series = row && decodePrices([row.columns], row.unadjusted && [row.unadjusted])
  const unadjusted = series && encodeUnadjusted(series)
  const hashes: Partial<Record<BarPart, string>> = {
    prices: series === undefined ? UNKNOWN.repeat(chunkCount(entry.bars)) : put('prices', encodePrices(series)),
    ...(unadjusted && { unadjusted: put('unadjusted', unadjusted) }),
  }
  const chunks = JSON.stringify(hashes)
  const now = hash === entryHash(entry) ? entryHash({ ...entry, chunks }) : NONE
  db.prepare('UPDATE tickers SET chunks = ?, hash = ? WHERE id = ?').run(chunks, now, id)
}

/** The hash of a chunk of which it is not known what was written. */
const UNKNOWN = '0'.repeat(HASH)
