import { FIELDS } from '../fields/index.js'
import { countBelow, type Day, formatDay, parseDay } from '../model/day.js'
import { DEFINITIONS_VERSION } from '../model/definitions.js'
import { USUAL_CLOSURE } from '../model/neighbours.js'
import { type Adjustment, type AssetClass, barsKnownBy } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import { sum } from '../statistics/moments.js'
import { originsOf, type Store, type TickerEntry, UNDERIVED } from '../store/store.js'
import { Behind, type Cache } from './cache.js'
import { type StoredOddity, storedOddities } from './oddities.js'

/** What is loaded, and how fresh it is. */
export interface Status {
  schema: 'bands.status/1'
  database: string
  bytes: number
  /** Number of the database's schema. */
  schema_version: number
  /** The definitions that the events were made with, and whether this version has the same. */
  definitions: string
  definitions_current: boolean
  as_of: string | null
  /** Tickers and sectors that an import has yet to record anew, because it runs or was stopped. */
  unfinished: number
  /** Files of which only the first tickers are loaded, because their import runs or was stopped; absent where none is. */
  part_loaded?: { file: string; tickers: number; of: number; since: string }[]
  bars: number
  events: number
  /** First and last day over all tickers with bars; null when there is none. */
  first: string | null
  last: string | null
  tickers: TickerStatus[]
  /** What is odd about the bars of a ticker, by kind. */
  oddities: StoredOddity[]
}

export interface TickerStatus {
  ticker: string
  asset_class: AssetClass | null
  prices: Adjustment
  /** Daily bars, and the final weekly ones made of them. */
  bars: number
  weekly_bars: number
  first: string
  last: string
  /** Calendar days by which its last bar is older than the newest of the store. */
  behind: number
  /** Daily and weekly events of all fields. */
  events: number
  gaps: Gap[]
  /** The file that changed it last. */
  source: string
  format: string
  imported_at: string
  /** Which file brought which bars, in their order. */
  sources: SourceRange[]
}

/** Bars in a row that one file brought. */
export interface SourceRange {
  source: string
  format: string
  imported_at: string
  bars: number
  first: string
  last: string
}

/** What is loaded of a ticker, whatever the day. */
export interface LoadedTicker {
  ticker: string
  asset_class: AssetClass | null
  sector: string | null
  /** Whether dated facts are loaded, too. */
  facts: boolean
  prices: Adjustment
  bars: number
  first: string
  last: string
  source: string
  format: string
  imported_at: string
}

export async function loadedTickers({ store }: Pick<Cache, 'store'>): Promise<LoadedTicker[]> {
  const [securities, known] = [await store.securities(), new Set(await store.factTickers())]
  return (await store.tickers()).map(({ ticker, assetClass, prices, bars, first, last, ...entry }) => ({
    ticker,
    asset_class: assetClass,
    sector: securities.get(ticker)?.sector ?? null,
    facts: known.has(ticker),
    ...{ prices, bars, first: formatDay(first), last: formatDay(last) },
    ...{ source: entry.source, format: entry.format, imported_at: entry.importedAt },
  }))
}

/** Two neighbouring bars and the calendar days between them. */
interface Gap {
  after: string
  before: string
  days: number
}

/** Counts what a question can find: as of the cache's day, and without the week that is not over. */
export async function status(cache: Cache): Promise<Status> {
  const { store, asOf } = cache
  const today = await cache.today()
  const { bytes, schema } = await store.footprint()
  const definitions = await store.definitions()
  const behind = await Behind.in(store)
  const counts = await knownCounts(store, today)
  const tickers: TickerStatus[] = []
  const oddities = await storedOddities(store, today, asOf === null ? cache.lastDay : null, (entry, days) => {
    tickers.push(tickerStatus(entry, days, counts.get(entry.ticker)))
  })
  const last = tickers.reduce((latest, ticker) => (ticker.last > latest ? ticker.last : latest), '')
  return {
    schema: 'bands.status/1',
    database: store.location,
    bytes,
    schema_version: schema,
    definitions,
    definitions_current: definitions === DEFINITIONS_VERSION,
    as_of: asOf === null ? null : formatDay(asOf),
    unfinished: behind.steps,
    ...(behind.files.length > 0 && { part_loaded: behind.files.map(({ content: _digest, ...part }) => part) }),
    bars: tickers.reduce((sum, ticker) => sum + ticker.bars, 0),
    events: tickers.reduce((sum, ticker) => sum + ticker.events, 0),
    first: tickers.map(ticker => ticker.first).sort()[0] ?? null,
    last: last || null,
    // How old a ticker's last bar is shows only beside the others.
    tickers: tickers.map(ticker => ({ ...ticker, behind: parseDay(last)! - parseDay(ticker.last)! })),
    oddities,
  }
}

/** How much of a ticker was known on the day: weeks, and events of all fields, daily and weekly. */
interface KnownCounts {
  weeks: number
  events: number
}

/** By ticker. Only of series with bars that were not known is it looked up which events were. */
async function knownCounts(store: Store, today: Day): Promise<Map<string, KnownCounts>> {
  if ((await store.definitions()) === UNDERIVED) return new Map()
  const entries = (await store.tickers()).filter(({ first }) => first <= today)
  const tickers = entries.map(({ ticker }) => ticker)
  const weeks = new Map<string, number>()
  const unfinished: string[] = []
  for await (const series of store.series({ tickers, timeframe: 'weekly', fields: [], outcomes: false })) {
    if (series === null) continue
    const { entry, calendar } = series
    const known = barsKnownBy(calendar, today)
    weeks.set(entry.ticker, known)
    if (known < calendar.days.length) unfinished.push(entry.ticker)
  }
  const later = entries.filter(({ last }) => last > today).map(({ ticker }) => ticker)
  const daily = await knownEvents(store, 'daily', later, today)
  const weekly = await knownEvents(store, 'weekly', unfinished, today)
  return new Map(
    Array.from(weeks, ([ticker, known]) => {
      const events = (daily.get(ticker) ?? 0) + (weekly.get(ticker) ?? 0)
      return [ticker, { weeks: known, events }]
    }),
  )
}

/** @param partly tickers of which not all bars were known */
async function knownEvents(
  store: Store,
  timeframe: Timeframe,
  partly: readonly string[],
  today: Day,
): Promise<Map<string, number>> {
  const counts = new Map(await store.eventCounts(timeframe))
  const fields = FIELDS.map(({ name }) => name)
  for await (const series of store.series({ tickers: partly, timeframe, fields, outcomes: false })) {
    if (series === null) continue
    const known = barsKnownBy(series.calendar, today)
    const events = Array.from(series.fields.values(), ({ bars }) => countBelow(bars, known))
    counts.set(series.entry.ticker, sum(events))
  }
  return counts
}

/** @param days dates of the daily bars that are known */
function tickerStatus(entry: TickerEntry, days: Int32Array, known: KnownCounts | undefined): TickerStatus {
  return {
    ticker: entry.ticker,
    asset_class: entry.assetClass,
    prices: entry.prices,
    bars: days.length,
    weekly_bars: known?.weeks ?? 0,
    first: formatDay(days[0]!),
    last: formatDay(days.at(-1)!),
    behind: 0,
    events: known?.events ?? 0,
    gaps: gapsOf(days),
    source: entry.source,
    format: entry.format,
    imported_at: entry.importedAt,
    sources: sourcesOf(entry, days),
  }
}

/** @param days dates of the daily bars that are known */
export function sourcesOf(entry: TickerEntry, days: Int32Array): SourceRange[] {
  return originsOf(entry, days.length).map(({ source, format, importedAt, bars, from }) => ({
    ...{ source, format, imported_at: importedAt, bars },
    ...{ first: formatDay(days[from]!), last: formatDay(days[from + bars - 1]!) },
  }))
}

function gapsOf(days: Int32Array): Gap[] {
  const gaps: Gap[] = []
  for (let t = 1; t < days.length; t++) {
    const between = days[t]! - days[t - 1]!
    if (between > USUAL_CLOSURE)
      gaps.push({ after: formatDay(days[t - 1]!), before: formatDay(days[t]!), days: between })
  }
  return gaps
}
