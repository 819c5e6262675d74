import { InvalidParameter, type Mention, suggest, wrong } from '../errors.js'
import { isMapping } from './arguments.js'
import { DEFAULT_SCOPE, type Kind, plainText, readParams, type Scope, type Table, type Written } from './row.js'

/**
 * Several parameters as one text, such as `sector Energy, size large`: each part begins with its word. A comma ends a
 * part only before such a word, so that a value may have commas. A program may write an object by the words.
 * @param words the word of each parameter; the word of a flag has no value
 */
export function partsKind(
  takes: string,
  words: Readonly<Record<string, string>>,
  table: Table,
  example: string,
): Kind<Written, string | Written> {
  const names = Object.keys(words)
  const isFlag = (word: string): boolean => table[words[word]!]!.kind.takes === ''
  const allowed = `made of parts such as ${example}; the words are ${names.join(', ')}`
  // The longest word first, because a word may begin with another.
  const shapes = names
    .toSorted((a, b) => b.length - a.length)
    .map(name => (isFlag(name) ? `${name}(?=\\s*(?:,|$))` : `${name}(?=\\s)`))
  const anyPart = new RegExp(`^(?:${shapes.join('|')})`)
  const partSeparator = new RegExp(`,\\s*(?=${shapes.join('|')})`)

  const read = (param: string, text: string, scope: Scope): Written => {
    const found: Record<string, unknown> = {}
    for (const part of text.trim().split(partSeparator)) {
      const [word] = anyPart.exec(part) ?? []
      if (word === undefined || words[word]! in found) throw notPartsError(param, text, part)
      const key = words[word]!
      const value = isFlag(word) ? true : part.slice(word.length).trim()
      found[key] = checkPart(param, { text, word, key, value }, scope)
    }
    return found
  }

  const notPartsError = (param: string, text: string, part: string): InvalidParameter => {
    const [word = ''] = part.trim().split(/\s/)
    const [near] = suggest(word, names)
    const suggestions = near === undefined || near === word ? [] : [text.replace(word, near)]
    const meant = suggestions.length > 0 ? ` Did you mean "${suggestions[0]}"?` : ''
    return wrong(param, `${param} "${text}" is not ${allowed}, each once.${meant}`, {
      value: text,
      allowed,
      suggestions,
    })
  }

  /** Returns the value as written. Throws InvalidParameter, naming the part, if it cannot be read. */
  const checkPart = (
    param: string,
    { text, word, key, value }: { text: string; word: string; key: string; value: unknown },
    { fields }: Scope,
  ): unknown => {
    try {
      if (!(table[key]!.none && value === 'none')) readParams({ [key]: table[key]! }, { [key]: value }, fields)
      return value
    } catch (error) {
      if (!(error instanceof InvalidParameter)) throw error
      const { value: faultyValue = value, suggestions = [] } = error.offence
      const fullSuggestions = suggestions.map(one => text.replace(String(faultyValue), one))
      const asPart = (item: string | Mention): string | Mention =>
        typeof item !== 'string' && 'param' in item && item.param === key ? { param: `${param} ${word}` } : item
      const partWords = typeof error.words === 'string' ? error.words : error.words.map(asPart)
      throw wrong(param, partWords, {
        value: text,
        allowed: error.offence.allowed ?? allowed,
        suggestions: fullSuggestions,
      })
    }
  }

  return {
    schema: { type: 'string', examples: [example] },
    takes,
    example,
    object: true,
    parse: (param, written, scope = DEFAULT_SCOPE) => {
      if (!isMapping(written)) return read(param, plainText(param, written), scope)
      const parts = Object.entries(written).filter(([, value]) => value !== undefined && value !== false)
      const text = parts.map(([word, value]) => (value === true ? word : `${word} ${String(value)}`))
      return read(param, text.join(', '), scope)
    },
  }
}
