// For: one file for each command: read, ask, show.
// In: a context and the words of the command line.
// Out: a described result, which the context draws.

import { writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type BadData, BandsError, type Remedy, StorageError, typedLineWith, wrong } from '../../../core/errors.js'
import { dayAt } from '../../../core/model/day.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../../core/model/facts.js'
import type { Adjustment } from '../../../core/model/series.js'
import { count, numberText } from '../../../core/numbers.js'
import { FILE, oneOf, WORDS } from '../../../core/params/kinds.js'
import { HINTS } from '../../../core/params/questions.js'
import { optional, optionsOf } from '../../../core/params/row.js'
import type { Hints, Input } from '../../../data/feeds/feed.js'
import type {
  BarsReport,
  FactsReport,
  FileReport,
  ImportOptions,
  ImportProgress,
  RefusedTicker,
} from '../../../data/load/report.js'
import { column, type Described, type Paragraph, type Table, tableOf } from '../../present/description.js'
import type { Args, Command } from '../command.js'
import { MAX_TICKERS_IN_NEXT_LINE, nextLine, textWithOptions } from '../command-line.js'
import type { Context } from '../context.js'
import { megabytesText } from '../draw/table.js'
import { linesText } from '../draw/text.js'
import type { Row } from '../formats.js'
import { ClosedPipe } from '../world.js'
import { openForImport, WAIT } from '../writing.js'

/** Options about the content of files, where the files do not state it. */
const CONTENT = {
  prices: optional(
    oneOf<Adjustment>(['adjusted', 'raw'], 'KIND'),
    'adjusted or raw (default adjusted, where the file has an adjusted close)',
  ),
  ticker: optional(WORDS, 'the ticker of a file without one; otherwise its column, or of prices the name of the file', {
    placeholder: 'SYMBOL',
  }),
}

/** The decimal signs by the names that --layout has for them. */
const DECIMALS: Readonly<Record<string, string>> = { comma: ',', point: '.' }

/** The value of --bad-rows that keeps bad rows in a file next to the database. */
const SKIP_WORD = 'skip'

const BAD_ROWS = {
  bad_rows: optional(
    { ...FILE, example: SKIP_WORD },
    'load the good rows of a file with bad ones, and keep the bad ones in this file; or skip: in FILE.rejects next to the database',
  ),
}

const importCommand: Command = {
  arguments: [['[FILE...]', 'files, folders, globs, or - for standard input; csv, json, xml, zip, gz']],
  options: [
    ...optionsOf(CONTENT),
    ...optionsOf(BAD_ROWS),
    ['--replace', 'start each ticker again from its file (of facts: each kind of it)'],
    [
      '--rescale',
      'if a file’s prices differ from the stored ones by one factor, such as a split, multiply the stored prices by it and divide their volumes by it (not for a dividend)',
    ],
    ['--accept-jump', 'store such prices as they are; status and doctor go on showing the jump'],
    WAIT,
    ...optionsOf(HINTS),
  ],
  examples: [
    'bands import AAPL.csv',
    'bands import prices/ --prices raw',
    "bands import a.csv --ticker A --layout 'dates DD/MM/YYYY, decimal comma'",
    'zcat all.csv.gz | bands import - --bad-rows bad.csv',
    'bands import tonight.csv --rescale',
    'bands import earnings.csv CIK0000320193.json',
    'bands import ratings.json --ticker AAPL --layout "known 2025-02-21"',
  ],
  notes: [
    'A ticker is refused if its prices do not fit the stored ones: a split, closes of the same days that differ by one factor, or another instrument. --rescale, --accept-jump or --replace say what to do. The other tickers are loaded; the exit code is 5.',
    'Facts: company facts and Form 4 of the SEC, JSON of Yahoo, the usual CSV exports, and record files with ticker and these columns (those in brackets may be left out):',
    ...FACT_KINDS.map(kind => `  ${kind}: ${columnNames(kind)}`),
    'bands facts TICKER shows the loaded facts.',
  ],
  run: runImport,
}

export const commands = { import: importCommand }

function columnNames(kind: FactKind): string {
  return FACT_COLUMNS[kind].map(({ name, required }) => (required ? name : `[${name}]`)).join(', ')
}

/** Imports files one after the other and reports each; a refused file does not stop the others. */
async function runImport(context: Context, args: Args): Promise<void> {
  context.refuseRemote()
  const { expandInputs } = await import('../../../data/feeds/read.js')
  if (args.argumentList(0).length === 0) throw wrong('file', 'FILE is missing.', { allowed: 'bands import FILE...' })
  const inputs = await expandInputs(args.argumentList(0))
  const { databasePath } = await import('../../open/paths.js')
  const keepRejects = rejectsWriter(args.read(BAD_ROWS).bad_rows, dirname(databasePath(context.databaseChoice)), inputs)
  const importer = await openForImport(context, { wait: args.flag('wait'), make: true })
  // JSON and CSV are written at the end, as one answer about all files.
  const isShownByFile = context.isForPeople || context.format === 'ndjson'
  const imported: Imported[] = []
  const refused: BadData[] = []
  const options = importOptions(context, args)
  // The refusal of a single file is not collected: it ends the command with that error.
  if (inputs.length > 1)
    options.onRefused = async error => {
      refused.push(error)
      if (context.format !== 'json') await context.notice(`error: ${textWithOptions(error.words)}`)
    }
  for await (const report of importer.import(inputs, options)) {
    const file = { report, rejects: await keepRejects(report) }
    imported.push(file)
    if (isShownByFile && !isLeftOut(context, file)) await ignoreClosedPipe(context.show(describeImport([file], [])))
    if (context.format !== 'json')
      for (const { message } of refusedTickers(report))
        await context.notice(`error: ${report.file}: ${textWithOptions(message)}`)
  }
  if (!isShownByFile) await ignoreClosedPipe(context.show(describeImport(imported, refused)))
  const refusals = refusalText(imported, refused.length, inputs.length)
  if (refusals !== '') throw new BandsError('bad_data', refusals, remedyOf(refused, imported))
  const tickers = imported.flatMap(({ report }) => (report.holds === 'bars' ? report.tickers : []))
  const names = [...new Set(tickers.map(({ ticker }) => ticker))].slice(0, MAX_TICKERS_IN_NEXT_LINE)
  if (names.length > 0) await context.hint(`next: ${nextLine(context.argv, 'now', names, [])}`)
}

/** Whether the report of a file is left out: with --quiet, if all of it was loaded without a remark. */
function isLeftOut({ config, isForPeople }: Context, { report }: Imported): boolean {
  if (!config.quiet || !isForPeople) return false
  return noteLines(report).length + report.rejected.length + refusedTickers(report).length === 0
}

function refusedTickers(report: FileReport): readonly RefusedTicker[] {
  return report.holds === 'bars' ? report.refused : []
}

/** `1 of 2 files and 1 of 3 tickers were refused; the others are loaded.` Empty if nothing was refused. */
function refusalText(imported: readonly Imported[], refusedFiles: number, files: number): string {
  const reports = imported.map(({ report }) => report)
  const refusedCount = total(reports.map(report => refusedTickers(report).length))
  const loadedTickers = total(reports.map(report => (report.holds === 'bars' ? report.tickers.length : 0)))
  const loadedFacts = total(reports.map(report => (report.holds === 'bars' ? 0 : report.facts.length)))
  const parts: string[] = []
  if (refusedFiles > 0) parts.push(`${numberText(refusedFiles)} of ${count(files, 'file')}`)
  if (refusedCount > 0) parts.push(`${numberText(refusedCount)} of ${count(loadedTickers + refusedCount, 'ticker')}`)
  if (parts.length === 0) return ''
  const verb = refusedFiles + refusedCount === 1 ? 'was' : 'were'
  const rest = loadedTickers + loadedFacts === 0 ? 'nothing is loaded' : 'the others are loaded'
  return `${parts.join(' and ')} ${verb} refused; ${rest}.`
}

/** The line that loads the refused tickers, if the same options load all of them. */
function remedyOf(refusedFiles: readonly BadData[], imported: readonly Imported[]): { remedy?: Remedy } {
  const remedies = imported.flatMap(({ report }) => refusedTickers(report)).map(({ loadsWith }) => loadsWith)
  const [params] = remedies
  const isCommon = remedies.every(other => JSON.stringify(other) === JSON.stringify(params))
  if (params === undefined || !isCommon || refusedFiles.length > 0) return {}
  return { remedy: typedLineWith('import', [], params) }
}

function importOptions(context: Context, args: Args): ImportOptions {
  const { date_format, time_zone, decimal, known, ...otherHints } = args.read(HINTS)
  const hints: Hints = otherHints
  if (decimal !== undefined) hints.decimal = DECIMALS[decimal] ?? decimal
  if (date_format !== undefined) hints.dateFormat = date_format
  if (time_zone !== undefined) hints.timeZone = time_zone
  const options: ImportOptions = {
    ...args.read(CONTENT),
    hints,
    skipBadRows: args.text('bad-rows') !== undefined,
    replace: args.flag('replace'),
    rescale: args.flag('rescale'),
    acceptJump: args.flag('accept-jump'),
    today: dayAt(context.world.now().getTime()),
    onProgress: progress => context.step(() => progressText(progress)),
  }
  if (known !== undefined) options.known = known
  if (args.argumentList(0).includes('-')) options.stdin = context.world.stdin()
  return options
}

/** `reading  prices.csv  3.1 of 12.4 MB  52,000 rows`; after reading, tickers or steps instead of bytes. */
export function progressText({ file, stage, done, of: total, rows }: ImportProgress): string {
  const unit = stage === 'settling' ? 'steps' : 'tickers'
  const progress = stage === 'reading' ? megabytesText(done, total) : `${done}/${total ?? '?'} ${unit}`
  return `${stage}  ${file}  ${progress}  ${numberText(rows)} rows`
}

/** Waits for output. The import continues when the reader of the output has gone (`| head`). */
async function ignoreClosedPipe(output: Promise<void>): Promise<void> {
  await output.catch(error => {
    if (!(error instanceof ClosedPipe)) throw error
  })
}

/** The report on an imported file, and the path of the file that keeps its bad rows; null if it has none. */
interface Imported {
  report: FileReport
  rejects: string | null
}

/** The answer about imported and refused files. Machines get a row per ticker or kind of facts, and each refusal. */
function describeImport(files: readonly Imported[], refused: readonly BadData[]): Described {
  return {
    document: {
      schema: 'bands.import/1',
      files: files.map(fileDocument),
      refused: refused.map(({ message, place }) => ({ ...place, message })),
    },
    columns: [
      ...['file', 'format', 'ticker', 'prices', 'kind', 'added', 'replaced', 'unchanged', 'bars', 'records'],
      ...['first', 'last', 'note', 'refused', 'factor', 'date'],
    ],
    rows: files.flatMap(({ report }): object[] => {
      const { file, format } = report
      const parts = report.holds === 'facts' ? report.facts : report.tickers
      const refusals = refusedTickers(report).map(({ ticker, reason, factor, date, message }) => {
        return { file, format, ticker, refused: reason, factor, date, note: textWithOptions(message) }
      })
      return [...parts.map(part => ({ file, format, ...part })), ...refusals]
    }),
    paragraphs: files.map(fileParagraph),
  }
}

function fileDocument({ report, rejects }: Imported): Row {
  const { holds, file, format, dialect, header, rows } = report
  const fileInfo = { holds, file, format, dialect, header, rows }
  const rejected = report.rejected.map(({ line, column, reason, text }) => {
    return { line, column, reason: textWithOptions(reason), text }
  })
  const remarks = report.remarks.map(({ what, ...more }) => ({ what: textWithOptions(what), ...more }))
  if (report.holds === 'bars') {
    const { adjustmentNote: adjustment, tickers } = report
    const warnings = report.warnings.map(({ first, ...warning }) => ({
      ...warning,
      first: first.map(oddity => ({ ...oddity, detail: textWithOptions(oddity.detail) })),
    }))
    const refused = report.refused.map(({ message, loadsWith, ...more }) => ({
      ...more,
      message: textWithOptions(message),
    }))
    const resumed = report.resumed ? { resumed: report.resumed } : {}
    return { ...fileInfo, ...resumed, adjustment, tickers, refused, rejected, rejects, remarks, warnings }
  }
  const { facts, without_bars } = report
  const doubts = report.doubts.map(textWithOptions)
  return { ...fileInfo, facts, without_bars, doubts, rejected, remarks, rejects }
}

/** The import of a file for people: a table of its tickers or facts, and notes. */
function fileParagraph({ report, rejects }: Imported): Paragraph {
  const { file, format, dialect, rows } = report
  const dialectText = Object.entries(dialect).map(([property, value]) => `${property} ${value}`)
  const heading = [file, format, count(rows, 'row')]
  if (report.holds === 'bars') heading.push(report.adjustmentNote)
  const table = report.holds === 'facts' ? factsTable(report) : tickerTable(report)
  const notes = [dialectText.join(', '), ...noteLines(report), ...rejectLines(report, rejects)]
  return { heading, parts: [{ table }, { notes }] }
}

/** A file with more tickers has one row with their sums instead. */
const MAX_LISTED_TICKERS = 30

/** A row for each ticker, or one row with the sums of more than MAX_LISTED_TICKERS. */
function tickerTable({ tickers }: BarsReport): Table {
  const prices = [...new Set(tickers.map(ticker => ticker.prices))].join(', ')
  const bars = total(tickers.map(ticker => ticker.bars))
  const sums = { ...sumCounts(tickers), ticker: count(tickers.length, 'ticker'), prices, bars }
  const columns = [
    column('ticker'),
    column('prices', 'text', { hidePriority: 1 }),
    ...countColumns('bars', { hidePriority: 2 }),
  ]
  return tableOf<typeof sums>('Tickers', columns, tickers.length > MAX_LISTED_TICKERS ? [sums] : tickers)
}

/** A row for each kind of facts, with the sums of its sheets. A sheet has the facts of one kind and ticker. */
function factsTable({ facts }: FactsReport): Table {
  const kinds = FACT_KINDS.filter(kind => facts.some(sheet => sheet.kind === kind))
  const rows = kinds.map(kind => {
    const sheets = facts.filter(sheet => sheet.kind === kind)
    return { ...sumCounts(sheets), kind, tickers: sheets.length, records: total(sheets.map(sheet => sheet.records)) }
  })
  const columns = [column('kind'), column('tickers', 'count'), ...countColumns('records', { hidePriority: 1 })]
  return tableOf<(typeof rows)[number]>('Kinds', columns, rows)
}

/**
 * Columns with counts and dates of bars or records. On a narrow screen `added` always stays.
 * @param hidePriority of `replaced`; the other columns are hidden before it
 */
function countColumns<Key extends string>(itemsKey: Key, { hidePriority }: { hidePriority: number }) {
  return [
    column('added', 'count'),
    column('replaced', 'count', { hidePriority }),
    column('unchanged', 'count', { title: 'same', hidePriority: hidePriority + 1 }),
    column(itemsKey, 'count', { hidePriority: hidePriority + 2 }),
    column('first', 'date', { hidePriority: hidePriority + 4 }),
    column('last', 'date', { hidePriority: hidePriority + 3 }),
  ]
}

interface RowCounts {
  added: number
  replaced: number
  unchanged: number
  first: string | null
  last: string | null
}

/** The sums of some counts, with the first and the last of all dates; empty without dates. */
function sumCounts(parts: readonly RowCounts[]): RowCounts & { first: string; last: string } {
  const days = parts
    .flatMap(({ first, last }) => [first, last])
    .filter(day => day !== null)
    .sort()
  return {
    added: total(parts.map(part => part.added)),
    replaced: total(parts.map(part => part.replaced)),
    unchanged: total(parts.map(part => part.unchanged)),
    first: days[0] ?? '',
    last: days.at(-1) ?? '',
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** Notes about a file: odd bars, or omitted and assumed facts, with their first positions. */
function noteLines(report: FileReport): string[] {
  if (report.holds === 'facts') return [...remarkLines(report), ...factLines(report)]
  const warnings = report.warnings.map(({ kind, count: times, first: firstOddities }) => {
    const [oddity] = firstOddities
    const timesText = times === 1 ? 'once' : `${numberText(times)} times`
    const warning = `warning: ${kind.replaceAll('_', ' ')} ${timesText}`
    if (oddity === undefined) return warning
    return `${warning}, first at ${oddity.place}: ${oddity.ticker} ${oddity.date} ${textWithOptions(oddity.detail)}`
  })
  const lines = [...report.tickers.flatMap(ticker => ticker.note ?? []), ...remarkLines(report), ...warnings]
  if (!report.resumed) return lines
  return [`goes on where an import of the same was stopped: after ${count(report.resumed, 'ticker')}`, ...lines]
}

/** The remarks about a file, each with the number of its occurrences and the first positions. */
function remarkLines({ file, remarks }: FileReport): string[] {
  return remarks.map(({ what, count: times, first: firstPlaces }) => {
    const timesText = times === 1 ? '' : ` (${numberText(times)} times)`
    const positions = firstPlaces.map(place =>
      place.startsWith(`${file}:`) ? `line ${place.slice(file.length + 1)}` : place,
    )
    const more = times > positions.length ? ' …' : ''
    const where = positions.length === 0 ? '' : `; first: ${positions.join(', ')}${more}`
    return `${textWithOptions(what)}${timesText}${where}`
  })
}

/** Lines about tickers without bars, and about doubtful facts. */
function factLines({ without_bars, doubts }: FactsReport): string[] {
  const warnings = doubts.map(doubt => `warning: ${textWithOptions(doubt)}`)
  if (without_bars === 0) return warnings
  return [`${count(without_bars, 'ticker')} without bars yet: no field uses their facts`, ...warnings]
}

/** The number of rejected rows and the first three; empty without any. @param rejects their file; null without any */
function rejectLines({ file, rejected }: FileReport, rejects: string | null): string[] {
  if (rejected.length === 0) return []
  const first = rejected
    .slice(0, 3)
    .map(({ line, column, reason }) => `  ${file}:${line}:${column}: ${textWithOptions(reason)}`)
  const verb = rejected.length === 1 ? 'is' : 'are'
  return [`${count(rejected.length, 'bad row')} ${verb} not loaded, and kept in ${rejects}; the first:`, ...first]
}

/**
 * Writes skipped rows unchanged under the header of their file, so that they can be corrected and imported. They go
 * into the named file, otherwise into one file per input in a folder. The returned function takes a report and returns
 * its file of rejected rows; null if there are none.
 * @param option the value of --bad-rows
 */
function rejectsWriter(option: string | undefined, folder: string, inputs: readonly Input[]) {
  const sharedPath = option === SKIP_WORD ? undefined : option
  /** The header of each written file, by its path; null for a file without a header. */
  const headerByPath = new Map<string, string | null>()
  /** The path for the rows of an input: a new one, or with a named file also the one of inputs with the same header. */
  const pathFor = (file: string, header: string | null): string => {
    const firstPath = sharedPath ?? join(folder, `${file === '-' ? 'stdin' : basename(file)}.rejects`)
    for (let i = 1; ; i++) {
      const path = i === 1 ? firstPath : `${firstPath}.${i}`
      if (!headerByPath.has(path) || (sharedPath !== undefined && headerByPath.get(path) === header)) return path
    }
  }
  return async ({ file, header, rejected }: FileReport): Promise<string | null> => {
    if (rejected.length === 0) return null
    const path = pathFor(file, header)
    if (inputs.some(input => input.path === resolve(path)))
      throw wrong('bad_rows', `--bad-rows ${path} is a file that is being imported.`, { value: path })
    const fileExists = headerByPath.has(path)
    const lines = rejected.map(row => row.text)
    if (!fileExists && header !== null) lines.unshift(header)
    await writeFile(path, linesText(lines), { flag: fileExists ? 'a' : 'w' }).catch(cause => {
      throw new StorageError(`cannot write the bad rows to ${path}: ${(cause as Error).message}`, { cause })
    })
    headerByPath.set(path, header)
    return path
  }
}
