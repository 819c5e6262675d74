import { UNDEFINED } from '../model/series.js'
import { includesTier, type Tier } from '../model/terms.js'
import {
  type Condition,
  conditionsIn,
  parseCondition,
  printCondition,
  type Subject,
  subjectsOf,
  type Vocabulary,
} from './condition.js'
import type { Origin } from './reader.js'

/** The description of a field, stored or derived. */
export interface KnownField {
  readonly name: string
  readonly tier: Tier
  readonly needs: 'bars' | 'facts' | 'sector'
  readonly bands: readonly string[]
  readonly summary: string
}

/** The fields that a condition may name. */
export interface KnownFields extends Vocabulary {
  named(name: string): KnownField | undefined
}

/** A band with its condition; null: otherwise. */
export interface Rule {
  band: string
  condition: Condition | null
}

/** A field whose bands depend on those of other fields: the first rule that is not false sets the band. */
export interface RuledField extends KnownField {
  readonly rules: readonly Rule[]
  readonly subjects: readonly Subject[]
  /** Hash of its definition, for a user's own field. */
  readonly hash?: string
}

/** A condition as a field: its name is its canonical text. It has a band where its truth is known. */
export interface ConditionField extends RuledField {
  readonly condition: Condition
}

export function isRuled(field: KnownField): field is RuledField {
  return 'rules' in field
}

/** The canonical text of a condition, or each band with its condition, in order. */
export function rulesInWords(field: RuledField): string {
  if (isConditionField(field)) return field.name
  return field.rules
    .map(({ band, condition }) => `${band}: ${condition === null ? 'otherwise' : printCondition(condition)}`)
    .join('; ')
}

/**
 * A band by bar: the first rule, in order, that is not false. No band where its truth is unknown, and where all are
 * false.
 */
export function codesByRules(
  { rules, bands }: Pick<RuledField, 'rules' | 'bands'>,
  bars: number,
  truth: (condition: Condition) => Uint8Array,
): Uint8Array {
  const codes = new Uint8Array(bars).fill(UNDEFINED)
  const open = new Uint8Array(bars).fill(1)
  for (const { band, condition } of rules) {
    const code = bands.indexOf(band)
    const truths = condition === null ? null : truth(condition)
    for (let t = 0; t < bars; t++) {
      if (open[t] === 0 || truths?.[t] === 0) continue
      open[t] = 0
      if (truths === null || truths[t] === 1) codes[t] = code
    }
  }
  return codes
}

/** The bands of a condition, by code. */
export const TRUTHS: readonly string[] = ['false', 'true']
export const TRUE = TRUTHS.indexOf('true')

export function isConditionField(field: KnownField): field is ConditionField {
  return 'condition' in field
}

/** Whether a name can be that of a condition: names of fields are one word. */
export function isCondition(name: string): boolean {
  return /[\s=()@]/.test(name)
}

/** The lag of conditions on named tickers: `other tickers 2 bars before`; empty without a lag. */
export function lagInWords(lag: number | undefined): string[] {
  return lag === undefined ? [] : [`other tickers ${lag === 1 ? 'a bar' : `${lag} bars`} before`]
}

/** Cache of parsed conditions: every ticker needs them again. */
const parsed = new WeakMap<KnownFields, Map<string, ConditionField>>()
const MOST_PARSED = 100

/** Throws InvalidParameter with the column of the error where the text is no condition. */
export function conditionField(text: string, fields: KnownFields, origin?: Origin): ConditionField {
  const known = parsed.get(fields) ?? new Map<string, ConditionField>()
  parsed.set(fields, known)
  const found = known.get(text) ?? fieldOf(parseCondition(text, fields, origin), fields)
  if (known.size >= MOST_PARSED) known.clear()
  known.set(found.name, found)
  // What a name means may change.
  if (conditionsIn(text).length === 0) known.set(text, found)
  return found
}

const NEEDS: readonly KnownField['needs'][] = ['bars', 'facts', 'sector']

function fieldOf(condition: Condition, fields: KnownFields): ConditionField {
  const name = printCondition(condition)
  const rules = [
    { band: TRUTHS[TRUE]!, condition },
    { band: TRUTHS[1 - TRUE]!, condition: null },
  ]
  return { name, bands: TRUTHS, summary: `where ${name}`, condition, ...ruled(rules, fields) }
}

/** Rules need the data of the fields that they name, and the highest of their tiers. */
export function ruled(
  rules: readonly Rule[],
  fields: KnownFields,
): Pick<RuledField, 'rules' | 'subjects' | 'tier' | 'needs'> {
  const subjects = rules.flatMap(({ condition }) => (condition === null ? [] : subjectsOf(condition)))
  const named = subjects.map(({ field }) => fields.named(field)!)
  return {
    rules,
    subjects,
    tier: named
      .map(({ tier }) => tier)
      .reduce((highest, tier) => (includesTier(highest, tier) ? highest : tier), 'free'),
    needs: NEEDS.findLast(need => named.some(({ needs }) => needs === need)) ?? 'bars',
  }
}
