// For: open what a run needs: the database, the server, the accounts, the trial log and the lists.
// In: paths and addresses, from options or the environment.
// Out: sources and stores that are open, each with its `close`.

import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { builtPath } from '../core/built.js'
import { Busy, ConfigError, NotFound, remedy, StorageError } from '../core/errors.js'
import type { FieldSet } from '../core/fields/index.js'
import { type Day, dayAt } from '../core/model/day.js'
import type { Tier } from '../core/model/terms.js'
import { checkFunction, checkOptions, objectOf } from '../core/params/arguments.js'
import { fileValue, flagValue } from '../core/params/values.js'
import type { Lists, ReadLists, ReadTrials, Trials } from '../core/source.js'
import type { Importer } from '../data/load/import.js'
import type { DerivedMemory } from '../data/local/derived.js'
import { Local } from '../data/local/local.js'
import type { Status } from '../data/local/status.js'
import { sourceWords } from '../data/store/pages.js'
import { openSqlite, releaseLock } from '../data/store/sqlite/data.js'
import { fileLostCheck, restoreNote } from '../data/store/sqlite/files.js'
import type { Verified } from '../data/store/sqlite/verify.js'
import { isLocked } from '../data/store/sqlite/writer-lock.js'
import { Damaged, lockForWriting, retryWhileBusy, type Store, UNDERIVED, type Writer } from '../data/store/store.js'
import type { Accounts } from '../server/accounts/accounts.js'
import type { Service } from '../server/http/answers.js'
import type { Files } from './backup/backup.js'
import { accountsUrl, openAccountsAt } from './open/accounts.js'
import {
  type AccountsChoice,
  accountsPath,
  type DatabaseChoice,
  databasePath,
  filesOf,
  namedDatabase,
  openForReading,
} from './open/paths.js'
import { DatabaseSource, type PulledTicker } from './remote/database-source.js'
import type { PageSource, PullOptions } from './remote/pull.js'
import type { PullReport, PullRequest } from './remote/pull-plan.js'
import type { Remote, RemoteOptions } from './remote/remote.js'
import type { ScanData, ScanTask } from './workers/scan.js'

interface OpenOptions extends DatabaseChoice {
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
  /** The size of the cache of decoded series in bytes (default: none). */
  cacheBytes?: number | undefined
}

/** The present time (default: this machine's clock). Bars of later days do not count. */
type Clock = () => Date

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
 * Opens a database for questions, without writing. The bundled sample answers if the user has no database. Throws
 * NotFound for a named file that is missing, StorageError for an unreadable one.
 */
export async function openLocal(options: OpenOptions = {}): Promise<Opened> {
  const { cacheBytes = 0, ...choice } = options
  const path = checkRestored(choice)
  const view = { ...choice, ...(await memoryFor(cacheBytes)) }
  if (namedDatabase(choice) !== null) {
    if (existsSync(path)) return opened(openForReading(choice), path, view)
    throw new NotFound(`there is no database at ${path}; an import makes one.`, [], {
      remedy: remedy('import', ['FILE'], { db: path }),
    })
  }
  if (!existsSync(path)) return openSample(view)
  const own = opened(openForReading(choice), path, view)
  // An empty database does not count as the user's, for example after its last ticker was removed.
  const names = await own.local.store.names().catch(async error => {
    await own.local.close()
    throw error
  })
  if (names.length > 0) return own
  await own.local.close()
  return openSample(view)
}

/** The cache of a program with many questions: some 700 series of five years, with their fields. */
export const CACHE_BYTES = 64 * 1024 * 1024

/** A command asks one question. Derived records get a quarter of the memory of the decoded series. */
async function memoryFor(bytes: number): Promise<Pick<StoreView, 'remembered' | 'derived'>> {
  if (bytes === 0) return {}
  const [{ cachedStore }, { DerivedMemory }] = await Promise.all([
    import('../data/store/cached-store.js'),
    import('../data/local/derived.js'),
  ])
  return { remembered: store => cachedStore(store, bytes), derived: new DerivedMemory(bytes / 4) }
}

/** Opens the bundled sample, whether or not the user has a database. */
export function openSample(view: StoreView = {}): Opened {
  return opened(openSqlite(samplePath(), { readonly: true }), samplePath(), view, true)
}

/**
 * Opens the database for writing and takes its writer lock. A missing database is made when the first data come. Throws
 * Busy.
 */
export async function openImporter(options: WriteChoice = {}): Promise<Importer> {
  checkOptions('options', options, {
    db: fileValue,
    env: objectOf,
    notice: checkFunction,
    wait: flagValue,
  })
  const { wait = false } = options
  const [{ readFile }, { Importer }] = await Promise.all([
    import('../data/feeds/read.js'),
    import('../data/load/import.js'),
  ])
  if (existsSync(databasePath(options)))
    return writing(options, (store, writer) => Importer.begin(store, readFile, writer, { wait }))
  const writer = thisProcess()
  const open = () => writing(options, store => lockForWriting(store, writer, { wait }).then(() => store))
  return Importer.making(open, readFile, writer)
}

/** Opens the same for events of a server to be pulled into it. Throws Busy. */
export async function openPuller({
  wait = false,
  now = () => new Date(),
  ...choice
}: WriteChoice & { now?: () => Date } = {}): Promise<Puller> {
  const [{ pull }, { readFile }, { Importer }] = await Promise.all([
    import('./remote/pull.js'),
    import('../data/feeds/read.js'),
    import('../data/load/import.js'),
  ])
  return writing({ ...choice, wait }, async (store, writer): Promise<Puller> => {
    const importer = await Importer.begin(store, readFile, writer, { wait })
    // A file of an older version was migrated on the way.
    if ((await store.definitions()) === UNDERIVED) await importer.rebuild()
    return {
      pull: (source, request, options) => pull(store, source, request, { ...options, now }),
      close: () => importer.close(),
      get finished() {
        return importer.finished
      },
    }
  })
}

interface WriteChoice extends DatabaseChoice {
  /** Wait while another process writes. */
  wait?: boolean
}

/** The writer of pulled events, until it is closed. */
export interface Puller extends Pick<Importer, 'finished'> {
  pull(source: PageSource, request: PullRequest, options?: PullOptions): Promise<PullReport>
  close(): Promise<void>
}

/** The writer closes the store at its end; a failed start leaves it closed. */
async function writing<T>(
  { wait = false, ...choice }: WriteChoice,
  begin: (store: Store, writer: Writer) => Promise<T>,
): Promise<T> {
  const path = await pathAfterRestore(choice)
  const store = await retryWhileBusy(() => openSqlite(path, { readonly: false, notice: choice.notice }), wait)
  try {
    return await begin(store, thisProcess())
  } catch (error) {
    await store.close()
    throw error
  }
}

function thisProcess(): Writer {
  return { pid: process.pid, host: hostname(), started: new Date().toISOString() }
}

/**
 * Releases the writer lock of a process that ended without doing so; null if there is no lock. Throws NotFound without
 * a database, Busy if that process still runs.
 */
export async function forceUnlock(choice: DatabaseChoice = {}): Promise<{ path: string; freed: Writer | null }> {
  const path = await pathAfterRestore(choice)
  if (!existsSync(path)) throw new NotFound(`there is no database at ${path}.`)
  return { path, freed: releaseLock(path) }
}

/** Opens the database read-only to plan a pull; null if there is none yet. */
export async function openForPlan(choice: DatabaseChoice = {}): Promise<Store | null> {
  const path = checkRestored(choice)
  return existsSync(path) ? openForReading(choice) : null
}

/**
 * Prepares a server connection with a key, without a request. Throws InvalidParameter for an address, ConfigError for a
 * key or a proxy that cannot be used.
 */
export async function openRemote(options: RemoteOptions): Promise<Remote> {
  const { Remote } = await import('./remote/remote.js')
  return new Remote(options)
}

/**
 * Opens the accounts of a server. Throws NotFound if they are missing and not to be made. Throws ConfigError for a file
 * that others can read or change, StorageError for an unusable one.
 */
export async function openAccounts({
  make = false,
  ...choice
}: AccountsChoice & { make?: boolean } = {}): Promise<Accounts> {
  const url = accountsUrl(choice)
  if (url !== null) return openAccountsAt(url, { make, env: choice.env })
  checkRestored(choice)
  const path = accountsPath(choice)
  // Anyone who may write this file can make keys of any tier.
  if (existsSync(path)) await checkPrivate(path)
  else if (!make)
    throw new NotFound(`there are no accounts at ${path}.`, [], {
      remedy: remedy('accounts create', ['NAME'], { tier: 'free', ...(choice.accounts && { accounts: path }) }),
    })
  const { openSqliteAccounts } = await import('../server/accounts/sqlite/accounts.js')
  return openSqliteAccounts(path, choice.notice)
}

/** Throws ConfigError for a secret file that others can read or change. */
export async function checkPrivate(path: string): Promise<void> {
  // Windows does not store access rights in the mode.
  if (process.platform === 'win32') return
  const found = await stat(path)
  const mode = found.mode & 0o777
  // The reader refuses anything that is not a file.
  if (!found.isFile() || (mode & 0o077) === 0) return
  const done = (mode & 0o022) === 0 ? 'read' : 'read or changed'
  throw new ConfigError(`${path} can be ${done} by others (mode 0${mode.toString(8)}); chmod 600 ${path}`)
}

/**
 * Opens the trial log next to the user's database, and makes it if missing. Returns null for the sample, which has no
 * log. Throws StorageError if it cannot be written, NotFound for a named database that is missing.
 */
export async function openTrials(choice: DatabaseChoice = {}): Promise<Trials | null> {
  const path = await companionPath('trials', choice)
  if (path === null) return null
  const { openSqliteTrials } = await import('../data/store/sqlite/lists.js')
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
  const { openSqliteTrialsForReading } = await import('../data/store/sqlite/lists.js')
  return openSqliteTrialsForReading(path)
}

/**
 * The path of a file next to the user's database; null for the sample. Throws NotFound for a named database that is
 * missing.
 */
async function companionPath(kind: 'trials' | 'lists', choice: DatabaseChoice): Promise<string | null> {
  const { local, sample } = await openLocal(choice)
  await local.close()
  return sample ? null : filesOf(choice)[kind]
}

/**
 * Opens the watch lists of a user next to the database, and makes them if missing. The sample has lists, too. Throws
 * StorageError if they cannot be written, NotFound for a named database that is missing.
 */
export async function openLists(choice: DatabaseChoice = {}): Promise<Lists> {
  await companionPath('lists', choice)
  const { openSqliteLists } = await import('../data/store/sqlite/lists.js')
  return openSqliteLists(filesOf(choice).lists, Date.now, choice.notice)
}

/** Opens the watch lists for reading; null if there are none yet. Throws StorageError for unreadable ones. */
export async function openListsForReading(choice: DatabaseChoice = {}): Promise<ReadLists | null> {
  await companionPath('lists', choice)
  const { openSqliteListsForReading } = await import('../data/store/sqlite/lists.js')
  return openSqliteListsForReading(filesOf(choice).lists)
}

/**
 * The path of the data. Finishes an interrupted restore first, with a notice. Throws Busy, or StorageError if that
 * fails.
 */
async function pathAfterRestore(choice: DatabaseChoice): Promise<string> {
  const files = filesOf(choice)
  if (!Object.values(files).some(path => existsSync(restoreNote(path)))) return files.data
  const done = (await import('./backup/restore.js')).finishRestore(files)
  if (done !== null) choice.notice?.(done)
  return files.data
}

/** The path of the data. Throws Busy or StorageError during an unfinished restore, which a question does not finish. */
function checkRestored(choice: DatabaseChoice): string {
  const path = databasePath(choice)
  if (!existsSync(restoreNote(path))) return path
  if (existsSync(path) && isLocked(path)) throw new Busy(`a backup is being restored to ${path}; try again`)
  throw new StorageError(`a restore of ${path} was stopped before its end; the next command that writes finishes it`, {
    remedy: remedy('unlock', [], { db: path }),
  })
}

/** The files of a user, while no restore of them waits to be finished. Throws as that says. */
export function restoredFilesOf(choice: AccountsChoice = {}): Files {
  checkRestored(choice)
  return filesOf(choice)
}

/** Verifies the existing files next to the data. Throws StorageError. */
export async function verifyOtherFiles(choice: AccountsChoice = {}): Promise<Verified[]> {
  const files = restoredFilesOf(choice)
  const { COMPANION_FILES } = await import('./backup/backup.js')
  return COMPANION_FILES.filter(([kind]) => existsSync(files[kind])).map(([kind, verify]) => verify(files[kind]))
}

/** As which tier, day and time a database is seen, with which fields, and by how many. */
interface StoreView extends Pick<OpenOptions, 'tier' | 'asOf' | 'now' | 'fields' | 'threads'> {
  /** Wraps a store in a cache. */
  remembered?: ((store: Store) => Store) | undefined
  /** The cache of derived records. */
  derived?: DerivedMemory | undefined
}

function opened(
  store: Store,
  path: string,
  { tier = null, asOf = null, remembered, ...view }: StoreView,
  sample = false,
): Opened {
  return { ...composed(remembered?.(store) ?? store, tier, asOf, view), path, sample }
}

/** The view of one caller: the engine for tickers with bars, and stored pages for the others. */
export function composed(
  store: Store,
  tier: Tier | null,
  asOf: Day | null,
  { now, fields, threads, derived }: Omit<StoreView, 'tier' | 'asOf' | 'remembered'> = {},
): Pick<Opened, 'local' | 'bands'> {
  const { pages } = store
  const otherData = {
    newestDay: () => pages.newestDay(),
    tickers: async () => (await pages.entries()).map(({ ticker }) => ticker),
    async of(ticker: string): Promise<string | null> {
      const [first] = await pages.entries(ticker)
      return first === undefined ? null : sourceWords(first)
    },
  }
  const local = new Local(store, tier, asOf, { otherData, now: dayBy(now), fields, threads, derived })
  const pulled = async () => {
    const { PulledEvents } = await import('./remote/pulled-events.js')
    return new PulledEvents(pages, { tier, asOf, unknown: ticker => local.unknown(ticker) })
  }
  const hasBars = async (ticker: string): Promise<boolean> => (await store.ticker(ticker)) !== null
  return { local, bands: new DatabaseSource({ own: local, hasBars, pages, pulled }) }
}

function dayBy(now: Clock | undefined): (() => Day) | undefined {
  return now && (() => dayAt(now().getTime()))
}

/** The loaded tickers, and how fresh their data are. */
export interface WholeStatus extends Status {
  /** Tickers without bars that have pulled events, on any as-of day. */
  pulled: PulledTicker[]
}

export async function statusOf({ local, bands }: Pick<Opened, 'local' | 'bands'>): Promise<WholeStatus> {
  const { status } = await import('../data/local/status.js')
  return { ...(await status(local)), pulled: await bands.pulled() }
}

function samplePath(): string {
  const found = builtPath('sample.db')
  if (found === undefined)
    throw new NotFound('the bundled sample is missing; import a file first.', [], {
      remedy: remedy('import', ['FILE']),
    })
  return found
}

/** The data and accounts of a server. */
export interface OpenedService extends Pick<Opened, 'path' | 'sample'> {
  service: Service
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
    import('../data/store/cached-store.js'),
    import('../data/threads.js'),
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
    async checkOversold(tier, query) {
      await (await import('../data/local/oversold.js')).checkOversold(bands(tier), query)
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
  return { service, path, sample }
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
