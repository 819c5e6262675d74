import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { parameter, remedy, sentence, type Words } from '../../core/errors.js'
import { type Day, utcToday } from '../../core/model/day.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import { isOnReadOnlySystem } from '../store/sqlite/connection.js'
import { openSqlite } from '../store/sqlite/data.js'
import { type Inspection, inspect, sqliteVersion } from '../store/sqlite/inspect.js'
import { Damaged, UNDERIVED } from '../store/store.js'
import { Pending } from './cache.js'
import { oddityLines, storedOddities, tickersAsOf } from './known.js'

export interface Check {
  name: string
  outcome: 'ok' | 'warn' | 'fail'
  detail: Words
  /** The remedy; null if nothing needs to be done. */
  remedy: Words | null
}

export function okCheck(name: string, detail: Words): Check {
  return { name, outcome: 'ok', detail, remedy: null }
}

export function warningCheck(name: string, detail: string, remedy: Words): Check {
  return { name, outcome: 'warn', detail, remedy }
}

export function failedCheck(name: string, detail: string, remedy: Words): Check {
  return { name, outcome: 'fail', detail, remedy }
}

export function firstLineOf(thrown: unknown): string {
  return (thrown instanceof Error ? thrown.message : String(thrown)).split('\n')[0]!
}

export interface Diagnosis {
  schema: 'bands.doctor/1'
  /** The worst outcome of all checks. */
  outcome: Check['outcome']
  checks: Check[]
}

/** The facts to examine; nothing else is looked up, so that it works even if nothing else does. */
export interface DoctorFacts {
  /** The path of the database file, which may not exist. */
  database: string
  /** `process.versions.node` and `process.versions.modules` */
  node: string
  abi: string
  /** Today's date (default: by this machine's clock). */
  today?: Day
  /** Checks that the caller has made. */
  extraChecks?: readonly Check[]
  /** Settings chosen by the caller, and why: colour, width. Shown unchanged. */
  terminal?: readonly { name: string; detail: string }[]
}

/** Examines this machine and the database. Faults become checks, and are not thrown. */
export async function doctor({
  database,
  node,
  abi,
  today = utcToday(),
  extraChecks = [],
  terminal = [],
}: DoctorFacts): Promise<Diagnosis> {
  const sqlite = sqliteCheck()
  const fileChecks = sqlite.outcome === 'fail' ? [] : databaseChecks(database)
  // The last day that can have a bar: somewhere it is tomorrow already.
  const lastDay = today + 1
  const checks = [
    nodeCheck(node, abi),
    sqlite,
    ...fileChecks,
    ...(fileChecks.length === 0 ? [] : await barsChecks(database, lastDay, fileChecks)),
    ...extraChecks,
    ...terminal.map(({ name, detail }) => okCheck(name, detail)),
  ]
  const worst = (['fail', 'warn'] as const).find(outcome => checks.some(check => check.outcome === outcome))
  return { schema: 'bands.doctor/1', outcome: worst ?? 'ok', checks }
}

function nodeCheck(version: string, abi: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const detail = `${version}, ABI ${abi}`
  const works = (major === 22 && minor >= 14) || major >= 24
  if (works) return okCheck('node', detail)
  return failedCheck('node', `${detail}; bands needs 22.14, 24 or newer`, 'install Node 24')
}

function sqliteCheck(): Check {
  try {
    return okCheck('sqlite', `${sqliteVersion()}, its compiled module loads`)
  } catch (thrown) {
    return failedCheck('sqlite', firstLineOf(thrown), 'install bands again on Linux or macOS, x64 or arm64')
  }
}

/** Free disk space that an import of a few hundred tickers needs. */
const ENOUGH_BYTES = 200 * 2 ** 20

/** The statfs(2) types of file systems whose locks and shared memory are unsafe for SQLite. */
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  16914839: '9P',
  12805120: 'Ceph',
}

/**
 * Checks the folder of a database, then the file. Without a file that can be opened, checks of its content are left
 * out.
 */
export function databaseChecks(path: string): Check[] {
  const folder = existingFolder(path)
  const size = existsSync(path) ? statSync(path).size : 0
  const folderChecks = [permissionsCheck(path, folder), spaceCheck(folder, size), fileSystemCheck(folder)]
  if (!existsSync(path))
    return [
      warningCheck('database', `there is none at ${path}; the bundled sample answers`, [remedy('import', ['FILE'])]),
      ...folderChecks,
    ]
  try {
    const inspection = inspect(path)
    return [
      okCheck('database', `${path}, ${formatBytes(size)}, tickers: ${inspection.tickers}`),
      ...folderChecks,
      ...contentChecks(inspection, path),
    ]
  } catch (thrown) {
    return [failedCheck('database', firstLineOf(thrown), remedyFor(thrown, path)), ...folderChecks]
  }
}

/**
 * Checks the stored bars for oddities; none if the database cannot be read, which other checks report.
 * @param lastDay the last day that can have a bar
 */
async function barsChecks(path: string, lastDay: Day, databaseResults: readonly Check[]): Promise<Check[]> {
  if (!databaseResults.some(({ name, outcome }) => name === 'schema' && outcome === 'ok')) return []
  const store = openSqlite(path, { readonly: true })
  try {
    const today = (await store.newestDay(lastDay)) ?? lastDay
    const lines = oddityLines(storedOddities(await tickersAsOf(store, today), await store.securities(), lastDay))
    if (lines.length === 0) return [okCheck('bars', 'on one scale, and up to days that lie close together')]
    return lines.map(({ what, mend }) => warningCheck('bars', what, mend))
  } catch (thrown) {
    return [failedCheck('bars', firstLineOf(thrown), [remedy('verify')])]
  } finally {
    await store.close()
  }
}

/** What to do about a database that cannot be opened. */
function remedyFor(thrown: unknown, path: string): Words {
  if (thrown instanceof Damaged && thrown.remedy) return [thrown.remedy]
  const { code } = ((thrown as Error).cause ?? {}) as { code?: unknown }
  const isSystemFailure = typeof code === 'string' && !/^SQLITE_(CORRUPT|NOTADB)/.test(code)
  return isSystemFailure
    ? sentence`keep ${path} as it is; look into the log of the system, and try again`
    : sentence`move ${path} away and import again, or choose another with ${parameter('db')}`
}

/** The checks of a database that could be opened. */
function contentChecks(inspection: Inspection, path: string): Check[] {
  const { faults, journal, schema, newestSchema, definitions } = inspection
  return [
    faults.length === 0
      ? okCheck('structure', sentence`quick_check finds nothing; ${remedy('verify')} looks at the content`)
      : failedCheck('structure', faults.join('; '), 'import the files again into a new database'),
    schema === newestSchema
      ? okCheck('schema', `${schema}, the newest`)
      : warningCheck('schema', `${schema}, the newest is ${newestSchema}`, 'the next import brings it up to date'),
    definitionsCheck(definitions),
    journalCheck(journal, path),
    importsCheck(new Pending(inspection.unsettled)),
    writerCheck(inspection),
  ]
}

/** Whether an import is unfinished: fields may wait for it, or only a part of a file is loaded. */
function importsCheck({ steps, files, since }: Pending): Check {
  const [part] = files
  // Fields that use facts are not answered while a step is left.
  if (steps > 0) {
    const mend = sentence`wait for it; if none is running: ${remedy('rebuild')}`
    const from = since === null ? '' : ` since ${since}`
    return warningCheck('imports', `one is not finished (${steps} steps): fields wait${from}`, mend)
  }
  if (part === undefined) return okCheck('imports', 'finished')
  const what = `${part.tickers} of the ${part.of} tickers of ${part.file} are loaded`
  const mend = sentence`wait for it; if none is running, the same import again goes on; ${remedy('rebuild')} leaves it at that`
  return warningCheck('imports', what, mend)
}

/** Whether the events were made with the definitions of this version; `''`: no bars yet. */
function definitionsCheck(definitions: string): Check {
  if (definitions === DEFINITIONS_VERSION || definitions === '')
    return okCheck('definitions', definitions || 'nothing derived yet')
  const isMade = definitions !== UNDERIVED
  const what = isMade
    ? `made with ${definitions}, this bands uses ${DEFINITIONS_VERSION}`
    : 'the events of its bars are not made yet'
  return failedCheck('definitions', what, [remedy('rebuild')])
}

/** A copy in memory, which answers where the folder is read-only, has no WAL. */
function journalCheck(journal: string, path: string): Check {
  if (journal === 'wal' || journal === 'memory') return okCheck('journal', journal)
  const detail = `${journal} instead of wal: questions wait while an import runs`
  return warningCheck('journal', detail, `sqlite3 ${path} "PRAGMA journal_mode = WAL"`)
}

/** Whether another process is writing, or died while it was. */
function writerCheck({ writer }: Inspection): Check {
  if (writer === null) return okCheck('writer', 'none')
  const who = `process ${writer.pid} on ${writer.host} since ${writer.started}`
  if (!writer.alive)
    return warningCheck('writer', `${who} has died at work`, 'nothing: the next import takes its place')
  return warningCheck(
    'writer',
    `${who} is importing`,
    sentence`wait for it; if it is gone for good: ${remedy('unlock')}`,
  )
}

/** Whether this user can read and write the database, and no other user can write it. */
function permissionsCheck(path: string, folder: string): Check {
  const name = 'permissions'
  const exists = existsSync(path)
  if (exists && !hasAccess(path, constants.R_OK))
    return failedCheck(name, `${path} cannot be read`, `chmod u+r ${path}`)
  if (exists && process.platform !== 'win32' && (statSync(path).mode & 0o022) !== 0)
    return warningCheck(name, `others may write ${path}`, `chmod go-w ${path}`)
  const writable = hasAccess(folder, constants.W_OK) && (!exists || hasAccess(path, constants.W_OK))
  if (writable) return okCheck(name, 'can be read and written')
  const state = isOnReadOnlySystem(path) ? 'is on a read-only file system' : 'is read-only'
  const detail = `${folder} ${state}: questions work, imports do not`
  return warningCheck(name, detail, sentence`choose another with ${parameter('db')}`)
}

/** Whether the disk has room for an import. @param size of the database file, in bytes */
function spaceCheck(folder: string, size: number): Check {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const detail = `${formatBytes(free)} free in ${folder}`
  if (free >= Math.max(ENOUGH_BYTES, 2 * size)) return okCheck('space', detail)
  const mend = sentence`make room, or choose another disk with ${parameter('db')}`
  return warningCheck('space', `${detail}, little for an import`, mend)
}

/** Whether the folder is on a local file system; only known on Linux. */
function fileSystemCheck(folder: string): Check {
  const kind = process.platform === 'linux' ? NETWORK_FILE_SYSTEMS[statfsSync(folder).type >>> 0] : undefined
  if (kind === undefined) return okCheck('file system', 'local')
  const detail = `${folder} is on ${kind}, where SQLite's locks may fail`
  return warningCheck('file system', detail, 'keep the database on a local disk')
}

/** The nearest folder above a file that exists. */
function existingFolder(path: string): string {
  const folder = dirname(path)
  return existsSync(folder) || folder === dirname(folder) ? folder : existingFolder(folder)
}

/** Whether this user has access to a file. @param mode a constant of node:fs, such as W_OK */
function hasAccess(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

function formatBytes(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
