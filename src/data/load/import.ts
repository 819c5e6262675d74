import {
  BadData,
  BandsError,
  InvalidParameter,
  NotFound,
  NotWritten,
  parameter,
  remedy,
  sentence,
} from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import { FACT_KINDS, type FactKind, type FactSource, securityOf } from '../../core/model/facts.js'
import { checkDay, checkFunction } from '../../core/params/arguments.js'
import { textOf, tickerValue } from '../../core/params/values.js'
import type { Cluster } from '../../core/source.js'
import type { Input, ReadResult, TickerBars, TickerFacts } from '../feeds/feed.js'
import { type PartlyLoadedFile, Pending } from '../local/cache.js'
import { checksum } from '../store/checksum.js'
import { lockForWriting, type Store, type TickerEntry, UNDERIVED, type Writer } from '../store/store.js'
import { type Choices, cutBars, hasSameData, type MergedBars, mergeBars, renamedData } from './bars.js'
import { deriveGroups, deriveRecord, deriveStored, groupTickers, pendingSteps, progressReporter } from './derive.js'
import { type MergedFacts, mergeFactsOfFile, undamagedSheets } from './facts.js'
import {
  type FileReport,
  type ImportOptions,
  type ReadFile,
  type RefusedTicker,
  type SheetReport,
  type SourcedBars,
  type TickerReport,
  volumeRemarks,
  withOddities,
} from './report.js'
import { contentPieces, Run } from './run.js'

/** How stored bars are treated, with the names of the specification; at most one of them. */
const BAR_CHOICES = { replace: 'replace', rescale: 'rescale', acceptJump: 'accept_jump' } as const
type BarChoice = keyof typeof BAR_CHOICES

function refuseSeveralChoices(options: Pick<ImportOptions, BarChoice>): void {
  const chosen = (Object.keys(BAR_CHOICES) as BarChoice[]).filter(choice => options[choice])
  const [first, second] = chosen.map(choice => BAR_CHOICES[choice])
  if (second === undefined) return
  const words = sentence`${parameter(first!)} and ${parameter(second)} exclude each other.`
  throw new InvalidParameter(words, { param: second })
}

/** A ticker's bars with the file that they are from. `bars` reads them when they are needed. */
function withSource(bars: TickerBars, { file, format }: Pick<ReadResult, 'file' | 'format'>): SourcedBars {
  const { ticker, prices, spilled } = bars
  return {
    ticker,
    prices,
    source: file,
    format,
    ...(spilled && { spilled }),
    get bars() {
      return bars.bars
    },
  }
}

/** The error of a write that failed, with the number of the file's tickers that are already loaded. */
function withLoadedCount(
  { words, cause }: NotWritten,
  { file, tickers, of }: Pick<PartlyLoadedFile, 'file' | 'tickers' | 'of'>,
): NotWritten {
  const loaded = `${tickers} of the ${of} tickers of ${file} are loaded`
  return new NotWritten(sentence`${words}; ${loaded}, and the same import again goes on after them`, { cause })
}

/** Replaces the definitions while some tickers are derived with the new ones and others with older ones. */
const HALF_REBUILT = `${DEFINITIONS_VERSION} in part`

/** How many tickers and sectors a killed import left without their fields, since when (ISO time; null: not known). */
export interface Finished {
  tickers: number
  sectors: number
  since: string | null
}

interface Tools {
  open: () => Promise<Store>
  read: ReadFile
  writer: Writer
}

/**
 * The write side: the only importer of a store, from `begin` to `close`. A file is read whole and merged with stored
 * data before anything is written; a refused file changes nothing. Then its tickers are derived and written in groups.
 * If it is stopped, finished tickers stay, and the same import continues later. Fields that use facts are derived
 * after all files; until then the store lists what is pending, and no question is answered from it.
 */
export class Importer {
  #store: Store | null = null
  readonly #tools: Tools
  readonly #run = new Run()
  #leftByKilledImport: Finished | null = null
  #finished: Finished | null = null

  private constructor(tools: Tools) {
    this.#tools = tools
  }

  /**
   * Takes the store's writer lock. Throws Busy naming the holder, or with `wait` waits until it is free.
   * @internal
   */
  static async begin(
    store: Store,
    read: ReadFile,
    writer: Writer,
    { wait = false }: { wait?: boolean } = {},
  ): Promise<Importer> {
    await lockForWriting(store, writer, { wait })
    const importer = new Importer({ open: async () => store, read, writer })
    importer.#store = store
    const { isEmpty, tickers, sectors, since } = await Pending.read(store)
    if (!isEmpty) importer.#leftByKilledImport = { tickers: tickers.size, sectors: sectors.size, since }
    return importer
  }

  /** An importer that creates and locks the store only when there is something to write. @internal */
  static onFirstWrite(open: () => Promise<Store>, read: ReadFile, writer: Writer): Importer {
    return new Importer({ open, read, writer })
  }

  /** Throws NotFound while there is no database. @internal */
  get store(): Store {
    if (this.#store === null) throw new NotFound('nothing was put into the database yet, so that it is not made.')
    return this.#store
  }

  /**
   * Imports file after file, bars and facts alike. A refused file throws, and the files before it stay imported; with
   * `onRefused` the later files are imported as well. A ticker whose bars do not fit the stored ones is not loaded, but
   * reported. A store of other definitions is rebuilt first, so that two versions never mix.
   */
  async *import(inputs: readonly Input[], options: ImportOptions = {}): AsyncGenerator<FileReport> {
    const { checkImportOptions, inputsFromCaller } = await import('./from-caller.js')
    checkImportOptions(options)
    refuseSeveralChoices(options)
    const files = inputsFromCaller(inputs)
    if (this.#store !== null) await this.#openCurrent(options)
    try {
      for (const input of files) {
        const report = await this.#publishAfter(() => this.#importOrRefuse(input, options))
        if (report !== null) yield report
      }
    } finally {
      // Also when the caller stops early or a file is bad: the files before it are loaded.
      if (this.#store !== null) await this.#derivePending(options)
    }
  }

  /**
   * Loads bars without a file: simulated or from a program, as ascending daily series. They are checked like a file's,
   * before anything is loaded. If a ticker does not fit the stored bars, it throws BadData and loads nothing; with
   * `onRefused` it loads the others.
   */
  async put(
    tickers: Iterable<SourcedBars>,
    options: Pick<ImportOptions, BarChoice | 'today' | 'onRefused' | 'onProgress'> = {},
  ): Promise<TickerReport[]> {
    const { checkImportOptions, barsFromCaller } = await import('./from-caller.js')
    checkImportOptions(options)
    refuseSeveralChoices(options)
    const incoming = barsFromCaller(tickers, options.today)
    await this.#openCurrent(options)
    const { reports } = await this.#publishAfter(() =>
      this.#mergeAndWriteBars(incoming, options, async ({ source }, { message, reason }) => {
        const refusal = new BadData({ file: source }, message)
        if (options.onRefused === undefined) throw refusal
        await options.onRefused(refusal, reason)
      }),
    )
    await this.#derivePending(options)
    return reports
  }

  /** Loads facts without a file, checked like a file's. */
  async putFacts(
    facts: readonly TickerFacts[],
    source: Pick<FactSource, 'file' | 'format'>,
    options: Pick<ImportOptions, 'replace' | 'today' | 'onProgress'> = {},
  ): Promise<SheetReport[]> {
    const { checkImportOptions, factsFromCaller, sourceFromCaller } = await import('./from-caller.js')
    checkImportOptions(options)
    const from = sourceFromCaller(source)
    const incoming = factsFromCaller(facts, from, options.today)
    await this.#openCurrent(options)
    const { reports } = await this.#publishAfter(() => this.#mergeAndWriteFacts(incoming, from, options))
    await this.#derivePending(options)
    return reports
  }

  /**
   * Derives everything again from bars and facts, with the current definitions. A partly loaded file counts as
   * finished. Returns the number of tickers.
   * @param cluster derives them instead of this thread
   */
  async rebuild(onProgress?: ImportOptions['onProgress'], cluster?: Cluster): Promise<number> {
    checkFunction('onProgress', onProgress)
    if (this.#store === null) return 0
    const pending = await Pending.read(this.store)
    pending.forgetFiles()
    return this.#rebuild(pending, onProgress, cluster)
  }

  /**
   * Derives and writes all tickers, then the fields that compare the tickers of a sector, which need all of them.
   * Returns the number of tickers.
   */
  async #rebuild(pending: Pending, onProgress: ImportOptions['onProgress'], cluster?: Cluster): Promise<number> {
    const definitions = await this.store.definitions()
    pending.tickers.clear()
    for (const security of (await this.store.securities()).values()) pending.addSectorOf(security)
    const entries = await this.store.tickers()
    const onTicker = progressReporter({ file: '', stage: 'deriving', of: entries.length }, onProgress)
    for await (const { records, isLast } of deriveStored(this.store, entries, onTicker, cluster)) {
      // Until the last ticker is written, the definitions of the store are marked as mixed, or as not derived at all.
      const untilLast = definitions === UNDERIVED ? UNDERIVED : HALF_REBUILT
      const areCurrent = definitions === DEFINITIONS_VERSION || isLast
      await this.store.write({ records, unsettled: pending.keys }, areCurrent ? DEFINITIONS_VERSION : untilLast)
    }
    if (entries.length === 0) await this.store.write({ unsettled: pending.keys }, DEFINITIONS_VERSION)
    await this.#derivePending(onProgress === undefined ? {} : { onProgress })
    return entries.length
  }

  /** Deletes a ticker's bars, events, facts and pulled pages; false if there were none. Throws InvalidParameter. */
  async remove(ticker: string): Promise<boolean> {
    textOf('ticker', ticker)
    if (this.#store === null) return false
    await this.#openCurrent({})
    const pending = await Pending.read(this.store)
    pending.restartStoppedImports()
    pending.addSectorOf(securityOf(await undamagedSheets(this.store, ticker, FACT_KINDS, pending)))
    const removed = await this.store.remove(ticker, pending.keys)
    await this.#derivePending({})
    return removed
  }

  /**
   * Takes out a ticker's bars after a day, and returns how many there were; null where it has no bars at all. Throws
   * InvalidParameter where none would be left.
   */
  async removeAfter(ticker: string, after: Day): Promise<number | null> {
    textOf('ticker', ticker)
    checkDay('after', after)
    if (this.#store === null) return null
    await this.#openCurrent({})
    const entry = await this.store.ticker(ticker)
    if (entry === null) return null
    if (entry.last <= after) return 0
    const { changed, removed, pending } = await cutBars(this.store, entry, after)
    const records = [deriveRecord(changed)]
    await this.store.write({ records, unsettled: pending.keys }, DEFINITIONS_VERSION)
    await this.#derivePending({})
    return removed
  }

  /** Renames a ticker; false if it has no data. Throws InvalidParameter for a used name, or for a pulled ticker. */
  async rename(ticker: string, to: string): Promise<boolean> {
    textOf('ticker', ticker)
    const name = tickerValue('name', textOf('name', to))
    if (this.#store === null) return false
    await this.#openCurrent({})
    const names = await this.store.names()
    if (!names.includes(ticker)) return false
    if (names.includes(name) && !(await hasSameData(this.store, ticker, name))) {
      const what = `there is something of ${name} already; a ticker can only get a name that is free.`
      throw new InvalidParameter(what, { param: 'name', value: name }, { remedy: remedy('status', [name]) })
    }
    if ((await this.store.pages.entries(ticker)).length > 0) {
      const what = `${ticker} was pulled from a server, and keeps the name that it has there.`
      throw new InvalidParameter(what, { param: 'ticker', value: ticker })
    }
    const { records, sheets, pending } = await renamedData(this.store, ticker, name)
    const batch = { removed: [ticker], records: records.map(deriveRecord), sheets, unsettled: pending.keys }
    await this.store.write(batch, DEFINITIONS_VERSION)
    await this.#derivePending({})
    return true
  }

  /** The work of a killed import that this one has finished; null while there is none. */
  get finished(): Finished | null {
    return this.#finished
  }

  /** The entry of a ticker; null without bars. */
  async entry(ticker: string): Promise<TickerEntry | null> {
    return this.#store === null ? null : this.#store.ticker(ticker)
  }

  /** Every ticker with any data: bars, facts, or pages of a server. */
  async tickers(): Promise<string[]> {
    return this.#store === null ? [] : this.store.names()
  }

  /** Ends the run, and unlocks and closes the store. Work that a killed import left is done first. */
  async close(): Promise<void> {
    this.#run.close()
    try {
      if (this.#leftByKilledImport !== null) await this.#finishKilledImport()
      await this.#store?.unlock(this.#tools.writer)
    } catch (error) {
      // On a full disk the writer's row stays. The lock does not, so the next writer can take it.
      if (!(error instanceof NotWritten)) throw error
    } finally {
      await this.#store?.close()
    }
  }

  /** Does some work, and then gives a new database its name, also if the work has failed. */
  async #publishAfter<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      const store = this.#store
      await store?.publish().catch(async error => {
        this.#store = null
        await store.close()
        throw error
      })
    }
  }

  /** Opens the store if it is not open, and rebuilds one of other definitions. */
  async #openCurrent({ onProgress }: ImportOptions): Promise<void> {
    this.#store ??= await this.#tools.open()
    const definitions = await this.store.definitions()
    if (definitions !== '' && definitions !== DEFINITIONS_VERSION)
      await this.#rebuild(await Pending.read(this.store), onProgress)
  }

  /** Imports a file; null for a refused one that `onRefused` handles. Throws BadData without it. */
  async #importOrRefuse(input: Input, options: ImportOptions): Promise<FileReport | null> {
    try {
      return await this.#importFile(input, options)
    } catch (error) {
      if (!(error instanceof BadData && options.onRefused)) throw error
      await options.onRefused(error)
      return null
    }
  }

  /** Reads a file, merges its bars or facts with the stored ones, and writes them. Throws BadData if it is refused. */
  async #importFile(input: Input, options: ImportOptions): Promise<FileReport> {
    const { onProgress } = options
    const { onRefused: _onRefused, replace: _replace, rescale: _rescale, acceptJump: _acceptJump, ...reading } = options
    const result = await this.#tools.read(input, {
      ...reading,
      onProgress: ({ bytes, total, rows }) =>
        onProgress?.({ file: input.name, stage: 'reading', done: bytes, of: total, rows }),
    })
    // If all files are refused, no empty database is left.
    if (this.#store === null) await this.#openCurrent(options)
    if (result.holds === 'facts') {
      const { reports, barless, doubts } = await this.#mergeAndWriteFacts(result.facts, result, options)
      return { ...result, facts: reports, without_bars: barless, doubts }
    }
    const { release, tickers, withoutVolume, ...fileReport } = result
    // Bars that do not fit into memory are in a temporary file until the run is over.
    this.#run.releaseOnClose(release)
    const sourced = tickers.map(ticker => withSource(ticker, fileReport))
    const { reports, refused, oddities, resumedTickers } = await this.#mergeAndWriteBars(sourced, options)
    const warnings = withOddities(fileReport, oddities)
    const remarks = [...fileReport.remarks, ...volumeRemarks(withoutVolume, tickers.length)]
    const resumed = resumedTickers > 0 ? { resumed: resumedTickers } : {}
    return { ...fileReport, tickers: reports, refused, remarks, warnings, ...resumed }
  }

  /**
   * Merges bars with the stored ones, and writes them. `resumedTickers`: how many a stopped import has loaded before.
   * @param onRefused called for each refused ticker before anything is written
   */
  async #mergeAndWriteBars(
    tickers: readonly SourcedBars[],
    { replace = false, rescale, acceptJump, onProgress }: ImportOptions,
    onRefused?: (bars: SourcedBars, refusal: RefusedTicker) => Promise<void>,
  ): Promise<Pick<MergedBars, 'reports' | 'refused' | 'oddities'> & { resumedTickers: number }> {
    for (const incoming of tickers) this.#run.refuseContradiction(incoming)
    let scale: Choices['scale']
    if (rescale) scale = 'rescale'
    else if (acceptJump) scale = 'accept_jump'
    // Identifies a file that a stopped import has loaded in part.
    const contentChecksum = (): string => checksum(contentPieces(tickers, JSON.stringify({ replace, scale })))
    const pending = await Pending.read(this.store)
    const resumedTickers = pending.files.length === 0 ? 0 : pending.loadedTickerCount(contentChecksum())
    const finishedTickers = new Set(tickers.slice(0, resumedTickers).map(({ ticker }) => ticker))
    // Only the run's first file with a ticker replaces its bars; later files add to them. Bars that a stopped import
    // has written are not replaced again.
    const choicesFor = (ticker: string): Choices => {
      const refusedBefore = this.#run.refusedFiles.get(ticker)
      const isFirstFile = replace && this.#run.beginReplacement(`bars ${ticker}`)
      return { replace: isFirstFile && !finishedTickers.has(ticker), scale, refusedBefore }
    }
    const file = tickers[0]?.source ?? ''
    const onTicker = progressReporter({ file, stage: 'merging', of: tickers.length }, onProgress)
    const merged = await this.store.atOneMoment(() => mergeBars(this.store, tickers, choicesFor, onTicker))
    const { reports, refused, oddities } = merged
    const refusals = new Map(refused.map(refusal => [refusal.ticker, refusal]))
    for (const incoming of tickers) {
      const refusal = refusals.get(incoming.ticker)
      if (refusal !== undefined) await onRefused?.(incoming, refusal)
    }
    await this.#writeBars(merged, tickers, contentChecksum, onProgress)
    // Later files of the run must not contradict these bars, nor follow bars that are on another scale.
    for (const incoming of tickers) {
      const reason = refusals.get(incoming.ticker)?.reason
      if (reason === undefined) this.#run.rememberBars(incoming)
      else if (reason === 'split' || reason === 'factor') this.#run.refusedFiles.set(incoming.ticker, incoming.source)
    }
    return { reports, refused, oddities, resumedTickers }
  }

  /** Derives and writes the tickers that bars have changed, in groups. Until the last the store notes how far it is. */
  async #writeBars(
    { changes, replacedPulled, pending }: MergedBars,
    tickers: readonly SourcedBars[],
    contentChecksum: () => string,
    onProgress: ImportOptions['onProgress'],
  ): Promise<void> {
    const [first] = tickers
    if (first === undefined || (changes.length === 0 && pending.files.length === 0)) return
    const of = changes.length
    // The list is emptied, so that written groups can be freed.
    const groups = groupTickers(changes.splice(0), ({ bars }) => bars)
    // Without changes one empty write deletes the mark of a stopped import.
    if (groups.length === 0) groups.push([])
    const partlyLoaded = {
      file: first.source,
      of: tickers.length,
      since: new Date().toISOString(),
      // A file that is written at once cannot be resumed, and needs no checksum.
      content: groups.length > 1 || pending.files.length > 0 ? contentChecksum() : '',
    }
    const indexes = new Map(tickers.map(({ ticker }, i) => [ticker, i]))
    const onTicker = progressReporter({ file: partlyLoaded.file, stage: 'deriving', of }, onProgress)
    // Not inside `atOneMoment`: some tickers are read after others are written.
    const derivedGroups = deriveGroups(groups, change => change.record(), onTicker)
    let loaded = pending.loadedTickerCount(partlyLoaded.content)
    for await (const { group, records, isLast } of derivedGroups) {
      const nowLoaded = isLast ? partlyLoaded.of : indexes.get(group.at(-1)!.ticker)! + 1
      // After the last group this removes the mark of a partly loaded file.
      pending.noteBarsWritten({ ...partlyLoaded, tickers: nowLoaded })
      const names = new Set(group.map(({ ticker }) => ticker))
      const batch = { replacedPulled: replacedPulled.filter(ticker => names.has(ticker)), unsettled: pending.keys }
      await this.store.write({ ...batch, records }, DEFINITIONS_VERSION).catch(error => {
        const isPartlyLoaded = error instanceof NotWritten && loaded > 0
        throw isPartlyLoaded ? withLoadedCount(error, { ...partlyLoaded, tickers: loaded }) : error
      })
      loaded = nowLoaded
    }
  }

  /** Merges facts with the stored ones, and writes them. With `replace`, only a run's first file replaces records. */
  async #mergeAndWriteFacts(
    facts: readonly TickerFacts[],
    { file, format }: Pick<FactSource, 'file' | 'format'>,
    { replace = false }: ImportOptions,
  ): Promise<Pick<MergedFacts, 'reports' | 'barless' | 'doubts'>> {
    const source = { file, format, imported_at: new Date().toISOString() }
    const replaces = (ticker: string, kind: FactKind) => replace && this.#run.beginReplacement(`${kind} ${ticker}`)
    const { reports, barless, doubts, sheets, changedTickers, pending } = await this.store.atOneMoment(() =>
      mergeFactsOfFile(this.store, facts, source, replaces),
    )
    if (sheets.length > 0) {
      const records = changedTickers.map(deriveRecord)
      await this.store.write({ sheets, records, unsettled: pending.keys }, DEFINITIONS_VERSION)
    }
    return { reports, barless, doubts }
  }

  /** Derives what a killed import left. Ignores a BandsError: the own work is done, and the next writer tries again. */
  async #finishKilledImport(): Promise<void> {
    try {
      if ((await this.store.definitions()) === DEFINITIONS_VERSION) await this.#derivePending({})
    } catch (error) {
      if (!(error instanceof BandsError)) throw error
    }
  }

  /** Derives what is pending, one step per transaction. After that, the work of a killed import is finished as well. */
  async #derivePending({ onProgress }: Pick<ImportOptions, 'onProgress'>): Promise<void> {
    const leftByKilledImport = this.#leftByKilledImport
    // If this fails, `close` does not try again.
    this.#leftByKilledImport = null
    const pending = await Pending.read(this.store)
    for await (const { amendments, what, done, of } of pendingSteps(this.store, pending)) {
      onProgress?.({ file: what, stage: 'settling', done, of, rows: 0 })
      await this.store.write({ amendments, unsettled: pending.keys }, DEFINITIONS_VERSION)
    }
    this.#finished ??= leftByKilledImport
  }
}
