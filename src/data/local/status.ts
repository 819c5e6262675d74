import { dateOf, formatDay, parseDay } from '../../core/model/day.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import type { Adjustment, AssetClass } from '../../core/model/series.js'
import type { TickerEntry } from '../store/store.js'
import { type Cache, Pending } from './cache.js'
import {
  type BarsAsOf,
  type DatedOrigin,
  earliestImportKey,
  type SourceFile,
  type StoredOddity,
  sourceFile,
  storedOddities,
  tickersAsOf,
} from './known.js'

/** The loaded data and their age. */
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
  /** Tickers and sectors that a running or stopped import still has to derive. */
  unfinished: number
  /** When fields began to wait for that (ISO time, UTC); absent where none waits, or it is not known. */
  unfinished_since?: string
  /**
   * Files of which only the first tickers are loaded, because their import is running or was stopped; absent if there
   * are none.
   */
  part_loaded?: { file: string; tickers: number; of: number; since: string }[]
  bars: number
  events: number
  /** First and last day over all tickers with bars; null when there is none. */
  first: string | null
  last: string | null
  tickers: TickerStatus[]
  /** Oddities of the bars of a ticker, by kind. */
  oddities: StoredOddity[]
}

export interface TickerStatus extends SourceFile {
  ticker: string
  asset_class: AssetClass | null
  sector: string | null
  facts: boolean
  prices: Adjustment
  /** Daily bars, and the final weekly ones made of them. */
  bars: number
  weekly_bars: number
  first: string
  last: string
  /** Calendar days between its last bar and the newest of the store. */
  behind: number
  /** Daily and weekly events of all fields. */
  events: number
  /** Two neighbouring bars and the calendar days between them. */
  gaps: { after: string; before: string; days: number }[]
  /**
   * The files that brought the bars, in the order of the bars. `source` above is the file that changed the ticker last.
   */
  sources: SourceRange[]
}

/** Bars in a row that one file brought. */
export interface SourceRange extends SourceFile {
  /** The first of several imports that brought the bars; absent if there was one. */
  begun?: SourceFile
  bars: number
  first: string
  last: string
}

/**
 * Counts what a question can find: as of the cache's day, and without the week that is not over.
 * @param requestedTickers these tickers (default: all)
 */
export async function status(cache: Cache, requestedTickers?: readonly string[]): Promise<Status> {
  const { store, asOf } = cache
  const today = await cache.today()
  const { bytes, schema } = await store.footprint()
  const definitions = await store.definitions()
  const pending = await Pending.read(store)
  const allTickers = await tickersAsOf(store, today)
  const securities = await store.securities()
  const withFacts = new Set(await store.factTickers())
  const isRequested = ({ ticker }: { ticker: string }): boolean => requestedTickers?.includes(ticker) ?? true
  const tickers = allTickers.flatMap(({ entry, known }) => {
    if (known === null || !isRequested(entry)) return []
    const { ticker } = entry
    const companyColumns = { sector: securities.get(ticker)?.sector ?? null, facts: withFacts.has(ticker) }
    return [{ ...tickerStatus(entry, known), ...companyColumns }]
  })
  // As of an earlier day bars of later days are normal, and no oddity.
  const oddities = storedOddities(allTickers, securities, asOf === null ? cache.lastDay : null).filter(isRequested)
  const lastDates = tickers.map(ticker => ticker.last).sort()
  // The age of a ticker's last bar is relative to all tickers, also to those that are not requested.
  const newest = allTickers.reduce((day, { known }) => Math.max(day, known?.origins.at(-1)?.last ?? day), -Infinity)
  const unfinished: Pick<Status, 'unfinished' | 'unfinished_since' | 'part_loaded'> = { unfinished: pending.steps }
  if (pending.since !== null) unfinished.unfinished_since = pending.since
  if (pending.files.length > 0)
    unfinished.part_loaded = pending.files.map(({ file, tickers, of, since }) => ({ file, tickers, of, since }))
  return {
    schema: 'bands.status/1',
    database: store.location,
    bytes,
    schema_version: schema,
    definitions,
    definitions_current: definitions === DEFINITIONS_VERSION,
    as_of: dateOf(asOf),
    ...unfinished,
    bars: tickers.reduce((sum, ticker) => sum + ticker.bars, 0),
    events: tickers.reduce((sum, ticker) => sum + ticker.events, 0),
    first: tickers.map(ticker => ticker.first).sort()[0] ?? null,
    last: lastDates.at(-1) ?? null,
    tickers: tickers.map(ticker => ({ ...ticker, behind: newest - parseDay(ticker.last)! })),
    oddities,
  }
}

/** The status of a ticker from its bars; `behind` is set later. */
function tickerStatus(
  entry: TickerEntry,
  { bars, weeks, events, marks, origins }: BarsAsOf,
): Omit<TickerStatus, 'sector' | 'facts'> {
  return {
    ticker: entry.ticker,
    asset_class: entry.assetClass,
    prices: entry.prices,
    bars,
    weekly_bars: weeks,
    first: formatDay(origins[0]!.first),
    last: formatDay(origins.at(-1)!.last),
    behind: 0,
    events,
    gaps: marks.gaps.map(([from, to]) => ({ after: formatDay(from), before: formatDay(to), days: to - from })),
    ...sourceFile(entry),
    sources: origins.map(sourceRange),
  }
}

function sourceRange({ bars, first, last, begun, ...origin }: DatedOrigin): SourceRange {
  return { ...sourceFile(origin), ...earliestImportKey(begun), bars, first: formatDay(first), last: formatDay(last) }
}
