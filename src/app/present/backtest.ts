import { count, numberText, percent, probability, returnText, shareRange, shareText } from '../../core/numbers.js'
import type { SignalChoice } from '../../core/params/figures.js'
import type { Backtest, Interval, MonteCarlo } from '../../research/backtest/result.js'
import { independentTrades } from '../../research/backtest/verdict.js'
import { backtestAnswer, deflatedText, randomEntryText } from './answer.js'
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
  tablePart,
} from './description.js'
import { FULL_LIST_OPTIONS } from './long-tables.js'
import {
  allDataText,
  type ComparedRow,
  comparisonTable,
  equityTrends,
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

/** Describes a backtest compared with holding. @param prices for charts @param signals those to show (default all) */
export function describeBacktest(
  backtest: Backtest,
  prices: readonly ChartPrices[] = [],
  signals?: SignalChoice,
): Description {
  const tests = backtest.validation?.test ?? null
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
      ...resultSections(backtest, prices),
      signalsSection(backtest, signals),
      settingsSection(backtest),
      readingSection('backtest'),
    ]),
    longLists: [
      { key: 'skipped', keptEnd: 'last', fullListOption: FULL_LIST_OPTIONS.skipped },
      { key: 'trades', keptEnd: 'last', fullListOption: FULL_LIST_OPTIONS.trades },
    ],
  }
}

/**
 * The sections between heading and signals. If a validation has test days, the answer is about these, and a page folds
 * the sections about all data.
 */
function resultSections(backtest: Backtest, prices: readonly ChartPrices[]): (Section | null)[] {
  const { trades, tickers, trials, validation } = backtest
  const hasTests = (validation?.test ?? null) !== null
  const foldIfTested = (section: Section | null): Section | null =>
    section === null || !hasTests ? section : { ...section, title: `${section.title}, all data`, folded: true }
  const statistics = statisticsSection(backtest)
  const equity = equitySection(backtest)
  const parts = validationSection(backtest)
  return [
    outOfSampleSection(backtest, [withFullStop(triedText(trials, strategiesText))]),
    ...(hasTests ? [parts, { ...statistics, folded: true as const }, equity] : [statistics, equity, parts]),
    foldIfTested(curveSection(backtest)),
    foldIfTested(yearsSection(yearsByName(backtest))),
    monteCarloSection(backtest),
    foldIfTested(tradesSection(backtest)),
    foldIfTested(drawdownsSection(backtest)),
    foldIfTested(pricesSection(prices, tickers, (chartPrices, id) => priceWithTrades(chartPrices, trades, id))),
  ]
}

/** A sparkline of the equity and a line about the trades; in full with --wide. */
function equitySection(backtest: Backtest): Section {
  const trends = equityTrends(backtest, { first: backtest.equity[0]?.equity ?? 1 })
  return section(
    { id: 'chance', title: 'Trades, signals and chance', folded: true, untitled: true, ...wideIfTested(backtest) },
    [
      { on: 'short', trend: trends.slice(0, 1) },
      { on: 'short', notes: compact([randomChoiceText(backtest), tradesInShort(backtest)]) },
      { on: 'wide', trend: [...trends, ...yearsTrend(backtest)] },
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
  const among = cases === n ? '' : ` (about ${numberText(cases)} independent)`
  return `${count(n, 'trade')}${among}, ${shareText(hit_rate)} won, mean ${returnText(mean)}; ${randomEntryText(backtest)}`
}

function tradesSentence({ trade_statistics: trades }: Backtest): string {
  const { n, wins, hit_rate, hit_low, hit_high, mean, mean_gross, median, best, worst } = trades
  const { break_even_cost: cost, mean_mfe, mean_mae } = trades
  if (n === 0) return 'No closed trade.'
  const hit = `${numberText(wins)} won (${shareText(hit_rate)}, 95% ${shareRange({ low: hit_low, high: hit_high })})`
  const means = `mean ${returnText(mean)} net and ${returnText(mean_gross)} gross, median ${returnText(median)}`
  const extremes = `best ${returnText(best)}, worst ${returnText(worst)}`
  const excursions = `on the way ${returnText(mean_mfe)} and ${returnText(mean_mae)}`
  const breakEven = cost === null ? '' : `; break-even cost: ${(cost * 10_000).toFixed(0)} bp per side`
  return `${count(n, 'trade')}: ${hit}, ${means}, ${extremes}, ${excursions}${breakEven}.`
}

/** Random entry, or why there is none; then the number of tried strategies with the deflated Sharpe ratio. */
function chanceSentences({ random_entry: random, trials, seed, draws }: Backtest): string[] {
  const trialsSentence = withFullStop(
    `${triedText(trials, strategiesText)} Deflated Sharpe ratio: ${deflatedText(trials)}`,
  )
  if (random.p === null)
    return random.reason ? [withFullStop(`Random entry: ${random.reason}`), trialsSentence] : [trialsSentence]
  const range = draws === null ? '' : ` (5-95% of draws ${probability(draws.p.p05)} to ${probability(draws.p.p95)})`
  const entry = `Random entry, all signals moved to other dates together: two-sided p ${probability(random.p)}${range} (${count(random.draws, 'move')}, seed ${seed}), mean ${returnText(random.mean)} a trade.`
  return [entry, trialsSentence]
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

function drawdownsSection({ drawdowns }: Backtest): Section | null {
  const title = 'Deepest falls from a high'
  const head = { id: 'drawdowns', title, short: 'Drawdowns', on: 'wide' } as const
  return drawdowns.length === 0 ? null : section(head, [tablePart(title, DRAWDOWN_COLUMNS, drawdowns)])
}

const DRAWDOWN_COLUMNS: readonly Column<Backtest['drawdowns'][number]>[] = [
  { title: 'Depth', kind: 'return', value: ({ depth }) => depth },
  { title: 'High', kind: 'date', value: ({ from }) => from },
  { title: 'Low', kind: 'date', value: ({ low }) => low },
  { title: 'Back', kind: 'date', hidePriority: 1, value: ({ to }) => to ?? 'not yet' },
  { title: 'Bars', kind: 'count', hidePriority: 0, value: ({ bars }) => bars },
]

function settingsSection(backtest: Backtest): Section {
  const { assumptions, strategy, validation } = backtest
  let note = 'This is the strategy file of the run, complete; kept in a file, it makes the run again.'
  if (validation !== null) {
    const { candidates } = validation
    const candidatesText = candidates.length === 0 ? '' : `the candidates (${candidates.join('; ')}) and `
    note = `This is the strategy file of the run. Not in it are ${candidatesText}${validationText(validation)}: they are given on the command line.`
  }
  return assumedSection(assumptions, [
    { notes: [assumedText(backtest)] },
    pageNote(note),
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
    { title: 'Median', kind: 'return', hidePriority: 0 },
    { title: '95%', kind: 'return', hint: 'Of 100 draws 95 lie between' },
  ]
  const rows = [
    row('a year (CAGR)', 'return', statistics.cagr, cagr),
    row(`Sharpe, rf ${percent(strategy.risk_free, '')}`, 'ratio', statistics.sharpe, sharpe),
    row('worst drawdown', 'return', statistics.max_drawdown, max_drawdown),
  ]
  return comparisonTable('What the draws have where the strategy has one number', heads, rows)
}

/** A chart of the equity among the draws: the ranges of nine of ten and of half of them, and their median. */
function fanChart({ equity, statistics }: Backtest, { fan }: MonteCarlo): Chart {
  const last = fan.at(-1)
  const equityByDate = new Map(equity.map(point => [point.date, point.equity]))
  const strategyEquity = fan.map(({ date }) => equityByDate.get(date) ?? null)
  const column = (key: 'p5' | 'p25' | 'median' | 'p75' | 'p95'): number[] => fan.map(point => point[key])
  const start = fan[0]?.median ?? 1
  const drawsText =
    last === undefined
      ? ''
      : ` Nine of ten draws end between ${returnText(last.p5 / start - 1)} and ${returnText(last.p95 / start - 1)}.`
  return newChart('fan', 'The equity among the draws', {
    description: `The strategy made ${returnText(statistics.total_return)}.${drawsText}`,
    x: ['date', fan.map(({ date }) => dayOf(date))],
    y: 'money',
    height: 300,
    group: 'dates',
    log: canBeLogarithmic([...column('p5'), ...column('p95'), ...strategyEquity]),
    ribbons: [
      { label: 'nine of ten draws', tone: 'accent', strength: 0.14, low: column('p5'), high: column('p95') },
      { label: 'half of the draws', tone: 'accent', strength: 0.24, low: column('p25'), high: column('p75') },
    ],
    lines: [
      line('middle draw', 'quiet', column('median'), { width: 1.3, dashed: true }),
      line('strategy', 'accent', strategyEquity, { width: 2 }),
    ],
    rules: { x: [], y: [start] },
  })
}
