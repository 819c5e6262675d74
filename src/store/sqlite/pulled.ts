import { type Day, parseDay } from '../../model/day.js'
import { knownDate, type PulledEntry, type PulledSeries, type PullRun, type SeriesKey } from '../../model/pulled.js'
import type { Session } from './connection.js'

/** Events as servers told them, beside the bars of other tickers. A ticker's are all from one server. */
export interface PulledStore {
  /** What there is, of one ticker or of all, by ticker, timeframe and field. */
  entries(ticker?: string): Promise<PulledEntry[]>
  /** null: nothing was pulled */
  series(key: SeriesKey): Promise<PulledSeries | null>
  /** The newest day that a server has told anything of; of all servers unless one is given. null: nothing was pulled. */
  newestDay(url?: string): Promise<Day | null>
  /** Puts a series in place of what it was; what another server told of the ticker goes. */
  put(series: PulledSeries): Promise<void>
  /** The pull that has not come to its end. */
  run(): Promise<PullRun | null>
  setRun(run: PullRun | null): Promise<void>
}

/** Of a store that answers from bars alone. Throws when something is put into it. */
export const NOTHING_PULLED: PulledStore = {
  entries: async () => [],
  series: async () => null,
  newestDay: async () => null,
  run: async () => null,
  put: () => Promise.reject(new Error('nothing is pulled into this store')),
  setRun: () => Promise.reject(new Error('nothing is pulled into this store')),
}

/** A row of `pulled` as it lies in the database. */
export interface PulledRow extends PulledEntry {
  known: string
  etag: string | null
  hash: string
  told: string
  under_way: string | null
}

const ENTRY = 'ticker, timeframe, field, url, pulled_at, as_of, state, query_range, total_occurrences, events'

export class SqlitePulled implements PulledStore {
  readonly #db: Session

  constructor(db: Session) {
    this.#db = db
  }

  async entries(ticker?: string): Promise<PulledEntry[]> {
    const order = 'ORDER BY ticker, timeframe, field'
    if (ticker === undefined) return this.#db.all<PulledEntry>(`SELECT ${ENTRY} FROM pulled ${order}`)
    return this.#db.all<PulledEntry>(`SELECT ${ENTRY} FROM pulled WHERE ticker = ? ${order}`, ticker)
  }

  async series({ ticker, timeframe, field }: SeriesKey): Promise<PulledSeries | null> {
    const row = this.#db.get<PulledRow>(
      `SELECT ${ENTRY}, etag, told, under_way FROM pulled WHERE ticker = ? AND timeframe = ? AND field = ?`,
      ticker,
      timeframe,
      field,
    )
    if (row === undefined) return null
    const { told, under_way, ...entry } = row
    return {
      ...entry,
      events: JSON.parse(told) as PulledSeries['events'],
      under_way: under_way === null ? null : (JSON.parse(under_way) as PulledSeries['under_way']),
    }
  }

  async newestDay(url?: string): Promise<Day | null> {
    const newest = 'SELECT max(known) AS newest FROM pulled'
    const row =
      url === undefined
        ? this.#db.get<{ newest: string | null }>(newest)
        : this.#db.get<{ newest: string | null }>(`${newest} WHERE url = ?`, url)
    return row?.newest == null ? null : parseDay(row.newest)
  }

  async put(series: PulledSeries): Promise<void> {
    const columns = columnsOf(series)
    const { pulledHash } = await import('./hash.js')
    this.#db.transaction(() => {
      this.#db.run('DELETE FROM pulled WHERE ticker = ? AND url <> ?', series.ticker, series.url)
      this.#db.run(
        `INSERT OR REPLACE INTO pulled (${COLUMNS.join(', ')}, hash) VALUES (${COLUMNS.map(() => '?').join(', ')}, ?)`,
        ...columns,
        pulledHash(columns),
      )
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

/** The columns of a row whose content is hashed, in their order. */
export const COLUMNS = [...ENTRY.split(', '), 'known', 'etag', 'told', 'under_way'] as readonly Exclude<
  keyof PulledRow,
  'hash'
>[]

function columnsOf(series: PulledSeries): (string | number | null)[] {
  const { events, under_way } = series
  const row: Omit<PulledRow, 'hash'> = {
    ...series,
    events: events.length,
    known: knownDate(series),
    told: JSON.stringify(events),
    under_way: under_way === null ? null : JSON.stringify(under_way),
  }
  return COLUMNS.map(column => row[column])
}
