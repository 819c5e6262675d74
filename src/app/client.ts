// For: open bands as a program does.
// In: options of the database here, or the address and the key of a server.
// Out: a client, which answers every question and closes what it opened.

import { basename } from 'node:path'
import { version } from '../core/built.js'
import { InvalidParameter, NotFound, remedy } from '../core/errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../core/fields/index.js'
import type { ExportedBar, ExportedEvent, ExportedSeriesBar } from '../core/model/event.js'
import type { FactKind } from '../core/model/facts.js'
import type { AccountPage } from '../core/model/pages.js'
import type { Tier } from '../core/model/terms.js'
import { type Checks, checkFunction, checkOptions, listOf, objectOf, tickersOf } from '../core/params/arguments.js'
import type { BacktestContext } from '../core/params/backtest.js'
import type { OwnField } from '../core/params/fields-file.js'
import type { CompareParams, GridParams } from '../core/params/grid.js'
import { CLUSTER, THREADS } from '../core/params/kinds.js'
import {
  type ChangesParams,
  type ExplainParams,
  FACTS,
  parseChanges,
  parseExplain,
  parseScreen,
  type ScreenParams,
} from '../core/params/questions.js'
import { readParams } from '../core/params/row.js'
import type { BacktestParams } from '../core/params/strategy.js'
import type { StudyParams, SweepParams } from '../core/params/studies.js'
import { dayValue, fileValue, flagValue, integerValue, textOf, tierValue } from '../core/params/values.js'
import type { PricedSource, Trials } from '../core/source.js'
import { type Explanation, explain } from '../data/local/explain.js'
import { type ExportFilter, exportBars, exportEvents, exportSeries } from '../data/local/export.js'
import { type KnownFacts, knownFacts } from '../data/local/facts.js'
import type { TickerEntry } from '../data/store/store.js'
import type { Backtest, Comparison, Grid } from '../research/backtest/result.js'
import { type Changes, changes, type Screen, screen } from '../research/screen/screen.js'
import type { EventStudy } from '../research/study/result.js'
import type { Sweep } from '../research/sweep/result.js'
import { Pages, pagesOf, type TickerAnswers } from './client/pages.js'
import type { OwnFields } from './client/questions.js'
import {
  CACHE_BYTES,
  namedConditions,
  type Opened,
  openCluster,
  openLocal,
  openRemote as openServer,
  openTrials,
  readStatus,
  type WholeStatus,
} from './open/database.js'
import type { FetchOptions, UpdateOptions } from './open/fetching.js'
import { type DatabaseChoice, databasePath } from './open/paths.js'
import type { PagedResult } from './present/prices.js'
import type { Credits, Remote, TransportOptions } from './remote/remote.js'

/** `step` reports the progress of long work. It is called often, and its text is only made on demand. */
interface ProgressOptions {
  step?: (text: () => string) => void
}

/**
 * Questions that need prices as well as events. Parameters are named like the options of the command line; answers
 * equal its `--json` output. Every trial is counted in the trial log, unless `ledger: false` was set. Each method may
 * throw InvalidParameter, NotFound, TierRestricted and Busy. It throws StorageError for a trial log that cannot be
 * opened. A log that cannot be written adds a warning to the answer.
 */
abstract class Studies extends Pages {
  #market: Promise<PricedSource> | null = null
  #trials: Promise<Trials | null> | null = null

  /** Compares returns after events with returns after any bar: an average path, intervals and tests. */
  async study(params: StudyParams, options: ProgressOptions = {}): Promise<EventStudy & OwnFields> {
    const { parseStudy } = await import('../core/params/studies.js')
    const { eventStudy } = await import('../research/study/event-study.js')
    const query = parseStudy(params, this.knownFields)
    return this.#runStudy(params, options, (market, hooks) => eventStudy(market, query, hooks))
  }

  /** Trades events by rules. The answer has the trades, the equity, and statistics of both. */
  async backtest(params: BacktestParams, options: ProgressOptions = {}): Promise<Backtest & OwnFields> {
    const { parseBacktest } = await import('../core/params/backtest.js')
    const { backtest } = await import('../research/backtest/backtest.js')
    const context = await this.#strategyContext({ hasFile: 'strategy' in Object(params) })
    const { strategy, run } = parseBacktest(params, context)
    return this.#runStudy(params, options, (market, hooks) => backtest(market, strategy, run, hooks))
  }

  /** Trades every combination of some values, `vary: { hold: [5, 10, 20] }`, and tests whether the best one is real. */
  async grid(params: GridParams, options: ProgressOptions = {}): Promise<Grid & OwnFields> {
    const { parseGrid } = await import('../core/params/grid.js')
    const { grid } = await import('../research/backtest/grid.js')
    const query = parseGrid(params, await this.#strategyContext({ hasFile: 'strategy' in Object(params) }))
    return this.#runStudy(params, options, (market, hooks) => grid(market, query, hooks))
  }

  /** Compares strategies over the days that all have: statistics, years, correlations, differences of Sharpe ratios. */
  async compare(params: CompareParams, options: ProgressOptions = {}): Promise<Comparison & OwnFields> {
    const { parseCompare } = await import('../core/params/grid.js')
    const { compare } = await import('../research/backtest/compare.js')
    const query = parseCompare(params, await this.#strategyContext({ hasFile: true }))
    return this.#runStudy(params, options, (market, hooks) => compare(market, query, hooks))
  }

  /** Tests every field, band and window at once. The p-values are corrected for the number of tests. */
  async sweep(params: SweepParams, options: ProgressOptions = {}): Promise<Sweep & OwnFields> {
    const { parseSweep } = await import('../core/params/studies.js')
    const { sweep } = await import('../research/sweep/sweep.js')
    const query = parseSweep(params, this.knownFields)
    return this.#runStudy(params, options, (market, hooks) => sweep(market, query, hooks))
  }

  /** Makes an HTML page with tables and charts of an answer. It needs no other file. Some charts also need prices. */
  async report(found: PagedResult, options: { command?: string } = {}): Promise<string> {
    checkOptions('options', options, { command: textOf })
    objectOf('found', found)
    const { reportOf } = await import('./report/report.js')
    const { command = '' } = options
    const about = { command, version: version(), source: this.source, as_of: found.as_of, tier: this.tier }
    return reportOf(() => this.#pricedSource(), found, about)
  }

  override async close(): Promise<void> {
    try {
      await (await this.#trials?.catch(() => null))?.close()
    } finally {
      await super.close()
    }
  }

  /** The data that a strategy's parser needs. @param hasFile adds all loaded tickers, which a strategy file may mean */
  async #strategyContext({ hasFile }: { hasFile: boolean }): Promise<BacktestContext> {
    const parsing = { tier: this.tier, fields: this.knownFields }
    return hasFile ? { ...parsing, loaded: await (await this.#pricedSource()).withBars() } : parsing
  }

  /** Runs a question that needs prices, and adds the definitions it uses. Its trials are the combinations tested. */
  async #runStudy<Found extends { warnings: string[] }>(
    params: object,
    options: ProgressOptions,
    study: (market: PricedSource, hooks: ProgressOptions & { trials: Trials | null }) => Promise<Found>,
  ): Promise<Found & OwnFields> {
    checkOptions('options', options, { step: checkFunction })
    const market = await this.#pricedSource()
    return this.withDefinitions(params, await this.#runWithTrialLog(trials => study(market, { ...options, trials })))
  }

  /** Runs a tally. Those of a server's events are not counted, because they need no local data. */
  protected withTrialLog<Found extends { warnings: string[] }>(
    ask: (trials: Trials | null) => Promise<Found>,
  ): Promise<Found> {
    return this.isServer ? ask(null) : this.#runWithTrialLog(ask)
  }

  /** Runs a question with the trial log, which counts its trials. */
  async #runWithTrialLog<Found extends { warnings: string[] }>(
    ask: (trials: Trials | null) => Promise<Found>,
  ): Promise<Found> {
    const { withCountedTrials } = await import('../research/trials.js')
    return withCountedTrials(await this.#openTrialLog(), ask)
  }

  /** The source with prices, opened once. A refusal is not cached, because a later call may succeed. */
  #pricedSource(): Promise<PricedSource> {
    this.#market ??= this.market()
    this.#market.catch(() => {
      this.#market = null
    })
    return this.#market
  }

  /** The trial log, opened once; null if trials are not counted. */
  #openTrialLog(): Promise<Trials | null> {
    this.#trials ??= this.trials()
    this.#trials.catch(() => {
      this.#trials = null
    })
    return this.#trials
  }

  protected abstract market(): Promise<PricedSource>

  protected abstract readonly isServer: boolean

  protected abstract trials(): Promise<Trials | null>

  /** The tier of the answers; null: no limits, all loaded data count. */
  protected abstract get tier(): Tier | null

  /** The source of the data, in words. */
  protected abstract get source(): string
}

interface PricesChoice {
  /** The file; otherwise BANDS_DB, otherwise the user's own. */
  db?: string
  /** false: studies do not count their trials in the trial log next to the database. */
  ledger?: boolean
  /** The number of threads for long work, 1 for none (default: the number of cores). */
  threads?: number
  /** A Ray cluster that does long work: `ray://HOST:PORT`, or `ray` for one on this machine. */
  cluster?: string
}

const PRICE_OPTIONS = { db: fileValue, ledger: flagValue, threads: THREADS.parse, cluster: CLUSTER.parse }

/**
 * A client of a server. An answered question is cached: open another client for fresh answers. Every question may also
 * throw Unauthorized, RateLimited, Unavailable and Upstream.
 */
export class RemoteClient extends Studies {
  readonly #remote: Remote
  readonly #bars: PricesChoice | undefined
  #prices: Opened | null = null
  protected readonly isServer = true
  protected readonly tier = null
  protected readonly withholds = true

  constructor(remote: Remote, bars?: PricesChoice) {
    super(remote, BUILT_IN_FIELDS)
    this.#remote = remote
    this.#bars = bars
  }

  /** The account's credits by the newest answer; null before the first one. */
  get credits(): Credits | null {
    return this.#remote.credits
  }

  /** The tier of the account, its limits and the credits that are left; free. */
  account(): Promise<AccountPage> {
    return this.#remote.pages.account()
  }

  protected get pages(): TickerAnswers {
    return this.#remote.pages
  }

  /** Checks the key at no cost. Throws Unauthorized for a refused key. */
  async checkKey(): Promise<void> {
    await this.#remote.checkKey()
  }

  override async close(): Promise<void> {
    try {
      await this.#prices?.local.close()
    } finally {
      await super.close()
    }
  }

  /** The server's events on the prices of the local database. Throws InvalidParameter or NotFound without prices. */
  protected async market(): Promise<PricedSource> {
    if (this.#bars === undefined)
      throw new InvalidParameter('bars is missing: a server gives events, not prices, and a study needs both.', {
        param: 'bars',
        allowed: 'openRemote({ url, key, bars: { db } }), which names a database that has the prices',
      })
    this.#prices ??= await openLocal({ ...this.#bars, cluster: await openCluster(this.#bars) })
    // A missing database is opened as the bundled sample.
    if (this.#prices.sample)
      throw new NotFound(`there are no prices at ${databasePath(this.#bars)}; import some first.`, [], {
        remedy: remedy('import', ['FILE']),
      })
    const { eventsOnBars } = await import('./remote/events-on-bars.js')
    return eventsOnBars(this.#remote, this.#prices.local)
  }

  protected async trials(): Promise<Trials | null> {
    return this.#bars?.ledger === false ? null : openTrials(this.#bars ?? {})
  }

  protected get source(): string {
    return `events of ${this.#remote.url}, prices of ${basename(databasePath(this.#bars))}`
  }
}

export interface BandsOptions extends PricesChoice {
  /** The file of the database, or `sample`; else BANDS_DB, else the user's own, else the bundled sample. */
  db?: string
  /** Applies the limits of this tier, its range, fields and rows, also to studies (default: all loaded data). */
  tier?: Tier
  /** Answers as of this date, `YYYY-MM-DD`: later data are neither used nor shown. */
  asOf?: string
  /** Fields of your own, as the text of a fields file or as a list of definitions. */
  fields?: string | readonly OwnField[]
  /** The size of the cache of decoded series in bytes, 0 for none (default 64 MiB). */
  cacheBytes?: number
}

/**
 * Opens a database for questions, without writing to it. Throws InvalidParameter for an option, BadData for own fields,
 * NotFound for a named database that is missing, StorageError for an unreadable one.
 */
export async function openBands(options: BandsOptions = {}): Promise<BandsClient> {
  checkOptions('options', options, {
    ...PRICE_OPTIONS,
    tier: textOf,
    asOf: textOf,
    fields: ownFieldsText,
    cacheBytes: (param, value) => integerValue(param, value, 0, Number.MAX_SAFE_INTEGER),
  })
  const { db, tier, asOf, ledger: countsTrials = true, fields, threads, cacheBytes = CACHE_BYTES } = options
  const callerTier = tier === undefined ? null : tierValue('tier', tier)
  const day = asOf === undefined ? null : dayValue('as_of', asOf)
  const fieldSet = fields === undefined ? BUILT_IN_FIELDS : await ownFields(fields)
  const withConditions = { ...fieldSet, conditions: await namedConditions({ db }) }
  const workers = { threads, cluster: await openCluster(options) }
  const opened = await openLocal({ db, ...workers, cacheBytes, fields: withConditions, tier: callerTier, asOf: day })
  const { path, sample } = opened
  return new BandsClient(opened, { path, sample, tier: callerTier, ledger: countsTrials ? { db } : null })
}

async function ownFields(fields: unknown): Promise<FieldSet> {
  const { ownFieldSet } = await import('../core/params/fields-file.js')
  return ownFieldSet(ownFieldsText('fields', fields), 'fields')
}

/** The user's own fields as the text of a fields file, which is YAML: a list of definitions is written as JSON. */
function ownFieldsText(param: string, fields: unknown): string {
  if (typeof fields === 'string') return fields
  const list = listOf(param, fields)
  try {
    return JSON.stringify(list, null, 2)
  } catch (cause) {
    throw new InvalidParameter(`${param} cannot be written as JSON: ${(cause as Error).message}`, { param })
  }
}

/** The address of a server, and the limits on waiting and retrying. */
export interface RemoteClientOptions extends Omit<TransportOptions, 'hooks'> {
  /** The database of this machine that has the prices; studies of the server's events need them. */
  bars?: PricesChoice
}

/**
 * Prepares a client of a server that has the two endpoints of the API. Sends no request. Throws InvalidParameter for an
 * address or a number, ConfigError for a key or a proxy that cannot be used.
 */
export async function openRemote(options: RemoteClientOptions): Promise<RemoteClient> {
  checkOptions('options', options, REMOTE_CHECKS)
  const { bars, ...others } = options
  return new RemoteClient(await openServer({ ...others, url: String(others.url), fields: BUILT_IN_FIELDS.all }), bars)
}

/** Only the kinds of values are checked here; an address, a key and numbers are read where they are used. */
const REMOTE_CHECKS: Checks<keyof RemoteClientOptions | 'hooks'> = {
  url: (param, value) => value instanceof URL || textOf(param, value),
  key: textOf,
  bars: (param, value) => checkOptions(param, value, PRICE_OPTIONS),
  timeoutMs: () => {},
  retries: () => {},
  allowPlainHttp: flagValue,
  env: objectOf,
  hooks: objectOf,
}

/** How a database was opened. */
interface OpenedAs {
  path?: string
  /** The bundled sample, into which nothing is written. */
  sample?: boolean
  tier?: Tier | null
  /** The database whose trial log is used; null: no trials are counted. */
  ledger?: DatabaseChoice | null
}

/** A client of a database on this machine. With a tier, its answers withhold what that tier may not see. */
export class BandsClient extends Studies {
  readonly #local: Opened['local']
  readonly #bands: Opened['bands']
  readonly #opened: OpenedAs
  protected readonly isServer = false
  protected readonly tier: Tier | null
  protected readonly withholds: boolean

  constructor({ local, bands }: Pick<Opened, 'local' | 'bands'>, opened: OpenedAs = {}) {
    super(bands, local.fieldSet)
    this.#local = local
    this.#bands = bands
    this.#opened = opened
    this.tier = opened.tier ?? null
    this.withholds = this.tier !== null
  }

  protected get pages(): TickerAnswers {
    return pagesOf(this.#local)
  }

  /** Explains why a bar has its band (default: the newest bar). */
  async explain(params: ExplainParams): Promise<Explanation & OwnFields> {
    return this.withDefinitions(params, await explain(this.#local, parseExplain(params, this.knownFields)))
  }

  /**
   * Finds the tickers whose condition holds on their last bar, or began to hold on one of the last `since` bars.
   * `tickers` defaults to all loaded ones. `tally` adds the returns after such onsets, compared with any bar.
   */
  async screen(params: ScreenParams): Promise<Screen & OwnFields> {
    const { tickers, ...others } = objectOf('params', params)
    const { as_of: day, ...filter } = parseScreen(others, this.knownFields)
    const local = day === undefined ? this.#local : this.#local.on(day)
    const query = { ...filter, tickers: await this.#tickersOrAll(tickers) }
    return this.withDefinitions(params, await screen(local, query))
  }

  /**
   * Lists every change of band on bars that became final after the day `since` (default: on the newest day), newest
   * first. `tickers` defaults to all loaded ones. Only the command line keeps what `since: 'last'` needs.
   */
  async changes(params: ChangesParams = {}): Promise<Changes & OwnFields> {
    const { tickers, ...others } = objectOf('params', params)
    const { since = (await this.#local.today()) - 1, ...query } = parseChanges(others, this.knownFields)
    if (since === 'last')
      throw new InvalidParameter('since takes a date here: only bands changes keeps the last answer.', {
        param: 'since',
      })
    const { found } = await changes(this.#local, { ...query, since, tickers: await this.#tickersOrAll(tickers) })
    return this.withDefinitions(params, found)
  }

  /**
   * Loads bars or facts of a vendor into this database; the next question uses them. A ticker is whole, or not there.
   * Throws NotFound for an unknown vendor, Unauthorized, RateLimited, Upstream, Busy.
   */
  async fetch(tickers: readonly string[], options: Omit<FetchOptions, 'db'> & { from: string }) {
    const { fetchBars } = await import('./open/fetching.js')
    return fetchBars(tickers, { ...options, ...this.#writableDb })
  }

  /** Brings fetched tickers up to date, each from its vendor (default: all fetched ones). Throws as `fetch` does. */
  async update(tickers: readonly string[] | null = null, options: UpdateOptions = {}) {
    const { updateBars } = await import('./open/fetching.js')
    return updateBars(tickers, { ...options, ...this.#writableDb })
  }

  /** The database that a fetch writes to. Throws InvalidParameter for the sample. */
  get #writableDb(): { db: string } {
    const { path, sample = false } = this.#opened
    if (path === undefined || sample)
      throw new InvalidParameter('the sample is open, into which nothing is loaded; fetchBars makes a database.', {
        param: 'db',
      })
    return { db: path }
  }

  /** Yields every event of any age with returns and percentiles; needs Pro. Rows come as they are read. */
  exportEvents(filter: ExportFilter = {}): AsyncGenerator<ExportedEvent> {
    return exportEvents(this.#local, filter)
  }

  /** Every bar with its indicators and the band of every field; Pro. */
  exportSeries(filter: ExportFilter = {}): AsyncGenerator<ExportedSeriesBar> {
    return exportSeries(this.#local, filter)
  }

  /** Every daily bar; Pro. */
  exportBars(filter: Pick<ExportFilter, 'tickers' | 'after' | 'before'> = {}): AsyncGenerator<ExportedBar> {
    return exportBars(this.#local, filter)
  }

  /** Lists the loaded tickers. */
  async tickers(): Promise<TickerEntry[]> {
    return (await this.#local.store.tickers()).map(entry => ({ ...entry }))
  }

  /** How much is loaded, how fresh, with which definitions. */
  async status(): Promise<WholeStatus> {
    return readStatus({ local: this.#local, bands: this.#bands })
  }

  /** Lists the known facts of a ticker, with their dates and source files (default: all kinds). */
  async facts(params: { ticker: string; kind?: FactKind }): Promise<KnownFacts> {
    return knownFacts(this.#local, readParams(FACTS, params))
  }

  /** The tickers that a caller names; all that have bars without a list. Throws InvalidParameter for an empty one. */
  async #tickersOrAll(tickers: unknown): Promise<readonly string[]> {
    if (tickers == null) return this.#local.withBars()
    const names = tickersOf(tickers)
    if (names.length > 0) return names
    throw new InvalidParameter('tickers is empty: name at least one, or leave it out for all.', { param: 'tickers' })
  }

  protected async market(): Promise<PricedSource> {
    return this.#local
  }

  protected async trials(): Promise<Trials | null> {
    const { ledger = null } = this.#opened
    return ledger === null ? null : openTrials(ledger)
  }

  protected get source(): string {
    return `files imported into ${basename(this.#opened.path ?? 'a database')}`
  }
}
