import { describe, expect, it } from 'vitest'
import { BadData, wordsAsText } from '../../src/core/errors.js'
import type { ReadOptions } from '../../src/data/feeds/feed.js'
import { notInQuick } from '../support/full.js'
import { only, read, readBars, readFacts, refusal, refused, rowsOf, written } from './files.js'

const NAMES = ['date', 'open', 'high', 'low', 'close', 'volume']
const ROWS: readonly (readonly string[])[] = Array.from({ length: 40 }, (_, i) => {
  const date = new Date(Date.UTC(2024, 0, 1 + i)).toISOString().slice(0, 10)
  return [date, `${100 + i}.25`, `${103 + i}.5`, `${98 + i}.125`, `${101 + i}`, i === 7 ? '' : `${1000 * i}.5`]
})
const table = (rows: readonly (readonly string[])[], delimiter = ',', end = '\n') =>
  [NAMES, ...rows].map(row => row.join(delimiter)).join(end) + end
const PLAIN = table(ROWS)
const AS_PLAIN = { hints: { header: NAMES.join(',') } }
/** The file with another header. */
const headed = (header: string) => PLAIN.replace(NAMES.join(','), header)
const YFINANCE = 'Price,Open,High,Low,Close,Volume\nTicker,X,X,X,X,X\nDate,,,,,'
const dated = (write: (year: string, month: string, day: string) => string) =>
  table(ROWS.map(([date, ...rest]) => [write(...(date!.split('-') as [string, string, string])), ...rest]))
const inOrder = (order: readonly number[]) => [NAMES, ...ROWS].map(row => order.map(i => row[i]!).join(',')).join('\n')
/** The same permutation in every run. */
const shuffled = ROWS.map((_, i) => ROWS[(i * 23 + 5) % ROWS.length]!)

const SAME: [name: string, text: string | Buffer, options?: ReadOptions][] = [
  ['rows in descending order', table([...ROWS].reverse())],
  ['rows in no order', table(shuffled)],
  ['CRLF line ends', table(ROWS, ',', '\r\n')],
  ['CR line ends', table(ROWS, ',', '\r')],
  ['no line end at the end', PLAIN.trimEnd()],
  ['blank lines', `\n${PLAIN.replaceAll('\n', '\n\n')}\n \n`],
  ['a byte order mark', `\ufeff${PLAIN}`],
  ['another order of columns', inOrder([5, 4, 0, 2, 3, 1])],
  ['semicolons', table(ROWS, ';')],
  ['tabs', table(ROWS, '\t')],
  ['pipes', table(ROWS, '|')],
  ['semicolons and decimal commas', table(ROWS, ';').replaceAll('.', ',')],
  ['a line sep=; first', `sep=;\r\n${table(ROWS, ';', '\r\n')}`],
  ['blanks around the fields', table(ROWS, ' , ')],
  ['quotes around all fields', [NAMES, ...ROWS].map(row => row.map(field => `"${field}"`).join(',')).join('\n')],
  [
    'quotes that are doubled, and lines broken inside them',
    `${PLAIN.replaceAll('\n', ',"a ""b""\n,c"\n').replace('"a ""b""\n,c"', 'note')}`,
  ],
  ['capitals in the header', headed('DATE,Open,HIGH,Low,CLOSE,Volume')],
  [
    'columns without use',
    [NAMES, ...ROWS]
      .map((row, i) => `${i},x,${row.join(',')},y`)
      .join('\n')
      .replace('0,x', ',n'),
  ],
  ['a prefix before each name', headed('Index,X.Open,X.High,X.Low,X.Close,X.Volume')],
  ['a first column without a name', PLAIN.replace('date,', '"",')],
  ['rows one field longer than the header, as R writes', PLAIN.replace('date,', '')],
  ['no header', PLAIN.slice(PLAIN.indexOf('\n') + 1)],
  ['a header that is replaced', PLAIN.replace('close', 'Schluss'), AS_PLAIN],
  ['a header of no known name that is replaced', headed('Datum,Eröffnung,Hoch,Tief,Schluss,Umsatz'), AS_PLAIN],
  ['the stacked header of yfinance, replaced', headed(YFINANCE), AS_PLAIN],
  [
    'a header that is given',
    inOrder([5, 0, 1, 2, 3, 4]).split('\n').slice(1).join('\n'),
    { hints: { header: 'volume,date,open,high,low,close' } },
  ],
  ['times of midnight and a time zone', table(ROWS.map(([date, ...rest]) => [`${date} 00:00:00-05:00`, ...rest]))],
  ['ISO times', table(ROWS.map(([date, ...rest]) => [`${date}T21:00:00.000Z`, ...rest]))],
  ['dates YYYYMMDD', dated((y, m, d) => `${y}${m}${d}`)],
  ['dates YYYY/MM/DD', dated((y, m, d) => `${y}/${m}/${d}`)],
  ['dates M/D/YYYY', dated((y, m, d) => `${Number(m)}/${Number(d)}/${y}`)],
  ['dates DD/MM/YYYY', dated((y, m, d) => `${d}/${m}/${y}`)],
  ['dates DD.MM.YYYY', dated((y, m, d) => `${d}.${m}.${y}`)],
  ['dates D-Mon-YY', dated((y, m, d) => `${Number(d)}-${m === '01' ? 'Jan' : 'Feb'}-${y.slice(2)}`)],
  ['the brackets of Stooq', headed('<DATE>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>')],
  ['the stacked header of yfinance', headed(YFINANCE)],
  ['a delimiter that is given', table(ROWS, ':'), { hints: { delimiter: ':' } }],
]

describe('the same bars', () => {
  it.each(SAME)('come out of a file with %s', async (_, text, options = {}) => {
    const wanted = rowsOf(only(await read('X.csv', PLAIN)))
    expect(wanted).toHaveLength(40)
    const bars = only(await read('X.csv', text, options))
    expect(rowsOf(bars)).toEqual(wanted)
    expect(bars).toMatchObject({ ticker: 'X', bars: { timeframe: 'daily' } })
    expect(bars.bars.known).toEqual(bars.bars.days)
  })
})

describe('the dialect', () => {
  it('is described in words', async () => {
    const { dialect, format, header } = await read(
      'X.csv',
      `\ufeff${table([...ROWS].reverse(), ';', '\r\n').replaceAll('.', ',')}`,
    )
    expect(format).toBe('bands csv')
    expect(header).toBe('date;open;high;low;close;volume')
    expect(dialect).toEqual({
      encoding: 'UTF-8 with BOM',
      compression: 'none',
      delimiter: 'semicolon',
      quotes: 'no',
      'line ends': 'CRLF',
      header: 'yes',
      columns: 'date, open, high, low, close, volume',
      dates: 'YYYY-MM-DD',
      decimal: 'comma',
      order: 'descending',
    })
  })

  it('decides on month or day first over the whole file', async () => {
    const early = Array.from({ length: 6000 }, (_, i) => {
      const date = new Date(Date.UTC(2000, 0, 1 + i))
      return [date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCFullYear()] as const
    }).filter(([day]) => day <= 12)
    const row = (date: readonly number[]) => `${date.join('/')},1,1,1,1,1\n`
    const text = `${NAMES.join(',')}\n${early.map(row).join('')}`
    expect(await refusal('X.csv', text)).toBe(
      'X.csv:2:1: no date of the file shows whether "1/1/2000" has the month or the day first; give date_format MM/DD/YYYY or DD/MM/YYYY',
    )
    const last = only(await read('X.csv', text + row([31, 12, 2020])))
    expect(rowsOf(last).at(-1)![0]).toBe('2020-12-31')
    const given = only(await read('X.csv', text, { hints: { dateFormat: 'mm/dd/yyyy' } }))
    expect(rowsOf(given)[1]![0]).toBe('2000-01-02')
  })

  it.each([
    ['prices', '100.000;101.000;99.500;100.250;'],
    ['volumes', '100;101;99;100;12.345'],
  ])('asks whether the point of %s beside semicolons stands before decimals or thousands', async (_, row) => {
    const text = `date;open;high;low;close;volume\n2024-01-02;${row}\n`
    expect(await refusal('X.csv', text)).toMatch(
      /^X.csv: "(100.000|12.345)" can be a decimal or thousands; give decimal , or decimal .$/,
    )
    const firstOf = async (decimal: string) => rowsOf(only(await read('X.csv', text, { hints: { decimal } })))[0]
    const thousand = row.startsWith('100.') ? 1000 : 1
    expect([(await firstOf('.'))![1], (await firstOf(','))![1]]).toEqual([100, 100 * thousand])
    // A comma between the fields leaves no doubt, and neither do other digits behind the point, or a 0 before it.
    expect(only(await read('X.csv', text.replaceAll(';', ','))).bars.open[0]).toBe(100)
    const also = (open: string) => read('X.csv', `${text}2024-01-03;${open};200;0.1;100;\n`)
    for (const open of ['99.5', '0.125']) expect(rowsOf(only(await also(open)))[0]![1]).toBe(100)
  })

  it('distinguishes a row from a replaced header, and says so', async () => {
    const header = 'ticker,sector,asset_class'
    const { rows } = await readFacts('AAPL,Technology,stock\nXOM,Energy,stock\n', { hints: { header } })
    expect(rows).toBe(2)
    const bad = await refusal('X.csv', PLAIN.replace('date', 'day').replace('100.25', 'x'), AS_PLAIN)
    expect(bad).toMatch(/^X.csv:2:12: open "x" is no number/)
    const { dialect } = await read('X.csv', PLAIN, AS_PLAIN)
    expect(dialect.header).toBe('replaced')
  })

  it('refuses numbers that can be read two ways, and takes the decimal sign that is given', async () => {
    const text = 'Date;Open;High;Low;Close;Volume\n2024-01-02;1,845;1,855;1,831;1,847;10\n'
    expect(await refusal('X.csv', text)).toBe(
      'X.csv: "1,845" can be a decimal or thousands; give decimal , or decimal .',
    )
    expect(only(await read('X.csv', text, { hints: { decimal: ',' } })).bars.open[0]).toBe(1.845)
    expect(only(await read('X.csv', text, { hints: { decimal: '.' } })).bars.open[0]).toBe(1845)
  })

  it.each<[Required<ReadOptions>['hints'], string]>([
    [{ dateFormat: 'YYYY' }, 'date_format "YYYY" is not one of'],
    [{ delimiter: 'ab' }, 'delimiter "ab" is not one character'],
    [{ decimal: 'x' }, 'decimal "x" is not one of ., ,.'],
    [{ format: 'yahho' }, 'format "yahho" is not one of bands csv'],
    [{ format: 'yahoo' }, 'X.csv: this is not yahoo; it looks like bands csv'],
  ])('names an option that cannot be: %j', async (hints, message) =>
    expect((await refusal('X.csv', PLAIN, { hints })).slice(0, message.length)).toBe(message),
  )

  it('names a ticker that cannot be', async () =>
    expect(await refusal('X.csv', PLAIN, { ticker: 'A B' })).toMatch(/^ticker "A B" is not 1 to 16 characters/))

  it('tells LEAN equities, whose prices are times 10,000, from crypto by fractions, or by what is given', async () => {
    const equity = '20240102 00:00,100000,120000,90000,110000,5\n'
    const crypto = '20240102 00:00,100000,120000,90000,110000,0.5\n'
    const close = async (text: string, format?: string) =>
      only(await read('X.csv', text, format === undefined ? {} : { hints: { format } })).bars.close[0]
    expect(await close(equity)).toBe(11)
    expect(await close(crypto)).toBe(110000)
    expect(await close(equity, 'lean crypto')).toBe(110000)
  })
})

describe('a table is refused', () => {
  it.each([
    [
      'twice the same column',
      'date,open,Open,high,low,close\n2024-01-02,1,1,1,1,1\n',
      'X.csv:1: column 2 ("open") and column 3 ("Open") have the same name; take one of them out',
    ],
    ['a header alone', `${NAMES.join(',')}\n`, 'X.csv: the file has a header and no rows'],
    ['nothing', '', 'X.csv: the file is empty'],
    ['blank lines alone', '\n \n', 'X.csv: the file is empty'],
    [
      'a sentence',
      'Exceeded the daily hits limit',
      'X.csv: the file has no table, only "Exceeded the daily hits limit"',
    ],
    ['a web page', '<!DOCTYPE html>\n<html></html>', 'X.csv: this is a web page, neither daily bars nor facts'],
    [
      'several times a day',
      `${NAMES.join(',')}\n2024-01-02 09:30,1,1,1,1,1\n2024-01-02 09:31,1,1,1,1,1\n`,
      'X.csv:3:1: 2024-01-02 has bars at several times of the day: these are intraday bars, and only daily bars are imported',
    ],
    [
      'LEAN minutes',
      '34200000,100,120,90,110,5\n34260000,100,120,90,110,5\n',
      'X.csv:1: these are LEAN bars of minutes or seconds (time in milliseconds of a day); only daily bars are imported',
    ],
    [
      'rows of another order',
      '1,2,3,4,5\n',
      'X.csv:1: the first line (1, 2, 3, 4, 5) is neither a header nor a row of date,open,high,low,close,volume; give the names of the columns with header',
    ],
    [
      'a quote never closed',
      `${PLAIN.replace('100.25', '"100.25')}`,
      'X.csv:2: a quoted field opens here and is never closed',
    ],
    [
      'text after a quote',
      `${PLAIN.replace('100.25', '"100".25')}`,
      'X.csv:2: a quoted field is followed by more text before the next delimiter',
    ],
    [
      'dates of no form',
      'date,open,high,low,close\nyesterday,1,1,1,1\n',
      'X.csv:2:1: date "yesterday" is in no known form; dates may be YYYY-MM-DD, YYYYMMDD, YYYY/MM/DD, MM/DD/YYYY, DD/MM/YYYY, DD-Mon-YYYY, Mon DD, YYYY, epoch seconds, epoch milliseconds, epoch microseconds, Excel serial, Excel serial 1904',
    ],
  ])('for %s', async (_, text, message) => {
    expect(await refusal('X.csv', text)).toBe(message)
  })
})

describe('the ticker', () => {
  it('is what is given, else the column, else the name of the file', async () => {
    const column = 'symbol,date,open,high,low,close\nbrk.b,2024-01-02,1,1,1,1\n'
    expect(only(await read('file.csv', column)).ticker).toBe('BRK.B')
    expect(only(await read('file.csv', column, { ticker: 'x' })).ticker).toBe('X')
    expect(only(await read('^gspc.csv', PLAIN)).ticker).toBe('^GSPC')
    expect(only(await read('brk.b.txt', PLAIN)).ticker).toBe('BRK.B')
  })

  it('must be given when the name of the file is none', async () => {
    expect(await refusal('my_prices.csv', PLAIN)).toBe(
      "my_prices.csv: no column names the ticker, and the file's name (my_prices) is no ticker; give it with ticker",
    )
  })

  it('is taken from a column "name" only when that holds tickers', async () => {
    const text = (name: string) => `date,open,high,low,close,Name\n2024-01-02,1,1,1,1,${name}\n`
    expect(only(await read('X.csv', text('AAL'))).ticker).toBe('AAL')
    expect(only(await read('X.csv', text('Apple'))).ticker).toBe('X')
  })

  it('may change from row to row, and tickers come out sorted', async () => {
    const rows = ROWS.flatMap(row => ['B', 'A'].map(ticker => `${ticker},${row.join(',')}`))
    const { tickers } = await read('X.csv', `ticker,${NAMES.join(',')}\n${rows.join('\n')}\n`)
    const wanted = rowsOf(only(await read('X.csv', PLAIN)))
    expect(tickers.map(({ ticker }) => ticker)).toEqual(['A', 'B'])
    for (const one of tickers) expect(rowsOf(one)).toEqual(wanted)
  })
})

describe('the adjustment', () => {
  const text = `${NAMES.join(',')},adj_close\n2024-01-02,10,12,8,10,100,5\n2024-01-03,10,12,8,8,100,8\n`

  it('multiplies prices by adjusted close over close and leaves the volume', async () => {
    const result = await read('X.csv', text)
    expect(result.adjustmentNote).toBe('adjusted by adj_close')
    expect(only(result).prices).toBe('adjusted')
    expect(rowsOf(only(result))).toEqual([
      ['2024-01-02', 5, 6, 4, 5, 100],
      ['2024-01-03', 10, 12, 8, 8, 100],
    ])
  })

  it('is what the user says where the file has none', async () => {
    expect(await read('X.csv', PLAIN)).toMatchObject({
      adjustmentNote: 'no adjusted close in the file: prices as they are',
      tickers: [{ prices: 'raw' }],
    })
    expect(await read('X.csv', PLAIN, { prices: 'adjusted' })).toMatchObject({
      adjustmentNote: 'no adjusted close in the file: taken as adjusted, as you say',
      tickers: [{ prices: 'adjusted' }],
    })
  })
})

const HEADER = 'date,open,high,low,close,volume'
const GOOD = '2024-01-02,10,12,9,11,100'
const NEEDS = 'a bar needs open, high, low and close'
const LOADS = 'skip_bad_rows loads the rest'
const DATED = 'is no calendar date as YYYY-MM-DD, which the dates of this file are'
const MISSING = 'the row is cut off, or fields are missing'

/** A file with one good row and, on line 3, one that is not. */
const withRow = (row: string) => `${HEADER}\n${GOOD}\n${row}\n`

describe('a bad row', () => {
  it.each([
    ['2024-01-03,,12,9,11,100', 12, `open is empty; ${NEEDS}`],
    ['2024-01-03,10,null,9,11,100', 15, `high is "null"; ${NEEDS}`],
    ['2024-01-03,10,12,N/A,11,100', 18, `low is "N/A"; ${NEEDS}`],
    ['2024-01-03,10,12,9,NaN,100', 20, `close is "NaN"; ${NEEDS}`],
    ['2024-01-03,10,12,9', 19, `the row has 4 fields, the header 6; ${MISSING}`],
    ['2024-01-03,10,12,9,11', 22, `the row has 5 fields, the header 6; ${MISSING}`],
    ['2024-01-03', 11, `the row has 1 field, the header 6; ${MISSING}`],
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
    ['2024-02-30,10,12,9,11,100', 1, `date "2024-02-30" ${DATED}`],
    ['2023-02-29,10,12,9,11,100', 1, `date "2023-02-29" ${DATED}`],
    ['2024-1-3,10,12,9,11,100', 1, `date "2024-1-3" ${DATED}`],
    ['11:34,10,12,9,11,100', 1, `date "11:34" ${DATED}`],
    [',10,12,9,11,100', 1, 'date is empty'],
    ['2024-01-02,10,12,9,11,101', 1, '2024-01-02 is given twice for X, first in line 2'],
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
    expect(await refusal('X.csv', text)).toMatch(/; 1 more bad row in this file; skip_bad_rows loads the rest$/)
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
    expect(rejected.map(({ column, reason }) => [column, wordsAsText(reason)])).toEqual([
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
})

describe('a file that was cut off', () => {
  const rows = ROWS.map(row => [...row.slice(0, 5), '4787699'].join(','))
  const cut = (count: number): string => `${HEADER}\n${rows.slice(0, -1).join('\n')}\n${rows.at(-1)!.slice(0, count)}`

  notInQuick('is refused wherever its last row was cut', async () => {
    const length = rows.at(-1)!.length
    for (let count = 1; count < length; count++)
      expect(await refusal('X.csv', cut(count)), cut(count).slice(-50)).toMatch(
        /^X\.csv:41:\d+: the (row has|last line)/,
      )
    expect(rowsOf(only(await read('X.csv', cut(length))))).toHaveLength(40)
  })

  it('is recognised by the last number, before its point and after it', async () => {
    const priced = rows.map(row => [...row.split(',').slice(0, 5), '4787699', '101.25'].join(','))
    const text = `${HEADER},adj_close\n${priced.join('\n')}`
    for (const short of [text.slice(0, -1), text.slice(0, -3), text.slice(0, -4)])
      expect(await refusal('X.csv', short, { prices: 'raw' })).toMatch(/the last line has no line end/)
    expect(rowsOf(only(await read('X.csv', text, { prices: 'raw' })))).toHaveLength(40)
  })

  it('is none with a line end after it, with other rows as short, or with too few to tell', async () => {
    const short = (text: string) => read('X.csv', text).then(result => only(result).bars.volume.at(-1))
    expect(await short(`${cut(rows[0]!.length - 1)}\n`)).toBeLessThan(4_787_699)
    expect(await short(`${cut(1_000)}\n2024-03-01,10,12,9,11,5\n2024-03-02,10,12,9,11,6`)).toBe(6)
    expect(await short(`${HEADER}\n${rows.slice(0, 4).join('\n')}\n2024-03-02,10,12,9,11,6`)).toBe(6)
  })

  it('is none where the last price or volume of a whole row has a digit less than all others', async () => {
    const table = (names: string, last: string[]) =>
      [names, ...last.map((value, i) => `2024-03-0${i + 1},1,200000,1,${value}`)].join('\n')
    const lastOf = async (names: string, last: string[]) => only(await read('X.csv', table(names, last))).bars
    const closes = (...last: string[]) => lastOf('date,open,high,low,close', ['101.2', '101.25', ...last])
    const prices = ['101.20', '102.10', '100.90', '101.00', '100.10']
    for (const last of ['99.80', '9.98']) {
      const { close } = await lastOf('date,open,high,low,close', [...prices, last])
      expect(close.at(-1)).toBe(Number(last))
    }
    expect((await closes('102', '101.5', '100.2', '99')).close.at(-1)).toBe(99)
    const volumes = ['1,120000', '1,100400', '1,180000', '1,150000', '1,101000', '1,98000']
    const { volume } = await lastOf('date,open,high,low,close,volume', volumes)
    expect(volume.at(-1)).toBe(98_000)
    for (const cut of ['1,9800', '1,18000', '1,1'])
      expect(await refusal('X.csv', table('date,open,high,low,close,volume', volumes.with(-1, cut)))).toMatch(
        /^X\.csv:7:\d+: the last line has no line end/,
      )
  })

  it('is refused of facts too', async () => {
    const message = await refused('ticker,ex_date,ratio\nAAPL,2020-08-31,4\nAAPL,2014-06-09')
    expect(message).toMatch(/^facts\.csv:3:16: the row has 2 fields, the header 3; the row is cut off/)
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

  it('may lack what has no name, and a file may have no volume', async () => {
    const short = await read('X.csv', `${HEADER},\n${GOOD}\n`)
    expect(only(short).bars.volume[0]).toBe(100)
    const none = await read('X.csv', 'date,open,high,low,close\n2024-01-02,1,1,1,1\n')
    expect(only(none).bars.volume[0]).toBeNaN()
  })

  it.each([
    ['12.5', 12.5],
    ['+12.50', 12.5],
    ['+$12.5', 12.5],
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

  it('may stand there twice: it is taken once, and that is a warning with its place', async () => {
    for (const rest of ['10,12,9,11,', '+10.0,12,9,11,NA']) {
      const { tickers, warnings, rejected } = await read(
        'X.csv',
        `${withRow(`2024-01-03,10,12,9,11,`)}2024-01-03,${rest}\n`,
      )
      expect(rowsOf(tickers[0]!)).toHaveLength(2)
      const first = {
        ticker: 'X',
        date: '2024-01-03',
        place: 'X.csv:4',
        detail: 'the same bar as in line 3, taken once',
      }
      expect(warnings).toEqual([{ kind: 'doubled', count: 1, first: [first] }])
      expect(rejected).toEqual([])
    }
    const adjusted = (close: string) => `${HEADER},adj_close\n${GOOD},5\n${GOOD},${close}\n`
    expect(rowsOf(only(await read('X.csv', adjusted('5.0'))))).toHaveLength(1)
    expect(await refusal('X.csv', adjusted('5.1'))).toMatch(/^X\.csv:3:1: 2024-01-02 is given twice for X/)
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

  it('is reported when most bars are a week apart', async () => {
    const rows = Array.from(
      { length: 20 },
      (_, i) => `2024-0${1 + (i >> 2)}-${String(1 + (i % 4) * 7).padStart(2, '0')},1,1,1,1,1`,
    )
    const { warnings } = await read('X.csv', `${HEADER}\n${rows.join('\n')}\n`)
    expect(warnings.map(({ kind }) => kind)).toEqual(['not_daily'])
  })
})
