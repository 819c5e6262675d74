import type { Day } from '../../core/model/day.js'
import type { FieldRecord } from '../../core/model/series.js'
import type { SeriesName } from './content.js'
import type { PageStore } from './pages.js'
import type { Recorded, Store } from './store.js'

/** The cached data of one series: the columns that all fields share, and the fields queried so far. */
interface CachedSeries {
  stamp: string
  /** The store's version for which it was seen to be so. */
  version: string
  shared: Omit<Recorded, 'field'>
  fields: Map<string, FieldRecord | null>
  bytes: number
}

/** Some 500 tickers of five years, all their fields. */
const MOST_BYTES = 256 * 1024 * 1024

/**
 * A store that caches, decoded, the last queried series up to a number of bytes, while they are unchanged. Other common
 * queries stay cached until something is written. Only for reading: the cache does not notice its own writes.
 */
export function cachedStore(store: Store, most = MOST_BYTES): Store {
  const recorded = cachedRecorded(store, most)
  // Finding it may read bars if some have future dates.
  const newestDay = cachedLast(store, (upTo?: Day) => store.newestDay(upTo))
  const tickers = cachedLast(store, () => store.tickers())
  const securities = cachedLast(store, () => store.securities())
  const has = cachedHas(store.pages)
  const readVersion = oncePerQuestion(() => store.version())
  return withOverrides<Store>(store, {
    recorded: (...of) => recorded(readVersion, ...of),
    newestDay: upTo => newestDay(readVersion, upTo),
    tickers: () => tickers(readVersion),
    securities: () => securities(readVersion),
    pages: withOverrides(store.pages, { has: ticker => has(readVersion, ticker) }),
  })
}

/** A thing with some of its parts in another way. */
export function withOverrides<T extends object>(thing: T, own: Partial<T>): T {
  return new Proxy(thing, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The version as it was a moment ago at most. */
type ReadVersion = () => Promise<string>

/**
 * A question reads the version several times within microseconds, and reading it costs more than searching. No commit
 * is as fast.
 */
function oncePerQuestion(version: ReadVersion): ReadVersion {
  let seen = { version: '', at: Number.NEGATIVE_INFINITY }
  return async () => {
    if (performance.now() - seen.at < VERSION_LIFE_MS) return seen.version
    const found = await version()
    seen = { version: found, at: performance.now() }
    return found
  }
}

/** In milliseconds. */
const VERSION_LIFE_MS = 0.01

/** Which tickers have pages: every question checks that first. */
function cachedHas(pages: PageStore): (readVersion: ReadVersion, ticker: string) => Promise<boolean> {
  let known = { version: '', tickers: new Map<string, boolean>() }
  return async (readVersion, ticker) => {
    const version = await readVersion()
    if (known.version !== version || known.tickers.size >= MOST_NAMES) known = { version, tickers: new Map() }
    const before = known.tickers.get(ticker)
    if (before !== undefined) return before
    const { tickers } = known
    const found = await pages.has(ticker)
    tickers.set(ticker, found)
    return found
  }
}

const MOST_NAMES = 100_000

/** The last value read, or being read, until something is written or another argument comes. */
function cachedLast<Asked, Found>(
  store: Store,
  read: (query?: Asked) => Promise<Found>,
): (readVersion: ReadVersion, query?: Asked) => Promise<Found> {
  let known: { version: string; query: Asked | undefined; found: Promise<Found> } | null = null
  return async (readVersion, query) => {
    const version = await readVersion()
    if (known?.version === version && known.query === query) return known.found
    const reading = { version, query, found: read(query) }
    known = reading
    let isOfVersion = false
    try {
      const found = await reading.found
      isOfVersion = (await store.version()) === version
      return found
    } finally {
      if (!isOfVersion && known === reading) known = null
    }
  }
}

/** Reads a series as the store does, from memory where it is unchanged. */
function cachedRecorded(
  store: Store,
  most: number,
): (readVersion: ReadVersion, ...query: Parameters<Store['recorded']>) => ReturnType<Store['recorded']> {
  const cache = new Map<string, CachedSeries>()
  let bytes = 0

  const drop = (name: string): void => {
    bytes -= cache.get(name)?.bytes ?? 0
    cache.delete(name)
  }

  /** Shared columns are stored once: outcomes are most of a series, and the same for each field. */
  const keep = (name: string, field: string, found: Recorded, stamp: string, version: string): void => {
    if (cache.get(name)?.stamp !== stamp) drop(name)
    const { field: record, ...shared } = found
    const series = cache.get(name) ?? { stamp, version, shared, fields: new Map(), bytes: 0 }
    const before = series.fields.get(field)
    const { calendar, outcomes } = series.shared
    series.shared = { ...shared, calendar, outcomes }
    series.version = version
    series.fields.set(field, record)
    const more = recordBytes(record) - (before === undefined ? 0 : recordBytes(before))
    const grown = series.bytes === 0 ? sharedBytes(shared) + more : more
    series.bytes += grown
    bytes += grown
    cache.set(name, series)
    for (const oldest of cache.keys()) {
      if (bytes <= most || oldest === name) break
      drop(oldest)
    }
  }

  /** null: not cached, or out of date */
  const recall = async (version: string, ...query: Parameters<Store['recorded']>): Promise<Recorded | null> => {
    const [ticker, timeframe, field] = query
    const name = nameOf({ ticker, timeframe })
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
    const recalled = await recall(version, ...query)
    if (recalled !== null) return recalled
    const [ticker, timeframe, field] = query
    const found = await store.recorded(...query)
    const stamp = await store.stamp(ticker, timeframe)
    // Data read during a write may be older or newer than the stamp: not cached.
    if (found !== null && stamp !== null && (await store.version()) === version)
      keep(nameOf({ ticker, timeframe }), field, found, stamp, version)
    return found
  }
}

export function nameOf({ ticker, timeframe }: SeriesName): string {
  return `${timeframe} ${ticker}`
}

function sharedBytes({ calendar, outcomes }: CachedSeries['shared']): number {
  const columns = [calendar.days, calendar.known, outcomes.close, ...outcomes.ranks]
  return columns.reduce((sum, { byteLength }) => sum + byteLength, 1_000)
}

function recordBytes(record: FieldRecord | null): number {
  return record === null ? 100 : record.bars.byteLength + record.gaps.byteLength + 3 * record.bands.byteLength + 500
}
