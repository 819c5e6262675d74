import { gzipSync } from 'node:zlib'
import { zipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/core/model/day.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../src/core/model/facts.js'
import { readFacts, records, refused } from './files.js'

/** A full row of each kind, in the order of its columns, and the record that it is. */
const FULL: Record<FactKind, [row: string, record: Record<string, unknown>]> = {
  reports: [
    '2024-03-31,2024-05-02,post,1.53,90753000000,4.8,filed',
    {
      period_end: '2024-03-31',
      known: '2024-05-02',
      session: 'post',
      eps: 1.53,
      revenue: 90753000000,
      book_value_ps: 4.8,
      basis: 'filed',
    },
  ],
  earnings: [
    '2024-05-02,post,1.5,1.53',
    { report_date: '2024-05-02', session: 'post', eps_estimate: 1.5, eps_actual: 1.53 },
  ],
  schedule: ['2024-08-01,2024-07-08', { expected_date: '2024-08-01', known: '2024-07-08' }],
  ratings: [
    '2024-05-02,pre,7,21,14,2,0',
    { known: '2024-05-02', session: 'pre', strong_buy: 7, buy: 21, hold: 14, sell: 2, strong_sell: 0 },
  ],
  grades: [
    '2024-05-02,,Needham,Strong Buy',
    { known: '2024-05-02', session: null, firm: 'Needham', grade: 'Strong Buy' },
  ],
  insiders: [
    '2024-05-02,post,COOK TIMOTHY D,sell,1000.5,169000',
    { known: '2024-05-02', session: 'post', insider: 'COOK TIMOTHY D', side: 'sell', shares: 1000.5, value: 169000 },
  ],
  splits: ['2020-08-31,4', { ex_date: '2020-08-31', ratio: 4 }],
  securities: [
    'Information Technology,stock,3.4e12,Apple Inc.,2026-03-02,12.5,',
    {
      name: 'Apple Inc.',
      sector: 'Information Technology',
      asset_class: 'stock',
      market_cap: 3.4e12,
      delisted: '2026-03-02',
      delisting_price: 12.5,
    },
  ],
}

const headerOf = (kind: FactKind) => FACT_COLUMNS[kind].map(({ name }) => name).join(',')
const fileOf = (kind: FactKind, ...rows: string[]) =>
  `ticker,${headerOf(kind)}\n${rows.map(row => `AAPL,${row}\n`).join('')}`
const needed = (kind: FactKind) => FACT_COLUMNS[kind].filter(({ required }) => required)

describe.each(FACT_KINDS)('%s', kind => {
  const [row, record] = FULL[kind]

  it('are read from the project’s own columns', async () => {
    const result = await readFacts(fileOf(kind, row))
    expect(result).toMatchObject({ holds: 'facts', format: `${kind} csv`, rows: 1, rejected: [], remarks: [] })
    expect(result.header).toBe(`ticker,${headerOf(kind)}`)
    expect(records(result, kind)).toEqual([{ ticker: 'AAPL', ...record }])
    expect(result.facts).toHaveLength(1)
  })

  it('may have their columns in any order and case, and more of them', async () => {
    const names = headerOf(kind).split(',')
    const fields = row.split(',')
    const header = ['note', ...names.map(name => name.toUpperCase().replaceAll('_', ' ')).reverse(), 'Ticker']
    const text = `${header.join(';')}\n${['x', ...fields.toReversed(), 'aapl'].join(';')}\n`
    const result = await readFacts(text)
    expect(records(result, kind)).toEqual([{ ticker: 'AAPL', ...record }])
    expect(result.dialect).toMatchObject({ delimiter: 'semicolon', 'columns not read': 'note' })
  })

  it('need nothing but their needed columns, and a ticker that is given or stands there', async () => {
    const columns = kind === 'securities' ? [{ name: 'sector' }] : needed(kind)
    const places = columns.map(({ name }) => headerOf(kind).split(',').indexOf(name))
    const text = `${columns.map(({ name }) => name).join(',')}\n${places.map(i => row.split(',')[i]).join(',')}\n`
    const [read] = records(await readFacts(text, { ticker: 'msft' }), kind)
    const given = Object.fromEntries(columns.map(({ name }) => [name, record[name]]))
    expect(read).toMatchObject({ ticker: 'MSFT', ...given })
    const others = Object.entries(read!).filter(([name]) => name !== 'ticker' && !(name in given))
    for (const [name, value] of others) expect(value, name).toBe(name === 'basis' ? 'bars' : null)
    expect(await refused(text)).toBe('facts.csv:1: no column names the ticker; give it with ticker')
  })
})

describe('a column', () => {
  it.each(FACT_KINDS.flatMap(kind => needed(kind).map(({ name }) => [kind, name] as const)))(
    'of %s is missed by its name: %s',
    async (kind, missing) => {
      const left = FACT_COLUMNS[kind].filter(({ name }) => name !== missing)
      const text = `ticker,${left.map(({ name }) => name).join(',')}\nAAPL,${left.map(() => '1').join(',')}\n`
      const message = await refused(text)
      expect(message).toMatch(/^facts\.csv:1: /)
      expect(message).toContain(missing)
    },
  )

  it('that is misspelt is told with the word that stands there', async () => {
    expect(await refused('ticker,perod_end,known,eps\nAAPL,2024-03-31,2024-05-02,1\n')).toBe(
      'facts.csv:1: no column period_end; did you mean "perod_end"? reports need ticker, period_end, known, and may have session, eps, revenue, book_value_ps, basis',
    )
    expect(await refused('ticker,date,firm,grade\nAAPL,2024-03-31,UBS,Buy\n')).toBe(
      'facts.csv:1: no column known (give one day for all rows with known DATE); grades need ticker, known, firm, grade, and may have session',
    )
    expect(await refused('ticker,known,strong_buy,buy,hold\nAAPL,2024-03-31,1,2,3\n')).toBe(
      'facts.csv:1: no columns sell, strong_sell; ratings need ticker, known, strong_buy, buy, hold, sell, strong_sell, and may have session',
    )
  })

  it('that need not be there and is misspelt is remarked', async () => {
    const result = await readFacts('ticker,period_end,known,revenu\nAAPL,2024-03-31,2024-05-02,1\n')
    expect(result.remarks).toEqual([
      { what: 'a column of the file is not read, and its name is like revenue', count: 1, first: ['revenu'] },
    ])
    expect(records(result, 'reports')[0]).toMatchObject({ revenue: null })
  })

  it('may tell two kinds at once: then neither is read', async () => {
    expect(await refused('ticker,period_end,known,report_date,eps\nAAPL,2024-03-31,2024-05-02,2024-05-02,1\n')).toBe(
      'facts.csv:1: its columns are those of reports (period_end, known) and of earnings (report_date); one file holds one kind',
    )
  })

  it('known may be lacking when the day is given for the whole file', async () => {
    const text = 'ticker,strong_buy,buy,hold,sell,strong_sell\nAAPL,7,21,14,2,0\n'
    expect(await refused(text)).toMatch(
      /^facts\.csv:1: no column known \(give one day for all rows with known DATE\); ratings need/,
    )
    const result = await readFacts(text, { known: parseDay('2025-02-24')! })
    expect(records(result, 'ratings')[0]).toMatchObject({ known: '2025-02-24', buy: 21 })
    const told = 'ticker,known,strong_buy,buy,hold,sell,strong_sell\nAAPL,2024-01-02,7,21,14,2,0\n'
    const kept = await readFacts(told, { known: parseDay('2025-02-24')! })
    expect(records(kept, 'ratings')[0]).toMatchObject({ known: '2024-01-02' })
  })
})

describe('tables that are neither', () => {
  it.each([
    [
      'AAPL,2024-05-02,UBS,Buy\nAAPL,2024-05-03,UBS,Hold\n',
      'facts.csv:1: the first line (AAPL, 2024-05-02, UBS, Buy) is a row, and no header stands above it; give the names of the columns with header',
    ],
    ['ticker,period_end,known,eps\n', 'facts.csv: the file has a header and no rows'],
  ])('are refused: %j', async (text, message) => {
    expect(await refused(text)).toBe(message)
  })

  it('are facts of nobody here when a name says facts', async () => {
    const message = await refused('symbol,fiscalDateEnding,totalRevenue\nIBM,2024-01-02,1\n')
    expect(message).toMatch(
      /^facts\.csv:1: these look like facts in no layout that is known \(its columns are symbol, fiscalDateEnding, totalRevenue\); known are reports\.csv with ticker, period_end, known, eps, revenue, book_value_ps; earnings\.csv with ticker, report_date, eps_estimate, eps_actual; /,
    )
  })
})

describe('a row', () => {
  const LOADS = 'skip_bad_rows loads the rest'
  const DATE = 'is no calendar date as YYYY-MM-DD, which the dates of this file are'
  const SESSION = 'is not pre or post (or bmo, before, amc, after), or empty where it is unknown'
  const OTHERWISE = 'the same report with other figures'
  const NUMBER = 'is no number; it may be written as 1234.5 or 1.2345e3'

  it.each<[FactKind, string, number, string]>([
    ['reports', ',2024-05-02,post,1.53,1,1,bars', 6, 'period_end is empty; every row needs it'],
    ['reports', 'NA,2024-05-02,post,1.53,1,1,bars', 6, 'period_end is "NA"; every row needs it'],
    ['reports', '2024-02-30,2024-05-02,post,1.53,1,1,bars', 6, `period_end "2024-02-30" ${DATE}`],
    ['reports', '2024-03-31,2023-02-29,post,1.53,1,1,bars', 17, `known "2023-02-29" ${DATE}`],
    ['reports', '2024-03-31,05/02/2024,post,1.53,1,1,bars', 17, `known "05/02/2024" ${DATE}`],
    ['reports', '2024-03-31,2024-05-02,noon,1.53,1,1,bars', 28, `session "noon" ${SESSION}`],
    ['reports', '2024-03-31,2024-05-02,post,1.5.3,1,1,bars', 33, `eps "1.5.3" ${NUMBER}`],
    ['reports', '2024-03-31,2024-05-02,post,Infinity,1,1,bars', 33, `eps "Infinity" ${NUMBER}`],
    ['reports', '2024-03-31,2024-05-02,post,-1e999,1,1,bars', 33, 'eps "-1e999" is too large for a number'],
    ['reports', '2024-03-31,2024-05-02,post,1.5,1,1,diluted', 41, 'basis "diluted" is not bars or filed'],
    ['earnings', '2024-05-02,after hours,1,1', 17, `session "after hours" ${SESSION}`],
    ['earnings', '2024-05-02,post,$1.x,1', 22, `eps_estimate "$1.x" ${NUMBER}`],
    ['schedule', '2024-08-01,', 17, 'known is empty; every row needs it'],
    ['ratings', '2024-05-02,,7,2.5,14,2,0', 20, 'buy "2.5" is not a whole number, 0 or more'],
    ['ratings', '2024-05-02,,7,2,-1,2,0', 22, 'hold "-1" is not a whole number, 0 or more'],
    ['ratings', '2024-05-02,,7,2,1,2,', 26, 'strong_sell is empty; every row needs it'],
    ['ratings', '2024-05-02,,7,2,1,two,1', 24, `sell "two" ${NUMBER}`],
    ['grades', '2024-05-02,,,Buy', 18, 'firm is empty; every row needs it'],
    ['grades', '2024-05-02,,UBS,', 22, 'grade is empty; every row needs it'],
    ['insiders', '2024-05-02,,,buy,1,1', 18, 'insider is empty; every row needs it'],
    ['insiders', '2024-05-02,,A,gift,1,1', 20, 'side "gift" is not buy or sell (or purchase, sale)'],
    ['insiders', '2024-05-02,,A,buy,0,1', 24, 'shares "0" is not above 0'],
    ['insiders', '2024-05-02,,A,buy,-3,1', 24, 'shares "-3" is not above 0'],
    ['insiders', '2024-05-02,,A,buy,,1', 24, 'shares is empty; every row needs it'],
    ['insiders', '2024-05-02,,A,buy,3,-1', 26, 'value "-1" is below 0; it is money paid or received, as side says'],
    ['splits', '2020-08-31,0', 17, 'ratio "0" is not above 0'],
    ['splits', '2020-08-31,4:1', 17, `ratio "4:1" ${NUMBER}`],
    ['securities', 'Tech,bond,1,A,,,', 11, 'asset_class "bond" is not stock, crypto or etf'],
    ['securities', 'Tech,etf,0,A,,,', 15, 'market_cap "0" is not above 0'],
  ])('of %s is bad: %s', async (kind, bad, column, reason) => {
    const [good] = FULL[kind]
    const text = fileOf(kind, good, bad, good)
    expect(await refused(text)).toBe(`facts.csv:3:${column}: ${reason}; ${LOADS}`)
    const result = await readFacts(text, { skipBadRows: true })
    expect(result.rejected).toEqual([{ line: 3, column, reason, text: `AAPL,${bad}` }])
    expect(result.rows).toBe(3)
    expect(records(result, kind)).toHaveLength(2)
  })

  it('has a ticker', async () => {
    const text = 'ticker,ex_date,ratio\nAAPL,2020-08-31,4\nMOG/A,2020-08-31,4\n,2020-08-31,4\n'
    const { rejected } = await readFacts(text, { skipBadRows: true })
    expect(rejected.map(({ line, column, reason }) => [line, column, reason])).toEqual([
      [3, 1, 'ticker "MOG/A" is not 1 to 16 characters of A-Z 0-9 . - ^ ='],
      [4, 1, 'ticker is empty'],
    ])
  })

  it('is refused with the number of the others, and when no row is good', async () => {
    const text = 'ticker,ex_date,ratio\nAAPL,2020-08-31,0\nAAPL,2020-08-31,x\nAAPL,2020-08-31,4\n'
    expect(await refused(text)).toBe(`facts.csv:2:17: ratio "0" is not above 0; 1 more bad row in this file; ${LOADS}`)
    expect(await refused('ticker,ex_date,ratio\nAAPL,2020-08-31,0\n', { skipBadRows: true })).toBe(
      'facts.csv:2:17: ratio "0" is not above 0; the only row is bad, so nothing can be loaded',
    )
  })

  it('stays in its place, given twice or not', async () => {
    const rows = ['2024-05-02,,A,buy,1,1', '2024-05-01,,B,buy,1,1', '2024-05-02,,A,buy,1,1']
    const insiders = records(await readFacts(fileOf('insiders', ...rows)), 'insiders')
    expect(insiders.map(({ known, insider }) => [known, insider])).toEqual([
      ['2024-05-02', 'A'],
      ['2024-05-01', 'B'],
      ['2024-05-02', 'A'],
    ])
  })

  it('may leave what is not known empty or say so', async () => {
    const rows = ['2024-03-31,2024-05-02,,,,,', '2024-03-31,2024-05-02,NA,null,n/a,None,nan']
    for (const { session, eps, revenue, basis } of records(await readFacts(fileOf('reports', ...rows)), 'reports'))
      expect([session, eps, revenue, basis]).toEqual([null, null, null, 'bars'])
  })

  it('may say its session and side in other words', async () => {
    const sessions = ['pre', 'BMO', 'Before', 'post', 'AMC', 'after']
    const earnings = await readFacts(fileOf('earnings', ...sessions.map((word, i) => `2024-05-0${i + 1},${word},1,1`)))
    expect(records(earnings, 'earnings').map(({ session }) => session)).toEqual([
      ...['pre', 'pre', 'pre'],
      ...['post', 'post', 'post'],
    ])
    const sides = ['buy', 'Purchase', 'SELL', 'sale']
    const insiders = await readFacts(fileOf('insiders', ...sides.map(word => `2024-05-02,,A,${word},1,`)))
    expect(records(insiders, 'insiders').map(({ side }) => side)).toEqual(['buy', 'buy', 'sell', 'sell'])
  })

  it('is bad when it was known before its period ended, and not on its last day', async () => {
    const refusal = await refused(fileOf('reports', '2024-03-31,2024-03-31,,1,,,', '2024-05-02,2024-03-31,,1,,,'))
    const why = 'known 2024-03-31 is before the period ended (2024-05-02); are the dates in the wrong columns?'
    expect(refusal).toBe(`facts.csv:3:17: ${why}; ${LOADS}`)
  })

  it.each<[FactKind, string, string, string]>([
    ['reports', '2024-03-31,2024-05-02,post,1.53,,,', '2024-03-31,2024-05-02,post,1.63,,,', OTHERWISE],
    ['reports', '2024-03-31,2024-05-02,,1.53,9,,', '2024-03-31,2024-05-02,,1.53,,,', OTHERWISE],
    ['earnings', '2024-05-02,post,1.5,1.53', '2024-05-02,post,1.5,1.63', OTHERWISE],
    ['securities', ',stock,,A,,,', ',etf,,A,,,', 'the ticker another asset class'],
  ])('of %s is bad when one before it says otherwise', async (kind, one, other, what) => {
    expect(await refused(fileOf(kind, one, other))).toMatch(`facts.csv:2 gives ${what}; take one of the two rows out`)
    const { rejected } = await readFacts(fileOf(kind, one, one, other), { skipBadRows: true })
    expect(rejected.map(({ line }) => line)).toEqual([4])
  })

  it.each<[FactKind, string, string, string]>([
    ['splits', '2020-08-31,10000', '2020-09-01,10001', 'a split of 10001 to 1 is beyond reason'],
    ['splits', '2020-08-31,0.0001', '2020-09-01,0.00009', 'a split of 0.00009 to 1 is beyond reason'],
    ['ratings', '2024-05-02,,7,2,1000,2,0', '2024-05-03,,7,2,1001,2,0', 'hold "1001" is beyond reason'],
    ['schedule', '2024-08-01,2024-06-02', '2024-08-01,2024-06-03', 'known "2024-06-03" is yet to come'],
    ['earnings', '2024-08-01,,1.5,', '2024-06-03,,1.5,1.53', 'report_date 2024-06-03 is yet to come, and eps_actual'],
    ['splits', '2024-08-01,4', '2024-08-01,40000', 'a split of 40000 to 1 is beyond reason'],
  ])('of %s is bad when it tells what cannot be: %s may be, %s may not', async (kind, good, bad, why) => {
    expect(await refused(fileOf(kind, good, bad), { today: parseDay('2024-06-01')! })).toContain('facts.csv:3:')
    expect(await refused(fileOf(kind, good, bad), { today: parseDay('2024-06-01')! })).toContain(why)
  })

  it('may correct another of a later day, and be of another ticker or without a class', async () => {
    const later = ['2024-03-31,2024-05-02,,1.53,,,', '2024-03-31,2024-06-02,,1.63,,,']
    expect(records(await readFacts(fileOf('reports', ...later)), 'reports')).toHaveLength(2)
    const unknown = [',stock,,A,,,', 'Tech,,,A,,,']
    expect(records(await readFacts(fileOf('securities', ...unknown)), 'securities')).toHaveLength(2)
    const tickers = 'ticker,asset_class,sector\nA,stock,\nB,etf,\n'
    expect(records(await readFacts(tickers), 'securities')).toHaveLength(2)
  })

  it('looks odd and stays: a report at a weekend, a word that does not count', async () => {
    const weekend = await readFacts(fileOf('earnings', '2024-05-04,,1,1', '2024-05-03,,1,1'))
    expect(weekend.remarks).toEqual([
      { what: 'report dates fall on a weekend and are taken as they are', count: 1, first: ['facts.csv:2'] },
    ])
    const grades = ['Buy', 'Speculative Buy', 'speculative buy', 'Tender']
    const result = await readFacts(fileOf('grades', ...grades.map(grade => `2024-05-02,,UBS,${grade}`)))
    expect(result.remarks).toEqual([
      {
        what: 'grades are words that no list has, kept but not counted: speculative buy, tender',
        count: 3,
        first: ['facts.csv:3', 'facts.csv:4', 'facts.csv:5'],
      },
    ])
    expect(records(result, 'grades')).toHaveLength(4)
  })
})

describe('a table of facts', () => {
  const text = fileOf('reports', FULL.reports[0])
  const wanted = [{ ticker: 'AAPL', ...FULL.reports[1] }]

  it.each<[string, string | Uint8Array, Record<string, string>]>([
    [
      'with a BOM and CRLF',
      `\ufeff${text.replaceAll('\n', '\r\n')}`,
      { encoding: 'UTF-8 with BOM', 'line ends': 'CRLF' },
    ],
    ['under gzip', gzipSync(text), { compression: 'gzip' }],
    ['in a zip', zipSync({ 'reports.csv': Buffer.from(text) }), { compression: 'zip' }],
    ['with times', text.replace('2024-05-02', '2024-05-02T16:30:00Z'), { dates: 'YYYY-MM-DD' }],
    ['with dates of two forms', text.replace('2024-03-31', '03/31/2024'), { dates: 'MM/DD/YYYY, YYYY-MM-DD' }],
    ['with an index before it', text.replace(/^/gm, '0,').replace('0,ticker', ',ticker').replace(/0,$/, ''), {}],
  ])('is read %s', async (_, content, dialect) => {
    const result = await readFacts(content)
    expect(records(result, 'reports')).toEqual(wanted)
    expect(result.dialect).toMatchObject(dialect)
  })

  it('may be written by a spreadsheet with decimal commas and thousands', async () => {
    const rows = ['AAPL;31.03.2024;02.05.2024;1,53;90.753.000.000', 'AAPL;30.06.2024;01.08.2024;-1,4;85.777.000.000']
    const result = await readFacts(`ticker;period_end;known;eps;revenue\n${rows.join('\n')}\n`)
    expect(result.dialect).toMatchObject({ decimal: 'comma', dates: 'DD/MM/YYYY' })
    expect(records(result, 'reports')).toMatchObject([
      { period_end: '2024-03-31', known: '2024-05-02', eps: 1.53, revenue: 90753000000 },
      { period_end: '2024-06-30', known: '2024-08-01', eps: -1.4, revenue: 85777000000 },
    ])
  })

  it('lets a column of dates tell the order of another', async () => {
    const rows = ['AAPL,03/31/2024,05/02/2024', 'AAPL,06/30/2024,08/01/2024']
    const result = await readFacts(`ticker,period_end,known\n${rows.join('\n')}\n`)
    expect(records(result, 'reports').map(({ known }) => known)).toEqual(['2024-05-02', '2024-08-01'])
    const doubtful = 'ticker,report_date\nAAPL,05/02/2024\n'
    expect(await refused(doubtful)).toBe(
      'facts.csv:2:6: no date of the file shows whether "05/02/2024" has the month or the day first; give date_format MM/DD/YYYY or DD/MM/YYYY',
    )
    const told = await readFacts(doubtful, { hints: { dateFormat: 'DD/MM/YYYY' } })
    expect(records(told, 'earnings')[0]).toMatchObject({ report_date: '2024-02-05' })
    expect(await refused('ticker,report_date\nAAPL,soon\n')).toMatch(
      /^facts\.csv:2:6: report_date "soon" is in no known form; dates may be YYYY-MM-DD, /,
    )
  })

  it('names its ticker where none is given, and one alone where one is', async () => {
    const two = 'symbol,ex_date,ratio\nA,2020-08-31,4\nB,2020-08-31,4\n'
    expect((await readFacts(two)).facts.map(({ ticker }) => ticker)).toEqual(['A', 'B'])
    expect(await refused(two, { ticker: 'C' })).toBe(
      'facts.csv:3:1: the file has several tickers ("A", "B"); leave ticker C away to import each under its own name',
    )
    const one = await readFacts('symbol,ex_date,ratio\nMOG/A,2020-08-31,4\n', { ticker: 'mog-a' })
    expect(one.facts.map(({ ticker }) => ticker)).toEqual(['MOG-A'])
  })
})
