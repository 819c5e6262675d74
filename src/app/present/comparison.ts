import { title } from '../../core/errors.js'
import { count, listNames, percent, ratio, returnText } from '../../core/numbers.js'
import type { Comparison, TradeStatistics } from '../../research/backtest/result.js'
import { exitsInWords, inWords } from '../../research/backtest/words.js'
import { deflatedText, logSentence } from './answer.js'
import { type Chart, line, newChart, type Tone } from './chart.js'
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
} from './description.js'
import {
  type ComparedRow,
  comparisonTable,
  equityStatisticRows,
  type StatisticRow,
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

/** Strategies side by side. */
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
      ...strategies.map(({ name, strategy }) => [name, `${inWords(strategy)}.`] as const),
      ...originFacts(comparison),
    ],
    sections: [
      statisticsSection(comparison),
      differencesSection(differences),
      section(
        { id: 'correlations', folded: true, title: 'Correlation of the returns', short: 'Correlations', on: 'wide' },
        [{ table: correlationsTable(comparison) }],
      ),
      yearsSection(strategies, STRATEGY_TONES),
      chanceSection(comparison),
      assumedSection(comparison.assumptions),
      readingSection('comparison'),
    ],
    long: [],
  }
}

function levelText(level: number): string {
  return percent(Number(level.toFixed(6)), '')
}

/** The best strategy by Sharpe ratio, and whether it differs significantly from the next. */
function answerOf({ strategies, best, dates, sharpe_differences: all, verdict, trials }: Comparison): string {
  const own = strategies.find(({ name }) => name === best)
  if (dates.length === 0) return 'The strategies have no day in common, so there is nothing to compare.'
  if (own === undefined) return 'No strategy has a Sharpe ratio over these days.'
  const others = all.filter(({ a, b }) => a === best || b === best)
  const head = `${best} had the highest Sharpe ratio, ${ratio(own.statistics.sharpe)}`
  const sentences = others.flatMap(({ a, b, low, high, difference, level, verdict }) => {
    if (low === null || high === null) return []
    const other = a === best ? b : a
    // Seen from the best.
    const [from, to] = a === best ? [low, high] : [-high, -low]
    return [{ other, from, to, difference: Math.abs(difference ?? 0), level, verdict }]
  })
  const lost = `${logSentence(trials.log, trials.log_q, `over all of them the q of ${best} against random entry`)}${lossesText(strategies)}`
  const [first] = sentences
  if (first === undefined) return `Not tested: ${head}; there is no difference to test.${lost}`
  const interval = ({ other, difference, from, to, level }: (typeof sentences)[number]): string =>
    `${other}: difference ${ratio(difference)} (${levelText(level)} interval ${ratio(from)} to ${ratio(to)})`
  if (verdict === 'not told apart') {
    const same = sentences.filter(one => one.verdict === verdict)
    const more = same.length > 1 ? `, nor from ${count(same.length - 1, 'other')}` : ''
    return `${title(verdict)}: ${head}; it cannot be distinguished from ${interval(same[0]!)}${more}.${lost}`
  }
  const open = sentences.filter(one => one.verdict === verdict)
  return `${verdict === 'is ahead' ? `${best} is ahead` : title(verdict)}: ${head}; ${(open.length > 0 ? open : sentences).map(interval).join('; ')}.${lost}`
}

/** A strategy that is ahead may have lost money, too. */
function lossesText(strategies: Comparison['strategies']): string {
  const isLost = strategies.every(({ statistics }) => (statistics.total_return ?? 0) < 0)
  return !isLost ? '' : strategies.length === 2 ? ' Both lost money.' : ' All of them lost money.'
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
  ['average bars held', 'tenth', 'average_bars', '', 'wide'],
  ['mean MFE', 'return', 'mean_mfe', '', 'wide'],
  ['mean MAE', 'return', 'mean_mae', '', 'wide'],
  ['break-even cost', 'deviation', 'break_even_cost', '', 'wide'],
]

function statisticsSection(comparison: Comparison): Section {
  const reasons = comparison.strategies.flatMap(({ name, statistics, trade_statistics }) => [
    { where: name, reasons: statistics.reasons },
    { where: `trades of ${name}`, reasons: trade_statistics.reasons },
  ])
  return section({ id: 'performance', title: 'Performance', untitled: true }, [
    { on: 'short', table: statisticsTable(comparison, false) },
    { on: 'page', table: statisticsTable(comparison, false) },
    {
      on: 'wide',
      fold: { title: 'Every statistic, and how it is computed', parts: [{ table: statisticsTable(comparison, true) }] },
    },
    reasonsPart(reasons, 'page'),
  ])
}

function statisticsTable({ strategies, bars_a_year }: Comparison, isWhole: boolean): Table {
  const [first] = strategies
  const rows = equityStatisticRows({ bars_a_year, strategy: first!.strategy })
  const isAlike = strategies.every(({ strategy }) => strategy.risk_free === first!.strategy.risk_free)
  const shown = <Of>(all: readonly StatisticRow<Of>[]) => all.filter(([, , , , on]) => isWhole || on === undefined)
  const named = (name: string): string => (isAlike ? name : name.replace(/, rf .*$/, ', own rf'))
  return comparisonTable(
    `${isWhole ? 'All statistics' : 'Statistics'} of the equity over ${count(first!.statistics.bars, 'bar')} that all have`,
    strategyHeadings(strategies, 'return'),
    [
      ...shown(rows).map(([name, kind, key, formula]): ComparedRow => {
        return [named(name), kind, strategies.map(({ statistics }) => statistics[key]), isWhole ? formula : undefined]
      }),
      ...shown(TRADE_ROWS).map(([name, kind, key, formula]): ComparedRow => {
        return [
          name,
          kind,
          strategies.map(({ trade_statistics }) => trade_statistics[key]),
          isWhole ? formula : undefined,
        ]
      }),
    ],
  )
}

/** A column of each strategy, under its name; the last are left out first. */
function strategyHeadings(strategies: Comparison['strategies'], kind: Kind): Heading[] {
  return strategies.map(({ name }, i) => ({ title: name, verbatim: true, kind, ...(i > 0 && { spare: i }) }))
}

function differencesSection(all: Comparison['sharpe_differences']): Section {
  const [first] = all
  const known = all.filter(({ reason }) => reason === null)
  const rows = known.map(({ a, b, difference, low, high, verdict }) => [
    cell('text', `${a} − ${b}`),
    cell('ratio', difference),
    cell('ratio', [low, high]),
    cell('text', verdictText({ a, b, verdict })),
  ])
  const none = all.flatMap(({ a, b, reason }) => (reason === null ? [] : [`${a} − ${b}: ${reason}.`]))
  const table: Table = {
    caption: 'Difference of the Sharpe ratios a year, and its interval',
    columns: [
      { title: '', kind: 'text' },
      { title: 'Difference', kind: 'ratio', spare: 0 },
      { title: levelText(first?.level ?? 0.95), kind: 'ratio', hint: 'The level of the interval: 1 - .05 / pairs' },
      { title: 'Verdict', kind: 'text', spare: 1 },
    ],
    rows,
    whole: 'json',
  }
  const phrases = known.length === 0 ? [] : [count(first!.draws, 'draw'), blocksText(first!.block)]
  return section({ id: 'differences', title: 'Difference of the Sharpe ratios', short: 'Differences', phrases }, [
    rows.length > 0 && { table },
    none.length > 0 && { notes: none },
  ])
}

function verdictText({ a, b, verdict }: Pick<Comparison['sharpe_differences'][number], 'a' | 'b' | 'verdict'>): string {
  return verdict === 'a is ahead' ? `${a} is ahead` : verdict === 'b is ahead' ? `${b} is ahead` : (verdict ?? '')
}

function correlationsTable({ strategies, correlations }: Comparison): Table {
  const rows = strategies.map(({ name }, row): ComparedRow => [name, 'ratio', correlations[row]!])
  return comparisonTable('Correlation of the returns of each bar', strategyHeadings(strategies, 'ratio'), rows)
}

const STRATEGY_TONES: readonly Tone[] = ['accent', 'second', 'third', 'quiet', 'gain', 'loss']

/** The equity of all, from the same 1. */
function equityCurvesChart({ strategies, dates }: Comparison): Chart {
  const lines = strategies.map(({ name, equity }, i) =>
    line(name, STRATEGY_TONES[i % STRATEGY_TONES.length]!, equity, {
      width: i === 0 ? 2 : 1.6,
      dashed: i >= STRATEGY_TONES.length,
      ...(i === 0 ? { terminal: 'whole' as const } : i === 1 ? { terminal: 'dotted' as const } : {}),
    }),
  )
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

/** A row a strategy. */
export function comparisonRecords({ strategies }: Comparison): Records {
  const rows = strategies.map(strategy => ({ name: strategy.name, p: strategy.p, ...statisticsRow(strategy) }))
  return { columns: Object.keys(rows[0] ?? {}), rows }
}
