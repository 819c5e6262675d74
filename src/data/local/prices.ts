import { Busy } from '../../core/errors.js'
import { once } from '../../core/fields/fundamentals.js'
import { isRuled } from '../../core/language/as-field.js'
import { countBelow, countUpTo, type Day, formatDay, isWeekend } from '../../core/model/day.js'
import type { Security } from '../../core/model/facts.js'
import { type AssetClass, bandsByBar, barsKnownBy, head, type Series } from '../../core/model/series.js'
import type { Timeframe } from '../../core/model/terms.js'
import type { BarStates, MarketBars, States, StatesQuery } from '../../core/source.js'
import { entitle, entitleAftermath, planOf } from '../../core/tiers.js'
import type { Cache } from './cache.js'
import { Sectors } from './sectors.js'
import { columnsOf, eventNumbers, type View } from './view.js'

/** The cached data of one ticker and timeframe, by name. */
type Once = ReturnType<typeof once>

/** A pass over the universe reads one ticker after the other, and a few of them repeatedly. */
const MOST_CACHED = 32

/**
 * Bars and bands for studies: all bars and fields, or the range and fields of a tier, which must show later returns.
 */
export class Prices {
  readonly #cache: Cache
  /** By series, in the order of last use. */
  readonly #byName = new Map<string, Once>()
  readonly #sectors: Sectors
  readonly #delistings: Delistings

  constructor(cache: Cache) {
    this.#cache = cache
    this.#sectors = new Sectors(cache.store)
    this.#delistings = new Delistings(cache)
  }

  async bars(ticker: string, timeframe: Timeframe): Promise<MarketBars> {
    entitleAftermath(this.#cache.tier)
    return this.#cached(ticker, timeframe, (cached, today) => this.#prices(cached, ticker, timeframe, today))
  }

  async states(ticker: string, { fields, timeframe, lag }: Omit<StatesQuery, 'tickers'>): Promise<BarStates> {
    for (const field of fields) entitle({ field }, this.#cache.tier, this.#cache.fieldSet)
    entitleAftermath(this.#cache.tier)
    return this.#cached(ticker, timeframe, async (cached, today) => {
      const prices = await this.#prices(cached, ticker, timeframe, today)
      const states: States[] = []
      for (const name of fields)
        states.push(await cached(`states ${name} ${lag}`, () => this.#readStates(cached, prices, { name, lag, today })))
      return { prices, states }
    })
  }

  get remarks(): readonly string[] {
    return this.#delistings.remarks
  }

  /**
   * Errors are not cached: another query may succeed. The day is read once per ticker, because finding it takes a read.
   */
  async #cached<Found>(
    ticker: string,
    timeframe: Timeframe,
    read: (cached: Once, today: Day) => Promise<Found>,
  ): Promise<Found> {
    const today = await this.#cache.today()
    const name = `${timeframe} ${ticker} ${today}`
    const cached = this.#byName.get(name) ?? once()
    this.#byName.delete(name)
    this.#byName.set(name, cached)
    const [oldest] = this.#byName.keys()
    if (this.#byName.size > MOST_CACHED) this.#byName.delete(oldest!)
    try {
      return await read(cached, today)
    } catch (error) {
      this.#byName.delete(name)
      throw error
    }
  }

  #prices(once: Once, ticker: string, timeframe: Timeframe, today: Day): Promise<MarketBars> {
    return once('prices', async () => {
      const cache = this.#cache
      const entry = await cache.entry(ticker)
      const cutToKnown = (series: Series): Series => head(series, barsKnownBy(series, today))
      const daily = await cache.storedSeries(entry, 'daily')
      return {
        ticker,
        assetClass: entry.assetClass,
        adjustment: entry.prices,
        series: cutToKnown(timeframe === 'daily' ? daily : await cache.storedSeries(entry, timeframe)),
        barsAYear: barsAYear(timeframe, cutToKnown(daily), entry.assetClass),
        // Cut to the known bars there.
        delisting: await this.#delistings.of(ticker, daily, today),
      }
    })
  }

  async #readStates(
    cached: Once,
    { ticker, series }: MarketBars,
    { name, lag, today }: { name: string; lag?: number | undefined; today: Day },
  ): Promise<States> {
    const { timeframe } = series
    const field = this.#cache.field(name)
    const view = await this.#cache.view(ticker, timeframe, name, lag)
    const codes = isRuled(field)
      ? bandsByBar(view.record!, view.days.length)
      : field.classify(
          await cached(`panel ${field.needs}`, () => this.#cache.panel(ticker, timeframe, [field], this.#sectors)),
        )
    // An import may have begun between the two.
    if (field.needs !== 'bars') {
      const unsettled = await this.#cache.store.unsettled()
      await this.#cache.checkSettled({ entry: { ticker }, unsettled }, name)
    }
    if (view.bars !== series.days.length || view.days.length !== codes.length)
      throw new Busy(`${ticker} was imported anew while it was being read; try again`)
    const from = countUpTo(view.days, planOf(this.#cache.tier).rangeStart(today))
    return statesOf(view, name, codes.subarray(0, view.bars), Math.min(from, view.bars))
  }
}

/** Bands by bar together with the recorded events; bands before `from` are those of the last earlier event. */
function statesOf(view: View, field: string, codes: Uint8Array, from: number): States {
  const { ticker, timeframe, record, events, days, known, bars: to } = view
  const first = record === null ? 0 : countBelow(record.bars, from, events)
  const found = eventNumbers(view, first)
  const { bands, entered, left, stability, flips } = columnsOf(view, found)
  const bars = Int32Array.from(found, i => record!.bars[i]!)
  const states = { ticker, field, timeframe, bands, codes, from, to, bars, entered, left, stability, flips }
  if (first === 0) return states
  const entry = record!.bars[first - 1]!
  return { ...states, earlier: { band: record!.bands[first - 1]!, since: days[entry]!, known: known[entry]! } }
}

/** Sessions of an exchange in a year; of a ticker that trades at weekends every day. */
function barsAYear(timeframe: Timeframe, daily: Series, assetClass: AssetClass | null): number {
  if (timeframe === 'weekly') return 52
  return assetClass === 'crypto' || daily.days.some(isWeekend) ? 365 : 252
}

/** How trading of tickers ended, as far as the cache's day knows, and what of it could not be used. */
class Delistings {
  readonly #cache: Cache
  readonly #remarks = new Map<string, string>()
  #securities: Promise<Map<string, Security>> | null = null

  constructor(cache: Cache) {
    this.#cache = cache
  }

  /** A sentence for each ticker whose record says too little, or not the same as its bars. */
  get remarks(): readonly string[] {
    return [...this.#remarks.keys()].sort().map(ticker => this.#remarks.get(ticker)!)
  }

  /**
   * The final price of a delisted ticker; null without a complete record that is known. It is the reported price, or
   * the last close times 1 + the delisting return.
   *
   * @param daily all stored bars
   */
  async of(ticker: string, daily: Pick<Series, 'days' | 'close'>, today: Day): Promise<MarketBars['delisting']> {
    this.#securities ??= this.#cache.store.securities()
    const { delisted, delisting_price, delisting_return } = (await this.#securities).get(ticker) ?? {}
    if (delisted === undefined || delisted > today) return null
    const doubt = doubtOf(delisted, daily.days.at(-1)!)
    if (doubt !== null) return this.#refused(ticker, delisted, doubt)
    if (delisting_price !== undefined) return { day: delisted, price: delisting_price }
    if (delisting_return !== undefined) return { day: delisted, price: daily.close.at(-1)! * (1 + delisting_return) }
    return this.#refused(ticker, delisted, 'neither delisting_price nor delisting_return is known')
  }

  #refused(ticker: string, delisted: Day, why: string): null {
    this.#remarks.set(
      ticker,
      `${ticker} was delisted on ${formatDay(delisted)}, but ${why}: windows that reach beyond its bars have no return.`,
    )
    return null
  }
}

/** Days between the last bar and the end of trading that a suspension or an over-the-counter spell explains. */
const LONGEST_GAP = 31

function doubtOf(delisted: Day, last: Day): string | null {
  if (last > delisted) return `it has bars up to ${formatDay(last)}`
  return delisted - last > LONGEST_GAP ? `its bars end with ${formatDay(last)} already` : null
}
