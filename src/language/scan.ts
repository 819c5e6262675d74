/** A text of the language, cut into its words. */

export interface Word {
  kind: 'word' | 'number' | 'ticker' | 'quoted' | 'sign' | 'end'
  /** In lower case, a ticker in upper case and without its colon; of what is in quotes that which is between them. */
  text: string
  /** As it was written. */
  written: string
  /** Where it begins, in UTF-16 units from 0. */
  at: number
  /** Whether no blank stands before it. */
  glued: boolean
}

export interface Dialect {
  /** Whether a word with a colon behind it is a ticker. */
  tickers: boolean
  /** Whether `#` begins a comment that ends with its line: in files. */
  comments: boolean
}

/** Each alternative ends where it does without looking far ahead, so that any text is cut in one walk. */
const BLANK = /\s+/uy
const COMMENT = /#[^\n\r]*/uy
/** One character more than a ticker may have, so that the next too long one is seen as what it was meant for. */
const TICKER = /[A-Za-z0-9.^=-]{1,17}:/uy
const WORD = /[A-Za-z_][A-Za-z0-9_]*/uy
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/uy
const QUOTED = /(["'`“”„‘’])([^"'`“”„‘’]*)["'`“”„‘’]?/uy
const SIGN = /[=!<>~]{1,3}|&&|\|\||\*\*|./suy

/** The words of a text in their order, and at last its end. */
export function scan(text: string, { tickers, comments }: Dialect): Word[] {
  const words: Word[] = []
  let at = 0
  let blank = 0
  const take = (form: RegExp): string | null => {
    form.lastIndex = at
    const found = form.exec(text)
    return found === null ? null : found[0]
  }
  const add = (kind: Word['kind'], written: string, meant: string): void => {
    words.push({ kind, text: meant, written, at, glued: at === blank })
    at += written.length
    blank = at
  }
  while (at < text.length) {
    const skipped = take(BLANK) ?? (comments ? take(COMMENT) : null)
    if (skipped !== null) {
      at += skipped.length
      blank = -1
      continue
    }
    const ticker = tickers ? take(TICKER) : null
    if (ticker !== null) {
      add('ticker', ticker, upperCase(ticker.slice(0, -1)))
      continue
    }
    const word = take(WORD)
    if (word !== null) {
      add('word', word, lowerCase(word))
      continue
    }
    const number = take(NUMBER)
    if (number !== null) {
      add('number', number, number)
      continue
    }
    const quoted = take(QUOTED)
    if (quoted !== null) {
      add('quoted', quoted, lowerCase(quoted.replace(QUOTES, '')))
      continue
    }
    const sign = take(SIGN)!
    add('sign', sign, sign)
  }
  const last = words.at(-1)
  const end = last === undefined ? 0 : last.at + last.written.length
  words.push({ kind: 'end', text: '', written: '', at: end, glued: end === text.length })
  return words
}

const QUOTES = /["'`“”„‘’]/g

// Only ASCII letters have a case here: a dotless i is no I.
const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
const upperCase = (text: string): string => text.replace(/[a-z]+/g, letters => letters.toUpperCase())

/** Line and column of a place in a text, both from 1; a column is a character, however many units it takes. */
export function placeIn(text: string, at: number): { line: number; column: number } {
  const lines = text.slice(0, at).split(LINE_END)
  return { line: lines.length, column: [...lines.at(-1)!].length + 1 }
}

const LINE_END = /\r\n|\n|\r/

export const hasLines = (text: string): boolean => LINE_END.test(text.trimEnd())
