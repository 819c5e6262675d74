import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { CATALOGUE } from '../src/cli/catalogue.js'
import { main } from '../src/cli/main.js'
import type { Stream, World } from '../src/cli/world.js'
import { FIELD_NAMES } from '../src/fields/index.js'

/** The README's sessions run as one newcomer's: an empty home, a terminal of 80 columns without colour. */
const README = readFileSync('README.md', 'utf8')
const HOME = mkdtempSync(join(tmpdir(), 'bands-readme-'))
afterAll(() => rmSync(HOME, { recursive: true, force: true }))

describe('the README', () => {
  for (const { command, output } of sessions(README)) {
    it(`prints what ${command} prints`, async () => {
      expect(await typed(command)).toBe(output)
    })
  }

  it('names every command and every field', () => {
    for (const { name } of CATALOGUE) expect(README, name).toContain(`bands ${name}`)
    for (const name of FIELD_NAMES) expect(README, name).toContain(name)
  })
})

interface Session {
  command: string
  output: string
}

/** Blocks marked `console`: each line after `$ ` is a command, what follows it is its output. */
function sessions(text: string): Session[] {
  return [...text.matchAll(/^```console\n(.*?)^```$/gms)].flatMap(block =>
    block[1]!
      .split(/^\$ /m)
      .slice(1)
      .map(part => {
        const [command = '', ...lines] = part.split('\n')
        return { command, output: lines.join('\n').trimEnd() }
      }),
  )
}

/** What a person sees: both streams of one terminal, in order. */
async function typed(command: string): Promise<string> {
  let seen = ''
  const terminal: Stream = {
    terminal: true,
    columns: () => 80,
    write: async chunk => {
      seen += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    },
  }
  const world: World = {
    out: terminal,
    err: terminal,
    env: { HOME, PATH: process.env.PATH, NO_COLOR: '1', LANG: 'C.UTF-8' },
    stdin: () => process.stdin,
    now: () => new Date(),
    onStop: () => () => {},
  }
  await main(wordsOf(command), world)
  return erased(seen)
    .replaceAll(HOME, '/home/you')
    .replace(/imported \d{4}-\d\d-\d\d/g, 'imported 2026-11-21')
    .replace(/[^\n\S]+$/gm, '')
    .trimEnd()
}

/** Without the progress that a slow machine shows for a moment and takes away again. */
function erased(seen: string): string {
  return seen.replace(new RegExp(`\\r[^\\r]*?${String.fromCharCode(27)}\\[K`, 'g'), '')
}

/** Words of a command line in which only single quotes are special. */
function wordsOf(command: string): string[] {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(match => match[1] ?? match[2]!)
  expect(words[0]).toBe('bands')
  return words.slice(1)
}
