import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { NotFound, TierRestricted } from '../../core/errors.js'
import { parseDay } from '../../core/model/day.js'
import type { BandEvent, EventsPage, EventsQuery } from '../../core/model/event.js'
import { haveGaps, keyOf, mapKeyOf, type PageStore, type PullRun, type StoredPages } from '../../data/store/pages.js'
import {
  addPage,
  joinPages,
  MAX_PAGE_EVENTS,
  nextBefore,
  pageToRevalidate,
  type RestartReason,
  refuseLowerTier,
} from './pages.js'
import {
  type CreditsLeft,
  creditsLeftOf,
  makePullPlan,
  type Outcome,
  PAGE_COST,
  type PlannedSeries,
  type Price,
  type PullPlan,
  type PullReport,
  type PullRequest,
  type PullStore,
  priceOf,
  readPullState,
  requestDigest,
  type SeriesReport,
  sumPrices,
} from './pull-plan.js'
import type { NewPage, Remote } from './remote.js'

/**
 * Pulls pages from a server and stores each as it comes, so that the next run continues a stopped pull:
 * 1. plan what is missing or may have changed, and report the price    pull-plan.ts
 * 2. request the newest page of each series, then the others           here
 * 3. put each page above the stored ones                               pages.ts
 */

/** A server as a pull needs it. */
export type PageSource = Pick<Remote, 'url' | 'newPage'>

export interface PullOptions {
  /** Never spends more; the next run pulls the rest. */
  maxCredits?: number
  /** Called before the first request. */
  onPlan?(plan: PullPlan): void | Promise<void>
  /** Called once the first pages show how many there are, with the price of the others. */
  onPriced?(price: Price, left: CreditsLeft): void | Promise<void>
  onPage?(progress: { ticker: string; field: string; done: number; of: number; credits: number }): void
}

/**
 * Pulls the events that are missing or may have changed; needs the writer lock. An error that stops the pull is part of
 * the report. Throws InvalidParameter, before any request, for a ticker from another source.
 */
export async function pull(
  store: PullStore,
  source: PageSource,
  request: PullRequest,
  { now = () => new Date(), ...options }: PullOptions & { now?: () => Date } = {},
): Promise<PullReport> {
  const began = now()
  const plan = await makePullPlan(store, source.url, request, began)
  await options.onPlan?.(plan)
  const identity = { url: source.url, asked: requestDigest(request) }
  const run = plan.run ?? { id: randomUUID(), ...identity, started: began.toISOString() }
  await store.pages.setRun(run)
  const report = await new PullWork({ pages: store.pages, source, request, plan, run, now }, options).pullAll()
  // A stopped pull leaves its run, so that the same request continues it.
  if (report.stopped === null) await store.pages.setRun(null)
  return report
}

interface PullContext {
  pages: PageStore
  source: PageSource
  request: PullRequest
  plan: PullPlan
  run: PullRun
  now: () => Date
}

/** Thrown where the next request would cost more credits than are allowed. */
class CreditLimitReached extends Error {}

/** The most attempts at a series whose pages differ in their as-of day; then the next run tries again. */
const MAX_GAPS = 3

interface PullItem extends PlannedSeries, Pick<SeriesReport, 'credits' | 'added' | 'changed' | 'note' | 'refusal'> {
  requested: boolean
  /** Ignore stored pages until this run has pulled all of them. */
  startsAgain: boolean
  complete: boolean
  /** Whether it had no answer before. */
  isNew: boolean
  /** Times that it was pulled to the end with a gap between its pages. */
  gaps: number
}

/** A planned series before its first request. */
function newItem(planned: PlannedSeries): PullItem {
  return {
    ...planned,
    credits: 0,
    added: 0,
    changed: 0,
    note: null,
    refusal: null,
    requested: false,
    startsAgain: false,
    complete: planned.nextStep === 'done',
    isNew: false,
    gaps: 0,
  }
}

class PullWork {
  readonly #context: PullContext
  readonly #options: PullOptions
  readonly #items: PullItem[]
  readonly #refusals = new Map<string, NotFound | TierRestricted>()
  #credits = 0
  #creditsLeft: CreditsLeft | null = null
  /** The server's latest as-of day, and the range of this key. */
  #asOf: string | null = null
  #range: string | null = null

  constructor(parts: PullContext, options: PullOptions) {
    this.#context = parts
    this.#options = options
    this.#items = parts.plan.series.map(newItem)
  }

  /** Pulls until everything is there or something stops it. */
  async pullAll(): Promise<PullReport> {
    try {
      // Under a limit, series are finished one by one, so that as many as possible can answer.
      if (this.#options.maxCredits === undefined) await this.#pullFirstPages()
      for (const item of this.#items) await this.#pullRest(item)
      return this.#report(null, null)
    } catch (error) {
      return error instanceof CreditLimitReached ? this.#report('credits', null) : this.#report('error', error)
    }
  }

  /** Pulls the newest page of each series that is new or may have changed, and reports the price of the others. */
  async #pullFirstPages(): Promise<void> {
    for (const item of this.#items)
      if (item.nextStep === 'new' || item.nextStep === 'update') await this.#pullPage(item)
    const price = this.#creditsMissing()
    if (this.#creditsLeft !== null && price.least > 0) await this.#options.onPriced?.(price, this.#creditsLeft)
  }

  /** Pulls the missing pages of a series, until the server refuses it or its pages have had a gap MAX_GAPS times. */
  async #pullRest(item: PullItem): Promise<void> {
    if (item.nextStep === 'done' && (await this.#isOutOfDate(item))) item.complete = false
    while (!item.complete && item.refusal === null && item.gaps < MAX_GAPS) await this.#pullPage(item)
  }

  /**
   * Whether a series pulled earlier in this run is out of date: the server has a new day. If the server does not say, a
   * new day here decides.
   */
  async #isOutOfDate(item: PullItem): Promise<boolean> {
    const { as_of, pulled_at } = joinPages((await this.#context.pages.series(item))!.kept)!
    if (this.#asOf !== null && as_of !== null) return this.#asOf > as_of
    return pulled_at.slice(0, 10) < this.#context.now().toISOString().slice(0, 10)
  }

  /** Pulls one page of a series and reports progress; a refusal is noted in the series. */
  async #pullPage(item: PullItem): Promise<void> {
    try {
      await this.#requestPage(item)
    } catch (error) {
      if (!(error instanceof NotFound || error instanceof TierRestricted)) throw error
      item.refusal = error
    }
    const done = this.#items.filter(({ refusal, complete }) => refusal !== null || complete).length
    const { ticker, field } = item
    this.#options.onPage?.({ ticker, field, done, of: this.#items.length, credits: this.#credits })
  }

  /** Requests the next page of a series and stores it. Throws the server's refusal, or CreditLimitReached. */
  async #requestPage(item: PullItem): Promise<void> {
    const { source, run } = this.#context
    const series = await this.#readSeries(item)
    const { startsAgain } = item
    // The range of the pages that the new one joins; a new start may have another.
    const knownRange = startsAgain ? undefined : (series.coming[0] ?? series.kept[0])?.body.query_range
    // Sends nothing that the server has refused already, that would lose events, or that costs too much.
    this.#refuseDoomedRequest(item, knownRange)
    const before = nextBefore(series)
    const storedPage = startsAgain ? null : pageToRevalidate(series, before)
    const query: EventsQuery = { ...keyOf(item), limit: MAX_PAGE_EVENTS }
    if (before !== null) query.before = parseDay(before)!
    const requestName = { id: requestId(run, series, before), etag: storedPage?.etag ?? null }
    // `page` is null if the stored page is unchanged at the server. A refusal counts for more series than this one.
    const { page, etag, asOf, credits } = await this.#rememberRefusal(source.newPage(query, requestName), item)
    item.requested = true
    this.#creditsLeft = creditsLeftOf(credits)
    if (asOf !== null && asOf > (this.#asOf ?? '')) this.#asOf = asOf
    if (page !== null) this.#countPage(item, page)
    const pulled_at = this.#context.now().toISOString()
    const newPage =
      page === null
        ? { ...storedPage!, before, as_of: asOf ?? storedPage!.as_of, pulled_at }
        : { before, etag, as_of: asOf, pulled_at, body: page }
    refuseLowerTier(item, knownRange, newPage.body.query_range)
    await this.#storePage(item, series, addPage(series, newPage, { startsAgain }))
  }

  /** Throws an earlier refusal, TierRestricted if stored pages are of a higher tier, or CreditLimitReached. */
  #refuseDoomedRequest(item: PullItem, knownRange: string | undefined): void {
    const earlierRefusal = this.#refusals.get(item.ticker) ?? this.#refusals.get(item.field)
    if (earlierRefusal !== undefined) throw earlierRefusal
    if (this.#range !== null) refuseLowerTier(item, knownRange, this.#range)
    const { maxCredits = Number.POSITIVE_INFINITY } = this.#options
    if (this.#credits + PAGE_COST > maxCredits) throw new CreditLimitReached()
  }

  /** Counts the credits of a new page, and remembers its range: the range of this key. */
  #countPage(item: PullItem, { query_range }: EventsPage): void {
    item.credits += PAGE_COST
    this.#credits += PAGE_COST
    this.#range = query_range
  }

  /** Stores a series with its newest page, and updates the state of its item. @param seriesBefore without that page */
  async #storePage(
    item: PullItem,
    seriesBefore: StoredPages,
    { series, restartReason }: ReturnType<typeof addPage>,
  ): Promise<void> {
    await this.#context.pages.put(series)
    const isLastPage = series.coming.length === 0
    item.complete = isLastPage && !haveGaps(series.kept)
    item.price = priceOf(series, item)
    // A series that was pulled again from the start has new pages now, which its next request may use.
    item.startsAgain &&= !isLastPage
    // Pages of different days may lack events between them: the series is pulled again, MAX_GAPS times at most.
    if (isLastPage && !item.complete) item.gaps++
    const { query_range: range } = (series.coming[0] ?? series.kept[0])!.body
    if (restartReason !== null) item.note = RESTART_NOTES[restartReason](range)
    // Before the last page has come, the old events still answer.
    if (isLastPage) addDifferences(item, joinPages(seriesBefore.kept)?.events ?? [], joinPages(series.kept)!.events)
  }

  /**
   * Returns the answer, or remembers and throws the server's refusal. One for a missing ticker counts for all its
   * fields, one for a field above the tier for all tickers.
   */
  async #rememberRefusal(answer: Promise<NewPage>, { ticker, field }: PullItem): Promise<NewPage> {
    try {
      return await answer
    } catch (error) {
      if (error instanceof NotFound) this.#refusals.set(ticker, error)
      if (error instanceof TierRestricted) this.#refusals.set(field, error)
      throw error
    }
  }

  /** Reads the pages of a series. Before its first request, this also sets `startsAgain` and `isNew` of the item. */
  async #readSeries(item: PullItem): Promise<StoredPages> {
    const { pages, source, request, plan } = this.#context
    if (item.requested) return (await pages.series(item))!
    const { series, startsAgain } = await readPullState(pages, item, source.url, {
      replace: request.replace,
      run: plan.run,
    })
    item.startsAgain = startsAgain
    item.isNew = series.kept.length === 0
    return series
  }

  /** The price of all pages that are still missing. */
  #creditsMissing(): Price {
    const unfinished = this.#items.filter(item => item.refusal === null && !item.complete)
    return sumPrices(unfinished.map(({ price }) => price))
  }

  /** The report of the pull so far. @param stopped why it stopped, null at its end; `error`: null for other reasons */
  async #report(stopped: PullReport['stopped'], error: unknown): Promise<PullReport> {
    const entries = new Map((await this.#context.pages.entries()).map(entry => [mapKeyOf(entry), entry]))
    const series = this.#items.map((item): SeriesReport => {
      const { credits, added, changed, note, refusal } = item
      const entry = entries.get(mapKeyOf(item)) ?? { events: 0, query_range: null, pulled_at: null, as_of: null }
      const { events, query_range, pulled_at, as_of } = entry
      const figures = { credits, events, added, changed, query_range, pulled_at, as_of, note, refusal }
      return { ...keyOf(item), outcome: outcomeOf(item), ...figures }
    })
    const { url } = this.#context.source
    return {
      url,
      credits: this.#credits,
      creditsLeft: this.#creditsLeft,
      creditsMissing: this.#creditsMissing(),
      series,
      stopped,
      error,
    }
  }
}

/** Why a series was pulled again from the start, for the report. */
const RESTART_NOTES: Readonly<Record<RestartReason, (range: string) => string>> = {
  past: () => 'its past is another one on the server now; all of it is asked for again',
  range: range => `its key has another range now, ${range}; all of it is asked for again`,
  gap: range =>
    `the range of the key, ${range}, begins after the end of the copy, so the copy is dropped: the events between are unknown`,
}

/** The name of a request for a page. It is the same in one run, so that a page that was paid for and lost is free. */
function requestId(run: PullRun, series: StoredPages, before: string | null): string {
  const { ticker, timeframe, field } = series
  const page = [run.id, ticker, timeframe, field, series.kept[0]?.pulled_at ?? null, before]
  return createHash('sha256').update(JSON.stringify(page)).digest('hex').slice(0, 32)
}

/** The outcome of a series. If no request was needed, this run had pulled it before it was stopped. */
function outcomeOf({ refusal, requested, complete, credits, isNew }: PullItem): Outcome {
  if (refusal !== null) return 'refused'
  if (!complete) return 'unfinished'
  if (!requested) return 'done'
  if (credits === 0) return 'unchanged'
  return isNew ? 'pulled' : 'updated'
}

/** Adds to a series the number of new events, by their dates, and of changed ones. */
function addDifferences(item: PullItem, before: readonly BandEvent[], after: readonly BandEvent[]): void {
  const earlierByDate = new Map(before.map(event => [event.date, event]))
  const repeated = after.filter(({ date }) => earlierByDate.has(date))
  item.added += after.length - repeated.length
  item.changed += repeated.filter(event => !isDeepStrictEqual(event, earlierByDate.get(event.date))).length
}
