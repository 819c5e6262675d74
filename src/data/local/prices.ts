import { Busy } from '../../core/errors.js'
import { countBelow, countUpTo, type Day, formatDay, isWeekend } from '../../core/model/day.js'
import type { Security } from '../../core/model/facts.js'
import {
  type AssetClass,
  bandsByBar,
  barsKnownBy,
  type FieldRecord,
  firstBars,
  type Series,
  SeriesMemory,
  UNDEFINED,
} from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { BarStates, MarketBars, States, StatesQuery } from '../../core/source.js'
import { entitle, entitleAftermath, planOf } from '../../core/tiers.js'
import { type Cache, seriesIn } from './cache.js'
import type { View } from './view.js'

/** The most series in the cache: a pass over the universe reads each ticker once, and only a few repeatedly. */
const MAX_CACHED = 32

interface ImportedBars {
  prices: MarketBars
  importedAt: string
}

/**
 * Bars and bands for studies: all bars and fields, or the range and fields of a tier, which must show later returns.
 */
export class Prices {
  readonly #cache: Cache
  /** By series, in the order of last use. */
  readonly #bars = new Map<string, Promise<ImportedBars>>()
  readonly #delistings: Delistings

  constructor(cache: Cache) {
    this.#cache = cache
    this.#delistings = new Delistings(cache)
  }

  /** The bars of a series that were final on the day. Throws TierRestricted if the tier shows no later returns. */
  async bars(ticker: string, timeframe: Timeframe): Promise<MarketBars> {
    entitleAftermath(this.#cache.tier)
    return (await this.#barsFromCache(ticker, timeframe, await this.#cache.today())).prices
  }

  /** The bars of each ticker, with bands and events of each field. Throws Busy if an import replaces bars meanwhile. */
  async *states({ tickers, fields, timeframe, lag, copiesBars }: StatesQuery): AsyncGenerator<BarStates> {
    const cache = this.#cache
    for (const field of fields) entitle({ field }, cache.tier, cache.fieldSet)
    entitleAftermath(cache.tier)
    const today = await cache.today()
    const rangeStart = planOf(cache.tier).rangeStart(today)
    // With `copiesBars`, each ticker's bars overwrite those of the ticker before.
    const memory = new SeriesMemory()
    const readBars = (ticker: string): Promise<ImportedBars> =>
      copiesBars ? this.#readBars(ticker, timeframe, today, memory) : this.#barsFromCache(ticker, timeframe, today)
    let tickersRead = 0
    for await (const viewOfField of cache.views({ tickers, timeframe, fields, outcomes: false, lag })) {
      const { prices, importedAt } = await readBars(tickers[tickersRead++]!)
      const states: States[] = []
      for (const field of fields) {
        const view = await viewOfField(field)
        // An import may have replaced the bars between the two reads.
        if (view.importedAt !== importedAt) {
          this.#bars.clear()
          throw new Busy(`${prices.ticker} was imported anew while it was being read; try again`)
        }
        // `days` may have later bars than the view. A range that begins among those has no bar of the view.
        const firstBar = Math.min(countUpTo(view.days, rangeStart), view.bars)
        states.push(statesOf(view, field, firstBar))
      }
      yield { prices, states }
    }
  }

  /** A sentence for each delisting that cannot be used. */
  get remarks(): readonly string[] {
    return this.#delistings.remarks
  }

  /** The bars of a series from the cache, or read. Errors are not cached: another query may succeed. */
  #barsFromCache(ticker: string, timeframe: Timeframe, today: Day): Promise<ImportedBars> {
    const name = `${timeframe} ${ticker} ${today}`
    const cached = this.#bars.get(name) ?? this.#readBars(ticker, timeframe, today)
    this.#bars.delete(name)
    this.#bars.set(name, cached)
    const [oldest] = this.#bars.keys()
    if (this.#bars.size > MAX_CACHED) this.#bars.delete(oldest!)
    cached.catch(() => this.#bars.delete(name))
    return cached
  }

  /** Reads the bars of a series that were final on the day. @param memory for the daily bars (default: new memory) */
  async #readBars(ticker: string, timeframe: Timeframe, today: Day, memory?: SeriesMemory): Promise<ImportedBars> {
    const cache = this.#cache
    const entry = await cache.entry(ticker)
    const cutToKnown = (series: Series): Series => firstBars(series, barsKnownBy(series, today))
    const daily = (await cache.store.bars(ticker, memory))!
    const prices = {
      ticker,
      assetClass: entry.assetClass,
      adjustment: entry.prices,
      series: cutToKnown(await seriesIn(timeframe, daily, entry)),
      barsAYear: barsPerYear(timeframe, cutToKnown(daily), entry.assetClass),
      // Takes all daily bars, and uses only those known today.
      delisting: await this.#delistings.finalPrice(ticker, daily, today),
    }
    return { prices, importedAt: entry.importedAt }
  }
}

/**
 * The bands by bar and the events of a field, as a study reads them. Events before the tier's range are left out; the
 * last of them is `earlier`. @param firstBar the first bar in that range
 */
function statesOf(
  { ticker, timeframe, bands, record, events, days, known, bars: to }: View,
  field: string,
  firstBar: number,
): States {
  const { bars, bands: entered, stability, flips, initialBand } = record ?? NO_EVENTS
  const firstEvent = countBelow(bars, firstBar, events)
  // An event leaves the band that the one before it entered, the first event of all the initial band.
  const left = new Uint8Array(events - firstEvent)
  if (firstEvent > 0) left.set(entered.subarray(firstEvent - 1, events - 1))
  else if (events > 0) {
    left[0] = initialBand
    left.set(entered.subarray(0, events - 1), 1)
  }
  const states = {
    ticker,
    field,
    timeframe,
    bands,
    from: firstBar,
    to,
    left,
    codes: bandsByBar(record ?? NO_EVENTS, to),
    bars: bars.subarray(firstEvent, events),
    entered: entered.subarray(firstEvent, events),
    stability: stability.subarray(firstEvent, events),
    flips: flips.subarray(firstEvent, events),
  }
  if (firstEvent === 0) return states
  const bar = bars[firstEvent - 1]!
  return { ...states, earlier: { band: entered[firstEvent - 1]!, since: days[bar]!, known: known[bar]! } }
}

const NO_BYTES = new Uint8Array()

/** The record of a field without data of the ticker. */
const NO_EVENTS: FieldRecord = {
  initialBar: -1,
  initialBand: UNDEFINED,
  bars: new Int32Array(),
  bands: NO_BYTES,
  gaps: new Int32Array(),
  stability: NO_BYTES,
  flips: NO_BYTES,
}

/** The number of bars in a year: sessions of an exchange, or every day for a ticker that trades at weekends. */
function barsPerYear(timeframe: Timeframe, daily: Series, assetClass: AssetClass | null): number {
  if (timeframe === 'weekly') return 52
  return assetClass === 'crypto' || daily.days.some(isWeekend) ? 365 : 252
}

/** How trading of tickers ended, as known on the cache's day, with remarks on records that cannot be used. */
class Delistings {
  readonly #cache: Cache
  readonly #remarks = new Map<string, string>()
  #securities: Promise<Map<string, Security>> | null = null

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /** A sentence for each ticker whose record is incomplete, or contradicts its bars. */
  get remarks(): readonly string[] {
    return [...this.#remarks.keys()].sort().map(ticker => this.#remarks.get(ticker)!)
  }

  /**
   * The final price of a delisted ticker; null without a complete record that is known. It is the reported price, or
   * the last close times 1 + the delisting return.
   *
   * @param daily all stored bars
   */
  async finalPrice(
    ticker: string,
    daily: Pick<Series, 'days' | 'close'>,
    today: Day,
  ): Promise<MarketBars['delisting']> {
    this.#securities ??= this.#cache.store.securities()
    const { delisted, delisting_price, delisting_return } = (await this.#securities).get(ticker) ?? {}
    if (delisted === undefined || delisted > today) return null
    const doubt = whyDelistingIsWrong(delisted, daily.days.at(-1)!)
    if (doubt !== null) return this.#addRemark(ticker, delisted, doubt)
    if (delisting_price !== undefined) return { day: delisted, price: delisting_price }
    if (delisting_return !== undefined) return { day: delisted, price: daily.close.at(-1)! * (1 + delisting_return) }
    return this.#addRemark(ticker, delisted, 'neither delisting_price nor delisting_return is known')
  }

  /** Adds the remark why a delisting cannot be used; always returns null. */
  #addRemark(ticker: string, delisted: Day, why: string): null {
    this.#remarks.set(
      ticker,
      `${ticker} was delisted on ${formatDay(delisted)}, but ${why}: windows that reach beyond its bars have no return.`,
    )
    return null
  }
}

/** The most days between the last bar and the delisting: a suspension or over-the-counter trading explains no more. */
const MAX_GAP_DAYS = 31

/** Why a delisting cannot be right, given the last bar; null if it can. */
function whyDelistingIsWrong(delisted: Day, last: Day): string | null {
  if (last > delisted) return `it has bars up to ${formatDay(last)}`
  return delisted - last > MAX_GAP_DAYS ? `its bars end with ${formatDay(last)} already` : null
}
