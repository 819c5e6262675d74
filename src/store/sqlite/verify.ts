import { TIMEFRAME_NAMES, type Timeframe } from '../../model/terms.js'
import { type Damage, Damaged } from '../store.js'
import { checkWasRead, type Session } from './connection.js'
import { DAMAGE, missing, PRESENT, type SheetRow, unlisted } from './content.js'
import { hashOf, type PulledRow } from './pages.js'
import {
  barsRow,
  checkedEntry,
  checkedSheet,
  eventsRow,
  type Hashed,
  type Numbered,
  SHEETS,
  seriesRow,
} from './read.js'
import { TICKERS, type TickerRow } from './schema.js'

/** Reads all that there is as questions do, and looks whether it is all that was written. */
export function verifySession(db: Session): Damage[] {
  const damages = structureOf(db)
  damages.push(...listDamages(db))
  for (const row of db.all<TickerRow>(`${TICKERS} ORDER BY ticker`)) {
    damages.push(...found(() => checkedEntry(db, row)), ...found(() => barsRow(db, row)))
    for (const timeframe of TIMEFRAME_NAMES) damages.push(...seriesDamages(db, row, timeframe))
  }
  for (const row of db.all<Hashed<SheetRow>>(`${SHEETS} ORDER BY ticker, kind`))
    damages.push(...found(() => checkedSheet(db, row)))
  // One by one: those of a market do not fit into the memory together.
  for (const { rowid } of db.all<{ rowid: number }>('SELECT rowid FROM pulled ORDER BY ticker, timeframe, field')) {
    const row = db.get<PulledRow>('SELECT * FROM pulled WHERE rowid = ?', rowid)!
    if (hashOf(row) !== row.hash) damages.push(DAMAGE.pulled(row, row.field))
  }
  return damages
}

/** What SQLite itself finds wrong with a file, and rows of what is not there. */
export function structureOf(db: Session): Damage[] {
  const lines = (db.pragma('integrity_check(10)') as { integrity_check: string }[]).map(line => line.integrity_check)
  const faults = lines.filter(line => line !== 'ok')
  checkWasRead(db.location, faults)
  const strays = db.pragma('foreign_key_check') as { table: string; parent: string }[]
  const kinds = new Set(strays.map(({ table, parent }) => `rows of ${table} belong to none of ${parent}`))
  return [...faults, ...kinds].map(what => ({ ticker: '', what, mend: null }))
}

interface Listed {
  ticker: string
  what: string
}

/** Where the list and the tables say different things. */
function listDamages(db: Session): Damage[] {
  const listed = 'SELECT ticker, what FROM listed'
  const lost = db.all<Listed>(`${listed} EXCEPT SELECT * FROM (${PRESENT}) ORDER BY ticker, what`)
  const strange = db.all<Listed>(`SELECT * FROM (${PRESENT}) EXCEPT ${listed} ORDER BY ticker, what`)
  return [
    ...lost.map(({ ticker, what }) => missing(ticker, what)),
    ...strange.map(({ ticker, what }) => unlisted(ticker, what)),
  ]
}

function seriesDamages(db: Session, row: Numbered, timeframe: Timeframe): Damage[] {
  const names = db.all<{ field: string }>(
    'SELECT field FROM events WHERE ticker_id = ? AND timeframe = ?',
    row.id,
    timeframe,
  )
  let fields: string
  try {
    fields = seriesRow(db, row, timeframe).fields
  } catch (error) {
    return damagesIn(error)
  }
  const all = new Set([...names.map(({ field }) => field), ...fields.split(' ').filter(field => field !== '')])
  return [...all].sort().flatMap(field => found(() => eventsRow(db, row, { timeframe, field, fields })))
}

function found(read: () => unknown): Damage[] {
  try {
    read()
    return []
  } catch (error) {
    return damagesIn(error)
  }
}

function damagesIn(error: unknown): Damage[] {
  if (error instanceof Damaged) return [error.damage]
  throw error
}
