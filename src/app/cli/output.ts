import type { Described } from '../present/description.js'
import type { Style } from './draw/described.js'
import type { Block, Screen } from './draw/table.js'
import type { Row } from './formats.js'
import { printableStream, type Stream } from './world.js'

export interface Answer extends Described {
  /** The blocks for people if the paragraphs do not suffice: a drawing; null to use the paragraphs. */
  blocks?(screen: Screen): readonly Block[] | null
}

/** An answer of one row. @param notes what people read instead of the row @param title the heading above them */
export function oneRowAnswer(
  document: Row & { schema: string },
  notes: readonly string[],
  title: readonly string[] = [],
): Answer {
  const { schema, ...row } = document
  return { document, columns: Object.keys(row), rows: [row], paragraphs: [{ heading: title, parts: [{ notes }] }] }
}

interface Writing {
  format: Format | null
  /** For CSV, as in writeAnswer. */
  raw: boolean
  out: Stream
  screen(): Promise<Screen>
}

/** Writes an answer to a stream in one format. @param style how a table is drawn; other formats ignore it */
export async function writeInFormat(answer: Answer, { format, raw, out, screen }: Writing, style: Style = {}) {
  const printableOut = printableStream(out)
  if (format === 'json') {
    for (const text of out.terminal ? [jsonText(answer.document, { isPretty: true })] : jsonPieces(answer))
      await printableOut.write(text)
    return
  }
  if (format === 'ndjson' || format === 'csv') {
    const { writeAnswer } = await import('./formats.js')
    return writeAnswer(format, answer, printableOut, { raw })
  }
  const [{ blocksText }, { blocksOf }] = await Promise.all([import('./draw/table.js'), import('./draw/described.js')])
  const terminalScreen = await screen()
  const blocks = answer.blocks?.(terminalScreen) ?? blocksOf(answer, terminalScreen, style)
  return out.write(await blocksText(blocks, terminalScreen))
}

/** A document as JSON with a final newline. @param isPretty indents it, for people */
export function jsonText(document: unknown, { isPretty = false } = {}): string {
  return `${JSON.stringify(document, null, isPretty ? 2 : undefined)}\n`
}

/** A longer list is written in pieces of this number of items: as one text, that of a market needs much memory. */
const MAX_PIECE_ITEMS = 5_000

/** The document of an answer as compact JSON, in pieces: a long list is never in memory as one text. */
function* jsonPieces({ document, longLists = [] }: Answer): Generator<string> {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    yield jsonText(document)
    return
  }
  // The text that is not yet yielded.
  let text = '{'
  let isFirst = true
  for (const name of Object.keys(document)) {
    // `longLists` names the lists that may make their items on demand.
    const value = longLists.find(({ key }) => key === name)?.each?.() ?? (document as Row)[name]
    const valueText = isLong(value) ? '[' : JSON.stringify(value)
    if (valueText === undefined) continue
    text += `${isFirst ? '' : ','}${JSON.stringify(name)}:${valueText}`
    isFirst = false
    if (!isLong(value)) continue
    let separator = ''
    for (const piece of piecesOf(value)) {
      yield text + separator
      yield JSON.stringify(piece).slice(1, -1)
      text = ''
      separator = ','
    }
    text += ']'
  }
  yield `${text}}\n`
}

/** Cuts a list into lists of at most MAX_PIECE_ITEMS. */
function* piecesOf(items: Iterable<unknown>): Generator<unknown[]> {
  let piece: unknown[] = []
  for (const item of items) {
    if (piece.length === MAX_PIECE_ITEMS) {
      yield piece
      piece = []
    }
    piece.push(item)
  }
  if (piece.length > 0) yield piece
}

/** A list that is made on demand, or has many items. */
function isLong(value: unknown): value is Iterable<unknown> {
  if (Array.isArray(value)) return value.length > MAX_PIECE_ITEMS
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

export type Format = 'table' | 'json' | 'ndjson' | 'csv' | 'parquet'

export const QUESTION_OUTPUTS: readonly Format[] = ['table', 'json', 'ndjson', 'csv']
