import type { MarketBars } from '../market.js'
import { type Day, formatDay } from '../model/day.js'
import type { Security } from '../model/facts.js'
import type { Series } from '../model/series.js'
import type { Cache } from './cache.js'

/** How trading of tickers ended, as far as the cache's day knows, and what of it could not be used. */
export class Delistings {
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
   * The last word on a ticker's price; null without a record that is known and complete. The final price is the one that
   * is told, or the last close times 1 + the delisting return.
   *
   * @param daily all bars that are kept
   */
  async of(ticker: string, daily: Pick<Series, 'days' | 'close'>): Promise<MarketBars['delisting']> {
    this.#securities ??= this.#cache.store.securities()
    const { delisted, delisting_price, delisting_return } = (await this.#securities).get(ticker) ?? {}
    if (delisted === undefined || delisted > (await this.#cache.today())) return null
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
