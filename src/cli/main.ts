import type { OptionSpec } from '../params/row.js'
import { CATALOGUE, type Entry } from './catalogue.js'
import type { Command } from './command.js'
import { hasConfigFile, type Kept, readConfig } from './config.js'
import { Context, Stopped } from './context.js'
import { camelCased, Given } from './given.js'
import { GLOBAL_OPTIONS } from './options.js'
import { formatOf, QUESTION_OUTPUTS } from './output.js'
import { fieldsFor } from './own-fields.js'
import type { Request } from './program.js'
import { ClosedPipe, paged, processWorld, type World, widthOf } from './world.js'

/** argv without node and script → exit code. The only place where an error ends, and where a code is decided. */
export async function main(argv: readonly string[], world: World = processWorld()): Promise<number> {
  const run: { context?: Context } = {}
  try {
    return await answer(argv, world, run)
  } catch (error) {
    return await failed(error, argv, world, run.context)
  } finally {
    // What went wrong was told already; a reader that has gone, or a lock that is lost, changes nothing.
    await run.context?.close().catch(() => {})
  }
}

async function answer(argv: readonly string[], world: World, run: { context?: Context }): Promise<number> {
  // A shell asks while somebody types: nothing is refused then, not even a setting.
  if (argv[0] === 'completion' && argv[1] === '--complete') {
    const { completions } = await import('./complete.js')
    await world.out.write(await completions(argv.slice(argv[2] === '--' ? 3 : 2), world.env))
    return 0
  }
  const request = (await plainWords(argv)) ?? (await (await import('./program.js')).parseWords(argv))
  if (typeof request === 'string' || 'helpFor' in request) {
    const { textFor } = await import('./help.js')
    await paged(world).write(textFor(request, Math.min(100, widthOf(world.out, world.env))))
    return 0
  }
  const { command, given, globals } = request
  const config = readConfig(globals, world.env, await keptIn(world.env, command))
  const fields = await fieldsFor(command, config, world.env)
  run.context = new Context(world, config, formatOf(globals, command.outputs ?? QUESTION_OUTPUTS), argv, fields)
  await command.run(run.context, given)
  return run.context.outcome
}

/** What config.json says; of one that is broken only the command that examines it has nothing to say here. */
async function keptIn(env: NodeJS.ProcessEnv, { examinesSettings }: Command): Promise<Kept | undefined> {
  if (!hasConfigFile(env)) return undefined
  const { readConfigFile } = await import('./config-file.js')
  try {
    return (await readConfigFile(env)).kept
  } catch (error) {
    if (examinesSettings) return undefined
    throw error
  }
}

async function failed(error: unknown, argv: readonly string[], world: World, context?: Context): Promise<number> {
  if (error instanceof ClosedPipe) return 0
  if (error instanceof Stopped) return error.signal === 'SIGINT' ? 130 : 143
  const { report } = await import('./errors.js')
  return report(error, argv, world, context)
}

/** The help of every command, for the man pages that the build makes. */
export async function manual(): Promise<unknown> {
  return (await import('./help.js')).manual()
}

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
