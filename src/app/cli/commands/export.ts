import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { extname, join, resolve } from 'node:path'
import { BandsError, typedLineWith, wrong } from '../../../core/errors.js'
import type { ExportedBar } from '../../../core/model/event.js'
import { FACT_COLUMNS } from '../../../core/model/facts.js'
import { TIMEFRAME_NAMES } from '../../../core/model/terms.js'
import { count, numberText } from '../../../core/numbers.js'
import { integerOf } from '../../../core/params/kinds.js'
import { FILTERS } from '../../../core/params/questions.js'
import { choiceOption, optional, optionsOf, readParams } from '../../../core/params/row.js'
import { timeframeValue, wordValue } from '../../../core/params/values.js'
import { WHEN } from '../../../core/params/when.js'
import {
  BAR_COLUMNS,
  type ExportedTable,
  type ExportFilter,
  type ExportTable,
  exportEventBlocks,
  exportTable,
  readTableFilter,
  tableColumns,
} from '../../../data/local/export.js'
import { exportFacts, type FactLine } from '../../../data/local/facts.js'
import type { Remote } from '../../remote/remote.js'
import type { Args, Command } from '../command.js'
import { isRemoteTyped } from '../config.js'
import type { Context } from '../context.js'
import {
  betweenRows,
  checkEnding,
  csvLine,
  EXPORT_OUTPUTS,
  type ExportOutput,
  refuseMissingFolder,
  reportEach,
  type Sink,
  throwWriteError,
  writeBlocks,
  writeFileWhole,
  writeGroups,
  writeRows,
} from '../formats.js'
import type { Layout } from '../manifest.js'
import { TICKERS_OPTIONS } from '../options.js'
import { tickersOfLine } from '../tickers.js'

const WHAT = 'events (with returns and percentiles), series (bars, indicators, bands), bars, or facts (into a folder)'
const EXPORTS = ['events', 'series', 'bars', 'facts'] as const

const BOUNDS = { before: FILTERS.before, after: FILTERS.after }

const FILTER_OPTIONS = {
  ...WHEN,
  when: { ...WHEN.when, help: 'the events of a condition; with --field, and in a series, only bars where it is true' },
  ...BOUNDS,
}

/** The option for fewer, larger files: an engine reads a thousand files faster than one for each of 50,000 tickers. */
const PARTITIONS = {
  partitions: optional(integerOf(1, 1000), 'with --partition-by ticker: N files of several tickers'),
}

const ENDINGS = [...EXPORT_OUTPUTS.map(format => `.${format}`), '.jsonl']

const exportCommand: Command = {
  arguments: [['<WHAT>', WHAT, EXPORTS]],
  options: [
    ...TICKERS_OPTIONS,
    ['--field <FIELDS>', 'only these fields', 'repeatable'],
    [
      '--band <BANDS>',
      'of events those that enter one of them, of series the bars on which a field is in one',
      'repeatable',
    ],
    ...optionsOf(FILTER_OPTIONS),
    choiceOption('--timeframe <NAME>', 'daily or weekly (default both)', TIMEFRAME_NAMES),
    ['--write <FILE>', 'write to a file; its ending sets the format (default of --output)'],
    choiceOption(
      '--partition-by <WHAT>',
      'a folder of Parquet files, one a ticker or year; writes those that changed',
      ['ticker', 'year'],
    ),
    ...optionsOf(PARTITIONS),
  ],
  examples: [
    'bands export events --tickers AAPL --field rsi_zone',
    'bands export series --tickers AAPL --timeframe daily --csv',
    'bands export events --all --field rsi_zone --band oversold --csv',
    "bands export events --all --when 'rsi_zone enters oversold'",
    'bands export bars --output parquet --write bars.parquet',
    'bands export bars --tickers AAPL --remote https://api.example.com',
    'bands export events --partition-by ticker --write parquet/',
    'bands export series --partition-by year --write parquet/',
    'bands export bars --partition-by ticker --partitions 16 --write parquet/',
    'bands export facts --write facts/',
  ],
  outputs: EXPORT_OUTPUTS,
  notes: [
    'The whole history, without the range of a tier; needs Pro if --tier is used. NDJSON is the default.',
    'Facts are a folder of CSV files, one a kind. bands import reads them back.',
    'manifest.json lists the files of --partition-by; docs/parquet.md has questions about them in SQL.',
  ],
  /** Writes one kind of data to a file, a folder or standard output. */
  async run(context, args) {
    const what = wordValue('what', args.argument(0)!, EXPORTS)
    const out = args.text('write')
    if (what === 'facts') return exportFactsFolder(context, args, out)
    const layout = folderLayout(args)
    if (layout !== null) return exportPartitions(context, args, { what, layout, out })
    const format = EXPORT_OUTPUTS.find(name => name === context.format) ?? formatOfFile(out) ?? 'ndjson'
    if (format === 'parquet' && out === undefined && context.out.terminal)
      throw wrong('write', 'parquet is nothing to read on a terminal: give --write FILE.')
    await runExport(context, what, await exportFilter(context, args, what), format, out)
  },
}

/** The filter of an export. Throws InvalidParameter for an option that does not apply to bars. */
async function exportFilter(context: Context, args: Args, what: string): Promise<ExportFilter> {
  const fields = args.list('field')
  const timeframe = args.text('timeframe')
  if (what === 'bars' && (fields.length > 0 || timeframe !== undefined))
    throw wrong('field', 'bars have no fields and are daily; leave --field and --timeframe out.')
  const bands = args.list('band')
  if (what === 'bars' && bands.length > 0) throw wrong('band', 'bars have no bands; export series has them.')
  const when = args.params(Object.keys(WHEN))
  if (what === 'bars' && Object.keys(when).length > 0)
    throw wrong('when', 'bars are exported as they are; export series keeps those on which a condition holds.')
  const timeframes = timeframe === undefined ? [] : [timeframeValue('timeframe', timeframe)]
  const bounds = readParams(BOUNDS, args.params(Object.keys(BOUNDS)))
  return { tickers: await tickersOf(context, args), fields, timeframes, bands, ...bounds, ...when }
}

/** The tickers of --tickers and --watch. Empty without them, and with --all: the export then has every ticker. */
async function tickersOf(context: Context, args: Args): Promise<string[]> {
  return args.flag('all') ? [] : tickersOfLine(context, args, [], async () => [])
}

/** How the line divides the rows among files of a folder; null for one file or standard output. */
function folderLayout(args: Args): Layout | null {
  const word = args.text('partition-by')
  const { partitions = null } = args.read(PARTITIONS)
  if (word === undefined) {
    if (partitions === null) return null
    const line = typedLineWith('export', [], { partition_by: 'ticker' })
    throw wrong('partitions', '--partitions needs --partition-by ticker.', {}, { remedy: line })
  }
  const partition_by = wordValue('partition_by', word, ['ticker', 'year'] as const)
  if (partition_by === 'year' && partitions !== null)
    throw wrong('partitions', 'each year is one file; leave --partitions out.')
  return { partition_by, partitions }
}

async function exportPartitions(
  context: Context,
  args: Args,
  { what, layout, out }: { what: ExportTable; layout: Layout; out: string | undefined },
): Promise<void> {
  if (out === undefined) {
    const line = typedLineWith('export', [], { write: what })
    throw wrong('write', 'the files are in a folder: name it with --write.', {}, { remedy: line })
  }
  if (context.format !== null && context.format !== 'parquet')
    throw wrong('output', 'files of partitions are Parquet; leave --output out.')
  context.deferSignals()
  const [{ namedFolder }, { writePartitions }] = await Promise.all([
    import('../manifest.js'),
    import('../partitions.js'),
  ])
  const filter = await exportFilter(context, args, what)
  const onTicker = (ticker: string, done: number): void =>
    context.step(() => `export  ${ticker}  ${count(done, 'ticker')}`)
  const options = { folder: namedFolder(out, 'write'), ...layout, onTicker }
  const { written, kept, removed, rows } = await writePartitions(await context.local(), what, filter, options)
  const sentences = [`wrote ${count(written, 'file')} with ${count(rows, 'row')} to ${out}`]
  if (kept > 0) sentences.push(`${numberText(kept)} had not changed`)
  if (removed > 0) sentences.push(`removed ${count(removed, 'file')}`)
  await context.remark(sentences.join('; '))
}

/** Writes facts into a new folder, with a file for each kind. The folder appears when it is complete. */
async function exportFactsFolder(context: Context, args: Args, out: string | undefined): Promise<void> {
  if (out === undefined) {
    const line = typedLineWith('export', [], { write: 'facts' })
    throw wrong('write', 'facts are several files: name a folder with --write.', {}, { remedy: line })
  }
  const refusedNames = ['field', 'timeframe', 'band', 'partition_by', 'partitions', ...Object.keys(FILTER_OPTIONS)]
  const [refusedName] = Object.keys(args.params(refusedNames))
  if (refusedName !== undefined) {
    const option = `--${refusedName.replaceAll('_', '-')}`
    throw wrong(refusedName, `facts are written whole, for all fields and days; leave ${option} out.`)
  }
  if (context.format !== null && context.format !== 'csv')
    throw wrong('output', 'facts are written as CSV, which bands import reads.')
  const folder = resolve(out)
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0))
    throw wrong('write', `${folder} is there and not empty; name another folder.`, { value: out })
  await refuseMissingFolder(folder)
  const local = await context.local()
  const tickers = await tickersOf(context, args)
  const partial = `${folder}.${process.pid}.partial`
  const files = new FactFiles(partial, context.config.csv_raw)
  try {
    for await (const line of exportFacts(local, tickers)) files.add(line)
    files.close()
    renameSync(partial, folder)
  } catch (cause) {
    if (cause instanceof BandsError) throw cause
    throwWriteError(folder, cause)
  } finally {
    files.close()
    rmSync(partial, { recursive: true, force: true })
  }
  await context.remark(`wrote ${count(files.recordCount, 'record')} in ${count(files.fileCount, 'file')} to ${folder}`)
}

class FactFiles {
  recordCount = 0
  fileCount = 0
  readonly #folder: string
  readonly #raw: boolean
  /** The handles of the open files, by their names. */
  readonly #handles = new Map<string, number>()

  /** Makes the folder. @param raw as in writeAnswer */
  constructor(folder: string, raw: boolean) {
    mkdirSync(folder)
    this.#folder = folder
    this.#raw = raw
  }

  /** Appends a record to its file; a new file first gets a line with the names of the columns. */
  add({ file, kind, values }: FactLine): void {
    let handle = this.#handles.get(file)
    if (handle === undefined) {
      handle = openSync(join(this.#folder, `${file}.csv`), 'wx')
      this.#handles.set(file, handle)
      this.fileCount++
      writeFileSync(handle, csvLine(['ticker', ...FACT_COLUMNS[kind].map(({ name }) => name)], this.#raw))
    }
    writeFileSync(handle, csvLine(values, this.#raw))
    this.recordCount++
  }

  close(): void {
    for (const handle of this.#handles.values()) closeSync(handle)
    this.#handles.clear()
  }
}

/** The format that the ending of a file name means; undefined without one. Throws InvalidParameter for others. */
function formatOfFile(file: string | undefined): ExportOutput | undefined {
  if (file === undefined || extname(file) === '') return undefined
  const ending = checkEnding('write', file, ENDINGS)
  return EXPORT_OUTPUTS.find(format => `.${format}` === ending) ?? 'ndjson'
}

/** Exports one table as it is read, so that memory stays flat. @param out a file; undefined for standard output */
async function runExport(
  context: Context,
  what: ExportTable,
  filter: ExportFilter,
  format: ExportOutput,
  out: string | undefined,
): Promise<void> {
  // Only bars can come from a server, and only from one that the command line names.
  const remote = what === 'bars' && isRemoteTyped(context.config) ? await context.remote() : null
  if (remote !== null) return exportServerBars(context, remote, filter, { format, out })
  const local = await context.local()
  // Without named timeframes the rows are of both; a note on the written file says so. Bars are daily only.
  const { timeframes = [] } = filter
  const hasBothTimeframes = what !== 'bars' && timeframes.length === 0
  // Threads make the JSON text of events; the rows of other tables become text here.
  if (what === 'events' && (format === 'json' || format === 'ndjson')) {
    const blocks = exportEventBlocks(local, filter, betweenRows(format))
    const write: WriteRows = (sink, addRows) => {
      const countedBlocks = reportEach(blocks, ({ rows }) => addRows(rows))
      return writeBlocks(format, countedBlocks, sink)
    }
    return writeOutput(context, { out, write, hasBothTimeframes })
  }
  if (format !== 'parquet')
    return writeRowsTo(context, exportTable(local, what, filter), { format, out, hasBothTimeframes })
  const { exportGroups, splitIntoTasks } = await import('../../../data/local/export-columns.js')
  const tasks = splitIntoTasks((await readTableFilter(local, what, filter)).tickers)
  const rowGroups = async function* () {
    for await (const groupsOfTask of exportGroups(local, { table: what, filter, byYear: false }, tasks))
      for (const { group } of groupsOfTask) yield group
  }
  const columns = tableColumns(what, filter, local.fieldSet)
  const write: WriteRows = (sink, addRows) => {
    const countedGroups = reportEach(rowGroups(), ({ rows }) => addRows(rows))
    return writeGroups(countedGroups, columns, sink)
  }
  await writeOutput(context, { out, write, hasBothTimeframes })
}

/** Exports bars of a server, as far back as the API key may read; each hundred bars cost a credit. */
async function exportServerBars(
  context: Context,
  remote: Remote,
  filter: ExportFilter,
  { format, out }: { format: ExportOutput; out: string | undefined },
): Promise<void> {
  const { tickers = [], after, before } = filter
  if (tickers.length === 0) throw wrong('tickers', 'a server does not list its tickers: name some.')
  const rows = async function* (): AsyncGenerator<ExportedBar> {
    for (const ticker of tickers) yield* remote.pages.bars(ticker, { after, before })
  }
  const table = { rows: rows(), columns: BAR_COLUMNS as ExportedTable['columns'] }
  await writeRowsTo(context, table, { format, out, hasBothTimeframes: false })
}

function writeRowsTo(
  context: Context,
  { rows, columns }: ExportedTable,
  { format, ...output }: Omit<Output, 'write'> & { format: ExportOutput },
): Promise<void> {
  const raw = context.config.csv_raw
  const write: WriteRows = (sink, addRows) => {
    const countedRows = reportEach(rows, () => addRows(1))
    return writeRows(format, countedRows, columns, sink, { raw })
  }
  return writeOutput(context, { ...output, write })
}

/** Writes rows to a sink, and calls `addRows` with the number of rows in each piece. */
type WriteRows = (sink: Sink, addRows: (rows: number) => void) => Promise<void>

/** The destination of an export: a file, or standard output without `out`. */
interface Output {
  out: string | undefined
  write: WriteRows
  /** Whether the rows are of both timeframes, because the line names none. */
  hasBothTimeframes: boolean
}

/** Writes the rows with progress, and says how many. A signal ends it without half a file. */
async function writeOutput(context: Context, { out, write, hasBothTimeframes }: Output): Promise<void> {
  let writtenRows = 0
  context.deferSignals()
  // Rows on a terminal are progress enough.
  const showsProgress = out !== undefined || !context.out.terminal
  const addRows = (rows: number): void => {
    const rowsBefore = writtenRows
    writtenRows += rows
    const passesThousand = Math.floor(rowsBefore / 1000) < Math.floor(writtenRows / 1000)
    if (passesThousand && showsProgress) context.step(() => `export  ${count(writtenRows, 'row')}`)
  }
  if (out === undefined) return write(context.out, addRows)
  await writeFileWhole(out, sink => write(sink, addRows))
  await context.remark(`wrote ${count(writtenRows, 'row')}${hasBothTimeframes ? ', daily and weekly,' : ''} to ${out}`)
}

export const commands = { export: exportCommand }
