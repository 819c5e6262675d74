import { BUILT_IN, type FieldSet } from '../fields/index.js'
import { allowedAfter, isWhole, type Vocabulary } from '../language/condition.js'
import { TIER_NAMES } from '../model/terms.js'
import type { OptionSpec } from '../params/row.js'
import { CATALOGUE, GROUPS, groupOf, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { longName } from './command-line.js'
import { fieldsUnlessBroken, hasConfigFile } from './config.js'
import { GLOBAL_OPTIONS } from './options.js'
import { QUESTION_OUTPUTS } from './output.js'

/** What may stand where somebody is typing, and what it is. */
type Candidate = readonly [word: string, about?: string]

/** In place of a candidate: the names of files, which the shell knows best. */
const FILES = ':files'

/**
 * The words after `bands`, of which the last is being typed → a line for each word that may stand there, with what it is
 * behind a tab. Whatever is wrong with the words or the database, nothing is told: somebody is typing.
 */
export async function completions(words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { whole, split } = joined(words)
    const found = await candidates(whole, env)
    const lines = found.map(([word, about]) => {
      const rest = word === FILES ? word : word.slice(split)
      return about === undefined ? `${rest}\n` : `${rest}\t${about}\n`
    })
    return [...new Set(lines)].join('')
  } catch {
    return ''
  }
}

/**
 * bash makes three words of `--band=oversold`. `split` is the length of what it has behind it of the word being typed, and
 * will not take again.
 */
function joined(words: readonly string[]): { whole: string[]; split: number } {
  const whole: string[] = []
  let [open, split] = [false, 0]
  for (const word of words) {
    const isSign = /^[=:]+$/.test(word)
    split = 0
    if ((open || isSign) && whole.length > 0) {
      const before = whole.pop()!
      split = isSign ? before.length + word.length : before.length
      whole.push(before + word)
    } else whole.push(word)
    open = isSign
  }
  return { whole, split }
}

/** What was typed before the last word. */
interface Line {
  env: NodeJS.ProcessEnv
  /** Words that belong to no option: first the command, then its arguments. */
  plain: string[]
  values: Map<string, string>
  /** The option whose value is being typed. */
  waiting: OptionSpec | undefined
  command: Command | undefined
  /** Those of every command, and of the one that is known. */
  options: readonly OptionSpec[]
  /** What can be asked for. */
  fields: FieldSet
  /** Whether the last word is being typed in quotes, where it may have blanks in it. */
  inQuotes: boolean
}

/** The command is loaded when it is known, and its options count from there on. */
async function lineOf(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Line> {
  const values = new Map<string, string>()
  const line: Line = {
    ...{ env, plain: [], values, waiting: undefined, command: undefined },
    ...{ options: GLOBAL_OPTIONS, fields: BUILT_IN, inQuotes: false },
  }
  for (const word of words) {
    const { waiting } = line
    line.waiting = undefined
    if (waiting !== undefined) values.set(longName(waiting), word)
    else if (word.startsWith('-')) takeOption(line, word)
    else await takeWord(line, word)
  }
  const named = values.get('--fields-file') || env.BANDS_FIELDS_FILE
  // A broken file is told when the command runs.
  return { ...line, fields: await fieldsUnlessBroken(named ? { fields_file: named } : {}, env) }
}

function takeOption(line: Line, word: string): void {
  const [name = '', value] = word.split(/=(.*)/s)
  const spec = optionNamed(line, name)
  if (!spec?.[0].includes('<')) return
  if (value === undefined) line.waiting = spec
  else line.values.set(longName(spec), value)
}

async function takeWord(line: Line, word: string): Promise<void> {
  line.plain.push(word)
  const entry = line.command === undefined ? CATALOGUE.find(({ name }) => name === line.plain.join(' ')) : undefined
  if (entry === undefined) return
  line.command = await entry.load()
  line.plain = []
  const own = line.command.options ?? []
  const names = own.map(longName)
  // An option of every command may mean something of its own to one, such as the tier of a new account.
  line.options = [...own, ...GLOBAL_OPTIONS.filter(spec => !names.includes(longName(spec)))]
}

function optionNamed({ options }: Line, name: string): OptionSpec | undefined {
  return options.find(([flags]) => flags.split(/[ ,]+/).includes(name))
}

async function candidates(words: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Candidate[]> {
  const line = await lineOf(words.slice(0, -1), env)
  const last = words.at(-1) ?? ''
  // A shell puts what was chosen behind the quote that is open.
  const word = last.replace(/^["']/, '')
  line.inQuotes = /^(--[\w-]+=)?["']/.test(last)
  if (line.waiting !== undefined) return ofOption(line, line.waiting, word)
  const [, name, value] = /^(--[\w-]+)=["']?(.*)$/s.exec(word) ?? []
  const spec = name === undefined ? undefined : optionNamed(line, name)
  if (spec !== undefined) return before(`${name}=`, await ofOption(line, spec, value!))
  if (word.startsWith('-')) {
    const options = line.options.map((spec): Candidate => [longName(spec), spec[1]])
    return startingWith(word, [...options, ['--help', 'examples and options']])
  }
  if (line.command !== undefined) return startingWith(word, await ofArgument(line, line.command, word))
  return startingWith(word, commandWords(line.plain))
}

/** Commands, or after a first word that names a group those of the group. */
function commandWords([first, ...more]: readonly string[]): readonly Candidate[] {
  if (first === 'help') return [...commandWords(more), ...(more.length === 0 ? [['options'] as const] : [])]
  if (more.length > 0) return []
  if (first !== undefined) return groupOf(first).map(({ name, summary }) => [name.split(' ')[1]!, summary])
  return TOP_WORDS.map(word => [word, GROUPS[word] ?? CATALOGUE.find(({ name }) => name === word)!.summary])
}

async function ofArgument(line: Line, command: Command, word: string): Promise<readonly Candidate[]> {
  const all = command.arguments ?? []
  const last = all.at(-1)
  const argument = all[line.plain.length] ?? (last?.[0].includes('...') ? last : undefined)
  if (argument === undefined) return []
  const [name, , kinds = name.match(/[A-Z]+/g) ?? []] = argument
  // Behind a word of the command itself, such as `check`, stands only what comes after that.
  const may = kinds.slice(kinds.indexOf(line.plain[0] ?? '') + 1)
  // The field comes last.
  if (argument === last && may.includes('FIELD') && line.plain.some(typed => line.fields.named(typed))) return []
  const found: Candidate[] = []
  for (const kind of may)
    found.push(...(kind === kind.toUpperCase() ? await ofKind(line, kind, word) : [[kind] as const]))
  return found
}

/** Values of an option; of one that takes several, also behind a comma. */
async function ofOption(line: Line, spec: OptionSpec, word: string): Promise<readonly Candidate[]> {
  if (longName(spec) === '--vary') return varied(word)
  const start = spec[2] === 'repeatable' ? word.lastIndexOf(',') + 1 : 0
  const found = startingWith(word.slice(start), await valuesOf(line, spec, word.slice(start)))
  return before(word.slice(0, start), found)
}

/** The key that stands before its values, which are anybody's choice. */
async function varied(word: string): Promise<readonly Candidate[]> {
  if (word.includes('=')) return []
  const { VARIED } = await import('../params/grid.js')
  return startingWith(
    word,
    VARIED.map(key => [`${key.replaceAll('_', '-')}=`] as const),
  )
}

async function valuesOf(line: Line, spec: OptionSpec, word: string): Promise<readonly Candidate[]> {
  const [flags, , , , values = []] = spec
  const kind = flags.slice(flags.indexOf('<') + 1, -1)
  if (longName(spec) === '--output') return (line.command?.outputs ?? QUESTION_OUTPUTS).map(format => [format])
  if (kind === 'BAND' || kind === 'BANDS') {
    const bands = bandsTyped(line, longName(spec))
    return values.filter(band => bands.length === 0 || bands.includes(band)).map(band => [band])
  }
  return values.length > 0 ? values.map(value => [value]) : ofKind(line, kind, word)
}

/** Bands of the fields that were typed; of a context those of its own field. */
function bandsTyped({ values, plain, fields }: Line, option: string): readonly string[] {
  const typed = option.startsWith('--context-')
    ? [values.get('--context-field')]
    : [values.get('--field'), values.get('--fields'), ...plain]
  const names = typed.flatMap(text => text?.split(',') ?? [])
  return fields.all.filter(({ name }) => names.includes(name)).flatMap(field => field.bands)
}

/** What stands for a value in help tells what it is. */
async function ofKind(line: Line, kind: string, word: string): Promise<readonly Candidate[]> {
  if (kind === 'FIELD' || kind === 'FIELDS') return line.fields.all.map(({ name, tier }) => [name, tier])
  if (kind === 'TIER') return TIER_NAMES.map(tier => [tier])
  if (kind === 'FILE' || kind === 'FOLDER') return [[FILES]]
  if (kind === 'LISTS') return lists(line)
  if (kind === 'CONDITION') return conditions(line, word)
  if (kind === 'TICKER' || kind === 'TICKERS') return word.startsWith('@') ? [[FILES]] : loaded(line)
  return []
}

/** What may become of a condition; without quotes only as far as it is one word. */
async function conditions(line: Line, text: string): Promise<readonly Candidate[]> {
  const { fields, inQuotes } = line
  const tickersLike = async (start: string): Promise<string[]> =>
    startingWith(start, await loaded(line)).map(([ticker]) => ticker)
  if (inQuotes) return (await textsAfter(text, fields, tickersLike)).map(one => [one])
  const found = completeCondition(text, fields)
  return found.words.map((one): Candidate => [found.with(one)]).filter(([one]) => !/\s/.test(one))
}

/** Tickers of the database in use, with bars or pulled; of the sample where there is none. */
async function loaded({ values, env }: Line): Promise<readonly Candidate[]> {
  const { openLocal } = await import('../open.js')
  const { bands } = await openLocal({ db: values.get('--db') ?? (await savedDatabase(env)), env })
  try {
    return (await bands.tickers()).map(name => [name])
  } finally {
    await bands.close()
  }
}

async function lists({ values, env }: Line): Promise<readonly Candidate[]> {
  const { openListsForReading } = await import('../open.js')
  const found = await openListsForReading({ db: values.get('--db') ?? (await savedDatabase(env)), env })
  try {
    return ((await found?.all()) ?? []).map(({ name }) => [name])
  } finally {
    await found?.close()
  }
}

/** What config.json says, where no variable does; nothing of one that is broken, which is told when a command runs. */
async function savedDatabase(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env.BANDS_DB || !hasConfigFile(env)) return undefined
  const { readConfigFile } = await import('./config-file.js')
  const file = await readConfigFile(env).catch(() => null)
  return file?.saved.values.db
}

/** Tickers are typed in either case. */
function startingWith(word: string, found: readonly Candidate[]): readonly Candidate[] {
  const typed = word.toLowerCase()
  return found.filter(([name]) => name === FILES || name.toLowerCase().startsWith(typed))
}

function before(text: string, found: readonly Candidate[]): readonly Candidate[] {
  return found.map(([name, about]) => (name === FILES ? [name] : [text + name, about]) as Candidate)
}

/** What may stand where somebody is typing a condition. */
export interface Completion {
  /** The word that is being typed, as far as it is. */
  typed: string
  /** The words that may stand in its place: fields, bands of the field before, and words and signs of the language. */
  words: readonly string[]
  /** Whether a ticker may stand there, with its colon. */
  ticker: boolean
  /** The whole text with a word in place of the one that is being typed. */
  with: (word: string) => string
}

/** A word of which the end is being typed, and what stands before it. */
const LAST_WORD = /(?:[A-Za-z_][A-Za-z0-9_]*|!)?$/

/** What may stand at the end of a text. */
export function completeCondition(text: string, vocabulary: Vocabulary): Completion {
  const typed = LAST_WORD.exec(text)![0]
  const before = text.slice(0, text.length - typed.length)
  const allowed = allowedAfter(before, vocabulary).filter(word => word !== '@')
  return {
    typed,
    words: allowed.filter(word => word.startsWith(typed.toLowerCase())),
    // Where `not` may stand, a subject begins; a ticker is not followed by another.
    ticker: allowed.includes('not') && allowed.includes('(') && !/[\w:@]$/.test(before),
    with: word => (typed === '' ? joint(before, word) : before) + word,
  }
}

/**
 * The texts that may become of one that is being typed. Where there is only one, and it is not yet a condition, what may
 * follow it stands behind: a shell would take a single one for the end, and close the quotes.
 *
 * @param tickersLike the tickers that begin with a text; asked for only where nothing else may stand
 */
export async function textsAfter(
  text: string,
  vocabulary: Vocabulary,
  tickersLike: (start: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const found = completeCondition(text, vocabulary)
  const isTicker = found.words.length === 0 && found.ticker && found.typed !== ''
  const words = isTicker ? (await tickersLike(found.typed)).map(ticker => `${ticker}:`) : found.words
  let texts = words.map(found.with)
  while (texts.length === 1 && !isWhole(texts[0]!, vocabulary)) {
    const [only] = texts
    const next = allowedAfter(only!, vocabulary).filter(word => word !== '@')
    if (next.length === 0) break
    texts = next.map(word => joint(only!, word) + word)
  }
  return texts
}

/** A text with the blank that a word behind it needs. */
function joint(before: string, word: string): string {
  const isJoined = before === '' || /[\s(:@]$/.test(before) || word === ',' || word === ')'
  return isJoined ? before : `${before} `
}
