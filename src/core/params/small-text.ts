import { formatInteger } from '../errors.js'

/** Texts that are small by nature: settings, own fields, strategies, lists of names. They have bounds before they are parsed. */
const MOST = { bytes: 1_000_000, names: 100_000, depth: 100 } as const

export const TOO_LONG = `it has more than ${formatInteger(MOST.bytes)} bytes, which is the most that is read`

/** The exceeded bound of a text and its offset; null if the text is within bounds. Reads the text once. */
export function beyondBounds(text: string): { what: string; offset: number } | null {
  if (Buffer.byteLength(text) > MOST.bytes) return { what: TOO_LONG, offset: 0 }
  let names = 0
  let brackets = 0
  // Columns at which the blocks of YAML around a line begin, the outermost among them.
  const blocks: number[] = []
  for (const { 0: found, index, groups } of `\n${text}`.matchAll(PARTS)) {
    const offset = groups?.blank === undefined ? index - 1 : index
    if (groups?.blank !== undefined) {
      if (brackets === 0) enter(blocks, groups.blank.length, groups.marks ?? '')
    } else if (found === '[' || found === '{') brackets++
    else if (found === ']' || found === '}') brackets = Math.max(0, brackets - 1)
    else if (++names > MOST.names) return { what: `there are more than ${formatInteger(MOST.names)} names`, offset }
    if (brackets + blocks.length - 1 > MOST.depth)
      return { what: `it is nested more than ${MOST.depth} deep here`, offset }
  }
  return null
}

/** The begin of a line that is neither empty nor a comment, with its marks of entries; a bracket; a name. */
const PARTS = /\n(?<blank> *)(?<marks>(?:[-?] +)*)(?=[^\s#])|[[\]{}]|[^\s,:[\]{}]+/g

/** Closes the blocks that end before a line, and opens those that it begins. */
function enter(blocks: number[], blank: number, marks: string): void {
  let column = blank
  for (const mark of [...(marks.match(/[-?] +/g) ?? []), '']) {
    while (blocks.length > 0 && blocks.at(-1)! >= column) blocks.pop()
    blocks.push(column)
    column += mark.length
  }
}

/** The text of a stream, read up to its bound; null if it is longer. */
export async function smallText(stream: AsyncIterable<Uint8Array | string>): Promise<string | null> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of stream) {
    const chunk = Buffer.from(part as Uint8Array)
    bytes += chunk.length
    if (bytes > MOST.bytes) return null
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString()
}
