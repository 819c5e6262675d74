import { availableParallelism } from 'node:os'
import type { Day } from '../../core/model/day.js'
import type { Tier } from '../../core/model/terms.js'
import { Local } from '../../data/local/local.js'
import { fileLostCheck } from '../../data/store/sqlite/files.js'
import { Damaged, type Store } from '../../data/store/store.js'
import type { Service } from '../../server/http/question.js'
import { fetchedFrom } from '../providers/provider.js'
import { openAccounts } from './accounts.js'
import { type Clock, dayBy, type Opened, openLocal } from './database.js'
import type { AccountsChoice } from './paths.js'
import type { ScanData, ScanTask } from './scan.js'

/** The data and accounts of a server. */
export interface OpenedService extends Pick<Opened, 'path' | 'sample'> {
  service: Service
  /** The vendors that some of its bars were fetched from. */
  vendors: readonly string[]
}

/**
 * Opens a database for questions, and the accounts of its users, which are made if missing. Throws as openLocal and
 * openAccounts do.
 *
 * @param clock the present day (default: the day of the newest bar, or `asOf`)
 */
export async function openService({
  asOf = null,
  clock = null,
  now,
  ...choice
}: AccountsChoice & { asOf?: Day | null; clock?: (() => Day) | null; now?: Clock } = {}): Promise<OpenedService> {
  const { local, path, sample } = await openLocal({ ...choice, asOf, now })
  const { store } = local
  const accounts = await openAccounts({ ...choice, make: true }).catch(async error => {
    await store.close()
    throw error
  })
  const [{ cachedStore }, { Threads }] = await Promise.all([
    import('../../data/store/cached-store.js'),
    import('../../data/threads.js'),
  ])
  // Only from bars: pulled events belong to the other server, which charges for them.
  const derived = cachedStore(store)
  const checkPlace = fileLostCheck(store.location)
  const bands = (tier: Tier): Local => new Local(derived, tier, asOf, { clock, now: dayBy(now) })
  const data: ScanData = { path: store.location }
  // One core stays free for small questions; more than a few threads would only use memory.
  const scansAtOnce = Math.max(1, Math.min(4, availableParallelism() - 1))
  const threads = new Threads<ScanTask, string>('scan', data, scansAtOnce)
  const today = (): Promise<Day> => bands('pro').today()
  const service: Service = {
    bands,
    scansAtOnce,
    async oversold(tier, query, signal) {
      // A thread opens the file by its name.
      checkPlace()
      return threads.run({ tier, query, today: await today() }, signal)
    },
    async summary(tier, query) {
      return (await import('../../data/local/summary.js')).summary(bands(tier), query)
    },
    async barsPage(tier, query) {
      return (await import('../../data/local/bars-page.js')).barsPage(bands(tier), query)
    },
    async search(tier, query, signal) {
      checkPlace()
      return threads.run({ tier, search: query, today: await today() }, signal)
    },
    async checkSearch(tier, query) {
      await (await import('../../data/local/search.js')).checkSearch(bands(tier), query)
    },
    async checkOversold(tier, query) {
      await (await import('../../data/local/oversold.js')).checkOversold(bands(tier), query)
    },
    accounts,
    version: async () => `${await store.version()} ${clock?.() ?? ''}`,
    stamp: series => bands('pro').stamp(series),
    today,
    newestDay: () => derived.newestDay(),
    waiting: () => bands('pro').waiting(),
    async check() {
      checkPlace()
      await readSomething(store, derived)
      await accounts.check()
    },
    async close() {
      await Promise.all([threads.close(), store.close(), accounts.close()])
    },
  }
  // A damaged ticker must not keep the others from being served.
  const entries = await store.tickers().catch(() => [])
  const sources = entries.map(({ source }) => fetchedFrom(source)?.provider)
  const vendors = [...new Set(sources.filter(name => name !== undefined))].sort()
  return { service, path, sample, vendors }
}

/**
 * Reads without the cache, because a file that was damaged while open still has its first pages in memory.
 * @param derived the same store with cached tickers: listing them takes far longer than reading the bars of one
 */
async function readSomething(store: Store, derived: Store): Promise<void> {
  try {
    const [first] = await derived.tickers()
    if (first !== undefined) await store.bars(first.ticker)
  } catch (error) {
    // Only questions about a damaged ticker fail; all others are answered.
    if (!(error instanceof Damaged)) throw error
  }
}
