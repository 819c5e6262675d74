import type { Backtest, Benchmark, EquityStatistics, TradeStatistics, Validation } from '../backtest/result.js'
import type { Way } from '../params/studies.js'
import {
  type Column,
  cell,
  type Heading,
  type Kind,
  type Records,
  reasonsPart,
  type Section,
  type Table,
  type Tile,
  type Trend,
  tableOf,
} from './description.js'
import { count, percentage, ratio, returnRange, returnText, shareRange, shareText, whole } from './numbers.js'

/** A row: what it is called, what it is, where it stands in a result, how it is made; `wide` ones are left out in short. */
type Row<Of> = readonly [name: string, kind: Kind, key: Exclude<keyof Of, 'reasons'>, formula: string, on?: 'wide']

export function statisticsOf({ bars_a_year, strategy }: Annualised): Row<EquityStatistics>[] {
  const m = Number(bars_a_year.toFixed(1))
  const rf = percentage(strategy.risk_free)
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
    ['VaR 95%, a bar', 'return', 'value_at_risk', '5% quantile of bar returns, historical; a loss is negative'],
    ['CVaR 95%, a bar', 'return', 'conditional_value_at_risk', 'mean of the worst 5% of bar returns'],
    ['skewness', 'ratio', 'skewness', 'm₃ / m₂^1.5 of bar returns', 'wide'],
    ['kurtosis, plain', 'ratio', 'kurtosis', 'm₄ / m₂² of bar returns; a normal one has 3', 'wide'],
    ['time in market', 'share', 'exposure', 'share of bars on which a position was on'],
    ['two-sided turnover', 'ratio', 'turnover', 'a year: value of entries and of exits / mean equity', 'wide'],
    ['P(Sharpe > 0)', 'probability', 'probabilistic_sharpe', 'Bailey and López de Prado 2012', 'wide'],
    ['track record, bars', 'count', 'min_track_record_bars', 'bars for that to reach 95%', 'wide'],
  ]
}

/** What the names and formulas of statistics stand on. */
type Annualised = Pick<Backtest, 'bars_a_year'> & { strategy: Pick<Backtest['strategy'], 'risk_free'> }

/** Of the strategy against each benchmark. */
const AGAINST: readonly Row<Omit<Benchmark, 'statistics' | 'equity' | 'years'>>[] = [
  ['alpha a year', 'return', 'alpha', 'of the strategy, on bars that both have'],
  ['t of alpha', 'ratio', 'alpha_t', 'by its Newey-West error'],
  ['beta', 'ratio', 'beta', ''],
  ['correlation', 'ratio', 'correlation', ''],
  ['information ratio', 'ratio', 'information_ratio', 'mean difference / its deviation'],
  ['from', 'date', 'first', 'its first bar within the dates of the strategy'],
  ['to', 'date', 'last', 'its last bar within them'],
]

/** The strategy beside what holding made of the same money. */
export function statisticsSection(found: Backtest): Section {
  const { statistics, benchmarks } = found
  const title = wholeTitle(found)
  const reasons = [
    { where: 'strategy', reasons: statistics.reasons },
    ...benchmarks.flatMap(({ name, statistics, reasons }) => [
      { where: name, reasons: statistics.reasons },
      { where: `against ${name}`, reasons },
    ]),
  ]
  const all = statisticsOf(found)
  const short = all.filter(([, , , , on]) => on === undefined)
  return {
    id: 'performance',
    title: title?.[0] ?? 'Performance',
    short: 'Performance',
    ...(title === null ? { untitled: true as const } : { phrases: title.slice(1) }),
    parts: [
      { on: 'short', table: beside(found, short, []) },
      { on: 'wide', table: beside(found, all, benchmarks.length === 0 ? [] : AGAINST) },
      ...reasonsPart(reasons).map(part => ({ ...part, on: 'page' as const })),
    ],
  }
}

function beside(found: Backtest, statistics: readonly Row<EquityStatistics>[], against: typeof AGAINST): Table {
  const { benchmarks } = found
  return {
    caption: `Statistics of the equity over ${count(found.statistics.bars, 'bar')}`,
    columns: [
      { title: '', kind: 'text' },
      { title: 'Strategy', kind: 'return' },
      ...benchmarks.map(({ name }, i) => ({
        title: name.replace(' and ', ' & '),
        kind: 'return' as const,
        ...(i === 0 ? {} : { spare: i }),
      })),
      { title: 'How it is made', kind: 'text', on: 'page' },
    ],
    rows: [
      ...statistics.map(([name, kind, key, formula]) => [
        cell('text', name),
        cell(kind, found.statistics[key]),
        ...benchmarks.map(({ statistics }) => cell(kind, statistics[key])),
        cell('text', formula),
      ]),
      ...against.map(([name, kind, key, formula]) => [
        cell('text', name),
        cell('text', ''),
        ...benchmarks.map(benchmark => cell(kind, benchmark[key])),
        cell('text', formula),
      ]),
    ],
    whole: 'json',
  }
}

/** What of an equity curve is told of the tests, too. */
const TESTED = ['total_return', 'cagr', 'sharpe', 'probabilistic_sharpe', 'max_drawdown', 'exposure']

/** What came of it on data that it was not chosen on: before everything else, which was seen when choosing. */
export function outOfSampleSections(found: Annualised & Pick<Backtest, 'validation'>): Section[] {
  const { validation } = found
  if (validation === null || validation.test === null) return []
  const { statistics: equity, trade_statistics: trades } = validation.test
  const tests = testsOf(validation)
  const rows = [
    ...statisticsOf(found)
      .filter(([, , key]) => TESTED.includes(key))
      .map(([name, kind, key]) => [cell('text', name), cell(kind, equity[key])]),
    [cell('text', 'trades'), cell('count', trades.n)],
    [cell('text', 'mean a trade, net'), cell('return', trades.mean)],
    [cell('text', 'won'), cell('text', wonText(trades, ''))],
  ]
  const columns = [
    { title: '', kind: 'text' },
    { title: 'Tests', kind: 'return' },
  ] as const
  return [
    {
      id: 'out-of-sample',
      title: 'Out of sample',
      phrases: [
        partsText(validation.kind, tests.length),
        ...(tests.length === 0 ? [] : [`${tests[0]!.from} to ${tests.at(-1)!.to}`]),
      ],
      parts: [
        { table: { caption: 'What came of it on data that it was not chosen on', columns, rows, whole: 'json' } },
      ],
    },
  ]
}

/** `76% won (95% 58-88%)` */
export function wonText({ hit_rate, hit_low, hit_high }: TradeStatistics, won = ' won'): string {
  return `${shareText(hit_rate)}${won} (95% ${shareRange({ low: hit_low, high: hit_high })})`
}

function testsOf({ folds }: Validation): Validation['folds'] {
  return folds.filter(({ role }) => role === 'test')
}

function partsText(kind: Validation['kind'], tests: number): string {
  if (kind === 'split') return 'the part after the split'
  return tests === 1 ? 'the only test' : `all ${whole(tests)} tests, one after the other`
}

export function outOfSampleTiles({ validation }: Backtest): Tile[] {
  if (validation === null || validation.test === null) return []
  const { statistics, trade_statistics: trades } = validation.test
  const tests = testsOf(validation)
  const parts = partsText(validation.kind, tests.length)
  const total = statistics.total_return
  const label = (of: string): string => `Out of sample: ${of}`
  return [
    {
      label: label('total return'),
      value: returnText(total),
      note: `${parts}, ${tests[0]?.from ?? ''} to ${tests.at(-1)?.to ?? ''}`,
      tone: total === null ? 'faint' : total < 0 ? 'bad' : 'good',
    },
    { label: label('Sharpe'), value: ratio(statistics.sharpe), note: `${returnText(statistics.cagr)} a year` },
    { label: label('worst drawdown'), value: returnText(statistics.max_drawdown), note: parts },
    {
      label: label('trades'),
      value: whole(trades.n),
      note: `mean ${returnText(trades.mean)}, ${wonText(trades)}`,
    },
  ]
}

/** What the numbers that are not out of the sample are of; nothing where all data are one part. */
export function wholeWords({ validation }: Backtest): string | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined ? 'all data' : `first of ${more.length + 1} candidates (${first}), all data`
}

/** The same as a heading. */
function wholeTitle({ validation }: Backtest): string[] | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined
    ? ['All data', 'the parts to check on among them']
    : [`First of ${more.length + 1} candidates (${first})`, 'all data', 'not what was chosen']
}

/** What each way to check on other dates is called. */
export const WAYS: Readonly<Record<Way, string>> = {
  split: 'Before and after the split',
  walk_forward: 'Walk-forward',
  cv: 'Purged cross-validation',
  cpcv: 'Combinatorial purged cross-validation',
}

/** As what was asked for. */
export function partsOf({ kind }: Validation): string {
  return kind === 'split' ? 'the split' : 'the walk-forward'
}

type Fold = Omit<Validation['folds'][number], 'role'>

/** The parts of the data, one line each, and all test parts together. */
export function validationSections({ validation }: Pick<Backtest, 'validation'>): Section[] {
  if (validation === null) return []
  const { kind, folds, purged, test, candidates } = validation
  const all: Fold[] =
    test === null
      ? []
      : [{ ...test, name: 'all tests', from: '', to: '', trades: test.trade_statistics.n, chosen: null }]
  const chosen: Column<Fold> = { title: 'Chosen', kind: 'text', of: ({ chosen }) => chosen ?? '' }
  const rows = [...folds.map(fold => ({ ...fold, name: `${fold.name} ${fold.role}` })), ...all]
  return [
    {
      id: 'validation',
      title: WAYS[kind],
      phrases: [`${count(purged, 'trade')} left out between the parts`],
      parts: [
        {
          table: tableOf('Parts of the data', candidates.length > 0 ? [...FOLDS, chosen] : FOLDS, rows, {
            whole: 'json',
          }),
        },
      ],
    },
  ]
}

const FOLDS: readonly Column<Fold>[] = [
  { title: 'Part', kind: 'text', of: ({ name }) => name },
  { title: 'From', kind: 'date', spare: 3, of: ({ from }) => from },
  { title: 'To', kind: 'date', spare: 4, of: ({ to }) => to },
  { title: 'Trades', kind: 'count', of: ({ trades }) => trades },
  { title: 'Mean', kind: 'return', of: ({ trade_statistics: { mean } }) => mean },
  { title: 'Hit', kind: 'share', spare: 1, of: ({ trade_statistics: own }) => own.hit_rate },
  { title: 'Return', kind: 'return', spare: 2, of: ({ statistics }) => statistics.total_return },
  { title: 'Sharpe', kind: 'ratio', spare: 0, of: ({ statistics }) => statistics.sharpe },
]

/** Whose years these are. */
type Yearly = Pick<Benchmark, 'name' | 'years'>

/** Every year of the strategy beside what holding did in it. */
export function yearsSection(found: Backtest): Section {
  return {
    id: 'years',
    title: 'Year by year',
    short: 'Years',
    on: 'wide',
    parts: [
      { table: yearsTable(yearly(found)) },
      {
        on: 'page',
        notes: [
          'Each calendar year from the close before it to its last; the first and the last may be parts of a year. The worst drawdown is from the highest close of the same year, that close before it included: a fall that began a year earlier counts from there.',
        ],
      },
    ],
  }
}

/** What is told of a year, and how its column is called beside whose it is. */
type Key = 'return' | 'max_drawdown'
const KEYS: readonly Key[] = ['return', 'max_drawdown']
const CALLED: Readonly<Record<Key, string>> = { return: '', max_drawdown: ', drawdown' }

/** A row a year: the return of each, then the worst drawdown of each. */
export function yearsTable(all: readonly Yearly[], keys: readonly Key[] = KEYS): Table {
  const years = [...new Set(all.flatMap(({ years }) => years.map(({ year }) => year)))].sort((a, b) => a - b)
  const known = all.map(one => new Map(one.years.map(year => [year.year, year])))
  const columns = (key: Key, place: number): Heading[] =>
    all.map(({ name }, i) => ({
      title: `${titleOf(name)}${CALLED[key]}`,
      kind: 'return',
      ...(place === 0 && i === 0 ? {} : { spare: i + place * all.length }),
    }))
  return {
    caption: keys.length > 1 ? 'Return and worst drawdown of each calendar year' : 'Return of each calendar year',
    columns: [{ title: 'Year', kind: 'date' }, ...keys.flatMap(columns)],
    rows: years.map(year => [
      cell('date', String(year)),
      ...keys.flatMap(key => known.map(own => cell('return', own.get(year)?.[key] ?? null))),
    ]),
    whole: 'json',
  }
}

function titleOf(name: string): string {
  const short = name.replace(' and ', ' & ')
  return `${short.charAt(0).toUpperCase()}${short.slice(1)}`
}

/** The years as a line beside words; none where there is but one. */
export function yearsTrend({ years }: Pick<Backtest, 'years'>): Trend[] {
  const values = years.flatMap(({ return: value }) => value ?? [])
  if (values.length < 2) return []
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return [{ name: 'years', values, text: `${returnRange({ low, high })} a year` }]
}

/** A row a year of each: the strategy, then what it is held against. */
export function yearRecords(all: readonly Yearly[]): Records {
  return {
    columns: ['name', 'year', 'return', 'max_drawdown'],
    rows: all.flatMap(({ name, years }) => years.map(year => ({ name, ...year }))),
  }
}

/** A strategy and what it is held against. */
export function yearly({ years, benchmarks }: Pick<Backtest, 'years' | 'benchmarks'>): Yearly[] {
  return [{ name: 'strategy', years }, ...benchmarks]
}
