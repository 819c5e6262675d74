import type { Node, ParseError } from 'jsonc-parser'
import { BadData } from '../errors.js'
import { lengthOf } from './judge.js'

/** A step into a JSON document at a time: keys and indexes. */
export type Path = readonly (string | number)[]

type Parser = typeof import('jsonc-parser')

/** A JSON document, or one a line, that can tell where in the text each value stands. */
export class JsonText {
  readonly #parser: Parser
  readonly #text: string
  /** Start of each document's line; null for a single document. */
  readonly #starts: readonly number[] | null
  readonly #trees = new Map<number, Node | undefined>()
  #lineStarts: number[] | null = null

  constructor(parser: Parser, text: string, starts: readonly number[] | null) {
    this.#parser = parser
    this.#text = text
    this.#starts = starts
  }

  /** Line and column of the value at a path, of its key when asked for; of what it would be in when it is absent. */
  locate(path: Path, key = false): { line: number; column: number } {
    const start = this.#starts === null ? 0 : this.#starts[Number(path[0])]!
    const tree = this.#tree(start)
    const rest = this.#starts === null ? path : path.slice(1)
    let node = tree
    for (let length = rest.length; length > 0; length--) {
      node = tree && this.#parser.findNodeAtLocation(tree, [...rest.slice(0, length)])
      if (node !== undefined) break
    }
    const found = key && node?.parent?.type === 'property' ? node.parent : (node ?? tree)
    return this.#place(start + (found?.offset ?? 0))
  }

  /** A tree is only built when a place is asked for. */
  #tree(start: number): Node | undefined {
    if (!this.#trees.has(start)) {
      const end = this.#starts === null ? -1 : this.#text.indexOf('\n', start)
      this.#trees.set(start, this.#parser.parseTree(this.#text.slice(start, end < 0 ? undefined : end)))
    }
    return this.#trees.get(start)
  }

  #place(offset: number): { line: number; column: number } {
    this.#lineStarts ??= lineStarts(this.#text)
    let low = 0
    let high = this.#lineStarts.length
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if (this.#lineStarts[middle]! <= offset) low = middle
      else high = middle
    }
    return { line: low + 1, column: lengthOf(this.#text.slice(this.#lineStarts[low], offset)) + 1 }
  }
}

/**
 * The value of a text that is JSON, or an array of values when it is JSON a line (NDJSON), with a way to find places.
 * Throws BadData at the first sign that JSON does not allow.
 */
export async function parseJson(
  file: string,
  text: string,
): Promise<{ root: unknown; text: JsonText; lines: boolean }> {
  const parser = await import('jsonc-parser')
  const root = attempt(text)
  if (root !== undefined) return { root, text: new JsonText(parser, text, null), lines: false }
  const starts = lineStarts(text).filter(start => /^[ \t]*[[{]/.test(text.slice(start, start + 80)))
  const first = starts.length > 1 ? attempt(lineAt(text, starts[0]!)) : undefined
  if (first === undefined) throw syntaxError(file, parser, text, 0)
  const values = starts.map(start => {
    const line = lineAt(text, start)
    const value = attempt(line)
    if (value === undefined) throw syntaxError(file, parser, line, text.slice(0, start).split('\n').length - 1)
    return value
  })
  return { root: values, text: new JsonText(parser, text, starts), lines: true }
}

function attempt(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function syntaxError(file: string, parser: Parser, text: string, linesBefore: number): BadData {
  const errors: ParseError[] = []
  parser.parse(text, errors, { disallowComments: true, allowEmptyContent: false })
  const { offset, length } = errors[0] ?? { offset: 0, length: 0 }
  const before = text.slice(0, offset).split('\n')
  const place = { file, line: linesBefore + before.length, column: lengthOf(before.at(-1)!) + 1 }
  const sign = text.slice(offset, offset + Math.min(Math.max(length, 1), 20))
  const what =
    offset >= text.trimEnd().length
      ? 'the JSON ends here, unfinished'
      : `JSON does not allow ${JSON.stringify(sign)} here`
  return new BadData(place, what)
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf('\n', start)
  return text.slice(start, end < 0 ? undefined : end)
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
