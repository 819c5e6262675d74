import type { Day } from '../../core/model/day.js'
import type { Tier } from '../../core/model/terms.js'
import { Local } from '../../data/local/local.js'
import { cachedStore } from '../../data/store/cached-store.js'
import { type FileNumbers, fileGoneCheck, fileNumbers } from '../../data/store/sqlite/files.js'
import { type Companions, companionsOf } from '../../data/store/sqlite/replaced.js'
import { Damaged, type Store } from '../../data/store/store.js'
import { Threads } from '../../data/threads.js'
import type { ServedData } from '../../server/http/question.js'
import { type Clock, dayClock } from './database.js'
import type { DataCheck, ScanData, ScanTask } from './scan.js'

/** How the data of a server are seen. */
export interface ViewOptions {
  asOf: Day | null
  /** The day that ranges count back from; null for the day of the newest bar. */
  clock: (() => Day) | null
  /** The present time, because bars after tomorrow do not count (default: this machine's clock). */
  now: Clock | undefined
  /** Scans that are made at once. */
  scansAtOnce: number
}

/** One open file of data, and the threads that scan it. */
export interface OpenData extends ServedData {
  /** Which file it is, and which files lie next to it, to recognise a replaced one. */
  fileNumbers: FileNumbers | null
  companions: Companions
  /** Starts all threads: they find the file by its name, so they open it before another file gets that. */
  start(): void
  /** Checks all of it in a thread, as `verify` does. */
  verify(): Promise<DataCheck>
}

/**
 * The data of a server from an open store; `close` closes the store, too. Scans and searches read all tickers, so they
 * run in threads. Everything else is answered in this thread.
 */
export function openData(store: Store, { asOf, clock, now, scansAtOnce }: ViewOptions): OpenData {
  const path = store.location
  const cached = cachedStore(store)
  const refuseIfFileGone = fileGoneCheck(path)
  const numbers = fileNumbers(path)
  const scanData: ScanData = { path, numbers }
  const threads = new Threads<ScanTask, string>('scan', scanData, scansAtOnce)
  // Pulled events are left out: the server that they were pulled from charges for them.
  const openBands = (tier: Tier): Local => new Local(cached, tier, asOf, { clock, now: dayClock(now) })
  // Like stamp and waiting fields, the same for every tier.
  const today = (): Promise<Day> => openBands('pro').today()
  return {
    fileNumbers: numbers,
    companions: companionsOf(path),
    start: () => threads.start(),
    verify: async () => JSON.parse(await threads.run('verify')) as DataCheck,
    bands: openBands,
    async oversold(tier, query, signal) {
      refuseIfFileGone()
      return threads.run({ tier, query, today: await today() }, signal)
    },
    async summary(tier, query) {
      return (await import('../../data/local/summary.js')).tickerSummary(openBands(tier), query)
    },
    async barsPage(tier, query) {
      return (await import('../../data/local/bars-page.js')).barsPage(openBands(tier), query)
    },
    async search(tier, query, signal) {
      refuseIfFileGone()
      return threads.run({ tier, search: query, today: await today() }, signal)
    },
    async checkSearch(tier, query) {
      await (await import('../../data/local/search.js')).checkSearch(openBands(tier), query)
    },
    async checkOversold(tier, query) {
      await (await import('../../data/local/oversold.js')).checkOversold(openBands(tier), query)
    },
    version: async () => `${await store.version()} ${clock?.() ?? ''}`,
    snapshot: () => cached.snapshot(),
    stamp: series => openBands('pro').answerStamp(series),
    today,
    newestDay: () => cached.newestDay(),
    waitingFields: () => openBands('pro').waiting(),
    async check() {
      refuseIfFileGone()
      await readFirstBars(store, cached)
    },
    async close() {
      await Promise.all([threads.close(), store.close()])
    },
  }
}

/**
 * Reads the bars of the first ticker, to find out whether the file can still be read. It does not use the cache,
 * because that holds the first pages of a file that was damaged while open.
 * @param cached the same store with cached tickers: listing them takes far longer than reading the bars of one
 */
async function readFirstBars(store: Store, cached: Store): Promise<void> {
  try {
    const [first] = await cached.tickers()
    if (first !== undefined) await store.bars(first.ticker)
  } catch (error) {
    // Only questions about a damaged ticker fail; all others are answered.
    if (!(error instanceof Damaged)) throw error
  }
}
