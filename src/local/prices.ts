import { Busy } from '../errors.js'
import type { Field } from '../fields/field.js'
import { fieldNamed } from '../fields/index.js'
import type { Panel } from '../fields/panel.js'
import { countBelow, countUpTo, type Day, formatDay, weekdayOf } from '../model/day.js'
import type { Security } from '../model/facts.js'
import { type AssetClass, barsKnownBy, head, type Series } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { BarStates, MarketBars, States } from '../source.js'
import { entitle, entitleAftermath, PLANS } from '../tiers.js'
import type { Cache } from './cache.js'
import { Sectors } from './sectors.js'
import type { View } from './view.js'

/** What is kept of one ticker at one timeframe while it is asked about. */
interface Kept {
  prices: Promise<MarketBars>
  panels: Map<Field['needs'], Promise<Panel>>
  states: Map<string, Promise<States>>
}

/** Whoever goes through a universe asks for one ticker after the other, and for a few again and again. */
const MOST_KEPT = 32

/**
 * Bars, and bands on them, for studies: whole and with every field, or (`emulate`) the range and the fields of the
 * tier, which must be one that shows what followed.
 */
export class Prices {
  readonly #cache: Cache
  readonly #emulate: boolean
  readonly #kept = new Map<string, Kept>()
  readonly #sectors: Sectors
  readonly #delistings: Delistings

  constructor(cache: Cache, emulate: boolean) {
    this.#cache = cache
    this.#emulate = emulate
    this.#sectors = new Sectors(cache.store)
    this.#delistings = new Delistings(cache)
  }

  async bars(ticker: string, timeframe: Timeframe): Promise<MarketBars> {
    if (this.#emulate) entitleAftermath(this.#cache.tier)
    return this.#of(ticker, timeframe).prices
  }

  async states(ticker: string, fields: readonly string[], timeframe: Timeframe): Promise<BarStates> {
    if (this.#emulate) {
      for (const field of fields) entitle({ field }, this.#cache.tier)
      entitleAftermath(this.#cache.tier)
    }
    const kept = this.#of(ticker, timeframe)
    const states: States[] = []
    for (const field of fields)
      states.push(await keptIn(kept.states, field, () => this.#readStates(kept, ticker, fieldNamed(field)!, timeframe)))
    return { prices: await kept.prices, states }
  }

  get remarks(): readonly string[] {
    return this.#delistings.remarks
  }

  #of(ticker: string, timeframe: Timeframe): Kept {
    const name = `${timeframe} ${ticker}`
    const kept = this.#kept.get(name) ?? {
      prices: this.#prices(ticker, timeframe),
      panels: new Map(),
      states: new Map(),
    }
    // A refusal is not kept: another question may be answered.
    kept.prices.catch(() => this.#kept.delete(name))
    // Last in the map is asked for last.
    this.#kept.delete(name)
    this.#kept.set(name, kept)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT) this.#kept.delete(oldest!)
    return kept
  }

  async #prices(ticker: string, timeframe: Timeframe): Promise<MarketBars> {
    const cache = this.#cache
    const entry = await cache.entry(ticker)
    const { series: daily } = await cache.panel(ticker, 'daily', [])
    const whole = timeframe === 'daily' ? daily : (await cache.panel(ticker, timeframe, [])).series
    return {
      ticker,
      assetClass: entry.assetClass,
      adjustment: entry.prices,
      series: head(whole, barsKnownBy(whole, cache.asOf ?? entry.last)),
      barsAYear: barsAYear(timeframe, head(daily, barsKnownBy(daily, cache.asOf ?? entry.last)), entry.assetClass),
      delisting: await this.#delistings.of(ticker, daily),
    }
  }

  async #readStates(kept: Kept, ticker: string, field: Field, timeframe: Timeframe): Promise<States> {
    const view = await this.#cache.view(ticker, timeframe, field.name)
    const panel = await keptIn(kept.panels, field.needs, () =>
      this.#cache.panel(ticker, timeframe, [field], this.#sectors),
    )
    const { series } = await kept.prices
    if (view.bars !== series.days.length || view.days.length !== panel.series.days.length)
      throw new Busy(`${ticker} was imported anew while it was being read; try again`)
    const rangeStart = this.#emulate ? PLANS[this.#cache.tier].rangeStart(await this.#cache.today()) : null
    const from = rangeStart === null ? 0 : countUpTo(view.days, rangeStart)
    return statesOf(view, field, field.classify(panel).subarray(0, view.bars), Math.min(from, view.bars))
  }
}

/** Bands by bar beside the events that are recorded; those before `from` are left at the last of them. */
function statesOf(view: View, field: Field, codes: Uint8Array, from: number): States {
  const { ticker, timeframe, record, events, days, bars: to } = view
  const states = { ticker, field: field.name, timeframe, bands: field.bands, codes, from, to }
  const none = new Uint8Array()
  if (record === null)
    return { ...states, bars: new Int32Array(), entered: none, left: none, stability: none, flips: none }
  const first = countBelow(record.bars, from, events)
  const left = Uint8Array.from(record.bands.subarray(first, events), (_, i) =>
    first + i === 0 ? record.initialBand : record.bands[first + i - 1]!,
  )
  return {
    ...states,
    bars: record.bars.subarray(first, events),
    entered: record.bands.subarray(first, events),
    left,
    stability: record.stability.subarray(first, events),
    flips: record.flips.subarray(first, events),
    ...(first === 0 ? {} : { earlier: { band: record.bands[first - 1]!, since: days[record.bars[first - 1]!]! } }),
  }
}

/** Sessions of an exchange in a year; of a ticker that trades at weekends every day. */
function barsAYear(timeframe: Timeframe, daily: Series, assetClass: AssetClass | null): number {
  if (timeframe === 'weekly') return 52
  return assetClass === 'crypto' || daily.days.some(day => weekdayOf(day) > FRIDAY) ? 365 : 252
}

const FRIDAY = 4

/** What a map has under a name, asked for once; a refusal is not kept. */
function keptIn<Name, Value>(kept: Map<Name, Promise<Value>>, name: Name, ask: () => Promise<Value>): Promise<Value> {
  const known = kept.get(name)
  if (known !== undefined) return known
  const asked = ask()
  kept.set(name, asked)
  asked.catch(() => kept.delete(name))
  return asked
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
