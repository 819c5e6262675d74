import fc from 'fast-check'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import type { Day } from '../../src/core/model/day.js'
import {
  ASSET_CLASSES,
  type EventsQuery,
  MARKET_CAP_TIERS,
  OVERSOLD_ORDERS,
  type OversoldQuery,
  SEVERITIES,
} from '../../src/core/model/event.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import type { Random } from '../../src/core/statistics/random.js'
import { chance, pick } from './random-facts.js'

/** What the draws are made from: dates around those of the data, and tickers some of which are not there. */
export interface Ground {
  tickers: readonly string[]
  sectors: readonly string[]
  first: Day
  last: Day
}

/** A well-formed search of any kind; some ask above a tier, some for a ticker that is not there. */
export function randomEventsQuery(random: Random, ground: Ground): EventsQuery {
  const field = pick(random, BUILT_IN_FIELDS.names)
  const query: EventsQuery = {
    ticker: tickerOf(random, ground),
    field,
    timeframe: pick(random, TIMEFRAME_NAMES),
    limit: chance(random, 0.5) ? 100 : 1 + random.below(100),
  }
  if (chance(random, 0.4)) query.bands = [pick(random, BUILT_IN_FIELDS.named(field)!.bands)]
  else if (chance(random, 0.2)) query.bands = BUILT_IN_FIELDS.named(field)!.bands.filter(() => chance(random, 0.5))
  if (query.bands?.length === 0) delete query.bands
  if (chance(random, 0.3)) query.before = dayOf(random, ground)
  if (chance(random, 0.3)) query.after = dayOf(random, ground)
  if (chance(random, 0.3)) {
    const other = pick(random, BUILT_IN_FIELDS.names)
    query.context = {
      ticker: tickerOf(random, ground),
      field: other,
      band: pick(random, BUILT_IN_FIELDS.named(other)!.bands),
    }
  }
  return query
}

export function randomOversoldQuery(random: Random, ground: Ground): OversoldQuery {
  const query: OversoldQuery = {
    asset_class: chance(random, 0.5) ? 'all' : pick(random, ASSET_CLASSES),
    min_severity: pick(random, SEVERITIES),
    sort_by: pick(random, OVERSOLD_ORDERS),
    limit: 1 + random.below(100),
    timeframe: pick(random, TIMEFRAME_NAMES),
  }
  if (chance(random, 0.2)) query.sector = chance(random, 0.9) ? pick(random, ground.sectors) : 'No Such Sector'
  if (chance(random, 0.2)) query.market_cap_tier = pick(random, MARKET_CAP_TIERS)
  if (chance(random, 0.2)) query.min_market_cap_tier = pick(random, MARKET_CAP_TIERS)
  if (chance(random, 0.5)) query.date = dayOf(random, ground)
  return query
}

function tickerOf(random: Random, { tickers }: Ground): string {
  return chance(random, 0.95) ? pick(random, tickers) : 'NOSUCH'
}

function dayOf(random: Random, { first, last }: Ground): Day {
  return first - 50 + random.below(last - first + 100)
}

/** Any character, as `unit: 'binary'`, for which fast-check would make a table of a million of them: two seconds. */
export const ANY_CHARACTER: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map(code => String.fromCodePoint(code))
