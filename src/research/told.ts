import type { Bands } from '../bands.js'
import { fieldNamed } from '../fields/index.js'
import type { Market, MarketBars, States } from '../market.js'
import { type Day, parseDay } from '../model/day.js'
import type { EventHistory } from '../model/event.js'
import type { Timeframe } from '../model/timeframe.js'
import { placed } from './told/placed.js'
import { ToldRemarks } from './told/remarks.js'

/**
 * Bands and events as anyone tells them (a server, or what was pulled from one) on bars from here. Events are placed on the
 * bars of their dates; a band lasts until the next event, and the band that the first event left reaches back to the
 * begin of the told range, because whoever tells events does not tell bars without a band.
 */
export function toldMarket(events: Bands, prices: Market): Market {
  return new ToldMarket(events, prices)
}

class ToldMarket implements Market {
  readonly #events: Bands
  readonly #prices: Market
  readonly #remarks = new ToldRemarks()
  readonly #states = new Map<string, Promise<States>>()
  /** The earliest day as of which something was told so far. */
  #toldAsOf: Day = Number.POSITIVE_INFINITY

  constructor(events: Bands, prices: Market) {
    this.#events = events
    this.#prices = prices
  }

  bars(ticker: string, timeframe: Timeframe): Promise<MarketBars> {
    return this.#prices.bars(ticker, timeframe)
  }

  states(ticker: string, field: string, timeframe: Timeframe): Promise<States> {
    const name = `${timeframe} ${field} ${ticker}`
    const known = this.#states.get(name)
    if (known !== undefined) return known
    const asked = this.#ask(ticker, field, timeframe)
    this.#states.set(name, asked)
    // A refusal is not kept: another time there may be an answer.
    asked.catch(() => this.#states.delete(name))
    return asked
  }

  /** Those with bars here that events can be asked of, as far as that is told. */
  async tickers(): Promise<readonly string[]> {
    const [told, here] = await Promise.all([this.#events.tickers(), this.#prices.tickers()])
    if (told === null) return here
    const known = new Set(told)
    return here.filter(ticker => known.has(ticker))
  }

  async asOf(): Promise<Day | null> {
    const day = await this.#prices.asOf()
    return day === null ? null : Math.min(day, this.#toldAsOf)
  }

  remarks(): readonly string[] {
    return [...this.#remarks.sentences(), ...this.#prices.remarks()]
  }

  async #ask(ticker: string, field: string, timeframe: Timeframe): Promise<States> {
    const history = await this.#events.history({ ticker, field, timeframe })
    const { series } = await this.#prices.bars(ticker, timeframe)
    const { states, left } = placed(history, series.days, vocabulary(history))
    if (history.as_of !== null) this.#toldAsOf = Math.min(this.#toldAsOf, parseDay(history.as_of)!)
    this.#remarks.heard(history, left)
    return states
  }
}

/** Who tells events may know bands of the field that this version does not. */
function vocabulary({ field, events, present }: EventHistory): string[] {
  const seen = events.flatMap(event => [event.band, event.prev_band])
  return [...new Set([...fieldNamed(field)!.bands, ...seen, ...(present === null ? [] : [present.band])])]
}
