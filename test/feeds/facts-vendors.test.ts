import { describe, expect, it } from 'vitest'
import { wordsAsText } from '../../src/core/errors.js'
import { readFacts, records, refused, remarked } from './files.js'

describe('earnings events', () => {
  const header = 'ticker,report_date,fiscal_period_end_month,eps_estimate,eps_actual,release_time'

  it('have the hour of release as session', async () => {
    const text = `${header}\nA,2012-11-19,2012-10,0.8,0.84,post\nA,2013-02-14,,,-0.63,pre\nA,2013-05-14,,1,2,\n`
    const result = await readFacts(text)
    expect(result.format).toBe('earnings events csv')
    expect(records(result, 'earnings')).toEqual([
      { ticker: 'A', report_date: '2012-11-19', session: 'post', eps_estimate: 0.8, eps_actual: 0.84 },
      { ticker: 'A', report_date: '2013-02-14', session: 'pre', eps_estimate: null, eps_actual: -0.63 },
      { ticker: 'A', report_date: '2013-05-14', session: null, eps_estimate: 1, eps_actual: 2 },
    ])
  })

  it('are refused at a bad hour, by the name of the file’s own column', async () => {
    expect(await refused(`${header}\nA,2012-11-19,,1,1,noon\nA,2012-11-20,,1,1,pre\n`)).toMatch(
      /^facts\.csv:2:19: release_time "noon" is not pre or post/,
    )
  })
})

describe('quarterly figures', () => {
  const header = 'ticker,period_start,period_end,filed,form,days_to_file,revenue,net_income,eps_diluted,q4_derived'

  it('are known when they are filed, in figures of that day', async () => {
    const text = `${header}\nAAPL,2014-01-01,2014-03-29,2014-04-24,10-Q,26,45646000000,1,11.62,0\n`
    const result = await readFacts(text)
    expect(records(result, 'reports')).toEqual([
      {
        ticker: 'AAPL',
        period_end: '2014-03-29',
        known: '2014-04-24',
        session: null,
        eps: 11.62,
        revenue: 45646000000,
        book_value_ps: null,
        basis: 'filed',
      },
    ])
  })

  it('tell late and derived ones, without the columns that say so too', async () => {
    const rows = [
      'AAPL,,2008-06-28,2009-07-22,10-Q,389,1,,1.19,0',
      'AAPL,,2008-06-28,2008-07-22,10-K,24,1,,,1',
      'AAPL,,2008-09-27,2008-10-22,10-K,25,1,,2,1',
    ]
    const [asFiled, late, derived] = (await readFacts(`${header}\n${rows.join('\n')}\n`)).remarks
    expect([asFiled!.count, late!.count, derived!.count]).toEqual([2, 1, 1])
    expect([late!.first, derived!.first]).toEqual([['facts.csv:2'], ['facts.csv:4']])
    const short = 'ticker,period_end,filed,eps_diluted\nAAPL,2008-06-28,2009-07-22,1.19\n'
    expect((await readFacts(short)).remarks.map(({ count }) => count)).toEqual([1, 1])
  })
})

describe('EPS derived across a split', () => {
  const header = 'ticker,period_end,filed,revenue,net_income,eps_diluted,q4_derived'
  const epsOf = async (row: string) => {
    const result = await readFacts(`${header}\nX,2022-12-31,2023-02-03,76048000000,${row}\n`)
    const contradicted = result.remarks.some(({ what }) =>
      wordsAsText(what).startsWith('derived EPS have the other sign'),
    )
    return [records(result, 'reports')[0]!.eps, contradicted]
  }

  it('are not those of the quarter when their sign is not that of net income', async () => {
    expect(await epsOf('13624000000,-22.33,1')).toEqual([null, true])
    expect(await epsOf('-140961000,0.25,1')).toEqual([null, true])
  })

  it('stay where they are stated, agree, or are off by rounding alone', async () => {
    expect(await epsOf('13624000000,-22.33,0')).toEqual([-22.33, false])
    expect(await epsOf('-13624000000,-22.33,1')).toEqual([-22.33, false])
    expect(await epsOf('1000,-0.01,1')).toEqual([-0.01, false])
    expect(await epsOf(',-22.33,1')).toEqual([-22.33, false])
  })
})

describe('SEC facts', () => {
  const header = 'ticker,concept,unit,start,end,value,filing_fy,filing_fp,form,filed,accession,frame'
  const fact = (concept: string, unit: string, value: string, form = '10-Q') =>
    `SNOW,${concept},${unit},2024-02-01,2024-04-30,${value},2025,Q1,${form},2024-05-31,x,`

  it('become reports, and what is left out is remarked', async () => {
    const rows = [
      fact('EarningsPerShareDiluted', 'USD/shares', '-0.95'),
      fact('Revenues', 'USD', '828709000'),
      fact('GrossProfit', 'USD', '1'),
      fact('Revenues', 'USD', '1', 'DEF 14A'),
    ]
    const result = await readFacts(`${header}\n${rows.join('\n')}\n`)
    expect(result).toMatchObject({ format: 'SEC facts csv', rows: 4 })
    expect(records(result, 'reports')).toMatchObject([
      { ticker: 'SNOW', period_end: '2024-04-30', known: '2024-05-31', eps: -0.95, revenue: 828709000, basis: 'filed' },
    ])
    expect(remarked(result)).toMatchObject({
      'facts are of concepts that no report is made of': 1,
      'facts are in filings other than reports and are not read': 1,
    })
  })

  it('are refused without a value', async () => {
    const rows = [fact('Revenues', 'USD', ''), fact('Revenues', 'USD', '1')]
    expect(await refused(`${header}\n${rows.join('\n')}\n`)).toMatch(
      /^facts\.csv:2:41: value is empty; every row needs it/,
    )
  })
})

describe('analyst ratings', () => {
  const header = 'ticker,date,datetime_utc,firm,action,from_grade,to_grade,snapshot'

  it('stand in the order of their times, ties in that of the file', async () => {
    const rows = [
      'A,2024-01-03,2024-01-03T10:00:00Z,UBS,up,Hold,Buy,x',
      'A,2024-01-02,2024-01-02T10:00:00Z,UBS,init,,Hold,x',
      'A,2024-01-03,2024-01-03T09:00:00Z,UBS,up,Hold,Neutral,x',
      'A,2024-01-03,2024-01-03T10:00:00Z,UBS,up,Hold,Sell,x',
    ]
    const grades = records(await readFacts(`${header}\n${rows.join('\n')}\n`), 'grades')
    expect(grades.map(({ known, grade }) => [known, grade])).toEqual([
      ['2024-01-02', 'Hold'],
      ['2024-01-03', 'Neutral'],
      ['2024-01-03', 'Buy'],
      ['2024-01-03', 'Sell'],
    ])
  })

  it('without a grade or a firm are left out; in words that do not count they stay, and are told', async () => {
    const rows = [
      'A,2024-01-02,,UBS,main,,,x',
      'A,2024-01-02,,,main,,Buy,x',
      'A,2024-01-02,,UBS,main,,Speculative Buy,x',
      'A,2024-01-03,,UBS,main,,BUY,x',
    ]
    const result = await readFacts(`${header}\n${rows.join('\n')}\n`)
    expect(records(result, 'grades').map(({ grade }) => grade)).toEqual(['Speculative Buy', 'BUY'])
    expect(result.remarks).toEqual([
      { what: 'rows have no to_grade and are not loaded', count: 1, first: ['facts.csv:2'] },
      { what: 'rows have no firm and are not loaded', count: 1, first: ['facts.csv:3'] },
      {
        what: 'grades are words that no list has, kept but not counted: speculative buy',
        count: 1,
        first: ['facts.csv:4'],
      },
    ])
  })
})

describe('a recommendation trend', () => {
  it('loads the present month alone', async () => {
    const header = 'ticker,snapshot,period,strong_buy,buy,hold,sell,strong_sell'
    const text = `${header}\nA,2021-02-01,-1m,1,1,1,1,1\nA,2021-02-01,0m,11,19,8,1,0\n`
    const result = await readFacts(text)
    expect(records(result, 'ratings')).toEqual([
      { ticker: 'A', known: '2021-02-01', session: null, strong_buy: 11, buy: 19, hold: 8, sell: 1, strong_sell: 0 },
    ])
    expect(result.remarks).toMatchObject([{ count: 1, first: ['facts.csv:2'] }])
  })
})

describe('insider trades', () => {
  const header = 'ticker,transaction_date,filer,relation,kind,shares,value,ownership,text,snapshot'

  it('are purchases and sales with a number of shares, known two weekdays later', async () => {
    const rows = [
      'A,2024-05-02,X,CEO,sale,100,5000,D,,x',
      'A,2024-05-03,X,CEO,purchase,10,,D,,x',
      'A,2024-05-03,X,CEO,gift,10,,D,,x',
      'A,2024-05-03,X,CEO,purchase,,500,D,,x',
      'A,2024-05-03,X,CEO,sale,0,0,D,,x',
    ]
    const result = await readFacts(`${header}\n${rows.join('\n')}\n`)
    const trade = { ticker: 'A', session: null, insider: 'X' }
    expect(records(result, 'insiders')).toEqual([
      { ...trade, known: '2024-05-06', side: 'sell', shares: 100, value: 5000 },
      { ...trade, known: '2024-05-07', side: 'buy', shares: 10, value: null },
    ])
    expect(remarked(result)).toEqual({
      'trades count as known two weekdays after their date, as no date of filing is given': 2,
      'rows of kind "gift" are no open-market trades and are not loaded': 1,
      'purchases and sales without a number of shares are not loaded': 2,
    })
  })

  it('are refused at shares that are no number, whatever the kind', async () => {
    const rows = ['A,2024-05-02,X,CEO,gift,some,,D,,x', 'A,2024-05-02,X,CEO,sale,1,1,D,,x']
    expect(await refused(`${header}\n${rows.join('\n')}\n`)).toMatch(/^facts\.csv:2:25: shares "some" is no number/)
  })
})

describe('corporate actions', () => {
  it('are splits; dividends are left out, and nothing else is known', async () => {
    const header = 'ticker,ex_date,type,value,source'
    const text = `${header}\nAIG,2009-07-01,split,0.05,x\nAIG,2009-08-01,dividend,0.32,x\n`
    const result = await readFacts(text)
    expect(records(result, 'splits')).toEqual([{ ticker: 'AIG', ex_date: '2009-07-01', ratio: 0.05 }])
    expect(remarked(result)).toEqual({ 'dividends are not used and not loaded': 1 })
    expect(await refused(`${text}AIG,2010-01-01,spinoff,1,x\n`)).toMatch(
      /^facts\.csv:4:16: type "spinoff" is not split or dividend/,
    )
  })

  it('may leave nothing to load, which is no fault', async () => {
    const result = await readFacts('ticker,ex_date,type,value\nAIG,2009-08-01,dividend,0.32\n')
    expect(result).toMatchObject({ rows: 1, facts: [], rejected: [] })
  })
})

describe('securities', () => {
  it('are taken from an index and from a screener, whose sectors are remarked', async () => {
    const index = await readFacts('ticker,name,gics_sector,cik\nA,"Agilent, Inc",Health Care,1\n')
    expect(records(index, 'securities')).toEqual([
      { ticker: 'A', name: 'Agilent, Inc', sector: 'Health Care', asset_class: null, market_cap: null },
    ])
    const header = 'ticker,name,exchange,sector,industry,analyst_rating,price,volume,market_cap,pe'
    const screener = await readFacts(`${header}\nNVDA,NVIDIA,NASDAQ,Electronics,,Buy,1,1,3.4e12,50\nX,Y,Z,,,,,,,\n`)
    expect(records(screener, 'securities')).toEqual([
      { ticker: 'NVDA', name: 'NVIDIA', sector: 'Electronics', asset_class: null, market_cap: 3.4e12 },
      { ticker: 'X', name: 'Y', sector: null, asset_class: null, market_cap: null },
    ])
    expect(screener.remarks).toMatchObject([{ count: 1, first: ['facts.csv:2'] }])
  })
})

describe('tables that cannot be dated facts', () => {
  it.each([
    ['ticker,period_end,for_year,revenue,eps\nA,2012-12-31,2012,1,1\n', 'these are annual figures'],
    ['ticker,quarter_end,eps_estimate,eps_actual\nA,2020-03-31,1,1\n', 'these are estimates and results by quarter'],
    ['ticker,date,market_cap,enterprise_value,pe\nA,2020-03-31,1,1,1\n', "these are a vendor's own daily ratios"],
    ['date,marketCap,enterpriseVal,peRatio\n2020-03-31,1,1,1\n', "these are a vendor's own daily ratios"],
  ])('are refused with what to do instead: %j', async (text, start) => {
    const message = await refused(text)
    expect(message).toContain(`facts.csv:1: ${start}`)
    expect(message).toMatch(/import/)
  })
})

describe('splits of Polygon', () => {
  const document = (...results: unknown[]) => JSON.stringify({ results, status: 'OK' }, null, 2)
  const split = { execution_date: '2022-05-20', split_from: 2, split_to: 1, ticker: 'brw' }

  it('are new shares for each old one', async () => {
    const result = await readFacts(document({ ...split, split_from: 1, split_to: 20, ticker: 'GOOGL' }, split))
    expect(result).toMatchObject({ holds: 'facts', format: 'polygon splits', rows: 2, header: null, remarks: [] })
    expect(records(result, 'splits')).toEqual([
      { ticker: 'BRW', ex_date: '2022-05-20', ratio: 0.5 },
      { ticker: 'GOOGL', ex_date: '2022-05-20', ratio: 20 },
    ])
    expect(records(await readFacts(JSON.stringify([split])), 'splits')).toHaveLength(1)
  })

  it.each([
    [{ execution_date: '2022-02-30' }, '5:25', 'execution_date "2022-02-30" is no calendar date as YYYY-MM-DD'],
    [{ split_from: 0 }, '6:21', 'split_from 0 is not a number above 0'],
    [{ split_to: '3' }, '7:19', 'split_to "3" is not a number above 0'],
    [{ ticker: 'A/B' }, '8:17', 'ticker "A/B" is not 1 to 16 characters'],
  ])('are refused with their place: %j', async (fault, place, reason) => {
    const text = document({ ...split, ...fault }, split).replace('"results"', '\n"results"')
    expect(await refused(text)).toMatch(new RegExp(`^facts\\.csv:${place}: ${reason.replaceAll('.', '\\.')}`))
    const { rejected, facts } = await readFacts(text, { skipBadRows: true })
    expect(rejected.map(row => row.text)).toEqual([JSON.stringify({ ...split, ...fault })])
    expect(facts).toHaveLength(1)
  })

  it('may be more than one page, and are of one ticker where one is given', async () => {
    const paged = await readFacts(JSON.stringify({ results: [split], next_url: 'https://x' }), { ticker: 'y' })
    expect(remarked(paged)).toEqual({ 'the answer has more pages, which are not in this file': 1 })
    expect(paged.facts.map(({ ticker }) => ticker)).toEqual(['Y'])
    expect(await refused(document(split, { ...split, ticker: 'C' }), { ticker: 'y' })).toBe(
      'facts.csv: the file has several tickers ("brw", "C"); leave ticker Y away to import each under its own name',
    )
  })
})
