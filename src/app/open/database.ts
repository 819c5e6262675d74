// For: open what answers: the database here, the sample or a server; and the lists and trials next to the database.
// In: options and the environment.
// Out: open sources, each with its `close`.

import { existsSync } from 'node:fs'
import { builtPath } from '../../core/built.js'
import { Busy, NotFound, remedy, StorageError } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import type { NamedConditions } from '../../core/language/condition.js'
import { type Day, dayAt } from '../../core/model/day.js'
import type { Tier } from '../../core/model/terms.js'
import type { Cluster, Lists, ReadLists, ReadTrials, Trials } from '../../core/source.js'
import type { DerivedCache } from '../../data/local/derived.js'
import { Local } from '../../data/local/local.js'
import type { Status } from '../../data/local/status.js'
import { sourceWords } from '../../data/store/pages.js'
import { openSqlite } from '../../data/store/sqlite/data.js'
import { restoreNotePath } from '../../data/store/sqlite/files.js'
import { isLocked } from '../../data/store/sqlite/writer-lock.js'
import type { Store } from '../../data/store/store.js'
import { DatabaseSource, type PulledTicker } from '../remote/database-source.js'
import type { Remote, RemoteOptions } from '../remote/remote.js'
import type { ClusterOptions } from './cluster.js'
import {
  type DatabaseChoice,
  databasePath,
  filesOf,
  isSample,
  listsPath,
  namedDatabase,
  noDatabase,
  openForReading,
} from './paths.js'

export interface OpenOptions extends DatabaseChoice {
  /**
   * Applies the limits of this tier: its range, its fields and its number of rows, also to studies (default: no
   * limits).
   */
  tier?: Tier | null | undefined
  asOf?: Day | null
  now?: Clock | undefined
  /** The known fields (default: the specified ones). */
  fields?: FieldSet | undefined
  /** The number of threads for questions about many tickers (default: the number of cores). */
  threads?: number | undefined
  /** Does the work of studies, sweeps and backtests. */
  cluster?: Cluster | undefined
  /** The size of the cache of decoded series in bytes (default: none). */
  cacheBytes?: number | undefined
}

/** The present time (default: this machine's clock). Bars of later days do not count. */
export type Clock = () => Date

export interface Opened {
  /** The tickers with bars, for questions that need them. */
  local: Local
  /** All tickers: those with bars, and the stored pages of a server for those without. */
  bands: DatabaseSource
  path: string
  /** True when the user has no database yet and the bundled sample answers. */
  sample: boolean
}

/**
 * Opens a database for questions, without writing. The bundled sample answers if it is named, or if the user has no
 * database. Throws NotFound for a named file that is missing, StorageError for an unreadable one.
 */
export async function openLocal(options: OpenOptions = {}): Promise<Opened> {
  const { cacheBytes = 0, ...choice } = options
  const view = { ...choice, ...(await cachesOfSize(cacheBytes)) }
  if (isSample(choice)) return openSample(view)
  const path = databasePath(choice)
  refuseUnfinishedRestore(path)
  if (namedDatabase(choice) !== null) {
    if (existsSync(path)) return openedStore(openForReading(choice), path, view)
    throw noDatabase(path)
  }
  if (!existsSync(path)) return openSample(view)
  const opened = openedStore(openForReading(choice), path, view)
  // An empty database does not count as the user's, for example after its last ticker was removed.
  const names = await opened.local.store.names().catch(async error => {
    await opened.local.close()
    throw error
  })
  if (names.length > 0) return opened
  await opened.local.close()
  return openSample(view)
}

/** The cache of a program with many questions: some 700 series of five years, with their fields. */
export const CACHE_BYTES = 64 * 1024 * 1024

/** The caches of a view: decoded series in the given bytes, and derived records in a quarter of them. None for 0. */
async function cachesOfSize(bytes: number): Promise<Pick<StoreView, 'withCache' | 'derived'>> {
  if (bytes === 0) return {}
  const [{ cachedStore }, { DerivedCache }] = await Promise.all([
    import('../../data/store/cached-store.js'),
    import('../../data/local/derived.js'),
  ])
  return { withCache: store => cachedStore(store, bytes), derived: new DerivedCache(bytes / 4) }
}

/** The Ray cluster of an address, which is reached with the first task; undefined without one. */
export async function openCluster({
  cluster,
  ...options
}: ClusterOptions & { cluster?: string | undefined }): Promise<Cluster | undefined> {
  if (cluster === undefined) return undefined
  const { RayCluster } = await import('./cluster.js')
  return new RayCluster(cluster, options)
}

/** Opens the bundled sample, whether or not the user has a database. */
export function openSample(view: StoreView = {}): Opened {
  return openedStore(openSqlite(samplePath(), { readonly: true }), samplePath(), view, { sample: true })
}

/** Opens the database read-only to plan a pull; null if there is none yet. */
export async function openForPlan(choice: DatabaseChoice = {}): Promise<Store | null> {
  const path = databasePath(choice)
  refuseUnfinishedRestore(path)
  return existsSync(path) ? openForReading(choice) : null
}

/** How the answers of an open store are limited, computed and cached. */
interface StoreView extends Pick<OpenOptions, 'tier' | 'asOf' | 'now' | 'fields' | 'threads' | 'cluster'> {
  withCache?: ((store: Store) => Store) | undefined
  derived?: DerivedCache | undefined
}

/**
 * Prepares a server connection with a key, without a request. Throws InvalidParameter for an address, ConfigError for a
 * key or a proxy that cannot be used.
 */
export async function openRemote(options: RemoteOptions): Promise<Remote> {
  const { Remote } = await import('../remote/remote.js')
  return new Remote(options)
}

/** An open store as the sources that answer from it. @param sample whether it is the bundled sample */
function openedStore(
  store: Store,
  path: string,
  { tier = null, asOf = null, withCache, ...view }: StoreView,
  { sample = false } = {},
): Opened {
  return { ...sourcesOfStore(withCache?.(store) ?? store, tier, asOf, view), path, sample }
}

/**
 * Two sources over a store for one caller, both limited to its tier and as-of day. `local` answers from bars; `bands`
 * also from stored pages of a server, for tickers without bars.
 */
export function sourcesOfStore(
  store: Store,
  tier: Tier | null,
  asOf: Day | null,
  { now, fields, threads, cluster, derived }: Omit<StoreView, 'tier' | 'asOf' | 'withCache'> = {},
): Pick<Opened, 'local' | 'bands'> {
  const { pages } = store
  // For errors of `local` about tickers that have pages only, and its day if there are no bars.
  const otherData = {
    newestDay: () => pages.newestDay(),
    tickers: async () => (await pages.entries()).map(({ ticker }) => ticker),
    async dataWords(ticker: string): Promise<string | null> {
      const [first] = await pages.entries(ticker)
      return first === undefined ? null : sourceWords(first)
    },
  }
  const local = new Local(store, tier, asOf, { otherData, now: dayClock(now), fields, threads, cluster, derived })
  const openPulled = async () => {
    const { PulledEvents } = await import('../remote/pulled-events.js')
    return new PulledEvents(pages, { tier, asOf, unknownTicker: ticker => local.unknownTicker(ticker) })
  }
  const hasBars = async (ticker: string): Promise<boolean> => (await store.ticker(ticker)) !== null
  return { local, bands: new DatabaseSource({ local, hasBars, pages, openPulled }) }
}

/** The day of a clock; undefined without a clock. */
export function dayClock(now: Clock | undefined): (() => Day) | undefined {
  return now && (() => dayAt(now().getTime()))
}

/** The state of the loaded tickers, and of pulled ones. */
export interface WholeStatus extends Status {
  /** Tickers without bars that have pulled events, on any as-of day. */
  pulled: PulledTicker[]
}

/** The state of some tickers; `pulled` has those with events of a server only. @param tickers default all */
export async function readStatus(
  { local, bands }: Pick<Opened, 'local' | 'bands'>,
  tickers?: readonly string[],
): Promise<WholeStatus> {
  const { status } = await import('../../data/local/status.js')
  const pulled = await bands.pulledTickers()
  return {
    ...(await status(local, tickers)),
    pulled: tickers === undefined ? pulled : pulled.filter(({ ticker }) => tickers.includes(ticker)),
  }
}

function samplePath(): string {
  const path = builtPath('sample.db')
  if (path === undefined)
    throw new NotFound('the bundled sample is missing; import a file first.', [], {
      remedy: remedy('import', ['FILE']),
    })
  return path
}

/** Throws Busy or StorageError while a restore of a database is unfinished, which a question does not finish. */
export function refuseUnfinishedRestore(path: string): void {
  if (!existsSync(restoreNotePath(path))) return
  if (existsSync(path) && isLocked(path)) throw new Busy(`a backup is being restored to ${path}; try again`)
  throw new StorageError(`a restore of ${path} was stopped before its end; the next command that writes finishes it`, {
    remedy: remedy('unlock', [], { db: path }),
  })
}

/**
 * Opens the log of all combinations and strategies tried on the user's database (trials), and makes it if missing.
 * Returns null for the sample, which has no log. Throws StorageError if it cannot be written, NotFound for a named
 * database that is missing.
 * @param opened the database of the choice, if it is open
 */
export async function openTrials(
  choice: DatabaseChoice = {},
  opened: Pick<Opened, 'sample'> | null = null,
): Promise<Trials | null> {
  const path = await companionPath('trials', choice, opened)
  if (path === null) return null
  const { openSqliteTrials } = await import('../../data/store/sqlite/lists.js')
  return openSqliteTrials(path, Date.now, choice.notice)
}

/**
 * Opens the trial log for reading: `none` if it does not exist yet, null for the sample. Throws StorageError for an
 * unreadable one, NotFound for a named database that is missing.
 */
export async function openTrialsForReading(choice: DatabaseChoice = {}): Promise<ReadTrials | 'none' | null> {
  const path = await companionPath('trials', choice)
  if (path === null) return null
  if (!existsSync(path)) return 'none'
  const { openSqliteTrialsForReading } = await import('../../data/store/sqlite/lists.js')
  return openSqliteTrialsForReading(path)
}

/**
 * Opens the watch lists of a user next to the database, and makes them if missing. The sample has lists, too. Throws
 * StorageError if they cannot be written, NotFound for a named database that is missing.
 */
export async function openLists(choice: DatabaseChoice = {}): Promise<Lists> {
  // Refuses a named database that is missing.
  await companionPath('lists', choice)
  const { openSqliteLists } = await import('../../data/store/sqlite/lists.js')
  return openSqliteLists(listsPath(choice), Date.now, choice.notice)
}

/** Opens the watch lists for reading; null if there are none yet. Throws StorageError for unreadable ones. */
export async function openListsForReading(choice: DatabaseChoice = {}): Promise<ReadLists | null> {
  // Refuses a named database that is missing.
  await companionPath('lists', choice)
  const { openSqliteListsForReading } = await import('../../data/store/sqlite/lists.js')
  return openSqliteListsForReading(listsPath(choice))
}

/** The conditions that a user has named. Each use reads them again, because another process may have changed them. */
export async function namedConditions(choice: DatabaseChoice = {}): Promise<NamedConditions> {
  const lists = listsPath(choice)
  const { readConditions } = await import('../../data/store/sqlite/lists.js')
  const all = (): ReadonlyMap<string, string> => (existsSync(lists) ? readConditions(lists) : new Map())
  return {
    get names() {
      return [...all().keys()]
    },
    named: name => all().get(name),
  }
}

/**
 * The path of a file next to the user's database; null for the sample. Throws NotFound for a named database that is
 * missing. @param opened the database of the choice, if it is open; otherwise it is opened and closed
 */
async function companionPath(
  kind: 'trials' | 'lists',
  choice: DatabaseChoice,
  opened: Pick<Opened, 'sample'> | null = null,
): Promise<string | null> {
  let sample = opened?.sample
  if (sample === undefined) {
    const openedHere = await openLocal(choice)
    await openedHere.local.close()
    sample = openedHere.sample
  }
  return sample ? null : filesOf(choice)[kind]
}
