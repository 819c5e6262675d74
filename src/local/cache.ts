import { weekly } from '../engine/weekly.js'
import { NotFound, StorageError } from '../errors.js'
import type { Day } from '../model/day.js'
import { DEFINITIONS_VERSION } from '../model/definitions.js'
import { barsKnownBy, head, type Series } from '../model/series.js'
import type { Tier } from '../model/tier.js'
import type { Timeframe } from '../model/timeframe.js'
import type { Store, TickerEntry } from '../store/store.js'
import { didYouMean, suggest } from '../suggest.js'
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
    const daily = (await this.store.bars(ticker))!
    const series = timeframe === 'daily' ? daily : weekly(daily, entry.assetClass ?? undefined)
    return head(series, barsKnownBy(series, this.asOf ?? entry.last))
  }

  async #unknown(ticker: string): Promise<NotFound> {
    const known = (await this.store.tickers()).map(entry => entry.ticker)
    const suggestions = suggest(ticker, known)
    return new NotFound(`no bars for "${ticker}".${didYouMean(suggestions)}`, suggestions)
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
