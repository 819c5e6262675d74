import type { BandEvent, PulledSource, SeriesKey } from '../../model/event.js'
import type { KeptPage, KeptSeries } from '../pages.js'
import { pageHash } from './hash.js'
import type { Connection } from './migrations.js'
import { PAGE_COLUMNS, rowsOf } from './pages.js'

/** A row of `pulled`, the table in which versions up to schema 3 kept all events of a series together. */
interface PulledRow extends SeriesKey, PulledSource {
  state: 'complete' | 'partial' | 'mixed'
  query_range: string
  total_occurrences: number
  etag: string | null
  /** JSON, events oldest first. */
  told: string
  under_way: string | null
}

/** Pages of a pull that was stopped, in that table; JSON. */
interface UnderWay extends Pick<PulledRow, 'pulled_at' | 'as_of' | 'query_range' | 'total_occurrences' | 'etag'> {
  events: BandEvent[]
  mixed: boolean
}

/** As many events as a page may have. */
const PAGE = 100

/** What older versions pulled becomes pages: credits were paid for it, and no server is asked again. */
export function takeOverPulled(db: Connection): void {
  const insert = db.prepare(
    `INSERT INTO pages (${PAGE_COLUMNS.join(', ')}, hash) VALUES (${PAGE_COLUMNS.map(() => '?').join(', ')}, ?)`,
  )
  const keys = db.prepare('SELECT ticker, timeframe, field FROM pulled').all() as SeriesKey[]
  const whole = db.prepare('SELECT * FROM pulled WHERE ticker = ? AND timeframe = ? AND field = ?')
  // One by one: those of a market do not fit into the memory together.
  for (const { ticker, timeframe, field } of keys)
    for (const row of rowsOf(seriesOf(whole.get(ticker, timeframe, field) as PulledRow)))
      insert.run(...row, pageHash(row))
}

function seriesOf(row: PulledRow): KeptSeries {
  const { ticker, timeframe, field, url } = row
  const key = { ticker, timeframe, field }
  const under = row.under_way === null ? null : (JSON.parse(row.under_way) as UnderWay)
  const events = JSON.parse(row.told) as BandEvent[]
  const kept = row.state === 'partial' ? [] : pagesOf(key, { ...row, events, mixed: row.state === 'mixed' })
  return { ...key, url, kept, coming: under === null ? [] : pagesOf(key, under) }
}

/** The same events page by page, newest first; the newest is the one that the server named. */
function pagesOf(key: SeriesKey, { events, mixed, ...told }: UnderWay): KeptPage[] {
  const { ticker, timeframe, field } = key
  const { pulled_at, as_of, query_range, total_occurrences } = told
  const newestFirst = events.toReversed()
  const pages: KeptPage[] = []
  for (let from = 0; from === 0 || from < events.length; from += PAGE) {
    const total = Math.max(0, total_occurrences - from)
    const body = {
      ticker,
      field,
      timeframe,
      events: newestFirst.slice(from, from + PAGE),
      total_occurrences: total,
      query_range,
    }
    const before = from === 0 ? null : newestFirst[from - 1]!.date
    pages.push({ before, pulled_at, as_of, etag: from === 0 ? told.etag : null, mixed: mixed && from === 0, body })
  }
  return pages
}
