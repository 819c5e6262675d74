import { FIELDS } from '../../src/fields/index.js'
import type { Local } from '../../src/local/local.js'
import { formatDay, parseDay } from '../../src/model/day.js'
import type { BandEvent } from '../../src/model/event.js'
import type { PulledSeries, SeriesKey } from '../../src/model/pulled.js'
import { TIMEFRAME_NAMES } from '../../src/model/terms.js'
import type { Store } from '../../src/store/store.js'
import { grantedFields } from '../../src/tiers.js'

export const URL = 'https://bands.example'

/** What stands in place of the real thing where a test says so. */
export type Given = Partial<Pick<PulledSeries, 'url' | 'pulled_at' | 'as_of'>>

/** A series as a server has it, page by page, in the form in which it is kept. */
export async function copied(server: Local, key: SeriesKey, given: Given = {}): Promise<PulledSeries> {
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
    ...{ ticker, timeframe, field, url: URL, pulled_at: '2026-11-21T10:00:00.000Z' },
    as_of: formatDay(await server.today()),
    ...{ state: 'complete', etag: null, query_range, total_occurrences, events, under_way: null },
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
      for (const { name: field } of grantedFields(server.tier))
        await into.pulled.put(await copied(server, { ticker, timeframe, field }, given))
}

/** A series of which the newest events alone have come. */
export function begun(whole: PulledSeries, newest: number): PulledSeries {
  const { pulled_at, etag, as_of, query_range, total_occurrences } = whole
  const events = whole.events.slice(-newest)
  const told = { pulled_at, etag, as_of, query_range, total_occurrences, events }
  const under_way = { ...told, before: events[0]!.date, whole: true, mixed: false }
  return { ...whole, state: 'partial', events: [], under_way }
}

export function isSectorField(name: string): boolean {
  return FIELDS.some(field => field.name === name && field.needs === 'sector')
}
