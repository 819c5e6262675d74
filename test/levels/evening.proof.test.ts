import { expect } from 'vitest'
import { FIELDS } from '../../src/core/fields/index.js'
import { ANY_EVENT } from '../../src/core/params/studies.js'
import type { Trial } from '../../src/core/source.js'
import { Random } from '../../src/core/statistics/random.js'
import { judgeTogether } from '../../src/core/statistics/verdict.js'
import type { SweepCell } from '../../src/research/sweep/result.js'
import { sweep } from '../../src/research/sweep/sweep.js'
import { CELL_TEST, cellTrial, compareWithLog, leastByLog } from '../../src/research/trials.js'
import { print } from '../study/support/rejections.js'
import { marketOf } from '../study/support/study-market.js'
import { draws, NIGHT, provenInFull } from '../support/full.js'
import { nullMarket, type Walk } from '../support/null-markets.js'
import { asked } from '../sweep/support/market.js'

/*
 * Evenings of 30 studies on a random walk, one after the other with one trial log. A sweep gives the p of all of them at
 * once: a cell has the same p as in a study. The seed is the day on which this was written.
 */
const SEED = 20261127
const QUESTIONS = 30
const EVENINGS = draws(200)
const WALKS: readonly Walk[] = ['iid', 'garch', 'gjr', 'student']
const HORIZONS = [5, 10, 20, 50, 100]
const NAMES = FIELDS.filter(({ needs, tier }) => needs === 'bars' && tier !== 'pro').map(({ name }) => name)

provenInFull(
  `finds something that beats chance in at most 5 % of ${EVENINGS} evenings of ${QUESTIONS} worthless studies`,
  async () => {
    const found = { log: 0, run: 0, worse: 0, tested: 0 }
    for (let evening = 0; evening < EVENINGS; evening++) {
      const verdicts = { log: new Set<string>(), run: new Set<string>() }
      const known: Trial[] = []
      for (const windows of await questionsOf(evening)) {
        const own = windows.map(trialOf)
        known.push(...own)
        const { log, q } = compareWithLog(own, known, 'ledger')
        for (const [family, standing] of [
          ['log', log],
          ['run', null],
        ] as const)
          for (const { verdict } of judgeTogether(
            windows.map(({ p, diff }, i) => {
              return { p, difference: diff, leastP: leastByLog(standing, q.get(own[i]!.hash)!) }
            }),
          ))
            verdicts[family].add(verdict)
        if (windows.some(({ p }) => p !== null)) found.tested++
      }
      if (verdicts.log.has('beats chance')) found.log++
      if (verdicts.log.has('worse than chance')) found.worse++
      if (verdicts.run.has('beats chance')) found.run++
    }
    if (NIGHT) print(JSON.stringify(found))
    expect(found.tested).toBeGreaterThan(0.9 * QUESTIONS * EVENINGS)
    expect(found.log).toBeLessThanOrEqual(0.05 * EVENINGS)
    // Without the log every study stands alone.
    expect(found.run).toBeGreaterThan(found.log)
  },
)

/** The windows of 30 bands of one random walk, those with enough events first, in an order drawn at random. */
async function questionsOf(evening: number): Promise<SweepCell[][]> {
  const market = nullMarket(SEED + evening, { walk: WALKS[evening % WALKS.length]!, tickers: 1, bars: 1500 })
  const query = asked({
    tickers: [market[0]!.ticker],
    fields: NAMES,
    horizons: HORIZONS,
    seed: evening,
    resamples: 9,
    pbo_blocks: 2,
  })
  const { cells } = await sweep(marketOf(market), query)
  const questions = Map.groupBy(cells, ({ field, band }) => `${field} ${band}`)
  const random = new Random(SEED + evening)
  const placed = [...questions.values()].map(windows => ({
    windows: windows.toSorted((a, b) => a.horizon - b.horizon),
    place: random.uniform() + (windows.some(({ p }) => p !== null) ? 0 : 1),
  }))
  return placed
    .sort((a, b) => a.place - b.place)
    .slice(0, QUESTIONS)
    .map(({ windows }) => windows)
}

function trialOf({ field, band, horizon, p, sharpe }: SweepCell): Trial {
  const filter = { ...ANY_EVENT, field, timeframe: 'daily' as const, bands: [band] }
  return cellTrial({ tickers: ['N00'], filter, horizon, first: 0, last: 1500 }, { p, test: CELL_TEST, sharpe })
}
