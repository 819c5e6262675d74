import { TIMEFRAME_NAMES } from '../../../core/model/terms.js'
import { collectDamage, tickerDamages, verifySheet } from '../checked.js'
import { type Hashed, type ListedItem, listDamages, lostRowsSql, unlistedRowsSql } from '../content.js'
import type { PulledRow } from '../pages.js'
import { pulledDamages } from '../pulled.js'
import { type Damage, type SheetRow, UNDERIVED } from '../store.js'
import { aboutTableDamages } from './about.js'
import { corruptionMessage, openForReading, refuseUnreadPages, Session } from './connection.js'
import { LISTS, listRowDamages, strayRowsSql, TRIALS, trialDamages } from './lists.js'
import { metaDamages } from './meta.js'
import type { DatabaseKind } from './migrations.js'
import { rawRowsOfTicker, SELECT_SHEETS } from './read.js'
import { SELECT_TICKERS, type TickerRow } from './schema.js'

/** All damages of a database: reads all data as questions do, and checks that nothing is missing. */
export function verifySession(db: Session): Damage[] {
  const damages = structureDamages(db)
  damages.push(...metaDamages(db), ...aboutTableDamages(db, db.schema))
  damages.push(...listDamages(db.all<ListedItem>(lostRowsSql()), db.all<ListedItem>(unlistedRowsSql())))
  const derivedTimeframes = db.get<{ value: string }>(SELECT_DEFINITIONS)?.value === UNDERIVED ? [] : TIMEFRAME_NAMES
  for (const entry of db.all<TickerRow>(`${SELECT_TICKERS} ORDER BY ticker`))
    damages.push(...tickerDamages(db, rawRowsOfTicker(db, entry), derivedTimeframes))
  for (const row of db.all<Hashed<SheetRow>>(`${SELECT_SHEETS} ORDER BY ticker, kind`))
    damages.push(...collectDamage(() => verifySheet(db, row)))
  // One by one: a whole market does not fit into memory.
  for (const { rowid } of db.all<{ rowid: number }>('SELECT rowid FROM pulled ORDER BY ticker, timeframe, field'))
    damages.push(...pulledDamages(db.get<PulledRow>('SELECT * FROM pulled WHERE rowid = ?', rowid)!))
  return damages
}

const SELECT_DEFINITIONS = "SELECT value FROM meta WHERE key = 'definitions'"

/** Damages that SQLite itself finds, and rows that refer to missing rows. */
export function structureDamages(db: Session): Damage[] {
  const lines = (db.pragma('integrity_check(10)') as { integrity_check: string }[]).map(line => line.integrity_check)
  const faults = lines.filter(line => line !== 'ok')
  refuseUnreadPages(db.location, faults)
  const strays = db.pragma('foreign_key_check') as { table: string; parent: string }[]
  const kinds = new Set(strays.map(({ table, parent }) => `rows of ${table} belong to none of ${parent}`))
  return [...faults, ...kinds].map(fileDamage)
}

/** The checked rows of a file next to the data, and their damages. */
export interface VerifiedFile {
  kind: 'accounts' | 'trials' | 'lists'
  file: string
  /** The number of rows that are stored nowhere else: of the ledger of credits, trials, or lists. */
  rows: number
  damages: Damage[]
}

/** Checks every row of the trial log. A deleted row is not noticed. */
export function verifyTrials(file: string): VerifiedFile {
  return verifyFile('trials', file, TRIALS, db => {
    const { rows } = db.get<{ rows: number }>('SELECT count(*) AS rows FROM trials')!
    return { rows, damages: trialDamages(db) }
  })
}

/** Checks every row of a user's lists, and that each belongs to a list. */
export function verifyLists(file: string): VerifiedFile {
  return verifyFile('lists', file, LISTS, db => {
    const { rows } = db.get<{ rows: number }>('SELECT count(*) AS rows FROM lists')!
    const strange = db.all<{ what: string }>(strayRowsSql(db.schema)).map(({ what }) => fileDamage(what))
    return { rows, damages: [...listRowDamages(db), ...strange] }
  })
}

/** Checks the structure of a file; if that is sound, `examine` checks its rows. */
export function verifyFile(
  kind: VerifiedFile['kind'],
  file: string,
  database: DatabaseKind,
  examine: (db: Session) => Pick<VerifiedFile, 'rows' | 'damages'>,
): VerifiedFile {
  try {
    const db = new Session(file, openForReading(file, database), database)
    try {
      const damages = structureDamages(db)
      // An older schema lacks some checked columns, and a torn file cannot be queried.
      if (damages.length > 0 || db.schema < database.migrations.length) return { kind, file, rows: 0, damages }
      return { kind, file, ...examine(db) }
    } finally {
      db.close()
    }
  } catch (error) {
    const fault = corruptionMessage(error)
    if (fault === null) throw error
    return { kind, file, rows: 0, damages: [fileDamage(fault)] }
  }
}

/** Damage of a file that only a backup repairs. */
export function fileDamage(what: string): Damage {
  return { ticker: '', what, mend: null }
}
