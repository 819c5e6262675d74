import { basename } from 'node:path'
import type { Backtest } from './backtest/result.js'
import { version } from './built.js'
import { InvalidParameter, NotFound, remedy, worded } from './errors.js'
import type { Field } from './fields/field.js'
import { FIELDS } from './fields/index.js'
import { type Explanation, explain } from './local/explain.js'
import { type ExportFilter, exportBars, exportEvents, exportSeries } from './local/export.js'
import { facts, type KnownFacts } from './local/facts.js'
import { formatDay } from './model/day.js'
import type {
  EventHistory,
  EventsPage,
  ExportedBar,
  ExportedEvent,
  ExportedSeriesBar,
  HistoryQuery,
  PoolQuery,
} from './model/event.js'
import type { FactKind } from './model/facts.js'
import type { OversoldPage } from './model/oversold.js'
import type { Tier, Timeframe } from './model/terms.js'
import {
  CACHE_BYTES,
  type DatabaseChoice,
  databasePath,
  type Opened,
  openRemote as open,
  openLocal,
  openTrials,
  statusOf,
  type WholeStatus,
} from './open.js'
import { type Checks, checkFunction, checkOptions, objectOf } from './params/arguments.js'
import { THREADS } from './params/kinds.js'
import {
  ASKED_EVENTS,
  type EventsParams,
  EXPLAIN,
  FACTS,
  type HistoryParams,
  NOW,
  OVERSOLD,
  type OversoldParams,
  OWN_EVENTS,
  OWN_OVERSOLD,
  type PoolParams,
} from './params/parameters.js'
import { parseEvents, parseHistory, parseOversold, parsePool } from './params/parse.js'
import { readParams } from './params/row.js'
import type { BacktestParams } from './params/strategy.js'
import type { StudyParams, SweepParams } from './params/studies.js'
import { dayValue, fileValue, flagValue, integerValue, textOf, tierValue, wordValue } from './params/values.js'
import type { Credits, Remote, TransportOptions } from './remote/remote.js'
import type { ReportAbout } from './report/report.js'
import { eventHistory, type FieldInfo, type PricedSource, type Source, type Trials } from './source.js'
import type { TickerEntry } from './store/store.js'
import type { EventStudy } from './study/result.js'
import type { Sweep } from './sweep/result.js'
import { type Now, now } from './tally/now.js'
import { TALLY_GROUPINGS, type Tally, type TallyGrouping, tally } from './tally/tally.js'
import { type Transitions, transitionsOf } from './tally/transitions.js'

/** What must be said of an answer and has no place in it: why it is empty, in sentences; usually none. */
export interface Noted {
  notes: string[]
}

/**
 * The questions that stand on events, as a program asks them of a database or of a server: parameters spelled as in the
 * specification, answers as the command line prints them with `--json`, and beside them the notes that it has on standard
 * error. Every question may throw InvalidParameter, TierRestricted or NotFound.
 */
abstract class Questions {
  readonly #bands: Source

  constructor(bands: Source) {
    this.#bands = bands
  }

  /**
   * `GET /v1/events`: the newest matching transitions of one field of one ticker, with their aftermath. 10 unless `limit`
   * says how many; of a database asked as no tier any number, or `all`.
   */
  async events(params: EventsParams): Promise<EventsPage & Noted> {
    const query = parseEvents(params, this.withholds ? ASKED_EVENTS : OWN_EVENTS)
    const page = await this.#bands.events(query)
    return { ...page, notes: page.total_occurrences > 0 ? [] : await this.#whyNone(query) }
  }

  /** `GET /v1/scan/oversold`: which tickers are oversold; `limit` as above, 20 unless given. */
  async oversold(params: OversoldParams = {}): Promise<OversoldPage & Noted> {
    const query = parseOversold(params, this.withholds ? OVERSOLD : OWN_OVERSOLD)
    const page = await this.#bands.oversold(query)
    if (page.match_count > 0) return { ...page, notes: [] }
    const { emptyScanNote } = await import('./present/events.js')
    const date = query.date === undefined ? null : formatDay(query.date)
    return { ...page, notes: [this.#bands.server?.note ?? emptyScanNote(query, page, date)] }
  }

  /** All matching transitions, oldest first; of a database with raw returns and percentiles. */
  async history(params: HistoryParams): Promise<EventHistory & Noted> {
    const query = parseHistory(params)
    const history = await eventHistory(this.#bands, query)
    return { ...history, notes: history.events.length > 0 ? [] : await this.#whyNone(query) }
  }

  /** How often each performance followed, and what a database knows of returns, beside what usually follows; by band unless one is given. */
  async tally(params: PoolParams & { by?: TallyGrouping }): Promise<Tally & Noted> {
    const { by, ...others } = objectOf('params', params)
    const pool = parsePool(others)
    const grouped = by === undefined ? pool : { ...pool, by: wordValue('by', textOf('by', by), TALLY_GROUPINGS) }
    return this.#noted(pool, await tally(this.#bands, grouped))
  }

  /** Which band follows which, and how long each lasts, in bars; with a context also by the band that it was in. */
  async transitions(params: Omit<PoolParams, 'band' | 'context_band'>): Promise<Transitions & Noted> {
    const pool = parsePool(params)
    return this.#noted(pool, await transitionsOf(this.#bands, pool))
  }

  /** The present band of fields, since when, and how long such stays last; all fields of the tier unless some are named. */
  async now(params: { tickers: readonly string[]; fields?: readonly string[]; timeframe?: string }): Promise<Now> {
    const { tickers, fields, timeframe } = readParams(NOW, params)
    const asked = fields ?? (await this.#granted(tickers, timeframe)).map(field => field.name)
    const skip = fields === undefined ? await this.#bands.lacking?.() : undefined
    return now(this.#bands, { tickers, fields: asked, timeframe, skip })
  }

  /** The 21 band fields with tier and vocabulary. */
  fields(): readonly Field[] {
    return FIELDS
  }

  async close(): Promise<void> {
    await this.#bands.close()
  }

  /** Whether limits are those of the specification: at a tier, and at a server. */
  protected abstract get withholds(): boolean

  async #noted<Found extends Pick<Tally, 'tickers' | 'events' | 'query_range' | 'as_of'> & Partial<Noted>>(
    { tickers: _tickers, ...query }: PoolQuery,
    found: Found,
  ): Promise<Found & Noted> {
    const [ticker, second] = found.tickers
    const { notes = [] } = found
    if (found.events > 0) return { ...found, notes }
    if (second === undefined)
      return { ...found, notes: [...notes, ...(await this.#whyNone({ ...query, ticker: ticker! }))] }
    const { emptyPoolNote } = await import('./present/empty.js')
    return { ...found, notes: [...notes, emptyPoolNote(query, found)] }
  }

  async #whyNone(query: HistoryQuery): Promise<string[]> {
    const why = await this.#bands.whyEmpty(query)
    if (why === null) return []
    const { emptyNote } = await import('./present/empty.js')
    const { reason, advice } = emptyNote(why, query)
    return [worded(reason), ...(advice === null ? [] : [worded(advice)])]
  }

  /** The fields of the caller's plan, when tickers are about to be asked. */
  async #granted([first]: readonly string[], timeframe: Timeframe): Promise<readonly FieldInfo[]> {
    if (first === undefined) return []
    const { fields, waiting } = await this.#bands.granted(first, timeframe)
    return [...fields, ...waiting]
  }
}

/** How progress of long work is told: often, the text only made when it is asked for. */
interface StudyWays {
  step?: (text: () => string) => void
}

function checkWays(ways: StudyWays): void {
  checkOptions('ways', ways, { step: checkFunction })
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
  async study(params: StudyParams, ways: StudyWays = {}): Promise<EventStudy> {
    const [{ parseStudy }, { eventStudy }] = await Promise.all([
      import('./params/studies.js'),
      import('./study/event-study.js'),
    ])
    checkWays(ways)
    const query = parseStudy(params)
    const market = await this.#prices()
    return this.#counted(trials => eventStudy(market, query, { ...ways, trials }))
  }

  /** Events traded by rules: trades, equity and their statistics. */
  async backtest(params: BacktestParams, ways: StudyWays = {}): Promise<Backtest> {
    const [{ parseBacktest }, { backtest }] = await Promise.all([
      import('./params/backtest.js'),
      import('./backtest/backtest.js'),
    ])
    checkWays(ways)
    const { strategy, run } = parseBacktest(params, { tier: this.tier })
    const market = await this.#prices()
    return this.#counted(trials => backtest(market, strategy, run, { ...ways, trials }))
  }

  /** Every field, band and window at once, with p-values corrected for so many looks. */
  async sweep(params: SweepParams, ways: StudyWays = {}): Promise<Sweep> {
    const [{ parseSweep }, { sweep }] = await Promise.all([import('./params/studies.js'), import('./sweep/sweep.js')])
    checkWays(ways)
    const query = parseSweep(params)
    const market = await this.#prices()
    return this.#counted(trials => sweep(market, query, { ...ways, trials }))
  }

  /** The page of an answer, as `--report` writes it: one HTML document that needs nothing else. */
  async report(found: EventStudy | Backtest | Sweep, options: { command?: string } = {}): Promise<string> {
    checkOptions('options', options, { command: textOf })
    objectOf('found', found)
    const [{ report }, { describeWithPrices, inputsOf }] = await Promise.all([
      import('./report/report.js'),
      import('./present/prices.js'),
    ])
    const market = await this.#prices()
    try {
      const about: ReportAbout = {
        command: options.command ?? '',
        version: version(),
        source: this.source,
        as_of: found.as_of,
        tier: this.tier,
        ...(await inputsOf(market, found)),
      }
      return report(await describeWithPrices(market, found), about)
    } catch (cause) {
      if (!(cause instanceof TypeError || cause instanceof RangeError)) throw cause
      // Whether all of it is there is only seen where it is drawn.
      const what = `found is no whole answer of study(), backtest() or sweep(): ${cause.message}.`
      throw new InvalidParameter(what, { param: 'found' })
    }
  }

  override async close(): Promise<void> {
    try {
      await (await this.#trials?.catch(() => null))?.close()
    } finally {
      await super.close()
    }
  }

  async #counted<Found extends { warnings: string[] }>(ask: (trials: Trials | null) => Promise<Found>): Promise<Found> {
    const { counted } = await import('./study/trials.js')
    return counted(await this.#ledger(), ask)
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

  /** Where looks are noted; null where they are not. */
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
  protected readonly tier = null
  protected readonly withholds = true

  constructor(remote: Remote, bars?: PricesChoice) {
    super(remote)
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
  /** The database file; otherwise BANDS_DB, otherwise the user's own, otherwise the bundled sample. */
  db?: string
  /** Answer as to a subscriber of this tier: its range, its fields and its limit, of studies too; all that is loaded unless given. */
  tier?: Tier
  /** Answer as of this date, `YYYY-MM-DD`: nothing that was not yet known then is used or shown. */
  asOf?: string
  /** How many threads share long work, 1 for none; as many as the machine has cores unless given. */
  threads?: number
  /** How many bytes of decoded series are kept for the questions to come, 0 for none; 64 MiB unless given. */
  cacheBytes?: number
}

/**
 * Opens a cache for questions; nothing is written to it. Throws InvalidParameter for an option, NotFound for a database that
 * was named and is missing, StorageError for one that cannot be read.
 */
export async function openBands(options: BandsOptions = {}): Promise<BandsClient> {
  checkOptions('options', options, {
    db: fileValue,
    tier: textOf,
    asOf: textOf,
    ledger: flagValue,
    threads: THREADS.parse,
    cacheBytes: (param, value) => integerValue(param, value, 0, Number.MAX_SAFE_INTEGER),
  })
  const { db, tier, asOf, ledger = true, threads, cacheBytes = CACHE_BYTES } = options
  const emulated = tier === undefined ? null : tierValue('tier', tier)
  const day = asOf === undefined ? null : dayValue('as_of', asOf)
  const opened = await openLocal({ db, threads, cacheBytes, tier: emulated, asOf: day })
  return new BandsClient(opened, { path: opened.path, tier: emulated, ledger: ledger ? { db } : null })
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
  return new RemoteClient(await open({ ...others, url: String(others.url), fields: FIELDS }), bars)
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
  protected readonly tier: Tier | null
  protected readonly withholds: boolean

  constructor({ local, bands }: Pick<Opened, 'local' | 'bands'>, opened: OpenedAs = {}) {
    super(bands)
    this.#local = local
    this.#bands = bands
    this.#opened = opened
    this.tier = opened.tier ?? null
    this.withholds = this.tier !== null
  }

  /** Why a bar has the band that it has; the newest bar unless a date is given. */
  async explain(params: { ticker: string; field: string; timeframe?: string; date?: string }): Promise<Explanation> {
    return explain(this.#local, readParams(EXPLAIN, params))
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
  exportBars(filter: Pick<ExportFilter, 'tickers'> = {}): AsyncGenerator<ExportedBar> {
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
