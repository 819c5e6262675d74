import { createHash } from 'node:crypto'
import { type NotFound, parameter, remedy, sentence, type TierRestricted, wrong } from '../errors.js'
import type { SeriesKey } from '../model/event.js'
import {
  isMixed,
  keyOf,
  nameOf,
  type PageStore,
  type PulledEntry,
  type PullRun,
  type StoredPage,
  type StoredPages,
} from '../store/pages.js'
import type { Store } from '../store/store.js'
import { eventsCost } from '../tiers.js'
import type { Credits } from './answer.js'
import { chainOf, listed, PAGE, pageAgain } from './pages.js'

/** What a pull would do and cost, told before anything is asked. */

export interface PullRequest {
  series: readonly SeriesKey[]
  /** Begin each series again, whatever was pulled before, and from whom. */
  replace: boolean
}

/** What of a store concerns a pull. */
export type PullStore = Pick<Store, 'pages' | 'ticker'>

/** `new`: nothing of it is there. `rest`: a pull was stopped in it. `update`: it is there. `done`: by this very run. */
type Due = 'new' | 'rest' | 'update' | 'done'

export interface Planned extends SeriesKey {
  due: Due
  price: Price
}

/** In the order in which it asks. */
export interface PullPlan {
  url: string
  /** The run that it goes on with; null: a new one. */
  run: PullRun | null
  series: Planned[]
  price: Price
}

/** Credits that something will cost: at least, and at most where that is known. */
export interface Price {
  least: number
  most: number | null
}

/** What `GET /v1/events` costs without a context. */
export const PAGE_COST = eventsCost({})

/** A pull that was stopped is gone on with for so long; after that its first series are old. */
const RUN_LIFE = 24 * 3_600_000

/** A digest of a request, the same in whatever order its series are named. */
export function digestOf({ series, replace }: PullRequest): string {
  const names = series.map(key => JSON.stringify(keyOf(key))).sort()
  return createHash('sha256')
    .update(JSON.stringify([replace, [...new Set(names)]]))
    .digest('hex')
}

/**
 * Looks at what is there; nothing is asked and nothing written. First what is not there, then what was begun, then what
 * may have changed, the oldest first: where credits end too early, everything has its turn. Throws InvalidParameter for a
 * ticker that has bars, or that another server has told of.
 * @param store null: there is no database yet
 */
export async function planOf(store: PullStore | null, url: string, request: PullRequest, now: Date): Promise<PullPlan> {
  if (store === null) return planned(null, url, request, null)
  const tickers = [...new Set(request.series.map(({ ticker }) => ticker))]
  await checkBars(store, tickers)
  if (!request.replace) await checkSource(store.pages, tickers, url)
  const run = await store.pages.run()
  const isStopped = run !== null && run.url === url && run.asked === digestOf(request)
  const stopped = isStopped && now.getTime() - Date.parse(run.started) < RUN_LIFE ? run : null
  const plan = await planned(store.pages, url, request, stopped)
  // Of a run that has nothing left to do only the end was missing: this is another one.
  const isOver = stopped !== null && plan.series.every(({ due }) => due === 'done')
  return isOver ? planned(store.pages, url, request, null) : plan
}

async function planned(
  pages: PageStore | null,
  url: string,
  { series, replace }: PullRequest,
  run: PullRun | null,
): Promise<PullPlan> {
  const found: { one: Planned; order: string }[] = []
  for (const key of distinct(series)) {
    const { due, whole, series: kept } = await standingOf(pages, key, url, { replace, run })
    const price = due === 'done' ? { least: 0, most: 0 } : priceOf(kept, { whole })
    const order = ORDER.indexOf(due) + (kept.kept[0]?.pulled_at ?? '')
    found.push({ one: { ...keyOf(key), due, price }, order })
  }
  const ordered = found.sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0)).map(({ one }) => one)
  return { url, run, series: ordered, price: summed(ordered.map(({ price }) => price)) }
}

const ORDER: readonly Due[] = ['new', 'rest', 'update', 'done']

/** How a series stands to a pull. */
interface Standing {
  due: Due
  /** What counts as there; without a page where nothing does. */
  series: StoredPages
  /** What is kept is asked for as if it were not there: with `replace`, until this run itself has pulled it. */
  whole: boolean
}

export async function standingOf(
  pages: PageStore | null,
  key: SeriesKey,
  url: string,
  { replace, run }: { replace: boolean; run: PullRun | null },
): Promise<Standing> {
  const found = (await pages?.series(key)) ?? null
  if (found === null || found.url !== url)
    return { due: 'new', series: { ...keyOf(key), url, kept: [], coming: [] }, whole: replace }
  const isOfRun = (page: StoredPage | undefined): boolean =>
    run !== null && page !== undefined && page.pulled_at >= run.started
  const [newest] = found.kept
  const goesOn = !replace || isOfRun(found.coming[0] ?? newest)
  const series = goesOn ? found : { ...found, coming: [] }
  return { due: dueOf(series, isOfRun(newest)), series, whole: replace && !isOfRun(newest) }
}

function dueOf({ kept, coming }: StoredPages, isOfRun: boolean): Due {
  if (coming.length > 0) return 'rest'
  if (kept.length === 0) return 'new'
  return isOfRun && !isMixed(kept) ? 'done' : 'update'
}

async function checkBars(store: PullStore, tickers: readonly string[]): Promise<void> {
  const barred: string[] = []
  for (const ticker of tickers) if ((await store.ticker(ticker)) !== null) barred.push(ticker)
  const [first] = barred
  if (first === undefined) return
  const has = barred.length === 1 ? `${first} has bars` : `${listed(barred)} have bars`
  const message = sentence`${has} here, and the events of one ticker come from one source: pull into another database (${parameter('db', 'FILE')}), or remove its bars first.`
  throw wrong('ticker', message, { value: first }, { remedy: remedy('remove', [first]) })
}

async function checkSource(pages: PageStore, tickers: readonly string[], url: string): Promise<void> {
  const other: PulledEntry[] = []
  for (const ticker of tickers) {
    const [entry] = await pages.entries(ticker)
    if (entry !== undefined && entry.url !== url) other.push(entry)
  }
  const [first] = other
  if (first === undefined) return
  const from = [...new Set(other.map(entry => entry.url))].join(', ')
  const was = other.length === 1 ? `${first.ticker} was` : `${listed(other.map(({ ticker }) => ticker))} were`
  const keep = sentence`${parameter('replace')} begins again and drops what was there, ${parameter('db', 'FILE')} keeps both apart`
  const message = sentence`${was} pulled from ${from} before, not from ${url}: ${keep}.`
  throw wrong('ticker', message, { value: first.ticker })
}

function distinct(series: readonly SeriesKey[]): SeriesKey[] {
  return [...new Map(series.map(key => [nameOf(key), key])).values()]
}

/** What a series costs from here on; of one that nothing has been told of yet nobody knows more than that it is asked. */
export function priceOf(series: StoredPages, { whole }: { whole: boolean }): Price {
  const [known, now] = [chainOf(series.kept), chainOf(series.coming)]
  if (now === null) return { least: whole || pageAgain(series, null) === null ? PAGE_COST : 0, most: null }
  const most = Math.max(1, Math.ceil((now.total_occurrences - now.events.length) / PAGE)) * PAGE_COST
  const isAll = whole || known === null || known.query_range !== now.query_range
  return { least: isAll ? most : PAGE_COST, most }
}

export function summed(prices: readonly Price[]): Price {
  const known = prices.every(({ most }) => most !== null)
  return {
    least: prices.reduce((sum, { least }) => sum + least, 0),
    most: known ? prices.reduce((sum, { most }) => sum + most!, 0) : null,
  }
}

/**
 * `pulled`: nothing of it was there. `updated`: what could have changed was told. `unchanged`: nothing had. `done`: it was
 * pulled earlier in a run that this one goes on with. `unfinished`: pages are missing; `refused`: the server does not give
 * it.
 */
export type Outcome = 'pulled' | 'updated' | 'unchanged' | 'done' | 'unfinished' | 'refused'

/** What became of one series. */
export interface SeriesReport extends SeriesKey {
  outcome: Outcome
  /** Requests that were answered for it with a page, a credit each. */
  credits: number
  /** Kept now; of these, how many were not there before, and how many are other than they were. */
  events: number
  added: number
  changed: number
  query_range: string | null
  pulled_at: string | null
  as_of: string | null
  /** Why it was asked for anew. */
  note: string | null
  refusal: NotFound | TierRestricted | null
}

/** Credits of the caller after an answer; null where the server does not tell. */
export interface CreditsLeft {
  day: number | null
  hour: number | null
}

export function leftOf(credits: Credits | null): CreditsLeft {
  return { day: credits?.day?.remaining ?? null, hour: credits?.hour?.remaining ?? null }
}

/** What became of a pull; what is there stays there, and the same pull goes on from it. */
export interface PullReport {
  url: string
  credits: number
  left: CreditsLeft | null
  /** What it would still cost. */
  price: Price
  series: SeriesReport[]
  /** `credits`: as many were spent as were allowed. `error`: see there. null: it came to its end. */
  stopped: 'credits' | 'error' | null
  error: unknown
}
