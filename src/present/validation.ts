import type { Backtest, Validation } from '../backtest/result.js'
import { type Cell, type Column, type Kind, type Section, type Tile, tableOf } from './description.js'
import { count, ratio, returnText, shareRange, shareText, whole } from './numbers.js'

/** What came of it on data that it was not chosen on: before everything else, which was seen when choosing. */
export function outOfSampleSections({ validation }: Backtest): Section[] {
  if (validation === null || validation.test === null) return []
  const { statistics: equity, trade_statistics: trades } = validation.test
  const tests = testsOf(validation)
  const rows: [name: string, kind: Kind, content: Cell['content']][] = [
    ['total return', 'return', equity.total_return],
    ['a year (CAGR)', 'return', equity.cagr],
    ['Sharpe', 'ratio', equity.sharpe],
    ['P(Sharpe > 0)', 'probability', equity.probabilistic_sharpe],
    ['worst drawdown', 'return', equity.max_drawdown],
    ['time in market', 'share', equity.exposure],
    ['trades', 'count', trades.n],
    ['mean a trade, net', 'return', trades.mean],
    [
      'won',
      'text',
      `${shareText(trades.hit_rate)} (95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`,
    ],
  ]
  return [
    {
      id: 'out-of-sample',
      title: 'Out of sample',
      phrases: [
        partsText(validation.kind, tests.length),
        ...(tests.length === 0 ? [] : [`${tests[0]!.from} to ${tests.at(-1)!.to}`]),
      ],
      parts: [
        {
          table: {
            caption: 'What came of it on data that it was not chosen on',
            columns: [
              { title: '', kind: 'text' },
              { title: 'Tests', kind: 'return' },
            ],
            rows: rows.map(([name, kind, content]): Cell[] => [
              { kind: 'text', content: name },
              signedCell(kind, content),
            ]),
            whole: 'json',
          },
        },
      ],
    },
  ]
}

function signedCell(kind: Kind, content: Cell['content']): Cell {
  const sign = kind === 'return' && typeof content === 'number' ? Math.sign(content) : 0
  return { kind, content, ...(sign === 0 ? {} : { tone: sign > 0 ? 'good' : 'bad' }) }
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
      note: `mean ${returnText(trades.mean)}, ${shareText(trades.hit_rate)} won (95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`,
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
export function wholeTitle({ validation }: Backtest): string[] | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined
    ? ['All data', 'the parts to check on among them']
    : [`First of ${more.length + 1} candidates (${first})`, 'all data', 'not what was chosen']
}

type Fold = Omit<Validation['folds'][number], 'role'>

/** The parts of the data, one line each, and all test parts together. */
export function validationSections({ validation }: Backtest): Section[] {
  if (validation === null) return []
  const { kind, folds, purged, test, candidates } = validation
  const all: Fold[] =
    test === null
      ? []
      : [{ ...test, name: 'all tests', from: '', to: '', trades: test.trade_statistics.n, chosen: null }]
  const chosen: Column<Fold> = { title: 'Chosen', kind: 'text', of: ({ chosen }) => chosen ?? '' }
  const rows = [...folds.map(fold => ({ ...fold, name: `${fold.name} ${fold.role}` })), ...all]
  const what = kind === 'split' ? 'Before and after the split' : 'Walk-forward'
  return [
    {
      id: 'validation',
      title: what,
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
  {
    title: 'Hit',
    kind: 'share',
    spare: 1,
    hint: 'Share of trades that won',
    of: ({ trade_statistics: own }) => own.hit_rate,
  },
  { title: 'Return', kind: 'return', spare: 2, of: ({ statistics }) => statistics.total_return },
  { title: 'Sharpe', kind: 'ratio', spare: 0, of: ({ statistics }) => statistics.sharpe },
]
