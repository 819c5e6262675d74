import { BUILT_IN_FIELDS, type FieldSet } from '../../core/fields/index.js'
import type { NamedConditions } from '../../core/language/condition.js'
import type { Day } from '../../core/model/day.js'
import { TIER_NAMES } from '../../core/model/terms.js'
import { mayRepeat, type OptionSpec } from '../../core/params/row.js'
import type { Opened } from '../open/database.js'
import { argumentKinds, CATALOGUE, commandsOfGroup, GROUPS, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { allowedWords, longName, optionWithFlag, withGlobalOptions } from './command-line.js'
import { fieldsUnlessBroken, hasConfigFile } from './config.js'
import { GLOBAL_OPTIONS } from './options.js'
import { QUESTION_OUTPUTS } from './output.js'

type Candidate = readonly [word: string, about?: string]

/** Printed instead of candidates, as it is: the shell then completes file names. */
const FILES = ':files'

/** A line for each completion of the last word, its description after a tab. Faults are silent while a user types. */
export async function completions(words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  try {
    // Bash replaces only what follows its last `=` or `:`, so the characters before are not repeated.
    const { joined, keptLength } = joinBashWords(words)
    const lines = (await lineCandidates(joined, env)).map(([word, about]) => {
      const insertedText = word === FILES ? word : word.slice(keptLength)
      return about === undefined ? `${insertedText}\n` : `${insertedText}\t${about}\n`
    })
    return [...new Set(lines)].join('')
  } catch {
    return ''
  }
}

/** Joins the words that bash splits at `=` and `:`. `keptLength`: the characters of the last one that bash keeps. */
function joinBashWords(words: readonly string[]): { joined: string[]; keptLength: number } {
  const joined: string[] = []
  let isContinued = false
  let keptLength = 0
  for (const word of words) {
    const isSign = /^[=:]+$/.test(word)
    keptLength = 0
    if ((isContinued || isSign) && joined.length > 0) {
      const before = joined.pop()!
      keptLength = isSign ? before.length + word.length : before.length
      joined.push(before + word)
    } else joined.push(word)
    isContinued = isSign
  }
  return { joined, keptLength }
}

/** The words before the one that is being completed. */
interface TypedLine {
  env: NodeJS.ProcessEnv
  /** The words that belong to no option: those of the command until it is known, then its arguments. */
  words: string[]
  /** The values of options, by their long names. */
  values: Map<string, string>
  /** The option whose value is being typed. */
  pendingOption?: OptionSpec | undefined
  command?: Command
  /** The global options, and those of the known command. */
  options: readonly OptionSpec[]
  fields: FieldSet
}

/** Reads the words before the one that is being completed. A command is loaded once it is known, for its options. */
async function readLine(words: readonly string[], env: NodeJS.ProcessEnv): Promise<TypedLine> {
  const values = new Map<string, string>()
  const line: TypedLine = { env, words: [], values, options: GLOBAL_OPTIONS, fields: BUILT_IN_FIELDS }
  for (const word of words) {
    const optionBefore = line.pendingOption
    line.pendingOption = undefined
    if (optionBefore !== undefined) values.set(longName(optionBefore), word)
    else if (word.startsWith('-')) addOption(line, word)
    else await addWord(line, word)
  }
  const fieldsFile = values.get('--fields-file') || env.BANDS_FIELDS_FILE
  // A broken file is reported when the command runs.
  const fields = await fieldsUnlessBroken(fieldsFile ? { fields_file: fieldsFile } : {}, env)
  return { ...line, fields }
}

/** Adds an option that takes a value to the line: with that of `--name=value`, otherwise with the next word as it. */
function addOption(line: TypedLine, word: string): void {
  const [name = '', value] = word.split(/=(.*)/s)
  const spec = optionWithFlag(line.options, name)
  if (!spec?.[0].includes('<')) return
  if (value === undefined) line.pendingOption = spec
  else line.values.set(longName(spec), value)
}

/** Adds a word that belongs to no option. If it completes the name of a command, the command is loaded. */
async function addWord(line: TypedLine, word: string): Promise<void> {
  line.words.push(word)
  const entry = line.command === undefined ? CATALOGUE.find(({ name }) => name === line.words.join(' ')) : undefined
  if (entry === undefined) return
  line.command = await entry.load()
  line.words = []
  line.options = withGlobalOptions(line.command.options)
}

/** The candidates for the last word of a line: values of an option, options, arguments or commands. */
async function lineCandidates(words: readonly string[], env: NodeJS.ProcessEnv): Promise<readonly Candidate[]> {
  const line = await readLine(words.slice(0, -1), env)
  const word = words.at(-1) ?? ''
  if (line.pendingOption !== undefined) return optionCandidates(line, line.pendingOption, word)
  const [, name, value] = /^(--[\w-]+)=(.*)$/s.exec(word) ?? []
  const spec = name === undefined ? undefined : optionWithFlag(line.options, name)
  if (spec !== undefined) return withPrefix(`${name}=`, await optionCandidates(line, spec, value!))
  if (word.startsWith('-')) {
    const options = line.options.map((option): Candidate => [longName(option), option[1]])
    return startingWith(word, [...options, ['--help', 'examples and options']])
  }
  if (line.command !== undefined) return startingWith(word, await argumentCandidates(line, line.command, word))
  return startingWith(word, commandWords(line.words))
}

/** The first words of commands; after the name of a group, the second words of its commands; after `help`, both. */
function commandWords([first, ...more]: readonly string[]): readonly Candidate[] {
  if (first === 'help') return more.length === 0 ? [...commandWords([]), ['options']] : commandWords(more)
  if (more.length > 0) return []
  if (first !== undefined) return commandsOfGroup(first).map(({ name, summary }) => [name.split(' ')[1]!, summary])
  return TOP_WORDS.map(word => [word, GROUPS[word] ?? CATALOGUE.find(({ name }) => name === word)!.summary])
}

/** The candidates for the argument that is being typed. @param word its typed part */
async function argumentCandidates(line: TypedLine, command: Command, word: string): Promise<readonly Candidate[]> {
  const args = command.arguments ?? []
  const last = args.at(-1)
  const argument = args[line.words.length] ?? (last?.[0].includes('...') ? last : undefined)
  if (argument === undefined) return []
  const kinds = argumentKinds(argument)
  // An argument may take FIELD or `check` FILE: after `check`, only the kinds that follow it are offered.
  const laterKinds = kinds.slice(kinds.indexOf(line.words[0] ?? '') + 1)
  // No argument follows the field.
  if (argument === last && laterKinds.includes('FIELD') && line.words.some(typed => line.fields.named(typed))) return []
  const candidates: Candidate[] = []
  for (const kind of laterKinds) {
    const isPlaceholder = kind === kind.toUpperCase()
    candidates.push(...(isPlaceholder ? await kindCandidates(line, kind, word) : [[kind] as const]))
  }
  return candidates
}

/** The candidates for the value of an option; for a list also after a comma. */
async function optionCandidates(line: TypedLine, spec: OptionSpec, word: string): Promise<readonly Candidate[]> {
  if (longName(spec) === '--vary') return varyCandidates(word)
  const start = mayRepeat(spec) ? word.lastIndexOf(',') + 1 : 0
  const lastValue = word.slice(start)
  const lastCandidates = startingWith(lastValue, await valueCandidates(line, spec, lastValue))
  return withPrefix(word.slice(0, start), lastCandidates)
}

/** The keys of --vary that begin with a word; none after `=`, because the values are free. */
async function varyCandidates(word: string): Promise<readonly Candidate[]> {
  if (word.includes('=')) return []
  const { VARIABLE_KEYS } = await import('../../core/params/grid.js')
  const keys = VARIABLE_KEYS.map(key => [`${key.replaceAll('_', '-')}=`] as const)
  return startingWith(word, keys)
}

/** The candidates for one value of an option: its valid values, otherwise those of its placeholder. */
async function valueCandidates(line: TypedLine, spec: OptionSpec, word: string): Promise<readonly Candidate[]> {
  const [flags] = spec
  const values = allowedWords(spec)
  const kind = flags.slice(flags.indexOf('<') + 1, -1)
  if (longName(spec) === '--output') return (line.command?.outputs ?? QUESTION_OUTPUTS).map(format => [format])
  if (kind === 'BAND' || kind === 'BANDS') {
    const typedNames = [line.values.get('--field') ?? '', ...line.words].flatMap(text => text.split(','))
    const typedFields = line.fields.all.filter(({ name }) => typedNames.includes(name))
    const bands = typedFields.flatMap(field => field.bands)
    return values.filter(band => bands.length === 0 || bands.includes(band)).map(band => [band])
  }
  return values.length > 0 ? values.map(value => [value]) : kindCandidates(line, kind, word)
}

/** The candidates for a placeholder of the help, such as `TICKER`. @param word the typed part of the word */
async function kindCandidates(line: TypedLine, kind: string, word: string): Promise<readonly Candidate[]> {
  if (kind === 'CONDITION') return conditionCandidates(line)
  if (kind === 'FIELD' || kind === 'FIELDS') return line.fields.all.map(({ name, tier }) => [name, tier])
  if (kind === 'TIER') return TIER_NAMES.map(tier => [tier])
  if (kind === 'FILE' || kind === 'FOLDER') return [[FILES]]
  const db = line.values.get('--db')
  if (kind === 'LISTS') return (await watchListNames(db, line.env)).map(name => [name])
  if (kind === 'TICKER' || kind === 'TICKERS') {
    if (word.startsWith('@')) return [[FILES]]
    return (await readDatabaseWords(db, line.env)).tickers.map(name => [name])
  }
  return []
}

/** The first word of a condition, a field or `@NAME`: the shell would split the rest at its blanks. */
async function conditionCandidates({ fields, values, env }: TypedLine): Promise<readonly Candidate[]> {
  const { namedConditions } = await import('../open/database.js')
  const { names } = await namedConditions({ db: values.get('--db'), env })
  return [...fields.names, ...names.map(name => `@${name}`)].map(word => [word])
}

/** The words of the database, or of the sample if there is none. @param typed the value of --db */
export async function readDatabaseWords(typed: string | undefined, env: NodeJS.ProcessEnv): Promise<DatabaseWords> {
  const { openLocal } = await import('../open/database.js')
  const opened = await openLocal({ db: typed ?? (await savedDatabase(env)), env })
  try {
    return await wordsOfOpened(opened)
  } finally {
    await opened.bands.close()
  }
}

interface DatabaseWords {
  /** With bars or pulled. */
  tickers: readonly string[]
  /** The day that the data end. */
  today: Day
}

export async function wordsOfOpened({ bands, local }: Pick<Opened, 'bands' | 'local'>): Promise<DatabaseWords> {
  return { tickers: await bands.tickers(), today: await local.today() }
}

/** The names of the watch lists of the database. @param typed the value of --db */
export async function watchListNames(typed: string | undefined, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { readLists } = await import('../open/lists.js')
  return (await readLists({ db: typed ?? (await savedDatabase(env)), env })).map(({ name }) => name)
}

/** The named conditions of a user. @param typed the value of --db */
export async function conditionsOf(typed: string | undefined, env: NodeJS.ProcessEnv): Promise<NamedConditions> {
  const { namedConditions } = await import('../open/database.js')
  return namedConditions({ db: typed ?? (await savedDatabase(env)), env })
}

/** The database of config.json; undefined if a variable names one, or the file has none or is broken. */
async function savedDatabase(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env.BANDS_DB || !hasConfigFile(env)) return undefined
  const { readConfigFile } = await import('./config-file.js')
  const file = await readConfigFile(env).catch(() => null)
  return file?.saved.values.db
}

/** The candidates that begin with a word, in either case: tickers are typed in small letters, too. */
function startingWith(word: string, candidates: readonly Candidate[]): readonly Candidate[] {
  const typed = word.toLowerCase()
  return candidates.filter(([name]) => name === FILES || name.toLowerCase().startsWith(typed))
}

/** The candidates with a text before each; file names get none, because the shell completes them. */
function withPrefix(text: string, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.map(([name, about]) => (name === FILES ? [name] : [text + name, about]) as Candidate)
}
