import { InvalidParameter, suggest } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { isCompleteCondition, likelyFields, parseCondition } from '../../core/language/condition.js'
import type { Day } from '../../core/model/day.js'
import { parseTicker } from '../../core/model/terms.js'
import { replaceWithinWord } from './command-line.js'
import { fieldsUnlessBroken } from './config.js'
import type { FailedRun } from './context.js'
import { isDateLike } from './typed-dates.js'

/** The names that a word of a line may mean. */
export interface Vocabulary {
  fields: FieldSet
  /** The loaded tickers; empty if they are not known, such as those of a server. */
  tickers: readonly string[]
  /** The watch lists; empty if they are not known. */
  lists: readonly string[]
  /** The day that the data end; null if it is not known. */
  today: Day | null
}

/** The fields, tickers, lists and the last day that a line of this user may name. Without a database only fields. */
export async function readVocabulary({ argv, world, context }: FailedRun): Promise<Vocabulary> {
  const fields = context?.fields ?? (await fieldsUnlessBroken({}, world.env))
  const onlyFields = { fields, tickers: [], lists: [], today: null }
  if (context?.usedRemote != null) return onlyFields
  try {
    const { conditionsOf, watchListNames, readDatabaseWords, wordsOfOpened } = await import('./complete.js')
    const opened = context?.opened ?? null
    const words = await (opened === null ? readDatabaseWords(typedDatabase(argv), world.env) : wordsOfOpened(opened))
    // A line that was refused early has not read the named conditions.
    const conditions = fields.conditions ?? (await conditionsOf(typedDatabase(argv), world.env))
    const lists = await watchListNames(typedDatabase(argv), world.env)
    return { fields: { ...fields, conditions }, ...words, lists }
  } catch {
    // The error at hand is more important than a database that cannot be read.
    return onlyFields
  }
}

/** The value of --db on a line; undefined without it. */
function typedDatabase(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex(word => /^--db(=|$)/.test(word))
  if (at < 0) return undefined
  return argv[at]!.slice('--db='.length) || argv[at + 1]
}

/** What a word of a line can name; `others` name none of these. */
const WORD_KINDS = ['tickers', 'lists', 'fields', 'bands', 'dates', 'conditions', 'files', 'others'] as const

/** The words of a line by what they name, each list in the typed order. */
export type SortedWords = Record<(typeof WORD_KINDS)[number], string[]>

/** Sorts words by what they name, each once. @param correct misspelt words count as near names, not as `others` */
export function sortWords(words: readonly string[], vocabulary: Vocabulary, { correct = true } = {}): SortedWords {
  const sorted = Object.fromEntries(WORD_KINDS.map((kind): [string, string[]] => [kind, []])) as SortedWords
  const addOnce = (kind: keyof SortedWords, word: string): void => {
    if (!sorted[kind].includes(word)) sorted[kind].push(word)
  }
  for (const text of words) {
    const condition = nearestCondition(text, vocabulary.fields)
    if (condition !== undefined) addOnce('conditions', condition)
    else if (text === '-' || text.startsWith('@')) addOnce('tickers', text)
    else if (isCompleteCondition(text, vocabulary.fields)) addOnce('conditions', text)
    else {
      const parts = text.includes(' ') ? [text] : text.split(',').filter(part => part !== '')
      for (const part of parts) addOnce(...kindOfWord(part, vocabulary, correct))
    }
  }
  return sorted
}

/** The nearest named condition of `@NAME`; undefined for other words, such as a file of tickers. */
function nearestCondition(text: string, { conditions }: FieldSet): string | undefined {
  if (!/^@\w+$/.test(text) || conditions === undefined) return undefined
  const [name] = suggest(text.slice(1).toLowerCase(), conditions.names)
  return name && `@${name}`
}

/** The list of SortedWords that a word belongs to, and the word. @param correct corrects its spelling */
function kindOfWord(
  word: string,
  { fields, tickers, lists }: Vocabulary,
  correct: boolean,
): [keyof SortedWords, string] {
  const bands = fields.all.flatMap(field => field.bands)
  const name = word.toLowerCase().replaceAll('-', '_')
  if (fields.named(name) !== undefined) return ['fields', name]
  if (tickers.includes(word.toUpperCase())) return ['tickers', word]
  if (bands.includes(name)) return ['bands', name]
  if (lists.includes(word)) return ['lists', word]
  if (isDateLike(word)) return ['dates', word]
  if (/\.(ya?ml|json)$/i.test(word)) return ['files', word]
  // A file of tickers without its `@`.
  if (/\.(txt|csv)$/i.test(word)) return ['tickers', `@${word}`]
  if (!correct || word.includes(' ')) return ['others', word]
  // A number or a letter is near to every short ticker.
  const nearestTicker = /^[a-z]{2}/i.test(word) ? suggest(word, tickers)[0] : undefined
  const [nearestField] = likelyFields(word, fields)
  const [nearestBand] = suggest(word, bands)
  // A word in capitals is more likely a ticker, unless it is a part of the name of a field.
  const isPartOfField = likelyFields(word, fields).some(field => field.split('_').includes(name))
  if (nearestTicker !== undefined && /^[A-Z]/.test(word) && !isPartOfField) return ['tickers', nearestTicker]
  if (nearestField !== undefined) return ['fields', nearestField]
  if (nearestBand !== undefined) return ['bands', nearestBand]
  if (nearestTicker !== undefined) return ['tickers', nearestTicker]
  // If the loaded tickers are not known, any word in capitals may be one.
  const mayBeTicker = tickers.length === 0 && /^[A-Z]/.test(word) && parseTicker(word) !== null
  return [mayBeTicker ? 'tickers' : 'others', word]
}

/** A text with the wrong word of an error (`offence`) replaced by the nearest allowed one; null if none is near. */
export function correctValue(text: string, offence: InvalidParameter['offence'], fields: FieldSet): string | null {
  const { value, suggestions = [], column } = offence
  // A comma between two conditions means `and`.
  const replacement = suggestions[0] ?? (value === ',' ? ' and' : nearestBand(offence, fields))
  if (replacement === undefined) return null
  // `oversold = rsi_zone`: the sides change places.
  const [field, band] = replacement.split(' = ')
  if (band !== undefined && text.includes(`${band} = ${field}`)) return text.replace(`${band} = ${field}`, replacement)
  if (text === value) return replacement
  if (column !== undefined) return replaceWithinWord([text], { value, column }, replacement)?.[0] ?? null
  return text
    .split(',')
    .map(part => (part === value ? replacement : part))
    .join(',')
}

/** Words in the names of bands, by their meaning: up, down and near. */
const BAND_MEANINGS = [/bull|up|high|above|bought|rising/, /bear|down|low|below|sold|falling/, /near|close|approach/]

/** A wrong text with the nearest allowed band in place of its last word; undefined if no band is allowed there. */
function nearestBand({ value, allowed = [] }: InvalidParameter['offence'], fields: FieldSet): string | undefined {
  const [, before = '', typed = ''] = /^(.*[=,])?(.*)$/.exec(String(value).toLowerCase()) ?? []
  const everyBand = new Set(fields.all.flatMap(field => field.bands))
  const bands = (typeof allowed === 'string' ? [] : allowed).filter(word => everyBand.has(word))
  if (!/^[a-z]\w+$/.test(typed) || bands.length === 0) return undefined
  // A word with one meaning, such as `too_low`, is corrected to a band of that meaning if there is any.
  const meanings = BAND_MEANINGS.filter(meaning => meaning.test(typed))
  const bandsOfMeaning = bands.filter(band => meanings.length === 1 && meanings[0]!.test(band))
  const letterPairs = (word: string): string[] => Array.from(word.slice(1), (letter, at) => word[at]! + letter)
  const similarity = (band: string): number => {
    const common = letterPairs(band).filter(pair => letterPairs(typed).includes(pair)).length
    return common / (band.length + typed.length)
  }
  const candidates = bandsOfMeaning.length > 0 ? bandsOfMeaning : bands
  const [nearest] = candidates.toSorted((a, b) => similarity(b) - similarity(a) || a.length - b.length)
  return String(value).slice(0, before.length) + nearest
}

/** A valid condition that the written one may mean: with its wrong words corrected, otherwise `FIELD = BAND`. */
export function mendCondition(written: string, fields: FieldSet): string {
  let text = written
  // A corrected word may uncover another fault.
  for (let tries = 0; tries < 4; tries++) {
    try {
      parseCondition(text, fields)
      return text
    } catch (error) {
      const next = error instanceof InvalidParameter ? correctValue(text, error.offence, fields) : null
      if (next === null || next === text) break
      text = next
    }
  }
  const words = written.match(/[a-z_]\w*/gi) ?? []
  const [field = fields.names[0]!] = words.flatMap(word => likelyFields(word, fields).slice(0, 1))
  const { bands } = fields.named(field)!
  const [band = exampleBand(bands)] = words.flatMap(word => suggest(word, bands))
  return `${field} = ${band}`
}

/** `oversold` if it is among the bands, otherwise the first one. */
export function exampleBand(bands: readonly string[]): string {
  return bands.includes('oversold') ? 'oversold' : bands[0]!
}
