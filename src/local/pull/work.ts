import { createHash } from 'node:crypto'
import { NotFound, TierRestricted } from '../../errors.js'
import type { PulledSeries, PullRun } from '../../model/pulled.js'
import type { Store } from '../../store/store.js'
import { keyOf } from '../pulled-marks.js'
import {
  type Anew,
  type CreditsLeft,
  checkTier,
  knownEtag,
  nextQuery,
  PAGE_COST,
  type PageSource,
  type SourcedPage,
  withPage,
} from './pages.js'
import {
  differences,
  keptOf,
  NOTES,
  type Outcome,
  type Planned,
  type Price,
  type PullPlan,
  type PullReport,
  type PullRequest,
  priceOf,
  reportOf,
  type SeriesReport,
  summed,
} from './plan.js'

/** Who wants to hear how far a pull is. */
export interface PullWatch {
  /** Once the first pages have told how many there are: what the others will cost. */
  onPriced?(price: Price, left: CreditsLeft): void | Promise<void>
  onPage?(progress: { ticker: string; field: string; done: number; of: number; credits: number }): void
}

interface WorkParts {
  store: Store
  source: PageSource
  request: PullRequest
  plan: PullPlan
  run: PullRun
  now: () => Date
}

/** As many credits are spent as are allowed. */
class Spent extends Error {}

/** A series whose server changes under every pull is left to the next run. */
const MOST_MIXED = 3

/** One pull at work. */
export class Work {
  readonly #parts: WorkParts
  readonly #watch: PullWatch
  readonly #items: Item[]
  readonly #refusals = new Map<string, NotFound | TierRestricted>()
  #credits = 0
  #most = Number.POSITIVE_INFINITY
  #left: CreditsLeft | null = null
  /** What the server told last of the day it answers as of, and of the range of this key. */
  #asOf: string | null = null
  #range: string | null = null

  constructor(parts: WorkParts, watch: PullWatch) {
    this.#parts = parts
    this.#watch = watch
    this.#items = parts.plan.series.map(itemOf)
  }

  /** To the end, or to where it has to stop. */
  async done(maxCredits: number | null): Promise<PullReport> {
    this.#most = maxCredits ?? Number.POSITIVE_INFINITY
    try {
      // Under a limit, series are finished one by one, so that as many as possible can answer.
      if (maxCredits === null) await this.#firstPages()
      for (const item of this.#items) await this.#finish(item)
      return this.#report(null, null)
    } catch (error) {
      return error instanceof Spent ? this.#report('credits', null) : this.#report('error', error)
    }
  }

  async #firstPages(): Promise<void> {
    for (const item of this.#items) if (item.due === 'new' || item.due === 'update') await this.#ask(item)
    const price = this.#price()
    if (this.#left !== null && price.least > 0) await this.#watch.onPriced?.(price, this.#left)
  }

  async #finish(item: Item): Promise<void> {
    if (item.due === 'done' && (await this.#isOld(item))) item.complete = false
    while (!item.complete && item.refusal === null && item.mixed < MOST_MIXED) await this.#ask(item)
  }

  /**
   * What this run has pulled before it was stopped is asked for again only when the server has a new day; where it does not
   * tell, when there is a new one here.
   */
  async #isOld(item: Item): Promise<boolean> {
    const { as_of, pulled_at } = (await this.#parts.store.pulled.series(item))!
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
    this.#tell(item)
  }

  async #askPage(item: Item): Promise<void> {
    const { source, request, run } = this.#parts
    const kept = await this.#kept(item)
    const known = this.#refusals.get(item.ticker) ?? this.#refusals.get(item.field)
    if (known !== undefined) throw known
    const whole = request.replace && kept?.under_way == null && !item.asked
    if (this.#range !== null && !whole && kept !== null) checkTier(item, kept.query_range, this.#range)
    if (this.#credits + PAGE_COST > this.#most) throw new Spent()
    const asking = { name: nameOf(run, item, kept), etag: whole ? null : knownEtag(kept) }
    const answer = await this.#answered(source.page(nextQuery(item, kept), asking), item)
    item.asked = true
    this.#left = answer.left
    if (answer.asOf !== null && answer.asOf > (this.#asOf ?? '')) this.#asOf = answer.asOf
    await this.#keep(item, kept, answer, whole)
  }

  async #keep(item: Item, kept: PulledSeries | null, { page, ...answer }: SourcedPage, whole: boolean): Promise<void> {
    const { store, source, now } = this.#parts
    const at = now().toISOString()
    if (page === null) {
      await store.pulled.put({ ...kept!, pulled_at: at, as_of: answer.asOf ?? kept!.as_of })
      item.complete = true
      return
    }
    item.credits += PAGE_COST
    this.#credits += PAGE_COST
    this.#range = page.query_range
    const { series, anew } = withPage(item, kept, { ...answer, page, at }, { url: source.url, whole })
    await store.pulled.put(series)
    this.#note(item, series, anew)
    // Until its last page is there, the events are those of before.
    if (series.under_way !== null) return
    const { added, changed } = differences(kept?.events ?? [], series.events)
    item.added += added
    item.changed += changed
  }

  /** A ticker that is not there has no other fields, and a field above the tier no other tickers. */
  async #answered(asking: Promise<SourcedPage>, { ticker, field }: Item): Promise<SourcedPage> {
    try {
      return await asking
    } catch (error) {
      if (error instanceof NotFound) this.#refusals.set(ticker, error)
      if (error instanceof TierRestricted) this.#refusals.set(field, error)
      throw error
    }
  }

  async #kept(item: Item): Promise<PulledSeries | null> {
    const { store, source, request, plan } = this.#parts
    if (item.asked) return store.pulled.series(item)
    const kept = await keptOf(store, item, source.url, { replace: request.replace, run: plan.run })
    item.fresh = kept === null || kept.state === 'partial'
    return kept
  }

  #note(item: Item, after: PulledSeries, anew: Anew | null): void {
    item.complete = after.under_way === null && after.state === 'complete'
    item.price = priceOf(after)
    if (after.under_way === null && after.state === 'mixed') item.mixed++
    if (anew !== null) item.note = NOTES[anew](after.under_way?.query_range ?? after.query_range)
  }

  #price(): Price {
    const open = this.#items.filter(item => item.refusal === null && !item.complete)
    return summed(open.map(({ price }) => price))
  }

  #tell({ ticker, field }: Item): void {
    const done = this.#items.filter(item => item.refusal !== null || item.complete).length
    this.#watch.onPage?.({ ticker, field, done, of: this.#items.length, credits: this.#credits })
  }

  async #report(stopped: PullReport['stopped'], error: unknown): Promise<PullReport> {
    const series: SeriesReport[] = []
    for (const item of this.#items) {
      const kept = await this.#parts.store.pulled.series(item)
      series.push(reportOf(item, outcomeOf(item), kept, item))
    }
    const { url } = this.#parts.source
    return { url, credits: this.#credits, left: this.#left, price: this.#price(), series, stopped, error }
  }
}

/** The same for the same page of the same run, so that a page that was paid for and lost costs nothing again. */
function nameOf(run: PullRun, item: Item, kept: PulledSeries | null): string {
  const { ticker, timeframe, field } = keyOf(item)
  const page = [run.id, ticker, timeframe, field, kept?.pulled_at ?? null, kept?.under_way?.before ?? null]
  return createHash('sha256').update(JSON.stringify(page)).digest('hex').slice(0, 32)
}

/** One series of a pull at work. */
interface Item extends Planned {
  asked: boolean
  complete: boolean
  credits: number
  /** Nothing of it has answered before. */
  fresh: boolean
  added: number
  changed: number
  /** Times that its pages were of different days. */
  mixed: number
  refusal: NotFound | TierRestricted | null
  note: string | null
}

function itemOf(planned: Planned): Item {
  return {
    ...planned,
    asked: false,
    complete: planned.due === 'done',
    credits: 0,
    fresh: false,
    added: 0,
    changed: 0,
    mixed: 0,
    refusal: null,
    note: null,
  }
}

function outcomeOf({ refusal, asked, complete, credits, fresh }: Item): Outcome {
  if (refusal !== null) return 'refused'
  if (!complete) return 'unfinished'
  if (!asked) return 'done'
  if (credits === 0) return 'unchanged'
  return fresh ? 'pulled' : 'updated'
}
