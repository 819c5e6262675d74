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
import { BUILT_IN } from '../../core/fields/index.js'
import { fieldsWithBand, isCompleteCondition, likelyFields } from '../../core/language/condition.js'
import { parseTicker } from '../../core/model/terms.js'
import { CATALOGUE, type Entry, TOP_WORDS } from './catalogue.js'
import { longName } from './command-line.js'

/** A word that people type for a command, and its meaning, which similarity of letters cannot find. */
interface Slip {
  words: readonly string[]
  /** The command, and arguments that complete the line if none were typed. */
  command: string
  example: readonly string[]
  /** The purpose, as the end of a sentence. */
  does: string
  /** The words that must follow the typed ones. */
  after?: readonly string[]
}

const FIRST_QUESTION = ['AAPL', 'rsi_zone', '--band', 'oversold']

/** Every slip that leads somewhere; a word that has become a command is heard as one, and its row is of no use. */
export const COMMON_SLIPS: readonly Slip[] = [
  slipMessage('list ls symbols stocks tickers', 'status', [], 'lists the loaded data'),
  slipMessage('watchlist watchlists lists favorites favourites', 'watch list', [], 'shows the lists of tickers'),
  slipMessage('load upload ingest read open', 'import', ['FILE.csv'], 'loads files of prices'),
  slipMessage('refresh sync', 'update', ['--all'], 'brings fetched tickers up to date'),
  slipMessage('download', 'fetch', ['BTC-USD', '--from', 'coinbase'], 'loads bars of a vendor'),
  slipMessage('vendors vendor sources provider', 'providers', [], 'lists the vendors of prices'),
  slipMessage('query get history signals', 'events', FIRST_QUESTION, 'lists when a field changed its band'),
  slipMessage('count stats statistics summary', 'tally', FIRST_QUESTION, 'counts later returns'),
  slipMessage(
    'screener filter alert alerts notify',
    'screen',
    ['rsi_zone = oversold'],
    'shows which tickers a condition holds of',
  ),
  slipMessage('current latest today state', 'now', ['AAPL'], 'shows the present band of every field'),
  slipMessage(
    'chart charts plot draw graph price prices',
    'show',
    ['AAPL', 'rsi_zone'],
    'draws the price and its bands',
  ),
  slipMessage('why', 'explain', ['AAPL', 'rsi_zone'], 'shows why a field has its band'),
  slipMessage('test analyse analyze research', 'study', FIRST_QUESTION, 'tests later returns'),
  slipMessage('trade bt strategy', 'backtest', [...FIRST_QUESTION, '--hold', '20'], 'trades events by rules'),
  {
    ...slipMessage(
      'optimize optimise grid',
      'backtest',
      FIRST_QUESTION,
      'tries every combination of values with --vary',
    ),
    after: ['--vary', 'hold=5,10,20'],
  },
  {
    ...slipMessage(
      'report html page',
      'study',
      FIRST_QUESTION,
      'writes a page with --report FILE, and so does backtest',
    ),
    after: ['--report', 'report.html'],
  },
  slipMessage('delete rm drop', 'remove', ['AAPL'], 'takes a ticker out'),
  slipMessage('mv move', 'rename', ['AAPL', 'NEW'], 'gives a ticker another name'),
  slipMessage('save dump', 'export', ['events'], 'writes events, series or bars out'),
  slipMessage('server start', 'serve', [], 'answers over HTTP'),
  slipMessage('settings set configure options', 'config', [], 'shows every setting'),
  slipMessage('info about', 'status', [], 'shows how fresh and how whole the data is'),
  slipMessage('indicators bands', 'fields', [], 'shows what can be asked'),
  slipMessage('manual', 'help', ['all'], 'shows every command'),
  slipMessage('version', '--version', [], 'shows which version this is'),
]

function slipMessage(words: string, command: string, example: readonly string[], does: string): Slip {
  return { words: words.split(' '), command, example, does }
}

/**
 * A suggestion for a first word that is no command; undefined if there is none.
 * @param argv the typed line
 */
export function suggestCommand(word: string, argv: readonly string[]): InvalidParameter | undefined {
  const others = argv.filter((_, i) => i !== argv.indexOf(word))
  const lead = (what: Words, to: Remedy): InvalidParameter => noCommand(quoted(word), word, what, to)
  const placed = suggestByWords(word.toLowerCase(), others)
  if (placed !== undefined) return lead(...placed)
  const row = COMMON_SLIPS.find(({ words }) => words.includes(word.toLowerCase()))
  if (row !== undefined) {
    const { command, example, does, after = [] } = row
    const words = others.length === 0 ? example : command === '--version' ? [] : others
    return lead(
      sentence`${remedy(command)} ${does}`,
      remedy(command, words.includes(after[0] ?? '') ? words : [...words, ...after]),
    )
  }
  return suggestByName(word, others, lead)
}

/** @param named the word as the sentence names it */
function noCommand(named: string, value: string, what: Words, to: Remedy): InvalidParameter {
  return wrong('command', sentence`there is no command ${named}: ${[what].flat()}.`, { value }, { remedy: to })
}

/** The refusal of help on a word that is no command. */
export function noHelp(word: string): InvalidParameter {
  const suggestions = suggest(word, TOP_WORDS)
  const message = `there is no command ${quoted(word)}.${didYouMean(suggestions)}`
  return wrong('command', message, { value: word, suggestions }, { remedy: remedy('help', [suggestions[0] ?? 'all']) })
}

/** Suggests to make a watch list, for a ticker where a command of watch lists belongs. */
export function suggestList(word: string, argv: readonly string[]): InvalidParameter | undefined {
  if (!isTicker(word) || word !== word.toUpperCase()) return undefined
  const [what, to] = suggestByWords('add', argv.slice(argv.indexOf(word)))!
  return noCommand(`${quoted(word)} of watch`, word, what, to)
}

/** Suggests a command for a word that means one thing before a file, and another before a ticker or a field. */
function suggestByWords(word: string, others: readonly string[]): [what: Words, to: Remedy] | undefined {
  const [first] = others
  if (word === 'add') {
    if (first === undefined || isFile(first)) return [LOADS, remedy('import', others)]
    return ['bands watch add makes a list of tickers', remedy('watch add', ['mine', ...others])]
  }
  if (!['search', 'find', 'lookup'].includes(word)) return undefined
  const [field] = first === undefined ? [] : likelyFields(first, BUILT_IN)
  if (first === undefined || field !== undefined)
    return ['bands fields lists the fields', remedy('fields', field === undefined ? [] : [field])]
  return ['bands status shows a ticker', remedy('status', [first])]
}

const LOADS = sentence`${remedy('import')} loads a file`

const isFile = (word: string): boolean => /\.(csv|txt|json|gz|zip)$/i.test(word)

/** Suggests a command for a field, a band, a file or a ticker. */
function suggestByName(
  word: string,
  others: readonly string[],
  lead: (what: Words, to: Remedy) => InvalidParameter,
): InvalidParameter | undefined {
  const name = word.toLowerCase()
  const ticker = others.find(other => isTicker(other))
  const [field] = likelyFields(name, BUILT_IN)
  if (field !== undefined) {
    const what = field === name ? `${field} is a field` : `${field} is the field`
    return lead(what, ticker === undefined ? remedy('now', ['--field', field]) : remedy('events', [ticker, field]))
  }
  const [having] = fieldsWithBand(name, BUILT_IN)
  if (having !== undefined) {
    const events = remedy('events', [ticker ?? 'AAPL', having, '--band', name])
    const scan = having === 'rsi_zone' && name.endsWith('oversold') && ticker === undefined
    return lead(`it is a band of ${having}`, scan ? remedy('scan oversold') : events)
  }
  if (isFile(word)) return lead(LOADS, remedy('import', [word, ...others]))
  if (/\.ya?ml$/i.test(word))
    return lead(sentence`${remedy('backtest')} runs a strategy`, remedy('backtest', [word, ...others]))
  const isCapital = /^[A-Z][A-Z\d.^=-]*$/.test(word) && parseTicker(word) !== null
  if (!isCapital || suggest(word, TOP_WORDS).length > 0) return undefined
  const fieldsNamed = others.flatMap(other => likelyFields(other, BUILT_IN).slice(0, 1))
  return lead(
    'if it is a ticker, a command comes before it',
    fieldsNamed.length === 0 ? remedy('now', [word]) : remedy('events', [word, fieldsNamed[0]!]),
  )
}

/** A word that can be a ticker, and means no field. */
function isTicker(word: string): boolean {
  return parseTicker(word) !== null && !word.startsWith('-') && likelyFields(word, BUILT_IN).length === 0
}

/** Words after which a condition continues. */
const OPERATORS = ['=', '==', '!=', 'in', 'not', 'enters', 'leaves']

/** Joins the words of a condition into one; null if there is no condition. */
export function joinedCondition(argv: readonly string[]): string[] | null {
  const start = argv.findIndex(
    (word, i) => !word.startsWith('-') && OPERATORS.includes(argv[i + 1]?.toLowerCase() ?? ''),
  )
  if (start < 0) return null
  for (let end = argv.length; end > start + 1; end--) {
    const text = argv.slice(start, end).join(' ')
    if (isCompleteCondition(text, BUILT_IN)) return argv.toSpliced(start, end - start, text)
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
  ['top max count number', '--limit'],
  ['window windows days bars', '--horizon --hold'],
  ['fee fees commission commissions cost', '--costs'],
  ['stoploss stop-loss sl', '--stop'],
  ['takeprofit take-profit tp', '--target'],
]

/** The option that a word means among those of a command. */
export function optionMeant(typed: string, options: readonly string[]): string | undefined {
  const word = typed.replace(/^-+/, '').toLowerCase()
  const names = OPTION_SLIPS.find(([words]) => words.split(' ').includes(word))?.[1].split(' ')
  return names?.find(name => options.includes(name)) ?? nearestOption(word, options)
}

/** The nearest name, also without its plural s: `--csot`. */
function nearestOption(word: string, options: readonly string[]): string | undefined {
  const names = options.map(name => name.slice(2))
  const [near = suggest(`${word}s`, names)[0]] = suggest(word, names)
  return near && `--${near}`
}

/** Commands that take an option which this one has not, in the order of the help. */
export async function commandsWith(option: string, besides: Entry | undefined): Promise<string[]> {
  const found: string[] = []
  for (const entry of CATALOGUE) {
    if (entry === besides) continue
    const { options = [] } = await entry.load()
    if (options.some(spec => longName(spec) === option)) found.push(entry.name)
  }
  return found
}
