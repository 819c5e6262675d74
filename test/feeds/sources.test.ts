import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { strToU8, zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { NotFound } from '../../src/errors.js'
import type { Progress } from '../../src/feeds/feed.js'
import { expandInputs } from '../../src/feeds/read.js'
import { temporaryFolder } from '../support/folder.js'
import { messageOf, only, read, readBars, refusal, rowsOf, written } from './files.js'

const TEXT = 'date,open,high,low,close,volume\n2024-01-02,10,12,9,11,100\n2024-01-03,10,12,9,11,\n'
const STDIN = { name: '-', path: null, bytes: null }

describe('a file', () => {
  it('is read through gzip and zip, whatever its name says', async () => {
    const plain = rowsOf(only(await read('X.csv', TEXT)))
    for (const [name, bytes, compression] of [
      ['X.csv.gz', gzipSync(TEXT), 'gzip'],
      ['X.csv', gzipSync(TEXT), 'gzip'],
      ['X.zip', zipSync({ 'daily/x.csv': strToU8(TEXT) }), 'zip'],
      ['X.zip', zipSync({ 'x.csv': [strToU8(TEXT), { level: 0 }] }), 'zip'],
    ] as const) {
      const result = await read(name, bytes)
      expect(rowsOf(only(result))).toEqual(plain)
      expect(only(result).ticker).toBe('X')
      expect(result.dialect.compression).toBe(compression)
    }
  })

  it('is read from standard input, plain or compressed, with a ticker', async () => {
    for (const bytes of [Buffer.from(TEXT), gzipSync(TEXT)]) {
      const result = await readBars(STDIN, { stdin: Readable.from([bytes]), ticker: 'x' })
      expect(only(result)).toMatchObject({ ticker: 'X' })
      expect(rowsOf(only(result))).toHaveLength(2)
    }
    expect(await messageOf(readBars(STDIN, { stdin: Readable.from([TEXT]) }))).toBe(
      '-: standard input has no name to tell the ticker; give it with ticker',
    )
  })

  it('tells how far it is', async () => {
    const seen: Progress[] = []
    const input = written('X.csv', TEXT)
    await readBars(input, { onProgress: progress => seen.push(progress) })
    expect(seen.at(-1)).toEqual({ bytes: TEXT.length, total: TEXT.length, rows: 2 })
  })

  it.each<[string, string | Uint8Array, string]>([
    [
      'UTF-16 with its mark',
      Buffer.from(`\ufeff${TEXT}`, 'utf16le'),
      'this is UTF-16 text; save it as UTF-8 and import that',
    ],
    ['UTF-16 without', Buffer.from(TEXT, 'utf16le'), 'this is UTF-16 text; save it as UTF-8 and import that'],
    ['a NUL byte', TEXT.replace('9', '\0'), 'byte 50 is NUL, which no text has: a binary or damaged file'],
    [
      'a program',
      Buffer.from('7f454c4602010100000000000000000003003e00', 'hex'),
      'byte 8 is NUL, which no text has: a binary or damaged file',
    ],
    ['Parquet', 'PAR1\0\0', 'this is a Parquet file, which is not read; export it as CSV and import that'],
    ['cut gzip', gzipSync(TEXT).subarray(0, 40), 'the gzip data is cut off (unexpected end of file)'],
    ['a cut zip', zipSync({ 'x.csv': strToU8(TEXT) }).subarray(0, 90), 'the zip archive is damaged or cut off'],
    [
      'a zip of two',
      zipSync({ a: strToU8('1'), b: strToU8('2') }),
      'the zip archive holds 2 files; unpack it and import the folder',
    ],
    [
      'Excel',
      zipSync({ '[Content_Types].xml': strToU8('<x/>') }),
      'this is an Office document (Excel?); save the sheet as CSV and import that',
    ],
  ])('is refused in a sentence when it is %s', async (_, bytes, sentence) => {
    expect(await refusal('X.csv', bytes)).toBe(`X.csv: ${sentence}`)
  })

  it('is refused when a bit of its zip is wrong', async () => {
    const archive = zipSync({ 'x.csv': [strToU8(TEXT), { level: 0 }] })
    archive[60]! ^= 1
    expect(await refusal('X.zip', archive)).toBe('X.zip: the zip archive is damaged')
  })

  it('that is gone is not found', async () => {
    await expect(readBars({ name: 'X.csv', path: '/nowhere/X.csv', bytes: 1 })).rejects.toBeInstanceOf(NotFound)
  })
})

describe('arguments', () => {
  /** a.csv, sub/b.csv.gz, sub/c.json, sub/deep/d.zip and others that are no files of bars. */
  function tree(): string {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'sub', 'deep'), { recursive: true })
    mkdirSync(join(folder, '.git'))
    for (const name of [
      'a.csv',
      'sub/b.csv.gz',
      'sub/c.json',
      'sub/deep/d.zip',
      'README.md',
      '.git/e.csv',
      'sub/.f.csv',
      '[1].csv',
    ])
      writeFileSync(join(folder, name), TEXT)
    symlinkSync(join(folder, 'a.csv'), join(folder, 'sub', 'link.csv'))
    return folder
  }
  const names = async (folder: string, ...args: string[]) =>
    (await expandInputs(args.map(arg => (arg === '-' ? arg : join(folder, arg))))).map(({ name }) =>
      name.replace(`${folder}/`, ''),
    )

  it('name files, folders all the way down, globs and standard input, each file once and in order', async () => {
    const folder = tree()
    expect(await names(folder, '.')).toEqual([
      '[1].csv',
      'a.csv',
      'sub/b.csv.gz',
      'sub/c.json',
      'sub/deep/d.zip',
      'sub/link.csv',
    ])
    expect(await names(folder, 'sub/c.json', 'sub', 'a.csv', 'sub')).toEqual([
      'sub/c.json',
      'sub/b.csv.gz',
      'sub/deep/d.zip',
      'sub/link.csv',
      'a.csv',
    ])
    expect(await names(folder, '**/*.{json,zip}', '-')).toEqual(['sub/c.json', 'sub/deep/d.zip', '-'])
    expect(await names(folder, '*')).toEqual(['[1].csv', 'a.csv'])
    expect(await names(folder, 'README.md', '[1].csv')).toEqual(['README.md', '[1].csv'])
  })

  it('carry the size of the file', async () => {
    const folder = tree()
    expect(await expandInputs([join(folder, 'a.csv')])).toEqual([
      { name: join(folder, 'a.csv'), path: join(folder, 'a.csv'), bytes: TEXT.length },
    ])
    expect(await expandInputs(['-'])).toEqual([STDIN])
  })

  it('that name nothing are not found, with the nearest name that exists', async () => {
    const folder = tree()
    const refused = (arg: string) => expandInputs([join(folder, arg)])
    await expect(refused('sub/c.jsn')).rejects.toThrow(
      `${join(folder, 'sub/c.jsn')}: no such file. Did you mean ${join(folder, 'sub/c.json')}?`,
    )
    await expect(refused('A')).rejects.toMatchObject({ suggestions: [join(folder, 'a.csv')] })
    await expect(refused('quite-another-name.csv')).rejects.toThrow(/no such file$/)
    await expect(refused('no/where.csv')).rejects.toThrow(/no such file, and no such folder/)
    await expect(refused('*.tsv')).rejects.toThrow(/no files match/)
    mkdirSync(join(folder, 'empty'))
    await expect(refused('empty')).rejects.toThrow(/no files in this folder/)
    await expect(refused('*.tsv')).rejects.toBeInstanceOf(NotFound)
  })
})
