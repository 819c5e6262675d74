import { type Html, html } from '../html.js'
import { bandClass } from './band-class.js'
import { heightOf, type Scale, scale, widthOf } from './scale.js'
import { linePath, markPath, outlinePath, ribbonPath, stripeRuns } from './shapes.js'
import { type Chart, isEmpty } from './spec.js'
import { axisLabel, dateTicks, logSteps, roundSteps, stepsUp, type Tick } from './ticks.js'

const MARGINS = { left: 54, right: 18, top: 10, bottom: 24, stripe: 9 }

/** The chart as SVG. Colours are classes, so that it follows the page from light to dark and onto paper. */
export function drawing(chart: Chart): Html {
  if (isEmpty(chart)) return html`<p class="empty">${chart.empty}</p>`
  const { left, right, top, bottom, stripe } = MARGINS
  const { height, width } = chart
  const foot = height - bottom
  const across = widthOf(chart)
  const up = heightOf(chart)
  const x = scale(across.from, across.to, left, width - right)
  const y = scale(up.from, up.to, foot - (chart.stripes === null ? 0 : stripe + 3), top, chart.y.log && up.from > 0)
  return html`<svg class="drawing${width < 600 && ' narrow'}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${chart.id}-d">
<title id="${chart.id}-d">${chart.title}. ${chart.description}</title>
${grid(chart, x, y, foot)}
${chart.stripes !== null && stripes(chart.stripes, x, foot)}
${contents(chart, x, y)}
</svg>`
}

function contents(chart: Chart, x: Scale, y: Scale): Html {
  const { values } = chart.x
  const floor = y.place(Math.min(Math.max(0, y.from), y.to))
  return html`${chart.ribbons.map(
    ({ tone, strength, low, high }) =>
      html`<path class="fill ${tone}" fill-opacity="${strength}" d="${ribbonPath(values, low, high, x, y)}"/>`,
  )}
${chart.bars.map(({ tone, outline, edges, values: heights }) => {
  const path = outlinePath(edges, heights, x, y, outline)
  return outline ? html`<path class="line ${tone}" d="${path}"/>` : html`<path class="fill bin ${tone}" d="${path}"/>`
})}
${rules(chart, x, y)}
${chart.lines.map(({ tone, values: heights, width, dashed, area }) => {
  const path = linePath(values, heights, x, y)
  return html`${area && html`<path class="fill ${tone}" fill-opacity="0.25" d="${linePath(values, heights, x, y, floor)}"/>`}
<path class="line ${tone}" stroke-width="${width}"${dashed && html` stroke-dasharray="5 4"`} d="${path}"/>`
})}
${chart.marks.map(({ tone, shape, at, values: heights, notes }) =>
  at.map(
    (place, i) =>
      html`<path class="mark ${tone}" d="${markPath(shape, x.place(place), y.place(heights[i]!))}"><title>${notes[i]}</title></path>`,
  ),
)}`
}

function grid({ x: { unit }, y: { unit: upUnit }, height, width }: Chart, x: Scale, y: Scale, foot: number): Html {
  const { left, right, top } = MARGINS
  const steps = stepsUp(height)
  const along =
    unit === 'date' ? dateTicks(x.from, x.to, width / 90) : labelled(unit, roundSteps(x.from, x.to, width / 75))
  const up = labelled(upUnit, isLog(y) ? logSteps(y.from, y.to, steps) : roundSteps(y.from, y.to, steps))
  return html`<path class="grid" d="${up.map(({ at }) => `M${left} ${cut(y.place(at))}H${width - right}`).join('')}${along
    .map(({ at }) => `M${cut(x.place(at))} ${top}V${foot}`)
    .join('')}"/>
<g class="labels">${up.map(({ at, label }) => html`<text x="${left - 6}" y="${cut(y.place(at) + 4)}" text-anchor="end">${label}</text>`)}
${along.map(({ at, label }) => html`<text x="${cut(x.place(at))}" y="${foot + 16}" text-anchor="middle">${label}</text>`)}</g>`
}

function rules({ rules: { x: across, y: up }, width }: Chart, x: Scale, y: Scale): Html {
  const { left, right, top } = MARGINS
  const foot = y.place(y.from)
  const inside = ({ from, to }: Scale, value: number): boolean => value >= from && value <= to
  const parts = [
    ...across.filter(at => inside(x, at)).map(at => `M${cut(x.place(at))} ${top}V${cut(foot)}`),
    ...up.filter(at => inside(y, at)).map(at => `M${left} ${cut(y.place(at))}H${width - right}`),
  ]
  return html`${parts.length > 0 && html`<path class="rule" d="${parts.join('')}"/>`}`
}

function stripes(bands: NonNullable<Chart['stripes']>, x: Scale, foot: number): Html {
  const { stripe } = MARGINS
  return html`<g class="stripes">${[...stripeRuns(bands)].map(([code, runs]) => {
    const path = runs.map(({ from, to }) => {
      const start = Math.max(x.place(from), x.place(x.from))
      return `M${cut(start)} ${foot - stripe}h${cut(Math.max(x.place(to) - start, 0.4))}v${stripe}h${cut(-Math.max(x.place(to) - start, 0.4))}z`
    })
    return html`<path class="${bandClass(code, bands.bands.length)}" d="${path.join('')}"><title>${bands.bands[code]}</title></path>`
  })}</g>`
}

function labelled(unit: Chart['y']['unit'] | Chart['x']['unit'], steps: readonly number[]): Tick[] {
  const step = steps.length > 1 ? steps[1]! - steps[0]! : 1
  return steps.map(at => ({ at, label: axisLabel(unit, at, step) }))
}

function isLog({ from, to, place }: Scale): boolean {
  return Math.abs(place((from + to) / 2) - (place(from) + place(to)) / 2) > 1
}

function cut(value: number): number {
  return Math.round(value * 10) / 10
}
