import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { InvalidParameter } from '../../src/core/errors.js'
import { FIELDS } from '../../src/core/fields/index.js'
import type { Day } from '../../src/core/model/day.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import type { PricedSource } from '../../src/core/source.js'
import { stationaryIndices } from '../../src/core/statistics/bootstrap.js'
import { Random } from '../../src/core/statistics/random.js'
import { openSqliteTrials } from '../../src/data/store/sqlite/lists.js'
import { cellOf, memberBars } from '../../src/research/study/cell.js'
import { eventStudy } from '../../src/research/study/event-study.js'
import { stationaryInterval } from '../../src/research/study/tests.js'
import { Contest, disagreements } from '../../src/research/sweep/best.js'
import { correctedPs, Resamples } from '../../src/research/sweep/cells.js'
import type { BestOfMany, SweepCell } from '../../src/research/sweep/result.js'
import { type SweepQuery, sweep } from '../../src/research/sweep/sweep.js'
import { checkpointOf, namedStream } from '../../src/research/sweep/ticker-data.js'
import { queryOf } from '../study/support/study-market.js'
import { notInQuick } from '../support/full.js'
import { barsIn, statesIn } from '../support/source.js'
import { asked, madeMarket } from './support/market.js'

const MARKET = madeMarket({ seed: 3, tickers: 6, bars: 620, common: 0.5, staggered: 40, chained: ['macd_state'] })
const TICKERS = await MARKET.withBars()
const folder = mkdtempSync(join(tmpdir(), 'bands-sweep-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const nameOf = ({ ticker, field, band, prev_band, context, window }: SweepCell): string =>
  JSON.stringify([ticker, field, band, prev_band, context, window])

const byName = (cells: readonly SweepCell[]): Map<string, SweepCell> => new Map(cells.map(cell => [nameOf(cell), cell]))

/** What a band was followed by, written anew from the definition: bar by bar, ticker by ticker. */
async function plainly(market: PricedSource, tickers: readonly string[], field: string, band: string, horizon: number) {
  const sum = { n: 0, returns: 0, base: 0, hits: 0, events: 0 }
  for (const ticker of tickers) {
    const { close } = (await barsIn(market, ticker, 'daily')).series
    const { codes, bands } = await statesIn(market, ticker, field, 'daily')
    const ahead = (t: number): number => close[t + horizon]! / close[t]! - 1
    const any: number[] = []
    for (let t = 0; t + horizon < close.length; t++) if (codes[t] !== UNDEFINED) any.push(ahead(t))
    const base = any.reduce((a, b) => a + b, 0) / any.length
    for (let t = 1; t < close.length; t++) {
      if (bands[codes[t]!] !== band || codes[t - 1] === codes[t] || codes[t - 1] === UNDEFINED) continue
      sum.events++
      if (t + horizon >= close.length) continue
      sum.n++
      sum.returns += ahead(t)
      sum.base += base
      if (ahead(t) > 0) sum.hits++
    }
  }
  return sum
}

describe('the cells of a sweep', () => {
  it('are every band of every field over every window, sorted by evidence', async () => {
    const fields = ['rsi_zone', 'macd_state']
    const { cells, tried } = await sweep(MARKET, asked({ tickers: TICKERS, fields }))
    const bands = fields.flatMap(name => FIELDS.find(field => field.name === name)!.bands)
    expect(new Set(cells.map(nameOf)).size).toBe(bands.length * 2)
    expect(tried).toEqual({ cells: bands.length * 2, tested: cells.filter(({ p }) => p !== null).length, ledger: null })
    const keys = cells.map(({ q, p }) => [q ?? 2, p ?? 2])
    expect(keys).toEqual([...keys].sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d))
  })

  it('have the numbers of a plain second calculation, pooled and each ticker', async () => {
    for (const by of ['pool', 'ticker'] as const) {
      const { cells } = await sweep(MARKET, asked({ tickers: TICKERS, fields: ['macd_state'], by }))
      for (const cell of cells) {
        const tickers = cell.ticker === null ? TICKERS : [cell.ticker]
        const { n, events, returns, base, hits } = await plainly(MARKET, tickers, cell.field, cell.band, cell.horizon)
        expect([cell.n, cell.events, cell.lost]).toEqual([n, events, events - n])
        expect(cell.mean).toBeCloseTo(returns / n, 12)
        expect(cell.base).toBeCloseTo(base / n, 12)
        expect(cell.diff).toBeCloseTo((returns - base) / n, 12)
        expect(cell.hit).toBeCloseTo(hits / n, 12)
      }
    }
  })

  it('are those of the event study, and the same look to the ledger', async () => {
    const trials = openSqliteTrials(join(folder, 'same.db'))
    const query = asked({ tickers: TICKERS, fields: ['macd_state'] })
    const { cells } = await sweep(MARKET, query, { trials })
    const looks = (await trials.of('cell')).length
    const { horizons, min_events } = query
    const study = await eventStudy(
      MARKET,
      queryOf({ tickers: TICKERS, field: 'macd_state', bands: [cells[0]!.band], horizons, min_events, resamples: 99 }),
      { trials },
    )
    expect((await trials.of('cell')).length).toBe(looks)
    for (const window of study.windows) {
      const cell = cells.find(({ band, horizon }) => band === cells[0]!.band && horizon === window.horizon)!
      const { n, n_indep, events } = window
      expect({ n: cell.n, n_indep: cell.n_indep, events: cell.events }).toEqual({ n, n_indep, events })
      expect(cell.mean).toBeCloseTo(window.mean!, 12)
      expect(cell.base).toBeCloseTo(window.base.mean!, 12)
      expect(cell.diff).toBeCloseTo(window.diff!, 12)
      expect(cell.base_hit).toBeCloseTo(window.base.hit!, 12)
      expect(cell.p).toBe(window.tests[0]!.p)
      expect(cell.t).toBe(window.tests[0]!.statistic)
    }
    await trials.close()
  })

  it('tell apart the band left and the band of a context, which add up to the whole', async () => {
    const whole = byName((await sweep(MARKET, asked({ tickers: TICKERS, fields: ['macd_state'] }))).cells)
    const context = { ticker: 'T02', field: 'rsi_zone', lag: 1 } as const
    const query = asked({ tickers: TICKERS, fields: ['macd_state'], prev_band: true, contexts: [context] })
    const { cells } = await sweep(MARKET, query)
    const lefts = FIELDS.find(({ name }) => name === 'macd_state')!.bands.length - 1
    const contexts = 7
    expect(cells.length).toBe((lefts + 1) * lefts * contexts * 2)
    const uncovered = [...whole.values()].reduce((sum, { events }) => sum + events, 0)
    const covered = cells.reduce((sum, { events }) => sum + events, 0)
    // Before the context's first event no event has a context band.
    expect(covered).toBeLessThanOrEqual(uncovered)
    expect(covered).toBeGreaterThan(0.8 * uncovered)
  })

  it('below the minimum sample have neither p nor interval, and count as looks', async () => {
    const query = asked({ tickers: TICKERS, fields: ['macd_state'] })
    const sizes = (await sweep(MARKET, query)).cells.map(({ n }) => n).sort((a, b) => a - b)
    const min_events = sizes[sizes.length >> 1]!
    const few = await sweep(MARKET, { ...query, min_events })
    const grey = few.cells.filter(cell => cell.grey)
    expect(grey.length).toBeGreaterThan(0)
    expect(grey.length).toBeLessThan(few.cells.length)
    for (const { p, q, low, t, reason } of grey)
      expect([p, q, low, t, typeof reason]).toEqual([null, null, null, null, 'string'])
    // Bonferroni of the least p, which is what Holm gives it: times all looks, not only those with a p.
    const holm = await sweep(MARKET, { ...query, min_events, adjust: 'holm' })
    expect(holm.cells[0]!.q).toBeCloseTo(Math.min(1, holm.cells[0]!.p! * holm.tried.cells), 12)
  })
})

describe('a sweep', () => {
  it('says how seldom its tests find something that is not there, unless nothing is corrected', async () => {
    const query = asked({ tickers: TICKERS, fields: ['macd_state'] })
    const said = async (adjust: 'bh' | 'none'): Promise<string> =>
      (await sweep(MARKET, { ...query, adjust })).assumptions.join()
    expect(await said('bh')).toContain('the deflated Sharpe ratio are cautious')
    expect(await said('none')).not.toContain('are cautious')
  })

  it('gives the same bytes whatever the order of tickers, and another p by seed only where shifts are drawn', async () => {
    const run = async (over: Partial<SweepQuery>) =>
      JSON.stringify(await sweep(MARKET, asked({ tickers: TICKERS, cv: { k: 3, embargo: 2 }, ...over })))
    const once = await run({})
    expect(await run({ tickers: [...TICKERS].reverse() })).toBe(once)
    expect(await run({ seed: 2 })).not.toBe(once)
  })

  it('gives a cell the same p and interval whatever else is looked at, in whatever order', async () => {
    const long = madeMarket({ seed: 5, tickers: 1, bars: 2300, chained: ['macd_state', 'rsi_zone'] })
    const tickers = await long.withBars()
    const fields = ['macd_state', 'rsi_zone']
    const all = byName((await sweep(long, asked({ tickers, fields, horizons: [5, 20] }))).cells)
    const some = await sweep(long, asked({ tickers, fields: ['rsi_zone'], horizons: [20] }))
    const turned = byName(
      (await sweep(long, asked({ tickers, fields: [...fields].reverse(), horizons: [20, 5] }))).cells,
    )
    for (const cell of some.cells) {
      const { p, low, high } = all.get(nameOf(cell))!
      expect({ p, low, high }).toEqual({ p: cell.p, low: cell.low, high: cell.high })
    }
    for (const [name, cell] of all) expect(turned.get(name)).toEqual(cell)
  })

  it('never lowers the q of a cell by a look more, and never gives one below p', async () => {
    for (const adjust of ['bh', 'by', 'holm'] as const) {
      const alone = await sweep(MARKET, asked({ tickers: TICKERS, fields: ['macd_state'], adjust }))
      const more = byName(
        (
          await sweep(
            MARKET,
            asked({ tickers: TICKERS, fields: ['macd_state', 'ma_alignment'], adjust, min_events: 20 }),
          )
        ).cells,
      )
      for (const cell of alone.cells) {
        if (cell.q === null) continue
        expect(cell.q).toBeGreaterThanOrEqual(cell.p!)
        if (adjust !== 'bh') expect(more.get(nameOf(cell))!.q).toBeGreaterThanOrEqual(cell.q)
      }
      const order = alone.cells.filter(({ p }) => p !== null).map(({ p }) => p!)
      expect(order).toEqual([...order].sort((a, b) => a - b))
    }
  })

  it('corrects for all looks of the ledger where that is asked for', async () => {
    const trials = openSqliteTrials(join(folder, 'family.db'))
    const query = asked({ tickers: TICKERS, fields: ['macd_state'] })
    const run = await sweep(MARKET, query, { trials })
    await sweep(MARKET, asked({ tickers: TICKERS, fields: ['ma_alignment'] }), { trials })
    const known = (await trials.of('cell')).length
    const all = await sweep(MARKET, { ...query, family: 'ledger', adjust: 'holm' }, { trials })
    expect(run.tried.ledger).toBe(run.tried.cells)
    expect(all.tried.ledger).toBe(known)
    expect((await trials.of('cell')).length).toBe(known)
    expect(all.cells[0]!.q).toBeCloseTo(Math.min(1, all.cells[0]!.p! * known), 12)
    expect(all.best.deflated_sharpe!).toBeLessThan(run.best.deflated_sharpe!)
    await trials.close()
  })

  it('counts looks of the ledger whose p is of another test, but does not correct by that p', async () => {
    const trials = openSqliteTrials(join(folder, 'tests.db'))
    const looks = (test: string | null, letter: string) =>
      Array.from({ length: 50 }, (_, n) => {
        const hash = `${letter}${n}`.padStart(64, '0')
        return { hash, spec: hash, p: 1e-9, test, sharpe: null }
      })
    await trials.note('cell', [...looks(null, 'a'), ...looks('shift_studentised', 'b'), ...looks('newey_west', 'c')])
    const query = asked({ tickers: TICKERS, fields: ['macd_state'], family: 'ledger' })
    const { cells, tried } = await sweep(MARKET, query, { trials })
    expect(tried.ledger).toBe(tried.cells + 150)
    const others = [...Array<null>(100).fill(null), ...Array<number>(50).fill(1e-9)]
    const corrected = correctedPs(
      cells.map(({ p }) => p),
      others,
      query.adjust,
    )
    expect(cells.map(({ q }) => q)).toEqual(corrected)
    await trials.close()
  })

  it('refuses what it cannot answer', async () => {
    const refused = async (query: SweepQuery) => {
      const error = await sweep(MARKET, query).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(InvalidParameter)
      return (error as InvalidParameter).message
    }
    expect(await refused(asked({ tickers: TICKERS, family: 'ledger' }))).toMatch(/no trial log/)
    expect(await refused(asked({ tickers: TICKERS, split: '2099-01-01' }))).toMatch(/is not a date after 2/)
    const walk_forward = { train: 5000, test: 10, step: 10, anchored: false, embargo: 0 }
    expect(await refused(asked({ tickers: TICKERS, walk_forward }))).toMatch(/5000 bars leave none to test on/)
    const many = Array.from({ length: 5000 }, (_, i) => `X${i}`)
    const fields = FIELDS.map(({ name }) => name)
    expect(await refused(asked({ tickers: many, fields, by: 'ticker', prev_band: true }))).toMatch(
      /at most 500,000 combinations/,
    )
  })

  it('says that no cell can be tested where there is too little, and has no best', async () => {
    const short = madeMarket({ seed: 1, tickers: 2, bars: 60 })
    const found = await sweep(short, asked({ tickers: await short.withBars() }))
    expect(found.cells.every(({ p, grey }) => p === null && grey)).toBe(true)
    expect([found.best.spa, found.best.pbo, found.best.deflated_sharpe, found.found]).toEqual([null, null, null, 0])
    expect(Object.keys(found.best.reasons).sort()).toEqual([
      'best_sharpe',
      'deflated_sharpe',
      'pbo',
      'reality_check',
      'spa',
    ])
    expect(found.warnings).toContain('No combination has enough events to be tested.')
  })

  notInQuick('tells how far it is, and lets the event loop turn', async () => {
    let turns = 0
    let told = 0
    const timer = setInterval(() => turns++, 1)
    // More work than a turn is long, however fast the machine.
    const query = asked({
      tickers: TICKERS,
      fields: ['macd_state', 'rsi_zone'],
      by: 'ticker',
      min_events: 5,
      resamples: 9999,
    })
    await sweep(MARKET, query, {
      step: text => {
        told++
        expect(text()).not.toBe('')
      },
    })
    clearInterval(timer)
    expect(Math.min(turns, told)).toBeGreaterThan(1)
  })
})

describe('the test of the best', () => {
  it('of one cell is its two-sided bootstrap p', async () => {
    const days = 300
    const random = new Random(4)
    const indices = Int32Array.from({ length: 60 }, (_, i) => i * 5)
    const values = Float64Array.from(indices, () => 0.4 + random.normal())
    const contest = new Contest(days)
    const returns = new Float64Array(days).map(() => random.normal())
    const block = 8
    contest.enter('one', {
      low: null,
      high: null,
      sharpe: 0.1,
      block,
      returns,
      span: { from: 0, to: days },
      column: { indices, values },
    })
    const query = { resamples: 499, pbo_blocks: 4, seed: 9 }
    const best = await contest.judge(query, { tried: 1, sharpes: [0.1] }, checkpointOf(undefined))
    const series = new Float64Array(days)
    indices.forEach((place, i) => {
      series[place] = values[i]!
    })
    const mean = series.reduce((sum, value) => sum + value, 0) / days
    const stream = namedStream(query.seed, 'best of many, part 0')
    let exceeding = 0
    for (let rep = 0; rep < query.resamples; rep++) {
      const drawn = stationaryIndices(stream, days, block, new Int32Array(days))
      const resampled = drawn.reduce((sum, day) => sum + series[day]!, 0) / days
      if (Math.abs(resampled - mean) >= Math.abs(mean)) exceeding++
    }
    const plain = (1 + exceeding) / (1 + query.resamples)
    expect(best.reality_check).toBe(plain)
    expect(best.spa).toEqual({ lower: expect.any(Number), consistent: expect.any(Number), upper: plain })
    expect(best.spa!.lower).toBeLessThanOrEqual(best.spa!.consistent)
    expect(best.spa!.consistent).toBeLessThanOrEqual(plain)
    expect([best.cells, best.block, best.best_cell, best.best_sharpe_cell]).toEqual([1, block, 'one', 'one'])
    expect([best.pbo, best.deflated_sharpe]).toEqual([null, null])
    expect(Object.keys(best.reasons).sort()).toEqual(['deflated_sharpe', 'pbo'])
  })
})

describe('SPA and the deflated Sharpe ratio', () => {
  const best = (consistent: number, deflated_sharpe: number): BestOfMany => ({
    ...{
      cells: 50,
      resamples: 999,
      block: 20,
      reality_check: 0.5,
      deflated_sharpe,
      best_cell: 'a',
      best_sharpe_cell: 'a',
    },
    spa: { lower: consistent, consistent, upper: consistent },
    best_sharpe: 0.1,
    pbo: null,
    reasons: {},
  })

  it('have a sentence that says which to believe where only the ratio finds something', () => {
    expect(disagreements(best(0.3, 0.972))).toEqual([expect.stringMatching(/ratio does \(\.972\): believe SPA/)])
    for (const [ability, ratio] of [
      [0.02, 0.99],
      [0.3, 0.9],
    ] as const)
      expect(disagreements(best(ability, ratio))).toEqual([])
    expect(disagreements({ ...best(0.3, 0.99), spa: null })).toEqual([])
  })
})

describe('the interval from shared resamples', () => {
  it.each([
    ['many events', 0.15],
    ['few, which move its ends out', 0.015],
  ])('is that of the event study within the error of drawing, of %s', (_, chance) => {
    const random = new Random(7)
    const bars = 700
    const forward = Float64Array.from({ length: bars }, () => 0.02 * random.normal())
    const all = Int32Array.from({ length: bars }, (_, i) => i)
    const days: Int32Array<ArrayBuffer> = all.map((day: Day) => 15_000 + day)
    const signals = all.filter(() => random.uniform() < chance)
    const cell = cellOf([memberBars('A', days, forward, all, signals)], 5)
    const resamples = 4000
    const own = new Resamples({ seed: 1, resamples }).interval(cell)!
    const theirs = stationaryInterval(cell, { reps: resamples, random: new Random(2) })
    const width = theirs.high! - theirs.low!
    expect(Math.abs(own.low - theirs.low!)).toBeLessThan(0.06 * width)
    expect(Math.abs(own.high - theirs.high!)).toBeLessThan(0.06 * width)
  })
})
