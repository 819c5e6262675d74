import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import type { Accounts } from './accounts/accounts.js'
import { builtPath } from './built.js'
import { Busy, ConfigError, NotFound, remedy, StorageError } from './errors.js'
import type { FieldSet } from './fields/index.js'
import type { Importer } from './load/import.js'
import type { DerivedMemory } from './local/derived.js'
import { Local } from './local/local.js'
import type { Status } from './local/status.js'
import { type Day, dayAt } from './model/day.js'
import type { Tier } from './model/terms.js'
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
import { checkFunction, checkOptions, objectOf } from './params/arguments.js'
import { fileValue, flagValue } from './params/values.js'
import { Beside, type PulledTicker } from './remote/beside.js'
import type { PageSource, PullOptions } from './remote/pull.js'
import type { PullReport, PullRequest } from './remote/pull-plan.js'
import type { Remote, RemoteOptions } from './remote/remote.js'
import type { Service } from './server/answers.js'
import type { Lists, ReadLists, ReadTrials, Trials } from './source.js'
import { sourceWords } from './store/pages.js'
import type { Files } from './store/sqlite/backup.js'
import { openSqlite, releaseLock } from './store/sqlite/data.js'
import { fileLostCheck, restoreNote } from './store/sqlite/files.js'
import type { Verified } from './store/sqlite/verify.js'
import { isLocked } from './store/sqlite/writer-lock.js'
import { Damaged, lockForWriting, retryWhileBusy, type Store, UNDERIVED, type Writer } from './store/store.js'
import type { ScanData, ScanTask } from './workers/scan.js'

interface OpenOptions extends DatabaseChoice {
  /** Answer as this tier: its range, its fields and its limit, of studies too; nothing is withheld unless one is given. */
  tier?: Tier | null | undefined
  asOf?: Day | null
  now?: Clock | undefined
  /** What can be asked for; the specified fields unless given. */
  fields?: FieldSet | undefined
  /** How many threads may answer of many tickers; as many as the machine has cores unless given. */
  threads?: number | undefined
  /** How many bytes of decoded series are kept for the questions to come; none unless given. */
  cacheBytes?: number | undefined
}

/** The time, this machine's clock unless given: bars of days to come do not count. */
type Clock = () => Date

export interface Opened {
  /** What has bars, for questions that need them. */
  local: Local
  /** Everything: what has bars, and pages of a server of what has none. */
  bands: Beside
  path: string
  /** True when the user has no database yet and the bundled sample answers. */
  sample: boolean
}

/**
 * Opens a database for questions; nothing is written. Without one of the user's own the bundled sample answers.
 * Throws NotFound for a file that was named and is missing, StorageError for one that cannot be read.
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
  // A database with nothing in it, such as one whose last ticker was removed, is none of the user's.
  const names = await own.local.store.names().catch(async error => {
    await own.local.close()
    throw error
  })
  if (names.length > 0) return own
  await own.local.close()
  return openSample(view)
}

/** What a program that asks again and again keeps: some 700 series of five years, with the fields that were asked for. */
export const CACHE_BYTES = 64 * 1024 * 1024

/** A command asks one question. Records that were made for one have a quarter beside what is read. */
async function memoryFor(bytes: number): Promise<Pick<StoreView, 'remembered' | 'derived'>> {
  if (bytes === 0) return {}
  const [{ cachedStore }, { DerivedMemory }] = await Promise.all([
    import('./store/cached-store.js'),
    import('./local/derived.js'),
  ])
  return { remembered: store => cachedStore(store, bytes), derived: new DerivedMemory(bytes / 4) }
}

/** The bundled sample, whatever the user has. */
export function openSample(view: StoreView = {}): Opened {
  return opened(openSqlite(samplePath(), { readonly: true }), samplePath(), view, true)
}

/**
 * Opens the database for writing and takes its one writing place. A missing one is made when there is something to put into
 * it. Throws Busy.
 */
export async function openImporter(options: WriteChoice = {}): Promise<Importer> {
  checkOptions('options', options, {
    db: fileValue,
    env: objectOf,
    notice: checkFunction,
    wait: flagValue,
  })
  const { wait = false } = options
  const [{ readFile }, { Importer }] = await Promise.all([import('./feeds/read.js'), import('./load/import.js')])
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
    import('./feeds/read.js'),
    import('./load/import.js'),
  ])
  return writing({ ...choice, wait }, async (store, writer): Promise<Puller> => {
    const importer = await Importer.begin(store, readFile, writer, { wait })
    // Of an older file, that was brought up to date on the way.
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
  /** Wait while another process is writing. */
  wait?: boolean
}

/** The one who pulls into a database, until it is closed. */
export interface Puller extends Pick<Importer, 'finished'> {
  pull(source: PageSource, request: PullRequest, options?: PullOptions): Promise<PullReport>
  close(): Promise<void>
}

/** Who writes has the store until it is closed; who cannot begin leaves it closed. */
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
 * Frees the writing place of a process that is gone without having left it; null where nobody has it. Throws NotFound
 * without a database, Busy where that process is at work.
 */
export async function forceUnlock(choice: DatabaseChoice = {}): Promise<{ path: string; freed: Writer | null }> {
  const path = await pathAfterRestore(choice)
  if (!existsSync(path)) throw new NotFound(`there is no database at ${path}.`)
  return { path, freed: releaseLock(path) }
}

/** What a pull would find, for a look only; null where there is no database yet. */
export async function openForPlan(choice: DatabaseChoice = {}): Promise<Store | null> {
  const path = checkRestored(choice)
  return existsSync(path) ? openForReading(choice) : null
}

/**
 * A server to be asked with a key; nothing is asked yet. Throws InvalidParameter for an address, ConfigError for a key or
 * a proxy that cannot be used.
 */
export async function openRemote(options: RemoteOptions): Promise<Remote> {
  const { Remote } = await import('./remote/remote.js')
  return new Remote(options)
}

/**
 * Opens the accounts of a server. Throws NotFound when there are none and they are not to be made, ConfigError for a file
 * that others can read or change, StorageError for one that cannot be used.
 */
export async function openAccounts({
  make = false,
  ...choice
}: AccountsChoice & { make?: boolean } = {}): Promise<Accounts> {
  const url = accountsUrl(choice)
  if (url !== null) return openAccountsAt(url, { make, env: choice.env })
  checkRestored(choice)
  const path = accountsPath(choice)
  // Who may write it makes keys of any tier.
  if (existsSync(path)) await checkPrivate(path)
  else if (!make)
    throw new NotFound(`there are no accounts at ${path}.`, [], {
      remedy: remedy('accounts create', ['NAME'], { tier: 'free', ...(choice.accounts && { accounts: path }) }),
    })
  const { openSqliteAccounts } = await import('./store/sqlite/accounts.js')
  return openSqliteAccounts(path, choice.notice)
}

/** What is worth a key is its owner's alone. Throws ConfigError. */
export async function checkPrivate(path: string): Promise<void> {
  // Windows keeps who may read what elsewhere than in the mode.
  if (process.platform === 'win32') return
  const found = await stat(path)
  const mode = found.mode & 0o777
  // What is no file is refused by whoever reads it.
  if (!found.isFile() || (mode & 0o077) === 0) return
  const done = (mode & 0o022) === 0 ? 'read' : 'read or changed'
  throw new ConfigError(`${path} can be ${done} by others (mode 0${mode.toString(8)}); chmod 600 ${path}`)
}

/**
 * Opens the ledger of trials beside the user's own database, made first if there is none; null while the sample answers,
 * beside which nothing is written. Throws StorageError where it cannot be written, NotFound for a named database that is
 * missing.
 */
export async function openTrials(choice: DatabaseChoice = {}): Promise<Trials | null> {
  const path = await companionPath('trials', choice)
  if (path === null) return null
  const { openSqliteTrials } = await import('./store/sqlite/lists.js')
  return openSqliteTrials(path, Date.now, choice.notice)
}

/**
 * Opens the same for reading: `none` while it was not made yet, null while the sample answers. Throws StorageError for one
 * that cannot be read, NotFound for a named database that is missing.
 */
export async function openTrialsForReading(choice: DatabaseChoice = {}): Promise<ReadTrials | 'none' | null> {
  const path = await companionPath('trials', choice)
  if (path === null) return null
  if (!existsSync(path)) return 'none'
  const { openSqliteTrialsForReading } = await import('./store/sqlite/lists.js')
  return openSqliteTrialsForReading(path)
}

/** Beside the user's own database; null while the sample answers. Throws NotFound for a named database that is missing. */
async function companionPath(kind: 'trials' | 'lists', choice: DatabaseChoice): Promise<string | null> {
  const { local, sample } = await openLocal(choice)
  await local.close()
  return sample ? null : filesOf(choice)[kind]
}

/**
 * Opens the lists of a user, made first if there are none: beside the database, also while the sample answers and beside
 * where that would be. Throws StorageError where they cannot be written, NotFound for a named database that is missing.
 */
export async function openLists(choice: DatabaseChoice = {}): Promise<Lists> {
  await companionPath('lists', choice)
  const { openSqliteLists } = await import('./store/sqlite/lists.js')
  return openSqliteLists(filesOf(choice).lists, Date.now, choice.notice)
}

/** The same for reading: null while none was made yet. Throws StorageError for one that cannot be read. */
export async function openListsForReading(choice: DatabaseChoice = {}): Promise<ReadLists | null> {
  await companionPath('lists', choice)
  const { openSqliteListsForReading } = await import('./store/sqlite/lists.js')
  return openSqliteListsForReading(filesOf(choice).lists)
}

/** Where the data is. Finishes a restore that was stopped there, and says so. Throws Busy, StorageError where it cannot be. */
async function pathAfterRestore(choice: DatabaseChoice): Promise<string> {
  const files = filesOf(choice)
  if (!Object.values(files).some(path => existsSync(restoreNote(path)))) return files.data
  const done = (await import('./store/sqlite/restore.js')).finishRestore(files)
  if (done !== null) choice.notice?.(done)
  return files.data
}

/** Where the data is. Throws Busy or StorageError while a restore has not given all files their names: a question finishes none. */
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

/** Whether the files beside the data are what they must be, of those that there are. Throws StorageError. */
export async function verifyOtherFiles(choice: AccountsChoice = {}): Promise<Verified[]> {
  const files = restoredFilesOf(choice)
  const { COMPANION_FILES: BESIDE } = await import('./store/sqlite/verify.js')
  return BESIDE.filter(([kind]) => existsSync(files[kind])).map(([kind, verify]) => verify(files[kind]))
}

/** As which tier, day and time a database is seen, with which fields, and by how many. */
interface StoreView extends Pick<OpenOptions, 'tier' | 'asOf' | 'now' | 'fields' | 'threads'> {
  /** A store that remembers what was asked of another. */
  remembered?: ((store: Store) => Store) | undefined
  /** What keeps records that were made for a question. */
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

/** A store as one caller sees it: the engine over its bars, and beside it the pages of other tickers. */
export function composed(
  store: Store,
  tier: Tier | null,
  asOf: Day | null,
  { now, fields, threads, derived }: Omit<StoreView, 'tier' | 'asOf' | 'remembered'> = {},
): Pick<Opened, 'local' | 'bands'> {
  const { pages } = store
  const elsewhere = {
    newestDay: () => pages.newestDay(),
    tickers: async () => (await pages.entries()).map(({ ticker }) => ticker),
    async of(ticker: string): Promise<string | null> {
      const [first] = await pages.entries(ticker)
      return first === undefined ? null : sourceWords(first)
    },
  }
  const local = new Local(store, tier, asOf, { elsewhere, now: dayBy(now), fields, threads, derived })
  const kept = async () => {
    const { KeptPages } = await import('./remote/kept.js')
    return new KeptPages(pages, { tier, asOf, unknown: ticker => local.unknown(ticker) })
  }
  const hasBars = async (ticker: string): Promise<boolean> => (await store.ticker(ticker)) !== null
  return { local, bands: new Beside({ own: local, hasBars, pages, kept }) }
}

function dayBy(now: Clock | undefined): (() => Day) | undefined {
  return now && (() => dayAt(now().getTime()))
}

/** What is loaded, and how fresh it is. */
export interface WholeStatus extends Status {
  /** Tickers without bars, of which a server has told events; whatever the day. */
  pulled: PulledTicker[]
}

export async function statusOf({ local, bands }: Pick<Opened, 'local' | 'bands'>): Promise<WholeStatus> {
  const { status } = await import('./local/status.js')
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

/** What a server stands on. */
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
  now,
  ...choice
}: AccountsChoice & { asOf?: Day | null; clock?: (() => Day) | null; now?: Clock } = {}): Promise<OpenedService> {
  const { local, path, sample } = await openLocal({ ...choice, asOf, now })
  const { store } = local
  const accounts = await openAccounts({ ...choice, make: true }).catch(async error => {
    await store.close()
    throw error
  })
  const [{ cachedStore }, { Threads }] = await Promise.all([import('./store/cached-store.js'), import('./threads.js')])
  // From bars alone: what another server told of its own is that one's to tell, and to charge for.
  const derived = cachedStore(store)
  const checkPlace = fileLostCheck(store.location)
  const bands = (tier: Tier): Local => new Local(derived, tier, asOf, { clock, now: dayBy(now) })
  const data: ScanData = { path: store.location }
  // One core is left to those who ask for little; more than a few threads would only take memory.
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
      await (await import('./local/oversold.js')).checkOversold(bands(tier), query)
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
 * Reads past what is remembered: a file that was spoilt under an open database still has its first pages in memory.
 * @param derived the same store, which remembers its tickers: to list them takes far longer than to read the bars of one
 */
async function readSomething(store: Store, derived: Store): Promise<void> {
  try {
    const [first] = await derived.tickers()
    if (first !== undefined) await store.bars(first.ticker)
  } catch (error) {
    // One ticker that is damaged is told to who asks for it; all others are answered.
    if (!(error instanceof Damaged)) throw error
  }
}
