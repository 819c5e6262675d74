import { gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { type Source, textOf } from '../../src/data/feeds/source.js'
import { only, read, refusal } from './files.js'

const MB = 2 ** 20
/** Rows of which every one is the same: what unpacks to a thousand times as much. */
const rows = (size: number) => Buffer.alloc(size, '2024-01-02,10,12,9,11,100\n')
const sound = 'if it is sound, unpack it and import the result'

describe('a file that is made to hurt', () => {
  it.each([
    ['brackets alone', '['.repeat(100_000), '1:101'],
    ['brackets that are closed', '['.repeat(100_000) + ']'.repeat(100_000), '1:101'],
    ['objects', '{"a":'.repeat(100_000), '1:501'],
    ['a bar', `[{"date":"2024-01-02",\n"x":${'['.repeat(100_000)}`, '2:103'],
    ['a line of NDJSON', `{"date":"2024-01-02"}\n${'['.repeat(100_000)}`, '2:101'],
  ])('is refused when its JSON nests %s without end', async (_, text, place) => {
    const what = 'the JSON is nested more than 100 levels deep here, as no bars or facts are'
    expect(await refusal('X.json', text)).toBe(`X.json:${place}: ${what}`)
    expect(await refusal('X.json.gz', gzipSync(text))).toBe(`X.json.gz:${place}: ${what}`)
  })

  it('is refused when its XML nests elements without end', async () => {
    const xml = (end: string) => `<?xml version="1.0"?><ownershipDocument>${'<a>'.repeat(100_000)}${end}`
    for (const end of ['', `${'</a>'.repeat(100_000)}</ownershipDocument>`])
      expect(await refusal('X.xml', xml(end))).toBe(
        'X.xml: the XML is nested more than 100 levels deep, as no Form 4 is',
      )
  })

  it('is refused at once when it has more names than any table has', async () => {
    const names = Array.from({ length: 100_000 }, (_, i) => [`key ${i}`, []])
    expect(await refusal('X.json', JSON.stringify(Object.fromEntries(names)))).toMatch(
      /^X.json: no daily bars are found/,
    )
  })

  it('is read at once when thousands of its rows are bad and all stand in one line', async () => {
    const bars = Array.from({ length: 30_000 }, (_, i) => ({
      ticker: `\u{1f4c8}`,
      date: new Date(i * 86_400_000).toISOString().slice(0, 10),
      open: 1,
    }))
    const good = { ticker: 'X', date: '2024-01-02', open: 1, high: 1, low: 1, close: 1 }
    const text = JSON.stringify([good, ...bars])
    const { rejected } = await read('X.json', text, { skipBadRows: true, today: 40_000 })
    expect(rejected).toHaveLength(30_000)
    const last = rejected.at(-1)!
    // A sign outside the basic plane is one character.
    expect(last.column).toBe([...text.slice(0, text.lastIndexOf('"\u{1f4c8}"'))].length + 1)
  })

  it('may have brackets in its strings', async () => {
    const bar = { note: `${'['.repeat(200)}\\"`, date: '2024-01-02', open: 1, high: 1, low: 1, close: 1 }
    expect(only(await read('X.json', JSON.stringify([bar]))).bars.days).toHaveLength(1)
  })

  it('is refused when its zip says that it unpacks to a hundred times as much', async () => {
    const zip = zipSync({ 'x.csv': rows(32 * MB) })
    expect(zip.length).toBeLessThan(MB)
    expect(await refusal('X.zip', zip)).toBe(
      `X.zip: its 0.1 MB unpack to 32 MB, over 100 times as much, as no prices or facts do; ${sound}`,
    )
  })

  it('is refused when its zip says less than it unpacks to', async () => {
    const zip = Buffer.from(zipSync({ 'x.csv': rows(32 * MB) }))
    // The size stands in the header of the file and in the list at the end.
    zip.writeUInt32LE(100, 22)
    zip.writeUInt32LE(100, zip.lastIndexOf('PK\x01\x02') + 24)
    expect(await refusal('X.zip', zip)).toBe('X.zip: the zip archive is damaged')
  })

  it('is refused when its gzip data unpack to a hundred times as much, and no more is unpacked', async () => {
    const gzip = gzipSync(rows(64 * MB))
    expect(await refusal('X.csv.gz', gzip)).toBe(
      `X.csv.gz: its 0.2 MB unpack to more than 16 MB, over 100 times as much, as no prices or facts do; ${sound}`,
    )
  })

  it('may be packed well as long as it is small', async () => {
    const text = `date,open,high,low,close\n2024-01-02,1,1,1,1\n${' '.repeat(MB - 1)}\n`
    for (const bytes of [gzipSync(text), zipSync({ 'x.csv': Buffer.from(text) })])
      expect(only(await read('X.csv', bytes)).bars.days).toHaveLength(1)
  })

  it('is no longer held once it is larger than a text may be that is read as a whole', async () => {
    let given = 0
    async function* chunks() {
      for (const chunk = Buffer.alloc(MB, ' '); given < 1000; given++) yield chunk
    }
    const source: Source = {
      file: 'X.json',
      encoding: 'UTF-8',
      compression: 'none',
      entry: null,
      bytesTaken: () => 0,
      total: null,
      chunks,
    }
    await expect(textOf(source)).rejects.toThrow(
      'X.json: it has more than 256 MB, too many for a text that is read as a whole; import it in parts, or as CSV',
    )
    expect(given).toBeLessThan(257)
  })
})
