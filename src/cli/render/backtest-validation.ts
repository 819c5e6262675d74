import type { Backtest } from '../../research/backtest/result.js'
import { count, whole } from './amounts.js'
import { probability, ratio, returnCell, right, shareRange, shareText } from './statistics.js'
import type { Block, Cell, Column } from './table.js'

/** What came of it on data that it was not chosen on: before everything else, which was seen when choosing. */
export function outOfSampleBlocks({ validation }: Backtest): Block[] {
  if (validation === null || validation.test === null) return []
  const { statistics: equity, trade_statistics: trades } = validation.test
  const tests = validation.folds.filter(({ role }) => role === 'test')
  const rows: Cell[][] = [
    ['total return', returnCell(equity.total_return)],
    ['a year (CAGR)', returnCell(equity.cagr)],
    ['Sharpe', ratio(equity.sharpe)],
    ['P(Sharpe > 0)', probability(equity.probabilistic_sharpe)],
    ['worst drawdown', returnCell(equity.max_drawdown)],
    ['time in market', shareText(equity.exposure)],
    ['trades', whole(trades.n)],
    ['mean a trade, net', returnCell(trades.mean)],
    ['won', `${shareText(trades.hit_rate)} (95% ${shareRange({ low: trades.hit_low, high: trades.hit_high })})`],
  ]
  return [
    {
      title: [
        'Out of sample',
        partsText(validation.kind, tests.length),
        ...(tests.length === 0 ? [] : [`${tests[0]!.from} to ${tests.at(-1)!.to}`]),
      ],
      table: { columns: [{ title: '' }, right('TESTS')], rows, whole: 'json' },
    },
  ]
}

function partsText(kind: 'split' | 'walk_forward', tests: number): string {
  if (kind === 'split') return 'the part after the split'
  return tests === 1 ? 'the only test' : `all ${whole(tests)} tests, one after the other`
}

/** What the rest of the answer is of, where a part of the data was kept apart. */
export function wholeTitle({ validation }: Pick<Backtest, 'validation'>): string[] | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined
    ? ['All data', 'the parts to check on among them']
    : [`First of ${more.length + 1} candidates (${first})`, 'all data', 'not what was chosen']
}

/** The parts of the data, one line each, and all test parts together. */
export function validationBlocks({ validation }: Backtest): Block[] {
  if (validation === null) return []
  const { kind, folds, purged, test } = validation
  const rows = folds.map(({ name, role, from, to, trades, statistics, trade_statistics: own, chosen }): Cell[] => [
    `${name} ${role}`,
    from,
    to,
    whole(trades),
    returnCell(own.mean),
    shareText(own.hit_rate),
    returnCell(statistics.total_return),
    ratio(statistics.sharpe),
    chosen ?? '',
  ])
  if (test !== null)
    rows.push([
      'all tests',
      '',
      '',
      whole(test.trade_statistics.n),
      returnCell(test.trade_statistics.mean),
      shareText(test.trade_statistics.hit_rate),
      returnCell(test.statistics.total_return),
      ratio(test.statistics.sharpe),
      '',
    ])
  const what = kind === 'split' ? 'Before and after the split' : 'Walk-forward'
  const chose = validation.candidates.length > 0
  return [
    {
      title: [what, `${count(purged, 'trade')} left out between the parts`],
      table: {
        columns: chose ? [...FOLDS, { title: 'CHOSEN' }] : FOLDS,
        rows: chose ? rows : rows.map(row => row.slice(0, -1)),
        whole: 'json',
      },
    },
  ]
}

const FOLDS: readonly Column[] = [
  { title: 'PART' },
  { title: 'FROM', spare: 3 },
  { title: 'TO', spare: 4 },
  right('TRADES'),
  right('MEAN'),
  right('HIT', 1),
  right('RETURN', 2),
  right('SHARPE', 0),
]
