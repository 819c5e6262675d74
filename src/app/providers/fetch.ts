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

export interface FetchRequest {
  tickers: readonly string[]
  /** Only bars after this day (default: the whole history). */
  after?: Day | undefined
  /** Start each ticker again, also a stored one. */
  replace?: boolean
}

export interface FetchedTicker {
  ticker: string
  provider: string
  /**
   * `loaded`: new, or brought up to date. `reloaded`: the whole history once more, after a split or dividend.
   * `current`: nothing new can have come. `unknown`: the vendor does not know it. `refused`: its bars do not fit the
   * stored ones, or cannot be read.
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

type StoreOutcome = { report: TickerReport } | { reason: RefusedTicker['reason'] | undefined; message: string }

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
    const pending: { ticker: string; from: Day; source: string }[] = []
    for (const typed of this.#request.tickers) {
      const ticker = await this.#canonicalName(typed)
      const start = await this.#fetchStart(ticker)
      if (start === null) this.#upToDate.push(ticker)
      else pending.push({ ticker, ...start })
    }
    this.#groups = groupTickers(provider, pending, this.#request.replace ?? false)
    const callsByTicker = this.#groups.reduce((sum, group) => sum + countCalls(provider, group, to), 0)
    const calls = this.#isByDay ? this.#days.length : callsByTicker
    const firstDays = this.#groups.map(({ from }) => from)
    return {
      provider: provider.name,
      tickers: this.#request.tickers.length,
      done: this.#upToDate.length,
      calls,
      seconds: secondsFor(calls, provider.pace),
      from: formatDay(Math.min(to, ...firstDays)),
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
    for (const ticker of this.#upToDate) yield { ...emptyResult(ticker, name), outcome: 'current' }
    done = this.#upToDate.length
    const results = this.#isByDay ? this.#fetchByDay(progress) : this.#fetchByTicker(progress)
    for await (const fetched of results) {
      yield fetched
      done++
    }
  }

  /** Fetches and stores one group after the other. */
  async *#fetchByTicker(progress: (ticker: string) => void): AsyncGenerator<FetchedTicker> {
    for (const group of this.#groups) {
      progress(group.tickers[0]!)
      yield* this.#fetchGroup(group, progress)
    }
  }

  /** Fetches and stores a group; each ticker by itself if the answer for all has a bad row. */
  async *#fetchGroup(group: TickerGroup, progress: (ticker: string) => void): AsyncGenerator<FetchedTicker> {
    const answer = await this.#fetchBars(group)
    if (!(answer instanceof BadData)) yield* this.#storeAll(group, answer, progress)
    else if (group.tickers.length === 1)
      yield refusedTicker(group.tickers[0]!, this.#vendor.provider.name, answer.message)
    // One bad row must not cost the other tickers of the call.
    else for (const ticker of group.tickers) yield* this.#fetchGroup({ ...group, tickers: [ticker] }, progress)
  }

  /** Stores the answer for a group, at most TICKERS_PER_TRANSACTION at a time, and yields the result of each ticker. */
  async *#storeAll(
    group: TickerGroup,
    answer: VendorAnswer,
    progress: (ticker: string) => void,
  ): AsyncGenerator<FetchedTicker> {
    for (let start = 0; start < group.tickers.length; start += TICKERS_PER_TRANSACTION) {
      const tickers = group.tickers.slice(start, start + TICKERS_PER_TRANSACTION)
      progress(tickers[0]!)
      const tickersToStore = new Set(tickers)
      const bars = answer.bars.filter(({ ticker }) => tickersToStore.has(ticker))
      const outcomes = await this.#storeBars(bars, group, answer.format)
      for (const ticker of tickers) yield await this.#resultOf(ticker, group, answer, outcomes.get(ticker))
    }
  }

  /** The name under which a ticker is stored: `BRK.B` for BRK-B, unless BRK-B is stored. */
  async #canonicalName(ticker: string): Promise<string> {
    const dotted = ticker.replace(/-(?=[A-Z]{1,2}$)/, '.')
    if (dotted === ticker || this.#vendor.provider.class_mark === undefined) return ticker
    return (await this.#importer.entry(ticker)) === null ? dotted : ticker
  }

  /**
   * The first day to ask for, and the `source` under which the bars are stored: vendor and range. null if the vendor
   * cannot have new bars.
   */
  async #fetchStart(ticker: string): Promise<{ from: Day; source: string } | null> {
    const { provider, lastFinal: until } = this.#vendor
    const { after, replace = false } = this.#request
    const entry = await this.#importer.entry(ticker)
    const firstFetch = entry && fetchedFrom(entry.source)
    // An update keeps to the range of the first fetch.
    const rangeStart = this.#isUpdate ? firstFetch?.after : after
    const source = sourceOf(provider.name, rangeStart)
    const first = firstDay(provider, rangeStart)
    if (entry === null || replace) return { from: first, source }
    // At the import, the last day was final already.
    const hasLastDay = lastFinal(provider, Date.parse(entry.importedAt)) >= until
    if (entry.source === source && hasLastDay) return null
    return { from: this.#isUpdate ? Math.max(first, entry.last - OVERLAP_DAYS) : first, source }
  }

  /** The answer of the vendor for a group, up to its last final day; BadData for an answer with a bad row. */
  async #fetchBars(group: TickerGroup): Promise<VendorAnswer | BadData> {
    const { provider, lastFinal: to } = this.#vendor
    const answer = emptyAnswer()
    try {
      for (const call of callWindows(provider, group, to))
        for await (const body of this.#vendor.bodies(call)) await addBody(answer, this.#vendor, call.tickers, body)
      // A wait for the pace may have passed the hour at which a day becomes final.
      if (this.#vendor.lastFinal !== to) return await this.#fetchBars(group)
      return { ...answer, bars: joinPages(answer.bars, to) }
    } catch (error) {
      if (error instanceof BadData) return error
      throw error
    }
  }

  /** Whether an update asks day by day for all tickers, because that takes fewer calls than asking by ticker. */
  get #isByDay(): boolean {
    return this.#isUpdate && this.#vendor.provider.market !== undefined && this.#days.length < this.#groups.length
  }

  /** The working days that an update by day asks for, from the earliest start of all groups on. */
  get #days(): Day[] {
    const from = Math.min(...this.#groups.map(group => group.from))
    const { lastFinal: to } = this.#vendor
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i).filter(day => !isWeekend(day))
  }

  /** Fetches the days of an update, each with all tickers, and then stores the tickers of each source. */
  async *#fetchByDay(progress: (ticker: string) => void): AsyncGenerator<FetchedTicker> {
    const tickers = this.#groups.flatMap(group => group.tickers)
    const answer = emptyAnswer()
    for (const day of this.#days) {
      progress(formatDay(day))
      for await (const body of this.#vendor.marketBodies(formatDay(day)))
        await addBody(answer, this.#vendor, tickers, body)
    }
    const joined = { ...answer, bars: joinPages(answer.bars, this.#vendor.lastFinal) }
    for (const groups of Map.groupBy(this.#groups, ({ source }) => source).values()) {
      const tickersOfSource = groups.flatMap(group => group.tickers)
      yield* this.#storeAll({ ...groups[0]!, tickers: tickersOfSource }, joined, progress)
    }
  }

  /**
   * The result of a ticker. Its facts are stored here. Stored bars of this vendor that differ by one factor, as after a
   * split, are replaced by its whole history. @param outcome that of storing the bars; undefined if the answer has none
   */
  async #resultOf(
    ticker: string,
    group: TickerGroup,
    answer: VendorAnswer,
    outcome: StoreOutcome | undefined,
  ): Promise<FetchedTicker> {
    const { name, holds } = this.#vendor.provider
    if (holds === 'facts') return this.#storeFacts(ticker, answer)
    if (outcome === undefined)
      return this.#isUpdate ? { ...emptyResult(ticker, name), outcome: 'current' } : emptyResult(ticker, name)
    if ('report' in outcome) return loadedTicker(outcome.report, name, 'loaded')
    const firstFetch = fetchedFrom((await this.#importer.entry(ticker))?.source ?? '')
    const isRescaled = (outcome.reason === 'split' || outcome.reason === 'factor') && firstFetch?.provider === name
    if (!isRescaled) return refusedTicker(ticker, name, outcome.message)
    // The answer to an update has only the last days; another one is the history already.
    return this.#reload(ticker, group.source, this.#isUpdate ? null : answer)
  }

  /**
   * Replaces the stored history of a ticker by that of the vendor, as after a split or dividend. Returns the result,
   * with `events_changed`: how many stored events the new history no longer has.
   * @param fetched the history, if it was fetched already; null fetches it
   */
  async #reload(ticker: string, source: string, fetched: VendorAnswer | null): Promise<FetchedTicker> {
    const { provider } = this.#vendor
    const from = firstDay(provider, fetchedFrom(source)!.after)
    const group = { tickers: [ticker], source, replace: true, from }
    const answer = fetched ?? (await this.#fetchBars(group))
    if (answer instanceof BadData) return refusedTicker(ticker, provider.name, answer.message)
    const bars = answer.bars.find(tickerBars => tickerBars.ticker === ticker)
    if (bars === undefined) return emptyResult(ticker, provider.name)
    const eventsBefore = await this.#eventTexts(ticker)
    const outcomes = await this.#storeBars([bars], group, answer.format)
    const outcome = outcomes.get(ticker)!
    if (!('report' in outcome)) return refusedTicker(ticker, provider.name, outcome.message)
    const eventsAfter = await this.#eventTexts(ticker)
    const eventsLost = [...eventsBefore].filter(event => !eventsAfter.has(event)).length
    return { ...loadedTicker(outcome.report, provider.name, 'reloaded'), events_changed: eventsLost }
  }

  /** Stores the bars of some tickers, each whole or not at all. Returns the outcome by ticker. */
  async #storeBars(
    tickers: readonly TickerBars[],
    { source, replace }: Pick<TickerGroup, 'source' | 'replace'>,
    format: string,
  ): Promise<Map<string, StoreOutcome>> {
    if (tickers.length === 0) return new Map()
    const refusals: StoreOutcome[] = []
    const sourced = tickers.map(({ ticker, bars, prices }) => ({ ticker, bars, prices, source, format }))
    const reports = await this.#importer.put(sourced, {
      replace,
      today: this.#vendor.today,
      // The message begins with the source and a colon.
      onRefused: ({ message }, reason) => void refusals.push({ reason, message: message.slice(source.length + 2) }),
    })
    const outcomes = new Map<string, StoreOutcome>(reports.map(report => [report.ticker, { report }]))
    // Refusals come in the order of the tickers.
    const refused = tickers.filter(({ ticker }) => !outcomes.has(ticker))
    for (const [i, { ticker }] of refused.entries()) outcomes.set(ticker, refusals[i]!)
    return outcomes
  }

  /** Stores the facts of a ticker, and returns its result. */
  async #storeFacts(ticker: string, { facts, format }: VendorAnswer): Promise<FetchedTicker> {
    const { name } = this.#vendor.provider
    const tickerFacts = facts.filter(fact => fact.ticker === ticker)
    if (tickerFacts.length === 0) return emptyResult(ticker, name)
    const source = { file: sourceOf(name, undefined), format }
    // One for each kind of fact.
    const sheets = await this.#importer.putFacts(tickerFacts, source, { today: this.#vendor.today })
    const dates = sheets
      .flatMap(({ first, last }) => [first, last])
      .filter(date => date !== null)
      .sort()
    const isSame = sheets.every(sheet => sheet.added + sheet.replaced === 0)
    return {
      ...emptyResult(ticker, name),
      outcome: this.#isUpdate && isSame ? 'current' : 'loaded',
      added: sheets.reduce((sum, sheet) => sum + sheet.added, 0),
      bars: null,
      first: dates[0] ?? null,
      last: dates.at(-1) ?? null,
      note: sheets.map(({ kind, records }) => `${records} ${kind}`).join(', '),
    }
  }

  /** The stored events of a ticker as texts: field, timeframe, date and band. */
  async #eventTexts(ticker: string): Promise<ReadonlySet<string>> {
    const events = new Set<string>()
    const local = new Local(this.#importer.store, null, null)
    for await (const { field, timeframe, date, band } of exportEvents(local, { tickers: [ticker] }))
      events.add(`${field} ${timeframe} ${date} ${band}`)
    return events
  }
}

/** Groups tickers that may share calls: of one source, at most `symbols`. Each group starts at its earliest day. */
function groupTickers(
  { symbols }: Provider,
  pending: readonly { ticker: string; from: Day; source: string }[],
  replace: boolean,
): TickerGroup[] {
  const groups: TickerGroup[] = []
  for (const [source, tickers] of Map.groupBy(pending, ({ source }) => source)) {
    const ordered = tickers.toSorted((a, b) => a.from - b.from)
    for (let start = 0; start < ordered.length; start += symbols) {
      const members = ordered.slice(start, start + symbols)
      groups.push({ source, replace, tickers: members.map(({ ticker }) => ticker), from: members[0]!.from })
    }
  }
  return groups
}

/** The first day of bars after a day; without one, the first that the vendor has. */
function firstDay(provider: Provider, after: Day | undefined): Day {
  return after === undefined ? parseDay(provider.first)! : after + 1
}

/** The calls for a group: one for all days, or one for each period that the vendor allows. */
function callWindows({ days = Number.POSITIVE_INFINITY }: Provider, { tickers, from }: TickerGroup, to: Day): Call[] {
  const calls: Call[] = []
  for (let first = from; first <= to; first += days)
    calls.push({ tickers, from: formatDay(first), to: formatDay(Math.min(to, first + days - 1)) })
  return calls
}

/** The least number of calls for a group, with the further pages that its bars will fill. */
function countCalls(provider: Provider, group: TickerGroup, to: Day): number {
  const { bars: barsPerPage = Number.POSITIVE_INFINITY } = provider
  const workingDays = (Math.max(0, to - group.from + 1) * 5) / 7
  const pages = Math.ceil((workingDays * group.tickers.length) / barsPerPage)
  return Math.max(callWindows(provider, group, to).length, pages)
}

/** A result with nothing stored: of a ticker that the vendor does not know, and the start of other results. */
function emptyResult(ticker: string, provider: string): FetchedTicker {
  const nothingStored = { added: 0, bars: null, first: null, last: null, events_changed: null, note: null }
  return { ticker, provider, outcome: 'unknown', ...nothingStored }
}

function refusedTicker(ticker: string, provider: string, note: string): FetchedTicker {
  return { ...emptyResult(ticker, provider), outcome: 'refused', note }
}

function loadedTicker(
  { ticker, added, bars, first, last, note }: TickerReport,
  provider: string,
  outcome: 'loaded' | 'reloaded',
): FetchedTicker {
  return { ...emptyResult(ticker, provider), outcome, added, bars, first, last, note: note ?? null }
}
