import { createHash, randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { NotFound, TierRestricted } from '../../core/errors.js'
import { parseDay } from '../../core/model/day.js'
import type { BandEvent, EventsPage } from '../../core/model/event.js'
import { haveGaps, keyOf, nameOf, type PageStore, type PullRun, type StoredPages } from '../../data/store/pages.js'
import {
  addPage,
  chainOf,
  checkTier,
  MAX_PAGE_EVENTS,
  nextBefore,
  pageToRevalidate,
  type RestartReason,
} from './pages.js'
import {
  type CreditsLeft,
  digestOf,
  leftOf,
  type Outcome,
  PAGE_COST,
  type Planned,
  type Price,
  type PullPlan,
  type PullReport,
  type PullRequest,
  type PullStore,
  planOf,
  priceOf,
  pullState,
  type SeriesReport,
  summed,
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
 * Pulls what is missing or may have changed; needs the writer lock. Errors on the way are part of the report. Throws
 * InvalidParameter, before any request, for a ticker from another source.
 */
export async function pull(
  store: PullStore,
  source: PageSource,
  request: PullRequest,
  { now = () => new Date(), ...options }: PullOptions & { now?: () => Date } = {},
): Promise<PullReport> {
  const began = now()
  const plan = await planOf(store, source.url, request, began)
  await options.onPlan?.(plan)
  const identity = { url: source.url, asked: digestOf(request) }
  const run = plan.run ?? { id: randomUUID(), ...identity, started: began.toISOString() }
  await store.pages.setRun(run)
  const report = await new Work({ pages: store.pages, source, request, plan, run, now }, options).done()
  if (report.stopped === null) await store.pages.setRun(null)
  return report
}

interface WorkParts {
  pages: PageStore
  source: PageSource
  request: PullRequest
  plan: PullPlan
  run: PullRun
  now: () => Date
}

/** As many credits are spent as are allowed. */
class Spent extends Error {}

/** A series whose server changes under every pull is left to the next run. */
const MOST_GAPS = 3

interface Item extends Planned, Pick<SeriesReport, 'credits' | 'added' | 'changed' | 'note' | 'refusal'> {
  requested: boolean
  /** Ignore stored pages until this run has pulled all of them. */
  whole: boolean
  complete: boolean
  /** Whether it had no answer before. */
  fresh: boolean
  /** Times that it was pulled to the end with a gap between its pages. */
  gaps: number
}

function itemOf(planned: Planned): Item {
  const none = { credits: 0, added: 0, changed: 0, note: null, refusal: null }
  return {
    ...planned,
    ...none,
    requested: false,
    whole: false,
    complete: planned.due === 'done',
    fresh: false,
    gaps: 0,
  }
}

class Work {
  readonly #parts: WorkParts
  readonly #options: PullOptions
  readonly #items: Item[]
  readonly #refusals = new Map<string, NotFound | TierRestricted>()
  #credits = 0
  #creditsLeft: CreditsLeft | null = null
  /** The server's latest as-of day, and the range of this key. */
  #asOf: string | null = null
  #range: string | null = null

  constructor(parts: WorkParts, options: PullOptions) {
    this.#parts = parts
    this.#options = options
    this.#items = parts.plan.series.map(itemOf)
  }

  /** To the end, or to where it has to stop. */
  async done(): Promise<PullReport> {
    try {
      // Under a limit, series are finished one by one, so that as many as possible can answer.
      if (this.#options.maxCredits === undefined) await this.#firstPages()
      for (const item of this.#items) await this.#finish(item)
      return this.#report(null, null)
    } catch (error) {
      return error instanceof Spent ? this.#report('credits', null) : this.#report('error', error)
    }
  }

  async #firstPages(): Promise<void> {
    for (const item of this.#items) if (item.due === 'new' || item.due === 'update') await this.#ask(item)
    const price = this.#creditsMissing()
    if (this.#creditsLeft !== null && price.least > 0) await this.#options.onPriced?.(price, this.#creditsLeft)
  }

  async #finish(item: Item): Promise<void> {
    if (item.due === 'done' && (await this.#isOld(item))) item.complete = false
    while (!item.complete && item.refusal === null && item.gaps < MOST_GAPS) await this.#ask(item)
  }

  /**
   * Whether a series pulled earlier in this run is out of date: the server has a new day. If the server does not say, a
   * new day here decides.
   */
  async #isOld(item: Item): Promise<boolean> {
    const { as_of, pulled_at } = chainOf((await this.#parts.pages.series(item))!.kept)!
    if (this.#asOf !== null && as_of !== null) return this.#asOf > as_of
    return pulled_at.slice(0, 10) < this.#parts.now().toISOString().slice(0, 10)
  }

  async #ask(item: Item): Promise<void> {
    try {
      await this.#askPage(item)
    } catch (error) {
      if (!(error instanceof NotFound || error instanceof TierRestricted)) throw error
      item.refusal = error
    }
    const done = this.#items.filter(one => one.refusal !== null || one.complete).length
    const { ticker, field } = item
    this.#options.onPage?.({ ticker, field, done, of: this.#items.length, credits: this.#credits })
  }

  async #askPage(item: Item): Promise<void> {
    const { source, run } = this.#parts
    const series = await this.#seriesOf(item)
    const { whole } = item
    const refused = this.#refusals.get(item.ticker) ?? this.#refusals.get(item.field)
    if (refused !== undefined) throw refused
    const known = whole ? undefined : (series.coming[0] ?? series.kept[0])?.body.query_range
    if (this.#range !== null) checkTier(item, known, this.#range)
    if (this.#credits + PAGE_COST > (this.#options.maxCredits ?? Number.POSITIVE_INFINITY)) throw new Spent()
    const before = nextBefore(series)
    const again = whole ? null : pageToRevalidate(series, before)
    const query = { ...keyOf(item), limit: MAX_PAGE_EVENTS, ...(before === null ? {} : { before: parseDay(before)! }) }
    const name = { id: idOf(run, series, before), etag: again?.etag ?? null }
    const { page, etag, asOf, credits } = await this.#answered(source.newPage(query, name), item)
    item.requested = true
    this.#creditsLeft = leftOf(credits)
    if (asOf !== null && asOf > (this.#asOf ?? '')) this.#asOf = asOf
    if (page !== null) this.#charge(item, page)
    const about = page === null ? { etag: again!.etag, as_of: asOf ?? again!.as_of } : { etag, as_of: asOf }
    const body = page ?? again!.body
    checkTier(item, known, body.query_range)
    const pulled_at = this.#parts.now().toISOString()
    await this.#keep(item, series, addPage(series, { before, ...about, pulled_at, body }, { whole }))
  }

  #charge(item: Item, { query_range }: EventsPage): void {
    item.credits += PAGE_COST
    this.#credits += PAGE_COST
    this.#range = query_range
  }

  async #keep(item: Item, before: StoredPages, { series, restartReason }: ReturnType<typeof addPage>): Promise<void> {
    await this.#parts.pages.put(series)
    const isThrough = series.coming.length === 0
    item.complete = isThrough && !haveGaps(series.kept)
    item.price = priceOf(series, item)
    item.whole &&= !isThrough
    if (isThrough && !item.complete) item.gaps++
    if (restartReason !== null) item.note = NOTES[restartReason]((series.coming[0] ?? series.kept[0])!.body.query_range)
    // Until the last page has come, the old events count.
    if (isThrough) countDifferences(item, chainOf(before.kept)?.events ?? [], chainOf(series.kept)!.events)
  }

  /** A ticker that is not there has no other fields, and a field above the tier no other tickers. */
  async #answered(asking: Promise<NewPage>, { ticker, field }: Item): Promise<NewPage> {
    try {
      return await asking
    } catch (error) {
      if (error instanceof NotFound) this.#refusals.set(ticker, error)
      if (error instanceof TierRestricted) this.#refusals.set(field, error)
      throw error
    }
  }

  async #seriesOf(item: Item): Promise<StoredPages> {
    const { pages, source, request, plan } = this.#parts
    if (item.requested) return (await pages.series(item))!
    const { series, whole } = await pullState(pages, item, source.url, { replace: request.replace, run: plan.run })
    item.whole = whole
    item.fresh = series.kept.length === 0
    return series
  }

  #creditsMissing(): Price {
    const open = this.#items.filter(item => item.refusal === null && !item.complete)
    return summed(open.map(({ price }) => price))
  }

  async #report(stopped: PullReport['stopped'], error: unknown): Promise<PullReport> {
    const entries = new Map((await this.#parts.pages.entries()).map(entry => [nameOf(entry), entry]))
    const series = this.#items.map((item): SeriesReport => {
      const { credits, added, changed, note, refusal } = item
      const entry = entries.get(nameOf(item)) ?? { events: 0, query_range: null, pulled_at: null, as_of: null }
      const { events, query_range, pulled_at, as_of } = entry
      const figures = { credits, events, added, changed, query_range, pulled_at, as_of, note, refusal }
      return { ...keyOf(item), outcome: outcomeOf(item), ...figures }
    })
    const { url } = this.#parts.source
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
const NOTES: Readonly<Record<RestartReason, (range: string) => string>> = {
  past: () => 'its past is another one on the server now; all of it is asked for again',
  range: range => `its key has another range now, ${range}; all of it is asked for again`,
  gap: range =>
    `the range of the key, ${range}, begins after the end of the copy, so the copy is dropped: the events between are unknown`,
}

/** The name of a request: one page has one name in a run, so a paid page that was lost costs nothing again. */
function idOf(run: PullRun, series: StoredPages, before: string | null): string {
  const { ticker, timeframe, field } = series
  const page = [run.id, ticker, timeframe, field, series.kept[0]?.pulled_at ?? null, before]
  return createHash('sha256').update(JSON.stringify(page)).digest('hex').slice(0, 32)
}

function outcomeOf({ refusal, requested, complete, credits, fresh }: Item): Outcome {
  if (refusal !== null) return 'refused'
  if (!complete) return 'unfinished'
  if (!requested) return 'done'
  if (credits === 0) return 'unchanged'
  return fresh ? 'pulled' : 'updated'
}

/** How many events were not there before, by their dates, and how many are other than they were. */
function countDifferences(item: Item, before: readonly BandEvent[], after: readonly BandEvent[]): void {
  const known = new Map(before.map(event => [event.date, event]))
  const again = after.filter(({ date }) => known.has(date))
  item.added += after.length - again.length
  item.changed += again.filter(event => !isDeepStrictEqual(event, known.get(event.date))).length
}
