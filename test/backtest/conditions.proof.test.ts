import { describe, expect, it } from 'vitest'
import { formatDay } from '../../src/core/model/day.js'
import { parseStrategyDocument } from '../../src/core/params/strategy-file.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { exported, LISTED, namesTicker, TECHNICAL } from '../support/exported-shelves.js'
import { draws } from '../support/full.js'
import type { Claim } from '../support/oracle/conditions.js'
import { randomClaim, TICKERS, written } from '../support/random-conditions.js'
import { chance, pick } from '../support/random-facts.js'
import { openedForAll, storeOf } from '../support/store.js'
import { PLAIN } from './support/made-market.js'
import { expectSameOfCutData, inOrder, type Rules, told, walked } from './support/walked.js'

/** Conditions that enter and that leave (questions.md 2), by brute force over exported series and a walk day by day. */

let store: Store
openedForAll(async folder => {
  store = await storeOf(LISTED, folder)
  return store
})

/** Fields that change their bands every few bars, so that most trades see what they wait for. */
const LIVELY = ['macd_state', 'volume_ratio_band', 'rsi_zone', 'ma_alignment']

/** One test of such a field, of this ticker or another, alone or beside any claim. */
function livelyClaim(random: Random): Claim {
  const field = pick(random, LIVELY)
  const bands = TECHNICAL[field]!
  const some = bands.filter(() => chance(random, 0.5))
  const at = { field, ...(chance(random, 0.3) && { ticker: pick(random, TICKERS) }) }
  const chosen = some.length === 0 ? [bands[0]!] : some
  if (chance(random, 0.5)) return { at, into: chosen, outOf: null }
  return { at, in: chosen, isNot: chance(random, 0.3) }
}

function anyClaim(random: Random): Claim {
  if (chance(random, 0.3)) return randomClaim(random, TECHNICAL, random.below(3))
  if (chance(random, 0.7)) return livelyClaim(random)
  const both = [livelyClaim(random), randomClaim(random, TECHNICAL, 1)]
  return chance(random, 0.5) ? { all: both } : { any: both }
}

function randomRules(random: Random): Rules {
  const claim = (): Claim => anyClaim(random)
  const entry = claim()
  const exit = chance(random, 0.8) ? claim() : null
  const field = pick(random, Object.keys(TECHNICAL))
  const bands = TECHNICAL[field]!.filter(() => chance(random, 0.7))
  const beside = chance(random, 0.3) && bands.length > 0 ? { field, bands } : null
  const lag = [entry, exit].some(claim => claim !== null && namesTicker(claim)) ? pick(random, [0, 0, 1, 2, 7]) : 0
  const strategy = parseStrategyDocument({
    tickers: TICKERS.filter((_, i) => i === 0 || chance(random, 0.6)),
    timeframe: chance(random, 0.25) ? 'weekly' : 'daily',
    side: pick(random, ['long', 'short']),
    entry: { ...beside, when: written(entry, random) },
    fill: pick(random, ['next-open', 'next-close', 'close']),
    exit: {
      ...(exit !== null && { when: written(exit, random) }),
      hold: exit === null || chance(random, 0.3) ? pick(random, [2, 5, 20]) : null,
      leave: chance(random, 0.2),
      stop: chance(random, 0.3) ? 0.04 : null,
    },
    lag,
    portfolio: { order: 'ticker' },
    overlap: pick(random, ['skip', 'allow', 'extend']),
  })
  return { strategy, entry, beside, exit, rank: null }
}

describe('a strategy of random conditions', () => {
  it('has the trades of a walk over the bars on which brute force finds them true', async () => {
    const local = new Local(store, null, null)
    const shelves = await exported(local)
    const seen = { trades: 0, when: 0 }
    for (let seed = 1; seed <= draws(600); seed++) {
      const rules = randomRules(new Random(new Random(seed).word()))
      const what = `seed ${seed}: ${JSON.stringify(rules.strategy)}`
      const found = await backtest(local, rules.strategy, PLAIN)
      const { trades, equity } = await walked(local, shelves, rules)
      expect(inOrder(found.trades.map(told)), what).toEqual(inOrder(trades))
      expect(found.equity.at(-1)?.date ?? null, what).toBe(equity === undefined ? null : formatDay(equity.day))
      if (equity !== undefined) expect(found.equity.at(-1)!.equity, what).toBeCloseTo(equity.equity, 9)
      seen.trades += trades.length
      seen.when += trades.filter(({ exit }) => exit === 'when').length
    }
    expect(seen.trades).toBeGreaterThan(draws(600) * 5)
    expect(seen.when).toBeGreaterThan(draws(600) / 2)
  })

  it('does as of a day what it does on data cut at that day', async () => {
    await expectSameOfCutData(store, ['2017-12-29', '2018-02-10', '2018-04-02'], random => randomRules(random).strategy)
  })
})
