import type { Backtest } from '../../backtest/result.js'
import { type EventStudy, type Interval, type StudyWindow, spreadOf, type TestResult } from '../../study/result.js'
import type { Sweep } from '../../sweep/result.js'
import { count, counted, decimal, gain, gainRange, probability, share, shareRange } from '../html.js'
import { outOfSampleTiles, wholeWords } from './backtest.js'
import type { Tile } from './opening.js'

/** Every window, so that nobody has chosen one. */
export function studyTiles({ events, tickers, windows }: EventStudy): Tile[] {
  return [
    { label: 'Events', value: count(events), note: `of ${counted(tickers.length, 'ticker')}` },
    ...windows.map(
      (window): Tile => ({
        label: `After ${window.window}, against any bar`,
        value: gain(window.diff),
        note: `${tested(window.intervals[0], trusted(window))}, n ${count(window.n)} (${apart(window, tickers.length)})`,
        tone: window.grey || window.diff === null ? 'quiet' : undefined,
      }),
    ),
  ]
}

/** What came of it out of the sample, if a part of the data was kept apart; then what all data gave. */
export function backtestTiles(backtest: Backtest): Tile[] {
  const whole = wholeWords(backtest)
  const [first, ...more] = wholeTiles(backtest)
  if (whole === null || first === undefined) return wholeTiles(backtest)
  return [
    ...outOfSampleTiles(backtest),
    { ...first, label: `${first.label}, ${whole}` },
    ...more.map(tile => ({ ...tile, label: `${tile.label}, all data` })),
  ]
}

function wholeTiles({
  statistics,
  benchmarks,
  trade_statistics: trade,
  random_entry: entry,
  ...asked
}: Backtest): Tile[] {
  const hold = benchmarks[0]?.statistics
  return [
    {
      label: 'Total return',
      value: gain(statistics.total_return, 1),
      note: `holding ${gain(hold?.total_return, 1)}${investedNote(asked)}`,
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
    {
      label: 'Random entry, p',
      value: probability(entry.p),
      note: entry.reason ?? `${counted(entry.draws, 'draw')}, mean ${gain(entry.mean)} a trade`,
    },
  ]
}

/** How much of the equity can be in positions at all, where tickers are fewer than places. */
function investedNote({ strategy, tickers }: Pick<Backtest, 'strategy' | 'tickers'>): string {
  const { overlap, portfolio } = strategy as {
    overlap?: string
    portfolio?: { max_positions: number; sizing: { method: string } }
  }
  if (portfolio === undefined || overlap === 'allow' || portfolio.sizing.method !== 'equal') return ''
  return tickers.length < portfolio.max_positions
    ? `; ${tickers.length}/${portfolio.max_positions} invested at most`
    : ''
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
    {
      label: 'Deflated Sharpe',
      value: probability(best.deflated_sharpe),
      note: 'of holding, the rise of the market included',
    },
    {
      label: 'Overfitting',
      value: share(best.pbo?.probability, 0),
      note: best.pbo === null ? 'no value' : `${counted(best.pbo.splits, 'split')}`,
    },
  ]
}

/** The shift, or the studentised one where it misleads. */
function trusted(window: StudyWindow): TestResult | undefined {
  const studentised = window.tests.find(({ test }) => test === 'shift_studentised')
  return spreadOf(window) === null ? window.tests[0] : (studentised ?? window.tests[0])
}

function apart({ n_indep, n_stretches }: StudyWindow, tickers: number): string {
  return tickers > 1 ? `${counted(n_stretches, 'stretch', 'stretches')} of dates` : `${count(n_indep)} independent`
}

function tested(interval: Interval | undefined, test: TestResult | undefined): string {
  const { low = null, high = null } = interval ?? {}
  const { p = null } = test ?? {}
  const name = test?.test === 'shift_studentised' ? 'p(t)' : 'p'
  if (low === null && p === null) return 'too few to test'
  return `${low === null ? 'no interval' : gainRange(low, high)}, ${p === null ? 'no p' : `${name} ${probability(p)}`}`
}

function tone(value: number | null): Tile['tone'] {
  return value === null ? 'quiet' : value > 0 ? 'gain' : value < 0 ? 'loss' : undefined
}
