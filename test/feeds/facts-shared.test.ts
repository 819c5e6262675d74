import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseDay, weekdayOf } from '../../src/core/model/day.js'
import type { FactKind } from '../../src/core/model/facts.js'
import { SHARED } from '../support/bars.js'
import { firstInQuick } from '../support/full.js'
import { counts, factsIn, records, refusedInput, remarked, sharedFile } from './files.js'

const FOLDER = 'fundamentals/'

interface Loads {
  format: string
  rows: number
  records: Partial<Record<FactKind, number>>
  tickers: number
  rejected?: number
  /** What is said about the file, and how often; the rules themselves are proved with rows of a few lines. */
  remarks?: Record<string, number>
}

const AS_FILED =
  'figures a share are as filed; they reach the split basis of the bars by the splits that are loaded for the ticker'
const WEEKEND = 'report dates fall on a weekend and are taken as they are'
const noTrade = (kind: string) => `rows of kind "${kind}" are no open-market trades and are not loaded`

/** Numbers as the files' README and a count of their lines tell them. */
const LOADS: Record<string, Loads> = {
  'analyst_ratings.csv': {
    format: 'analyst ratings csv',
    rows: 5063,
    records: { grades: 5052 },
    tickers: 16,
    // Every word of the file counts as an opinion.
    remarks: { 'rows have no to_grade and are not loaded': 10, 'rows have no firm and are not loaded': 1 },
  },
  'corporate_actions.csv': {
    format: 'corporate actions csv',
    rows: 102,
    records: { splits: 15 },
    tickers: 8,
    remarks: { 'dividends are not used and not loaded': 87 },
  },
  'earnings.csv': {
    format: 'earnings events csv',
    rows: 12810,
    records: { earnings: 12810 },
    tickers: 484,
    remarks: { [WEEKEND]: 7 },
  },
  'earnings_all.csv.gz': {
    format: 'earnings events csv',
    rows: 72970,
    records: { earnings: 72966 },
    tickers: 4049,
    rejected: 4,
    remarks: { [WEEKEND]: 39 },
  },
  'insider_trades.csv': {
    format: 'insider trades csv',
    rows: 2454,
    records: { insiders: 808 },
    tickers: 12,
    remarks: {
      'trades count as known two weekdays after their date, as no date of filing is given': 808,
      [noTrade('unspecified')]: 555,
      [noTrade('award')]: 626,
      [noTrade('option_exercise')]: 176,
      [noTrade('gift')]: 145,
      [noTrade('other')]: 144,
    },
  },
  'quarterly.csv': {
    format: 'quarterly figures csv',
    rows: 235,
    records: { reports: 235 },
    tickers: 5,
    remarks: {
      [AS_FILED]: 226,
      'quarters were filed more than 120 days after their end, first seen next to a later one; they count from then on': 19,
      'EPS of fourth quarters are the year less three quarters, and may be off by about 0.01': 28,
      'derived EPS have the other sign than net income, as after a split in the year, and are not loaded': 3,
    },
  },
  'recommendation_trend.csv': {
    format: 'recommendation trend csv',
    rows: 129,
    records: { ratings: 34 },
    tickers: 24,
    remarks: { 'counts of earlier months are not loaded: the day they became known is missing': 95 },
  },
  'securities.csv': { format: 'GICS securities csv', rows: 505, records: { securities: 505 }, tickers: 505 },
  'snapshot_2024-11-22.csv': {
    format: 'screener snapshot csv',
    rows: 6674,
    records: { securities: 6283 },
    tickers: 6283,
    rejected: 391,
    remarks: { 'sectors are those of the screener, not GICS; they replace the sectors that were there': 6275 },
  },
}

const REFUSED: Record<string, string> = {
  'annual.csv':
    'these are annual figures, and the fields use quarters; import quarterly reports with the day on which each became known, such as the company facts of the SEC',
  'earnings_history_yahoo.csv':
    'these are estimates and results by quarter without the date of the report, so the day they became known is missing; import earnings with report_date',
  'pe_daily_GOOGL.csv':
    "these are a vendor's own daily ratios; ratios are computed here from reports and prices, so import those",
}

const SEC = 'sec_facts.csv'

const shared = describe.skipIf(SHARED === null)

shared('the files of facts (needs the shared data beside the project)', () => {
  it('are all told: each is loaded or refused here', () => {
    const files = readdirSync(new URL(`data/${FOLDER}`, SHARED!))
    expect([...Object.keys(LOADS), ...Object.keys(REFUSED), SEC].sort()).toEqual(files.sort())
  })

  it.each(firstInQuick(Object.entries(LOADS), 3))('load: %s', async (name, wanted) => {
    const result = await factsIn(sharedFile(FOLDER + name), { skipBadRows: true })
    expect(result).toMatchObject({ format: wanted.format, rows: wanted.rows })
    expect(counts(result)).toEqual(wanted.records)
    expect(new Set(result.facts.map(({ ticker }) => ticker)).size).toBe(wanted.tickers)
    expect(result.rejected).toHaveLength(wanted.rejected ?? 0)
    expect(remarked(result)).toEqual(wanted.remarks ?? {})
  })

  it.each(Object.entries(REFUSED))('are refused with the reason: %s', async (name, reason) => {
    expect(await refusedInput(sharedFile(FOLDER + name), { skipBadRows: true })).toBe(`${name}:1: ${reason}`)
  })

  const NO_TICKERS = [
    ['snapshot_2024-11-22.csv:16:1: ticker "JPM/PL"', '390 more bad rows'],
    ['earnings_all.csv.gz:36431:1: ticker "JW/A"', '3 more bad rows'],
  ] as const

  it.each(firstInQuick(NO_TICKERS))(
    'are refused for a ticker that is none, unless such rows are skipped: %s',
    async (start, others) => {
      expect(await refusedInput(sharedFile(FOLDER + start.split(':')[0]!))).toBe(
        `${start} is not 1 to 16 characters of A-Z 0-9 . - ^ =; ${others} in this file; skip_bad_rows loads the rest`,
      )
    },
  )

  it('become versions of quarters: SEC facts', async () => {
    const result = await factsIn(sharedFile(FOLDER + SEC))
    expect(result).toMatchObject({ format: 'SEC facts csv', rows: 7090, rejected: [] })
    expect(result.facts.map(({ ticker, kind }) => [ticker, kind])).toEqual(
      ['AAPL', 'GOOGL', 'MRVL', 'NVDA', 'SNOW'].map(ticker => [ticker, 'reports']),
    )
    const apple = records(result, 'reports').filter(({ ticker }) => ticker === 'AAPL')
    const first = (end: string) => apple.find(({ period_end, eps }) => period_end === end && eps !== null)
    // As filed, before the split of 2014 and after it.
    expect(first('2014-03-29')).toMatchObject({ known: '2014-04-24', eps: 11.62, session: null, basis: 'filed' })
    expect(first('2014-06-28')).toMatchObject({ known: '2014-07-23', eps: 1.28, revenue: 37432000000 })
    expect(remarked(result)).toMatchObject({ 'facts are of concepts that no report is made of': 2900 })
  })
})

shared('a trap of the shared facts', () => {
  const load = (name: string) => factsIn(sharedFile(FOLDER + name), { skipBadRows: true })

  it('is a share before a split: figures are as filed, never as on the bars', async () => {
    const reports = records(await load('quarterly.csv'), 'reports')
    expect(new Set(reports.map(({ basis, session }) => `${basis} ${session}`))).toEqual(new Set(['filed null']))
    const eps = (ticker: string, end: string) =>
      reports.find(report => report.ticker === ticker && report.period_end === end)?.eps
    expect([eps('AAPL', '2014-03-29'), eps('AAPL', '2014-06-28')]).toEqual([11.62, 1.28])
    expect([eps('AAPL', '2020-06-27'), eps('AAPL', '2020-09-26')]).toEqual([2.58, 0.73])
    // Of a year with a split less that of its quarters: none.
    expect([eps('GOOGL', '2022-12-31'), eps('NVDA', '2022-01-30'), eps('NVDA', '2025-01-26')]).toEqual([
      null,
      null,
      null,
    ])
    const splits = records(await load('corporate_actions.csv'), 'splits')
    expect(splits.filter(({ ticker }) => ticker === 'AAPL').map(({ ex_date, ratio }) => [ex_date, ratio])).toEqual([
      ['2000-06-21', 2],
      ['2005-02-28', 2],
      ['2014-06-09', 7],
      ['2020-08-31', 4],
    ])
    expect(splits).toContainEqual({ ticker: 'AIG', ex_date: '2009-07-01', ratio: 0.05 })
  })

  it('is a trade dated by itself: it is known two weekdays later', async () => {
    const trades = records(await load('insider_trades.csv'), 'insiders')
    expect(trades.filter(({ side }) => side === 'buy')).toHaveLength(4)
    // Monday 28 August 2017.
    const cook = { ticker: 'AAPL', session: null, insider: 'COOK TIMOTHY D', side: 'sell' }
    expect(trades).toContainEqual({ ...cook, known: '2017-08-30', shares: 268623, value: 43148931 })
    for (const { known } of trades) expect(weekdayOf(parseDay(String(known))!)).toBeLessThan(5)
  })

  it('is an unknown market capitalisation or sector: it is null; and a ticker NA', async () => {
    const securities = records(await load('snapshot_2024-11-22.csv'), 'securities')
    expect(securities.some(({ market_cap }) => market_cap === null)).toBe(true)
    expect(securities.filter(({ sector }) => sector === null)).toHaveLength(8)
    expect(securities.map(({ ticker }) => ticker)).toContain('NA')
  })
})
