import { fieldNamed } from '../fields/index.js'
import { countBelow, countUpTo, type Day, parseDay } from '../model/day.js'
import type { EventHistory, HistoricEvent } from '../model/event.js'
import { STABILITIES, UNDEFINED } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { Bands, Market, MarketBars, States } from '../source.js'

/** What must be said of bands and events that another told, once for all tickers together. */
class ToldRemarks {
  readonly #after = new Set<string>()
  readonly #upTo = new Set<string>()
  readonly #left: LeftOut = { before: 0, after: 0, between: 0 }
  readonly #lacking = new Set<string>()
  #events = 0
  #heard = false
  #unstable = false

  heard({ ticker, after, as_of, events }: EventHistory, left: LeftOut): void {
    this.#heard = true
    this.#events += events.length
    this.#after.add(after ?? '')
    this.#upTo.add(as_of ?? '')
    if (events.some(event => event.stability_at_entry === undefined)) this.#unstable = true
    for (const kind of ['before', 'after', 'between'] as const) {
      this.#left[kind] += left[kind]
      if (left[kind] > 0) this.#lacking.add(ticker)
    }
  }

  sentences(): string[] {
    if (!this.#heard) return []
    return [this.#range(), BETWEEN, ...this.#leftOut(), ...(this.#unstable ? [UNSTABLE] : [])]
  }

  #range(): string {
    const from = least(this.#after)
    const to = most(this.#upTo)
    const after = from === '' ? 'from the first event on' : `after ${from}`
    const until = to === '' ? 'to the last event' : `up to ${to}`
    const differ = this.#after.size > 1 || this.#upTo.size > 1 ? ', at the widest; that differs by ticker or field' : ''
    return `Bands and events are as they were told, of dates ${after} ${until}${differ}; bars are from here.`
  }

  #leftOut(): string[] {
    const { before, after, between } = this.#left
    const left = before + after + between
    if (left === 0) return []
    const names = [...this.#lacking].sort()
    const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
    const where = [
      [before, 'before the first bar'],
      [after, 'after the last'],
      [between, 'between two'],
    ].flatMap(([count, what]) => (count === 0 ? [] : `${count} ${what}`))
    return [
      `${left} of ${this.#events} told events are left out, because there is no bar here on their date (${where.join(', ')}): ${shown}.`,
    ]
  }
}

const BETWEEN =
  'A band is taken to last until the next event, and the one that the first event left to reach back to the begin of that range: bars without a band are not told.'
const UNSTABLE = 'Stability and flips of events are not told to this key.'

/** An empty text, where nobody told, is the widest. */
function least(texts: ReadonlySet<string>): string {
  return [...texts].sort()[0] ?? ''
}

function most(texts: ReadonlySet<string>): string {
  return texts.has('') ? '' : ([...texts].sort().at(-1) ?? '')
}

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

/** Events that have no bar here on their date: dated before the first bar, after the last, or between two. */
interface LeftOut {
  before: number
  after: number
  between: number
}

/**
 * Told events on the bars of their dates. The range that may be asked about is the told one; where its begin is not told
 * it is that of the first event, where its end is not, that of the last.
 *
 * @param days dates of the bars that are here, ascending
 * @param bands the vocabulary, with every band that was told
 */
function placed(history: EventHistory, days: Int32Array, bands: readonly string[]): { states: States; left: LeftOut } {
  const { ticker, field, timeframe, events } = history
  const dates = Int32Array.from(events, event => parseDay(event.date)!)
  const { after, upTo } = rangeOf(history, dates)
  const from = countUpTo(days, after)
  const to = Math.max(from, countUpTo(days, upTo))
  const bars = Int32Array.from(dates, date => barOn(days, date))
  const kept = [...bars.keys()].filter(i => bars[i]! >= from && bars[i]! < to)
  const column = (value: (event: HistoricEvent) => number): Uint8Array => Uint8Array.from(kept, i => value(events[i]!))
  const earlier = bandBefore(history)
  const states: States = {
    ticker,
    field,
    timeframe,
    bands,
    codes: codesOf(history, { days, dates, from, to }, bands, earlier),
    from,
    to,
    bars: Int32Array.from(kept, i => bars[i]!),
    entered: column(({ band }) => bands.indexOf(band)),
    left: column(({ prev_band }) => bands.indexOf(prev_band)),
    stability: column(event => told(event.stability_at_entry, stability => STABILITIES.indexOf(stability))),
    flips: column(event => told(event.flips_recent_at_entry, flips => flips)),
    ...(earlier === null || history.after === null
      ? {}
      : { earlier: { band: bands.indexOf(earlier), since: after + 1 } }),
    upTo,
  }
  return { states, left: leftOut(days, bars, dates) }
}

/** Events lie after the first day and up to the second; nothing at all without events where neither is told. */
function rangeOf({ after, as_of }: EventHistory, dates: Int32Array): { after: Day; upTo: Day } {
  const first = dates[0] ?? Number.POSITIVE_INFINITY
  const last = dates.at(-1) ?? Number.NEGATIVE_INFINITY
  return { after: after === null ? first - 1 : parseDay(after)!, upTo: as_of === null ? last : parseDay(as_of)! }
}

/** The band at the begin of the range: what the first event ended, or without events what is in force throughout. */
function bandBefore({ events, present }: EventHistory): string | null {
  const [first] = events
  if (first !== undefined) return first.prev_band
  return present !== null && present.since === null ? present.band : null
}

/** By date, not by placed event: a change on a date without a bar shows on the next bar. */
function codesOf(
  { events, present }: EventHistory,
  { days, dates, from, to }: { days: Int32Array; dates: Int32Array; from: number; to: number },
  bands: readonly string[],
  earlier: string | null,
): Uint8Array {
  const codes = new Uint8Array(days.length).fill(UNDEFINED)
  if (earlier !== null) codes.fill(bands.indexOf(earlier), from, to)
  const [first] = events
  // Without an event in range, an initial band that began within it is all there is.
  if (first === undefined && present !== null && present.since !== null)
    codes.fill(bands.indexOf(present.band), Math.max(from, countBelow(days, parseDay(present.since)!)), to)
  const starts = Int32Array.from(dates, date => Math.max(from, countBelow(days, date)))
  for (const [i, { band }] of events.entries())
    codes.fill(bands.indexOf(band), starts[i]!, Math.min(to, starts[i + 1] ?? to))
  return codes
}

function barOn(days: Int32Array, date: Day): number {
  const at = countBelow(days, date)
  return days[at] === date ? at : -1
}

function leftOut(days: Int32Array, bars: Int32Array, dates: Int32Array): LeftOut {
  const left: LeftOut = { before: 0, after: 0, between: 0 }
  const first = days[0] ?? Number.POSITIVE_INFINITY
  for (const [i, bar] of bars.entries()) {
    if (bar >= 0) continue
    if (dates[i]! < first) left.before++
    else if (dates[i]! > days.at(-1)!) left.after++
    else left.between++
  }
  return left
}

function told<Value>(value: Value | undefined, code: (value: Value) => number): number {
  return value === undefined ? UNDEFINED : code(value)
}
