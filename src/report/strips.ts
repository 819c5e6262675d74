import { type Html, html } from '../html.js'
import { PERFORMANCES } from '../model/series.js'
import { roundSteps } from '../present/chart.js'
import type { Estimate, Estimates, Month, Stacks } from '../present/description.js'
import { words } from '../present/numbers.js'
import { axisLabel, MONTHS, type Scale, scale } from './scale.js'
import { decimal, gain, gainRange, NONE, share } from './values.js'

/**
 * Estimates under each other with their intervals, and a line where there is no difference. Words stand beside the
 * drawing, on a narrow page above it; the drawing itself is in percent of its width, so that both halves of it are in
 * sight on any page. Needs no script.
 */
export function forest({ id, title, names, of: estimates }: Estimates): Html {
  const known = estimates.flatMap(({ value, low, high }) => [value, low, high].filter(v => v !== null))
  const least = Math.min(0, ...known)
  const greatest = Math.max(0, ...known)
  const air = (greatest - least) * 0.05 || 0.01
  const x = scale(least - air, greatest + air, 0, 100)
  const steps = roundSteps(x.from, x.to, 6)
  return html`<ul class="forest ${names}" id="${id}" aria-label="${title}">
${estimates.map(estimate => row(estimate, steps, x))}
<li>${axis(steps, x)}</li>
</ul>`
}

function row({ label, note, value, low, high, grey, reason }: Estimate, steps: readonly number[], x: Scale): Html {
  const told = value === null ? reason : `${gain(value)}${low === null ? '' : ` [${gainRange(low, high)}]`}`
  const tone = grey || value === null ? 'quiet' : value >= 0 ? 'gain' : 'loss'
  const at = (place: number): string => percent(x.place(place))
  const whisker = (from: number, to: number): Html =>
    html`<g class="line ${tone}"><line x1="${at(from)}" x2="${at(to)}" y1="13" y2="13"/><line x1="${at(from)}" x2="${at(from)}" y1="9" y2="17"/><line x1="${at(to)}" x2="${at(to)}" y1="9" y2="17"/></g>`
  return html`<li><strong>${label}</strong><span class="note">${note}</span><svg class="strip" aria-hidden="true">
<g class="grid">${steps.map(step => upright(at(step)))}</g><g class="rule">${upright(at(0))}</g>
${low !== null && high !== null && whisker(low, high)}${value !== null && html`<circle class="fill ${tone}" cx="${at(value)}" cy="13" r="4.5"/>`}
</svg><span class="told">${told}</span></li>`
}

function upright(at: string): Html {
  return html`<line x1="${at}" x2="${at}" y1="0" y2="100%"/>`
}

function axis(steps: readonly number[], x: Scale): Html {
  const step = steps.length > 1 ? steps[1]! - steps[0]! : 1
  const inside = steps.filter(at => x.place(at) > EDGE && x.place(at) < 100 - EDGE)
  return html`<svg class="strip labels" aria-hidden="true">${inside.map(at => html`<text x="${percent(x.place(at))}" y="13" text-anchor="middle">${axisLabel('return', at, step)}</text>`)}</svg>`
}

/** Nearer to an end a label would be cut. */
const EDGE = 4

function percent(place: number): string {
  return `${Math.round(place * 100) / 100}%`
}

/** A narrower part has no room for its share. */
const LEAST_TOLD = 7

/** Shares of the seven aftermath bands, a bar a row, in percent of the width that the page has. Needs no script. */
export function stacked({ id, title, of: stacks }: Stacks): Html {
  return html`<ul class="forest short stacked" id="${id}" aria-label="${title}">
${stacks.map(stackedRow)}
</ul>
<ul class="legend">${PERFORMANCES.map((name, i) => html`<li><span class="swatch block out-${i}"></span>${words(name)}</li>`)}</ul>`
}

function stackedRow({ label, note, counts, isBase }: Stacks['of'][number]): Html {
  const all = counts.reduce((sum, n) => sum + n, 0)
  let x = 0
  const parts = counts.map((n, i) => {
    const wide = all === 0 ? 0 : (100 * n) / all
    const from = x
    x += wide
    return html`${
      wide > 0 &&
      html`<rect class="out-${i}" x="${cut(from)}%" y="3" width="${cut(wide)}%" height="18"${isBase && html` opacity="0.5"`}><title>${words(PERFORMANCES[i]!)}: ${n} of ${all}</title></rect>${
        wide > LEAST_TOLD &&
        html`<text class="inside${!isBase && (i === 0 || i === 6) && ' end'}" x="${cut(from + wide / 2)}%" y="16" text-anchor="middle">${share(n / all, 0)}</text>`
      }`
    }`
  })
  return html`<li><strong>${label}</strong><span class="note">${note}</span><svg class="strip" role="img" aria-label="${counts.map((n, i) => `${words(PERFORMANCES[i]!)} ${n}`).join(', ')}">${parts}</svg></li>`
}

function cut(value: number): number {
  return Math.round(value * 100) / 100
}

/** Returns by year and month; the colour only repeats what the number says. */
export function monthsTable(months: readonly Month[]): Html {
  const years = [...new Set(months.map(({ year }) => year))].sort((a, b) => b - a)
  const known = new Map(months.map(({ year, month, return: value }) => [year * 12 + month - 1, value]))
  // The colours reach their deepest at the size that one month of twenty exceeds.
  const sizes = months.map(({ return: value }) => Math.abs(value ?? 0)).sort((a, b) => a - b)
  const full = sizes[Math.floor(sizes.length * 0.95)] || 0.01
  if (years.length === 0) return html`<p class="empty">There is no month to tell of.</p>`
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Returns by month"><table class="months">
<caption><span>Return of the equity in each month, in percent; the first and the last may be parts of a month</span></caption>
<thead><tr><th scope="col">Year</th>${MONTHS.map(name => html`<th scope="col" class="num">${name}</th>`)}<th scope="col" class="num">Year</th></tr></thead>
<tbody>
${years.map(year =>
  yearRow(
    year,
    MONTHS.map((_, i) => known.get(year * 12 + i)),
    full,
  ),
)}</tbody></table></div>`
}

/** @param returns undefined before the first month and after the last; null from ruin on, which leaves the year without one */
function yearRow(year: number, returns: readonly (number | null | undefined)[], full: number): Html {
  const whole = returns.includes(null) ? null : returns.reduce<number>((all, value) => all * (1 + (value ?? 0)), 1) - 1
  return html`<tr><th scope="row">${year}</th>${returns.map(value => html`<td class="num ${heat(value ?? 0, full)}">${percentText(value)}</td>`)}<td class="num strong">${gain(whole, 1)}</td></tr>
`
}

function percentText(value: number | null | undefined): string {
  return value == null ? NONE : decimal(value * 100, 1)
}

function heat(value: number, full: number): string {
  if (value === 0) return ''
  const strength = Math.min(4, Math.ceil((Math.abs(value) / full) * 4))
  return `${value > 0 ? 'up' : 'down'}-${strength}`
}
