import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { BadData, type Place } from '../../errors.js'

/** A document with the way back from each of its values to the place in the text. */
export interface Located {
  value: unknown
  /**
   * Where a value stands, or its key; the nearest enclosing one where there is none.
   * @param item what is meant of a list; the list itself where it has no such item
   */
  placeOf(path: readonly PropertyKey[], part?: 'key' | 'value', item?: unknown): Place
}

/** YAML 1.2, of which JSON is a part. Throws BadData at file:line:column for text that is neither. */
export function readYaml(text: string, file: string): Located {
  const lines = new LineCounter()
  // Without the tags of YAML 1.1, which make objects of other kinds.
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true, resolveKnownTags: false }
  const document = parseDocument(text, options)
  const at = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const fault = document.errors[0] ?? document.warnings[0]
  if (fault !== undefined)
    throw new BadData(at(fault.pos[0]), `this is neither YAML nor JSON: ${inWords(fault.message)}`)
  return {
    value: contentOf(document, file),
    placeOf: (path, part = 'value', item) => {
      const node = itemIn(nodeAt(document.contents, path, part), item)
      return node?.range == null ? { file } : at(node.range[0])
    },
  }
}

function contentOf(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    // Aliases that unfold into millions of values.
    throw new BadData({ file }, `this cannot be read: ${inWords((cause as Error).message)}`, { cause })
  }
}

function nodeAt(root: unknown, path: readonly PropertyKey[], part: 'key' | 'value'): Node | null {
  let node = isNode(root) ? root : null
  for (const [depth, step] of path.entries()) {
    const pair = isMap(node)
      ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      : undefined
    const isLast = depth === path.length - 1
    if (isLast && part === 'key' && isNode(pair?.key)) return pair.key
    const next: unknown = pair === undefined ? elementOf(node, step) : pair.value
    if (!isNode(next)) return isNode(pair?.key) ? pair.key : node
    node = next
  }
  return node
}

function itemIn(node: Node | null, item: unknown): Node | null {
  if (!isSeq(node) || item === undefined) return node
  return node.items.filter(isScalar).find(({ value }) => value === item) ?? node
}

function elementOf(node: Node | null, step: PropertyKey): unknown {
  return node !== null && 'get' in node ? node.get(step, true) : undefined
}

function inWords(message: string): string {
  return message.split('\n')[0]!.replace(/[.:]$/, '')
}
