import { describe, expect, it } from 'vitest'
import type { Backtest } from '../../src/research/backtest/result.js'
import { ABOUT } from '../support/results/about.js'
import { madePrices } from '../support/results/prices.js'
import { madeBacktest, testsWith } from '../support/results/runs.js'
import { backtestReport } from './support/reports.js'

const CHARTS = [madePrices({ bars: 300 })]

async function pageOf(more: Partial<Backtest> = {}): Promise<string> {
  return backtestReport(await madeBacktest(CHARTS, more), CHARTS, ABOUT)
}

async function validated(candidates: readonly string[]): Promise<Partial<Backtest>> {
  const { statistics, trade_statistics } = await madeBacktest(CHARTS)
  const test = testsWith({ statistics: { ...statistics, total_return: -0.079 }, trade_statistics, holding: statistics })
  const fold = {
    name: '1',
    from: '2010-01-04',
    to: '2011-01-03',
    trades: 3,
    chosen: candidates[1] ?? null,
    agreement: null,
  }
  return {
    validation: {
      kind: 'walk_forward',
      purged: 2,
      candidates: [...candidates],
      folds: [
        { ...fold, ...test, role: 'train' },
        { ...fold, ...test, role: 'test' },
      ],
      test,
    },
  }
}

/** What stands on it, without its style and its script. */
const text = (page: string): string =>
  page
    .replace(/<(style|script)[\s\S]*?<\/\1>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

describe('the page of a backtest', () => {
  it('has the tests before all data, each under its name, and no number of all data among the first', async () => {
    const page = await pageOf(await validated(['hold 5', 'hold 10']))
    expect(text(page)).toMatch(/total return -7\.90%/)
    const places = ['tests-curve', 'out-of-sample', 'tests-drawdown', 'validation', 'performance', 'equity-curve']
    const at = places.map(id => page.indexOf(`id="${id}"`))
    expect(at).toEqual(at.toSorted((a, b) => a - b))
    expect(at[0]).toBeGreaterThan(0)
    expect(text(page)).toContain('Here and below: first of 2 candidates (hold 5), all data.')
    expect(text(page)).toContain('Not in it are the candidates (hold 5; hold 10) and the walk-forward')
    expect(page).toMatch(/<td[^>]*>hold 10<\/td>/)
  })

  it('without parts speaks of all data as of nothing special', async () => {
    const plain = await pageOf()
    expect(text(plain)).not.toContain('all data')
    expect(text(plain)).toContain('kept in a file, it makes the run again.')
  })

  it('separates thousands in large percentages, and shows the dates of a benchmark', async () => {
    const made = await madeBacktest(CHARTS)
    const [hold] = made.benchmarks
    const late = {
      ...hold!,
      name: 'TSLA',
      first: '2010-06-29',
      statistics: { ...hold!.statistics, total_return: 410.609 },
    }
    const page = await pageOf({ benchmarks: [hold!, late] })
    expect(page).toContain('+41,060.90%')
    expect(page).toMatch(
      /<th[^>]*>TSLA<\/th>[\s\S]*<th scope="row">from<\/th>(<td[^>]*>[^<]*<\/td>)*<td[^>]*>2010-06-29<\/td>/,
    )
  })

  it('shows the deflation of the Sharpe ratio', async () => {
    const trials = {
      run: 3,
      ledger: 12,
      family: 'run',
      n: 3,
      variance: 0.0004,
      deflated_sharpe: 0.4,
      reason: null,
      log: null,
      log_q: null,
    } as const
    expect(text(await pageOf({ trials }))).toContain('Deflated Sharpe ratio: .400, by the 3 of this run.')
    expect(text(await pageOf({ trials: { ...trials, family: 'ledger', n: 12 } }))).toContain('by the 12 of the ledger')
  })
})
