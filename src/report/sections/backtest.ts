import type { Backtest, EquityStatistics, TradeStatistics } from '../../backtest/result.js'
import { equityCharts, tradeHistogram } from '../charts/charts.js'
import { MONTHS } from '../charts/spec.js'
import { figure } from '../charts/svg.js'
import { count, counted, decimal, gain, type Html, html, NONE, probability, share, shareRange, words } from '../html.js'
import type { Section } from '../page.js'
import { type Column, signTone, table, tradeColumns, tradeRows } from '../tables.js'
import { reasons, type Tile } from './opening.js'

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

/** What came of it on data that it was not chosen on. */
export function outOfSampleTiles({ validation }: Backtest): Tile[] {
  if (validation === null || validation.test === null) return []
  const { statistics, trade_statistics: trades } = validation.test
  const tests = validation.folds.filter(({ role }) => role === 'test')
  const several = tests.length === 1 ? 'the only test part' : `all ${count(tests.length)} test parts`
  const parts = validation.kind === 'split' ? 'the part after the split' : several
  const label = (of: string): string => `Out of sample: ${of}`
  return [
    {
      label: label('total return'),
      value: gain(statistics.total_return, 1),
      note: `${parts}, ${tests[0]?.from ?? ''} to ${tests.at(-1)?.to ?? ''}`,
      tone: statistics.total_return === null ? 'quiet' : statistics.total_return < 0 ? 'loss' : 'gain',
    },
    { label: label('Sharpe'), value: decimal(statistics.sharpe), note: `${gain(statistics.cagr, 1)} a year` },
    { label: label('worst drawdown'), value: gain(statistics.max_drawdown, 1), note: parts },
    {
      label: label('trades'),
      value: count(trades.n),
      note: `mean ${gain(trades.mean)}, ${share(trades.hit_rate, 0)} won (95% ${shareRange(trades.hit_low, trades.hit_high)})`,
    },
  ]
}

/** What the numbers that are not out of the sample are of; nothing where all data are one part. */
export function wholeWords({ validation }: Pick<Backtest, 'validation'>): string | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined ? 'all data' : `first of ${more.length + 1} candidates (${first}), all data`
}

/** Beside the rules of a strategy that is one of several. */
export function ofCandidates({ validation }: Backtest): string {
  const all = validation?.candidates ?? []
  return all.length === 0 ? '' : ` (the first of ${all.length} candidates: ${all.join('; ')})`
}

/** What a strategy file does not hold. */
export function besideStrategy({ validation }: Backtest): string | null {
  if (validation === null) return null
  const { candidates, kind } = validation
  const parts = kind === 'split' ? 'the split' : 'the walk-forward'
  return candidates.length === 0 ? parts : `the candidates (${candidates.join('; ')}) and ${parts}`
}

type Fold = NonNullable<Backtest['validation']>['folds'][number]

/** The same rules on parts of the data. */
export function validation({ validation }: Backtest): Section | null {
  if (validation === null) return null
  const { kind, folds, purged, test } = validation
  const all: Fold[] =
    test === null
      ? []
      : [
          {
            ...test,
            name: 'all test parts',
            from: '',
            to: '',
            role: 'test',
            trades: test.trade_statistics.n,
            chosen: null,
          },
        ]
  return {
    id: 'validation',
    title: kind === 'split' ? 'Before and after the split' : 'Walking forward',
    body: html`<p>No trade reaches from one part into another: ${counted(purged, 'signal')} ${purged === 1 ? 'was' : 'were'} left out for that.</p>
${table({ caption: 'Parts of the data', columns: FOLDS, rows: [...folds, ...all] })}`,
  }
}

const FOLDS: readonly Column<Fold>[] = [
  { title: 'Part', text: ({ name }) => name },
  { title: 'For', text: ({ role }) => (role === 'train' ? 'choosing' : 'checking') },
  { title: 'From', text: ({ from }) => from },
  { title: 'To', text: ({ to }) => to },
  { title: 'Chosen', text: ({ chosen }) => chosen ?? '' },
  { title: 'Trades', numeric: true, text: ({ trades }) => count(trades) },
  { title: 'Hit rate', numeric: true, text: ({ trade_statistics: { hit_rate } }) => share(hit_rate, 0) },
  { title: 'Mean', numeric: true, text: ({ trade_statistics: { mean } }) => gain(mean) },
  { title: 'Total return', numeric: true, text: ({ statistics: { total_return } }) => gain(total_return) },
  { title: 'Sharpe', numeric: true, text: ({ statistics: { sharpe } }) => decimal(sharpe) },
  { title: 'Worst drawdown', numeric: true, text: ({ statistics: { max_drawdown } }) => gain(max_drawdown) },
]

/** Returns by year and month; the colour only repeats what the number says. */
export function months({ months }: Backtest): Section {
  const years = [...new Set(months.map(({ year }) => year))].sort((a, b) => b - a)
  const known = new Map(months.map(({ year, month, return: value }) => [year * 12 + month - 1, value]))
  // The colours reach their deepest at the size that one month of twenty exceeds.
  const sizes = months.map(({ return: value }) => Math.abs(value ?? 0)).sort((a, b) => a - b)
  const full = sizes[Math.floor(sizes.length * 0.95)] || 0.01
  if (years.length === 0)
    return { id: 'months', title: 'Month by month', body: html`<p class="empty">There is no month to tell of.</p>` }
  return {
    id: 'months',
    title: 'Month by month',
    short: 'Months',
    body: html`<div class="scroll" role="region" tabindex="0" aria-label="Returns by month"><table class="months">
<caption><span>Return of the equity in each month, in percent; the first and the last may be parts of a month</span></caption>
<thead><tr><th scope="col">Year</th>${MONTHS.map(name => html`<th scope="col" class="num">${name}</th>`)}<th scope="col" class="num">Year</th></tr></thead>
<tbody>
${years.map(year =>
  row(
    year,
    MONTHS.map((_, i) => known.get(year * 12 + i)),
    full,
  ),
)}</tbody></table></div>`,
  }
}

/** @param returns undefined before the first month and after the last; null from ruin on, which leaves the year without one */
function row(year: number, returns: readonly (number | null | undefined)[], full: number): Html {
  const whole = returns.includes(null) ? null : returns.reduce<number>((all, value) => all * (1 + (value ?? 0)), 1) - 1
  return html`<tr><th scope="row">${year}</th>${returns.map(value => html`<td class="num ${heat(value ?? 0, full)}">${text(value)}</td>`)}<td class="num strong">${gain(whole, 1)}</td></tr>
`
}

function text(value: number | null | undefined): string {
  return value == null ? NONE : decimal(value * 100, 1)
}

function heat(value: number, full: number): string {
  if (value === 0) return ''
  const strength = Math.min(4, Math.ceil((Math.abs(value) / full) * 4))
  return `${value > 0 ? 'up' : 'down'}-${strength}`
}

/** What each trade brought. */
export function trades(backtest: Backtest): Section {
  const { trade_statistics: statistics, signals } = backtest
  return {
    id: 'trades',
    title: 'Trades',
    body: html`<p>${counted(signals.closed, 'closed trade')}${signals.open > 0 && ` and ${signals.open} still open, which the statistics leave out and the equity contains`}.</p>
${table({ caption: 'Statistics of the closed trades, net of costs', columns: TRADE_COLUMNS, rows: tradeFigures(statistics) })}
${reasons([{ where: 'trades', reasons: statistics.reasons }])}
${figure(tradeHistogram(backtest.trades))}
${table({ caption: 'Trades, newest first', id: 'sorted', columns: tradeColumns(backtest), rows: tradeRows(backtest), cut: 'the newest', empty: 'There was no trade.' })}`,
  }
}

/** What became of each signal. */
export function signals({ signals, skipped }: Backtest): Section {
  const rows: [string, number][] = [
    ['closed trades', signals.closed],
    ['still open', signals.open],
    ['no bar after them yet', signals.pending],
    ...Object.entries(signals.skipped).map(([reason, n]): [string, number] => [
      `skipped: ${SKIPPED[reason] ?? words(reason)}`,
      n,
    ]),
    ...(signals.extended > 0 ? [['put off the exit of a trade', signals.extended] as [string, number]] : []),
  ]
  const left = [...skipped].sort((a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : 0))
  return {
    id: 'signals',
    title: 'Signals',
    body: html`${table({
      caption: `What became of ${counted(signals.total, 'signal')}`,
      columns: [
        { title: 'Signals', text: ([what]) => what },
        { title: 'n', numeric: true, text: ([, n]) => count(n) },
      ] satisfies Column<[string, number]>[],
      rows,
    })}
${left.length > 0 && table({ caption: 'Signals that were skipped, newest first', columns: SKIPPED_COLUMNS, rows: left, cut: 'the newest' })}`,
  }
}

const SKIPPED: Readonly<Record<string, string>> = {
  in_trade: 'the ticker was in a trade',
  no_place: 'no place was free',
  no_cash: 'there was no cash',
  no_price: 'there was no price to fill at',
  no_size: 'the size came to nothing',
}

const SKIPPED_COLUMNS: readonly Column<Backtest['skipped'][number]>[] = [
  { title: 'Date', text: ({ date }) => date },
  { title: 'Ticker', text: ({ ticker }) => ticker },
  { title: 'Why', text: ({ reason }) => SKIPPED[reason] ?? words(reason) },
]

type Figure = readonly [name: string, text: string, note: string]

function tradeFigures(of: TradeStatistics): Figure[] {
  return [
    ['n', count(of.n), `${count(of.wins)} of them won`],
    ['Hit rate', share(of.hit_rate), `95% ${shareRange(of.hit_low, of.hit_high)}, Wilson`],
    ['Mean', gain(of.mean), `gross ${gain(of.mean_gross)}`],
    ['Median', gain(of.median), ''],
    ['Best', gain(of.best), ''],
    ['Worst', gain(of.worst), ''],
    ['Deviation', share(of.deviation, 2), 'n − 1'],
    ['Profit factor', decimal(of.profit_factor), 'gains / losses'],
    ['Expectancy', gain(of.expectancy), 'a trade'],
    ['SQN', decimal(of.sqn), '√n · mean / deviation'],
    ['Longest losing run', count(of.longest_losing_run), 'trades'],
    ['Average length', decimal(of.average_bars, 1), 'bars'],
    ['Mean MFE', gain(of.mean_mfe), 'greatest gain on the way'],
    ['Mean MAE', gain(of.mean_mae), 'greatest loss on the way'],
    ['Break-even cost', share(of.break_even_cost, 3), 'a side, at which the mean is 0'],
  ]
}

const TRADE_COLUMNS: readonly Column<Figure>[] = [
  { title: 'Statistic', text: ([name]) => name },
  { title: 'Value', numeric: true, text: ([, text]) => text },
  { title: '', text: ([, , note]) => html`<span class="quiet">${note}</span>` },
]
