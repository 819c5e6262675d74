import { readdirSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { worded } from '../../src/errors.js'
import type { FactsResult } from '../../src/feeds/feed.js'
import { parseDay, weekdayOf } from '../../src/model/day.js'
import { type FactKind, opinionOf } from '../../src/model/facts.js'
import { SHARED } from '../support/bars.js'
import { counts, factsIn, records, refusedInput, remarked, sharedFile } from './files.js'

const FOLDER = 'fundamentals/'

interface Loads {
  format: string
  rows: number
  records: Partial<Record<FactKind, number>>
  tickers: number
  rejected?: number
}

/** Numbers as the files' README and a count of their lines tell them. */
const LOADS: Record<string, Loads> = {
  'analyst_ratings.csv': { format: 'analyst ratings csv', rows: 5063, records: { grades: 5052 }, tickers: 16 },
  'corporate_actions.csv': { format: 'corporate actions csv', rows: 102, records: { splits: 15 }, tickers: 8 },
  'earnings.csv': { format: 'earnings events csv', rows: 12810, records: { earnings: 12810 }, tickers: 484 },
  'earnings_all.csv.gz': {
    format: 'earnings events csv',
    rows: 72970,
    records: { earnings: 72966 },
    tickers: 4049,
    rejected: 4,
  },
  'insider_trades.csv': { format: 'insider trades csv', rows: 2454, records: { insiders: 808 }, tickers: 12 },
  'quarterly.csv': { format: 'quarterly figures csv', rows: 235, records: { reports: 235 }, tickers: 5 },
  'recommendation_trend.csv': {
    format: 'recommendation trend csv',
    rows: 129,
    records: { ratings: 34 },
    tickers: 24,
  },
  'securities.csv': { format: 'GICS securities csv', rows: 505, records: { securities: 505 }, tickers: 505 },
  'snapshot_2024-11-22.csv': {
    format: 'screener snapshot csv',
    rows: 6674,
    records: { securities: 6283 },
    tickers: 6283,
    rejected: 391,
  },
}

const REFUSED: Record<string, string> = {
  'annual.csv':
    'these are annual figures, and the fields stand on quarters; import quarterly reports with the day on which each became known, such as the company facts of the SEC',
  'earnings_history_yahoo.csv':
    'these are estimates and results by quarter without the date of the report, so nothing tells since when they were known; import earnings with report_date',
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

  it.each(Object.entries(LOADS))('load: %s', async (name, wanted) => {
    const result = await factsIn(sharedFile(FOLDER + name), { skipBadRows: true })
    expect(result).toMatchObject({ format: wanted.format, rows: wanted.rows })
    expect(counts(result)).toEqual(wanted.records)
    expect(new Set(result.facts.map(({ ticker }) => ticker)).size).toBe(wanted.tickers)
    expect(result.rejected).toHaveLength(wanted.rejected ?? 0)
  })

  it.each(Object.entries(REFUSED))('are refused with the reason: %s', async (name, reason) => {
    expect(await refusedInput(sharedFile(FOLDER + name), { skipBadRows: true })).toBe(`${name}:1: ${reason}`)
  })

  it.each([
    ['earnings_all.csv.gz:36431:1: ticker "JW/A"', '3 more bad rows'],
    ['snapshot_2024-11-22.csv:16:1: ticker "JPM/PL"', '390 more bad rows'],
  ])('are refused for a ticker that is none, unless such rows are skipped: %s', async (start, others) => {
    expect(await refusedInput(sharedFile(FOLDER + start.split(':')[0]!))).toBe(
      `${start} is not 1 to 16 characters of A-Z 0-9 . - ^ =; ${others} in this file; skip_bad_rows loads the rest`,
    )
  })

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
  const files: Record<string, FactsResult> = {}
  beforeAll(async () => {
    for (const name of Object.keys(LOADS)) files[name] = await factsIn(sharedFile(FOLDER + name), { skipBadRows: true })
  })

  it('is a report at a weekend: taken, and remarked', () => {
    const what = 'report dates fall on a weekend and are taken as they are'
    expect(remarked(files['earnings.csv']!)).toEqual({ [what]: 7 })
    expect(remarked(files['earnings_all.csv.gz']!)).toEqual({ [what]: 39 })
    const weekend = records(files['earnings.csv']!, 'earnings').filter(
      ({ report_date }) => weekdayOf(parseDay(String(report_date))!) > 4,
    )
    expect(weekend).toHaveLength(7)
  })

  it('is the hour of a report: it is the session', () => {
    const sessions = records(files['earnings.csv']!, 'earnings').map(({ session }) => session)
    expect(sessions.filter(session => session === 'pre')).toHaveLength(7803)
    expect(sessions.filter(session => session === 'post')).toHaveLength(5007)
    expect(records(files['earnings.csv']!, 'earnings')[0]).toEqual({
      ticker: 'A',
      report_date: '2012-11-19',
      session: 'post',
      eps_estimate: 0.8,
      eps_actual: 0.84,
    })
  })

  it('is a share before a split: figures are as filed, never as on the bars', () => {
    const reports = records(files['quarterly.csv']!, 'reports')
    expect(new Set(reports.map(({ basis, session }) => `${basis} ${session}`))).toEqual(new Set(['filed null']))
    const eps = (ticker: string, end: string) =>
      reports.find(report => report.ticker === ticker && report.period_end === end)?.eps
    expect([eps('AAPL', '2014-03-29'), eps('AAPL', '2014-06-28')]).toEqual([11.62, 1.28])
    expect([eps('AAPL', '2020-06-27'), eps('AAPL', '2020-09-26')]).toEqual([2.58, 0.73])
    const splits = records(files['corporate_actions.csv']!, 'splits')
    expect(splits.filter(({ ticker }) => ticker === 'AAPL').map(({ ex_date, ratio }) => [ex_date, ratio])).toEqual([
      ['2000-06-21', 2],
      ['2005-02-28', 2],
      ['2014-06-09', 7],
      ['2020-08-31', 4],
    ])
    expect(splits).toContainEqual({ ticker: 'AIG', ex_date: '2009-07-01', ratio: 0.05 })
    expect(remarked(files['corporate_actions.csv']!)).toEqual({ 'dividends are not used and not loaded': 87 })
  })

  it('is a quarter first seen beside a later one, or derived: it counts from its filing, and is remarked', () => {
    const { remarks } = files['quarterly.csv']!
    expect(remarks.map(({ what, count }) => [worded(what).split(' ').slice(0, 4).join(' '), count])).toEqual([
      ['figures a share are', 226],
      ['quarters were filed more', 19],
      ['EPS of fourth quarters', 28],
      ['derived EPS have the', 3],
    ])
    const first = records(files['quarterly.csv']!, 'reports')[0]
    expect(first).toMatchObject({ ticker: 'AAPL', period_end: '2008-06-28', known: '2009-07-22', eps: 1.19 })
    expect(records(files['quarterly.csv']!, 'reports').filter(({ eps }) => eps === null)).toHaveLength(6 + 3)
  })

  it('is the EPS of a year with a split less that of its quarters: it is none', () => {
    const reports = records(files['quarterly.csv']!, 'reports')
    for (const [ticker, end] of [
      ['GOOGL', '2022-12-31'],
      ['NVDA', '2022-01-30'],
      ['NVDA', '2025-01-26'],
    ])
      expect(reports.find(report => report.ticker === ticker && report.period_end === end)).toMatchObject({ eps: null })
  })

  it('is a grade in free words: every word of the file counts, and no grade at all is left out', () => {
    const result = files['analyst_ratings.csv']!
    expect(remarked(result)).toEqual({
      'rows have no to_grade and are not loaded': 10,
      'rows have no firm and are not loaded': 1,
    })
    const words = new Set(records(result, 'grades').map(({ grade }) => String(grade)))
    expect(words.size).toBe(31)
    for (const word of words) expect(opinionOf(word), word).not.toBeNull()
    expect(records(result, 'grades')[0]).toEqual({
      ticker: 'AAPL',
      known: '2012-02-09',
      session: null,
      firm: 'Canaccord Genuity',
      grade: 'Buy',
    })
  })

  it('is a trade dated by itself: it is known two weekdays later, and only purchases and sales are trades', () => {
    const result = files['insider_trades.csv']!
    const trades = records(result, 'insiders')
    expect(trades.filter(({ side }) => side === 'sell')).toHaveLength(804)
    expect(trades.filter(({ side }) => side === 'buy')).toHaveLength(4)
    // Monday 28 August 2017.
    expect(trades).toContainEqual({
      ticker: 'AAPL',
      known: '2017-08-30',
      session: null,
      insider: 'COOK TIMOTHY D',
      side: 'sell',
      shares: 268623,
      value: 43148931,
    })
    for (const { known } of trades) expect(weekdayOf(parseDay(String(known))!)).toBeLessThan(5)
    const kind = (name: string) => `rows of kind "${name}" are no open-market trades and are not loaded`
    expect(remarked(result)).toEqual({
      'trades count as known two weekdays after their date, as no date of filing is given': 808,
      [kind('unspecified')]: 555,
      [kind('award')]: 626,
      [kind('option_exercise')]: 176,
      [kind('gift')]: 145,
      [kind('other')]: 144,
    })
  })

  it('is a count of an earlier month, known on no day: the present month alone is loaded, from its snapshot on', () => {
    const result = files['recommendation_trend.csv']!
    const apple = records(result, 'ratings').filter(({ ticker }) => ticker === 'AAPL')
    expect(apple.map(({ known }) => known)).toEqual(['2021-02-01', '2025-02-24'])
    expect(remarked(result)).toEqual({
      'counts of earlier months are not loaded: nothing tells on which day they became known': 95,
    })
  })

  it('is a sector of another scheme: it is remarked', () => {
    const securities = (name: string, symbol: string) =>
      records(files[name]!, 'securities').find(({ ticker }) => ticker === symbol)
    expect(securities('securities.csv', 'AAPL')).toMatchObject({
      name: 'Apple Inc.',
      sector: 'Information Technology',
      asset_class: null,
      market_cap: null,
    })
    expect(securities('snapshot_2024-11-22.csv', 'AAPL')).toMatchObject({
      sector: 'Electronic technology',
      market_cap: 3474674214873.9995,
    })
    const { remarks } = files['snapshot_2024-11-22.csv']!
    expect(remarks.map(({ what }) => what)).toEqual([
      'sectors are those of the screener, not GICS; they replace the sectors that were there',
    ])
    expect(files['securities.csv']!.remarks).toEqual([])
  })

  it('is an unknown market capitalisation or sector: it is null', () => {
    const securities = records(files['snapshot_2024-11-22.csv']!, 'securities')
    expect(securities.some(({ market_cap }) => market_cap === null)).toBe(true)
    expect(securities.filter(({ sector }) => sector === null)).toHaveLength(8)
    expect(securities.map(({ ticker }) => ticker)).toContain('NA')
  })
})
