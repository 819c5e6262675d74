import { createHash } from 'node:crypto'
import { BadData, describeValue, didYouMean, quoted, suggest } from '../errors.js'
import { expressionField } from '../fields/field.js'
import { type AnyField, BUILT_IN_FIELDS, type FieldSet, fieldSet } from '../fields/index.js'
import { type Rule, type RuledField, ruleProperties } from '../language/as-field.js'
import { KEYWORDS, parseCondition, printCondition, subjectsOf, type Vocabulary } from '../language/condition.js'
import { parseExpression, printExpression } from '../language/expression.js'
import { isMapping } from './arguments.js'
import { whyBandReserved, whyFieldReserved } from './reserved-names.js'
import { type LocatedDocument, readYaml } from './strategy-file.js'

/** The user's own fields, as a file defines them. Each fault is reported with its position. */

/** A definition as a program gives it. */
export interface OwnField {
  field: string
  /** An expression, with cuts and bands: `rsi(close, 2)`. */
  of?: string | number
  /** Ascending, one fewer than the bands. */
  cuts?: readonly number[]
  bands?: readonly string[]
  /** Band → condition, in order; `otherwise` is last. */
  when?: Readonly<Record<string, string>>
}

const FIELD_KEYS = ['field', 'of', 'cuts', 'bands', 'when'] as const
const ALLOWED_NAME = /^[a-z][a-z0-9_]{0,39}$/
const NAME_RULE = 'small letters, digits and _, a letter first, at most 40'
const MAX_FIELDS = 200
/** A band is stored as one byte. */
const MAX_BANDS = 250
const OTHERWISE = 'otherwise'

/**
 * The built-in fields, followed by those that a text defines, in its order.
 * @param file the name of the text in refusals, which are BadData at file:line:column
 */
export function ownFieldSet(text: string, file: string): FieldSet {
  const document = readYaml(text, file)
  // An empty file defines no field.
  if (document.value == null) return BUILT_IN_FIELDS
  return new FieldsReader(document).readFieldSet()
}

/** A definition whose name and bands are read, but not its conditions, cuts or expression. */
interface Definition {
  /** Its index in the list of the file. */
  index: number
  name: string
  bands: readonly string[]
  entry: Readonly<Record<string, unknown>>
}

/** Reads the definitions of a file in two passes: first all names and bands, then conditions and expressions. */
class FieldsReader {
  readonly #document: LocatedDocument
  readonly #definitions: readonly Definition[]
  /** The finished fields, each after the fields that it uses. */
  readonly #finished = new Map<string, AnyField>()
  readonly #rules = new Map<string, readonly Rule[]>()

  constructor(document: LocatedDocument) {
    this.#document = document
    const { value } = document
    if (!Array.isArray(value))
      throw this.#faultAt([], 'own fields are a list, each entry beginning with "- field: NAME"')
    if (value.length > MAX_FIELDS)
      throw this.#faultAt([], `there are ${value.length} fields, and at most ${MAX_FIELDS} are read`)
    const definitions: Definition[] = []
    for (const [index, entry] of value.entries()) definitions.push(this.#readDefinition(index, entry, definitions))
    this.#definitions = definitions
  }

  /** The built-in fields, then those of the file in its order, each made after the fields that it uses. */
  readFieldSet(): FieldSet {
    const byName = new Map(this.#definitions.map(definition => [definition.name, definition]))
    const vocabulary: Vocabulary = {
      names: [...BUILT_IN_FIELDS.names, ...byName.keys()],
      named: name => BUILT_IN_FIELDS.named(name) ?? byName.get(name),
    }
    for (const definition of this.#definitions)
      if ('when' in definition.entry) this.#rules.set(definition.name, this.#readRules(definition, vocabulary))
    for (const definition of this.#definitions) this.#makeField(definition, byName)
    return fieldSet([...BUILT_IN_FIELDS.all, ...this.#definitions.map(({ name }) => this.#finished.get(name)!)])
  }

  /** Reads the keys of a definition, its name and its bands. @param before the definitions above it */
  #readDefinition(index: number, entry: unknown, before: readonly Definition[]): Definition {
    if (!isMapping(entry)) throw this.#faultAt([index], 'an own field is a mapping that begins with field: NAME')
    const unknown = Object.keys(entry).find(key => !FIELD_KEYS.some(known => known === key))
    if (unknown !== undefined) {
      const fault = `there is no key ${quoted(unknown)} in an own field.${didYouMean(suggest(unknown, FIELD_KEYS))}`
      throw this.#faultAt([index, unknown], `${fault} It may have ${FIELD_KEYS.join(', ')}`, 'key')
    }
    const name = this.#readName(index, entry.field, before)
    const hasBothOrNeither = 'of' in entry === 'when' in entry
    if (hasBothOrNeither)
      throw this.#faultAt(
        [index, 'field'],
        `${name} has to have either of (an expression, with cuts and bands) or when (conditions)`,
      )
    const conflict = ['cuts', 'bands'].find(key => key in entry && 'when' in entry)
    if (conflict !== undefined)
      throw this.#faultAt([index, conflict], `${name} has when, whose keys are its bands; ${conflict} is for of`, 'key')
    const bands =
      'when' in entry ? this.#readBandsOfConditions(index, name, entry.when) : this.#readBands(index, name, entry.bands)
    return { index, name, bands, entry }
  }

  /** The name of a field. Throws BadData if it is missing, not allowed, or that of a field before it. */
  #readName(index: number, name: unknown, before: readonly Definition[]): string {
    const at = [index, 'field']
    if (name == null)
      throw this.#faultAt(name === undefined ? [index] : at, 'field is missing: each own field needs a name')
    const text = this.#readAllowedName(at, 'name', name)
    if (before.some(other => other.name === text)) throw this.#faultAt(at, `${text} is defined twice`)
    return text
  }

  /**
   * The name of a field or a band. Throws BadData if it is not allowed.
   * @param written the YAML value: also a boolean or a number @param part whether it is a key or a value in the file
   */
  #readAllowedName(
    at: readonly (string | number)[],
    what: 'name' | 'band',
    written: unknown,
    part: 'key' | 'value' = 'value',
  ): string {
    if (written === null) throw this.#faultAt(at, `a ${what} is missing here; write the name null in quotes`)
    const text = String(written)
    if (typeof written === 'object' || !ALLOWED_NAME.test(text))
      throw this.#faultAt(at, `${describeValue(written)} is no ${what}: ${NAME_RULE}`, part)
    if (KEYWORDS.includes(text))
      throw this.#faultAt(at, `${quoted(text)} is a word of the language of conditions, and cannot be a ${what}`, part)
    const taken = what === 'band' ? whyBandReserved(text) : whyFieldReserved(text)
    if (taken !== undefined) throw this.#faultAt(at, `${text} ${taken}; choose another name`, part)
    return text
  }

  /** The distinct names of the bands of a field by an expression. Throws BadData for any other value. */
  #readBands(index: number, name: string, bands: unknown): readonly string[] {
    const at = [index, 'bands']
    if (!Array.isArray(bands) || bands.length === 0) {
      const faultyPath = bands === undefined ? [index, 'of'] : at
      throw this.#faultAt(faultyPath, `${name} needs bands: a list of one more name than there are cuts`)
    }
    this.#refuseTooManyBands(at, name, bands.length)
    const names = bands.map((band, i) => this.#readAllowedName([...at, i], 'band', band))
    const twice = names.findIndex((band, i) => names.indexOf(band) < i)
    if (twice >= 0) throw this.#faultAt([...at, twice], `the band ${names[twice]} of ${name} stands twice`)
    return names
  }

  #refuseTooManyBands(at: readonly (string | number)[], name: string, bands: number): void {
    if (bands > MAX_BANDS) throw this.#faultAt(at, `${name} has ${bands} bands, and at most ${MAX_BANDS} are read`)
  }

  /** The bands of a field by conditions: the keys of `when`. */
  #readBandsOfConditions(index: number, name: string, when: unknown): readonly string[] {
    if (!isMapping(when) || Object.keys(when).length === 0)
      throw this.#faultAt([index, 'when'], `when of ${name} is a mapping of bands, each with its condition`)
    this.#refuseTooManyBands([index, 'when'], name, Object.keys(when).length)
    return Object.keys(when).map(band => this.#readAllowedName([index, 'when', band], 'band', band, 'key'))
  }

  /** The condition of each band, in order; null for `otherwise`. */
  #readRules({ index, name, entry }: Definition, vocabulary: Vocabulary): readonly Rule[] {
    const when = entry.when as Readonly<Record<string, unknown>>
    const bands = Object.keys(when)
    return bands.map((band, i) => {
      const at = [index, 'when', band]
      const text = when[band]
      if (typeof text !== 'string')
        throw this.#faultAt(at, `the band ${band} of ${name} needs a condition, or ${OTHERWISE}`)
      const textWithoutComments = text.replaceAll(/#.*/g, '').trim()
      if (textWithoutComments.toLowerCase() !== OTHERWISE) {
        const origin = { param: `${name}.${band}`, place: this.#document.placeInText(at) }
        return { band, condition: parseCondition(text, vocabulary, origin) }
      }
      if (i < bands.length - 1)
        throw this.#faultAt(at, `${OTHERWISE} is for bars that no rule before it decided, and comes last`)
      return { band, condition: null }
    })
  }

  /** The cuts between the bands: ascending numbers, one fewer than bands. Throws BadData for others. */
  #readCuts({ index, name, bands, entry }: Definition): readonly number[] {
    const at = [index, 'cuts']
    const { cuts = [] } = entry
    if (!Array.isArray(cuts)) throw this.#faultAt(at, `cuts of ${name} are a list of numbers`)
    for (const [i, cut] of cuts.entries()) {
      if (typeof cut !== 'number' || !Number.isFinite(cut))
        throw this.#faultAt([...at, i], `${quoted(String(cut))} is no number`)
      if (i > 0 && cut <= cuts[i - 1]) throw this.#faultAt([...at, i], `cuts ascend, and ${cut} follows ${cuts[i - 1]}`)
    }
    if (cuts.length === bands.length - 1) return cuts as number[]
    const wanted = `${bands.length} bands need ${bands.length - 1} cuts between them`
    throw this.#faultAt('cuts' in entry ? at : [index, 'bands'], `${name}: ${wanted}, and there are ${cuts.length}`)
  }

  /**
   * Makes a field after the fields that it uses.
   * @param usedBy the chain of fields that leads to this one: each uses the next. Throws BadData if this one is in it
   */
  #makeField(
    definition: Definition,
    byName: ReadonlyMap<string, Definition>,
    usedBy: readonly string[] = [],
  ): AnyField {
    const { name } = definition
    const finished = this.#finished.get(name)
    if (finished !== undefined) return finished
    if (usedBy.includes(name)) {
      const circle = [...usedBy.slice(usedBy.indexOf(name)), name].join(' → ')
      throw this.#faultAt([definition.index, 'field'], `own fields refer to each other in a circle: ${circle}`)
    }
    const rules = this.#rules.get(name)
    const field =
      rules === undefined
        ? this.#makeExpressionField(definition)
        : this.#makeRuledField(definition, rules, byName, [...usedBy, name])
    this.#finished.set(name, field)
    return field
  }

  /** A field whose bands are ranges of an expression's values, between cuts. */
  #makeExpressionField(definition: Definition): AnyField {
    const { index, name, bands, entry } = definition
    const at = [index, 'of']
    const cuts = this.#readCuts(definition)
    // A number is also an expression.
    const text = typeof entry.of === 'number' ? String(entry.of) : entry.of
    if (typeof text !== 'string') throw this.#faultAt(at, `of is an expression such as rsi(close, 14)`)
    const of = parseExpression(text, { param: `${name}.of`, place: this.#document.placeInText(at) })
    return expressionField({ name, of, cuts, bands, hash: hashOf({ of: printExpression(of), cuts, bands }) })
  }

  /**
   * A field by conditions. Its hash covers the definitions of the own fields that it uses.
   * @param usedByChain for each field that it uses, the chain of fields that leads to it; the last is this field
   */
  #makeRuledField(
    { name, bands }: Definition,
    rules: readonly Rule[],
    byName: ReadonlyMap<string, Definition>,
    usedByChain: readonly string[],
  ): RuledField {
    const hashesOfUsedFields: Record<string, string> = {}
    for (const { condition } of rules) {
      if (condition === null) continue
      for (const { field } of subjectsOf(condition)) {
        const definition = byName.get(field)
        if (definition !== undefined) hashesOfUsedFields[field] = this.#makeField(definition, byName, usedByChain).hash!
      }
    }
    const when = rules.map(({ band, condition }) => [band, condition && printCondition(condition)])
    const fields = { named: (field: string) => BUILT_IN_FIELDS.named(field) ?? this.#finished.get(field) }
    return {
      name,
      bands,
      hash: hashOf({ when, under: hashesOfUsedFields }),
      summary: `your own: ${when.map(([band, text]) => `${band} where ${text ?? OTHERWISE}`).join('; ')}`,
      ...ruleProperties(rules, fields),
    }
  }

  /** The error at a key or a value of the file. @param what the fault, as a sentence without its full stop */
  #faultAt(path: readonly (string | number)[], what: string, part: 'key' | 'value' = 'value'): BadData {
    return new BadData(this.#document.placeOf(path, part), what)
  }
}

/** The first 16 hexadecimal digits of the SHA-256 of a definition. */
function hashOf(definition: object): string {
  return createHash('sha256').update(JSON.stringify(definition)).digest('hex').slice(0, 16)
}
