import { gain, gainRange } from '../format.js'
import { type Html, html } from '../html.js'
import { scale } from './scale.js'
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

const ROW = 26
const DRAWN = { width: 960, right: 200, foot: 26 }

/**
 * Estimates under each other with their intervals, and a line where there is no difference. Needs no script.
 *
 * @param left units of the drawing that the names need
 */
export function forest(id: string, title: string, estimates: readonly Estimate[], left: number): Html {
  const known = estimates.flatMap(({ value, low, high }) => [value, low, high].filter(v => v !== null))
  const { width, right, foot } = DRAWN
  const least = Math.min(0, ...known)
  const greatest = Math.max(0, ...known)
  const air = (greatest - least) * 0.05 || 0.01
  const x = scale(least - air, greatest + air, left, width - right)
  const height = estimates.length * ROW + foot
  const steps = roundSteps(x.from, x.to, 6)
  const step = steps.length > 1 ? steps[1]! - steps[0]! : 1
  const floor = estimates.length * ROW
  return html`<svg class="drawing still" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${id}-d">
<title id="${id}-d">${title}</title>
<path class="grid" d="${steps.map(at => `M${cut(x.place(at))} 0V${floor}`).join('')}"/>
<path class="rule" d="M${cut(x.place(0))} 0V${floor}"/>
<g class="labels">${steps.map(at => html`<text x="${cut(x.place(at))}" y="${floor + 17}" text-anchor="middle">${axisLabel('return', at, step)}</text>`)}</g>
${estimates.map((estimate, i) => row(estimate, i * ROW + ROW / 2, left, x.place))}
</svg>`
}

function row(estimate: Estimate, y: number, left: number, place: (value: number) => number): Html {
  const { label, note, value, low, high, grey, reason } = estimate
  const { width, right } = DRAWN
  const tone = grey || value === null ? 'quiet' : value >= 0 ? 'gain' : 'loss'
  const whisker =
    low !== null &&
    high !== null &&
    html`<path class="line ${tone}" stroke-width="2" d="M${cut(place(low))} ${y}H${cut(place(high))}M${cut(place(low))} ${y - 4}v8M${cut(place(high))} ${y - 4}v8"/>`
  const dot = value !== null && html`<circle class="fill ${tone}" cx="${cut(place(value))}" cy="${y}" r="4.5"/>`
  return html`<g><title>${label}</title><text class="name" x="0" y="${y + 4}">${shorter(label, left - 110)}</text><text class="note" x="${left - 12}" y="${y + 4}" text-anchor="end">${note}</text>
${whisker}${dot}<text class="note" x="${width - right + 14}" y="${y + 4}">${value === null ? reason : `${gain(value)}${low === null ? '' : ` [${gainRange(low, high)}]`}`}</text></g>`
}

/** As much of a name as so many units of the drawing hold; a letter takes about seven. */
function shorter(name: string, room: number): string {
  const most = Math.floor(room / 7)
  return name.length > most ? `${name.slice(0, most - 1)}…` : name
}

function cut(value: number): number {
  return Math.round(value * 10) / 10
}
