import { type Mention, type Remedy, type Words, wordsAsText } from '../../core/errors.js'
import { isCondition, TRUE, TRUTHS } from '../../core/language/as-field.js'
import type { HistoryQuery } from '../../core/model/event.js'
import { FILTERS } from '../../core/params/questions.js'
import { type OptionSpec, optionsOf } from '../../core/params/row.js'
import { joinedOptionText } from './joined-options.js'
import { GLOBAL_OPTIONS, TICKERS_OPTIONS } from './options.js'

/** Parameters and commands as people type them. */

/**
 * The option of a parameter: `context_ticker` → `--context-ticker`. One that is part of a joined option is written so:
 * `split` → `--validate split`. Words after the first stay: `cv k` → `--cv k`.
 */
export function optionOf(param: string): string {
  const [name = '', ...rest] = param.split(' ')
  const joinedOption = name === 'skip_bad_rows' ? '--bad-rows skip' : joinedOptionText(name)
  return [joinedOption ?? `--${name.replaceAll('_', '-')}`, ...rest].join(' ')
}

/** An option and its value as words of a line. Words of it after the first belong to the value: `--cv "k 5"`. */
function optionWords(param: string, value: string | true): [string, ...string[]] {
  const [option = '', ...valueWords] = optionOf(param).split(' ')
  if (value !== true) valueWords.push(value)
  return valueWords.length === 0 ? [option] : [option, valueWords.join(' ')]
}

export function remedyLine(remedy: Remedy): string {
  return quotedLine(remedyWords(remedy))
}

export function remedyWords({ command, words = [], params = {} }: Remedy): string[] {
  const options = Object.entries(params).flatMap(([name, value]) => optionWords(name, value))
  return [...command.split(' '), ...words, ...options]
}

/** The typed line with the values that a remedy gives to its options; null if the remedy is a line of its own. */
export function lineWithRemedy(argv: readonly string[], { again, words = [], params = {} }: Remedy): string[] | null {
  if (!again || !words.every(word => argv.includes(word))) return null
  const line = [...argv]
  for (const [name, value] of Object.entries(params)) {
    const [option, optionValue] = optionWords(name, value)
    const at = line.indexOf(option)
    const removedWords = at < 0 ? [] : line.splice(at, optionValue === undefined ? 1 : 2)
    line.push(option)
    if (optionValue === undefined) continue
    // The parameter may be one part of the option's value, as in `--cv "k 5"`: the other parts stay.
    const earlierParts = optionOf(name) === option ? undefined : removedWords[1]
    line.push(earlierParts === undefined ? optionValue : `${earlierParts}, ${optionValue}`)
  }
  return line
}

/** A sentence in which every parameter is an option. */
export function textWithOptions(words: Words): string {
  return wordsAsText(words, mention => mentionText(mention, optionOf))
}

/** A text in which every parameter that is an option of the command is that option; an argument keeps its name. */
export function textWithOptionsOf(options: readonly OptionSpec[], words: Words): string {
  const knownOptions = new Set(optionNames(options))
  const optionOrParam = (param: string): string => {
    const option = optionOf(param)
    return knownOptions.has(option.split(' ')[0]!) ? option : param
  }
  return wordsAsText(words, mention => mentionText(mention, optionOrParam))
}

export function optionNames(options: readonly OptionSpec[]): string[] {
  return [...options, ...GLOBAL_OPTIONS].map(longName)
}

/** The options of a command and the global ones. A command may redefine a global one: the tier of a new account. */
export function withGlobalOptions(options: readonly OptionSpec[] = []): OptionSpec[] {
  const names = options.map(longName)
  return [...options, ...GLOBAL_OPTIONS.filter(spec => !names.includes(longName(spec)))]
}

/** The option with a flag such as `--quiet` or `-q`; undefined if there is none. */
export function optionWithFlag(options: readonly OptionSpec[], flag: string): OptionSpec | undefined {
  return options.find(([flags]) => flags.split(/[ ,]+/).includes(flag))
}

/** The words that an option takes; empty if it takes other values. */
export function allowedWords([, , , , words = []]: OptionSpec): readonly string[] {
  return words
}

/** `-q, --quiet` → `--quiet` */
export function longName([flags]: OptionSpec): string {
  return /--[\w-]+/.exec(flags)![0]
}

export function takesValue([flags]: OptionSpec): boolean {
  return flags.includes('<')
}

/** A mentioned command or parameter as text: `--validate "cv k=5"`. @param nameOf returns `--validate cv` for `cv` */
function mentionText(mention: Mention, nameOf: (param: string) => string): string {
  if ('command' in mention) return remedyLine(mention)
  const { param, value } = mention
  const name = nameOf(param)
  if (value === undefined) return name
  const [option = '', ...valueWords] = name.split(' ')
  if (valueWords.length === 0 || !option.startsWith('--')) return `${name} ${value}`
  return `${option} "${valueWords.join(' ')} ${value}"`
}

/**
 * The line with the last occurrence of a wrong word replaced; null if it does not occur. It may be a word in capital
 * or small letters, follow `--option=`, or be one value of a list.
 */
export function replaceWord(argv: readonly string[], wrong: string, right: string): string[] | null {
  const wordIndex = argv.findLastIndex(word => word.toLowerCase() === wrong.toLowerCase())
  if (wordIndex >= 0) return argv.with(wordIndex, right)
  const joinedIndex = argv.findLastIndex(word => word.startsWith('--') && word.endsWith(`=${wrong}`))
  if (joinedIndex >= 0) return argv.with(joinedIndex, argv[joinedIndex]!.slice(0, -wrong.length) + right)
  // An option before its value, or one of several values.
  const partsByWord = argv.map(word => word.split(/([,=\s])/))
  const listIndex = partsByWord.findLastIndex(parts => parts.includes(wrong))
  if (listIndex < 0) return null
  return argv.with(listIndex, partsByWord[listIndex]!.map(part => (part === wrong ? right : part)).join(''))
}

/** The words for the events of a question: a field and its bands, or a condition. */
export function eventWords({ field, bands, when }: Pick<HistoryQuery, 'field' | 'bands' | 'when'>): string[] {
  const band = bands === undefined ? [] : ['--band', bands.join(',')]
  if (isCondition(field)) return ['--when', field, ...(bands?.join() === TRUTHS[TRUE] ? [] : band)]
  return [field, ...band, ...(when === undefined ? [] : ['--when', when])]
}

/** The line with a wrong text within a word replaced, such as a band in a condition; null if it is not there. */
export function replaceWithinWord(
  argv: readonly string[],
  offence: { value?: unknown; line?: number; column?: number },
  right: string,
): string[] | null {
  const { value, line = 1, column = 1 } = offence
  const wrong = String(value)
  // The part of a word before the wrong text; null if the word does not have the wrong text at that column.
  const textBefore = (word: string): string | null => {
    const text = word.replace(/^--[\w-]+=/, '')
    const start = [...text].slice(0, column - 1).join('')
    return text.startsWith(wrong, start.length) ? word.slice(0, word.length - text.length) + start : null
  }
  const at = argv.findLastIndex(word => textBefore(word) !== null)
  if (line !== 1 || at < 0) return null
  const start = textBefore(argv[at]!)!
  return argv.with(at, start + right + argv[at]!.slice(start.length + wrong.length))
}

/** The settings that choose the database or server. */
const SOURCE_SETTINGS = ['--db', '--remote', '--profile', '--key-file', '--allow-plain-http']
/** The settings that the line of a next command repeats: its source, tier and as-of day. */
const REPEATED_SETTINGS = [...SOURCE_SETTINGS, '--tier', '--as-of']

/** The most tickers that the line of a next command names. */
export const MAX_TICKERS_IN_NEXT_LINE = 5

/**
 * The line of the next command: it asks the same source about the same day and range.
 * @param tickers to name; if empty, the typed --tickers, --watch or --all stays, and without one --all is added
 * @param words other arguments of the command: a field and band, or a condition
 */
export function nextLine(
  argv: readonly string[],
  command: string,
  tickers: readonly string[],
  words: readonly string[],
): string {
  const { band: _band, when: _when, ...otherFilters } = FILTERS
  const filters = optionsOf(otherFilters).map(longName)
  const tickersOptionNames = TICKERS_OPTIONS.map(longName)
  const tickerWords = tickers.length > 0 || typedOptions(argv, tickersOptionNames).length > 0 ? tickers : ['--all']
  const keptOptions = [...REPEATED_SETTINGS, ...filters, ...(tickers.length > 0 ? [] : tickersOptionNames)]
  return quotedLine([command, ...tickerWords, ...words, ...typedOptions(argv, keptOptions)])
}

/** Those options of a line that have one of the names (`--db`), each with its value. */
function typedOptions(argv: readonly string[], names: readonly string[]): string[] {
  return argv.flatMap((word, at) => {
    const [name = ''] = word.split('=', 1)
    if (!names.includes(name)) return []
    const isFlag = [...GLOBAL_OPTIONS, ...TICKERS_OPTIONS].some(spec => longName(spec) === name && !takesValue(spec))
    return word !== name || isFlag ? [word] : argv.slice(at, at + 2)
  })
}

/** A line with the typed options that choose the database or server; not those of an address with a password. */
export function withTypedSource(line: readonly string[], argv: readonly string[]): string[] {
  const options = typedOptions(argv, SOURCE_SETTINGS)
  return options.some(word => /:\/\/[^/]*@/.test(word)) ? [...line] : [...line, ...options]
}

/** A line with the typed --db, and with the typed --accounts if it is about accounts. */
export function withTypedFiles(line: readonly string[], argv: readonly string[]): string[] {
  const [command = ''] = line
  const names = ACCOUNTS_COMMANDS.includes(command) ? ['--db', '--accounts'] : ['--db']
  if (WITHOUT_DATABASE.includes(command)) return [...line]
  return [
    ...line,
    ...typedOptions(
      argv,
      names.filter(name => !line.includes(name)),
    ),
  ]
}

const ACCOUNTS_COMMANDS = ['accounts', 'keys', 'serve', 'backup', 'restore']
const WITHOUT_DATABASE = ['help', 'fields', 'providers', 'config', 'login', 'logout', '--version']

/** A command line to paste; words are quoted if a shell would change them. */
export function quotedLine(words: readonly string[]): string {
  return ['bands', ...words.map(quotedWord)].join(' ')
}

/** A word for a shell: in quotes if it would change otherwise. */
export function quotedWord(word: string): string {
  return /^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
