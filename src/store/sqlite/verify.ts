import { TIMEFRAME_NAMES, type Timeframe } from '../../model/terms.js'
import { barsHash, decodeBars, derivedHash, type FieldRow, sheetHash } from '../codec.js'
import type { Damage } from '../store.js'
import { checkWasRead, type Session } from './connection.js'
import { hashOf, type PulledRow } from './pages.js'
import { TICKERS, type TickerRow } from './schema.js'

/**
 * SQLite has no page checksums by default: about one flipped bit in ten changes data without any error. So each series
 * carries a hash of its content, computed again here; the file's own structure is checked too.
 */
export function verifySession(db: Session): Damage[] {
  const structure = db.pragma('integrity_check(10)') as { integrity_check: string }[]
  const lines = structure.map(line => line.integrity_check).filter(line => line !== 'ok')
  checkWasRead(db.location, lines)
  const damages: Damage[] = lines.map(what => ({ ticker: '', what }))
  for (const row of db.all<TickerRow>(`${TICKERS} ORDER BY ticker`)) {
    const found = [barsDamage(db, row), ...TIMEFRAME_NAMES.map(timeframe => seriesDamage(db, row, timeframe))]
    for (const what of found) if (what !== null) damages.push({ ticker: row.ticker, what })
  }
  for (const row of db.all<SheetRow>('SELECT ticker, kind, hash, sheet FROM facts ORDER BY ticker, kind')) {
    if (sheetHash(row.sheet) !== row.hash)
      damages.push({ ticker: row.ticker, what: `its ${row.kind} are not what was written` })
  }
  // One by one: those of a market do not fit into the memory together.
  for (const { rowid } of db.all<{ rowid: number }>('SELECT rowid FROM pulled ORDER BY ticker, timeframe, field')) {
    const row = db.get<PulledRow>('SELECT * FROM pulled WHERE rowid = ?', rowid)!
    const what = `its pulled ${row.timeframe} ${row.field} events are not what was written`
    if (hashOf(row) !== row.hash) damages.push({ ticker: row.ticker, what })
  }
  return damages
}

interface SheetRow {
  ticker: string
  kind: string
  hash: string
  sheet: string
}

function barsDamage(db: Session, { id, bars: count }: TickerRow): string | null {
  const bars = db.get<{ hash: string; columns: Buffer; unadjusted: Buffer | null }>(
    'SELECT hash, columns, unadjusted FROM bars WHERE ticker_id = ?',
    id,
  )
  if (bars === undefined) return 'its bars are missing'
  const { columns, unadjusted } = bars
  const whole = barsHash(columns, unadjusted) === bars.hash && decodeBars(columns, null).days.length === count
  return whole ? null : 'its bars are not what was written'
}

function seriesDamage(db: Session, { id }: TickerRow, timeframe: Timeframe): string | null {
  const series = db.get<{ hash: string; calendar: Buffer; outcomes: Buffer }>(
    'SELECT hash, calendar, outcomes FROM series WHERE ticker_id = ? AND timeframe = ?',
    id,
    timeframe,
  )
  if (series === undefined) return `its ${timeframe} series is missing`
  const fields = db.all<FieldRow>(
    'SELECT field, events, columns FROM events WHERE ticker_id = ? AND timeframe = ?',
    id,
    timeframe,
  )
  const whole = derivedHash(series.calendar, series.outcomes, fields) === series.hash
  return whole ? null : `its ${timeframe} events are not what was written`
}
