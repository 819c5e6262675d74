import type { BandEvent, PulledSource, SeriesKey } from '../../../core/model/event.js'
import type { PageStore, PulledEntry, PulledRow, StoredPage, StoredPages } from '../pages.js'
import { listedName, PULLED_COLUMNS, pageReader, pulledRowOf } from '../pulled.js'
import type { Session } from './connection.js'
import type { Meta } from './meta.js'
import type { Connection } from './migrations.js'

const INTO_PULLED = `INSERT OR REPLACE INTO pulled (${PULLED_COLUMNS.join(', ')}) VALUES (${PULLED_COLUMNS.map(() => '?').join(', ')})`

export function pagesIn(db: Session, meta: Meta): PageStore {
  const rows = async <Row>(sql: string, ...values: string[]): Promise<Row[]> =>
    db.all<Row>(sql, Object.fromEntries(values.map((value, i) => [i + 1, value])))
  return {
    ...pageReader({ schema: '', place: () => db, rows }),
    async put(series) {
      db.transaction(() => {
        const { ticker, url } = series
        const other = db.get('SELECT 1 FROM pulled WHERE ticker = ? AND url <> ?', ticker, url)
        if (other !== undefined) removePulled(db, ticker)
        putPulled(db, pulledRowOf(series))
      })
    },
    run: async () => meta.run(),
    setRun: async run => meta.setRun(run),
  }
}

/** Replaces a row. Must be called inside a transaction. */
function putPulled(db: Session, row: PulledRow): void {
  db.run(INTO_PULLED, ...valuesOf(row))
  list(db, row.ticker, listedName(row))
}

/** Says in the list that there is something of a ticker. */
export function list(db: Session, ticker: string, what: string): void {
  db.run('INSERT OR IGNORE INTO listed (ticker, what) VALUES (?, ?)', ticker, what)
}

/** Takes out all that was pulled of a ticker. To be called inside a transaction. */
export function removePulled(db: Session, ticker: string): void {
  db.run('DELETE FROM pulled WHERE ticker = ?', ticker)
  db.run("DELETE FROM listed WHERE ticker = ? AND what LIKE 'pulled %'", ticker)
}

/** In the order of PULLED_COLUMNS. */
function valuesOf(row: PulledRow): (string | number | Buffer | null)[] {
  return PULLED_COLUMNS.map(column => row[column])
}

const OF_SERIES = 'WHERE ticker = ? AND timeframe = ? AND field = ?'

/** A row of `pulled` as schema 3 had it: all events of a series together. */
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
  mixed: boolean
}

/** Converts pulls of older versions into pages: they cost credits, so no server is asked again. */
export function convertOldPulled(db: Connection): void {
  const keys = db.prepare('SELECT ticker, timeframe, field FROM pulled').all() as SeriesKey[]
  const whole = db.prepare(`SELECT * FROM pulled ${OF_SERIES}`)
  const update = db.prepare(
    `UPDATE pulled SET ${PULLED_COLUMNS.map(column => `${column} = ?`).join(', ')} ${OF_SERIES}`,
  )
  // One by one: a whole market does not fit into memory.
  for (const { ticker, timeframe, field } of keys) {
    const series = seriesOf(whole.get(ticker, timeframe, field) as OldRow)
    update.run(...valuesOf(pulledRowOf(series)), ticker, timeframe, field)
  }
}

function seriesOf(row: OldRow): StoredPages {
  const { ticker, timeframe, field, url } = row
  const key = { ticker, timeframe, field }
  const under = row.under_way === null ? null : (JSON.parse(row.under_way) as UnfinishedPull)
  const told = { ...row, events: JSON.parse(row.told) as BandEvent[], mixed: row.state === 'mixed' }
  const kept = row.state === 'partial' ? [] : pagesOf(key, told)
  return { ...key, url, kept, coming: under === null ? [] : pagesOf(key, under) }
}

/** Maximum number of events of the newest page. */
const PAGE = 100

/** The newest page, which is the one that the server named, and all older events as another. */
function pagesOf(key: SeriesKey, { events, etag, mixed, ...told }: UnfinishedPull): StoredPage[] {
  const { pulled_at, as_of, query_range, total_occurrences: total } = told
  const newest = events.toReversed()
  const page = (from: number, to: number): StoredPage => {
    const body = { ...key, events: newest.slice(from, to), total_occurrences: Math.max(0, total - from), query_range }
    return { before: newest[from - 1]?.date ?? null, pulled_at, as_of, etag: null, gapAbove: false, body }
  }
  const first = { ...page(0, PAGE), etag, gapAbove: mixed }
  return events.length > PAGE ? [first, page(PAGE, events.length)] : [first]
}
