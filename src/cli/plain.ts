import type { OptionSpec } from '../params/row.js'
import { CATALOGUE, type Entry } from './catalogue.js'
import type { Command } from './command.js'
import { camelCased, Given } from './given.js'
import { GLOBAL_OPTIONS } from './options.js'
import type { Request } from './program.js'

/**
 * What commander makes of a command line with nothing unusual in it; null where there is something, which is commander's to
 * read or to refuse. It reads the same rows, and test/cli/plain.test.ts holds the two against each other: without commander
 * a cold command starts some milliseconds sooner.
 */
export async function plainWords(words: readonly string[]): Promise<Request | null> {
  const [first, second, ...more] = words
  if (second === undefined && first === '--version') return 'version'
  if (second === undefined && first === '--help') return 'help'
  const entry = entryOf(first, second)
  if (entry === undefined) return null
  const command = await entry.load()
  const others = entry.name === first ? words.slice(1) : more
  if (others.length === 1 && others[0] === '--help') return { helpFor: entry, command }
  return callOf(entry, command, others)
}

function entryOf(first: string | undefined, second: string | undefined): Entry | undefined {
  return CATALOGUE.find(({ name }) => name === first || name === `${first} ${second}`)
}

function callOf({ name }: Entry, command: Command, words: readonly string[]): Request | null {
  const [own, common] = [optionsIn(command.options ?? []), optionsIn(GLOBAL_OPTIONS)]
  const [options, globals]: Record<string, unknown>[] = [{}, {}]
  const args: string[] = []
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (!word.startsWith('-')) {
      args.push(word)
      continue
    }
    const option = own.get(word) ?? common.get(word)
    // One that a command has for itself, too, is taken by where it stands.
    if (option === undefined || (own.has(word) && common.has(word)) || word === '--version') return null
    const value = option.takesValue ? words[++i] : true
    const kept = own.has(word) ? options! : globals!
    if (value === undefined || (value !== true && value.startsWith('-'))) return null
    if (value !== true && !option.isRepeatable && option.name in kept) return null
    kept[option.name] = option.isRepeatable ? [...((kept[option.name] as unknown[] | undefined) ?? []), value] : value
  }
  const placed = placedIn(command, args)
  if (placed === null) return null
  return { name, command, given: new Given(placed, { ...options, ...globals }), globals: new Given([], globals!) }
}

interface PlainOption {
  /** As Given has it. */
  name: string
  takesValue: boolean
  isRepeatable: boolean
}

/** Options by their long form, those left out that have a form of their own, such as `--no-x` or a value that may be missing. */
function optionsIn(specs: readonly OptionSpec[]): Map<string, PlainOption> {
  const found = new Map<string, PlainOption>()
  for (const [flags, , times] of specs) {
    const [, long, value] = /^(?:-\w, )?--((?!no-)[a-z][a-z-]*)(?: (<[^>.]+>))?$/.exec(flags) ?? []
    if (long === undefined) continue
    const takesValue = value !== undefined
    found.set(`--${long}`, { name: camelCased(long), takesValue, isRepeatable: takesValue && times === 'repeatable' })
  }
  return found
}

/** Arguments in their places; null where there are too few or too many. */
function placedIn({ arguments: places = [] }: Command, args: readonly string[]): unknown[] | null {
  const needed = places.filter(([name]) => name.startsWith('<')).length
  const takesRest = places.at(-1)?.[0].includes('...') ?? false
  if (args.length < needed || (!takesRest && args.length > places.length)) return null
  if (!takesRest) return places.map((_, i) => args[i])
  const last = places.length - 1
  return args.length <= last ? null : [...args.slice(0, last), args.slice(last)]
}
