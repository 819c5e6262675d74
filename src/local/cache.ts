import { weekly } from '../engine/weekly.js'
import { Busy, NotFound, StorageError } from '../errors.js'
import type { Field } from '../fields/field.js'
import { fieldNamed } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import type { Day } from '../model/day.js'
import { DEFINITIONS_VERSION } from '../model/definitions.js'
import { barsKnownBy, head, type Series } from '../model/series.js'
import type { Tier } from '../model/tier.js'
import type { Timeframe } from '../model/timeframe.js'
import type { Store, TickerEntry } from '../store/store.js'
import { didYouMean, suggest } from '../suggest.js'
import { countedFacts, sectorKey } from './dossier.js'
import { Sectors } from './sectors.js'
import { type View, viewOf } from './view.js'

/** A store as one caller sees it: with a tier, and as it stood on a day. What every local question is asked of. */
export class Cache {
  readonly store: Store
  readonly tier: Tier
  /** null: everything that the bars show */
  readonly asOf: Day | null
  #sound = false

  constructor(store: Store, tier: Tier, asOf: Day | null) {
    this.store = store
    this.tier = tier
    this.asOf = asOf
  }

  /** The day that ranges count back from: the given one, or that of the newest bar in the store. */
  async today(): Promise<Day> {
    return this.asOf ?? (await this.store.newestDay()) ?? 0
  }

  /** One field of one ticker as of the day. Throws NotFound with the nearest tickers. */
  async view(ticker: string, timeframe: Timeframe, field: string): Promise<View> {
    await this.#checkDefinitions()
    const recorded = await this.store.recorded(ticker, timeframe, field)
    if (recorded === null) throw await this.#unknown(ticker)
    if (fieldNamed(field)!.needs === 'sector') await this.#checkSettled(ticker, field)
    return viewOf(recorded, timeframe, field, this.asOf)
  }

  /** What is said of a ticker. Throws NotFound with the nearest tickers. */
  async entry(ticker: string): Promise<TickerEntry> {
    const entry = await this.store.ticker(ticker)
    if (entry === null) throw await this.#unknown(ticker)
    return entry
  }

  /** The bars that were final on the day. Throws NotFound with the nearest tickers. */
  async series(ticker: string, timeframe: Timeframe): Promise<Series> {
    const entry = await this.entry(ticker)
    const series = await this.#whole(entry, timeframe)
    return head(series, barsKnownBy(series, this.asOf ?? entry.last))
  }

  /**
   * What some fields were decided by, over all bars that are kept: whoever asks as of a day looks at its first bars
   * only. Of a part of the bars the basis of older figures could not be told. Throws NotFound.
   * @param sectors what one run reads once; without it, every sector is read anew, as an import may have changed it
   */
  async panel(
    ticker: string,
    timeframe: Timeframe,
    fields: readonly Field[],
    sectors = new Sectors(this.store),
  ): Promise<Panel> {
    const series = await this.#whole(await this.entry(ticker), timeframe)
    if (fields.every(field => field.needs === 'bars')) return new Panel(series)
    const facts = countedFacts(await this.store.sheets(ticker))
    if (facts === null || fields.every(field => field.needs !== 'sector')) return new Panel(series, facts)
    return new Panel(series, facts, await sectors.seenFrom(ticker, timeframe))
  }

  async #whole(entry: TickerEntry, timeframe: Timeframe): Promise<Series> {
    const daily = (await this.store.bars(entry.ticker))!
    return timeframe === 'daily' ? daily : weekly(daily, entry.assetClass ?? undefined)
  }

  async #unknown(ticker: string): Promise<NotFound> {
    const known = (await this.store.tickers()).map(entry => entry.ticker)
    const suggestions = suggest(ticker, known)
    return new NotFound(`no bars for "${ticker}".${didYouMean(suggestions)}`, suggestions)
  }

  /** While an import runs, a ticker may already be new and its sector still be compared as before. */
  async #checkSettled(ticker: string, field: string): Promise<void> {
    const behind = await this.store.unsettled()
    if (behind.length === 0) return
    const sector = sectorKey((await this.store.securities()).get(ticker))
    if (sector === null || !behind.includes(sector)) return
    const when = 'try again when the import is through; if none is running, bands rebuild finishes it'
    throw new Busy(`${field} of ${ticker} waits for the sector ${sector} to be compared anew; ${when}`)
  }

  /** What other definitions derived is never shown as if these had. */
  async #checkDefinitions(): Promise<void> {
    if (this.#sound) return
    const made = await this.store.definitions()
    if (made !== DEFINITIONS_VERSION && made !== '') {
      throw new StorageError(
        `${this.store.location} was derived with definitions ${made}, this bands uses ${DEFINITIONS_VERSION}; run bands rebuild`,
      )
    }
    this.#sound = true
  }
}
