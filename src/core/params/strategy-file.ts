import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  stringify,
  visit,
} from 'yaml'
import {
  BadData,
  describeValue,
  didYouMean,
  type FilePosition,
  InvalidParameter,
  quoted,
  suggest,
  wrong,
} from '../errors.js'
import { BUILT_IN_FIELDS, type FieldSet } from '../fields/index.js'
import { noDayClause, parseDay } from '../model/day.js'
import { percent } from '../numbers.js'
import { isMapping, withoutNulls } from './arguments.js'
import { contextForFile } from './context.js'
import { isSection, type Nodes, type Section } from './row.js'
import { costsText, exitTexts, sizeText } from './short-forms.js'
import { exceededBound } from './small-text.js'
import { completeStrategy, conditionsOf, type Fill, STRATEGY, type Strategy } from './strategy.js'
import { entryForFile, someNameTickers } from './when.js'

/**
 * Parses a strategy of a file or of options. Throws InvalidParameter for the first fault, named by its path
 * (`exit.hold`). With positions in a file it throws BadData at file:line:column instead.
 * @param fields the known fields
 */
export function parseStrategyDocument(
  document: unknown,
  { fields = BUILT_IN_FIELDS, placeOf, placeInText }: { fields?: FieldSet } & Partial<PlaceFinder> = {},
): Strategy {
  const withPosition = <Done>(part: 'key' | 'value', work: () => Done): Done => {
    try {
      return work()
    } catch (refusal) {
      if (!(refusal instanceof InvalidParameter) || placeOf === undefined) throw refusal
      const { value, line, column } = refusal.offence
      const path = refusal.param.split('.')
      // A fault in a condition is marked at its own word.
      const isWithinText = placeInText !== undefined && line !== undefined && column !== undefined
      const place = isWithinText ? placeInText(path)(line, column) : placeOf(path, part, value)
      throw new BadData(place, messageAtPlace(refusal), { cause: refusal })
    }
  }
  // Misspelt keys are reported first: the intended key would be reported as missing.
  withPosition('key', () => refuseUnknownKeys({ rows: STRATEGY }, document, []))
  return withPosition('value', () => {
    const strategy = completeStrategy(
      readPart({ rows: STRATEGY }, document, { at: '', field: '', fields }) as Parameters<typeof completeStrategy>[0],
    )
    refuseConflictingRules(strategy)
    refuseUselessLag(strategy, fields)
    return strategy
  })
}

/** The message of a refusal after a position in a file: without its full stop, or with the nearest valid values. */
function messageAtPlace({ fault, message, offence }: InvalidParameter): string {
  const { allowed, suggestions = [] } = offence
  // A list of valid values already contains the nearest ones.
  const meant = fault === 'not_allowed' && typeof allowed === 'string' ? didYouMean(suggestions) : ''
  return meant === '' ? message.replace(/\.$/, '') : message + meant
}

interface DocumentOptions {
  /** Whether the tickers of the strategy are all that are loaded: the file then says so. */
  ofAllTickers?: boolean
}

/** The text of a strategy file that is read as the same strategy again. */
export function printStrategy(strategy: Strategy, options?: DocumentOptions): string {
  return stringify(strategyDocument(strategy, options), { lineWidth: 0, aliasDuplicateObjects: false })
}

/** The word for every loaded ticker in a strategy file. The ticker ALL is in capitals. */
export const EVERY_TICKER = 'all'

/** A strategy as a file spells it. */
export function strategyDocument(strategy: Strategy, { ofAllTickers = false }: DocumentOptions = {}): object {
  const { tickers, entry, exit, costs, portfolio } = strategy
  const { hold, stop, target, trailing, on } = exit
  const rules = exitTexts(exit, entry.field)
  const exitsBeforeStop = rules === undefined ? { hold } : { hold, when: rules }
  const exits = { ...exitsBeforeStop, stop, target, trailing }
  // Bands of the entry's own field are among the rules.
  const isOnOtherField = on !== null && on.field !== entry.field
  return {
    ...strategy,
    tickers: ofAllTickers ? EVERY_TICKER : tickers,
    entry: { ...entryForFile(entry), context: contextForFile(entry.context) },
    exit: isOnOtherField ? { ...exits, on } : exits,
    costs: costsText(costs),
    portfolio: { ...portfolio, size: sizeText(portfolio.size) },
  }
}

/** Throws InvalidParameter for the first unknown key of a part, or of the parts in it. */
function refuseUnknownKeys({ rows }: Section<Nodes>, value: unknown, path: readonly string[]): void {
  if (!isMapping(value)) return
  for (const [key, node] of Object.entries(rows))
    if (isSection(node)) refuseUnknownKeys(node, value[key], [...path, key])
  const unknown = Object.keys(value).find(key => !Object.hasOwn(rows, key))
  if (unknown !== undefined) throw unknownKeyError([...path, unknown], Object.keys(rows))
}

/** Where a part is, and the data to read it with. */
interface PartLocation {
  at: string
  field: string
  fields: FieldSet
}

/**
 * Reads a part of the file by its declaration, whose `rows` have a value or a part for each key. A missing value has
 * its default. `convertKeys` replaces written keys by those of `rows`; `finish` makes the result from the values.
 * @param at the path of the part; empty for the whole document
 * @param field the field of the entry, whose bands other parts may name; empty until the entry is read
 */
function readPart(part: Section, value: unknown, { at, field, fields }: PartLocation): unknown {
  const { rows, kind, finish } = part
  // Some parts may be one text, such as `costs: 5bp`.
  const isText = typeof value === 'string' || typeof value === 'number'
  let mapping: unknown = value ?? {}
  if (isText && kind?.toDocumentForm !== undefined)
    mapping = kind.toDocumentForm(at, String(value), { fields, earlier: { field } })
  if (!isMapping(mapping) || (at === '' && value == null)) throw notAMappingError(at, value, Object.keys(rows))
  const written = part.convertKeys?.(mapping, at, fields) ?? mapping
  const read: Record<string, unknown> = {}
  for (const [key, node] of Object.entries(rows)) {
    const path = at === '' ? key : `${at}.${key}`
    const fieldOfEntry = field || entryField(read)
    if (!isSection(node)) {
      // Without absent values, so that the field of the entry applies.
      const earlier = { field: fieldOfEntry, ...withoutNulls(read) }
      const usesDefault = written[key] == null && !node.required
      const parsed = usesDefault ? node.fallback : node.kind.parse(path, written[key], { fields, earlier })
      if (parsed !== undefined) read[key] = parsed
    } else if (node.optional && written[key] == null) read[key] = null
    else read[key] = readPart(node, written[key], { at: path, field: fieldOfEntry, fields })
  }
  return finish === undefined ? read : finish(read, at, field)
}

/** The field of the entry, once it is read; empty before. */
function entryField({ entry }: Readonly<Record<string, unknown>>): string {
  return isMapping(entry) ? String(entry.field) : ''
}

/** The error for a part that is no mapping. @param keys its keys */
function notAMappingError(at: string, value: unknown, keys: readonly string[]): InvalidParameter {
  const param = at || 'the strategy'
  const allowed = `a mapping of ${keys.join(', ')}`
  const what = value === undefined || value === null ? 'is missing; it is' : `${describeValue(value)} is not`
  return wrong(param, `${param} ${what} ${allowed}.`, { value, allowed })
}

/** Matches names of later returns or durations, which no rule can use. */
const LATER_OUTCOMES = /duration|aftermath|performance|outcome|forward|future|return|held|after_|next_band/

/** The error for an unknown key, with the nearest one; a later outcome cannot be a rule at all. */
function unknownKeyError(path: readonly string[], allowed: readonly string[]): InvalidParameter {
  const key = path.at(-1)!
  const param = path.join('.')
  const above = path.slice(0, -1).join('.')
  const suggestions = suggest(key, allowed)
  if (suggestions.length === 0 && LATER_OUTCOMES.test(key.toLowerCase())) {
    const why = 'how long a band lasts and what follows it are not known when the event happens'
    return wrong(param, `${param} cannot be a rule: ${why}, so a rule on them would look ahead.`, { allowed })
  }
  const message = `there is no key ${quoted(key)} in ${above || 'a strategy'}.${didYouMean(suggestions)}`
  return wrong(param, `${message} It may have ${allowed.join(', ')}.`, { allowed, suggestions })
}

/** Throws InvalidParameter if parts of a strategy contradict each other, or nothing ends a trade. */
function refuseConflictingRules({ exit, fill, side, entry, costs }: Strategy): void {
  const rules = [exit.hold, exit.on, exit.when ?? null, exit.stop, exit.target, exit.trailing]
  const ends = rules.some(rule => rule !== null) || exit.leave
  if (!ends) throwFault('exit', 'nothing ends a trade; give one of hold, when, stop, target, trailing')
  if (exit.hold !== null && exit.hold < LEAST_HOLD[fill])
    throwFault('exit.hold', `${exit.hold} is not a whole number from ${LEAST_HOLD[fill]}, which entry at ${fill} needs`)
  const bps = costs.bps + costs.slippage_bps
  if (bps >= 10_000) throwFault('costs', `${bps} basis points a side are the whole price; they must be below 10000`)
  // A price cannot fall by 100 % or more, which stops of a long trade or the target of a short one would need.
  for (const rule of side === 'long' ? (['stop', 'trailing'] as const) : (['target'] as const)) {
    const name = `exit.${rule}`
    const distance = exit[rule]
    if (typeof distance !== 'number' || distance < 1) continue
    const message = `${name} is ${percent(distance)} of the entry price, which leaves no price; it must be below 100 %.`
    throw wrong(name, message, { value: distance, suggestions: [`${distance}%`] })
  }
  const { after, before } = entry
  if (after === null || before === null) return
  const noDay = noDayClause({ after: parseDay(after)!, before: parseDay(before)! })
  if (noDay !== null) throwFault('entry.after', noDay)
}

/** Throws InvalidParameter for a lag if no condition names a ticker. */
function refuseUselessLag(strategy: Strategy, fields: FieldSet): void {
  if (strategy.lag === undefined || someNameTickers(conditionsOf(strategy), fields)) return
  throwFault('lag', 'no condition names another ticker, so there is no bar to read earlier')
}

function throwFault(param: string, what: string): never {
  throw wrong(param, `${param}: ${what}.`)
}

/** The bars after the signal at which a hold can end at the earliest: after the entry, at a close. */
const LEAST_HOLD: Record<Fill, number> = { 'next-open': 1, 'next-close': 2, close: 1 }

/** Finds the positions of values in a file. */
export type PlaceFinder = Pick<LocatedDocument, 'placeOf' | 'placeInText'>

/** A document that can find the position of each of its values in the text. */
export interface LocatedDocument {
  value: unknown
  /**
   * The position of a value or its key, or of the nearest parent that exists.
   * @param itemValue if the value is a list, the position is that of the item with this value, if it has one
   */
  placeOf(path: readonly PropertyKey[], part?: 'key' | 'value', itemValue?: unknown): FilePosition
  /**
   * Takes the path of a text, such as a condition. Returns a function for the parser of that text, which knows only a
   * line and column in it, both from 1. The function returns the position in the file. It is the start of the text if
   * YAML folds or escapes it, because then its lines are not those of the file.
   */
  placeInText(path: readonly PropertyKey[]): (line: number, column: number) => FilePosition
}

/** Reads YAML 1.2, which includes JSON. Throws BadData at file:line:column for other text. */
export function readYaml(text: string, file: string): LocatedDocument {
  const excess = exceededBound(text)
  if (excess !== null) {
    const linesBefore = text.slice(0, excess.offset).split('\n')
    throw new BadData({ file, line: linesBefore.length, column: linesBefore.at(-1)!.length + 1 }, excess.what)
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { ...YAML_OPTIONS, lineCounter: lines })
  const at = (offset: number): FilePosition => {
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const fault = document.errors[0] ?? document.warnings[0]
  if (fault !== undefined)
    throw new BadData(at(fault.pos[0]), `this is neither YAML nor JSON: ${firstLineOf(fault.message)}`)
  // The parser does not check this: see YAML_OPTIONS.
  const repeated = repeatedKey(document)
  if (repeated !== null) throw new BadData(at(repeated), 'this is neither YAML nor JSON: Map keys must be unique')
  return {
    value: contentOf(document, file),
    placeOf: (path, part = 'value', itemValue) => {
      const node = itemIn(nodeAt(document, path, part), itemValue)
      return node?.range == null ? { file } : at(node.range[0])
    },
    placeInText: path => {
      const node = nodeAt(document, path, 'value')
      return (line, column) => {
        if (!isScalar(node) || node.range == null) return { file }
        const begin = at(node.range[0])
        const written = text.slice(node.range[0], node.range[1])
        return { ...begin, ...placeInWritten(written, node.type, begin, { line, column }) }
      }
    },
  }
}

/** YAML 1.1 tags are off, because they make other objects. `repeatedKey` is faster than the library's check. */
const YAML_OPTIONS = { prettyErrors: false, stringKeys: true, resolveKnownTags: false, uniqueKeys: false }

/**
 * The position in the file of a line and column of a text value, all from 1. It has no line if that is the line of
 * `begin`. It is empty if lines are folded or signs escaped, because then columns differ.
 * @param written the value as the file has it, with its quotes or `|`
 * @param begin where `written` begins
 */
function placeInWritten(
  written: string,
  type: Scalar['type'],
  begin: FilePosition,
  { line, column }: { line: number; column: number },
): Pick<FilePosition, 'line' | 'column'> {
  if (type === 'BLOCK_LITERAL') {
    const indent = /\n( *)\S/.exec(written)?.[1]?.length ?? 0
    return { line: begin.line! + line, column: indent + column }
  }
  const isPlain = type === 'PLAIN'
  const isEscaped = !isPlain && written.includes('\\')
  if (isEscaped || written.trimEnd().includes('\n')) return {}
  const quoteLength = isPlain ? 0 : 1
  return { column: begin.column! + quoteLength + column - 1 }
}

/** The offset of the first repeated key of a mapping; null if there is none. The library's own check is quadratic. */
function repeatedKey(document: Document): number | null {
  let first: number | null = null
  visit(document, {
    Map(_, { items }) {
      const keys = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (keys.has(key.value)) {
          first = key.range?.[0] ?? 0
          return visit.BREAK
        }
        keys.add(key.value)
      }
      return undefined
    },
  })
  return first
}

/** The content of a YAML document. Throws BadData if aliases make it too large. */
function contentOf(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 })
  } catch (cause) {
    // Aliases that unfold into millions of values.
    throw new BadData({ file }, `this cannot be read: ${firstLineOf((cause as Error).message)}`, { cause })
  }
}

/** The node of a path, or of its key; the nearest parent if neither exists. */
function nodeAt(document: Document, path: readonly PropertyKey[], part: 'key' | 'value'): Node | null {
  const above = path.slice(0, -1)
  const last = String(path.at(-1))
  const parent = document.getIn(above, true)
  const pair = isMap(parent) ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === last) : undefined
  const value = document.getIn(path, true)
  const candidates = part === 'key' ? [pair?.key, value] : [value, pair?.key]
  const node = candidates.find(isNode)
  if (node !== undefined) return node
  return path.length === 0 ? null : nodeAt(document, above, 'value')
}

/** The node of the item of a list with a value; the node itself if it is no list, or has no such item. */
function itemIn(node: Node | null, itemValue: unknown): Node | null {
  if (!isSeq(node) || itemValue === undefined) return node
  return node.items.filter(isScalar).find(({ value }) => value === itemValue) ?? node
}

function firstLineOf(message: string): string {
  return message.split('\n')[0]!.replace(/[.:]$/, '')
}
