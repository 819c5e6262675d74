import { availableParallelism } from 'node:os'
import type { Day } from '../../core/model/day.js'
import { fileNumbers, isSameFile } from '../../data/store/sqlite/files.js'
import type { RefusedFile, Service } from '../../server/http/question.js'
import { fetchedFrom } from '../providers/provider.js'
import { openAccounts } from './accounts.js'
import { type Clock, type Opened, type OpenOptions, openLocal } from './database.js'
import { type AccountsChoice, databasePath, isSample } from './paths.js'
import type { ViewOptions } from './served-data.js'
import { type Reports, TakeOver } from './take-over.js'

/** The data and accounts of a server. */
export interface OpenedService extends Pick<Opened, 'path' | 'sample'> {
  service: Service
  /** The vendors that some of its bars were fetched from. */
  vendors: readonly string[]
  /** From now on the server follows the name of its file: a new file under it is checked and taken over. */
  follow(serve: (next: Service) => Promise<void>, reports: Reports): TakeOver
  close(): Promise<void>
}

/**
 * Opens a database for questions, and the accounts of its users, which are made if missing. Throws as openLocal and
 * openAccounts do. `follow` takes over each file that replaces this one: it calls `serve` with its data.
 * @param clock the day that ranges count back from (default: the day of the newest bar, or `asOf`)
 * @param now the present time; bars after tomorrow do not count
 */
export async function openService({
  asOf = null,
  clock = null,
  now,
  ...choice
}: AccountsChoice & { asOf?: Day | null; clock?: (() => Day) | null; now?: Clock } = {}): Promise<OpenedService> {
  const { local, path, sample } = await openUnchangedFile({ ...choice, asOf, now })
  const { store } = local
  const accounts = await openAccounts({ ...choice, make: true }).catch(async error => {
    await store.close()
    throw error
  })
  // One core stays free for small questions; more than a few threads would only use memory.
  const view: ViewOptions = { asOf, clock, now, scansAtOnce: Math.max(1, Math.min(4, availableParallelism() - 1)) }
  // Loaded here, as all that reads data in threads is: other commands open a database, too.
  const { openData } = await import('./served-data.js')
  const first = openData(store, view)
  let refused: RefusedFile | null = null
  let takeOver: TakeOver | null = null
  const serviceOf = (data: typeof first): Service => ({
    ...data,
    accounts,
    scansAtOnce: view.scansAtOnce,
    refusedFile: () => refused,
  })
  return {
    service: serviceOf(first),
    path,
    sample,
    vendors: await vendorsOf(store),
    follow(serve, reports) {
      takeOver = new TakeOver({
        first,
        path,
        view,
        showRefusal: file => {
          refused = file
        },
        serve: data => serve(serviceOf(data)),
        ...reports,
      })
      return takeOver
    },
    async close() {
      await Promise.all([takeOver === null ? first.close() : takeOver.close(), accounts.close()])
    },
  }
}

/** The vendors that some bars of a store were fetched from; none if a damaged ticker prevents their list. */
async function vendorsOf(store: Opened['local']['store']): Promise<string[]> {
  const entries = await store.tickers().catch(() => [])
  return [...new Set(entries.flatMap(({ source }) => fetchedFrom(source)?.provider ?? []))].sort()
}

/** Opens the database of a path. If another file takes this path meanwhile, opens that one instead. */
async function openUnchangedFile(options: OpenOptions): Promise<Opened> {
  for (;;) {
    const before = isSample(options) ? null : fileNumbers(databasePath(options))
    const opened = await openLocal(options)
    if (opened.sample || isSameFile(before, fileNumbers(opened.path))) return opened
    await opened.local.close()
  }
}
