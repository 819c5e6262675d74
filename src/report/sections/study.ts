import type { Trade } from '../../backtest/result.js'
import { PERFORMANCES } from '../../model/series.js'
import { sum } from '../../statistics/moments.js'
import { type EventStudy, type StudyWindow, spreadOf } from '../../study/result.js'
import {
  eventPrice,
  forest,
  pathChart,
  pathCountChart,
  stacked,
  tradedPrice,
  windowHistogram,
} from '../charts/charts.js'
import { figure } from '../charts/svg.js'
import { count, counted, decimal, gain, gainRange, html, NONE, probability, share, shareRange, words } from '../html.js'
import type { Section } from '../page.js'
import type { PriceChart } from '../pictured.js'
import { type Column, occurrenceColumns, occurrenceRows, signTone, table } from '../tables.js'
import { reasons } from './opening.js'

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

type Aftermath = NonNullable<StudyWindow['aftermath']>
type Told = StudyWindow & { aftermath: Aftermath }

/** The aftermath bands after the events beside those after any bar. */
export function aftermath({ windows }: EventStudy): Section | null {
  const told = windows.filter((window): window is Told => window.aftermath !== null)
  if (told.length === 0) return null
  const stacks = told.flatMap(({ window, aftermath: { counts, base } }) => [
    { label: window, note: `events, n ${sum(counts)}`, counts, pale: false },
    { label: '', note: 'any bar', counts: base, pale: true },
  ])
  return {
    id: 'aftermath',
    title: 'The aftermath in bands',
    short: 'Aftermath',
    body: html`<p>Each return ranked against the ticker's own past: sharp is the worst or best 5%, flat the middle 20%.</p>
<figure class="chart"><figcaption><strong>Shares of the aftermath bands</strong> after the events, and paler after any bar</figcaption>${stacked('stacked', 'Shares of the seven aftermath bands by window', stacks)}</figure>
${table({ caption: 'Counts after the events, with the share over that of any bar (lift)', columns: COLUMNS, rows: told })}`,
  }
}

/** What followed the other bands of the field. */
export function otherBands({ windows, bands }: EventStudy): Section | null {
  const names = [...new Set(windows.flatMap(({ other_bands }) => other_bands.map(({ band }) => band)))]
  if (names.length === 0) return null
  const rows = names.map(band => ({
    band,
    cells: windows.map(window => window.other_bands.find(other => other.band === band)),
  }))
  type Row = (typeof rows)[number]
  const columns: Column<Row>[] = [
    { title: 'Band entered', text: ({ band }) => html`${band}${(bands ?? []).includes(band) && ' (asked)'}` },
    ...windows.flatMap(({ window }, i): Column<Row>[] => [
      { title: `${window}, n`, numeric: true, text: ({ cells }) => count(cells[i]?.n) },
      {
        title: 'Mean',
        numeric: true,
        text: ({ cells }) => gain(cells[i]?.mean),
        tone: ({ cells }) => signTone(cells[i]?.mean ?? null),
      },
      { title: 'Above 0', numeric: true, text: ({ cells }) => share(cells[i]?.hit, 0) },
    ]),
  ]
  return {
    id: 'bands',
    title: 'The other bands',
    short: 'Other bands',
    body: html`<p>If every band is followed by much the same, the band that was asked about says little.</p>
${table({ caption: 'Returns after the other bands of the field', columns, rows })}`,
  }
}

const COLUMNS: readonly Column<Told>[] = [
  { title: 'Window', text: ({ window }) => window },
  ...PERFORMANCES.map(
    (name, i): Column<Told> => ({
      title: words(name),
      numeric: true,
      text: ({ aftermath: { counts, lift } }) => html`${counts[i]} <span class="quiet">×${decimal(lift[i])}</span>`,
    }),
  ),
  { title: 'n', numeric: true, text: ({ aftermath }) => count(sum(aftermath.counts)) },
  { title: 'G', hint: 'G-test against any bar', numeric: true, text: ({ aftermath }) => decimal(aftermath.g) },
  { title: 'p', hint: 'By circular shifts', numeric: true, text: ({ aftermath }) => probability(aftermath.p) },
]

/** The price around the event, on average. */
export function path(study: EventStudy): Section {
  return {
    id: 'path',
    title: 'The price around the event',
    short: 'Path',
    body: html`<p>Bar 0 is the event and its close is 0%. What lies left of it was known when the event happened, and made it happen; only what lies right of it followed.</p>
${figure(pathChart(study))}
${figure(pathCountChart(study), 'The fewer, the less the average right of it means.')}`,
  }
}

/** The prices with what happened on them; with trades their entries and exits, otherwise the events. */
export function prices(charts: readonly PriceChart[], tickers: readonly string[], trades?: readonly Trade[]): Section {
  const left = tickers.length - charts.length
  return {
    id: 'prices',
    title: charts.length === 1 ? 'The price' : 'The prices',
    short: charts.length === 1 ? 'Price' : 'Prices',
    body: html`<p>The strip under the line shows the band on each bar.${
      left > 0 &&
      charts.length > 0 &&
      ` Drawn are the tickers in which most happened; ${counted(left, 'other')} are in the numbers alone.`
    }</p>
${charts.length === 0 && html`<p class="empty">There are no prices to draw.</p>`}
${charts.map((chart, i) => figure(trades === undefined ? eventPrice(chart, `price-${i}`) : tradedPrice(chart, trades, `price-${i}`)))}`,
  }
}

/** Each event. */
export function occurrences(study: EventStudy): Section {
  const rows = occurrenceRows(study)
  const byTicker = new Map(study.tickers.map(ticker => [ticker, 0]))
  for (const { ticker } of rows) byTicker.set(ticker, (byTicker.get(ticker) ?? 0) + 1)
  const without = [...byTicker.values()].filter(n => n === 0).length
  return {
    id: 'events',
    title: 'The events',
    short: 'Events',
    body: html`<p>${counted(rows.length, 'event')} of ${counted(study.tickers.length, 'ticker')}${without > 0 && `, ${without} of them without any`}. Returns are from the close of the event to the close so many bars later; where there is none, the window has not elapsed.</p>
${table({ caption: 'Events, newest first', id: 'sorted', columns: occurrenceColumns(study), rows, cut: 'the newest', empty: 'There is no such event.' })}`,
  }
}
