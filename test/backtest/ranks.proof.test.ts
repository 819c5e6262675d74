import { describe, expect, it } from 'vitest'
import { parseStrategyDocument } from '../../src/core/params/strategy-file.js'
import { Random } from '../../src/core/statistics/random.js'
import { Local } from '../../src/data/local/local.js'
import type { Store } from '../../src/data/store/store.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import { barsOf } from '../support/convert.js'
import { exported, LISTED, TECHNICAL } from '../support/exported-shelves.js'
import { draws } from '../support/full.js'
import { weeklyBars } from '../support/oracle/bars.js'
import type { Claim, Shelves } from '../support/oracle/conditions.js'
import { column, type Formula } from '../support/oracle/expressions.js'
import { TICKERS, written } from '../support/random-conditions.js'
import { chance, pick } from '../support/random-facts.js'
import { randomFormula, spelledOut } from '../support/random-formulas.js'
import { openedForAll, storeOf } from '../support/store.js'
import { PLAIN } from './support/made-market.js'
import { expectSameOfCutData, inOrder, type Rules, told, walked } from './support/walked.js'

/** Strategies of three fields and two tickers whose signals are ranked, by a walk day by day over exported series. */

let store: Store
openedForAll(async folder => {
  store = await storeOf(LISTED, folder)
  return store
})

/** Fields that change their bands every few bars, so that signals meet. */
const LIVELY = ['macd_state', 'volume_ratio_band', 'rsi_zone', 'ma_alignment']

interface Ranking {
  text: string
  values: NonNullable<Rules['rank']>
}

/** A field or an expression, the greatest or the lowest first. */
function randomRank(random: Random, shelves: Shelves): Ranking {
  if (chance(random, 0.5)) {
    const field = pick(random, LIVELY)
    const sign = pick(random, [1, -1])
    return {
      text: `${sign < 0 ? '-' : ''}${field}`,
      values: ({ ticker, timeframe }) =>
        shelves[ticker]![timeframe].bands[field]!.map(band => {
          return band === null ? null : sign * TECHNICAL[field]!.indexOf(band)
        }),
    }
  }
  const formula = drawnFormula(random)
  const values: Ranking['values'] = ({ ticker, timeframe }) => {
    const bars = barsOf(LISTED.find(one => one.ticker === ticker)!.series)
    return column(formula, timeframe === 'weekly' ? weeklyBars(bars) : bars)
  }
  return { text: spelledOut(formula, random), values }
}

function drawnFormula(random: Random): Formula {
  const formula = randomFormula(random, 2, 30)
  const text = JSON.stringify(formula)
  if (!/call|open|high|low|close|volume/.test(text)) return drawnFormula(random)
  return chance(random, 0.5) ? { minus: formula } : formula
}

/** Events of one field while another, most often of one ticker for all, is in some bands; out when a third changes. */
function randomRules(random: Random, shelves: Shelves): Rules & { rank: Ranking['values']; text: string } {
  const fields = [...LIVELY]
  const drawn = (): string => fields.splice(random.below(fields.length), 1)[0]!
  const some = (field: string): string[] => {
    const bands = TECHNICAL[field]!.filter(() => chance(random, 0.6))
    return bands.length === 0 ? [...TECHNICAL[field]!] : bands
  }
  const first = drawn()
  const second = drawn()
  const third = drawn()
  const other = { field: second, ticker: pick(random, TICKERS) }
  const entry: Claim = chance(random, 0.6)
    ? { at: other, into: some(second), outOf: null, within: 1 + random.below(3) }
    : { at: other, in: some(second), isNot: false }
  const beside = chance(random, 0.4) ? { field: first, bands: some(first) } : null
  const exit: Claim = { at: { field: third }, into: some(third), outOf: null }
  const { text, values } = randomRank(random, shelves)
  const left = pick(random, TICKERS)
  const strategy = parseStrategyDocument({
    tickers: chance(random, 0.7) ? TICKERS : TICKERS.filter(ticker => ticker !== left),
    timeframe: chance(random, 0.2) ? 'weekly' : 'daily',
    side: pick(random, ['long', 'short']),
    entry: { ...beside, when: written(entry, random) },
    fill: pick(random, ['next-open', 'next-close', 'close']),
    exit: {
      when: written(exit, random),
      hold: chance(random, 0.5) ? pick(random, [2, 3, 5]) : null,
      stop: chance(random, 0.3) ? 0.04 : null,
    },
    lag: pick(random, [0, 0, 1, 3]),
    overlap: pick(random, ['skip', 'allow', 'extend']),
    portfolio: {
      order: 'ticker',
      max_positions: pick(random, [1, 1, 1, 2]),
      size: pick<unknown>(random, [{ method: 'equal' }, { method: 'fixed-fraction', fraction: 0.7 }]),
    },
    rank: text,
  })
  return { strategy, entry, beside, exit, rank: values, text }
}

describe('a strategy of three fields and two tickers that ranks its signals', () => {
  const COUNT = draws(250)

  it(`has in ${COUNT} random cases the trades of a walk that takes the best of each day`, async () => {
    const local = new Local(store, null, null)
    const shelves = await exported(local)
    const seen = { trades: 0, contested: 0, tied: 0, decided: 0 }
    for (let seed = 1; seed <= COUNT; seed++) {
      const rules = randomRules(new Random(new Random(seed).word()), shelves)
      const { strategy } = rules
      const what = `seed ${seed}: ${JSON.stringify(strategy)}`
      const found = await backtest(local, strategy, PLAIN)
      const { trades, equity } = await walked(local, shelves, rules)
      expect(inOrder(found.trades.map(told)), what).toEqual(inOrder(trades))
      if (equity !== undefined) expect(found.equity.at(-1)!.equity, what).toBeCloseTo(equity.equity, 9)
      expectTold(found, rules, shelves, what)
      const { rank: _, ...unranked } = strategy
      const plain = await backtest(local, unranked, PLAIN)
      seen.trades += trades.length
      seen.contested += found.ranking!.contested_days
      seen.tied += found.ranking!.tied_days
      seen.decided += Number(JSON.stringify(plain.trades.map(told)) !== JSON.stringify(found.trades.map(told)))
    }
    expect(seen.trades).toBeGreaterThan(COUNT * 5)
    expect(seen.contested).toBeGreaterThan(COUNT / 4)
    expect(seen.decided).toBeGreaterThan(COUNT / 20)
  })

  it('does as of a day what it does on data cut at that day', async () => {
    const shelves = await exported(new Local(store, null, null))
    await expectSameOfCutData(store, ['2017-12-29', '2018-03-10'], random => randomRules(random, shelves).strategy)
  })
})

/** What each trade and each signal that was skipped is said to be ranked by is so on its own bar. */
function expectTold(
  { trades, skipped }: Awaited<ReturnType<typeof backtest>>,
  { strategy, rank, text }: ReturnType<typeof randomRules>,
  shelves: Shelves,
  what: string,
): void {
  const { timeframe } = strategy
  const field = /^-?(\w+)$/.exec(text)?.[1]
  for (const { ticker, date, told } of [
    ...trades.map(trade => ({ ...trade, date: trade.signal_date, told: trade.rank })),
    ...skipped.map(one => ({ ...one, told: one.rank })),
  ]) {
    const shelf = shelves[ticker]![timeframe]
    const t = shelf.dates.indexOf(date)
    if (field !== undefined && field in TECHNICAL) expect(told, what).toBe(shelf.bands[field]![t])
    else {
      const value = rank({ ticker, timeframe })[t] ?? null
      if (value === null || typeof told !== 'number') expect(told, what).toBe(value)
      else expect(Math.abs(Math.abs(told) - Math.abs(value)), what).toBeLessThan(1e-9 * Math.max(1, Math.abs(value)))
    }
  }
}
