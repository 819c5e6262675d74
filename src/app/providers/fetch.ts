import { BadData } from '../../core/errors.js'
import { type Day, formatDay, isWeekend, parseDay } from '../../core/model/day.js'
import type { TickerBars } from '../../data/feeds/feed.js'
import type { Importer } from '../../data/load/import.js'
import type { RefusedTicker, TickerReport } from '../../data/load/report.js'
import { exportEvents } from '../../data/local/export.js'
import { Local } from '../../data/local/local.js'
import { addBody, emptyAnswer, joinPages, type VendorAnswer } from './answers.js'
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

/** The result of a fetch for one ticker. */
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

/** The calls that a fetch or an update will need. */
export interface FetchPlan {
  provider: string
  tickers: number
  /** Tickers that are up to date. */
  done: number
  /** The least number: an answer may have more pages. */
  calls: number
  /** At the vendor's pace. */
  seconds: number
  from: string
  to: string
}

/** The progress of a fetch: finished tickers, all tickers, and calls made. */
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

/** Tickers that share calls, the first day to ask for, and how their bars are stored. */
interface TickerGroup {
  tickers: readonly string[]
  from: Day
  source: string
  replace: boolean
}

/** The report of a ticker whose bars were stored, or why they were refused. */
type PutOutcome = { report: TickerReport } | { reason: RefusedTicker['reason'] | undefined; message: string }

/** More tickers with long histories would take several transactions, and a kill would leave some of them unfinished. */
const TICKERS_PER_TRANSACTION = 25

/** An update starts this many days before the last stored bar: differing prices then show a split or dividend. */
const OVERLAP_DAYS = 10

/** Fetches from one vendor into a database, ticker by ticker: each is whole, or not there. */
export class Fetching {
  readonly #importer: Importer
  readonly #vendor: Vendor
  readonly #request: FetchRequest
  /** An update asks from the last stored bar on, and the whole history where that does not fit. */
  readonly #isUpdate: boolean
  #groups: TickerGroup[] = []
  #upToDate: string[] = []

  constructor(importer: Importer, vendor: Vendor, request: FetchRequest, { update = false } = {}) {
    this.#importer = importer
    this.#vendor = vendor
    this.#request = request
    this.#isUpdate = update
  }

  /** Plans the calls, without making one. */
  async plan(): Promise<FetchPlan> {
    const { provider, lastFinal: to } = this.#vendor
    const open: { ticker: string; from: Day; source: string }[] = []
    for (const typed of this.#request.tickers) {
      const ticker = await this.#canonicalName(typed)
      const one = await this.#fetchStart(ticker)
      if (one === null) this.#upToDate.push(ticker)
      else open.push({ ticker, ...one })
    }
    this.#groups = groupTickers(provider, open, this.#request.replace ?? false)
    // Days are chosen where they take fewer calls than the tickers do.
    const calls = this.#isByDay
      ? this.#days.length
      : this.#groups.reduce((sum, part) => sum + countCalls(provider, part, to), 0)
    const froms = this.#groups.map(({ from }) => from)
    return {
      provider: provider.name,
      tickers: this.#request.tickers.length,
      done: this.#upToDate.length,
      calls,
      seconds: secondsFor(calls, provider.pace),
      from: formatDay(Math.min(to, ...froms)),
      to: formatDay(to),
    }
  }

  /**
   * Fetches and stores, after `plan`. An error of the vendor ends the work. A ticker without usable data has an outcome
   * that says so, and the others continue.
   */
  async *run({ step }: FetchHooks): AsyncGenerator<FetchedTicker> {
    const { name } = this.#vendor.provider
    let done = 0
    const progress = (ticker: string): void =>
      step({ done, of: this.#request.tickers.length, ticker, calls: this.#vendor.calls })
    for (const ticker of this.#upToDate) yield { ...unknownTicker(ticker, name), outcome: 'current' }
    done = this.#upToDate.length
    if (this.#isByDay) {
      const { part, answer } = await this.#marketAnswer(progress)
      yield* this.#storeAll(part, answer, progress)
      return
    }
    for (const part of this.#groups) {
      progress(part.tickers[0]!)
      for await (const one of this.#fetchPart(part, progress)) {
        yield one
        done++
      }
    }
  }

  async *#fetchPart(part: TickerGroup, progress: (ticker: string) => void): AsyncGenerator<FetchedTicker> {
    const answer = await this.#fetchBars(part)
    if (!(answer instanceof BadData)) yield* this.#storeAll(part, answer, progress)
    else if (part.tickers.length === 1)
      yield refusedTicker(part.tickers[0]!, this.#vendor.provider.name, answer.message)
    // One bad row must not cost the other tickers of the call.
    else for (const ticker of part.tickers) yield* this.#fetchPart({ ...part, tickers: [ticker] }, progress)
  }

  async *#storeAll(
    part: TickerGroup,
    answer: VendorAnswer,
    progress: (ticker: string) => void,
  ): AsyncGenerator<FetchedTicker> {
    for (let at = 0; at < part.tickers.length; at += TICKERS_PER_TRANSACTION) {
      const tickers = part.tickers.slice(at, at + TICKERS_PER_TRANSACTION)
      progress(tickers[0]!)
      const wanted = new Set(tickers)
      const own = answer.bars.filter(({ ticker }) => wanted.has(ticker))
      const puts = await this.#put(own, part, answer.format)
      for (const ticker of tickers) yield await this.#store(ticker, part, answer, puts.get(ticker))
    }
  }

  /** The name under which a ticker is stored: `BRK.B` for BRK-B, unless BRK-B is stored. */
  async #canonicalName(ticker: string): Promise<string> {
    const dotted = ticker.replace(/-(?=[A-Z]{1,2}$)/, '.')
    if (dotted === ticker || this.#vendor.provider.class_mark === undefined) return ticker
    return (await this.#importer.entry(ticker)) === null ? dotted : ticker
  }

  /** The first day to ask for and the source of its bars; null if the vendor cannot have new bars. */
  async #fetchStart(ticker: string): Promise<{ from: Day; source: string } | null> {
    const { provider, lastFinal: until } = this.#vendor
    const { after, replace = false } = this.#request
    const entry = await this.#importer.entry(ticker)
    const stored = entry && fetchedFrom(entry.source)
    const asked = this.#isUpdate ? stored?.after : after
    const source = sourceOf(provider.name, asked)
    const first = asked === undefined ? parseDay(provider.first)! : asked + 1
    if (entry === null || replace) return { from: first, source }
    if (entry.source === source && lastFinal(provider, Date.parse(entry.importedAt)) >= until) return null
    return { from: this.#isUpdate ? Math.max(first, entry.last - OVERLAP_DAYS) : first, source }
  }

  async #fetchBars(part: TickerGroup): Promise<VendorAnswer | BadData> {
    const { provider, lastFinal: to } = this.#vendor
    const found = emptyAnswer()
    try {
      for (const call of callWindows(provider, part, to))
        for await (const body of this.#vendor.bodies(call)) await addBody(found, this.#vendor, call.tickers, body)
      // A wait for the pace may have passed the hour at which a day becomes final.
      if (this.#vendor.lastFinal !== to) return await this.#fetchBars(part)
      return { ...found, bars: joinPages(found.bars, to) }
    } catch (error) {
      if (error instanceof BadData) return error
      throw error
    }
  }

  /** Whether an update asks day by day for all tickers, because that takes fewer calls than asking by ticker. */
  get #isByDay(): boolean {
    return this.#isUpdate && this.#vendor.provider.market !== undefined && this.#days.length < this.#groups.length
  }

  /** The working days that an update asks for. */
  get #days(): Day[] {
    const from = Math.min(...this.#groups.map(part => part.from))
    const { lastFinal: to } = this.#vendor
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i).filter(day => !isWeekend(day))
  }

  async #marketAnswer(progress: (ticker: string) => void): Promise<{ part: TickerGroup; answer: VendorAnswer }> {
    const tickers = this.#groups.flatMap(part => part.tickers)
    const answer = emptyAnswer()
    for (const day of this.#days) {
      progress(formatDay(day))
      for await (const body of this.#vendor.marketBodies(formatDay(day)))
        await addBody(answer, this.#vendor, tickers, body)
    }
    const bars = joinPages(answer.bars, this.#vendor.lastFinal)
    return { part: { ...this.#groups[0]!, tickers }, answer: { ...answer, bars } }
  }

  /** The result of a ticker; stores its facts. @param put the outcome for its bars; undefined if it has none */
  async #store(
    ticker: string,
    part: TickerGroup,
    answer: VendorAnswer,
    put: PutOutcome | undefined,
  ): Promise<FetchedTicker> {
    const { name, holds } = this.#vendor.provider
    if (holds === 'facts') return this.#storeFacts(ticker, answer)
    if (put === undefined)
      return this.#isUpdate ? { ...unknownTicker(ticker, name), outcome: 'current' } : unknownTicker(ticker, name)
    if ('report' in put) return loadedTicker(put.report, name, 'loaded')
    const stored = fetchedFrom((await this.#importer.entry(ticker))?.source ?? '')
    const isRescaled = (put.reason === 'split' || put.reason === 'factor') && stored?.provider === name
    if (!isRescaled) return refusedTicker(ticker, name, put.message)
    return this.#reload(ticker, part.source, this.#isUpdate ? null : answer)
  }

  /**
   * Replaces the stored history of a ticker by that of the vendor, as after a split or dividend.
   * @param fetched the history, if it was fetched already; null fetches it
   */
  async #reload(ticker: string, source: string, fetched: VendorAnswer | null): Promise<FetchedTicker> {
    const { provider } = this.#vendor
    const { after } = fetchedFrom(source)!
    const from = after === undefined ? parseDay(provider.first)! : after + 1
    const part = { tickers: [ticker], source, replace: true, from }
    const answer = fetched ?? (await this.#fetchBars(part))
    if (answer instanceof BadData) return refusedTicker(ticker, provider.name, answer.message)
    const bars = answer.bars.find(one => one.ticker === ticker)
    if (bars === undefined) return unknownTicker(ticker, provider.name)
    const before = await this.#events(ticker)
    const put = (await this.#put([bars], part, answer.format)).get(ticker)!
    if (!('report' in put)) return refusedTicker(ticker, provider.name, put.message)
    const now = await this.#events(ticker)
    const changed = [...before].filter(event => !now.has(event)).length
    return { ...loadedTicker(put.report, provider.name, 'reloaded'), events_changed: changed }
  }

  /** Stores the bars of some tickers, each whole or not at all. Returns the outcome by ticker. */
  async #put(
    tickers: readonly TickerBars[],
    { source, replace }: Pick<TickerGroup, 'source' | 'replace'>,
    format: string,
  ): Promise<Map<string, PutOutcome>> {
    if (tickers.length === 0) return new Map()
    const refusals: PutOutcome[] = []
    const sourced = tickers.map(({ ticker, bars, prices }) => ({ ticker, bars, prices, source, format }))
    const reports = await this.#importer.put(sourced, {
      replace,
      today: this.#vendor.today,
      onRefused: ({ message }, reason) => void refusals.push({ reason, message: message.slice(source.length + 2) }),
    })
    const found = new Map<string, PutOutcome>(reports.map(report => [report.ticker, { report }]))
    // Refusals come in the order of the tickers.
    const others = tickers.filter(({ ticker }) => !found.has(ticker))
    for (const [i, { ticker }] of others.entries()) found.set(ticker, refusals[i]!)
    return found
  }

  async #storeFacts(ticker: string, { facts, format }: VendorAnswer): Promise<FetchedTicker> {
    const { name } = this.#vendor.provider
    const own = facts.filter(one => one.ticker === ticker)
    if (own.length === 0) return unknownTicker(ticker, name)
    const source = { file: sourceOf(name, undefined), format }
    const sheets = await this.#importer.putFacts(own, source, { today: this.#vendor.today })
    const dates = sheets.flatMap(({ first, last }) => [first ?? [], last ?? []].flat()).sort()
    const isSame = sheets.every(sheet => sheet.added + sheet.replaced === 0)
    return {
      ...unknownTicker(ticker, name),
      outcome: this.#isUpdate && isSame ? 'current' : 'loaded',
      added: sheets.reduce((sum, sheet) => sum + sheet.added, 0),
      bars: null,
      first: dates[0] ?? null,
      last: dates.at(-1) ?? null,
      note: sheets.map(({ kind, records }) => `${records} ${kind}`).join(', '),
    }
  }

  /** The stored events of a ticker as texts: field, timeframe, date and band. */
  async #events(ticker: string): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    const local = new Local(this.#importer.store, null, null)
    for await (const { field, timeframe, date, band } of exportEvents(local, { tickers: [ticker] }))
      found.add(`${field} ${timeframe} ${date} ${band}`)
    return found
  }
}

/** Groups tickers that may share calls: same source, at most `symbols` tickers. Each group starts at its earliest day. */
function groupTickers(
  { symbols }: Provider,
  open: readonly { ticker: string; from: Day; source: string }[],
  replace: boolean,
): TickerGroup[] {
  const bySource = Map.groupBy(open, ({ source }) => source)
  return [...bySource].flatMap(([source, own]) => {
    const inOrder = own.toSorted((a, b) => a.from - b.from)
    return Array.from({ length: Math.ceil(own.length / symbols) }, (_, i) => {
      const some = inOrder.slice(i * symbols, (i + 1) * symbols)
      return { source, replace, tickers: some.map(({ ticker }) => ticker), from: some[0]!.from }
    })
  })
}

/** The calls for a group: one for all days, or one for each period that the vendor allows. */
function callWindows({ days = Number.POSITIVE_INFINITY }: Provider, { tickers, from }: TickerGroup, to: Day): Call[] {
  const calls: Call[] = []
  for (let at = from; at <= to; at += days)
    calls.push({ tickers, from: formatDay(at), to: formatDay(Math.min(to, at + days - 1)) })
  return calls
}

/** The least number of calls for a group, with the further pages that its bars will fill. */
function countCalls(provider: Provider, part: TickerGroup, to: Day): number {
  const { bars = Number.POSITIVE_INFINITY } = provider
  const days = (Math.max(0, to - part.from + 1) * 5) / 7
  return Math.max(callWindows(provider, part, to).length, Math.ceil((days * part.tickers.length) / bars))
}

/** The result of a ticker that the vendor does not know; other results change some of it. */
function unknownTicker(ticker: string, provider: string): FetchedTicker {
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

function refusedTicker(ticker: string, provider: string, note: string): FetchedTicker {
  return { ...unknownTicker(ticker, provider), outcome: 'refused', note }
}

function loadedTicker(
  { ticker, added, bars, first, last, note }: TickerReport,
  provider: string,
  outcome: 'loaded' | 'reloaded',
): FetchedTicker {
  return { ...unknownTicker(ticker, provider), outcome, added, bars, first, last, note: note ?? null }
}
