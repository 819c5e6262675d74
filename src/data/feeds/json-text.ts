import { findNodeAtLocation, type Node, type ParseError, parse, parseTree } from 'jsonc-parser'
import type * as z from 'zod'
import { BadData, quoted } from '../../core/errors.js'
import { characterCount } from './row.js'

/** The keys and indexes that lead to a value in a JSON document. */
export type Path = readonly (string | number)[]

export type JsonObject = Record<string, unknown>

/** A JSON document, or one per line (NDJSON), that finds the position of each value in the text. */
export class JsonText {
  /** The value of the document; a list of values where there is one a line. */
  readonly root: unknown
  readonly isOneDocumentPerLine: boolean
  readonly content: string
  readonly #file: string
  readonly #lineStarts: readonly number[]
  readonly #documentStarts: readonly number[]
  readonly #trees = new Map<number, Node | undefined>()
  /** The last position found: its offset, its line from 0, and the number of characters before it in the line. */
  #lastPosition = { offset: 0, line: 0, charactersBefore: 0 }

  /** Throws BadData for text that is not JSON, is nested too deep, or repeats a key in one object. */
  constructor(file: string, content: string) {
    this.#file = file
    this.content = content
    this.#lineStarts = [0, ...Array.from(content.matchAll(/\n/g), ({ index }) => index + 1)]
    const tooDeepOffset = tooDeepBracket(content)
    if (tooDeepOffset !== null)
      throw this.#error(
        tooDeepOffset,
        `the JSON is nested more than ${MAX_NESTING} levels deep here, as no bars or facts are`,
      )
    const document = parseOrUndefined(content)
    // Each line that begins with a bracket, after a few blanks, may be a document.
    const docLines = this.#lineStarts.filter(start => /^[ \t]*[[{]/.test(content.slice(start, start + 80)))
    this.isOneDocumentPerLine =
      document === undefined && docLines.length > 1 && parseOrUndefined(this.#lineFrom(docLines[0]!)) !== undefined
    this.#documentStarts = this.isOneDocumentPerLine ? docLines : [0]
    if (document === undefined && !this.isOneDocumentPerLine) throw this.#syntaxError(0)
    this.root = this.isOneDocumentPerLine ? docLines.map(start => this.#valueOfLine(start)) : document
    for (const start of this.#documentStarts) {
      // JSON itself lets a later key of the same name replace an earlier one without a word.
      const repeated = repeatedKey(this.#documentFrom(start))
      if (repeated === null) continue
      const what = `${quoted(repeated.key)} is given twice in one object; take one of them out`
      throw this.#error(start + repeated.offset, what)
    }
  }

  /** How the text is laid out, in words for people. */
  get notes(): { lines: string } {
    return { lines: this.isOneDocumentPerLine ? 'one document a line' : 'one document' }
  }

  /** The line, from 1, of the value at a path. Only a text of several lines is parsed for it. */
  lineOf(path: Path): number {
    const secondLineStart = this.#lineStarts[1] ?? Number.POSITIVE_INFINITY
    return this.content.trimEnd().length < secondLineStart ? 1 : this.locate(path).line
  }

  /**
   * Line and column, from 1, of the value at a path. For an absent value they are those of its nearest existing parent.
   * @param atKey the position of the value's key instead, if it has one
   */
  locate(path: Path, atKey = false): { line: number; column: number } {
    const start = this.#documentStarts[this.isOneDocumentPerLine ? Number(path[0]) : 0]!
    const pathInDocument = this.isOneDocumentPerLine ? path.slice(1) : path
    const tree = this.#tree(start)
    // The value at the longest part of the path that exists.
    let node = tree
    for (let length = pathInDocument.length; length > 0; length--) {
      node = tree && findNodeAtLocation(tree, [...pathInDocument.slice(0, length)])
      if (node !== undefined) break
    }
    const keyOrValue = atKey && node?.parent?.type === 'property' ? node.parent : (node ?? tree)
    return this.positionAt(start + (keyOrValue?.offset ?? 0))
  }

  /** Line and column, from 1, of an offset in the text. */
  positionAt(offset: number): { line: number; column: number } {
    // The last line that starts at or before the offset, from 0, by bisection.
    let line = 0
    let lineAfter = this.#lineStarts.length
    while (lineAfter - line > 1) {
      const middle = (line + lineAfter) >>> 1
      if (this.#lineStarts[middle]! <= offset) line = middle
      else lineAfter = middle
    }
    // Characters are counted from the last position found in the same line: one line may have thousands of bad rows.
    const last = this.#lastPosition
    const isLaterInLine = last.line === line && last.offset <= offset
    const from = isLaterInLine ? last.offset : this.#lineStarts[line]!
    const counted = isLaterInLine ? last.charactersBefore : 0
    const charactersBefore = counted + characterCount(this.content.slice(from, offset))
    this.#lastPosition = { offset, line, charactersBefore }
    return { line: line + 1, column: charactersBefore + 1 }
  }

  /** The syntax tree of the document that starts at an offset, parsed on first use. */
  #tree(start: number): Node | undefined {
    if (!this.#trees.has(start)) this.#trees.set(start, parseTree(this.#documentFrom(start)))
    return this.#trees.get(start)
  }

  /** The text of the document that starts at an offset. */
  #documentFrom(start: number): string {
    return this.isOneDocumentPerLine ? this.#lineFrom(start) : this.content
  }

  #lineFrom(start: number): string {
    const end = this.content.indexOf('\n', start)
    return this.content.slice(start, end < 0 ? undefined : end)
  }

  #valueOfLine(start: number): unknown {
    const value = parseOrUndefined(this.#lineFrom(start))
    if (value === undefined) throw this.#syntaxError(start)
    return value
  }

  /** The error for the document that starts at an offset and is not valid JSON. */
  #syntaxError(start: number): BadData {
    const text = this.#documentFrom(start)
    const errors: ParseError[] = []
    parse(text, errors, { disallowComments: true, allowEmptyContent: false })
    const { offset, length } = errors[0] ?? { offset: 0, length: 0 }
    const sign = text.slice(offset, offset + Math.min(Math.max(length, 1), 20))
    const isAtEnd = offset >= text.trimEnd().length
    const what = isAtEnd ? 'the JSON ends here, unfinished' : `JSON does not allow ${JSON.stringify(sign)} here`
    return this.#error(start + offset, what)
  }

  #error(offset: number, what: string): BadData {
    return new BadData({ file: this.#file, ...this.positionAt(offset) }, what)
  }
}

/**
 * A part of a vendor's document in its required shape. Throws BadData that names the first mismatch.
 * @param what a name of the document, for the error
 * @param at the path of the part in the document, for the error
 */
export function parseShape<Shape extends z.ZodType>(
  file: string,
  shape: Shape,
  value: unknown,
  what: string,
  at: readonly string[] = [],
): z.infer<Shape> {
  const result = shape.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  const place = [...at, ...path].join('.') || 'it'
  throw new BadData({ file }, `this looks like ${what}, but ${place} is not as it should be (${message})`)
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const MAX_NESTING = 100

/** The offset in a text, JSON or not, of the first bracket that is too deep; null if there is none. */
function tooDeepBracket(text: string): number | null {
  let level = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      i = endOfString(text, i)
      if (i < 0) return null
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++level > MAX_NESTING) return i
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) level--
  }
  return null
}

const QUOTE = 34
const OPEN_LIST = 91
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

const COLON_AFTER_KEY = /\s*:/y

/** The first repeated key of an object, and its offset; null if none is repeated. The text must be valid JSON. */
function repeatedKey(text: string): { key: string; offset: number } | null {
  // For each bracket that is open the keys so far of its object; null for a list.
  const keysByBracket: (Set<string> | null)[] = []
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '{') keysByBracket.push(new Set())
    else if (character === '[') keysByBracket.push(null)
    else if (character === '}' || character === ']') keysByBracket.pop()
    else if (character === '"') {
      const end = endOfString(text, i)
      const keys = keysByBracket.at(-1)
      COLON_AFTER_KEY.lastIndex = end + 1
      if (keys != null && COLON_AFTER_KEY.test(text)) {
        const rawKey = text.slice(i + 1, end)
        const key: string = rawKey.includes('\\') ? JSON.parse(`"${rawKey}"`) : rawKey
        if (keys.has(key)) return { key, offset: i }
        keys.add(key)
      }
      i = end
    }
  }
  return null
}

/** The index of the quote that ends the string whose first quote is at `start`; -1 if the string does not end. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  for (; end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashStart = end
    while (text[backslashStart - 1] === '\\') backslashStart--
    const isEscaped = (end - backslashStart) % 2 === 1
    if (!isEscaped) break
  }
  return end
}
