import type { Backtest } from '../../research/backtest/result.js'
import { count, counted, decimal, gain, share, shareRange } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import type { Column } from '../tables/column.js'
import { table } from '../tables/table.js'
import type { Tile } from './opening.js'

/** What came of it on data that it was not chosen on. */
export function outOfSampleTiles({ validation }: Backtest): Tile[] {
  if (validation === null || validation.test === null) return []
  const { statistics, trade_statistics: trades } = validation.test
  const tests = validation.folds.filter(({ role }) => role === 'test')
  const several = tests.length === 1 ? 'the only test part' : `all ${count(tests.length)} test parts`
  const parts = validation.kind === 'split' ? 'the part after the split' : several
  const label = (of: string): string => `Out of sample: ${of}`
  return [
    {
      label: label('total return'),
      value: gain(statistics.total_return, 1),
      note: `${parts}, ${tests[0]?.from ?? ''} to ${tests.at(-1)?.to ?? ''}`,
      tone: statistics.total_return === null ? 'quiet' : statistics.total_return < 0 ? 'loss' : 'gain',
    },
    { label: label('Sharpe'), value: decimal(statistics.sharpe), note: `${gain(statistics.cagr, 1)} a year` },
    { label: label('worst drawdown'), value: gain(statistics.max_drawdown, 1), note: parts },
    {
      label: label('trades'),
      value: count(trades.n),
      note: `mean ${gain(trades.mean)}, ${share(trades.hit_rate, 0)} won (95% ${shareRange(trades.hit_low, trades.hit_high)})`,
    },
  ]
}

/** What the numbers that are not out of the sample are of; nothing where all data are one part. */
export function wholeWords({ validation }: Pick<Backtest, 'validation'>): string | null {
  if (validation === null) return null
  const [first, ...more] = validation.candidates
  return first === undefined ? 'all data' : `first of ${more.length + 1} candidates (${first}), all data`
}

/** Beside the rules of a strategy that is one of several. */
export function ofCandidates({ validation }: Backtest): string {
  const all = validation?.candidates ?? []
  return all.length === 0 ? '' : ` (the first of ${all.length} candidates: ${all.join('; ')})`
}

/** What a strategy file does not hold. */
export function besideStrategy({ validation }: Backtest): string | null {
  if (validation === null) return null
  const { candidates, kind } = validation
  const parts = kind === 'split' ? 'the split' : 'the walk-forward'
  return candidates.length === 0 ? parts : `the candidates (${candidates.join('; ')}) and ${parts}`
}

type Fold = NonNullable<Backtest['validation']>['folds'][number]

/** The same rules on parts of the data. */
export function validation({ validation }: Backtest): Section | null {
  if (validation === null) return null
  const { kind, folds, purged, test } = validation
  const all: Fold[] =
    test === null
      ? []
      : [
          {
            ...test,
            name: 'all test parts',
            from: '',
            to: '',
            role: 'test',
            trades: test.trade_statistics.n,
            chosen: null,
          },
        ]
  return {
    id: 'validation',
    title: kind === 'split' ? 'Before and after the split' : 'Walking forward',
    body: html`<p>No trade reaches from one part into another: ${counted(purged, 'signal')} ${purged === 1 ? 'was' : 'were'} left out for that.</p>
${table({ caption: 'Parts of the data', columns: FOLDS, rows: [...folds, ...all] })}`,
  }
}

const FOLDS: readonly Column<Fold>[] = [
  { title: 'Part', text: ({ name }) => name },
  { title: 'For', text: ({ role }) => (role === 'train' ? 'choosing' : 'checking') },
  { title: 'From', text: ({ from }) => from },
  { title: 'To', text: ({ to }) => to },
  { title: 'Chosen', text: ({ chosen }) => chosen ?? '' },
  { title: 'Trades', numeric: true, text: ({ trades }) => count(trades) },
  { title: 'Hit rate', numeric: true, text: ({ trade_statistics: { hit_rate } }) => share(hit_rate, 0) },
  { title: 'Mean', numeric: true, text: ({ trade_statistics: { mean } }) => gain(mean) },
  { title: 'Total return', numeric: true, text: ({ statistics: { total_return } }) => gain(total_return) },
  { title: 'Sharpe', numeric: true, text: ({ statistics: { sharpe } }) => decimal(sharpe) },
  { title: 'Worst drawdown', numeric: true, text: ({ statistics: { max_drawdown } }) => gain(max_drawdown) },
]
