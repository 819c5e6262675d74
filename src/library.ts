import type { Field } from './fields/field.js'
import { bandsOf, Questions } from './library/questions.js'
import { type Explanation, explain } from './local/explain.js'
import { type ExportFilter, exportBars, exportEvents } from './local/export.js'
import { exportSeries } from './local/export-series.js'
import { facts, type KnownFacts } from './local/facts.js'
import type { Local } from './local/index.js'
import { lackingIn } from './local/pulled/lacking.js'
import { type Status, status } from './local/status.js'
import type { ExportedBar, ExportedEvent, ExportedSeriesBar } from './model/export.js'
import { FACT_KINDS, type FactKind } from './model/facts.js'
import type { Tier } from './model/tier.js'
import type { Timeframe } from './model/timeframe.js'
import { openRemote as open, openLocal } from './open.js'
import { grantedFields } from './policy/entitle.js'
import { dayValue, fieldValue, tickerValue, tierValue, timeframeValue, wordValue } from './query/values.js'
import type { Credits, Remote, TransportOptions } from './remote/index.js'
import type { TickerEntry } from './store/store.js'
import type { NowQuery } from './study/now.js'

export interface BandsOptions {
  /** The database file; otherwise BANDS_DB, otherwise the user's own, otherwise the bundled sample. */
  db?: string
  /** Default pro. */
  tier?: Tier
  /** Answer as of this date, `YYYY-MM-DD`: nothing that was not yet known then is used or shown. */
  asOf?: string
}

/**
 * Opens a cache for questions; nothing is written. Throws InvalidParameter for an option, NotFound for a database that
 * was named and is missing, StorageError for one that cannot be read.
 */
export async function openBands({ db, tier = 'pro', asOf }: BandsOptions = {}): Promise<BandsClient> {
  const { local } = await openLocal({
    ...(db === undefined ? {} : { db }),
    tier: tierValue('tier', tier),
    asOf: asOf === undefined ? null : dayValue('as_of', asOf),
  })
  return new BandsClient(local)
}

/** A server and how patiently it is asked. */
export type RemoteClientOptions = Omit<TransportOptions, 'lent'>

/**
 * A server that has the two endpoints of the specification, to be asked with a key; nothing is asked yet. Throws
 * InvalidParameter for an address or a number, ConfigError for a key or a proxy that cannot be used.
 */
export async function openRemote({ url, key, ...options }: RemoteClientOptions): Promise<RemoteClient> {
  return new RemoteClient(await open({ ...options, url: String(url), key, bandsOf }))
}

/** A database of this machine, asked by a program. */
export class BandsClient extends Questions {
  readonly #local: Local

  constructor(local: Local) {
    super(local)
    this.#local = local
  }

  /** Why a bar has the band that it has; the newest bar unless a date is given. */
  async explain({
    ticker,
    field,
    timeframe = 'daily',
    date,
  }: {
    ticker: string
    field: string
    timeframe?: string
    date?: string
  }): Promise<Explanation> {
    return explain(this.#local.cache, {
      ticker: tickerValue('ticker', ticker),
      field: fieldValue('field', field).name,
      timeframe: timeframeValue('timeframe', timeframe),
      ...(date === undefined ? {} : { date: dayValue('date', date) }),
    })
  }

  /** Every event with returns and percentiles, whatever the age; Pro. Rows come as they are read. */
  exportEvents(filter: ExportFilter = {}): AsyncGenerator<ExportedEvent> {
    return exportEvents(this.#local.cache, filter)
  }

  /** Every bar with its indicators and the band of every field; Pro. */
  exportSeries(filter: ExportFilter = {}): AsyncGenerator<ExportedSeriesBar> {
    return exportSeries(this.#local.cache, filter)
  }

  /** Every daily bar; Pro. */
  exportBars(filter: Pick<ExportFilter, 'tickers'> = {}): AsyncGenerator<ExportedBar> {
    return exportBars(this.#local.cache, filter)
  }

  /** What is loaded. */
  async tickers(): Promise<TickerEntry[]> {
    return this.#local.cache.store.tickers()
  }

  /** How much is loaded, how fresh, with which definitions. */
  async status(): Promise<Status> {
    return status(this.#local.cache)
  }

  /** What is known of a ticker beside its bars, since when, and from which file; all kinds unless one is given. */
  async facts({ ticker, kind }: { ticker: string; kind?: FactKind }): Promise<KnownFacts> {
    const name = tickerValue('ticker', ticker)
    if (kind === undefined) return facts(this.#local.cache, { ticker: name })
    return facts(this.#local.cache, { ticker: name, kind: wordValue('kind', kind, FACT_KINDS) })
  }

  protected async grantedFields(): Promise<readonly Field[]> {
    return grantedFields(this.#local.cache.tier)
  }

  protected async lacking(): Promise<NowQuery['skip']> {
    return lackingIn(this.#local.cache.store)
  }
}

/**
 * A server, asked by a program. A question that was answered is not asked again: open another for fresh answers. Every
 * question may throw Unauthorized, RateLimited, Unavailable and Upstream, too.
 */
export class RemoteClient extends Questions {
  readonly #remote: Remote

  constructor(remote: Remote) {
    super(remote)
    this.#remote = remote
  }

  /** What the newest answer told of the account's credits; null while none did. */
  get credits(): Credits | null {
    return this.#remote.credits
  }

  /** Whether the key is accepted, at no cost. Throws Unauthorized where it is not. */
  async checkKey(): Promise<void> {
    await this.#remote.checkKey()
  }

  protected async grantedFields(tickers: readonly string[], timeframe: Timeframe): Promise<readonly Field[]> {
    const [first] = tickers
    return first === undefined ? [] : grantedFields(await this.#remote.tierFor(first, timeframe))
  }

  protected async lacking(): Promise<NowQuery['skip']> {
    return undefined
  }
}
