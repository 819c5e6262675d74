import { CommanderError, Option, Command as Tree } from 'commander'
import { InvalidParameter } from '../errors.js'
import { CATALOGUE, type Entry } from './catalogue.js'
import type { Command, OptionSpec } from './command.js'
import { Given } from './given.js'
import { GLOBAL_OPTIONS } from './options.js'

/** A command line that was understood. */
export interface Call {
  name: string
  command: Command
  given: Given
  globals: Given
}

export type Request = Call | 'version' | 'help' | { helpFor: Entry; command: Command }

/**
 * Words → what they ask for. Options of every command may stand before or after it. Throws InvalidParameter for what
 * cannot be understood, with the nearest command or option.
 */
export async function parseWords(words: readonly string[]): Promise<Request> {
  const [first, ...others] = words
  // `bands help events` is `bands events --help`.
  const argv = first === 'help' ? [...others, '--help'] : [...words]
  const tree = silentTree()
  const heard: { entry?: Entry; command?: Command; call?: Call } = {}
  for (const entry of CATALOGUE) tree.command(entry.name)
  tree.hook('preSubcommand', async (_, branch) => {
    heard.entry = CATALOGUE.find(entry => entry.name === branch.name())!
    heard.command = await heard.entry.load()
    declare(branch, heard.command, given => {
      heard.call = { name: branch.name(), command: heard.command!, given, globals: new Given([], tree.opts()) }
    })
  })
  try {
    await tree.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (new Given([], tree.opts()).flag('version')) return 'version'
    if (error.code === 'commander.help') return 'help'
    if (error.code === 'commander.helpDisplayed') return helpRequest(heard)
    const { slip } = await import('./slips.js')
    throw slip(error, argv, heard)
  }
  return heard.call!.globals.flag('version') ? 'version' : heard.call!
}

/** A tree that prints nothing and ends nothing by itself: both are the business of main. */
function silentTree(): Tree {
  const nothing = (): void => {}
  const tree = new Tree('bands')
    .exitOverride()
    .configureOutput({
      writeOut: nothing,
      writeErr: nothing,
      outputError: nothing,
      // Asked of the process otherwise, which costs more than parsing.
      getOutHelpWidth: () => 80,
      getErrHelpWidth: () => 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .helpCommand(false)
    .showSuggestionAfterError(false)
  for (const [flags] of GLOBAL_OPTIONS) tree.addOption(new Option(flags))
  return tree
}

function declare(branch: Tree, command: Command, heard: (given: Given) => void): void {
  for (const [name] of command.arguments ?? []) branch.argument(name)
  for (const spec of command.options ?? []) branch.addOption(option(spec))
  branch.action(() => heard(new Given(branch.processedArgs, branch.opts())))
}

/** A value given twice is a slip more often than a change of mind, so only lists may be repeated. */
function option([flags, , times]: OptionSpec): Option {
  const made = new Option(flags)
  if (!made.required) return made
  return made.argParser<string | string[]>((value, previous) => {
    if (times === 'repeatable') return [...((previous as string[] | undefined) ?? []), value]
    if (previous === undefined) return value
    throw new InvalidParameter(`${made.long} is given twice.`, { param: made.attributeName(), value })
  })
}

function helpRequest({ entry, command }: { entry?: Entry; command?: Command }): Request {
  return entry === undefined || command === undefined ? 'help' : { helpFor: entry, command }
}
