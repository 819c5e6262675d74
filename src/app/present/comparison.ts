import { title } from '../../core/errors.js'
import { count, listNames, percent, ratio, returnText } from '../../core/numbers.js'
import type { Comparison, TradeStatistics } from '../../research/backtest/result.js'
import { exitsInWords, strategyInWords } from '../../research/backtest/words.js'
import { deflatedText, trialLogSentence } from './answer.js'
import { type Chart, type Line, line, newChart, type Tone } from './chart.js'
import { canBeLogarithmic, dayOf } from './charts.js'
import {
  assumedSection,
  cell,
  type Description,
  type Heading,
  type Kind,
  type Records,
  reasonsPart,
  type Section,
  section,
  type Table,
  withHidePriorities,
} from './description.js'
import {
  type ComparedRow,
  comparisonTable,
  equityStatisticRows,
  type StatisticRow,
  statisticParts,
  yearsSection,
} from './performance.js'
import { statisticsRow } from './records.js'
import {
  blocksText,
  originFacts,
  pageTitle,
  rangeTexts,
  readingSection,
  tickersText,
  triedText,
  withFullStop,
} from './words.js'

export function describeComparison(comparison: Comparison): Description {
  const { strategies, sharpe_differences: differences } = comparison
  const names = strategies.map(({ name }) => name)
  return {
    document: comparison,
    kind: 'Comparison of strategies',
    title: pageTitle(`${listNames(names, 2, 'strategies')} compared`, comparison),
    answer: answerOf(comparison),
    heading: [
      `${names.join(', ')}  ${comparison.timeframe}`,
      tickersText(comparison.tickers),
      ...rangeTexts(comparison),
    ],
    assumed: ['Over the days that all of them have.'],
    lead: [{ chart: equityCurvesChart(comparison) }],
    warnings: comparison.warnings,
    facts: [
      ...strategies.map(({ name, strategy }) => [name, `${strategyInWords(strategy)}.`] as const),
      ...originFacts(comparison),
    ],
    sections: [
      statisticsSection(comparison),
      differencesSection(differences),
      correlationsSection(comparison),
      yearsSection(strategies, STRATEGY_TONES),
      chanceSection(comparison),
      assumedSection(comparison.assumptions),
      readingSection('comparison'),
    ],
    longLists: [],
  }
}

/** The level of an interval, `95%`. */
function levelText(level: number): string {
  return percent(Number(level.toFixed(6)), '')
}

/** The strategy with the highest Sharpe ratio, its differences from others, the trial log, and a loss of all. */
function answerOf(comparison: Comparison): string {
  const { strategies, best, dates, verdict, trials } = comparison
  const bestStrategy = strategies.find(({ name }) => name === best)
  if (dates.length === 0) return comparison.warnings[0] ?? 'There is nothing to compare.'
  if (bestStrategy === undefined) return 'No strategy has a Sharpe ratio over these days.'
  const finding = `${best} had the highest Sharpe ratio, ${ratio(bestStrategy.statistics.sharpe)}`
  const qName = `over all of them the q of ${best} against random entry`
  const closingSentences = `${trialLogSentence(trials.log, trials.log_q, qName)}${lossesText(strategies)}`
  const differences = differencesOfBest(comparison)
  if (differences.length === 0) return `Not tested: ${finding}; there is no difference to test.${closingSentences}`
  const withSameVerdict = differences.filter(difference => difference.verdict === verdict)
  if (verdict === 'not told apart') {
    const more = withSameVerdict.length > 1 ? `, nor from ${count(withSameVerdict.length - 1, 'other')}` : ''
    return `${title(verdict)}: ${finding}; it cannot be distinguished from ${withSameVerdict[0]!.text}${more}.${closingSentences}`
  }
  const verdictWords = verdict === 'is ahead' ? `${best} is ahead` : title(verdict)
  const texts = (withSameVerdict.length > 0 ? withSameVerdict : differences).map(({ text }) => text)
  return `${verdictWords}: ${finding}; ${texts.join('; ')}.${closingSentences}`
}

/** The tested differences of the best strategy from others, each as `dip: difference .12 (95% interval .05 to .19)`. */
function differencesOfBest({ best, sharpe_differences }: Comparison): { text: string; verdict: string | null }[] {
  return sharpe_differences.flatMap(({ a, b, low, high, difference, level, verdict }) => {
    if ((a !== best && b !== best) || low === null || high === null) return []
    const other = a === best ? b : a
    // A difference is a less b; it is turned around where the best is b.
    const [from, to] = a === best ? [low, high] : [-high, -low]
    const interval = `${levelText(level)} interval ${ratio(from)} to ${ratio(to)}`
    return [{ text: `${other}: difference ${ratio(Math.abs(difference ?? 0))} (${interval})`, verdict }]
  })
}

/** A sentence that all strategies lost money; empty if one did not. */
function lossesText(strategies: Comparison['strategies']): string {
  if (strategies.some(({ statistics }) => (statistics.total_return ?? 0) >= 0)) return ''
  return strategies.length === 2 ? ' Both lost money.' : ' All of them lost money.'
}

const TRADE_ROWS: readonly StatisticRow<TradeStatistics>[] = [
  ['trades', 'count', 'n', ''],
  ['won', 'share', 'hit_rate', ''],
  ['mean a trade, net', 'return', 'mean', ''],
  ['mean a trade, gross', 'return', 'mean_gross', '', 'wide'],
  ['median a trade', 'return', 'median', '', 'wide'],
  ['best trade', 'return', 'best', '', 'wide'],
  ['worst trade', 'return', 'worst', '', 'wide'],
  ['deviation of trades', 'deviation', 'deviation', '', 'wide'],
  ['profit factor', 'ratio', 'profit_factor', '', 'wide'],
  ['SQN', 'ratio', 'sqn', '', 'wide'],
  ['longest losing run', 'count', 'longest_losing_run', '', 'wide'],
  ['average bars held', 'oneDecimal', 'average_bars', '', 'wide'],
  ['mean MFE', 'return', 'mean_mfe', '', 'wide'],
  ['mean MAE', 'return', 'mean_mae', '', 'wide'],
  ['break-even cost', 'deviation', 'break_even_cost', '', 'wide'],
]

/** The statistics of all strategies: in short for terminal and page, and in full below a fold or with --wide. */
function statisticsSection(comparison: Comparison): Section {
  const reasons = comparison.strategies.flatMap(({ name, statistics, trade_statistics }) => [
    { where: name, reasons: statistics.reasons },
    { where: `trades of ${name}`, reasons: trade_statistics.reasons },
  ])
  return section({ id: 'performance', title: 'Performance', untitled: true }, [
    ...statisticParts(statisticsTable(comparison, { isFull: false }), [
      { table: statisticsTable(comparison, { isFull: true }) },
    ]),
    reasonsPart(reasons, 'page'),
  ])
}

/** The statistics of all strategies as rows. @param isFull adds rows, and the formulas */
function statisticsTable({ strategies, bars_a_year }: Comparison, { isFull }: { isFull: boolean }): Table {
  const { strategy, statistics } = strategies[0]!
  const equityRows = equityStatisticRows({ bars_a_year, strategy })
  const haveSameRate = strategies.every(other => other.strategy.risk_free === strategy.risk_free)
  const shownRows = <Of>(rows: readonly StatisticRow<Of>[]) =>
    rows.filter(([, , , , shownOn]) => isFull || shownOn === undefined)
  return comparisonTable(
    `${isFull ? 'All statistics' : 'Statistics'} of the equity over ${count(statistics.bars, 'bar')} that all have`,
    strategyHeadings(strategies, 'return'),
    [
      ...shownRows(equityRows).map(([name, kind, key, formula]): ComparedRow => {
        const values = strategies.map(other => other.statistics[key])
        const rowName = haveSameRate ? name : name.replace(/, rf .*$/, ', own rf')
        return [rowName, kind, values, isFull ? formula : undefined]
      }),
      ...shownRows(TRADE_ROWS).map(([name, kind, key, formula]): ComparedRow => {
        const values = strategies.map(({ trade_statistics }) => trade_statistics[key])
        return [name, kind, values, isFull ? formula : undefined]
      }),
    ],
  )
}

/** A column heading for each strategy, under its name. A narrow terminal leaves out the last columns first. */
function strategyHeadings(strategies: Comparison['strategies'], kind: Kind): Heading[] {
  return withHidePriorities(strategies.map(({ name }) => ({ title: name, verbatimTitle: true, kind })))
}

/** The differences of the Sharpe ratios, all with one level and draws; a sentence for each pair without a test. */
function differencesSection(differences: Comparison['sharpe_differences']): Section {
  const [firstDifference] = differences
  const level = levelText(firstDifference?.level ?? 0.95)
  const known = differences.filter(({ reason }) => reason === null)
  const rows = known.map(({ a, b, difference, low, high, verdict }) => [
    cell('text', `${a} − ${b}`),
    cell('ratio', difference),
    cell('ratio', [low, high]),
    cell('text', verdictText({ a, b, verdict })),
  ])
  const notes = differences.flatMap(({ a, b, reason }) => (reason === null ? [] : [`${a} − ${b}: ${reason}.`]))
  const table: Table = {
    caption: 'Difference of the Sharpe ratios a year, and its interval',
    columns: [
      { title: '', kind: 'text' },
      { title: 'Difference', kind: 'ratio', hidePriority: 0 },
      { title: level, kind: 'ratio', hint: 'The level of the interval: 1 - .05 / pairs' },
      { title: 'Verdict', kind: 'text', hidePriority: 1 },
    ],
    rows,
    allColumnsIn: 'json',
  }
  const phrases = known.length === 0 ? [] : [count(firstDifference!.draws, 'draw'), blocksText(firstDifference!.block)]
  return section({ id: 'differences', title: 'Difference of the Sharpe ratios', short: 'Differences', phrases }, [
    rows.length > 0 && { table },
    notes.length > 0 && { notes },
  ])
}

/** `dip is ahead`: the verdict with the name of a strategy; empty if there is none. */
function verdictText({ a, b, verdict }: Pick<Comparison['sharpe_differences'][number], 'a' | 'b' | 'verdict'>): string {
  if (verdict === 'a is ahead') return `${a} is ahead`
  if (verdict === 'b is ahead') return `${b} is ahead`
  return verdict ?? ''
}

function correlationsSection({ strategies, correlations }: Comparison): Section {
  const rows = strategies.map(({ name }, row): ComparedRow => [name, 'ratio', correlations[row]!])
  const table = comparisonTable('Correlation of the returns of each bar', strategyHeadings(strategies, 'ratio'), rows)
  const title = 'Correlation of the returns'
  return section({ id: 'correlations', folded: true, title, short: 'Correlations', on: 'wide' }, [{ table }])
}

const STRATEGY_TONES: readonly Tone[] = ['accent', 'second', 'third', 'quiet', 'gain', 'loss']

/** A chart of the equity of each strategy, which starts at 1. A terminal draws only the first two. */
function equityCurvesChart({ strategies, dates }: Comparison): Chart {
  const lines = strategies.map(({ name, equity }, i) => {
    const tone = STRATEGY_TONES[i % STRATEGY_TONES.length]!
    // Further strategies have the same colours again, as dashed lines.
    const style: Partial<Line> = { width: i === 0 ? 2 : 1.6, dashed: i >= STRATEGY_TONES.length }
    if (i === 0) style.terminal = 'whole'
    if (i === 1) style.terminal = 'dotted'
    return line(name, tone, equity, style)
  })
  const results = strategies.map(({ name, statistics }) => `${name} ${returnText(statistics.total_return)}`)
  return newChart('curves', 'Equity', {
    description: `What became of the same money over ${count(dates.length, 'bar')}: ${results.join(', ')}.`,
    x: ['date', dates.map(dayOf)],
    y: 'money',
    height: 320,
    log: canBeLogarithmic(strategies.flatMap(({ equity }) => equity)),
    lines,
    rules: { x: [], y: [1] },
    empty: 'The strategies have no day in common.',
  })
}

/** How many strategies were tried, and the Sharpe ratio of the best corrected for it; on a page also the exits. */
function chanceSection({ best, trials, strategies }: Comparison): Section {
  const deflated =
    best === null
      ? 'None has a Sharpe ratio that could be deflated.'
      : `Deflated Sharpe ratio of ${best}: ${deflatedText(trials)}`
  return section({ id: 'chance', folded: true, title: 'How many were tried', untitled: true, on: 'wide' }, [
    { notes: [withFullStop(`${triedText(trials)} ${deflated}`)] },
    { on: 'page', list: strategies.map(({ name, strategy }) => `${name}: ${exitsInWords(strategy)}`) },
  ])
}

export function comparisonRecords({ strategies }: Comparison): Records {
  const rows = strategies.map(strategy => ({ name: strategy.name, p: strategy.p, ...statisticsRow(strategy) }))
  return { columns: Object.keys(rows[0] ?? {}), rows }
}
