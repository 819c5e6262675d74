import { Busy, didYouMean, NotFound, remedy, StorageError, suggest } from '../../core/errors.js'
import type { Field } from '../../core/fields/field.js'
import { type AnyField, BUILT_IN_FIELDS, type FieldSet, isRecorded } from '../../core/fields/index.js'
import type { Panel } from '../../core/fields/panel.js'
import { conditionField, isConditionField } from '../../core/language/as-field.js'
import { type Day, utcToday } from '../../core/model/day.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import type { HistoryQuery, SeriesKey } from '../../core/model/event.js'
import { type Security, securityOf } from '../../core/model/facts.js'
import { barsKnownBy, firstBars, recordIn, type Series } from '../../core/model/series.js'
import type { Tier, Timeframe } from '../../core/model/terms.js'
import { type Cluster, firstItem, type HistoriesQuery, type Workers } from '../../core/source.js'
import { entitle, type Plan, planOf } from '../../core/tiers.js'
import { recordedOf } from '../store/checked.js'
import { type Recorded, type RecordedSeries, type Store, type TickerEntry, UNDERIVED } from '../store/store.js'
import type { DerivedCache, DerivedQuery } from './derived.js'
import type { Sectors } from './sectors.js'
import { type ExtraViews, matchingEvents, sectorKey, type View, viewOf } from './view.js'

/** Data of tickers without bars, to explain why a question about one cannot be answered. */
export interface OtherData {
  tickers(): Promise<readonly string[]>
  /** A ticker's data in words, as the end of a sentence; null: none. */
  dataWords(ticker: string): Promise<string | null>
  /** The newest day of all these data. */
  newestDay(): Promise<Day | null>
}

export interface CacheOptions extends Workers {
  /** The day that a server counts ranges back from; null: from the newest bar. */
  clock?: (() => Day) | null
  /** Today's date (default: the UTC day of this machine's clock): bars after tomorrow do not count. */
  now?: (() => Day) | undefined
  otherData?: OtherData | null
  /** The available fields (default: the specified ones). */
  fields?: FieldSet | undefined
  /** Caches records of derived fields (default: no cache). */
  derived?: DerivedCache | undefined
}

/** The data of a question and its matching events. */
export interface FoundEvents {
  query: HistoryQuery
  view: View
  /** The view of the second ticker; null without a context. */
  context: View | null
  /** The view of the condition next to a field; null without one. */
  when: View | null
  today: Day
  plan: Plan
  /** The tier's range: events lie after this day. */
  rangeStart: Day
  /** The matching events by number, oldest first. */
  indexes: Int32Array
}

/**
 * A store as one caller sees it: with a tier or without, and as of a day. Every local question goes through it. It
 * caches nothing itself, except that the definitions were checked.
 */
export class Cache {
  readonly store: Store
  /** null: nothing that is loaded is withheld */
  readonly tier: Tier | null
  /** null: everything that the bars show */
  readonly asOf: Day | null
  readonly fieldSet: FieldSet
  readonly threads: number | undefined
  readonly cluster: Cluster | undefined
  protected readonly options: CacheOptions
  #hasCheckedDefinitions = false

  constructor(store: Store, tier: Tier | null, asOf: Day | null, options: CacheOptions = {}) {
    this.store = store
    this.tier = tier
    this.asOf = asOf
    this.fieldSet = options.fields ?? BUILT_IN_FIELDS
    this.threads = options.threads
    this.cluster = options.cluster
    this.options = options
  }

  /**
   * The day that ranges count back from: the as-of day, the clock's day, or the day of the newest bar. Without bars it
   * is the newest day of other data.
   */
  async today(): Promise<Day> {
    const { clock, otherData } = this.options
    // Bars after tomorrow, which an older version accepted, do not count.
    const newest = async () => (await this.store.newestDay(this.lastDay)) ?? (await otherData?.newestDay())
    return this.asOf ?? clock?.() ?? (await newest()) ?? 0
  }

  /** The last day that can have a bar: tomorrow has begun somewhere. */
  get lastDay(): Day {
    return (this.options.now ?? utcToday)() + 1
  }

  /** The events that match a question, by number. Throws TierRestricted, NotFound, Busy. */
  async find(query: HistoryQuery): Promise<FoundEvents> {
    entitle(query, this.tier, this.fieldSet)
    const { ticker, timeframe, field, context: other, when, lag } = query
    const view = await this.view(ticker, timeframe, field, lag)
    // A context is a field and no condition, so it has no lag.
    const context = other === undefined ? null : await this.view(other.ticker, timeframe, other.field)
    const condition = when === undefined ? null : await this.view(ticker, timeframe, when, lag)
    return this.#findInView(view, query, await this.today(), { context, when: condition })
  }

  /**
   * The events of some fields of many tickers, in one read: by ticker, with the fields in the order of the query.
   * @param outcomes whether returns are needed, too
   */
  async *findAll(
    { tickers, fields, ...query }: Omit<HistoriesQuery, 'outcomes' | 'base'>,
    outcomes: boolean,
  ): AsyncGenerator<FoundEvents> {
    const [first] = fields
    if (tickers.length === 0 || first === undefined) return
    // Only the first field is refused before the first ticker is read, the others after it: as in one query per field.
    entitle({ ...query, field: first }, this.tier, this.fieldSet)
    const { timeframe, context: other, when, lag } = query
    const seriesQuery = { tickers, timeframe, fields: when === undefined ? fields : [...fields, when], outcomes, lag }
    let today: Day | null = null
    let context: View | null = null
    let tickersRead = 0
    for await (const viewOfField of this.views(seriesQuery)) {
      const ticker = tickers[tickersRead++]!
      today ??= await this.today()
      for (const field of fields) {
        if (tickersRead === 1) entitle({ ...query, field }, this.tier, this.fieldSet)
        const viewOrPromise = viewOfField(field)
        // A whole market has ten thousand views per field: an `await` without need would take a part of the time.
        const view = viewOrPromise instanceof Promise ? await viewOrPromise : viewOrPromise
        if (other !== undefined) context ??= await this.view(other.ticker, timeframe, other.field)
        const condition = when === undefined ? null : await viewOfField(when)
        yield this.#findInView(view, { ...query, ticker, field }, today, { context, when: condition })
      }
    }
  }

  /**
   * Yields for each ticker a function that gives the view of a field as of the day, all from one read. Throws NotFound
   * for an unknown ticker. The function throws Busy for a field that waits for an import.
   */
  async *views(query: DerivedQuery): AsyncGenerator<(field: string) => View | Promise<View>> {
    for await (const { series, bars } of this.eachSeries(query)) {
      const { entry, calendar, outcomes, unsettled } = series
      const viewOfField = (field: string): View => {
        const record = recordIn(series.fields, field)
        return viewOf({ entry, calendar, outcomes, field: record }, query.timeframe, this.field(field).bands, bars)
      }
      yield field =>
        unsettled.length === 0 ? viewOfField(field) : this.refuseUnsettled(series, field).then(() => viewOfField(field))
    }
  }

  /**
   * Series of many tickers in one read, each with the number of its bars that were final on the day. The caller must
   * check whether fields wait for an import. Throws NotFound.
   */
  async *eachSeries(query: DerivedQuery): AsyncGenerator<{ series: RecordedSeries; bars: number; today: Day }> {
    await this.#refuseOtherDefinitions()
    let today: Day | null = null
    let read = 0
    for await (const series of this.#series(query)) {
      const ticker = query.tickers[read++]!
      if (series === null) throw await this.unknownTicker(ticker)
      today ??= await this.today()
      yield { series, bars: barsKnownBy(series.calendar, today), today }
    }
  }

  /** A series for each ticker of a query, in its order; null: unknown ticker. Derived fields' records are computed. */
  async *#series(query: DerivedQuery): AsyncGenerator<RecordedSeries | null> {
    if (query.fields.every(name => this.isRecorded(name))) return yield* this.store.series(query)
    // Most questions have no condition, and need not load the code for them.
    const { derivedSeries } = await import('./derived.js')
    yield* derivedSeries(this, query)
  }

  /** The events of a view that match a query, with the plan and the range of the tier. */
  #findInView(view: View, query: HistoryQuery, today: Day, extra: ExtraViews): FoundEvents {
    const plan = planOf(this.tier)
    const rangeStart = plan.rangeStart(today)
    return { query, view, ...extra, today, plan, rangeStart, indexes: matchingEvents(view, query, rangeStart, extra) }
  }

  /** One field of one ticker as of the day. Throws NotFound with the nearest tickers. */
  async view(ticker: string, timeframe: Timeframe, field: string, lag?: number): Promise<View> {
    const recorded = await this.recorded(ticker, timeframe, field, lag)
    const bars = barsKnownBy(recorded.calendar, await this.today())
    return viewOf(recorded, timeframe, this.field(field).bands, bars)
  }

  /**
   * One field of one ticker with all its bars, regardless of the day.
   * @param lag a condition reads the tickers that it names this number of bars earlier
   */
  async recorded(ticker: string, timeframe: Timeframe, field: string, lag?: number): Promise<Recorded> {
    await this.#refuseOtherDefinitions()
    const recorded = this.isRecorded(field)
      ? await this.store.recorded(ticker, timeframe, field)
      : await this.#derived({ tickers: [ticker], timeframe, fields: [field], outcomes: true, lag })
    if (recorded === null) throw await this.unknownTicker(ticker)
    await this.refuseUnsettled(recorded, field)
    return recorded
  }

  /** A derived field of one ticker with its series, from the cache if there is one; null: unknown ticker. */
  #derived(query: DerivedQuery): Promise<Recorded | null> {
    const cacheKey = JSON.stringify([query.timeframe, query.tickers, query.fields, query.lag])
    const make = async (): Promise<Recorded | null> =>
      recordedOf(await firstItem(this.#series(query)), query.fields[0]!)
    return this.options.derived?.getOrMake(this.store, this.fieldSet, cacheKey, make) ?? make()
  }

  /** A text that changes whenever answers about the events of some series may change; other writes do not change it. */
  async answerStamp(series: readonly SeriesKey[]): Promise<string> {
    const { store } = this
    const usesFacts = series.some(({ field }) => this.field(field).needs !== 'bars')
    const waiting = usesFacts ? (await Pending.read(store)).waiting : []
    const stamps = await Promise.all(series.map(({ ticker, timeframe }) => store.stamp(ticker, timeframe)))
    return JSON.stringify([await this.today(), await store.definitions(), waiting, stamps])
  }

  /** A field or a condition; every name of a parsed query is one. */
  field(name: string): AnyField {
    return this.fieldSet.named(name) ?? conditionField(name, this.fieldSet)
  }

  protected isRecorded(name: string): boolean {
    return isRecorded(this.field(name))
  }

  /** A ticker's row. Throws NotFound with the nearest tickers. */
  async entry(ticker: string): Promise<TickerEntry> {
    const entry = await this.store.ticker(ticker)
    if (entry === null) throw await this.unknownTicker(ticker)
    return entry
  }

  /** The bars that were final on the day. Throws NotFound with the nearest tickers. */
  async series(ticker: string, timeframe: Timeframe): Promise<Series> {
    const entry = await this.entry(ticker)
    const series = await this.storedSeries(entry, timeframe)
    return firstBars(series, barsKnownBy(series, await this.today()))
  }

  /**
   * The inputs of some fields over all stored bars; callers with an as-of day use only the first ones. Without later
   * bars the splits that older figures must be adjusted for would be unknown. Throws NotFound.
   * @param sectors cache for one run; without it every sector is read again, as an import may have changed it
   */
  async panel(ticker: string, timeframe: Timeframe, fields: readonly Field[], sectors?: Sectors): Promise<Panel> {
    // A question about events computes no panel, and need not load the code for it.
    const { companyOf, panelOf, Sectors } = await import('./sectors.js')
    const company = await companyOf(this.store, await this.entry(ticker), fields)
    return panelOf(company, timeframe, fields, sectors ?? new Sectors(this.store))
  }

  /** Throws Busy if some of the fields wait for an import to be finished, for any ticker. */
  async refuseWaitingFields(fields: readonly AnyField[]): Promise<void> {
    if (fields.every(field => field.needs === 'bars')) return
    const pending = await Pending.read(this.store)
    const names = fields.filter(field => pending.waits(field)).map(({ name }) => name)
    if (names.length === 0) return
    const subject = names.length === 1 ? `${names[0]} ${pending.why}` : `${names.length} fields: each ${pending.why}`
    throw new Busy(`${subject}; ${RETRY_HINT}`, { remedy: remedy('rebuild') })
  }

  /** All stored bars of a ticker, regardless of the day. */
  async storedSeries(entry: TickerEntry, timeframe: Timeframe): Promise<Series> {
    return seriesIn(timeframe, (await this.store.bars(entry.ticker))!, entry)
  }

  /**
   * The error for a ticker without the needed data. If only its events are here, the message says that.
   * @param reason the missing data, such as `no bars`
   * @param others further tickers to suggest, which have these data and no bars
   */
  async unknownTicker(ticker: string, reason = 'no bars', others: readonly string[] = []): Promise<NotFound> {
    const { otherData } = this.options
    const about = { missing: { kind: 'ticker', name: ticker } } as const
    const otherWords = (await otherData?.dataWords(ticker)) ?? null
    if (otherWords !== null) {
      const what = `there are no bars of ${ticker}, and this needs them: only events are here, ${otherWords}.`
      return new NotFound(what, [], about)
    }
    const withBars = await this.store.names('bars')
    const known = new Set([...withBars, ...((await otherData?.tickers()) ?? []), ...others])
    const suggestions = suggest(ticker, [...known])
    return new NotFound(`${reason} for "${ticker}".${didYouMean(suggestions)}`, suggestions, about)
  }

  /** Throws Busy if a field of a ticker waits for an import: its facts are new while its events are still old. */
  async refuseUnsettled(
    { entry: { ticker }, unsettled }: { entry: Pick<TickerEntry, 'ticker'>; unsettled: readonly string[] },
    field: string,
  ): Promise<void> {
    const queriedField = this.field(field)
    if (isConditionField(queriedField)) {
      for (const subject of queriedField.subjects)
        await this.refuseUnsettled({ entry: { ticker: subject.ticker ?? ticker }, unsettled }, subject.field)
      return
    }
    const { needs } = queriedField
    if (needs === 'bars' || unsettled.length === 0) return
    const pending = new Pending(unsettled)
    const sector = needs === 'sector' ? sectorKey(securityOf(await this.store.sheets(ticker))) : null
    const waits = pending.tickers.has(ticker) || (sector !== null && pending.sectors.has(sector))
    if (!waits) return
    throw new Busy(`${field} of ${ticker} ${pending.why}; ${RETRY_HINT}`, { remedy: remedy('rebuild') })
  }

  /** Throws StorageError if the events were made with other definitions than those of this version. */
  async #refuseOtherDefinitions(): Promise<void> {
    if (this.#hasCheckedDefinitions) return
    const stored = await this.store.definitions()
    const isEmpty = stored === ''
    if (stored !== DEFINITIONS_VERSION && !isEmpty) {
      const what =
        stored === UNDERIVED
          ? 'has bars whose events are not made yet; a rebuild makes them'
          : `was derived with definitions ${stored}, and this bands uses ${DEFINITIONS_VERSION}; a rebuild derives it again`
      throw new StorageError(`${this.store.location} ${what}`, { remedy: remedy('rebuild') })
    }
    this.#hasCheckedDefinitions = true
  }
}

/** A ticker's daily bars, or the weekly ones made of them. */
export async function seriesIn(
  timeframe: Timeframe,
  daily: Series,
  { assetClass }: Pick<TickerEntry, 'assetClass'>,
): Promise<Series> {
  if (timeframe === 'daily') return daily
  const { barsAt } = await import('../../core/engine/record.js')
  return barsAt(timeframe, daily, assetClass)
}

const RETRY_HINT = 'try again later; if no import is running, a rebuild finishes it'

/** A file of which only the first tickers are written: its import is running or was stopped. */
export interface PartlyLoadedFile {
  file: string
  /** How many of its first tickers are loaded, and how many it has. */
  tickers: number
  of: number
  /** When the import began (ISO time, UTC). */
  since: string
  /** Checksum of the file's content and of the import's options; empty once another import has changed some bars. */
  content: string
}

/**
 * What imports still have to derive: tickers with new facts, sectors of such tickers, and unfinished files. Stored, so
 * that no question uses outdated data, and the next run finishes a killed one.
 */
export class Pending {
  readonly tickers: Set<string>
  readonly sectors: Set<string>
  #files: PartlyLoadedFile[]
  #since: string | null

  /** @param keys what `keys` returned: `ticker T`, `sector S`, `file JSON` and `since TIME` (default: nothing waits) */
  constructor(keys: readonly string[] = []) {
    const namesOfKind = (kind: string): Set<string> =>
      new Set(keys.filter(key => key.startsWith(kind)).map(key => key.slice(kind.length)))
    this.tickers = namesOfKind(TICKER_PREFIX)
    this.sectors = namesOfKind(SECTOR_PREFIX)
    this.#files = [...namesOfKind(FILE_PREFIX)].map(text => JSON.parse(text) as PartlyLoadedFile)
    this.#since = [...namesOfKind(SINCE_PREFIX)][0] ?? null
  }

  static async read(store: Store): Promise<Pending> {
    return new Pending(await store.unsettled())
  }

  /** Whether no ticker and no sector waits. */
  get isEmpty(): boolean {
    return this.steps === 0
  }

  /** Number of tickers and sectors to derive. */
  get steps(): number {
    return this.tickers.size + this.sectors.size
  }

  /** When fields began to wait (ISO time, UTC); null if none waits, or an older version wrote the database. */
  get since(): string | null {
    return this.isEmpty ? null : this.#since
  }

  /** Whether a field waits for some ticker. */
  waits({ needs }: Pick<AnyField, 'needs'>): boolean {
    if (needs === 'bars') return false
    return this.tickers.size > 0 || (needs === 'sector' && this.sectors.size > 0)
  }

  /** Why a field waits, as the end of a sentence. */
  get why(): string {
    return `waits for an import to be finished${this.since === null ? '' : ` since ${this.since}`}`
  }

  /** Partly loaded files, in the order in which their imports began. */
  get files(): readonly PartlyLoadedFile[] {
    return this.#files
  }

  /** Marks the sector of a security as pending, if it has one. */
  addSectorOf(security: Security | null | undefined): void {
    const sector = sectorKey(security)
    if (sector !== null) this.sectors.add(sector)
  }

  /** How many tickers of a file are loaded already. @param content checksum of the file and of the import's options */
  loadedTickerCount(content: string): number {
    return this.#files.find(part => part.content === content)?.tickers ?? 0
  }

  /** Notes how much of a file is loaded; a complete one is no longer listed. Stopped imports of others start again. */
  noteBarsWritten(part: PartlyLoadedFile): void {
    this.#files = this.#files.filter(({ file, content }) => file !== part.file && content !== part.content)
    this.restartStoppedImports()
    if (part.tickers < part.of) this.#files.push(part)
  }

  /** Makes each stopped import start again from its first ticker: other bars have changed in the meantime. */
  restartStoppedImports(): void {
    this.#files = this.#files.map(file => ({ ...file, content: '' }))
  }

  /** Accepts those files as they are; they are no longer reported. */
  forgetFiles(): void {
    this.#files = []
  }

  /** The pending work as texts, which the constructor takes. */
  get keys(): string[] {
    this.#since = this.isEmpty ? null : (this.#since ?? new Date().toISOString())
    const since = this.#since === null ? [] : [SINCE_PREFIX + this.#since]
    return [...this.waiting, ...since, ...this.#files.map(part => FILE_PREFIX + JSON.stringify(part))]
  }

  /** Names of pending tickers and sectors. */
  get waiting(): string[] {
    return [
      ...[...this.tickers].map(ticker => TICKER_PREFIX + ticker),
      ...[...this.sectors].map(key => SECTOR_PREFIX + key),
    ].sort()
  }
}

const TICKER_PREFIX = 'ticker '
const SECTOR_PREFIX = 'sector '
const SINCE_PREFIX = 'since '
const FILE_PREFIX = 'file '
