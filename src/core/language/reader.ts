import {
  BadData,
  didYouMean,
  type FilePosition,
  InvalidParameter,
  numberText,
  parameter,
  quoted,
  type Remedy,
  sentence,
  suggest,
} from '../errors.js'

/** The origin of a text, for error messages. */
export interface Origin {
  /** The parameter whose value the text is. */
  param: string
  /** In a file: comments are allowed, and errors report the file with line and column from 1. */
  place?: (line: number, column: number) => FilePosition
}

/** Limits on the length and the nesting of a text. */
const MAX_CHARACTERS = 10_000
const MAX_DEPTH = 100
/** A limit on a number of bars. */
const MAX_BARS = 2_000

/** Allowed words of one kind at one position, such as all fields. */
interface Group {
  /** The kind of the words, such as `a field`; `words` is empty if they cannot be listed. */
  name: string
  words: readonly string[]
}

/** Parts of an error message besides the allowed words. */
interface Remarks {
  /** The error (default: the word is not allowed here). */
  what?: string
  /** A sentence at the end. */
  hint?: string
  /** Replaces the nearest allowed word. */
  suggestions?: readonly string[]
  /** Whether the message lists the words that are allowed here, and suggests the nearest (default true). */
  listsAllowed?: boolean
  /** A command that helps. */
  remedy?: Remedy
}

/** Reads a text word by word, and collects the words that are allowed at the current position. */
export class Reader {
  readonly #text: string
  readonly #words: readonly Word[]
  readonly #origin: Origin
  #next = 0
  #depth = 0
  #signs = new Set<string>()
  #groups: Group[] = []

  /** @param hasTickers whether a word followed by a colon is a ticker */
  constructor(text: string, origin: Origin, { hasTickers }: { hasTickers: boolean }) {
    this.#text = text
    this.#origin = origin
    if (isLong(text))
      this.#refuse(
        characterBeyondLimit(text),
        `at most ${numberText(MAX_CHARACTERS)} characters are read, and the text has more`,
      )
    // Only a text in a file may have comments.
    const allowsComments = origin.place !== undefined
    this.#words = splitIntoWords(text, hasTickers, allowsComments)
  }

  get word(): Word {
    return this.#words[this.#next]!
  }

  /** The word that is `words` positions after the current one. */
  peek(words: number): Word | undefined {
    return this.#words[this.#next + words]
  }

  /** Goes to the next word, and returns the one before. */
  advance(): Word {
    const { word } = this
    if (word.kind !== 'end') this.#next++
    this.#signs.clear()
    this.#groups = []
    return word
  }

  /** Whether the current word is this one; it becomes an allowed word. */
  isNext(text: string): boolean {
    this.#signs.add(text)
    return this.word.text === text && (this.word.kind === 'word' || this.word.kind === 'sign')
  }

  /** Passes the current word if it is this one; otherwise returns false. */
  accept(text: string): boolean {
    const isAccepted = this.isNext(text)
    if (isAccepted) this.advance()
    return isAccepted
  }

  /** Passes the current word, which must be this one. */
  expect(text: string, remarks: Remarks = {}): void {
    if (!this.accept(text)) this.fail(remarks)
  }

  /** Notes words that are allowed at the current position, for error messages. @param name their kind */
  allow(name: string, words: readonly string[] = []): void {
    this.#groups.push({ name, words })
  }

  /** Requires the end of the text. Refuses a text that would be too long as `printed`. */
  expectEnd(printed: string): void {
    const { kind, text } = this.word
    if (kind !== 'end') this.fail(text === ')' ? { what: 'no "(" is open that ")" could close' } : {})
    if (isLong(printed))
      this.#refuse(this.#words[0]!, `written out, the text has more than ${numberText(MAX_CHARACTERS)} characters`)
  }

  /** Reads a nested part with `inner`. Refuses too deep nesting. @param opening the word that the message points to */
  readNested<Inner>(inner: () => Inner, opening: Word): Inner {
    if (++this.#depth > MAX_DEPTH) this.#refuse(opening, `it is nested more than ${MAX_DEPTH} deep here`)
    const part = inner()
    this.#depth--
    return part
  }

  /** Reads an integer number of bars, from 1 on. */
  readCount({ most = MAX_BARS, remarks }: { most?: number; remarks?: Remarks } = {}): number {
    const { kind, text } = this.word
    this.allow(`a whole number from 1 to ${numberText(most)}`)
    const isCount = kind === 'number' && /^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= most
    return isCount ? Number(this.advance().text) : this.fail(remarks)
  }

  /** The allowed words at this position. */
  get allowed(): string[] {
    return [...new Set([...this.#groups.flatMap(({ words }) => words), ...this.#signs])]
  }

  /** Throws the error for the current word. Without remarks it is not allowed here. */
  fail({ what, hint, suggestions, listsAllowed = true, remedy }: Remarks = {}): never {
    const { word } = this
    const allowed = listsAllowed ? this.allowed : []
    const nearest = suggestions ?? nearestAllowed(word, allowed)
    let why = what ?? notAllowedWords(word)
    if (word.kind === 'quoted') why = `${quoted(word.text)} is in quotes`
    if (listsAllowed) why += `; allowed here: ${this.#allowedText()}`
    this.#refuse(word, why, allowed, nearest, hint === undefined ? '' : ` ${hint}`, remedy)
  }

  /**
   * Throws the error at a word: BadData for a text in a file, else InvalidParameter.
   * @param hint begins with a blank
   */
  #refuse(
    word: Pick<Word, 'at' | 'written'>,
    why: string,
    allowed: readonly string[] = [],
    suggestions: readonly string[] = [],
    hint = '',
    remedy?: Remedy,
  ): never {
    const { param, place } = this.#origin
    const { line, column } = lineAndColumn(this.#text, word.at)
    const words = `${why}.${didYouMean(suggestions)}${hint}`
    const about = remedy === undefined ? {} : { remedy }
    if (place !== undefined) throw new BadData(place(line, column), words, about)
    const where = isMultiline(this.#text) ? `line ${line}, column ${column}` : `column ${column}`
    const offence = { param, value: word.written, allowed, suggestions, line, column }
    throw new InvalidParameter(sentence`${parameter(param)}, ${where}: ${words}`, offence, about)
  }

  #allowedText(): string {
    const groups = this.#groups.map(({ name, words }) => (words.length === 0 ? name : `${name} (${firstWords(words)})`))
    const signs = [...this.#signs]
    return [...groups, ...signs].join(', ') || 'nothing more'
  }
}

/** The position of the first character beyond the limit. */
function characterBeyondLimit(text: string): Pick<Word, 'at' | 'written'> {
  const readCharacters = [...text.slice(0, 2 * MAX_CHARACTERS)].slice(0, MAX_CHARACTERS)
  return { at: readCharacters.join('').length, written: '' }
}

const isLong = (text: string): boolean => text.length > MAX_CHARACTERS && [...text].length > MAX_CHARACTERS

function notAllowedWords({ kind, written }: Word): string {
  return kind === 'end' ? 'the text ends here' : `${quoted(written)} cannot stand here`
}

/** Words as a list; only the first and the number if there are many. */
function firstWords(words: readonly string[]): string {
  return words.length <= 9 ? words.join(', ') : `${words.slice(0, 4).join(', ')} … ${words.length} in all`
}

/** For each word, what people type who know another language; the likelier words come first. */
const TYPOS: Readonly<Record<string, string>> = {
  within: 'during last in for',
  for: 'since during within',
  '=': '== === ~= : is equals eq in',
  '!=': '<> !== =! ≠ ne',
  and: '& && +',
  or: '| ||',
  not: '! ~',
  '(': '[ {',
  ')': '] }',
  '*': 'x × ·',
  '/': '÷',
  '-': '− –',
  enters: 'enter entered becomes crosses',
  leaves: 'leave left exits',
  to: 'into',
  bars: 'd day days w weeks',
  open: 'o',
  high: 'h',
  low: 'l',
  close: 'c price',
  volume: 'v',
  ln: 'log',
  sma: 'mean avg average ma',
  wilder: 'rma',
  highest: 'hhv',
  lowest: 'llv',
  ago: 'lag shift delay ref',
  percentile: 'rank',
}

/** The nearest allowed words, best first: a common typo, else a near spelling, else the same beginning or part. */
function nearestAllowed({ kind, text }: Word, allowed: readonly string[]): string[] {
  if (kind === 'end' || text === '') return []
  if (kind === 'quoted' && allowed.includes(text)) return [text]
  const typos = Object.keys(TYPOS).filter(word => allowed.includes(word) && TYPOS[word]!.split(' ').includes(text))
  if (typos.length > 0) return typos
  // Signs have no letters that could be mistyped.
  if (kind === 'sign' || kind === 'number') return []
  const allowedWords = allowed.filter(word => /^[a-z]/.test(word))
  const similar = suggest(text, allowedWords)
  if (similar.length > 0) return similar
  const byBeginning = allowed.filter(word => word.startsWith(`${text}_`) || (text.length > 2 && word.startsWith(text)))
  if (byBeginning.length > 0) return byBeginning.slice(0, 3)
  return allowed.filter(word => text.length > 2 && word.split('_').includes(text)).slice(0, 3)
}

export interface Word {
  kind: 'word' | 'number' | 'ticker' | 'quoted' | 'sign' | 'end'
  /** Lower case; tickers in upper case without their colon; quoted text without its quotes. */
  text: string
  written: string
  /** The index of its first character, in UTF-16 units from 0. */
  at: number
  /** Whether no blank precedes it. */
  isGlued: boolean
}

/** Each form ends without looking far ahead, so that any text is split in one pass. */
const BLANK = /\s+/uy
const COMMENT = /#[^\n\r]*/uy
/** The forms of words; the first match counts. `normalize` makes the text of a word from its written form. */
const FORMS: readonly (readonly [kind: Word['kind'], form: RegExp, normalize: (written: string) => string])[] = [
  // One character more than a ticker may have, so that a too long ticker is still recognised.
  ['ticker', /[A-Za-z0-9.^=-]{1,17}:/uy, written => upperCase(written.slice(0, -1))],
  ['word', /[A-Za-z_][A-Za-z0-9_]*/uy, written => lowerCase(written)],
  ['number', /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/uy, written => written],
  ['quoted', /(["'`“”„‘’])([^"'`“”„‘’]*)["'`“”„‘’]?/uy, written => lowerCase(written.replace(QUOTES, ''))],
  ['sign', /[=!<>~]{1,3}|&&|\|\||\*\*|./suy, written => written],
]

/**
 * The words of a text in order, then its end. Any text can be split: the last form matches any character.
 * @param allowsTickers whether `AAPL:` is one word
 * @param allowsComments whether `#` begins a comment up to the end of the line, as in files
 */
function splitIntoWords(text: string, allowsTickers: boolean, allowsComments: boolean): Word[] {
  const words: Word[] = []
  const forms = FORMS.filter(([kind]) => allowsTickers || kind !== 'ticker')
  let at = 0
  let previousEnd = 0
  const match = (form: RegExp): string | null => {
    form.lastIndex = at
    return form.exec(text)?.[0] ?? null
  }
  while (at < text.length) {
    const skipped = match(BLANK) ?? (allowsComments ? match(COMMENT) : null)
    if (skipped !== null) {
      at += skipped.length
      // The next word is not glued to one before.
      previousEnd = -1
      continue
    }
    for (const [kind, form, normalize] of forms) {
      const written = match(form)
      if (written === null) continue
      words.push({ kind, text: normalize(written), written, at, isGlued: at === previousEnd })
      at += written.length
      previousEnd = at
      break
    }
  }
  const last = words.at(-1)
  const end = last === undefined ? 0 : last.at + last.written.length
  words.push({ kind: 'end', text: '', written: '', at: end, isGlued: end === text.length })
  return words
}

const QUOTES = /["'`“”„‘’]/g

// Only ASCII letters have a case here: a dotless i is no I.
const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
const upperCase = (text: string): string => text.replace(/[a-z]+/g, letters => letters.toUpperCase())

/** Line and column of an index in a text, both from 1. A column is a character, regardless of its units. */
function lineAndColumn(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split(LINE_END)
  return { line: lines.length, column: [...lines.at(-1)!].length + 1 }
}

const LINE_END = /\r\n|\n|\r/

const isMultiline = (text: string): boolean => LINE_END.test(text.trimEnd())
