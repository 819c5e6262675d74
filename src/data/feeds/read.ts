// For: read files of prices and facts as people have them.
// In: the bytes of a file, or a stream.
// Out: rows of bars or facts, or a refusal with file:line:column.

import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import {
  BadData,
  counted,
  NotFound,
  parameter,
  quoted,
  remedy,
  StorageError,
  sentence,
  suggest,
  type Words,
  wrong,
} from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { parseTicker } from '../../core/model/terms.js'
import { Collector, type RowPositions } from './bars.js'
import type { FactsResult, Format, Input, ReadOptions, ReadResult } from './feed.js'
import { checkSpan, type Layout, layoutOf, missingFrom, spells, tickerOfFile, tickerOption } from './layout.js'
import { normalizedColumnName, PRICES, type Role } from './names.js'
import { adjustmentOf, latestBar, type PricePlan, PriceRows, severalTickersError, tickerReason } from './price-rows.js'
import { refuseText, shownNames } from './refusals.js'
import { columnOf, type Row } from './row.js'
import { headOf, inOlderEncodings, openSource, type Source } from './source.js'
import { TextTable } from './text-table.js'

const HEAD = 1 << 16
const LEAST_LINES = 20
const LONG_HEAD = 1 << 21

/**
 * The content of one file, recognised by its text: daily bars as clean columns, or dated facts as records. A file that
 * throws leaves nothing. Throws BadData with `file:line:column` for a bad row (the first one) unless `skipBadRows`, and
 * with a sentence for other content. Throws InvalidParameter for invalid options; NotFound or StorageError for an
 * unreadable file.
 */
export async function readFile(input: Input, options: ReadOptions = {}): Promise<ReadResult | FactsResult> {
  checkKnown(options)
  const source = await openSource(input, options.stdin)
  const head = await headWithRows(source)
  const text = head.bytes
    .subarray(0, 4096)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  const file = input.name
  if (head.whole && text.trim() === '') throw new BadData({ file }, 'the file is empty')
  // At the top, or below the header of the SEC submission that contains it.
  if (head.bytes.includes('<ownershipDocument')) {
    const { readForm4 } = await import('./facts/form4.js')
    return readForm4(source, options)
  }
  const refusal = refuseText(file, text)
  if (refusal !== null) throw refusal
  if (/^\s*[[{]/.test(text)) {
    const { readJson } = await import('./json.js')
    return readJson(source, options)
  }
  return readTable(source, head, options)
}

/** The start of a file. In a table with hundreds of parallel tickers the first lines are long. */
async function headWithRows(source: Source): Promise<{ bytes: Buffer; whole: boolean }> {
  const head = await headOf(source, HEAD)
  const lines = head.bytes.subarray(0, HEAD).reduce((count, byte) => count + Number(byte === 10), 0)
  return head.whole || lines >= LEAST_LINES ? head : headOf(source, LONG_HEAD)
}

function checkKnown({ known, today }: ReadOptions): void {
  const latest = latestBar(today)
  if (known === undefined || known <= latest) return
  const value = formatDay(known)
  const allowed = `a day up to ${formatDay(latest)}`
  throw wrong('known', `known ${value} is yet to come.`, { value, allowed })
}

/** File types searched for in folders and globs; a file named in full may have any. */
const READABLE = /\.(csv|txt|tsv|json|ndjson|jsonl|xml|zip|gz)$/i
const GLOB = /[*?[\]{}!]/

/**
 * The files of the arguments: files, folders (recursively, without hidden ones), globs, `-` for standard input. In
 * the order of the arguments, sorted by name within each, every file once. Throws NotFound for a missing file.
 */
export async function expandInputs(args: readonly string[]): Promise<Input[]> {
  const inputs = new Map<string, Input>()
  for (const arg of args) {
    if (arg === '-') inputs.set('-', { name: '-', path: null, bytes: null })
    else
      for (const name of await filesOf(arg)) {
        const path = resolve(name)
        if (!inputs.has(path)) inputs.set(path, { name, path, bytes: (await stat(path)).size })
      }
  }
  return [...inputs.values()]
}

async function filesOf(arg: string): Promise<string[]> {
  const found = await kindOf(arg)
  if (found === 'file') return [arg]
  const files = found === 'folder' ? await filesUnder(arg) : GLOB.test(arg) ? await filesLike(arg) : null
  if (files === null) throw await missing(arg)
  if (files.length > 0) return files.sort()
  const kinds = 'csv, txt, tsv, json, ndjson, xml, zip or gz'
  throw new NotFound(`${arg}: no files ${found === 'folder' ? 'in this folder' : 'match'} (${kinds})`)
}

/** A name is taken literally before it is taken for a glob, so that a file `[1].csv` can be named. */
async function kindOf(name: string): Promise<'file' | 'folder' | null> {
  try {
    return (await stat(name)).isDirectory() ? 'folder' : 'file'
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new StorageError(`${name} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const found = entries.map(async entry => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith('.') || entry.name === '__MACOSX') return []
    if (entry.isDirectory()) return filesUnder(path)
    const isFile = entry.isFile() || (entry.isSymbolicLink() && (await kindOf(path)) === 'file')
    return isFile && READABLE.test(entry.name) ? [path] : []
  })
  return (await Promise.all(found)).flat()
}

/** The files of a glob; only readable types if there are any. */
async function filesLike(pattern: string): Promise<string[]> {
  const { glob } = await import('tinyglobby')
  const found = await glob(pattern, { absolute: isAbsolute(pattern), expandDirectories: false, onlyFiles: true })
  const readable = found.filter(name => READABLE.test(name))
  return readable.length > 0 ? readable : found
}

async function missing(name: string): Promise<NotFound> {
  const folder = dirname(name)
  const names = await readdir(folder).catch(() => null)
  if (names === null) return new NotFound(`${name}: no such file, and no such folder ${folder}`)
  const nearest = nearestName(basename(name), names)
  if (nearest === undefined) return new NotFound(`${name}: no such file`)
  const suggestion = folder === '.' && !name.startsWith('.') ? nearest : join(folder, nearest)
  return new NotFound(`${name}: no such file. Did you mean ${suggestion}?`, [suggestion], {
    missing: { kind: 'file', name },
  })
}

/** The same name with an extension, or else one within two slips. */
function nearestName(typed: string, names: readonly string[]): string | undefined {
  const start = `${typed.toLowerCase()}.`
  return names.find(name => name.toLowerCase().startsWith(start)) ?? suggest(typed, names, 1)[0]
}

/** Reads a text table: its head decides content and dialect, then the whole file streams through. */
export async function readTable(
  source: Source,
  head: { bytes: Buffer; whole: boolean },
  options: ReadOptions,
): Promise<ReadResult | FactsResult> {
  for (const other of inOlderEncodings(source, head)) {
    const found = barsIn(other.source, other.head, options)
    if (found !== null) return readBarsTable(found.table, found.layout)
  }
  const table = new TextTable(source, head, options)
  const layout = barsLayout(table)
  if (layout !== null) return readBarsTable(table, layout)
  const { readFactsTable } = await import('./facts/read-facts.js')
  return readFactsTable(table)
}

/** A table of bars in an encoding that is only tried; null where its header is that of none. */
function barsIn(...of: ConstructorParameters<typeof TextTable>): { table: TextTable; layout: Layout } | null {
  try {
    const table = new TextTable(...of)
    const layout = barsLayout(table)
    return layout === null ? null : { table, layout }
  } catch (error) {
    if (error instanceof BadData) return null
    throw error
  }
}

async function readBarsTable(table: TextTable, layout: Layout): Promise<ReadResult> {
  const { file, dialect, options } = table
  const { columns } = layout
  const plan = await planTable(table, layout)
  let at: Row | null = null
  const places: RowPositions = {
    lineOf: line => line,
    reject: (_, { role, reason, field = columns[role] ?? 0 }) => at!.rejected(dialect.delimiter, field, reason),
  }
  const collector = new Collector(file, places, options.skipBadRows ?? false)
  for (const remark of plan.remarks) collector.remarks.add(remark)
  const rows = new PriceRows(plan, collector)
  return collector.whole(async () => {
    await table.eachRow((row, rowFault) => {
      at = row
      rows.visit(row, rowFault)
    })
    rows.finish()
    const format = settleFormat(table, layout, rows.whole)
    const { order } = collector
    const found = collector.finish(plan.prices, format === 'lean equity' ? 10_000 : 1)
    const words: Record<string, string> = { ...describe(table, layout, plan), order, ...rows.words }
    if (format === 'lean equity') words.scale = 'prices divided by 10,000'
    return { holds: 'bars', file, format, dialect: words, header: dialect.header, ...found, adjustmentNote: plan.note }
  })
}

function describe(table: TextTable, { columns, names, parts }: Layout, plan: PricePlan): Record<string, string> {
  const used = Object.entries(columns).map(([role, i]) =>
    names[i] === role ? role : `${role} = ${names[i] || '(unnamed)'}`,
  )
  const read = new Set([{ columns }, ...parts].flatMap(({ columns }) => Object.values(columns)))
  const unread = new Set(names.flatMap((name, i) => (name === '' || read.has(i) ? [] : [name.trim()])))
  const more = {
    ...(parts.length === 0 ? {} : { 'side by side': counted(parts.length, 'ticker') }),
    columns: used.join(', '),
    ...(unread.size === 0 ? {} : { 'columns not read': shownNames([...unread], MOST_UNREAD) }),
    dates: plan.dates.format,
  }
  return table.words(more, plan.decimal)
}

/** As many unread columns are named. */
const MOST_UNREAD = 20

/** Decides how to read every row of a table, from the first rows and the user's hints. */
async function planTable(table: TextTable, layout: Layout) {
  const { source, dialect, options } = table
  const { columns, parts } = layout
  const tickerHint = tickerOption(options.ticker)
  const [one, two] = parts
  if (tickerHint !== null && one !== undefined && two !== undefined)
    throw severalTickersError(table.top, options.ticker!, one.ticker, two.ticker)
  const all = parts.length > 0 ? parts.map(part => part.columns) : [columns]
  const isAdjusted = all.every(columns => columns.adj_close !== undefined)
  const placesOf = (...roles: Role[]) => all.flatMap(columns => roles.flatMap(role => columns[role] ?? []))
  const dates = await table.dates({ name: 'date', index: columns.date! })
  if (tickerHint === null && columns.ticker !== undefined) checkSymbols(table, columns.ticker)
  const isNamed = tickerHint !== null || columns.ticker !== undefined || parts.length > 0
  const symbol = isNamed ? null : symbolIn(table, layout)
  const named = isNamed ? null : tickerOfFile(source, layout.ticker, layout.format, symbol?.value)
  const remarks: Words[] = named?.remark == null ? [] : [named.remark]
  if (named !== null && symbol !== null && symbol.value !== named.ticker) {
    const what = `the ticker ${named.ticker} is the name of the file, and the column ${quoted(symbol.name)}, which is not read, has only ${quoted(symbol.value)}`
    remarks.push(sentence`${what}; ${parameter('ticker', symbol.value)} if that is the ticker`)
  }
  const [first = ''] = dialect.samples[0]!.slice(columns.date)
  const day = dates.format.startsWith('Excel') ? dates.read(first) : null
  if (day !== null) remarks.push(`dates are serial numbers of Excel: ${first} is ${formatDay(day)}`)
  return {
    format: layout.format,
    columns,
    parts,
    ticker: tickerHint ?? named?.ticker ?? one?.ticker ?? null,
    dates,
    remarks,
    latest: latestBar(options.today),
    decimal: table.decimal(placesOf(...PRICES, 'adj_close'), placesOf('volume')),
    ...adjustmentOf(isAdjusted, options.prices),
  }
}

/** Single-valued columns that are no tickers, even if they look like one. */
const NO_SYMBOL =
  /curr|ccy|series|exch|market|mic|interval|timeframe|period|^per$|type|class|isin|cusip|figi|status|source|unit/

/** An unread column whose first rows have one text that may be the ticker. */
function symbolIn(
  { dialect }: TextTable,
  { names, columns, ticker, parts }: Layout,
): { name: string; value: string } | null {
  if (ticker !== null || parts.length > 0 || dialect.header === null) return null
  const read = new Set(Object.values(columns))
  for (const [i, name] of names.entries()) {
    const value = dialect.samples[0]![i] ?? ''
    const isSymbol = parseTicker(value) === value && /[A-Z]{2}|[A-Z].*\d|\d.*[A-Z]|^0\d{4,5}$/.test(value)
    if (read.has(i) || !isSymbol || NO_SYMBOL.test(normalizedColumnName(name))) continue
    if (dialect.samples.every(fields => fields[i] === value)) return { name, value }
  }
  return null
}

/** Throws BadData where the first rows have one symbol, and it is no ticker, such as BTC/USD. */
function checkSymbols({ file, dialect, options }: TextTable, column: number): void {
  const symbols = new Set(dialect.samples.map(fields => fields[column] ?? ''))
  const [symbol = ''] = symbols
  const ticker = symbol
    .replace(/[^A-Za-z0-9.^=-]/g, '')
    .slice(0, 16)
    .toUpperCase()
  if (symbols.size > 1 || ticker === '' || parseTicker(symbol) !== null || options.skipBadRows) return
  const place = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, column) }
  const what = sentence`${tickerReason(symbol)}; give one with ${parameter('ticker', ticker)}`
  throw new BadData(place, what, { remedy: remedy('import', [file], { ticker }, true) })
}

/** The column of volume, or another one where the first rows have only zeros there: MetaTrader counts ticks. */
function tradedVolume({ columns, names }: Layout, samples: readonly string[][]): number | undefined {
  const isTraded = (column: number) => samples.some(fields => /[1-9]/.test(fields[column] ?? ''))
  const { volume } = columns
  if (volume === undefined || isTraded(volume)) return volume
  const others = names.flatMap((name, i) => (spells(name, ['volume']) && isTraded(i) ? [i] : []))
  return others[0] ?? volume
}

/** The meaning of the columns; null when they are not those of daily bars. */
function barsLayout({ file, dialect }: TextTable): Layout | null {
  const { tickers, names, samples } = dialect
  const byTicker = tickers === null ? undefined : { tickers, names }
  const layout = layoutOf(file, dialect.headerLine, names, samples[0], byTicker)
  if (missingFrom(layout.columns).length > 0) return null
  const volume = tradedVolume(layout, dialect.samples)
  if (volume !== undefined) layout.columns.volume = volume
  if (layout.format === 'binance') checkSpan(file, layout.names, dialect.samples[0]!)
  const isLean = dialect.samples.every(fields => /^\d{8} \d{2}:\d{2}$/.test(fields[0] ?? ''))
  return isLean && dialect.header === null ? { ...layout, format: 'lean equity' } : layout
}

/**
 * The file's format, once all of it is read. LEAN writes prices of equities times 10,000 as whole numbers, those of
 * crypto unchanged. The file does not say which, but a fraction proves crypto.
 */
function settleFormat({ file, hints }: TextTable, layout: Layout, whole: boolean): Format {
  const isLean = layout.format === 'lean equity'
  const found = isLean && !whole ? 'lean crypto' : layout.format
  const wanted = hints.format ?? found
  if (wanted === found || wanted === 'csv' || (isLean && wanted === 'lean crypto')) return wanted
  throw new BadData({ file }, `this is not ${wanted}; it looks like ${found}`)
}
