import { describe, expect, it } from 'vitest'
import type { Field } from '../../src/core/fields/field.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/core/model/definitions.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/core/model/terms.js'
import { Random } from '../../src/core/statistics/random.js'
import { Cache } from '../../src/data/local/cache.js'
import { checkLookahead } from '../../src/data/local/check.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { seriesOf } from '../support/convert.js'
import { notInQuick } from '../support/full.js'
import { pick } from '../support/random-facts.js'
import { cacheOf, emptyImporter, loadedStore, openedForAll, recordOf, sourced } from '../support/store.js'

/** Seven tickers of one sector, so that each has peers. */
const SIMULATED = [...simulatedTickers({ count: 7, bars: 1_000, seed: 11, end: parseDay('2024-06-28')! })]
const TICKERS = SIMULATED.map(({ ticker }) => ticker)
const WHOLE = { tickers: TICKERS, fields: BUILT_IN_FIELDS.names, timeframe: 'daily', cuts: 6, seed: 1 } as const
const RSI = { ...WHOLE, tickers: TICKERS.slice(0, 2), fields: ['rsi_zone'] }

let cache: Cache
openedForAll(async folder => {
  const store = await loadedStore(SIMULATED, folder)
  cache = new Cache(store, 'pro', null)
  return store
})

describe('the look-ahead check', () => {
  it.each(TIMEFRAME_NAMES)('%s, finds nothing in any of the 21 fields, and says what it compared', async timeframe => {
    const found = await checkLookahead(cache, { ...WHOLE, timeframe })
    expect(found.differences).toEqual([])
    expect(found.passed).toBe(true)
    expect(found.cuts).toHaveLength(6)
    expect(found.aftermath.compared).toBeGreaterThan(1_000)
    expect(found.fields.filter(({ events }) => events > 20).length).toBeGreaterThan(timeframe === 'daily' ? 18 : 8)
    for (const { field, series, bars, differences } of found.fields) {
      expect([field, series, differences]).toEqual([field, 6 * TICKERS.length, 0])
      expect(bars).toBeGreaterThan(1_000)
    }
  })

  notInQuick(
    'finds nothing where figures as filed meet bars that are adjusted for a later split, or are not',
    async () => {
      const random = new Random(2)
      const importer = await emptyImporter()
      await importer.put(SIMULATED.map(sourced))
      const split = (ticker: string) => {
        const ex_date = parseDay('2022-06-01')! + random.below(500)
        return { ticker, kind: 'splits' as const, records: [{ ex_date, ratio: pick(random, [2, 3, 7, 0.1]) }] }
      }
      const facts = SIMULATED.flatMap(({ ticker, facts }) => [
        split(ticker),
        ...facts.map(part =>
          part.kind === 'reports'
            ? { ...part, records: part.records.map(record => ({ ...record, basis: 'filed' as const })) }
            : part,
        ),
      ])
      await importer.putFacts(facts, { file: 'facts', format: 'made' })
      const split21 = new Cache(importer.store, 'pro', null)
      for (const timeframe of TIMEFRAME_NAMES) {
        const found = await checkLookahead(split21, { ...WHOLE, timeframe, cuts: 12 })
        expect(found.differences).toEqual([])
      }
      await importer.close()
    },
  )

  const rsi = BUILT_IN_FIELDS.named('rsi_zone')!
  it.each<[string, Field['classify']]>([
    ['peeks one bar ahead', panel => rsi.classify(panel).map((_, t, codes) => codes[t + 1] ?? UNDEFINED)],
    [
      'takes ranks in the whole history',
      panel => {
        const natr = panel.natr()
        const all = natr.filter(value => !Number.isNaN(value)).sort()
        return Uint8Array.from(natr, value =>
          Number.isNaN(value) ? UNDEFINED : Number(value >= all[all.length >> 1]!),
        )
      },
    ],
  ])('catches a field that %s', async (what, classify) => {
    const { passed, differences, fields } = await checkLookahead(cache, RSI, { field: () => ({ ...rsi, classify }) })
    expect(passed).toBe(false)
    expect(fields[0]!.differences).toBeGreaterThanOrEqual(differences.length)
    const [first] = differences
    expect(first).toMatchObject({ field: 'rsi_zone', what: 'band' })
    // The last bar up to a cut is the only one of which the cut-off data do not know the next.
    if (what === 'peeks one bar ahead') expect(first).toMatchObject({ cut: first!.date, cut_off: null })
  })

  it('catches events, stability and aftermath in the store that its bars do not give', async () => {
    const series = SIMULATED[0]!.bars
    const own = await cacheOf([{ ticker: 'OWN', series }])
    const query = { ...RSI, tickers: ['OWN'], cuts: 3 }
    expect((await checkLookahead(own, query)).passed).toBe(true)
    const record = recordOf({ ticker: 'OWN', series })
    const { fields, outcomes } = record.daily
    const rsi = fields.get('rsi_zone')!
    const faults = {
      event: { ...rsi, bands: rsi.bands.map((band, i) => (i === 0 ? (band === 0 ? 1 : band - 1) : band)) },
      stability: { ...rsi, flips: rsi.flips.map((flips, i) => (i === 0 ? flips + 1 : flips)) },
    }
    const write = async (daily: typeof record.daily) =>
      own.store.write({ records: [{ ...record, daily }] }, DEFINITIONS_VERSION)
    for (const [what, fault] of Object.entries(faults)) {
      await write({ ...record.daily, fields: new Map([...fields, ['rsi_zone', fault]]) })
      const found = await checkLookahead(own, query)
      expect(found.passed).toBe(false)
      expect(found.differences.map(({ what }) => what)).toContain(what)
    }
    // Returns are made of the closes; kept are the ranks.
    const ranks = outcomes.ranks.map((column, w) => (w === 0 ? column.map(rank => Math.max(-1, rank - 1)) : column))
    await write({ ...record.daily, outcomes: { ...outcomes, ranks } })
    const found = await checkLookahead(own, query)
    expect(found.aftermath.differences).toBeGreaterThan(0)
    expect(found.differences[0]).toMatchObject({ field: null, what: 'aftermath' })
    expect(found.differences.length).toBeLessThanOrEqual(100)
  })

  it('gives the same bytes for the same seed, whatever the order of tickers, and other days for another', async () => {
    const text = async (query: typeof RSI) => JSON.stringify(await checkLookahead(cache, query))
    expect(await text({ ...RSI, tickers: RSI.tickers.toReversed() })).toBe(await text(RSI))
    expect((await checkLookahead(cache, { ...RSI, seed: 2 })).cuts).not.toEqual((await checkLookahead(cache, RSI)).cuts)
  })

  it('stays within the as-of day, and says of whom it had nothing to compare', async () => {
    const late = {
      ticker: 'LATE',
      series: seriesOf([{ date: '2024-07-01', open: 1, high: 1, low: 1, close: 1, volume: 1 }]),
    }
    const own = await cacheOf([{ ticker: 'OWN', series: SIMULATED[0]!.bars }, late])
    const query = { ...RSI, tickers: ['OWN', 'LATE'] }
    const { skipped } = await checkLookahead(own, query)
    expect(skipped).toEqual([{ ticker: 'LATE', reason: 'its bars begin after every cut' }])
    const then = await checkLookahead(new Cache(own.store, 'pro', parseDay('2022-01-03')), query)
    expect(then.cuts.every(cut => cut <= '2022-01-03')).toBe(true)
    expect([then.as_of, then.passed]).toEqual(['2022-01-03', true])
  })

  it('is not passed when there was nothing to compare, and refuses no cuts and no such ticker', async () => {
    expect((await checkLookahead(cache, { ...RSI, tickers: [] })).passed).toBe(false)
    await expect(checkLookahead(cache, { ...RSI, cuts: 0 })).rejects.toThrow('cuts 0 is not a whole number from 1 on.')
    await expect(checkLookahead(cache, { ...RSI, tickers: ['NONE'] })).rejects.toMatchObject({ code: 'not_found' })
  })
})
