import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { CATALOGUE } from '../../src/app/cli/catalogue.js'
import { manual, textFor } from '../../src/app/cli/help.js'
import { QUICK } from '../support/full.js'
import { ROOT, run } from './support/run.js'

describe('help', () => {
  it('has no example that is wider than 80 columns', async () => {
    for (const { examples } of (await manual()).commands)
      for (const line of examples) expect(`  ${line}`.length, line).toBeLessThanOrEqual(80)
  })

  it('lists the global options once, for all commands', async () => {
    const common = textFor('options', 80)
    for (const [word] of (await manual()).options) expect(common).toContain(word)
    const entry = CATALOGUE.find(({ name }) => name === 'fields')!
    const own = textFor({ helpFor: entry, command: await entry.load(), isWhole: false }, 80)
    expect(own).toMatch(/Options of every command, and exit codes: bands help options\n$/)
    expect(own).not.toContain('--output')
    expect(own.split('\n').length, 'lines of a terminal').toBeLessThan(24)
  })
})

test('the help of a command with many options has those that most people need, and names the others', async () => {
  for (const { name, load } of CATALOGUE) {
    const { first, options = [] } = await load()
    const brief = await run([...name.split(' '), '--help'])
    const whole = await run(['help', ...name.split(' '), 'all'])
    expect((await run([...name.split(' '), '--help', 'all'])).out).toBe(whole.out)
    if (first === undefined) expect([name, options.length < 18, brief.out === whole.out]).toEqual([name, true, true])
    if (first === undefined) continue
    expect(first.length).toBeLessThanOrEqual(16)
    for (const option of first) expect(whole.out).toContain(`  --${option} `)
    const shown = brief.out.match(/^ {2}--[\w-]+/gm)!
    expect(shown.map(line => line.trim().slice(2)).toSorted()).toEqual(first.toSorted())
    expect(brief.out).toContain(`${options.length - first.length} more options: bands ${name} --help all\n`)
  }
})

describe('man pages', () => {
  const folder = join(ROOT, 'dist/man')

  it('are there for bands, for each command, and for each group of them', () => {
    const names = new Set(CATALOGUE.map(({ name }) => `bands-${name.split(' ')[0]}.1`))
    expect(readdirSync(folder).sort()).toEqual(['bands.1', ...names].sort())
  })

  it('have the same as bands man, which is the whole help', async () => {
    for (const words of [[], ['tally'], ['watch'], ['watch', 'add']])
      expect(await run(['man', ...words])).toEqual(await run(['help', ...words, 'all']))
    const typo = await run(['man', 'taly'])
    expect([typo.code, typo.err]).toEqual([2, expect.stringContaining('Did you mean "tally"?')])
  })

  const groff = existsSync('/usr/bin/groff')
  test.skipIf(QUICK || !groff)('are set by groff without a warning, with options that can be copied', () => {
    const files = readdirSync(folder).map(name => join(folder, name))
    const set = (file: string): string =>
      execFileSync('groff', ['-man', '-Tascii', '-ww', '-P-cbou', file], {
        stdio: ['ignore', 'pipe', 'pipe'],
      }).toString()
    for (const file of files) expect(set(file)).toContain('NAME')
    const events = set(join(folder, 'bands-events.1'))
    expect(events).toContain('bands events AAPL rsi_zone --band oversold')
    expect(events).toContain('--fail-empty')
  })
})
