import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import type { InsiderTrade, Report } from '../../src/core/model/facts.js'
import type { FactsResult, ReadOptions } from '../../src/data/feeds/feed.js'
import { expandInputs, readFile } from '../../src/data/feeds/read.js'
import { SHARED } from '../support/bars.js'
import { temporaryFolder } from '../support/store.js'
import { factsIn as read, sharedFile, written } from './files.js'

const refusal = (content: string, name = 'X.json', options: ReadOptions = {}) =>
  read(written(name, content), options).then(
    () => 'nothing was refused',
    (error: Error) => `${error.name} ${error.message}`,
  )

const QUARTER = {
  start: '2023-01-01',
  end: '2023-03-31',
  form: '10-Q',
  filed: '2023-05-02',
  accn: '0',
  fy: 2023,
  fp: 'Q1',
}
const EPS = { ...QUARTER, val: 1.5 }
const REVENUE = { ...QUARTER, val: 900 }

/** Company facts as the SEC writes them, with these units of these concepts. */
function companyFacts(
  concepts: Record<string, Record<string, unknown[]>>,
  dei: Record<string, Record<string, unknown[]>> = {},
) {
  const labelled = (facts: typeof concepts) =>
    Object.fromEntries(
      Object.entries(facts).map(([concept, units]) => [concept, { label: 'L', description: null, units }]),
    )
  return { cik: 1640147, entityName: 'EXAMPLE, INC.', facts: { dei: labelled(dei), 'us-gaap': labelled(concepts) } }
}

const PLAIN = companyFacts({
  AccountsPayableCurrent: { USD: [{ ...REVENUE, val: 1 }] },
  EarningsPerShareDiluted: { 'USD/shares': [EPS] },
  Revenues: { USD: [REVENUE] },
})

function reportsOf(result: FactsResult): string[] {
  const found = result.facts.find(({ kind }) => kind === 'reports')?.records as readonly Report[]
  return found.map(({ period_end, known, eps, revenue, book_value_ps }) =>
    [formatDay(period_end), formatDay(known), eps, revenue, book_value_ps].map(value => value ?? '-').join(' '),
  )
}

describe('company facts of the SEC', () => {
  it('are told by their keys, in whatever order, and are of one company', async () => {
    const { cik, entityName, facts } = PLAIN
    const result = await read(written('exmp.json', JSON.stringify({ facts, entityName, cik })))
    expect(reportsOf(result)).toEqual(['2023-03-31 2023-05-02 1.5 900 -'])
    const sentence =
      'BadData X.json: these are company facts of the SEC in another form than the SEC writes them; take them as they come'
    expect(await refusal('[{"cik":1,"facts":{}}]')).toBe(sentence)
    expect(await refusal('{"facts":[1],"cik":1}')).toBe(sentence)
  })

  it('become reports and the name of the company', async () => {
    const result = await read(written('exmp.json', JSON.stringify(PLAIN)))
    expect(reportsOf(result)).toEqual(['2023-03-31 2023-05-02 1.5 900 -'])
    expect(result.facts.map(({ ticker, kind }) => [ticker, kind])).toEqual([
      ['EXMP', 'reports'],
      ['EXMP', 'securities'],
    ])
    expect(result.facts[1]!.records).toEqual([
      { name: 'EXAMPLE, INC.', sector: null, asset_class: null, market_cap: null },
    ])
    expect(result).toMatchObject({ holds: 'facts', format: 'SEC company facts', rows: 2, header: null, rejected: [] })
    expect(result.dialect).toEqual({ encoding: 'UTF-8', compression: 'none', company: 'EXAMPLE, INC.' })
  })

  it('may be compressed, and pretty', async () => {
    const result = await read(written('EXMP.json.gz', gzipSync(`\ufeff${JSON.stringify(PLAIN, null, 2)}`)))
    expect(reportsOf(result)).toEqual(['2023-03-31 2023-05-02 1.5 900 -'])
    expect(result.dialect.compression).toBe('gzip')
  })

  it('have shares on the cover in a taxonomy of their own', async () => {
    const cover = {
      EntityCommonStockSharesOutstanding: { shares: [{ ...QUARTER, start: undefined, end: '2023-04-25', val: 200 }] },
    }
    const equity = {
      StockholdersEquity: { USD: [{ ...QUARTER, start: undefined, val: 5000 }] },
      Revenues: { USD: [REVENUE] },
    }
    const result = await read(written('X.json', JSON.stringify(companyFacts(equity, cover))))
    expect(reportsOf(result)).toEqual(['2023-03-31 2023-05-02 - 900 25'])
  })

  it('say what was assumed and left out', async () => {
    const more = companyFacts({
      EarningsPerShareDiluted: { 'USD/shares': [EPS], 'EUR/shares': [EPS, EPS] },
      Revenues: { USD: [REVENUE, { ...REVENUE, form: 'DEF 14A' }] },
    })
    const { remarks } = await read(written('X.json', JSON.stringify(more)))
    expect(remarks.map(({ what, count, first }) => `${count} ${what}: ${first}`)).toEqual([
      '2 facts are in units that are not read: EarningsPerShareDiluted in EUR/shares',
      '1 facts are in filings other than reports and are not read: DEF 14A',
      '1 sessions are unknown: a report counts from the day after its filing: X',
      expect.stringContaining('figures a share are as filed'),
      expect.stringContaining('fourth quarters that no filing states are the year less its first nine months'),
    ])
  })

  it.each([
    ['companyfacts_snow.json', "the file's name (companyfacts_snow) is none"],
    ['CIK0001640147.json', "the file's name (CIK0001640147) is none"],
  ])('need a ticker when the file is called %s', async (name, why) => {
    expect(await refusal(JSON.stringify(PLAIN), name)).toBe(
      `BadData ${name}: the document names no ticker, and ${why}; give it with ticker`,
    )
    const given = await read(written(name, JSON.stringify(PLAIN)), { ticker: 'snow' })
    expect(new Set(given.facts.map(({ ticker }) => ticker))).toEqual(new Set(['SNOW']))
  })

  it('need figures of a quarter in dollars', async () => {
    const foreign = { ...PLAIN, facts: { 'ifrs-full': { Revenue: { units: { EUR: [REVENUE] } } } } }
    const sentence = 'BadData X.json: no earnings a share and no revenue of a quarter, in USD, is stated in it'
    expect(await refusal(JSON.stringify(foreign))).toBe(sentence)
    expect(await refusal('{"cik":1,"entityName":"X","facts":{}}')).toBe(sentence)
  })

  it('are refused where they are no JSON, with the place', async () => {
    const text = JSON.stringify(PLAIN, null, 1)
    expect(await refusal(text.replace('"val": 900', '"val": nine'))).toMatch(
      /^BadData X\.json:\d+:\d+: JSON does not allow "nine" here$/,
    )
    expect(await refusal(text.slice(0, text.indexOf('"Revenues"')))).toMatch(
      /^BadData X\.json:\d+:\d+: the JSON ends here, unfinished$/,
    )
    expect(await refusal(`${text}]`)).toMatch(/^BadData X\.json:\d+:1?\d?: JSON does not allow "\]" here$/)
  })

  it.each([
    ['filed', '2023-02-29'],
    ['end', '31/03/2023'],
    ['val', '900'],
    ['form', null],
  ])('are refused where a fact has a bad %s', async (key, value) => {
    const bad = companyFacts({ Revenues: { USD: [REVENUE, { ...REVENUE, [key]: value }] } })
    expect(await refusal(JSON.stringify(bad))).toContain(
      `X.json: this looks like company facts of the SEC, but facts.us-gaap.Revenues.units.USD.1.${key} is not as it should be`,
    )
  })

  it.each<[string, Record<string, unknown[]>, string]>([
    [
      'was filed before its period ended',
      { USD: [REVENUE, { ...REVENUE, end: '2023-05-31', start: '2023-03-01' }] },
      'filed 2023-05-02 is before the period ended (2023-03-01 to 2023-05-31)',
    ],
    [
      'is to be filed after tomorrow',
      { USD: [REVENUE, { ...REVENUE, filed: '2024-01-04' }] },
      'filed 2024-01-04 is yet to come, and nothing is known before its day',
    ],
    [
      'has two values in one filing',
      { USD: [REVENUE, { ...REVENUE, val: 700 }] },
      'Revenues of 2023-01-01 to 2023-03-31 is 700 here and 900 before, in one filing; take one of the two out',
    ],
  ])('are refused where a fact %s, and load without it', async (_, units, reason) => {
    const text = JSON.stringify(companyFacts({ Revenues: units }), null, 1)
    const line = text.slice(0, text.lastIndexOf(reason.startsWith('filed') ? '"filed"' : '"val"')).split('\n').length
    const today = parseDay('2024-01-02')!
    expect(await refusal(text, 'X.json', { today })).toMatch(`BadData X.json:${line}:`)
    expect(await refusal(text, 'X.json', { today })).toContain(`${reason}; skip_bad_rows loads the rest`)
    const { rejected, ...result } = await read(written('X.json', text), { today, skipBadRows: true })
    expect(rejected).toMatchObject([{ line, reason, text: JSON.stringify(units.USD![1]) }])
    expect(reportsOf({ ...result, rejected })).toEqual(['2023-03-31 2023-05-02 - 900 -'])
  })

  it('may repeat a figure in one filing, rounded, and change it in another', async () => {
    const amended = { ...REVENUE, val: 700, accn: '1', form: '10-Q/A' }
    const text = JSON.stringify(companyFacts({ Revenues: { USD: [REVENUE, { ...REVENUE, val: 900.4 }, amended] } }))
    expect(reportsOf(await read(written('X.json', text)))).toEqual(['2023-03-31 2023-05-02 - 700 -'])
  })
})

describe.skipIf(SHARED === null)('company facts of Snowflake (needs ../shared)', () => {
  const file = 'vendor-formats/sec-companyfacts_snow.json.gz'

  it('name no ticker', async () => {
    await expect(read(sharedFile(file))).rejects.toThrow(
      "sec-companyfacts_snow.json.gz: the document names no ticker, and the file's name (sec-companyfacts_snow) is none; give it with ticker",
    )
  })

  it('become reports with the figures of the filings', async () => {
    const result = await read(sharedFile(file), { ticker: 'SNOW' })
    const reports = reportsOf(result)
    expect(reports).toHaveLength(23)
    // Equity 2,408,000,000 over 333,700,000 shares on the cover of the same 10-Q, dated 2025-05-08.
    expect(reports.at(-1)).toBe(`2025-04-30 2025-05-30 -1.29 1042074000 ${2_408_000_000 / 333_700_000}`)
    // At a loss the company stated one figure, basic and diluted.
    expect(reports[1]).toMatch(/^2020-10-31 2020-12-03 -1\.01 159624000 /)
    // It went public in that quarter: -3.81 less -3.63 would be earnings of other shares.
    expect(reports.find(line => line.startsWith('2021-01-31'))).toMatch(/^2021-01-31 2021-03-31 - 190465000 /)
    // Fourth quarter of fiscal 2025: -3.86 less -2.88, and 3,626,396 less 2,639,626 thousand.
    expect(reports.find(line => line.startsWith('2025-01-31'))).toMatch(/^2025-01-31 2025-03-21 -0\.98 986770000 /)
    expect(result.facts[1]!.records).toMatchObject([{ name: 'SNOWFLAKE INC.' }])
  })
})

describe('a folder', () => {
  it('gives its XML documents too, as a glob does', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'form4'))
    for (const name of ['reports.csv', 'form4/a.xml', 'form4/b.XML', 'notes.md']) writeFileSync(join(folder, name), 'x')
    const names = async (arg: string) => (await expandInputs([arg])).map(({ name }) => name.slice(folder.length + 1))
    expect(await names(folder)).toEqual(['form4/a.xml', 'form4/b.XML', 'reports.csv'])
    expect(await names(join(folder, '**/*'))).toEqual(['form4/a.xml', 'form4/b.XML', 'reports.csv'])
    const empty = temporaryFolder()
    await expect(expandInputs([empty])).rejects.toThrow('csv, txt, tsv, json, ndjson, xml, zip or gz')
  })
})

describe('a file', () => {
  it('is told by what it holds', async () => {
    const bars = written('a.csv', 'date,open,high,low,close\n2024-01-02,1,1,1,1\n')
    const facts = written('b.csv', 'ticker,ex_date,ratio\nA,2020-08-31,4\n')
    expect(await readFile(bars, { ticker: 'A' })).toMatchObject({ holds: 'bars', format: 'csv' })
    expect(await readFile(facts)).toMatchObject({ holds: 'facts', format: 'splits csv' })
  })

  it.each([
    ['<?xml version="1.0"?>\n<note/>\n', 'this is an XML document, neither daily bars nor a Form 4 of the SEC'],
    ['<note>\n</note>\n', 'this is an XML document, neither daily bars nor a Form 4 of the SEC'],
    [
      '{"symbol":"IBM","annualReports":[]}',
      'these are statements of Alpha Vantage, which do not say when they became known; import the company facts of the SEC, or reports.csv with ticker, period_end, known, eps, revenue, book_value_ps',
    ],
  ])('of neither is refused: %j', async (text, sentence) => {
    await expect(readFile(written('X.txt', text))).rejects.toThrow(`X.txt: ${sentence}`)
  })
})

const load = (content: string, options: ReadOptions = {}) => read(written('f.xml', content), options)
const refusalOfXml = (content: string, options: ReadOptions = {}) =>
  load(content, options).then(
    () => 'nothing was refused',
    (error: Error) => `${error.name} ${error.message}`,
  )
const remarks = ({ remarks }: FactsResult) =>
  remarks.map(({ what, count, first }) => `${count} ${what}: ${first.join(' | ')}`)

function trades(result: FactsResult): string[] {
  const records = (result.facts[0]?.records ?? []) as readonly InsiderTrade[]
  return records.map(({ known, session, insider, side, shares, value }) => {
    expect(session).toBeNull()
    return `${formatDay(known)} ${insider} ${side} ${shares} ${value}`
  })
}

interface Trade {
  code?: string
  date?: string
  shares?: string
  price?: string
}

/** 2024-05-03 is a Friday. */
const trade = ({
  code = 'P',
  date = '2024-05-03',
  shares = '<value>100</value>',
  price = '<value>2.5</value>',
}: Trade = {}) => `
  <nonDerivativeTransaction>
    <transactionDate><value>${date}</value></transactionDate>
    <transactionCoding><transactionCode>${code}</transactionCode></transactionCoding>
    <transactionAmounts>
      <transactionShares>${shares}</transactionShares>
      <transactionPricePerShare>${price}<footnoteId id="F1"/></transactionPricePerShare>
    </transactionAmounts>
  </nonDerivativeTransaction>`
const owner = (name: string) =>
  `<reportingOwner><reportingOwnerId><rptOwnerName>${name}</rptOwnerName></reportingOwnerId></reportingOwner>`
const form = (
  body: string,
  { type = '4', symbol = 'abc', owners = owner('Doe Jane'), derivatives = '' } = {},
) => `<?xml version="1.0"?>
<ownershipDocument>
  <documentType>${type}</documentType>
  <periodOfReport>2024-05-03</periodOfReport>
  <issuer><issuerName>Abc &amp; Sons</issuerName><issuerTradingSymbol>${symbol}</issuerTradingSymbol></issuer>
  ${owners}
  <nonDerivativeTable>${body}</nonDerivativeTable>
  <derivativeTable>${derivatives}</derivativeTable>
  <ownerSignature><signatureDate>2024-05-04</signatureDate></ownerSignature>
</ownershipDocument>
`

describe('a Form 4', () => {
  it('gives purchases and sales, known two weekdays after the trade', async () => {
    const result = await load(
      form(trade() + trade({ code: 'S', date: '2024-05-01-05:00', shares: '<value>1,000.5</value>' })),
    )
    expect(trades(result)).toEqual(['2024-05-07 Doe Jane buy 100 250', '2024-05-03 Doe Jane sell 1000.5 2501.25'])
    expect(result.facts.map(({ ticker, kind }) => [ticker, kind])).toEqual([['ABC', 'insiders']])
    expect(result).toMatchObject({ holds: 'facts', format: 'SEC Form 4', rows: 2, header: null, rejected: [] })
    expect(result.dialect).toEqual({ encoding: 'UTF-8', compression: 'none', issuer: 'Abc & Sons' })
    expect(remarks(result)).toEqual([
      '2 trades count as known two weekdays after their date, as no date of filing is given: f.xml:8 | f.xml:16',
      '2 sessions are unknown: a trade counts from the day after it became known: f.xml:8 | f.xml:16',
    ])
  })

  it('has the filing date that the user gives, which is not before the trade', async () => {
    const result = await load(form(trade()), { known: parseDay('2024-05-03')! })
    expect(trades(result)).toEqual(['2024-05-03 Doe Jane buy 100 250'])
    expect(await refusalOfXml(form(trade()), { known: parseDay('2024-05-02')! })).toBe(
      'BadData f.xml:8:3: the trade is of 2024-05-03, after the day on which it became known (2024-05-02)',
    )
  })

  it('is of the past', async () => {
    const today = parseDay('2024-05-01')!
    expect(await refusalOfXml(form(trade()), { today })).toBe(
      'BadData f.xml:8:3: transactionDate 2024-05-03 is yet to come, and nothing is known before its day',
    )
    expect(await refusalOfXml(form(trade()), { today, known: parseDay('2024-05-03')! })).toBe(
      'InvalidParameter known 2024-05-03 is yet to come.',
    )
  })

  it('has the filing date of the submission that holds it', async () => {
    const header =
      '<SEC-DOCUMENT>0001.txt : 20240506\n<SEC-HEADER>\nFILED AS OF DATE:\t\t20240506\n</SEC-HEADER>\n<XML>\n'
    expect(trades(await load(`${header}${form(trade())}</XML>\n</SEC-DOCUMENT>\n`))).toEqual([
      '2024-05-06 Doe Jane buy 100 250',
    ])
    expect(await refusalOfXml(`${header}${form(trade({ date: '2024-5-3' }))}</XML>`)).toMatch(/^BadData f\.xml:13:3: /)
  })

  it('leaves out what is no open-market trade, and says so', async () => {
    const rows = [
      trade({ code: 'M' }),
      trade({ code: 'G' }),
      trade({ shares: '<footnoteId id="F2"/>' }),
      trade({ code: 'M' }),
    ]
    const derivatives =
      '<derivativeTransaction><transactionCoding><transactionCode>P</transactionCode></transactionCoding></derivativeTransaction>'
    const result = await load(form(rows.join(''), { derivatives }))
    expect(result.facts).toEqual([])
    expect(result.rows).toBe(5)
    expect(remarks(result)).toEqual([
      '2 transactions of code "M" are no open-market trades and are not loaded: f.xml:8 | f.xml:32',
      '1 transactions of code "G" are no open-market trades and are not loaded: f.xml:16',
      '1 purchases and sales without a number of shares are not loaded: f.xml:24',
      '1 transactions in derivatives are not loaded: f.xml:40',
    ])
  })

  it('knows no value without a price', async () => {
    const result = await load(form(trade({ price: '' })), { known: parseDay('2024-05-06')! })
    expect(trades(result)).toEqual(['2024-05-06 Doe Jane buy 100 null'])
    expect(remarks(result)[0]).toBe('1 trades have no price, so that their value is unknown: f.xml:8')
  })

  it('is one trade of several owners', async () => {
    const owners = owner('Doe  Jane') + owner('Doe &amp; Co')
    expect(trades(await load(form(trade(), { owners })))).toEqual(['2024-05-07 Doe Jane; Doe & Co buy 100 250'])
    expect(await refusalOfXml(form(trade(), { owners: '' }))).toBe(
      'BadData f.xml: no reporting owner is named in it (reportingOwner, rptOwnerName)',
    )
  })

  it('may have no trades at all', async () => {
    expect((await load(form(''))).facts).toEqual([])
  })

  it('has its ticker from the user or the issuer', async () => {
    const ticker = async (symbol: string, options?: ReadOptions) =>
      (await load(form(trade(), { symbol }), options)).facts[0]!.ticker
    expect(await ticker('brk.b')).toBe('BRK.B')
    expect(await ticker('N/A', { ticker: 'xyz' })).toBe('XYZ')
    expect(await refusalOfXml(form(trade(), { symbol: 'None' }))).toBe(
      'BadData f.xml: the issuer has no trading symbol; give one with ticker',
    )
    expect(await refusalOfXml(form(trade(), { symbol: 'GOOG, GOOGL' }))).toBe(
      'BadData f.xml: its symbol "GOOG, GOOGL" is not 1 to 16 characters of A-Z 0-9 . - ^ =; give one with ticker',
    )
  })

  it('is told from an amendment, which is loaded with a warning', async () => {
    const result = await load(form(trade(), { type: '4/A' }))
    expect(trades(result)).toHaveLength(1)
    expect(remarks(result)[0]).toBe('1 amendments repeat trades; do not load the form that they amend as well: f.xml')
  })

  it('is refused where a trade has no calendar date', async () => {
    expect(await refusalOfXml(form(trade({ date: '2024-02-30' })))).toBe(
      'BadData f.xml:8:3: transactionDate "2024-02-30" is no calendar date as YYYY-MM-DD',
    )
    expect(await refusalOfXml(form(trade({ date: '' })))).toBe('BadData f.xml:8:3: transactionDate is empty')
  })
})

describe('XML', () => {
  it.each(['3', '5', '144'])('that is Form %s is refused', async type => {
    expect(await refusalOfXml(form(trade(), { type }))).toBe(
      `BadData f.xml: this is Form ${type}; of the SEC's forms on insiders only 4 is read`,
    )
  })

  it('of an empty form, or one beside something else, is refused', async () => {
    const sentence = 'BadData f.xml: the form is empty, or not alone in its file'
    expect(await refusalOfXml('<ownershipDocument/>')).toBe(sentence)
    expect(await refusalOfXml('<x/><ownershipDocument><documentType>4</documentType></ownershipDocument>')).toBe(
      sentence,
    )
  })

  it('of another kind is refused', async () => {
    expect(await refusalOfXml('<informationTable><ownershipDocument/></informationTable>')).toBe(
      'BadData f.xml: this is an XML document (informationTable), not a Form 4 of the SEC',
    )
  })

  it.each([
    [
      form(trade()).replace('</issuer>', ''),
      /^BadData f\.xml:\d+:\d+: the XML is not well formed: Expected closing tag 'issuer'/,
    ],
    [form(trade()).slice(0, 300), /^BadData f\.xml:\d+:\d+: the XML is not well formed: /],
    ['<ownershipDocument>a & b</ownershipDocument>', /^BadData f\.xml:1:22: the XML is not well formed: /],
  ])('that is not well formed is refused with the place', async (content, sentence) => {
    expect(await refusalOfXml(content)).toMatch(sentence)
  })

  it('with entities of its own is refused', async () => {
    const bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    expect(await refusalOfXml(form(trade()).replace('<ownershipDocument>', `${bomb}<ownershipDocument>`))).toBe(
      'BadData f.xml: the XML declares a document type, which no Form 4 does',
    )
  })

  it('with Windows line ends keeps its places', async () => {
    expect(await refusalOfXml(form(trade({ date: 'x' })).replaceAll('\n', '\r\n'))).toMatch(/^BadData f\.xml:8:3: /)
  })
})

describe.skipIf(SHARED === null)('real Form 4 documents (needs ../shared)', () => {
  it('give five sales of one day', async () => {
    const result = await read(sharedFile('vendor-formats/sec-form4_snow.xml'))
    // Sold on Tuesday 2022-12-13, beside an exercise of options.
    expect(trades(result)).toEqual(
      [
        [73170, 150.841],
        [74907, 151.814],
        [41986, 152.655],
        [5496, 153.872],
        [4441, 154.76],
      ].map(([shares, price]) => `2022-12-15 Scarpelli Michael sell ${shares} ${shares! * price!}`),
    )
    expect(result.facts[0]!.ticker).toBe('SNOW')
    expect(result.rows).toBe(7)
  })

  it('give nothing where only shares are granted', async () => {
    const result = await read(sharedFile('vendor-formats/sec-form4_374water.xml'))
    expect(result.facts).toEqual([])
    expect(remarks(result)).toEqual([
      '1 transactions of code "A" are no open-market trades and are not loaded: sec-form4_374water.xml:38',
      '1 transactions in derivatives are not loaded: sec-form4_374water.xml:76',
    ])
  })
})
