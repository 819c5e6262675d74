import { didYouMean, InvalidParameter, type Mention, suggest, wrong } from '../errors.js'
import { isMapping } from './arguments.js'
import { DEFAULT_SCOPE, type Kind, plainText, readParams, type Scope, type Table, type Written } from './row.js'

/**
 * Several parameters as one text, such as `sector Energy, size large`: each part begins with its word. A program may
 * give an object with the words as keys.
 * @param words the parameter of each word; the word of a flag has no value
 */
export function partsKind(
  placeholder: string,
  words: Readonly<Record<string, string>>,
  table: Table,
  example: string,
): Kind<Written, string | Written> {
  const reader = new PartsReader(words, table, example)
  return {
    schema: { type: 'string', examples: [example] },
    placeholder,
    example,
    object: true,
    parse: (param, written, scope = DEFAULT_SCOPE) => {
      if (!isMapping(written)) return reader.read(param, plainText(param, written), scope)
      const parts = Object.entries(written).filter(([, value]) => value !== undefined && value !== false)
      const texts = parts.map(([word, value]) => (value === true ? word : `${word} ${String(value)}`))
      return reader.read(param, texts.join(', '), scope)
    },
  }
}

/** Reads the text of several parameters; `words` has the parameter of each word. Refusals quote the whole text. */
class PartsReader {
  readonly #words: Readonly<Record<string, string>>
  readonly #table: Table
  /** The valid forms, as a phrase. */
  readonly #allowed: string
  /** Matches the word at the beginning of a part. */
  readonly #firstWord: RegExp
  /** Matches a comma that ends a part: only before a word, so that a value may have commas. */
  readonly #separator: RegExp

  constructor(words: Readonly<Record<string, string>>, table: Table, example: string) {
    this.#words = words
    this.#table = table
    const names = Object.keys(words)
    this.#allowed = `made of parts such as ${example}; the words are ${names.join(', ')}`
    // The longest word first, because a word may begin with another.
    const longestFirst = names.toSorted((a, b) => b.length - a.length)
    const anyWord = longestFirst
      .map(word => (this.#isFlag(word) ? `${word}(?=\\s*(?:,|$))` : `${word}(?=\\s)`))
      .join('|')
    this.#firstWord = new RegExp(`^(?:${anyWord})`)
    this.#separator = new RegExp(`,\\s*(?=${anyWord})`)
  }

  /** The written value of each parameter in a text; true for a flag. Throws InvalidParameter. */
  read(param: string, text: string, scope: Scope): Written {
    const values: Record<string, unknown> = {}
    for (const part of text.trim().split(this.#separator)) {
      const [word] = this.#firstWord.exec(part) ?? []
      if (word === undefined || this.#words[word]! in values) throw this.#notPartsError(param, text, part)
      const value = this.#isFlag(word) ? true : part.slice(word.length).trim()
      this.#checkPart(param, { text, word, value }, scope)
      values[this.#words[word]!] = value
    }
    return values
  }

  #isFlag(word: string): boolean {
    return this.#table[this.#words[word]!]!.kind.placeholder === ''
  }

  /** The error for a part that begins with no word, or with that of an earlier part. */
  #notPartsError(param: string, text: string, part: string): InvalidParameter {
    const [word = ''] = part.trim().split(/\s/)
    const [near] = suggest(word, Object.keys(this.#words))
    const suggestions = near === undefined || near === word ? [] : [text.replace(word, near)]
    const allowed = this.#allowed
    const message = `${param} "${text}" is not ${allowed}, each once.${didYouMean(suggestions)}`
    return wrong(param, message, { value: text, allowed, suggestions })
  }

  /** Throws InvalidParameter, which names the part by its word, if the value of a part cannot be read. */
  #checkPart(
    param: string,
    { text, word, value }: { text: string; word: string; value: string | true },
    { fields }: Scope,
  ): void {
    const name = this.#words[word]!
    const parameter = this.#table[name]!
    if (parameter.none && value === 'none') return
    try {
      readParams({ [name]: parameter }, { [name]: value }, fields)
    } catch (error) {
      if (!(error instanceof InvalidParameter)) throw error
      const { value: faultyValue = value, allowed = this.#allowed, suggestions = [] } = error.offence
      // The message names the part by its word: `filter sector`.
      const asPart = (item: string | Mention): string | Mention =>
        typeof item !== 'string' && 'param' in item && item.param === name ? { param: `${param} ${word}` } : item
      throw wrong(param, typeof error.words === 'string' ? error.words : error.words.map(asPart), {
        value: text,
        allowed,
        suggestions: suggestions.map(suggestion => text.replace(String(faultyValue), suggestion)),
      })
    }
  }
}
