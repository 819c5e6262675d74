import { writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { type BadData, BandsError, InvalidParameter, StorageError } from '../../errors.js'
import type { Input, Rejected } from '../../feeds/feed.js'
import type { BarsReport, FactsReport, FileReport, ImportOptions, SheetReport } from '../../load/report.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../model/facts.js'
import type { OptionSpec } from '../../params/row.js'
import { dayValue, wordValue } from '../../params/values.js'
import { count, whole } from '../../present/numbers.js'
import type { Command } from '../command.js'
import { withOptions } from '../command-line.js'
import type { Context } from '../context.js'
import { type Block, bytes, type Cell, type Row, type Table } from '../draw/table.js'
import type { Given } from '../given.js'
import type { Answer } from '../output.js'
import { ClosedPipe } from '../world.js'

/** What was typed about how to read files, and where to tell how far it is. */
function importOptions(context: Context, given: Given): ImportOptions {
  const hints = Object.entries({
    format: given.text('format'),
    delimiter: given.text('delimiter'),
    dateFormat: given.text('date-format'),
    decimal: given.text('decimal'),
    header: given.text('header'),
  }).filter(([, value]) => value !== undefined)
  const ticker = given.text('ticker')
  const prices = given.text('prices')
  const known = given.text('known')
  return {
    ...(ticker === undefined ? {} : { ticker }),
    ...(prices === undefined ? {} : { prices: wordValue('prices', prices, ['adjusted', 'raw'] as const) }),
    ...(known === undefined ? {} : { known: dayValue('known', known) }),
    skipBadRows: given.flag('skip-bad-rows'),
    replace: given.flag('replace'),
    hints: Object.fromEntries(hints),
    ...(given.rest(0).includes('-') ? { stdin: context.world.stdin() } : {}),
    onProgress: ({ file, stage, done, of, rows }) =>
      context.step(() => {
        const units = stage === 'settling' ? 'steps' : 'tickers'
        const far = stage === 'reading' ? bytes(done, of) : `${done}/${of ?? '?'} ${units}`
        return `${stage}  ${file}  ${far}  ${rows.toLocaleString('en-US')} rows`
      }),
  }
}

/** How any file is read. */
const FACT_READING: readonly OptionSpec[] = [
  ['--ticker <SYMBOL>', 'the ticker of a file without one; otherwise its column, or of prices the name of the file'],
  ['--known <DATE>', 'the day on which facts without a date became known, such as that of a download'],
  ['--skip-bad-rows', 'load the good rows of a file with bad ones, and keep the bad ones in a file'],
  ['--rejects <FILE>', 'where bad rows go; FILE.rejects beside you unless given'],
  ['--replace', 'start each ticker again from its file (of facts: each kind of it), whatever was there'],
  ['--wait', 'wait while another process is writing'],
  ['--format <NAME>', 'the layout, when detection is wrong'],
  ['--delimiter <CHARACTER>', 'comma, semicolon, tab, pipe, or the character'],
  ['--date-format <FORMAT>', 'such as YYYY-MM-DD, DD/MM/YYYY, MM/DD/YYYY'],
  ['--decimal <SIGN>', '. or ,'],
  ['--header <NAMES>', 'names of the columns, with commas, for a file that has none'],
]

/** The files are to be loaded even when nobody reads on (`| head`). */
async function unheard(telling: Promise<void>): Promise<void> {
  await telling.catch(error => {
    if (!(error instanceof ClosedPipe)) throw error
  })
}

/** Imports files one after the other and tells of each; one file's fault does not keep the others out. */
async function runImport(context: Context, given: Given, only?: 'facts'): Promise<void> {
  context.refuseRemote()
  const { expandInputs } = await import('../../feeds/read.js')
  if (given.rest(0).length === 0) {
    const allowed = only === undefined ? 'bands import FILE...' : 'bands import-facts FILE...'
    throw new InvalidParameter('FILE is missing.', { param: 'file', allowed })
  }
  const inputs = await expandInputs(given.rest(0))
  const rejects = new RejectsFile(given.text('rejects'), inputs)
  const importer = await context.importer({ wait: given.flag('wait'), make: true })
  const answer = importAnswer()
  const atOnce = context.format === null || context.format === 'table'
  const options = importOptions(context, given)
  if (only !== undefined) options.only = only
  // Alone, a refused file is the whole answer.
  if (inputs.length > 1)
    options.onRefused = async error => {
      answer.refuse(error)
      if (context.format !== 'json') await context.notice(`error: ${withOptions(error.words)}`)
    }
  for await (const report of importer.import(inputs, options)) {
    answer.add(report, await rejects.keep(report))
    if (atOnce) await unheard(context.show(answer.latest()))
  }
  if (!atOnce) await unheard(context.show(answer))
  const refused = answer.refused()
  if (refused === 0) return
  const verb = refused === 1 ? 'was' : 'were'
  throw new BandsError('bad_data', `${refused} of ${inputs.length} files ${verb} refused; the others are loaded.`)
}

const ofPrices: Command = {
  arguments: [['[FILE...]', 'files, folders, globs, or - for standard input; csv, json, xml, zip, gz']],
  options: [
    ['--prices <KIND>', 'adjusted or raw; adjusted unless given, where the file has an adjusted close'],
    ...FACT_READING,
  ],
  examples: [
    'bands import AAPL.csv',
    'bands import prices/ --prices raw',
    'bands import a.csv --ticker A --date-format DD/MM/YYYY --delimiter semicolon',
    'zcat all.csv.gz | bands import - --skip-bad-rows --rejects bad.csv',
  ],
  notes: ['Files of facts are told apart from prices and loaded too, as bands import-facts does.'],
  async run(context, given) {
    await runImport(context, given)
  },
}

const ofFacts: Command = {
  arguments: [['[FILE...]', 'files, folders, globs, or - for standard input; csv, json, xml, zip, gz']],
  options: FACT_READING,
  examples: [
    'bands import-facts earnings.csv',
    'bands import-facts facts/',
    'bands import-facts CIK0000320193.json --ticker AAPL',
    'bands import-facts recommendations.json --ticker AAPL --known 2025-02-21',
  ],
  notes: [
    'Takes company facts and Form 4 of the SEC, JSON of Yahoo, the usual CSV exports, and record files with ticker and these columns, of which those in brackets may be left out:',
    ...FACT_KINDS.map(kind => `  ${kind}: ${columnsOf(kind)}`),
    'bands facts TICKER shows what is known.',
  ],
  async run(context, given) {
    await runImport(context, given, 'facts')
  },
}

function columnsOf(kind: FactKind): string {
  return FACT_COLUMNS[kind].map(({ name, required }) => (required ? name : `[${name}]`)).join(', ')
}

interface Imported {
  report: FileReport
  /** Where its bad rows are kept. */
  rejects: string | null
}

/** More tickers of one file are summed up instead of listed. */
const LISTED = 30

/** What was imported, file by file, and what was not; `latest` is the answer about the last file alone. */
interface ImportAnswer extends Answer {
  add(report: FileReport, rejects: string | null): void
  refuse(error: BadData): void
  refused(): number
  latest(): Answer
}

function importAnswer(): ImportAnswer {
  const done: Imported[] = []
  const refused: BadData[] = []
  return {
    ...answerOf(done, refused),
    add: (report, rejects) => done.push({ report, rejects }),
    refuse: error => refused.push(error),
    refused: () => refused.length,
    latest: () => answerOf(done.slice(-1), []),
  }
}

function answerOf(files: readonly Imported[], refused: readonly BadData[]): Answer {
  return {
    document: () => ({
      schema: 'bands.import/1',
      files: files.map(document),
      refused: refused.map(({ message, place }) => ({ ...place, message })),
    }),
    columns: [
      ...['file', 'format', 'ticker', 'prices', 'kind', 'added', 'replaced', 'unchanged', 'bars', 'records'],
      ...['first', 'last', 'note'],
    ],
    rows: () => files.flatMap(rows),
    blocks: () => files.map(block),
  }
}

function document({ report, rejects }: Imported): Row {
  if (report.holds === 'facts') return { ...factsDocument(report), rejects }
  const { holds, file, format, dialect, header, rows, adjustmentNote, tickers, rejected, warnings } = report
  return {
    holds,
    file,
    format,
    dialect,
    header,
    rows,
    adjustment: adjustmentNote,
    tickers,
    rejected: rejected.map(rejectedRow),
    rejects,
    warnings,
  }
}

function rejectedRow({ line, column, reason, text }: Rejected): Row {
  return { line, column, reason: withOptions(reason), text }
}

function rows({ report }: Imported): Row[] {
  if (report.holds === 'facts') return factsRows(report)
  const { file, format } = report
  return report.tickers.map(ticker => ({ file, format, ...ticker }))
}

function block({ report, rejects }: Imported): Block {
  const { file, format, dialect, rows } = report
  const read = Object.entries(dialect)
    .map(([what, value]) => `${what} ${value}`)
    .join(', ')
  const told =
    report.holds === 'facts'
      ? remarkLines(report)
      : [...report.tickers.flatMap(ticker => ticker.note ?? []), ...warningLines(report)]
  return {
    title: [file, format, count(rows, 'row'), ...(report.holds === 'facts' ? [] : [report.adjustmentNote])],
    table: report.holds === 'facts' ? factsTable(report) : tickerTable(report),
    notes: [read, ...told, ...rejectLines(report, rejects)],
  }
}

function tickerTable({ tickers }: BarsReport): Table {
  const sum = (key: 'added' | 'replaced' | 'unchanged' | 'bars'): number =>
    tickers.reduce((total, ticker) => total + ticker[key], 0)
  const all = {
    ticker: count(tickers.length, 'ticker'),
    prices: [...new Set(tickers.map(ticker => ticker.prices))].join(', '),
    added: sum('added'),
    replaced: sum('replaced'),
    unchanged: sum('unchanged'),
    bars: sum('bars'),
    first: tickers.map(ticker => ticker.first).sort()[0] ?? '',
    last:
      tickers
        .map(ticker => ticker.last)
        .sort()
        .at(-1) ?? '',
  }
  return {
    columns: [
      { title: 'TICKER' },
      { title: 'PRICES', spare: 1 },
      { title: 'ADDED', align: 'right' },
      { title: 'REPLACED', align: 'right', spare: 2 },
      { title: 'SAME', align: 'right', spare: 3 },
      { title: 'BARS', align: 'right', spare: 4 },
      { title: 'FIRST', spare: 6 },
      { title: 'LAST', spare: 5 },
    ],
    rows: (tickers.length > LISTED ? [all] : tickers).map(({ ticker, prices, first, last, ...counts }) => [
      ticker,
      prices,
      ...[counts.added, counts.replaced, counts.unchanged, counts.bars].map(whole),
      first,
      last,
    ]),
  }
}

function warningLines({ warnings }: BarsReport): string[] {
  return warnings.map(({ kind, count: found, first: [first] }) => {
    const where = first === undefined ? '' : `, first at ${first.place}: ${first.ticker} ${first.date} ${first.detail}`
    return `warning: ${kind.replaceAll('_', ' ')} ${found === 1 ? 'once' : `${whole(found)} times`}${where}`
  })
}

function rejectLines({ file, rejected }: FileReport, rejects: string | null): string[] {
  if (rejected.length === 0) return []
  const first = rejected
    .slice(0, 3)
    .map(({ line, column, reason }) => `  ${file}:${line}:${column}: ${withOptions(reason)}`)
  const verb = rejected.length === 1 ? 'is' : 'are'
  return [`${count(rejected.length, 'bad row')} ${verb} not loaded, and kept in ${rejects}; the first:`, ...first]
}

function factsDocument(report: FactsReport): Row {
  const { holds, file, format, dialect, header, rows, facts, without_bars, doubts, rejected, remarks } = report
  return {
    ...{ holds, file, format, dialect, header, rows, facts, without_bars },
    doubts: doubts.map(withOptions),
    rejected: rejected.map(rejectedRow),
    remarks: remarks.map(({ what, ...more }) => ({ what: withOptions(what), ...more })),
  }
}

function factsRows({ file, format, facts }: FactsReport): Row[] {
  return facts.map(sheet => ({ file, format, ...sheet }))
}

/** What became of a file of facts, a line a kind; `notes` follow what the file itself says. */
function factsTable({ facts }: FactsReport): NonNullable<Block['table']> {
  return {
    columns: [
      { title: 'KIND' },
      { title: 'TICKERS', align: 'right' },
      { title: 'ADDED', align: 'right' },
      { title: 'REPLACED', align: 'right', spare: 1 },
      { title: 'SAME', align: 'right', spare: 2 },
      { title: 'RECORDS', align: 'right', spare: 3 },
      { title: 'FIRST', spare: 5 },
      { title: 'LAST', spare: 4 },
    ],
    rows: FACT_KINDS.flatMap(kind => {
      const sheets = facts.filter(sheet => sheet.kind === kind)
      return sheets.length === 0 ? [] : [kindLine(kind, sheets)]
    }),
  }
}

/** What was left out or assumed, each once, with its first places. */
function remarkLines({ file, remarks, without_bars, doubts }: FactsReport): string[] {
  const lines = remarks.map(({ what, count, first }) => {
    const often = count === 1 ? '' : ` (${whole(count)} times)`
    const places = first.map(place => (place.startsWith(`${file}:`) ? `line ${place.slice(file.length + 1)}` : place))
    return `${withOptions(what)}${often}${places.length === 0 ? '' : `; first: ${places.join(', ')}${count > places.length ? ' …' : ''}`}`
  })
  if (without_bars > 0) lines.push(`${count(without_bars, 'ticker')} without bars yet: no field stands on their facts`)
  return [...lines, ...doubts.map(doubt => `warning: ${withOptions(doubt)}`)]
}

function kindLine(kind: string, sheets: readonly SheetReport[]): Cell[] {
  const sum = (key: 'added' | 'replaced' | 'unchanged' | 'records'): number =>
    sheets.reduce((total, sheet) => total + sheet[key], 0)
  const firsts = sheets.flatMap(({ first }) => first ?? []).sort()
  const lasts = sheets.flatMap(({ last }) => last ?? []).sort()
  const counts = [sheets.length, sum('added'), sum('replaced'), sum('unchanged'), sum('records')]
  return [kind, ...counts.map(whole), firsts[0] ?? '', lasts.at(-1) ?? '']
}

/** Keeps rows that were skipped, as they stood, under the header of their file: mended, they can be imported. */
class RejectsFile {
  readonly #named: string | undefined
  readonly #inputs: readonly Input[]
  /** Path → the header it was begun with. */
  readonly #begun = new Map<string, string | null>()

  constructor(named: string | undefined, inputs: readonly Input[]) {
    this.#named = named
    this.#inputs = inputs
  }

  /** The file that now holds the report's bad rows; null when it has none. */
  async keep({ file, header, rejected }: FileReport): Promise<string | null> {
    if (rejected.length === 0) return null
    const path = this.#pathFor(file, header)
    if (this.#inputs.some(input => input.path === resolve(path)))
      throw new InvalidParameter(`--rejects ${path} is a file that is being imported.`, {
        param: 'rejects',
        value: path,
      })
    const first = this.#begun.has(path) || header === null ? [] : [header]
    const text = [...first, ...rejected.map(row => row.text)].map(line => `${line}\n`).join('')
    try {
      await writeFile(path, text, { flag: this.#begun.has(path) ? 'a' : 'w' })
    } catch (cause) {
      throw new StorageError(`cannot write the bad rows to ${path}: ${(cause as Error).message}`, { cause })
    }
    this.#begun.set(path, header)
    return path
  }

  /** One file takes the rows of all inputs of one header; those of another header go beside it. */
  #pathFor(file: string, header: string | null): string {
    const wanted = this.#named ?? `${file === '-' ? 'stdin' : basename(file)}.rejects`
    for (let i = 1; ; i++) {
      const path = i === 1 ? wanted : `${wanted}.${i}`
      if (!this.#begun.has(path) || (this.#named !== undefined && this.#begun.get(path) === header)) return path
    }
  }
}

export const commands = {
  import: ofPrices,
  'import-facts': ofFacts,
}
