import { describe, expect, test } from 'vitest'
import { progressDisplay } from '../../src/app/cli/context.js'
import { drawBars, drawChart, drawLines, sparkline } from '../../src/app/cli/draw/chart.js'
import { blocksText, fitToWidth, plainTable, type Screen, terminalTable } from '../../src/app/cli/draw/table.js'
import { flowPhrases, UNPAINTED, wrap } from '../../src/app/cli/draw/text.js'
import { csvValue, type Row, writeAnswer } from '../../src/app/cli/formats.js'
import { writeInFormat } from '../../src/app/cli/output.js'
import { type ColourFlag, isColoured } from '../../src/app/cli/world.js'
import { Kept } from '../support/drain.js'

const TABLE = {
  columns: [{ title: 'NAME' }, { title: 'COUNT', align: 'right', hidePriority: 1 }, { title: 'WHAT', hidePriority: 2 }],
  rows: [
    ['AAPL', '7', 'a company that makes telephones'],
    ['GSPC', '1,234', { text: 'an index', tone: 'good' }],
  ],
} as const

const screen = (width: number): Screen => ({ width, isPiped: false, unicode: true, paint: UNPAINTED })

describe('a table', () => {
  test('is the same from both drawers', async () => {
    expect(await terminalTable(TABLE, UNPAINTED)).toEqual(plainTable(TABLE, UNPAINTED))
  })

  test('is aligned on a terminal where characters are two columns wide', async () => {
    const table = {
      columns: [{ title: 'A' }, { title: 'B' }],
      rows: [
        ['東京', 'x'],
        ['abcd', 'y'],
      ],
    }
    expect(await terminalTable(table, UNPAINTED)).toEqual(['A     B', '東京  x', 'abcd  y'])
  })

  test('puts numbers to the right and ends no line in blanks', () => {
    expect(plainTable(TABLE, UNPAINTED)).toEqual([
      'NAME  COUNT  WHAT',
      'AAPL      7  a company that makes telephones',
      'GSPC  1,234  an index',
    ])
  })

  test('leaves out the columns with the highest hidePriority until it fits', () => {
    expect(fitToWidth(TABLE, 20).hidden).toEqual([2])
    expect(fitToWidth(TABLE, 10).hidden).toEqual([2, 1])
    expect(fitToWidth(TABLE, 80).hidden).toEqual([])
  })

  test('says which columns are left out', async () => {
    const text = await blocksText([{ title: ['two'], table: TABLE }], screen(40))
    expect(text.replaceAll('\n', ' ')).toContain('WHAT hidden (terminal too narrow); --csv shows every column')
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(40)
  })

  test('puts them below, after the first columns, when every column is asked for', async () => {
    const text = await blocksText([{ title: ['two'], table: { ...TABLE, continued: true } }], screen(20))
    expect(text).not.toContain('hidden')
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(20)
    for (const title of ['COUNT', 'WHAT']) expect(text).toContain(title)
    expect(text.match(/AAPL/g)).toHaveLength(2)
  })

  test('goes bare into a pipe when it is all there is', async () => {
    const bare = { ...screen(Number.POSITIVE_INFINITY), isPiped: true }
    expect(await blocksText([{ title: ['two'], table: TABLE }], bare)).toMatch(/^NAME/)
    expect(await blocksText([{ title: ['two'], table: TABLE, notes: ['a note'] }], bare)).toMatch(/^two\n\nNAME/)
  })

  test('cuts a last column that is too long with a mark', async () => {
    const table = { columns: [{ title: 'A' }, { title: 'B' }], rows: [['x', 'y'.repeat(60)]] }
    expect(await blocksText([{ table }], screen(40))).toContain(`${'y'.repeat(36)}…\n`)
    expect(await blocksText([{ table }], { ...screen(40), unicode: false })).toContain(`${'y'.repeat(34)}...\n`)
  })
})

describe('records', () => {
  const rows = [
    { a: 'x,y', b: null, c: { '5d': { performance: 'flat' }, '10d': null } },
    { a: 'say "no"', b: 0.1, c: null },
  ]

  const written = async (format: 'csv' | 'ndjson', columns: string[], rows: readonly Row[]): Promise<string> => {
    const out = new Kept()
    await writeAnswer(format, { columns, rows }, out)
    return out.text
  }

  test('become CSV with a header, quotes where needed, null empty', async () => {
    expect(await written('csv', ['a', 'b', 'c_5d', 'c_10d'], rows)).toBe(
      'a,b,c_5d,c_10d\n"x,y",,flat,\n"say ""no""",0.1,,\n',
    )
    expect(await written('csv', ['a', 'b'], [])).toBe('a,b\n')
  })

  test.each([0, 5_000, 5_001, 12_345])(
    'become one JSON document, with a list of %i as with a short one',
    async length => {
      const document = { a: '{', list: Array.from({ length }, (_, i) => ({ i, '"': null })), none: undefined, b: [[]] }
      const out = Object.assign(new Kept(), { terminal: false, columns: () => null })
      const answer = { document, columns: [], rows: [], paragraphs: [] }
      const screenNow = async () => screen(80)
      await writeInFormat(answer, { format: 'json', raw: false, out, screen: screenNow })
      expect(out.text).toBe(`${JSON.stringify(document)}\n`)
      const long = { first: document.list, ...document }
      await writeInFormat({ ...answer, document: long }, { format: 'json', raw: false, out, screen: screenNow })
      expect(out.text).toBe(`${JSON.stringify(document)}\n${JSON.stringify(long)}\n`)
    },
  )

  test('become one JSON object a line', async () => {
    const lines = (await written('ndjson', [], rows)).split('\n')
    expect(lines.slice(0, 2).map(line => JSON.parse(line))).toEqual(rows)
    expect(lines[2]).toBe('')
  })

  test.each([
    ['a\nb', '"a\nb"'],
    ['a\rb', '"a\rb"'],
    [true, 'true'],
    [undefined, ''],
    ['', ''],
  ])('quote %j as %j', (value, text) => expect(csvValue(value)).toBe(text))

  test.each([
    ['=1+1', "'=1+1"],
    ['+SUM(A1)', "'+SUM(A1)"],
    ['-cmd|calc', "'-cmd|calc"],
    ['@A1', "'@A1"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['=HYPERLINK("http://x","a")', `"'=HYPERLINK(""http://x"",""a"")"`],
    ['＝1+1', "'＝1+1"],
    ["'=1+1", "''=1+1"],
    ['-1.5.2', "'-1.5.2"],
    ['+49 30 1', "'+49 30 1"],
  ])('show %j as text in a spreadsheet, unless it is to be left as it is', (value, text) => {
    expect(csvValue(value)).toBe(text)
    expect(
      csvValue(value, true)
        .replace(/^"(.*)"$/s, '$1')
        .replaceAll('""', '"'),
    ).toBe(value)
  })

  test.each(['-1.5', '+2', '-.5e-7', '-3.', 'a=1', '2026-01-01', 'x-y', '^GSPC', ' ', -1.5, -0.000_000_1])(
    'leave %j as it is',
    value => expect(csvValue(value)).toBe(String(value)),
  )
})

describe('text', () => {
  test('wraps at words', () => expect(wrap('one two three', 8)).toEqual(['one two', 'three']))
  test('keeps lines as far in as the first', () =>
    expect(wrap('  one two three', 10)).toEqual(['  one two', '  three']))
  test('leaves a word that is too long alone', () =>
    expect(wrap('a bbbbbbbbbb c', 4)).toEqual(['a', 'bbbbbbbbbb', 'c']))
  test('keeps phrases whole', () => expect(flowPhrases(['one two', 'three'], 12)).toEqual(['one two', 'three']))
  test('puts phrases side by side', () => expect(flowPhrases(['one', 'two'], 12)).toEqual(['one   two']))
})

const CASES: readonly [ColourFlag, Record<string, string>, terminal: boolean, coloured: boolean][] = [
  ['auto', {}, true, true],
  ['auto', {}, false, false],
  ['always', { NO_COLOR: '1' }, false, true],
  ['never', { FORCE_COLOR: '1' }, true, false],
  ['auto', { NO_COLOR: '1' }, true, false],
  ['auto', { NO_COLOR: '' }, true, true],
  ['auto', { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  ['auto', { FORCE_COLOR: '1' }, false, true],
  ['auto', { FORCE_COLOR: '0' }, true, false],
  ['auto', { CLICOLOR_FORCE: '1' }, false, true],
  ['auto', { CLICOLOR_FORCE: '0' }, false, false],
  ['auto', { TERM: 'dumb' }, true, false],
  ['auto', { CLICOLOR: '0' }, true, false],
  ['auto', { TERM: 'dumb', FORCE_COLOR: '1' }, true, true],
]

describe('a stream is coloured', () => {
  test.each(CASES)('--color %s with %j on a terminal (%s): %s', (flag, env, terminal, coloured) => {
    expect(isColoured(flag, env, terminal)).toBe(coloured)
  })
})

function drawn(how: 'line' | 'plain' | 'none', times: readonly number[], erase = false): string[] {
  const written: string[] = []
  let now = 0
  const stream = {
    terminal: true,
    columns: () => 30,
    write: async (text: string | Uint8Array) => void written.push(String(text)),
  }
  const progress = progressDisplay(stream, how, 30, () => now)
  for (const time of times) {
    now = time
    progress.step(() => 'import  a-file-with-a-long-name.csv')
  }
  if (erase) progress.erase()
  return written
}

test('short work shows nothing', () => expect(drawn('line', [0, 100, 499], true)).toEqual([]))

test('the line is drawn after half a second and fits the terminal', () => {
  const [line] = drawn('line', [600])
  expect(line).toBe('\rimport  a-file-with-a-long-na\x1b[K')
})

test('it is drawn at most ten times a second', () => {
  const times = Array.from({ length: 3000 }, (_, i) => i)
  expect(drawn('line', times).length).toBe(25)
})

test('it is erased at the end', () => expect(drawn('line', [600], true).at(-1)).toBe('\r\x1b[K'))

test('plain progress is a line every ten seconds', () => {
  const lines = drawn('plain', [600, 9_999, 10_000, 15_000, 20_100])
  expect(lines).toEqual([
    'import  a-file-with-a-long-name.csv  00:10\n',
    'import  a-file-with-a-long-name.csv  00:20\n',
  ])
})

test('none is silent', () => expect(drawn('none', [600, 20_000], true)).toEqual([]))

describe('a sparkline', () => {
  test('rises with its values, from the lowest step to the highest', () => {
    expect(sparkline([1, 2, 3, 4, 5, 6, 7, 8], { width: 8, ascii: false })).toBe('▁▂▃▄▅▆▇█')
    expect(sparkline([1, 2, 3, 4, 5, 6, 7, 8], { width: 8, ascii: true })).toBe('.:-=+*#@')
  })

  test('is never wider than its limit, and ends in the last value', () => {
    const values = Array.from({ length: 1000 }, (_, i) => (i === 999 ? 10 : 0))
    const drawn = sparkline(values, { width: 20, ascii: true })
    expect(drawn).toBe(`${'.'.repeat(19)}@`)
    expect(sparkline([3], { width: 20, ascii: true })).toHaveLength(1)
  })

  test('of a flat line runs in the middle, and of nothing is nothing', () => {
    expect(sparkline([5, 5, 5], { width: 9, ascii: false })).toBe('▄▄▄')
    expect(sparkline([], { width: 9, ascii: false })).toBe('')
  })
})

describe('bars', () => {
  const bars = [
    { label: '-1..+0', value: 1, text: '1' },
    { label: '+0..+1', value: 4, text: '4 of 5' },
    { label: '+1..+2', value: 0, text: '0' },
  ]

  test('are as long as their values say, and fit', () => {
    const drawn = drawBars(bars, { width: 30, ascii: true })
    expect(drawn).toEqual(['-1..+0 |#### 1', '+0..+1 |############## 4 of 5', '+1..+2 |0'])
    for (const width of [40, 80, 120])
      for (const line of drawBars(bars, { width, ascii: false })) expect([...line].length).toBeLessThanOrEqual(width)
  })

  test('of blocks are an eighth of a character fine, and show the least value', () => {
    const [first] = drawBars(
      [
        { label: 'a', value: 1, text: '' },
        { label: 'b', value: 1000, text: '' },
      ],
      {
        width: 30,
        ascii: false,
      },
    )
    expect(first).toBe('a │▏')
  })
})

describe('a chart', () => {
  const options = { width: 40, height: 5, ascii: true, label: (value: number) => value.toFixed(1), axisTexts: [] }

  test('labels the highest, the middle and the lowest value', () => {
    const drawn = drawChart([{ values: [0, 1, 2, 3, 4] }], options)
    expect(drawn.map(line => line.split('|')[0]!.trim())).toEqual(['4.0', '', '2.0', '', '0.0', ''])
  })

  test('puts words beneath their places, and leaves out those that would touch', () => {
    const beneath = [
      { at: 0, text: '-20' },
      { at: 0.02, text: '-19' },
      { at: 1, text: '+100' },
    ]
    const last = drawChart([{ values: [1, 2] }], { ...options, axisTexts: beneath }).at(-1)!
    expect(last).toMatch(/^ {5}-20 {28}\+100$/)
  })

  test('draws several lines on one scale, the dotted one thinner, and breaks where nothing is known', () => {
    const whole = drawLines([{ values: [0, 1, 2, 3] }], { width: 20, height: 4, ascii: true })
    const ink = (rows: readonly string[]): number => rows.join('').replaceAll(' ', '').length
    const dotted = drawLines([{ values: [0, 1, 2, 3], dotted: true }], { width: 20, height: 4, ascii: true })
    expect(ink(dotted)).toBeLessThan(ink(whole))
    const broken = drawLines([{ values: [0, null, null, 3] }], { width: 20, height: 4, ascii: true })
    expect(ink(broken)).toBe(2)
  })

  test('is nothing where no value is known', () => {
    expect(drawChart([{ values: [null, null] }], options)).toEqual([])
  })
})
