import { writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { afterAll, describe, expect, it } from 'vitest'
import { ownFieldSet } from '../../src/core/params/fields-file.js'
import { exceededBound, readSmallText } from '../../src/core/params/small-text.js'
import { readYaml } from '../../src/core/params/strategy-file.js'
import { type Ran, run, scratch } from '../cli/support/run.js'
import { notInQuick, QUICK } from '../support/full.js'

const folder = scratch()
afterAll(folder.remove)

const MANY = QUICK ? 3_000 : 20_000
const repeat = (count: number, text: (at: number) => string, between = '\n'): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(between)

describe('a text that is small by nature', () => {
  it.each([
    ['brackets', '['.repeat(101), 100],
    ['braces', '{"a":'.repeat(101), 500],
    ['entries on one line', `${'- '.repeat(101)}x`, 0],
    ['blocks', repeat(102, at => `${' '.repeat(at)}a:`), 5353],
    ['blocks with blank lines and remarks', repeat(102, at => `${' '.repeat(at)}a:\n\n# x`), 5858],
  ])('is at most 100 deep: %s', (_what, text, offset) => {
    expect(exceededBound(text)).toEqual({ what: 'it is nested more than 100 deep here', offset })
  })

  it.each([
    ['brackets side by side', '[]'.repeat(1_000)],
    ['a long list', repeat(1_000, at => `- { a: ${at} }`)],
    ['steps up and down', repeat(1_000, at => `${' '.repeat(at % 50)}a:`)],
    ['100 brackets', '['.repeat(100)],
    ['JSON of 90 levels', JSON.stringify(JSON.parse('['.repeat(90) + ']'.repeat(90)), null, 2)],
  ])('has no bound to its length below that: %s', (_what, text) => expect(exceededBound(text)).toBeNull())

  it('has at most 100,000 names and a megabyte', () => {
    expect(exceededBound(repeat(100_000, () => 'A'))).toBeNull()
    expect(exceededBound(repeat(100_001, () => 'A'))).toEqual({
      what: 'there are more than 100,000 names',
      offset: 200_000,
    })
    expect(exceededBound(' '.repeat(1_000_000))).toBeNull()
    expect(exceededBound(' '.repeat(1_000_001))?.what).toContain('more than 1,000,000 bytes')
  })

  it('is read no further than its bound', async () => {
    let taken = 0
    const endless = Readable.from(
      (function* () {
        for (; ; taken++) yield Buffer.alloc(100_000)
      })(),
    )
    expect(await readSmallText(endless)).toBeNull()
    expect(taken).toBeLessThan(100)
  })
})

describe('YAML', () => {
  const refusal = (text: string): string => {
    try {
      readYaml(text, 'f.yaml')
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }

  it('of many keys is read, and a repeated one is refused at its place', () => {
    const keys = repeat(MANY, at => `key_${at}: ${at}`)
    expect(Object.keys(readYaml(keys, 'f.yaml').value as object)).toHaveLength(MANY)
    expect(refusal(`${keys}\nkey_7: 1`)).toBe(
      `f.yaml:${MANY + 1}:1: this is neither YAML nor JSON: Map keys must be unique`,
    )
  })

  it('that is too deep is refused at its place, before it is parsed', () => {
    expect(refusal(`a: 1\nb: ${'['.repeat(MANY)}`)).toBe('f.yaml:2:104: it is nested more than 100 deep here')
  })

  it('of a field with more bands than a byte can number is refused', () => {
    const bands = repeat(MANY, at => `b${at}`, ', ')
    expect(() => ownFieldSet(`- { field: dip, of: close, bands: [${bands}] }`, 'f')).toThrow(
      `f:1:35: dip has ${MANY} bands`,
    )
    const when = repeat(MANY, at => `    b${at}: rsi_zone = oversold`)
    expect(() => ownFieldSet(`- field: dip\n  when:\n${when}`, 'f')).toThrow(`f:3:5: dip has ${MANY} bands`)
  })
})

describe('at the command line', () => {
  const settings = folder.file('settings')
  const file = (name: string, text: string): string => {
    writeFileSync(folder.file(name), text)
    return folder.file(name)
  }
  const ask = (words: readonly string[], more: { stdin?: string; config?: string } = {}): Promise<Ran> => {
    const env = { BANDS_DB: folder.file('bands.db'), ...(more.config && { BANDS_CONFIG_DIR: folder.path }) }
    if (more.config !== undefined) file('config.json', more.config)
    return run(words, {
      env: { BANDS_CONFIG_DIR: settings, ...env },
      ...(more.stdin !== undefined && { stdin: more.stdin }),
    })
  }
  const said = ({ code, err }: Ran): [number, string] => [code, err.replace(/\s+/g, ' ')]

  it('settings of any shape are read or refused at their place', async () => {
    const deep = await ask(['status'], { config: `{\n"profiles": ${'{"a":'.repeat(MANY)}` })
    expect(said(deep)).toEqual([6, expect.stringContaining('config.json:2:508: it is nested more than 100 deep here.')])
    const long = await ask(['status'], { config: ' '.repeat(1_000_001) })
    expect(said(long)).toEqual([6, expect.stringContaining('config.json: it has more than 1,000,000 bytes')])
    const profiles = repeat(10_000, at => `"p${at}": { "url": "https://example.com/${at}" }`, ',\n')
    const many = await ask(['status'], { config: `{ "profiles": {\n${profiles}\n}, "profile": "q" }` })
    expect(said(many)).toEqual([6, expect.stringContaining('config.json:10002:15: there is no profile "q"')])
    expect(many.err.length).toBeLessThan(2_000)
  })

  it.each([
    ['names', 'A '.repeat(100_001), 'there are more than 100,000 names'],
    ['bytes', 'A'.repeat(1_000_001), 'it has more than 1,000,000 bytes'],
  ])('tickers of a file and of standard input are refused for too many %s', async (_what, text, sentence) => {
    const listed = await ask(['watch', 'add', 'tech', `@${file('list', text)}`])
    expect(said(listed)).toEqual([expect.any(Number), expect.stringContaining(sentence)])
    expect([2, 5]).toContain(listed.code)
    expect(said(await ask(['watch', 'add', 'tech', '-'], { stdin: text }))).toEqual([
      2,
      expect.stringContaining(sentence),
    ])
  })

  notInQuick('own fields and strategies that are too long are refused', async () => {
    const { code } = await ask(['simulate', '1', '--bars', '20', '--load'])
    expect(code).toBe(0)
    const long = file('long.yaml', `#${' '.repeat(1_000_000)}`)
    for (const words of [
      ['fields', 'check', long],
      ['backtest', long],
      ['now', 'AAPL', '--fields-file', long],
    ])
      expect(said(await ask(words))).toEqual([
        5,
        expect.stringContaining('long.yaml: it has more than 1,000,000 bytes'),
      ])
    const keys = file(
      'keys.yaml',
      repeat(MANY, at => `key_${at}: 1`),
    )
    expect(said(await ask(['backtest', keys]))).toEqual([5, expect.stringContaining('keys.yaml:1:1: there is no key')])
  })
})
