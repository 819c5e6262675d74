import type { EventStudy, StudyWindow } from '../../research/study/result.js'
import { spreadOf } from '../../research/study/spread.js'
import { figure } from '../charts/figure.js'
import { forest } from '../charts/forest.js'
import { windowHistogram } from '../charts/histogram.js'
import { count, decimal, gain, gainRange, NONE, probability, share, shareRange } from '../format.js'
import { html } from '../html.js'
import type { Section } from '../page.js'
import { type Column, signTone } from '../tables/column.js'
import { table } from '../tables/table.js'
import { reasons } from './reasons.js'

/** What followed over each window, and how that differs from what follows any bar. */
export function windows({ windows }: EventStudy): Section {
  return {
    id: 'windows',
    title: 'What followed',
    body: html`<figure class="chart"><figcaption><strong>Mean return after the events, less that after any bar</strong> with its 95% interval</figcaption>
${forest('forest', 'The difference over each window with its 95% interval', windows.map(estimate), 'short')}</figure>
${table({ caption: 'Returns from the close of the event', columns: FOLLOWED, rows: windows })}
${table({ caption: 'Against any bar of the same tickers and dates', columns: AGAINST, rows: windows })}
${reasons(windows.map(({ window, reasons }) => ({ where: window, reasons })))}`,
  }
}

/** How the returns are spread, with those after any bar behind them. */
export function distribution({ windows }: EventStudy): Section {
  return {
    id: 'distribution',
    title: 'How the returns are spread',
    short: 'Spread',
    body: html`<p>Filled: after the events. Outlined: after any bar. Each adds up to 100%.</p>
<div class="pair">${windows.map(window => figure(windowHistogram(window)))}</div>`,
  }
}

function estimate({ window, n, n_indep, diff, intervals, grey, reasons }: StudyWindow) {
  const { low = null, high = null } = intervals[0] ?? {}
  return {
    label: window,
    note: `n ${n}, indep. ${n_indep}`,
    value: diff,
    low,
    high,
    grey,
    reason: reasons.diff ?? 'no value',
  }
}

const grey = ({ grey }: StudyWindow): 'quiet' | undefined => (grey ? 'quiet' : undefined)

const NAME: Column<StudyWindow> = { title: 'Window', text: ({ window }) => window, tone: grey }
const N: Column<StudyWindow> = { title: 'n', numeric: true, text: ({ n }) => count(n), tone: grey }

/** Events without a return, by why; a column only where there are some. */
const LOST: readonly Column<StudyWindow>[] = [
  lost('Not elapsed yet', 'not_elapsed', 'Events whose window reaches beyond the newest bar: not in n'),
  lost('Too early', 'too_early', 'Events with too few bars before them: not in n'),
  lost('Ended, price unknown', 'delisted', 'Events whose ticker has no more bars, its final price unknown: not in n'),
]

function lost(title: string, why: keyof StudyWindow['lost'], hint: string): Column<StudyWindow> {
  return {
    title,
    hint,
    numeric: true,
    text: ({ lost }) => count(lost[why]),
    shown: ({ lost }) => lost[why] > 0,
  }
}

const FOLLOWED: readonly Column<StudyWindow>[] = [
  NAME,
  N,
  {
    title: 'Indep.',
    hint: 'Windows of one ticker that share no bar, added up over the tickers',
    numeric: true,
    text: ({ n_indep }) => count(n_indep),
    tone: grey,
  },
  {
    title: 'Stretches',
    hint: 'Dates of events of any ticker whose windows share no day',
    numeric: true,
    text: ({ n_stretches }) => count(n_stretches),
    tone: grey,
    shown: ({ n_stretches, n_indep }) => n_stretches !== n_indep,
  },
  ...LOST,
  {
    title: 'Mean',
    numeric: true,
    text: ({ mean }) => gain(mean),
    tone: ({ mean, grey }) => (grey ? 'quiet' : signTone(mean)),
  },
  {
    title: 'Median',
    numeric: true,
    text: ({ median }) => gain(median),
    tone: ({ median, grey }) => (grey ? 'quiet' : signTone(median)),
  },
  { title: 'Deviation', numeric: true, text: ({ deviation }) => share(deviation, 2) },
  { title: '10th to 90th', numeric: true, text: ({ p10, p90 }) => gainRange(p10, p90) },
  { title: 'Worst', numeric: true, text: ({ worst }) => gain(worst) },
  { title: 'Best', numeric: true, text: ({ best }) => gain(best) },
  { title: 'Above 0', numeric: true, text: ({ hit }) => share(hit.share) },
  {
    title: '95%',
    hint: 'Wilson interval',
    numeric: true,
    text: ({ hit, grey }) => (grey ? NONE : shareRange(hit.low, hit.high)),
  },
  { title: 'MFE', hint: 'Mean of the greatest gain on the way', numeric: true, text: ({ mfe }) => gain(mfe) },
  { title: 'MAE', hint: 'Mean of the greatest loss on the way', numeric: true, text: ({ mae }) => gain(mae) },
]

const AGAINST: readonly Column<StudyWindow>[] = [
  NAME,
  N,
  { title: 'Any bar, n', numeric: true, text: ({ base }) => count(base.n) },
  { title: 'Any bar, mean', numeric: true, text: ({ base }) => gain(base.mean) },
  { title: 'Any bar, above 0', numeric: true, text: ({ base }) => share(base.hit) },
  { title: 'Any bar, deviation', numeric: true, text: ({ base }) => share(base.deviation, 2) },
  {
    title: 'Difference',
    numeric: true,
    text: ({ diff }) => gain(diff),
    tone: ({ diff, grey }) => (grey ? 'quiet' : signTone(diff)),
  },
  {
    title: '95% of it',
    hint: 'The first interval listed under tests',
    numeric: true,
    text: ({ intervals }) => gainRange(intervals[0]?.low ?? null, intervals[0]?.high ?? null),
  },
  { title: 'Lift', hint: 'Share above 0, against that of any bar', numeric: true, text: ({ lift }) => decimal(lift) },
  {
    title: 'p',
    hint: 'Of the shift, the first test listed under tests; marked ! where the returns spread otherwise than after any bar',
    numeric: true,
    text: window => `${probability(window.tests[0]?.p)}${spreadOf(window) === null ? '' : '!'}`,
    tone: grey,
  },
  {
    title: 'p(t)',
    hint: 'Of the studentised shift, which allows for events in volatile times',
    numeric: true,
    text: ({ tests }) => probability(tests.find(({ test }) => test === 'shift_studentised')?.p),
    tone: grey,
  },
  {
    title: 'Same context, n',
    hint: 'Bars on which the context ticker was in a band asked for',
    numeric: true,
    text: ({ context_base: base }) => count(base?.n),
    shown: ({ context_base }) => context_base !== null,
  },
  {
    title: 'Same context, mean',
    numeric: true,
    text: ({ context_base: base }) => gain(base?.mean),
    shown: ({ context_base }) => context_base !== null,
  },
  {
    title: 'Same context, difference',
    hint: 'Mean after the events, less that after the bars of the same context',
    numeric: true,
    text: ({ context_base: base }) => gain(base?.diff),
    tone: ({ context_base: base, grey }) => (grey ? 'quiet' : signTone(base?.diff ?? null)),
    shown: ({ context_base }) => context_base !== null,
  },
  {
    title: 'Random entry, mean',
    hint: 'At random dates in the same tickers; events whose windows overlap move together',
    numeric: true,
    text: ({ random_entry: entry }) => gain(entry.mean),
  },
  {
    title: 'p of it',
    hint: 'Share of draws that lie as far out',
    numeric: true,
    text: ({ random_entry: entry }) => probability(entry.p),
  },
  {
    title: 'Same years, mean',
    hint: 'Of any bar in the calendar years of the events',
    numeric: true,
    text: ({ random_entry: entry }) => gain(entry.year_matched),
  },
]
