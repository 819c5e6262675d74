import { describe, expect, it } from 'vitest'
import type { FactRecords } from '../../src/core/model/facts.js'
import { emptySeries, type Series } from '../../src/core/model/series.js'
import type { TickerFacts } from '../../src/data/feeds/feed.js'
import type { SourcedBars } from '../../src/data/load/report.js'
import { emptyImporter } from '../support/store.js'

/** Ten daily bars that any file could have. */
function series(change: (series: Series) => void = () => {}): Series {
  const bars = emptySeries('daily', 10)
  for (const [t] of bars.days.entries()) {
    bars.days[t] = 19_000 + t
    bars.open[t] = bars.close[t] = 100 + t
    bars.high[t] = 105 + t
    bars.low[t] = 95 + t
    bars.volume[t] = t === 3 ? Number.NaN : 1_000
  }
  change(bars)
  return bars
}

const given = (bars: unknown, more: object = {}) =>
  ({ ticker: 'ABC', prices: 'raw', source: 'mine', format: 'own', bars, ...more }) as SourcedBars
const changed = (change: (series: Series) => void) => given(series(change))
const TODAY = { today: 19_100 }

describe('bars of a program', () => {
  it('are stored as those of a file are, each known on its own day, under the ticker in capitals', async () => {
    const importer = await emptyImporter()
    const [report] = await importer.put([given(series(), { ticker: 'abc' })], TODAY)
    expect(report).toMatchObject({ ticker: 'ABC', added: 10, bars: 10 })
    const stored = (await importer.store.bars('ABC'))!
    expect([...stored.known]).toEqual([...stored.days])
    expect([...stored.volume].map(Number.isNaN).indexOf(true)).toBe(3)
  })

  it.each<[what: string, bars: SourcedBars, sentence: string]>([
    [
      'days that do not ascend',
      changed(({ days }) => days.reverse()),
      'mine: ABC on 2022-01-16: it follows 2022-01-17, and bars ascend by their days',
    ],
    ['a day twice', changed(({ days }) => days.fill(19_004, 4, 6)), 'ABC on 2022-01-12: it follows 2022-01-12'],
    ['a close that is NaN', changed(({ close }) => close.fill(Number.NaN, 2, 3)), 'ABC on 2022-01-10: close is'],
    [
      'a negative close',
      changed(({ close }) => close.fill(-1, 2, 3)),
      'ABC on 2022-01-10: close "-1" is not above 0, as a price must be',
    ],
    [
      'a price without end',
      changed(({ open }) => open.fill(Number.POSITIVE_INFINITY, 0, 1)),
      'ABC on 2022-01-08: open',
    ],
    ['a high below its low', changed(({ high }) => high.fill(90, 1, 2)), 'ABC on 2022-01-09: high 90 is below low 96'],
    ['a negative volume', changed(({ volume }) => volume.fill(-5, 1, 2)), 'ABC on 2022-01-09: volume "-5" is below 0'],
    ['a bar to come', changed(({ days }) => days.fill(19_102, 9)), 'ABC on 2022-04-20: date 2022-04-20 is yet to come'],
    [
      'a bar from before 1800',
      changed(({ days }) => days.fill(-70_000, 0, 1)),
      'is before 1800, and no bars are that old',
    ],
    [
      'a close before adjustment that is none',
      given({ ...series(), unadjustedClose: new Float64Array(10).fill(-1) }),
      'unadjustedClose -1 is no price',
    ],
  ])('with %s are bad data, and nothing is loaded', async (_, bars, sentence) => {
    const importer = await emptyImporter()
    const error = await importer.put([given(series(), { ticker: 'OK' }), bars], TODAY).catch(error => error)
    expect([error.code, error.message]).toEqual(['bad_data', expect.stringContaining(sentence)])
    expect(await importer.store.tickers()).toEqual([])
  })

  it.each<[what: string, bars: unknown, param: string]>([
    ['a ticker that is none', [given(series(), { ticker: '../ x' })], 'tickers[0].ticker'],
    ['a ticker twice', [given(series()), given(series(), { ticker: 'abc' })], 'tickers[1].ticker'],
    ['no bars', [given(emptySeries('daily', 0))], 'tickers[0].bars.days'],
    ['weekly bars', [given({ ...series(), timeframe: 'weekly' })], 'tickers[0].bars.timeframe'],
    ['columns of several lengths', [given({ ...series(), low: new Float64Array(9) })], 'tickers[0].bars.low'],
    ['lists in place of columns', [given({ ...series(), close: [1, 2] })], 'tickers[0].bars.close'],
    ['a day beyond every calendar', [changed(({ days }) => days.fill(2_000_000_000, 9))], 'tickers[0].bars.days[9]'],
    ['prices of another kind', [given(series(), { prices: 'split' })], 'tickers[0].prices'],
    ['no source', [given(series(), { source: '' })], 'tickers[0].source'],
    ['nothing', null, 'tickers'],
  ])('with %s are refused by the name of the argument', async (_, bars, param) => {
    const importer = await emptyImporter()
    const put = importer.put(bars as SourcedBars[], TODAY)
    await expect(put).rejects.toMatchObject({ code: 'invalid_parameter', param })
    expect(await importer.store.tickers()).toEqual([])
  })
})

describe('facts of a program', () => {
  const report = (more: Partial<FactRecords['reports']> = {}) => ({
    period_end: 18_950,
    known: 19_000,
    session: null,
    eps: 1,
    revenue: null,
    book_value_ps: null,
    basis: 'bars',
    ...more,
  })
  const ratings = { known: 19_000, session: null, strong_buy: 1, buy: 1, hold: 1, sell: 1, strong_sell: 1_001 }
  const security = { name: null, sector: null, market_cap: null }

  it.each<[what: string, kind: string, records: object[], sentence: string]>([
    ['known before its period ended', 'reports', [report({ known: 18_900 })], 'reports of ABC, record 1: '],
    [
      'given twice with other figures',
      'reports',
      [report(), report({ eps: 2 })],
      'record 1 gives the same report with other figures',
    ],
    ['known after tomorrow', 'reports', [report({ known: 19_102 })], 'known "2022-04-20" is yet to come'],
    ['a split beyond reason', 'splits', [{ ex_date: 19_000, ratio: 10_001 }], 'a split of 10001 to 1 is beyond reason'],
    [
      'of two asset classes',
      'securities',
      [
        { ...security, asset_class: 'stock' },
        { ...security, asset_class: 'etf' },
      ],
      'gives the ticker another asset class',
    ],
  ])('%s are bad data, and nothing is loaded', async (_, kind, records, sentence) => {
    const importer = await emptyImporter()
    const facts = [{ ticker: 'ABC', kind, records }] as unknown as TickerFacts[]
    const error = await importer.putFacts(facts, { file: 'mine', format: 'own' }, TODAY).catch(error => error)
    expect([error.code, error.message]).toEqual(['bad_data', expect.stringContaining(sentence)])
    expect(await importer.store.factTickers()).toEqual([])
  })

  it.each<[what: string, facts: unknown, param: string]>([
    ['a ticker that is none', [{ ticker: 'a b', kind: 'splits', records: [] }], 'facts[0].ticker'],
    ['a kind that is none', [{ ticker: 'ABC', kind: 'dividends', records: [] }], 'facts[0].kind'],
    ['a record that is none', [{ ticker: 'ABC', kind: 'splits', records: [null] }], 'facts[0].records[0]'],
    ['more analysts than there are', [{ ticker: 'ABC', kind: 'ratings', records: [ratings] }], 'strong_sell'],
  ])('with %s are refused by the name of the argument', async (_, facts, param) => {
    const importer = await emptyImporter()
    const put = importer.putFacts(facts as TickerFacts[], { file: 'mine', format: 'own' }, TODAY)
    await expect(put).rejects.toMatchObject({ code: 'invalid_parameter', param })
  })

  it('of one kind in two parts are both taken', async () => {
    const importer = await emptyImporter()
    const part = (ex_date: number) =>
      ({ ticker: 'ABC', kind: 'splits', records: [{ ex_date, ratio: 2 }] }) as TickerFacts
    const [report] = await importer.putFacts([part(18_000), part(19_000)], { file: 'mine', format: 'own' }, TODAY)
    expect(report).toMatchObject({ added: 2, records: 2 })
  })
})
