import type { Day } from '../../core/model/day.js'
import type { FieldRecord } from '../../core/model/series.js'
import type { SeriesName } from './content.js'
import type { PageStore } from './pages.js'
import type { Recorded, Store } from './store.js'

/** The cached data of one series: the columns that all fields share, and the fields queried so far. */
interface CachedSeries {
  stamp: string
  /** The newest version of the store at which the data were found unchanged. */
  version: string
  shared: Omit<Recorded, 'field'>
  fields: Map<string, FieldRecord | null>
  bytes: number
}

/** Enough for all fields of some 500 tickers over five years. */
const DEFAULT_MAX_BYTES = 256 * 1024 * 1024

/**
 * A store that caches, decoded, the last queried series up to a number of bytes, while they are unchanged. Other common
 * queries stay cached until another connection writes. Only for reading: the cache does not notice its own writes.
 */
export function cachedStore(store: Store, maxBytes = DEFAULT_MAX_BYTES): Store {
  const recorded = cachedSeriesReads(store, maxBytes)
  // The newest day is cached because finding it may read bars.
  const newestDay = cachedLastResult(store, (upTo?: Day) => store.newestDay(upTo))
  const tickers = cachedLastResult(store, () => store.tickers())
  const securities = cachedLastResult(store, () => store.securities())
  const snapshot = cachedLastResult(store, () => store.snapshot())
  const has = cachedPageChecks(store.pages)
  const readVersion = cachedBriefly(() => store.version())
  return withOverrides<Store>(store, {
    recorded: (...query) => recorded(readVersion, ...query),
    newestDay: upTo => newestDay(readVersion, upTo),
    tickers: () => tickers(readVersion),
    securities: () => securities(readVersion),
    snapshot: () => snapshot(readVersion),
    pages: withOverrides(store.pages, { has: ticker => has(readVersion, ticker) }),
  })
}

/** A view of `thing` in which some of its properties are replaced. */
export function withOverrides<T extends object>(thing: T, overrides: Partial<T>): T {
  return new Proxy(thing, {
    get(target, name) {
      if (Object.hasOwn(overrides, name)) return Reflect.get(overrides, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Reads the store's version, which may be a few microseconds old. */
type ReadVersion = () => Promise<string>

/**
 * Returns a function that reads the version at most once in VERSION_LIFE_MS. A question needs it several times within
 * microseconds, and reading it costs more than searching. No commit is as fast.
 */
function cachedBriefly(readVersion: ReadVersion): ReadVersion {
  let lastRead = { version: '', at: Number.NEGATIVE_INFINITY }
  return async () => {
    if (performance.now() - lastRead.at < VERSION_LIFE_MS) return lastRead.version
    const version = await readVersion()
    lastRead = { version, at: performance.now() }
    return version
  }
}

const VERSION_LIFE_MS = 0.01

/** Returns a function that says whether a ticker has pages. It remembers answers until something is written. */
function cachedPageChecks(pages: PageStore): (readVersion: ReadVersion, ticker: string) => Promise<boolean> {
  let cached = { version: '', tickers: new Map<string, boolean>() }
  return async (readVersion, ticker) => {
    const version = await readVersion()
    if (cached.version !== version || cached.tickers.size >= MAX_CACHED_TICKERS)
      cached = { version, tickers: new Map() }
    const { tickers } = cached
    const cachedAnswer = tickers.get(ticker)
    if (cachedAnswer !== undefined) return cachedAnswer
    const hasPages = await pages.has(ticker)
    tickers.set(ticker, hasPages)
    return hasPages
  }
}

const MAX_CACHED_TICKERS = 100_000

/**
 * Returns `read` with a cache for its last result, until a write or another query. A second caller of the same query
 * gets the result that is still being read.
 */
function cachedLastResult<Query, Result>(
  store: Store,
  read: (query?: Query) => Promise<Result>,
): (readVersion: ReadVersion, query?: Query) => Promise<Result> {
  let cached: { version: string; query: Query | undefined; result: Promise<Result> } | null = null
  return async (readVersion, query) => {
    const version = await readVersion()
    if (cached?.version === version && cached.query === query) return cached.result
    const reading = { version, query, result: read(query) }
    cached = reading
    let isUnchanged = false
    try {
      const result = await reading.result
      isUnchanged = (await store.version()) === version
      return result
    } finally {
      // Failed, or read while something was written.
      if (!isUnchanged && cached === reading) cached = null
    }
  }
}

/** Returns a function that reads a series as the store does, but from memory if it is unchanged. */
function cachedSeriesReads(
  store: Store,
  maxBytes: number,
): (readVersion: ReadVersion, ...query: Parameters<Store['recorded']>) => ReturnType<Store['recorded']> {
  const cache = new Map<string, CachedSeries>()
  let totalBytes = 0

  const removeSeries = (name: string): void => {
    totalBytes -= cache.get(name)?.bytes ?? 0
    cache.delete(name)
  }

  /**
   * Caches one field of a series, and drops the series used longest ago while the cache is too large. The columns that
   * all fields share are cached once. @param stamp the store's hash of the series
   */
  const addField = (name: string, field: string, recorded: Recorded, stamp: string, version: string): void => {
    if (cache.get(name)?.stamp !== stamp) removeSeries(name)
    const { field: record, ...shared } = recorded
    const series = cache.get(name) ?? { stamp, version, shared, fields: new Map(), bytes: 0 }
    const earlierRecord = series.fields.get(field)
    // The columns read first stay; those just read are equal.
    const { calendar, outcomes } = series.shared
    series.shared = { ...shared, calendar, outcomes }
    series.version = version
    series.fields.set(field, record)
    let addedBytes = recordBytes(record)
    if (earlierRecord !== undefined) addedBytes -= recordBytes(earlierRecord)
    if (series.bytes === 0) addedBytes += sharedBytes(shared)
    series.bytes += addedBytes
    totalBytes += addedBytes
    cache.set(name, series)
    for (const oldest of cache.keys()) {
      if (totalBytes <= maxBytes || oldest === name) break
      removeSeries(oldest)
    }
  }

  /** One field of a series from the cache; null if it is not cached or out of date. */
  const cachedField = async (version: string, ...query: Parameters<Store['recorded']>): Promise<Recorded | null> => {
    const [ticker, timeframe, field] = query
    const name = seriesKeyText({ ticker, timeframe })
    const series = cache.get(name)
    const record = series?.fields.get(field)
    if (series === undefined || record === undefined) return null
    if (series.version !== version) {
      const stamp = await store.stamp(ticker, timeframe)
      const entry = await store.ticker(ticker)
      const unsettled = await store.unsettled()
      if (entry === null || stamp !== series.stamp || (await store.version()) !== version) return null
      series.shared = { ...series.shared, entry, unsettled }
      series.version = version
    }
    if (cache.get(name) === series) {
      // The map's order is the order of last use.
      cache.delete(name)
      cache.set(name, series)
    }
    return { ...series.shared, field: record }
  }

  return async (readVersion, ...query) => {
    const version = await readVersion()
    const fromCache = await cachedField(version, ...query)
    if (fromCache !== null) return fromCache
    const [ticker, timeframe, field] = query
    const found = await store.recorded(...query)
    const stamp = await store.stamp(ticker, timeframe)
    // Data read during a write may be older or newer than the stamp: not cached.
    if (found !== null && stamp !== null && (await store.version()) === version)
      addField(seriesKeyText({ ticker, timeframe }), field, found, stamp, version)
    return found
  }
}

export function seriesKeyText({ ticker, timeframe }: SeriesName): string {
  return `${timeframe} ${ticker}`
}

/** The approximate bytes of the columns that all fields of a series share. */
export function sharedBytes({ calendar, outcomes }: Pick<Recorded, 'calendar' | 'outcomes'>): number {
  const columns = [calendar.days, calendar.known, outcomes.close, ...outcomes.ranks]
  return columns.reduce((sum, { byteLength }) => sum + byteLength, SERIES_OVERHEAD_BYTES)
}

/** The approximate bytes of one field's events in memory. */
export function recordBytes(record: FieldRecord | null): number {
  if (record === null) return NO_RECORD_BYTES
  // Flips and stability take as many bytes as bands.
  return record.bars.byteLength + record.gaps.byteLength + 3 * record.bands.byteLength + RECORD_OVERHEAD_BYTES
}

/** The bytes of the objects around the columns, roughly. */
const SERIES_OVERHEAD_BYTES = 1_000
const RECORD_OVERHEAD_BYTES = 500
const NO_RECORD_BYTES = 100
