import type { BandEvent, PulledSource, SeriesKey } from '../../../core/model/event.js'
import type { PageStore, PulledEntry, PulledRow, StoredPage, StoredPages } from '../pages.js'
import { listedName, PULLED_COLUMNS, pageReader, pulledRowOf } from '../pulled.js'
import type { Session } from './connection.js'
import type { Meta } from './meta.js'
import type { Connection } from './migrations.js'

const INTO_PULLED = `INSERT OR REPLACE INTO pulled (${PULLED_COLUMNS.join(', ')}) VALUES (${PULLED_COLUMNS.map(() => '?').join(', ')})`

/**
 * The store of pages (answers of other servers) in an open database. `put` replaces the pages of a series, and deletes
 * those of its ticker from another server.
 */
export function sqlitePageStore(db: Session, meta: Meta): PageStore {
  const rows = async <Row>(sql: string, ...values: string[]): Promise<Row[]> =>
    db.all<Row>(sql, Object.fromEntries(values.map((value, i) => [i + 1, value])))
  return {
    ...pageReader({ schema: '', location: () => db, rows }),
    async put(series) {
      db.transaction(() => {
        const { ticker, url } = series
        const otherServer = db.get('SELECT 1 FROM pulled WHERE ticker = ? AND url <> ?', ticker, url)
        if (otherServer !== undefined) removePulled(db, ticker)
        db.run(INTO_PULLED, ...pulledValues(pulledRowOf(series)))
        addToListed(db, ticker, listedName(series))
      })
    },
    run: async () => meta.pullRun(),
    setRun: async run => meta.setPullRun(run),
  }
}

/** Notes in `listed`, which names everything that must be stored, that a ticker has an item. */
export function addToListed(db: Session, ticker: string, what: string): void {
  db.run('INSERT OR IGNORE INTO listed (ticker, what) VALUES (?, ?)', ticker, what)
}

/** Deletes everything that was pulled for a ticker. Must be called inside a transaction. */
export function removePulled(db: Session, ticker: string): void {
  db.run('DELETE FROM pulled WHERE ticker = ?', ticker)
  db.run("DELETE FROM listed WHERE ticker = ? AND what LIKE 'pulled %'", ticker)
}

function pulledValues(row: PulledRow): (string | number | Buffer | null)[] {
  return PULLED_COLUMNS.map(column => row[column])
}

const WHERE_SERIES = 'WHERE ticker = ? AND timeframe = ? AND field = ?'

/** A row of `pulled` in schema 3: all events of a series together. */
interface OldRow extends SeriesKey, PulledSource {
  state: PulledEntry['state']
  query_range: string
  total_occurrences: number
  etag: string | null
  /** JSON, events oldest first. */
  told: string
  under_way: string | null
}

/** Pages of a pull that was stopped, in that table; JSON. */
interface UnfinishedPull extends Pick<OldRow, 'pulled_at' | 'as_of' | 'query_range' | 'total_occurrences' | 'etag'> {
  events: BandEvent[]
  /** The events are of two pulls, and some between them may be missing. */
  mixed: boolean
}

/** Converts pulls of older versions into pages: they cost credits, so no server is asked again. */
export function convertOldPulled(db: Connection): void {
  const keys = db.prepare('SELECT ticker, timeframe, field FROM pulled').all() as SeriesKey[]
  const select = db.prepare(`SELECT * FROM pulled ${WHERE_SERIES}`)
  const update = db.prepare(
    `UPDATE pulled SET ${PULLED_COLUMNS.map(column => `${column} = ?`).join(', ')} ${WHERE_SERIES}`,
  )
  // One by one: a whole market does not fit into memory.
  for (const { ticker, timeframe, field } of keys) {
    const series = pagesOfOldRow(select.get(ticker, timeframe, field) as OldRow)
    update.run(...pulledValues(pulledRowOf(series)), ticker, timeframe, field)
  }
}

/** The pages of a series from a row of schema 3; of a `partial` one only those of its unfinished pull, in `coming`. */
function pagesOfOldRow(row: OldRow): StoredPages {
  const { ticker, timeframe, field, url } = row
  const key = { ticker, timeframe, field }
  const finished = { ...row, events: JSON.parse(row.told) as BandEvent[], mixed: row.state === 'mixed' }
  const kept = row.state === 'partial' ? [] : pagesOf(key, finished)
  const coming = row.under_way === null ? [] : pagesOf(key, JSON.parse(row.under_way) as UnfinishedPull)
  return { ...key, url, kept, coming }
}

const NEWEST_PAGE_EVENTS = 100

/** The events of a pull as pages: the newest, which has the server's ETag, and one with all older events. */
function pagesOf(key: SeriesKey, { events, etag, mixed: mayMissEvents, ...pull }: UnfinishedPull): StoredPage[] {
  const { pulled_at, as_of, query_range, total_occurrences: total } = pull
  const newestFirst = events.toReversed()
  const makePage = (from: number, to: number): StoredPage => {
    const total_occurrences = Math.max(0, total - from)
    const body = { ...key, events: newestFirst.slice(from, to), total_occurrences, query_range }
    return { before: newestFirst[from - 1]?.date ?? null, pulled_at, as_of, etag: null, gapAbove: false, body }
  }
  const newestPage = { ...makePage(0, NEWEST_PAGE_EVENTS), etag, gapAbove: mayMissEvents }
  if (events.length <= NEWEST_PAGE_EVENTS) return [newestPage]
  return [newestPage, makePage(NEWEST_PAGE_EVENTS, events.length)]
}
