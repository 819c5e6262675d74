import { existsSync } from 'node:fs'
import { InvalidParameter, suggest } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { TRUTHS } from '../../core/language/as-field.js'
import { fieldsWithBand } from '../../core/language/condition.js'
import { exampleOf, mayRepeat, type OptionSpec, parameterOf, valueForKind } from '../../core/params/row.js'
import { argumentKinds, CATALOGUE, commandsOfGroup, type Entry, GROUP_DEFAULTS, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import {
  allowedWords,
  longName,
  optionOf,
  optionWithFlag,
  remedyWords,
  takesValue,
  withGlobalOptions,
} from './command-line.js'
import { commandsWithOption, suggestCommand, suggestOption } from './command-suggestions.js'
import { optionWithPart, paramOf } from './joined-options.js'
import { correctValue, exampleBand, mendCondition, type SortedWords, sortWords, type Vocabulary } from './line-words.js'
import { GLOBAL_OPTIONS } from './options.js'
import { isoDate } from './typed-dates.js'

/** Makes a line that works of the words of one that does not, by the arguments, options and values of its command. */

/** One option of a line. `value` is null for a flag, and empty if the value is missing. */
interface TypedOption {
  spec: OptionSpec
  value: string | null
}

/** A line while it is being corrected. */
interface Line {
  /** Of the command: one word or two. */
  name: string
  command: Command
  specs: readonly OptionSpec[]
  /** The words and options in the typed order. */
  parts: (string | TypedOption)[]
  vocabulary: Vocabulary
  /** The index of the reading to take for a date such as 01/02/2017. */
  dateReading: number
}

/** The words of a corrected line; null if it names no command. @param reading which reading of an ambiguous date */
export async function mendLine(argv: readonly string[], vocabulary: Vocabulary, reading = 0): Promise<string[] | null> {
  const found = await findCommand(argv)
  if (found === null) return null
  const { entry, rest } = found
  const command = await entry.load()
  const specs = withGlobalOptions(command.options)
  const { madeBy } = command
  const words = rest.filter((word, at) => !isMissingStrategy(word, rest[at - 1]))
  const plainWords = words.filter(word => !word.startsWith('-'))
  const { fields, files } = sortWords(plainWords, vocabulary)
  // The command reads a strategy file, but only a field or a missing file is typed: the line shall make a file.
  const needsFile = files.length === 0 && (fields.length > 0 || words.length < rest.length)
  if (madeBy !== undefined && (needsFile || files.length === 1))
    return mendLine([...madeBy, ...words.filter(word => !files.includes(word))], vocabulary, reading)
  const line: Line = { name: entry.name, command, specs, parts: [], vocabulary, dateReading: reading }
  const otherCommand = await readParts(line, words, entry)
  if (otherCommand !== null) return mendLine([...otherCommand.split(' '), ...words], vocabulary, reading)
  arrangeWords(line)
  mendValues(line)
  addNeededParts(line)
  return [...line.name.split(' '), ...line.parts.flatMap(part => (typeof part === 'string' ? [part] : wordsOf(part)))]
}

/** Whether a word names a missing strategy file, and is no value of an option. @param before the word before it */
function isMissingStrategy(word: string, before = ''): boolean {
  return /\.(ya?ml|json)$/i.test(word) && !before.startsWith('-') && !existsSync(word)
}

/** A line without an option and the word after it, which counts as its value; null if it does not have that option. */
export function withoutOption(argv: readonly string[], option: string): string[] | null {
  const at = argv.findLastIndex(word => word === option || word.startsWith(`${option}=`))
  if (at < 0) return null
  const next = argv[at + 1]
  // `--name=value`, or an option at the end or before another one.
  const isOneWord = argv[at] !== option || next === undefined || next.startsWith('--')
  return argv.toSpliced(at, isOneWord ? 1 : 2)
}

const placeholder = ([flags]: OptionSpec): string => /<(.*)>/.exec(flags)?.[1] ?? ''
const wordsOf = ({ spec, value }: TypedOption): string[] => [longName(spec), ...(value === null ? [] : [value])]

/** The command that a line names or most likely means, and the other words in order; null if no command is near. */
async function findCommand(argv: readonly string[]): Promise<{ entry: Entry; rest: string[] } | null> {
  const isGlobalValue = (at: number): boolean =>
    GLOBAL_OPTIONS.some(spec => takesValue(spec) && longName(spec) === argv[at - 1])
  const plainIndexes = argv.flatMap((word, at) => (word.startsWith('-') || isGlobalValue(at) ? [] : [at]))
  const at = plainIndexes.find(index => TOP_WORDS.includes(argv[index]!)) ?? plainIndexes[0]
  if (at === undefined) return null
  const word = argv[at]!
  const entry = CATALOGUE.find(({ name }) => name === word)
  if (entry !== undefined) return { entry, rest: argv.toSpliced(at, 1) }
  if (commandsOfGroup(word).length > 0) return findCommandOfGroup(argv, at)
  const remedy = suggestCommand(word, argv)?.remedy
  if (remedy == null) {
    const [nearest] = suggest(word, TOP_WORDS)
    return nearest === undefined ? null : findCommand(argv.with(at, nearest))
  }
  // `--version` is no command.
  if (remedy.command.startsWith('-')) return null
  const words = remedyWords(remedy)
  const firstOption = argv.findIndex(other => other.startsWith('-'))
  // A remedy about a field or a ticker has no options; those of the line are kept.
  const keepsOptions =
    firstOption >= 0 && !words.includes(argv[firstOption]!) && !words.some(other => other.startsWith('-'))
  return findCommand(keepsOptions ? [...words, ...argv.slice(firstOption)] : words)
}

/** The command of the group at `at`: the one that the next word names or nearly names, otherwise the default. */
function findCommandOfGroup(argv: readonly string[], at: number): { entry: Entry; rest: string[] } {
  const group = argv[at]!
  const names = commandsOfGroup(group).map(({ name }) => name.split(' ')[1]!)
  const next = argv[at + 1] ?? ''
  const typedName = names.includes(next) ? next : suggest(next, names)[0]
  const name = typedName ?? GROUP_DEFAULTS[group] ?? names[0]!
  // `list` takes no word, so an unknown one is dropped.
  const dropsNext = typedName !== undefined || (name === 'list' && /^[^-]/.test(next))
  return {
    entry: CATALOGUE.find(entry => entry.name === `${group} ${name}`)!,
    rest: argv.toSpliced(at, dropsNext ? 2 : 1),
  }
}

/**
 * Reads words and options into the parts of a line; unknown options are left out. Returns null, or the name of another
 * command: the only one that has an unknown option. It must take a ticker and a field, as this one does.
 */
async function readParts(line: Line, words: readonly string[], entry: Entry): Promise<string | null> {
  const { specs, parts } = line
  const isOption = (word: string): boolean => word.startsWith('--') || optionWithFlag(specs, word) !== undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (!/^--?[a-z]/i.test(word)) {
      parts.push(word)
      continue
    }
    // The value of `--name=value`.
    const [name = '', joinedValue] = word.split(/=(.*)/s)
    const [partOption, part] = optionWithPart(specs, name) ?? []
    const nearestName = suggestOption(name, specs.map(longName))
    const spec = optionWithFlag(specs, name) ?? partOption ?? optionWithFlag(specs, nearestName ?? '')
    const nextWord = words[at + 1]
    const nextIsValue = joinedValue === undefined && nextWord !== undefined && !isOption(nextWord)
    if (spec === undefined) {
      const commands = await commandsWithOption(name, entry)
      const [firstCommand] = commands
      if (firstCommand === undefined) continue
      const otherCommand = await CATALOGUE.find(({ name }) => name === firstCommand)!.load()
      const takeTheSameWords = [line.command, otherCommand].every(takesTickerAndField)
      if (commands.length === 1 && takeTheSameWords) return firstCommand
      const unknownOption = otherCommand.options!.find(option => longName(option) === name)!
      if (!takesValue(unknownOption)) continue
      // The value of an unknown option is left out, too, unless it is an argument of this command: `screen --when`.
      const isArgument = argumentKindsOf(line).includes(placeholder(unknownOption))
      if (isArgument && joinedValue !== undefined) parts.push(joinedValue)
      if (nextIsValue && !isArgument) at++
    } else if (!takesValue(spec)) parts.push({ spec, value: null })
    else {
      if (nextIsValue) at++
      const value = joinedValue ?? (nextIsValue ? nextWord : '')
      const option = { spec, value: spec === partOption ? `${part} ${value}`.trim() : value }
      const nextText = words[at + 1]
      if (nextText !== undefined && isUnitOfValue(line, option, nextText)) {
        // `--costs 10 bp` means `--costs 10bp`.
        option.value += nextText
        at++
      }
      parts.push(option)
    }
  }
  return null
}

/** Whether a word is the unit of the value before it, such as `bp` in `--costs 10 bp`. */
function isUnitOfValue(line: Line, { spec, value }: TypedOption, word: string): boolean {
  const { others } = sortWords([word], line.vocabulary, { correct: false })
  const hasUnit = parameterOf(spec) !== undefined && /^\d/.test(value ?? '') && /^[a-z%]+$/i.test(word)
  return hasUnit && others.length > 0 && refusalOf(line, { spec, value: value + word }) === null
}

function takesTickerAndField({ arguments: args = [] }: Command): boolean {
  const kinds = args.flatMap(argumentKinds)
  return kinds.includes('TICKER') && kinds.includes('FIELD')
}

const optionsOf = (line: Line): TypedOption[] => line.parts.filter(part => typeof part !== 'string')
const optionNamed = (line: Line, name: string): TypedOption | undefined =>
  optionsOf(line).find(({ spec }) => longName(spec) === name)
/** The first of the named options that the command has; undefined if it has none of them. */
const firstKnownOption = (line: Line, ...names: string[]): OptionSpec | undefined =>
  names.map(name => line.specs.find(spec => longName(spec) === name)).find(spec => spec !== undefined)

/** The kinds (`TICKER`) and words that the command of a line takes as arguments. */
const argumentKindsOf = (line: Line): string[] => (line.command.arguments ?? []).flatMap(argumentKinds)

/** Puts each word where the command takes it, as an argument or option; only if it takes tickers or no argument. */
function arrangeWords(line: Line): void {
  const kinds = argumentKindsOf(line)
  const tickersOption = line.specs.find(spec => placeholder(spec) === 'TICKERS')
  const takesTickers = tickersOption !== undefined || line.command.arguments?.[0]?.[0] === '[TICKER...]'
  const takesNoArgument = kinds.length === 0
  if (!takesTickers && !takesTickerAndField(line.command) && !takesNoArgument) return
  // A SYMBOL is a ticker that need not be loaded: it cannot be corrected.
  if (kinds.includes('SYMBOL')) return
  const typedWords = line.parts.filter(part => typeof part === 'string')
  const sorted = sortWords(typedWords, line.vocabulary)
  let words: string[]
  if (kinds.includes('CONDITION')) takeNamedConditions(sorted, line.vocabulary.fields)
  if (kinds.includes('CONDITION'))
    words = [mendCondition(conditionOf(sorted, line.vocabulary.fields), line.vocabulary.fields)]
  else if (takesTickerAndField(line.command)) words = tickerAndFieldWords(line, sorted, tickersOption !== undefined)
  else words = otherArguments(line, sorted, typedWords, tickersOption)
  // `tickerAndFieldWords` has removed a date that became an argument from `sorted`.
  addWordsAsOptions(line, sorted)
  if (words.join('\n') === typedWords.join('\n')) return
  line.parts = [...words, ...optionsOf(line)]
}

/**
 * The arguments of a command that takes tickers and a field, or a strategy file that may be followed by tickers.
 * Without a file, missing tickers are chosen and added to `sorted`; so is a missing field unless there is a condition.
 * A date among the arguments is removed from `sorted`, so that it does not become an option as well.
 */
function tickerAndFieldWords(line: Line, sorted: SortedWords, takesSeveralTickers: boolean): string[] {
  const kinds = argumentKindsOf(line)
  const hasFile = kinds.includes('FILE') && sorted.files.length > 0
  if (!hasFile) {
    const isByCondition = optionNamed(line, '--when') !== undefined || sorted.conditions.length > 0
    const bands = [...sorted.bands, ...(optionNamed(line, '--band')?.value ?? '').split(',')]
    if (!isByCondition && sorted.fields.length === 0) sorted.fields.push(likelyField(bands, line.vocabulary.fields))
    addMissingTickers(line, sorted, takesSeveralTickers)
  }
  const tickers = takesSeveralTickers ? sorted.tickers : sorted.tickers.slice(0, 1)
  const words = hasFile ? [sorted.files[0]!, ...tickers] : [...tickers, ...sorted.fields.slice(0, 1)]
  if (kinds.includes('DATE'))
    words.push(...sorted.dates.splice(0, 1).map(text => isoDate(text, line.dateReading, line.vocabulary.today) ?? text))
  return words
}

/** The arguments among the words: tickers, fields, files and one listed word. Tickers and fields may become options. */
function otherArguments(
  line: Line,
  { tickers, fields, files }: SortedWords,
  typedWords: readonly string[],
  tickersOption: OptionSpec | undefined,
): string[] {
  const kinds = argumentKindsOf(line)
  const words: string[] = []
  if (kinds.includes('TICKER')) words.push(...tickers)
  else if (tickers.length > 0 && tickersOption !== undefined) addOption(line, tickersOption, tickers.join(','))
  // The field of --context is that of a second ticker.
  const isFieldOption = (spec: OptionSpec): boolean =>
    /^FIELDS?$/.test(placeholder(spec)) && !longName(spec).includes('context')
  const fieldOption = line.specs.find(isFieldOption)
  if (fields.length > 0 && fieldOption !== undefined) addOption(line, fieldOption, fields.join(','))
  if (kinds.includes('FIELD')) words.push(...fields)
  if (kinds.includes('FILE')) words.push(...files)
  // The argument whose values are words in small letters: `events`, `series`.
  const choices = (line.command.arguments ?? [])
    .map(argumentKinds)
    .find(kindsOfArgument => kindsOfArgument.every(word => /^[a-z]/.test(word)))
  if (choices === undefined || choices.length === 0) return words
  const typedChoice = typedWords.find(word => choices.includes(word))
  const [nearestChoice] = typedWords.flatMap(word => suggest(word, choices))
  return [...words, typedChoice ?? nearestChoice ?? choices[0]!]
}

/** Moves the lists that are named conditions to the conditions: `dip` means `@dip`. */
function takeNamedConditions(sorted: SortedWords, { conditions }: FieldSet): void {
  const isNamed = (list: string): boolean => conditions?.names.includes(list) === true
  sorted.conditions.push(...sorted.lists.filter(isNamed).map(name => `@${name}`))
  sorted.lists = sorted.lists.filter(list => !isNamed(list))
}

/** The typed condition, otherwise one that is made from the typed field, bands or other words. */
function conditionOf({ conditions, fields, bands, others }: SortedWords, fieldSet: FieldSet): string {
  if (conditions.length > 0) return conditions[0]!
  if (others.length > 0 && fields.length === 0 && bands.length === 0) return others[0]!
  const field = fields[0] ?? likelyField(bands, fieldSet)
  const bandsOfField = fieldSet.named(field)!.bands
  return `${field} = ${bands.find(band => bandsOfField.includes(band)) ?? exampleBand(bandsOfField)}`
}

/** A field that has one of the bands, otherwise the first known field. */
function likelyField(bands: readonly string[], fields: FieldSet): string {
  return bands.flatMap(band => fieldsWithBand(band, fields))[0] ?? fields.names[0]!
}

/** If the line names no ticker or list, adds `--all` or the first loaded ticker. Named tickers replace --all. */
function addMissingTickers(line: Line, { tickers, lists }: SortedWords, takesSeveralTickers: boolean): void {
  const allOption = optionNamed(line, '--all')
  const isNamedByOption = ['--tickers', '--watch', '--all'].some(name => optionNamed(line, name))
  if (tickers.length > 0) line.parts = line.parts.filter(part => part !== allOption)
  if (tickers.length > 0 || lists.length > 0 || isNamedByOption) return
  if (takesSeveralTickers && firstKnownOption(line, '--all') !== undefined) tickers.push('--all')
  else tickers.push(...line.vocabulary.tickers.slice(0, 1))
}

/** Adds options whose values are the words: bands, lists, the first date and condition, listed values of an option. */
function addWordsAsOptions(line: Line, { bands, lists, dates, conditions, others }: SortedWords): void {
  const band = firstKnownOption(line, '--band')
  if (bands.length > 0 && band !== undefined) addOption(line, band, bands.join(','))
  const watch = firstKnownOption(line, '--watch')
  if (lists.length > 0 && watch !== undefined) addOption(line, watch, lists.join(','))
  const date = firstKnownOption(line, '--after', '--since', '--as-of')
  if (dates.length > 0 && date !== undefined && optionNamed(line, longName(date)) === undefined)
    addOption(line, date, dates[0]!)
  const when = firstKnownOption(line, '--when')
  const takesCondition = argumentKindsOf(line).includes('CONDITION')
  if (conditions.length > 0 && when !== undefined && !takesCondition) addOption(line, when, conditions[0]!)
  for (const word of others) {
    const spec = line.specs.find(option => allowedWords(option).includes(word))
    if (spec !== undefined && optionNamed(line, longName(spec)) === undefined) addOption(line, spec, word)
  }
}

/** Adds an option with a value. If it is typed, a missing value is filled in, and a list gets the value as well. */
function addOption(line: Line, spec: OptionSpec, value: string): void {
  const option = optionNamed(line, longName(spec))
  if (option === undefined) line.parts.push({ spec, value })
  else if (option.value === '' || option.value === null) option.value = value
  else if (mayRepeat(spec)) option.value = [...new Set([...option.value.split(','), ...value.split(',')])].join(',')
}

/** Corrects the value of each option, or removes the option. */
function mendValues(line: Line): void {
  const laterNames = new Set<string>()
  for (const option of optionsOf(line).toReversed()) {
    const name = longName(option.spec)
    // Of an option that is repeated by mistake, the last counts.
    if (laterNames.has(name) && !mayRepeat(option.spec)) line.parts = line.parts.filter(part => part !== option)
    laterNames.add(name)
  }
  for (const option of optionsOf(line)) {
    if (option.value === null) continue
    const value = mendedValue(line, option)
    if (value === null) line.parts = line.parts.filter(part => part !== option)
    else option.value = value
  }
}

/** The value as typed if it is right, otherwise corrected, otherwise an example. Null if it has no effect here. */
function mendedValue(line: Line, option: TypedOption): string | null {
  const { spec, value } = option
  const { fields, today } = line.vocabulary
  const kind = placeholder(spec)
  if (/^BANDS?$/.test(kind) && longName(spec).startsWith('--band')) return mendBands(line, value!)
  // A corrected value may have another fault, such as the band of a corrected field.
  for (let text = value!, tries = 0; text !== '' && tries < 4; tries++) {
    const fault = refusalOf(line, { spec, value: text })
    if (fault === null) return text
    const date = kind === 'DATE' ? isoDate(text, line.dateReading, today) : null
    const next = correctValue(text, fault.offence, fields) ?? date
    if (next === null || next === text) break
    text = next
  }
  // The field suffices for a line that works, and some commands take no condition next to it.
  const hasField = line.parts.some(part => typeof part === 'string' && fields.named(part))
  // An option that needs one of some others has no effect if all of them are missing.
  const hasNoEffect = parameterOf(spec)?.onlyWith?.every(name => optionNamed(line, optionOf(name)) === undefined)
  if ((kind === 'CONDITION' && hasField) || hasNoEffect) return null
  return kind === 'CONDITION' && value !== '' ? mendCondition(value!, fields) : exampleFor(line, spec)
}

/**
 * Returns the value of --band with each band corrected to one of the typed fields, or of any field if none is typed. If
 * the typed fields have none of these bands, `line` gets a field that has one, or the value is an example.
 */
function mendBands(line: Line, value: string): string | null {
  const { fields } = line.vocabulary
  const words = line.parts.filter(part => typeof part === 'string')
  const optionFields = (fieldOptionOf(line)?.value ?? '').split(',')
  const typedFields = [...words, ...optionFields].filter(name => fields.named(name) !== undefined)
  // The events of a condition have its own bands, true and false.
  const isOfCondition = typedFields.length === 0 && optionNamed(line, '--when') !== undefined
  if (isOfCondition) return value.split(',').every(band => TRUTHS.includes(band)) ? value : null
  const fieldNames = typedFields.length > 0 ? typedFields : fields.names
  const allowed = [...new Set(fieldNames.flatMap(field => fields.named(field)!.bands))]
  const typedBands = value.split(',')
  const bands = typedBands.flatMap(band => (allowed.includes(band) ? [band] : suggest(band, allowed).slice(0, 1)))
  if (bands.length > 0) return [...new Set(bands)].join(',')
  return useFieldWithBand(line, typedBands) ?? exampleBand(allowed)
}

function fieldOptionOf(line: Line): TypedOption | undefined {
  return optionsOf(line).find(({ spec }) => /^FIELDS?$/.test(placeholder(spec)))
}

/**
 * Replaces the typed field by one that has one of the bands, and returns the band. Returns null if no field has any, or
 * the command takes no field.
 */
function useFieldWithBand(line: Line, typedBands: readonly string[]): string | null {
  const { fields } = line.vocabulary
  const everyBand = fields.all.flatMap(field => field.bands)
  const [band] = typedBands.flatMap(typed => (everyBand.includes(typed) ? [typed] : suggest(typed, everyBand)))
  const fieldOption = fieldOptionOf(line)
  const takesField = fieldOption !== undefined || argumentKindsOf(line).includes('FIELD')
  if (band === undefined || !takesField) return null
  const field = likelyField([band], fields)
  const fieldArgument = line.parts.findIndex(part => typeof part === 'string' && fields.named(part) !== undefined)
  if (fieldArgument >= 0) line.parts[fieldArgument] = field
  else if (fieldOption !== undefined) fieldOption.value = field
  return band
}

/** The error that refuses an option's value; null if the value is allowed. */
function refusalOf(line: Line, { spec, value }: TypedOption): InvalidParameter | null {
  const parameter = parameterOf(spec)
  const param = paramOf(spec)
  const { fields, tickers } = line.vocabulary
  const isFileOrInput = /^[@-]/.test(value!)
  const isTickers = /^TICKERS?$/.test(placeholder(spec)) && tickers.length > 0 && !isFileOrInput
  if (isTickers || parameter === undefined) {
    const wrongValue = isTickers ? unknownTicker(line, value!) : wrongOptionValue(line, spec, value!)
    return wrongValue === null ? null : new InvalidParameter('', { param, ...wrongValue })
  }
  const field = line.parts.find(part => typeof part === 'string' && fields.named(part) !== undefined)
  // A typed field decides which bands are allowed.
  const scope = { fields, earlier: field === undefined ? {} : { field } }
  try {
    const { kind } = parameter
    // A list of objects, as --vary takes it: the commas of `hold=5,10,20` separate the values of one item.
    const isOneItem = kind.several !== undefined && kind.object
    const parsable = isOneItem ? [value] : valueForKind(param, kind, value, scope)
    // `none` means that a parameter is not set.
    if (parsable !== undefined && parsable !== null && value !== 'none') kind.parse(param, parsable, scope)
    return null
  } catch (error) {
    return error instanceof InvalidParameter ? error : null
  }
}

interface WrongValue {
  value: string
  suggestions: string[]
}

/** The first ticker of a list that is not loaded; null if all are. */
function unknownTicker({ vocabulary: { tickers } }: Line, value: string): WrongValue | null {
  const unknown = value.split(',').find(text => !tickers.includes(text.toUpperCase()))
  return unknown === undefined ? null : { value: unknown, suggestions: suggest(unknown, tickers) }
}

/** The wrong part of a value of fields, of listed words or of a number; null if it is right. */
function wrongOptionValue({ vocabulary }: Line, spec: OptionSpec, value: string): WrongValue | null {
  if (/^FIELDS?$/.test(placeholder(spec))) {
    const unknown = value.split(',').find(text => vocabulary.fields.named(text) === undefined)
    if (unknown === undefined) return null
    const { fields: similarFields } = sortWords([unknown], vocabulary)
    return { value: unknown, suggestions: similarFields }
  }
  const words = allowedWords(spec)
  const isUnlisted = words.length > 0 && !words.includes(value)
  const isNoNumber = placeholder(spec) === 'N' && !/^[1-9]\d*$/.test(value)
  return isUnlisted || isNoNumber ? { value, suggestions: suggest(value, words) } : null
}

/** A value that works for an option; null if there is none. */
function exampleFor({ vocabulary, parts }: Line, spec: OptionSpec): string | null {
  const { fields, tickers } = vocabulary
  const [firstTicker] = tickers
  const typedField = parts.find(part => typeof part === 'string' && fields.named(part) !== undefined)
  const field = String(typedField ?? fields.names[0])
  const kind = placeholder(spec)
  if (/^TICKERS?$/.test(kind)) return firstTicker ?? null
  if (/^FIELDS?$/.test(kind)) return field
  if (kind === 'CONDITION') return `${field} = ${fields.named(field)!.bands[0]}`
  const example = exampleOf(spec)
  if (firstTicker === undefined) return example
  // An example may name a ticker that is not loaded here.
  return example?.replace(/^[A-Z]+(?=:)/, ticker => (tickers.includes(ticker) ? ticker : firstTicker)) ?? null
}

/** Adds a missing ticker, and the first option of `needsOneOf` if the command needs one of these and none is typed. */
function addNeededParts(line: Line): void {
  const { needsOneOf = [], arguments: takenArguments = [] } = line.command
  const typedWords = line.parts.filter(part => typeof part === 'string')
  if (takenArguments.at(-1)?.[0] === '<TICKER...>' && typedWords.length === takenArguments.length - 1) {
    const { tickers } = line.vocabulary
    // The name of the list is missing if the only word is a ticker.
    if (typedWords.length === 1 && tickers.includes(typedWords[0]!)) line.parts.unshift('mine')
    else line.parts.push(tickers[0] ?? 'AAPL')
  }
  // A strategy file already has an exit, which is what `needsOneOf` of a backtest asks for.
  const hasFile = typedWords.some(word => /\.(ya?ml|json)$/.test(word))
  // Named tickers replace --all.
  const namesTickers = needsOneOf[0] === '--all' && line.parts.some(part => typeof part === 'string')
  const hasOneOf = needsOneOf.some(name => optionNamed(line, name) !== undefined)
  if (needsOneOf.length === 0 || hasFile || namesTickers || hasOneOf) return
  const spec = firstKnownOption(line, needsOneOf[0]!)!
  line.parts.push({ spec, value: takesValue(spec) ? exampleFor(line, spec) : null })
}
