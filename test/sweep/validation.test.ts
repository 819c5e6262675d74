import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatDay } from '../../src/core/model/day.js'
import { vocabulariesOf } from '../../src/core/source.js'
import { type SweepQuery, sweep } from '../../src/research/sweep/sweep.js'
import {
  checkpointOf,
  lastWindowEnds,
  rangeMask,
  readTickers,
  timelineOf,
  trainMask,
  validationPlanOf,
} from '../../src/research/sweep/ticker-data.js'
import { notInQuick } from '../support/full.js'
import { asked, madeMarket } from './support/market.js'

const MARKET = madeMarket({ seed: 8, tickers: 3, bars: 420, staggered: 35, chained: ['macd_state'], leaving: 0.2 })
const TICKERS = await MARKET.withBars()
const QUERY = {
  ...asked({ tickers: TICKERS, fields: ['macd_state'] }),
  vocabularies: await vocabulariesOf(MARKET, ['macd_state']),
}
const BOOKS = await readTickers(MARKET, QUERY, checkpointOf(undefined))
const TIMELINE = timelineOf(BOOKS)

const cuts: fc.Arbitrary<Partial<SweepQuery>> = fc.oneof(
  fc.record({ cv: fc.record({ k: fc.integer({ min: 2, max: 8 }), embargo: fc.integer({ min: 0, max: 30 }) }) }),
  fc.record({
    cpcv: fc
      .integer({ min: 2, max: 6 })
      .chain(n => fc.record({ n: fc.constant(n), k: fc.integer({ min: 1, max: n - 1 }) })),
  }),
  fc.record({
    walk_forward: fc.record({
      train: fc.integer({ min: 20, max: 200 }),
      test: fc.integer({ min: 10, max: 100 }),
      step: fc.integer({ min: 10, max: 100 }),
      anchored: fc.boolean(),
      embargo: fc.integer({ min: 0, max: 20 }),
    }),
  }),
)

describe('what is chosen on', () => {
  notInQuick('has no window that meets a tested one, nor the embargo after it', () => {
    fc.assert(
      fc.property(cuts, fc.integer({ min: 1, max: 60 }), (cut, horizon) => {
        const plan = validationPlanOf(asked({ tickers: TICKERS, ...cut }), TIMELINE)!
        const ends = lastWindowEnds(TIMELINE, horizon)
        for (const fold of plan.folds) {
          const mask = trainMask(fold, plan.embargo, ends)
          const tested = rangeMask(fold.test, mask.length)
          const windows = BOOKS.flatMap(data => {
            const indices = TIMELINE.indices.get(data)!
            return Array.from(indices, (start, bar) => ({ start, end: indices[bar + horizon] ?? indices.at(-1)! }))
          })
          for (const part of fold.test) {
            const own = windows.filter(({ start }) => start >= part.from && start < part.to)
            const last = Math.max(...own.map(({ end }) => end)) + plan.embargo
            for (const { start, end } of windows) {
              if (mask[start] === 1) expect(start > last || end < part.from).toBe(true)
            }
          }
          expect(mask.some((kept, place) => kept === 1 && tested[place] === 1)).toBe(false)
        }
      }),
      { numRuns: 15 },
    )
  })
})

describe('validation', () => {
  const query = asked({ tickers: TICKERS, fields: ['macd_state'], horizons: [5], min_events: 10 })

  it('of folds tests each day once, and counts every window in training, in testing or as purged', async () => {
    const { folds } = (await sweep(MARKET, { ...query, cv: { k: 5, embargo: 0 } })).validation!
    const tests = folds.flatMap(fold => fold.test)
    expect(tests.map(({ from }) => from)).toEqual([...tests.map(({ from }) => from)].sort())
    const all = tests.reduce((sum, { events }) => sum + events, 0)
    for (const { train, test, purged } of folds) {
      const trained = train.reduce((sum, { events }) => sum + events, 0)
      expect(trained + purged + test[0]!.events).toBe(all)
      expect(purged).toBeGreaterThan(0)
    }
  })

  it('by combinations has C(n, k) folds and paths through every group', async () => {
    const { folds, paths, test } = (await sweep(MARKET, { ...query, cpcv: { n: 6, k: 2 } })).validation!
    expect([folds.length, paths!.length]).toEqual([15, 5])
    for (const fold of folds) expect(fold.test.length).toBe(2)
    // Every test of a group is on one path.
    const means = paths!.filter(mean => mean !== null)
    expect(test.mean!).toBeGreaterThanOrEqual(Math.min(...means))
    expect(test.mean!).toBeLessThanOrEqual(Math.max(...means))
  })

  it('by a date tests what a sweep of that part alone finds of the chosen cells, in the direction chosen', async () => {
    const { validation } = await sweep(MARKET, { ...query, split: '2014-12-01' })
    const [fold] = validation!.folds
    expect([validation!.kind, validation!.folds.length, fold!.chosen.length > 0]).toEqual(['split', 1, true])
    expect(fold!.test[0]!.from >= '2014-12-01' && fold!.train[0]!.to < '2014-12-01').toBe(true)
    // 2014-11-30, exclusive.
    const later = await sweep(MARKET, { ...query, after: formatDay(16_404) })
    const sum = { n: 0, returns: 0, base: 0 }
    for (const name of fold!.chosen) {
      const sign = name.endsWith('(short)') ? -1 : 1
      const cell = later.cells.find(({ band }) => name.includes(`= ${band};`))!
      sum.n += cell.n
      sum.returns += sign * cell.n * cell.mean!
      sum.base += sign * cell.n * cell.base!
    }
    expect(validation!.test.n).toBe(sum.n)
    expect(validation!.test.mean).toBeCloseTo(sum.returns / sum.n, 12)
    expect(validation!.test.base).toBeCloseTo(sum.base / sum.n, 12)
  })
})

describe('an edge that was planted', () => {
  const planted = { field: 'rsi_zone', band: 2, bars: 5, drift: 0.004 }
  const market = madeMarket({ seed: 11, tickers: 8, bars: 1200, common: 0.3, chained: ['rsi_zone'], planted })

  it('is found where it is, with its size within the interval, and the best is real', async () => {
    const query = asked({ tickers: await market.withBars(), horizons: [5, 10, 20], resamples: 199 })
    const { cells, found, best } = await sweep(market, query)
    const [first] = cells
    expect({ band: first!.band, found: found > 0 }).toEqual({ band: 'neutral_low', found: true })
    const cell = cells.find(({ band, horizon }) => band === 'neutral_low' && horizon === 5)!
    expect(cell.q!).toBeLessThan(0.05)
    expect(cell.diff!).toBeGreaterThan(0)
    expect(cell.t!).toBeGreaterThan(3)
    // What the base has of the drift itself, a sixth of the bars or so, is no part of the difference.
    const truth = Math.expm1(5 * planted.drift)
    expect(cell.low!).toBeLessThan(truth)
    expect(cell.high!).toBeGreaterThan(0.6 * truth)
    expect(best.reality_check!).toBeLessThan(0.05)
    expect(best.spa!.consistent).toBeLessThan(0.05)
    expect(best.best_cell).toMatch(/^rsi_zone = neutral_low/)
  })

  it('is chosen on the past alone, and holds where it was not looked for', async () => {
    const walk_forward = { train: 500, test: 200, step: 200, anchored: true, embargo: 5 }
    const query = asked({ tickers: await market.withBars(), horizons: [5], walk_forward })
    const { folds, test } = (await sweep(market, query)).validation!
    expect(folds.length).toBe(4)
    for (const { chosen } of folds) expect(chosen).toContain('rsi_zone = neutral_low; 5d')
    expect(test.diff!).toBeGreaterThan(0.005)
    expect(test.n).toBeGreaterThan(50)
  })
})
