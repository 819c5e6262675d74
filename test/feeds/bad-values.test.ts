import { describe, expect, it } from 'vitest'
import { BadData, worded } from '../../src/errors.js'
import { only, read, readBars, refusal, rowsOf, written } from './files.js'

const HEADER = 'date,open,high,low,close,volume'
const GOOD = '2024-01-02,10,12,9,11,100'
const NEEDS = 'a bar needs open, high, low and close'
const LOADS = 'skip_bad_rows loads the rest'

/** A file with one good row and, on line 3, one that is not. */
const withRow = (row: string) => `${HEADER}\n${GOOD}\n${row}\n`

describe('a bad row', () => {
  it.each([
    ['2024-01-03,,12,9,11,100', 12, `open is empty; ${NEEDS}`],
    ['2024-01-03,10,null,9,11,100', 15, `high is "null"; ${NEEDS}`],
    ['2024-01-03,10,12,N/A,11,100', 18, `low is "N/A"; ${NEEDS}`],
    ['2024-01-03,10,12,9,NaN,100', 20, `close is "NaN"; ${NEEDS}`],
    ['2024-01-03,10,12,9', 19, `close is empty; ${NEEDS}`],
    ['2024-01-03,0,12,9,11,100', 12, 'open "0" is not above 0, as a price must be'],
    ['2024-01-03,10,12,-9,11,100', 18, 'low "-9" is not above 0, as a price must be'],
    ['2024-01-03,10,12,0.000,11,100', 18, 'low "0.000" is not above 0, as a price must be'],
    ['2024-01-03,0x10,12,9,11,100', 12, 'open "0x10" is no number; a price is a decimal number above 0'],
    ['2024-01-03,10,12abc,9,11,100', 15, 'high "12abc" is no number; a price is a decimal number above 0'],
    ['2024-01-03,10,1e999,9,11,100', 15, 'high "1e999" is too large or too small for a price'],
    ['2024-01-03,10,Infinity,9,11,100', 15, 'high "Infinity" is no number; a price is a decimal number above 0'],
    ['2024-01-03,10,1 2,9,11,100', 15, 'high "1 2" is no number; a price is a decimal number above 0'],
    ['2024-01-03,10,12.1.1,9,11,100', 15, 'high "12.1.1" is no number; a price is a decimal number above 0'],
    ['2024-01-03,10,9,12,11,100', 15, 'high 9 is below low 12'],
    ['2024-01-03,10,12,9,11,-1', 23, 'volume "-1" is below 0; it may be 0 or more, or empty where unknown'],
    ['2024-01-03,10,12,9,11,many', 23, 'volume "many" is no number; it may be 0 or more, or empty where unknown'],
    ['2024-01-03,10,12,9,11,1e999', 23, 'volume "1e999" is too large for a volume'],
    [
      '2024-02-30,10,12,9,11,100',
      1,
      'date "2024-02-30" is no calendar date as YYYY-MM-DD, which the dates of this file are',
    ],
    [
      '2023-02-29,10,12,9,11,100',
      1,
      'date "2023-02-29" is no calendar date as YYYY-MM-DD, which the dates of this file are',
    ],
    [
      '2024-1-3,10,12,9,11,100',
      1,
      'date "2024-1-3" is no calendar date as YYYY-MM-DD, which the dates of this file are',
    ],
    ['11:34,10,12,9,11,100', 1, 'date "11:34" is no calendar date as YYYY-MM-DD, which the dates of this file are'],
    [',10,12,9,11,100', 1, 'date is empty'],
    ['2024-01-02,10,12,9,11,100', 1, '2024-01-02 is given twice for X, first in line 2'],
    [
      '2024-01-03,10,12,9,11,4,787,699',
      25,
      'the row has 8 fields, the header 6; a delimiter inside a value needs quotes',
    ],
  ])('%s is refused with its place', async (row, column, reason) => {
    expect(await refusal('X.csv', withRow(row))).toBe(`X.csv:3:${column}: ${reason}; ${LOADS}`)
    const { rejected, rows, tickers } = await read('X.csv', withRow(row), { skipBadRows: true })
    expect(rejected).toEqual([{ line: 3, column, reason, text: row }])
    expect(rows).toBe(2)
    expect(rowsOf(tickers[0]!)).toEqual([['2024-01-02', 10, 12, 9, 11, 100]])
  })

  it('refuses the whole file, names the first and counts the others', async () => {
    const text = `${HEADER}\n${GOOD}\n2024-01-03,1,1,1,x,1\n2024-01-04,1,1,1,1,1\n2024-01-05,,,,,\n2024-01-08,-1,1,1,1,1\n`
    const reading = readBars(written('X.csv', text))
    await expect(reading).rejects.toBeInstanceOf(BadData)
    await expect(reading).rejects.toMatchObject({ place: { file: 'X.csv', line: 3, column: 18 } })
    expect(await refusal('X.csv', text)).toMatch(/; 2 more bad rows in this file; skip_bad_rows loads the rest$/)
  })

  it('cannot be skipped when no good one is left', async () => {
    const text = `${HEADER}\n2024-01-03,1,1,1,x,1\n2024-01-04,1,1,1,,1\n`
    expect(await refusal('X.csv', text, { skipBadRows: true })).toBe(
      'X.csv:2:18: close "x" is no number; a price is a decimal number above 0; all 2 rows are bad, so nothing can be loaded',
    )
  })

  it('does not hide a later row of its date', async () => {
    const text = `${HEADER}\n2024-01-02,10,12,9,,100\n${GOOD}\n`
    const { tickers, rejected } = await read('X.csv', text, { skipBadRows: true })
    expect(rejected).toHaveLength(1)
    expect(rowsOf(tickers[0]!)).toEqual([['2024-01-02', 10, 12, 9, 11, 100]])
  })

  it('is a second date of the same ticker however far away, not of another one', async () => {
    const text =
      'ticker,date,open,high,low,close,volume\nA,2024-01-03,1,1,1,1,1\nB,2024-01-03,1,1,1,1,1\nA,2024-01-02,1,1,1,1,1\nA,2024-01-05,1,1,1,1,1\nA,2024-01-03,2,2,2,2,2\n'
    expect(await refusal('X.csv', text)).toBe(`X.csv:6:3: 2024-01-03 is given twice for A, first in line 2; ${LOADS}`)
  })

  it('has a ticker that is none', async () => {
    const text =
      'date,open,high,low,close,volume,symbol\n2024-01-02,1,1,1,1,1,A\n2024-01-03,1,1,1,1,1,BTC/USD\n2024-01-04,1,1,1,1,1,\n'
    const { rejected } = await read('X.csv', text, { skipBadRows: true })
    expect(rejected.map(({ line, column, reason }) => [line, column, reason])).toEqual([
      [3, 22, 'ticker "BTC/USD" is not 1 to 16 characters of A-Z 0-9 . - ^ ='],
      [4, 22, 'ticker is empty'],
    ])
  })

  it('lacks an adjusted close above 0, unless raw prices are wanted', async () => {
    const text = `${HEADER},adj_close\n${GOOD},5.5\n2024-01-03,10,12,9,11,100,\n2024-01-04,10,12,9,11,100,-1\n`
    const { rejected } = await read('X.csv', text, { skipBadRows: true })
    const raw = 'prices raw loads the prices without it'
    expect(rejected.map(({ column, reason }) => [column, worded(reason)])).toEqual([
      [27, `adj_close is empty; adjusted prices need it; ${raw}`],
      [27, `adj_close "-1" is not above 0, as a price must be; ${raw}`],
    ])
    expect(rowsOf(only(await read('X.csv', text, { prices: 'raw' })))).toHaveLength(3)
  })

  it('is placed by characters, quotes and blanks as they stand', async () => {
    const text = 'name,date,open,high,low,close\n"Zoë, 😀",2024-01-02, 1,1,1,  x\n"b",2024-01-03,1,1,1,1\n'
    expect(await refusal('X.csv', text)).toBe(
      `X.csv:2:30: close "x" is no number; a price is a decimal number above 0; ${LOADS}`,
    )
  })

  it('is placed by its first line when a quoted field runs over several', async () => {
    const text =
      'date,open,high,low,close,note\n2024-01-02,1,1,1,1,"two\nlines, ""quoted"""\n\n2024-01-03,1,1,1,"0","a\nb"\n'
    const { rejected } = await read('X.csv', text, { skipBadRows: true })
    expect(rejected).toEqual([
      {
        line: 5,
        column: 18,
        reason: 'close "0" is not above 0, as a price must be',
        text: '2024-01-03,1,1,1,"0","a\nb"',
      },
    ])
  })

  it('cut out, mended and headed by the header of its file loads', async () => {
    const text = `"date";open;high;low;close;volume\n2024-01-02;1;1;1;1;1\n2024-01-03;1;1;1;;1\n`
    const { rejected, header } = await read('X.csv', text, { skipBadRows: true })
    const mended = `${header}\n${rejected.map(row => row.text.replace(';;', ';1;')).join('\n')}\n`
    expect(rowsOf(only(await read('X.csv', mended)))).toEqual([['2024-01-03', 1, 1, 1, 1, 1]])
  })
})

describe('a good row', () => {
  it.each([
    ['', Number.NaN],
    ['NA', Number.NaN],
    ['n/a', Number.NaN],
    ['NULL', Number.NaN],
    ['None', Number.NaN],
    ['nan', Number.NaN],
    ['0', 0],
    ['1.5', 1.5],
    ['1e6', 1_000_000],
    ['"4,787,699"', 4_787_699],
  ])('may have %s as volume', async (text, volume) => {
    const { tickers } = await read('X.csv', withRow(`2024-01-03,10,12,9,11,${text}`))
    expect(tickers[0]!.bars.volume[1]).toBe(volume)
  })

  it('may end before its volume, and a file may have none', async () => {
    const short = await read('X.csv', withRow('2024-01-03,10,12,9,11'))
    expect(only(short).bars.volume[1]).toBeNaN()
    const none = await read('X.csv', 'date,open,high,low,close\n2024-01-02,1,1,1,1\n')
    expect(only(none).bars.volume[0]).toBeNaN()
  })

  it.each([
    ['12.5', 12.5],
    ['$12.5', 12.5],
    ['"$1,012.50"', 1012.5],
    ['1.25E1', 12.5],
    ['.125e+2', 12.5],
    ['012.50', 12.5],
    ['12.50000000000000000001', 12.5],
  ])('may have %s as a price', async (text, high) => {
    const { tickers } = await read('X.csv', withRow(`2024-01-03,10,${text},9,11,1`))
    expect(tickers[0]!.bars.high[1]).toBe(high)
  })

  it('may look odd: that is a warning with its place, and the bar stays', async () => {
    const rows = ['2024-01-02,10,12,9,11,100', '2024-01-03,13,12,9,8,0', '2024-01-11,10,12,9,12,100']
    const { warnings, tickers } = await read('X.csv', `${HEADER}\n${rows.join('\n')}\n`)
    expect(tickers[0]!.bars.days).toHaveLength(3)
    const at = (line: number, date: string, detail: string) => [{ ticker: 'X', date, place: `X.csv:${line}`, detail }]
    expect(warnings).toEqual([
      { kind: 'outside_range', count: 1, first: at(3, '2024-01-03', 'open 13 is above high 12') },
      { kind: 'zero_volume', count: 1, first: at(3, '2024-01-03', 'volume 0') },
      { kind: 'gap', count: 1, first: at(4, '2024-01-11', '8 days after the bar before') },
      { kind: 'jump', count: 1, first: at(4, '2024-01-11', 'close +50 % from the bar before') },
    ])
  })

  it('is told when most bars are a week apart', async () => {
    const rows = Array.from(
      { length: 20 },
      (_, i) => `2024-0${1 + (i >> 2)}-${String(1 + (i % 4) * 7).padStart(2, '0')},1,1,1,1,1`,
    )
    const { warnings } = await read('X.csv', `${HEADER}\n${rows.join('\n')}\n`)
    expect(warnings.map(({ kind }) => kind)).toEqual(['not_daily'])
  })
})
