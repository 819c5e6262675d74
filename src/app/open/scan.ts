import { constants, setPriority } from 'node:os'
import { FileLost } from '../../core/errors.js'
import type { Day } from '../../core/model/day.js'
import type { OversoldQuery } from '../../core/model/event.js'
import type { SearchQuery } from '../../core/model/pages.js'
import type { Tier } from '../../core/model/terms.js'
import { Local } from '../../data/local/local.js'
import { scanOversold } from '../../data/local/oversold.js'
import { RecentScans } from '../../data/local/scan-states.js'
import { search } from '../../data/local/search.js'
import { cachedStore } from '../../data/store/cached-store.js'
import { openSqlite } from '../../data/store/sqlite/data.js'
import { type FileNumbers, fileNumbers, isSameFile } from '../../data/store/sqlite/files.js'
import type { Damage, Store } from '../../data/store/store.js'
import type { Handler } from '../../data/threads.js'

/** A scan or a search for a caller of a tier, or a check of all data. */
export type ScanTask = (ScanCaller & ({ query: OversoldQuery } | { search: SearchQuery })) | 'verify'

interface ScanCaller {
  tier: Tier
  /** The caller's present day, from which ranges count back. */
  today: Day
}

/** The path of the data for the thread, and the file that had it when the server opened it. */
export interface ScanData {
  path: string
  numbers: FileNumbers | null
}

export interface DataCheck {
  damages: Damage[]
  definitions: string
  tickers: number
}

/** The cache of decoded series in this thread: the next scan often has the same matches. */
const MAX_CACHE_BYTES = 64 * 1024 * 1024

/** Runs scans in a thread: each reads every ticker, and would block all other callers. */
export function begin({ path, numbers }: ScanData): Handler {
  // Small questions go first when cores are scarce. Linux sets the priority of one thread; elsewhere it is the whole
  // process.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  // Throws FileLost if the name now leads to another file than the server opened.
  const openChecked = (): Store => {
    const store = cachedStore(openSqlite(path, { readonly: true }), MAX_CACHE_BYTES)
    if (isSameFile(fileNumbers(path), numbers)) return store
    void store.close()
    throw new FileLost(`${path} was replaced by another file, which is not taken over yet`)
  }
  let store: Store | null = null
  try {
    // At once: the name may lead to another file later.
    store = openChecked()
  } catch {
    // The first task that needs it reports the error.
  }
  const recent = new RecentScans()
  return {
    async answer(task: ScanTask, signal) {
      try {
        store ??= openChecked()
        if (task === 'verify') return { result: JSON.stringify(await checkData(store)) }
        const local = new Local(store, task.tier, null, { clock: () => task.today })
        const runTask = (): Promise<object> =>
          'search' in task
            ? search(local, task.search, { signal })
            : scanOversold(local, task.query, { recent, signal })
        return { result: JSON.stringify(await store.atOneMoment(runTask)) }
      } catch (error) {
        recent.forget()
        throw error
      }
    },
  }
}

/** Verifies a store. The other properties of its result are empty if there are damages. */
async function checkData(store: Store): Promise<DataCheck> {
  const { verify } = await import('../../data/local/verify.js')
  const damages = await verify({ store })
  if (damages.length > 0) return { damages, definitions: '', tickers: 0 }
  return { damages, definitions: await store.definitions(), tickers: (await store.names('bars')).length }
}
