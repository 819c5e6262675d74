import type { Bands } from '../bands.js'
import { InvalidParameter } from '../errors.js'
import type { PoolQuery } from '../model/query.js'
import { TIMEFRAMES, type Timeframe } from '../model/timeframe.js'
import { concurrently } from './concurrently.js'
import { tickersInOrder } from './order.js'
import { type Scope, scopeOf } from './scope.js'
import { groupsOf, groupValue, type TallyGrouping, type Vocabularies } from './tally-groups.js'
import { tickerSource } from './tally-source.js'
import { groupWarnings, tallyWarnings } from './tally-warnings.js'
import { type TallyWindow, tallyWindow } from './tally-window.js'

/** Which events of which tickers to count; each ticker counts once, whatever the order. */
export interface TallyQuery extends PoolQuery {
  /** Without it and without a band: by band. */
  by?: TallyGrouping
}

/** How often each performance band followed, and the raw returns, beside what usually follows. Returns are fractions. */
export interface Tally extends Scope {
  schema: 'bands.tally/1'
  tickers: string[]
  field: string
  timeframe: Timeframe
  band: string | null
  context: { ticker: string; field: string; band: string | null } | null
  by: TallyGrouping | null
  /** Of all groups together. */
  events: number
  groups: TallyGroup[]
  /** What the whole must be read with, in sentences. */
  warnings: string[]
}

export interface TallyGroup {
  /** The value of `by` that the events share; null when not grouped, or without a value (no context band yet). */
  group: string | null
  events: number
  windows: TallyWindow[]
  /** What these figures must be read with, in sentences. */
  warnings: string[]
}

/**
 * Counts what followed. Every event of the pool counts once in its group; a pool's base weights each ticker by its
 * number of events there. Throws TierRestricted where aftermath is above the tier, NotFound for a ticker that is not
 * there, InvalidParameter for no ticker or a grouping by a context that is not given.
 */
export async function tally(bands: Bands, query: TallyQuery, vocabularies: Vocabularies = {}): Promise<Tally> {
  const { tickers, by: asked, ...filter } = query
  const names = tickersInOrder(tickers)
  if (names.length === 0) throw new InvalidParameter('a tally needs a ticker.', { param: 'ticker' })
  if (asked === 'context' && filter.context === undefined) {
    throw new InvalidParameter('to group by context, give context_ticker and context_field.', {
      param: 'context_ticker',
    })
  }
  const by = asked ?? (filter.band === undefined ? 'band' : null)
  const sources = await concurrently(names, ticker =>
    tickerSource(bands, { ...filter, ticker }, event => groupValue(event, ticker, by)),
  )
  const { context, timeframe } = filter
  const groups = groupsOf(sources, by, vocabularies).map(({ value, members }): TallyGroup => {
    const windows = TIMEFRAMES[timeframe].windows.map((_, w) => tallyWindow(members, timeframe, w))
    const events = members.reduce((sum, { rows }) => sum + rows.length, 0)
    return { group: value, events, windows, warnings: groupWarnings(events, windows) }
  })
  return {
    schema: 'bands.tally/1',
    tickers: names,
    field: filter.field,
    timeframe,
    band: filter.band ?? null,
    context: context === undefined ? null : { ...context, band: context.band ?? null },
    by,
    ...scopeOf(sources, filter),
    events: groups.reduce((sum, group) => sum + group.events, 0),
    groups,
    warnings: tallyWarnings(sources),
  }
}
