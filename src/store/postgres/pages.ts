import { StorageError } from '../../errors.js'
import type { PageStore, PulledRow } from '../pages.js'
import { listName, PULLED_COLUMNS, pulledRowOf, readingPages } from '../pulled.js'
import type { Queries } from './connection.js'
import type { Reading } from './read.js'

const REMOVE_SERIES = 'DELETE FROM bands_data.pulled WHERE ticker = $1 AND timeframe = $2 AND field = $3'
const INTO_PULLED = `INSERT INTO bands_data.pulled (${PULLED_COLUMNS.join(', ')})
  VALUES (${PULLED_COLUMNS.map((_column, i) => `$${i + 1}`).join(', ')})`

/** What pages need of their store. */
interface Beneath {
  reading(): Reading
  writing<T>(work: (session: Queries) => Promise<T>): Promise<T>
}

export function pagesIn({ reading, writing }: Beneath): PageStore {
  return {
    ...readingPages({ schema: 'bands_data.', place: reading, rows: (sql, ...values) => reading().query(sql, values) }),
    put: series =>
      writing(async session => {
        const { ticker, timeframe, field, url } = series
        await checkHasNoBars(reading().location, session, ticker)
        const others = 'SELECT 1 FROM bands_data.pulled WHERE ticker = $1 AND url <> $2'
        if ((await session.query(others, [ticker, url])).length > 0) await removePulled(session, ticker)
        await session.query(REMOVE_SERIES, [ticker, timeframe, field])
        await insertPulled(session, pulledRowOf(series))
      }),
    setRun: run =>
      writing(async session => {
        await session.query("DELETE FROM bands_data.meta WHERE key = 'pull'")
        if (run !== null) await session.query("INSERT INTO bands_data.meta VALUES ('pull', $1)", [JSON.stringify(run)])
      }),
  }
}

/** Puts a row where none is. */
export async function insertPulled(session: Queries, row: PulledRow): Promise<void> {
  const values = PULLED_COLUMNS.map(column => row[column])
  await session.query(INTO_PULLED, values)
  await list(session, row.ticker, listName(row))
}

/** Says in the list that there is something of a ticker. */
export async function list({ query }: Queries, ticker: string, what: string): Promise<void> {
  await query('INSERT INTO bands_data.listed (ticker, what) VALUES ($1, $2) ON CONFLICT DO NOTHING', [ticker, what])
}

/** Takes out all that was pulled of a ticker. */
export async function removePulled(session: Queries, ticker: string): Promise<void> {
  await session.query('DELETE FROM bands_data.pulled WHERE ticker = $1', [ticker])
  await session.query("DELETE FROM bands_data.listed WHERE ticker = $1 AND what LIKE 'pulled %'", [ticker])
}

/** A ticker has bars or pulled events, never both: an answer would not tell which it stands on. */
async function checkHasNoBars(location: string, session: Queries, ticker: string): Promise<void> {
  const bars = await session.query('SELECT 1 FROM bands_data.tickers WHERE ticker = $1', [ticker])
  if (bars.length > 0) throw new StorageError(`${location}: ${ticker}: a ticker with bars takes no pulled events`)
}

/** The same, the other way round. */
export async function checkNotPulled(location: string, session: Queries, tickers: readonly string[]): Promise<void> {
  const [found] = await session.query<{ ticker: string }>(
    'SELECT ticker FROM bands_data.pulled WHERE ticker = ANY ($1) ORDER BY ticker LIMIT 1',
    [tickers],
  )
  if (found !== undefined)
    throw new StorageError(`${location}: ${found.ticker}: a ticker with pulled events takes no bars`)
}
