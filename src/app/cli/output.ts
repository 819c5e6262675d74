import type { Described } from '../present/description.js'
import type { Style } from './draw/described.js'
import type { Block, Screen } from './draw/table.js'
import type { Row } from './formats.js'
import { type Stream, spelledOut } from './world.js'

/** One result in all its output forms. */
export interface Answer extends Described {
  /** The blocks for people if the paragraphs do not suffice: a drawing; null to use the paragraphs. */
  blocks?(screen: Screen): readonly Block[] | null
}

/** The answer of one row, for people a sentence or two. */
export function oneRow(
  document: Row & { schema: string },
  notes: readonly string[],
  title: readonly string[] = [],
): Answer {
  const { schema, ...row } = document
  return { document, columns: Object.keys(row), rows: [row], paragraphs: [{ heading: title, parts: [{ notes }] }] }
}

/** The destination and format of an answer. */
interface Writing {
  format: Format | null
  /** For CSV, as in writeAnswer. */
  raw: boolean
  out: Stream
  screen(): Promise<Screen>
}

/** Writes an answer to a stream in one format. @param style for people */
export async function write(answer: Answer, { format, raw, out, screen }: Writing, style: Style = {}) {
  const plain = spelledOut(out)
  if (format === 'json') {
    for (const text of out.terminal ? [json(answer.document, true)] : inPieces(answer.document)) await plain.write(text)
    return
  }
  if (format === 'ndjson' || format === 'csv') {
    const { writeAnswer } = await import('./formats.js')
    return writeAnswer(format, { ...answer, raw }, plain)
  }
  const [{ laidOut }, { blocksOf }] = await Promise.all([import('./draw/table.js'), import('./draw/described.js')])
  const drawnFor = await screen()
  return out.write(await laidOut(answer.blocks?.(drawnFor) ?? blocksOf(answer, drawnFor, style), drawnFor))
}

/** One document with a final newline; indented for people. */
export function json(document: unknown, pretty: boolean): string {
  return `${JSON.stringify(document, null, pretty ? 2 : undefined)}\n`
}

/** A longer list of a document is written piece by piece: of a whole market it takes more room as text than as values. */
const PIECE = 5_000

/** The compact text of `json` in pieces, so that long lists are never in memory as one text. */
function* inPieces(document: unknown): Generator<string> {
  if (typeof document !== 'object' || document === null || !Object.values(document).some(isLong)) {
    yield json(document, false)
    return
  }
  let text = '{'
  for (const [name, value] of Object.entries(document)) {
    const own = isLong(value) ? '[' : JSON.stringify(value)
    if (own === undefined) continue
    text += `${text.endsWith('{') ? '' : ','}${JSON.stringify(name)}:${own}`
    if (!isLong(value)) continue
    for (let from = 0; from < value.length; from += PIECE) {
      yield from === 0 ? text : ','
      yield JSON.stringify(value.slice(from, from + PIECE)).slice(1, -1)
    }
    text = ']'
  }
  yield `${text}}\n`
}

function isLong(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.length > PIECE
}

/** How an answer is written. */
export type Format = 'table' | 'json' | 'ndjson' | 'csv' | 'parquet'

/** The output formats of every question. */
export const QUESTION_OUTPUTS: readonly Format[] = ['table', 'json', 'ndjson', 'csv']
