import { joinPages } from '../../src/app/remote/pages.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { BandEvent, PulledSource, SeriesKey } from '../../src/core/model/event.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { grantedFields } from '../../src/core/tiers.js'
import type { Local } from '../../src/data/local/local.js'
import { haveGaps, type PulledEntry, type StoredPage, type StoredPages } from '../../src/data/store/pages.js'
import type { Store } from '../../src/data/store/store.js'

export const URL = 'https://bands.example'

interface Told extends Pick<PulledSource, 'pulled_at' | 'as_of'> {
  query_range: string
  total_occurrences: number
  etag: string | null
  /** Oldest first. */
  events: readonly BandEvent[]
}

/** A series without its pages: easier to write down, and to compare. */
export interface Series extends SeriesKey, Told {
  url: string
  state: PulledEntry['state']
  /** A pull that was stopped. */
  under_way: (Told & { before: string }) | null
}

/** What stands in place of the real thing where a test says so. */
export type Given = Partial<Pick<Series, 'url' | 'pulled_at' | 'as_of'>>

/** The kept pages of a store, put and taken as whole series. */
export function pulledIn({ pages }: Store) {
  return {
    put: (series: Series): Promise<void> => pages.put(inPages(series)),
    async series(key: SeriesKey): Promise<Series | null> {
      const found = await pages.series(key)
      return found === null ? null : withoutPages(found)
    },
    entries: (ticker?: string) => pages.entries(ticker),
    newestDay: (url?: string) => pages.newestDay(url),
    run: () => pages.run(),
  }
}

/** The newest hundred events, and then all others. */
function inPages({ state, under_way, events, ...told }: Series): StoredPages {
  const { ticker, timeframe, field, url } = told
  const pages = ({ etag, ...of }: Told, mixed: boolean): StoredPage[] => {
    const newest = of.events.toReversed()
    const { pulled_at, as_of, query_range, total_occurrences: total } = of
    const page = (from: number, to: number): StoredPage => {
      const some = newest.slice(from, to)
      const body = { ticker, field, timeframe, events: some, total_occurrences: Math.max(0, total - from), query_range }
      return { before: newest[from - 1]?.date ?? null, pulled_at, as_of, etag: null, gapAbove: false, body }
    }
    const first = { ...page(0, 100), etag, gapAbove: mixed }
    return newest.length > 100 ? [first, page(100, newest.length)] : [first]
  }
  const kept = state === 'partial' ? [] : pages({ ...told, events }, state === 'mixed')
  return { ticker, timeframe, field, url, kept, coming: under_way === null ? [] : pages(under_way, false) }
}

function withoutPages(series: StoredPages): Series {
  const { ticker, timeframe, field, url, kept, coming } = series
  const told = (pages: readonly StoredPage[]): Told => {
    const { pulled_at, as_of, query_range, total_occurrences, events } = joinPages(pages)!
    return { pulled_at, as_of, query_range, total_occurrences, etag: pages[0]!.etag, events }
  }
  const state = kept.length === 0 ? 'partial' : haveGaps(kept) ? 'mixed' : 'complete'
  const own = kept.length === 0 ? { ...told(coming), events: [] } : told(kept)
  const before = coming.at(-1)?.body.events.at(-1)?.date ?? ''
  const under_way = coming.length === 0 ? null : { ...told(coming), before }
  return { ticker, timeframe, field, url, state, ...own, under_way }
}

/** A series as a server has it, page by page, in the form in which it is kept. */
export async function copied(server: Local, key: SeriesKey, given: Given = {}): Promise<Series> {
  const { ticker, timeframe, field } = key
  const events: BandEvent[] = []
  let first: Awaited<ReturnType<Local['events']>> | null = null
  for (let before: number | null = null; ; before = parseDay(events[0]!.date)) {
    const query = { ticker, timeframe, field, limit: 100 }
    const page = await server.events(before === null ? query : { ...query, before })
    first ??= page
    // As it arrives: nothing that this process knows of an event goes with it.
    events.unshift(...(JSON.parse(JSON.stringify(page.events.toReversed())) as BandEvent[]))
    if (page.events.length === page.total_occurrences) break
  }
  const { query_range, total_occurrences } = first
  return {
    ticker,
    timeframe,
    field,
    url: URL,
    pulled_at: '2026-11-21T10:00:00.000Z',
    as_of: formatDay(await server.today()),
    state: 'complete',
    etag: null,
    query_range,
    total_occurrences,
    events,
    under_way: null,
    ...given,
  }
}

/** All fields of the server's tier, at both timeframes. */
export async function copyAll(
  server: Local,
  tickers: readonly string[],
  into: Store,
  given: Given = {},
): Promise<void> {
  for (const ticker of tickers)
    for (const timeframe of TIMEFRAME_NAMES)
      for (const { name: field } of grantedFields(server.tier, BUILT_IN_FIELDS))
        await pulledIn(into).put(await copied(server, { ticker, timeframe, field }, given))
}

/** A series of which the newest events alone have come. */
export function begun(whole: Series, newest: number): Series {
  const { pulled_at, etag, as_of, query_range, total_occurrences } = whole
  const events = whole.events.slice(-newest)
  const told = { pulled_at, etag, as_of, query_range, total_occurrences, events }
  return { ...whole, state: 'partial', events: [], under_way: { ...told, before: events[0]!.date } }
}

export function isSectorField(name: string): boolean {
  return FIELDS.some(field => field.name === name && field.needs === 'sector')
}
