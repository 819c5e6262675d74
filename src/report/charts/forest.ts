import { gain, gainRange } from '../format.js'
import { type Html, html } from '../html.js'
import { type Scale, scale } from './scale.js'
import { axisLabel, roundSteps } from './ticks.js'

/** One line of a forest plot: an estimate and its interval. */
export interface Estimate {
  label: string
  /** Beside the label, such as n. */
  note: string
  value: number | null
  low: number | null
  high: number | null
  grey: boolean
  /** Stands in place of an estimate that is null. */
  reason: string
}

/**
 * Estimates under each other with their intervals, and a line where there is no difference. Words stand beside the
 * drawing, on a narrow page above it; the drawing itself is in percent of its width, so that both halves of it are in
 * sight on any page. Needs no script.
 *
 * @param names room that they take: `short` for a window, `long` for a cell
 */
export function forest(id: string, title: string, estimates: readonly Estimate[], names: 'short' | 'long'): Html {
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
