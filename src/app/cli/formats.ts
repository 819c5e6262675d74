import { createReadStream } from 'node:fs'
import { access, lstat, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { BadData, NotFound, quoted, StorageError, suggest, wrong } from '../../core/errors.js'
import { parseDay } from '../../core/model/day.js'
import type { Column } from '../../core/model/event.js'
import { readSmallText, TOO_LONG } from '../../core/params/small-text.js'
import { addTextMark } from '../../data/feeds/row.js'
import type { EncodedGroup, ParquetColumn } from '../../data/local/parquet.js'

/** The destination of rows. `write` resolves when the chunk is handed over, so a slow reader slows the writer. */
export interface Sink {
  write(chunk: string | Uint8Array): Promise<void>
}

export type Row = Readonly<Record<string, unknown>>

type Rows<T> = Iterable<T> | AsyncIterable<T>

/** Writes the rows of an answer; CSV joins nested keys by `_`. @param raw leaves cells that a spreadsheet would run */
export function writeAnswer(
  format: 'csv' | 'ndjson',
  { columns, rows }: { columns: readonly string[]; rows: Iterable<object> },
  sink: Sink,
  { raw = false } = {},
): Promise<void> {
  if (format === 'ndjson') return writeNdjson(rows, sink)
  const rowLine = (row: object): string => {
    const cells = flattenRow(row)
    const values = columns.map(column => cells[column])
    return csvLine(values, raw)
  }
  return writeText(rows, sink, rowLine, { before: csvLine(columns, raw) })
}

export const EXPORT_OUTPUTS = ['ndjson', 'csv', 'parquet', 'json'] as const
export type ExportOutput = (typeof EXPORT_OUTPUTS)[number]

/** Returns the ending of a file name in lower case. Throws InvalidParameter for one that is not among `endings`. */
export function checkEnding(option: string, file: string, endings: readonly string[]): string {
  const ending = extname(file).toLowerCase()
  if (endings.includes(ending)) return ending
  const allowed = `a file name that ends in ${endings.join(', ')}`
  const nearest = file.slice(0, file.length - ending.length) + (endings.includes('.csv') ? '.csv' : endings[0]!)
  throw wrong(option, `${option} ${quoted(file)} is not ${allowed}.`, { value: file, allowed, suggestions: [nearest] })
}

/** Writes rows as they come, at most a row group in memory. @param raw leaves CSV cells that a spreadsheet would run */
export async function writeRows<Row extends object>(
  output: ExportOutput,
  rows: AsyncIterable<Row>,
  columns: readonly Column<Row>[],
  sink: Sink,
  { raw = false } = {},
): Promise<void> {
  if (output === 'parquet') return writeParquet(rows, columns, sink)
  if (output === 'ndjson') return writeNdjson(rows, sink)
  if (output === 'json') return writeText(rows, sink, row => JSON.stringify(row), JSON_FRAMES.json)
  const line = (values: readonly unknown[]): string => csvLine(values, raw)
  const header = line(columns.map(({ name }) => name))
  return writeText(rows, sink, row => line(columns.map(column => column.of(row))), { before: header })
}

/** Passes items on unchanged, and calls back with each before it. */
export async function* reportEach<T>(items: AsyncIterable<T>, onItem: (item: T) => void): AsyncGenerator<T> {
  for await (const item of items) {
    onItem(item)
    yield item
  }
}

/** The text before, between and after JSON rows: lines of one object each, or one list. */
const JSON_FRAMES = {
  ndjson: { before: '', between: '\n', after: '\n' },
  json: { before: '[', between: ',\n', after: ']\n' },
}

/** The text between two rows. */
export const betweenRows = (output: 'ndjson' | 'json'): string => JSON_FRAMES[output].between

/** Writes rows that come as blocks of text. A block has several rows with the text of `betweenRows` between them. */
export async function writeBlocks(output: 'ndjson' | 'json', blocks: AsyncIterable<{ text: Uint8Array }>, sink: Sink) {
  const { before, between, after } = JSON_FRAMES[output]
  let hasRows = false
  for await (const { text } of blocks) {
    const separator = hasRows ? between : before
    if (separator !== '') await sink.write(separator)
    await sink.write(text)
    hasRows = true
  }
  if (hasRows) await sink.write(after)
  // Without rows, NDJSON has no line, and JSON an empty list.
  else if (output === 'json') await sink.write(before + after)
}

/** One JSON object per line, each with a line feed. */
function writeNdjson(rows: Rows<object>, sink: Sink): Promise<void> {
  return writeText(rows, sink, row => `${JSON.stringify(row)}\n`)
}

/** The sink gets text in pieces of about this many characters. */
const CHUNK_LENGTH = 65_536

/** Writes rows as text, in chunks. Nothing is written before the first row, so a refused export writes nothing. */
async function writeText<T>(
  rows: Rows<T>,
  sink: Sink,
  textOf: (row: T) => string,
  { before = '', between = '', after = '' } = {},
): Promise<void> {
  let text = before
  let isFirst = true
  for await (const row of rows) {
    text += (isFirst ? '' : between) + textOf(row)
    isFirst = false
    if (text.length < CHUNK_LENGTH) continue
    await sink.write(text)
    text = ''
  }
  text += after
  if (text !== '') await sink.write(text)
}

/** A line of CSV (RFC 4180) that ends in a line feed. @param raw as in csvValue */
export function csvLine(values: readonly unknown[], raw: boolean): string {
  return `${values.map(value => csvValue(value, raw)).join(',')}\n`
}

/** Formats a CSV cell: empty for an unknown value. @param raw leaves a text that a spreadsheet would run unmarked */
export function csvValue(value: unknown, raw = false): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = raw ? String(value) : addTextMark(String(value))
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A row without nesting: `{ aftermath: { '5d': { performance: 'flat' } } }` → `{ aftermath_5d: 'flat' }`. */
function flattenRow(row: object, prefix = ''): Record<string, unknown> {
  const flat: Record<string, unknown> = {}
  const entries: [string, unknown][] = Object.entries(row)
  for (const [key, value] of entries) {
    const nestedName = key === 'performance' ? prefix : `${prefix}_${key}`
    const name = prefix === '' ? key : nestedName
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      Object.assign(flat, flattenRow(value, name))
    else flat[name] = Array.isArray(value) ? value.join(' ') : value
  }
  return flat
}

/** Writes rows as Parquet, and each row group once it is complete. A table without rows has no row group. */
async function writeParquet<Row>(rows: AsyncIterable<Row>, columns: readonly Column<Row>[], sink: Sink): Promise<void> {
  const { GROUP_ROWS, RowGroup } = await import('../../data/local/parquet.js')
  const groups = async function* (): AsyncGenerator<EncodedGroup> {
    let group = new RowGroup(columns)
    for await (const row of rows) {
      // A new row is all null; known values replace that, a text as its code.
      const rowIndex = group.addNulls(1)
      for (const { name, kind, of: cellOf } of columns) {
        const value = cellOf(row)
        if (value === null) continue
        const column = group.column(name)
        if (typeof value === 'number') column.values[rowIndex] = value
        else column.values[rowIndex] = kind === 'date' ? parseDay(value)! : column.code(value)
      }
      if (group.rows < GROUP_ROWS) continue
      yield group.encode()
      group = new RowGroup(columns)
    }
    if (group.rows > 0) yield group.encode()
  }
  await writeGroups(groups(), columns, sink)
}

/** Writes row groups as a Parquet file. Nothing is written before the first comes, so a refused export is empty. */
export async function writeGroups(groups: AsyncIterable<EncodedGroup>, columns: readonly ParquetColumn[], sink: Sink) {
  const { ParquetFile } = await import('../../data/local/parquet.js')
  const file = new ParquetFile(columns)
  for await (const group of groups) await sink.write(file.add(group))
  await sink.write(file.end())
}

/** Writes a file under a temporary name and renames it; a link stays a link. A device or a pipe is written directly. */
export async function writeFileWhole(file: string, write: (sink: Sink) => Promise<void>): Promise<void> {
  await refuseMissingFolder(file)
  const target = await realpath(file).catch(() => file)
  // A dangling link counts as existing.
  const existing = await stat(target).catch(() => lstat(target).catch(() => null))
  if (existing !== null && !existing.isFile()) return writeToPath(target, file, write)
  const partial = `${target}.${process.pid}.partial`
  try {
    await writeToPath(partial, file, write)
    await rename(partial, target).catch(cause => throwWriteError(file, cause))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

/** Reads a small text file. Throws NotFound if it is missing, BadData if it is too long, otherwise StorageError. */
export async function readSmallFile(file: string): Promise<string> {
  try {
    const text = await readSmallText(createReadStream(file))
    if (text !== null) return text
    throw new BadData({ file }, TOO_LONG)
  } catch (cause) {
    if (cause instanceof BadData) throw cause
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT')
      throw new NotFound(`there is no file ${file}.`, await similarFiles(file), {
        missing: { kind: 'file', name: file },
      })
    throw new StorageError(`cannot read ${file}: ${(cause as Error).message}`, { cause })
  }
}

/** Files of the same folder with nearly the same name. */
async function similarFiles(file: string): Promise<string[]> {
  const names = await readdir(dirname(file)).catch(() => [])
  return suggest(basename(file), names).map(name => join(dirname(file), name))
}

/** Throws StorageError if the folder of a file is missing. For work that takes long before it writes. */
export async function refuseMissingFolder(file: string): Promise<void> {
  await access(dirname(file)).catch(() => {
    throw new StorageError(`cannot write ${file}: there is no folder ${dirname(file)}.`)
  })
}

/** Opens a path, writes rows to it and closes it. @param file the name for errors, as the user typed it */
async function writeToPath(path: string, file: string, writeRows: (sink: Sink) => Promise<void>): Promise<void> {
  const handle = await open(path, 'w').catch(cause => throwWriteError(file, cause))
  const write = async (chunk: string | Uint8Array): Promise<void> => {
    await handle.writeFile(chunk).catch(cause => throwWriteError(file, cause))
  }
  try {
    await writeRows({ write })
  } finally {
    await handle.close()
  }
}

/** Throws the StorageError for a file that cannot be written. @param cause the error of the system */
export function throwWriteError(file: string, cause: unknown): never {
  const { code = '', message } = cause as NodeJS.ErrnoException
  throw new StorageError(`cannot write ${file}: ${REASONS[code] ?? message}`, { cause })
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'that is not allowed.',
  EPERM: 'that is not allowed.',
  EROFS: 'the disk is read-only.',
  ENOSPC: 'the disk is full.',
  EISDIR: 'it is a folder.',
  ENOTEMPTY: 'another program has written into it; name another folder.',
  ENOENT: 'its folder takes no files.',
}
