import { extname, resolve } from 'node:path'
import { InvalidParameter, quoted } from '../errors.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { count } from './render/amounts.js'
import { csv, ndjson, type Row } from './render/records.js'
import { checkFolder, intoFile } from './whole-file.js'

/** Files that a command writes beside its answer, by option: tables, or a page. */
export type FileKind = 'table' | 'page'

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
    for (const chunk of ending === '.csv' ? csv(columns, rows) : ndjson(rows)) await sink.write(chunk)
  })
  if (!context.config.quiet) await context.notice(`wrote ${count(rows.length, thing)} to ${file}`)
}

export async function writePage(context: Context, file: string, html: string): Promise<void> {
  await intoFile(file, sink => sink.write(html))
  if (!context.config.quiet) await context.notice(`wrote the report to ${file}`)
}
