import { title } from '../../core/errors.js'
import {
  count,
  money,
  numberText,
  percent,
  returnRange,
  returnText,
  shareRange,
  shareText,
} from '../../core/numbers.js'
import type { ValidationKind } from '../../core/params/studies.js'
import type { Backtest, Benchmark, EquityStatistics, Tests, Validation } from '../../research/backtest/result.js'
import {
  type Column,
  type Content,
  cell,
  compact,
  type Heading,
  type Kind,
  type Part,
  pageNote,
  type Records,
  reasonsPart,
  type Section,
  section,
  type Table,
  type Trend,
  tablePart,
  withHidePriorities,
} from './description.js'
import { testsDrawdownChart, yearsChart } from './strategy-charts.js'

/** A row: its name, kind, key in a result, and formula. Rows shown on `wide` output are left out of short tables. */
export type StatisticRow<Of> = readonly [
  name: string,
  kind: Kind,
  key: Exclude<keyof Of, 'reasons'>,
  formula?: string,
  shownOn?: 'wide',
]

/** The rows of all equity statistics. Their formulas have the bars a year (`m`) and the risk-free rate of a result. */
export function equityStatisticRows({ bars_a_year, strategy }: AnnualisedBy): StatisticRow<EquityStatistics>[] {
  const m = Number(bars_a_year.toFixed(1))
  const rf = percent(strategy.risk_free, '')
  return [
    ['total return', 'return', 'total_return', 'last equity / first − 1'],
    ['a year (CAGR)', 'return', 'cagr', `(last / first)^(${m} / bars) − 1`],
    ['volatility a year', 'deviation', 'volatility', `deviation of bar returns (n − 1) · √${m}`],
    [`Sharpe, rf ${rf}`, 'ratio', 'sharpe', `mean excess / deviation · √${m}`],
    [`Sortino, rf ${rf}`, 'ratio', 'sortino', `mean excess / √mean(min(excess, 0)²) · √${m}`, 'wide'],
    ['worst drawdown', 'return', 'max_drawdown', 'least of equity / running maximum − 1'],
    ['average drawdown', 'return', 'average_drawdown', 'mean of the same', 'wide'],
    ['longest fall, bars', 'count', 'longest_drawdown_bars', 'bars from a high to the next', 'wide'],
    ['Calmar', 'ratio', 'calmar', 'CAGR / |maximum drawdown|', 'wide'],
    ['Ulcer index', 'deviation', 'ulcer_index', '√mean(drawdown²)', 'wide'],
    ['best bar', 'return', 'best_bar', '', 'wide'],
    ['worst bar', 'return', 'worst_bar', '', 'wide'],
    ['VaR 95%, a bar', 'return', 'value_at_risk', '5% quantile of bar returns, historical; a loss is negative', 'wide'],
    ['CVaR 95%, a bar', 'return', 'conditional_value_at_risk', 'mean of the worst 5% of bar returns', 'wide'],
    ['skewness', 'ratio', 'skewness', 'm₃ / m₂^1.5 of bar returns', 'wide'],
    ['kurtosis, plain', 'ratio', 'kurtosis', 'm₄ / m₂² of bar returns; a normal one has 3', 'wide'],
    ['time in market', 'share', 'invested', 'mean over all bars of the share of the equity in positions'],
    ['position held', 'share', 'exposure', 'share of bars on which a position was on', 'wide'],
    ['two-sided turnover', 'ratio', 'turnover', 'a year: value of entries and of exits / mean equity', 'wide'],
    ['P(Sharpe > 0)', 'probability', 'probabilistic_sharpe', 'Bailey and López de Prado 2012', 'wide'],
    ['track record, bars', 'count', 'min_track_record_bars', 'bars for that to reach 95%', 'wide'],
  ]
}

/** A row of several results: its name, kind, values and formula. */
export type ComparedRow = readonly [name: string, kind: Kind, values: readonly Content[], formula?: string | undefined]

/** A column for each result, a row for each statistic, and a last column with the formulas if a row has one. */
export function comparisonTable(caption: string, heads: readonly Heading[], rows: readonly ComparedRow[]): Table {
  const hasFormulas = rows.some(([, , , formula]) => formula !== undefined)
  const formulaHeading: Heading = { title: 'How it is computed', kind: 'text', on: 'page' }
  return {
    caption,
    columns: compact([{ title: '', kind: 'text' }, ...heads, hasFormulas && formulaHeading]),
    rows: rows.map(([name, kind, values, formula = '']) =>
      compact([cell('text', name), ...values.map(value => cell(kind, value)), hasFormulas && cell('text', formula)]),
    ),
    allColumnsIn: 'json',
  }
}

/** The data for the names and formulas of statistics. */
type AnnualisedBy = Pick<Backtest, 'bars_a_year'> & { strategy: Pick<Backtest['strategy'], 'risk_free'> }

const BENCHMARK_ROWS: readonly StatisticRow<Omit<Benchmark, 'statistics' | 'equity' | 'rolling_beta' | 'years'>>[] = [
  ['alpha a year', 'return', 'alpha', 'of the strategy, on bars that both have'],
  ['t of alpha', 'ratio', 'alpha_t', 'by its Newey-West error'],
  ['beta', 'ratio', 'beta', ''],
  ['correlation', 'ratio', 'correlation', ''],
  ['information ratio', 'ratio', 'information_ratio', 'mean difference / its deviation'],
  ['from', 'date', 'first', 'its first bar within the dates of the strategy'],
  ['to', 'date', 'last', 'its last bar within them'],
]

/** The statistics of the strategy next to those of its benchmarks: the main ones, and in a fold all with formulas. */
export function statisticsSection(backtest: Backtest): Section {
  const { statistics, benchmarks } = backtest
  const reasons = [
    { where: 'strategy', reasons: statistics.reasons },
    ...benchmarks.flatMap(({ name, statistics, reasons }) => [
      { where: name, reasons: statistics.reasons },
      { where: `against ${name}`, reasons },
    ]),
  ]
  const allRows = equityStatisticRows(backtest)
  // Main rows have no formula.
  const mainRows = allRows.flatMap(([name, kind, key, , shownOn]): StatisticRow<EquityStatistics>[] =>
    shownOn === undefined ? [[name, kind, key]] : [],
  )
  const mainTable = benchmarksTable('Statistics', backtest, mainRows, [])
  const benchmarkRows = benchmarks.length === 0 ? [] : BENCHMARK_ROWS
  const fullTable = benchmarksTable('All statistics', backtest, allRows, benchmarkRows)
  return section({ id: 'performance', short: 'Performance', ...allDataTitle(backtest), ...wideIfTested(backtest) }, [
    ...statisticParts(mainTable, compact([{ table: fullTable }, reasonsPart(reasons, 'page')])),
  ])
}

/** The main statistics in short for terminal and page; `foldedParts` has all of them, below a fold or with --wide. */
export function statisticParts(mainTable: Table, foldedParts: readonly Part[]): Part[] {
  return [
    { on: 'short', table: mainTable },
    { on: 'page', table: mainTable },
    { on: 'wide', fold: { title: 'Every statistic, and how it is computed', parts: foldedParts } },
  ]
}

/** The statistics that random draws have, too, each with its key in `draws`. */
const DRAW_KEYS = { total_return: 'return', sharpe: 'sharpe', max_drawdown: 'max_drawdown' } as const

/**
 * The statistics of the strategy, the range of its random draws if there are any, and its benchmarks.
 * @param comparedRows rows that only the benchmarks have
 */
function benchmarksTable(
  caption: string,
  { statistics, benchmarks, draws }: Backtest,
  rows: readonly StatisticRow<EquityStatistics>[],
  comparedRows: typeof BENCHMARK_ROWS,
): Table {
  const benchmarkHeadings = withHidePriorities(
    benchmarks.map(({ name }) => ({ title: name.replace(' and ', ' & '), kind: 'return' })),
  )
  const drawHeadings: Heading[] =
    draws === null ? [] : [{ title: '5-95%', kind: 'return', hint: `Of ${draws.n} random choices among equal signals` }]
  // The cell of the draws in a row; none without draws, and an empty one for a statistic that draws do not have.
  const drawCells = (key: string): Content[] => {
    if (draws === null) return []
    const drawKey = DRAW_KEYS[key as keyof typeof DRAW_KEYS]
    return drawKey === undefined ? [''] : [[draws[drawKey].p05, draws[drawKey].p95]]
  }
  return comparisonTable(
    `${caption} of the equity over ${count(statistics.bars, 'bar')}`,
    [{ title: 'Strategy', kind: 'return' }, ...drawHeadings, ...benchmarkHeadings],
    [
      ...rows.map(([name, kind, key, formula]): ComparedRow => {
        const benchmarkValues = benchmarks.map(benchmark => benchmark.statistics[key])
        return [name, kind, [statistics[key], ...drawCells(key), ...benchmarkValues], formula]
      }),
      ...comparedRows.map(([name, kind, key, formula]): ComparedRow => {
        return [name, kind, ['', ...drawCells(key), ...benchmarks.map(benchmark => benchmark[key])], formula]
      }),
    ],
  )
}

const TESTED_STATISTICS = [
  'total_return',
  'cagr',
  'sharpe',
  'probabilistic_sharpe',
  'max_drawdown',
  'invested',
  'exposure',
]

/** The results on the test days, which did not influence the choice; null without tests. @param notes below them */
export function outOfSampleSection(
  result: AnnualisedBy & Pick<Backtest, 'validation'>,
  notes: readonly string[] = [],
): Section | null {
  const { validation } = result
  if (validation === null || validation.test === null) return null
  const { statistics: equity, trade_statistics: trades, holding, random_entry: randomEntry } = validation.test
  const hitRange = shareRange({ low: trades.hit_low, high: trades.hit_high })
  const tests = validation.folds.filter(({ role }) => role === 'test')
  const rows: ComparedRow[] = [
    ...equityStatisticRows(result)
      .filter(([, , key]) => TESTED_STATISTICS.includes(key))
      .map(([name, kind, key]): ComparedRow => [name, kind, [equity[key], holding[key]]]),
    ['trades', 'count', [trades.n, '']],
    ['mean a trade, net', 'return', [trades.mean, '']],
    ['won', 'text', [`${shareText(trades.hit_rate)} (95% ${hitRange})`, '']],
    ['random entry, p', 'probability', [randomEntry.p, '']],
  ]
  const caption = 'Result on the days that were not used for the choice'
  const phrases = compact([
    testPartsText(validation.kind, tests.length),
    tests.length > 0 && `${tests[0]!.from} to ${tests.at(-1)!.to}`,
  ])
  const headings: readonly Heading[] = [
    { title: 'Tests', kind: 'return' },
    { title: 'Holding', kind: 'return', hidePriority: 0, hint: 'Buy and hold over the same days' },
  ]
  const table = comparisonTable(caption, headings, rows)
  return section({ id: 'out-of-sample', title: 'Out of sample', phrases }, [
    { table },
    { on: 'terminal', trend: equityTrends(validation.test, { first: 1 }) },
    { on: 'page', chart: testsDrawdownChart(validation.test) },
    notes.length > 0 && { notes },
  ])
}

/** Two sparklines, of the equity and of its drawdown; none without a bar. @param first the first equity to show */
export function equityTrends(
  { equity, statistics }: Pick<Backtest | Tests, 'equity' | 'statistics'>,
  { first }: { first: number },
): Trend[] {
  const values = equity.map(point => point.equity)
  const last = values.at(-1)
  if (last === undefined) return []
  const drawdownText = `worst ${returnText(statistics.max_drawdown)}`
  return [
    { name: 'equity', values, text: `first ${money(first)}, last ${money(last)}` },
    { name: 'drawdown', values: equity.map(point => point.drawdown), text: drawdownText },
  ]
}

/** `all 5 tests, one after the other`: which parts of the data the results out of sample are about. */
function testPartsText(kind: Validation['kind'], tests: number): string {
  if (kind === 'split') return 'the part after the split'
  return tests === 1 ? 'the only test' : `all ${numberText(tests)} tests, one after the other`
}

/** `all data`, or `first of 3 candidates (hold 5), all data`, for in-sample numbers; null without a validation. */
export function allDataText({ validation }: Backtest): string | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined ? 'all data' : `first of ${more.length + 1} candidates (${first}), all data`
}

/** Where a section about all data is shown: with tests, a terminal shows it only with --wide. */
export function wideIfTested({ validation }: Pick<Backtest, 'validation'>): Pick<Section, 'on'> {
  return (validation?.test ?? null) === null ? {} : { on: 'wide' }
}

function allDataTitle({ validation }: Backtest): Pick<Section, 'title' | 'untitled' | 'phrases'> {
  if (validation === null) return { title: 'Performance', untitled: true }
  const [first, ...more] = validation.candidates
  if (first === undefined) return { title: 'All data', phrases: ['the days of the tests included'] }
  return { title: `All data, first of ${more.length + 1} candidates (${first})` }
}

export const VALIDATION_TITLES: Readonly<Record<ValidationKind, string>> = {
  split: 'Before and after the split',
  walk_forward: 'Walk-forward',
  cv: 'Purged cross-validation',
  cpcv: 'Combinatorial purged cross-validation',
}

export function validationText({ kind }: Validation): string {
  return kind === 'split' ? 'the split' : 'the walk-forward'
}

type Fold = Omit<Validation['folds'][number], 'role'>

/** A table with a row for each part of the data and one for all tests together; null without a validation. */
export function validationSection({ validation }: Pick<Backtest, 'validation'>): Section | null {
  if (validation === null) return null
  const { kind, folds, purged, test, candidates } = validation
  const chosenColumn: Column<Fold> = { title: 'Chosen', kind: 'text', value: ({ chosen }) => chosen ?? '' }
  const rows: readonly Fold[] = compact([
    ...folds.map(fold => ({ ...fold, name: `${fold.name} ${fold.role}` })),
    test && { ...test, ...EVERY_TEST, trades: test.trade_statistics.n },
  ])
  const columns = candidates.length > 0 ? [...FOLD_COLUMNS, chosenColumn] : FOLD_COLUMNS
  const phrases = [`${count(purged, 'trade')} left out between the parts`]
  const table = tablePart('Parts of the data', columns, rows, { allColumnsIn: 'json' })
  return section({ id: 'validation', title: VALIDATION_TITLES[kind], phrases }, [table])
}

/** The row of all tests together, apart from its figures. */
const EVERY_TEST = { name: 'all tests', from: '', to: '', chosen: null, agreement: null }

const FOLD_COLUMNS: readonly Column<Fold>[] = [
  { title: 'Part', kind: 'text', value: ({ name }) => name },
  { title: 'From', kind: 'date', hidePriority: 3, value: ({ from }) => from },
  { title: 'To', kind: 'date', hidePriority: 4, value: ({ to }) => to },
  { title: 'Trades', kind: 'count', value: ({ trades }) => trades },
  { title: 'Mean', kind: 'return', value: ({ trade_statistics: { mean } }) => mean },
  { title: 'Hit', kind: 'share', hidePriority: 1, value: ({ trade_statistics: { hit_rate } }) => hit_rate },
  { title: 'Return', kind: 'return', hidePriority: 2, value: ({ statistics }) => statistics.total_return },
  { title: 'Sharpe', kind: 'ratio', hidePriority: 0, value: ({ statistics }) => statistics.sharpe },
]

type Yearly = Pick<Benchmark, 'name' | 'years'>

/** The years of several results: a chart of their returns, and a folded table that also has their drawdowns. */
export function yearsSection(results: readonly Yearly[], tones?: Parameters<typeof yearsChart>[1]): Section {
  const note =
    'Each calendar year from the close before it to its last; the first and the last may be parts of a year. The worst drawdown is from the highest close of the same year, that close before it included: a fall that began a year earlier counts from there.'
  const title = 'The numbers, and the worst drawdown of each year'
  return section({ id: 'years', title: 'Year by year', short: 'Years', on: 'wide' }, [
    { on: 'page', chart: yearsChart(results, tones) },
    { fold: { title, parts: [{ table: yearsTable(results) }, pageNote(note)] } },
  ])
}

/** A table with a row for each year: a column of returns for each result, then a column of drawdowns for each. */
export function yearsTable(results: readonly Yearly[]): Table {
  const years = [...new Set(results.flatMap(({ years }) => years.map(({ year }) => year)))].sort((a, b) => a - b)
  const returnColumns = results.map(result => ({ ...result, key: 'return' as const, suffix: '' }))
  const drawdownColumns = results.map(result => ({ ...result, key: 'max_drawdown' as const, suffix: ', drawdown' }))
  const columns = [...returnColumns, ...drawdownColumns]
  const headings = columns.map(({ name, suffix }): Heading => {
    return { title: title(name.replace(' and ', ' & ')) + suffix, kind: 'return' }
  })
  return {
    caption: 'Return and worst drawdown of each calendar year',
    columns: [{ title: 'Year', kind: 'date' }, ...withHidePriorities(headings)],
    rows: years.map(year => [
      cell('date', String(year)),
      ...columns.map(column => {
        const result = column.years.find(yearResult => yearResult.year === year)
        return cell('return', result?.[column.key] ?? null)
      }),
    ]),
    allColumnsIn: 'json',
  }
}

/** A sparkline of the years; empty for a single year. */
export function yearsTrend({ years }: Pick<Backtest, 'years'>): Trend[] {
  const values = years.flatMap(({ return: value }) => value ?? [])
  if (values.length < 2) return []
  const low = Math.min(...values)
  const high = Math.max(...values)
  return [{ name: 'years', values, text: `${returnRange({ low, high })} a year` }]
}

export function yearRecords(results: readonly Yearly[]): Records {
  return {
    columns: ['name', 'year', 'return', 'max_drawdown'],
    rows: results.flatMap(({ name, years }) => years.map(year => ({ name, ...year }))),
  }
}

export function yearsByName({ years, benchmarks }: Pick<Backtest, 'years' | 'benchmarks'>): Yearly[] {
  return [{ name: 'strategy', years }, ...benchmarks]
}
