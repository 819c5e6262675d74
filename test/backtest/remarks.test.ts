import { describe, expect, it } from 'vitest'
import { backtest } from '../../src/backtest/backtest.js'
import { onBars } from '../support/source.js'
import { flat, madeMarket, PLAIN, strategyWith } from './support/made-market.js'

const TICKERS = {
  A: { bars: flat(10, 12), bands: { rsi_zone: 'ddaaaaaaaaaa' } },
  B: { bars: flat(10, 12), bands: { rsi_zone: 'ddaaaaaaaaaa' }, barsAYear: 252 },
}

async function said(document: Record<string, unknown>, minTrades = 0) {
  const strategy = strategyWith({ tickers: ['A'], ...document })
  return backtest(madeMarket(TICKERS), strategy, { ...PLAIN, minTrades })
}

describe('the first lines of a backtest', () => {
  it('say what was assumed: fills, costs, positions, prices, formulas, reference, null, survivorship', async () => {
    const { assumptions } = await said({ costs: { bps: 5, slippage_bps: 2 }, exit: { hold: 20, stop: '5%' }, seed: 7 })
    expect(assumptions).toEqual([
      'fills: a signal at a close is filled at the next open; exits: hold 20, stop 5 %',
      'within a bar: a gap fills at the open, the stop comes before the target, and both before the close',
      'costs: 7 bp a side (2 bp of it slippage); gross is before them, net after',
      'positions: at most 1, each 1/1 of the equity at the close before, never more than the cash, which earns 0 % a year',
      'overlap: one position a ticker; signals while it is on are skipped, the next may come on the exit bar',
      'prices: adjusted',
      'statistics: 365 bars a year, standard deviations with n - 1, risk-free rate 0 % a year',
      'reference: buy and hold of the same tickers, equal money in each, without costs',
      'null: no random entries; seed 7',
      'survivorship: tickers are those in the store',
    ])
  })
})

describe('a backtest warns', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['fills at the close of the signal', { fill: 'close' }, 'same close: not tradable on end-of-day data'],
    ['no costs', {}, 'no costs: nobody trades for nothing'],
    ['borrow that nobody pays', { costs: { borrow: 0.01 } }, 'borrow is paid on shorts; these are long trades'],
    [
      'a hold that is not there',
      { overlap: 'extend', exit: { leave: true } },
      'there is no hold that a signal could extend',
    ],
    [
      'calendars that differ',
      { tickers: ['A', 'B'] },
      'tickers of 252 and 365 bars a year are on one calendar of all days',
    ],
  ])('of %s', async (_, document, sentence) => {
    expect((await said(document)).warnings.join('\n')).toContain(sentence)
  })

  it('of prices without dividends, but not of what trades at weekends and was not said to be stock', async () => {
    const raw = onBars(madeMarket(TICKERS), found => ({ ...found, adjustment: 'raw', assetClass: null }))
    const { warnings } = await backtest(raw, strategyWith({ tickers: ['A', 'B'] }), PLAIN)
    expect(warnings).toContain('prices of B are not adjusted for dividends')
  })

  it('of few trades, as many as are asked for', async () => {
    expect((await said({}, 20)).warnings).toContain('1 closed trade: fewer than 20 say little')
    expect((await said({}, 1)).warnings.join()).not.toContain('say little')
  })
})
