// For: conditions and expressions that a user writes.
// In: text.
// Out: a tree, and its truth or its number at each bar.

import { InvalidParameter, quoted, suggest } from '../errors.js'
import { parseTicker, TICKER_SHAPE, TIMEFRAME_NAMES, type Timeframe } from '../model/terms.js'
import { type Origin, Reader } from './reader.js'

/**
 * Conditions: tests of bands, joined by `and`, `or`, `not`. A parsed condition is printed as a text that parses to the
 * same. That canonical text is the condition's name.
 */

/** The ticker, field and timeframe whose band a test checks. */
export interface Subject {
  /** null: the ticker of the query. */
  ticker: string | null
  field: string
  /** null: the timeframe of the query. */
  timeframe: Timeframe | null
}

export type Condition = Joined | Negation | StateTest | ChangeTest
export type Test = StateTest | ChangeTest

export interface Joined {
  is: 'and' | 'or'
  /** Two or more, none of them joined by the same word. */
  parts: readonly Condition[]
}

export interface Negation {
  is: 'not'
  part: Condition
}

/** `=`, `!=`, `in`, `not in`, on a number of consecutive bars of the subject. */
export interface StateTest {
  is: 'state'
  subject: Subject
  negated: boolean
  /** Each once, in the order of the text. */
  bands: readonly string[]
  /** Default 1. */
  bars: number
}

/** `enters`, `leaves`, on one of the last bars of the query. */
export interface ChangeTest {
  is: 'change'
  subject: Subject
  word: 'enters' | 'leaves'
  /** null: any band. */
  entered: readonly string[] | null
  left: readonly string[] | null
  /** Default 1. */
  within: number
}

/** Reserved words: not allowed as names of a user's own fields and bands. */
export const KEYWORDS = 'and or not in for bars enters leaves from to within any otherwise true false'.split(' ')

/** Parses a condition. An error reports its column, the allowed words, and the nearest of them. */
export function parseCondition(text: string, vocabulary: Vocabulary, origin: Origin = { param: 'when' }): Condition {
  return new Grammar(text, vocabulary, origin).complete()
}

/** The words allowed after the beginning of a condition; empty where the text is none. */
export function allowedAfter(text: string, vocabulary: Vocabulary): string[] {
  try {
    return new Grammar(text, vocabulary, { param: 'when' }).allowedAtEnd()
  } catch {
    return []
  }
}

/** Whether a text is a complete condition. */
export function isComplete(text: string, vocabulary: Vocabulary): boolean {
  try {
    parseCondition(text, vocabulary)
    return true
  } catch {
    return false
  }
}

type NamedField = NonNullable<ReturnType<Vocabulary['named']>>

class Grammar {
  readonly #reader: Reader
  readonly #vocabulary: Vocabulary
  /** The field of the previous test, for a next test without a field. */
  #before: NamedField | null = null

  constructor(text: string, vocabulary: Vocabulary, origin: Origin) {
    this.#reader = new Reader(text, origin, true)
    this.#vocabulary = vocabulary
  }

  complete(): Condition {
    const condition = this.#condition()
    this.#reader.end(printCondition(condition))
    return condition
  }

  /** The words allowed at the end of the text, whether or not a condition may end there. */
  allowedAtEnd(): string[] {
    try {
      this.complete()
    } catch (error) {
      if (this.#reader.word.kind !== 'end') throw error
    }
    return this.#reader.allowed
  }

  #condition(): Condition {
    return this.#joined('or', () => this.#joined('and', () => this.#negation()))
  }

  #joined(word: 'and' | 'or', part: () => Condition): Condition {
    const parts = [part()]
    while (this.#reader.takes(word)) parts.push(part())
    return parts.length === 1
      ? parts[0]!
      : { is: word, parts: parts.flatMap(one => (one.is === word ? one.parts : [one])) }
  }

  #negation(): Condition {
    const { word } = this.#reader
    if (!this.#reader.takes('not')) return this.#atom()
    return { is: 'not', part: this.#reader.nested(() => this.#negation(), word) }
  }

  #atom(): Condition {
    const { word } = this.#reader
    const { conditions } = this.#vocabulary
    if (word.text === '@' && word.kind === 'sign' && conditions !== undefined) return this.#named(conditions)
    if (!this.#reader.takes('(')) return this.#test()
    const inner = this.#reader.nested(() => this.#condition(), word)
    this.#reader.needs(')')
    return inner
  }

  /** `@cheap`: the condition of that name. */
  #named(conditions: NamedConditions): Condition {
    const reader = this.#reader
    reader.step()
    const { kind, text: name, glued } = reader.word
    reader.allows('the name of a condition', conditions.names)
    if (kind !== 'word' || !glued) return reader.fail({ what: 'the name of a condition follows "@", without a blank' })
    const text = conditions.named(name)
    const hint = 'No condition has a name yet.'
    if (text === undefined)
      return reader.fail({ what: `there is no condition @${name}`, ...(conditions.names.length === 0 && { hint }) })
    const circle = circleFrom(name, conditions)
    if (circle !== null)
      return reader.fail({
        what: `@${name} uses itself, by way of ${circle.join(', ')}`,
        meant: [],
        isWordFine: true,
      })
    try {
      const condition = new Grammar(text, this.#vocabulary, { param: `@${name}` }).complete()
      reader.step()
      return condition
    } catch (error) {
      if (!(error instanceof InvalidParameter)) throw error
      const why = error.message.replace(/\.$/, '')
      return reader.fail({ what: `@${name} means ${quoted(text)}: ${why}`, meant: [], isWordFine: true })
    }
  }

  #test(): Test {
    const reader = this.#reader
    const { subject, field } = this.#subject()
    this.#before = field
    if (reader.takes('=')) return this.#state(subject, false, [this.#band(field)])
    if (reader.takes('!=')) return this.#state(subject, true, [this.#band(field)])
    if (reader.takes('in')) return this.#state(subject, false, this.#list(field))
    if (reader.takes('not')) {
      const { text } = reader.word
      reader.needs('in', field.bands.includes(text) ? { meant: [`!= ${text}`] } : {})
      return this.#state(subject, true, this.#list(field))
    }
    if (reader.takes('enters')) return this.#change(subject, field, 'enters')
    if (reader.takes('leaves')) return this.#change(subject, field, 'leaves')
    return this.#failOperator(field)
  }

  #failOperator(field: NamedField): never {
    const { word } = this.#reader
    if (/^[<>]=?$/.test(word.text)) return this.#reader.fail({ hint: NO_NUMBERS, meant: ['='] })
    if (word.text === 'is' && this.#reader.ahead(1)?.text === 'not') return this.#reader.fail({ meant: ['!='] })
    if (field.bands.includes(word.text)) return this.#reader.fail({ meant: [`= ${word.text}`] })
    if (word.kind === 'end') return this.#reader.fail({ hint: 'Quote the whole condition if it has blanks.' })
    return this.#reader.fail()
  }

  #state(subject: Subject, negated: boolean, bands: readonly string[]): StateTest {
    return { is: 'state', subject, negated, bands, bars: this.#bars('for') }
  }

  #change(subject: Subject, field: NamedField, word: 'enters' | 'leaves'): ChangeTest {
    const own = this.#bands(field)
    const other = this.#reader.takes(word === 'enters' ? 'from' : 'to') ? this.#bands(field) : null
    const [entered, left] = word === 'enters' ? [own, other] : [other, own]
    return { is: 'change', subject, word, entered, left, within: this.#bars('within') }
  }

  /** `for 5 bars`, `within 5`; 1 without. */
  #bars(word: 'for' | 'within'): number {
    if (!this.#reader.takes(word)) return 1
    const bars = this.#reader.count()
    this.#reader.takes('bars')
    return bars
  }

  #subject(): { subject: Subject; field: NamedField } {
    const reader = this.#reader
    const ticker = reader.word.kind === 'ticker' ? this.#ticker() : null
    const field = this.#field(ticker !== null)
    return { subject: { ticker, field: field.name, timeframe: this.#timeframe() }, field }
  }

  #ticker(): string {
    const reader = this.#reader
    const ticker = parseTicker(reader.word.text)
    if (ticker === null) {
      reader.allows(`a ticker of ${TICKER_SHAPE}`)
      return reader.fail({ what: `${quoted(reader.word.text)} is no ticker` })
    }
    reader.step()
    return ticker
  }

  #field(behindTicker: boolean): NamedField {
    const reader = this.#reader
    const { kind, text, glued } = reader.word
    reader.allows('a field', this.#vocabulary.names)
    if (behindTicker && !glued) return reader.fail({ what: 'no blank may stand behind the colon of a ticker' })
    const field = kind === 'word' ? this.#vocabulary.named(text) : undefined
    if (field === undefined) return this.#failField(behindTicker)
    reader.step()
    return field
  }

  #failField(behindTicker: boolean): never {
    const reader = this.#reader
    const { kind, text, written } = reader.word
    if (!behindTicker) reader.allows('TICKER:FIELD')
    const next = reader.ahead(1)
    const second = reader.ahead(2)
    if (next?.text === ':' && !behindTicker) {
      const what = next.glued ? `${quoted(written)} is no ticker` : 'no blank may stand before the colon of a ticker'
      return reader.fail({ what, meant: [], hint: `A ticker is ${TICKER_SHAPE}.` })
    }
    if (kind !== 'word' || KEYWORDS.includes(text)) return reader.fail()
    const what = `there is no field ${quoted(written)}`
    const [owner] = this.#before?.bands.includes(text) ? [this.#before.name] : fieldsWithBand(text, this.#vocabulary)
    if (owner !== undefined)
      return reader.fail({ what: `${text} is a band and no field`, meant: [`${owner} = ${text}`] })
    const isNumeric = /^[<>]/.test(next?.text ?? '') || second?.kind === 'number'
    const meant = likelyFields(text, this.#vocabulary).slice(0, 3)
    return reader.fail({ what, meant, ...(isNumeric ? { hint: NO_NUMBERS } : {}) })
  }

  #timeframe(): Timeframe | null {
    const reader = this.#reader
    const { glued: last, text: sign } = reader.word
    if (!last && sign !== '@') return null
    if (!reader.sees('@')) return null
    if (!last) return reader.fail({ what: 'no blank may stand before "@"', meant: [] })
    reader.step()
    const { kind, text, glued: next } = reader.word
    reader.allows('a timeframe', TIMEFRAME_NAMES)
    if (!next && kind !== 'end') return reader.fail({ what: 'no blank may stand behind "@"' })
    const timeframe = TIMEFRAME_NAMES.find(name => name === text)
    if (timeframe === undefined) return reader.fail()
    reader.step()
    return timeframe
  }

  #band(field: NamedField): string {
    const reader = this.#reader
    const { kind, text, written } = reader.word
    reader.allows(`a band of ${field.name}`, field.bands)
    if (kind === 'word' && field.bands.includes(text)) return reader.step().text
    if (text === '(' && kind === 'sign')
      return reader.fail({ what: 'one band stands here', hint: 'Of several: in (A, B).' })
    if (kind === 'number') return reader.fail({ what: `${written} is no band of ${field.name}`, hint: NO_NUMBERS })
    return reader.fail(kind === 'end' ? {} : { what: `${quoted(written)} is no band of ${field.name}` })
  }

  /** `(A, B)` */
  #list(field: NamedField): readonly string[] {
    const reader = this.#reader
    const { text } = reader.word
    reader.needs('(', field.bands.includes(text) ? { meant: [`(${text})`] } : {})
    const bands = [this.#band(field)]
    while (reader.takes(',')) bands.push(this.#band(field))
    reader.needs(')')
    return [...new Set(bands)]
  }

  /** `A`, `(A, B)`, or `any`: null */
  #bands(field: NamedField): readonly string[] | null {
    const reader = this.#reader
    if (reader.takes('any')) return null
    return reader.sees('(') ? this.#list(field) : [this.#band(field)]
  }
}

const NO_NUMBERS = 'A test compares a field with its bands, not with numbers.'

/** The canonical text of a condition: lower case, one space between words, no unnecessary brackets. */
export function printCondition(condition: Condition): string {
  switch (condition.is) {
    case 'or':
      return condition.parts.map(printCondition).join(' or ')
    case 'and':
      return condition.parts
        .map(part => (part.is === 'or' ? `(${printCondition(part)})` : printCondition(part)))
        .join(' and ')
    case 'not':
      return condition.part.is === 'and' || condition.part.is === 'or'
        ? `not (${printCondition(condition.part)})`
        : `not ${printCondition(condition.part)}`
    default:
      return printTest(condition)
  }
}

function printTest(test: Test): string {
  const subject = printSubject(test.subject)
  if (test.is === 'state') {
    const { negated, bands, bars } = test
    const how =
      bands.length === 1 ? `${negated ? '!=' : '='} ${bands[0]}` : `${negated ? 'not in' : 'in'} (${bands.join(', ')})`
    return `${subject} ${how}${bars === 1 ? '' : ` for ${bars}`}`
  }
  const { word, entered, left, within } = test
  const [own, other, joint] = word === 'enters' ? [entered, left, 'from'] : [left, entered, 'to']
  const rest = other === null ? '' : ` ${joint} ${printBands(other)}`
  return `${subject} ${word} ${printBands(own)}${rest}${within === 1 ? '' : ` within ${within}`}`
}

function printBands(bands: readonly string[] | null): string {
  if (bands === null) return 'any'
  return bands.length === 1 ? bands[0]! : `(${bands.join(', ')})`
}

/** A subject in a canonical text: `GSPC:rsi_zone@weekly`. */
export function printSubject({ ticker, field, timeframe }: Subject): string {
  return `${ticker === null ? '' : `${ticker}:`}${field}${timeframe === null ? '' : `@${timeframe}`}`
}

/** The tests of a condition in the order of the text. */
export function testsOf(condition: Condition): Test[] {
  switch (condition.is) {
    case 'and':
    case 'or':
      return condition.parts.flatMap(testsOf)
    case 'not':
      return testsOf(condition.part)
    default:
      return [condition]
  }
}

/** The subjects of a condition, each once, in the order of the text. */
export function subjectsOf(condition: Condition): Subject[] {
  const subjects = new Map<string, Subject>()
  for (const { subject } of testsOf(condition)) {
    const name = printSubject(subject)
    if (!subjects.has(name)) subjects.set(name, subject)
  }
  return [...subjects.values()]
}

/** The fields that a text may name; a FieldSet is one. */
export interface Vocabulary {
  named(name: string): { readonly name: string; readonly bands: readonly string[] } | undefined
  readonly names: readonly string[]
  /** What `@NAME` may mean; absent where no name may stand. */
  readonly conditions?: NamedConditions
}

/** The conditions that a user has named. */
export interface NamedConditions {
  readonly names: readonly string[]
  named(name: string): string | undefined
}

/** The names from a condition back to itself, `@b, @a`; null where it does not use itself. */
function circleFrom(name: string, conditions: NamedConditions): string[] | null {
  const seen = new Set<string>()
  const search = (at: string): string[] | null => {
    for (const other of conditionsIn(conditions.named(at) ?? '')) {
      if (other === name) return [`@${other}`]
      if (seen.has(other)) continue
      seen.add(other)
      const rest = search(other)
      if (rest !== null) return [`@${other}`, ...rest]
    }
    return null
  }
  return search(name)
}

/** The named conditions in a text: `@cheap`, but not the timeframe of `rsi_zone@weekly`. */
export function conditionsIn(text: string): string[] {
  return Array.from(text.matchAll(/(?<!\w)@([a-z]\w*)/gi), ([, name]) => name!.toLowerCase())
}

/** Common names of fields that are no part of the real name. */
const COMMON_NAMES: Readonly<Record<string, string>> = {
  rsi_zone: 'momentum',
  macd_state: 'momentum',
  ma_alignment: 'sma ema moving_average',
  volatility_regime: 'atr natr',
  accumulation_state: 'obv',
  volume_ratio_band: 'volumes',
  valuation_zone: 'pb value',
  revenue_growth_direction: 'sales',
  earnings_surprise: 'surprise',
  analyst_consensus: 'ratings analysts',
  insider_activity_zone: 'insiders',
}

/**
 * The fields that a word may mean, best first: by spelling, otherwise as a part of a name (`rsi`, `trend`), otherwise
 * as a common name.
 */
export function likelyFields(word: string, { names }: Vocabulary): readonly string[] {
  const typed = word.toLowerCase().replaceAll('-', '_')
  const exact = names.filter(name => name === typed)
  if (exact.length > 0) return exact
  // A short word is more likely a part than a typo: "eps" is not "pe".
  const part = names.filter(name => `_${name}_`.includes(`_${typed}_`))
  if (part.length > 0) return part.toSorted((a, b) => Number(b.startsWith(typed)) - Number(a.startsWith(typed)))
  const called = Object.keys(COMMON_NAMES).filter(name => COMMON_NAMES[name]!.split(' ').includes(typed))
  return called.length > 0 ? called.filter(name => names.includes(name)) : suggest(typed, names)
}

/** The fields with a band of that name, in the order of the specification. */
export function fieldsWithBand(band: string, fields: Vocabulary): string[] {
  return fields.names.filter(name => fields.named(name)?.bands.includes(band))
}
