import type { CommanderError } from 'commander'
import { didYouMean, InvalidParameter, suggest } from '../errors.js'
import { type Entry, groupOf, TOP_WORDS } from './catalogue.js'
import type { Command } from './command.js'
import { GLOBAL_OPTIONS } from './options.js'

/** How far a command line was understood. */
export interface Heard {
  /** The first of two words. */
  group?: string
  entry?: Entry
  command?: Command
}

/** What commander could not understand, as an error that names the word and the nearest one that exists. */
export function usageError(
  error: CommanderError,
  argv: readonly string[],
  { group, entry, command }: Heard,
): InvalidParameter {
  const word = /'([^']*)'/.exec(error.message)?.[1] ?? ''
  switch (error.code) {
    case 'commander.unknownCommand':
      return unknownCommand(word, group)
    case 'commander.unknownOption':
      return unknownOption(word.split('=')[0]!, command, entry)
    case 'commander.missingArgument':
      return missing(`${word} is missing.`, word.toLowerCase(), entry, command)
    case 'commander.optionMissingArgument':
      return new InvalidParameter(`${word.split(' ').find(flag => flag.startsWith('--'))} needs a value.`, {
        param: word.split(' ')[0]!.replace(/^-+/, ''),
      })
    case 'commander.excessArguments':
      return tooMany(argv, entry, command)
    default:
      return new InvalidParameter(error.message.replace(/^error: /, ''), { param: 'arguments' })
  }
}

/** Inside a group, only its own second words are meant. */
function unknownCommand(word: string, group: string | undefined): InvalidParameter {
  const words = group === undefined ? TOP_WORDS : groupOf(group).map(({ name }) => name.split(' ')[1]!)
  const where = group === undefined ? '' : ` of ${group}`
  return unknown('command', word, words, typed => suggest(typed, words), where)
}

function unknownOption(typed: string, command: Command | undefined, entry: Entry | undefined): InvalidParameter {
  const allowed = [...(command?.options ?? []), ...GLOBAL_OPTIONS].map(([flags]) => /--[\w-]+/.exec(flags)![0])
  const bare = allowed.map(name => name.slice(2))
  const near = (word: string): string[] => suggest(word.replace(/^-+/, ''), bare).map(name => `--${name}`)
  if (entry !== undefined && bare.includes('prev-band') && LATER.test(typed) && near(typed).length === 0)
    throw new InvalidParameter(
      `${typed} cannot choose events: how long a band lasts and what follows it are not known when the event happens, so ${entry.name} would look ahead.`,
      { param: 'option', value: typed },
    )
  return unknown(`option`, typed, [...allowed, '--help'], near, entry === undefined ? '' : ` of ${entry.name}`)
}

/** What lasts until later, or follows. */
const LATER = /duration|aftermath|performance|outcome|forward|future|return|held|next-band/

function unknown(
  param: string,
  value: string,
  allowed: readonly string[],
  near: (word: string) => string[],
  where = '',
): InvalidParameter {
  const suggestions = near(value)
  const message = `there is no ${param} ${JSON.stringify(value)}${where}.${didYouMean(suggestions)}`
  return new InvalidParameter(message, { param, value, allowed, suggestions })
}

function missing(message: string, param: string, entry?: Entry, command?: Command): InvalidParameter {
  return new InvalidParameter(message, { param, allowed: usage(entry, command) })
}

function tooMany(argv: readonly string[], entry?: Entry, command?: Command): InvalidParameter {
  const takes = command?.arguments?.length ?? 0
  const what = takes === 0 ? 'no arguments' : takes === 1 ? 'one argument' : `${takes} arguments`
  const message = `${entry?.name ?? 'bands'} takes ${what}; there are more words here.`
  return new InvalidParameter(message, { param: 'arguments', value: argv.join(' '), allowed: usage(entry, command) })
}

export function usage(entry?: Entry, command?: Command): string {
  return ['bands', entry?.name ?? 'COMMAND', ...(command?.arguments ?? []).map(([name]) => plainName(name))].join(' ')
}

/** `<TICKER>` → `TICKER`; `[DATE]` stays. */
export function plainName(name: string): string {
  return name.replace(/[<>]/g, '')
}
