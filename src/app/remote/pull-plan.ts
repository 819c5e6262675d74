import { createHash } from 'node:crypto'
import { type NotFound, parameter, remedy, sentence, type TierRestricted, wrong } from '../../core/errors.js'
import type { SeriesKey } from '../../core/model/event.js'
import { firstOf } from '../../core/numbers.js'
import { eventsCost } from '../../core/tiers.js'
import {
  haveGaps,
  keyOf,
  nameOf,
  type PageStore,
  type PulledEntry,
  type PullRun,
  type StoredPage,
  type StoredPages,
} from '../../data/store/pages.js'
import type { Store } from '../../data/store/store.js'
import type { Credits } from './answer.js'
import { chainOf, MAX_PAGE_EVENTS, pageToRevalidate } from './pages.js'

/** The actions and the price of a pull, before any request. */

export interface PullRequest {
  series: readonly SeriesKey[]
  /** Pull each series again from the start, regardless of earlier pulls and their server. */
  replace: boolean
}

/** What of a store concerns a pull. */
export type PullStore = Pick<Store, 'pages' | 'ticker'>

/** `new`: not stored. `rest`: a stopped pull. `update`: stored. `done`: pulled by this very run. */
type PullStep = 'new' | 'rest' | 'update' | 'done'

export interface Planned extends SeriesKey {
  due: PullStep
  price: Price
}

/** Series in the order of the requests. */
export interface PullPlan {
  url: string
  /** The stopped run to continue; null: a new one. */
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

/** How long a stopped pull can be continued; after that its first series are too old. */
const RUN_LIFE = 24 * 3_600_000

/** A digest of a request, independent of the order of its series. */
export function digestOf({ series, replace }: PullRequest): string {
  const names = series.map(key => JSON.stringify(keyOf(key))).sort()
  return createHash('sha256')
    .update(JSON.stringify([replace, [...new Set(names)]]))
    .digest('hex')
}

/**
 * Plans a pull; sends no request and writes nothing. The order is: new series, unfinished ones, then updates, the
 * oldest first. So each series gets its turn even when credits run out. Throws InvalidParameter for a ticker that has
 * bars, or that was pulled from another server.
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
  // A stopped run with nothing left to do only missed its end: this is a new run.
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
    const { due, whole, series: kept } = await pullState(pages, key, url, { replace, run })
    const price = due === 'done' ? { least: 0, most: 0 } : priceOf(kept, { whole })
    const order = ORDER.indexOf(due) + (kept.kept[0]?.pulled_at ?? '')
    found.push({ one: { ...keyOf(key), due, price }, order })
  }
  const ordered = found.sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0)).map(({ one }) => one)
  return { url, run, series: ordered, price: summed(ordered.map(({ price }) => price)) }
}

const ORDER: readonly PullStep[] = ['new', 'rest', 'update', 'done']

interface PullState {
  due: PullStep
  /** The stored pages that count; none for a new series. */
  series: StoredPages
  /** Ignore stored pages: with `replace`, until this run has pulled the series. */
  whole: boolean
}

export async function pullState(
  pages: PageStore | null,
  key: SeriesKey,
  url: string,
  { replace, run }: { replace: boolean; run: PullRun | null },
): Promise<PullState> {
  const found = (await pages?.series(key)) ?? null
  if (found === null || found.url !== url)
    return { due: 'new', series: { ...keyOf(key), url, kept: [], coming: [] }, whole: replace }
  const isOfRun = (page: StoredPage | undefined): boolean =>
    run !== null && page !== undefined && page.pulled_at >= run.started
  const [newest] = found.kept
  const goesOn = !replace || isOfRun(found.coming[0] ?? newest)
  const series = goesOn ? found : { ...found, coming: [] }
  return { due: stepOf(series, isOfRun(newest)), series, whole: replace && !isOfRun(newest) }
}

function stepOf({ kept, coming }: StoredPages, isOfRun: boolean): PullStep {
  if (coming.length > 0) return 'rest'
  if (kept.length === 0) return 'new'
  return isOfRun && !haveGaps(kept) ? 'done' : 'update'
}

async function checkBars(store: PullStore, tickers: readonly string[]): Promise<void> {
  const barred: string[] = []
  for (const ticker of tickers) if ((await store.ticker(ticker)) !== null) barred.push(ticker)
  const [first] = barred
  if (first === undefined) return
  const has = barred.length === 1 ? `${first} has bars` : `${firstOf(barred)} have bars`
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
  const was = other.length === 1 ? `${first.ticker} was` : `${firstOf(other.map(({ ticker }) => ticker))} were`
  const keep = sentence`${parameter('replace')} begins again and drops the copy, ${parameter('db', 'FILE')} keeps both apart`
  const message = sentence`${was} pulled from ${from} before, not from ${url}: ${keep}.`
  throw wrong('ticker', message, { value: first.ticker })
}

function distinct(series: readonly SeriesKey[]): SeriesKey[] {
  return [...new Map(series.map(key => [nameOf(key), key])).values()]
}

/** The remaining price of a series; before its first page only the minimum is known. */
export function priceOf(series: StoredPages, { whole }: { whole: boolean }): Price {
  const known = chainOf(series.kept)
  const now = chainOf(series.coming)
  if (now === null) return { least: whole || pageToRevalidate(series, null) === null ? PAGE_COST : 0, most: null }
  const most = Math.max(1, Math.ceil((now.total_occurrences - now.events.length) / MAX_PAGE_EVENTS)) * PAGE_COST
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
 * `pulled`: it was new. `updated`: what could have changed was pulled. `unchanged`: nothing had changed. `done`: this
 * run had pulled it before it was stopped. `unfinished`: pages are missing. `refused`: the server does not provide it.
 */
export type Outcome = 'pulled' | 'updated' | 'unchanged' | 'done' | 'unfinished' | 'refused'

/** What became of one series. */
export interface SeriesReport extends SeriesKey {
  outcome: Outcome
  /** Requests that were answered for it with a page, a credit each. */
  credits: number
  /** Stored now; how many of these are new, and how many have changed. */
  events: number
  added: number
  changed: number
  query_range: string | null
  pulled_at: string | null
  as_of: string | null
  /** Why it was pulled again from the start. */
  note: string | null
  refusal: NotFound | TierRestricted | null
}

/** The caller's credits after an answer; null if the server does not say. */
export interface CreditsLeft {
  day: number | null
  hour: number | null
}

export function leftOf(credits: Credits | null): CreditsLeft {
  return { day: credits?.day?.remaining ?? null, hour: credits?.hour?.remaining ?? null }
}

/** The result of a pull; stored pages stay, and the same pull continues from them. */
export interface PullReport {
  url: string
  credits: number
  creditsLeft: CreditsLeft | null
  /** Credits that the unfinished series still need. */
  creditsMissing: Price
  series: SeriesReport[]
  /** `credits`: as many were spent as were allowed. `error`: see there. null: it came to its end. */
  stopped: 'credits' | 'error' | null
  error: unknown
}
