import { BadData } from '../errors.js'
import type { Input, ReadOptions, ReadResult } from './feed.js'
import { headOf, openSource } from './file/source.js'
import { refuseText } from './refusals.js'

const HEAD = 1 << 16

/**
 * The daily bars of one file, as clean columns; nothing is kept of a file that throws. Throws BadData with
 * `file:line:column` for a bad row (the first one) unless `skipBadRows`, and with a sentence for what is not a file of
 * daily bars; InvalidParameter for options that cannot be used; NotFound or StorageError when the file cannot be read.
 */
export async function readBars(input: Input, options: ReadOptions = {}): Promise<ReadResult> {
  const source = await openSource(input, options.stdin)
  const head = await headOf(source, HEAD)
  const text = head.bytes
    .subarray(0, 4096)
    .toString('utf8')
    .replace(/^\ufeff/, '')
  const file = input.name
  if (head.whole && text.trim() === '') throw new BadData({ file }, 'the file is empty')
  const refusal = refuseText(file, text)
  if (refusal !== null) throw refusal
  if (/^\s*[[{]/.test(text)) {
    const { readJson } = await import('./json/read-json.js')
    return readJson(source, options)
  }
  const { readTable } = await import('./table/read-table.js')
  return readTable(source, head, options)
}
