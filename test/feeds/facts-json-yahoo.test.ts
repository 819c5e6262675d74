import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type BadData, wordsAsText } from '../../src/core/errors.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { readYahooFacts } from '../../src/data/feeds/facts/yahoo.js'
import type { FactsResult, ReadOptions } from '../../src/data/feeds/feed.js'
import { SHARED } from '../support/bars.js'
import { sharedFile } from './files.js'

const KNOWN = parseDay('2025-02-01')!
const read = (root: unknown, options: ReadOptions = {}) => readYahooFacts('x.json', root, options)!
const summary = (modules: object) => ({ quoteSummary: { result: [modules], error: null } })
const refusal = (root: unknown, options: ReadOptions = {}) => {
  try {
    read(root, options)
    return 'nothing was refused'
  } catch (error) {
    return `${(error as Error).name} ${(error as Error).message}`
  }
}
const raw = (value: number) => ({ raw: value, fmt: String(value) })
const remarks = (result: FactsResult) =>
  result.remarks.map(({ what, count, first }) => `${count} ${wordsAsText(what)}: ${first.join(' | ')}`)

/** Seconds from 1970 to a time of a day, UTC. */
const at = (date: string, time = '00:00:00') => Date.parse(`${date}T${time}Z`) / 1000

/** Records with their days as text. */
function records(result: FactsResult, kind: string): object[] {
  const found = result.facts.find(facts => facts.kind === kind)?.records ?? []
  const dated = (value: unknown, key: string) =>
    /known|date|period_end/.test(key) && typeof value === 'number' ? formatDay(value) : value
  return found.map(record => Object.fromEntries(Object.entries(record).map(([key, value]) => [key, dated(value, key)])))
}

describe('the grades of Yahoo', () => {
  const grade = (epochGradeDate: unknown, firm: string | null, toGrade: string) => ({
    epochGradeDate,
    firm,
    toGrade,
    action: 'main',
  })
  const history = (rows: object[]) => summary({ upgradeDowngradeHistory: { history: rows, maxAge: 86400 } })

  it('are dated in UTC, oldest first, and keep the words of the firm', () => {
    const rows = [
      grade(at('2025-01-31', '23:59:59'), 'Citigroup', 'Buy'),
      grade(at('2025-01-31', '09:00:00'), 'Citigroup', 'Neutral'),
      grade('2025-01-30T12:00:00.000Z', 'Barclays', 'Equal-Weight'),
    ]
    const result = read(history(rows), { ticker: 'X' })
    expect(records(result, 'grades')).toEqual([
      { known: '2025-01-30', session: null, firm: 'Barclays', grade: 'Equal-Weight' },
      { known: '2025-01-31', session: null, firm: 'Citigroup', grade: 'Neutral' },
      { known: '2025-01-31', session: null, firm: 'Citigroup', grade: 'Buy' },
    ])
    expect(result).toMatchObject({ holds: 'facts', format: 'Yahoo quote summary', rows: 3, rejected: [], header: null })
    expect(remarks(result)).toEqual([
      '3 grades are dated by the day in UTC and count from the next day on: Barclays, 2025-01-30 | Citigroup, 2025-01-31',
    ])
  })

  it('are left out without a grade or a firm', () => {
    const rows = [
      grade(at('2025-01-31'), 'A', ''),
      grade(at('2025-01-30'), null, 'Buy'),
      grade(at('2025-01-29'), 'B', 'Hold'),
    ]
    const result = read(history(rows), { ticker: 'X' })
    expect(records(result, 'grades')).toHaveLength(1)
    expect(remarks(result).slice(0, 2)).toEqual([
      '1 rows have no firm and are not loaded: no firm, 2025-01-30',
      '1 rows have no toGrade and are not loaded: A, 2025-01-31',
    ])
  })

  it('are refused in another shape', () => {
    expect(refusal(history([grade('yesterday', 'A', 'Buy')]), { ticker: 'X' })).toMatch(
      /^BadData x\.json: this looks like a quote summary of Yahoo, but quoteSummary\.result\.0\.upgradeDowngradeHistory\.history\.0\.epochGradeDate is not as it should be/,
    )
  })
})

describe('the insiders of Yahoo', () => {
  const trade = (transactionText: string, shares: unknown, value?: unknown) => ({
    filerName: 'DOE JANE',
    transactionText,
    startDate: raw(at('2025-01-31')),
    shares,
    value,
  })
  const transactions = (rows: object[]) => summary({ insiderTransactions: { transactions: rows } })

  it('buy and sell by the text, known two weekdays later', () => {
    const rows = [
      trade('Sale at price 10.00 per share.', raw(100), raw(1000)),
      trade('Purchase at price 9.00 - 10.00 per share.', 50, {}),
    ]
    const result = read(transactions(rows), { ticker: 'X', known: parseDay('2025-06-01')! })
    // 2025-01-31 is a Friday.
    const record = { known: '2025-02-04', session: null, insider: 'DOE JANE' }
    expect(records(result, 'insiders')).toEqual([
      { ...record, side: 'sell', shares: 100, value: 1000 },
      { ...record, side: 'buy', shares: 50, value: null },
    ])
  })

  it('count for nothing with other deeds or without a number of shares', () => {
    const rows = [
      trade('Stock Gift at price 0.00 per share.', raw(1)),
      trade('', raw(2)),
      trade('Sale at price 1.00', {}),
    ]
    const result = read(transactions(rows), { ticker: 'X' })
    expect(result.facts).toEqual([])
    expect(remarks(result)).toEqual([
      '1 transactions such as "Stock Gift" are no purchase or sale and are not loaded: DOE JANE, 2025-01-31',
      '1 transactions without a text, mostly grants and taxes, are not loaded: DOE JANE, 2025-01-31',
      '1 purchases and sales without a number of shares are not loaded: DOE JANE, 2025-01-31',
    ])
  })
})

describe('modules of Yahoo without a date', () => {
  const month = (period: string, strongBuy: number) => ({ period, strongBuy, buy: 2, hold: 3, sell: 0, strongSell: 0 })
  const trend = { recommendationTrend: { trend: [month('0m', 1), month('-1m', 9)] } }
  const next = { earningsDate: [at('2025-05-05'), at('2025-04-30', '10:59:00')], isEarningsDateEstimate: true }
  const chart = {
    earnings: { earningsChart: { ...next, quarterly: [{ date: '1Q2024', actual: 1 }] }, financialsChart: {} },
  }

  it.each([
    ['recommendationTrend', trend],
    ['earnings', chart],
    ['calendarEvents', { calendarEvents: { earnings: next } }],
  ])('are refused without the day of the download: %s', (name, modules) => {
    expect(refusal(summary(modules), { ticker: 'X' })).toBe(
      `BadData x.json: ${name} does not say when it was fetched; give the day of the download with known DATE`,
    )
  })

  it('give the counts of this month', () => {
    const result = read(summary(trend), { ticker: 'X', known: KNOWN })
    expect(records(result, 'ratings')).toEqual([
      { known: '2025-02-01', session: null, strong_buy: 1, buy: 2, hold: 3, sell: 0, strong_sell: 0 },
    ])
    expect(remarks(result)).toEqual([
      '1 counts of earlier months are not loaded: the day they became known is missing: -1m',
    ])
  })

  it('give the first day on which a report is expected, once', () => {
    const result = read(summary({ ...chart, calendarEvents: { earnings: next } }), { ticker: 'X', known: KNOWN })
    expect(records(result, 'schedule')).toEqual([{ expected_date: '2025-04-30', known: '2025-02-01' }])
    expect(remarks(result)).toEqual([
      '1 results of past quarters are not loaded: the days of the reports are missing: 1Q2024',
      '1 the next report is expected between two days; the first is taken: 2025-04-30',
      '1 the day of the next report is an estimate of Yahoo: 2025-04-30',
    ])
  })

  it('give nothing without a day of a report', () => {
    expect(
      refusal(summary({ calendarEvents: { earnings: { earningsDate: [] } } }), { ticker: 'X', known: KNOWN }),
    ).toBe('BadData x.json: calendarEvents names no day of a next report (earningsDate)')
  })
})

describe('a quote summary of Yahoo', () => {
  const grades = { upgradeDowngradeHistory: { history: [{ epochGradeDate: 0, firm: 'A', toGrade: 'Buy' }] } }

  it('is refused for modules that are of no use, with the reason', () => {
    expect(refusal(summary({ earningsHistory: { history: [] }, earningsTrend: {} }))).toBe(
      'BadData x.json: earningsHistory gives the ends of quarters without the days of the reports, so the day they became known is missing; earningsTrend holds estimates of quarters to come, which no field uses',
    )
    expect(refusal(summary({ assetProfile: {}, constructor: {} }))).toBe(
      'BadData x.json: none of its modules (assetProfile, constructor) is read; those are upgradeDowngradeHistory, insiderTransactions, recommendationTrend, earnings, calendarEvents, earningsHistory, earningsTrend',
    )
  })

  it('is loaded without the modules that are refused', () => {
    const result = read(
      summary({ earningsTrend: {}, assetProfile: {}, recommendationTrend: { trend: [] }, ...grades }),
      { ticker: 'X' },
    )
    expect(result.facts.map(({ kind }) => kind)).toEqual(['grades'])
    expect(remarks(result).slice(0, 3)).toEqual([
      '1 earningsTrend holds estimates of quarters to come, which no field uses: earningsTrend',
      '1 modules of no field are not loaded: assetProfile',
      '1 recommendationTrend does not say when it was fetched; give the day of the download with known DATE: recommendationTrend',
    ])
  })

  it('has its ticker from the user, from a module, or from the name of the file, in this order', () => {
    const named = summary({ quoteType: { symbol: 'abc' }, ...grades })
    const tickers = (result: FactsResult | null) => result!.facts.map(({ ticker }) => ticker)
    expect(tickers(readYahooFacts('def.json', named, { ticker: 'xyz' }))).toEqual(['XYZ'])
    expect(tickers(readYahooFacts('def.json', named, {}))).toEqual(['ABC'])
    expect(tickers(readYahooFacts('folder/def.json.gz', summary(grades), {}))).toEqual(['DEF'])
    expect(() => readYahooFacts('yahoo_def.json', summary(grades), {})).toThrow(
      "yahoo_def.json: the document names no ticker, and the file's name (yahoo_def) is none; give it with ticker",
    )
    expect(() => readYahooFacts('-', summary(grades), {})).toThrow(
      '-: the document names no ticker, and standard input has no name; give it with ticker',
    )
    const remedyOf = (file: string) => {
      const read = (ticker?: string) => readYahooFacts(file, summary(grades), ticker === undefined ? {} : { ticker })
      try {
        return read()
      } catch (error) {
        const { params } = (error as BadData).remedy!
        expect(tickers(read(String(params!.ticker)))).toEqual([params!.ticker])
        return params
      }
    }
    expect(remedyOf('yahoo_def.json')).toEqual({ ticker: 'DEF' })
    expect(remedyOf('-')).toEqual({ ticker: 'AAPL' })
  })

  it('may be a message of Yahoo', () => {
    const failed = { quoteSummary: { result: null, error: { code: 'Not Found', description: 'No data found' } } }
    expect(refusal(failed)).toBe('BadData x.json: there are no facts in it, only a message of Yahoo: "No data found"')
  })

  it('is not any other document', () => {
    for (const root of [[], null, 'x', {}, { chart: {} }]) expect(readYahooFacts('x.json', root, {})).toBeNull()
    expect(refusal({ quoteSummary: [] })).toContain(
      'this looks like a quote summary of Yahoo, but quoteSummary is not as',
    )
  })
})

describe('facts of Yahoo that cannot be', () => {
  const counts = { period: '0m', strongBuy: 1, buy: 2, hold: 3, sell: 0, strongSell: 0 }
  const revenue = (value: number) => ({ asOfDate: '2024-09-30', reportedValue: raw(value) })
  const statements = (...values: number[]) => ({
    timeseries: {
      result: [
        { meta: { symbol: ['ABC'], type: ['quarterlyTotalRevenue'] }, quarterlyTotalRevenue: values.map(revenue) },
      ],
    },
  })
  const options = { ticker: 'X', known: KNOWN, today: KNOWN }

  it.each<[string, object, string]>([
    [
      'grades of days to come',
      summary({
        upgradeDowngradeHistory: { history: [{ epochGradeDate: at('2025-02-03'), firm: 'F', toGrade: 'Buy' }] },
      }),
      'epochGradeDate 2025-02-03 is yet to come, and nothing is known before its day',
    ],
    [
      'trades of days to come',
      summary({ insiderTransactions: { transactions: [{ filerName: 'A', startDate: at('2025-02-03'), shares: 1 }] } }),
      'startDate 2025-02-03 is yet to come, and nothing is known before its day',
    ],
    [
      'two counts of one month',
      summary({ recommendationTrend: { trend: [counts, { ...counts, buy: 7 }] } }),
      'recommendationTrend gives 0m twice, with other counts',
    ],
    [
      'two figures of one quarter',
      statements(100, 110),
      'quarterlyTotalRevenue of 2024-09-30 is 100 and 110; take one of the two out',
    ],
  ])('are refused: %s', (_, root, message) => {
    expect(refusal(root, options)).toBe(`BadData x.json: ${message}`)
  })

  it('are none where the same is said twice', () => {
    expect(records(read(statements(100, 100), options), 'reports')).toHaveLength(1)
    expect(read(summary({ recommendationTrend: { trend: [counts, counts] } }), options).facts).toHaveLength(1)
  })
})

describe('statements of Yahoo', () => {
  const points = (type: string, values: (number | null)[], symbol = 'ABC') => ({
    meta: { symbol: [symbol], type: [type] },
    timestamp: [],
    [type]: values.map((value, i) =>
      value === null
        ? null
        : { asOfDate: ['2024-09-30', '2024-12-31'][i], periodType: '3M', reportedValue: raw(value) },
    ),
  })
  const series = (...result: object[]) => ({ timeseries: { result, error: null } })
  const revenue = points('quarterlyTotalRevenue', [100, 110])

  it('become reports as of the day of the download', () => {
    const root = series(
      points('quarterlyStockholdersEquity', [500, 600]),
      points('quarterlyOrdinarySharesNumber', [50, null]),
      revenue,
      points('quarterlyDilutedEPS', [null, 2.4]),
      { meta: { symbol: ['ABC'], type: ['quarterlyEBITDA'] } },
    )
    const result = read(root, { known: KNOWN })
    const report = { known: '2025-02-01', session: null, basis: 'filed' }
    expect(records(result, 'reports')).toEqual([
      { ...report, period_end: '2024-09-30', eps: null, revenue: 100, book_value_ps: 10 },
      { ...report, period_end: '2024-12-31', eps: 2.4, revenue: 110, book_value_ps: null },
    ])
    expect(result.facts[0]!.ticker).toBe('ABC')
    expect(result.rows).toBe(6)
    expect(remarks(result)).toEqual([
      '2 reports count as known on the day of the download, 2025-02-01, whenever they came out: 2024-09-30 | 2024-12-31',
      '2 ends of quarters may be those of the month: load either these or filings of one ticker: 2024-09-30 | 2024-12-31',
      expect.stringContaining('2 figures a share are as filed'),
    ])
  })

  it('need the day of the download, which is not before the quarters', () => {
    expect(refusal(series(revenue))).toBe(
      'BadData x.json: the statements do not say when they became known; give the day of the download with known DATE',
    )
    expect(refusal(series(revenue), { known: parseDay('2024-12-30')! })).toBe(
      'InvalidParameter known 2024-12-30 is before the end of a quarter in the document (2024-12-31).',
    )
  })

  it('need revenue or earnings of quarters', () => {
    const none = 'it has no quarterly figures for a report (quarterlyTotalRevenue and quarterlyDilutedEPS)'
    expect(refusal(series(points('annualTotalRevenue', [1])), { known: KNOWN })).toBe(`BadData x.json: ${none}`)
    expect(refusal(series(points('quarterlyStockholdersEquity', [1])), { known: KNOWN })).toContain(
      'x.json: balance sheets are no complete report',
    )
  })

  it('are of one ticker', () => {
    expect(refusal(series(revenue, points('quarterlyDilutedEPS', [1], 'DEF')), { known: KNOWN })).toBe(
      'BadData x.json: it has statements of several tickers (ABC, DEF)',
    )
  })

  it('are refused in another shape', () => {
    const bad = {
      ...points('quarterlyTotalRevenue', []),
      quarterlyTotalRevenue: [{ asOfDate: '2024-13-01', reportedValue: 1 }],
    }
    expect(refusal(series(bad), { known: KNOWN })).toMatch(
      /^BadData x\.json: this looks like a time series of Yahoo, but timeseries\.result\.0\.quarterlyTotalRevenue\.0\.asOfDate is not as it should be/,
    )
  })
})

describe.skipIf(SHARED === null)('documents of Yahoo about Apple (needs ../shared)', () => {
  const load = (name: string, options: ReadOptions = {}) => {
    const { name: file, path } = sharedFile(`vendor-formats/yahoo-${name}.json`)
    return readYahooFacts(file, JSON.parse(readFileSync(path!, 'utf8')), { ticker: 'AAPL', ...options })!
  }

  it('hold 968 grades of firms', () => {
    const grades = records(load('quoteSummary_upgradeDowngradeHistory_aapl'), 'grades')
    expect(grades).toHaveLength(968)
    expect(grades[0]).toEqual({ known: '2012-09-12', session: null, firm: 'Hudson Square', grade: 'Buy' })
    expect(grades.at(-1)).toEqual({ known: '2025-01-31', session: null, firm: 'Citigroup', grade: 'Buy' })
  })

  it('hold 37 sales of insiders among 85 transactions', () => {
    const result = load('quoteSummary_insiderTransactions_aapl')
    expect(result.rows).toBe(85)
    const trades = records(result, 'insiders')
    expect(trades).toHaveLength(37)
    // Sold on Monday 2025-02-03.
    expect(trades[0]).toEqual({
      known: '2025-02-05',
      session: null,
      insider: 'LEVINSON ARTHUR D',
      side: 'sell',
      shares: 1516,
      value: 343147,
    })
    expect(remarks(result).filter(remark => /^(40|8) transactions/.test(remark))).toHaveLength(2)
  })

  it('hold counts of ratings and the next report', () => {
    expect(records(load('quoteSummary_recommendationTrend_aapl', { known: KNOWN }), 'ratings')).toEqual([
      { known: '2025-02-01', session: null, strong_buy: 7, buy: 21, hold: 14, sell: 2, strong_sell: 2 },
    ])
    expect(records(load('quoteSummary_earnings_aapl', { known: KNOWN }), 'schedule')).toEqual([
      { expected_date: '2025-04-30', known: '2025-02-01' },
    ])
  })

  it('hold four quarters', () => {
    const result = load('fundamentalsTimeSeries_aapl_financials_quarterly', { known: KNOWN })
    expect(records(result, 'reports').map(record => Object.values(record).slice(0, 5))).toEqual([
      ['2024-03-31', '2025-02-01', null, 1.53, 90_753_000_000],
      ['2024-06-30', '2025-02-01', null, 1.4, 85_777_000_000],
      ['2024-09-30', '2025-02-01', null, 0.97, 94_930_000_000],
      ['2024-12-31', '2025-02-01', null, 2.4, 124_300_000_000],
    ])
  })
})
