import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { InvalidParameter } from '../errors.js'
import { Stopped } from './context.js'
import type { World } from './world.js'

/** More than any key has. */
const MOST = 4_096

/**
 * One line that nobody else is to see: asked for at a terminal without showing what is typed, otherwise the first line of
 * standard input. Throws Stopped at Ctrl-C, InvalidParameter for nothing.
 */
export async function readSecret(world: World, prompt: string, what: string): Promise<string> {
  const input = world.stdin()
  const text = (input as NodeJS.ReadStream).isTTY ? await typed(world, input, prompt) : await piped(input)
  const secret = text.trim()
  if (secret !== '') return secret
  throw new InvalidParameter(`no ${what} on standard input; type it, or pipe it: bands login < FILE.`, { param: 'key' })
}

async function typed(world: World, input: NodeJS.ReadableStream, prompt: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const line = createInterface({ input, output: nowhere, terminal: true, historySize: 0 })
  try {
    // Only now: from here on the terminal shows nothing of what is typed, or was typed ahead.
    await world.err.write(prompt)
    return await new Promise<string>((resolve, reject) => {
      line.once('line', resolve)
      line.once('SIGINT', () => reject(new Stopped('SIGINT')))
      // Ctrl-D on an empty line.
      line.once('close', () => resolve(''))
    })
  } finally {
    line.close()
    await world.err.write('\n')
  }
}

async function piped(input: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.length > MOST) throw new InvalidParameter('standard input is longer than any API key.', { param: 'key' })
  }
  const [first = '', ...more] = text.trim().split(/\r?\n/)
  if (more.length > 0) throw new InvalidParameter('standard input has several lines; a key is one.', { param: 'key' })
  return first
}
