import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { InvalidParameter, type NotFound, parameter, remedy, sentence, type TierRestricted } from '../../errors.js'
import type { BandEvent } from '../../model/event.js'
import type { PulledEntry, PulledSeries, PullRun, SeriesKey } from '../../model/pulled.js'
import type { Store } from '../../store/store.js'
import { keyOf, listed } from '../pulled-marks.js'
import { type Anew, type CreditsLeft, knownEtag, PAGE, PAGE_COST } from './pages.js'

export interface PullRequest {
  series: readonly SeriesKey[]
  /** Begin each series again, whatever was pulled before, and from whom. */
  replace: boolean
}

/** `new`: nothing of it is there. `rest`: a pull was stopped in it. `update`: it is there. `done`: by this very run. */
type Due = 'new' | 'rest' | 'update' | 'done'

export interface Planned extends SeriesKey {
  due: Due
  price: Price
}

/** What a pull will do and cost, in the order in which it asks. */
export interface PullPlan {
  url: string
  /** The run that it goes on with; null: a new one. */
  run: PullRun | null
  series: Planned[]
  price: Price
}

/** A digest of a request, the same in whatever order its series are named. */
export function digestOf({ series, replace }: PullRequest): string {
  const names = series.map(key => JSON.stringify(keyOf(key))).sort()
  return createHash('sha256')
    .update(JSON.stringify([replace, [...new Set(names)]]))
    .digest('hex')
}

/** A pull that was stopped is gone on with for so long; after that its first series are old. */
const RUN_LIFE = 24 * 3_600_000

/** The run that was stopped, if this one goes on with it: the same request to the same server. */
async function stoppedRun(
  store: Store,
  { url, asked }: Pick<PullRun, 'url' | 'asked'>,
  now: Date,
): Promise<PullRun | null> {
  const run = await store.pulled.run()
  if (run === null || run.url !== url || run.asked !== asked) return null
  return now.getTime() - Date.parse(run.started) < RUN_LIFE ? run : null
}

/**
 * Looks at what is there; nothing is asked and nothing written. First what is not there, then what was begun, then what
 * may have changed, the oldest first: where credits end too early, everything has its turn. Throws InvalidParameter for a
 * ticker that has bars, or that another server has told of.
 */
export async function planOf(store: Store, url: string, request: PullRequest, now: Date): Promise<PullPlan> {
  const tickers = [...new Set(request.series.map(({ ticker }) => ticker))]
  await checkBars(store, tickers)
  if (!request.replace) await checkSource(store, tickers, url)
  const stopped = await stoppedRun(store, { url, asked: digestOf(request) }, now)
  const plan = await planned(store, url, request, stopped)
  // Of a run that has nothing left to do only the end was missing: this is another one.
  const isOver = stopped !== null && plan.series.every(({ due }) => due === 'done')
  return isOver ? planned(store, url, request, null) : plan
}

/** The same where there is no database yet. */
export function planOfNothing(url: string, { series }: PullRequest): PullPlan {
  const ordered = distinct(series).map((key): Planned => ({ ...keyOf(key), due: 'new', price: priceOf(null) }))
  return { url, run: null, series: ordered, price: summed(ordered.map(({ price }) => price)) }
}

async function planned(
  store: Store,
  url: string,
  { series, replace }: PullRequest,
  run: PullRun | null,
): Promise<PullPlan> {
  const found: (Planned & { pulled_at: string })[] = []
  for (const key of distinct(series)) {
    const kept = await keptOf(store, key, url, { replace, run })
    const due = dueOf(kept, run)
    const price = due === 'done' ? { least: 0, most: 0 } : priceOf(kept)
    found.push({ ...keyOf(key), due, price, pulled_at: kept?.pulled_at ?? '' })
  }
  const order = (planned: (typeof found)[number]): string => ORDER.indexOf(planned.due) + planned.pulled_at
  const sorted = found.toSorted((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0))
  const ordered = sorted.map(({ pulled_at: _pulled, ...rest }) => rest)
  return { url, run, series: ordered, price: summed(ordered.map(({ price }) => price)) }
}

const ORDER: readonly Due[] = ['new', 'rest', 'update', 'done']

/** What counts as there: with `replace`, only what this run itself has pulled. */
export async function keptOf(
  store: Store,
  key: SeriesKey,
  url: string,
  { replace, run }: { replace: boolean; run: PullRun | null },
): Promise<PulledSeries | null> {
  const kept = await store.pulled.series(key)
  if (kept === null || kept.url !== url) return null
  if (!replace || (kept.under_way === null && isOf(run, kept.pulled_at))) return kept
  if (kept.under_way !== null && isOf(run, kept.under_way.pulled_at)) return kept
  return { ...kept, under_way: null }
}

function dueOf(kept: PulledSeries | null, run: PullRun | null): Due {
  if (kept === null) return 'new'
  if (kept.under_way !== null) return 'rest'
  return kept.state === 'complete' && isOf(run, kept.pulled_at) ? 'done' : 'update'
}

function isOf(run: PullRun | null, at: string): boolean {
  return run !== null && at >= run.started
}

async function checkBars(store: Store, tickers: readonly string[]): Promise<void> {
  const barred: string[] = []
  for (const ticker of tickers) if ((await store.ticker(ticker)) !== null) barred.push(ticker)
  const [first] = barred
  if (first === undefined) return
  const has = barred.length === 1 ? `${first} has bars` : `${listed(barred)} have bars`
  const message = sentence`${has} here, and the events of one ticker come from one source: pull into another database (${parameter('db', 'FILE')}), or remove its bars first.`
  throw new InvalidParameter(message, { param: 'ticker', value: first }, { remedy: remedy('remove', [first]) })
}

async function checkSource(store: Store, tickers: readonly string[], url: string): Promise<void> {
  const other: PulledEntry[] = []
  for (const ticker of tickers) {
    const [entry] = await store.pulled.entries(ticker)
    if (entry !== undefined && entry.url !== url) other.push(entry)
  }
  const [first] = other
  if (first === undefined) return
  const from = [...new Set(other.map(entry => entry.url))].join(', ')
  const was = other.length === 1 ? `${first.ticker} was` : `${listed(other.map(({ ticker }) => ticker))} were`
  const keep = sentence`${parameter('replace')} begins again and drops what was there, ${parameter('db', 'FILE')} keeps both apart`
  const message = sentence`${was} pulled from ${from} before, not from ${url}: ${keep}.`
  throw new InvalidParameter(message, { param: 'ticker', value: first.ticker })
}

function distinct(series: readonly SeriesKey[]): SeriesKey[] {
  return [...new Map(series.map(key => [JSON.stringify(keyOf(key)), key])).values()]
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
  /** Requests that were answered for it, a credit each. */
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

/** A series as it lies in the store after a run. */
export function reportOf(
  key: SeriesKey,
  outcome: Outcome,
  kept: PulledSeries | null,
  { credits, added, changed, note, refusal }: Pick<SeriesReport, 'credits' | 'added' | 'changed' | 'note' | 'refusal'>,
): SeriesReport {
  return {
    ...keyOf(key),
    outcome,
    credits,
    events: kept?.events.length ?? 0,
    added,
    changed,
    query_range: kept?.query_range ?? null,
    pulled_at: kept?.pulled_at ?? null,
    as_of: kept?.as_of ?? null,
    note,
    refusal,
  }
}

/** How many events were not there before, by their dates, and how many are other than they were. */
export function differences(
  before: readonly BandEvent[],
  after: readonly BandEvent[],
): Pick<SeriesReport, 'added' | 'changed'> {
  const known = new Map(before.map(event => [event.date, event]))
  const again = after.filter(({ date }) => known.has(date))
  const changed = again.filter(event => !isDeepStrictEqual(event, known.get(event.date)))
  return { added: after.length - again.length, changed: changed.length }
}

/** Why a series was told whole again, for whoever reads the report. */
export const NOTES: Readonly<Record<Anew, (range: string) => string>> = {
  past: () => 'its past is another one on the server now; all of it is asked for again',
  range: range => `its key has another range now, ${range}; all of it is asked for again`,
  gap: range =>
    `the range of the key, ${range}, begins after all that was kept, which goes: nobody tells what lies between`,
}

/** Credits that something will cost: at least, and at most where that is known. */
export interface Price {
  least: number
  most: number | null
}

/** What a series costs from here on; of one that nothing has been told of yet nobody knows more than that it is asked. */
export function priceOf(kept: PulledSeries | null): Price {
  const under = kept?.under_way ?? null
  if (under === null) return { least: knownEtag(kept) === null ? PAGE_COST : 0, most: null }
  const most = Math.max(1, Math.ceil((under.total_occurrences - under.events.length) / PAGE)) * PAGE_COST
  return { least: under.whole ? most : PAGE_COST, most }
}

export function summed(prices: readonly Price[]): Price {
  const known = prices.every(({ most }) => most !== null)
  return {
    least: prices.reduce((sum, { least }) => sum + least, 0),
    most: known ? prices.reduce((sum, { most }) => sum + most!, 0) : null,
  }
}
