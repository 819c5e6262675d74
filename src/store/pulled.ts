import type { SeriesKey } from '../model/event.js'
import { damaged, type Place } from './checked.js'
import { digest } from './codec.js'
import { DAMAGE, missing } from './content.js'
import { isMixed, type KeptSeries, knownDate, type PulledRow } from './pages.js'
import type { Damage } from './store.js'

/** Pages of a series as they are kept: one row, whatever the database. */

/** What is said of a series without its pages, as the columns are named. */
export const SAID = [
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
export const PULLED_COLUMNS = [...SAID, 'known', 'hash', 'pages'] as const

/** How the list of what was written names it. */
export function listName({ timeframe, field }: Pick<SeriesKey, 'timeframe' | 'field'>): string {
  return `pulled ${timeframe} ${field}`
}

export function pulledRowOf({ kept, coming, ...series }: KeptSeries): PulledRow {
  const { pulled_at, as_of, body } = (kept[0] ?? coming[0])!
  const row: PulledRow = {
    ...series,
    pulled_at,
    as_of,
    state: kept.length === 0 ? 'partial' : isMixed(kept) ? 'mixed' : 'complete',
    query_range: body.query_range,
    total_occurrences: body.total_occurrences,
    events: kept.reduce((sum, page) => sum + page.body.events.length, 0),
    known: knownDate({ as_of, pulled_at }),
    hash: '',
    pages: packed({ kept, coming }),
  }
  row.hash = hashOf(row)
  return row
}

/** Its series. @param row undefined: none is there @param isListed whether the list has it. Throws Damaged. */
export function pulledIn(
  at: Place,
  { ticker, timeframe, field }: SeriesKey,
  row: PulledRow | undefined,
  isListed: () => boolean,
): KeptSeries | null {
  if (row === undefined) {
    if (isListed()) throw damaged(at, missing(ticker, listName({ timeframe, field })))
    return null
  }
  const [damage] = pulledDamages(row)
  if (damage !== undefined) throw damaged(at, damage)
  return { ticker, timeframe, field, url: row.url, ...unpacked(row.pages) }
}

export function pulledDamages(row: PulledRow): Damage[] {
  return hashOf(row) === row.hash ? [] : [DAMAGE.pulled(row, row.field)]
}

/** What its row says that it must be. */
function hashOf(row: PulledRow): string {
  const values = PULLED_COLUMNS.filter(column => column !== 'hash').map(column => row[column])
  return digest(values.map(value => (Buffer.isBuffer(value) ? value : JSON.stringify(value))))
}

type Pages = Pick<KeptSeries, 'kept' | 'coming'>

function packed(pages: Pages): Buffer {
  return process.getBuiltinModule('node:zlib').deflateRawSync(JSON.stringify(pages))
}

function unpacked(blob: Buffer): Pages {
  return JSON.parse(process.getBuiltinModule('node:zlib').inflateRawSync(blob).toString()) as Pages
}
