import type { Backtest, EquityStatistics } from '../../research/backtest/result.js'
import { equityCharts } from '../charts/equity.js'
import { figure } from '../charts/figure.js'
import { count, decimal, gain, NONE, probability, share } from '../format.js'
import { type Html, html } from '../html.js'
import type { Section } from '../page.js'
import { type Column, signTone } from '../tables/column.js'
import { table } from '../tables/table.js'
import { reasons } from './reasons.js'
import { wholeWords } from './validation.js'

/** What became of the money. */
export function equity(backtest: Backtest): Section {
  const whole = wholeWords(backtest)
  return {
    id: 'equity',
    title: 'Equity',
    body: html`${whole !== null && html`<p>Here and below: ${whole}.</p>`}
${equityCharts(backtest).map(chart => figure(chart))}
${table({ caption: 'The deepest drawdowns', columns: DRAWDOWNS, rows: backtest.drawdowns, empty: 'The equity never lay below a high.' })}`,
  }
}

/** The statistics of the equity, beside those of holding, each with its formula. */
export function performance({ statistics, benchmarks, bars_a_year }: Backtest): Section {
  const barsAYear = Number(bars_a_year.toFixed(1))
  const columns: Column<Statistic>[] = [
    { title: 'Statistic', text: ({ name }) => name },
    { title: 'Strategy', numeric: true, text: ({ text }) => text(statistics) },
    ...benchmarks.map(
      (benchmark): Column<Statistic> => ({
        title: benchmark.name,
        numeric: true,
        text: ({ text }) => text(benchmark.statistics),
      }),
    ),
    { title: 'How it is made', text: ({ formula }) => html`<span class="quiet">${formula(barsAYear)}</span>` },
  ]
  const told = [
    { where: 'strategy', reasons: statistics.reasons },
    ...benchmarks.flatMap(({ name, statistics, reasons }) => [
      { where: name, reasons: statistics.reasons },
      { where: `against ${name}`, reasons },
    ]),
  ]
  return {
    id: 'performance',
    title: 'Performance',
    body: html`${table({ caption: `Statistics of the equity over ${count(statistics.bars)} bars, ${barsAYear} a year`, columns, rows: STATISTICS })}
${table({ caption: 'Against holding', columns: AGAINST, rows: benchmarks, empty: 'There is nothing to compare with.' })}
${reasons(told)}`,
  }
}

interface Statistic {
  name: string
  text(statistics: EquityStatistics): string | Html
  formula(barsAYear: number): string
}

const STATISTICS: readonly Statistic[] = [
  { name: 'Total return', text: ({ total_return }) => gain(total_return), formula: () => 'last equity / first − 1' },
  { name: 'CAGR', text: ({ cagr }) => gain(cagr), formula: m => `(last / first)^(${m} / bars) − 1` },
  {
    name: 'Volatility',
    text: ({ volatility }) => share(volatility, 2),
    formula: m => `deviation of bar returns (n − 1) · √${m}`,
  },
  { name: 'Sharpe', text: ({ sharpe }) => decimal(sharpe), formula: m => `mean excess / deviation · √${m}` },
  { name: 'Sortino', text: ({ sortino }) => decimal(sortino), formula: m => `mean / √mean(min(r, 0)²) · √${m}` },
  { name: 'Calmar', text: ({ calmar }) => decimal(calmar), formula: () => 'CAGR / |maximum drawdown|' },
  {
    name: 'Maximum drawdown',
    text: ({ max_drawdown }) => gain(max_drawdown),
    formula: () => 'least of equity / running maximum − 1',
  },
  {
    name: 'Average drawdown',
    text: ({ average_drawdown }) => gain(average_drawdown),
    formula: () => 'mean of the same',
  },
  {
    name: 'Longest drawdown',
    text: ({ longest_drawdown_bars: bars }) => count(bars),
    formula: () => 'bars from a high to the next',
  },
  { name: 'Ulcer index', text: ({ ulcer_index }) => share(ulcer_index, 2), formula: () => '√mean(drawdown²)' },
  { name: 'Skewness', text: ({ skewness }) => decimal(skewness), formula: () => 'm₃ / m₂^1.5 of bar returns' },
  {
    name: 'Kurtosis',
    text: ({ kurtosis }) => decimal(kurtosis),
    formula: () => 'm₄ / m₂² of bar returns; a normal one has 3',
  },
  { name: 'Best bar', text: ({ best_bar }) => gain(best_bar), formula: () => '' },
  { name: 'Worst bar', text: ({ worst_bar }) => gain(worst_bar), formula: () => '' },
  {
    name: 'Exposure',
    text: ({ exposure }) => share(exposure),
    formula: () => 'share of bars on which a position was on',
  },
  { name: 'Turnover', text: ({ turnover }) => decimal(turnover), formula: () => 'traded value / mean equity, a year' },
  {
    name: 'Probabilistic Sharpe',
    text: ({ probabilistic_sharpe: p }) => probability(p),
    formula: () => 'P(true Sharpe > 0), Bailey and López de Prado 2012',
  },
  {
    name: 'Minimum track record',
    text: ({ min_track_record_bars: bars }) => count(bars),
    formula: () => 'bars for that to reach 95%',
  },
]

type Holding = Backtest['benchmarks'][number]

const AGAINST: readonly Column<Holding>[] = [
  { title: 'Against', text: ({ name }) => name },
  { title: 'From', hint: 'Its first bar within the dates of the strategy', text: ({ first }) => first ?? NONE },
  { title: 'To', hint: 'Its last bar within them', text: ({ last }) => last ?? NONE },
  { title: 'Alpha a year', numeric: true, text: ({ alpha }) => gain(alpha), tone: ({ alpha }) => signTone(alpha) },
  { title: 'Beta', numeric: true, text: ({ beta }) => decimal(beta) },
  { title: 'Correlation', numeric: true, text: ({ correlation }) => decimal(correlation) },
  { title: 'Information ratio', numeric: true, text: ({ information_ratio }) => decimal(information_ratio) },
]

const DRAWDOWNS: readonly Column<Backtest['drawdowns'][number]>[] = [
  { title: 'From', text: ({ from }) => from },
  { title: 'Lowest', text: ({ low }) => low },
  { title: 'Back', text: ({ to }) => to ?? 'not yet' },
  { title: 'Depth', numeric: true, text: ({ depth }) => gain(depth), tone: () => 'loss' },
  { title: 'Bars', numeric: true, text: ({ bars }) => count(bars) },
]
