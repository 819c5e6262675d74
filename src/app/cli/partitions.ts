import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { version } from '../../core/built.js'
import { formatDay } from '../../core/model/day.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import { type ExportFilter, type ExportTable, readTableFilter, tableColumns } from '../../data/local/export.js'
import { exportGroups, splitIntoTasks } from '../../data/local/export-columns.js'
import type { Local } from '../../data/local/local.js'
import { type EncodedGroup, type ParquetColumn, ParquetFile } from '../../data/local/parquet.js'
import { throwWriteError } from './formats.js'
import {
  changeFolder,
  type Layout,
  type ListedFile,
  type ListedTable,
  type NamedFolder,
  stagedPath,
  type Tables,
  unsuitableFolder,
  withLockedFolder,
} from './manifest.js'

/** A folder of Parquet files. A run writes only files that changed. */

export interface WriteSummary {
  written: number
  kept: number
  removed: number
  rows: number
}

/** The folder, how its rows are divided among files, and a callback with each finished ticker and the number so far. */
export interface PartitionOptions extends Layout {
  folder: NamedFolder
  onTicker?: (ticker: string, done: number) => void
  /** Called before each try to lock the folder (default: the first try decides). */
  onWait?: () => void
}

/** Files to make from some tickers: the one at `path`, or one for each year if `path` is null. */
interface Job {
  path: string | null
  tickers: readonly string[]
  /** As in ListedFile. */
  source: string
}

/** Brings the files of a table up to date, as `updateTable` does. Nothing changes before all are ready. */
export function writePartitions(
  local: Local,
  table: ExportTable,
  filter: ExportFilter,
  options: PartitionOptions,
): Promise<WriteSummary> {
  const { folder, onWait } = options
  return withLockedFolder(folder, tables => updateTable(tables, local, table, filter, options), onWait)
}

/**
 * Brings the files of a table up to date, and removes listed files that the query does not have. If the filter has
 * tickers and each ticker has a file, the files of other tickers stay. A file of several tickers is made again, only
 * with the tickers of the filter.
 * @param tables those of the folder, which is locked
 */
async function updateTable(
  tables: Tables,
  local: Local,
  table: ExportTable,
  filter: ExportFilter,
  { folder: namedFolder, onTicker = () => {}, onWait: _, ...layout }: PartitionOptions,
): Promise<WriteSummary> {
  const folder = namedFolder.path
  const { [table]: earlierTable } = tables
  if (earlierTable !== undefined && layoutText(earlierTable) !== layoutText(layout)) {
    const reason = `has ${table} by ${layoutText(earlierTable)}, not by ${layoutText(layout)}`
    throw unsuitableFolder(namedFolder, reason, layout.partition_by)
  }
  const { tickers } = await readTableFilter(local, table, filter)
  const columns = tableColumns(table, filter, local.fieldSet)
  const jobs = await planJobs(local, { table, columns, filter, layout, tickers })
  const listedFiles = earlierTable?.files ?? {}
  const { currentPaths, pending } = sortJobs(folder, jobs, listedFiles)
  mkdirSync(join(folder, table), { recursive: true })
  const files = new StagedFiles(folder, columns)
  try {
    await stageFiles(local, { table, filter, layout, pending, onTicker }, files)
    const hasFilePerTicker = layout.partition_by === 'ticker' && layout.partitions === null
    const otherTickersStay = hasFilePerTicker && !!filter.tickers?.length
    const stayingPaths = otherTickersStay ? new Set(Object.keys(listedFiles)) : currentPaths
    const { changed, removed, newFiles } = compareFiles(folder, listedFiles, files.stagedFiles, stayingPaths)
    const asOfDay = await local.asOfDay()
    const newTable: ListedTable = {
      version: version(),
      definitions: DEFINITIONS_VERSION,
      as_of: asOfDay === null ? null : formatDay(asOfDay),
      data: await local.store.snapshot(),
      ...layout,
      columns: columns.map(({ name }) => name),
      rows: sumRows(Object.values(newFiles)),
      files: newFiles,
    }
    changeFolder(folder, {
      tables: { ...tables, [table]: newTable },
      staged: changed.map(path => [stagedPath(path), path]),
      removed,
    })
    const kept = files.stagedFiles.size - changed.length + currentPaths.size
    const rows = sumRows(changed.map(path => newFiles[path]!))
    return { written: changed.length, kept, removed: removed.length, rows }
  } finally {
    files.removeStaged()
  }
}

/** Divides jobs into those that are done, as the paths of their up-to-date files, and the pending ones. */
function sortJobs(
  folder: string,
  jobs: readonly Job[],
  listedFiles: Readonly<Record<string, ListedFile>>,
): { currentPaths: Set<string>; pending: Job[] } {
  const currentPaths = new Set<string>()
  const pending: Job[] = []
  for (const job of jobs) {
    // The files of all years are one job, which has every listed file.
    const paths = job.path === null ? Object.keys(listedFiles) : [job.path]
    const isCurrent = paths.every(
      path => listedFiles[path]?.source === job.source && hasRecordedSize(folder, path, listedFiles[path]),
    )
    if (paths.length === 0 || !isCurrent) pending.push(job)
    else for (const path of paths) currentPaths.add(path)
  }
  return { currentPaths, pending }
}

/**
 * Compares new files with the listed ones. Returns the paths of files that differ, the paths of files to remove, and
 * the new list, sorted by path.
 * @param stayingPaths listed files that stay although there is no new file for them
 */
function compareFiles(
  folder: string,
  listedFiles: Readonly<Record<string, ListedFile>>,
  stagedFiles: ReadonlyMap<string, ListedFile>,
  stayingPaths: ReadonlySet<string>,
): { changed: string[]; removed: string[]; newFiles: Record<string, ListedFile> } {
  const removed = Object.keys(listedFiles).filter(path => !stagedFiles.has(path) && !stayingPaths.has(path))
  const changed = [...stagedFiles.keys()].filter(path => {
    const { [path]: listedFile } = listedFiles
    return listedFile?.sha256 !== stagedFiles.get(path)!.sha256 || !hasRecordedSize(folder, path, listedFile)
  })
  const filesByPath = { ...listedFiles, ...Object.fromEntries(stagedFiles) }
  for (const path of removed) delete filesByPath[path]
  const newFiles = Object.fromEntries(Object.entries(filesByPath).sort(([a], [b]) => (a < b ? -1 : 1)))
  return { changed, removed, newFiles }
}

function sumRows(files: readonly ListedFile[]): number {
  return files.reduce((sum, file) => sum + file.rows, 0)
}

/** `ticker in 8 partitions` */
function layoutText({ partition_by, partitions }: Layout): string {
  return partitions === null ? partition_by : `${partition_by} in ${partitions} partitions`
}

/** Whether a file has the size that the list has for it. If it is neither listed nor there, that is true. */
function hasRecordedSize(folder: string, path: string, file: ListedFile | undefined): boolean {
  return statSync(join(folder, path), { throwIfNoEntry: false })?.size === file?.bytes
}

interface TableExport {
  table: ExportTable
  columns: readonly ParquetColumn[]
  filter: ExportFilter
  layout: Layout
  tickers: readonly string[]
}

/** The jobs of an export, each with the hash of the data that its files are made from. */
async function planJobs(local: Local, { table, columns, filter, layout, tickers }: TableExport): Promise<Job[]> {
  const hashSource = await sourceHasher(local, columns, filter)
  const { partition_by, partitions } = layout
  // The file that has the rows of a ticker; null if each year has a file.
  const pathOf = (ticker: string): string | null => {
    if (partition_by === 'year') return null
    if (partitions === null) return `${table}/ticker=${ticker}.parquet`
    const digits = String(partitions - 1).length
    return `${table}/part-${String(partitionOf(ticker, partitions)).padStart(digits, '0')}-of-${partitions}.parquet`
  }
  const jobs: Job[] = []
  for (const [path, tickersOfFile] of Map.groupBy(tickers, pathOf))
    jobs.push({ path, tickers: tickersOfFile, source: await hashSource(tickersOfFile) })
  return jobs
}

/** The first 32 bits of the SHA-256 of the ticker, modulo the number of files. */
function partitionOf(ticker: string, partitions: number): number {
  return createHash('sha256').update(ticker).digest().readUInt32BE() % partitions
}

/**
 * Returns a function that hashes everything from which the rows of tickers are made. With a condition or with own
 * fields this includes the bars of every ticker.
 */
async function sourceHasher(
  local: Local,
  columns: readonly ParquetColumn[],
  { tickers: _tickers, ...filter }: ExportFilter,
): Promise<(tickers: readonly string[]) => Promise<string>> {
  const ownFieldHashes = local.fieldSet.all.flatMap(({ hash }) => hash ?? [])
  const readsOtherTickers = filter.when !== undefined || ownFieldHashes.length > 0
  const today = (await local.asOfDay()) ?? 0
  const contents: (string | null)[] = []
  if (readsOtherTickers)
    for (const ticker of await local.withBars()) contents.push(await local.store.content(ticker, today))
  const names = columns.map(({ name }) => name)
  const shared = JSON.stringify([version(), DEFINITIONS_VERSION, local.asOf, names, filter, ownFieldHashes, contents])
  return async tickers => {
    const hash = createHash('sha256').update(shared)
    for (const ticker of tickers) hash.update(`${ticker} ${await local.store.content(ticker, today)}\n`)
    return hash.digest('hex')
  }
}

type PendingExport = Pick<TableExport, 'table' | 'filter' | 'layout'> &
  Required<Pick<PartitionOptions, 'onTicker'>> & { pending: readonly Job[] }

/** Makes the files of the pending jobs under temporary names. Threads share the work, in tasks of several tickers. */
async function stageFiles(
  local: Local,
  { table, filter, layout, pending, onTicker }: PendingExport,
  files: StagedFiles,
): Promise<void> {
  const tasks = pending.flatMap(job => splitIntoTasks(job.tickers).map(tickers => ({ job, tickers })))
  const grouping = { table, filter, byYear: layout.partition_by === 'year' }
  const tickersByTask = tasks.map(({ tickers }) => tickers)
  let nextTask = 0
  let doneTickers = 0
  for await (const groups of exportGroups(local, grouping, tickersByTask)) {
    const { job, tickers } = tasks[nextTask++]!
    doneTickers += tickers.length
    onTicker(tickers[0]!, doneTickers)
    // Also a file without rows is made. For a file that is open, `openOnce` has no effect.
    if (job.path !== null) files.openOnce(job.path, job.source)
    for (const { year, group } of groups) {
      const path = job.path ?? `${table}/year=${year}/part.parquet`
      files.openOnce(path, job.source)
      files.add(path, group)
    }
    // The next task is of another job, so the files of this one are complete.
    if (tasks[nextTask]?.job !== job) files.completeAll()
  }
}

/** New files under temporary names, until they replace the old ones. Every path is the final one. */
class StagedFiles {
  readonly stagedFiles = new Map<string, ListedFile>()
  readonly #folder: string
  readonly #columns: readonly ParquetColumn[]
  readonly #openFiles = new Map<
    string,
    { handle: number; file: ParquetFile; source: string; bytes: number; hash: ReturnType<typeof createHash> }
  >()

  constructor(folder: string, columns: readonly ParquetColumn[]) {
    this.#folder = folder
    this.#columns = columns
  }

  /** Begins a file; no effect on an open one. @param source the hash of what its rows are made from */
  openOnce(path: string, source: string): void {
    if (this.#openFiles.has(path)) return
    const staged = this.#stagedPath(path)
    try {
      mkdirSync(dirname(staged), { recursive: true })
      const handle = openSync(staged, 'w')
      const file = new ParquetFile(this.#columns)
      this.#openFiles.set(path, { handle, file, source, bytes: 0, hash: createHash('sha256') })
    } catch (cause) {
      throwWriteError(staged, cause)
    }
  }

  add(path: string, group: EncodedGroup): void {
    this.#write(path, this.#openFiles.get(path)!.file.add(group))
  }

  completeAll(): void {
    for (const [path, open] of this.#openFiles) {
      this.#write(path, open.file.end())
      closeSync(open.handle)
      this.#openFiles.delete(path)
      const { file, bytes, hash, source } = open
      this.stagedFiles.set(path, { rows: file.rows, bytes, sha256: hash.digest('hex'), source })
    }
  }

  /** Removes the temporary files that have not been renamed. */
  removeStaged(): void {
    for (const { handle } of this.#openFiles.values()) closeSync(handle)
    for (const path of [...this.#openFiles.keys(), ...this.stagedFiles.keys()])
      rmSync(this.#stagedPath(path), { force: true })
  }

  #stagedPath(path: string): string {
    return join(this.#folder, stagedPath(path))
  }

  #write(path: string, bytes: Uint8Array): void {
    const open = this.#openFiles.get(path)!
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(open.handle, bytes, at)
    } catch (cause) {
      throwWriteError(this.#stagedPath(path), cause)
    }
    open.bytes += bytes.length
    open.hash.update(bytes)
  }
}
