import { type Day, parseDay } from '../../model/day.js'
import type { SeriesKey } from '../../model/event.js'
import { type KeptEntry, type KeptPage, type KeptSeries, knownDate, type PageStore, type PullRun } from '../pages.js'
import type { Session } from './connection.js'

/** A row of `pages` as it lies in the database. */
export interface PageRow extends SeriesKey {
  coming: 0 | 1
  /** 0 is the newest. */
  place: number
  url: string
  pulled_at: string
  as_of: string | null
  known: string
  mixed: 0 | 1
  query_range: string
  total_occurrences: number
  events: number
  asked_before: string | null
  etag: string | null
  body: string
  hash: string
}

/** The columns whose content is hashed, in their order. */
export const PAGE_COLUMNS = [
  ...['ticker', 'timeframe', 'field', 'coming', 'place', 'url', 'pulled_at', 'as_of', 'known', 'mixed'],
  ...['query_range', 'total_occurrences', 'events', 'asked_before', 'etag', 'body'],
] as readonly Exclude<keyof PageRow, 'hash'>[]

const ENTRY = PAGE_COLUMNS.slice(0, 13).join(', ')
const INTO_PAGES = `INSERT INTO pages (${PAGE_COLUMNS.join(', ')}, hash) VALUES (${PAGE_COLUMNS.map(() => '?').join(', ')}, ?)`
const OF_SERIES = 'WHERE ticker = ? AND timeframe = ? AND field = ?'

/** Pages of a pull that is not through count for the newest day where nothing else of their series is there. */
const NEWEST = `SELECT max(known) AS newest FROM pages p WHERE (coming = 0 OR NOT EXISTS (SELECT 1 FROM pages k
  WHERE k.ticker = p.ticker AND k.timeframe = p.timeframe AND k.field = p.field AND k.coming = 0))`

export class SqlitePages implements PageStore {
  readonly #db: Session

  constructor(db: Session) {
    this.#db = db
  }

  async has(ticker: string): Promise<boolean> {
    return this.#db.get('SELECT 1 FROM pages WHERE ticker = ? LIMIT 1', ticker) !== undefined
  }

  async entries(ticker?: string): Promise<KeptEntry[]> {
    const order = 'ORDER BY ticker, timeframe, field, coming, place'
    const rows =
      ticker === undefined
        ? this.#db.all<PageRow>(`SELECT ${ENTRY} FROM pages ${order}`)
        : this.#db.all<PageRow>(`SELECT ${ENTRY} FROM pages WHERE ticker = ? ${order}`, ticker)
    const entries = new Map<string, KeptEntry>()
    for (const row of rows) {
      const name = `${row.ticker} ${row.timeframe} ${row.field}`
      const entry = entries.get(name)
      if (entry === undefined) entries.set(name, entryOf(row))
      else if (row.coming === 0) {
        entry.events += row.events
        if (row.mixed === 1) entry.state = 'mixed'
      }
    }
    return [...entries.values()]
  }

  async series({ ticker, timeframe, field }: SeriesKey): Promise<KeptSeries | null> {
    const rows = this.#db.all<PageRow>(`SELECT * FROM pages ${OF_SERIES} ORDER BY place`, ticker, timeframe, field)
    const [first] = rows
    if (first === undefined) return null
    const pages = (coming: 0 | 1): KeptPage[] => rows.filter(row => row.coming === coming).map(pageOf)
    return { ticker, timeframe, field, url: first.url, kept: pages(0), coming: pages(1) }
  }

  async newestDay(url?: string): Promise<Day | null> {
    const row =
      url === undefined
        ? this.#db.get<{ newest: string | null }>(NEWEST)
        : this.#db.get<{ newest: string | null }>(`${NEWEST} AND url = ?`, url)
    return row?.newest == null ? null : parseDay(row.newest)
  }

  async put(series: KeptSeries): Promise<void> {
    const { pageHash } = await import('./hash.js')
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM pages WHERE ticker = ? AND url <> ?', series.ticker, series.url)
      this.#db.run(`DELETE FROM pages ${OF_SERIES}`, series.ticker, series.timeframe, series.field)
      for (const row of rowsOf(series)) this.#db.run(INTO_PAGES, ...row, pageHash(row))
    })
  }

  async run(): Promise<PullRun | null> {
    const row = this.#db.get<{ value: string }>("SELECT value FROM meta WHERE key = 'pull'")
    return row === undefined ? null : (JSON.parse(row.value) as PullRun)
  }

  async setRun(run: PullRun | null): Promise<void> {
    if (run === null) this.#db.run("DELETE FROM meta WHERE key = 'pull'")
    else this.#db.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('pull', ?)", JSON.stringify(run))
  }
}

/** What the newest page says of its series. */
function entryOf({ coming, mixed, ticker, timeframe, field, url, pulled_at, as_of, ...row }: PageRow): KeptEntry {
  const { query_range, total_occurrences, events } = row
  const state = coming === 1 ? 'partial' : mixed === 1 ? 'mixed' : 'complete'
  const counted = coming === 1 ? 0 : events
  return {
    ...{ ticker, timeframe, field, url, pulled_at, as_of, state, query_range },
    ...{ total_occurrences, events: counted },
  }
}

function pageOf({ asked_before: before, pulled_at, as_of, etag, mixed, body }: PageRow): KeptPage {
  return { before, pulled_at, as_of, etag, mixed: mixed === 1, body: JSON.parse(body) as KeptPage['body'] }
}

/** A series as rows without their hash, in the order of PAGE_COLUMNS. */
export function rowsOf({ ticker, timeframe, field, url, kept, coming }: KeptSeries): (string | number | null)[][] {
  const rows = (pages: readonly KeptPage[], isComing: 0 | 1) =>
    pages.map(({ before, pulled_at, as_of, etag, mixed, body }, place) => {
      const { query_range, total_occurrences, events } = body
      const row: Omit<PageRow, 'hash'> = {
        ...{ ticker, timeframe, field, coming: isComing, place, url, pulled_at, as_of },
        ...{ known: knownDate({ as_of, pulled_at }), mixed: mixed ? 1 : 0, query_range, total_occurrences },
        ...{ events: events.length, asked_before: before, etag, body: JSON.stringify(body) },
      }
      return PAGE_COLUMNS.map(column => row[column])
    })
  return [...rows(kept, 0), ...rows(coming, 1)]
}
