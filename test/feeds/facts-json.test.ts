import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { isCompanyFacts, readCompanyFacts } from '../../src/feeds/facts/company-facts.js'
import type { FactsResult, Input, ReadOptions } from '../../src/feeds/feed.js'
import { openSource } from '../../src/feeds/source.js'
import { formatDay } from '../../src/model/day.js'
import type { Report } from '../../src/model/facts.js'
import { SHARED } from '../support/shared-bars.js'
import { sharedFile, written } from './files.js'

const read = async (input: Input, options: ReadOptions = {}) =>
  readCompanyFacts(await openSource(input, undefined), options)
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
  it('are told by their first keys', () => {
    expect(isCompanyFacts(JSON.stringify(PLAIN).slice(0, 4096))).toBe(true)
    expect(isCompanyFacts(`\ufeff${JSON.stringify(PLAIN, null, 2)}`.slice(0, 4096))).toBe(true)
    expect(isCompanyFacts('[{"cik":1,"facts":{}}]')).toBe(false)
    expect(isCompanyFacts('{"facts":[1],"cik":1}')).toBe(false)
    expect(isCompanyFacts('{"chart":{"result":[]}}')).toBe(false)
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
      '1 facts stand in filings other than reports and are not read: DEF 14A',
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

  it('tell how far the reading is', async () => {
    const bytes: number[] = []
    const input = written('X.json', JSON.stringify(PLAIN))
    await read(input, { onProgress: progress => bytes.push(progress.bytes) })
    expect(bytes.at(-1)).toBe(input.bytes)
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
