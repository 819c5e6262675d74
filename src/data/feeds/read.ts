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
  StorageError,
  sentence,
  suggest,
  typedLineWith,
  type Words,
  wrong,
} from '../../core/errors.js'
import { formatDay } from '../../core/model/day.js'
import { parseTicker } from '../../core/model/terms.js'
import { Collector, type RowPositions } from './bars.js'
import type { FactsResult, Format, Input, ReadOptions, ReadResult } from './feed.js'
import {
  isNameOfRole,
  type Layout,
  layoutOf,
  missingBarRoles,
  parseTickerOption,
  refuseNonDailyBars,
  tickerOfFile,
} from './layout.js'
import { normalizedColumnName, PRICES, type Role } from './names.js'
import { adjustmentOf, latestBar, type PricePlan, PriceRows, severalTickersError, tickerReason } from './price-rows.js'
import { notTextTableError, shownNames } from './refusals.js'
import { columnOf, type Row } from './row.js'
import { type Head, headOf, inOlderEncodings, openSource, type Source } from './source.js'
import { TextTable } from './text-table.js'

/** Bytes read to recognise a file, and more of them where they hold fewer lines than this. */
const HEAD_BYTES = 1 << 16
const LONG_HEAD_BYTES = 1 << 21
const MIN_HEAD_LINES = 20

/**
 * The content of one file, recognised by its text: daily bars as clean columns, or dated facts as records. Throws
 * BadData with `file:line:column` for the first bad row unless `skipBadRows`, and without a line for other content.
 * Throws InvalidParameter for invalid options; NotFound or StorageError for an unreadable file.
 */
export async function readFile(input: Input, options: ReadOptions = {}): Promise<ReadResult | FactsResult> {
  refuseFutureKnownDay(options)
  const source = await openSource(input, options.stdin)
  const head = await headWithRows(source)
  const text = head.bytes
    .subarray(0, 4096)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  const file = input.name
  if (head.isComplete && text.trim() === '') throw new BadData({ file }, 'the file is empty')
  // The element is at the top of the file, or below the header of an SEC submission.
  if (head.bytes.includes('<ownershipDocument')) {
    const { readForm4 } = await import('./facts/form4.js')
    return readForm4(source, options)
  }
  const refusal = notTextTableError(file, text)
  if (refusal !== null) throw refusal
  if (/^\s*[[{]/.test(text)) {
    const { readJson } = await import('./json.js')
    return readJson(source, options)
  }
  return readTable(source, head, options)
}

/** The start of a file: more of it where lines are long, as in a table with hundreds of parallel tickers. */
async function headWithRows(source: Source): Promise<Head> {
  const head = await headOf(source, HEAD_BYTES)
  const lines = head.bytes.subarray(0, HEAD_BYTES).reduce((count, byte) => count + Number(byte === 10), 0)
  return head.isComplete || lines >= MIN_HEAD_LINES ? head : headOf(source, LONG_HEAD_BYTES)
}

/** Throws InvalidParameter when the option `known` is after the last day that can have a bar. */
function refuseFutureKnownDay({ known, today }: ReadOptions): void {
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
      for (const name of await filesOfArgument(arg)) {
        const path = resolve(name)
        if (!inputs.has(path)) inputs.set(path, { name, path, bytes: (await stat(path)).size })
      }
  }
  return [...inputs.values()]
}

/** The files of one argument, sorted: a file, a folder or a glob. Throws NotFound where there are none. */
async function filesOfArgument(arg: string): Promise<string[]> {
  // A file `[1].csv` is not taken for a glob.
  const kind = await fileOrFolder(arg)
  if (kind === 'file') return [arg]
  if (kind === null && !GLOB.test(arg)) throw await missingFileError(arg)
  const files = kind === 'folder' ? await filesInFolder(arg) : await filesMatchingGlob(arg)
  if (files.length > 0) return files.sort()
  const types = 'csv, txt, tsv, json, ndjson, xml, zip or gz'
  throw new NotFound(`${arg}: no files ${kind === 'folder' ? 'in this folder' : 'match'} (${types})`)
}

/** Says whether a path is a file or a folder; null where there is none. Throws StorageError if it cannot be read. */
async function fileOrFolder(name: string): Promise<'file' | 'folder' | null> {
  try {
    return (await stat(name)).isDirectory() ? 'folder' : 'file'
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw new StorageError(`${name} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** The readable files in a folder and its subfolders, without hidden ones. */
async function filesInFolder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const pathsOfEntries = entries.map(async entry => {
    const path = join(folder, entry.name)
    if (entry.name.startsWith('.') || entry.name === '__MACOSX') return []
    if (entry.isDirectory()) return filesInFolder(path)
    const isFile = entry.isFile() || (entry.isSymbolicLink() && (await fileOrFolder(path)) === 'file')
    return isFile && READABLE.test(entry.name) ? [path] : []
  })
  return (await Promise.all(pathsOfEntries)).flat()
}

/** The files that match a glob: those of a readable type if there are any, otherwise all. */
async function filesMatchingGlob(pattern: string): Promise<string[]> {
  const { glob } = await import('tinyglobby')
  const matches = await glob(pattern, { absolute: isAbsolute(pattern), expandDirectories: false, onlyFiles: true })
  const readable = matches.filter(name => READABLE.test(name))
  return readable.length > 0 ? readable : matches
}

/** The error for a path that does not exist, with the nearest name in its folder. */
async function missingFileError(name: string): Promise<NotFound> {
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

/** The same name with an extension, or else the nearest spelling; undefined where no name is near. */
function nearestName(typed: string, names: readonly string[]): string | undefined {
  const start = `${typed.toLowerCase()}.`
  return names.find(name => name.toLowerCase().startsWith(start)) ?? suggest(typed, names, 1)[0]
}

/** Reads a text table: its head decides content and dialect, then the whole file streams through. */
export async function readTable(source: Source, head: Head, options: ReadOptions): Promise<ReadResult | FactsResult> {
  // Text that is not Unicode is tried in each older encoding; if none gives bars, it is read as it is.
  for (const candidate of inOlderEncodings(source, head)) {
    const bars = tryBarsTable(candidate.source, candidate.head, options)
    if (bars !== null) return readBarsTable(bars.table, bars.layout)
  }
  const table = new TextTable(source, head, options)
  const layout = barsLayout(table)
  if (layout !== null) return readBarsTable(table, layout)
  const { readFactsTable } = await import('./facts/read-facts.js')
  return readFactsTable(table)
}

/** The table and layout of text in an encoding that is only tried; null where it is no table of bars. */
function tryBarsTable(source: Source, head: Head, options: ReadOptions): { table: TextTable; layout: Layout } | null {
  try {
    const table = new TextTable(source, head, options)
    const layout = barsLayout(table)
    return layout === null ? null : { table, layout }
  } catch (error) {
    if (error instanceof BadData) return null
    throw error
  }
}

/** Reads all rows of a table of bars. Throws BadData for a bad row unless such rows are skipped. */
async function readBarsTable(table: TextTable, layout: Layout): Promise<ReadResult> {
  const { file, dialect, options } = table
  const { columns } = layout
  const plan = await planTable(table, layout)
  let currentRow: Row | null = null
  const positions: RowPositions = {
    lineOf: line => line,
    describeRejected(_, fault) {
      const field = fault.field ?? columns[fault.role] ?? 0
      return currentRow!.rejected(dialect.delimiter, field, fault.reason)
    },
  }
  const collector = new Collector(file, positions, options.skipBadRows ?? false)
  for (const remark of plan.remarks) collector.remarks.add(remark)
  const rows = new PriceRows(plan, collector)
  return collector.deleteSpillOnError(async () => {
    await table.eachRow((row, rowFault) => {
      currentRow = row
      rows.visit(row, rowFault)
    })
    rows.finish()
    const format = formatAfterReading(table, layout, rows.hasOnlyWholeNumbers)
    const { order } = collector
    const collected = collector.finish(plan.prices, format === 'lean equity' ? 10_000 : 1)
    const described: Record<string, string> = { ...describeTable(table, layout, plan), order, ...rows.unfinishedNote }
    if (format === 'lean equity') described.scale = 'prices divided by 10,000'
    return {
      holds: 'bars',
      file,
      format,
      dialect: described,
      header: dialect.header,
      ...collected,
      adjustmentNote: plan.note,
    }
  })
}

const MAX_UNREAD_SHOWN = 20

/** How a table is written and read, in words by topic, such as `columns` and `dates`. */
function describeTable(table: TextTable, layout: Layout, plan: PricePlan): Record<string, string> {
  const { columns, names, parallelTickers } = layout
  const columnsRead = Object.entries(columns).map(([role, i]) =>
    names[i] === role ? role : `${role} = ${names[i] || '(unnamed)'}`,
  )
  const indexesRead = new Set(
    [{ columns }, ...parallelTickers].flatMap(layoutPart => Object.values(layoutPart.columns)),
  )
  const namesUnread = new Set(names.flatMap((name, i) => (name === '' || indexesRead.has(i) ? [] : [name.trim()])))
  const topics: Record<string, string> = {}
  if (parallelTickers.length > 0) topics['side by side'] = counted(parallelTickers.length, 'ticker')
  topics.columns = columnsRead.join(', ')
  if (namesUnread.size > 0) topics['columns not read'] = shownNames([...namesUnread], MAX_UNREAD_SHOWN)
  topics.dates = plan.dates.format
  return table.describe(topics, plan.decimal)
}

/** Decides how to read every row of a table, from the first rows and the user's hints. */
async function planTable(table: TextTable, layout: Layout) {
  const { dialect, options } = table
  const { columns, parallelTickers } = layout
  const tickerHint = parseTickerOption(options.ticker)
  const [firstParallel, secondParallel] = parallelTickers
  if (tickerHint !== null && firstParallel !== undefined && secondParallel !== undefined)
    throw severalTickersError(table.top, options.ticker!, firstParallel.ticker, secondParallel.ticker)
  const columnsByTicker = firstParallel === undefined ? [columns] : parallelTickers.map(ticker => ticker.columns)
  const isAdjusted = columnsByTicker.every(({ adj_close }) => adj_close !== undefined)
  // The columns of some roles, of all tickers.
  const indexesOf = (...roles: Role[]) => columnsByTicker.flatMap(byRole => roles.flatMap(role => byRole[role] ?? []))
  const dates = await table.dateReader({ name: 'date', index: columns.date! })
  const remarks: Words[] = []
  let ticker = tickerHint ?? firstParallel?.ticker ?? null
  if (tickerHint === null && columns.ticker !== undefined) refuseInvalidTickerColumn(table, columns.ticker)
  else if (ticker === null) ticker = tickerOfAllRows(table, layout, remarks)
  const firstDate = dialect.samples[0]![columns.date!] ?? ''
  const day = dates.format.startsWith('Excel') ? dates.read(firstDate) : null
  if (day !== null) remarks.push(`dates are serial numbers of Excel: ${firstDate} is ${formatDay(day)}`)
  return {
    format: layout.format,
    columns,
    parallelTickers,
    ticker,
    dates,
    remarks,
    latest: latestBar(options.today),
    decimal: table.decimalSeparator(indexesOf(...PRICES, 'adj_close'), indexesOf('volume')),
    ...adjustmentOf(isAdjusted, options.prices),
  }
}

/** The ticker of a table without a ticker column, from its header or file name. Adds a remark if it may be wrong. */
function tickerOfAllRows(table: TextTable, layout: Layout, remarks: Words[]): string {
  const symbol = symbolInUnreadColumn(table, layout)
  const { ticker, remark } = tickerOfFile(table.source, layout.ticker, layout.format, symbol?.value)
  if (remark !== null) remarks.push(remark)
  if (symbol !== null && symbol.value !== ticker) {
    const conflict = `the ticker ${ticker} is the name of the file, and the column ${quoted(symbol.name)}, which is not read, has only ${quoted(symbol.value)}`
    remarks.push(sentence`${conflict}; ${parameter('ticker', symbol.value)} if that is the ticker`)
  }
  return ticker
}

/** Single-valued columns that are no tickers, even if they look like one. */
const NAMES_WITHOUT_SYMBOL =
  /curr|ccy|series|exch|market|mic|interval|timeframe|period|^per$|type|class|isin|cusip|figi|status|source|unit/

/** Two letters, a letter and a digit, or a number such as 00700 of Hong Kong; a single letter may be a flag. */
const TICKER_LIKE = /[A-Z]{2}|[A-Z].*\d|\d.*[A-Z]|^0\d{4,5}$/

/** The name and text of an unread column whose first rows all have one text that may be the ticker; null if none. */
function symbolInUnreadColumn(
  { dialect }: TextTable,
  { names, columns, ticker, parallelTickers }: Layout,
): { name: string; value: string } | null {
  const hasTickers = ticker !== null || parallelTickers.length > 0
  if (hasTickers || dialect.header === null) return null
  const indexesRead = new Set(Object.values(columns))
  for (const [i, name] of names.entries()) {
    const value = dialect.samples[0]![i] ?? ''
    const isSymbol = parseTicker(value) === value && TICKER_LIKE.test(value)
    if (indexesRead.has(i) || !isSymbol || NAMES_WITHOUT_SYMBOL.test(normalizedColumnName(name))) continue
    if (dialect.samples.every(fields => fields[i] === value)) return { name, value }
  }
  return null
}

/** Throws BadData where the first rows have one symbol that is no ticker, such as BTC/USD, and suggests a ticker. */
function refuseInvalidTickerColumn({ file, dialect, options }: TextTable, column: number): void {
  const symbols = new Set(dialect.samples.map(fields => fields[column] ?? ''))
  const [symbol = ''] = symbols
  const suggestion = symbol
    .replace(/[^A-Za-z0-9.^=-]/g, '')
    .slice(0, 16)
    .toUpperCase()
  if (symbols.size > 1 || suggestion === '' || parseTicker(symbol) !== null || options.skipBadRows) return
  const position = { file, line: dialect.line, column: columnOf(dialect.firstRow, dialect.delimiter, column) }
  const reason = sentence`${tickerReason(symbol)}; give one with ${parameter('ticker', suggestion)}`
  throw new BadData(position, reason, { remedy: typedLineWith('import', [file], { ticker: suggestion }) })
}

/**
 * The column of volume. If the first rows have only zeros there, it is the first other column with a name for volume
 * and a number above 0. MetaTrader's files, for example, count ticks.
 */
function tradedVolumeColumn({ columns, names }: Layout, samples: readonly string[][]): number | undefined {
  const isTraded = (column: number) => samples.some(fields => /[1-9]/.test(fields[column] ?? ''))
  const { volume } = columns
  if (volume === undefined || isTraded(volume)) return volume
  const otherVolume = names.findIndex((name, i) => isNameOfRole(name, ['volume']) && isTraded(i))
  return otherVolume === -1 ? volume : otherVolume
}

/** The meaning of a table's columns; null if they are no daily bars. Throws BadData for bars of other spans. */
function barsLayout({ file, dialect }: TextTable): Layout | null {
  const { tickers, names, samples, header, headerLine } = dialect
  // yfinance has the tickers in a second line of the header; otherwise the names may have them (`AAPL.Open`).
  const byTicker = tickers === null ? undefined : { tickers, names }
  const layout = layoutOf(file, headerLine, names, samples[0], byTicker)
  if (missingBarRoles(layout.columns).length > 0) return null
  const volume = tradedVolumeColumn(layout, samples)
  if (volume !== undefined) layout.columns.volume = volume
  if (layout.format === 'binance') refuseNonDailyBars(file, layout.names, samples[0]!)
  const isLean = header === null && samples.every(fields => /^\d{8} \d{2}:\d{2}$/.test(fields[0] ?? ''))
  if (isLean) layout.format = 'lean equity'
  return layout
}

/**
 * The format of a file whose rows were all read. LEAN writes prices of equities times 10,000 as whole numbers, those of
 * crypto unchanged. The file does not say which, but a fraction proves crypto. Throws BadData where a hint differs.
 * @param hasOnlyWholeNumbers whether all prices and volumes are whole numbers
 */
function formatAfterReading({ file, hints }: TextTable, layout: Layout, hasOnlyWholeNumbers: boolean): Format {
  const isLean = layout.format === 'lean equity'
  const detected = isLean && !hasOnlyWholeNumbers ? 'lean crypto' : layout.format
  const format = hints.format ?? detected
  if (format === detected || format === 'csv' || (isLean && format === 'lean crypto')) return format
  throw new BadData({ file }, `this is not ${format}; it looks like ${detected}`)
}
