import { title } from '../../core/errors.js'
import {
  count,
  keyInWords,
  listNames,
  numberText,
  probability,
  ratio,
  returnText,
  shareText,
  UNKNOWN,
} from '../../core/numbers.js'
import { combinations, type GridStatistic } from '../../core/params/grid.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import { COMBINATION_DRAWS } from '../../research/backtest/draws.js'
import type { Grid, GridCell } from '../../research/backtest/result.js'
import { strategyInWords } from '../../research/backtest/words.js'
import { LEAST_UNITS } from '../../research/study/result.js'
import { testedAnswer, trialLogSentence } from './answer.js'
import {
  assumedSection,
  type Cell,
  type Column,
  cell,
  compact,
  type Description,
  type Heading,
  type Kind,
  type Part,
  pageNote,
  type Records,
  type Section,
  section,
  type Table,
  tablePart,
  withHidePriorities,
} from './description.js'
import { FULL_LIST_OPTIONS } from './long-tables.js'
import { outOfSampleSection, validationSection } from './performance.js'
import { statisticsRow } from './records.js'
import { bestEquityChart, testsEquityChart } from './strategy-charts.js'
import {
  originFacts,
  overfittingText,
  pageTitle,
  rangeTexts,
  readingSection,
  strategiesText,
  tickersText,
  triedText,
  withFullStop,
} from './words.js'

const STATISTICS: Readonly<Record<GridStatistic, readonly [kind: Kind, name: string]>> = {
  sharpe: ['ratio', 'Sharpe ratio'],
  sortino: ['ratio', 'Sortino ratio'],
  calmar: ['ratio', 'Calmar ratio'],
  cagr: ['return', 'return a year'],
  total_return: ['return', 'total return'],
  max_drawdown: ['return', 'worst drawdown'],
  mean: ['return', 'mean net return a trade'],
  hit_rate: ['share', 'hit rate'],
  profit_factor: ['ratio', 'profit factor'],
  sqn: ['ratio', 'SQN'],
}

const statisticKind = (statistic: GridStatistic): Kind => STATISTICS[statistic][0]
const statisticName = (statistic: GridStatistic): string => STATISTICS[statistic][1]

/** All combinations, and if the best beats chance. An axis is a varied key, a cell one combination's backtest. */
export function describeGrid(grid: Grid): Description {
  const { axes, cells, statistic, best } = grid
  const keys = axes.map(({ key }) => keyInWords(key))
  const tests = grid.validation?.test ?? null
  return {
    document: grid,
    kind: 'Grid of strategies',
    title: pageTitle(`The best of ${strategiesText(cells.length)} by ${listNames(keys, 3, 'settings')}`, grid),
    answer: answerOf(grid),
    heading: [
      `${tickersText(grid.tickers)}  ${count(cells.length, 'combination')} of ${axes.map(({ key }) => key).join(', ')}  ${grid.timeframe}`,
      ...rangeTexts(grid),
    ],
    assumed: [`Each combination is traded over the same data and compared by its ${statisticName(statistic)}.`],
    lead:
      tests === null
        ? [{ table: heatMaps(grid)[0]!.table }, { notes: [mapLegend(grid)] }]
        : [{ chart: testsEquityChart(tests) }],
    warnings: grid.warnings,
    facts: compact([
      best && (['Rules of the best', `${strategyInWords(best.strategy)}.`] as const),
      ...axes.map(({ key, values }) => [keyInWords(key), values.join(', ')] as const),
      ...originFacts(grid),
    ]),
    sections: compact([
      best && outOfSampleSection({ ...grid, strategy: best.strategy }),
      mapSection(grid),
      bestSection(grid),
      validationSection(grid),
      cellsSection(grid),
      assumedSection(grid.assumptions, [
        best && pageNote('This is the strategy file of the best combination; kept in a file, it makes it again.'),
        best && { on: 'page', code: JSON.stringify(best.strategy, null, 2) },
      ]),
      readingSection('grid'),
    ]),
    longLists: [{ key: 'cells', keptEnd: 'first', fullListOption: FULL_LIST_OPTIONS.cells }],
  }
}

function valueText(statistic: GridStatistic, value: number | null): string {
  if (value === null) return UNKNOWN
  const kind = statisticKind(statistic)
  if (kind === 'return') return returnText(value)
  return kind === 'share' ? shareText(value) : ratio(value)
}

/** `hold 10, stop 8%`: the values of a combination. */
function settingText({ axes }: Grid, { values }: Pick<GridCell, 'values'>): string {
  return values.map((value, i) => `${keyInWords(axes[i]!.key)} ${value}`).join(', ')
}

/** The best combination and the doubts about it, or the result of the test days. If all are equal, there is no best. */
function answerOf(grid: Grid): string {
  const { best, cells, statistic, trials, pbo, validation } = grid
  if (grid.first === null) return grid.warnings[0] ?? 'No bar to trade on.'
  if (best === null) return `None of ${count(cells.length, 'combination')} has a ${statisticName(statistic)}.`
  const bestCell = cells[best.cell]!
  if (haveEqualStatistics(cells))
    return `All ${numberText(cells.length)} came to the same: ${statisticName(statistic)} ${valueText(statistic, bestCell.value)}. The varied keys change no trade, so there is no best.`
  const tests = validation?.test ?? null
  if (tests !== null) return testedAnswer(grid, tests)
  const bestValue = `${valueText(statistic, bestCell.value)}${holdingText(grid, best)}`
  const bestText = `the best of ${numberText(cells.length)} has a ${statisticName(statistic)} of ${bestValue} with ${settingText(grid, bestCell)}`
  const neighboursText =
    best.neighbours.mean === null ? '' : `, its neighbours ${valueText(statistic, best.neighbours.mean)} on average`
  const deflated = trials.deflated_sharpe
  const deflatedText =
    deflated === null ? (trials.reason ?? 'there is no Sharpe ratio') : `deflated Sharpe ratio ${probability(deflated)}`
  const doubts = [deflatedText, ...doubtTexts(grid, bestCell)].join('; ').replace(/\.$/, '')
  // A higher probability is among the doubts.
  const overfittingNote =
    pbo === null || pbo.probability >= LEVEL
      ? ''
      : `. The best of one half of the days was not above the median in the other in ${shareText(pbo.probability)} of splits`
  const finding = `${title(grid.verdict.word)}: ${bestText}${neighboursText}.`
  return `${finding}${trialLogSentence(trials.log, trials.log_q)} ${title(doubts)}${overfittingNote}.`
}

/** ` (holding 1.12)`: the statistic of buy and hold; empty for a statistic of trades. */
function holdingText({ statistic }: Grid, { holding }: NonNullable<Grid['best']>): string {
  const value = statistic in holding ? holding[statistic as keyof typeof holding] : null
  return typeof value === 'number' ? ` (holding ${valueText(statistic, value)})` : ''
}

function haveEqualStatistics(cells: readonly GridCell[]): boolean {
  const texts = cells.map(({ statistics, trade_statistics }) => JSON.stringify([statistics, trade_statistics]))
  return new Set(texts).size <= 1
}

/** The doubts about the best combination, apart from its deflated Sharpe ratio. */
function doubtTexts({ pbo }: Grid, { statistics, trade_statistics: trades }: GridCell): string[] {
  const overfit = pbo?.probability ?? 0
  return compact([
    (statistics.total_return ?? 0) <= 0 && 'nothing was earned',
    trades.n < LEAST_UNITS && `only ${count(trades.n, 'trade')}`,
    // Bailey and others reject a probability of overfitting above the level of the tests.
    overfit >= LEVEL && `the probability of overfitting is ${probability(overfit)}`,
  ])
}

/** Maps of more than two keys that are drawn. */
const MOST_MAPS = 6

/** A map of the last two keys for each combination of the other keys (`setting`). The map with the best comes first. */
function heatMaps(grid: Grid): { setting: string; table: Table }[] {
  const { axes, best, statistic } = grid
  const [down, across] = axes.length === 1 ? [axes[0]!, null] : [axes.at(-2)!, axes.at(-1)!]
  const cellsPerMap = down.values.length * (across?.values.length ?? 1)
  const otherValues = combinations(axes.slice(0, Math.max(0, axes.length - 2)))
  const mapOfBest = best === null ? 0 : Math.floor(best.cell / cellsPerMap)
  const otherMaps = [...otherValues.keys()].filter(map => map !== mapOfBest)
  return [mapOfBest, ...otherMaps].map(map => {
    const setting = settingText(grid, { values: otherValues[map]! })
    const caption = compact([statisticName(statistic), setting]).join(', ')
    return { setting, table: heatTable(grid, { down, across, from: map * cellsPerMap, caption }) }
  })
}

function mapLegend({ statistic, axes }: Grid): string {
  return `${statisticName(statistic)} of each combination; darker is better, * is the best${axes.length > 2 ? ' of all' : ''}.`
}

/**
 * A section with the heat maps. A page without tests begins with the first, so only a terminal shows it here. Only a
 * page shows the title.
 */
function mapSection(grid: Grid): Section {
  const isTested = (grid.validation?.test ?? null) !== null
  const maps = heatMaps(grid)
  const undrawn = maps.length - MOST_MAPS
  const isForTerminal = maps.length === 1 && !isTested
  const mapsSection = section({ id: 'map', title: 'Other maps', untitled: true }, [
    ...maps.slice(0, MOST_MAPS).flatMap(({ setting, table }, i): Part[] => {
      const on = i === 0 && !isTested ? 'terminal' : undefined
      return compact([setting !== '' && { on, notes: [`With ${setting}:`] }, { on, table }])
    }),
    { on: 'terminal', notes: [mapLegend(grid)] },
    undrawn > 0 && { notes: [`${count(undrawn, 'more map')} in --json and --csv.`] },
  ])
  return isForTerminal ? { ...mapsSection, on: 'terminal' } : mapsSection
}

type Axis = Grid['axes'][number]

/**
 * A heat map as a table: a row for each value of `down`, a column for each value of `across`. Without `across` it has
 * one column, named after the statistic. The heat of a cell is the position of its value between the least (0) and the
 * greatest (4) of the whole grid.
 * @param from index of the map's first combination among the cells
 */
function heatTable(
  { cells, best, statistic }: Grid,
  { down, across, from, caption }: { down: Axis; across: Axis | null; from: number; caption: string },
): Table {
  const known = cells.flatMap(({ value }) => value ?? [])
  const least = Math.min(...known)
  const greatest = Math.max(...known)
  const columns = across?.values ?? [statisticName(statistic)]
  const kind = statisticKind(statistic)
  const heatOf = (value: number): number =>
    greatest === least ? 2 : Math.round((4 * (value - least)) / (greatest - least))
  const cellAt = (row: number, column: number): Cell => {
    const index = from + row * columns.length + column
    const { value } = cells[index]!
    const mapCell: Cell = { kind, content: value }
    if (value !== null) mapCell.heat = heatOf(value)
    return index === best?.cell ? { ...mapCell, mark: '*', tone: 'strong' } : mapCell
  }
  const headings = columns.map(
    (title): Heading => (across === null ? { title, kind } : { title, kind, verbatimTitle: true }),
  )
  const keys = across === null ? keyInWords(down.key) : `${keyInWords(down.key)} \\ ${keyInWords(across.key)}`
  return {
    caption,
    columns: [{ title: keys, kind: 'text' }, ...withHidePriorities(headings)],
    rows: down.values.map((value, row) => [cell('text', value), ...columns.map((_, column) => cellAt(row, column))]),
    allColumnsIn: 'json',
  }
}

/** A section on whether the best combination is real: its neighbours, smoothness, deflated ratio, overfitting. */
function bestSection(grid: Grid): Section {
  const { best, cells, statistic, smoothness, trials, pbo, reasons } = grid
  if (best === null)
    return section({ id: 'best', title: 'Is the best real?' }, [
      { notes: ['There is no best: no combination has a value.'] },
    ])
  const bestCell = cells[best.cell]!
  const { n, mean, least, greatest } = best.neighbours
  const textOf = (value: number | null): string => valueText(statistic, value)
  const neighbours =
    n === 0
      ? 'It has no neighbour with a value.'
      : `Its ${count(n, 'neighbour')}: ${textOf(mean)} on average, ${textOf(least)} to ${textOf(greatest)}.`
  const smoothnessText =
    smoothness === null
      ? 'Smoothness: too few combinations have a value, or they do not vary.'
      : `Smoothness: ${ratio(smoothness)}, the correlation of the combinations with the means of their neighbours; 1 is smooth, about 0 is chance.`
  const deflated =
    trials.deflated_sharpe === null
      ? (trials.reason ?? UNKNOWN)
      : `${probability(trials.deflated_sharpe)}, the probability that its ratio is above what the best of ${numberText(trials.n)} would show by chance`
  return section(
    { id: 'best', title: `Is the best of ${numberText(cells.length)} real?`, short: 'Best of many', on: 'wide' },
    [
      {
        notes: [
          `Best: ${settingText(grid, bestCell)}, ${statisticName(statistic)} ${textOf(bestCell.value)}, ${count(bestCell.trade_statistics.n, 'trade')}.`,
          `${neighbours} ${smoothnessText}`,
          withFullStop(`${triedText(trials)} Deflated Sharpe ratio: ${deflated}`),
          overfittingText(pbo, reasons.pbo ?? UNKNOWN),
        ],
      },
      { on: 'page', chart: bestEquityChart(best) },
    ],
  )
}

/** Rows that a terminal shows. */
const MOST_ROWS = 5

/** A table of all combinations, the best first. A terminal shows the first MOST_ROWS. */
function cellsSection({ axes, cells, statistic }: Grid): Section {
  const ranked = cells.toSorted((a, b) => (b.value ?? Number.NEGATIVE_INFINITY) - (a.value ?? Number.NEGATIVE_INFINITY))
  const axisColumns = axes.map(({ key }, i): Column<GridCell> => {
    return { title: keyInWords(key), kind: 'text', value: ({ values }) => values[i]! }
  })
  const hasDraws = cells.some(({ draws }) => draws !== null)
  const statisticHasColumn = ['sharpe', 'total_return', 'cagr', 'max_drawdown', 'mean', 'hit_rate'].includes(statistic)
  const columns = compact<Column<GridCell>>([
    ...axisColumns,
    { title: 'Trades', kind: 'count', value: cell => cell.trade_statistics.n },
    {
      title: 'Mean',
      kind: 'return',
      hidePriority: 3,
      hint: 'Net return a trade',
      value: row => row.trade_statistics.mean,
    },
    { title: 'Hit', kind: 'share', hidePriority: 4, value: cell => cell.trade_statistics.hit_rate },
    { title: 'Return', kind: 'return', hidePriority: 2, value: ({ statistics }) => statistics.total_return },
    hasDraws && DRAWS_COLUMN,
    { title: 'A year', kind: 'return', hidePriority: 5, value: ({ statistics }) => statistics.cagr },
    { title: 'Sharpe', kind: 'ratio', value: ({ statistics }) => statistics.sharpe },
    {
      title: 'Worst',
      kind: 'return',
      hidePriority: 1,
      hint: 'Worst drawdown',
      value: row => row.statistics.max_drawdown,
    },
    !statisticHasColumn && {
      title: statisticName(statistic),
      kind: statisticKind(statistic),
      value: ({ value }) => value,
    },
  ])
  const omitted = cells.length - MOST_ROWS
  return section({ id: 'cells', title: `By ${statisticName(statistic)}`, short: 'All combinations' }, [
    tablePart('Result of each combination', columns, ranked, { limit: MOST_ROWS }),
    omitted > 0 && { on: 'terminal', notes: [`${count(omitted, 'more combination')} in --json and --csv.`] },
  ])
}

const DRAWS_COLUMN: Column<GridCell> = {
  title: '5-95%',
  kind: 'return',
  hidePriority: 0,
  hint: `Total return over ${COMBINATION_DRAWS} random choices among equal signals`,
  value: ({ draws }) => (draws === null ? '' : [draws.return.p05, draws.return.p95]),
}

/** Records with one row for each combination: its values, its statistic and all other statistics. */
export function gridRecords({ axes, cells, statistic }: Grid): Records {
  const rows = cells.map(({ values, value, p, ...results }) => {
    const settings = Object.fromEntries(axes.map(({ key }, i) => [key, values[i]!]))
    return { ...settings, statistic, value, p, ...statisticsRow(results) }
  })
  return { columns: Object.keys(rows[0] ?? {}), rows }
}
