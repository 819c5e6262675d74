import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { sourcesOfStore } from '../../src/app/open/database.js'
import { type PageSource, type PullOptions, pull as pullFrom } from '../../src/app/remote/pull.js'
import type { NewPage } from '../../src/app/remote/remote.js'
import type { RequestName } from '../../src/app/remote/transport.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { EventsQuery, SeriesKey } from '../../src/core/model/event.js'
import { TIMEFRAME_NAMES, type Tier } from '../../src/core/model/terms.js'
import { eventHistory } from '../../src/core/source.js'
import { Local } from '../../src/data/local/local.js'
import type { StoredPages } from '../../src/data/store/pages.js'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import type { Store } from '../../src/data/store/store.js'
import { URL } from '../support/pulled.js'
import { simulatedGround } from '../support/serve.js'
import { temporaryFolder } from '../support/store.js'

export const RSI: SeriesKey = { ticker: 'SIM0001', timeframe: 'daily', field: 'rsi_zone' }

/** The store of a server: eight years, longer than any tier's range. */
export async function openMarket(count: number, seed = 7): Promise<{ market: Store; close(): Promise<void> }> {
  const ground = await simulatedGround({ count, bars: 2_100, seed })
  const market = openSqlite(ground.db, { readonly: true })
  return { market, close: () => market.close().finally(ground.remove) }
}

/** What is pulled into. */
export function emptyStore(): Store {
  const store = openSqlite(join(temporaryFolder(), 'own.db'), { readonly: false })
  onTestFinished(() => store.close())
  return store
}

export function callerOf(store: Store, tier: Tier = 'pro', asOf: string | null = null) {
  return sourcesOfStore(store, tier, asOf === null ? null : parseDay(asOf)).bands
}

/** Until it is mended, putting a series fails where it is told to, as where the process is killed. */
export function killedAt(store: Store, where: (series: StoredPages) => 'before' | 'after' | null): () => void {
  const put = store.pages.put.bind(store.pages)
  store.pages.put = async series => {
    const when = where(series)
    if (when !== 'before') await put(series)
    if (when !== null) throw new Error('killed')
  }
  return () => {
    store.pages.put = put
  }
}

/** A pull that comes to its end, and is killed before that is written down. */
export async function killedAtEnd(store: Store, source: PageSource, series: readonly SeriesKey[]): Promise<void> {
  const setRun = store.pages.setRun.bind(store.pages)
  store.pages.setRun = async run => {
    if (run === null) throw new Error('killed')
    await setRun(run)
  }
  await expect(pull(store, source, series)).rejects.toThrow('killed')
  store.pages.setRun = setRun
}

/** All events of a series that a server tells, oldest first, as they go over the wire. */
export async function toldBy(source: Source, key: SeriesKey) {
  const { events } = await eventHistory(source.local, key)
  return events.map(({ returns, percentiles, missing, ...resource }) => resource)
}

/** The local engine over a store, as a server shows it to a puller; every question that cost something is remembered. */
export class Source implements PageSource {
  url = URL
  tier: Tier
  /** null: the newest bar of the store */
  asOf: string | null
  /** Tells no as-of day, as servers of others do. */
  silent = false
  /** Names its pages, so that it can say that one is still the same. */
  tagged = false
  /** Answers so many questions more, and then is gone. */
  answers = Number.POSITIVE_INFINITY
  readonly asked: EventsQuery[] = []
  readonly names: string[] = []
  readonly #store: Store

  constructor(store: Store, { tier = 'pro', asOf = null }: { tier?: Tier; asOf?: string | null } = {}) {
    this.#store = store
    this.tier = tier
    this.asOf = asOf
  }

  /** The engine that answers now. */
  get local(): Local {
    return new Local(this.#store, this.tier, this.asOf === null ? null : parseDay(this.asOf))
  }

  async newPage(query: EventsQuery, { id, etag }: Required<RequestName>): Promise<NewPage> {
    if (this.answers-- <= 0) throw new Error('the line is dead')
    this.names.push(id)
    const page = await this.local.events(query)
    const today = formatDay(await this.local.today())
    const own = this.tagged ? createHash('sha256').update(JSON.stringify(page)).digest('hex') : null
    const unchanged = own !== null && own === etag
    if (!unchanged) this.asked.push(query)
    return { page: unchanged ? null : page, etag: own, asOf: this.silent ? null : today, credits: CREDITS }
  }

  /** Questions that were answered since the last look. */
  cost(): number {
    return this.asked.splice(0).length
  }
}

const DAY = { limit: 1_000, used: 10, remaining: 990, reset: null }
const CREDITS = { day: DAY, hour: null }

/**
 * A clock that stands until it is moved. Every file that uses it sets it back with `beforeEach(clock.reset)`: a hook here
 * would be one of the first file alone, as files of one worker share this module.
 */
export const clock = {
  at: new Date(),
  reset: (): void => {
    clock.at = new Date('2026-11-21T10:00:00.000Z')
  },
  now: (): Date => clock.at,
  set(date: string): void {
    clock.at = new Date(`${date}T22:00:00.000Z`)
  },
  pass(hours: number): void {
    clock.at = new Date(clock.at.getTime() + hours * 3_600_000)
  },
}
/** One run of a pull. */
export function pull(
  store: Store,
  source: PageSource,
  series: readonly SeriesKey[],
  { replace = false, ...options }: PullOptions & { replace?: boolean } = {},
) {
  return pullFrom(store, source, { series, replace }, { ...options, now: clock.now })
}

/** Every pairing of tickers and fields, at both timeframes unless one is given. */
export function keys(
  tickers: readonly string[],
  fields: readonly string[],
  timeframes: readonly SeriesKey['timeframe'][] = TIMEFRAME_NAMES,
): SeriesKey[] {
  return tickers.flatMap(ticker => timeframes.flatMap(timeframe => fields.map(field => ({ ticker, timeframe, field }))))
}
