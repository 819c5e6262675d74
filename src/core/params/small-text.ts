import { numberText } from '../errors.js'

/** Bounds of texts that are small by nature, such as settings and strategies. They are checked before parsing. */
const BOUNDS = { bytes: 1_000_000, names: 100_000, depth: 100 } as const

export const TOO_LONG = `it has more than ${numberText(BOUNDS.bytes)} bytes, which is the most that is read`

/** The exceeded bound of a text and its offset; null if the text is within bounds. Reads the text once. */
export function exceededBound(text: string): { what: string; offset: number } | null {
  if (Buffer.byteLength(text) > BOUNDS.bytes) return { what: TOO_LONG, offset: 0 }
  let names = 0
  let openBrackets = 0
  // The columns at which the nested blocks of YAML around a line begin, the outermost first.
  const blocks: number[] = []
  // A line end is put before the text, so that its first line begins like the others. Offsets of tokens are then 1
  // less.
  for (const { 0: token, index, groups } of `\n${text}`.matchAll(TOKENS)) {
    const offset = groups?.blank === undefined ? index - 1 : index
    if (groups?.blank !== undefined) {
      if (openBrackets === 0) enterLine(blocks, groups.blank.length, groups.marks ?? '')
    } else if (token === '[' || token === '{') openBrackets++
    else if (token === ']' || token === '}') openBrackets = Math.max(0, openBrackets - 1)
    // Any other token counts as a name: a word of a key or a value.
    else if (++names > BOUNDS.names) return { what: `there are more than ${numberText(BOUNDS.names)} names`, offset }
    // The outermost block is the document itself.
    const depth = openBrackets + blocks.length - 1
    if (depth > BOUNDS.depth) return { what: `it is nested more than ${BOUNDS.depth} deep here`, offset }
  }
  return null
}

/** Matches the beginning of a line (not empty, no comment) with its list marks, a bracket, or a name. */
const TOKENS = /\n(?<blank> *)(?<marks>(?:[-?] +)*)(?=[^\s#])|[[\]{}]|[^\s,:[\]{}]+/g

/** Closes the blocks that end before a line, and opens those that it begins. @param marks its list marks: `- - ` */
function enterLine(blocks: number[], blank: number, marks: string): void {
  let column = blank
  for (const mark of [...(marks.match(/[-?] +/g) ?? []), '']) {
    while (blocks.length > 0 && blocks.at(-1)! >= column) blocks.pop()
    blocks.push(column)
    column += mark.length
  }
}

/** The text of a stream, read up to its bound; null if it is longer. */
export async function readSmallText(stream: AsyncIterable<Uint8Array | string>): Promise<string | null> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of stream) {
    const chunk = Buffer.from(part as Uint8Array)
    bytes += chunk.length
    if (bytes > BOUNDS.bytes) return null
    parts.push(chunk)
  }
  return Buffer.concat(parts).toString()
}
