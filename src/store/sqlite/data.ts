import { remedy, StorageError } from '../../errors.js'
import { type Day, parseDay } from '../../model/day.js'
import type { FactKind, FactSheets, Security } from '../../model/facts.js'
import type { Series } from '../../model/series.js'
import type { Timeframe } from '../../model/terms.js'
import { fewAtFirst, isSoundEntry, newestUpTo, oneField, partsFor, recordedIn } from '../checked.js'
import { decodePrices } from '../codec.js'
import { entryOf, marksIn, summaryOf, unsettledIn } from '../content.js'
import type { PageStore } from '../pages.js'
import type {
  BarBySeries,
  Batch,
  Content,
  Damage,
  Footprint,
  PackedTail,
  Recorded,
  RecordedSeries,
  SeriesQuery,
  Store,
  TickerCopy,
  TickerEntry,
  TickerSummary,
  Writer,
} from '../store.js'
import { type Notice, openForReading, openForWriting, Session } from './connection.js'
import { schemaOf } from './migrations.js'
import { removePulled, SqlitePages } from './pages.js'
import { inPlace, WritingPlace } from './place.js'
import {
  allSeries,
  barChunks,
  contentRows,
  entryRow,
  entryRows,
  findSeries,
  foundTicker,
  securityRows,
  sheetRows,
  tailOf,
} from './read.js'
import { DATA, MIGRATIONS, TICKERS, type TickerRow } from './schema.js'

// A question loads neither what writes nor what verifies.

interface SqliteOptions {
  /** Questions only: the file must exist and is never written. */
  readonly: boolean
  /** Told of a copy that was made before the schema changed. */
  notice?: Notice | undefined
}

/**
 * The store as one SQLite file. Throws StorageError when it cannot be opened, or holds nothing that could be asked; Busy
 * when its schema has to be changed while another process is writing.
 */
export function openSqlite(path: string, { readonly, notice }: SqliteOptions): Store {
  const db = readonly
    ? openForReading(path, DATA)
    : openForWriting(path, DATA, notice, (db, steps) => inPlace(path, db, steps))
  const schema = schemaOf(db)
  if (schema === MIGRATIONS.length) return new SqliteStore(new Session(path, db, DATA))
  db.close()
  if (schema > 0) {
    const steps = `(schema ${schema}, this one needs ${MIGRATIONS.length})`
    throw new StorageError(`${path} was made by an older bands ${steps}; a rebuild brings it up to date`, {
      remedy: remedy('rebuild'),
    })
  }
  throw new StorageError(`${path} is an empty file; an import makes a database of it`, {
    remedy: remedy('import', ['FILE'], { db: path }),
  })
}

/**
 * Frees the writing place of a holder that is gone; null where nobody has it. The schema stays as it is: a step may ask for
 * a rebuild, which is for whoever has the place. Throws Busy where the holder is at work.
 */
export function freePlace(path: string): Writer | null {
  const noSteps = (): null => null
  const db = new Session(path, openForWriting(path, DATA, undefined, noSteps), DATA)
  try {
    return new WritingPlace(db).clear()
  } finally {
    db.close()
  }
}

const BYTES = 'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()'
const STAMP = `SELECT series.hash FROM tickers
  JOIN series ON series.ticker_id = tickers.id AND series.timeframe = ? WHERE ticker = ?`

class SqliteStore implements Store {
  readonly location: string
  readonly address: string
  readonly pages: PageStore
  readonly #db: Session
  readonly #place: WritingPlace

  constructor(db: Session) {
    this.location = db.location
    this.address = db.location
    this.pages = new SqlitePages(db)
    this.#db = db
    this.#place = new WritingPlace(db)
  }

  async version(): Promise<string> {
    return String(this.#db.get<{ data_version: number }>('PRAGMA data_version')!.data_version)
  }

  async definitions(): Promise<string> {
    return this.#meta('definitions') ?? ''
  }

  async tickers(): Promise<TickerEntry[]> {
    return entryRows(this.#db).map(entryOf)
  }

  async ticker(ticker: string): Promise<TickerEntry | null> {
    const row = entryRow(this.#db, ticker)
    return row === undefined ? null : entryOf(row)
  }

  async newestDay(upTo = Number.POSITIVE_INFINITY): Promise<Day | null> {
    const day = this.#newestDay()
    return day === null || day <= upTo ? day : newestUpTo(this, upTo)
  }

  /** What is said of one ticker may be damaged, which is no matter to all others: then its bars tell its last day. */
  #newestDay(): Day | null {
    let newest: Day | null = null
    for (let skipped = 0; ; skipped++) {
      const row = this.#db.get<TickerRow>(`${TICKERS} ORDER BY last_date DESC, id DESC LIMIT 1 OFFSET ?`, skipped)
      if (row === undefined) return newest
      const isSound = isSoundEntry(row)
      const last = isSound ? parseDay(row.last)! : decodePrices(barChunks(this.#db, row).prices, null).days.at(-1)!
      newest = Math.max(newest ?? last, last)
      if (isSound) return newest
    }
  }

  async bars(ticker: string): Promise<Series | null> {
    return this.#db.reading(() => {
      const row = entryRow(this.#db, ticker)
      if (row === undefined) return null
      const { prices, unadjusted } = barChunks(this.#db, row)
      return decodePrices(prices, unadjusted)
    })
  }

  async sheets(ticker: string, but?: readonly FactKind[]): Promise<FactSheets> {
    const rows = sheetRows(this.#db, ticker, but)
    return rows.length === 0 ? {} : (await import('../sheets.js')).sheetsOf(rows)
  }

  async names(what?: 'bars'): Promise<string[]> {
    const of = what === undefined ? '' : "WHERE what = 'bars'"
    const rows = this.#db.all<{ ticker: string }>(`SELECT DISTINCT ticker FROM listed ${of} ORDER BY ticker`)
    return rows.map(({ ticker }) => ticker)
  }

  async factTickers(): Promise<string[]> {
    return this.#db.all<{ ticker: string }>('SELECT DISTINCT ticker FROM facts ORDER BY ticker').map(row => row.ticker)
  }

  async securities(): Promise<Map<string, Security>> {
    const rows = securityRows(this.#db)
    const { securityIn } = await import('../sheets.js')
    return new Map(rows.map(row => [row.ticker, securityIn(row)]))
  }

  async unsettled(): Promise<readonly string[]> {
    return this.#unsettled()
  }

  async *series({ tickers, ...query }: SeriesQuery): AsyncGenerator<RecordedSeries | null> {
    for (const names of fewAtFirst(tickers)) {
      const { of, unsettled } = this.#db.reading(() => this.#found(names, query))
      for (const ticker of names) yield recordedIn(this, of(ticker), query, unsettled)
    }
  }

  async recorded(ticker: string, timeframe: Timeframe, field: string): Promise<Recorded | null> {
    const query = { timeframe, fields: [field], outcomes: true }
    const { of, unsettled } = this.#db.reading(() => this.#found([ticker], query))
    return oneField(recordedIn(this, of(ticker), query, unsettled), field)
  }

  /** What is needed of some tickers, at one moment. */
  #found(tickers: readonly string[], query: Omit<SeriesQuery, 'tickers'>) {
    return { of: findSeries(this.#db, tickers, query.timeframe, partsFor(query)), unsettled: this.#unsettled() }
  }

  async tail(ticker: string, since: BarBySeries, from: BarBySeries): Promise<PackedTail | null> {
    return this.#db.reading(() => {
      const row = entryRow(this.#db, ticker)
      return row === undefined ? null : tailOf(this.#db, row, since, from)
    })
  }

  async summaries(): Promise<TickerSummary[]> {
    return this.#db.reading(() => {
      const [daily, weekly] = [allSeries(this.#db, 'daily'), allSeries(this.#db, 'weekly')]
      return entryRows(this.#db).map((row, i) => ({
        entry: entryOf(row),
        ...marksIn(daily[i]!),
        ...{ daily: summaryOf(daily[i]!), weekly: summaryOf(weekly[i]!) },
      }))
    })
  }

  async stamp(ticker: string, timeframe: Timeframe): Promise<string | null> {
    return this.#db.get<{ hash: string }>(STAMP, timeframe, ticker)?.hash ?? null
  }

  async contents(): Promise<Content[]> {
    return contentRows(this.#db)
  }

  async copies(tickers: readonly string[]): Promise<TickerCopy[]> {
    const { copyOf } = await import('../copies.js')
    return this.#db.reading(() => tickers.map(ticker => copyOf(this, foundTicker(this.#db, ticker))))
  }

  atOneMoment<T>(work: () => Promise<T>): Promise<T> {
    return this.#db.readingOn(work)
  }

  async write(batch: Batch, definitions: string): Promise<void> {
    const { removed = [], copies = [], records = [], amendments = [], sheets = [], unpulled = [], unsettled } = batch
    const { putAmendment, putCopy, putRecord, putSheet } = await import('./write.js')
    this.#db.transaction(() => {
      this.#setMeta('definitions', definitions)
      if (unsettled !== undefined) this.#setMeta('unsettled', JSON.stringify(unsettled))
      for (const ticker of [...removed, ...copies.map(({ ticker }) => ticker)]) this.#remove(ticker)
      for (const ticker of unpulled) removePulled(this.#db, ticker)
      for (const copy of copies) putCopy(this.#db, copy)
      for (const record of records) putRecord(this.#db, record)
      for (const amendment of amendments) putAmendment(this.#db, amendment)
      // Last, because a security's asset class is told with its ticker too.
      for (const sheet of sheets) putSheet(this.#db, sheet)
    })
  }

  async remove(ticker: string, unsettled?: readonly string[]): Promise<boolean> {
    return this.#db.transaction(() => {
      if (unsettled !== undefined) this.#setMeta('unsettled', JSON.stringify(unsettled))
      return this.#remove(ticker)
    })
  }

  #remove(ticker: string): boolean {
    const tables = ['tickers', 'facts', 'pulled', 'listed']
    const rows = tables.map(table => this.#db.run(`DELETE FROM ${table} WHERE ticker = ?`, ticker))
    return rows.some(deleted => deleted > 0)
  }

  async footprint(): Promise<Footprint> {
    const { bytes } = this.#db.get<{ bytes: number }>(BYTES)!
    return { schema: this.#db.schema, newestSchema: MIGRATIONS.length, bytes }
  }

  async verify(): Promise<Damage[]> {
    const { verifySession } = await import('./verify.js')
    return verifySession(this.#db)
  }

  async lock(writer: Writer): Promise<void> {
    this.#place.take(writer)
  }

  async unlock(writer: Writer): Promise<void> {
    this.#place.leave(writer)
  }

  async close(): Promise<void> {
    this.#place.close()
    this.#db.close()
  }

  #unsettled(): readonly string[] {
    return unsettledIn(this.#meta('unsettled'))
  }

  #meta(key: string): string | undefined {
    return this.#db.get<{ value: string }>('SELECT value FROM meta WHERE key = ?', key)?.value
  }

  #setMeta(key: string, value: string): void {
    this.#db.run('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)', key, value)
  }
}
