import { access, lstat, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, resolve } from 'node:path'
import { redacted } from '../accounts/key.js'
import type { Backtest } from '../backtest/result.js'
import { InvalidParameter, quoted, StorageError } from '../errors.js'
import { version } from '../open.js'
import { count } from '../present/numbers.js'
import type { ReportAbout } from '../report/report.js'
import type { PricedSource } from '../source.js'
import type { EventStudy } from '../study/result.js'
import type { Sweep } from '../sweep/result.js'
import { pasted } from './command-line.js'
import type { Context } from './context.js'
import { type Row, type Sink, writeAnswer } from './formats.js'
import type { Given } from './given.js'

/** Files that a command writes beside its answer, by option: tables, or a page. */
type FileKind = 'table' | 'page'

const ENDINGS: Readonly<Record<FileKind, readonly string[]>> = {
  table: ['.csv', '.ndjson', '.jsonl', '.json'],
  page: ['.html', '.htm'],
}

/**
 * What was typed for options that name a file. Before any work: throws InvalidParameter for an ending that tells no
 * format and for one file named twice, StorageError for a folder that is not there.
 */
export async function filesOf<Option extends string>(
  given: Given,
  kinds: Readonly<Record<Option, FileKind>>,
): Promise<Partial<Record<Option, string>>> {
  const files: Partial<Record<Option, string>> = {}
  const taken = new Set<string>()
  for (const option of Object.keys(kinds) as Option[]) {
    const file = given.text(option)
    if (file === undefined) continue
    const endings = ENDINGS[kinds[option]]
    if (!endings.includes(extname(file).toLowerCase())) {
      const allowed = `a file name that ends in ${endings.join(', ')}`
      throw new InvalidParameter(`${option} ${quoted(file)} is not ${allowed}.`, {
        param: option,
        value: file,
        allowed,
      })
    }
    const path = resolve(file)
    if (taken.has(path))
      throw new InvalidParameter(`${option} ${quoted(file)} is named twice: each needs a file of its own.`, {
        param: option,
        value: file,
      })
    await checkFolder(file)
    taken.add(path)
    files[option] = file
  }
  return files
}

/** Rows into a file whose ending tells the format; whole or not at all. What was there is replaced. */
export async function writeTable(
  context: Context,
  file: string,
  thing: string,
  { columns, rows }: { columns: readonly string[]; rows: readonly Row[] },
): Promise<void> {
  const ending = extname(file).toLowerCase()
  await intoFile(file, async sink => {
    if (ending === '.json') return sink.write(`${JSON.stringify(rows, null, 1)}\n`)
    return writeAnswer(ending === '.csv' ? 'csv' : 'ndjson', { columns, rows }, sink)
  })
  if (!context.config.quiet) await context.notice(`wrote ${count(rows.length, thing)} to ${file}`)
}

/**
 * A file that is there is whole: it is written under another name and renamed. A link stays one. A device or a pipe is
 * written to, because renaming would put a file in its place.
 */
export async function intoFile(named: string, write: (sink: Sink) => Promise<void>): Promise<void> {
  await checkFolder(named)
  const file = await realpath(named).catch(() => named)
  // A link that leads nowhere yet is itself what is there.
  const there = await stat(file).catch(() => lstat(file).catch(() => null))
  if (there !== null && !there.isFile()) return fill(file, named, write)
  const partial = `${file}.${process.pid}.partial`
  try {
    await fill(partial, named, write)
    await rename(partial, file).catch(cause => refuse(named, cause))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** For work that takes long before it has anything to write. Throws StorageError. */
async function checkFolder(named: string): Promise<void> {
  await access(dirname(named)).catch(() => {
    throw new StorageError(`cannot write ${named}: there is no folder ${dirname(named)}.`)
  })
}

async function fill(path: string, named: string, write: (sink: Sink) => Promise<void>): Promise<void> {
  const handle = await open(path, 'w').catch(cause => refuse(named, cause))
  try {
    await write({
      write: async chunk => {
        await handle.writeFile(chunk).catch(cause => refuse(named, cause))
      },
    })
  } finally {
    await handle.close()
  }
}

function refuse(file: string, cause: unknown): never {
  const { code = '', message } = cause as NodeJS.ErrnoException
  throw new StorageError(`cannot write ${file}: ${REASONS[code] ?? message}`, { cause })
}

/** What a system says in capitals. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'that is not allowed.',
  EPERM: 'that is not allowed.',
  EROFS: 'the disk is read-only.',
  ENOSPC: 'the disk is full.',
  EISDIR: 'it is a folder.',
  ENOENT: 'its folder takes no files.',
}

/** The report of a result, as one page. */
export async function writeReport(
  context: Context,
  file: string,
  market: PricedSource,
  found: EventStudy | Backtest | Sweep,
): Promise<void> {
  const [{ report }, { describeWithPrices, inputsOf }] = await Promise.all([
    import('../report/report.js'),
    import('../present/prices.js'),
  ])
  const about = { ...aboutOf(context, found), ...(await inputsOf(market, found)) }
  const page = report(await describeWithPrices(market, found), about)
  await intoFile(file, sink => sink.write(page))
  if (!context.config.quiet) await context.notice(`wrote the report to ${file}`)
}

/** How a result came about, so that it can be made again and checked. */
function aboutOf(context: Context, found: EventStudy | Backtest | Sweep): Omit<ReportAbout, 'adjustment' | 'inputs'> {
  const { config } = context
  return {
    command: redacted(pasted(context.argv)),
    version: version(),
    source: sourceOf(context),
    as_of: found.as_of,
    tier: context.asked === null && config.from.tier !== undefined ? config.tier : null,
  }
}

function sourceOf({ asked, opened }: Context): string {
  const sample = opened === null || opened.sample
  const here = sample ? 'the sample that comes with bands' : `files imported into ${basename(opened.path)}`
  return asked === null ? here : `events of ${asked.url}, prices of ${here}`
}
