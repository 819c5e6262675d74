import { describe, expect, it } from 'vitest'
import type { Field } from '../../src/fields/field.js'
import { BUILT_IN, TECHNICAL_FIELDS } from '../../src/fields/index.js'
import { Cache } from '../../src/local/cache.js'
import { checkLookahead, checkRecursion, type FieldRecursion } from '../../src/local/check.js'
import { parseDay } from '../../src/model/day.js'
import { DEFINITIONS_VERSION } from '../../src/model/definitions.js'
import { UNDEFINED } from '../../src/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/model/terms.js'
import { simulatedTickers } from '../../src/simulate/simulate.js'
import { Random } from '../../src/statistics/random.js'
import { loadPrices } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import { notInQuick } from '../support/full.js'
import { pick } from '../support/random-facts.js'
import { cacheOf, emptyImporter, loadedStore, openedForAll, recordOf, sourced } from '../support/store.js'

/** Seven tickers of one sector, so that each has peers. */
const SIMULATED = [...simulatedTickers({ count: 7, bars: 1_000, seed: 11, end: parseDay('2024-06-28')! })]
const AAPL = loadPrices('AAPL')
const TICKERS = SIMULATED.map(({ ticker }) => ticker)
const WHOLE = { tickers: TICKERS, fields: BUILT_IN.names, timeframe: 'daily', cuts: 6, seed: 1 } as const
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

  const rsi = BUILT_IN.named('rsi_zone')!
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

  it.skipIf(AAPL === null)(
    `finds nothing in real bars${AAPL === null ? ' (../shared is not there)' : ''}`,
    async () => {
      const own = await cacheOf([{ ticker: 'AAPL', series: seriesOf(AAPL!) }])
      for (const timeframe of TIMEFRAME_NAMES) {
        const fields = TECHNICAL_FIELDS.map(({ name }) => name)
        const found = await checkLookahead(own, { tickers: ['AAPL'], fields, timeframe, cuts: 40, seed: 3 })
        expect(found.differences).toEqual([])
        expect(found.passed).toBe(true)
      }
    },
  )
})

describe('the recursion check', () => {
  const starts = (fields: readonly FieldRecursion[], name: string) => fields.find(({ field }) => field === name)!.starts

  it('finds that windowed fields agree once their window is full, and that dropping nothing of it changes nothing', async () => {
    const fields = ['ma_alignment', 'volume_ratio_band', 'rsi_zone', 'trend_direction']
    const found = await checkRecursion(cache, { tickers: TICKERS, fields, timeframe: 'daily', dropped: [1, 100, 300] })
    expect(found.dropped).toEqual([1, 100, 300])
    // The windows of spec/fields.md, P08: 199 bars of the averages, 50 of the volume before today.
    for (const [name, window] of [
      ['ma_alignment', 199],
      ['trend_direction', 199],
      ['volume_ratio_band', 50],
    ] as const)
      for (const { differing, agree_after, never, tickers, dropped } of starts(found.fields, name)) {
        expect([name, differing, never, tickers]).toEqual([name, 0, 0, TICKERS.length])
        expect(agree_after!.most).toBeLessThanOrEqual(window)
        if (dropped >= window) expect(agree_after).toEqual({ median: window, most: window })
      }
  })

  it('finds that recursive fields differ for a while and agree within 600 bars', async () => {
    const fields = ['rsi_zone', 'macd_state', 'support_status']
    const found = await checkRecursion(cache, { tickers: TICKERS, fields, timeframe: 'daily', dropped: [200] })
    for (const name of fields) {
      const [start] = starts(found.fields, name)
      expect(start!.never).toBe(0)
      expect(start!.agree_after!.most).toBeLessThanOrEqual(600)
    }
    expect(starts(found.fields, 'rsi_zone')[0]!.differing).toBeGreaterThan(0)
    const [rsi] = starts(found.fields, 'rsi_zone')
    expect(rsi!.share).toBeCloseTo(rsi!.differing / (rsi!.bars - rsi!.warming_up), 12)
    expect(rsi!.warming_up).toBe(14 * TICKERS.length)
  })

  it.each(TIMEFRAME_NAMES)(
    '%s, finds that fields on facts are what they are wherever bars begin, history aside',
    async timeframe => {
      const fields = ['earnings_surprise', 'growth_zone', 'pe_vs_sector', 'insider_activity_zone']
      const found = await checkRecursion(cache, { tickers: TICKERS, fields, timeframe, dropped: [10, 60] })
      for (const { field, starts } of found.fields)
        for (const { differing, warming_up, never, bars } of starts) {
          expect([field, differing, warming_up, never]).toEqual([field, 0, 0, 0])
          expect(bars).toBeGreaterThan(0)
        }
    },
  )

  it('catches a field that never forgets where it began', async () => {
    const counting: Field = {
      ...BUILT_IN.named('rsi_zone')!,
      classify: ({ series }) => Uint8Array.from(series.days, (_, t) => t % 2),
    }
    const query = { tickers: TICKERS, fields: ['rsi_zone'], timeframe: 'daily', dropped: [3, 4] } as const
    const [odd, even] = starts((await checkRecursion(cache, query, { field: () => counting })).fields, 'rsi_zone')
    expect(odd).toMatchObject({ never: TICKERS.length, share: 1, agree_after: null })
    expect(even).toMatchObject({ never: 0, share: 0, agree_after: { median: 0, most: 0 } })
  })

  it('says who has too few bars, and refuses to leave out none', async () => {
    const query = { tickers: TICKERS, fields: ['rsi_zone'], timeframe: 'daily', dropped: [5_000] } as const
    const found = await checkRecursion(cache, query)
    expect(found.skipped).toHaveLength(TICKERS.length)
    expect(found.skipped[0]).toEqual({ ticker: 'SIM0001', reason: 'has 1000 bars, of which 5000 are to be left out' })
    expect(found.fields[0]!.starts[0]).toMatchObject({ tickers: 0, bars: 0, share: null, agree_after: null })
    await expect(checkRecursion(cache, { ...query, dropped: [0] })).rejects.toThrow(
      'dropped 0 is not a whole number from 1 on.',
    )
  })
})
