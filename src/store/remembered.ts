import type { FieldRecord } from '../model/series.js'
import type { Recorded, Store } from './store.js'

/** What is kept of one series: everything that its fields share, and the fields that were asked for. */
interface Kept {
  shared: Omit<Recorded, 'field'>
  fields: Map<string, FieldRecord | null>
  bytes: number
}

/** Some 500 tickers of five years, all their fields. */
const MOST_BYTES = 256 * 1024 * 1024

/**
 * A store that keeps in memory the series that were asked for last, decoded, up to a number of bytes, and what every
 * question asks for, until something was written. For who only reads: of what is written through it, it need not hear.
 */
export function remembering(store: Store, most = MOST_BYTES): Store {
  const own: Partial<Store> = {
    recorded: remembered(store, most),
    // Where bars of days to come are stored it takes reading some.
    newestDay: lastRemembered(store, upTo => store.newestDay(upTo)),
    tickers: lastRemembered(store, () => store.tickers()),
  }
  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** What was read last, until something was written or something else is asked for. */
function lastRemembered<Asked, Found>(
  store: Store,
  read: (asked?: Asked) => Promise<Found>,
): (asked?: Asked) => Promise<Found> {
  let known: { version: string; asked: Asked | undefined; found: Found } | null = null
  return async asked => {
    const version = await store.version()
    if (known?.version === version && known.asked === asked) return known.found
    const found = await read(asked)
    if ((await store.version()) === version) known = { version, asked, found }
    return found
  }
}

function remembered(store: Store, most: number): Store['recorded'] {
  const kept = new Map<string, Kept>()
  let bytes = 0
  let version = ''

  /** Forgets everything once something was written. */
  const heed = async (): Promise<string> => {
    const now = await store.version()
    if (now !== version) {
      kept.clear()
      bytes = 0
      version = now
    }
    return now
  }

  /** Only once a series: its outcomes are most of it, and are the same for each of its fields. */
  const keep = (name: string, field: string, { field: record, ...shared }: Recorded): void => {
    const series = kept.get(name) ?? { shared, fields: new Map(), bytes: 0 }
    const more = recordBytes(record) + (series.fields.size === 0 ? sharedBytes(shared) : 0)
    series.fields.set(field, record)
    series.bytes += more
    bytes += more
    kept.set(name, series)
    for (const [oldest, { bytes: freed }] of kept) {
      if (bytes <= most || oldest === name) break
      kept.delete(oldest)
      bytes -= freed
    }
  }

  return async (ticker, timeframe, field) => {
    const before = await heed()
    const name = `${timeframe} ${ticker}`
    const series = kept.get(name)
    const record = series?.fields.get(field)
    if (series !== undefined && record !== undefined) {
      // Last in the map is asked for last.
      kept.delete(name)
      kept.set(name, series)
      return { ...series.shared, field: record }
    }
    const found = await store.recorded(ticker, timeframe, field)
    // What was read while something was written may be older than what is kept, or newer: it is not kept.
    if (found !== null && (await heed()) === before) keep(name, field, found)
    return found
  }
}

function sharedBytes({ calendar, outcomes }: Kept['shared']): number {
  const columns = [calendar.days, calendar.known, ...outcomes.returns, ...outcomes.ranks]
  return columns.reduce((sum, { byteLength }) => sum + byteLength, 1_000)
}

function recordBytes(record: FieldRecord | null): number {
  return record === null ? 100 : record.bars.byteLength + 3 * record.bands.byteLength + 500
}
