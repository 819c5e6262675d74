import { count, money, percent, probability, returnText, shareRange, shareText, whole } from '../../core/numbers.js'
import type { SignalChoice } from '../../core/params/figures.js'
import type { Backtest, Interval, MonteCarlo } from '../../research/backtest/result.js'
import { independentTrades } from '../../research/backtest/verdict.js'
import { backtestAnswer, deflatedText, entryText } from './answer.js'
import { type Chart, type ChartPrices, line, newChart } from './chart.js'
import { canBeLogarithmic, dayOf, pricesSection } from './charts.js'
import {
  assumedSection,
  type Column,
  compact,
  type Description,
  type Heading,
  type Kind,
  pageNote,
  type Section,
  section,
  type Table,
  type Trend,
  tablePart,
} from './description.js'
import { FULL_LIST_OPTIONS } from './long-tables.js'
import {
  allDataText,
  type ComparedRow,
  comparisonTable,
  outOfSampleSection,
  statisticsSection,
  validationSection,
  validationText,
  wideIfTested,
  yearsByName,
  yearsSection,
  yearsTrend,
} from './performance.js'
import { drawdownChart, equityChart, priceWithTrades, rollingCharts, testsEquityChart } from './strategy-charts.js'
import {
  assumedText,
  rulesHeading,
  rulesSentence,
  shortRules,
  signalsSection,
  signalsSentence,
  strategyTitle,
  tradesSection,
} from './trades.js'
import { blocksText, originFacts, pageTitle, readingSection, strategiesText, triedText, withFullStop } from './words.js'

/** The result of following the rules, compared with holding. */
export function describeBacktest(
  backtest: Backtest,
  prices: readonly ChartPrices[] = [],
  signals?: SignalChoice,
): Description {
  const tests = backtest.validation?.test ?? null
  // The answer of tests is about the days of the tests; a page folds what is about all days.
  const secondary = (one: Section): Section => (tests === null ? one : { ...one, folded: true })
  const ofAllData = (one: Section | null): Section | null =>
    one && tests !== null ? secondary({ ...one, title: `${one.title}, all data` }) : one
  return {
    document: backtest,
    kind: 'Backtest',
    title: pageTitle(strategyTitle(backtest), backtest),
    answer: backtestAnswer(backtest),
    heading: rulesHeading(backtest),
    assumed: [shortRules(backtest)],
    lead: [
      tests === null
        ? { chart: equityChart(backtest), note: allDataText(backtest) ?? '' }
        : { chart: testsEquityChart(tests) },
    ],
    warnings: backtest.warnings,
    facts: [['Rules', `${rulesSentence(backtest)}.`], ...originFacts(backtest)],
    sections: compact([
      outOfSampleSection(backtest, [withFullStop(triedText(backtest.trials, strategiesText))]),
      ...(tests === null ? [] : [validationSection(backtest)]),
      secondary(statisticsSection(backtest)),
      equitySection(backtest),
      ...(tests === null ? [validationSection(backtest)] : []),
      ofAllData(curveSection(backtest)),
      ofAllData(yearsSection(yearsByName(backtest))),
      monteCarloSection(backtest),
      ofAllData(tradesSection(backtest)),
      ofAllData(drawdownsSection(backtest)),
      ofAllData(pricesSection(prices, backtest.tickers, (chart, id) => priceWithTrades(chart, backtest.trades, id))),
      signalsSection(backtest, signals),
      settingsSection(backtest),
      readingSection('backtest'),
    ]),
    long: [
      { key: 'skipped', keep: 'last', whole: FULL_LIST_OPTIONS.skipped },
      { key: 'trades', keep: 'last', whole: FULL_LIST_OPTIONS.trades },
    ],
  }
}

/** A sparkline of the equity and a line about the trades; in full with --wide. */
function equitySection(backtest: Backtest): Section {
  const { equity, statistics } = backtest
  const values = equity.map(point => point.equity)
  const first = values[0]
  const last = values.at(-1)
  const own: Trend[] =
    first === undefined || last === undefined
      ? []
      : [{ name: 'equity', values, text: `first ${money(first)}, last ${money(last)}` }]
  const drawdown = {
    name: 'drawdown',
    values: equity.map(point => point.drawdown),
    text: `worst ${returnText(statistics.max_drawdown)}`,
  }
  return section(
    { id: 'chance', title: 'Trades, signals and chance', folded: true, untitled: true, ...wideIfTested(backtest) },
    [
      { on: 'short', trend: own },
      { on: 'short', notes: compact([randomChoiceText(backtest), tradesInShort(backtest)]) },
      { on: 'wide', trend: own.length === 0 ? [] : [...own, drawdown, ...yearsTrend(backtest)] },
      { on: 'wide', notes: [tradesSentence(backtest), signalsSentence(backtest), ...chanceSentences(backtest)] },
      pageNote(
        'Random entry: the signals of all trades are moved to other dates together and traded by the same rules. p is two-sided: the share of moves that are at least as far from the mean of all moves as the trades are, each in its own Newey-West errors. The more strategies were tried, the better the best of them looks by chance. The deflated Sharpe ratio is the probability that the true one is above the best that chance would reach (Bailey and López de Prado 2014).',
      ),
    ],
  )
}

/** A sentence about the random choices where signals competed for positions; null if none did. */
function randomChoiceText({ draws, signals, strategy }: Backtest): string | null {
  if (draws === null) return null
  const positions = count(strategy.portfolio.max_positions, 'position')
  return `${positions} for ${count(signals.total, 'signal')}: ${draws.n} random choices; shown is the middle one by return, draw ${draws.shown} of ${draws.n}.`
}

/** `71 trades (about 39 independent), 58% won, mean +1.2%; better than 62% of random entries (p .760)` */
function tradesInShort(backtest: Backtest): string {
  const { n, hit_rate, mean } = backtest.trade_statistics
  if (n === 0) return 'No closed trade.'
  const cases = independentTrades(backtest.trades)
  const among = cases === n ? '' : ` (about ${whole(cases)} independent)`
  return `${count(n, 'trade')}${among}, ${shareText(hit_rate)} won, mean ${returnText(mean)}; ${entryText(backtest)}`
}

/** The statistics of the closed trades in a sentence. */
function tradesSentence({ trade_statistics: trades }: Backtest): string {
  const { n, wins, hit_rate, hit_low, hit_high, mean, mean_gross, median, best, worst } = trades
  const { break_even_cost, mean_mfe, mean_mae } = trades
  if (n === 0) return 'No closed trade.'
  const hit = `${whole(wins)} won (${shareText(hit_rate)}, 95% ${shareRange({ low: hit_low, high: hit_high })})`
  const means = `mean ${returnText(mean)} net and ${returnText(mean_gross)} gross, median ${returnText(median)}`
  const reach = `best ${returnText(best)}, worst ${returnText(worst)}`
  const excursions = `on the way ${returnText(mean_mfe)} and ${returnText(mean_mae)}`
  const even = break_even_cost === null ? '' : `; break-even cost: ${(break_even_cost * 10_000).toFixed(0)} bp per side`
  return `${count(n, 'trade')}: ${hit}, ${means}, ${reach}, ${excursions}${even}.`
}

/** Two sentences: the result of random entry, or why there is none; and the number of trials with the deflated ratio. */
function chanceSentences({ random_entry: random, trials, seed, draws }: Backtest): string[] {
  const range = draws === null ? '' : ` (5-95% of draws ${probability(draws.p.p05)} to ${probability(draws.p.p95)})`
  const entry =
    random.p === null
      ? random.reason && `Random entry: ${random.reason}`
      : `Random entry, all signals moved to other dates together: two-sided p ${probability(random.p)}${range} (${count(random.draws, 'move')}, seed ${seed}), mean ${returnText(random.mean)} a trade.`
  return compact([
    entry && withFullStop(entry),
    withFullStop(`${triedText(trials, strategiesText)} Deflated Sharpe ratio: ${deflatedText(trials)}`),
  ])
}

/** Equity, drawdown, rolling figures and months. On a page the equity is here only if the tests lead the page. */
function curveSection(backtest: Backtest): Section {
  const { equity, months } = backtest
  const dataText = allDataText(backtest)
  const hasTests = (backtest.validation?.test ?? null) !== null
  return section({ id: 'equity', title: 'Equity', on: 'wide' }, [
    dataText !== null && pageNote(`Here and below: ${dataText}.`),
    hasTests && { on: 'page', chart: equityChart(backtest) },
    equity.length > 0 && { on: 'terminal', chart: equityChart(backtest) },
    { on: 'page', chart: drawdownChart(backtest) },
    { on: 'page', charts: rollingCharts(backtest) },
    { on: 'page', months },
  ])
}

/** A table of the deepest drawdowns; null if there was none. */
function drawdownsSection({ drawdowns }: Backtest): Section | null {
  const title = 'Deepest falls from a high'
  const head = { id: 'drawdowns', title, short: 'Drawdowns', on: 'wide' } as const
  return drawdowns.length === 0 ? null : section(head, [tablePart(title, DRAWDOWN_COLUMNS, drawdowns)])
}

const DRAWDOWN_COLUMNS: readonly Column<Backtest['drawdowns'][number]>[] = [
  { title: 'Depth', kind: 'return', value: ({ depth }) => depth },
  { title: 'High', kind: 'date', value: ({ from }) => from },
  { title: 'Low', kind: 'date', value: ({ low }) => low },
  { title: 'Back', kind: 'date', spare: 1, value: ({ to }) => to ?? 'not yet' },
  { title: 'Bars', kind: 'count', spare: 0, value: ({ bars }) => bars },
]

/** The assumptions, and the settings for a rerun. */
function settingsSection(backtest: Backtest): Section {
  const { assumptions, strategy, validation } = backtest
  const parts = validation === null ? '' : validationText(validation)
  const candidates = validation?.candidates ?? []
  const withHolding = candidates.length === 0 ? parts : `the candidates (${candidates.join('; ')}) and ${parts}`
  return assumedSection(assumptions, [
    { notes: [assumedText(backtest)] },
    pageNote(
      withHolding === ''
        ? 'This is the strategy file of the run, complete; kept in a file, it makes the run again.'
        : `This is the strategy file of the run. Not in it are ${withHolding}: they are given on the command line.`,
    ),
    { on: 'page', code: JSON.stringify(strategy, null, 2) },
  ])
}

/** The results of the same returns in other orders; null if they were not requested. */
function monteCarloSection(backtest: Backtest): Section | null {
  const { monte_carlo: monteCarlo, seed } = backtest
  if (monteCarlo === null) return null
  const head = { id: 'resampled', title: 'The same returns in other orders', short: 'Monte Carlo' }
  if (monteCarlo.reason !== null) return section(head, [{ notes: [`No draw was made: ${monteCarlo.reason}.`] }])
  const phrases = [count(monteCarlo.draws, 'draw'), blocksText(monteCarlo.block), `seed ${seed}`]
  return section({ ...head, phrases }, [
    { table: intervalsTable(backtest, monteCarlo) },
    { notes: [`${shareText(monteCarlo.lost)} of ${count(monteCarlo.draws, 'draw')} end below where they began.`] },
    pageNote(
      'The returns of the bars were redrawn in blocks, so that neighbouring days stay together (stationary bootstrap, Politis and Romano 1994; mean block by Politis and White). The intervals are expanded percentiles of the draws (Hesterberg 2015). What never happened on these days is in no draw, and neither is that the strategy was chosen because it did well.',
    ),
    { on: 'page', chart: fanChart(backtest, monteCarlo) },
  ])
}

/** Three statistics of the strategy compared with the median and the 95% interval of the draws. */
function intervalsTable({ statistics, strategy }: Backtest, { cagr, sharpe, max_drawdown }: MonteCarlo): Table {
  const row = (name: string, kind: Kind, actual: number | null, { low, median, high }: Interval): ComparedRow => {
    return [name, kind, [actual, median, [low, high]]]
  }
  const heads: readonly Heading[] = [
    { title: 'It had', kind: 'return' },
    { title: 'Median', kind: 'return', spare: 0 },
    { title: '95%', kind: 'return', hint: 'Of 100 draws 95 lie between' },
  ]
  const rows = [
    row('a year (CAGR)', 'return', statistics.cagr, cagr),
    row(`Sharpe, rf ${percent(strategy.risk_free, '')}`, 'ratio', statistics.sharpe, sharpe),
    row('worst drawdown', 'return', statistics.max_drawdown, max_drawdown),
  ]
  return comparisonTable('What the draws have where the strategy has one number', heads, rows, { tone: undefined })
}

/** A chart of the equity among the draws: the ranges of nine of ten and of half of them, and their median. */
function fanChart({ equity, statistics }: Backtest, { fan }: MonteCarlo): Chart {
  const last = fan.at(-1)
  const byDate = new Map(equity.map(point => [point.date, point.equity]))
  const own = fan.map(({ date }) => byDate.get(date) ?? null)
  const column = (key: 'p5' | 'p25' | 'median' | 'p75' | 'p95'): number[] => fan.map(point => point[key])
  const start = fan[0]?.median ?? 1
  const ending =
    last === undefined
      ? ''
      : ` Nine of ten draws end between ${returnText(last.p5 / start - 1)} and ${returnText(last.p95 / start - 1)}.`
  return newChart('fan', 'The equity among the draws', {
    description: `The strategy made ${returnText(statistics.total_return)}.${ending}`,
    x: ['date', fan.map(({ date }) => dayOf(date))],
    y: 'money',
    height: 300,
    group: 'dates',
    log: canBeLogarithmic([...column('p5'), ...column('p95'), ...own]),
    ribbons: [
      { label: 'nine of ten draws', tone: 'accent', strength: 0.14, low: column('p5'), high: column('p95') },
      { label: 'half of the draws', tone: 'accent', strength: 0.24, low: column('p25'), high: column('p75') },
    ],
    lines: [
      line('middle draw', 'quiet', column('median'), { width: 1.3, dashed: true }),
      line('strategy', 'accent', own, { width: 2 }),
    ],
    rules: { x: [], y: [start] },
  })
}
