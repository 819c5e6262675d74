import { BUILT_IN, type FieldSet } from '../../core/fields/index.js'
import { allowedAfter, isCompleteCondition, type Vocabulary } from '../../core/language/condition.js'
import type { Day } from '../../core/model/day.js'
import { TIER_NAMES } from '../../core/model/terms.js'
import type { OptionSpec } from '../../core/params/row.js'
import type { Opened } from '../open/database.js'
import { CATALOGUE, GROUPS, groupOf, kindsOf, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { longName } from './command-line.js'
import { fieldsUnlessBroken, hasConfigFile } from './config.js'
import { GLOBAL_OPTIONS } from './options.js'
import { QUESTION_OUTPUTS } from './output.js'

/** A word that completes the typed one, and its description. */
type Candidate = readonly [word: string, about?: string]

/** Used instead of a candidate: the shell completes file names. */
const FILES = ':files'

/**
 * Completes the last of the words after `bands`. Returns a line per candidate, with its description after a tab. Faults
 * in the words or the database are silent, because the user is still typing.
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
 * bash makes three words of `--band=oversold`. `split` is the length of the part of the typed word that bash does not
 * replace.
 */
function joined(words: readonly string[]): { whole: string[]; split: number } {
  const whole: string[] = []
  let open = false
  let split = 0
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

/** The words before the last one. */
interface Line {
  env: NodeJS.ProcessEnv
  /** Words that belong to no option: first the command, then its arguments. */
  plain: string[]
  values: Map<string, string>
  /** The option whose value is being typed. */
  waiting: OptionSpec | undefined
  command: Command | undefined
  /** The global options, and those of the known command. */
  options: readonly OptionSpec[]
  /** The known fields. */
  fields: FieldSet
  /** Whether the last word is typed in quotes, so that it may have blanks. */
  inQuotes: boolean
}

/** Loads the command as soon as it is known, for its options. */
async function lineOf(words: readonly string[], env: NodeJS.ProcessEnv): Promise<Line> {
  const values = new Map<string, string>()
  const line: Line = {
    env,
    plain: [],
    values,
    waiting: undefined,
    command: undefined,
    options: GLOBAL_OPTIONS,
    fields: BUILT_IN,
    inQuotes: false,
  }
  for (const word of words) {
    const { waiting } = line
    line.waiting = undefined
    if (waiting !== undefined) values.set(longName(waiting), word)
    else if (word.startsWith('-')) takeOption(line, word)
    else await takeWord(line, word)
  }
  const named = values.get('--fields-file') || env.BANDS_FIELDS_FILE
  // A broken file is reported when the command runs.
  const fields = await fieldsUnlessBroken(named ? { fields_file: named } : {}, env)
  const { namedConditions } = await import('../open/database.js')
  return { ...line, fields: { ...fields, conditions: await namedConditions({ db: values.get('--db'), env }) } }
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
  // A command may redefine a global option, such as the tier of a new account.
  line.options = [...own, ...GLOBAL_OPTIONS.filter(spec => !names.includes(longName(spec)))]
}

function optionNamed({ options }: Line, name: string): OptionSpec | undefined {
  return options.find(([flags]) => flags.split(/[ ,]+/).includes(name))
}

async function candidates(words: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Candidate[]> {
  const line = await lineOf(words.slice(0, -1), env)
  const last = words.at(-1) ?? ''
  // A shell appends the chosen word after the open quote.
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

/** Commands, or the commands of a group after its name. */
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
  const kinds = kindsOf(argument)
  // Candidates after a word of the command, such as `check`, come from the later arguments.
  const may = kinds.slice(kinds.indexOf(line.plain[0] ?? '') + 1)
  // The field comes last.
  if (argument === last && may.includes('FIELD') && line.plain.some(typed => line.fields.named(typed))) return []
  const found: Candidate[] = []
  for (const kind of may)
    found.push(...(kind === kind.toUpperCase() ? await ofKind(line, kind, word) : [[kind] as const]))
  return found
}

/** Values of an option; for a list also after a comma. */
async function ofOption(line: Line, spec: OptionSpec, word: string): Promise<readonly Candidate[]> {
  if (longName(spec) === '--vary') return varied(word)
  const start = spec[2] === 'repeatable' ? word.lastIndexOf(',') + 1 : 0
  const found = startingWith(word.slice(start), await valuesOf(line, spec, word.slice(start)))
  return before(word.slice(0, start), found)
}

/** Completes the key of `vary`; its values are free. */
async function varied(word: string): Promise<readonly Candidate[]> {
  if (word.includes('=')) return []
  const { VARIABLE_KEYS } = await import('../../core/params/grid.js')
  return startingWith(
    word,
    VARIABLE_KEYS.map(key => [`${key.replaceAll('_', '-')}=`] as const),
  )
}

async function valuesOf(line: Line, spec: OptionSpec, word: string): Promise<readonly Candidate[]> {
  const [flags, , , , values = []] = spec
  const kind = flags.slice(flags.indexOf('<') + 1, -1)
  if (longName(spec) === '--output') return (line.command?.outputs ?? QUESTION_OUTPUTS).map(format => [format])
  if (kind === 'BAND' || kind === 'BANDS') {
    const bands = bandsTyped(line)
    return values.filter(band => bands.length === 0 || bands.includes(band)).map(band => [band])
  }
  return values.length > 0 ? values.map(value => [value]) : ofKind(line, kind, word)
}

/** Bands of the typed fields. */
function bandsTyped({ values, plain, fields }: Line): readonly string[] {
  const typed = [values.get('--field'), ...plain]
  const names = typed.flatMap(text => text?.split(',') ?? [])
  return fields.all.filter(({ name }) => names.includes(name)).flatMap(field => field.bands)
}

/** The placeholder in help decides the kind of candidates. */
async function ofKind(line: Line, kind: string, word: string): Promise<readonly Candidate[]> {
  if (kind === 'FIELD' || kind === 'FIELDS') return line.fields.all.map(({ name, tier }) => [name, tier])
  if (kind === 'TIER') return TIER_NAMES.map(tier => [tier])
  if (kind === 'FILE' || kind === 'FOLDER') return [[FILES]]
  if (kind === 'LISTS') return lists(line)
  if (kind === 'CONDITION') return conditions(line, word)
  if (kind === 'TICKER' || kind === 'TICKERS') return word.startsWith('@') ? [[FILES]] : loaded(line)
  return []
}

/** Completions of a condition; without quotes only those of one word. */
async function conditions(line: Line, text: string): Promise<readonly Candidate[]> {
  const { fields, inQuotes } = line
  const tickersLike = async (start: string): Promise<string[]> =>
    startingWith(start, await loaded(line)).map(([ticker]) => ticker)
  if (inQuotes) return (await textsAfter(text, fields, tickersLike)).map(one => [one])
  const found = completeCondition(text, fields)
  return found.words.map((one): Candidate => [found.with(one)]).filter(([one]) => !/\s/.test(one))
}

async function loaded({ values, env }: Line): Promise<readonly Candidate[]> {
  return (await loadedWords(values.get('--db'), env)).tickers.map(name => [name])
}

/** The words of the database, or of the sample if there is none. */
export async function loadedWords(typed: string | undefined, env: NodeJS.ProcessEnv): Promise<LoadedWords> {
  const { openLocal } = await import('../open/database.js')
  const opened = await openLocal({ db: typed ?? (await savedDatabase(env)), env })
  try {
    return await openedWords(opened)
  } finally {
    await opened.bands.close()
  }
}

interface LoadedWords {
  /** With bars or pulled. */
  tickers: readonly string[]
  /** The day that the data end. */
  today: Day
}

export async function openedWords({ bands, local }: Pick<Opened, 'bands' | 'local'>): Promise<LoadedWords> {
  return { tickers: await bands.tickers(), today: await local.today() }
}

async function lists({ values, env }: Line): Promise<readonly Candidate[]> {
  return (await loadedLists(values.get('--db'), env)).map(name => [name])
}

/** The watch lists of the database. */
export async function loadedLists(typed: string | undefined, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { readLists: allLists } = await import('../open/lists.js')
  return (await allLists({ db: typed ?? (await savedDatabase(env)), env })).map(({ name }) => name)
}

/** The database of config.json, unless a variable names one. A broken file counts as none: the command reports it. */
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

/** The candidates at the end of a condition. */
export interface Completion {
  /** The word that is being typed, as far as it is. */
  typed: string
  /** Candidates for the last word: fields, bands of the field before it, and words and signs of the language. */
  words: readonly string[]
  /** Whether a ticker with a colon may come next. */
  ticker: boolean
  /** Returns the whole text with the last word replaced. */
  with: (word: string) => string
}

/** The word being typed at the end of the text. */
const LAST_WORD = /(?:[A-Za-z_][A-Za-z0-9_]*|!)?$/

/** Finds the candidates at the end of a text. */
export function completeCondition(text: string, vocabulary: Vocabulary): Completion {
  const typed = LAST_WORD.exec(text)![0]
  const before = text.slice(0, text.length - typed.length)
  const allowed = allowedAfter(before, vocabulary).filter(word => word !== '@')
  return {
    typed,
    words: allowed.filter(word => word.startsWith(typed.toLowerCase())),
    // A subject begins where `not` is allowed; a ticker is not followed by another.
    ticker: allowed.includes('not') && allowed.includes('(') && !/[\w:@]$/.test(before),
    with: word => (typed === '' ? joint(before, word) : before) + word,
  }
}

/**
 * The completions of a text. A single incomplete one is listed together with its continuations. The shell would
 * otherwise accept it and close the quotes.
 *
 * @param tickersLike the tickers that begin with a text; called only if nothing else fits
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
  while (texts.length === 1 && !isCompleteCondition(texts[0]!, vocabulary)) {
    const [only] = texts
    const next = allowedAfter(only!, vocabulary).filter(word => word !== '@')
    if (next.length === 0) break
    texts = next.map(word => joint(only!, word) + word)
  }
  return texts
}

/** A text with the blank before its next word. */
function joint(before: string, word: string): string {
  const isJoined = before === '' || /[\s(:@]$/.test(before) || word === ',' || word === ')'
  return isJoined ? before : `${before} `
}
