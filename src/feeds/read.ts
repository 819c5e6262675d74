import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { BadData, InvalidParameter, NotFound, StorageError, suggest } from '../errors.js'
import { formatDay } from '../model/day.js'
import type { FactsResult, Input, ReadOptions, ReadResult } from './feed.js'
import { latestBar } from './price-rows.js'
import { refuseText } from './refusals.js'
import { headOf, openSource } from './source.js'

const HEAD = 1 << 16

/**
 * What one file holds, told by its content: daily bars as clean columns, or dated facts as records; nothing is kept of a
 * file that throws. Throws BadData with `file:line:column` for a bad row (the first one) unless `skipBadRows`, and with a
 * sentence for what is neither; InvalidParameter for options that cannot be used; NotFound or StorageError when the file
 * cannot be read.
 */
export async function readFile(input: Input, options: ReadOptions = {}): Promise<ReadResult | FactsResult> {
  checkKnown(options)
  const source = await openSource(input, options.stdin)
  const head = await headOf(source, HEAD)
  const text = head.bytes
    .subarray(0, 4096)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  const file = input.name
  if (head.whole && text.trim() === '') throw new BadData({ file }, 'the file is empty')
  // It stands at the top, or below the header of the submission to the SEC that holds it.
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
  const { readTable } = await import('./table.js')
  return readTable(source, head, options)
}

function checkKnown({ known, today }: ReadOptions): void {
  const latest = latestBar(today)
  if (known === undefined || known <= latest) return
  const [value, allowed] = [formatDay(known), `a day up to ${formatDay(latest)}`]
  throw new InvalidParameter(`known ${value} is yet to come.`, { param: 'known', value, allowed })
}

/** What a folder or a glob is searched for; any file that is named in full is taken. */
const READABLE = /\.(csv|txt|tsv|json|ndjson|jsonl|xml|zip|gz)$/i
const GLOB = /[*?[\]{}!]/

/**
 * The files that arguments name: files, folders (all the way down, hidden ones aside), globs, `-` for standard input.
 * In the order of the arguments, sorted by name within each, every file once. Throws NotFound for what is not there.
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

/** The files of a glob; those of a readable kind where there are such. */
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
