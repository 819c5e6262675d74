import { describe, expect, it } from 'vitest'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Trade } from '../../src/research/backtest/result.js'
import { flat, type MadeBar, madeMarket, PLAIN, strategyWith } from './support/made-market.js'

/** The signal is at bar 2; the first trade of a strategy on bars at 100 of which some are replaced. */
async function traded(
  bars: Record<number, MadeBar>,
  document: Record<string, unknown>,
  bands: Record<string, string> = {},
): Promise<Trade> {
  const market = madeMarket({ A: { bars: flat(100, 12, bars), bands: { rsi_zone: 'ddaaaaaaaaaa', ...bands } } })
  const { trades } = await backtest(market, strategyWith(document), PLAIN)
  return trades[0]!
}

const near = (value: number) => expect.closeTo(value, 12)
const left = ({ exit, exit_date, exit_price }: Trade) => [exit, Number(exit_date.slice(8)) - 1, exit_price]

describe('an entry', () => {
  it('is at the open after the signal, at the close after it, or at its own close', async () => {
    const bars = { 2: [100, 100, 100, 98], 3: [101, 103, 99, 102] } as const
    for (const [fill, date, price] of [
      ['next-open', '2020-01-04', 101],
      ['next-close', '2020-01-04', 102],
      ['close', '2020-01-03', 98],
    ]) {
      const trade = await traded(bars, { fill, exit: { hold: 5 } })
      expect([trade.entry_date, trade.entry_price], String(fill)).toEqual([date, price])
      expect(trade.signal_date).toBe('2020-01-03')
      expect([trade.band, trade.prev_band]).toEqual(['deep_oversold', 'neutral'])
    }
  })
})

describe('an exit', () => {
  it('by hold is at the close of the bar so many after the signal, whatever the fill', async () => {
    for (const fill of ['next-open', 'next-close', 'close'])
      expect(left(await traded({ 5: [100, 107, 93, 105] }, { fill, exit: { hold: 3 } })), fill).toEqual([
        'hold',
        5,
        105,
      ])
  })

  it('by leave is at the open, the close after, or the close of the first event of the field', async () => {
    const bars = { 4: [100, 100, 100, 104], 5: [105, 105, 105, 106] } as const
    const bands = { rsi_zone: 'ddaabbcccccc' }
    for (const [fill, bar, price] of [
      ['next-open', 5, 105],
      ['next-close', 5, 106],
      ['close', 4, 104],
    ] as const)
      expect(left(await traded(bars, { fill, exit: { leave: true } }, bands)), fill).toEqual(['leave', bar, price])
  })

  it('by leave comes at the open after next where the band changes on the bar of the entry', async () => {
    const trade = await traded({ 4: [110, 110, 110, 110] }, { exit: { leave: true } }, { rsi_zone: 'ddabbbbbbbbb' })
    expect(left(trade)).toEqual(['leave', 4, 110])
  })

  it('by on waits for a band of the field, or of another', async () => {
    const bands = { rsi_zone: 'ddaabbccffff', trend_direction: 'aaaaaaabbbbb' }
    const overbought = { on: { bands: ['overbought'] } }
    expect(left(await traded({}, { exit: overbought }, bands))).toEqual(['on', 9, 100])
    const downtrend = { on: { field: 'trend_direction', bands: ['downtrend'] } }
    expect(left(await traded({}, { exit: downtrend }, bands))).toEqual(['on', 8, 100])
    expect(left(await traded({}, { exit: { ...overbought, leave: true } }, bands))).toEqual(['leave', 5, 100])
  })

  it('at one close is told as hold before leave', async () => {
    const bands = { rsi_zone: 'ddaaabbbbbbb' }
    expect(left(await traded({}, { fill: 'close', exit: { hold: 3, leave: true } }, bands))).toEqual(['hold', 5, 100])
    expect(left(await traded({}, { fill: 'next-open', exit: { hold: 4, leave: true } }, bands))).toEqual([
      'leave',
      6,
      100,
    ])
  })

  it('that has not come by the last bar leaves the trade open at its close', async () => {
    const trade = await traded({ 11: [100, 100, 100, 103] }, { exit: { leave: true } })
    expect(left(trade)).toEqual(['open', 11, 103])
  })
})

describe('a stop of 5 %', () => {
  const exit = { hold: 6, stop: 0.05 }

  it('fills at its price within a bar, the bar of an entry at the open included', async () => {
    expect(left(await traded({ 5: [99, 101, 94, 100] }, { exit }))).toEqual(['stop', 5, 95])
    expect(left(await traded({ 3: [100, 101, 94, 100] }, { exit }))).toEqual(['stop', 3, 95])
  })

  it('fills at the open after a gap beyond it', async () => {
    expect(left(await traded({ 5: [90, 101, 88, 100] }, { exit }))).toEqual(['stop', 5, 90])
  })

  it('is not there yet on the bar of an entry at its close', async () => {
    const bars = { 3: [100, 101, 50, 100] } as const
    expect(left(await traded(bars, { fill: 'next-close', exit }))).toEqual(['hold', 8, 100])
    expect(left(await traded({ 2: [100, 101, 50, 100] }, { fill: 'close', exit }))).toEqual(['hold', 8, 100])
  })

  it('comes before a target that was touched on the same bar', async () => {
    expect(left(await traded({ 5: [100, 120, 94, 110] }, { exit: { ...exit, target: 0.1 } }))).toEqual(['stop', 5, 95])
  })

  it('comes after a leave that is due at the open, and before one at the close', async () => {
    const bands = { rsi_zone: 'ddaaabbbbbbb' }
    const bars = { 6: [99, 101, 90, 97] } as const
    expect(left(await traded(bars, { exit: { ...exit, leave: true } }, bands))).toEqual(['leave', 6, 99])
    const gap = { 6: [90, 101, 90, 97] } as const
    expect(left(await traded(gap, { exit: { ...exit, leave: true } }, bands))).toEqual(['stop', 6, 90])
    const close = { fill: 'next-close', exit: { ...exit, leave: true } }
    expect(left(await traded(bars, close, bands))).toEqual(['stop', 6, 95])
  })

  it('of a short lies above the entry', async () => {
    const short = { side: 'short', exit }
    expect(left(await traded({ 5: [101, 106, 99, 100] }, short))).toEqual(['stop', 5, 105])
    expect(left(await traded({ 5: [108, 109, 99, 100] }, short))).toEqual(['stop', 5, 108])
  })
})

describe('a target of 10 %', () => {
  const exit = { hold: 6, target: '10%' }

  it('fills at its price, or better at the open after a gap', async () => {
    expect(left(await traded({ 5: [99, 115, 94, 100] }, { exit }))).toEqual(['target', 5, near(110)])
    expect(left(await traded({ 5: [112, 115, 94, 100] }, { exit }))).toEqual(['target', 5, 112])
  })

  it('of a short lies below the entry', async () => {
    const short = { side: 'short', exit }
    expect(left(await traded({ 5: [99, 101, 85, 100] }, short))).toEqual(['target', 5, 90])
    expect(left(await traded({ 5: [88, 101, 85, 100] }, short))).toEqual(['target', 5, 88])
  })
})

describe('a trailing stop of 10 %', () => {
  const exit = { hold: 9, trailing: 0.1 }

  it('follows the highest high of the bars before, not of the same bar', async () => {
    const bars = { 4: [100, 120, 100, 118], 5: [115, 130, 109, 112], 6: [112, 112, 105, 110] } as const
    expect(left(await traded({ ...bars }, { exit }))).toEqual(['trailing', 6, 112])
    const within = { ...bars, 6: [118, 118, 105, 110] } as const
    expect(left(await traded(within, { exit }))).toEqual(['trailing', 6, 117])
  })

  it('stands below the price of the entry at first', async () => {
    expect(left(await traded({ 3: [100, 100, 89, 95] }, { exit }))).toEqual(['trailing', 3, 90])
  })

  it('gives way to a stop that is nearer, and takes over once it is the nearer one', async () => {
    const both = { ...exit, stop: 0.05 }
    expect(left(await traded({ 4: [100, 100, 89, 95] }, { exit: both }))).toEqual(['stop', 4, 95])
    const risen = { 4: [100, 110, 100, 108], 5: [108, 108, 98, 99] } as const
    expect(left(await traded(risen, { exit: both }))).toEqual(['trailing', 5, 99])
  })

  it('of a short follows the lowest low', async () => {
    const bars = { 4: [100, 100, 80, 82], 5: [83, 89, 83, 85] } as const
    expect(left(await traded(bars, { side: 'short', exit }))).toEqual(['trailing', 5, 88])
  })
})

describe('distances by ATR', () => {
  it('are those of the signal, and no trade is made while there is none', async () => {
    const bars = Array.from({ length: 30 }, (): MadeBar => [100, 101, 99, 100])
    bars[25] = [100, 101, 80, 100]
    const bands = { rsi_zone: 'dddddaaaaaddddddddddaaaaaaaaaa' }
    const market = madeMarket({ A: { bars, bands } })
    const { trades, skipped } = await backtest(market, strategyWith({ exit: { hold: 8, stop: '2atr' } }), PLAIN)
    // The true range is 2 on every bar, and so is its average from bar 14 on.
    expect(trades.map(left)).toEqual([['stop', 25, 96]])
    expect(skipped).toEqual([{ ticker: 'A', date: '2020-01-06', reason: 'no_size', rank: null }])
  })
})

describe('the greatest excursions', () => {
  it('cover the bars lived: the whole bar of an entry at the open, none of it after one at the close', async () => {
    const bars = {
      3: [100, 120, 70, 100],
      4: [100, 104, 97, 100],
      5: [100, 106, 98, 101],
      6: [100, 150, 50, 100],
    } as const
    const open = await traded(bars, { exit: { hold: 3 } })
    expect([open.mfe, open.mae]).toEqual([near(0.2), near(-0.3)])
    const close = await traded(bars, { fill: 'next-close', exit: { hold: 3 } })
    expect([close.mfe, close.mae]).toEqual([near(0.06), near(-0.03)])
    expect([open.bars, close.bars]).toEqual([3, 2])
  })

  it('count only the open of a bar that was left there', async () => {
    const bars = { 4: [100, 104, 97, 100], 5: [105, 150, 50, 100] } as const
    const trade = await traded(bars, { exit: { leave: true } }, { rsi_zone: 'ddaabbbbbbbb' })
    expect([trade.mfe, trade.mae]).toEqual([near(0.05), near(-0.03)])
    expect(trade.bars).toBe(2)
  })

  it('are capped by the stop and the target on the bar on which one of them was hit', async () => {
    const bars = { 5: [100, 130, 80, 100] } as const
    const exit = { hold: 6, stop: 0.05, target: 0.1 }
    const long = await traded(bars, { exit })
    expect([long.mfe, long.mae]).toEqual([near(0.1), near(-0.05)])
    const short = await traded(bars, { side: 'short', exit })
    expect([short.mfe, short.mae]).toEqual([near(0.1), near(-0.05)])
  })
})

describe('a delisting', () => {
  const bars = flat(100, 6)

  it('ends a trade on its day, at the final price', async () => {
    const delisting = { day: '2020-01-10', price: 40 }
    const market = madeMarket({ A: { bars, bands: { rsi_zone: 'ddaaaa' }, delisting } })
    const { trades, equity } = await backtest(market, strategyWith({ exit: { hold: 20 } }), PLAIN)
    expect(trades[0]).toMatchObject({
      exit: 'delisted',
      exit_date: '2020-01-10',
      exit_price: 40,
      gross: -0.6,
      mae: -0.6,
    })
    expect(equity.at(-1)).toMatchObject({ date: '2020-01-10', equity: 0.4, positions: 0 })
  })

  it('may take everything', async () => {
    const delisting = { day: '2020-01-06', price: 0 }
    const market = madeMarket({ A: { bars, bands: { rsi_zone: 'ddaaaa' }, delisting } })
    const { trades, statistics } = await backtest(market, strategyWith({ exit: { hold: 20 } }), PLAIN)
    expect(trades[0]).toMatchObject({ exit: 'delisted', exit_date: '2020-01-06', net: -1 })
    expect(statistics.sharpe).toBeNull()
    expect(statistics.reasons.sharpe).toBe('the equity fell to 0 or below')
  })

  it('does not touch a trade that was closed before it', async () => {
    const delisting = { day: '2020-01-06', price: 1 }
    const market = madeMarket({ A: { bars, bands: { rsi_zone: 'ddaaaa' }, delisting } })
    const { trades } = await backtest(market, strategyWith({ exit: { hold: 3 } }), PLAIN)
    expect(trades.map(left)).toEqual([['hold', 5, 100]])
  })
})
