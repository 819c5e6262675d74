import { expect, it } from 'vitest'
import { backtest } from '../../src/backtest/backtest.js'
import { seriesOf } from '../support/convert.js'
import { loadPrices } from '../support/shared-bars.js'
import { PLAIN, strategyWith } from './support/made-market.js'
import { seriesMarket } from './support/series-market.js'

const SPY = loadPrices('SPY')
const reason = SPY === null ? ' (skipped: the folder of shared data is absent)' : ''

// spec/backtest.md, section 8: SPY 1999-11..2020-08, not adjusted, rsi_zone oversold.
it.skipIf(SPY === null)(
  `SPY oversold, 20 bars from the next open at 5 bp: the published figures${reason}`,
  async () => {
    const market = seriesMarket({ SPY: seriesOf(SPY!) })
    const strategy = strategyWith({
      tickers: ['SPY'],
      entry: { field: 'rsi_zone', bands: ['oversold'] },
      exit: { hold: 20 },
      costs: { bps: 5 },
    })
    const { signals, trade_statistics: trades } = await backtest(market, strategy, PLAIN)
    expect([signals.total, trades.n]).toEqual([52, 29])
    expect(100 * trades.mean!).toBeCloseTo(1.6411, 4)
    expect(trades.hit_rate).toBeCloseTo(0.7586, 4)
    expect(100 * trades.mean_mfe!).toBeCloseTo(4.583, 3)
    expect(100 * trades.mean_mae!).toBeCloseTo(-6.299, 3)
  },
)
