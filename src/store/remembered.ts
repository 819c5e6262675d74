import type { Day } from '../model/day.js'
import type { FactSheets, Security } from '../model/facts.js'
import type { FieldRecord, Series } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { PageStore } from './pages.js'
import type { Batch, Damage, Footprint, Recorded, Store, TickerEntry, Writer } from './store.js'

/** What is kept of one series: everything that its fields share, and the fields that were asked for. */
interface Kept {
  shared: Omit<Recorded, 'field'>
  fields: Map<string, FieldRecord | null>
  bytes: number
}

/**
 * A store that keeps in memory, decoded, what questions read again and again, until something was written. The series
 * that were asked for last are kept, up to a number of bytes. For who only reads: of what is written through it, it need
 * not hear.
 */
export class Remembered implements Store {
  readonly #store: Store
  readonly #most: number
  readonly #series = new Map<string, Kept>()
  #bytes = 0
  #version = ''
  #newestDay: Day | null | undefined
  #definitions: string | undefined

  constructor(store: Store, most = MOST_BYTES) {
    this.#store = store
    this.#most = most
  }

  get location(): string {
    return this.#store.location
  }

  /** Small, and read where nothing else is: not kept. */
  get pages(): PageStore {
    return this.#store.pages
  }

  version(): Promise<string> {
    return this.#store.version()
  }

  async definitions(): Promise<string> {
    const version = await this.#heed()
    if (this.#definitions !== undefined) return this.#definitions
    const found = await this.#store.definitions()
    if (await this.#isStill(version)) this.#definitions = found
    return found
  }

  async newestDay(): Promise<Day | null> {
    const version = await this.#heed()
    if (this.#newestDay !== undefined) return this.#newestDay
    const found = await this.#store.newestDay()
    if (await this.#isStill(version)) this.#newestDay = found
    return found
  }

  async recorded(ticker: string, timeframe: Timeframe, field: string): Promise<Recorded | null> {
    const version = await this.#heed()
    const name = `${timeframe} ${ticker}`
    const kept = this.#series.get(name)
    const record = kept?.fields.get(field)
    if (kept !== undefined && record !== undefined) {
      // Last in the map is asked for last.
      this.#series.delete(name)
      this.#series.set(name, kept)
      return { ...kept.shared, field: record }
    }
    const found = await this.#store.recorded(ticker, timeframe, field)
    if (found !== null && (await this.#isStill(version))) this.#keep(name, field, found)
    return found
  }

  tickers(): Promise<TickerEntry[]> {
    return this.#store.tickers()
  }

  ticker(ticker: string): Promise<TickerEntry | null> {
    return this.#store.ticker(ticker)
  }

  bars(ticker: string): Promise<Series | null> {
    return this.#store.bars(ticker)
  }

  sheets(ticker: string): Promise<FactSheets> {
    return this.#store.sheets(ticker)
  }

  factTickers(): Promise<string[]> {
    return this.#store.factTickers()
  }

  securities(): Promise<Map<string, Security>> {
    return this.#store.securities()
  }

  unsettled(): Promise<readonly string[]> {
    return this.#store.unsettled()
  }

  write(batch: Batch, definitions: string): Promise<void> {
    return this.#store.write(batch, definitions)
  }

  remove(ticker: string, unsettled?: readonly string[]): Promise<boolean> {
    return this.#store.remove(ticker, unsettled)
  }

  footprint(): Promise<Footprint> {
    return this.#store.footprint()
  }

  verify(): Promise<Damage[]> {
    return this.#store.verify()
  }

  lock(writer: Writer): Promise<void> {
    return this.#store.lock(writer)
  }

  unlock(writer: Writer): Promise<void> {
    return this.#store.unlock(writer)
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  /** Forgets everything once something was written. */
  async #heed(): Promise<string> {
    const version = await this.#store.version()
    if (version !== this.#version) {
      this.#version = version
      this.#series.clear()
      this.#bytes = 0
      this.#newestDay = undefined
      this.#definitions = undefined
    }
    return version
  }

  /** What was read while something was written may be older than what is kept, or newer: it is not kept. */
  async #isStill(version: string): Promise<boolean> {
    return (await this.#heed()) === version
  }

  /** Only once a series: its outcomes are most of it, and are the same for each of its fields. */
  #keep(name: string, field: string, { field: record, ...shared }: Recorded): void {
    const kept = this.#series.get(name) ?? { shared, fields: new Map(), bytes: sharedBytes(shared) }
    const before = this.#series.has(name) ? kept.bytes : 0
    kept.fields.set(field, record)
    kept.bytes += recordBytes(record)
    this.#series.set(name, kept)
    this.#bytes += kept.bytes - before
    for (const [oldest, { bytes }] of this.#series) {
      if (this.#bytes <= this.#most || oldest === name) break
      this.#series.delete(oldest)
      this.#bytes -= bytes
    }
  }
}

/** Some 500 tickers of five years, all their fields. */
const MOST_BYTES = 256 * 1024 * 1024

function sharedBytes({ calendar, outcomes }: Kept['shared']): number {
  const columns = [calendar.days, calendar.known, ...outcomes.returns, ...outcomes.ranks]
  return columns.reduce((sum, { byteLength }) => sum + byteLength, 1_000)
}

function recordBytes(record: FieldRecord | null): number {
  return record === null ? 100 : record.bars.byteLength + 3 * record.bands.byteLength + 500
}
