import { createHash } from 'node:crypto'
import { InvalidParameter } from '../../errors.js'
import type { PulledEntry, PulledSeries, PullRun, SeriesKey } from '../../model/pulled.js'
import type { Store } from '../../store/store.js'
import { keyOf, listed } from '../pulled/words.js'
import { type Price, priceOf, summed } from './price.js'

export interface PullRequest {
  series: readonly SeriesKey[]
  /** Begin each series again, whatever was pulled before, and from whom. */
  replace: boolean
}

/** `new`: nothing of it is there. `rest`: a pull was stopped in it. `update`: it is there. `done`: by this very run. */
export type Due = 'new' | 'rest' | 'update' | 'done'

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
  const message = `${has} here, and what is told of one ticker comes from one source: pull into another database with --db FILE, or take its bars out with bands remove ${first}.`
  throw new InvalidParameter(message, { param: 'ticker', value: first })
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
  const message = `${was} pulled from ${from} before, not from ${url}: --replace begins again and drops what was there, --db FILE keeps both apart.`
  throw new InvalidParameter(message, { param: 'ticker', value: first.ticker })
}

function distinct(series: readonly SeriesKey[]): SeriesKey[] {
  return [...new Map(series.map(key => [JSON.stringify(keyOf(key)), key])).values()]
}
