import {
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { access } from 'node:fs/promises'
import { join, posix, relative, resolve } from 'node:path'
import { BadData, type InvalidParameter, quoted, typedLineWith, WriterBusy, wrong } from '../../core/errors.js'
import { WINDOW_PREFIX } from '../../core/model/event.js'
import { isMapping } from '../../core/params/arguments.js'
import { EXPORT_TABLES, type ExportTable } from '../../data/local/export.js'
import { tryLock } from '../../data/store/sqlite/writer-lock.js'
import { retryWhileBusy } from '../../data/store/store.js'

/**
 * The list of a folder of Parquet files, and how a run replaces it. New files wait under names that no engine reads.
 * Once PENDING_CHANGE names them, they replace the old ones, and MANIFEST is missing until all did. A run that was
 * killed before that leaves the old folder; the next run finishes a change that was pending.
 */
const MANIFEST = 'manifest.json'
const PENDING_CHANGE = 'manifest.next.json'
/** The name that `tryLock` gives the lock of the list. */
const LOCK = `${MANIFEST}-writer`
const VIEWS_FILE = 'views.sql'
const MANIFEST_SCHEMA = 'bands.parquet/2'

/** How the rows of a table are divided among files. */
export interface Layout {
  partition_by: 'ticker' | 'year'
  /** The number of files that share the tickers; null: one file for each ticker, or for each year. */
  partitions: number | null
}

/** One file, by its path in the folder. */
export interface ListedFile {
  rows: number
  bytes: number
  sha256: string
  /** A hash of everything that its rows are made from. */
  source: string
}

/** A table as its last export wrote it. */
export interface ListedTable extends Layout {
  version: string
  definitions: string
  /** The day of the newest bar, or the one that --as-of names. */
  as_of: string | null
  /** The hash of the data, as in X-Bands-Data of a server. */
  data: string
  columns: string[]
  rows: number
  files: Record<string, ListedFile>
}

export type Tables = Partial<Record<ExportTable, ListedTable>>

/** A folder as a command line names it. `path` is absolute. */
export interface NamedFolder {
  path: string
  typedName: string
  option: 'write' | 'folder'
}

export function namedFolder(typedName: string, option: NamedFolder['option']): NamedFolder {
  return { path: resolve(typedName), typedName, option }
}

/**
 * The error for a folder that an export cannot use, with a line for another one.
 * @param reason follows the name of the folder
 * @param ending of the name of the other folder
 */
export function unsuitableFolder(folder: NamedFolder, reason: string, ending = '2'): InvalidParameter {
  const { typedName, option } = folder
  const otherFolder = `${typedName.replace(/[\\/]+$/, '')}-${ending}`
  const line = typedLineWith('export', [], { [option]: otherFolder })
  return wrong(option, `${quoted(typedName)} ${reason}; name another folder.`, { value: typedName }, { remedy: line })
}

interface FolderChange {
  tables: Tables
  /** The new files: their temporary and their final paths in the folder. */
  staged: [from: string, to: string][]
  removed: string[]
}

/** Makes and locks a folder, and works on its tables. @param onWait called before each try (default: one try) */
export async function withLockedFolder<T>(
  named: NamedFolder,
  work: (tables: Tables) => Promise<T>,
  onWait?: () => void,
): Promise<T> {
  const folder = named.path
  refuseOtherFolder(named)
  mkdirSync(folder, { recursive: true })
  const whyReadOnly = await access(folder, constants.W_OK).catch((error: Error) => error)
  // `bands sql` only reads an up-to-date folder of another user.
  if (whyReadOnly) return work(readTables(named))
  const lockOnce = () => {
    onWait?.()
    const lock = tryLock(join(folder, MANIFEST))
    if (lock === null) throw folderBusy(folder)
    return lock
  }
  const lock = await retryWhileBusy(lockOnce, onWait !== undefined)
  try {
    return await work(openFolder(named))
  } finally {
    lock.close()
  }
}

/** The tables of a locked folder. Finishes the change of a killed run. Throws for files that no export listed. */
function openFolder(named: NamedFolder): Tables {
  const folder = named.path
  if (existsSync(join(folder, PENDING_CHANGE)))
    replaceFiles(folder, JSON.parse(readFileSync(join(folder, PENDING_CHANGE), 'utf8')) as FolderChange)
  const tables = readTables(named)
  for (const table of EXPORT_TABLES) {
    for (const path of filesUnder(folder, table)) {
      if (path.endsWith('.tmp')) rmSync(join(folder, path), { force: true })
      if (path.endsWith('.parquet') && tables[table]?.files[path] === undefined)
        throw unsuitableFolder(named, `has ${path}, which is no file of this export`)
    }
  }
  return tables
}

/** Throws InvalidParameter unless a folder is missing, empty or one of an export. */
function refuseOtherFolder(named: NamedFolder): void {
  if (!existsSync(named.path)) return
  const names = statSync(named.path).isDirectory() ? readdirSync(named.path) : ['']
  if (names.length > 0 && ![MANIFEST, PENDING_CHANGE, LOCK].some(name => names.includes(name)))
    throw unsuitableFolder(named, 'is there, and is no folder of such files')
}

/** The paths of all files of a table, relative to the folder. */
function filesUnder(folder: string, table: ExportTable): string[] {
  const path = join(folder, table)
  if (!existsSync(path)) return []
  const entries = readdirSync(path, { withFileTypes: true, recursive: true })
  const files = entries.filter(entry => !entry.isDirectory())
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll('\\', '/'))
}

/** The temporary path of a file. Neither `*.parquet` nor an engine that reads a whole folder finds it. */
export function stagedPath(path: string): string {
  return posix.join(posix.dirname(path), `.${posix.basename(path)}.${process.pid}.tmp`)
}

/** Replaces files, then the lists of the locked folder. */
export function changeFolder(folder: string, change: FolderChange): void {
  if (change.staged.length + change.removed.length === 0) writeLists(folder, change.tables)
  else {
    writeIfChanged(folder, PENDING_CHANGE, JSON.stringify(change))
    replaceFiles(folder, change)
  }
}

function folderBusy(folder: string): WriterBusy {
  return new WriterBusy(`another export is writing ${folder}; try again when it has ended`)
}

/** Carries out a change. It may be repeated: a run that was killed may have replaced some of the files. */
function replaceFiles(folder: string, { tables, staged, removed }: FolderChange): void {
  rmSync(join(folder, MANIFEST), { force: true })
  for (const [from, to] of staged) if (existsSync(join(folder, from))) renameSync(join(folder, from), join(folder, to))
  for (const path of removed) {
    rmSync(join(folder, path), { force: true })
    // `TABLE/year=2020/part.parquet`: the folder of a year goes with its last file.
    const parent = join(folder, posix.dirname(path))
    if (path.split('/').length > 2 && existsSync(parent) && readdirSync(parent).length === 0) rmdirSync(parent)
  }
  writeLists(folder, tables)
  rmSync(join(folder, PENDING_CHANGE), { force: true })
}

function writeLists(folder: string, tables: Tables): void {
  writeIfChanged(folder, VIEWS_FILE, viewsText(tables))
  writeIfChanged(folder, MANIFEST, `${JSON.stringify({ schema: MANIFEST_SCHEMA, tables }, null, 1)}\n`)
}

/** Writes a file if its text differs. A reader finds the old text or the new one, never a part. */
function writeIfChanged(folder: string, name: string, text: string): void {
  const path = join(folder, name)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  const staged = join(folder, stagedPath(name))
  writeFileSync(staged, text)
  renameSync(staged, path)
}

/** The tables of a folder; empty for a new one. Throws InvalidParameter, BadData, or WriterBusy during a change. */
export function readTables(named: NamedFolder): Tables {
  const folder = named.path
  const path = join(folder, MANIFEST)
  if (!existsSync(path)) {
    if (existsSync(join(folder, PENDING_CHANGE))) throw folderBusy(folder)
    refuseOtherFolder(named)
    return {}
  }
  const damaged = new BadData({ file: path }, 'it is not as bands writes it; name another folder, or remove this one')
  try {
    const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isMapping(manifest) || !isMapping(manifest.tables)) throw damaged
    if (manifest.schema === MANIFEST_SCHEMA) return manifest.tables as Tables
    if (manifest.schema !== 'bands.parquet/1') throw damaged
    return olderTables(folder, manifest.tables as Tables)
  } catch (cause) {
    throw cause instanceof BadData ? cause : damaged
  }
}

/** The tables of an older manifest. Their files have no known content, so the next export writes all of them again. */
function olderTables(folder: string, tables: Tables): Tables {
  const unknownFile = { rows: 0, bytes: -1, sha256: '', source: '' }
  const layout = { partition_by: 'ticker', partitions: null } as const
  const unknownTable = { version: '', definitions: '', as_of: null, data: '', rows: 0 }
  const names = Object.keys(tables) as ExportTable[]
  return Object.fromEntries(
    names.map(table => {
      const files = Object.fromEntries(filesUnder(folder, table).map(path => [path, unknownFile]))
      return [table, { ...unknownTable, ...layout, columns: tables[table]!.columns, files }]
    }),
  )
}

/** The statements that make views, whose rows also have the names of JSON: `returns['5d']` next to return_5d. */
function viewsText(tables: Tables): string {
  const views = Object.entries(tables).map(([table, { columns, partition_by }]) => {
    const filesByYear = `'${table}/*/*.parquet', hive_partitioning = true`
    return viewText(table, columns, partition_by === 'year' ? filesByYear : `'${table}/*.parquet'`)
  })
  return `-- In this folder: duckdb -init ${VIEWS_FILE}\n${views.join('')}`
}

/** The statement that makes the view of a table. @param files as arguments of read_parquet */
function viewText(table: string, columns: readonly string[], files: string): string {
  const structs = windowStructs(columns).map(({ name, text }) => `  ${text} AS ${name}`)
  return `CREATE OR REPLACE VIEW ${table} AS SELECT ${['*', ...structs].join(',\n')}\nFROM read_parquet(${files});\n`
}

/** The objects of JSON with a key for each window, as SQL: `returns` is a struct of return_5d, return_21d and so on. */
export function windowStructs(columns: readonly string[]): { name: string; text: string }[] {
  return Object.entries(WINDOW_PREFIX).flatMap(([key, prefix]) => {
    // In JSON, `aftermath` has an object with `performance` for each window.
    const isPerformance = key === 'performance'
    const windowColumns = columns.filter(column => column.startsWith(prefix) && /\d[dw]$/.test(column))
    if (windowColumns.length === 0) return []
    const parts = windowColumns.map(column => {
      const value = isPerformance ? `{'performance': "${column}"}` : `"${column}"`
      return `'${column.slice(prefix.length)}': ${value}`
    })
    return [{ name: isPerformance ? 'aftermath' : key, text: `{${parts.join(', ')}}` }]
  })
}

export interface FolderView {
  table: ExportTable
  view: string
  files: readonly string[]
}

export function folderViews(named: NamedFolder): FolderView[] {
  const tables = readTables(named)
  return EXPORT_TABLES.flatMap(table => {
    const { columns = [], files: listedFiles = {} } = tables[table] ?? {}
    const files = Object.keys(listedFiles).map(file => join(named.path, file))
    return files.length === 0 ? [] : [{ table, view: viewText(table, columns, sqlList(files)), files }]
  })
}

export function sqlList(texts: readonly string[]): string {
  return `[${texts.map(text => `'${text.replaceAll("'", "''")}'`).join(', ')}]`
}
