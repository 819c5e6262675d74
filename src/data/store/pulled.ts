import { parseDay } from '../../core/model/day.js'
import type { SeriesKey } from '../../core/model/event.js'
import { damageError, type StoreLocation } from './checked.js'
import { DAMAGE, missingItemDamage, partsHash } from './content.js'
import {
  haveGaps,
  knownDate,
  type PageStore,
  type PulledEntry,
  type PulledRow,
  type PullRun,
  type StoredPages,
} from './pages.js'
import type { Damage } from './store.js'

/** Pages of a series as one row, in any database. */

const PULLED_ENTRY_COLUMNS = [
  'ticker',
  'timeframe',
  'field',
  'url',
  'pulled_at',
  'as_of',
  'state',
  'query_range',
  'total_occurrences',
  'events',
] as const
export const PULLED_COLUMNS = [...PULLED_ENTRY_COLUMNS, 'known', 'hash', 'pages'] as const

interface PulledDatabase {
  /** The SQL schema of its tables with a dot, such as `bands.`; '' if they need none. */
  schema: string
  location(): StoreLocation
  /** Rows of a query. @param values the values of $1, $2, … */
  rows<Row>(sql: string, ...values: string[]): Promise<Row[]>
}

/**
 * The reading methods of a store of pages (answers of other servers), with the same SQL for every database. The table
 * `pulled` has the pages, `listed` which series must be in it. `run` is the unfinished pull.
 */
export function pageReader({ schema, location, rows }: PulledDatabase): Omit<PageStore, 'put' | 'setRun'> {
  return {
    async has(ticker) {
      const sql = `SELECT EXISTS (SELECT 1 FROM ${schema}pulled WHERE ticker = $1) AS has`
      const [found] = await rows<{ has: unknown }>(sql, ticker)
      return Boolean(found!.has)
    },
    async tickers() {
      const found = await rows<{ ticker: string }>(`SELECT DISTINCT ticker FROM ${schema}pulled ORDER BY ticker`)
      return found.map(({ ticker }) => ticker)
    },
    entries(ticker) {
      const [where, values] = ticker === undefined ? ['', []] : ['WHERE ticker = $1', [ticker]]
      const from = `FROM ${schema}pulled ${where} ORDER BY ticker, timeframe, field`
      return rows<PulledEntry>(`SELECT ${PULLED_ENTRY_COLUMNS.join(', ')} ${from}`, ...values)
    },
    async series({ ticker, timeframe, field }) {
      const key = { ticker, timeframe, field }
      // One row in any case: its columns are null if the series is missing.
      const [found] = await rows<{ isListed: unknown } & (PulledRow | { ticker: null })>(
        `SELECT EXISTS (SELECT 1 FROM ${schema}listed WHERE ticker = $1 AND what = $4) AS "isListed", pulled.*
          FROM (SELECT 1) one LEFT JOIN ${schema}pulled ON ticker = $1 AND timeframe = $2 AND field = $3`,
        ...[ticker, timeframe, field, listedName(key)],
      )
      if (found!.ticker !== null) return storedPagesOf(location(), key, found!)
      if (found!.isListed) throw damageError(location(), missingItemDamage(ticker, listedName(key)))
      return null
    },
    async newestDay(url) {
      const [where, values] = url === undefined ? ['', []] : ['WHERE url = $1', [url]]
      const sql = `SELECT max(known) AS newest FROM ${schema}pulled ${where}`
      const [found] = await rows<{ newest: string | null }>(sql, ...values)
      return found!.newest === null ? null : parseDay(found!.newest)
    },
    async run() {
      const [row] = await rows<{ value: string }>(`SELECT value FROM ${schema}meta WHERE key = 'pull'`)
      return row === undefined ? null : (JSON.parse(row.value) as PullRun)
    },
  }
}

/** The name of a pulled series in the list of written data. */
export function listedName({ timeframe, field }: Pick<SeriesKey, 'timeframe' | 'field'>): string {
  return `pulled ${timeframe} ${field}`
}

/**
 * The row of a series with its hash. Its dates and totals are those of the newest page.
 * @param kept the pages that answer questions: the state is `partial` without any, `mixed` if events may be missing
 * @param coming the pages of an unfinished pull
 */
export function pulledRowOf({ kept, coming, ...series }: StoredPages): PulledRow {
  const { pulled_at, as_of, body } = (kept[0] ?? coming[0])!
  let state: PulledEntry['state'] = 'complete'
  if (kept.length === 0) state = 'partial'
  else if (haveGaps(kept)) state = 'mixed'
  const row: PulledRow = {
    ...series,
    pulled_at,
    as_of,
    state,
    query_range: body.query_range,
    total_occurrences: body.total_occurrences,
    events: kept.reduce((sum, page) => sum + page.body.events.length, 0),
    known: knownDate({ as_of, pulled_at }),
    hash: '',
    // An import at the top would load zlib for every command.
    pages: process.getBuiltinModule('node:zlib').deflateRawSync(JSON.stringify({ kept, coming })),
  }
  row.hash = pulledHash(row)
  return row
}

/** The pages in a row. Throws Damaged if the row differs from the written one. */
function storedPagesOf(store: StoreLocation, key: SeriesKey, row: PulledRow): StoredPages {
  const [damage] = pulledDamages(row)
  if (damage !== undefined) throw damageError(store, damage)
  const json = process.getBuiltinModule('node:zlib').inflateRawSync(row.pages).toString()
  return { ...key, url: row.url, ...(JSON.parse(json) as Pick<StoredPages, 'kept' | 'coming'>) }
}

/** The damage of a row whose hash differs from its content, in a list; empty for a sound row. */
export function pulledDamages(row: PulledRow): Damage[] {
  return pulledHash(row, row.hash) === row.hash ? [] : [DAMAGE.pulled(row.ticker, listedName(row))]
}

/**
 * The hash that a row must have, of all its columns except the hash itself.
 * @param stored the stored hash, which says whether a checksum or an older digest is wanted
 */
function pulledHash(row: PulledRow, stored?: string): string {
  const values = PULLED_COLUMNS.filter(column => column !== 'hash').map(column => row[column])
  const parts = values.map(value => (Buffer.isBuffer(value) ? value : JSON.stringify(value)))
  return partsHash(parts, stored)
}
