import { stringify } from 'yaml'
import type * as z from 'zod'
import { BadData, InvalidParameter, type Place, quoted } from '../../errors.js'
import { didYouMean, suggest } from '../../suggest.js'
import { documentOf } from './document.js'
import { checkRules } from './rules.js'
import { STRATEGY } from './shape.js'
import type { Strategy } from './strategy.js'
import { shown } from './values.js'
import { type Located, readYaml } from './yaml.js'

export { documentOf } from './document.js'

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
  return new InvalidParameter(`${message} It may have ${allowed.join(', ')}.`, { param, allowed, suggestions }, message)
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
