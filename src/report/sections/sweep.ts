import type { Backtest } from '../../backtest/result.js'
import { type EventStudy, type Interval, type StudyWindow, shiftsUsed, type TestResult } from '../../study/result.js'
import type { Sweep, SweepCell, SweepValidation } from '../../sweep/result.js'
import { forest, pValueHistogram } from '../charts/charts.js'
import { figure } from '../charts/svg.js'
import { count, counted, decimal, gain, type Html, html, NONE, type Piece, probability, share } from '../html.js'
import type { Section } from '../page.js'
import { type Column, cellColumns, signTone, table } from '../tables.js'
import { reasons } from './opening.js'

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

/** The cells that stand out most, with their intervals. */
export function leading({ cells }: Sweep): Section {
  const best = cells.filter(({ q }) => q !== null).slice(0, 15)
  return {
    id: 'leading',
    title: 'The cells with the smallest q',
    short: 'Leading',
    body:
      best.length === 0
        ? html`<p class="empty">No cell had enough independent windows to be tested.</p>`
        : html`<figure class="chart"><figcaption><strong>Difference from any bar</strong> with its 95% interval, which is not corrected for how many were tried</figcaption>
${forest('leading-forest', 'Differences of the cells with the smallest q', best.map(estimate), 'long')}</figure>`,
  }
}

export function pValues({ cells }: Sweep): Section {
  return {
    id: 'p-values-section',
    title: 'All the p-values',
    short: 'p-values',
    body: html`${figure(pValueHistogram(cells), 'Each bin is one twentieth; level bars mean that there is nothing to find.')}`,
  }
}

/** Every cell, those too small for a test included: they were looked at, too. */
export function cells(sweep: Sweep): Section {
  return {
    id: 'cells',
    title: 'All cells',
    body: html`${filters(sweep)}
${table({ caption: 'Cells by corrected p, smallest first', id: 'sorted', columns: cellColumns(sweep), rows: sweep.cells, empty: 'There was no cell to look at.' })}`,
  }
}

function estimate({ ticker, field, band, prev_band, context, window, n, diff, low, high, q, grey, reason }: SweepCell) {
  const name = [ticker, field, prev_band === null ? band : `${prev_band} → ${band}`, context?.band, window]
  return {
    label: name.filter(Boolean).join(' '),
    note: `n ${count(n)}, q ${probability(q)}`,
    value: diff,
    low,
    high,
    grey,
    reason: reason ?? '',
  }
}

/** For the page's script, which shows them: without it there is nothing to filter with. */
function filters({ cells, fields }: Sweep): Html {
  const windows = [...new Map(cells.map(({ window, horizon }) => [window, horizon]))].sort(([, a], [, b]) => a - b)
  const option = (name: string): Html => html`<option value="${name}">${name}</option>`
  return html`<form class="filters" hidden>
<label>Find <input class="control" type="search" name="text" placeholder="band, field, ticker" autocomplete="off"></label>
<label>Field <select class="control" name="field"><option value="">all</option>${fields.map(option)}</select></label>
<label>Window <select class="control" name="window"><option value="">all</option>${windows.map(([name]) => option(name))}</select></label>
<label>Show <select class="control" name="only"><option value="">all ${counted(cells.length, 'cell')}</option><option value="tested">those with a p-value</option><option value="found">those with q below 0.05</option></select></label>
<output aria-live="polite"></output>
</form>`
}

type Of<Part> = Part & { n: number; what: string }

/** Every test and interval, so that nobody has to trust the one that was chosen. */
export function tests(study: EventStudy): Section {
  const { windows } = study
  const intervals = windows.flatMap(of => of.intervals.map(interval => ({ ...interval, n: of.n, what: of.window })))
  const abnormal = windows.filter(window => window.abnormal !== null)
  return {
    id: 'tests',
    title: 'Tests and intervals',
    short: 'Tests',
    body: html`<p>All tests are two-sided and ask whether the difference from any bar is 0. The first of each window is the one to go by: it allows for windows that overlap and for tickers that move together. It takes the days of the events for days like others; the studentised one also allows for events in volatile times, and goes before where a warning says so. ${shiftsText(study)}${count(study.resamples)} resamples.</p>
${table({ caption: 'Tests of the difference', columns: TESTS, rows: rowsOf(windows, window => window) })}
${table({ caption: '95% intervals of the difference', columns: INTERVALS, rows: intervals, empty: 'No interval was asked for.' })}
${abnormal.length > 0 && table({ caption: 'Mean cumulative abnormal return', columns: ABNORMAL, rows: abnormal })}
${abnormal.length > 0 && table({ caption: 'Tests of the abnormal return', columns: TESTS, rows: rowsOf(abnormal, window => window.abnormal), empty: 'The abnormal return was not tested.' })}`,
  }
}

function shiftsText({ windows }: EventStudy): string {
  const used = shiftsUsed(windows)
  if (used === null) return ''
  const { least, most } = used
  return `${least === most ? count(least) : `${count(least)} to ${count(most)}`} shifts; `
}

function rowsOf(
  windows: readonly StudyWindow[],
  part: (window: StudyWindow) => { n: number; tests: readonly TestResult[] } | null,
): Of<TestResult>[] {
  return windows.flatMap(window => {
    const { n = 0, tests = [] } = part(window) ?? {}
    return tests.map(test => ({ ...test, n, what: window.window }))
  })
}

const TESTS: readonly Column<Of<TestResult>>[] = [
  { title: 'Window', text: ({ what }) => what },
  { title: 'Test', text: ({ name }) => name },
  { title: 'n', numeric: true, text: ({ n }) => count(n) },
  { title: 'Statistic', numeric: true, text: ({ statistic }) => decimal(statistic, 3) },
  { title: 'df', shown: ({ df }) => df !== null, numeric: true, text: ({ df }) => (df === null ? NONE : count(df)) },
  {
    title: 'p',
    numeric: true,
    text: ({ p }) => probability(p),
    tone: ({ p }) => (p !== null && p < 0.05 ? 'strong' : undefined),
  },
  { title: 'Why there is none', text: ({ reason }) => reason ?? '', shown: ({ reason }) => reason !== null },
]

const INTERVALS: readonly Column<Of<Interval>>[] = [
  { title: 'Window', text: ({ what }) => what },
  { title: 'Method', text: ({ method }) => method },
  { title: 'n', numeric: true, text: ({ n }) => count(n) },
  { title: 'From', numeric: true, text: ({ low }) => gain(low), tone: ({ low }) => signTone(low) },
  { title: 'To', numeric: true, text: ({ high }) => gain(high), tone: ({ high }) => signTone(high) },
  { title: 'Mean block, bars', numeric: true, text: ({ block }) => decimal(block, 1) },
  { title: 'Why there is none', text: ({ reason }) => reason ?? '', shown: ({ reason }) => reason !== null },
]

const ABNORMAL: readonly Column<StudyWindow>[] = [
  { title: 'Window', text: ({ window }) => window },
  {
    title: 'Model',
    text: ({ abnormal }) => (abnormal?.model === 'market' ? `market model, ${abnormal.benchmark}` : 'mean adjusted'),
  },
  { title: 'n', numeric: true, text: ({ abnormal }) => count(abnormal?.n) },
  {
    title: 'Lost',
    hint: 'Events without an abnormal return, by why: not in n',
    text: ({ abnormal }) => (abnormal === null ? NONE : lostText(abnormal.lost)),
  },
  {
    title: 'CAR',
    numeric: true,
    text: ({ abnormal }) => gain(abnormal?.car),
    tone: ({ abnormal }) => signTone(abnormal?.car ?? null),
  },
  {
    title: 'Why there is none',
    text: ({ abnormal }) => abnormal?.reason ?? '',
    shown: ({ abnormal }) => abnormal?.reason != null,
  },
]

function lostText(lost: NonNullable<StudyWindow['abnormal']>['lost']): string {
  const parts = [
    [lost.too_early, 'too early'],
    [lost.not_elapsed, 'not elapsed yet'],
    [lost.no_benchmark, 'without the benchmark on one of the bars'],
  ] as const
  const some = parts.filter(([n]) => n > 0)
  return some.length === 0 ? 'none' : some.map(([n, why]) => `${count(n)} ${why}`).join(', ')
}

/** Could luck have done it? */
export function chance({ random_entry: entry, trials, trade_statistics: { n, mean } }: Backtest): Section {
  return {
    id: 'chance',
    title: 'Could it be luck?',
    short: 'Luck',
    body: html`<dl class="facts">
<div><dt>Random entry</dt><dd>${
      entry.p === null
        ? (entry.reason ?? 'was not drawn.')
        : `p ${probability(entry.p)}: how often the signals of all trades, moved to other dates together and traded by the same rules, had as high a mean or a higher one (${counted(entry.draws, 'draw')}, mean ${gain(entry.mean)} a trade; here ${gain(mean)} over ${counted(n, 'trade')}).`
    }</dd></div>
<div><dt>Looks</dt><dd>${counted(trials.run, 'strategy', 'strategies')} in this run${trials.ledger !== null && `, ${counted(trials.ledger, 'strategy', 'strategies')} ever tried on this database`}. The more, the better the best of them looks by luck alone.</dd></div>
<div><dt>Deflated Sharpe</dt><dd>${
      trials.deflated_sharpe === null
        ? (trials.reason ?? 'has no value.')
        : `${probability(trials.deflated_sharpe)}, by the ${counted(trials.n, 'strategy', 'strategies')} of ${trials.family === 'run' ? 'this run' : 'this database'}: the probability that the true Sharpe ratio is above what the best of so many would reach by luck (Bailey and López de Prado 2014).`
    }</dd></div></dl>`,
  }
}
