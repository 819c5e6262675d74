import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { version } from '../../core/built.js'
import { BadData, quoted, wrong } from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { DEFINITIONS_VERSION } from '../../core/model/definitions.js'
import { type Column, WINDOW_PREFIX } from '../../core/model/event.js'
import { isMapping } from '../../core/params/arguments.js'
import { checkTable, EXPORT_TABLES, type ExportFilter, type ExportTable, exportTable } from '../../data/local/export.js'
import type { Local } from '../../data/local/local.js'
import { intoFile, withCount, writeRows } from './formats.js'

/** A folder of Parquet files, one a ticker, in which a run writes only the tickers that changed. */

/** What a folder holds: MANIFEST is its list, and the last file that a run writes. */
interface Manifest {
  schema: 'bands.parquet/1'
  /** The version of bands that wrote it. */
  version: string
  definitions: string
  as_of: string | null
  tables: Partial<Record<ExportTable, TableFiles>>
}

interface TableFiles {
  columns: string[]
  tickers: Record<string, { content: string; rows: number; bytes: number }>
}

const MANIFEST = 'manifest.json'
const VIEWS = 'views.sql'

/** How many files a run wrote, kept as they were, and removed. */
export interface Written {
  written: number
  kept: number
  removed: number
  rows: number
}

/**
 * Brings the files of a table up to date with the database. Without named tickers, the files of removed ones go, too.
 * Each file is whole or as it was before. Throws InvalidParameter for a folder of other files.
 */
export async function writePartitions(
  local: Local,
  table: ExportTable,
  filter: ExportFilter,
  { folder: named, onTicker = () => {} }: { folder: string; onTicker?: (ticker: string, done: number) => void },
): Promise<Written> {
  const folder = resolve(named)
  const manifest = manifestIn(folder, named)
  await checkTable(local, table, filter)
  const { columns } = exportTable(local, table, filter)
  const { tickers: chosen = [], ...narrowed } = filter
  const tickers = chosen.length > 0 ? chosen : await local.withBars()
  const before = manifest.tables[table]?.tickers ?? {}
  // A signal ends the run between two tickers: the next run looks at each again.
  const now = { ...before }
  const found: Written = { written: 0, kept: 0, removed: 0, rows: 0 }
  const contentOf = await contents(local, columns, narrowed)
  mkdirSync(join(folder, table), { recursive: true })
  const keep = async (tickers: TableFiles['tickers']): Promise<void> => {
    const tables = { ...manifest.tables, [table]: { columns: columns.map(({ name }) => name), tickers } }
    const whole: Manifest = { schema: 'bands.parquet/1', ...madeBy(local), tables }
    const text = `${JSON.stringify(whole, null, 1)}\n`
    if (text === textIn(join(folder, MANIFEST))) return
    await intoFile(join(folder, VIEWS), sink => sink.write(viewsOf(tables)))
    await intoFile(join(folder, MANIFEST), sink => sink.write(text))
  }
  // A run that is killed leaves a folder with its list.
  if (!existsSync(join(folder, MANIFEST))) await keep(now)
  try {
    for (const [done, ticker] of tickers.entries()) {
      onTicker(ticker, done)
      const [path, content] = [join(folder, fileOf(table, ticker)), await contentOf(ticker)]
      if (now[ticker]?.content === content && sizeOf(path) === now[ticker].bytes) {
        found.kept++
        continue
      }
      let rows = 0
      const own = exportTable(local, table, { ...filter, tickers: [ticker] }).rows
      const counted = withCount(own, () => rows++)
      await intoFile(path, sink => writeRows('parquet', counted, columns, sink))
      now[ticker] = { content, rows, bytes: sizeOf(path)! }
      found.written++
      found.rows += rows
    }
    const isWanted = new Set(chosen.length > 0 ? [...Object.keys(before), ...tickers] : tickers)
    for (const ticker of Object.keys(before).filter(ticker => !isWanted.has(ticker))) {
      rmSync(join(folder, fileOf(table, ticker)), { force: true })
      delete now[ticker]
      found.removed++
    }
  } finally {
    await keep(now)
  }
  return found
}

/**
 * A hash of all that the rows of a ticker are made from. A condition and a field of the user's own may read other tickers:
 * then every ticker counts.
 */
async function contents(
  local: Local,
  columns: readonly Column<object>[],
  filter: Omit<ExportFilter, 'tickers'>,
): Promise<(ticker: string) => Promise<string>> {
  const own = local.fieldSet.all.flatMap(({ hash }) => hash ?? [])
  const isMixed = filter.when !== undefined || own.length > 0
  const today = (await local.asOfDay()) ?? 0
  const all: (string | null)[] = []
  if (isMixed) for (const ticker of await local.withBars()) all.push(await local.store.content(ticker, today))
  const shared = JSON.stringify([madeBy(local), columns.map(({ name }) => name), filter, own, all])
  return async ticker => {
    const content = await local.store.content(ticker, today)
    return createHash('sha256').update(shared).update(String(content)).digest('hex')
  }
}

function madeBy({ asOf }: Local): Pick<Manifest, 'version' | 'definitions' | 'as_of'> {
  return { version: version(), definitions: DEFINITIONS_VERSION, as_of: asOf === null ? null : formatDay(asOf) }
}

function fileOf(table: ExportTable, ticker: string): string {
  return join(table, `ticker=${ticker}.parquet`)
}

/** null for a file that is not there. */
function textIn(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null
}

/** null for a file that is not there. */
function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null
}

/** The manifest of a folder; an empty one for a new folder. Throws InvalidParameter, and BadData for a damaged one. */
function manifestIn(folder: string, named: string): Pick<Manifest, 'tables'> {
  const path = join(folder, MANIFEST)
  if (!existsSync(path)) {
    if (!existsSync(folder) || (statSync(folder).isDirectory() && readdirSync(folder).length === 0))
      return { tables: {} }
    throw wrong('write', `${quoted(named)} is there, and no folder of such files; name another.`, { value: named })
  }
  const damaged = new BadData({ file: path }, 'it is not as bands writes it; name another folder, or remove this one')
  try {
    const manifest: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isMapping(manifest) || manifest.schema !== 'bands.parquet/1' || !isMapping(manifest.tables)) throw damaged
    return manifest as unknown as Manifest
  } catch (cause) {
    throw cause instanceof BadData ? cause : damaged
  }
}

/** Views with the names of JSON: `returns['5d']` next to the column return_5d. */
function viewsOf(tables: Manifest['tables']): string {
  const views = Object.entries(tables).map(([table, { columns }]) => viewOf(table, columns, `'${table}/*.parquet'`))
  return `-- In this folder: duckdb -init ${VIEWS}\n${views.join('')}`
}

/** @param from the files, as SQL */
function viewOf(table: string, columns: readonly string[], from: string): string {
  const structs = structsOf(columns).map(({ name, text }) => `  ${text} AS ${name}`)
  return `CREATE OR REPLACE VIEW ${table} AS SELECT ${['*', ...structs].join(',\n')}\nFROM read_parquet(${from});\n`
}

/** What JSON has by window, made of the columns of a window each. */
export function structsOf(columns: readonly string[]): { name: string; text: string }[] {
  return Object.entries(WINDOW_PREFIX).flatMap(([key, prefix]) => {
    const windows = columns.filter(name => name.startsWith(prefix) && /\d[dw]$/.test(name))
    const inner = (name: string): string => (key === 'performance' ? `{'performance': "${name}"}` : `"${name}"`)
    const parts = windows.map(name => `'${name.slice(prefix.length)}': ${inner(name)}`)
    return parts.length === 0
      ? []
      : [{ name: key === 'performance' ? 'aftermath' : key, text: `{${parts.join(', ')}}` }]
  })
}

/** A view in SQL, and the files that it reads. */
export interface FolderView {
  table: ExportTable
  view: string
  files: readonly string[]
}

/** The views of a folder, each over the files that its list names. */
export function viewsIn(named: string): FolderView[] {
  const folder = resolve(named)
  const { tables } = manifestIn(folder, named)
  return EXPORT_TABLES.flatMap(table => {
    const { columns = [], tickers = {} } = tables[table] ?? {}
    const files = Object.keys(tickers).map(ticker => join(folder, fileOf(table, ticker)))
    return files.length === 0 ? [] : [{ table, view: viewOf(table, columns, sqlList(files)), files }]
  })
}

/** A list of texts in SQL. */
export function sqlList(texts: readonly string[]): string {
  return `[${texts.map(text => `'${text.replaceAll("'", "''")}'`).join(', ')}]`
}
