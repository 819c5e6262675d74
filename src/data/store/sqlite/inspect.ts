import { parseUnsettled } from '../content.js'
import type { Writer } from '../store.js'
import { connect, openForReading, refuseUnreadPages, Session } from './connection.js'
import { Meta } from './meta.js'
import { DATA, MIGRATIONS } from './schema.js'
import { type HolderRow, holderOfRow, mayStillWrite, SELECT_HOLDER } from './writer-lock.js'

/** The version of SQLite. Throws StorageError if the driver does not load. */
export function sqliteVersion(): string {
  const db = connect(':memory:', {})
  try {
    return (db.prepare('SELECT sqlite_version() AS version').get() as { version: string }).version
  } finally {
    db.close()
  }
}

/** A database file as it is, sound or not. */
export interface Inspection {
  schema: number
  newestSchema: number
  /** `wal`, unless something else has changed it. */
  journal: string
  /** Faults that SQLite's quick check finds. */
  faults: string[]
  /** The definitions of its events; empty before the first import. */
  definitions: string
  /** The number of tickers with bars or pulled events. */
  tickers: number
  /** The tickers and sectors that an import still has to derive. */
  unsettled: readonly string[]
  /** Who holds the writer lock, and whether that process may still run. */
  writer: (Writer & { alive: boolean }) | null
}

/** Inspects a database without changing it. Throws StorageError if it cannot be opened, Damaged for damaged `meta`. */
export function inspect(path: string): Inspection {
  const db = new Session(path, openForReading(path, DATA), DATA)
  try {
    const { schema } = db
    const [{ journal_mode: journal }] = db.pragma('journal_mode') as [{ journal_mode: string }]
    const getRow = <Row>(sql: string): Row | undefined => (schema === 0 ? undefined : db.get<Row>(sql))
    const writerRow = getRow<HolderRow>(SELECT_HOLDER)
    const meta = new Meta(db)
    // Rows of older schemas have no hashes to check.
    const metaValue = (key: 'definitions' | 'unsettled'): string | undefined =>
      schema === MIGRATIONS.length
        ? meta.get(key)
        : getRow<{ value: string }>(`SELECT value FROM meta WHERE key = '${key}'`)?.value
    const pulledSql = schema < 3 ? '' : ' UNION SELECT ticker FROM pulled'
    const tickersSql = `(SELECT ticker FROM tickers${pulledSql})`
    const check = db.pragma('quick_check(5)') as { quick_check: string }[]
    const faults = check.map(line => line.quick_check).filter(line => line !== 'ok')
    refuseUnreadPages(path, faults)
    return {
      schema,
      newestSchema: MIGRATIONS.length,
      journal,
      faults,
      definitions: metaValue('definitions') ?? '',
      tickers: getRow<{ count: number }>(`SELECT count(*) AS count FROM ${tickersSql}`)?.count ?? 0,
      unsettled: parseUnsettled(metaValue('unsettled')),
      writer: writerRow === undefined ? null : writerState(path, writerRow),
    }
  } finally {
    db.close()
  }
}

/** The writer of a row, and whether that process may still run. */
function writerState(path: string, row: HolderRow): Inspection['writer'] {
  const { boot, ...writer } = holderOfRow(row)
  return { ...writer, alive: mayStillWrite(path, { ...writer, boot }) }
}
