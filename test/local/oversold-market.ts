import { parseDay } from '../../src/core/model/day.js'
import type { OversoldPage } from '../../src/core/model/event.js'
import {
  type EarningsResult,
  type Facts,
  factsOf,
  NO_FACTS,
  type Report,
  type Security,
  securityOf,
} from '../../src/core/model/facts.js'
import type { Tier } from '../../src/core/model/terms.js'
import type { OversoldParams } from '../../src/core/params/questions.js'
import { parseOversold } from '../../src/core/params/questions.js'
import { Random } from '../../src/core/statistics/random.js'
import type { TickerFacts } from '../../src/data/feeds/feed.js'
import { Cache } from '../../src/data/local/cache.js'
import { scanOversold } from '../../src/data/local/oversold.js'
import type { Store } from '../../src/data/store/store.js'
import { type Bar, randomBars, SHAPES } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { dayAfter } from '../support/oracle/bars.js'
import { OracleMarket } from '../support/oracle/oversold.js'
import { chance, pick, randomFacts } from '../support/random-facts.js'
import { emptyImporter } from '../support/store.js'

/** A ticker as it is given to the store. */
export interface Given {
  ticker: string
  bars: Bar[]
  security: Security | null
  facts: Facts
}

export interface MarketForm {
  tickers: number
  /** Daily bars of the longest. */
  bars: number
  /** Share of the tickers that have dated facts. */
  facts: number
}

const START = '2014-01-06'
const SHAPE_NAMES = [
  'plain',
  'plain',
  'cents',
  'round',
  'jumpy',
  'gappy',
  'wild',
  'unknownVolume',
  'zeroVolume',
  'flat',
]
const SECTORS = ['Energy', ' energy', 'ENERGY ', 'Basic Materials', 'Basic Materials', 'Utilities', null]
const EACH = ['Energy', 'Basic Materials', 'Utilities']
const CAPS = [null, 1e6, 50e6, 299_999_999, 300e6, 2e9, 9.9e9, 10e9, 150e9, 200e9, 999e9, 1e12, 3e12]

/**
 * Tickers of every class, spelling of sector and size, everything drawn from the seed. All share falls that come now and
 * then, so that several are oversold at once; some begin late, some end early; one is the double of another, one its
 * multiple, so that orders tie.
 */
export function randomMarket(seed: number, form: MarketForm): Given[] {
  const random = new Random(new Random(seed).word())
  const falls = commonFalls(random, 2 * form.bars)
  const drawn = Array.from({ length: form.tickers }, (_, i) => randomTicker(random, i, falls, form))
  const [first, second] = drawn
  const multiple = second!.bars.map(bar => priced(bar, 3))
  return [
    ...drawn,
    { ...first!, ticker: 'TWIN', facts: NO_FACTS },
    { ...second!, ticker: 'MULT', bars: multiple, facts: NO_FACTS },
  ]
}

export async function marketStore(market: readonly Given[], folder?: string): Promise<Store> {
  const importer = await emptyImporter(folder)
  await importer.put(
    market.map(({ ticker, bars }) => ({
      ticker,
      bars: seriesOf(bars),
      prices: 'raw' as const,
      source: 'drawn',
      format: 'drawn',
    })),
  )
  // One file says of a report once what it was; a later one may say otherwise.
  for (let facts = market.flatMap(sheetsOf), file = 1; facts.length > 0; file++) {
    const said = facts.map(one => once(one))
    const restated = facts.map(one => once(one, false))
    await importer.putFacts(said, { file: `drawn ${file}`, format: 'drawn' })
    facts = restated.filter(({ records }) => records.length > 0)
  }
  return importer.store
}

/** The first records of each report, or those after them. */
function once({ ticker, kind, records }: TickerFacts, first = true): TickerFacts {
  const seen = new Set<string>()
  const kept = records.filter(record => {
    const { period_end, known, session, report_date } = record as Partial<Report & EarningsResult>
    const about = kind === 'reports' ? `${period_end} ${known} ${session}` : `${report_date}`
    const isFirst = (kind !== 'reports' && kind !== 'earnings') || !seen.has(about)
    seen.add(about)
    return isFirst === first
  })
  return { ticker, kind, records: kept }
}

/** The oracle of what lies in a store: that is what counts, whatever was given. */
export async function oracleOf(store: Store, market: readonly Given[]): Promise<OracleMarket> {
  return new OracleMarket(
    await Promise.all(
      market.map(async ({ ticker, bars }) => {
        const sheets = await store.sheets(ticker)
        const security = securityOf(sheets)
        return {
          ticker,
          bars,
          facts: factsOf(sheets),
          assetClass: security?.asset_class ?? null,
          sector: security?.sector ?? null,
          marketCap: security?.market_cap ?? null,
        }
      }),
    ),
  )
}

/** A scan as somebody asks it who may. */
export interface Question {
  params: OversoldParams & { limit?: number }
  tier: Tier
  asOf: string | null
}

export function ask(store: Store, { params, tier, asOf }: Question): Promise<OversoldPage> {
  return scanOversold(new Cache(store, tier, asOf === null ? null : parseDay(asOf)), parseOversold(params))
}

/** @param dates of bars, near which scans are asked for; the last of them is today */
export function randomQuestion(random: Random, dates: readonly string[]): Question {
  const today = dates.at(-1)!
  const tier = pick(random, ['free', 'plus', 'pro'] as const)
  const maybe = <T>(share: number, values: readonly T[]): T | undefined =>
    chance(random, share) ? pick(random, values) : undefined
  const near = (): string => dayAfter(pick(random, dates), pick(random, [0, 0, 0, 1, 2, 3, 6, 7, 8]))
  const asOf = chance(random, 0.6) ? near() : null
  const newest = asOf ?? today
  const least = dayAfter(newest, tier === 'plus' ? -700 : -1800)
  const date = near()
  const given = tier !== 'free' && chance(random, 0.7) && date <= newest && date > least
  const params = {
    asset_class: maybe(0.3, ['stock', 'crypto', 'etf', 'all']),
    sector: maybe(0.25, ['energy', 'ENERGY', 'basic materials', ' Utilities ']),
    market_cap_tier: maybe(0.12, ['nano', 'micro', 'small', 'mid', 'large', 'mega', 'ultra_mega']),
    min_market_cap_tier: maybe(0.15, ['nano', 'small', 'mid', 'large', 'ultra_mega']),
    min_severity: maybe(0.3, ['oversold', 'deep_oversold']),
    sort_by: maybe(0.7, ['severity', 'days_oversold', 'condition_percentile']),
    limit: maybe(0.5, [1, 2, 3, 5, 100]),
    timeframe: maybe(0.5, ['daily', 'weekly']),
    date: given ? date : undefined,
  }
  const told = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined))
  return { params: told as Question['params'], tier, asOf }
}

function commonFalls(random: Random, days: number): number[] {
  const level: number[] = []
  let height = 0
  let left = 0
  for (let day = 0; day < days; day++) {
    if (left === 0 && chance(random, 0.012)) left = 10 + random.below(40)
    height += left > 0 ? -0.012 : Math.min(0.006, -height / 30)
    left = Math.max(0, left - 1)
    level.push(height)
  }
  return level
}

function randomTicker(random: Random, i: number, falls: readonly number[], form: MarketForm): Given {
  const assetClass = pick(random, ['stock', 'stock', 'stock', 'etf', 'crypto', null, null] as const)
  const shape = SHAPES[assetClass === 'crypto' ? 'sevenDays' : pick(random, SHAPE_NAMES)]!
  const late = chance(random, 0.3) ? random.below(form.bars / 2) : 0
  const short = chance(random, 0.25) ? 1 + random.below(form.bars) : 0
  const start = dayAfter(START, late)
  const length = Math.max(1, (assetClass === 'crypto' ? Math.floor(1.35 * form.bars) : form.bars) - late - short)
  const exposed = chance(random, 0.8) ? 0.5 + random.uniform() : 0
  const bars = randomBars(random.word(), { ...shape, start, length }).map(bar =>
    priced(bar, Math.exp(exposed * (falls[Math.round(daysBetween(START, bar.date) * 0.7)] ?? 0))),
  )
  const first = parseDay(bars[0]!.date)!
  const last = parseDay(bars.at(-1)!.date)!
  const drawn = { price: shape.price, basis: 'bars' as const, round: false, losses: 0.1 }
  const facts = chance(random, form.facts) ? randomFacts(random, first, last, drawn) : NO_FACTS
  const security = {
    name: null,
    asset_class: assetClass,
    sector: pick(random, SECTORS),
    market_cap: pick(random, CAPS),
  }
  // The first have a sector each, so that all can be asked for.
  const told = i < EACH.length ? { ...security, sector: EACH[i]! } : chance(random, 0.1) ? null : security
  return { ticker: `T${String(i).padStart(2, '0')}`, bars, security: told, facts }
}

function daysBetween(from: string, to: string): number {
  return parseDay(to)! - parseDay(from)!
}

/** Rounded as little as a store would. */
function priced({ open, high, low, close, ...bar }: Bar, factor: number): Bar {
  return { ...bar, open: open * factor, high: high * factor, low: low * factor, close: close * factor }
}

function sheetsOf({ ticker, security, facts }: Given): TickerFacts[] {
  const dated = Object.entries(facts).map(([kind, records]) => ({ ticker, kind, records }) as unknown as TickerFacts)
  const all = security === null ? dated : [...dated, { ticker, kind: 'securities' as const, records: [security] }]
  return all.filter(({ records }) => records.length > 0)
}

/** Every date on which some ticker has a bar, ascending. */
export function datesOf(market: readonly Given[]): string[] {
  return [...new Set(market.flatMap(({ bars }) => bars.map(bar => bar.date)))].sort()
}
