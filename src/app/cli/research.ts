import { basename, extname, resolve } from 'node:path'
import { version } from '../../core/built.js'
import { Busy, NotFound, quoted, StorageError, wrong } from '../../core/errors.js'
import { count } from '../../core/numbers.js'
import { type OptionSpec, optional, optionsOf } from '../../core/params/row.js'
import type { PricedSource, TrialKind, Trials } from '../../core/source.js'
import type { NotedTrial, TrialLog } from '../present/data.js'
import type { Described, Description, Records } from '../present/description.js'
import type { PagedResult } from '../present/prices.js'
import type { ReportAbout } from '../report/report.js'
import type { Args } from './command.js'
import { quotedLine } from './command-line.js'
import type { Context } from './context.js'
import { REPORT } from './options.js'

/** The data of studies: with a server its bands, and the prices here. Throws NotFound without these prices. */
export async function studyMarket(context: Context): Promise<PricedSource> {
  const { remote, local } = await context.remoteAndLocal()
  if (remote === null) return local
  if (context.opened!.sample || (await local.asOfDay()) === null)
    throw new NotFound(
      `${remote.url} gives events, not prices, and a study needs both: bands import FILE loads the prices here.`,
    )
  const { eventsOnBars } = await import('../remote/events-on-bars.js')
  return eventsOnBars(remote, local)
}

/** Runs a question that the trial log counts. For the sample, and if the log cannot be opened, `run` gets null. */
export async function withTrials<Result extends { warnings: string[] }>(
  context: Context,
  run: (trials: Trials | null) => Promise<Result>,
): Promise<Result> {
  const { withCountedTrials } = await import('../../research/trials.js')
  const { openTrials } = await import('../open/database.js')
  const trials = await openTrials(context.databaseChoice, context.opened).catch(async error => {
    if (!(error instanceof StorageError || error instanceof Busy)) throw error
    await context.notice(`this run is not counted among the trials: ${error.message}`)
    return null
  })
  return withCountedTrials(context.closeAtEnd(trials), run)
}

/**
 * Trials of some kinds, oldest first; `none` without a log, null for the sample. Throws StorageError.
 * @param since milliseconds since 1970: only trials logged from then on
 */
export async function trialLog(context: Context, kinds: readonly TrialKind[], since?: number): Promise<TrialLog> {
  const { openTrialsForReading } = await import('../open/database.js')
  const trials = await openTrialsForReading(context.databaseChoice)
  if (trials === null || trials === 'none') return trials
  context.closeAtEnd(trials)
  const notedTrials: NotedTrial[] = []
  for (const kind of kinds) for (const trial of await trials.of(kind, since)) notedTrials.push({ kind, ...trial })
  return notedTrials
}

/** Endings of the files that a command writes in addition to its answer: tables, and the page of --report. */
const TABLE_ENDINGS = ['.csv', '.ndjson', '.jsonl', '.json']
const PAGE_ENDINGS = ['.html', '.htm']

/** The options that write tables of an answer, and its page, into files. @param tables the tables of the command */
export function fileOptions(tables: readonly string[]): OptionSpec[] {
  const tableFileKind = {
    schema: { type: 'string' },
    placeholder: 'TABLE=FILE',
    example: `${tables[0]}=${tables[0]}.csv`,
    repeats: true,
    // `outputFiles` checks the values.
    parse: (_: string, written: unknown) => written,
  } as const
  const help = `write ${tables.join(', or ')} to a file: .csv, .ndjson or .json`
  return [...optionsOf({ write: optional(tableFileKind, help) }), REPORT]
}

/** The files of --write and --report, checked before any work. Throws InvalidParameter, StorageError. */
export async function outputFiles<Table extends string = never>(
  args: Args,
  tables: readonly Table[] = [],
): Promise<Partial<Record<Table | 'report', string>>> {
  const files: Partial<Record<Table | 'report', string>> = {}
  const report = args.text('report')
  if (report === undefined && args.texts('write').length === 0) return files
  // Most questions write no file, and should not wait for the code that does.
  const { checkEnding, refuseMissingFolder } = await import('./formats.js')
  const takenPaths = new Set<string>()
  // Checks a file and its path, and adds it to `files`.
  const reserve = async (option: string, name: Table | 'report', file: string): Promise<void> => {
    checkEnding(option, file, name === 'report' ? PAGE_ENDINGS : TABLE_ENDINGS)
    const path = resolve(file)
    if (takenPaths.has(path))
      throw wrong(option, `${option} ${quoted(file)} is named twice: each needs a file of its own.`, { value: file })
    await refuseMissingFolder(file)
    takenPaths.add(path)
    files[name] = file
  }
  for (const text of args.texts('write')) {
    const [name, file = ''] = text.split(/=(.*)/s)
    const table = tables.find(table => table === name)
    if (table === undefined || file === '') {
      const allowed = `a table and its file: ${tables.map(table => `${table}=FILE`).join(', ')}`
      throw wrong('write', `write ${quoted(text)} is not ${allowed}.`, { value: text, allowed })
    }
    await reserve('write', table, file)
  }
  if (report !== undefined) await reserve('report', 'report', report)
  return files
}

/** Writes rows in the format of the file's ending. @param thing a row's noun @param detail after their number */
export async function writeTable(
  context: Context,
  file: string,
  thing: string,
  { columns, rows }: Records,
  detail = '',
): Promise<void> {
  const { writeAnswer, writeFileWhole } = await import('./formats.js')
  const ending = extname(file).toLowerCase()
  await writeFileWhole(file, async sink => {
    if (ending === '.json') return sink.write(`${JSON.stringify(rows, null, 1)}\n`)
    return writeAnswer(ending === '.csv' ? 'csv' : 'ndjson', { columns, rows }, sink, { raw: context.config.csv_raw })
  })
  await context.remark(`wrote ${count(rows.length, thing)}${detail} to ${file}`)
}

/** A result for people: the verdict, the question, the tables, the notes, and how it was computed. */
export function describeResult(result: Description, records: Records): Described {
  const { document, longLists, heading, assumed, sections, answer, warnings } = result
  const paragraphs = [{ heading: [answer], parts: [{ phrases: heading }] }, ...sections]
  const notes = warnings.filter(warning => warning !== answer)
  return { document, longLists, ...records, paragraphs, notes, method: assumed }
}

export async function showResult(context: Context, args: Args, result: Description, records: Records): Promise<void> {
  await context.show(describeResult(result, records), {
    wide: args.flag('wide'),
    explain: args.value('explain') !== undefined,
  })
}

/** Writes the report of a result as one page. @param market null opens it, but only if the page has prices */
export async function writeReport(context: Context, file: string, market: PricedSource | null, result: PagedResult) {
  const [{ reportOf }, { writeFileWhole }] = await Promise.all([import('../report/report.js'), import('./formats.js')])
  const origin = await reportOrigin(context, result)
  const page = await reportOf(async () => market ?? studyMarket(context), result, origin)
  await writeFileWhole(file, sink => sink.write(page))
  await context.remark(`wrote the report to ${file}`)
}

/** How a result came about, so that it can be made again and checked. */
async function reportOrigin(
  context: Context,
  result: PagedResult,
): Promise<Omit<ReportAbout, 'adjustment' | 'inputs'>> {
  const { maskKeys } = await import('../../server/accounts/key.js')
  const { config } = context
  return {
    command: maskKeys(quotedLine(context.argv)),
    version: version(),
    source: sourceText(context),
    as_of: result.as_of,
    tier: context.usedRemote === null ? config.tier : null,
  }
}

function sourceText({ usedRemote, opened }: Context): string {
  const isSample = opened === null || opened.sample
  const here = isSample ? 'the sample that comes with bands' : `files imported into ${basename(opened.path)}`
  return usedRemote === null ? here : `events of ${usedRemote.url}, prices of ${here}`
}
