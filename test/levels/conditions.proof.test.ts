import { beforeAll, describe, expect, it } from 'vitest'
import { UNDEFINED } from '../../src/model/series.js'
import { eventStudy } from '../../src/study/event-study.js'
import { type Edge, expectedOf, foundOf, type Planted, plantedIn } from '../study/support/planted.js'
import { print, Rejections } from '../study/support/rejections.js'
import { marketOf, queryOf } from '../study/support/study-market.js'
import { draws, FULL, NIGHT, provenInFull } from '../support/full.js'
import { fairRejections, type NullTicker, nullMarket } from '../support/null-markets.js'
import { statesIn } from '../support/source.js'

/*
 * What a study finds of a condition that knows nothing of what comes, in the worlds of levels.ts, and how often it finds a
 * drift that is planted after the bars on which the condition becomes true. BANDS_FULL=8 makes the draws of the table in
 * docs/studies.md and prints it.
 *
 * The seed is the day on which this was written; it was not chosen among others. Of the conditions only the number of
 * their events was looked at before.
 */
const SEED = 20261123
const BARS = 2500
const RUNS = draws(40)
const WORLDS = ['iid', 'gjr'] as const
const HORIZONS = [5, 20]

/** Of two or three fields, with every word of the language. */
const CONDITIONS = [
  'rsi_zone in (deep_oversold, oversold, neutral_low) and volatility_regime in (high, extreme)',
  'rsi_zone enters (deep_oversold, oversold, neutral_low) within 5 and macd_state enters contracting_negative within 3',
  'trend_direction in (uptrend, strong_uptrend) for 10 and rsi_zone in (oversold, neutral_low, neutral) and not volume_ratio_band = low',
  'not (trend_direction = strong_downtrend or ma_alignment = aligned_bearish) and support_status = breached',
  'MKT:rsi_zone in (deep_oversold, oversold, neutral_low) and rsi_zone != neutral',
  'trend_direction@weekly in (uptrend, strong_uptrend) and rsi_zone enters (neutral_low, neutral) within 2',
  'volatility_regime = low for 5 and macd_state leaves expanding_negative within 3',
] as const

const asked = (field: string, seed: number) =>
  queryOf({
    ...{ tickers: ['N00'], field, bands: ['true'], horizons: HORIZONS, path: { before: 0, after: 0 }, min_events: 10 },
    ...{ reps: 199, resamples: 199, seed },
  })

const COLUMNS = CONDITIONS.flatMap(condition => HORIZONS.map(horizon => `${condition}, ${horizon}`))

/** Of the table: by condition, what stands in its columns. */
const CELLS = new Map<string, string[]>(CONDITIONS.map(condition => [condition, []]))
const inPercent = (share: number): string => `${(100 * share).toFixed(1)} %`

describe.each(WORLDS)(`of ${RUNS} runs in which nothing is to be found, %s,`, walk => {
  const found = new Rejections()
  beforeAll(async () => {
    for (const [c, condition] of CONDITIONS.entries()) {
      let events = 0
      for (let run = 0; run < RUNS; run++) {
        const market = nullMarket(SEED + c * 100_000 + run, { walk, tickers: 2, bars: BARS })
        const study = await eventStudy(marketOf(market), asked(condition, run))
        events += study.events
        for (const { horizon, tests, intervals, random_entry } of study.windows) {
          const { p } = tests.find(({ test }) => test === 'newey_west')!
          const { low, high } = intervals[0]!
          for (const of of [condition, `${condition}, ${horizon}`, 'all']) {
            found.add(`P of ${of}`, p)
            found.add(`interval of ${of}`, low === null || high === null ? null : low > 0 || high < 0 ? 0 : 1)
            found.add(`random entry of ${of}`, random_entry.p)
          }
        }
      }
      const shares = ['P', 'interval'].map(what => found.of(`${what} of ${condition}`))
      CELLS.get(condition)!.push(
        (events / RUNS).toFixed(0),
        ...shares.map(({ n, rejected }) => inPercent(rejected / n)),
      )
    }
    if (NIGHT) print(found.table(walk))
  })

  it('says something of most of them', () => {
    for (const column of COLUMNS) expect(found.of(`P of ${column}`).n, column).toBeGreaterThan(0.4 * RUNS)
  })

  provenInFull.each(['P', 'interval', 'random entry'])('%s finds something in 2 to 8 of 100', what => {
    for (const of of ['all', ...COLUMNS]) {
      const { n, rejected } = found.of(`${what} of ${of}`)
      expect(rejected, of).toBeLessThanOrEqual(fairRejections(n, 0.08).most)
      expect(rejected, of).toBeGreaterThanOrEqual(fairRejections(n, 0.02).least)
    }
  })
})

const EDGE: Edge = { perBar: 0.0015, bars: 20 }
const PLANTS = draws(20)

/** All of them in both worlds for the table; the theory is that of random walks. */
describe.each(NIGHT ? WORLDS : WORLDS.slice(0, 1))('a drift after a condition has become true, %s,', walk => {
  describe.each(NIGHT ? CONDITIONS : CONDITIONS.slice(1, 4))('%s', condition => {
    const planted: Planted[] = []
    beforeAll(async () => {
      for (let run = 0; run < PLANTS; run++) {
        const market = nullMarket(SEED + 900_000 + run, { walk, tickers: 2, bars: BARS })
        const { own, from } = await withEdge(market, condition, EDGE)
        const study = await eventStudy(marketOf([own, ...market.slice(1)]), asked(condition, run))
        expect(study.events).toBe(own.events.length)
        const window = study.windows.find(({ horizon }) => horizon === EDGE.bars)!
        if (window.tests[0]!.p !== null) planted.push(plantedIn(own, EDGE, window, from))
      }
      CELLS.get(condition)!.push(inPercent(foundOf(planted)), inPercent(expectedOf(planted)))
    })

    it('is found with its sign', () => {
      const wrong = planted.filter(({ window }) => window.tests[0]!.p! < 0.05 && window.diff! < 0).length
      expect(wrong).toBeLessThanOrEqual(1)
    })

    it.runIf(FULL && walk === 'iid')('is found about as often as a z test of as many independent windows would', () => {
      expect(expectedOf(planted)).toBeGreaterThan(0.4)
      expect(Math.abs(foundOf(planted) - expectedOf(planted))).toBeLessThan(0.3)
    })
  })
})

it.runIf(NIGHT)('makes the table', () => {
  print([...CELLS].map(([condition, cells]) => `| \`${condition}\` | ${cells.join(' | ')} |`).join('\n'))
})

/**
 * The market's first ticker earning more after each onset: of each the bars that follow are raised, and the next is looked
 * for in what has become of them. A condition knows nothing of later bars, so that onsets that were found stay.
 */
async function withEdge(market: readonly NullTicker[], condition: string, { perBar, bars }: Edge) {
  const [first, ...others] = market
  const prices = ['open', 'high', 'low', 'close'] as const
  const series = { ...first!.series, ...Object.fromEntries(prices.map(name => [name, first!.series[name].slice()])) }
  const active = new Uint8Array(series.days.length)
  const own: NullTicker = { ticker: first!.ticker, series, active, events: [] }
  for (;;) {
    const states = await statesIn(marketOf([own, ...others]), own.ticker, condition, 'daily')
    const last = own.events.at(-1) ?? -1
    const onset = states.bars.find((bar, i) => bar > last && states.bands[states.entered[i]!] === 'true')
    if (onset === undefined) return { own, from: states.codes.findIndex(code => code !== UNDEFINED) }
    own.events.push(onset)
    let factor = 1
    for (let t = onset + 1; t < active.length; t++) {
      if (t <= onset + bars && active[t] === 0) {
        active[t] = 1
        factor *= 1 + perBar
      }
      for (const name of prices) series[name][t]! *= factor
    }
  }
}
