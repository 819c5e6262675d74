import { zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import type { ReadOptions } from '../../src/data/feeds/feed.js'
import { only, read, refusal, rowsOf } from './files.js'

interface Sample {
  vendor: string
  /** Where the vendor shows it, or whose copy of it was taken. */
  origin: string
  name: string
  content: string | Uint8Array | object
  format: string
  /** Ticker, date, open, high, low, close, volume. */
  bars: string[]
  options?: ReadOptions
}

const BINANCE_KLINE = [
  ...[1499040000000, '0.01634790', '0.80000000', '0.01575800', '0.01577100', '148976.11427815', 1499126399999],
  ...['2434.19055334', 308, '1756.87402397', '28.46694368', '0'],
]
const BINANCE_CSV = `1735603200000,4.1,4.2,4.0,4.15,500,1735689599999,2000,12,400,1600,0
1735689600000000,4.15070000,4.15870000,4.15060000,4.15540000,539.23000000,1735775999999999,2240.39860900,13,401.82000000,1669.98121300,0
`
const KRAKEN = {
  error: [],
  result: {
    XXBTZUSD: [
      [1688515200, '30768.2', '30889.7', '30188.0', '30499.9', '30518.1', '1817.99113427', 20302],
      [1688601600, '30499.9', '31500.0', '29856.1', '29905.5', '30590.2', '3908.36341012', 31922],
      [1688688000, '29905.5', '30450.0', '29722.1', '30200.0', '30150.2', '903.1', 9011],
    ],
    last: 1688601600,
  },
}

const SAMPLES: Sample[] = [
  {
    vendor: 'Investing.com, whose volumes are abbreviated',
    origin: 'export "Historical Data", as kept in many public repositories; newest first',
    name: 'EGX30 Historical Data (1).csv',
    content: `\ufeff"Date","Price","Open","High","Low","Vol.","Change %"
"06/25/2026","51,994.63","51,818.84","52,201.58","51,765.01","395.86M","2.31%"
"06/24/2026","50,818.84","51,156.65","51,215.58","50,686.22","564.84K","-0.85%"
"06/23/2026","51,256.65","51,256.65","51,256.65","51,256.65","","0.00%"
`,
    format: 'investing',
    bars: [
      'EGX30 2026-06-23 51256.65 51256.65 51256.65 51256.65 NaN',
      'EGX30 2026-06-24 51156.65 51215.58 50686.22 50818.84 564840',
      'EGX30 2026-06-25 51818.84 52201.58 51765.01 51994.63 395860000',
    ],
  },
  {
    vendor: 'Alpaca, several symbols in one answer',
    origin: 'docs.alpaca.markets, Historical bars (GET /v2/stocks/bars)',
    name: 'bars.json',
    content: {
      bars: {
        AAPL: [
          { c: 182.01, h: 182.88, l: 177.71, n: 741421, o: 177.83, t: '2022-01-03T05:00:00Z', v: 104487884, vw: 181.4 },
        ],
        TSLA: [
          { c: 1199.78, h: 1201.07, l: 1136.04, n: 1, o: 1147.75, t: '2022-01-03T05:00:00Z', v: 34895349, vw: 1167 },
        ],
      },
      next_page_token: null,
    },
    format: 'alpaca',
    bars: [
      'AAPL 2022-01-03 177.83 182.88 177.71 182.01 104487884',
      'TSLA 2022-01-03 1147.75 1201.07 1136.04 1199.78 34895349',
    ],
  },
  {
    vendor: 'Binance, klines as JSON',
    origin: 'developers.binance.com, GET /api/v3/klines (its example, whose week is made a day)',
    name: 'ETHBTC.json',
    content: [BINANCE_KLINE],
    format: 'binance',
    bars: ['ETHBTC 2017-07-03 0.0163479 0.8 0.015758 0.015771 148976.11427815'],
  },
  {
    vendor: 'Binance, public data without a header, in milliseconds and since 2025 in microseconds',
    origin: 'github.com/binance/binance-public-data, README (its example, whose hour is made a day)',
    name: 'BTCUSDT-1d-2025-01.zip',
    content: zipSync({ 'BTCUSDT-1d-2025-01.csv': Buffer.from(BINANCE_CSV) }),
    format: 'binance',
    bars: ['BTCUSDT 2024-12-31 4.1 4.2 4 4.15 500', 'BTCUSDT 2025-01-01 4.1507 4.1587 4.1506 4.1554 539.23'],
  },
  {
    vendor: 'Binance, futures with a header',
    origin: 'data.binance.vision, data/futures/um/daily/klines',
    name: 'BTCUSDT-1d-2024-01-02.csv',
    content: `open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore
1704153600000,44179.55,45879.63,44148.34,44946.91,65146.40661,1704239999999,2944331749,1,2,3,0
`,
    format: 'binance',
    bars: ['BTCUSDT 2024-01-02 44179.55 45879.63 44148.34 44946.91 65146.40661'],
  },
  {
    vendor: 'Kraken, whose last candle is still being traded',
    origin: 'docs.kraken.com, Get OHLC Data: "the last entry is for the current, not-yet-committed timeframe"',
    name: 'ohlc.json',
    content: KRAKEN,
    format: 'kraken',
    bars: [
      'XXBTZUSD 2023-07-05 30768.2 30889.7 30188 30499.9 1817.99113427',
      'XXBTZUSD 2023-07-06 30499.9 31500 29856.1 29905.5 3908.36341012',
    ],
  },
  {
    vendor: 'Kraken, downloaded history, whose seventh column is no adjusted close',
    origin: 'support.kraken.com, Downloadable historical OHLCVT data: open, high, low, close, volume, trades',
    name: 'XBTUSD_1440.csv',
    content: '1381017600,122.0,122.0,122.0,122.0,0.1,1\n1381104000,123.61,124.5,123.61,124.4,1.2,7\n',
    format: 'kraken',
    bars: ['XBTUSD 2013-10-06 122 122 122 122 0.1', 'XBTUSD 2013-10-07 123.61 124.5 123.61 124.4 1.2'],
  },
  {
    vendor: 'Massive, once Polygon, a day of the whole market',
    origin: 'massive.com/docs, Daily Market Summary of stocks',
    name: 'grouped.json',
    content: {
      adjusted: true,
      queryCount: 3,
      results: [
        { T: 'KIMpL', c: 25.9102, h: 26.25, l: 25.91, n: 74, o: 26.07, t: 1602705600000, v: 4369, vw: 26.0407 },
        { T: 'TANH', c: 23.4, h: 24.763, l: 22.65, n: 1096, o: 24.5, t: 1602705600000, v: 25933.6, vw: 23.493 },
      ],
      resultsCount: 3,
      status: 'OK',
    },
    format: 'polygon',
    bars: ['KIMPL 2020-10-14 26.07 26.25 25.91 25.9102 4369', 'TANH 2020-10-14 24.5 24.763 22.65 23.4 25933.6'],
  },
  {
    vendor: 'Massive, a day of all crypto',
    origin: 'massive.com/docs, Daily Market Summary of crypto',
    name: 'grouped.json',
    content: {
      results: [
        { T: 'X:ARDRUSD', c: 0.0550762, h: 0.0550762, l: 0.0550762, o: 0.0550762, t: 1602719999999, v: 18388.9 },
      ],
    },
    format: 'polygon',
    bars: ['ARDRUSD 2020-10-14 0.0550762 0.0550762 0.0550762 0.0550762 18388.9'],
  },
  {
    vendor: 'Nasdaq Data Link, data alone',
    origin: 'docs.data.nasdaq.com, time-series API (GET /datasets/WIKI/AAPL/data.json)',
    name: 'AAPL.json',
    content: {
      dataset_data: {
        limit: null,
        column_names: ['Date', 'Open', 'High', 'Low', 'Close', 'Volume', 'Ex-Dividend', 'Split Ratio'],
        frequency: 'daily',
        data: [['2018-03-27', 173.68, 175.15, 166.92, 168.34, 38962839, 0, 1]],
        order: null,
      },
    },
    format: 'nasdaq data link',
    bars: ['AAPL 2018-03-27 173.68 175.15 166.92 168.34 38962839'],
  },
  {
    vendor: 'Nasdaq Data Link, data with what they are',
    origin: 'the same (GET /datasets/WIKI/FB.json)',
    name: 'download.json',
    content: {
      dataset: {
        dataset_code: 'FB',
        database_code: 'WIKI',
        column_names: ['Date', 'Open', 'High', 'Low', 'Close', 'Volume'],
        data: [['2018-03-27', 156.31, 162.85, 150.75, 152.19, 76787884]],
      },
    },
    format: 'nasdaq data link',
    bars: ['FB 2018-03-27 156.31 162.85 150.75 152.19 76787884'],
  },
  {
    vendor: 'Nasdaq Data Link, a table',
    origin: 'docs.data.nasdaq.com, tables API (GET /datatables/WIKI/PRICES.json)',
    name: 'prices.json',
    content: {
      datatable: {
        data: [
          ['A', '1999-11-18', 45.5, 50, 40, 44, 44739900],
          ['AA', '1999-11-18', 30, 31, 29, 30.5, 100],
        ],
        columns: ['ticker', 'date', 'open', 'high', 'low', 'close', 'volume'].map(name => ({ name, type: 'x' })),
      },
      meta: { next_cursor_id: null },
    },
    format: 'nasdaq data link',
    bars: ['A 1999-11-18 45.5 50 40 44 44739900', 'AA 1999-11-18 30 31 29 30.5 100'],
  },
  {
    vendor: 'EODHD, a day of an exchange as JSON',
    origin: 'eodhd.com, Bulk API (GET /eod-bulk-last-day/US?fmt=json)',
    name: 'US.json',
    content: [
      { code: 'AAPL', exchange_short_name: 'US', date: '2024-11-29', open: 234.81, high: 237.81 },
      { code: 'MSFT', exchange_short_name: 'US', date: '2024-11-29', open: 234.81, high: 237.81 },
    ].map(row => ({ ...row, low: 233.97, close: 237.33, adjusted_close: 237.33, volume: 28481377 })),
    format: 'eodhd',
    bars: [
      'AAPL 2024-11-29 234.81 237.81 233.97 237.33 28481377',
      'MSFT 2024-11-29 234.81 237.81 233.97 237.33 28481377',
    ],
  },
  {
    vendor: 'EODHD, a day of an exchange as CSV',
    origin: 'the same (fmt=csv)',
    name: 'US.csv',
    content: `Code,Ex,Date,Open,High,Low,Close,Adjusted_close,Volume
A,US,2023-06-01,116.97,117.635,115,116.26,116.26,3965447
AA,US,2023-06-01,32,33.04,31.5201,32.7,32.7,4725340
`,
    format: 'eodhd',
    bars: ['A 2023-06-01 116.97 117.635 115 116.26 3965447', 'AA 2023-06-01 32 33.04 31.5201 32.7 4725340'],
  },
  {
    vendor: 'EODHD, a ticker with its exchange in the name of the file',
    origin: 'eodhd.com, End-of-Day data of AAPL.US (fmt=csv)',
    name: 'AAPL.US.csv',
    content: 'Date,Open,High,Low,Close,Adjusted_close,Volume\n2024-01-02,187.15,188.44,183.89,185.64,185.64,82488300\n',
    format: 'csv',
    bars: ['AAPL.US 2024-01-02 187.15 188.44 183.89 185.64 82488300'],
  },
  {
    vendor: 'no known vendor, lists under the names of their tickers',
    origin: 'pandas and scripts',
    name: 'all.json',
    content: Object.fromEntries(
      ['A', 'B'].map(key => [key, [{ date: '2024-01-02', open: 2, high: 3, low: 1, close: 2, volume: 9 }]]),
    ),
    format: 'json rows',
    bars: ['A 2024-01-02 2 3 1 2 9', 'B 2024-01-02 2 3 1 2 9'],
  },
]

describe('bars are read as they come from', () => {
  it.each(SAMPLES)('$vendor', async ({ name, content, format, bars, options = {} }) => {
    const isText = typeof content === 'string' || content instanceof Uint8Array
    const result = await read(name, isText ? content : JSON.stringify(content), options)
    expect(result.format).toBe(format)
    const found = result.tickers.flatMap(one => rowsOf(one).map(row => [one.ticker, ...row].join(' ')))
    expect(found).toEqual(bars)
    expect(result.warnings).toEqual([])
  })
})

describe('an answer of a vendor', () => {
  it('is read under the --ticker option if it has one symbol', async () => {
    expect(only(await read('x.json', JSON.stringify(KRAKEN), { ticker: 'BTC-USD' })).ticker).toBe('BTC-USD')
  })

  it('of Binance is without the candle of today, which is still being traded', async () => {
    const day = (date: string) => Date.parse(date)
    const prices = ['2', '3', '1', '2', '9']
    const kline = (date: string) => [day(date), ...prices, day(date) + 86_399_999, '1', 1, '1', '1', '0']
    const options = { today: Math.floor(day('2025-01-02') / 86_400_000) }
    const both = [kline('2025-01-01'), kline('2025-01-02')]
    for (const content of [JSON.stringify(both), both.map(row => `${row.join(',')}\n`).join('')]) {
      const result = await read('X.csv', content, options)
      expect(rowsOf(only(result)).map(([date]) => date)).toEqual(['2025-01-01'])
      expect(result.dialect.unfinished).toBe('1 candle of today, left out')
    }
    expect(await refusal('X.json', JSON.stringify(both.slice(1)), options)).toBe(
      'X.json: there are no bars in it, only a candle that is still being traded',
    )
  })

  it('of Kraken is distinguished from equally wide rows with an adjusted close', async () => {
    const bars = only(await read('X.csv', '1381017600,10,12,9,11,100,5.5\n'))
    expect([bars.prices, rowsOf(bars)]).toEqual(['adjusted', [['2013-10-06', 5, 6, 4.5, 5.5, 100]]])
  })

  it('of Investing.com may have a dash for a volume that is not known', async () => {
    const rows = ['"07/25/2025","2","2","2","2","-","0.1%"', '"07/24/2025","2","2","2","2","1.5K","0.1%"']
    const header = '"Date","Price","Open","High","Low","Vol.","Change %"'
    const bars = only(await read('X.csv', `${[header, ...rows].join('\n')}\n`))
    expect([...bars.bars.volume]).toEqual([1500, Number.NaN])
    expect(await refusal('X.csv', `date,open,high,low,close,volume\n2024-01-02,2,2,2,2,-\n`)).toContain(
      'volume "-" is no',
    )
  })

  it('says what it leaves out, and that there is more', async () => {
    const { dialect, rows } = await read('x.json', JSON.stringify(KRAKEN))
    expect([rows, dialect.unfinished]).toEqual([2, 'the last of 3 candles, which is left out'])
    const bar = { c: 2, h: 3, l: 1, o: 2, t: '2022-01-03T05:00:00Z', v: 9 }
    const page = await read('x.json', JSON.stringify({ bars: { AAPL: [bar] }, next_page_token: 'QUFQTHxE' }))
    expect(page.dialect.pages).toBe('more follow, which are not in this file')
  })

  it.each([true, false])('of several symbols says which of them has no bars (as Alpaca: %s)', async named => {
    const bar = { c: 2, h: 3, l: 1, o: 2, t: '2022-01-03T05:00:00Z', v: 9 }
    const bars = { AAPL: [bar], MSFT: [], TSLA: [bar], IBM: null }
    const { dialect, tickers } = await read('x.json', JSON.stringify(named ? { bars } : bars))
    expect(tickers.map(({ ticker }) => ticker)).toEqual(['AAPL', 'TSLA'])
    expect(dialect['no bars of']).toBe('MSFT, IBM')
    for (const other of [[{}], [{ t: bar.t, c: 2 }], [[]], ['no data']])
      for (const AAPL of [[bar], []])
        expect(
          await refusal(
            'x.json',
            JSON.stringify(named ? { bars: { ...bars, AAPL, GE: other } } : { ...bars, AAPL, GE: other }),
          ),
        ).toMatch(/^x\.json: the value of "GE" is no list of bars: date, open, high, low and close are needed/)
  })

  it.each<[string, string, string | object, string]>([
    [
      'bars of a week',
      'X.json',
      [BINANCE_KLINE.map((cell, i) => (i === 6 ? 1499644799999 : cell))],
      'X.json: these are bars of 7 days; only daily bars are imported',
    ],
    [
      'bars of an hour',
      'BTCUSDT-1h-2025-01.csv',
      BINANCE_CSV.split('\n')[1]!.replace('1735775999999999', '1735693199999999'),
      'BTCUSDT-1h-2025-01.csv: these are bars of 60 minutes; only daily bars are imported',
    ],
    [
      'only a candle that is still being traded',
      'X.json',
      { result: { X: KRAKEN.result.XXBTZUSD.slice(2), last: 1688601600 } },
      'X.json: there are no bars in it, only a candle that is still being traded',
    ],
    [
      'a message of Kraken',
      'X.json',
      { error: ['EQuery:Unknown asset pair'] },
      'X.json: there are no bars in it, only a message of the vendor: "EQuery:Unknown asset pair"',
    ],
    [
      'data of Nasdaq Data Link that are no bars',
      'X.json',
      { dataset_data: { column_names: ['Date', 'Value'], data: [['2024-01-02', 1]] } },
      'X.json: data of Nasdaq Data Link without open, high, low and close (its columns are Date, Value)',
    ],
    [
      'two lists, and nothing to tell which is meant',
      'X.json',
      Object.fromEntries(['prices', 'adjusted'].map(key => [key, [{ date: '2024-01-02', o: 2, h: 3, l: 1, c: 2 }]])),
      'X.json: there are bars under "prices", "adjusted", and "prices" is not 1 to 16 characters of A-Z 0-9 . - ^ =; import them one by one',
    ],
  ])('is refused when it has %s', async (_, name, content, message) => {
    expect(await refusal(name, typeof content === 'string' ? content : JSON.stringify(content))).toBe(message)
  })
})
