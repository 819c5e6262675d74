import { basename } from 'node:path'
import type { Backtest, Comparison, Grid } from './backtest/result.js'
import { version } from './built.js'
import { type OwnFields, Questions } from './client/questions.js'
import { InvalidParameter, NotFound, remedy } from './errors.js'
import { BUILT_IN, type FieldSet } from './fields/index.js'
import { type Explanation, explain } from './local/explain.js'
import { type ExportFilter, exportBars, exportEvents, exportSeries } from './local/export.js'
import { facts, type KnownFacts } from './local/facts.js'
import type { ExportedBar, ExportedEvent, ExportedSeriesBar } from './model/event.js'
import type { FactKind } from './model/facts.js'
import type { Tier } from './model/terms.js'
import { type DatabaseChoice, databasePath } from './open/paths.js'
import {
  CACHE_BYTES,
  type Opened,
  openRemote as open,
  openLocal,
  openTrials,
  statusOf,
  type WholeStatus,
} from './open.js'
import { type Checks, checkFunction, checkOptions, listOf, objectOf, tickersOf } from './params/arguments.js'
import type { OwnField } from './params/fields-file.js'
import type { CompareParams, GridParams } from './params/grid.js'
import { THREADS } from './params/kinds.js'
import { type ExplainParams, FACTS, parseExplain, parseScreen, type ScreenParams } from './params/questions.js'
import { readParams } from './params/row.js'
import type { BacktestParams } from './params/strategy.js'
import type { StudyParams, SweepParams } from './params/studies.js'
import { dayValue, fileValue, flagValue, integerValue, textOf, tierValue } from './params/values.js'
import type { Reported } from './present/prices.js'
import type { Credits, Remote, TransportOptions } from './remote/remote.js'
import { type Screen, screen } from './screen/screen.js'
import type { PricedSource, Trials } from './source.js'
import type { TickerEntry } from './store/store.js'
import type { EventStudy } from './study/result.js'
import type { Sweep } from './sweep/result.js'

/** How progress of long work is told: often, the text only made when it is asked for. */
interface ProgressOptions {
  step?: (text: () => string) => void
}

/**
 * The questions that need prices beside events. Parameters are spelled as the options of the command line, answers are
 * those that it prints with `--json`. What is looked at is noted in the ledger of trials unless that was refused at the
 * opening. Each may throw InvalidParameter, NotFound, TierRestricted and Busy, StorageError for a ledger that cannot be
 * opened; where it cannot be written in the end, the answer's warnings say so.
 */
abstract class Studies extends Questions {
  #market: Promise<PricedSource> | null = null
  #trials: Promise<Trials | null> | null = null

  /** What followed events, against what follows any bar: returns, an average path, intervals and tests. */
  async study(params: StudyParams, options: ProgressOptions = {}): Promise<EventStudy & OwnFields> {
    const { parseStudy } = await import('./params/studies.js')
    const { eventStudy } = await import('./study/event-study.js')
    const query = parseStudy(params, this.known)
    return this.#ask(options, (market, all) => eventStudy(market, query, all))
  }

  /** Events traded by rules: trades, equity and their statistics. */
  async backtest(params: BacktestParams, options: ProgressOptions = {}): Promise<Backtest & OwnFields> {
    const { parseBacktest } = await import('./params/backtest.js')
    const { backtest } = await import('./backtest/backtest.js')
    const { strategy, run } = parseBacktest(params, { tier: this.tier, fields: this.known })
    return this.#ask(options, (market, all) => backtest(market, strategy, run, all))
  }

  /** Every combination of some values of a strategy: `{ …, vary: { hold: [5, 10, 20] } }`; whether the best of them is real. */
  async grid(params: GridParams, options: ProgressOptions = {}): Promise<Grid & OwnFields> {
    const { parseGrid } = await import('./params/grid.js')
    const { grid } = await import('./backtest/grid.js')
    const query = parseGrid(params, { tier: this.tier, fields: this.known })
    return this.#ask(options, (market, all) => grid(market, query, all))
  }

  /** Strategies side by side over the days that all have: statistics, years, correlations, differences of Sharpe ratios. */
  async compare(params: CompareParams, options: ProgressOptions = {}): Promise<Comparison & OwnFields> {
    const { parseCompare } = await import('./params/grid.js')
    const { compare } = await import('./backtest/compare.js')
    const query = parseCompare(params, { tier: this.tier, fields: this.known })
    return this.#ask(options, (market, all) => compare(market, query, all))
  }

  /** Every field, band and window at once, with p-values corrected for so many looks. */
  async sweep(params: SweepParams, options: ProgressOptions = {}): Promise<Sweep & OwnFields> {
    const { parseSweep } = await import('./params/studies.js')
    const { sweep } = await import('./sweep/sweep.js')
    const query = parseSweep(params, this.known)
    return this.#ask(options, (market, all) => sweep(market, query, all))
  }

  /** The page of an answer, as `--report` writes it: one HTML document that needs nothing else. */
  async report(found: Reported, options: { command?: string } = {}): Promise<string> {
    checkOptions('options', options, { command: textOf })
    objectOf('found', found)
    const { reportOf } = await import('./report/report.js')
    const { command = '' } = options
    const about = { command, version: version(), source: this.source, as_of: found.as_of, tier: this.tier }
    return reportOf(() => this.#prices(), found, about)
  }

  override async close(): Promise<void> {
    try {
      await (await this.#trials?.catch(() => null))?.close()
    } finally {
      await super.close()
    }
  }

  /** What is looked at is counted. */
  async #ask<Found extends { warnings: string[] }>(
    options: ProgressOptions,
    work: (market: PricedSource, options: ProgressOptions & { trials: Trials | null }) => Promise<Found>,
  ): Promise<Found & OwnFields> {
    checkOptions('ways', options, { step: checkFunction })
    const market = await this.#prices()
    return this.withDefinitions(await this.#counted(trials => work(market, { ...options, trials })))
  }

  /** A server's events stand on no data here, so their tallies are not noted. */
  protected withTrialLog<Found extends { warnings: string[] }>(
    ask: (trials: Trials | null) => Promise<Found>,
  ): Promise<Found> {
    return this.isServer ? ask(null) : this.#counted(ask)
  }

  async #counted<Found extends { warnings: string[] }>(ask: (trials: Trials | null) => Promise<Found>): Promise<Found> {
    const { withCountedTrials } = await import('./trials.js')
    return withCountedTrials(await this.#ledger(), ask)
  }

  /** A refusal is not kept: another time there may be an answer. */
  #prices(): Promise<PricedSource> {
    this.#market ??= this.market()
    this.#market.catch(() => {
      this.#market = null
    })
    return this.#market
  }

  #ledger(): Promise<Trials | null> {
    this.#trials ??= this.trials()
    this.#trials.catch(() => {
      this.#trials = null
    })
    return this.#trials
  }

  /** Prices, and bands on them. */
  protected abstract market(): Promise<PricedSource>

  /** Whether a server answers. */
  protected abstract readonly isServer: boolean

  /** Where trials are noted; null where they are not. */
  protected abstract trials(): Promise<Trials | null>

  /** The tier that is answered as; null: none, and everything that is loaded counts. */
  protected abstract get tier(): Tier | null

  /** Where the data are from, in words. */
  protected abstract get source(): string
}

/** A database that has prices. */
interface PricesChoice {
  /** The file; otherwise BANDS_DB, otherwise the user's own. */
  db?: string
  /** false: studies note nothing in the ledger of trials, which lies beside it. */
  ledger?: boolean
  /** How many threads share long work, 1 for none; as many as the machine has cores unless given. */
  threads?: number
}

/**
 * A server, asked by a program. A question that was answered is not asked again: open another for fresh answers. Every
 * question may throw Unauthorized, RateLimited, Unavailable and Upstream, too.
 */
export class RemoteClient extends Studies {
  readonly #remote: Remote
  readonly #bars: PricesChoice | undefined
  #prices: Opened | null = null
  protected readonly isServer = true
  protected readonly tier = null
  protected readonly withholds = true

  constructor(remote: Remote, bars?: PricesChoice) {
    super(remote, BUILT_IN)
    this.#remote = remote
    this.#bars = bars
  }

  /** What the newest answer told of the account's credits; null while none did. */
  get credits(): Credits | null {
    return this.#remote.credits
  }

  /** Whether the key is accepted, at no cost. Throws Unauthorized where it is not. */
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

  protected async market(): Promise<PricedSource> {
    if (this.#bars === undefined)
      throw new InvalidParameter('bars is missing: a server tells events, not prices, and a study needs both.', {
        param: 'bars',
        allowed: 'openRemote({ url, key, bars: { db } }), which names a database that has the prices',
      })
    this.#prices ??= await openLocal(this.#bars)
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
  /** The file of the database; otherwise BANDS_DB, otherwise the user's own, otherwise the bundled sample. */
  db?: string
  /** Answer as to a subscriber of this tier: its range, its fields and its limit, of studies too; all that is loaded unless given. */
  tier?: Tier
  /** Answer as of this date, `YYYY-MM-DD`: nothing that was not yet known then is used or shown. */
  asOf?: string
  /** Fields of your own, as the text of a fields file or as a list of definitions. */
  fields?: string | readonly OwnField[]
  /** How many bytes of decoded series are kept for the questions to come, 0 for none; 64 MiB unless given. */
  cacheBytes?: number
}

/**
 * Opens a cache for questions; nothing is written to it. Throws InvalidParameter for an option, BadData for own fields,
 * NotFound for a database that was named and is missing, StorageError for one that cannot be read.
 */
export async function openBands(options: BandsOptions = {}): Promise<BandsClient> {
  checkOptions('options', options, {
    db: fileValue,
    tier: textOf,
    asOf: textOf,
    ledger: flagValue,
    fields: ownFieldsText,
    threads: THREADS.parse,
    cacheBytes: (param, value) => integerValue(param, value, 0, Number.MAX_SAFE_INTEGER),
  })
  const { db, tier, asOf, ledger = true, fields, threads, cacheBytes = CACHE_BYTES } = options
  const emulated = tier === undefined ? null : tierValue('tier', tier)
  const day = asOf === undefined ? null : dayValue('as_of', asOf)
  const known = fields === undefined ? BUILT_IN : await ownFields(fields)
  const opened = await openLocal({ db, threads, cacheBytes, fields: known, tier: emulated, asOf: day })
  return new BandsClient(opened, { path: opened.path, tier: emulated, ledger: ledger ? { db } : null })
}

async function ownFields(fields: unknown): Promise<FieldSet> {
  const { ownFieldSet } = await import('./params/fields-file.js')
  return ownFieldSet(ownFieldsText('fields', fields), 'fields')
}

/** A list of definitions as a text that can be read as a file is: JSON is YAML. */
function ownFieldsText(param: string, fields: unknown): string {
  if (typeof fields === 'string') return fields
  const list = listOf(param, fields)
  try {
    return JSON.stringify(list, null, 2)
  } catch (cause) {
    throw new InvalidParameter(`${param} cannot be written as JSON: ${(cause as Error).message}`, { param })
  }
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
export async function openRemote(options: RemoteClientOptions): Promise<RemoteClient> {
  checkOptions('options', options, REMOTE_CHECKS)
  const { bars, ...others } = options
  return new RemoteClient(await open({ ...others, url: String(others.url), fields: BUILT_IN.all }), bars)
}

/** Numbers, addresses and keys are looked at where they are used. */
const REMOTE_CHECKS: Checks<keyof RemoteClientOptions | 'lent'> = {
  url: (param, value) => value instanceof URL || textOf(param, value),
  key: textOf,
  bars: (param, value) => checkOptions(param, value, { db: fileValue, ledger: flagValue, threads: THREADS.parse }),
  timeoutMs: () => {},
  retries: () => {},
  allowPlainHttp: flagValue,
  env: objectOf,
  lent: objectOf,
}

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

  /** Why a bar has the band that it has; the newest bar unless a date is given. */
  async explain(params: ExplainParams): Promise<Explanation & OwnFields> {
    return this.withDefinitions(await explain(this.#local, parseExplain(params, this.known)))
  }

  /**
   * The tickers of which a condition holds on their last bar, or became true on one of the last `since` bars; all that are
   * loaded unless some are named. With `tally` also what followed such onsets, beside any bar.
   */
  async screen(params: ScreenParams): Promise<Screen & OwnFields> {
    const { tickers, ...others } = objectOf('params', params)
    const { date, ...query } = parseScreen(others, this.known)
    const names = tickersOf(tickers ?? [])
    const asked = names.length > 0 ? names : await this.#local.withBars()
    const local = date === undefined ? this.#local : this.#local.on(date)
    return this.withDefinitions(await screen(local, { ...query, tickers: asked }))
  }

  /** Every event with returns and percentiles, whatever the age; Pro. Rows come as they are read. */
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

  /** What is loaded. */
  async tickers(): Promise<TickerEntry[]> {
    return (await this.#local.store.tickers()).map(entry => ({ ...entry }))
  }

  /** How much is loaded, how fresh, with which definitions. */
  async status(): Promise<WholeStatus> {
    return statusOf({ local: this.#local, bands: this.#bands })
  }

  /** What is known of a ticker beside its bars, since when, and from which file; all kinds unless one is given. */
  async facts(params: { ticker: string; kind?: FactKind }): Promise<KnownFacts> {
    return facts(this.#local, readParams(FACTS, params))
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
