import type { Backtest } from '../../research/backtest/result.js'
import type { EventStudy, Interval, TestResult } from '../../research/study/result.js'
import type { Sweep } from '../../research/sweep/result.js'
import { count, counted, decimal, gain, gainRange, probability, share, shareRange } from '../format.js'
import type { Tile } from './opening.js'

/** Every window, so that nobody has chosen one. */
export function studyTiles({ events, tickers, windows }: EventStudy): Tile[] {
  return [
    { label: 'Events', value: count(events), note: `of ${counted(tickers.length, 'ticker')}` },
    ...windows.map(
      ({ window, diff, n, n_indep, intervals, tests, grey }): Tile => ({
        label: `After ${window}, against any bar`,
        value: gain(diff),
        note: `${tested(intervals[0], tests[0])}, n ${count(n)} (${count(n_indep)} independent)`,
        tone: grey || diff === null ? 'quiet' : undefined,
      }),
    ),
  ]
}

export function backtestTiles({
  statistics,
  benchmarks,
  trade_statistics: trade,
  random_entry: entry,
}: Backtest): Tile[] {
  const hold = benchmarks[0]?.statistics
  return [
    {
      label: 'Total return',
      value: gain(statistics.total_return, 1),
      note: `holding ${gain(hold?.total_return, 1)}`,
      tone: tone(statistics.total_return),
    },
    {
      label: 'A year',
      value: gain(statistics.cagr, 1),
      note: `holding ${gain(hold?.cagr, 1)}`,
      tone: tone(statistics.cagr),
    },
    { label: 'Sharpe', value: decimal(statistics.sharpe), note: `holding ${decimal(hold?.sharpe)}` },
    {
      label: 'Worst drawdown',
      value: gain(statistics.max_drawdown, 1),
      note: `holding ${gain(hold?.max_drawdown, 1)}`,
    },
    {
      label: 'In the market',
      value: share(statistics.exposure, 0),
      note: `turnover ${decimal(statistics.turnover, 1)} a year`,
    },
    {
      label: 'Trades',
      value: count(trade.n),
      note: `${share(trade.hit_rate, 0)} won (95% ${shareRange(trade.hit_low, trade.hit_high)})`,
    },
    {
      label: 'Mean trade, net',
      value: gain(trade.mean),
      note: `gross ${gain(trade.mean_gross)}`,
      tone: tone(trade.mean),
    },
    { label: 'Random dates did as well', value: share(entry.p), note: `of ${counted(entry.draws, 'draw')}` },
  ]
}

export function sweepTiles({ tried, found, best, adjust }: Sweep): Tile[] {
  return [
    { label: 'Combinations tried', value: count(tried.cells), note: `${count(tried.tested)} with a p-value` },
    {
      label: adjust === 'none' ? 'p below 0.05' : 'q below 0.05',
      value: count(found),
      note: `of ${count(tried.tested)} tested; uncorrected, luck alone gives about ${count(tried.tested * 0.05)}`,
    },
    { label: 'SPA, consistent', value: probability(best.spa?.consistent), note: 'p of the best of all' },
    { label: 'Reality check', value: probability(best.reality_check), note: 'p of the best of all' },
    { label: 'Deflated Sharpe', value: probability(best.deflated_sharpe), note: 'of the best' },
    {
      label: 'Overfitting',
      value: share(best.pbo?.probability, 0),
      note: best.pbo === null ? 'no value' : `${counted(best.pbo.splits, 'split')}`,
    },
  ]
}

function tested(interval: Interval | undefined, test: TestResult | undefined): string {
  const { low = null, high = null } = interval ?? {}
  const { p = null } = test ?? {}
  if (low === null && p === null) return 'too few to test'
  return `${low === null ? 'no interval' : gainRange(low, high)}, ${p === null ? 'no p' : `p ${probability(p)}`}`
}

function tone(value: number | null): Tile['tone'] {
  return value === null ? 'quiet' : value > 0 ? 'gain' : value < 0 ? 'loss' : undefined
}
