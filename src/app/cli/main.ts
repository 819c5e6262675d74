// For: the terminal: one run of one command line.
// In: argv, the environment and the streams.
// Out: text on stdout, messages on stderr, and an exit code.

import { FileLost, wrong } from '../../core/errors.js'
import type { FieldSet } from '../../core/fields/index.js'
import { wordValue } from '../../core/params/values.js'
import type { Args, Command } from './command.js'
import {
  type Config,
  fieldsUnlessBroken,
  hasConfigFile,
  loadFields,
  readConfig,
  type SavedSettings,
  SETTINGS,
} from './config.js'
import { Context, Stopped } from './context.js'
import { type Format, QUESTION_OUTPUTS } from './output.js'
import { ClosedPipe, processWorld, type World, widthOf } from './world.js'

/** Runs the words after `bands`, and returns the exit code. It reports every error, and never throws. */
export async function main(argv: readonly string[], world: World = processWorld()): Promise<number> {
  const run: { context?: Context } = {}
  const code = await runLine(argv, world, run).catch(error => exitCodeOf(error, argv, world, run.context))
  try {
    await run.context?.close()
  } catch (error) {
    // Of the errors of closing, only a lost file matters, and only if the command itself had no error.
    if (code === 0 && error instanceof FileLost) return exitCodeOf(error, argv, world, run.context)
  }
  return code
}

/** Runs a command line, and returns the exit code. @param run gets the context, which the caller closes */
async function runLine(argv: readonly string[], world: World, run: { context?: Context }): Promise<number> {
  // Completion never fails while the user types, not even because of a setting.
  if (argv[0] === 'completion' && argv[1] === '--complete') {
    const { completions } = await import('./complete.js')
    await world.out.write(await completions(argv.slice(argv[2] === '--' ? 3 : 2), world.env))
    return 0
  }
  const request = await (await import('./program.js')).parseWords(argv)
  if (typeof request === 'string' || 'helpFor' in request) {
    const { textFor } = await import('./help.js')
    await world.out.write(textFor(request, Math.min(100, widthOf(world.out, world.env))))
    return 0
  }
  const { command, args, globals } = request
  const config = readConfig(globals.params(Object.keys(SETTINGS)), world.env, await savedSettings(world.env, command))
  const fields = command.withoutFields ? await fieldsUnlessBroken(config, world.env) : await knownFields(config, world)
  run.context = new Context(world, config, outputFormat(globals, command.outputs ?? QUESTION_OUTPUTS), argv, fields)
  await command.run(run.context, args)
  return run.context.exitCode
}

/** The fields and the named conditions that a line may use. */
async function knownFields(config: Config, { env }: World): Promise<FieldSet> {
  const [fields, { namedConditions }] = await Promise.all([loadFields(config, env), import('../open/database.js')])
  return { ...fields, conditions: await namedConditions({ db: config.db, env }) }
}

/** The settings of config.json. Only the command that examines a broken file runs without them. */
async function savedSettings(
  env: NodeJS.ProcessEnv,
  { examinesSettings }: Command,
): Promise<SavedSettings | undefined> {
  if (!hasConfigFile(env)) return undefined
  const { readConfigFile } = await import('./config-file.js')
  try {
    return (await readConfigFile(env)).saved
  } catch (error) {
    if (examinesSettings) return undefined
    throw error
  }
}

/** The format of --output, --json, --ndjson or --csv; null without one. Throws for two, or for one not `allowed`. */
function outputFormat(globals: Args, allowed: readonly Format[]): Format | null {
  const formats = new Set<string>(['json', 'ndjson', 'csv'].filter(format => globals.flag(format)))
  const output = globals.text('output')
  if (output !== undefined) formats.add(output)
  const [format] = formats
  if (format === undefined) return null
  if (formats.size > 1) throw wrong('output', `output is asked for as ${[...formats].join(' and as ')}; choose one.`)
  return wordValue('output', format, allowed)
}

/** Reports an error on stderr, and returns the exit code: 0 if only the reader of the output is gone. */
async function exitCodeOf(error: unknown, argv: readonly string[], world: World, context?: Context): Promise<number> {
  if (error instanceof ClosedPipe) return 0
  if (error instanceof Stopped) return error.signal === 'SIGINT' ? 130 : 143
  const { reportError: report } = await import('./errors.js')
  return report(error, argv, world, context)
}

/** All help, for the build. */
export async function manual(): Promise<unknown> {
  return (await import('./help.js')).manual()
}
