import { describe, expect, it } from 'vitest'
import { NotFound } from '../../src/core/errors.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { FACT_KINDS, type FactKind } from '../../src/core/model/facts.js'
import type { TickerFacts } from '../../src/data/feeds/feed.js'
import { Cache } from '../../src/data/local/cache.js'
import { type KnownFact, type KnownFacts, knownFacts } from '../../src/data/local/facts.js'
import { type SimulatedTicker, simulatedTickers } from '../../src/data/simulate/simulate.js'
import type { Store } from '../../src/data/store/store.js'
import { emptyImporter, loadedStore, openedForAll, sourced } from '../support/store.js'

const TICKERS = [...simulatedTickers({ count: 2, bars: 600, seed: 5, end: parseDay('2018-05-11')! })]
const [FIRST] = TICKERS as [SimulatedTicker]
const day = (text: string): number => parseDay(text)!

let store: Store
openedForAll(async folder => {
  store = await loadedStore(TICKERS, folder)
  return store
})

describe('what is known of a ticker', () => {
  it('is every record that was given, by kind, then date', async () => {
    const found = await asked(store)
    for (const { kind, records } of FIRST.facts) {
      const shown = found.records.filter(record => record.kind === kind)
      expect(shown, kind).toHaveLength(records.length)
      expect(found.kinds.find(summary => summary.kind === kind)?.records, kind).toBe(records.length)
      const dates = shown.map(record => record.known ?? '')
      expect(dates, kind).toEqual(dates.toSorted())
    }
    const order = found.records.map(({ kind }) => FACT_KINDS.indexOf(kind))
    expect(order).toEqual(order.toSorted((a, b) => a - b))
  })

  it('is one kind alone, when one is asked for', async () => {
    const whole = await asked(store)
    for (const kind of FACT_KINDS) {
      const found = await asked(store, { kind })
      expect(found.records).toEqual(whole.records.filter(record => record.kind === kind))
      expect(found.kinds).toEqual(whole.kinds.filter(summary => summary.kind === kind))
      expect(found.security).toEqual(whole.security)
    }
  })

  it('spans from the first to the last day on which something became known', async () => {
    for (const { kind, first_known, last_known } of (await asked(store)).kinds) {
      const dates = (await asked(store, { kind })).records.flatMap(({ known }) => known ?? [])
      expect([first_known, last_known]).toEqual([dates[0] ?? null, dates.at(-1) ?? null])
    }
  })

  it('leaves out, as of a day, what became known later, and nothing else', async () => {
    const whole = await asked(store)
    for (const asOf of ['2001-01-01', '2016-02-29', '2017-08-02', '2018-05-11']) {
      const found = await asked(store, { asOf })
      expect(found.as_of).toBe(asOf)
      expect(found.records).toEqual(whole.records.filter(({ known }) => known === null || known <= asOf))
    }
  })

  it('counts from its own day when it was known before the session, otherwise from the next', async () => {
    const importer = await emptyImporter()
    const known = day('2018-02-28')
    const counts = { strong_buy: 1, buy: 1, hold: 1, sell: 1, strong_sell: 1 }
    const records = (['pre', 'post', null] as const).map((session, i) => ({ known: known + i, session, ...counts }))
    const ratings = { ticker: 'ABC', kind: 'ratings' as const, records }
    const schedule = { ticker: 'ABC', kind: 'schedule' as const, records: [{ expected_date: known + 40, known }] }
    const splits = { ticker: 'ABC', kind: 'splits' as const, records: [{ ex_date: known, ratio: 2 }] }
    await importer.putFacts([ratings, schedule, splits], SOURCE)
    const usable = (found: KnownFacts, kind: FactKind) =>
      found.records.filter(record => record.kind === kind).map(record => record.usable_from)
    const found = await asked(importer.store, { ticker: 'ABC' })
    expect(usable(found, 'ratings')).toEqual(['2018-02-28', '2018-03-02', '2018-03-03'])
    expect(usable(found, 'schedule')).toEqual(['2018-03-01'])
    expect(usable(found, 'splits')).toEqual(['2018-02-28'])
  })

  it('has dates as text, numbers as numbers, and null for what is unknown', async () => {
    const importer = await emptyImporter()
    const records = [{ report_date: day('2018-02-01'), session: null, eps_estimate: null, eps_actual: -0.25 }]
    await importer.putFacts([{ ticker: 'ABC', kind: 'earnings', records }], SOURCE)
    const [record] = (await asked(importer.store, { ticker: 'ABC' })).records as [KnownFact]
    expect(record).toEqual({
      kind: 'earnings',
      known: '2018-02-01',
      usable_from: '2018-02-02',
      report_date: '2018-02-01',
      session: null,
      eps_estimate: null,
      eps_actual: -0.25,
      ...SOURCE,
      imported_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    })
  })

  it('names the file that each record came from', async () => {
    const importer = await emptyImporter()
    const result = (report_date: number, eps_actual: number): TickerFacts => ({
      ticker: 'ABC',
      kind: 'earnings',
      records: [{ report_date, session: 'pre', eps_estimate: 1, eps_actual }],
    })
    await importer.putFacts([result(17_000, 2)], { ...SOURCE, file: 'old.csv' })
    await importer.putFacts([result(17_500, 3)], { ...SOURCE, file: 'new.csv' })
    const files = async () => (await asked(importer.store, { ticker: 'ABC' })).kinds[0]!.files
    expect(await files()).toEqual(['old.csv', 'new.csv'])
    await importer.putFacts([result(17_000, 4)], { ...SOURCE, file: 'new.csv' })
    expect(await files()).toEqual(['new.csv'])
    expect((await asked(importer.store, { ticker: 'ABC', asOf: formatDay(17_499) })).records).toHaveLength(1)
  })
})

describe('a ticker', () => {
  it('with bars and no facts has an empty answer', async () => {
    const importer = await emptyImporter()
    await importer.put([sourced(FIRST)])
    expect(await asked(importer.store)).toMatchObject({ security: null, counted: false, kinds: [], records: [] })
  })

  it('with facts and no bars has them', async () => {
    const importer = await emptyImporter()
    await importer.putFacts(FIRST.facts, SOURCE)
    const { records, ...rest } = await asked(importer.store)
    expect(rest).toMatchObject({ counted: true, security: { asset_class: 'stock' } })
    expect(records).toHaveLength(FIRST.facts.reduce((sum, part) => sum + part.records.length, 0))
  })

  it('with neither is not found, and the nearest that has bars is named', async () => {
    const missing = asked(store, { ticker: 'SIM001' })
    await expect(missing).rejects.toThrow(NotFound)
    await expect(missing).rejects.toThrow('no bars and no facts for "SIM001". Did you mean "SIM0001"')
  })

  it('of crypto and funds has facts that no field uses', async () => {
    for (const asset_class of ['etf', 'crypto'] as const) {
      const importer = await emptyImporter()
      const given = FIRST.facts.map(facts =>
        facts.kind === 'securities'
          ? { ...facts, records: facts.records.map(record => ({ ...record, asset_class })) }
          : facts,
      )
      await importer.putFacts(given, SOURCE)
      const found = await asked(importer.store)
      expect(found).toMatchObject({ counted: false, security: { asset_class, sector: expect.any(String) } })
      expect(found.records.length).toBeGreaterThan(100)
    }
  })
})

const SOURCE = { file: 'facts.csv', format: 'made' }

function asked(
  from: Store,
  { ticker = FIRST.ticker, kind, asOf }: { ticker?: string; kind?: FactKind; asOf?: string } = {},
): Promise<KnownFacts> {
  const cache = new Cache(from, 'pro', asOf === undefined ? null : day(asOf))
  return knownFacts(cache, kind === undefined ? { ticker } : { ticker, kind })
}
