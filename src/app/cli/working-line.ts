import { existsSync } from 'node:fs'
import { InvalidParameter, suggest } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { fieldsWithBand } from '../../core/language/condition.js'
import { exampleOf, type OptionSpec, valueForKind } from '../../core/params/row.js'
import { argumentKinds, CATALOGUE, commandsOfGroup, type Entry, GROUP_DEFAULTS, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { longName, optionOf, remedyWords } from './command-line.js'
import { commandsWithOption, suggestCommand, suggestOption } from './command-suggestions.js'
import { fieldsUnlessBroken } from './config.js'
import type { Context } from './context.js'
import { correctValue, mendCondition, type SortedWords, sortWords, type Vocabulary } from './line-words.js'
import { GLOBAL_OPTIONS } from './options.js'
import { isoDate } from './typed-dates.js'
import type { World } from './world.js'

/**
 * Makes a line that works of the words of one that does not. It reads what the command declares: its arguments, its
 * options and their values. It knows the fields and the loaded tickers.
 */

/** One option of a line; a flag has no value. */
interface Typed {
  spec: OptionSpec
  value: string | null
}

/** A line in its parts. */
interface Line {
  name: string
  command: Command
  specs: readonly OptionSpec[]
  /** The words and options in the typed order. */
  parts: (string | Typed)[]
  known: Vocabulary
  /** The reading of a date such as 01/02/2017. */
  reading: number
}

/**
 * The corrected words; null if the line names no command.
 * @param reading which of the readings of an ambiguous date
 */
export async function mended(argv: readonly string[], known: Vocabulary, reading = 0): Promise<string[] | null> {
  const found = await commandIn(argv)
  if (found === null) return null
  const command = await found.entry.load()
  const own = command.options ?? []
  const specs = [...own, ...GLOBAL_OPTIONS.filter(spec => !own.some(one => longName(one) === longName(spec)))]
  const { madeBy } = command
  const rest = found.rest.filter((word, at) => !isMissingStrategy(word, found.rest[at - 1]))
  const { fields, files } = sortWords(
    rest.filter(word => !word.startsWith('-')),
    known,
  )
  // Without a file, the line is the one that makes it.
  const isMade = fields.length > 0 || rest.length < found.rest.length
  if (madeBy !== undefined && isMade && files.length === 0) return mended([...madeBy, ...rest], known, reading)
  const line: Line = { name: found.entry.name, command, specs, parts: [], known, reading }
  const other = await readParts(line, rest, found.entry)
  if (other !== null) return mended([...other.split(' '), ...rest], known, reading)
  arrange(line)
  mendValues(line)
  complete(line)
  return [...line.name.split(' '), ...line.parts.flatMap(part => (typeof part === 'string' ? [part] : wordsOf(part)))]
}

/** Whether a word names a strategy file that is not there. @param before the word in front of it */
function isMissingStrategy(word: string, before = ''): boolean {
  return /\.(ya?ml|json)$/i.test(word) && !before.startsWith('-') && !existsSync(word)
}

/** The words that a line of this user may name. */
export async function vocabularyOf(argv: readonly string[], world: World, context?: Context): Promise<Vocabulary> {
  const fields = context?.fields ?? (await fieldsUnlessBroken({}, world.env))
  const unknown = { fields, tickers: [], lists: [], today: null }
  if (context?.usedRemote != null) return unknown
  try {
    const { loadedLists, loadedWords, openedWords } = await import('./complete.js')
    const opened = context?.opened ?? null
    const words = await (opened === null ? loadedWords(databaseIn(argv), world.env) : openedWords(opened))
    return { fields, ...words, lists: await loadedLists(databaseIn(argv), world.env) }
  } catch {
    // The error at hand is more important than a database that cannot be read.
    return unknown
  }
}

function databaseIn(argv: readonly string[]): string | undefined {
  const at = argv.findLastIndex(word => /^--db(=|$)/.test(word))
  if (at < 0) return undefined
  return argv[at]!.slice('--db='.length) || argv[at + 1]
}

/** A line without one of its options; null if it does not have that option. */
export function without(argv: readonly string[], option: string): string[] | null {
  const at = argv.findLastIndex(word => word === option || word.startsWith(`${option}=`))
  if (at < 0) return null
  const isFlag = argv[at] !== option || argv[at + 1] === undefined || argv[at + 1]!.startsWith('--')
  return argv.toSpliced(at, isFlag ? 1 : 2)
}

const takesValue = ([flags]: OptionSpec): boolean => flags.includes('<')
const placeholder = ([flags]: OptionSpec): string => /<(.*)>/.exec(flags)?.[1] ?? ''
const wordsOf = ({ spec, value }: Typed): string[] => [longName(spec), ...(value === null ? [] : [value])]
const paramOf = (spec: OptionSpec): string => longName(spec).slice(2).replaceAll('-', '_')

/** The command of a line, and the other words. Words before the command are moved after it. */
async function commandIn(argv: readonly string[]): Promise<{ entry: Entry; rest: string[] } | null> {
  const plain = argv.flatMap((word, at) => (word.startsWith('-') || isGlobalValue(argv, at) ? [] : [at]))
  const [first] = plain
  const at = plain.find(at => TOP_WORDS.includes(argv[at]!)) ?? first
  if (at === undefined) return null
  const word = argv[at]!
  const others = argv.toSpliced(at, 1)
  const entry = CATALOGUE.find(({ name }) => name === word)
  if (entry !== undefined) return { entry, rest: others }
  const group = commandsOfGroup(word)
  if (group.length > 0) {
    const names = group.map(({ name }) => name.split(' ')[1]!)
    const next = argv[at + 1] ?? ''
    const [twig] = names.includes(next) ? [next] : suggest(next, names)
    const name = twig ?? GROUP_DEFAULTS[word] ?? names[0]!
    // A list is of all, whatever its unknown word was.
    const isNoWord = name === 'list' && /^[^-]/.test(next)
    const rest = twig === undefined && !isNoWord ? others : others.toSpliced(at, 1)
    return { entry: CATALOGUE.find(entry => entry.name === `${word} ${name}`)!, rest }
  }
  const to = suggestCommand(word, argv)?.remedy
  const [near] = suggest(word, TOP_WORDS)
  if (to == null) return near === undefined ? null : commandIn(argv.with(at, near))
  if (to.command.startsWith('-')) return null
  // A remedy about a field or a ticker has no options; those of the line are kept.
  const options = argv.slice(argv.findIndex(other => other.startsWith('-')))
  const words = remedyWords(to)
  const isWhole =
    !options[0]?.startsWith('-') || words.some(other => other.startsWith('-')) || words.includes(options[0])
  return commandIn(isWhole ? words : [...words, ...options])
}

/** Whether a word is the value of a global option. */
function isGlobalValue(argv: readonly string[], at: number): boolean {
  return GLOBAL_OPTIONS.some(spec => takesValue(spec) && longName(spec) === argv[at - 1])
}

/** Reads words and options. Returns another command if only that one has an option of the line. */
async function readParts(line: Line, words: readonly string[], entry: Entry): Promise<string | null> {
  const { specs, parts } = line
  const named = (name: string): OptionSpec | undefined => specs.find(([flags]) => flags.split(/[ ,]+/).includes(name))
  const isOption = (word: string | undefined): boolean =>
    word?.startsWith('--') === true || named(word ?? '') !== undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (!/^--?[a-z]/i.test(word)) {
      parts.push(word)
      continue
    }
    const [name = '', joined] = word.split(/=(.*)/s)
    const spec = named(name) ?? named(suggestOption(name, specs.map(longName)) ?? '')
    const next = words[at + 1]
    const hasNext = next !== undefined && !isOption(next)
    if (spec === undefined) {
      const others = await commandsWithOption(name, entry)
      const [only] = others
      if (others.length === 1 && (await isLike(line.command, only!))) return only!
      if (hasNext && joined === undefined && others.length > 0 && (await optionTakes(only!, name))) at++
    } else if (!takesValue(spec)) parts.push({ spec, value: null })
    else {
      if (joined === undefined && hasNext) at++
      const option = { spec, value: joined ?? (hasNext ? next : '') }
      const rest = words[at + 1]
      if (hasNext && rest !== undefined && isUnit(line, option, rest)) {
        option.value += rest
        at++
      }
      parts.push(option)
    }
  }
  return null
}

/** Whether a word belongs to the value before it: `--costs 10 bp`. */
function isUnit(line: Line, { spec, value }: Typed, word: string): boolean {
  const { others } = sortWords([word], line.known, true)
  const hasUnit = spec[5] !== undefined && /^\d/.test(value ?? '') && /^[a-z%]+$/i.test(word)
  return hasUnit && others.length > 0 && problem(line, { spec, value: value + word }) === null
}

/** Whether a command takes the same arguments. */
async function isLike({ arguments: own = [] }: Command, name: string): Promise<boolean> {
  const { arguments: others = [] } = await CATALOGUE.find(entry => entry.name === name)!.load()
  const kinds = (list: typeof own): string[] => list.flatMap(argumentKinds)
  return ['TICKER', 'FIELD'].every(kind => kinds(own).includes(kind) && kinds(others).includes(kind))
}

async function optionTakes(command: string, name: string): Promise<boolean> {
  const { options = [] } = await CATALOGUE.find(entry => entry.name === command)!.load()
  return options.some(spec => longName(spec) === name && takesValue(spec))
}

const optionsOf = (line: Line): Typed[] => line.parts.filter(part => typeof part !== 'string')
const optionNamed = (line: Line, name: string): Typed | undefined =>
  optionsOf(line).find(({ spec }) => longName(spec) === name)
const specOf = (line: Line, ...names: string[]): OptionSpec | undefined =>
  names.map(name => line.specs.find(spec => longName(spec) === name)).find(spec => spec !== undefined)

/** Puts the words where the command takes them: tickers, fields, bands, dates and conditions. */
function arrange(line: Line): void {
  const kinds = (line.command.arguments ?? []).flatMap(argumentKinds)
  const takes = (kind: string): boolean => kinds.includes(kind)
  const pools = line.specs.find(spec => placeholder(spec) === 'TICKERS')
  const isOfTickers = line.command.arguments?.[0]?.[0] === '[TICKER...]'
  const isQuestion =
    !takes('SYMBOL') &&
    (pools !== undefined || (takes('TICKER') && takes('FIELD')) || isOfTickers || kinds.length === 0)
  if (!isQuestion) return
  const typed = line.parts.filter(part => typeof part === 'string')
  const found = sortWords(typed, line.known)
  takeBack(line, found)
  const isByCondition = optionNamed(line, '--when') !== undefined || found.conditions.length > 0
  const words: string[] = []
  if (takes('CONDITION')) words.push(mendCondition(conditionOf(found, line.known.fields), line.known.fields))
  else if (takes('TICKER') && takes('FIELD')) {
    const isFile = takes('FILE') && found.files.length > 0
    const bands = [...found.bands, ...(optionNamed(line, '--band')?.value ?? '').split(',')]
    const needsField = !isByCondition && !isFile && kinds.length > 0
    if (needsField && found.fields.length === 0) found.fields.push(fieldFor(bands, line.known.fields))
    const isPool = pools !== undefined
    if (!isFile) addTickers(line, found, isPool)
    words.push(...(isFile ? found.files.slice(0, 1) : []), ...(isPool ? found.tickers : found.tickers.slice(0, 1)))
    if (!isFile) words.push(...found.fields.slice(0, 1))
    if (takes('DATE')) words.push(...found.dates.splice(0, 1).map(text => isoDate(text, line) ?? text))
  } else {
    if (takes('TICKER')) words.push(...found.tickers)
    else if (found.tickers.length > 0 && pools !== undefined) add(line, pools, found.tickers.join(','))
    const field = line.specs.find(spec => /^FIELDS?$/.test(placeholder(spec)) && !longName(spec).includes('context'))
    if (found.fields.length > 0 && field !== undefined) add(line, field, found.fields.join(','))
    const listed =
      (line.command.arguments ?? []).map(argumentKinds).find(all => all.every(word => /^[a-z]/.test(word))) ?? []
    if (takes('FIELD')) words.push(...found.fields)
    if (listed.length > 0)
      words.push(
        [
          ...typed.filter(word => listed.includes(word)),
          ...typed.flatMap(word => suggest(word, listed)),
          listed[0]!,
        ][0]!,
      )
  }
  addOptions(line, found)
  if (words.join('\n') === typed.join('\n')) return
  line.parts = [...words, ...optionsOf(line)]
}

/**
 * Takes words back from an option whose value the user left out: it took a field, a ticker or a date instead. Only kinds
 * of words that the line does not have elsewhere.
 */
function takeBack(line: Line, found: SortedWords): void {
  for (const option of optionsOf(line)) {
    const { spec, value } = option
    if (value === null || value === '' || problem(line, option) === null) continue
    const kind = placeholder(spec)
    const inValue = sortWords([value], line.known, true)
    const takes = (one: string): boolean => kind.startsWith(one) || kind === 'CONDITION' || kind === 'T:F=B'
    for (const [name, list] of [
      ['FIELD', 'fields'],
      ['TICKER', 'tickers'],
      ['DATE', 'dates'],
    ] as const) {
      if (inValue[list].length === 0 || takes(name) || found[list].length > 0) continue
      found[list].push(...inValue[list])
      option.value = ''
    }
  }
}

/** The condition of the words, or the one that they come closest to. */
function conditionOf({ conditions, fields, bands, others }: SortedWords, known: FieldSet): string {
  if (conditions.length > 0) return conditions[0]!
  if (others.length > 0 && fields.length === 0 && bands.length === 0) return others[0]!
  const field = fields[0] ?? fieldFor(bands, known)
  const own = known.named(field)!.bands
  return `${field} = ${bands.find(band => own.includes(band)) ?? (own.includes('oversold') ? 'oversold' : own[0]!)}`
}

/** The field of some bands. */
function fieldFor(bands: readonly string[], fields: FieldSet): string {
  return bands.flatMap(band => fieldsWithBand(band, fields))[0] ?? fields.names[0]!
}

/** Every ticker if none is named, or the first one where the command takes one. */
function addTickers(line: Line, found: SortedWords, isPool: boolean): void {
  const isNamed =
    found.tickers.length > 0 ||
    found.lists.length > 0 ||
    ['--tickers', '--watch', '--all'].some(name => optionNamed(line, name))
  const everyTicker = optionNamed(line, '--all')
  if (found.tickers.length > 0) line.parts = line.parts.filter(part => part !== everyTicker)
  if (isNamed) return
  const all = isPool ? specOf(line, '--all') : undefined
  if (all !== undefined) found.tickers.push('--all')
  else found.tickers.push(...line.known.tickers.slice(0, 1))
}

/** Bands, dates, conditions and words of a list, which are options. */
function addOptions(line: Line, { bands, lists, dates, conditions, others }: SortedWords): void {
  const band = specOf(line, '--band')
  if (bands.length > 0 && band !== undefined) add(line, band, bands.join(','))
  const watch = specOf(line, '--watch')
  if (lists.length > 0 && watch !== undefined) add(line, watch, lists.join(','))
  const date = specOf(line, '--after', '--since', '--as-of')
  if (dates.length > 0 && date !== undefined && optionNamed(line, longName(date)) === undefined)
    add(line, date, dates[0]!)
  const when = specOf(line, '--when')
  const takesCondition = (line.command.arguments ?? []).flatMap(argumentKinds).includes('CONDITION')
  if (conditions.length > 0 && when !== undefined && !takesCondition) add(line, when, conditions[0]!)
  for (const word of others) {
    const spec = line.specs.find(([, , , , values = []]) => values.includes(word))
    if (spec !== undefined && optionNamed(line, longName(spec)) === undefined) add(line, spec, word)
  }
}

function add(line: Line, spec: OptionSpec, value: string): void {
  const typed = optionNamed(line, longName(spec))
  if (typed === undefined) line.parts.push({ spec, value })
  else if (typed.value === '' || typed.value === null) typed.value = value
  else if (spec[2] === 'repeatable')
    typed.value = [...new Set([...typed.value.split(','), ...value.split(',')])].join(',')
}

/** Corrects the value of each option, in the order that they depend on each other. */
function mendValues(line: Line): void {
  const seen = new Set<string>()
  for (const option of optionsOf(line).toReversed()) {
    const name = longName(option.spec)
    // An option that only repeats by mistake counts once.
    if (seen.has(name) && option.spec[2] !== 'repeatable') line.parts = line.parts.filter(part => part !== option)
    seen.add(name)
  }
  for (const option of optionsOf(line)) {
    if (option.value === null) continue
    const value = valueFor(line, option)
    if (value === null) line.parts = line.parts.filter(part => part !== option)
    else option.value = value
  }
}

/** The value, corrected where it is wrong; null if the option is better left out. */
function valueFor(line: Line, option: Typed): string | null {
  const { spec, value } = option
  const kind = placeholder(spec)
  if (/^BANDS?$/.test(kind) && longName(spec).startsWith('--band')) return bandsFor(line, value!)
  // A corrected value may have another fault, such as the band of a corrected field.
  for (let text = value!, tries = 0; text !== '' && tries < 4; tries++) {
    const fault = problem(line, { spec, value: text })
    if (fault === null) return text
    const next = correctValue(text, fault.offence, line.known.fields) ?? (kind === 'DATE' ? datesIn(text, line) : null)
    if (next === null || next === text) break
    text = next
  }
  // A field says what a condition would say again, and some commands take only one of them.
  const isSaid =
    kind === 'CONDITION' && line.parts.some(part => typeof part === 'string' && line.known.fields.named(part))
  if (isSaid || isUseless(line, spec)) return null
  return kind === 'CONDITION' && value !== '' ? mendCondition(value!, line.known.fields) : exampleFor(line, spec)
}

/** Whether the option of a parameter means nothing on this line. */
function isUseless(line: Line, [, , , , , parameter]: OptionSpec): boolean {
  const { onlyWith } = parameter ?? {}
  return onlyWith?.every(name => optionNamed(line, optionOf(name)) === undefined) ?? false
}

function datesIn(text: string, line: Line): string | null {
  const dates = text.split(',').map(part => isoDate(part, line))
  return dates.includes(null) ? isoDate(text, line) : dates.join(',')
}

/** The bands of the typed field; a band of another field brings that field with it. */
function bandsFor(line: Line, value: string): string | null {
  const { known } = line
  const words = line.parts.filter(part => typeof part === 'string')
  const at = line.parts.findIndex(part => typeof part === 'string' && known.fields.named(part) !== undefined)
  const option = optionsOf(line).find(({ spec }) => /^FIELDS?$/.test(placeholder(spec)))
  const named = [...words, ...(option?.value ?? '').split(',')].filter(word => known.fields.named(word) !== undefined)
  const fields = named.length > 0 ? named : known.fields.names
  const own = [...new Set(fields.flatMap(field => known.fields.named(field)!.bands))]
  const all = known.fields.all.flatMap(field => field.bands)
  const bands = value.split(',').flatMap(band => (own.includes(band) ? [band] : suggest(band, own).slice(0, 1)))
  if (bands.length > 0) return [...new Set(bands)].join(',')
  const [band] = value.split(',').flatMap(band => (all.includes(band) ? [band] : suggest(band, all)))
  const takesField = (line.command.arguments ?? []).flatMap(argumentKinds).includes('FIELD')
  if (band === undefined || (!takesField && option === undefined))
    return own.includes('oversold') ? 'oversold' : own[0]!
  const field = fieldFor([band], known.fields)
  if (at >= 0) line.parts[at] = field
  else if (option !== undefined) option.value = field
  return band
}

/** The refusal of an option's value; null if it is allowed. */
function problem(line: Line, { spec, value }: Typed): InvalidParameter | null {
  const [, , , , values = [], parameter] = spec
  const param = paramOf(spec)
  const { fields } = line.known
  const { tickers } = line.known
  const wrong = (suggestions: string[], part = value): InvalidParameter =>
    new InvalidParameter('', { param, value: part, suggestions })
  const takes = placeholder(spec)
  if (/^TICKERS?$/.test(takes) && tickers.length > 0 && !/^[@-]/.test(value!)) {
    const odd = value!.split(',').find(text => !tickers.includes(text.toUpperCase()))
    return odd === undefined ? null : wrong(suggest(odd, tickers), odd)
  }
  if (parameter === undefined) {
    const odd = /^FIELDS?$/.test(takes)
      ? value!.split(',').find(text => fields.named(text) === undefined)
      : values.length > 0 && !values.includes(value!)
        ? value!
        : takes === 'N' && !/^[1-9]\d*$/.test(value!)
          ? value!
          : undefined
    if (odd === undefined) return null
    return wrong(/^FIELDS?$/.test(takes) ? sortWords([odd], line.known).fields : suggest(odd, values), odd)
  }
  const field = line.parts.find(part => typeof part === 'string' && fields.named(part) !== undefined)
  const earlier = field === undefined ? {} : { field }
  try {
    const scope = { fields, earlier }
    const { kind } = parameter
    const typed = kind.several !== undefined && kind.object ? [value] : valueForKind(param, kind, value, scope)
    if (typed !== undefined && typed !== null && value !== 'none') kind.parse(param, typed, scope)
    return null
  } catch (error) {
    return error instanceof InvalidParameter ? error : null
  }
}

/** A value that works for an option; null if there is none. */
function exampleFor({ known, parts }: Line, spec: OptionSpec): string | null {
  const [first] = known.tickers
  const field = parts.find(part => typeof part === 'string' && known.fields.named(part) !== undefined)
  const kind = placeholder(spec)
  if (/^TICKERS?$/.test(kind)) return first ?? null
  if (/^FIELDS?$/.test(kind)) return String(field ?? known.fields.names[0])
  if (kind === 'CONDITION' || kind === 'C')
    return `${field ?? known.fields.names[0]} = ${known.fields.named(String(field ?? known.fields.names[0]))!.bands[0]}`
  const example = exampleOf(spec)
  if (first === undefined) return example
  // An example may name a ticker that is not loaded here.
  return example?.replace(/^[A-Z]+(?=:)/, ticker => (known.tickers.includes(ticker) ? ticker : first)) ?? null
}

/** Adds what the command cannot do without. */
function complete(line: Line): void {
  const { needsOneOf = [], arguments: words = [] } = line.command
  const typed = line.parts.filter(part => typeof part === 'string').length
  if (words.at(-1)?.[0] === '<TICKER...>' && typed === words.length - 1)
    line.parts.push(...line.known.tickers.slice(0, 1))
  const isFile = line.parts.some(part => typeof part === 'string' && /\.(ya?ml|json)$/.test(part))
  // Named tickers replace --all.
  const isNamed = needsOneOf[0] === '--all' && line.parts.some(part => typeof part === 'string')
  if (needsOneOf.length === 0 || isFile || isNamed || needsOneOf.some(name => optionNamed(line, name) !== undefined))
    return
  const spec = specOf(line, needsOneOf[0]!)!
  line.parts.push({ spec, value: takesValue(spec) ? exampleFor(line, spec) : null })
}
