import type { Backtest } from '../../research/backtest/result.js'
import { MONTHS } from '../charts/ticks.js'
import { decimal, gain, NONE } from '../format.js'
import { type Html, html } from '../html.js'
import type { Section } from '../page.js'

/** Returns by year and month; the colour only repeats what the number says. */
export function months({ months }: Backtest): Section {
  const years = [...new Set(months.map(({ year }) => year))].sort((a, b) => b - a)
  const known = new Map(months.map(({ year, month, return: value }) => [year * 12 + month - 1, value]))
  // The colours reach their deepest at the size that one month of twenty exceeds.
  const sizes = months.map(({ return: value }) => Math.abs(value ?? 0)).sort((a, b) => a - b)
  const full = sizes[Math.floor(sizes.length * 0.95)] || 0.01
  if (years.length === 0)
    return { id: 'months', title: 'Month by month', body: html`<p class="empty">There is no month to tell of.</p>` }
  return {
    id: 'months',
    title: 'Month by month',
    short: 'Months',
    body: html`<div class="scroll" role="region" tabindex="0" aria-label="Returns by month"><table class="months">
<caption><span>Return of the equity in each month, in percent; the first and the last may be parts of a month</span></caption>
<thead><tr><th scope="col">Year</th>${MONTHS.map(name => html`<th scope="col" class="num">${name}</th>`)}<th scope="col" class="num">Year</th></tr></thead>
<tbody>
${years.map(year =>
  row(
    year,
    MONTHS.map((_, i) => known.get(year * 12 + i)),
    full,
  ),
)}</tbody></table></div>`,
  }
}

/** @param returns undefined before the first month and after the last; null from ruin on, which leaves the year without one */
function row(year: number, returns: readonly (number | null | undefined)[], full: number): Html {
  const whole = returns.includes(null) ? null : returns.reduce<number>((all, value) => all * (1 + (value ?? 0)), 1) - 1
  return html`<tr><th scope="row">${year}</th>${returns.map(value => html`<td class="num ${heat(value ?? 0, full)}">${text(value)}</td>`)}<td class="num strong">${gain(whole, 1)}</td></tr>
`
}

function text(value: number | null | undefined): string {
  return value == null ? NONE : decimal(value * 100, 1)
}

function heat(value: number, full: number): string {
  if (value === 0) return ''
  const strength = Math.min(4, Math.ceil((Math.abs(value) / full) * 4))
  return `${value > 0 ? 'up' : 'down'}-${strength}`
}
