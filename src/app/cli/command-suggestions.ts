import {
  didYouMean,
  type InvalidParameter,
  quoted,
  type Remedy,
  remedy,
  sentence,
  suggest,
  type Words,
  wrong,
} from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import { fieldsWithBand, isCompleteCondition, likelyFields } from '../../core/language/condition.js'
import { parseTicker } from '../../core/model/terms.js'
import { CATALOGUE, type Entry, TOP_WORDS } from './catalogue.js'
import { longName } from './command-line.js'

/** A word that people type for a command, and its meaning, which similarity of letters cannot find. */
interface CommandSlip {
  words: readonly string[]
  /** The command that is meant, and the words that follow it if none were typed. */
  command: string
  example: readonly string[]
  /** The purpose, as the end of a sentence. */
  does: string
  /** An option and its value, which are added if the option is not typed. */
  requiredWords?: readonly string[]
}

const FIRST_QUESTION = ['AAPL', 'rsi_zone', '--band', 'oversold']

export const COMMON_SLIPS: readonly CommandSlip[] = [
  slip('list ls symbols stocks tickers', 'status', [], 'lists the loaded data'),
  slip('watchlist watchlists lists favorites favourites', 'watch list', [], 'shows the lists of tickers'),
  slip('load upload ingest read open', 'import', ['FILE.csv'], 'loads files of prices'),
  slip('refresh sync', 'update', ['--all'], 'brings fetched tickers up to date'),
  slip('download', 'fetch', ['BTC-USD', '--from', 'coinbase'], 'loads bars of a vendor'),
  slip('vendors vendor sources provider', 'providers', [], 'lists the vendors of prices'),
  slip('query get history signals', 'events', FIRST_QUESTION, 'lists when a field changed its band'),
  slip('count stats statistics summary', 'tally', FIRST_QUESTION, 'counts later returns'),
  slip(
    'screener filter alert alerts notify',
    'screen',
    ['rsi_zone = oversold'],
    'shows which tickers a condition holds of',
  ),
  slip('current latest today state', 'now', ['AAPL'], 'shows the present band of every field'),
  slip('chart charts plot draw graph price prices', 'show', ['AAPL', 'rsi_zone'], 'draws the price and its bands'),
  slip('why', 'explain', ['AAPL', 'rsi_zone'], 'shows why a field has its band'),
  slip('test analyse analyze research', 'study', FIRST_QUESTION, 'tests later returns'),
  slip('trade bt strategy', 'backtest', [...FIRST_QUESTION, '--hold', '20'], 'trades events by rules'),
  {
    ...slip('optimize optimise grid', 'backtest', FIRST_QUESTION, 'tries every combination of values with --vary'),
    requiredWords: ['--vary', 'hold=5,10,20'],
  },
  {
    ...slip('report html page', 'study', FIRST_QUESTION, 'writes a page with --report FILE, and so does backtest'),
    requiredWords: ['--report', 'report.html'],
  },
  slip('delete rm drop', 'remove', ['AAPL'], 'takes a ticker out'),
  slip('mv move', 'rename', ['AAPL', 'NEW'], 'gives a ticker another name'),
  slip('save dump', 'export', ['events'], 'writes events, series or bars out'),
  slip('server start', 'serve', [], 'answers over HTTP'),
  slip('settings set configure options', 'config', [], 'shows every setting'),
  slip('info about', 'status', [], 'shows how fresh and how whole the data is'),
  slip('indicators bands', 'fields', [], 'shows what can be asked'),
  slip('manual', 'help', ['all'], 'shows every command'),
  slip('version', '--version', [], 'shows which version this is'),
]

function slip(words: string, command: string, example: readonly string[], does: string): CommandSlip {
  return { words: words.split(' '), command, example, does }
}

/** The error for a first word that is no command, with a line to paste; undefined if nothing is similar. */
export function suggestCommand(word: string, argv: readonly string[]): InvalidParameter | undefined {
  const otherWords = argv.filter((_, i) => i !== argv.indexOf(word))
  const errorWith = (reason: Words, line: Remedy): InvalidParameter => noCommandError(quoted(word), word, reason, line)
  const suggestion = suggestByNextWord(word.toLowerCase(), otherWords)
  if (suggestion !== undefined) return errorWith(...suggestion)
  const commonSlip = COMMON_SLIPS.find(({ words }) => words.includes(word.toLowerCase()))
  if (commonSlip !== undefined) {
    const { command, example, does, requiredWords = [] } = commonSlip
    const typedWords = command === '--version' ? [] : otherWords
    const lineWords = otherWords.length === 0 ? example : typedWords
    const [requiredOption] = requiredWords
    const isComplete = requiredOption === undefined || lineWords.includes(requiredOption)
    const completeWords = isComplete ? lineWords : [...lineWords, ...requiredWords]
    return errorWith(sentence`${remedy(command)} ${does}`, remedy(command, completeWords))
  }
  return suggestByName(word, otherWords, errorWith)
}

/** The error for a wrong first word, which `described` names in its sentence. @param reason the end of the sentence */
function noCommandError(described: string, value: string, reason: Words, line: Remedy): InvalidParameter {
  return wrong('command', sentence`there is no command ${described}: ${[reason].flat()}.`, { value }, { remedy: line })
}

/** The error for `bands help WORD` if the word is no command. */
export function unknownHelpTopic(word: string): InvalidParameter {
  const suggestions = suggest(word, TOP_WORDS)
  const message = `there is no command ${quoted(word)}.${didYouMean(suggestions)}`
  return wrong('command', message, { value: word, suggestions }, { remedy: remedy('help', [suggestions[0] ?? 'all']) })
}

/** Words that people type after a group, and the commands that they mean in one group or another. */
const IN_GROUPS: Readonly<Record<string, readonly string[]>> = {
  delete: ['remove', 'revoke'],
  rm: ['remove', 'revoke'],
  drop: ['remove', 'revoke'],
  create: ['add'],
  add: ['create'],
  new: ['add', 'create'],
  make: ['add', 'create'],
  set: ['add'],
  ls: ['list'],
  get: ['show'],
}

const isCommand = (words: string): boolean => CATALOGUE.some(({ name }) => name === words)

/** The error for a word after a group: a ticker after `watch`, a strategy after `check`; undefined for others. */
export function suggestInGroup(group: string, word: string, argv: readonly string[]): InvalidParameter | undefined {
  const wordOfGroup = `${quoted(word)} of ${group}`
  if (group === 'watch' && isTicker(word) && word === word.toUpperCase()) {
    const [reason, line] = suggestByNextWord('add', argv.slice(argv.indexOf(word)))!
    return noCommandError(wordOfGroup, word, reason, line)
  }
  const meant = (IN_GROUPS[word] ?? []).map(name => `${group} ${name}`).find(isCommand)
  if (meant !== undefined) {
    const wordsAfter = argv.slice(argv.indexOf(word) + 1)
    return noCommandError(wordOfGroup, word, sentence`it is ${remedy(meant)}`, remedy(meant, wordsAfter))
  }
  if (group === 'check' && isStrategy(word))
    return noCommandError(wordOfGroup, word, RUNS_A_STRATEGY, remedy('backtest', [word]))
  const [field] = group === 'scan' ? fieldsWithBand(word, BUILT_IN_FIELDS) : []
  if (field === undefined) return undefined
  const reason = 'bands screen lists the tickers in any band'
  return noCommandError(wordOfGroup, word, reason, remedy('screen', [`${field} = ${word}`]))
}

/** Suggests a command for `add`, `search`, `find` or `lookup` by the next word; undefined for other words. */
function suggestByNextWord(word: string, wordsAfter: readonly string[]): [reason: Words, line: Remedy] | undefined {
  const [next] = wordsAfter
  if (word === 'add') {
    if (next === undefined || isFile(next)) return [LOADS_A_FILE, remedy('import', wordsAfter)]
    const exampleName = 'mine'
    return ['bands watch add makes a list of tickers', remedy('watch add', [exampleName, ...wordsAfter])]
  }
  if (!['search', 'find', 'lookup'].includes(word)) return undefined
  const fields = next === undefined ? [] : likelyFields(next, BUILT_IN_FIELDS).slice(0, 1)
  if (next === undefined || fields.length > 0) return ['bands fields lists the fields', remedy('fields', fields)]
  return ['bands status shows a ticker', remedy('status', [next])]
}

const LOADS_A_FILE = sentence`${remedy('import')} loads a file`

const RUNS_A_STRATEGY = sentence`${remedy('backtest')} runs a strategy`

const isStrategy = (word: string): boolean => /\.ya?ml$/i.test(word)

const isFile = (word: string): boolean => /\.(csv|txt|json|gz|zip)$/i.test(word)

/** Suggests a command for a field, band, file or ticker that was typed first; undefined for other words. */
function suggestByName(
  word: string,
  otherWords: readonly string[],
  errorWith: (reason: Words, line: Remedy) => InvalidParameter,
): InvalidParameter | undefined {
  const name = word.toLowerCase()
  const ticker = otherWords.find(isTicker)
  const [field] = likelyFields(name, BUILT_IN_FIELDS)
  if (field !== undefined) {
    const reason = field === name ? `${field} is a field` : `${field} is the field`
    const line = ticker === undefined ? remedy('now', ['--field', field]) : remedy('events', [ticker, field])
    return errorWith(reason, line)
  }
  const [fieldOfBand] = fieldsWithBand(name, BUILT_IN_FIELDS)
  if (fieldOfBand !== undefined) {
    const events = remedy('events', [ticker ?? 'AAPL', fieldOfBand, '--band', name])
    const isScan = fieldOfBand === 'rsi_zone' && name.endsWith('oversold') && ticker === undefined
    return errorWith(`it is a band of ${fieldOfBand}`, isScan ? remedy('scan oversold') : events)
  }
  if (isFile(word)) return errorWith(LOADS_A_FILE, remedy('import', [word, ...otherWords]))
  if (isStrategy(word)) return errorWith(RUNS_A_STRATEGY, remedy('backtest', [word, ...otherWords]))
  const isCapitalTicker = /^[A-Z][A-Z\d.^=-]*$/.test(word) && parseTicker(word) !== null
  if (!isCapitalTicker || suggest(word, TOP_WORDS).length > 0) return undefined
  const [typedField] = otherWords.flatMap(other => likelyFields(other, BUILT_IN_FIELDS).slice(0, 1))
  const line = typedField === undefined ? remedy('now', [word]) : remedy('events', [word, typedField])
  return errorWith('if it is a ticker, a command comes before it', line)
}

/** Whether a word can be a ticker, and means no field. */
function isTicker(word: string): boolean {
  return parseTicker(word) !== null && !word.startsWith('-') && likelyFields(word, BUILT_IN_FIELDS).length === 0
}

const OPERATORS = ['=', '==', '!=', 'in', 'not', 'enters', 'leaves']

/** The line with an unquoted condition, such as `rsi_zone = oversold`, joined into one word; null if there is none. */
export function joinConditionWords(argv: readonly string[]): string[] | null {
  const isOperator = (word = ''): boolean => OPERATORS.includes(word.toLowerCase())
  const start = argv.findIndex((word, i) => !word.startsWith('-') && isOperator(argv[i + 1]))
  if (start < 0) return null
  for (let end = argv.length; end > start + 1; end--) {
    const text = argv.slice(start, end).join(' ')
    if (isCompleteCondition(text, BUILT_IN_FIELDS)) return argv.toSpliced(start, end - start, text)
  }
  return null
}

/** Words that people type for an option, and what it may be called: the first that the command has. */
const OPTION_SLIPS: readonly (readonly [words: string, options: string])[] = [
  ['since from start begin start-date', '--after --since'],
  ['until to till end end-date', '--before'],
  ['date day on today', '--as-of'],
  ['symbol symbols stock stocks', '--tickers --ticker'],
  ['format', '--output'],
  ['write', '--output'],
  ['top max count number', '--limit'],
  ['window windows days bars', '--horizon --hold'],
  ['fee fees commission commissions cost', '--costs'],
  ['stoploss stop-loss sl', '--stop'],
  ['takeprofit take-profit tp', '--target'],
]

/** The option of a command that a typed one may mean: by common slips, then by letters; undefined if none is near. */
export function suggestOption(typed: string, options: readonly string[]): string | undefined {
  const word = typed.replace(/^-+/, '').toLowerCase()
  const meantNames = OPTION_SLIPS.find(([words]) => words.split(' ').includes(word))?.[1].split(' ')
  const meantOption = meantNames?.find(name => options.includes(name))
  // The word may also miss the plural s of an option: `csot`.
  const names = options.map(name => name.slice(2))
  const nearest = suggest(word, names)[0] ?? suggest(`${word}s`, names)[0]
  return meantOption ?? (nearest && `--${nearest}`)
}

/** The names of the commands that have an option, in the order of the help. @param except a command to leave out */
export async function commandsWithOption(option: string, except: Entry | undefined): Promise<string[]> {
  const names: string[] = []
  for (const entry of CATALOGUE) {
    if (entry === except) continue
    const { options = [] } = await entry.load()
    if (options.some(spec => longName(spec) === option)) names.push(entry.name)
  }
  return names
}
