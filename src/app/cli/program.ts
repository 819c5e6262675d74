import { CommanderError, Option, Command as Tree } from 'commander'
import { wrong } from '../../core/errors.js'
import type { OptionSpec } from '../../core/params/row.js'
import { CATALOGUE, commandsOfGroup, type Entry, type ParsedCommand, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { Args } from './command.js'
import { splitJoinedOptions } from './joined-options.js'
import { GLOBAL_OPTIONS } from './options.js'

interface Call {
  name: string
  command: Command
  args: Args
  globals: Args
}

/** Help for a command, or for a group of commands such as `accounts`. `isWhole`: with options that few people need. */
type HelpRequest = { helpFor: Entry; command: Command; isWhole: boolean } | { helpFor: string }

/** `options` means the help common to all commands, `all` the list of every command. */
export type Request = Call | 'version' | 'help' | 'all' | 'options' | HelpRequest

type ParsedLine = ParsedCommand & { call?: Call }

/** Parses words into a request. Throws InvalidParameter with the nearest command or option. */
export async function parseWords(words: readonly string[]): Promise<Request> {
  const [first, ...otherWords] = words
  if (first === 'man') return parseWords(['help', ...otherWords, 'all'])
  const topic = first === 'help' ? otherWords[0] : undefined
  if (topic === 'options' || topic === 'all') return topic
  // `bands help events` is `bands events --help`, and each may end with `all`.
  const argv = first === 'help' ? [...otherWords, '--help'] : [...words]
  const tree = silentTree()
  const parsed: ParsedLine = {}
  // Setting up a command takes longer than parsing a line: commands that are not on the line only serve suggestions.
  const typedCommands = TOP_WORDS.filter(word => argv.includes(word))
  for (const word of typedCommands.length > 0 ? typedCommands : TOP_WORDS) tree.command(word)
  // A command is loaded when the parser gets to it. A group first gets its commands.
  tree.hook('preSubcommand', async (_, branch) => {
    const entries = commandsOfGroup(branch.name())
    if (entries.length === 0) return loadCommand(branch, branch.name(), tree, parsed)
    parsed.group = branch.name()
    for (const { name } of entries) branch.command(name.split(' ')[1]!)
    branch.hook('preSubcommand', (_, twig) => loadCommand(twig, `${branch.name()} ${twig.name()}`, tree, parsed))
  })
  try {
    await tree.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (new Args([], tree.opts()).flag('version')) return 'version'
    if (error.code === 'commander.help' || error.code === 'commander.helpDisplayed')
      return await helpRequest(parsed, argv.includes('--help') && words.at(-1) === 'all', topic)
    const { usageError } = await import('./errors.js')
    throw await usageError(error, argv, parsed)
  }
  return parsed.call!.globals.flag('version') ? 'version' : parsed.call!
}

/** A parser that neither prints nor exits: main does both. */
function silentTree(): Tree {
  const nothing = (): void => {}
  const tree = new Tree('bands')
    .exitOverride()
    .configureOutput({
      writeOut: nothing,
      writeErr: nothing,
      outputError: nothing,
      // The default asks the process, which takes longer than parsing.
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .helpCommand(false)
    .showSuggestionAfterError(false)
  for (const [flags] of GLOBAL_OPTIONS) tree.addOption(parserOption([flags, ''], { isGlobal: true }))
  return tree
}

/** Loads a command, adds its options and arguments to its parser node. `parsed` gets the command and its call. */
async function loadCommand(node: Tree, name: string, root: Tree, parsed: ParsedLine): Promise<void> {
  parsed.entry = CATALOGUE.find(entry => entry.name === name)!
  const command = await parsed.entry.load()
  parsed.command = command
  for (const [word] of command.arguments ?? []) node.argument(word)
  for (const spec of command.options ?? []) node.addOption(parserOption(spec))
  node.action(() => {
    // A command may redefine a global option, such as the tier of a new account.
    const args = new Args(node.processedArgs, splitJoinedOptions(command.options ?? [], node.optsWithGlobals()))
    parsed.call = { name, command, args, globals: new Args([], root.opts()) }
  })
}

/** An option for the parser. It refuses an option as its value, and a second value unless it takes a list. */
function parserOption([flags, , times]: OptionSpec, { isGlobal = false } = {}): Option {
  const option = new Option(flags)
  if (!option.required) return option
  return option.argParser<string | string[]>((value, previous) => {
    if (isOption(value)) throw new CommanderError(2, MISSING_VALUE_CODE, `'${flags}'`)
    if (times === 'repeatable') return [...((previous as string[] | undefined) ?? []), value]
    if (previous === undefined || isGlobal) return value
    throw wrong(option.attributeName(), `${option.long} is given twice.`, { value })
  })
}

/** Whether a value looks like an option: then the value of the option before it is missing. */
const isOption = (value: string): boolean => /^--[a-z]/i.test(value)

/** The code of the parser's error for an option without its value. */
const MISSING_VALUE_CODE = 'commander.optionMissingArgument'

/** The help that a line asks for. Throws InvalidParameter for an unknown command. @param word the word after `help` */
async function helpRequest(
  { group, entry, command }: ParsedCommand,
  isWhole: boolean,
  word: string | undefined,
): Promise<Request> {
  if (entry !== undefined && command !== undefined) return { helpFor: entry, command, isWhole }
  if (group !== undefined) return { helpFor: group }
  if (word === undefined || word.startsWith('-')) return 'help'
  throw (await import('./command-suggestions.js')).unknownHelpTopic(word)
}
