import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument, stringify } from 'yaml'
import * as z from 'zod'
import { BadData, didYouMean, InvalidParameter, type Place, quoted, shown, suggest } from '../errors.js'
import type { Field } from '../fields/index.js'
import { STABILITIES } from '../model/series.js'
import { TIMEFRAME_NAMES } from '../model/terms.js'
import { type Fill, type Sizing, type Strategy, UNLESS_GIVEN } from '../params/strategy.js'
import { dayValue, fieldValue, textValue, tickerValue, wordValue } from '../params/values.js'
import {
  bandsOf,
  distanceOf,
  flagOf,
  integerOf,
  LARGEST_SEED,
  listOf,
  numberOf,
  shareOf,
  textOf,
} from '../study/values.js'
import { checkRules, documentOf } from './words.js'

export { documentOf } from './words.js'

/**
 * A strategy as a file or flags spell it → one that can be run. Throws InvalidParameter for the first thing wrong, named
 * by where it stands (`exit.hold`); where the places in a file are known BadData instead, at file:line:column.
 */
export function strategyOf(document: unknown, placeOf?: Located['placeOf']): Strategy {
  const result = STRATEGY.safeParse(document, { reportInput: true })
  const fault = result.success ? ruleFault(result.data) : faultOf(result.error)
  if (fault === null) return result.data!
  const place = placeOf?.(fault.path, fault.part, fault.refusal.offence.value)
  throw place === undefined ? fault.refusal : badData(place, fault.refusal)
}

/** Throws BadData at file:line:column for the first thing wrong with the text of a strategy file, YAML or JSON. */
export function readStrategy(text: string, file: string): Strategy {
  const { value, placeOf } = readYaml(text, file)
  return strategyOf(value, placeOf)
}

/** The text of a strategy file that is read as the same strategy again. */
export function printStrategy(strategy: Strategy): string {
  return stringify(documentOf(strategy), { lineWidth: 0 })
}

interface Fault {
  path: readonly PropertyKey[]
  part: 'key' | 'value'
  refusal: InvalidParameter
}

function ruleFault(strategy: Strategy): Fault | null {
  try {
    checkRules(strategy)
    return null
  } catch (refusal) {
    if (!(refusal instanceof InvalidParameter)) throw refusal
    return { path: refusal.param.split('.'), part: 'value', refusal }
  }
}

/** A misspelt key first: what it was meant for is missing because of it. */
function faultOf({ issues }: z.ZodError): Fault {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]!
  if (issue.code === 'unrecognized_keys') {
    const path = [...issue.path, issue.keys[0]!]
    return { path, part: 'key', refusal: unknownKey(path, allowedKeys(issue.path)) }
  }
  if (issue.code === 'custom') {
    const refusal = issue.params?.refusal as InvalidParameter
    return { path: refusal.param.split('.'), part: 'value', refusal }
  }
  return { path: issue.path, part: 'value', refusal: notASection(issue) }
}

function notASection({ path, input }: z.core.$ZodIssue): InvalidParameter {
  const param = path.join('.') || 'the strategy'
  const allowed = `a mapping of ${allowedKeys(path).join(', ')}`
  const what = input === undefined || input === null ? 'is missing; it is' : `${shown(input)} is not`
  return new InvalidParameter(`${param} ${what} ${allowed}.`, { param, value: input, allowed })
}

/** What lasts until later, or follows, as results spell it and as people may think of it. */
const LATER = /duration|aftermath|performance|outcome|forward|future|return|held|after_|next_band/

function unknownKey(path: readonly PropertyKey[], allowed: readonly string[]): InvalidParameter {
  const key = String(path.at(-1))
  const param = path.join('.')
  const suggestions = suggest(key, allowed)
  if (suggestions.length === 0 && LATER.test(key.toLowerCase()))
    return new InvalidParameter(
      `${param} cannot be a rule: how long a band lasts and what follows it are not known when the event happens, so a ` +
        'rule on them would look ahead.',
      { param, allowed },
    )
  const where = path.length > 1 ? path.slice(0, -1).join('.') : 'a strategy'
  const message = `there is no key ${quoted(key)} in ${where}.${didYouMean(suggestions)}`
  return new InvalidParameter(`${message} It may have ${allowed.join(', ')}.`, { param, allowed, suggestions })
}

/** The keys that a part of a strategy may have: those of a complete one. */
function allowedKeys(path: readonly PropertyKey[]): string[] {
  return KEYS[path.join('.')] ?? []
}

const KEYS: Readonly<Record<string, string[]>> = {
  '': [
    'name',
    'tickers',
    'timeframe',
    'side',
    'entry',
    'fill',
    'exit',
    'overlap',
    'costs',
    'portfolio',
    'benchmark',
    'risk_free',
    'seed',
  ],
  entry: ['field', 'bands', 'prev_bands', 'stability', 'max_flips', 'context', 'after', 'before'],
  'entry.context': ['ticker', 'field', 'bands', 'lag'],
  exit: ['hold', 'leave', 'on', 'stop', 'target', 'trailing'],
  'exit.on': ['field', 'bands'],
  costs: ['bps', 'slippage_bps', 'per_share', 'fixed', 'borrow'],
  portfolio: ['capital', 'max_positions', 'sizing', 'whole_shares', 'cash_rate', 'shuffle'],
  'portfolio.sizing': ['method', 'fraction', 'target', 'cap'],
}

function badData(place: Place, refusal: InvalidParameter): BadData {
  return new BadData(place, refusal.message.replace(/\.$/, ''), { cause: refusal })
}

const LONGEST_HOLD = 10_000
const MOST_POSITIONS = 100_000
const FILLS: readonly Fill[] = ['next-open', 'next-close', 'close']
const OVERLAPS = ['skip', 'allow', 'extend'] as const
const SIZINGS = ['equal', 'fixed-fraction', 'vol-target'] as const

/** A rate a year that is not a percentage by mistake. */
const RATE = { above: -1, below: 1 }

/** A value that is refused by throwing InvalidParameter, as query/ does; the error is kept in the issue. */
function leaf<Value>(name: string, read: (name: string, value: unknown) => Value) {
  return z
    .unknown()
    .optional()
    .transform((value, context) => attempt(context, () => read(name, value)))
}

/** The same where nothing, or null, is `fallback`. */
function optional<Value, Fallback>(name: string, fallback: Fallback, read: (name: string, value: unknown) => Value) {
  return leaf(name, (_, value) => (value === undefined || value === null ? fallback : read(name, value)))
}

function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.preprocess(value => value ?? {}, z.strictObject(shape))
}

function word<Word extends string>(words: readonly Word[]) {
  return (name: string, value: unknown): Word => wordValue(name, textOf(name, value), words)
}

const number = (bounds: Parameters<typeof numberOf>[2]) => (name: string, value: unknown) =>
  numberOf(name, value, bounds)
const share = (bounds: Parameters<typeof shareOf>[2]) => (name: string, value: unknown) => shareOf(name, value, bounds)
const integer = (least: number, most: number) => (name: string, value: unknown) => integerOf(name, value, least, most)
const ticker = (name: string, value: unknown): string => tickerValue(name, textOf(name, value))
const field = (name: string, value: unknown): Field => fieldValue(name, textOf(name, value))
const day = (name: string, value: unknown) => dayValue(name, textOf(name, value))

/** Candidates are no part of a strategy: a file says the one that it trades. */
function oneHold(name: string, value: unknown): number {
  if (!Array.isArray(value)) return integerOf(name, value, 1, LONGEST_HOLD)
  const allowed = `an integer from 1 to ${LONGEST_HOLD}`
  const advice = `several to choose from are given beside it, as hold ${value.join(',')} with a split or a walk-forward`
  throw new InvalidParameter(`${name} [${value.join(', ')}] is a list, and a file says one: ${allowed}; ${advice}.`, {
    param: name,
    value,
    allowed,
  })
}

const CONTEXT = z
  .strictObject({
    ticker: leaf('entry.context.ticker', ticker),
    field: leaf('entry.context.field', field),
    bands: z.unknown().optional(),
    lag: optional('entry.context.lag', 0 as const, (name, value) => integerOf(name, value, 0, 1) as 0 | 1),
  })
  .transform((context, issues) => ({
    ...context,
    field: context.field.name,
    bands: someBands(issues, 'entry.context.bands', context.bands, context.field),
  }))

const ENTRY = z
  .strictObject({
    field: leaf('entry.field', field),
    bands: z.unknown().optional(),
    prev_bands: z.unknown().optional(),
    stability: optional('entry.stability', null, (name, value) => {
      const chosen = listOf(name, value).map(item => word(STABILITIES)(name, item))
      return STABILITIES.filter(stability => chosen.includes(stability))
    }),
    max_flips: optional('entry.max_flips', null, integer(0, 254)),
    context: CONTEXT.nullish(),
    after: optional('entry.after', null, day),
    before: optional('entry.before', null, day),
  })
  .transform((entry, issues) => ({
    field: entry.field.name,
    bands: someBands(issues, 'entry.bands', entry.bands, entry.field),
    prevBands: someBands(issues, 'entry.prev_bands', entry.prev_bands, entry.field),
    stability: entry.stability,
    maxFlips: entry.max_flips,
    context: entry.context ?? null,
    after: entry.after,
    before: entry.before,
  }))

const ON = z.strictObject({ field: optional('exit.on.field', null, field), bands: z.unknown().optional() })

const EXIT = z.strictObject({
  hold: optional('exit.hold', null, oneHold),
  leave: optional('exit.leave', false, flagOf),
  on: ON.nullish(),
  stop: optional('exit.stop', null, distanceOf),
  target: optional('exit.target', null, distanceOf),
  trailing: optional('exit.trailing', null, distanceOf),
})

const COSTS = section({
  bps: optional('costs.bps', UNLESS_GIVEN.bps, number({ least: 0, below: 10_000 })),
  slippage_bps: optional('costs.slippage_bps', 0, number({ least: 0, below: 10_000 })),
  per_share: optional('costs.per_share', 0, number({ least: 0 })),
  fixed: optional('costs.fixed', 0, number({ least: 0 })),
  borrow: optional('costs.borrow', 0, share({ least: 0, below: 10 })),
}).transform(costs => ({
  bps: costs.bps,
  slippageBps: costs.slippage_bps,
  perShare: costs.per_share,
  fixed: costs.fixed,
  borrow: costs.borrow,
}))

const SIZING = z.preprocess(
  value => (typeof value === 'string' ? { method: value } : (value ?? { method: 'equal' })),
  z
    .strictObject({
      method: leaf('portfolio.sizing.method', word(SIZINGS)),
      fraction: z.unknown().optional(),
      target: z.unknown().optional(),
      cap: z.unknown().optional(),
    })
    .transform((sizing, issues) => attempt(issues, () => sizingOf(sizing))),
)

const PORTFOLIO = section({
  capital: optional('portfolio.capital', UNLESS_GIVEN.capital, number({ above: 0 })),
  max_positions: optional('portfolio.max_positions', UNLESS_GIVEN.maxPositions, integer(1, MOST_POSITIONS)),
  sizing: SIZING,
  whole_shares: optional('portfolio.whole_shares', false, flagOf),
  cash_rate: optional('portfolio.cash_rate', 0, share(RATE)),
  shuffle: optional('portfolio.shuffle', false, flagOf),
}).transform(portfolio => ({
  capital: portfolio.capital,
  maxPositions: portfolio.max_positions,
  sizing: portfolio.sizing,
  wholeShares: portfolio.whole_shares,
  cashRate: portfolio.cash_rate,
  shuffle: portfolio.shuffle,
}))

/** A strategy file's document, complete and checked; its issues carry InvalidParameter in `params.refusal`. */
const STRATEGY = z
  .strictObject({
    name: optional('name', null, (name, value) => textValue(name, textOf(name, value))),
    tickers: leaf('tickers', (name, value) =>
      [...new Set(listOf(name, value).map(item => ticker('tickers', item)))].sort(),
    ),
    timeframe: optional('timeframe', 'daily' as const, word(TIMEFRAME_NAMES)),
    side: optional('side', 'long' as const, word(['long', 'short'] as const)),
    entry: ENTRY,
    fill: optional('fill', 'next-open' as const, word(FILLS)),
    exit: EXIT,
    overlap: optional('overlap', 'skip' as const, word(OVERLAPS)),
    costs: COSTS,
    portfolio: PORTFOLIO,
    benchmark: optional('benchmark', null, ticker),
    risk_free: optional('risk_free', 0, share(RATE)),
    seed: optional('seed', 1, integer(0, LARGEST_SEED)),
  })
  .transform(({ risk_free, exit, entry, ...rest }, issues): Strategy => {
    const on = exit.on == null ? null : attempt(issues, () => onOf(exit.on!, entry.field))
    return { ...rest, entry: { ...entry, timeframe: rest.timeframe }, exit: { ...exit, on }, riskFree: risk_free }
  })

function onOf(on: z.output<typeof ON>, entryField: string): { field: string; bands: string[] } {
  const chosen = on.field ?? fieldValue('exit.on.field', entryField)
  return { field: chosen.name, bands: bandsOf('exit.on.bands', on.bands, chosen) }
}

function sizingOf({ method, ...rest }: { method: Sizing['method'] } & Record<string, unknown>): Sizing {
  const of = (key: string) => `portfolio.sizing.${key}`
  const wanted = method === 'equal' ? [] : method === 'fixed-fraction' ? ['fraction'] : ['target', 'cap']
  const odd = Object.keys(rest).find(key => rest[key] != null && !wanted.includes(key))
  if (odd !== undefined) throw new InvalidParameter(`${of(odd)} is not for ${method}.`, { param: of(odd) })
  if (method === 'equal') return { method }
  const fraction = (key: string, value: unknown) => shareOf(of(key), value, { above: 0, most: 1 })
  if (method === 'fixed-fraction') return { method, fraction: fraction('fraction', rest.fraction) }
  const target = shareOf(of('target'), rest.target, { above: 0, most: 10 })
  return { method, target, cap: fraction('cap', rest.cap ?? UNLESS_GIVEN.cap) }
}

/** null: any. */
function someBands(issues: z.core.$RefinementCtx, name: string, value: unknown, of: Field): string[] | null {
  return value == null ? null : attempt(issues, () => bandsOf(name, value, of))
}

function attempt<Value>(issues: z.core.$RefinementCtx, read: () => Value): Value {
  try {
    return read()
  } catch (refusal) {
    if (!(refusal instanceof InvalidParameter)) throw refusal
    issues.addIssue({ code: 'custom', message: refusal.message, params: { refusal } })
    return z.NEVER
  }
}

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
