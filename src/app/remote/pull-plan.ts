import { createHash } from 'node:crypto'
import { type NotFound, parameter, remedy, sentence, type TierRestricted, wrong } from '../../core/errors.js'
import type { SeriesKey } from '../../core/model/event.js'
import { firstNames } from '../../core/numbers.js'
import { eventsCost } from '../../core/tiers.js'
import {
  haveGaps,
  keyOf,
  mapKeyOf,
  type PageStore,
  type PulledEntry,
  type PullRun,
  type StoredPage,
  type StoredPages,
} from '../../data/store/pages.js'
import type { Store } from '../../data/store/store.js'
import type { Credits } from './answer.js'
import { joinPages, MAX_PAGE_EVENTS, pageToRevalidate } from './pages.js'

/** The actions and the price of a pull, before any request. */

export interface PullRequest {
  series: readonly SeriesKey[]
  /** Pull each series again from the start, regardless of earlier pulls and their server. */
  replace: boolean
}

export type PullStore = Pick<Store, 'pages' | 'ticker'>

/** `new`: not stored. `rest`: a stopped pull. `update`: stored. `done`: pulled by this very run. */
type PullStep = 'new' | 'rest' | 'update' | 'done'

export interface PlannedSeries extends SeriesKey {
  nextStep: PullStep
  price: Price
}

/** Series in the order of the requests. */
export interface PullPlan {
  url: string
  /** The stopped run to continue; null: a new one. */
  run: PullRun | null
  series: PlannedSeries[]
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
const MAX_RUN_AGE_MS = 24 * 3_600_000

/** The SHA-256 of a request, in hex; the same for any order of its series. */
export function requestDigest({ series, replace }: PullRequest): string {
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
export async function makePullPlan(
  store: PullStore | null,
  url: string,
  request: PullRequest,
  now: Date,
): Promise<PullPlan> {
  if (store === null) return planSeries(null, url, request, null)
  const tickers = [...new Set(request.series.map(({ ticker }) => ticker))]
  await refuseTickersWithBars(store, tickers)
  if (!request.replace) await refuseOtherSources(store.pages, tickers, url)
  const run = await store.pages.run()
  const isSamePull = run !== null && run.url === url && run.asked === requestDigest(request)
  const stoppedRun = isSamePull && now.getTime() - Date.parse(run.started) < MAX_RUN_AGE_MS ? run : null
  const plan = await planSeries(store.pages, url, request, stoppedRun)
  // A run that was stopped after its last series has nothing left to pull, so this is a new run.
  const isOver = stoppedRun !== null && plan.series.every(({ nextStep }) => nextStep === 'done')
  return isOver ? planSeries(store.pages, url, request, null) : plan
}

/** Plans the series of a request, by STEP_ORDER, oldest first. @param run the stopped run that continues; null: none */
async function planSeries(
  pages: PageStore | null,
  url: string,
  { series, replace }: PullRequest,
  run: PullRun | null,
): Promise<PullPlan> {
  const unordered: { planned: PlannedSeries; pulledAt: string }[] = []
  const distinctSeries = new Map(series.map(key => [mapKeyOf(key), key])).values()
  for (const key of distinctSeries) {
    const state = await readPullState(pages, key, url, { replace, run })
    const price = state.nextStep === 'done' ? { least: 0, most: 0 } : priceOf(state.series, state)
    const pulledAt = state.series.kept[0]?.pulled_at ?? ''
    unordered.push({ planned: { ...keyOf(key), nextStep: state.nextStep, price }, pulledAt })
  }
  unordered.sort((a, b) => {
    const byStep = STEP_ORDER.indexOf(a.planned.nextStep) - STEP_ORDER.indexOf(b.planned.nextStep)
    if (byStep !== 0) return byStep
    return a.pulledAt < b.pulledAt ? -1 : Number(a.pulledAt > b.pulledAt)
  })
  const ordered = unordered.map(({ planned }) => planned)
  return { url, run, series: ordered, price: sumPrices(ordered.map(({ price }) => price)) }
}

const STEP_ORDER: readonly PullStep[] = ['new', 'rest', 'update', 'done']

interface PullState {
  nextStep: PullStep
  /** `kept`: pages that answer questions. `coming`: those of an unfinished pull. Both are empty for a new series. */
  series: StoredPages
  /** Whether stored pages are ignored: with `replace`, until this run has pulled the series to its end. */
  startsAgain: boolean
}

/** Reads the next step of a series, and its pages. @param run the stopped run that continues; null: none */
export async function readPullState(
  pages: PageStore | null,
  key: SeriesKey,
  url: string,
  { replace, run }: { replace: boolean; run: PullRun | null },
): Promise<PullState> {
  const stored = (await pages?.series(key)) ?? null
  if (stored === null || stored.url !== url)
    return { nextStep: 'new', series: { ...keyOf(key), url, kept: [], coming: [] }, startsAgain: replace }
  const isOfRun = (page: StoredPage | undefined): boolean =>
    run !== null && page !== undefined && page.pulled_at >= run.started
  const newest = stored.kept[0]
  // With `replace`, an unfinished pull of another run, whose pages are `coming`, begins again.
  const series = !replace || isOfRun(stored.coming[0]) ? stored : { ...stored, coming: [] }
  const wasPulled = isOfRun(newest)
  return { nextStep: stepOf(series, { wasPulled }), series, startsAgain: replace && !wasPulled }
}

/** The next step of a series. @param wasPulled whether the run that continues has pulled its newest page */
function stepOf({ kept, coming }: StoredPages, { wasPulled }: { wasPulled: boolean }): PullStep {
  if (coming.length > 0) return 'rest'
  if (kept.length === 0) return 'new'
  return wasPulled && !haveGaps(kept) ? 'done' : 'update'
}

/** Throws InvalidParameter for a ticker that has bars here. */
async function refuseTickersWithBars(store: PullStore, tickers: readonly string[]): Promise<void> {
  const withBars: string[] = []
  for (const ticker of tickers) if ((await store.ticker(ticker)) !== null) withBars.push(ticker)
  const first = withBars[0]
  if (first === undefined) return
  const subject = withBars.length === 1 ? `${first} has bars` : `${firstNames(withBars)} have bars`
  const message = sentence`${subject} here, and the events of one ticker come from one source: pull into another database (${parameter('db', 'FILE')}), or remove its bars first.`
  throw wrong('ticker', message, { value: first }, { remedy: remedy('remove', [first]) })
}

/** Throws InvalidParameter for a ticker that was pulled from another server. */
async function refuseOtherSources(pages: PageStore, tickers: readonly string[], url: string): Promise<void> {
  const fromOthers: PulledEntry[] = []
  for (const ticker of tickers) {
    // All series of a ticker come from one server.
    const entry = (await pages.entries(ticker))[0]
    if (entry !== undefined && entry.url !== url) fromOthers.push(entry)
  }
  const first = fromOthers[0]
  if (first === undefined) return
  const from = [...new Set(fromOthers.map(entry => entry.url))].join(', ')
  const names = firstNames(fromOthers.map(({ ticker }) => ticker))
  const subject = fromOthers.length === 1 ? `${first.ticker} was` : `${names} were`
  const advice = sentence`${parameter('replace')} begins again and drops the copy, ${parameter('db', 'FILE')} keeps both apart`
  const message = sentence`${subject} pulled from ${from} before, not from ${url}: ${advice}.`
  throw wrong('ticker', message, { value: first.ticker })
}

/**
 * The price of the pages that a series still needs; before the first of its `coming` pages only `least` is known.
 * @param startsAgain whether stored pages are ignored
 */
export function priceOf(series: StoredPages, { startsAgain }: { startsAgain: boolean }): Price {
  const kept = joinPages(series.kept)
  const coming = joinPages(series.coming)
  // An unchanged page costs nothing. The first request is for the newest page: null.
  const canRevalidate = !startsAgain && pageToRevalidate(series, null) !== null
  if (coming === null) return { least: canRevalidate ? 0 : PAGE_COST, most: null }
  const eventsLeft = coming.total_occurrences - coming.events.length
  const most = Math.max(1, Math.ceil(eventsLeft / MAX_PAGE_EVENTS)) * PAGE_COST
  // Otherwise the pull ends where its pages meet the stored ones.
  const needsAll = startsAgain || kept === null || kept.query_range !== coming.query_range
  return { least: needsAll ? most : PAGE_COST, most }
}

/** The sum of some prices; its maximum is null if one of them is not known. */
export function sumPrices(prices: readonly Price[]): Price {
  const isMostKnown = prices.every(({ most }) => most !== null)
  return {
    least: prices.reduce((sum, { least }) => sum + least, 0),
    most: isMostKnown ? prices.reduce((sum, { most }) => sum + most!, 0) : null,
  }
}

/**
 * `pulled`: it was new. `updated`: what could have changed was pulled. `unchanged`: nothing had changed. `done`: this
 * run had pulled it before it was stopped. `unfinished`: pages are missing. `refused`: the server does not provide it.
 */
export type Outcome = 'pulled' | 'updated' | 'unchanged' | 'done' | 'unfinished' | 'refused'

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

export interface CreditsLeft {
  day: number | null
  hour: number | null
}

/** The remaining credits of a day and an hour; null for each that the server does not say. */
export function creditsLeftOf(credits: Credits | null): CreditsLeft {
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
