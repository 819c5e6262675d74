import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, test } from 'vitest'
import { CATALOGUE } from '../../src/app/cli/catalogue.js'
import { manual, textFor } from '../../src/app/cli/help.js'
import { pagedStream, showInPager, type World } from '../../src/app/cli/world.js'
import { QUICK } from '../support/full.js'
import { ROOT, run } from './support/run.js'

const FOLDER = mkdtempSync(join(tmpdir(), 'bands-help-'))
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }))

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

describe('a text that is longer than the terminal', () => {
  const text = `${Array.from({ length: 30 }, (_, line) => `line ${line}`).join('\n')}\n`
  const into = (name: string): { file: string; env: NodeJS.ProcessEnv } => {
    const file = join(FOLDER, name)
    return { file, env: { PATH: process.env.PATH, BANDS_PAGER: `cat > '${file}'` } }
  }

  it('goes through the pager, whole', async () => {
    const { file, env } = into('shown')
    expect(await showInPager(text, env, 24)).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('goes through PAGER where BANDS_PAGER is not set', async () => {
    const { file, env } = into('general')
    expect(await showInPager(text, { PATH: env.PATH, PAGER: env.BANDS_PAGER }, 24)).toBe(true)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it.each([
    ['that fits', 24 * 2, {}],
    ['of a terminal that tells no rows', undefined, {}],
    ['of a terminal whose size is not known', 0, {}],
    ['of a user who wants none', 24, { BANDS_PAGER: '' }],
    ['of a user whose pager is cat', 24, { BANDS_PAGER: 'cat' }],
    ['where the pager is not there', 24, { BANDS_PAGER: 'no-such-pager 2>/dev/null' }],
  ])('is left to be written as it is: one %s', async (_, rows, env) => {
    expect(await showInPager(text, { ...into('not').env, ...env }, rows)).toBe(false)
    expect(existsSync(join(FOLDER, 'not'))).toBe(false)
  })

  it('is written once: by the pager or to the terminal, and to a pipe always', async () => {
    const written: string[] = []
    const lent = (terminal: boolean, shows: boolean): World =>
      ({
        out: { terminal, columns: () => 80, write: async (chunk: string) => void written.push(chunk) },
        page: async (shown: string) => {
          if (shows) written.push(`paged ${shown}`)
          return shows
        },
      }) as unknown as World
    await pagedStream(lent(true, true)).write('a')
    await pagedStream(lent(true, false)).write('b')
    await pagedStream(lent(false, true)).write('c')
    expect(written).toEqual(['paged a', 'b', 'c'])
  })
})
