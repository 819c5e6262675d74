import { constants, setPriority } from 'node:os'
import { Cache } from '../local/cache.js'
import { oversold } from '../local/oversold.js'
import { RecentStandings } from '../local/standings.js'
import type { Day } from '../model/day.js'
import type { OversoldQuery } from '../model/event.js'
import type { Tier } from '../model/terms.js'
import { cachedStore } from '../store/cached-store.js'
import { openSqlite } from '../store/sqlite/data.js'
import type { Store } from '../store/store.js'
import type { Handler } from '../threads.js'

/** A scan as a caller of a tier asks it. */
export interface ScanTask {
  tier: Tier
  query: OversoldQuery
  /** The day that ranges count back from, as who asks for it has it. */
  today: Day
}

/** Where the thread finds the data. */
export interface ScanData {
  path: string
}

/** Kept decoded in this thread: the matches of a scan, which the next one may have too. */
const MOST_BYTES = 64 * 1024 * 1024

/** Makes scans: each looks at every ticker, which would hold up whoever else is answered. */
export function begin({ path }: ScanData): Handler {
  // Where cores are scarce, those who ask for little come first. Of a thread alone only here; elsewhere of the whole process.
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  let store: Store | null = null
  const recent = new RecentStandings()
  return {
    async answer({ tier, query, today }: ScanTask, signal) {
      try {
        store ??= cachedStore(openSqlite(path, { readonly: true }), MOST_BYTES)
        const cache = new Cache(store, tier, null, { clock: () => today })
        const found = await store.atOneMoment(() => oversold(cache, query, { recent, signal }))
        return { result: JSON.stringify(found) }
      } catch (error) {
        recent.forget()
        throw error
      }
    },
  }
}
