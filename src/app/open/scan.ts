import { constants, setPriority } from 'node:os'
import type { Day } from '../../core/model/day.js'
import type { OversoldQuery } from '../../core/model/event.js'
import type { SearchQuery } from '../../core/model/pages.js'
import type { Tier } from '../../core/model/terms.js'
import { Local } from '../../data/local/local.js'
import { oversold } from '../../data/local/oversold.js'
import { RecentScans } from '../../data/local/scan-states.js'
import { search } from '../../data/local/search.js'
import { cachedStore } from '../../data/store/cached-store.js'
import { openSqlite } from '../../data/store/sqlite/data.js'
import type { Store } from '../../data/store/store.js'
import type { Handler } from '../../data/threads.js'

/** A scan or a search for a caller of a tier. */
export type ScanTask = Asked & ({ query: OversoldQuery } | { search: SearchQuery })

interface Asked {
  tier: Tier
  /** The caller's present day, from which ranges count back. */
  today: Day
}

/** The path of the data for the thread. */
export interface ScanData {
  path: string
}

/** The cache of decoded series in this thread: the next scan often has the same matches. */
const MOST_BYTES = 64 * 1024 * 1024

/** Runs scans in a thread: each reads every ticker, and would block all other callers. */
export function begin({ path }: ScanData): Handler {
  // Small questions go first when cores are scarce. Linux sets the priority of one thread; elsewhere it is the whole
  // process.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  let store: Store | null = null
  const recent = new RecentScans()
  return {
    async answer({ tier, today, ...asked }: ScanTask, signal) {
      try {
        store ??= cachedStore(openSqlite(path, { readonly: true }), MOST_BYTES)
        const local = new Local(store, tier, null, { clock: () => today })
        const find = (): Promise<object> =>
          'search' in asked ? search(local, asked.search, { signal }) : oversold(local, asked.query, { recent, signal })
        const found = await store.atOneMoment(find)
        return { result: JSON.stringify(found) }
      } catch (error) {
        recent.forget()
        throw error
      }
    },
  }
}
