import { parseDay } from '../../src/core/model/day.js'
import type { EventsParams } from '../../src/core/params/questions.js'
import { parseEvents } from '../../src/core/params/questions.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { randomBars, randomNumbers, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { dayAfter } from '../support/oracle/bars.js'
import { type Archive, archive, type Bar, FIELDS, newestDate, type Query, type Tier } from '../support/oracle/index.js'
import { storeOf } from '../support/store.js'

export interface Listed {
  bars: Bar[]
  assetClass?: 'crypto'
}

/** Tickers that overlap in time: weekday ones, a seven-day one, a short one, one that ended years before the newest. */
export const LISTED: Record<string, Listed> = {
  PLAIN: { bars: shaped(1, 'plain', 1_500, '2015-01-05') },
  CENTS: { bars: shaped(2, 'cents', 1_300, '2015-06-01') },
  'WILD.B': { bars: shaped(3, 'wild', 1_200, '2015-03-02') },
  'BTC-USD': { bars: shaped(4, 'sevenDays', 1_300, '2017-02-01'), assetClass: 'crypto' },
  SHORT: { bars: shaped(5, 'jumpy', 90, '2020-08-03') },
  '^OLD': { bars: shaped(6, 'gappy', 500, '2014-01-06') },
}

export const TODAY = newestDate(LISTED)

/** null: no as-of date. A session, weekends, a leap day, a day after the last bar, one before the first. */
export const AS_OF = [null, '2020-02-29', '2019-04-19', '2018-03-31', dayAfter(TODAY, 40), '2013-01-01'] as const

export const TIERS: readonly Tier[] = ['free', 'plus', 'pro']

/** The oracle's events of every ticker as of each date; made once. */
export const archives: Map<string | null, Archive> = new Map(AS_OF.map(asOf => [asOf, archive(LISTED, asOf ?? TODAY)]))

/** The same tickers in a real store, bars after a date left out where one is given. */
export async function listedStore({ cut, folder }: { cut?: string; folder?: string } = {}): Promise<Store> {
  const fixtures = Object.entries(LISTED).flatMap(([ticker, { bars, assetClass }]) => {
    const kept = bars.filter(bar => cut === undefined || bar.date <= cut)
    return kept.length === 0 ? [] : [{ ticker, series: seriesOf(kept), assetClass: assetClass ?? null }]
  })
  return storeOf(fixtures, folder)
}

export function callerOf(store: Store, tier: Tier, asOf: string | null): Local {
  return new Local(store, tier, asOf === null ? null : parseDay(asOf))
}

/** A question that the tier may ask, as the engine and as the oracle take it. */
export interface Question {
  tier: Tier
  asOf: string | null
  params: EventsParams
}

export function oracleQuery({ tier, asOf, params }: Question): Query {
  return { ...(params as unknown as Omit<Query, 'tier' | 'today'>), tier, today: asOf ?? TODAY }
}

/** Random questions about the nine technical fields: filters, bounds near events, contexts, limits, tiers, dates. */
export function randomQuestion(random: () => number): Question {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const maybe = <T>(chance: number, make: () => T): T | undefined => (random() < chance ? make() : undefined)
  const tickers = Object.keys(LISTED)
  const tier = pick(TIERS)
  const field = pick(Object.keys(FIELDS)) as keyof typeof FIELDS
  const ticker = pick(tickers)
  const date = (): string => {
    const near = pick(LISTED[ticker]!.bars).date
    return dayAfter(near, Math.floor(random() * 3) - 1)
  }
  const params: EventsParams = { ticker: random() < 0.2 ? ticker.toLowerCase() : ticker, field }
  const optional = {
    timeframe: maybe(0.5, () => pick(['daily', 'weekly'])),
    band: maybe(0.4, () => pick(FIELDS[field])),
    limit: maybe(0.7, () => 1 + Math.floor(random() * 100)),
    before: maybe(0.3, date),
    after: maybe(0.3, date),
  }
  for (const [name, value] of Object.entries(optional))
    if (value !== undefined) Object.assign(params, { [name]: value })
  if (tier !== 'free' && random() < 0.5) {
    const other = pick(Object.keys(FIELDS)) as keyof typeof FIELDS
    Object.assign(params, { context_ticker: pick(tickers), context_field: other, context_band: pick(FIELDS[other]) })
  }
  return { tier, asOf: pick(AS_OF), params }
}

export function asked(local: Local, params: EventsParams): ReturnType<Local['events']> {
  return local.events(parseEvents(params))
}

export function seeded(seed: number): () => number {
  return randomNumbers(seed)
}

function shaped(seed: number, shape: string, length: number, start: string): Bar[] {
  return randomBars(seed, { ...SHAPES[shape]!, length, start })
}
