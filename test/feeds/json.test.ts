import { describe, expect, it } from 'vitest'
import { only, read, refusal, rowsOf } from './files.js'

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

  it('places a bad value where it stands in the text', async () => {
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
