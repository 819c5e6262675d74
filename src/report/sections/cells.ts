import type { Sweep, SweepCell } from '../../research/sweep/result.js'
import { figure } from '../charts/figure.js'
import { forest } from '../charts/forest.js'
import { pValueHistogram } from '../charts/histogram.js'
import { count, counted, probability } from '../format.js'
import { type Html, html } from '../html.js'
import type { Section } from '../page.js'
import { cellColumns } from '../tables/cells.js'
import { table } from '../tables/table.js'

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
