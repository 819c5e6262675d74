import type { CommanderError } from 'commander'
import { SAMPLE } from '../../core/built.js'
import {
  BadData,
  BandsError,
  describeValue,
  didYouMean,
  type ErrorCode,
  InvalidParameter,
  NotFound,
  payloadAt,
  printable,
  quoted,
  RateLimited,
  type Remedy,
  StorageError,
  sentence,
  suggest,
  TierRestricted,
  Unauthorized,
  type Words,
  wordsAsText,
  wrong,
} from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { fieldsWithBand } from '../../core/language/condition.js'
import { exampleOf } from '../../core/params/row.js'
import { maskKeys } from '../../server/accounts/key.js'
import {
  argumentKinds,
  CATALOGUE,
  commandsOfGroup,
  type Entry,
  type ParsedCommand,
  TOP_WORDS,
  usageLine,
} from './catalogue.js'
import type { Command } from './command.js'
import {
  lineWithRemedy,
  longName,
  optionNames,
  optionOf,
  quotedLine,
  quotedWord,
  remedyWords,
  replaceWithinWord,
  replaceWord,
  textWithOptionsOf,
  withTypedFiles,
  withTypedSource,
} from './command-line.js'
import { commandsWithOption, joinConditionWords, suggestCommand, suggestInGroup } from './command-suggestions.js'
import { wantsDebug } from './config.js'
import type { Context, FailedRun } from './context.js'
import { linesText, paintFor, wrap } from './draw/text.js'
import { GLOBAL_OPTIONS } from './options.js'
import { isColoured, type World, widthOf } from './world.js'

export const EXIT_CODES: Readonly<Record<ErrorCode, number>> = {
  invalid_parameter: 2,
  not_found: 3,
  unauthorized: 4,
  tier_restricted: 4,
  bad_data: 5,
  storage: 6,
  config: 6,
  busy: 8,
  method_not_allowed: 7,
  rate_limit_exceeded: 8,
  data_unavailable: 8,
  upstream: 7,
}

/** A line below the message of an error. */
type HelpLine = [label: string, text: string]

/** The exit code of an error that bands does not know. */
const UNFORESEEN_EXIT_CODE = 1

/** Reports an error on stderr, for a person or as one line of JSON, and returns the exit code. */
export async function reportError(
  thrown: unknown,
  argv: readonly string[],
  world: World,
  context?: Context,
): Promise<number> {
  const error = asError(thrown)
  const stack = wantsDebug(argv, world.env) ? stackOf(thrown) : undefined
  let lines: string[]
  if (wantsJson(argv)) {
    // Machines read one line, so no other line may follow it.
    context?.omitSourceNotice()
    lines = [printable(JSON.stringify({ ...machineForm(error, context), stack }))]
  } else {
    lines = await humanForm(error, { argv, world, context })
    // The last line of an error is one to paste, so the notices come before it.
    await context?.noticeSource().catch(() => {})
    if (stack !== undefined) lines.push(printable(stack))
  }
  // The message may repeat typed text, and typed text may be a key.
  await world.err.write(maskKeys(linesText(lines))).catch(() => {})
  return error instanceof BandsError ? EXIT_CODES[error.code] : UNFORESEEN_EXIT_CODE
}

/** The properties of an error for machines; `internal` is an error that bands does not know. */
function machineForm(error: Error, context?: Context): Record<string, unknown> {
  const upgradeUrl = context?.config.upgrade_url ?? null
  if (error instanceof BandsError) return { error: error.code, message: error.message, ...payloadAt(error, upgradeUrl) }
  return { error: 'internal', message: error.message }
}

/** Whether the line requests JSON anywhere, even if another word is wrong. */
function wantsJson(argv: readonly string[]): boolean {
  return argv.some(
    (word, i) =>
      /^(--output=)?(--json|--ndjson|json|ndjson)$/.test(word) && (word.startsWith('--') || argv[i - 1] === '--output'),
  )
}

/** The lines about an error for people: the message, then labelled lines that help. */
async function humanForm(error: Error, run: FailedRun): Promise<string[]> {
  const { argv, world, context } = run
  const width = widthOf(world.err, world.env)
  const paint = await paintFor(isColoured(context?.config.color ?? 'auto', world.env, world.err.terminal))
  const options = (await entryOf(argv)?.load())?.options ?? []
  const message = printable(textWithOptionsOf(options, messageWords(error, context?.fields)))
  const [firstLine = '', ...otherLines] = message.split('\n')
  const [first = '', ...wrapped] = wrap(`error: ${firstLine}`, width)
  const lines = [first.replace(/^error:/, paint.bad('error:')), ...wrapped, ...otherLines]
  const help = (await helpLines(error, run)).filter(([, text]) => text !== '')
  if (error instanceof BandsError && !LINE_TO_PASTE.test(help.at(-1)?.[1] ?? '')) {
    const { lastLine } = await import('./last-line.js')
    help.push(await lastLine(error, run, entryOf(argv)))
  }
  const labelWidth = Math.max(7, ...help.map(([label]) => label.length + 2))
  for (const [label, text] of help) {
    // A line to paste stays whole.
    const texts = LINE_TO_PASTE.test(text) ? [printable(text)] : wrap(printable(text), width - labelWidth - 2)
    texts.forEach((line, i) => {
      lines.push(`  ${(i === 0 ? `${label}:` : '').padEnd(labelWidth)}${line}`)
    })
  }
  return lines
}

const LINE_TO_PASTE = /^(BANDS_TIER= )?bands /

/** The message for people. It does not list the allowed values: a line below it does. */
function messageWords(error: Error, fields: FieldSet | undefined): Words {
  if (!(error instanceof BandsError)) return error.message
  if (error instanceof BadData && error.cause instanceof InvalidParameter) return error.message
  return error instanceof InvalidParameter ? parameterMessage(error, fields) : error.words
}

/** The message for a wrong parameter. @param fields the known fields; absent if the line was not understood */
function parameterMessage(error: InvalidParameter, fields?: FieldSet): Words {
  const { fault, offence, about } = error
  const { param, value, suggestions = [] } = offence
  const nearestHint = didYouMean(suggestions)
  if (fault === 'unknown') return `there is no parameter ${quoted(param)}.${nearestHint}`
  // One part of a joined value, such as `--validate "split 2015-01-01"`, is wrong.
  if (fault === 'in_part' && about.part !== undefined)
    return sentence`${{ param }} ${describeValue(value)}: ${[parameterMessage(about.part, fields)].flat()}`
  // Only a wrong band, field, option or command has its allowed values in a line below.
  if (fault !== 'not_allowed' || allowedLabel(error) === undefined) return error.words
  if (about.thing?.kind === 'band') {
    const otherFields = nearestHint === '' && fields !== undefined ? fieldsWithBand(String(value), fields) : []
    const otherHint = otherFields.length === 0 ? '' : ` It is one of ${otherFields.join(', ')}.`
    return `${about.thing.field} has no band ${describeValue(value)}.${nearestHint}${otherHint}`
  }
  return sentence`there is no ${about.thing?.kind ?? { param }} ${describeValue(value)}.${nearestHint}`
}

/** The lines below the message, each with its label: the valid values, a line to paste. An empty text is left out. */
async function helpLines(error: Error, run: FailedRun): Promise<HelpLine[]> {
  const { argv, context } = run
  if (error instanceof InvalidParameter || error instanceof NotFound) {
    const redirected = await redirectedLine(argv)
    if (redirected !== null) return [['try', redirected]]
    return error instanceof NotFound ? notFoundHelp(error, run) : parameterHelp(error, run)
  }
  if (error instanceof TierRestricted) return tierHelp(error, run)
  if (error instanceof RateLimited)
    return [
      ['again', error.reset ?? ''],
      ['upgrade', error.upgradeUrl ?? context?.config.upgrade_url ?? ''],
    ]
  if (error instanceof Unauthorized && error.remedy === null) return refusedKeyHelp(context)
  if (error instanceof BandsError)
    return error.remedy === null ? [] : [['try', quotedLine(lineOfRemedy(error.remedy, argv))]]
  return [['please', 'this is a fault of bands: report it with the command line and the output of --debug']]
}

/** The line with `> FILE` in place of `--csv FILE`, `-o FILE` or `--write FILE`, to paste; null if it has none. */
async function redirectedLine(argv: readonly string[]): Promise<string | null> {
  const at = argv.findIndex(
    (word, i) =>
      /^(--(csv|json|ndjson|output|write)|-o)$/.test(word) && /\.(csv|json|ndjson)$/i.test(argv[i + 1] ?? ''),
  )
  const command = await entryOf(argv)?.load()
  const kinds = command?.arguments?.flatMap(argumentKinds) ?? []
  const takesWrite = argv[at] === '--write' && command?.options?.some(spec => longName(spec) === '--write')
  // For a command that reads files, the file is its input.
  if (at < 0 || kinds.includes('FILE') || takesWrite) return null
  const [option, file] = argv.slice(at, at + 2) as [string, string]
  const namesFormat = /^--(csv|json|ndjson)$/.test(option)
  const format = namesFormat ? option : `--${/\w+$/.exec(file)![0].toLowerCase()}`
  return `${quotedLine([...argv.slice(0, at), format, ...argv.slice(at + 2)])} > ${quotedWord(file)}`
}

/** How to see what a tier does not show: a higher tier; with the local database also the answer without a tier. */
async function tierHelp({ upgradeUrl }: TierRestricted, { argv, context }: FailedRun): Promise<HelpLine[]> {
  const upgrade: HelpLine = ['upgrade', upgradeUrl ?? context?.config.upgrade_url ?? '']
  // At a server the key decides, so no option can be left out.
  if (context?.usedRemote != null) return [upgrade]
  const { withoutOption } = await import('./working-line.js')
  const line = withoutOption(argv, '--tier')
  return [upgrade, ['locally', line === null ? `BANDS_TIER= ${quotedLine(argv)}` : quotedLine(line)]]
}

/** The source of a key that a server refused, and the login that replaces it. Empty if no server was called. */
async function refusedKeyHelp(context?: Context): Promise<HelpLine[]> {
  if (context?.usedRemote == null) return []
  const { keySource } = await import('./profiles.js')
  // The files may have changed since, and this is no time to fail.
  const keyOrigin = await keySource(context.config, context.world.env).catch(() => null)
  return [
    ['key', keyOrigin?.from ?? ''],
    ['try', keyOrigin?.loginLine ?? ''],
  ]
}

/** The lines below a message about a parameter: its valid values, the usage of the command, and lines to paste. */
async function parameterHelp(error: InvalidParameter, run: FailedRun): Promise<HelpLine[]> {
  const { allowed = [] } = error.offence
  const usage = typeof allowed === 'string' && allowed.startsWith('bands ') ? allowed : ''
  const isInMessage = typeof allowed === 'string' || wordsAsText(parameterMessage(error)).includes(allowed.join(', '))
  const linesToPaste = await workingLines(error, run)
  return [
    [allowedLabel(error) ?? 'allowed', isInMessage ? '' : allowed.join(' ')],
    ['usage', usage],
    ...linesToPaste.map((line, i): HelpLine => [i === 0 ? 'try' : 'or', line]),
  ]
}

/**
 * The command lines to paste after an error; never empty. First the command that the error suggests is tried. Then the
 * typed line with its values corrected, in one line for each reading of an ambiguous date. Then the typed line without
 * its wrong word or option, and last an example of the command.
 */
async function workingLines(error: InvalidParameter | NotFound, run: FailedRun): Promise<string[]> {
  const { argv } = run
  const [{ mendLine, withoutOption }, { readVocabulary }] = await Promise.all([
    import('./working-line.js'),
    import('./line-words.js'),
  ])
  const vocabulary = await readVocabulary(run)
  const isUnknownCommand = error instanceof InvalidParameter && error.param === 'command'
  // `help` and `--version` are no commands of the catalogue.
  if (isUnknownCommand && error.remedy !== null && !TOP_WORDS.includes(error.remedy.command.split(' ')[0]!))
    return [quotedLine(remedyWords(error.remedy))]
  const lines = new Set<string>()
  const lineToMend = joinConditionWords(argv) ?? remediedLine(error, argv) ?? argv
  for (const dateReading of [0, 1]) {
    const line = await mendLine(lineToMend, vocabulary, dateReading)
    // The typed line in another order would fail, too.
    if (line !== null && !differOnlyInOrder(line, argv)) lines.add(quotedLine(line))
  }
  if (lines.size > 0) return [...lines]
  let corrected = correctedLine(error, argv)
  if (corrected === null && error instanceof InvalidParameter)
    corrected = withoutOption(argv, optionOf(error.param).split(' ')[0]!)
  if (corrected !== null) {
    const line = (await mendLine(corrected, vocabulary)) ?? corrected
    if (!differOnlyInOrder(line, argv)) return [quotedLine(line)]
  }
  const [example] = (await entryOf(argv)?.load())?.examples ?? []
  if (example === undefined) return ['bands help all']
  const source = withTypedSource([], argv).map(quotedWord).join(' ')
  // A typed server takes the place of the one in the example.
  const line = source.includes('--remote') ? example.replace(/ --remote \S+/, '') : example
  return [`${line} ${source}`.trimEnd()]
}

/** The line of an error's remedy. Null without one, and for an unknown first word: `mendLine` finds the command. */
function remediedLine(error: InvalidParameter | NotFound, argv: readonly string[]): string[] | null {
  const isUnknownCommand = error instanceof InvalidParameter && error.param === 'command'
  if (isUnknownCommand && !TOP_WORDS.includes(argv[0]!)) return null
  return error.remedy === null ? null : correctedLine(error, argv)
}

/** Whether two lines have the same words, and differ at most by the order of their options. */
function differOnlyInOrder(line: readonly string[], otherLine: readonly string[]): boolean {
  // The options in alphabetical order, each with the word after it, then the other words.
  const sortOptions = (words: readonly string[]): string[] => {
    const options: string[] = []
    const plainWords: string[] = []
    for (let at = 0; at < words.length; at++) {
      const word = words[at]!
      const hasValue = words[at + 1]?.startsWith('--') === false
      if (!word.startsWith('--')) plainWords.push(word)
      else options.push(hasValue ? quotedLine([word, words[++at]!]) : word)
    }
    return [...options.toSorted(), ...plainWords]
  }
  return quotedLine(sortOptions(line)) === quotedLine(sortOptions(otherLine))
}

/** The typed line with the nearest valid value, or the line of the remedy; null if there is none. */
function correctedLine(error: InvalidParameter | NotFound, argv: readonly string[]): string[] | null {
  const { remedy } = error
  if (error instanceof NotFound && error.missing !== null && error.suggestions.length > 0)
    return replaceWord(argv, error.missing.name, error.suggestions[0]!)
  if (remedy !== null) return lineOfRemedy(remedy, argv)
  if (error instanceof NotFound) return null
  const { offence } = error
  const nearest = offence.suggestions?.[0]
  if (nearest === undefined) return null
  return offence.column === undefined
    ? replaceWord(argv, String(offence.value), nearest)
    : replaceWithinWord(argv, offence, nearest)
}

/** The line of a remedy, about the typed files. */
function lineOfRemedy(remedy: Remedy, argv: readonly string[]): string[] {
  return lineWithRemedy(argv, remedy) ?? withTypedFiles(remedyWords(remedy), argv)
}

/** The label of the line with the allowed values: `bands`, `fields`, `options` or `commands`; undefined for others. */
function allowedLabel({ about, param }: InvalidParameter): string | undefined {
  const kind = about.thing?.kind ?? /(?:^|_)(band|field|option|command)s?$/.exec(param)?.[1]
  return kind && `${kind}s`
}

/** The lines below a NotFound: for a ticker the loaded ones and how to load more, for anything else a line to paste. */
async function notFoundHelp(error: NotFound, run: FailedRun): Promise<HelpLine[]> {
  const { argv, context } = run
  const { missing, suggestions } = error
  // Tickers do not help with a missing file or account.
  if (missing?.kind !== 'ticker' || context?.opened == null) {
    // The name of the missing file may be a misspelt field.
    const command = await entryOf(argv)?.load()
    const takesField = command?.arguments?.flatMap(argumentKinds).includes('FIELD')
    // Another command can make the file that this one reads, such as a strategy.
    const canMakeFile = command?.madeBy !== undefined
    const isFileOrField = missing?.kind === 'file' && (takesField || canMakeFile)
    // The line to paste uses a field, makes the file, or makes the list.
    if ((isFileOrField || missing?.kind === 'list') && suggestions.length === 0)
      return [['try', (await workingLines(error, run))[0] ?? '']]
    const words = correctedLine(error, argv) ?? ['help', ...(entryOf(argv)?.name ?? 'all').split(' ')]
    return [['try', quotedLine(words)]]
  }
  const tickers = await context.opened.bands.tickers()
  // Local tickers do not help with a ticker that a server does not know.
  if (context.usedRemote !== null && tickers.includes(missing.name)) {
    const { withoutOption } = await import('./working-line.js')
    return [
      ['here', `${missing.name} has prices here; ${context.usedRemote.url} does not know it`],
      ['try', quotedLine([...(withoutOption(argv, '--remote') ?? argv), '--remote', 'local'])],
    ]
  }
  const firstTickers = tickers.slice(0, MAX_LISTED_TICKERS).join(' ')
  const omitted = tickers.length - MAX_LISTED_TICKERS
  const [line = ''] =
    suggestions.length > 0 ? await workingLines(error, run) : [await sampleLine(missing.name, argv, context)]
  return [
    ['here', omitted > 0 ? `${firstTickers} and ${omitted} more (bands status)` : firstTickers],
    [tickers.length > 0 ? 'load more' : 'load', quotedLine(withTypedFiles(['import', 'FILE.csv'], argv))],
    ['try', line],
  ]
}

/** The most tickers that are listed below an error. */
const MAX_LISTED_TICKERS = 24

/** The typed line for the sample if it has the ticker (help and docs name its tickers), otherwise `bands status`. */
async function sampleLine(ticker: string, argv: readonly string[], { opened, config }: Context): Promise<string> {
  const statusLine = quotedLine(withTypedFiles(['status'], argv))
  if (opened!.sample || config.from.db === '--db') return statusLine
  const { openSample } = await import('../open/database.js')
  const { local } = openSample()
  try {
    const isInSample = (await local.store.names()).includes(ticker)
    return isInSample ? quotedLine([...argv, '--db', SAMPLE]) : statusLine
  } finally {
    await local.close()
  }
}

/** The entry in the catalogue for the command that a line names; undefined if it names none. */
function entryOf(argv: readonly string[]): Entry | undefined {
  const at = argv.findIndex(word => TOP_WORDS.includes(word))
  const twoWords = argv.slice(at, at + 2).join(' ')
  return CATALOGUE.find(({ name }) => name === twoWords) ?? CATALOGUE.find(({ name }) => name === argv[at])
}

/** Any thrown value as an error. An error of SQLite or of a file becomes a StorageError or NotFound with its words. */
function asError(thrown: unknown): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown))
  const { code, syscall, path } = thrown as NodeJS.ErrnoException
  if (thrown instanceof BandsError) return thrown
  if (code?.startsWith('SQLITE_')) return new StorageError(`the database: ${thrown.message}`, { cause: thrown })
  if (syscall === undefined || path === undefined) return thrown
  if (code === 'ENOENT') return new NotFound(`there is no file ${path}.`, [], { missing: { kind: 'file', name: path } })
  return new StorageError(thrown.message, { cause: thrown })
}

function stackOf(thrown: unknown): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  const cause = thrown instanceof Error && thrown.cause !== undefined ? `\ncaused by ${stackOf(thrown.cause)}` : ''
  return stack + cause
}

/** Converts a commander error into one that names the wrong word and the nearest valid one. */
export async function usageError(
  error: CommanderError,
  argv: readonly string[],
  parsed: ParsedCommand,
): Promise<InvalidParameter> {
  const { group, entry, command } = parsed
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  switch (error.code) {
    case 'commander.unknownCommand': {
      if (group === undefined)
        return suggestCommand(word, argv) ?? unknownWordError('command', word, TOP_WORDS, suggest(word, TOP_WORDS))
      const words = commandsOfGroup(group).map(({ name }) => name.split(' ')[1]!)
      return suggestInGroup(group, word, argv) ?? unknownWordError('command', word, words, suggest(word, words), group)
    }
    case 'commander.unknownOption':
      return await unknownOptionError(word.split('=')[0]!, parsed, argv)
    case 'commander.missingArgument':
      return wrong(word.toLowerCase(), `${word} is missing.`, { allowed: usageLine(entry, command) })
    case 'commander.optionMissingArgument':
      return missingValueError(word, command)
    case 'commander.excessArguments': {
      const maxArguments = command?.arguments?.length ?? 0
      const countText = ['no arguments', 'one argument'][maxArguments] ?? `${maxArguments} arguments`
      const offence = { param: 'arguments', value: argv.join(' '), allowed: usageLine(entry, command) }
      return new InvalidParameter(`${entry?.name ?? 'bands'} takes ${countText}; there are more words here.`, offence)
    }
    default:
      return wrong('arguments', error.message.replace(/^error: /, ''))
  }
}

/** The error for an option whose value is missing. @param flags `--limit <N>` */
function missingValueError(flags: string, command: Command | undefined): InvalidParameter {
  const spec = [...(command?.options ?? []), ...GLOBAL_OPTIONS].find(option => option[0] === flags)
  const name = /--[\w-]+/.exec(flags)![0]
  const example = spec === undefined ? null : exampleOf(spec)
  const exampleText = example === null ? '' : `, for example ${example}`
  return wrong(name.slice(2).replaceAll('-', '_'), `${name} needs a value${exampleText}.`)
}

/** The error for an unknown option. It names the nearest options, otherwise the commands that have the option. */
async function unknownOptionError(
  typedOption: string,
  { command, entry }: ParsedCommand,
  argv: readonly string[],
): Promise<InvalidParameter> {
  const allowed = optionNames(command?.options ?? [])
  const plainNames = allowed.map(name => name.slice(2))
  const nearest = suggest(typedOption.replace(/^-+/, ''), plainNames).map(name => `--${name}`)
  // Only commands that choose events have --prev-band.
  const wouldLookAhead = plainNames.includes('prev-band') && LATER_OUTCOME.test(typedOption)
  if (entry !== undefined && wouldLookAhead && nearest.length === 0)
    return wrong(
      'option',
      `${typedOption} cannot choose events: how long a band lasts and what follows it are not known when the event happens, so ${entry.name} would look ahead.`,
      { value: typedOption },
    )
  const commands = nearest.length > 0 ? [] : await commandsWithOption(typedOption, entry)
  if (commands.length === 0)
    return unknownWordError('option', typedOption, [...allowed, '--help'], nearest, entry?.name)
  const more = commands.length > MAX_NAMED_COMMANDS ? ' and more' : ''
  const otherCommands = `${commands.slice(0, MAX_NAMED_COMMANDS).join(', ')}${more}`
  const name = entry?.name ?? argv.find(word => TOP_WORDS.includes(word))
  const verb = commands.length > 1 ? 'have' : 'has'
  const message = `there is no option ${JSON.stringify(typedOption)} of ${name}; ${otherCommands} ${verb} one.`
  return wrong('option', message, { value: typedOption })
}

const MAX_NAMED_COMMANDS = 4

/** Options for durations and later returns, which are not known when an event happens. */
const LATER_OUTCOME = /duration|aftermath|performance|outcome|forward|future|return|held|next-band/

/** The error for an unknown command or option. @param owner the command or group that does not have it */
function unknownWordError(
  param: string,
  value: string,
  allowed: readonly string[],
  suggestions: readonly string[],
  owner?: string,
): InvalidParameter {
  const where = owner === undefined ? '' : ` of ${owner}`
  const message = `there is no ${param} ${JSON.stringify(value)}${where}.${didYouMean(suggestions)}`
  return wrong(param, message, { value, allowed, suggestions })
}
