import { describe, expect, it } from 'vitest'
import { readForm4 } from '../../src/feeds/facts/form4.js'
import type { FactsResult, Input, ReadOptions } from '../../src/feeds/feed.js'
import { openSource } from '../../src/feeds/source.js'
import { formatDay, parseDay } from '../../src/model/day.js'
import type { InsiderTrade } from '../../src/model/facts.js'
import { SHARED } from '../support/shared-bars.js'
import { sharedFile, written } from './files.js'

const read = async (input: Input, options: ReadOptions = {}) => readForm4(await openSource(input, undefined), options)
const load = (content: string, options: ReadOptions = {}) => read(written('f.xml', content), options)
const refusal = (content: string, options: ReadOptions = {}) =>
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
    expect(await refusal(form(trade()), { known: parseDay('2024-05-02')! })).toBe(
      'BadData f.xml:8:3: the trade is of 2024-05-03, after the day on which it became known (2024-05-02)',
    )
  })

  it('has the filing date of the submission that holds it', async () => {
    const header =
      '<SEC-DOCUMENT>0001.txt : 20240506\n<SEC-HEADER>\nFILED AS OF DATE:\t\t20240506\n</SEC-HEADER>\n<XML>\n'
    expect(trades(await load(`${header}${form(trade())}</XML>\n</SEC-DOCUMENT>\n`))).toEqual([
      '2024-05-06 Doe Jane buy 100 250',
    ])
    expect(await refusal(`${header}${form(trade({ date: '2024-5-3' }))}</XML>`)).toMatch(/^BadData f\.xml:13:3: /)
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
    expect(await refusal(form(trade(), { owners: '' }))).toBe(
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
    expect(await refusal(form(trade(), { symbol: 'None' }))).toBe(
      'BadData f.xml: the issuer has no trading symbol; give one with ticker',
    )
    expect(await refusal(form(trade(), { symbol: 'GOOG, GOOGL' }))).toBe(
      'BadData f.xml: its symbol "GOOG, GOOGL" is not 1 to 16 characters of A-Z 0-9 . - ^ =; give one with ticker',
    )
  })

  it('is told from an amendment, which is loaded with a warning', async () => {
    const result = await load(form(trade(), { type: '4/A' }))
    expect(trades(result)).toHaveLength(1)
    expect(remarks(result)[0]).toBe('1 amendments repeat trades; do not load the form that they amend as well: f.xml')
  })

  it('is refused where a trade has no calendar date', async () => {
    expect(await refusal(form(trade({ date: '2024-02-30' })))).toBe(
      'BadData f.xml:8:3: transactionDate "2024-02-30" is no calendar date as YYYY-MM-DD',
    )
    expect(await refusal(form(trade({ date: '' })))).toBe('BadData f.xml:8:3: transactionDate is empty')
  })
})

describe('XML', () => {
  it.each(['3', '5', '144'])('that is Form %s is refused', async type => {
    expect(await refusal(form(trade(), { type }))).toBe(
      `BadData f.xml: this is Form ${type}; of the SEC's forms on insiders only 4 is read`,
    )
  })

  it('of an empty form, or one beside something else, is refused', async () => {
    const sentence = 'BadData f.xml: the form is empty, or not alone in its file'
    expect(await refusal('<ownershipDocument/>')).toBe(sentence)
    expect(await refusal('<x/><ownershipDocument><documentType>4</documentType></ownershipDocument>')).toBe(sentence)
  })

  it('of another kind is refused', async () => {
    expect(await refusal('<informationTable><infoTable/></informationTable>')).toBe(
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
    expect(await refusal(content)).toMatch(sentence)
  })

  it('with entities of its own is refused', async () => {
    const bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    expect(await refusal(form(trade()).replace('<ownershipDocument>', `${bomb}<ownershipDocument>`))).toBe(
      'BadData f.xml: the XML declares a document type, which no Form 4 does',
    )
  })

  it('with Windows line ends keeps its places', async () => {
    expect(await refusal(form(trade({ date: 'x' })).replaceAll('\n', '\r\n'))).toMatch(/^BadData f\.xml:8:3: /)
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
