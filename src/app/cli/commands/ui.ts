import { spawn } from 'node:child_process'
import { SAMPLE } from '../../../core/built.js'
import { formatDay } from '../../../core/model/day.js'
import { integerOf } from '../../../core/params/kinds.js'
import { optionsOf, withDefault } from '../../../core/params/row.js'
import type { BandsOptions } from '../../client.js'
import type { Command } from '../command.js'
import { ownFieldsPath } from '../config.js'
import type { Context } from '../context.js'
import { readSmallFile } from '../formats.js'

const UI = {
  port: withDefault(integerOf(0, 65_535), 8484, 'the port on this machine (default 8484); 0 takes any that is free'),
}

const uiCommand: Command = {
  outputs: [],
  options: [...optionsOf(UI), ['--no-open', 'print the address, and open no browser']],
  examples: ['bands ui', 'bands ui --port 0 --no-open', 'bands ui --db my.db'],
  notes: [
    'The page asks this database and no other machine. Only this machine reaches it, and the printed address works once: the browser that opens it keeps a cookie.',
    'The address in the browser holds the question: reload it, keep it or go back. A tally and a study count in the trial log, as in the terminal.',
    'Ctrl-C ends it.',
  ],
  /** Serves the page of this database on this machine, and opens a browser, until a signal. */
  async run(context, args) {
    const { port } = args.read(UI)
    const { world, fields } = context
    const [{ client, path, sample }, { Answers }, { startUi }] = await Promise.all([
      context.openClient(),
      import('../../ui/answers.js'),
      import('../../ui/server.js'),
    ])
    const options = await threadOptions(context, sample ? SAMPLE : path)
    const answers = new Answers(client, { sample, options, choice: context.databaseChoice, fields })
    context.omitSourceNotice()
    const onFault = (error: unknown): void => void context.notice(`a fault: ${(error as Error).stack ?? error}`)
    const running = await startUi(answers, { port, onFault }).catch(async error => {
      await answers.close()
      throw error
    })
    answers.startThread()
    try {
      const stopRequest = new Promise<unknown>(resolve => world.onStop(resolve, GRACE_MS))
      await world.out.write(`${running.url}\n`)
      if (args.flag('open')) openBrowser(running.url, world.env)
      await context.remark('The address works once, in a browser of this machine. Ctrl-C ends the page.')
      await stopRequest
    } finally {
      await running.stop()
    }
  },
}

/** The page ends its threads first, which may take a second while they start or compute on a busy machine. */
const GRACE_MS = 5_000

/** The options with which a thread opens the same data. */
async function threadOptions({ config, world }: Context, db: string): Promise<BandsOptions> {
  const fieldsFile = ownFieldsPath(config, world.env)
  const options: BandsOptions = { db }
  if (config.tier !== null) options.tier = config.tier
  if (config.as_of !== null) options.asOf = formatDay(config.as_of)
  if (config.threads !== undefined) options.threads = config.threads
  if (fieldsFile !== null) options.fields = await readSmallFile(fieldsFile)
  return options
}

/** Asks the desktop to open an address. Without a desktop nothing happens: the address was printed. */
function openBrowser(url: string, env: NodeJS.ProcessEnv): void {
  const [program, ...words] = openerFor(env)
  if (program === undefined) return
  const child = spawn(program, [...words, url], { env, stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}

/** The program that opens an address in a browser, and its first arguments; empty without a desktop. */
function openerFor({ BROWSER, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): readonly string[] {
  if (BROWSER) return [BROWSER]
  if (process.platform === 'darwin') return ['open']
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : []
}

export const commands = { ui: uiCommand }
