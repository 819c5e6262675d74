import { BadData, Busy } from '../errors.js'
import type { Input } from '../feeds/feed.js'
import { formatDay } from '../model/day.js'
import { DEFINITIONS_VERSION } from '../model/definitions.js'
import type { Adjustment, Series } from '../model/series.js'
import type { Store, TickerEntry, Writer } from '../store/store.js'
import { derived, entryFor, type Kept } from './derive.js'
import type { FileReport, ImportOptions, ReadBars, SourcedBars, TickerReport } from './import-report.js'
import { emptied, firstContradiction, merge } from './merge.js'

/**
 * The write side: the one importer of a store, from `begin` to `close`. Each file is one transaction: read whole, merged
 * with what is there, derived anew, written; or refused, with nothing changed.
 */
export class Importer {
  readonly store: Store
  readonly #read: ReadBars
  readonly #writer: Writer
  /** What this run has taken in, to find files that contradict each other. */
  readonly #taken = new Map<string, { file: string; bars: Series }[]>()

  private constructor(store: Store, read: ReadBars, writer: Writer) {
    this.store = store
    this.#read = read
    this.#writer = writer
  }

  /** Takes the store's one writing place. Throws Busy naming the holder, or with `wait` stays until it is free. */
  static async begin(store: Store, read: ReadBars, writer: Writer, { wait = false } = {}): Promise<Importer> {
    for (;;) {
      try {
        await store.lock(writer)
        break
      } catch (error) {
        if (!(wait && error instanceof Busy)) throw error
        await new Promise(resolve => setTimeout(resolve, 200))
      }
    }
    return new Importer(store, read, writer)
  }

  /**
   * Imports file after file; a refused file throws and leaves those before it imported. A store of other definitions is
   * rebuilt first, so that two never mix.
   */
  async *import(inputs: readonly Input[], options: ImportOptions = {}): AsyncGenerator<FileReport> {
    await this.#refresh(options)
    for (const input of inputs) yield await this.#importFile(input, options)
  }

  /** Takes bars that are no file: simulated ones, or a library caller's, each series ascending and not empty. */
  async put(
    tickers: Iterable<SourcedBars>,
    options: Pick<ImportOptions, 'replace' | 'onProgress'> = {},
  ): Promise<TickerReport[]> {
    await this.#refresh(options)
    return this.#take([...tickers], options)
  }

  /** Derives everything again from the bars, with the definitions of this version. Returns the number of tickers. */
  async rebuild(onProgress?: ImportOptions['onProgress']): Promise<number> {
    const whole: Kept[] = []
    for (const entry of await this.store.tickers()) whole.push({ entry, bars: (await this.store.bars(entry.ticker))! })
    await this.store.write(derived('', whole, onProgress), DEFINITIONS_VERSION)
    return whole.length
  }

  /** False when there is no such ticker. */
  async remove(ticker: string): Promise<boolean> {
    return this.store.remove(ticker)
  }

  async close(): Promise<void> {
    try {
      await this.store.unlock(this.#writer)
    } finally {
      await this.store.close()
    }
  }

  async #refresh({ onProgress }: ImportOptions): Promise<void> {
    const made = await this.store.definitions()
    if (made !== '' && made !== DEFINITIONS_VERSION) await this.rebuild(onProgress)
  }

  async #importFile(input: Input, options: ImportOptions): Promise<FileReport> {
    const { onProgress, replace: _replace, ...reading } = options
    const result = await this.#read(input, {
      ...reading,
      onProgress: ({ bytes, total, rows }) =>
        onProgress?.({ file: input.name, stage: 'reading', done: bytes, of: total, rows }),
    })
    const sourced = result.tickers.map(ticker => ({ ...ticker, source: result.file, format: result.format }))
    return { ...result, tickers: await this.#take(sourced, options) }
  }

  async #take(
    tickers: readonly SourcedBars[],
    { replace = false, onProgress }: ImportOptions,
  ): Promise<TickerReport[]> {
    const reports: TickerReport[] = []
    const changed: Kept[] = []
    for (const incoming of tickers) {
      this.#checkAgainstRun(incoming)
      const { report, series, entry } = await this.#mergeOne(incoming, replace)
      reports.push(report)
      if (report.added + report.replaced > 0) changed.push({ entry: entryFor(incoming, series, entry), bars: series })
    }
    if (changed.length > 0) {
      await this.store.write(derived(changed[0]!.entry.source, changed, onProgress), DEFINITIONS_VERSION)
    }
    for (const { ticker, source, bars } of tickers) {
      this.#taken.set(ticker, [...(this.#taken.get(ticker) ?? []), { file: source, bars }])
    }
    return reports
  }

  async #mergeOne(
    incoming: SourcedBars,
    replace: boolean,
  ): Promise<{ report: TickerReport; series: Series; entry: TickerEntry | null }> {
    const { ticker, prices, bars, source } = incoming
    if (bars.days.length === 0) throw new BadData({ file: source }, `there are no bars of ${ticker} in it`)
    const entry = await this.store.ticker(ticker)
    const present = entry === null || replace ? null : await this.store.bars(ticker)
    if (entry !== null && present !== null && entry.prices !== prices)
      throw mixedPrices(source, ticker, entry.prices, prices)
    const merged = merge(present ?? emptied(bars), bars)
    const { series, rescaled, ...counts } = merged
    const report: TickerReport = { ticker, prices, ...counts, bars: series.days.length, ...range(series) }
    if (rescaled !== null) report.note = rescaledNote(ticker, rescaled, series.days.length - bars.days.length)
    return { report, series, entry: replace ? null : entry }
  }

  #checkAgainstRun({ ticker, bars, source }: SourcedBars): void {
    for (const earlier of this.#taken.get(ticker) ?? []) {
      const day = firstContradiction(earlier.bars, bars)
      if (day === null || earlier.file === source) continue
      throw new BadData(
        { file: source },
        `${ticker} on ${formatDay(day)} is not the same bar as in ${earlier.file}; leave one of the two files out`,
      )
    }
  }
}

function mixedPrices(file: string, ticker: string, kept: Adjustment, given: Adjustment): BadData {
  const what = `${ticker} is kept with ${kept} prices and this file gives ${given} ones; a series is one or the other`
  // Raw prices of a file can always be had; adjusted ones only where it has an adjusted close.
  const raw = kept === 'raw' ? '--prices raw, or ' : ''
  return new BadData({ file }, `${what}: use ${raw}--replace to start ${ticker} again from this file`)
}

function rescaledNote(ticker: string, factor: number, older: number): string {
  const by = factor.toPrecision(6)
  return `${ticker}: every close that was there already changed by the factor ${by}, as after a dividend or split, and ${older} bars outside this file keep the old scale; import the whole history again`
}

function range(series: Series): { first: string; last: string } {
  return { first: formatDay(series.days[0]!), last: formatDay(series.days.at(-1)!) }
}
