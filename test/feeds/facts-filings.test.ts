import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { reportsOfFilings } from '../../src/data/feeds/facts/sec.js'
import type { FiledFact } from '../../src/data/feeds/facts/sec-ledger.js'
import { SHARED } from '../support/bars.js'
import { notInQuick } from '../support/full.js'

/** What filings state, by the words for it here. */
const CONCEPTS: Record<string, [concept: string, unit: string]> = {
  EPS: ['EarningsPerShareDiluted', 'USD/shares'],
  REVENUE: ['Revenues', 'USD'],
  CONTRACTS: ['RevenueFromContractWithCustomerExcludingAssessedTax', 'USD'],
  SALES: ['SalesRevenueNet', 'USD'],
  INCOME: ['NetIncomeLoss', 'USD'],
  EQUITY: ['StockholdersEquity', 'USD'],
  DILUTED: ['WeightedAverageNumberOfDilutedSharesOutstanding', 'shares'],
  ON_BALANCE: ['CommonStockSharesOutstanding', 'shares'],
  ON_COVER: ['EntityCommonStockSharesOutstanding', 'shares'],
}
const PERIODS: Record<string, string> = {
  Q1: '2023-01-01..2023-03-31',
  Q2: '2023-04-01..2023-06-30',
  Q3: '2023-07-01..2023-09-30',
  NINE: '2023-01-01..2023-09-30',
  YEAR: '2023-01-01..2023-12-31',
}

const day = (text: string) => parseDay(text)!

/** Facts of a filing `DAY [FORM]: FACT, FACT`: what, of which period (a name of it, `START..END`, or one day), and how much. */
function filing(text: string): FiledFact[] {
  const [head, facts] = text.split(': ') as [string, string]
  const [filed, form = '10-Q'] = head.split(/ (.*)/) as [string, string?]
  return facts.split(', ').map(fact => {
    const [word, period, value] = fact.split(' ') as [string, string, string]
    const [concept, unit] = CONCEPTS[word]!
    const [start, end = null] = (PERIODS[period] ?? period).split('..')
    const from = end === null ? null : day(start!)
    return { concept, unit, start: from, end: day(end ?? start!), value: Number(value), form, filed: day(filed) }
  })
}

/** Versions as lines: quarter, day known, EPS, revenue, book value a share. */
const versions = (...filings: string[]): string[] => versionsOf(filings.flatMap(filing))

function versionsOf(facts: FiledFact[]): string[] {
  return reportsOfFilings(facts).map(({ period_end, known, eps, revenue, book_value_ps, session, basis }) => {
    expect([session, basis]).toEqual([null, 'filed'])
    return [formatDay(period_end), formatDay(known), eps, revenue, book_value_ps].map(value => value ?? '-').join(' ')
  })
}

/** What a quarter does, of which filings, and its versions. */
type Case = [what: string, filings: string[], versions: string[]]

describe('a quarter in filings', () => {
  const WHOLE = 'EPS Q1 1.6, REVENUE Q1 900, EQUITY 2023-03-31 5000, DILUTED Q1 250'

  it.each<Case>([
    [
      'is known on its filing date, with the figures that are stated',
      [`2023-05-02: ${WHOLE}`],
      ['2023-03-31 2023-05-02 1.6 900 20'],
    ],
    ['has unknown figures where none are stated', ['2023-05-02: REVENUE Q1 900'], ['2023-03-31 2023-05-02 - 900 -']],
    [
      'makes no second version when a later filing repeats it',
      ['2023-05-02: EPS Q1 1.5, REVENUE Q1 900', '2024-05-02: EPS Q1 1.5, REVENUE Q1 900'],
      ['2023-03-31 2023-05-02 1.5 900 -'],
    ],
    [
      'keeps both versions when it is restated, with what the restatement leaves out carried over',
      [`2023-05-02: ${WHOLE}`, '2023-09-01 10-Q/A: EPS Q1 1.4'],
      ['2023-03-31 2023-05-02 1.6 900 20', '2023-03-31 2023-09-01 1.4 900 20'],
    ],
    [
      'does not carry a book value over a split',
      [`2023-05-02: ${WHOLE}`, '2024-05-02: EPS Q1 0.4, REVENUE Q1 900'],
      ['2023-03-31 2023-05-02 1.6 900 20', '2023-03-31 2024-05-02 0.4 900 -'],
    ],
    [
      'has a new book value after a split when the new number of shares is stated',
      ['2023-05-02: EPS Q1 1.6, EQUITY 2023-03-31 5000, DILUTED Q1 250', '2024-05-02: EPS Q1 0.4, DILUTED Q1 1000'],
      ['2023-03-31 2023-05-02 1.6 - 20', '2023-03-31 2024-05-02 0.4 - 5'],
    ],
    [
      'takes the first name of revenue that the filing states',
      ['2023-05-02: SALES Q1 800, CONTRACTS Q1 850, REVENUE Q1 900', '2023-08-02: CONTRACTS Q2 860'],
      ['2023-03-31 2023-05-02 - 900 -', '2023-06-30 2023-08-02 - 860 -'],
    ],
    [
      'has one end though filings differ by a day or give the end of the month',
      ['2010-08-30: REVENUE 2010-05-03..2010-08-01 811', '2012-03-13 10-K: REVENUE 2010-05-01..2010-07-31 812'],
      ['2010-08-01 2010-08-30 - 811 -', '2010-08-01 2012-03-13 - 812 -'],
    ],
    [
      'has the figures of an amendment filed on the same day',
      ['2023-05-02 10-Q/A: REVENUE Q1 901', '2023-05-02: REVENUE Q1 900'],
      ['2023-03-31 2023-05-02 - 901 -'],
    ],
    ['is no half-year and no year', ['2023-08-02: REVENUE 2023-01-01..2023-06-30 1800'], []],
  ])('%s', (_, filings, wanted) => expect(versions(...filings)).toEqual(wanted))

  it('does not carry earnings a share over a split either, when only revenue is restated', () => {
    const early = ['2023-05-02: EPS Q1 1.6, REVENUE Q1 900', '2023-08-02: EPS Q2 1.8, REVENUE Q2 950']
    expect(versions(...early, '2024-08-02: EPS Q2 0.45, REVENUE Q1 901').slice(2)).toEqual([
      '2023-03-31 2024-08-02 - 901 -',
      '2023-06-30 2024-08-02 0.45 950 -',
    ])
  })

  it.each(['DEF 14A', 'S-1', '424B4', '10-K405X'])('is not read from a %s', form =>
    expect(versions(`2023-05-02 ${form}: REVENUE Q1 900`)).toEqual([]),
  )

  it.each(['10-Q', '10-Q/A', '10-K', '10-K/A', '10-KT', '8-K', '20-F', '40-F', '6-K'])('is read from a %s', form =>
    expect(versions(`2023-05-02 ${form}: REVENUE Q1 900`)).toHaveLength(1),
  )

  it('passes over figures in other units', () =>
    expect(versionsOf(filing('2023-05-02: REVENUE Q1 900').map(fact => ({ ...fact, unit: 'EUR' })))).toEqual([]))
})

describe('the shares of a book value', () => {
  const stated = (...more: string[]) =>
    versions(`2023-05-02: ${['REVENUE Q1 900', 'EQUITY 2023-03-31 6000', ...more].join(', ')}`)

  it('are those of the balance sheet before those of the cover, and those before the mean of the quarter', () => {
    const cover = 'ON_COVER 2023-04-25 240'
    const mean = 'DILUTED Q1 250'
    expect(stated(cover, mean, 'ON_BALANCE 2023-03-31 200')).toEqual(['2023-03-31 2023-05-02 - 900 30'])
    expect(stated(cover, mean)).toEqual(['2023-03-31 2023-05-02 - 900 25'])
    expect(stated(mean)).toEqual(['2023-03-31 2023-05-02 - 900 24'])
    expect(stated()).toEqual(['2023-03-31 2023-05-02 - 900 -'])
  })

  it('are not those of one class of several', () => {
    expect(stated('ON_COVER 2023-04-25 120, DILUTED Q1 250')).toEqual(['2023-03-31 2023-05-02 - 900 24'])
  })

  it('are not a number that was stated in thousands, as earnings and earnings a share tell', () => {
    const wrong = 'EPS Q1 0.5, INCOME Q1 125, DILUTED Q1 0.25'
    expect(stated(wrong)).toEqual(['2023-03-31 2023-05-02 0.5 900 -'])
  })

  it('are the mean of the year for its last quarter, where nothing better is stated', () => {
    const found = versions(
      '2023-11-02: REVENUE NINE 2700',
      '2024-02-02 10-K: REVENUE YEAR 3700, EQUITY 2023-12-31 6000, DILUTED YEAR 250',
    )
    expect(found).toEqual(['2023-12-31 2024-02-02 - 1000 24'])
  })
})

describe('the fourth quarter', () => {
  const NINE = '2023-11-02: EPS NINE 4.51, REVENUE NINE 2700'
  const THREE = ['2023-05-02: EPS Q1 1.5', '2023-08-02: EPS Q2 1.4', '2023-11-02: EPS Q3 1.6']
  const BEFORE = 'EPS 2022-01-01..2022-12-31 6'

  it.each<Case>([
    [
      'is the year less nine months, known with the later of the two',
      [NINE, '2024-02-02 10-K: EPS YEAR 6.2, REVENUE YEAR 3700'],
      ['2023-12-31 2024-02-02 1.69 1000 -'],
    ],
    [
      'is known with the nine months where those come later',
      [NINE, '2023-10-02 10-K: EPS YEAR 6.2, REVENUE YEAR 3700'],
      ['2023-12-31 2023-11-02 1.69 1000 -'],
    ],
    [
      'is what a filing states, where one does',
      ['2023-11-02: EPS NINE 4.51', '2024-02-02 10-K: EPS YEAR 6.2, EPS 2023-10-01..2023-12-31 1.7'],
      ['2023-12-31 2024-02-02 1.7 - -'],
    ],
    [
      'is taken across a change of the name of revenue',
      ['2023-11-02: CONTRACTS NINE 2700', '2024-02-02 10-K: REVENUE YEAR 3700'],
      ['2023-12-31 2024-02-02 - 1000 -'],
    ],
    [
      'is not taken across it where the names mean different things',
      [
        '2023-05-02: REVENUE Q1 900, CONTRACTS Q1 850',
        ...['2023-11-02: CONTRACTS NINE 2700', '2024-02-02 10-K: REVENUE YEAR 3700'],
      ],
      ['2023-03-31 2023-05-02 - 900 -'],
    ],
    [
      'has no earnings a share when a split lies between the nine months and the year',
      [
        `2023-02-02 10-K: ${BEFORE}, REVENUE 2022-01-01..2022-12-31 3000`,
        '2023-11-02: EPS NINE 4.5, REVENUE NINE 2700',
        '2024-02-02 10-K: EPS YEAR 1.55, REVENUE YEAR 3700, EPS 2022-01-01..2022-12-31 1.5, REVENUE 2022-01-01..2022-12-31 3000',
      ],
      ['2023-12-31 2024-02-02 - 1000 -'],
    ],
    [
      'does not mix a restated year with nine months that are not',
      [
        ...['2023-11-02: REVENUE NINE 2700', '2024-02-02 10-K: REVENUE YEAR 3700'],
        ...['2024-04-02 10-K/A: REVENUE YEAR 4300', '2024-11-02: REVENUE NINE 3100'],
        '2025-02-02 10-K: REVENUE YEAR 4300',
      ],
      ['2023-12-31 2024-02-02 - 1000 -', '2023-12-31 2025-02-02 - 1200 -'],
    ],
    [
      'has no earnings a share when the number of shares changed too much for them to add up',
      ['2023-11-02: EPS NINE -3.63, DILUTED NINE 94', '2024-02-02 10-K: EPS YEAR -3.81, DILUTED YEAR 142'],
      [],
    ],
  ])('%s', (_, filings, wanted) => expect(versions(...filings)).toEqual(wanted))

  it('is the year less three quarters where the nine months are not stated', () =>
    expect(versions(...THREE, '2024-02-02 10-K: EPS YEAR 6.2').at(-1)).toBe('2023-12-31 2024-02-02 1.7 - -'))

  it('has earnings a share when filings place the split before the nine months', () => {
    const found = versions(
      ...['2022-11-02: EPS 2022-01-01..2022-09-30 4.4', `2023-02-02 10-K: ${BEFORE}`],
      '2023-11-02: EPS NINE 1.13, EPS 2022-01-01..2022-09-30 1.1',
      '2024-02-02 10-K: EPS YEAR 1.55, EPS 2022-01-01..2022-12-31 1.5',
    )
    expect(found.filter(line => line.startsWith('2023-12-31'))).toEqual(['2023-12-31 2024-02-02 0.42 - -'])
  })
})

describe.skipIf(SHARED === null)('the filings of five companies (needs ../shared)', () => {
  const companies = SHARED === null ? new Map<string, FiledFact[]>() : sharedFacts()
  const theirs = SHARED === null ? [] : sharedQuarters()
  const reports = new Map([...companies].map(([ticker, facts]) => [ticker, reportsOfFilings(facts)]))

  /** Quarters in which the derived table differs, and why. */
  const EXCEPTIONS = new Map<string, string>([
    // The table has the day on which a 10-K stated the quarter itself a year later; by then year less nine months told it.
    ['AAPL 2009-09-26', '2009-10-27 1.82 9870000000'],
    ['NVDA 2010-01-31', '2010-03-18 0.24 982488000'],
    // One filing gives the end of the month: it is the quarter of 2010-08-01.
    ['NVDA 2010-07-31', 'none'],
    // The table puts figures of later filings under the date of the first one.
    ['GOOGL 2015-03-31', '2015-10-29 5.1 -'],
    ['GOOGL 2016-03-31', '2016-05-03 - 20257000000'],
    ['GOOGL 2016-06-30', '2016-08-04 - 21500000000'],
    ['GOOGL 2016-09-30', '2016-11-03 - 22451000000'],
    ['GOOGL 2016-12-31', '2017-02-03 - 26064000000'],
    ['GOOGL 2017-12-31', '2018-02-06 - 32323000000'],
    ['SNOW 2020-10-31', '2020-12-03 - 159624000'],
    ['SNOW 2021-04-30', '2021-06-04 - 228914000'],
    // The table subtracts quarters from before a split.
    ['GOOGL 2022-12-31', '2023-02-03 1.06 76048000000'],
    ['NVDA 2022-01-30', '2022-03-18 1.18 7643000000'],
    ['NVDA 2025-01-26', '2025-02-26 0.9 39331000000'],
  ])

  it('give the figures and dates of the table that others derived from them', () => {
    const differing: string[] = []
    for (const { ticker, end, filed, eps, revenue, derived } of theirs) {
      const key = `${ticker} ${end}`
      const ours = reports.get(ticker)!.find(({ period_end }) => formatDay(period_end) === end)
      const line = ours ? `${formatDay(ours.known)} ${ours.eps ?? '-'} ${ours.revenue ?? '-'}` : 'none'
      if (EXCEPTIONS.has(key)) expect(line, key).toBe(EXCEPTIONS.get(key))
      else if (ours === undefined || formatDay(ours.known) !== filed) differing.push(`${key}: ${line}`)
      // A difference of rounded figures is off by some hundredths, and by a million, whichever way it is taken.
      else if (Math.abs((ours.eps ?? 0) - (eps ?? 0)) > (derived ? 0.025 : 0)) differing.push(`${key}: ${line}`)
      else if ((ours.eps === null) !== (eps === null)) differing.push(`${key}: ${line}`)
      else if (Math.abs(ours.revenue! - revenue) > (derived ? 1e6 : 0)) differing.push(`${key}: ${line}`)
    }
    expect(theirs).toHaveLength(235)
    expect(differing).toEqual([])
  })

  it('give the versions of a quarter before and after a split', () => {
    expect(linesOf('AAPL', '2013-12-28')).toEqual([
      '2014-01-28 14.5 57594000000',
      '2014-10-27 2.07 57594000000',
      '2015-01-28 2.07 57594000000',
    ])
    expect(linesOf('NVDA', '2023-07-30')).toEqual(['2023-08-28 2.48 13507000000', '2024-08-28 0.25 13507000000'])
    // Earnings of the last quarter before the split are kept as they were: no filing states them anew.
    expect(linesOf('NVDA', '2024-01-28')).toEqual(['2024-02-21 4.92 22103000000'])
    expect(linesOf('NVDA', '2025-01-26')).toEqual(['2025-02-26 0.9 39331000000'])
  })

  it('give a restatement its own date', () => {
    expect(linesOf('AAPL', '2009-06-27')).toEqual(['2009-07-22 1.35 8337000000', '2010-07-21 2.01 9734000000'])
  })

  it('give book values a share: equity over diluted shares', () => {
    const book = (ticker: string, end: string) =>
      reports.get(ticker)!.find(({ period_end }) => formatDay(period_end) === end)!.book_value_ps
    expect(book('AAPL', '2020-06-27')).toBe(72_282_000_000 / 4_354_788_000)
    // The filing states 590,997 shares for net income of 137,594,000 at 0.23 a share.
    expect(book('NVDA', '2010-05-02')).toBeNull()
  })

  notInQuick('say the same up to a date, whatever is filed later', () => {
    for (const [ticker, facts] of companies) {
      const all = reports.get(ticker)!
      for (const cut of ['2010-06-30', '2014-08-01', '2020-11-30', '2022-03-20', '2024-09-30'].map(day)) {
        const then = reportsOfFilings(facts.filter(({ filed }) => filed <= cut))
        expect(then, ticker).toEqual(all.filter(({ known }) => known <= cut))
      }
    }
  })

  it('say the same in whatever order they are given', () => {
    for (const [ticker, facts] of companies) expect(reportsOfFilings(facts.toReversed())).toEqual(reports.get(ticker))
  })

  function linesOf(ticker: string, end: string): string[] {
    const versions = reports.get(ticker)!.filter(({ period_end }) => formatDay(period_end) === end)
    return versions.map(({ known, eps, revenue }) => `${formatDay(known)} ${eps} ${revenue}`)
  }
})

function linesIn(name: string): string[][] {
  const text = readFileSync(new URL(`data/fundamentals/${name}`, SHARED!), 'utf8')
  return text
    .trim()
    .split('\n')
    .slice(1)
    .map(line => line.split(','))
}

function sharedFacts(): Map<string, FiledFact[]> {
  const companies = new Map<string, FiledFact[]>()
  for (const [ticker, concept, unit, start, end, value, , , form, filed] of linesIn('sec_facts.csv')) {
    const fact = {
      concept: concept!,
      unit: unit!,
      end: day(end!),
      value: Number(value),
      form: form!,
      filed: day(filed!),
    }
    companies.set(ticker!, [...(companies.get(ticker!) ?? []), { ...fact, start: start ? day(start) : null }])
  }
  return companies
}

function sharedQuarters() {
  return linesIn('quarterly.csv').map(([ticker, , end, filed, , , revenue, , eps, derived]) => ({
    ticker: ticker!,
    end: end!,
    filed: filed!,
    revenue: Number(revenue),
    eps: eps === '' ? null : Number(eps),
    derived: derived === '1',
  }))
}
