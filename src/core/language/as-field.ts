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

/** A band with its condition; null: `otherwise`. */
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
 * The codes of a ruled field's bands by bar. The first rule that is not false decides: a true one sets its band. A bar
 * has no band (UNDEFINED) if that rule is unknown, or if all rules are false.
 * @param bars the number of bars
 * @param truth the truth of a condition by bar: TRUE, FALSE, or UNDEFINED for unknown
 */
export function codesByRules(
  { rules, bands }: Pick<RuledField, 'rules' | 'bands'>,
  bars: number,
  truth: (condition: Condition) => Uint8Array,
): Uint8Array {
  const codes = new Uint8Array(bars).fill(UNDEFINED)
  const isDecided = new Uint8Array(bars)
  for (const { band, condition } of rules) {
    const code = bands.indexOf(band)
    const truths = condition === null ? new Uint8Array(bars).fill(TRUE) : truth(condition)
    for (let t = 0; t < bars; t++) {
      if (isDecided[t] === 1 || truths[t] === FALSE) continue
      isDecided[t] = 1
      if (truths[t] === TRUE) codes[t] = code
    }
  }
  return codes
}

/** The bands of a condition, by code. */
export const TRUTHS: readonly string[] = ['false', 'true']
const FALSE = TRUTHS.indexOf('false')
export const TRUE = TRUTHS.indexOf('true')

export function isConditionField(field: KnownField): field is ConditionField {
  return 'condition' in field
}

/** Whether a name has the form of a condition: names of fields are one word. */
export function isCondition(name: string): boolean {
  return /[\s=()@]/.test(name)
}

/** The lag of conditions on named tickers: `other tickers 2 bars before`; empty without a lag. */
export function lagInWords(lag: number | undefined): string[] {
  return lag === undefined ? [] : [`other tickers ${lag === 1 ? 'a bar' : `${lag} bars`} before`]
}

/** Conditions by their text, because every ticker needs them again. */
const parsedConditions = new WeakMap<KnownFields, Map<string, ConditionField>>()
const MAX_PARSED = 100

/**
 * The field of a condition, parsed once for a set of fields. Throws InvalidParameter with the column of the error if
 * the text is no condition.
 */
export function conditionField(text: string, fields: KnownFields, origin?: Origin): ConditionField {
  const cache = parsedConditions.get(fields) ?? new Map<string, ConditionField>()
  parsedConditions.set(fields, cache)
  const field = cache.get(text) ?? fieldOfCondition(parseCondition(text, fields, origin), fields)
  if (cache.size >= MAX_PARSED) cache.clear()
  cache.set(field.name, field)
  // A text that names conditions is not cached: the names may get another meaning.
  if (conditionsIn(text).length === 0) cache.set(text, field)
  return field
}

const NEEDS_ASCENDING: readonly KnownField['needs'][] = ['bars', 'facts', 'sector']

/** A condition as a field with the bands `true` and `false`. */
function fieldOfCondition(condition: Condition, fields: KnownFields): ConditionField {
  const name = printCondition(condition)
  const rules = [
    { band: TRUTHS[TRUE]!, condition },
    { band: TRUTHS[FALSE]!, condition: null },
  ]
  return { name, bands: TRUTHS, summary: `where ${name}`, condition, ...ruleProperties(rules, fields) }
}

/** The properties of a ruled field that follow from its rules: it has the highest of their tiers and needs. */
export function ruleProperties(
  rules: readonly Rule[],
  fields: Pick<KnownFields, 'named'>,
): Pick<RuledField, 'rules' | 'subjects' | 'tier' | 'needs'> {
  const subjects = rules.flatMap(({ condition }) => (condition === null ? [] : subjectsOf(condition)))
  const namedFields = subjects.map(({ field }) => fields.named(field)!)
  let highestTier: Tier = 'free'
  for (const { tier } of namedFields) if (!includesTier(highestTier, tier)) highestTier = tier
  return {
    rules,
    subjects,
    tier: highestTier,
    needs: NEEDS_ASCENDING.findLast(need => namedFields.some(({ needs }) => needs === need)) ?? 'bars',
  }
}
