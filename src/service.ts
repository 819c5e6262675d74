import { type Stats, statSync } from 'node:fs'
import { StorageError } from './errors.js'
import { Local } from './local/local.js'
import type { Day } from './model/day.js'
import type { Tier } from './model/terms.js'
import { type DatabaseChoice, type Opened, openAccounts, openLocal } from './open.js'
import type { Service } from './server/questions.js'
import { remembering } from './store/remembered.js'
import type { Store } from './store/store.js'

export interface OpenedService extends Pick<Opened, 'path' | 'sample'> {
  service: Service
}

/**
 * Opens a database for questions, and the accounts of those who may ask them, made first if there are none: what a
 * server stands on. Throws as openLocal and openAccounts do.
 *
 * @param clock which day it is; without, the newest bar tells, and with `asOf` that day counts
 */
export async function openService({
  asOf = null,
  clock = null,
  ...choice
}: DatabaseChoice & { asOf?: Day | null; clock?: (() => Day) | null } = {}): Promise<OpenedService> {
  const { local, path, sample } = await openLocal({ ...choice, asOf })
  const { store } = local
  const accounts = await openAccounts({ ...choice, make: true }).catch(async error => {
    await store.close()
    throw error
  })
  // From bars alone: what another server told of its own is that one's to tell, and to charge for.
  const derived = remembering(store)
  const unmoved = [store.location, accounts.location].map(inItsPlace)
  const bands = (tier: Tier): Local => new Local(derived, tier, asOf, { clock })
  const service: Service = {
    bands,
    accounts,
    version: async () => `${await store.version()} ${clock?.() ?? ''}`,
    today: () => bands('pro').today(),
    async check() {
      for (const check of unmoved) check()
      await readSomething(store)
      await accounts.used(0, Date.now())
    },
    async close() {
      await Promise.all([store.close(), accounts.close()])
    },
  }
  return { service, path, sample }
}

/** Reads past what is remembered: a file that was spoilt under an open database still has its first pages in memory. */
async function readSomething(store: Store): Promise<void> {
  const [first] = await store.tickers()
  if (first !== undefined) await store.bars(first.ticker)
}

/** Throws StorageError once another file lies where this one was: what is open is then no longer what others write. */
function inItsPlace(path: string): () => void {
  const { ino, dev } = statSync(path)
  return () => {
    const now: Stats | undefined = statSync(path, { throwIfNoEntry: false })
    if (now?.ino !== ino || now.dev !== dev)
      throw new StorageError(`${path} was moved or replaced while it was being served; start the server again`)
  }
}
