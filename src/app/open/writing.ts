import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { checkFunction, checkOptions, objectOf } from '../../core/params/arguments.js'
import { fileValue, flagValue } from '../../core/params/values.js'
import type { Importer } from '../../data/load/import.js'
import { openSqlite, releaseLock } from '../../data/store/sqlite/data.js'
import { restoreNotePath } from '../../data/store/sqlite/files.js'
import { lockForWriting, retryWhileBusy, type Store, UNDERIVED, type Writer } from '../../data/store/store.js'
import type { PageSource, PullOptions } from '../remote/pull.js'
import type { PullReport, PullRequest } from '../remote/pull-plan.js'
import { type DatabaseChoice, databasePath, filesOf, noDatabase } from './paths.js'

/**
 * Opens the database for writing and takes its writer lock. A missing database is made when the first data come. While
 * another process writes, it waits with `wait`, and otherwise throws Busy.
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
    import('../../data/feeds/read.js'),
    import('../../data/load/import.js'),
  ])
  if (existsSync(databasePath(options)))
    return openWritableStore(options, (store, writer) => Importer.begin(store, readFile, writer, { wait }))
  const writer = writerOfThisProcess()
  // Called with the first data, so that a run without any makes no file.
  const open = () =>
    openWritableStore({ ...options, isPublishedLater: true }, async store => {
      await lockForWriting(store, writer, { wait })
      return store
    })
  return Importer.onFirstWrite(open, readFile, writer)
}

/** Opens the database for events of a server, makes it if missing, and takes its writer lock. Throws Busy. */
export async function openPuller({
  wait = false,
  now = () => new Date(),
  ...choice
}: WriteChoice & { now?: () => Date } = {}): Promise<Puller> {
  const [{ pull }, { readFile }, { Importer }] = await Promise.all([
    import('../remote/pull.js'),
    import('../../data/feeds/read.js'),
    import('../../data/load/import.js'),
  ])
  // The puller uses the store until it is closed.
  return openWritableStore({ ...choice, wait, isPublishedLater: true }, async (store, writer): Promise<Puller> => {
    const importer = await Importer.begin(store, readFile, writer, { wait })
    // A new file gets its name, with the writer lock taken.
    await store.publish()
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

/**
 * Opens the store for writing and calls `begin`, whose result closes it later. Closes it at once if `begin` fails.
 * @param wait whether to wait, instead of throwing Busy, while another process writes
 * @param isPublishedLater a missing file is made under a temporary name, until `begin` or its result publishes the
 * store
 */
async function openWritableStore<T>(
  { wait = false, isPublishedLater = false, ...choice }: WriteChoice & { isPublishedLater?: boolean },
  begin: (store: Store, writer: Writer) => Promise<T>,
): Promise<T> {
  const path = await pathAfterRestore(choice)
  const options = { readonly: false, notice: choice.notice, isPublishedLater }
  const store = await retryWhileBusy(() => openSqlite(path, options), wait)
  try {
    return await begin(store, writerOfThisProcess())
  } catch (error) {
    await store.close()
    throw error
  }
}

function writerOfThisProcess(): Writer {
  return { pid: process.pid, host: hostname(), started: new Date().toISOString() }
}

/**
 * Releases the writer lock of a process that ended without doing so; null if there is no lock. Throws NotFound without
 * a database, Busy if that process still runs.
 */
export async function forceUnlock(choice: DatabaseChoice = {}): Promise<{ path: string; freed: Writer | null }> {
  const path = await pathAfterRestore(choice)
  if (!existsSync(path)) throw noDatabase(path)
  return { path, freed: releaseLock(path) }
}

/**
 * The path of the data. Finishes an interrupted restore first, with a notice. Throws Busy, or StorageError if that
 * fails.
 */
async function pathAfterRestore(choice: DatabaseChoice): Promise<string> {
  const files = filesOf(choice)
  if (!Object.values(files).some(path => existsSync(restoreNotePath(path)))) return files.data
  const { finishRestore } = await import('../backup/restore.js')
  const notice = finishRestore(files)
  if (notice !== null) choice.notice?.(notice)
  return files.data
}
