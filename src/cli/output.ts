import { InvalidParameter } from '../errors.js'
import { wordValue } from '../params/values.js'
import type { Block, Screen } from './draw/table.js'
import type { Row } from './formats.js'
import type { Given } from './given.js'
import type { Stream } from './world.js'

/** One result in all the forms in which it can be written. */
export interface Answer {
  /** The JSON document. */
  document(): unknown
  /** Columns of CSV, and one object a row for NDJSON and CSV. */
  columns: readonly string[]
  rows(): Iterable<Row>
  /** For people. */
  blocks(screen: Screen): readonly Block[] | Promise<readonly Block[]>
}

/** The answer of one row, for people a sentence or two. */
export function oneRow(document: Row & { schema: string }, ...blocks: readonly Block[]): Answer {
  const { schema, ...row } = document
  return { document: () => document, columns: Object.keys(row), rows: () => [row], blocks: () => blocks }
}

/** The format that was asked for, null when none was. Throws InvalidParameter when two were, or one that does not apply. */
export function formatOf(globals: Given, allowed: readonly Format[]): Format | null {
  const asked = new Set<string>((['json', 'ndjson', 'csv'] as const).filter(format => globals.flag(format)))
  const named = globals.text('output')
  if (named !== undefined) asked.add(named)
  const [format, other] = asked
  if (format === undefined) return null
  if (other !== undefined)
    throw new InvalidParameter(`output is asked for as ${[...asked].join(' and as ')}; choose one.`, {
      param: 'output',
    })
  return wordValue('output', format, allowed)
}

/** Writes an answer to a stream in one format. @param raw of CSV, as in writeAnswer */
export async function write(
  answer: Answer,
  { format, raw, out, screen }: { format: Format | null; raw: boolean; out: Stream; screen(): Promise<Screen> },
) {
  if (format === 'json') return out.write(json(answer.document(), out.terminal))
  if (format === 'ndjson' || format === 'csv') {
    const { writeAnswer } = await import('./formats.js')
    return writeAnswer(format, { columns: answer.columns, rows: answer.rows(), raw }, out)
  }
  const { laidOut } = await import('./draw/table.js')
  const drawnFor = await screen()
  return out.write(await laidOut(await answer.blocks(drawnFor), drawnFor))
}

/** One document, one newline at its end; pretty where a person reads. */
export function json(document: unknown, pretty: boolean): string {
  return `${JSON.stringify(document, null, pretty ? 2 : undefined)}\n`
}

/** How an answer is written. */
export type Format = 'table' | 'json' | 'ndjson' | 'csv' | 'parquet'

/** What every question can be written as. */
export const QUESTION_OUTPUTS: readonly Format[] = ['table', 'json', 'ndjson', 'csv']
