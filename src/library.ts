import { basename } from 'node:path'
import type { Field } from './fields/field.js'
import { bandsOf } from './library/questions.js'
import { type PricesChoice, RemoteClient } from './library/remote-client.js'
import { Studies } from './library/studies.js'
import { type Explanation, explain } from './local/explain.js'
import { type ExportFilter, exportBars, exportEvents } from './local/export.js'
import { exportSeries } from './local/export-series.js'
import { facts, type KnownFacts } from './local/facts.js'
import type { Local } from './local/index.js'
import { localMarket } from './local/market.js'
import { lackingIn } from './local/pulled/lacking.js'
import { type Status, status } from './local/status.js'
import type { Market } from './market.js'
import type { ExportedBar, ExportedEvent, ExportedSeriesBar } from './model/export.js'
import { FACT_KINDS, type FactKind } from './model/facts.js'
import type { Tier } from './model/tier.js'
import type { Trials } from './model/trials.js'
import { type DatabaseChoice, openRemote as open, openLocal, openTrials } from './open.js'
import { grantedFields } from './policy/entitle.js'
import { dayValue, fieldValue, tickerValue, tierValue, timeframeValue, wordValue } from './query/values.js'
import type { TransportOptions } from './remote/index.js'
import type { TickerEntry } from './store/store.js'
import type { NowQuery } from './study/now.js'

export interface BandsOptions {
  /** The database file; otherwise BANDS_DB, otherwise the user's own, otherwise the bundled sample. */
  db?: string
  /** Answer as this tier; pro unless given. Studies then keep to what a subscriber of it could know, otherwise to nothing. */
  tier?: Tier
  /** Answer as of this date, `YYYY-MM-DD`: nothing that was not yet known then is used or shown. */
  asOf?: string
  /** false: studies note nothing in the ledger of trials, which lies beside the database. */
  ledger?: boolean
}

/**
 * Opens a cache for questions; nothing is written to it. Throws InvalidParameter for an option, NotFound for a database that
 * was named and is missing, StorageError for one that cannot be read.
 */
export async function openBands({ db, tier, asOf, ledger = true }: BandsOptions = {}): Promise<BandsClient> {
  const emulated = tier === undefined ? null : tierValue('tier', tier)
  const opened = await openLocal({
    ...(db === undefined ? {} : { db }),
    tier: emulated ?? 'pro',
    asOf: asOf === undefined ? null : dayValue('as_of', asOf),
  })
  return new BandsClient(opened.local, { path: opened.path, tier: emulated, ledger: ledger ? { db } : null })
}

/** A server and how patiently it is asked. */
export interface RemoteClientOptions extends Omit<TransportOptions, 'lent'> {
  /** The database of this machine that has the prices; studies of the server's events need them. */
  bars?: PricesChoice
}

/**
 * A server that has the two endpoints of the specification, to be asked with a key; nothing is asked yet. Throws
 * InvalidParameter for an address or a number, ConfigError for a key or a proxy that cannot be used.
 */
export async function openRemote({ url, key, bars, ...options }: RemoteClientOptions): Promise<RemoteClient> {
  return new RemoteClient(await open({ ...options, url: String(url), key, bandsOf }), bars)
}

export { RemoteClient } from './library/remote-client.js'

/** How a database was opened. */
interface OpenedAs {
  path?: string
  /** The tier that was asked for; null: none was. */
  tier?: Tier | null
  /** Beside which database the ledger of trials lies; null: nothing is noted. */
  ledger?: DatabaseChoice | null
}

/** A database of this machine, asked by a program. */
export class BandsClient extends Studies {
  readonly #local: Local
  readonly #opened: OpenedAs
  protected readonly tier: Tier | null

  constructor(local: Local, opened: OpenedAs = {}) {
    super(local)
    this.#local = local
    this.#opened = opened
    this.tier = opened.tier ?? null
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

  protected async market(): Promise<Market> {
    return localMarket(this.#local, { emulate: this.tier !== null })
  }

  protected async trials(): Promise<Trials | null> {
    const { ledger = null } = this.#opened
    return ledger === null ? null : openTrials(ledger)
  }

  protected get source(): string {
    return `files imported into ${basename(this.#opened.path ?? 'a database')}`
  }
}
