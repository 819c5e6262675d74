import { existsSync } from 'node:fs'
import { InvalidParameter, suggest } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { fieldsWithBand } from '../../core/language/condition.js'
import { exampleOf, mayRepeat, type OptionSpec, parameterOf, valueForKind } from '../../core/params/row.js'
import { argumentKinds, CATALOGUE, commandsOfGroup, type Entry, GROUP_DEFAULTS, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { longName, optionOf, remedyWords } from './command-line.js'
import { commandsWithOption, suggestCommand, suggestOption } from './command-suggestions.js'
import { paramOf } from './joined-options.js'
import { correctValue, exampleBand, mendCondition, type SortedWords, sortWords, type Vocabulary } from './line-words.js'
import { GLOBAL_OPTIONS } from './options.js'
import { isoDate } from './typed-dates.js'

/**
 * Makes a line that works of the words of one that does not. It reads what the command declares: its arguments, its
 * options and their values. It knows the fields and the loaded tickers.
 */

/** One option of a line; a flag has no value. */
interface Typed {
  spec: OptionSpec
  value: string | null
}

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
 * The words of a corrected line; null if the line names no command.
 * @param reading the index of the reading to take for an ambiguous date
 */
export async function mendLine(argv: readonly string[], known: Vocabulary, reading = 0): Promise<string[] | null> {
  const typed = await findCommand(argv)
  if (typed === null) return null
  const { entry } = typed
  const command = await entry.load()
  const commandOptions = command.options ?? []
  const names = commandOptions.map(longName)
  const specs = [...commandOptions, ...GLOBAL_OPTIONS.filter(spec => !names.includes(longName(spec)))]
  const { madeBy } = command
  const rest = typed.rest.filter((word, at) => !isMissingStrategy(word, typed.rest[at - 1]))
  const plainWords = rest.filter(word => !word.startsWith('-'))
  const { fields, files } = sortWords(plainWords, known)
  // A command that reads a strategy file, and has only a field or a missing file: the line that makes the file.
  const lacksFile = files.length === 0 && (fields.length > 0 || rest.length < typed.rest.length)
  if (madeBy !== undefined && lacksFile) return mendLine([...madeBy, ...rest], known, reading)
  const line: Line = { name: entry.name, command, specs, parts: [], known, reading }
  const otherCommand = await readParts(line, rest, entry)
  if (otherCommand !== null) return mendLine([...otherCommand.split(' '), ...rest], known, reading)
  arrangeWords(line)
  mendValues(line)
  addNeededParts(line)
  return [...line.name.split(' '), ...line.parts.flatMap(part => (typeof part === 'string' ? [part] : wordsOf(part)))]
}

/** Whether a word names a strategy file that is not there. @param before the word in front of it */
function isMissingStrategy(word: string, before = ''): boolean {
  return /\.(ya?ml|json)$/i.test(word) && !before.startsWith('-') && !existsSync(word)
}

/** A line without one of its options; null if it does not have that option. */
export function withoutOption(argv: readonly string[], option: string): string[] | null {
  const at = argv.findLastIndex(word => word === option || word.startsWith(`${option}=`))
  if (at < 0) return null
  const isFlag = argv[at] !== option || argv[at + 1] === undefined || argv[at + 1]!.startsWith('--')
  return argv.toSpliced(at, isFlag ? 1 : 2)
}

const takesValue = ([flags]: OptionSpec): boolean => flags.includes('<')
const placeholder = ([flags]: OptionSpec): string => /<(.*)>/.exec(flags)?.[1] ?? ''
const wordsOf = ({ spec, value }: Typed): string[] => [longName(spec), ...(value === null ? [] : [value])]

/** The command that a line names or most likely means, and the other words in their order; null if there is none. */
async function findCommand(argv: readonly string[]): Promise<{ entry: Entry; rest: string[] } | null> {
  const plainIndexes = argv.flatMap((word, at) => (word.startsWith('-') || isGlobalValue(argv, at) ? [] : [at]))
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
  if (remedy.command.startsWith('-')) return null
  const words = remedyWords(remedy)
  const firstOption = argv.findIndex(other => other.startsWith('-'))
  // A remedy about a field or a ticker has no options; those of the line are kept.
  const keepsOptions =
    firstOption >= 0 && !words.includes(argv[firstOption]!) && !words.some(other => other.startsWith('-'))
  return findCommand(keepsOptions ? [...words, ...argv.slice(firstOption)] : words)
}

/** The command of a group: of the word after the group, of the nearest one, or the default. @param at of the group's word */
function findCommandOfGroup(argv: readonly string[], at: number): { entry: Entry; rest: string[] } {
  const group = argv[at]!
  const names = commandsOfGroup(group).map(({ name }) => name.split(' ')[1]!)
  const next = argv[at + 1] ?? ''
  const typedName = names.includes(next) ? next : suggest(next, names)[0]
  const name = typedName ?? GROUP_DEFAULTS[group] ?? names[0]!
  // `list` takes no word, so an unknown one is dropped.
  const isNextDropped = typedName !== undefined || (name === 'list' && /^[^-]/.test(next))
  return {
    entry: CATALOGUE.find(entry => entry.name === `${group} ${name}`)!,
    rest: argv.toSpliced(at, isNextDropped ? 2 : 1),
  }
}

/** Whether a word is the value of a global option. */
function isGlobalValue(argv: readonly string[], at: number): boolean {
  return GLOBAL_OPTIONS.some(spec => takesValue(spec) && longName(spec) === argv[at - 1])
}

/**
 * Reads words and options into the parts of a line; unknown options are left out. Returns the name of another command if
 * only that one has an option of the line, otherwise null.
 */
async function readParts(line: Line, words: readonly string[], entry: Entry): Promise<string | null> {
  const { specs, parts } = line
  const specNamed = (name: string): OptionSpec | undefined =>
    specs.find(([flags]) => flags.split(/[ ,]+/).includes(name))
  const isOption = (word: string): boolean => word.startsWith('--') || specNamed(word) !== undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (!/^--?[a-z]/i.test(word)) {
      parts.push(word)
      continue
    }
    const [name = '', joined] = word.split(/=(.*)/s)
    const spec = specNamed(name) ?? specNamed(suggestOption(name, specs.map(longName)) ?? '')
    const next = words[at + 1]
    const hasNext = next !== undefined && !isOption(next)
    if (spec === undefined) {
      const commands = await commandsWithOption(name, entry)
      const [firstCommand] = commands
      if (firstCommand === undefined) continue
      if (commands.length === 1 && (await takesSameArguments(line.command, firstCommand))) return firstCommand
      // The value of the option is left out, too.
      if (hasNext && joined === undefined && (await optionTakesValue(firstCommand, name))) at++
    } else if (!takesValue(spec)) parts.push({ spec, value: null })
    else {
      if (joined === undefined && hasNext) at++
      const option = { spec, value: joined ?? (hasNext ? next : '') }
      const wordAfter = words[at + 1]
      if (hasNext && wordAfter !== undefined && isUnit(line, option, wordAfter)) {
        option.value += wordAfter
        at++
      }
      parts.push(option)
    }
  }
  return null
}

/** Whether a word is the unit of the value before it: `--costs 10 bp`. */
function isUnit(line: Line, { spec, value }: Typed, word: string): boolean {
  const { others } = sortWords([word], line.known, { exactly: true })
  const hasUnit = parameterOf(spec) !== undefined && /^\d/.test(value ?? '') && /^[a-z%]+$/i.test(word)
  return hasUnit && others.length > 0 && refusalOf(line, { spec, value: value + word }) === null
}

/** Whether a command and another one both take a ticker and a field. @param otherName the name of the other */
async function takesSameArguments(command: Command, otherName: string): Promise<boolean> {
  const other = await CATALOGUE.find(entry => entry.name === otherName)!.load()
  return [command, other].every(({ arguments: args = [] }) => {
    const kinds = args.flatMap(argumentKinds)
    return kinds.includes('TICKER') && kinds.includes('FIELD')
  })
}

async function optionTakesValue(command: string, name: string): Promise<boolean> {
  const { options = [] } = await CATALOGUE.find(entry => entry.name === command)!.load()
  return options.some(spec => longName(spec) === name && takesValue(spec))
}

const optionsOf = (line: Line): Typed[] => line.parts.filter(part => typeof part !== 'string')
const optionNamed = (line: Line, name: string): Typed | undefined =>
  optionsOf(line).find(({ spec }) => longName(spec) === name)
/** The first of the named options that the command has. */
const firstSpec = (line: Line, ...names: string[]): OptionSpec | undefined =>
  names.map(name => line.specs.find(spec => longName(spec) === name)).find(spec => spec !== undefined)

/** The kinds and words that the command of a line takes as arguments. */
const kindsOf = (line: Line): string[] => (line.command.arguments ?? []).flatMap(argumentKinds)

/** Puts the words of a question where its command takes them: tickers, fields, bands, dates and conditions. */
function arrangeWords(line: Line): void {
  const kinds = kindsOf(line)
  const tickersOption = line.specs.find(spec => placeholder(spec) === 'TICKERS')
  const takesTickerAndField = kinds.includes('TICKER') && kinds.includes('FIELD')
  const takesTickers = tickersOption !== undefined || line.command.arguments?.[0]?.[0] === '[TICKER...]'
  const isQuestion = takesTickers || takesTickerAndField || kinds.length === 0
  if (!isQuestion || kinds.includes('SYMBOL')) return
  const typed = line.parts.filter(part => typeof part === 'string')
  const sorted = sortWords(typed, line.known)
  let words: string[]
  if (kinds.includes('CONDITION')) words = [mendCondition(conditionOf(sorted, line.known.fields), line.known.fields)]
  else if (takesTickerAndField) words = tickerAndFieldWords(line, sorted, tickersOption !== undefined)
  else words = otherArguments(line, sorted, typed, tickersOption)
  addOptions(line, sorted)
  if (words.join('\n') === typed.join('\n')) return
  line.parts = [...words, ...optionsOf(line)]
}

/**
 * The arguments of a command that takes a ticker and a field, or a file instead. A date among them is removed from
 * `sorted`, so that it does not become an option as well.
 * @param isPool whether the command takes several tickers
 */
function tickerAndFieldWords(line: Line, sorted: SortedWords, isPool: boolean): string[] {
  const kinds = kindsOf(line)
  const words: string[] = []
  if (kinds.includes('FILE') && sorted.files.length > 0)
    words.push(sorted.files[0]!, ...(isPool ? sorted.tickers : sorted.tickers.slice(0, 1)))
  else {
    const isByCondition = optionNamed(line, '--when') !== undefined || sorted.conditions.length > 0
    const bands = [...sorted.bands, ...(optionNamed(line, '--band')?.value ?? '').split(',')]
    if (!isByCondition && sorted.fields.length === 0) sorted.fields.push(fieldFor(bands, line.known.fields))
    addTickers(line, sorted, isPool)
    words.push(...(isPool ? sorted.tickers : sorted.tickers.slice(0, 1)), ...sorted.fields.slice(0, 1))
  }
  if (kinds.includes('DATE')) words.push(...sorted.dates.splice(0, 1).map(text => isoDate(text, line) ?? text))
  return words
}

/**
 * The arguments of a command that takes tickers, fields, or one of several words. Tickers and fields that it does not
 * take as arguments become options.
 * @param typed the typed words
 */
function otherArguments(
  line: Line,
  { tickers, fields }: SortedWords,
  typed: readonly string[],
  tickersOption: OptionSpec | undefined,
): string[] {
  const kinds = kindsOf(line)
  const words: string[] = []
  if (kinds.includes('TICKER')) words.push(...tickers)
  else if (tickers.length > 0 && tickersOption !== undefined) addOption(line, tickersOption, tickers.join(','))
  const isFieldOption = (spec: OptionSpec): boolean =>
    /^FIELDS?$/.test(placeholder(spec)) && !longName(spec).includes('context')
  const fieldOption = line.specs.find(isFieldOption)
  if (fields.length > 0 && fieldOption !== undefined) addOption(line, fieldOption, fields.join(','))
  if (kinds.includes('FIELD')) words.push(...fields)
  const choices = (line.command.arguments ?? [])
    .map(argumentKinds)
    .find(kindsOfArgument => kindsOfArgument.every(word => /^[a-z]/.test(word)))
  if (choices === undefined || choices.length === 0) return words
  const typedChoice = typed.find(word => choices.includes(word))
  const [nearestChoice] = typed.flatMap(word => suggest(word, choices))
  return [...words, typedChoice ?? nearestChoice ?? choices[0]!]
}

/** The typed condition, otherwise one that is made from the typed field, bands or other words. */
function conditionOf({ conditions, fields, bands, others }: SortedWords, known: FieldSet): string {
  if (conditions.length > 0) return conditions[0]!
  if (others.length > 0 && fields.length === 0 && bands.length === 0) return others[0]!
  const field = fields[0] ?? fieldFor(bands, known)
  const bandsOfField = known.named(field)!.bands
  return `${field} = ${bands.find(band => bandsOfField.includes(band)) ?? exampleBand(bandsOfField)}`
}

/** The first field that has one of the bands, otherwise the first known field. */
function fieldFor(bands: readonly string[], fields: FieldSet): string {
  return bands.flatMap(band => fieldsWithBand(band, fields))[0] ?? fields.names[0]!
}

/** Adds `--all` to `tickers` if none is named, or the first known ticker if the command takes one. Named ones replace --all. */
function addTickers(line: Line, { tickers, lists }: SortedWords, isPool: boolean): void {
  const allOption = optionNamed(line, '--all')
  const isNamed = ['--tickers', '--watch', '--all'].some(name => optionNamed(line, name))
  if (tickers.length > 0) line.parts = line.parts.filter(part => part !== allOption)
  if (tickers.length > 0 || lists.length > 0 || isNamed) return
  if (isPool && firstSpec(line, '--all') !== undefined) tickers.push('--all')
  else tickers.push(...line.known.tickers.slice(0, 1))
}

/** Adds words that are values of options: bands, lists, the first date and condition, and the listed values of an option. */
function addOptions(line: Line, { bands, lists, dates, conditions, others }: SortedWords): void {
  const band = firstSpec(line, '--band')
  if (bands.length > 0 && band !== undefined) addOption(line, band, bands.join(','))
  const watch = firstSpec(line, '--watch')
  if (lists.length > 0 && watch !== undefined) addOption(line, watch, lists.join(','))
  const date = firstSpec(line, '--after', '--since', '--as-of')
  if (dates.length > 0 && date !== undefined && optionNamed(line, longName(date)) === undefined)
    addOption(line, date, dates[0]!)
  const when = firstSpec(line, '--when')
  const takesCondition = kindsOf(line).includes('CONDITION')
  if (conditions.length > 0 && when !== undefined && !takesCondition) addOption(line, when, conditions[0]!)
  for (const word of others) {
    const spec = line.specs.find(([, , , , values = []]) => values.includes(word))
    if (spec !== undefined && optionNamed(line, longName(spec)) === undefined) addOption(line, spec, word)
  }
}

/** Adds an option, or gives its value to the typed one: an empty one takes the value, a repeatable one also has it. */
function addOption(line: Line, spec: OptionSpec, value: string): void {
  const typed = optionNamed(line, longName(spec))
  if (typed === undefined) line.parts.push({ spec, value })
  else if (typed.value === '' || typed.value === null) typed.value = value
  else if (mayRepeat(spec)) typed.value = [...new Set([...typed.value.split(','), ...value.split(',')])].join(',')
}

/** Corrects the value of each option, in the order that they depend on each other. */
function mendValues(line: Line): void {
  const seen = new Set<string>()
  for (const option of optionsOf(line).toReversed()) {
    const name = longName(option.spec)
    // An option that only repeats by mistake counts once.
    if (seen.has(name) && !mayRepeat(option.spec)) line.parts = line.parts.filter(part => part !== option)
    seen.add(name)
  }
  for (const option of optionsOf(line)) {
    if (option.value === null) continue
    const value = mendedValue(line, option)
    if (value === null) line.parts = line.parts.filter(part => part !== option)
    else option.value = value
  }
}

/**
 * The value of an option: as typed if it is right, otherwise corrected, otherwise an example. Null if the option has no
 * effect on this line, or is a condition next to a field where only one of them is allowed.
 */
function mendedValue(line: Line, option: Typed): string | null {
  const { spec, value } = option
  const kind = placeholder(spec)
  if (/^BANDS?$/.test(kind) && longName(spec).startsWith('--band')) return mendedBands(line, value!)
  // A corrected value may have another fault, such as the band of a corrected field.
  for (let text = value!, tries = 0; text !== '' && tries < 4; tries++) {
    const fault = refusalOf(line, { spec, value: text })
    if (fault === null) return text
    const next = correctValue(text, fault.offence, line.known.fields) ?? (kind === 'DATE' ? isoDate(text, line) : null)
    if (next === null || next === text) break
    text = next
  }
  // Some commands take a field or a condition, and not both.
  const hasField = line.parts.some(part => typeof part === 'string' && line.known.fields.named(part))
  if ((kind === 'CONDITION' && hasField) || hasNoEffect(line, spec)) return null
  return kind === 'CONDITION' && value !== '' ? mendCondition(value!, line.known.fields) : exampleFor(line, spec)
}

/** Whether an option has no effect on this line, because all the options that it belongs to are missing. */
function hasNoEffect(line: Line, spec: OptionSpec): boolean {
  return parameterOf(spec)?.onlyWith?.every(name => optionNamed(line, optionOf(name)) === undefined) ?? false
}

/**
 * The value of --band with each band corrected to one of the typed field, or an example. If only another field has the
 * band, that field replaces the typed one in `line`.
 */
function mendedBands(line: Line, value: string): string {
  const { fields } = line.known
  const words = line.parts.filter(part => typeof part === 'string')
  const option = optionsOf(line).find(({ spec }) => /^FIELDS?$/.test(placeholder(spec)))
  const isField = (part: string | Typed): boolean => typeof part === 'string' && fields.named(part) !== undefined
  const typedFields = [...words, ...(option?.value ?? '').split(',')].filter(isField)
  const fieldNames = typedFields.length > 0 ? typedFields : fields.names
  const allowed = [...new Set(fieldNames.flatMap(field => fields.named(field)!.bands))]
  const typedBands = value.split(',')
  const bands = typedBands.flatMap(band => (allowed.includes(band) ? [band] : suggest(band, allowed).slice(0, 1)))
  if (bands.length > 0) return [...new Set(bands)].join(',')
  const everyBand = fields.all.flatMap(field => field.bands)
  const [otherBand] = typedBands.flatMap(band => (everyBand.includes(band) ? [band] : suggest(band, everyBand)))
  const takesField = option !== undefined || kindsOf(line).includes('FIELD')
  if (otherBand === undefined || !takesField) return exampleBand(allowed)
  const field = fieldFor([otherBand], fields)
  const at = line.parts.findIndex(isField)
  if (at >= 0) line.parts[at] = field
  else if (option !== undefined) option.value = field
  return otherBand
}

/** The refusal of an option's value; null if it is allowed. */
function refusalOf(line: Line, { spec, value }: Typed): InvalidParameter | null {
  const parameter = parameterOf(spec)
  const param = paramOf(spec)
  const { fields, tickers } = line.known
  const isTickers = /^TICKERS?$/.test(placeholder(spec)) && tickers.length > 0 && !/^[@-]/.test(value!)
  if (isTickers || parameter === undefined) {
    const wrongValue = isTickers ? unknownTicker(line, value!) : wrongOptionValue(line, spec, value!)
    return wrongValue === null ? null : new InvalidParameter('', { param, ...wrongValue })
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

/** A wrong value, and the allowed values that are near to it. */
interface WrongValue {
  value: string
  suggestions: string[]
}

/** The first ticker of a list that is not loaded; null if all are. */
function unknownTicker({ known: { tickers } }: Line, value: string): WrongValue | null {
  const unknown = value.split(',').find(text => !tickers.includes(text.toUpperCase()))
  return unknown === undefined ? null : { value: unknown, suggestions: suggest(unknown, tickers) }
}

/**
 * The wrong part of the value of an option that only the command line has; null if it is right. Such an option takes
 * fields, words of a list, or a number.
 */
function wrongOptionValue({ known }: Line, spec: OptionSpec, value: string): WrongValue | null {
  const [, , , , allowedWords = []] = spec
  if (/^FIELDS?$/.test(placeholder(spec))) {
    const unknown = value.split(',').find(text => known.fields.named(text) === undefined)
    if (unknown === undefined) return null
    const { fields: similarFields } = sortWords([unknown], known)
    return { value: unknown, suggestions: similarFields }
  }
  const isUnlisted = allowedWords.length > 0 && !allowedWords.includes(value)
  const isNoNumber = placeholder(spec) === 'N' && !/^[1-9]\d*$/.test(value)
  return isUnlisted || isNoNumber ? { value, suggestions: suggest(value, allowedWords) } : null
}

/** A value that works for an option; null if there is none. */
function exampleFor({ known, parts }: Line, spec: OptionSpec): string | null {
  const [firstTicker] = known.tickers
  const typedField = parts.find(part => typeof part === 'string' && known.fields.named(part) !== undefined)
  const field = String(typedField ?? known.fields.names[0])
  const kind = placeholder(spec)
  if (/^TICKERS?$/.test(kind)) return firstTicker ?? null
  if (/^FIELDS?$/.test(kind)) return field
  if (kind === 'CONDITION' || kind === 'C') return `${field} = ${known.fields.named(field)!.bands[0]}`
  const example = exampleOf(spec)
  if (firstTicker === undefined) return example
  // An example may name a ticker that is not loaded here.
  return example?.replace(/^[A-Z]+(?=:)/, ticker => (known.tickers.includes(ticker) ? ticker : firstTicker)) ?? null
}

/** Adds a missing ticker, and the first of the options of which the command needs one. */
function addNeededParts(line: Line): void {
  const { needsOneOf = [], arguments: words = [] } = line.command
  const typed = line.parts.filter(part => typeof part === 'string').length
  if (words.at(-1)?.[0] === '<TICKER...>' && typed === words.length - 1)
    line.parts.push(...line.known.tickers.slice(0, 1))
  const isFile = line.parts.some(part => typeof part === 'string' && /\.(ya?ml|json)$/.test(part))
  // Named tickers replace --all.
  const isNamed = needsOneOf[0] === '--all' && line.parts.some(part => typeof part === 'string')
  if (needsOneOf.length === 0 || isFile || isNamed || needsOneOf.some(name => optionNamed(line, name) !== undefined))
    return
  const spec = firstSpec(line, needsOneOf[0]!)!
  line.parts.push({ spec, value: takesValue(spec) ? exampleFor(line, spec) : null })
}
