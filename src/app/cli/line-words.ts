import { InvalidParameter, suggest } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { isCompleteCondition, likelyFields, parseCondition } from '../../core/language/condition.js'
import type { Day } from '../../core/model/day.js'
import { parseTicker } from '../../core/model/terms.js'
import { replaceWithinWord } from './command-line.js'
import { fieldsUnlessBroken } from './config.js'
import type { FailedRun } from './context.js'
import { isDateLike } from './typed-dates.js'

/** What a word of a line may name. */
export interface Vocabulary {
  fields: FieldSet
  /** The loaded tickers; empty if they are not known, such as those of a server. */
  tickers: readonly string[]
  /** The watch lists; empty if they are not known. */
  lists: readonly string[]
  /** The day that the data end; null if it is not known. */
  today: Day | null
}

/** The fields, tickers, lists and the last day that a line of this user may name. Without a readable database only fields. */
export async function readVocabulary({ argv, world, context }: FailedRun): Promise<Vocabulary> {
  const fields = context?.fields ?? (await fieldsUnlessBroken({}, world.env))
  const unknown = { fields, tickers: [], lists: [], today: null }
  if (context?.usedRemote != null) return unknown
  try {
    const { watchListNames, readDatabaseWords, wordsOfOpened } = await import('./complete.js')
    const opened = context?.opened ?? null
    const words = await (opened === null ? readDatabaseWords(databaseIn(argv), world.env) : wordsOfOpened(opened))
    return { fields, ...words, lists: await watchListNames(databaseIn(argv), world.env) }
  } catch {
    // The error at hand is more important than a database that cannot be read.
    return unknown
  }
}

/** The value of --db on a line; undefined without it. */
function databaseIn(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex(word => /^--db(=|$)/.test(word))
  if (at < 0) return undefined
  return argv[at]!.slice('--db='.length) || argv[at + 1]
}

/** The words of a line by what they name, each list in the typed order. */
export interface SortedWords {
  tickers: string[]
  lists: string[]
  fields: string[]
  bands: string[]
  dates: string[]
  conditions: string[]
  files: string[]
  others: string[]
}

/**
 * Sorts words by what they name; misspelt ones are corrected.
 * @param exactly only words without a mistake are sorted, all others are `others`
 */
export function sortWords(words: readonly string[], known: Vocabulary, { exactly = false } = {}): SortedWords {
  const sorted: SortedWords = {
    tickers: [],
    lists: [],
    fields: [],
    bands: [],
    dates: [],
    conditions: [],
    files: [],
    others: [],
  }
  const addOnce = (kind: keyof SortedWords, word: string): void => {
    if (!sorted[kind].includes(word)) sorted[kind].push(word)
  }
  for (const text of words) {
    const condition = nearestCondition(text, known.fields)
    if (condition !== undefined) addOnce('conditions', condition)
    else if (text === '-' || text.startsWith('@')) addOnce('tickers', text)
    else if (isCompleteCondition(text, known.fields)) addOnce('conditions', text)
    else {
      const parts = text.includes(' ') ? [text] : text.split(',').filter(part => part !== '')
      for (const part of parts) addOnce(...sortWord(part, known, exactly))
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

/** The kind of a word, and the word with its spelling corrected. @param exactly does not correct it */
function sortWord(word: string, { fields, tickers, lists }: Vocabulary, exactly: boolean): [keyof SortedWords, string] {
  const bands = fields.all.flatMap(field => field.bands)
  const name = word.toLowerCase().replaceAll('-', '_')
  if (fields.named(name) !== undefined) return ['fields', name]
  if (tickers.includes(word.toUpperCase())) return ['tickers', word]
  if (bands.includes(name)) return ['bands', name]
  if (lists.includes(word)) return ['lists', word]
  if (isDateLike(word)) return ['dates', word]
  if (/\.(ya?ml|json)$/i.test(word)) return ['files', word]
  if (exactly || word.includes(' ')) return ['others', word]
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
  const isUnknown = tickers.length === 0 && /^[A-Z]/.test(word) && parseTicker(word) !== null
  return [isUnknown ? 'tickers' : 'others', word]
}

/** A text with the wrong word of an error replaced by the nearest allowed one; null if none is near. */
export function correctValue(text: string, offence: InvalidParameter['offence'], fields: FieldSet): string | null {
  const { value, suggestions = [], column } = offence
  // A comma between two conditions means `and`.
  const meant = suggestions[0] ?? (value === ',' ? ' and' : nearestBand(offence, fields))
  if (meant === undefined) return null
  // `oversold = rsi_zone`: the sides change places.
  const [field, band] = meant.split(' = ')
  if (band !== undefined && text.includes(`${band} = ${field}`)) return text.replace(`${band} = ${field}`, meant)
  if (text === value) return meant
  if (column !== undefined) return replaceWithinWord([text], { value, column }, meant)?.[0] ?? null
  return text
    .split(',')
    .map(part => (part === value ? meant : part))
    .join(',')
}

/** Words of like meaning in the names of bands. */
const BAND_MEANINGS = [/bull|up|high|above|bought|rising/, /bear|down|low|below|sold|falling/, /near|close|approach/]

/**
 * A wrong text with its band replaced by the nearest allowed one: of like meaning, then by common pairs of letters.
 * Undefined if the text ends in no word, or no band is allowed.
 */
function nearestBand({ value, allowed = [] }: InvalidParameter['offence'], fields: FieldSet): string | undefined {
  const [, before = '', typed = ''] = /^(.*[=,])?(.*)$/.exec(String(value).toLowerCase()) ?? []
  const known = new Set(fields.all.flatMap(({ bands }) => bands))
  const bands = (typeof allowed === 'string' ? [] : allowed).filter(word => known.has(word))
  if (!/^[a-z]\w+$/.test(typed) || bands.length === 0) return undefined
  const meanings = BAND_MEANINGS.filter(meaning => meaning.test(typed))
  const likeBands = bands.filter(band => meanings.length === 1 && meanings[0]!.test(band))
  const pairs = (word: string): string[] => Array.from(word.slice(1), (letter, at) => word[at]! + letter)
  const likeness = (band: string): number => {
    const common = pairs(band).filter(pair => pairs(typed).includes(pair)).length
    return common / (band.length + typed.length)
  }
  const candidates = likeBands.length > 0 ? likeBands : bands
  const [nearest] = candidates.toSorted((a, b) => likeness(b) - likeness(a) || a.length - b.length)
  return String(value).slice(0, before.length) + nearest
}

/** The condition that a wrong one may mean: with the nearest words, otherwise a simple test of its field. */
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

/** `oversold`, or the first of some bands if they do not have it. */
export function exampleBand(bands: readonly string[]): string {
  return bands.includes('oversold') ? 'oversold' : bands[0]!
}
