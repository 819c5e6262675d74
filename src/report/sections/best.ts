import type { Sweep, SweepValidation } from '../../research/sweep/result.js'
import { count, counted, decimal, gain, NONE, probability, share } from '../format.js'
import { html, type Piece } from '../html.js'
import type { Section } from '../page.js'
import type { Column } from '../tables/column.js'
import { table } from '../tables/table.js'
import { reasons } from './reasons.js'

/** Is the best one real? */
export function best({ best, tried }: Sweep): Section {
  const spa = best.spa
  const rows: Row[] = [
    [
      'Reality check',
      probability(best.reality_check),
      `p of the best among so many${best.best_cell === null ? '' : ` (${best.best_cell})`}; White 2000`,
    ],
    ['SPA, lower', probability(spa?.lower), 'Hansen 2005; cells that fell behind count as far behind as they were'],
    ['SPA, consistent', probability(spa?.consistent), 'Hansen 2005; the one to go by'],
    ['SPA, upper', probability(spa?.upper), 'Hansen 2005; no cell counts as behind'],
    [
      'Sharpe of the best',
      decimal(best.best_sharpe, 4),
      `a bar, of the portfolio that holds each event for its window${best.best_sharpe_cell === null ? '' : ` (${best.best_sharpe_cell})`}`,
    ],
    [
      'Deflated Sharpe',
      probability(best.deflated_sharpe),
      'of holding, the rise of the market included: probability that the true one is above the best of so many by luck; Bailey and López de Prado 2014',
    ],
    [
      'Probability of overfitting',
      share(best.pbo?.probability),
      best.pbo === null
        ? 'PBO'
        : `over ${counted(best.pbo.splits, 'split')} of ${best.pbo.blocks} blocks; Bailey and others 2017`,
    ],
  ]
  return {
    id: 'best',
    title: 'Is the best one real?',
    short: 'Best of many',
    body: html`<p>${counted(tried.cells, 'combination')} were looked at, ${count(tried.tested)} of them had enough independent windows for a p-value${
      tried.ledger !== null && `; ${counted(tried.ledger, 'cell')} have been tried on this database so far`
    }. Over ${counted(best.cells, 'cell')}, with ${counted(best.resamples, 'resample')}${best.block !== null && ` in blocks of ${decimal(best.block, 1)} bars on average`}:</p>
${table({ caption: 'The best of many', columns: ROWS, rows })}
${reasons([{ where: '', reasons: best.reasons }])}`,
  }
}

type Row = readonly [name: string, text: string, note: string]

const ROWS: readonly Column<Row>[] = [
  { title: 'Test', text: ([name]) => name },
  { title: 'Value', numeric: true, text: ([, text]) => text },
  { title: 'What it is', text: ([, , note]) => html`<span class="quiet">${note}</span>` },
]

type Fold = SweepValidation['folds'][number]

/** What the cells that were chosen on some dates did on others. */
export function sweepValidation({ validation }: Sweep): Section | null {
  if (validation === null) return null
  const { folds, test, paths } = validation
  return {
    id: 'validation',
    title: 'On dates that did not choose',
    short: 'Validation',
    body: html`<p>Cells were chosen on the training dates alone; here is what they did on the others: mean ${gain(test.mean)} over n ${count(
      test.n,
    )}, any bar ${gain(test.base)}, difference ${gain(test.diff)}, above 0 ${share(test.hit)}.</p>
${table({ caption: 'Folds', columns: FOLDS, rows: folds })}
${paths !== null && html`<p>Mean return of each of ${counted(paths.length, 'path')}: ${paths.map(path => gain(path)).join(', ')}.</p>`}`,
  }
}

const dates = (ranges: Fold['train']): Piece =>
  ranges.map(({ from, to }) => html`<span class="span">${from} to ${to}</span>`)
const events = (ranges: Fold['train']): string => count(ranges.reduce((all, range) => all + range.events, 0))

const FOLDS: readonly Column<Fold>[] = [
  { title: 'Fold', text: ({ name }) => name },
  { title: 'Chosen on', text: ({ train }) => dates(train) },
  { title: 'Events', numeric: true, text: ({ train }) => events(train) },
  { title: 'Checked on', text: ({ test }) => dates(test) },
  { title: 'Events', numeric: true, text: ({ test }) => events(test) },
  {
    title: 'Purged',
    hint: 'Events left out because their window reached the other part',
    numeric: true,
    text: ({ purged }) => count(purged),
  },
  {
    title: 'Mean there',
    hint: 'Of the chosen cells, on the dates that they were chosen on',
    numeric: true,
    text: ({ train_mean }) => gain(train_mean),
  },
  {
    title: 'Mean here',
    hint: 'Of the same, on the dates that they were checked on',
    numeric: true,
    text: ({ test_mean }) => gain(test_mean),
  },
  { title: 'Chosen', wrap: true, text: ({ chosen }) => (chosen.length === 0 ? NONE : chosen.join(', ')) },
]
