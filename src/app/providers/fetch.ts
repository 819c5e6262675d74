import { BadData } from '../../core/errors.js'
import { type Day, formatDay, isWeekend, parseDay } from '../../core/model/day.js'
import type { TickerBars } from '../../data/feeds/feed.js'
import type { Importer } from '../../data/load/import.js'
import type { RefusedTicker, TickerReport } from '../../data/load/report.js'
import { exportEvents } from '../../data/local/export.js'
import { Local } from '../../data/local/local.js'
import { type Answered, addBody, emptyAnswer, joinedBars } from './answers.js'
import { secondsFor } from './pace.js'
import { fetchedFrom, type Provider, sourceOf } from './provider.js'
import { type Call, lastFinal, type Vendor } from './vendor.js'

/** A request to one vendor. */
export interface FetchRequest {
  tickers: readonly string[]
  /** Only bars after this day (default: the whole history). */
  after?: Day | undefined
  /** Start each ticker again, also a stored one. */
  replace?: boolean
}

/** What became of a ticker. */
export interface FetchedTicker {
  ticker: string
  provider: string
  /**
   * `loaded`: new, or brought up to date. `reloaded`: the whole history once more, after a split or dividend. `current`:
   * nothing new can have come. `unknown`: the vendor does not know it. `refused`: its bars do not fit the stored ones, or
   * cannot be read.
   */
  outcome: 'loaded' | 'reloaded' | 'current' | 'unknown' | 'refused'
  added: number
  bars: number | null
  first: string | null
  last: string | null
  /** Past events that differ, if the whole history came again. */
  events_changed: number | null
  note: string | null
}

/** The calls of a fetch or an update, before the first one. */
export interface FetchPlan {
  provider: string
  tickers: number
  /** Tickers that are up to date. */
  done: number
  /** At least: an answer may have more pages. */
  calls: number
  /** At the vendor's pace. */
  seconds: number
  from: string
  to: string
}

/** How far the work is: tickers done, of all, and calls made. */
export interface FetchProgress {
  done: number
  of: number
  ticker: string
  calls: number
}

export interface FetchHooks {
  /** Called often; it may throw to end the work between two tickers. */
  step(progress: FetchProgress): void
}

/** A part of the work: calls of the same tickers, and how their bars are stored. */
interface Part {
  tickers: readonly string[]
  from: Day
  source: string
  replace: boolean
}

/** What became of the bars of a ticker. */
type Put = { report: TickerReport } | { reason: RefusedTicker['reason'] | undefined; message: string }

/**
 * Tickers that are put in one transaction. More would be written in several where their histories are long, and a kill
 * would leave a part of them to be finished.
 */
const TOGETHER = 25

/** Days before the last stored bar that an update asks again, so that a split or dividend shows. */
const OVERLAP = 10

/** Fetches from one vendor into a database, ticker by ticker: each is whole, or not there. */
export class Fetching {
  readonly #importer: Importer
  readonly #vendor: Vendor
  readonly #request: FetchRequest
  /** An update asks from the last stored bar on, and the whole history where that does not fit. */
  readonly #isUpdate: boolean
  #parts: Part[] = []
  #current: string[] = []

  constructor(importer: Importer, vendor: Vendor, request: FetchRequest, { update = false } = {}) {
    this.#importer = importer
    this.#vendor = vendor
    this.#request = request
    this.#isUpdate = update
  }

  /** The plan costs no call. */
  async plan(): Promise<FetchPlan> {
    const { provider, lastFinal: to } = this.#vendor
    const open: { ticker: string; from: Day; source: string }[] = []
    for (const typed of this.#request.tickers) {
      const ticker = await this.#nameOf(typed)
      const one = await this.#beginOf(ticker)
      if (one === null) this.#current.push(ticker)
      else open.push({ ticker, ...one })
    }
    this.#parts = partsOf(provider, open, this.#request.replace ?? false)
    // Days are chosen where they take fewer calls than the tickers do.
    const calls = this.#isByDay
      ? this.#days.length
      : this.#parts.reduce((sum, part) => sum + callsOf(provider, part, to), 0)
    const froms = this.#parts.map(({ from }) => from)
    return {
      provider: provider.name,
      tickers: this.#request.tickers.length,
      done: this.#current.length,
      calls,
      seconds: secondsFor(calls, provider.pace),
      from: formatDay(Math.min(to, ...froms)),
      to: formatDay(to),
    }
  }

  /** After `plan`. Errors of the vendor end the work; what a ticker lacks is said of it, and the others go on. */
  async *run({ step }: FetchHooks): AsyncGenerator<FetchedTicker> {
    const { name } = this.#vendor.provider
    let done = 0
    const progress = (ticker: string): void =>
      step({ done, of: this.#request.tickers.length, ticker, calls: this.#vendor.calls })
    for (const ticker of this.#current) yield { ...nothingOf(ticker, name), outcome: 'current' }
    done = this.#current.length
    if (this.#isByDay) {
      const { part, answer } = await this.#marketAnswer(progress)
      yield* this.#storeAll(part, answer, progress)
      return
    }
    for (const part of this.#parts) {
      progress(part.tickers[0]!)
      for await (const one of this.#fetchPart(part, progress)) {
        yield one
        done++
      }
    }
  }

  async *#fetchPart(part: Part, progress: (ticker: string) => void): AsyncGenerator<FetchedTicker> {
    const answer = await this.#answers(part)
    if (!(answer instanceof BadData)) yield* this.#storeAll(part, answer, progress)
    else if (part.tickers.length === 1) yield refused(part.tickers[0]!, this.#vendor.provider.name, answer.message)
    // One bad row must not cost the other tickers of the call.
    else for (const ticker of part.tickers) yield* this.#fetchPart({ ...part, tickers: [ticker] }, progress)
  }

  async *#storeAll(part: Part, answer: Answered, progress: (ticker: string) => void): AsyncGenerator<FetchedTicker> {
    for (let at = 0; at < part.tickers.length; at += TOGETHER) {
      const tickers = part.tickers.slice(at, at + TOGETHER)
      progress(tickers[0]!)
      const wanted = new Set(tickers)
      const own = answer.bars.filter(({ ticker }) => wanted.has(ticker))
      const puts = await this.#put(own, part, answer.format)
      for (const ticker of tickers) yield await this.#store(ticker, part, answer, puts.get(ticker))
    }
  }

  /** `BRK.B` for BRK-B, unless BRK-B is stored: they are one ticker. */
  async #nameOf(ticker: string): Promise<string> {
    const dotted = ticker.replace(/-(?=[A-Z]{1,2}$)/, '.')
    if (dotted === ticker || this.#vendor.provider.class_mark === undefined) return ticker
    return (await this.#importer.entry(ticker)) === null ? dotted : ticker
  }

  /** From when a ticker is asked; null where nothing new can have come. */
  async #beginOf(ticker: string): Promise<{ from: Day; source: string } | null> {
    const { provider, lastFinal: until } = this.#vendor
    const { after, replace = false } = this.#request
    const entry = await this.#importer.entry(ticker)
    const stored = entry && fetchedFrom(entry.source)
    const asked = this.#isUpdate ? stored?.after : after
    const source = sourceOf(provider.name, asked)
    const first = asked === undefined ? parseDay(provider.first)! : asked + 1
    if (entry === null || replace) return { from: first, source }
    if (entry.source === source && lastFinal(provider, Date.parse(entry.importedAt)) >= until) return null
    return { from: this.#isUpdate ? Math.max(first, entry.last - OVERLAP) : first, source }
  }

  async #answers(part: Part): Promise<Answered | BadData> {
    const { provider, lastFinal: to } = this.#vendor
    const found = emptyAnswer()
    try {
      for (const call of windows(provider, part, to))
        for await (const body of this.#vendor.bodies(call)) await addBody(found, this.#vendor, call.tickers, body)
      // A wait for the pace may have passed the hour at which a day becomes final.
      if (this.#vendor.lastFinal !== to) return await this.#answers(part)
      return { ...found, bars: joinedBars(found.bars, to) }
    } catch (error) {
      if (error instanceof BadData) return error
      throw error
    }
  }

  /** Whether the days that are missing take fewer calls than the tickers do. */
  get #isByDay(): boolean {
    return this.#isUpdate && this.#vendor.provider.market !== undefined && this.#days.length < this.#parts.length
  }

  /** Working days of an update. */
  get #days(): Day[] {
    const from = Math.min(...this.#parts.map(part => part.from))
    const { lastFinal: to } = this.#vendor
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i).filter(day => !isWeekend(day))
  }

  async #marketAnswer(progress: (ticker: string) => void): Promise<{ part: Part; answer: Answered }> {
    const tickers = this.#parts.flatMap(part => part.tickers)
    const answer = emptyAnswer()
    for (const day of this.#days) {
      progress(formatDay(day))
      for await (const body of this.#vendor.marketBodies(formatDay(day)))
        await addBody(answer, this.#vendor, tickers, body)
    }
    const bars = joinedBars(answer.bars, this.#vendor.lastFinal)
    return { part: { ...this.#parts[0]!, tickers }, answer: { ...answer, bars } }
  }

  /** What becomes of a ticker. @param put what became of its bars; undefined where it has none */
  async #store(ticker: string, part: Part, answer: Answered, put: Put | undefined): Promise<FetchedTicker> {
    const { name, holds } = this.#vendor.provider
    if (holds === 'facts') return this.#storeFacts(ticker, answer)
    if (put === undefined)
      return this.#isUpdate ? { ...nothingOf(ticker, name), outcome: 'current' } : nothingOf(ticker, name)
    if ('report' in put) return loaded(put.report, name, 'loaded')
    const stored = fetchedFrom((await this.#importer.entry(ticker))?.source ?? '')
    const isRescaled = (put.reason === 'split' || put.reason === 'factor') && stored?.provider === name
    if (!isRescaled) return refused(ticker, name, put.message)
    return this.#reload(ticker, part.source, this.#isUpdate ? null : answer)
  }

  /** The whole history in the place of the stored one, as after a split or dividend. @param answer if it is there */
  async #reload(ticker: string, source: string, there: Answered | null): Promise<FetchedTicker> {
    const { provider } = this.#vendor
    const { after } = fetchedFrom(source)!
    const from = after === undefined ? parseDay(provider.first)! : after + 1
    const part = { tickers: [ticker], source, replace: true, from }
    const answer = there ?? (await this.#answers(part))
    if (answer instanceof BadData) return refused(ticker, provider.name, answer.message)
    const bars = answer.bars.find(one => one.ticker === ticker)
    if (bars === undefined) return nothingOf(ticker, provider.name)
    const before = await this.#events(ticker)
    const put = (await this.#put([bars], part, answer.format)).get(ticker)!
    if (!('report' in put)) return refused(ticker, provider.name, put.message)
    const now = await this.#events(ticker)
    const changed = [...before].filter(event => !now.has(event)).length
    return { ...loaded(put.report, provider.name, 'reloaded'), events_changed: changed }
  }

  /** Puts the bars of some tickers, each whole or not at all. */
  async #put(
    tickers: readonly TickerBars[],
    { source, replace }: Pick<Part, 'source' | 'replace'>,
    format: string,
  ): Promise<Map<string, Put>> {
    if (tickers.length === 0) return new Map()
    const refusals: Put[] = []
    const sourced = tickers.map(({ ticker, bars, prices }) => ({ ticker, bars, prices, source, format }))
    const reports = await this.#importer.put(sourced, {
      replace,
      today: this.#vendor.today,
      onRefused: ({ message }, reason) => void refusals.push({ reason, message: message.slice(source.length + 2) }),
    })
    const found = new Map<string, Put>(reports.map(report => [report.ticker, { report }]))
    // Refusals come in the order of the tickers.
    const others = tickers.filter(({ ticker }) => !found.has(ticker))
    for (const [i, { ticker }] of others.entries()) found.set(ticker, refusals[i]!)
    return found
  }

  async #storeFacts(ticker: string, { facts, format }: Answered): Promise<FetchedTicker> {
    const { name } = this.#vendor.provider
    const own = facts.filter(one => one.ticker === ticker)
    if (own.length === 0) return nothingOf(ticker, name)
    const source = { file: sourceOf(name, undefined), format }
    const sheets = await this.#importer.putFacts(own, source, { today: this.#vendor.today })
    const dates = sheets.flatMap(({ first, last }) => [first ?? [], last ?? []].flat()).sort()
    const isSame = sheets.every(sheet => sheet.added + sheet.replaced === 0)
    return {
      ...nothingOf(ticker, name),
      outcome: this.#isUpdate && isSame ? 'current' : 'loaded',
      added: sheets.reduce((sum, sheet) => sum + sheet.added, 0),
      bars: null,
      first: dates[0] ?? null,
      last: dates.at(-1) ?? null,
      note: sheets.map(({ kind, records }) => `${records} ${kind}`).join(', '),
    }
  }

  /** The events of a ticker by field, timeframe, date and band. */
  async #events(ticker: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    const local = new Local(this.#importer.store, null, null)
    for await (const { field, timeframe, date, band } of exportEvents(local, { tickers: [ticker] }))
      found.add(`${field} ${timeframe} ${date} ${band}`)
    return found
  }
}

/** Tickers that may be asked in one call, with the earliest day of them. */
function partsOf(
  { symbols }: Provider,
  open: readonly { ticker: string; from: Day; source: string }[],
  replace: boolean,
): Part[] {
  const bySource = Map.groupBy(open, ({ source }) => source)
  return [...bySource].flatMap(([source, own]) => {
    const inOrder = own.toSorted((a, b) => a.from - b.from)
    return Array.from({ length: Math.ceil(own.length / symbols) }, (_, i) => {
      const some = inOrder.slice(i * symbols, (i + 1) * symbols)
      return { source, replace, tickers: some.map(({ ticker }) => ticker), from: some[0]!.from }
    })
  })
}

/** One call for all days, or one for each window of days. */
function windows({ days = Number.POSITIVE_INFINITY }: Provider, { tickers, from }: Part, to: Day): Call[] {
  const calls: Call[] = []
  for (let at = from; at <= to; at += days)
    calls.push({ tickers, from: formatDay(at), to: formatDay(Math.min(to, at + days - 1)) })
  return calls
}

/** Calls, with the pages that bars of working days fill. */
function callsOf(provider: Provider, part: Part, to: Day): number {
  const { bars = Number.POSITIVE_INFINITY } = provider
  const days = (Math.max(0, to - part.from + 1) * 5) / 7
  return Math.max(windows(provider, part, to).length, Math.ceil((days * part.tickers.length) / bars))
}

function nothingOf(ticker: string, provider: string): FetchedTicker {
  return {
    ticker,
    provider,
    outcome: 'unknown',
    added: 0,
    bars: null,
    first: null,
    last: null,
    events_changed: null,
    note: null,
  }
}

function refused(ticker: string, provider: string, note: string): FetchedTicker {
  return { ...nothingOf(ticker, provider), outcome: 'refused', note }
}

function loaded(
  { ticker, added, bars, first, last, note }: TickerReport,
  provider: string,
  outcome: 'loaded' | 'reloaded',
): FetchedTicker {
  return { ...nothingOf(ticker, provider), outcome, added, bars, first, last, note: note ?? null }
}
