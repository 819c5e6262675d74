import { describe, expect, it } from 'vitest'
import { parseGrid } from '../../src/core/params/grid.js'
import { mean } from '../../src/core/statistics/moments.js'
import { grid } from '../../src/research/backtest/grid.js'
import { draws, FULL } from '../support/full.js'
import { noiseMarket } from './support/noise.js'

const RUNS = draws(200)
const BANDS = 'deep_oversold,oversold,neutral_low,neutral,neutral_high,overbought,deep_overbought'
// Random entry judges each cell by itself and takes no part in what is proven: no draws of it are made.
const QUERY = parseGrid(
  { tickers: ['A'], field: 'rsi_zone', costs: 0, reps: 0, vary: [`band=${BANDS}`, 'hold=2,5,10,20'] },
  { tier: null },
)

async function judged(edge: number, runs: number): Promise<{ deflated: number[]; overfitting: number[] }> {
  const [deflated, overfitting]: [number[], number[]] = [[], []]
  for (let run = 0; run < runs; run++) {
    const found = await grid(noiseMarket(run + 1, 1000, edge), QUERY)
    deflated.push(found.trials.deflated_sharpe!)
    overfitting.push(found.pbo!.probability)
  }
  return { deflated, overfitting }
}

const shareBelow = (values: readonly number[], bound: number): number =>
  values.filter(value => value < bound).length / values.length

describe('the best of a grid of 28', () => {
  // A share of 95 % of 200 runs has a standard error of 1.5 %, the mean probability of overfitting one of about 2 %.
  it(`of noise is not believed in 95 % of ${RUNS} runs, and which it is says nothing`, async () => {
    const { deflated, overfitting } = await judged(0, RUNS)
    expect(shareBelow(deflated, 0.95)).toBeGreaterThanOrEqual(FULL ? 0.95 : 0.8)
    expect(Math.abs(mean(overfitting)! - 0.5)).toBeLessThan(FULL ? 0.08 : 0.25)
  })

  it('with an edge in one band is believed in most runs, and stays the best', async () => {
    const { deflated, overfitting } = await judged(0.01, draws(60))
    expect(shareBelow(deflated, 0.95)).toBeLessThan(0.5)
    expect(mean(overfitting)!).toBeLessThan(0.2)
  })
})
