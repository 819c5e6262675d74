// For: the store on SQLite, with its files, lock and upgrades.
// In: a path.
// Out: a store; files that are whole after any crash.

import { existsSync } from 'node:fs'
import { remedy, StorageError } from '../../../core/errors.js'
import { type Day, formatDay, parseDay } from '../../../core/model/day.js'
import { decodeSeries, growingBatches, isSoundEntry, neededParts, newestUpTo, recordedOf } from '../checked.js'
import { decodePrices } from '../codec.js'
import { contentHash, decodeMarks, entryOf, parseUnsettled, summaryOf } from '../content.js'
import { type SeriesQuery, type Store, type Writer, writerBusyError } from '../store.js'
import { putAbout } from './about.js'
import { type Notice, openForReading, openForWriting, Session } from './connection.js'
import { Meta } from './meta.js'
import { type Connection, schemaOf } from './migrations.js'
import { NewFile } from './new-file.js'
import { removePulled, sqlitePageStore } from './pages.js'
import { barChunks, entryRow, entryRows, readRawSeries, readTail, securityRows, seriesRows, sheetRows } from './read.js'
import { DATA, MIGRATIONS, OLDEST_READABLE_SCHEMA, SELECT_TICKERS, type TickerRow } from './schema.js'
import { tryLock, WriterLock, withWriterLock } from './writer-lock.js'

// A question loads neither what writes nor what verifies.

interface SqliteOptions {
  /** Questions only: the file must exist and is never written. */
  readonly: boolean
  /** Gets a sentence about the copy made before a schema upgrade. */
  notice?: Notice | undefined
  /** A missing file gets its name at `publish`. It is locked for this process until then. */
  isPublishedLater?: boolean
}

/**
 * The store as one SQLite file. Throws StorageError if it cannot be opened, has no tables or is too old. Throws Busy if
 * its schema needs an upgrade while another process is writing.
 * @param isPublishedLater a missing file is made under a temporary name, and gets its own at `publish`
 */
export function openSqlite(path: string, { readonly, notice, isPublishedLater = false }: SqliteOptions): Store {
  const newStore = isPublishedLater && !existsSync(path) ? createStore(path) : null
  if (newStore !== null) return newStore
  const db = readonly
    ? openForReading(path, DATA)
    : openForWriting(path, DATA, notice, (db, steps) => withWriterLock(path, db, steps))
  const schema = schemaOf(db)
  if (schema >= OLDEST_READABLE_SCHEMA) return sqliteStore(new Session(path, db, DATA))
  db.close()
  if (schema > 0) {
    const steps = `(schema ${schema}, this one needs ${MIGRATIONS.length})`
    const words = `${path} was made by an older bands ${steps}; a rebuild brings it up to date`
    throw new StorageError(words, { remedy: remedy('rebuild', [], { db: path }) })
  }
  const words = `${path} is an empty file; an import makes a database of it`
  throw new StorageError(words, { remedy: remedy('import', ['FILE'], { db: path }) })
}

/** A store in a new file; null if another process has just made the file. Throws Busy if one is making it now. */
function createStore(path: string): Store | null {
  const file = new NewFile(path, DATA)
  let lock: Connection | null = null
  try {
    lock = tryLock(path)
    if (lock === null) throw writerBusyError(path, undefined)
    if (!existsSync(path)) return sqliteStore(file.session, { file, lock })
  } catch (error) {
    lock?.close()
    file.discard()
    throw error
  }
  lock.close()
  file.discard()
  return null
}

/**
 * Releases the writer lock of a process that is gone; null if the lock is free. The schema is not upgraded: that may
 * require a rebuild, which needs the lock. Throws Busy while the holder is running.
 */
export function releaseLock(path: string): Writer | null {
  const skipUpgrade = (): null => null
  const db = new Session(path, openForWriting(path, DATA, undefined, skipUpgrade), DATA)
  try {
    return new WriterLock(db).clearDeadHolder()
  } finally {
    db.close()
  }
}

const SELECT_BYTES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()'
const SELECT_SERIES_HASH = `SELECT series.hash FROM tickers
  JOIN series ON series.ticker_id = tickers.id AND series.timeframe = ? WHERE ticker = ?`

/**
 * The hashes of a ticker's bars and series, and whether the last bar of each series is final. Source and time of the
 * import are left out.
 */
const SELECT_CONTENT = `SELECT chunks, (SELECT group_concat(hash) FROM (
    SELECT hash || (final_date <= ?) AS hash FROM series WHERE ticker_id = tickers.id ORDER BY timeframe
  )) AS series FROM tickers WHERE ticker = ?`

/** The rows whose hashes cover all others, in an order that does not depend on the order of writes. */
const SELECT_HASHES = [
  'SELECT hash FROM tickers ORDER BY ticker',
  'SELECT series.hash FROM series JOIN tickers ON tickers.id = ticker_id ORDER BY ticker, timeframe',
  'SELECT hash FROM facts ORDER BY ticker, kind',
  'SELECT hash FROM pulled ORDER BY ticker, timeframe, field',
  "SELECT hash FROM meta WHERE key <> 'writer' ORDER BY key",
]

/** The store on an open database. @param unpublished a new file without its name yet, and the lock of that name */
function sqliteStore(db: Session, unpublished?: { file: NewFile; lock: Connection }): Store {
  const lock = new WriterLock(db, unpublished?.lock)
  let newFile = unpublished?.file ?? null
  const meta = new Meta(db)
  const setUnsettled = (unsettled: readonly string[] | undefined): void => {
    if (unsettled !== undefined) meta.set('unsettled', JSON.stringify(unsettled))
  }
  const unsettled = (): readonly string[] => parseUnsettled(meta.get('unsettled'))
  const tickersIn = (sql: string): string[] => db.all<{ ticker: string }>(sql).map(({ ticker }) => ticker)
  const remove = (ticker: string): boolean => {
    const tables = ['tickers', 'facts', 'pulled', 'listed']
    const rows = tables.map(table => db.run(`DELETE FROM ${table} WHERE ticker = ?`, ticker))
    return rows.some(deleted => deleted > 0)
  }
  /** The rows of some tickers as a function by ticker, and the tickers still to derive; all read at one moment. */
  const findRawSeries = (tickers: readonly string[], query: Omit<SeriesQuery, 'tickers'>) =>
    db.readAtOneMoment(() => {
      const rawSeriesOf = readRawSeries(db, tickers, query.timeframe, neededParts(query))
      return { rawSeriesOf, unsettled: unsettled() }
    })
  const store: Store = {
    location: db.location,
    pages: sqlitePageStore(db, meta),
    async version() {
      return String(db.get<{ data_version: number }>('PRAGMA data_version')!.data_version)
    },
    async definitions() {
      return meta.get('definitions') ?? ''
    },
    async tickers() {
      return entryRows(db).map(entryOf)
    },
    async ticker(ticker) {
      const row = entryRow(db, ticker)
      return row === undefined ? null : entryOf(row)
    },
    async newestDay(upTo = Number.POSITIVE_INFINITY) {
      const day = newestDay(db)
      return day === null || day <= upTo ? day : newestUpTo(store, upTo)
    },
    async bars(ticker, memory) {
      return (await store.tickerWithBars(ticker, { memory }))?.series ?? null
    },
    async tickerWithBars(ticker, allocation) {
      return db.readAtOneMoment(() => {
        const row = entryRow(db, ticker)
        if (row === undefined) return null
        const { prices, unadjusted } = barChunks(db, row)
        return { entry: entryOf(row), series: decodePrices(prices, unadjusted, allocation) }
      })
    },
    async sheets(ticker, except) {
      const rows = sheetRows(db, ticker, except)
      return rows.length === 0 ? {} : (await import('../sheets.js')).decodeSheets(rows)
    },
    async names(what) {
      const where = what === undefined ? '' : "WHERE what = 'bars'"
      return tickersIn(`SELECT DISTINCT ticker FROM listed ${where} ORDER BY ticker`)
    },
    async factTickers() {
      return tickersIn('SELECT DISTINCT ticker FROM facts ORDER BY ticker')
    },
    async securities() {
      const rows = securityRows(db)
      const { decodeSecurity } = await import('../sheets.js')
      return new Map(rows.map(row => [row.ticker, decodeSecurity(row)]))
    },
    async unsettled() {
      return unsettled()
    },
    async *series({ tickers, ...query }) {
      for (const names of growingBatches(tickers)) {
        const { rawSeriesOf, unsettled } = findRawSeries(names, query)
        for (const ticker of names) yield decodeSeries(db, rawSeriesOf(ticker), query, unsettled)
      }
    },
    async recorded(ticker, timeframe, field) {
      const query = { timeframe, fields: [field], outcomes: true }
      const { rawSeriesOf, unsettled } = findRawSeries([ticker], query)
      return recordedOf(decodeSeries(db, rawSeriesOf(ticker), query, unsettled), field)
    },
    async tail(ticker, since, from) {
      return db.readAtOneMoment(() => {
        const row = entryRow(db, ticker)
        return row === undefined ? null : readTail(db, row, since, from)
      })
    },
    async summaries() {
      return db.readAtOneMoment(() => {
        // Each list is in the order of the tickers.
        const daily = seriesRows(db, 'daily')
        const weekly = seriesRows(db, 'weekly')
        return entryRows(db).map((row, i) => ({
          entry: entryOf(row),
          ...decodeMarks(daily[i]!),
          daily: summaryOf(daily[i]!),
          weekly: summaryOf(weekly[i]!),
        }))
      })
    },
    async stamp(ticker, timeframe) {
      return db.get<{ hash: string }>(SELECT_SERIES_HASH, timeframe, ticker)?.hash ?? null
    },
    async content(ticker, today) {
      const row = db.get<{ chunks: string; series: string }>(SELECT_CONTENT, formatDay(today), ticker)
      return row === undefined ? null : contentHash({ ...row })
    },
    async snapshot() {
      const hashes = db.readAtOneMoment(() =>
        SELECT_HASHES.map(sql => db.all<{ hash: string }>(sql).map(({ hash }) => hash)),
      )
      return contentHash({ hashes: JSON.stringify(hashes) })
    },
    atOneMoment: work => db.readAtOneMomentAsync(work),
    async write(batch, definitions) {
      const { removed = [], records = [], amendments = [], sheets = [], replacedPulled = [] } = batch
      const { putAmendment, putRecord, putSheet } = await import('./write.js')
      db.transaction(() => {
        putAbout(db)
        meta.set('definitions', definitions)
        setUnsettled(batch.unsettled)
        for (const ticker of removed) remove(ticker)
        for (const ticker of replacedPulled) removePulled(db, ticker)
        for (const record of records) putRecord(db, record)
        for (const amendment of amendments) putAmendment(db, amendment)
        // Last, because a security also changes the asset class of its ticker.
        for (const sheet of sheets) putSheet(db, sheet)
      })
    },
    async remove(ticker, unsettled) {
      return db.transaction(() => {
        setUnsettled(unsettled)
        return remove(ticker)
      })
    },
    async footprint() {
      const { bytes } = db.get<{ bytes: number }>(SELECT_BYTES)!
      return { schema: db.schema, newestSchema: MIGRATIONS.length, bytes }
    },
    async publish() {
      if (newFile === null) return
      const verify = db.hasFailed ? (await import('./verify.js')).verifySession : () => []
      const file = newFile
      newFile = null
      file.publish(verify)
    },
    async verify() {
      const { verifySession } = await import('./verify.js')
      return verifySession(db)
    },
    async lock(writer) {
      lock.take(writer)
    },
    async unlock(writer) {
      lock.leave(writer)
    },
    async close() {
      newFile?.discard()
      db.close()
      lock.close()
    },
  }
  return store
}

/**
 * The date of the newest bar of all tickers; null without bars. The rows are read newest first, up to the first sound
 * one. In place of a damaged row the bars are read.
 */
function newestDay(db: Session): Day | null {
  let newest: Day | null = null
  for (let skipped = 0; ; skipped++) {
    const row = db.get<TickerRow>(`${SELECT_TICKERS} ORDER BY last_date DESC, id DESC LIMIT 1 OFFSET ?`, skipped)
    if (row === undefined) return newest
    const isSound = isSoundEntry(row)
    const last = isSound ? parseDay(row.last)! : decodePrices(barChunks(db, row).prices, null).days.at(-1)!
    newest = Math.max(newest ?? last, last)
    if (isSound) return newest
  }
}
