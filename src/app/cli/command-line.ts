import { type Mention, type Remedy, type Words, wordsAsText } from '../../core/errors.js'
import { isCondition, TRUE, TRUTHS } from '../../core/language/as-field.js'
import type { HistoryQuery } from '../../core/model/event.js'
import type { OptionSpec } from '../../core/params/row.js'
import { placeText } from './joined-options.js'
import { GLOBAL_OPTIONS } from './options.js'

/** Parameters and commands as people type them. */

/** `context_ticker` → `--context-ticker`; of `cv k`, a number that has a name in the value, the first word. */
export function optionOf(param: string): string {
  const [name = '', ...rest] = param.split(' ')
  return [
    (name === 'skip_bad_rows' ? '--bad-rows skip' : placeText(name)) ?? `--${name.replaceAll('_', '-')}`,
    ...rest,
  ].join(' ')
}

/** The words of an option and its value; the word of a part belongs to the value. */
function optionWords(param: string, value: string | true): [string, ...string[]] {
  const [option = '', ...word] = optionOf(param).split(' ')
  const words = [...word, ...(value === true ? [] : [value])]
  return words.length === 0 ? [option] : [option, words.join(' ')]
}

/** A remedy as a line that can be pasted. */
export function remedyLine(remedy: Remedy): string {
  return pasted(remedyWords(remedy))
}

export function remedyWords({ command, words = [], params = {} }: Remedy): string[] {
  const options = Object.entries(params).flatMap(([name, value]) => optionWords(name, value))
  return [...command.split(' '), ...words, ...options]
}

/**
 * The typed line with the parameters of a remedy. Returns null if the remedy is another line, or about one of several
 * files.
 */
export function againWords(argv: readonly string[], { again, words = [], params = {} }: Remedy): string[] | null {
  if (!again || !words.every(word => argv.includes(word))) return null
  const line = [...argv]
  for (const [name, value] of Object.entries(params)) {
    const [option, text] = optionWords(name, value)
    const at = line.indexOf(option)
    const [, before] = at < 0 ? [] : line.splice(at, text === undefined ? 1 : 2)
    const isPart = optionOf(name) !== option && text !== undefined && before !== undefined
    line.push(option, ...(isPart ? [`${before}, ${text}`] : text === undefined ? [] : [text]))
  }
  return line
}

/** A sentence in which every parameter is an option. */
export function withOptions(words: Words): string {
  return wordsAsText(words, mention => spelled(mention, optionOf))
}

/** A text in the words of a command: a name that is no option of the command is unchanged, such as an argument. */
export function inWordsOf(options: readonly OptionSpec[], words: Words): string {
  const known = new Set(namesOf(options))
  const name = (param: string): string => {
    const option = optionOf(param)
    return known.has(option.split(' ')[0]!) ? option : param
  }
  return wordsAsText(words, mention => spelled(mention, name))
}

/** The long names of a command's options and of the global ones. */
export function namesOf(options: readonly OptionSpec[]): string[] {
  return [...options, ...GLOBAL_OPTIONS].map(longName)
}

/** `-q, --quiet` → `--quiet` */
export function longName([flags]: OptionSpec): string {
  return /--[\w-]+/.exec(flags)![0]
}

function spelled(mention: Mention, name: (param: string) => string): string {
  if ('command' in mention) return remedyLine(mention)
  const { param, value } = mention
  if (value === undefined) return name(param)
  const [option = '', ...word] = name(param).split(' ')
  return word.length === 0 || !option.startsWith('--')
    ? `${name(param)} ${value}`
    : `${option} "${word.join(' ')} ${value}"`
}

/** The line with one word put right; null when the word is not in it. */
export function corrected(argv: readonly string[], wrong: string, right: string): string[] | null {
  const at = argv.findLastIndex(word => word.toLowerCase() === wrong.toLowerCase())
  if (at >= 0) return argv.with(at, right)
  const joined = argv.findLastIndex(word => word.startsWith('--') && word.endsWith(`=${wrong}`))
  if (joined >= 0) return argv.with(joined, argv[joined]!.slice(0, -wrong.length) + right)
  // An option before its value, or one of several values.
  const parts = argv.map(word => word.split(/([,=\s])/))
  const among = parts.findLastIndex(words => words.includes(wrong))
  if (among < 0) return null
  return argv.with(among, parts[among]!.map(part => (part === wrong ? right : part)).join(''))
}

/** The words for the events of a question: a field and its bands, or a condition. */
export function eventWords({ field, bands, when }: Pick<HistoryQuery, 'field' | 'bands' | 'when'>): string[] {
  const band = bands === undefined ? [] : ['--band', bands.join(',')]
  if (isCondition(field)) return ['--when', field, ...(bands?.join() === TRUTHS[TRUE] ? [] : band)]
  return [field, ...band, ...(when === undefined ? [] : ['--when', when])]
}

/** Corrects one word inside an argument of the line; null if the argument is not found. */
export function correctedIn(
  argv: readonly string[],
  { value, line = 1, column = 1 }: { value?: unknown; line?: number; column?: number },
  right: string,
): string[] | null {
  const wrong = String(value)
  const before = (word: string): string | null => {
    const text = word.replace(/^--[\w-]+=/, '')
    const start = [...text].slice(0, column - 1).join('')
    return text.startsWith(wrong, start.length) ? word.slice(0, word.length - text.length) + start : null
  }
  const at = line === 1 ? argv.findLastIndex(word => before(word) !== null) : -1
  if (at < 0) return null
  const start = before(argv[at]!)!
  return argv.with(at, start + right + argv[at]!.slice(start.length + wrong.length))
}

/** A command line to paste; words are quoted if a shell would change them. */
export function pasted(words: readonly string[]): string {
  return [
    'bands',
    ...words.map(word => (/^[\w@%+=:,./^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)),
  ].join(' ')
}
