import type { Comparison, EquityStatistics, TradeStatistics } from '../backtest/result.js'
import { exitsInWords, inWords } from '../backtest/words.js'
import { parseDay } from '../model/day.js'
import { deflatedText } from './answer.js'
import { type Chart, line, newChart, type Tone } from './chart.js'
import { isPositive } from './charts.js'
import {
  assumedSection,
  type Cell,
  cell,
  type Description,
  type Heading,
  type Kind,
  type Part,
  type Records,
  reasonsPart,
  type Section,
  type Table,
  type Tile,
} from './description.js'
import { count, listed, ratio, returnText, whole } from './numbers.js'
import { statisticsOf, yearsTable } from './performance.js'
import { statisticsRow } from './records.js'
import { originFacts, rangeTexts, readingSection, whoText } from './words.js'

/** Strategies side by side. */
export function describeComparison(found: Comparison): Description {
  const { strategies, sharpe_differences: differences } = found
  const names = strategies.map(({ name }) => name)
  return {
    document: found,
    kind: 'Comparison of strategies',
    question: `Which of ${listed(names, 4, 'strategies')} did better over the same days?`,
    answer: answerOf(found),
    heading: [`${names.join(', ')}  ${found.timeframe}`, whoText(found.tickers), ...rangeTexts(found)],
    assumed: ['Over the days that all of them have. The tickers are those that were asked for (survivorship).'],
    lead: [{ chart: curvesChart(found) }],
    warnings: found.warnings,
    tiles: strategies.slice(0, 4).flatMap(({ name, statistics }): Tile[] => [
      {
        label: name,
        value: returnText(statistics.total_return),
        note: `Sharpe ${ratio(statistics.sharpe)}, worst drawdown ${returnText(statistics.max_drawdown)}`,
        ...(statistics.total_return === null ? {} : { tone: statistics.total_return < 0 ? 'bad' : 'good' }),
      },
    ]),
    facts: [...strategies.map(({ name, strategy }) => [name, `${inWords(strategy)}.`] as const), ...originFacts(found)],
    sections: [
      statisticsSection(found),
      differencesSection(differences),
      correlationsSection(found),
      curvesSection(found),
      {
        id: 'years',
        title: 'Year by year',
        short: 'Years',
        parts: [
          { on: 'short', table: yearsTable(strategies, ['return']) },
          { on: 'wide', table: yearsTable(strategies) },
        ],
      },
      luckSection(found),
      assumedSection(found.assumptions, []),
      readingSection('comparison'),
    ],
    long: [],
  }
}

/** The best by Sharpe ratio, and whether it can be told from the next. */
function answerOf({ strategies, best, dates, sharpe_differences: all }: Comparison): string {
  const own = strategies.find(({ name }) => name === best)
  if (dates.length === 0) return 'The strategies have no day in common, so there is nothing to compare.'
  if (own === undefined) return 'None of them has a Sharpe ratio over these days.'
  const others = all.filter(({ a, b }) => a === best || b === best)
  const head = `${best} had the highest Sharpe ratio, ${ratio(own.statistics.sharpe)}`
  const told = others.flatMap(({ a, b, low, high }) => {
    if (low === null || high === null) return []
    const other = a === best ? b : a
    // Seen from the best.
    const [from, to] = a === best ? [low, high] : [-high, -low]
    return [{ other, from, to }]
  })
  const same = told.filter(({ from }) => from <= 0)
  if (told.length === 0) return `${head}; it cannot be held against the others.`
  if (same.length === 0)
    return `${head}; from ${listed(
      told.map(({ other }) => other),
      4,
      'strategies',
    )} it stands apart: no 95% interval of the difference has 0 in it.`
  const [first] = same
  const more = same.length > 1 ? `, and ${count(same.length - 1, 'other')} no more` : ''
  return `${head}; that could well be luck: it cannot be told from ${first!.other}${more} (95% of the difference ${ratio(first!.from)} to ${ratio(first!.to)}).`
}

const TRADES: readonly (readonly [
  name: string,
  kind: Kind,
  key: Exclude<keyof TradeStatistics, 'reasons'>,
  on?: 'wide',
])[] = [
  ['trades', 'count', 'n'],
  ['won', 'share', 'hit_rate'],
  ['mean a trade, net', 'return', 'mean'],
  ['mean a trade, gross', 'return', 'mean_gross', 'wide'],
  ['median a trade', 'return', 'median', 'wide'],
  ['best trade', 'return', 'best', 'wide'],
  ['worst trade', 'return', 'worst', 'wide'],
  ['deviation of trades', 'deviation', 'deviation', 'wide'],
  ['profit factor', 'ratio', 'profit_factor', 'wide'],
  ['SQN', 'ratio', 'sqn', 'wide'],
  ['longest losing run', 'count', 'longest_losing_run', 'wide'],
  ['average bars held', 'tenth', 'average_bars', 'wide'],
  ['mean MFE', 'return', 'mean_mfe', 'wide'],
  ['mean MAE', 'return', 'mean_mae', 'wide'],
  ['break-even cost', 'deviation', 'break_even_cost', 'wide'],
]

function statisticsSection(found: Comparison): Section {
  const { strategies } = found
  return {
    id: 'performance',
    title: 'Performance',
    untitled: true,
    parts: [
      { on: 'short', table: statisticsTable(found, false) },
      { on: 'wide', table: statisticsTable(found, true) },
      ...reasonsPart(
        strategies.flatMap(({ name, statistics, trade_statistics }) => [
          { where: name, reasons: statistics.reasons },
          { where: `trades of ${name}`, reasons: trade_statistics.reasons },
        ]),
      ).map((part): Part => ({ ...part, on: 'page' })),
    ],
  }
}

function statisticsTable({ strategies, bars_a_year }: Comparison, isWhole: boolean): Table {
  const [first] = strategies
  const rows = statisticsOf({ bars_a_year, strategy: first!.strategy })
  const isAlike = strategies.every(({ strategy }) => strategy.risk_free === first!.strategy.risk_free)
  const named = (name: string): string => (isAlike ? name : name.replace(/, rf .*$/, ', own rf'))
  const shown = <Row extends { on: string | undefined }>(all: readonly Row[]): Row[] =>
    all.filter(({ on }) => isWhole || on === undefined)
  const told = shown(rows.map(([name, kind, key, formula, on]) => ({ name: named(name), kind, key, formula, on })))
  const trades = shown(TRADES.map(([name, kind, key, on]) => ({ name, kind, key, on })))
  return {
    caption: `Statistics of the equity over ${count(first!.statistics.bars, 'bar')} that all have`,
    columns: [
      { title: '', kind: 'text' },
      ...byName(strategies, 'return'),
      { title: 'How it is made', kind: 'text', on: 'page' },
    ],
    rows: [
      ...told.map(({ name, kind, key, formula }) => [
        cell('text', name),
        ...strategies.map(
          ({ statistics }): Cell => cell(kind, statistics[key as keyof Omit<EquityStatistics, 'reasons'>]),
        ),
        cell('text', formula),
      ]),
      ...trades.map(({ name, kind, key }) => [
        cell('text', name),
        ...strategies.map(({ trade_statistics }): Cell => cell(kind, trade_statistics[key])),
        cell('text', ''),
      ]),
    ],
    whole: 'json',
  }
}

/** A column of each strategy, under its name; the last are left out first. */
function byName(strategies: Comparison['strategies'], kind: Kind): Heading[] {
  return strategies.map(({ name }, i) => ({ title: name, verbatim: true, kind, ...(i === 0 ? {} : { spare: i }) }))
}

function differencesSection(all: Comparison['sharpe_differences']): Section {
  const [first] = all
  const known = all.filter(({ reason }) => reason === null)
  const rows = known.map(({ a, b, difference, low, high }) => [
    cell('text', `${a} − ${b}`),
    cell('ratio', difference),
    cell('ratio', [low, high]),
    cell('text', low! > 0 || high! < 0 ? 'apart' : 'not to be told apart'),
  ])
  const none = all.flatMap(({ a, b, reason }) => (reason === null ? [] : [`${a} − ${b}: ${reason}.`]))
  return {
    id: 'differences',
    title: 'Difference of the Sharpe ratios',
    short: 'Differences',
    phrases:
      known.length === 0 ? [] : [count(first!.draws, 'draw'), `blocks of ${ratio(first!.block, 1)} bars on average`],
    parts: [
      ...(rows.length === 0
        ? []
        : [
            {
              table: {
                caption:
                  'Difference of the Sharpe ratios a year, and the interval that holds the true one in 95 of 100 such comparisons',
                columns: [
                  { title: '', kind: 'text' as const },
                  { title: 'Difference', kind: 'ratio' as const, spare: 0 },
                  { title: '95%', kind: 'ratio' as const },
                  { title: 'The two are', kind: 'text' as const, spare: 1 },
                ],
                rows,
                whole: 'json' as const,
              },
            },
          ]),
      ...(none.length === 0 ? [] : [{ notes: none }]),
    ],
  }
}

function correlationsSection({ strategies, correlations }: Comparison): Section {
  return {
    id: 'correlations',
    title: 'Correlation of the returns',
    short: 'Correlations',
    parts: [
      {
        table: {
          caption: 'Correlation of the returns of each bar',
          columns: [{ title: '', kind: 'text' }, ...byName(strategies, 'ratio')],
          rows: strategies.map(({ name }, row) => [
            cell('text', name),
            ...correlations[row]!.map(value => cell('ratio', value)),
          ]),
          whole: 'json',
        },
      },
    ],
  }
}

const TONES: readonly Tone[] = ['accent', 'second', 'third', 'quiet', 'gain', 'loss']

function curvesSection(found: Comparison): Section {
  return {
    id: 'curves',
    title: 'Equity',
    short: 'Equity',
    on: 'terminal',
    parts: [{ chart: curvesChart(found) }],
  }
}

/** The equity of all, from the same 1. */
function curvesChart({ strategies, dates }: Comparison): Chart {
  const lines = strategies.map(({ name, equity }, i) =>
    line(name, TONES[i % TONES.length]!, equity, {
      width: i === 0 ? 2 : 1.6,
      dashed: i >= TONES.length,
      ...(i === 0 ? { terminal: 'whole' as const } : i === 1 ? { terminal: 'dotted' as const } : {}),
    }),
  )
  const told = strategies.map(({ name, statistics }) => `${name} ${returnText(statistics.total_return)}`)
  return newChart('curves', 'Equity', {
    description: `What became of the same money over ${count(dates.length, 'bar')}: ${told.join(', ')}.`,
    x: ['date', dates.map(date => parseDay(date) ?? 0)],
    y: 'money',
    height: 320,
    log: isPositive(strategies.flatMap(({ equity }) => equity)),
    lines,
    rules: { x: [], y: [1] },
    empty: 'The strategies have no day in common.',
  })
}

function luckSection({ best, trials, strategies }: Comparison): Section {
  const ever = trials.ledger === null ? '' : `, ${whole(trials.ledger)} in the ledger of trials`
  const left = deflatedText(trials)
  const deflated =
    best === null ? 'None has a Sharpe ratio that could be deflated' : `Deflated Sharpe ratio of ${best}: ${left}`
  const exits = strategies.map(({ name, strategy }) => `${name}: ${exitsInWords(strategy)}`)
  return {
    id: 'chance',
    title: 'How many were tried',
    untitled: true,
    parts: [
      {
        notes: [
          `Tried: ${count(trials.run, 'strategy', 'strategies')} in this run${ever}. ${deflated}.`.replace(
            /\.\.$/,
            '.',
          ),
        ],
      },
      { on: 'page', list: exits },
    ],
  }
}

/** A row a strategy. */
export function comparisonRecords({ strategies }: Comparison): Records {
  const rows = strategies.map(strategy => ({ name: strategy.name, ...statisticsRow(strategy) }))
  return { columns: Object.keys(rows[0] ?? {}), rows }
}
