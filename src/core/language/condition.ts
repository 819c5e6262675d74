// For: conditions and expressions that a user writes.
// In: text.
// Out: a tree, and its truth or its number at each bar.

import { InvalidParameter, quoted, remedy, suggest } from '../errors.js'
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
  return new Grammar(text, vocabulary, origin).parse()
}

/** Whether a text can be parsed as a condition. */
export function isCompleteCondition(text: string, vocabulary: Vocabulary): boolean {
  try {
    parseCondition(text, vocabulary)
    return true
  } catch {
    return false
  }
}

type NamedField = NonNullable<ReturnType<Vocabulary['named']>>

interface FieldPosition {
  /** Whether the field follows the colon of a ticker. */
  isBehindTicker: boolean
}

/** A parser by recursive descent. Each method reads one part of the grammar, and refuses a word that is not allowed. */
class Grammar {
  readonly #reader: Reader
  readonly #vocabulary: Vocabulary
  /** The field of the previous test, for a next test without a field. */
  #previousField: NamedField | null = null

  constructor(text: string, vocabulary: Vocabulary, origin: Origin) {
    this.#reader = new Reader(text, origin, { hasTickers: true })
    this.#vocabulary = vocabulary
  }

  parse(): Condition {
    const condition = this.#condition()
    this.#reader.expectEnd(printCondition(condition))
    return condition
  }

  #condition(): Condition {
    return this.#readJoined('or', () => this.#readJoined('and', () => this.#negation()))
  }

  /** Reads parts joined by a word; a single part is returned as it is, and parts of a part with the same word join. */
  #readJoined(word: 'and' | 'or', readPart: () => Condition): Condition {
    const first = readPart()
    const parts = [first]
    while (this.#reader.accept(word)) parts.push(readPart())
    if (parts.length === 1) return first
    return { is: word, parts: parts.flatMap(part => (part.is === word ? part.parts : [part])) }
  }

  #negation(): Condition {
    const { word } = this.#reader
    if (!this.#reader.accept('not')) return this.#atom()
    return { is: 'not', part: this.#reader.readNested(() => this.#negation(), word) }
  }

  /** Reads a named condition, a condition in brackets, or a test. */
  #atom(): Condition {
    const { word } = this.#reader
    const { conditions } = this.#vocabulary
    if (word.text === '@' && word.kind === 'sign' && conditions !== undefined) return this.#namedCondition(conditions)
    if (!this.#reader.accept('(')) return this.#test()
    const inner = this.#reader.readNested(() => this.#condition(), word)
    this.#reader.expect(')')
    return inner
  }

  /** `@cheap`: the condition of that name. */
  #namedCondition(conditions: NamedConditions): Condition {
    const reader = this.#reader
    reader.advance()
    const { kind, text: name, isGlued: glued } = reader.word
    reader.allow('the name of a condition', conditions.names)
    if (kind !== 'word' || !glued) return reader.fail({ what: 'the name of a condition follows "@", without a blank' })
    const text = conditions.named(name)
    if (text === undefined) {
      const what = `there is no condition @${name}`
      return reader.fail(conditions.names.length > 0 ? { what } : { what, hint: 'No condition has a name yet.' })
    }
    const circularPath = circularNames(name, conditions)
    if (circularPath !== null)
      return reader.fail({ what: `@${name} uses itself, by way of ${circularPath.join(', ')}`, listsAllowed: false })
    try {
      const condition = new Grammar(text, this.#vocabulary, { param: `@${name}` }).parse()
      reader.advance()
      return condition
    } catch (error) {
      if (!(error instanceof InvalidParameter)) throw error
      const why = error.message.replace(/\.$/, '')
      return reader.fail({ what: `@${name} means ${quoted(text)}: ${why}`, listsAllowed: false })
    }
  }

  /** Reads a test: a subject, an operator, and bands, such as `rsi_zone = oversold`. */
  #test(): Test {
    const reader = this.#reader
    const { subject, field } = this.#subject()
    this.#previousField = field
    if (reader.accept('=')) return this.#stateTest(subject, [this.#band(field)])
    if (reader.accept('!=')) return this.#stateTest(subject, [this.#band(field)], { negated: true })
    if (reader.accept('in')) return this.#stateTest(subject, this.#bandList(field))
    if (reader.accept('not')) {
      const { text } = reader.word
      reader.expect('in', field.bands.includes(text) ? { suggestions: [`!= ${text}`] } : {})
      return this.#stateTest(subject, this.#bandList(field), { negated: true })
    }
    if (reader.accept('enters')) return this.#changeTest(subject, field, 'enters')
    if (reader.accept('leaves')) return this.#changeTest(subject, field, 'leaves')
    return this.#refuseOperator(field)
  }

  /** Refuses a word that is no operator, with the likely one. */
  #refuseOperator(field: NamedField): never {
    const { word } = this.#reader
    if (/^[<>]=?$/.test(word.text)) return this.#reader.fail({ hint: NO_NUMBERS, suggestions: ['='] })
    if (word.text === 'is' && this.#reader.peek(1)?.text === 'not') return this.#reader.fail({ suggestions: ['!='] })
    if (field.bands.includes(word.text)) return this.#reader.fail({ suggestions: [`= ${word.text}`] })
    if (word.kind === 'end') return this.#reader.fail({ hint: 'Quote the whole condition if it has blanks.' })
    return this.#reader.fail()
  }

  #stateTest(subject: Subject, bands: readonly string[], { negated = false } = {}): StateTest {
    return { is: 'state', subject, negated, bands, bars: this.#barCount('for') }
  }

  /** The rest of `enters A from B`, or of `leaves B to A`. */
  #changeTest(subject: Subject, field: NamedField, word: 'enters' | 'leaves'): ChangeTest {
    const firstBands = this.#bandsOrAny(field)
    const secondBands = this.#reader.accept(word === 'enters' ? 'from' : 'to') ? this.#bandsOrAny(field) : null
    const [entered, left] = word === 'enters' ? [firstBands, secondBands] : [secondBands, firstBands]
    return { is: 'change', subject, word, entered, left, within: this.#barCount('within') }
  }

  /** The number in `for 5 bars` or `within 5`; 1 without the word. */
  #barCount(word: 'for' | 'within'): number {
    if (!this.#reader.accept(word)) return 1
    const bars = this.#reader.readCount()
    this.#reader.accept('bars')
    return bars
  }

  /** `rsi_zone`, `GSPC:rsi_zone`, `rsi_zone@weekly` */
  #subject(): { subject: Subject; field: NamedField } {
    const ticker = this.#reader.word.kind === 'ticker' ? this.#ticker() : null
    const field = this.#field({ isBehindTicker: ticker !== null })
    return { subject: { ticker, field: field.name, timeframe: this.#timeframe() }, field }
  }

  /** Reads a ticker, in upper case. */
  #ticker(): string {
    const reader = this.#reader
    const ticker = parseTicker(reader.word.text)
    if (ticker === null) {
      reader.allow(`a ticker of ${TICKER_SHAPE}`)
      return reader.fail({ what: `${quoted(reader.word.text)} is no ticker` })
    }
    reader.advance()
    return ticker
  }

  /** Reads the name of a field. */
  #field({ isBehindTicker }: FieldPosition): NamedField {
    const reader = this.#reader
    const { kind, text, isGlued: glued } = reader.word
    reader.allow('a field', this.#vocabulary.names)
    if (isBehindTicker && !glued) return reader.fail({ what: 'no blank may stand behind the colon of a ticker' })
    const field = kind === 'word' ? this.#vocabulary.named(text) : undefined
    if (field === undefined) return this.#refuseField({ isBehindTicker })
    reader.advance()
    return field
  }

  /** Refuses a word that is no field, with what the user may have meant. */
  #refuseField({ isBehindTicker }: FieldPosition): never {
    const reader = this.#reader
    const { kind, text, written } = reader.word
    if (!isBehindTicker) reader.allow('TICKER:FIELD')
    const next = reader.peek(1)
    const second = reader.peek(2)
    if (next?.text === ':' && !isBehindTicker) {
      const what = next.isGlued ? `${quoted(written)} is no ticker` : 'no blank may stand before the colon of a ticker'
      return reader.fail({ what, suggestions: [], hint: `A ticker is ${TICKER_SHAPE}.` })
    }
    if (kind !== 'word' || KEYWORDS.includes(text)) return reader.fail()
    const fieldOfBand = this.#previousField?.bands.includes(text)
      ? this.#previousField.name
      : fieldsWithBand(text, this.#vocabulary)[0]
    if (fieldOfBand !== undefined)
      return reader.fail({ what: `${text} is a band and no field`, suggestions: [`${fieldOfBand} = ${text}`] })
    if (text === 'sector') {
      const what = 'a sector is not a field; name its tickers instead, which status lists with their sectors'
      return reader.fail({ what, listsAllowed: false, remedy: remedy('status', [], { wide: true }) })
    }
    const what = `there is no field ${quoted(written)}`
    if (this.#vocabulary.conditions?.names.includes(text)) return reader.fail({ what, suggestions: [`@${text}`] })
    const comparesNumbers = /^[<>]/.test(next?.text ?? '') || second?.kind === 'number'
    const suggestions = likelyFields(text, this.#vocabulary).slice(0, 3)
    return reader.fail(comparesNumbers ? { what, suggestions, hint: NO_NUMBERS } : { what, suggestions })
  }

  /** The timeframe in `@weekly`; null without one. */
  #timeframe(): Timeframe | null {
    const reader = this.#reader
    const { isGlued: isSignGlued, text: sign } = reader.word
    // After a blank "@" is not allowed; isNext() would list it as an allowed word.
    if (!isSignGlued && sign !== '@') return null
    if (!reader.isNext('@')) return null
    if (!isSignGlued) return reader.fail({ what: 'no blank may stand before "@"', suggestions: [] })
    reader.advance()
    const { kind, text, isGlued: isNameGlued } = reader.word
    reader.allow('a timeframe', TIMEFRAME_NAMES)
    if (!isNameGlued && kind !== 'end') return reader.fail({ what: 'no blank may stand behind "@"' })
    const timeframe = TIMEFRAME_NAMES.find(name => name === text)
    if (timeframe === undefined) return reader.fail()
    reader.advance()
    return timeframe
  }

  /** Reads the name of one band of a field. */
  #band(field: NamedField): string {
    const reader = this.#reader
    const { kind, text, written } = reader.word
    reader.allow(`a band of ${field.name}`, field.bands)
    if (kind === 'word' && field.bands.includes(text)) return reader.advance().text
    if (text === '(' && kind === 'sign')
      return reader.fail({ what: 'one band stands here', hint: 'Of several: in (A, B).' })
    if (kind === 'number') return reader.fail({ what: `${written} is no band of ${field.name}`, hint: NO_NUMBERS })
    return reader.fail(kind === 'end' ? {} : { what: `${quoted(written)} is no band of ${field.name}` })
  }

  /** Reads `(A, B)`: bands of a field, each once. */
  #bandList(field: NamedField): readonly string[] {
    const reader = this.#reader
    const { text } = reader.word
    reader.expect('(', field.bands.includes(text) ? { suggestions: [`(${text})`] } : {})
    const bands = [this.#band(field)]
    while (reader.accept(',')) bands.push(this.#band(field))
    reader.expect(')')
    return [...new Set(bands)]
  }

  /** `A`, `(A, B)`, or `any`: null */
  #bandsOrAny(field: NamedField): readonly string[] | null {
    const reader = this.#reader
    if (reader.accept('any')) return null
    return reader.isNext('(') ? this.#bandList(field) : [this.#band(field)]
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
    case 'not': {
      const { part } = condition
      const text = printCondition(part)
      return part.is === 'and' || part.is === 'or' ? `not (${text})` : `not ${text}`
    }
    default:
      return printTest(condition)
  }
}

/** The canonical text of a test: `rsi_zone = oversold for 3`, `rsi_zone enters oversold from neutral_low within 5`. */
function printTest(test: Test): string {
  const subject = printSubject(test.subject)
  if (test.is === 'state') {
    const { negated, bands, bars } = test
    let operator = bands.length === 1 ? '=' : 'in'
    if (negated) operator = bands.length === 1 ? '!=' : 'not in'
    return `${subject} ${operator} ${printBands(bands)}${bars === 1 ? '' : ` for ${bars}`}`
  }
  const { word, entered, left, within } = test
  let bands = printBands(word === 'enters' ? entered : left)
  if (word === 'enters' && left !== null) bands += ` from ${printBands(left)}`
  if (word === 'leaves' && entered !== null) bands += ` to ${printBands(entered)}`
  return `${subject} ${word} ${bands}${within === 1 ? '' : ` within ${within}`}`
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

export interface NamedConditions {
  readonly names: readonly string[]
  named(name: string): string | undefined
}

/** The names that lead from a condition back to itself, `@b, @a`; null if it does not use itself. */
function circularNames(name: string, conditions: NamedConditions): string[] | null {
  const visited = new Set<string>()
  const pathFrom = (start: string): string[] | null => {
    for (const used of conditionsIn(conditions.named(start) ?? '')) {
      if (used === name) return [`@${used}`]
      if (visited.has(used)) continue
      visited.add(used)
      const rest = pathFrom(used)
      if (rest !== null) return [`@${used}`, ...rest]
    }
    return null
  }
  return pathFrom(name)
}

/** The named conditions in a text: `@cheap`, but not the timeframe of `rsi_zone@weekly`. */
export function conditionsIn(text: string): string[] {
  return Array.from(text.matchAll(/(?<!\w)@([a-z]\w*)/gi), ([, name]) => name!.toLowerCase())
}

/** Common names of fields, which are no part of the real names. */
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

/** The fields that a word may mean: of that name, else with it as a part, else by common name, else spelled alike. */
export function likelyFields(word: string, { names }: Vocabulary): readonly string[] {
  const normalized = word.toLowerCase().replaceAll('-', '_')
  const exact = names.filter(name => name === normalized)
  if (exact.length > 0) return exact
  // A short word is more likely a part than a typo: "eps" is not "pe".
  const byPart = names.filter(name => `_${name}_`.includes(`_${normalized}_`))
  if (byPart.length > 0)
    return byPart.toSorted((a, b) => Number(b.startsWith(normalized)) - Number(a.startsWith(normalized)))
  const byCommonName = Object.keys(COMMON_NAMES).filter(name => COMMON_NAMES[name]!.split(' ').includes(normalized))
  if (byCommonName.length > 0) return byCommonName.filter(name => names.includes(name))
  const similar = suggest(normalized, names)
  if (similar.length > 0) return similar
  // `pe_vs_history` begins as `pe_vs_historical` does.
  const beginning = normalized.slice(0, -2)
  return beginning.length < MIN_BEGINNING ? [] : names.filter(name => name.startsWith(beginning))
}

/** Fewer letters are the beginning of too many words. */
const MIN_BEGINNING = 5

/** The fields with a band of that name, in the order of the specification. */
export function fieldsWithBand(band: string, fields: Vocabulary): string[] {
  return fields.names.filter(name => fields.named(name)?.bands.includes(band))
}
