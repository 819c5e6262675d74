import { constants, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { BandsError } from '../errors.js'
import { Cache } from '../local/cache.js'
import { oversold } from '../local/oversold.js'
import { RecentStandings } from '../local/standings.js'
import type { Day } from '../model/day.js'
import type { OversoldQuery } from '../model/oversold.js'
import type { Tier } from '../model/terms.js'
import { remembering } from '../store/remembered.js'
import { openSqlite } from '../store/sqlite/data.js'
import type { Store } from '../store/store.js'
import type { FromThread, ToThread } from './threads.js'

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

// The program of a thread that makes scans: each looks at every ticker, which would hold up whoever else is answered.
const port = parentPort!
// Where cores are scarce, those who ask for little come first. Of a thread alone only here; elsewhere of the whole process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
let store: Store | null = null
const recent = new RecentStandings()
let stop = new AbortController()
let working: Promise<void> = Promise.resolve()

port.on('message', async (message: ToThread<ScanTask>) => {
  if (message === 'stop') stop.abort()
  else if (message === 'end') {
    stop.abort()
    await working
    await store?.close()
    port.close()
  } else {
    stop = new AbortController()
    working = answered(message.task, stop.signal).then(answer => port.postMessage(answer))
  }
})

async function answered({ tier, query, today }: ScanTask, signal: AbortSignal): Promise<FromThread<string>> {
  try {
    store ??= remembering(openSqlite((workerData as ScanData).path, { readonly: true }), MOST_BYTES)
    const cache = new Cache(store, tier, null, { clock: () => today })
    return { result: JSON.stringify(await store.atOneMoment(() => oversold(cache, query, { recent, signal }))) }
  } catch (error) {
    recent.forget()
    if (error instanceof BandsError) return { refusal: { code: error.code, message: error.message } }
    return { fault: error instanceof Error ? error : new Error(String(error)) }
  }
}
