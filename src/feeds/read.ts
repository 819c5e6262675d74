import { BadData } from '../errors.js'
import type { FactsResult, Input, ReadOptions, ReadResult } from './feed.js'
import { headOf, openSource } from './file/source.js'
import { refuseText } from './refusals.js'

const HEAD = 1 << 16

/**
 * What one file holds, told by its content: daily bars as clean columns, or dated facts as records; nothing is kept of a
 * file that throws. Throws BadData with `file:line:column` for a bad row (the first one) unless `skipBadRows`, and with a
 * sentence for what is neither; InvalidParameter for options that cannot be used; NotFound or StorageError when the file
 * cannot be read.
 */
export async function readFile(input: Input, options: ReadOptions = {}): Promise<ReadResult | FactsResult> {
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
    const { readFactsJson } = await import('./facts/facts-json.js')
    const facts = await readFactsJson(source, text, options)
    if (facts !== null) return facts
    const { readJson } = await import('./json/read-json.js')
    return readJson(source, options)
  }
  const { readTable } = await import('./table/read-table.js')
  return readTable(source, head, options)
}
