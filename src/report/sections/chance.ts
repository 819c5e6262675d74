import type { Backtest } from '../../research/backtest/result.js'
import { count, counted, decimal, gain, probability, share } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import type { Column } from '../tables/column.js'
import { table } from '../tables/table.js'

/** Could luck have done it? */
export function chance({ random_entry: entry, trials, trade_statistics: { n, mean } }: Backtest): Section {
  return {
    id: 'chance',
    title: 'Could it be luck?',
    short: 'Luck',
    body: html`<dl class="facts">
<div><dt>Entries on random dates</dt><dd>${
      entry.p === null
        ? (entry.reason ?? 'were not drawn.')
        : `of the same tickers and years did as well or better in ${share(entry.p)} of ${counted(entry.draws, 'draw')} (mean ${gain(entry.mean)} a trade, here ${gain(mean)} over ${counted(n, 'trade')}).`
    }</dd></div>
<div><dt>Looks</dt><dd>${counted(trials.run, 'strategy', 'strategies')} in this run${trials.ledger !== null && `, ${count(trials.ledger)} ever tried on this database`}. The more, the better the best of them looks by luck alone.</dd></div>
<div><dt>Deflated Sharpe</dt><dd>${
      trials.deflated_sharpe === null
        ? (trials.reason ?? 'has no value.')
        : `${probability(trials.deflated_sharpe)}: the probability that the true Sharpe ratio is above what the best of so many would reach by luck (Bailey and López de Prado 2014).`
    }</dd></div></dl>`,
  }
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
  { title: 'Chosen', wrap: true, text: ({ chosen }) => chosen ?? '' },
  { title: 'Trades', numeric: true, text: ({ trades }) => count(trades) },
  { title: 'Hit rate', numeric: true, text: ({ trade_statistics: { hit_rate } }) => share(hit_rate, 0) },
  { title: 'Mean', numeric: true, text: ({ trade_statistics: { mean } }) => gain(mean) },
  { title: 'Total return', numeric: true, text: ({ statistics: { total_return } }) => gain(total_return) },
  { title: 'Sharpe', numeric: true, text: ({ statistics: { sharpe } }) => decimal(sharpe) },
  { title: 'Worst drawdown', numeric: true, text: ({ statistics: { max_drawdown } }) => gain(max_drawdown) },
]
