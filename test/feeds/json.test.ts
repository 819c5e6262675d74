import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { strToU8, zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { NotFound } from '../../src/core/errors.js'
import { formatDay } from '../../src/core/model/day.js'
import type { Progress } from '../../src/data/feeds/feed.js'
import { expandInputs } from '../../src/data/feeds/read.js'
import { columnOf, splitLine } from '../../src/data/feeds/row.js'
import { DateReader, guessDateFormat, guessDecimal, readNumber, readNumberBytes } from '../../src/data/feeds/values.js'
import { temporaryFolder } from '../support/store.js'
import { only, read, readBars, refusal, refusedInput, rowsOf, written } from './files.js'

const LOADS = 'skip_bad_rows loads the rest'
const BAR = { date: '2024-01-02', open: 10, high: 12, low: 9, close: 11, volume: 100 }
const ROW = ['2024-01-02', 10, 12, 9, 11, 100]
const NEXT = { ...BAR, date: '2024-01-03' }
const chart = (columns: object, meta: object = {}) => ({
  chart: {
    result: [
      {
        meta: { symbol: 'BHP.AX', exchangeTimezoneName: 'Australia/Sydney', dataGranularity: '1d', ...meta },
        timestamp: [1704150000],
        indicators: { quote: [{ open: [10], high: [12], low: [9], close: [11], volume: [100], ...columns }] },
      },
    ],
    error: null,
  },
})

describe('JSON', () => {
  it.each([
    ['a list of objects', [BAR]],
    ['a list of objects in an object', { symbol: 'X', historical: [BAR] }],
    ['numbers as text', [{ ...BAR, open: '10', high: '12.0', volume: '100' }]],
    ['other names of the same', [{ Date: '2024-01-02T00:00:00', O: 10, h: 12, L: 9, c: 11, Vol: 100 }]],
    [
      'lists headed by their names',
      [
        ['close', 'date', 'high', 'low', 'open', 'volume'],
        [11, '2024-01-02', 12, 9, 10, 100],
      ],
    ],
    ['lists in the own order', [['2024-01-02', 10, 12, 9, 11, 100]]],
    ['lists by column', { s: 'ok', t: [1704205800], o: [10], h: [12], l: [9], c: [11], v: [100] }],
    ['epochs in milliseconds', [{ ...BAR, date: 1704205800000 }]],
    ['dates as numbers', [{ ...BAR, date: 20240102 }]],
    [
      'a daily series of Alpha Vantage',
      {
        'Meta Data': { '2. Symbol': 'X' },
        'Time Series (Daily)': {
          '2024-01-02': { '1. open': '10', '2. high': '12', '3. low': '9', '4. close': '11', '5. volume': '100' },
        },
      },
    ],
  ])('may hold bars as %s', async (_, root) => {
    expect(rowsOf(only(await read('X.json', JSON.stringify(root)))).flat()).toEqual(ROW)
  })

  it('may be one object a line, each with its ticker', async () => {
    const lines = [
      { ticker: 'B', ...BAR },
      { ticker: 'A', ...BAR },
      { ticker: 'B', ...NEXT, volume: null },
    ]
    const { tickers, dialect } = await read('X.ndjson', `${lines.map(line => JSON.stringify(line)).join('\n')}\n`)
    expect(tickers.map(({ ticker, bars }) => [ticker, bars.days.length])).toEqual([
      ['A', 1],
      ['B', 2],
    ])
    expect(tickers[1]!.bars.volume[1]).toBeNaN()
    expect(dialect.lines).toBe('one document a line')
  })

  it('is adjusted by an adjusted close', async () => {
    const result = await read('X.json', JSON.stringify([{ ...BAR, adjClose: 5.5 }]))
    expect(rowsOf(only(result))).toEqual([['2024-01-02', 5, 6, 4.5, 5.5, 100]])
    expect(only(result).prices).toBe('adjusted')
  })

  it('dates a chart of Yahoo by the calendar of its exchange', async () => {
    // 23:00 UTC on 1 January is 10:00 on 2 January in Sydney.
    const { tickers, dialect } = await read('f.json', JSON.stringify(chart({})))
    expect(rowsOf(tickers[0]!).flat()).toEqual(ROW)
    expect(tickers[0]!.ticker).toBe('BHP.AX')
    expect(dialect).toMatchObject({ dates: 'epoch', 'time zone': 'Australia/Sydney' })
  })

  it('dates bars of Polygon by New York, those of crypto by UTC', async () => {
    const results = (t: number) => [{ o: 10, h: 12, l: 9, c: 11, v: 100, t }]
    const stock = { ticker: 'X', results: results(Date.UTC(2024, 0, 2, 5)) }
    const crypto = { ticker: 'X:BTCUSD', results: results(Date.UTC(2024, 0, 2)) }
    expect(rowsOf(only(await read('f.json', JSON.stringify(stock)))).flat()).toEqual(ROW)
    expect(rowsOf(only(await read('f.json', JSON.stringify(crypto), { ticker: 'BTCUSD' }))).flat()).toEqual(ROW)
    expect(await refusal('f.json', JSON.stringify(crypto))).toMatch(
      /its symbol "X:BTCUSD" is not .*; give one with ticker$/,
    )
  })

  it('locates a bad value in the text', async () => {
    const text = `[\n  ${JSON.stringify(BAR)},\n  {"date": "2024-01-03", "open": 10, "high": 12, "low": "9x", "close": 11}\n]\n`
    expect(await refusal('X.json', text)).toBe(
      `X.json:3:57: low "9x" is no number; a price is a decimal number above 0; ${LOADS}`,
    )
  })

  it('places a bad value of a column, a key and a line', async () => {
    const columns = JSON.stringify(chart({ low: [null] }), null, 1)
    const line = columns.split('\n').findIndex(text => text.includes('null')) + 1
    expect(await refusal('X.json', columns)).toMatch(
      new RegExp(`^X\\.json:${line}:9: low is empty; .* the only row is bad`),
    )
    const series =
      '{"Time Series (Daily)": {\n "2024-01-02": {"1. open": 1, "2. high": 1, "3. low": 1, "4. close": 1},\n "2024-02-30": {"1. open": 1, "2. high": 1, "3. low": 1, "4. close": 1}}}'
    expect(await refusal('X.json', series)).toMatch(/^X\.json:3:2: date "2024-02-30" is no calendar date/)
    const lines = `${JSON.stringify({ ...BAR })}\n${JSON.stringify({ ...NEXT, open: -1 })}\n`
    expect(await refusal('X.ndjson', lines)).toMatch(/^X\.ndjson:2:29: open "-1" is not above 0/)
  })

  it.each([
    ['{"results": [\n {"o": 1, "h": 1, "o": 2}]}', '2:19: "o"'],
    ['{"a": {"b": 1}, "c": ["a", {"a": "a"}],\n"\\u0061" : 2}', '2:1: "a"'],
    ['{"b": "{\\"", "a\\\\": 1, "a\\\\": 1}', '1:24: "a\\\\"'],
    [`{"o": 1}\n{"o": 1, "o": 1}\n`, '2:10: "o"'],
  ])('refuses a key that stands twice in one object: %s', async (text, place) => {
    expect(await refusal('X.json', text)).toBe(`X.json:${place} is given twice in one object; take one of them out`)
  })

  it('gives back bad rows as rows that load again when mended', async () => {
    const text = JSON.stringify([{ ...BAR, adjClose: 11 }, { ...NEXT, high: null, adjClose: 11 }, null])
    const { rejected, rows } = await read('X.json', text, { skipBadRows: true })
    expect(rows).toBe(3)
    expect(rejected.map(({ reason }) => reason)).toEqual([
      'high is empty; a bar needs open, high, low and close',
      'date is empty',
    ])
    const mended = only(await read('f.ndjson', rejected[0]!.text.replace('null', '12')))
    expect(mended.ticker).toBe('X')
    expect(rowsOf(mended)).toEqual([['2024-01-03', 10, 12, 9, 11, 100]])
  })

  it.each([
    ['{"date": NaN}', 'X.json:1:10: JSON does not allow "NaN" here'],
    ['[{"a": 1},\n {"a": 01}]', 'X.json:2:9: JSON does not allow "1" here'],
    ['[{"date": "2024-01-02"', 'X.json:1:23: the JSON ends here, unfinished'],
    ['[]', 'X.json: no daily bars are found in this JSON'],
    ['{"a": 1, "b": [1]}', 'X.json: no daily bars are found in this JSON (its keys are a, b)'],
    [
      '{"Note": "5 calls a minute"}',
      'X.json: there are no bars in it, only a message of the vendor: "5 calls a minute"',
    ],
    [
      '{"chart": {"result": null, "error": {"code": "Not Found", "description": "No data found"}}}',
      'X.json: there are no bars in it, only a message of Yahoo: "No data found"',
    ],
    [
      JSON.stringify(chart({}, { dataGranularity: '1wk' })),
      'X.json: these are bars of 1wk; only daily bars are imported',
    ],
    [
      JSON.stringify(chart({ open: 1 })),
      'X.json: this looks like a chart of Yahoo, but chart.result.0.indicators.quote.0.open is not as it should be (Invalid input: expected array, received number)',
    ],
    [
      '{"Weekly Time Series": {}}',
      'X.json: these are weekly bars ("Weekly Time Series"); only daily bars are imported',
    ],
    [
      JSON.stringify([
        { ...BAR, date: '2024-01-02T09:30:00' },
        { ...BAR, date: '2024-01-02T09:31:00' },
      ]),
      'X.json:1:93: 2024-01-02 has bars at several times of the day: these are intraday bars, and only daily bars are imported',
    ],
  ])('%s is refused in a sentence', async (text, message) => {
    expect(await refusal('X.json', text)).toBe(message)
  })
})

const TEXT = 'date,open,high,low,close,volume\n2024-01-02,10,12,9,11,100\n2024-01-03,10,12,9,11,\n'
const STDIN = { name: '-', path: null, bytes: null }

describe('a file', () => {
  it('is read through gzip and zip, regardless of its name', async () => {
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
    expect(await refusedInput(STDIN, { stdin: Readable.from([TEXT]) })).toBe(
      '-: standard input has no name that gives the ticker; give it with ticker',
    )
  })

  it('reports progress', async () => {
    const seen: Progress[] = []
    const input = written('X.csv', TEXT)
    await readBars(input, { onProgress: progress => seen.push(progress) })
    expect(seen.at(-1)).toEqual({ bytes: TEXT.length, total: TEXT.length, rows: 2 })
  })

  it.each<[string, string | Uint8Array, string]>([
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

const at = (text: string) => readNumberBytes(Buffer.from(`,${text},`), 1, text.length + 1, '.')

describe('a number', () => {
  it('is the nearest double to its decimals, read from bytes or from text', () => {
    const decimal = fc
      .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.integer({ min: 0, max: 20 }))
      .map(([digits, point]) => {
        const text = digits.toString().padStart(point + 1, '0')
        return point === 0 ? text : `${text.slice(0, -point)}.${text.slice(-point)}`
      })
    fc.assert(
      fc.property(decimal, text => {
        expect(at(text)).toBe(Number(text))
        expect(readNumber(text)).toBe(Number(text))
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), x => {
        expect(at(String(x))).toBe(x)
      }),
    )
  })

  it.each(['', ...'. - $ e5 1e 1e1.5 0x10 1_000 12abc 1,23 1,2345 ,123 1.2.3 Infinity NaN ١٢'.split(' ')])(
    'is not spelled by "%s"',
    text => {
      expect(readNumber(text)).toBeNaN()
      expect(at(text)).toBeNaN()
    },
  )

  it('may have a comma for a point', () => {
    expect(readNumber('1.234.567,5', ',')).toBe(1234567.5)
    expect(readNumber('1,5', ',')).toBe(1.5)
    expect(readNumber('1.5', ',')).toBeNaN()
  })

  it('proves the decimal sign of its file or leaves it open', () => {
    expect(guessDecimal(['1.5', '10'], [])).toBe('.')
    expect(guessDecimal(['1,5', '10'], [])).toBe(',')
    expect(guessDecimal(['1.234,5'], [])).toBe(',')
    expect(guessDecimal(['$1,234.5'], [])).toBe('.')
    expect(guessDecimal(['1,234'], ['1.234.567'])).toBe(',')
    expect(guessDecimal(['1,234'], [])).toBe(null)
    expect(guessDecimal(['10'], ['1,234'])).toBe('.')
  })
})

describe('a date', () => {
  it.each([
    ['YYYY-MM-DD', '2024-02-29', '2024-02-29'],
    ['YYYY-MM-DD', '2024-02-29 00:00:00+01:00', '2024-02-29'],
    ['YYYY-MM-DD', '2024-02-29T23:59:59.999Z', '2024-02-29'],
    ['YYYY-MM-DD', '2023-02-29', null],
    ['YYYY-MM-DD', '2024-02-29 25:00', null],
    ['YYYY-MM-DD', '2024/02/29', null],
    ['YYYYMMDD', '20240229 00:00', '2024-02-29'],
    ['YYYYMMDD', '20230229', null],
    ['YYYY/MM/DD', '2024/2/9', '2024-02-09'],
    ['MM/DD/YYYY', '2/29/2024', '2024-02-29'],
    ['MM/DD/YYYY', '02-29-2024', '2024-02-29'],
    ['MM/DD/YYYY', '02-29/2024', null],
    ['MM/DD/YYYY', '1/3/2024 12:00:00 AM', '2024-01-03'],
    ['DD/MM/YYYY', '29.02.2024', '2024-02-29'],
    ['DD/MM/YYYY', '2/29/2024', null],
    ['DD-Mon-YYYY', '29-Feb-2024', '2024-02-29'],
    ['DD-Mon-YYYY', '3 December 99', '1999-12-03'],
    ['DD-Mon-YYYY', '29-Foo-2024', null],
    ['Mon DD, YYYY', 'Feb 29, 2024', '2024-02-29'],
    ['epoch seconds', '1704205800', '2024-01-02'],
    ['epoch seconds', '-1', '1969-12-31'],
    ['epoch milliseconds', '1704205800000', '2024-01-02'],
  ] as const)('as %s: %s is %s', (format, text, wanted) => {
    const day = new DateReader(format).read(text)
    expect(day === null ? null : formatDay(day)).toBe(wanted)
  })

  it('reads the same from bytes', () => {
    const reader = new DateReader('YYYY-MM-DD')
    for (const text of ['2024-02-29', '0001-01-01', '9999-12-31']) {
      expect(reader.readBytes(Buffer.from(`x${text}x`), 1, 11)).toBe(reader.read(text))
    }
    for (const text of ['2023-02-29', '2024-0a-01', '2024-01-1x', 'x024-01-01', '2024x01-01', '2024-01'])
      expect(reader.readBytes(Buffer.from(text), 0, text.length)).toBeNaN()
  })

  it('is guessed by what most are, month or day first by parts above 12', () => {
    expect(guessDateFormat(['2024-01-02', 'x'])).toEqual({ format: 'YYYY-MM-DD' })
    expect(guessDateFormat(['1/2/2024', '1/13/2024'])).toEqual({ format: 'MM/DD/YYYY' })
    expect(guessDateFormat(['1/2/2024', '13/1/2024'])).toEqual({ format: 'DD/MM/YYYY' })
    expect(guessDateFormat(['1/13/2024', '13/1/2024', '1/14/2024'])).toEqual({ format: 'MM/DD/YYYY' })
    expect(guessDateFormat(['1/2/2024'])).toEqual({ ambiguous: true })
    expect(guessDateFormat(['1.2.2024'])).toEqual({ format: 'DD/MM/YYYY' })
    expect(guessDateFormat(['', 'x'])).toEqual({ unknown: true })
  })
})

describe('a line', () => {
  it('is cut at its delimiters, not inside quotes', () => {
    expect(splitLine('a, "b, ""c""" ,,d', ',')).toEqual(['a', 'b, "c"', '', 'd'])
    expect(splitLine('5" pipe|x', '|')).toEqual(['5" pipe', 'x'])
  })

  it('has the column of each field, one past its end for a missing one', () => {
    const columns = [0, 1, 2, 3, 4].map(field => columnOf('a, "b, c" ,,d', ',', field))
    expect(columns).toEqual([1, 4, 12, 13, 14])
  })
})
