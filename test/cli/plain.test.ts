import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CATALOGUE } from '../../src/cli/catalogue.js'
import type { Given } from '../../src/cli/given.js'
import { plainWords } from '../../src/cli/main.js'
import { GLOBAL_OPTIONS } from '../../src/cli/options.js'
import { parseWords, type Request } from '../../src/cli/program.js'
import type { OptionSpec } from '../../src/params/row.js'
import { draws } from '../support/full.js'
import { wordsOf } from './support/run.js'

const COMMANDS = await Promise.all(CATALOGUE.map(async entry => ({ entry, command: await entry.load() })))

const longOf = ([flags]: OptionSpec): string => /--[a-z-]+/.exec(flags)![0]

/** Everything that a command can learn of what was typed. */
function told(given: Given, options: readonly OptionSpec[]): unknown[] {
  const names = [...options, ...GLOBAL_OPTIONS].map(spec => longOf(spec).slice(2))
  return [
    ...names.map(name => [name, given.value(name), given.text(name), given.flag(name), given.list(name)]),
    ...[0, 1, 2, 3].map(place => [given.argument(place), given.rest(place)]),
  ]
}

function comparable(request: Request): unknown {
  if (typeof request === 'string' || 'helpFor' in request) return request
  const { name, command, given, globals } = request
  const options = command.options ?? []
  return { name, command, given: told(given, options), globals: told(globals, options) }
}

/** A command line as people write it, and as they mistype it. */
const lines = fc.constantFrom(...COMMANDS).chain(({ entry, command }) => {
  const options = [...(command.options ?? []), ...GLOBAL_OPTIONS]
  const value = fc.constantFrom('AAPL', 'rsi_zone', '5', '-1', '', '--', '-', 'a=b', '--json', '--help', 'events')
  const option = fc.constantFrom(...options).chain(spec => {
    const long = longOf(spec)
    return fc.oneof(
      { weight: 6, arbitrary: spec[0].includes('<') ? fc.tuple(fc.constant(long), value) : fc.constant([long]) },
      fc.constantFrom(
        [long],
        [`${long}=5`],
        [long.slice(0, -1)],
        ['-q'],
        ['-V'],
        ['--version'],
        ['-h'],
        [long, '5', long, '6'],
      ),
    )
  })
  const args = command.arguments?.map(([name]) => name.replace(/[<>[\].]/g, '')) ?? []
  const words = fc.array(
    fc.oneof(
      { weight: 3, arbitrary: option },
      value.map(word => [word]),
    ),
    { maxLength: 4 },
  )
  const name = entry.name.split(' ')
  return fc.tuple(words, fc.boolean()).map(([parts, isWhole]) => [...name, ...(isWhole ? args : []), ...parts.flat()])
})

describe('a plain command line', () => {
  it('is understood as commander understands it, or left to commander', async () => {
    let plain = 0
    await fc.assert(
      fc.asyncProperty(lines, async words => {
        const read = await plainWords(words)
        if (read === null) return
        plain++
        expect(comparable(read)).toEqual(comparable(await parseWords(words)))
      }),
      { numRuns: draws(4_000) },
    )
    expect(plain).toBeGreaterThan(draws(4_000) / 20)
  })

  it('is every example of the help, and the questions of the version and of the help', async () => {
    const examples = COMMANDS.flatMap(({ command }) => command.examples)
    const lines = examples.filter(line => /^bands [\w ,.:=@/-]+$/.test(line) && !line.includes(' -- '))
    expect(lines.length).toBeGreaterThan(50)
    for (const line of [...lines, 'bands --version', 'bands --help', 'bands events --help', 'bands keys list --help']) {
      const words = wordsOf(line).slice(1)
      const read = await plainWords(words)
      if (read !== null) expect(comparable(read), line).toEqual(comparable(await parseWords(words)))
    }
    for (const line of [
      'events AAPL rsi_zone --band oversold --json',
      'now AAPL',
      '--version',
      'scan oversold --limit 5',
    ])
      expect(await plainWords(line.split(' ')), line).not.toBeNull()
  })
})
