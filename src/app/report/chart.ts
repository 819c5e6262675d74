import { dataScript, type Html, html, type TemplateValue } from '../../core/html.js'
import { PERFORMANCES } from '../../core/model/series.js'
import { keyInWords } from '../../core/numbers.js'
import { type Bars, bandTone, type Chart, type Line, type Marks, roundSteps, type Stripes } from '../present/chart.js'
import type { Estimate, Estimates, Month, Stacks } from '../present/description.js'
import {
  isEmpty,
  labelSteps,
  logSteps,
  MONTHS,
  newScale,
  reducePoints,
  type Scale,
  stepsOfHeight,
  ticksOfX,
  xExtent,
  yExtent,
} from './scale.js'
import { decimal, percentText, signedPercent, signedPercentRange, TONE_CLASSES } from './table.js'

/** The margins of a drawing, for the words of the axes; the strip of bands is at the bottom. */
const MARGINS = { left: 54, right: 18, top: 10, bottom: 24, stripe: 9 }

/** The chart as SVG, for print and for the page's script. @param xRange the part of x to draw (after a zoom) */
export function drawChart(chart: Chart, xRange = xExtent(chart)): Html {
  const { height, width } = chart
  const scales = scalesOf(chart, xRange)
  return html`<svg class="drawing${width < 600 && ' narrow'}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${chart.id}-d">
<title id="${chart.id}-d">${chart.title}. ${chart.description}</title>
${gridAndLabels(chart, scales)}
${namesAtEnds(chart, scales)}
${clipToRange(chart, html`${shadePaths(chart, scales)}${chart.stripes !== null && stripePaths(chart.stripes, scales)}${chartContents(chart, scales)}`)}
</svg>`
}

/** The right margin: wider with names at the ends of lines. */
function rightMargin({ lines, width }: Chart): number {
  const names = width < MIN_WIDTH_FOR_NAMES ? [] : lines.filter(({ named }) => named)
  const longest = names.reduce((max, { label }) => Math.max(max, label.length), 0)
  return longest === 0 ? MARGINS.right : Math.min(180, LEADER_LENGTH + 6 + longest * 6.6)
}

/** The scales of the drawing, and the bottom edge of its values, on which the x axis lies. */
interface Scales {
  x: Scale
  y: Scale
  bottomEdge: number
}

/** The scales that place a chart's values on its drawing. @param xRange the visible range of x */
export function scalesOf(chart: Chart, xRange = xExtent(chart)): Scales {
  const { left, top, bottom, stripe } = MARGINS
  const right = rightMargin(chart)
  const bottomEdge = chart.height - bottom
  const yRange = yExtent(chart)
  const stripeHeight = chart.stripes === null ? 0 : stripe + 3
  return {
    x: newScale(xRange.from, xRange.to, left, chart.width - right),
    y: newScale(yRange.from, yRange.to, bottomEdge - stripeHeight, top, chart.y.log && yRange.from > 0),
    bottomEdge,
  }
}

/** Cuts off parts beyond the visible range, but not half a mark at the edge. */
function clipToRange(chart: Chart, content: Html): Html {
  const { left, bottom } = MARGINS
  const x = left - 6
  const clipWidth = chart.width - left - rightMargin(chart) + 12
  const clipHeight = chart.height - bottom + 2
  return html`<svg x="${x}" y="0" width="${clipWidth}" height="${clipHeight}" viewBox="${x} 0 ${clipWidth} ${clipHeight}" aria-hidden="true">${content}</svg>`
}

/** In units of the drawing: a shade of a single bar is still seen. */
const MIN_SHADE_WIDTH = 2

/** The shaded ranges of x, one path for each set of shades. */
function shadePaths({ shades }: Chart, { x, bottomEdge }: Scales): Html {
  const spanPath = ({ from, to }: { from: number; to: number }): string => {
    const left = x.place(from)
    const right = Math.max(x.place(to), left + MIN_SHADE_WIDTH)
    return `M${roundToTenth(left)} ${MARGINS.top}H${roundToTenth(right)}V${bottomEdge}H${roundToTenth(left)}z`
  }
  return html`${shades.map(
    ({ tone, spans }) => html`<path class="fill shade ${tone}" d="${spans.map(spanPath).join('')}"/>`,
  )}`
}

/** Ribbons, bars, rules, lines and marks of a chart, from back to front. */
function chartContents(chart: Chart, { x, y, bottomEdge }: Scales): Html {
  const { values } = chart.x
  const zeroY = y.place(Math.min(Math.max(0, y.from), y.to))
  return html`${chart.ribbons.map(
    ({ tone, strength, low, high }) =>
      html`<path class="fill ${tone}" fill-opacity="${strength}" d="${ribbonPath(values, low, high, x, y)}"/>`,
  )}
${chart.bars.map(bars => {
  const { tone, outline } = bars
  const path = binsPath(bars, x, y)
  return outline ? html`<path class="line ${tone}" d="${path}"/>` : html`<path class="fill bin ${tone}" d="${path}"/>`
})}
${rulePath(chart, x, y, bottomEdge)}
${chart.lines.map(({ tone, values: heights, width, dashed, area }) => {
  const path = linePath(values, heights, x, y)
  return html`${area && html`<path class="fill ${tone}" fill-opacity="0.25" d="${linePath(values, heights, x, y, zeroY)}"/>`}
<path class="line ${tone}" stroke-width="${width}"${dashed && html` stroke-dasharray="5 4"`} d="${path}"/>`
})}
${chart.marks.map(({ tone, shape, at, values: heights, notes }) =>
  at.map(
    (xValue, i) =>
      html`<path class="mark ${tone}" d="${markPath(shape, x.place(xValue), y.place(heights[i]!))}"><title>${notes[i]}</title></path>`,
  ),
)}`
}

/** The lines of the grid, and the labels of both axes. */
function gridAndLabels(chart: Chart, { x, y, bottomEdge }: Scales): Html {
  const { height, width } = chart
  const { left, top } = MARGINS
  const right = rightMargin(chart)
  const stepCount = stepsOfHeight(height)
  const xTicks = ticksOfX(chart.x.unit, x, width)
  const ySteps = isLog(y) ? logSteps(y.from, y.to, stepCount) : roundSteps(y.from, y.to, stepCount)
  const yTicks = labelSteps(chart.y.unit, ySteps)
  const gridLines = [
    ...yTicks.map(({ at }) => `M${left} ${roundToTenth(y.place(at))}H${width - right}`),
    ...xTicks.map(({ at }) => `M${roundToTenth(x.place(at))} ${top}V${bottomEdge}`),
  ]
  return html`<path class="grid" d="${gridLines.join('')}"/>
<g class="labels">${yTicks.map(({ at, label }) => html`<text x="${left - 6}" y="${roundToTenth(y.place(at) + 4)}" text-anchor="end">${label}</text>`)}
${xTicks.map(({ at, label }) => html`<text x="${roundToTenth(x.place(at))}" y="${bottomEdge + 16}" text-anchor="middle">${label}</text>`)}</g>`
}

/** The rules of a chart: thin lines across it at some values. Those beyond its range are omitted. */
function rulePath(chart: Chart, x: Scale, y: Scale, bottomEdge: number): Html {
  const { rules, width } = chart
  const { left, top } = MARGINS
  const right = rightMargin(chart)
  const inside = ({ from, to }: Scale, value: number): boolean => value >= from && value <= to
  const parts = [
    ...rules.x
      .filter(at => inside(x, at))
      .map(at => `M${roundToTenth(x.place(at))} ${top}V${roundToTenth(bottomEdge)}`),
    ...rules.y.filter(at => inside(y, at)).map(at => `M${left} ${roundToTenth(y.place(at))}H${width - right}`),
  ]
  return html`${parts.length > 0 && html`<path class="rule" d="${parts.join('')}"/>`}`
}

/** The strip of bands at the bottom of a chart, a path for each band that occurs. */
function stripePaths(stripes: Stripes, { x, bottomEdge }: Scales): Html {
  const { stripe } = MARGINS
  return html`<g class="stripes">${[...runsByBand(stripes)].map(([code, runs]) => {
    const path = runs.map(({ from, to }) => {
      const start = Math.max(x.place(from), x.place(x.from))
      const runWidth = roundToTenth(Math.max(x.place(to) - start, 0.4))
      return `M${roundToTenth(start)} ${bottomEdge - stripe}h${runWidth}v${stripe}h${-runWidth}z`
    })
    return html`<path class="${bandTone(code, stripes.bands.length)}" d="${path.join('')}"><title>${stripes.bands[code]}</title></path>`
  })}</g>`
}

/** The least distance between two names at the ends of lines, and from a line's end to its name, in units. */
const MIN_NAME_DISTANCE = 13
const LEADER_LENGTH = 14
/** A narrower drawing has no names at the ends of its lines. */
const MIN_WIDTH_FOR_NAMES = 520

/** The names of lines at their ends, moved apart where they would overlap; empty if the drawing is too narrow. */
function namesAtEnds(chart: Chart, { x, y, bottomEdge }: Scales): Html {
  if (chart.width < MIN_WIDTH_FOR_NAMES) return html``
  const { values } = chart.x
  const last = values.findLastIndex(value => value <= x.to)
  const names = chart.lines.flatMap(({ named, label, tone, width, values: heights }) => {
    const height = heights[last]
    if (!named || height == null || height < y.from || height > y.to) return []
    return [{ label, tone, width, lineY: y.place(height), nameY: y.place(height) }]
  })
  names.sort((a, b) => a.lineY - b.lineY)
  // Each pass moves both names of a pair that overlaps. Two passes for each name make them legible, if not perfect.
  for (let pass = 0; pass < names.length * 2; pass++) {
    names.forEach((name, i) => {
      const above = names[i - 1]
      const overlap = above === undefined ? 0 : above.nameY + MIN_NAME_DISTANCE - name.nameY
      if (above === undefined || overlap <= 0) return
      above.nameY -= overlap / 2
      name.nameY += overlap / 2
    })
  }
  const overflow = Math.max(0, (names.at(-1)?.nameY ?? 0) - (bottomEdge - 4))
  const left = roundToTenth(x.place(values[last] ?? x.to))
  return html`${names.map(
    ({ label, tone, width, lineY, nameY }) =>
      html`<path class="line ${tone}" d="M${left + 2} ${roundToTenth(lineY)}L${left + LEADER_LENGTH - 2} ${roundToTenth(nameY - overflow)}"/><text x="${left + LEADER_LENGTH}" y="${roundToTenth(nameY - overflow + 4)}"${width > 2 && html` class="first"`}>${label}</text>`,
  )}`
}

/** Whether a scale is logarithmic: the middle of its range is not in the middle of the drawing. */
function isLog({ from, to, place }: Scale): boolean {
  return Math.abs(place((from + to) / 2) - (place(from) + place(to)) / 2) > 1
}

type Values = readonly (number | null)[]

/** The path of a line with a gap at every missing value. @param floor y of a lower edge, which makes it an area */
function linePath(xs: readonly number[], values: Values, x: Scale, y: Scale, floor?: number): string {
  return knownRuns(values)
    .map(([from, to]) => {
      const line = pointList(xs, values, from, to, x, y)
      // A single point would be invisible on paper.
      if (floor === undefined) return from + 1 === to ? `M${line}h.01` : `M${line}`
      return `M${roundToTenth(x.place(xs[from]!))} ${roundToTenth(floor)}L${line}V${roundToTenth(floor)}z`
    })
    .join('')
}

/** The area between two lines, where both have values: along `low`, and back along `high`. */
function ribbonPath(xs: readonly number[], low: Values, high: Values, x: Scale, y: Scale): string {
  const lowIfBoth = low.map((value, i) => (value === null || high[i] === null ? null : value))
  return knownRuns(lowIfBoth)
    .map(([from, to]) => {
      const back = Array.from({ length: to - from }, (_, i) => {
        const index = to - 1 - i
        return `${roundToTenth(x.place(xs[index]!))} ${roundToTenth(y.place(high[index]!))}`
      })
      return `M${pointList(xs, low, from, to, x, y)}L${back.join(' ')}z`
    })
    .join('')
}

/** The bins of a histogram as a path: each as a block, or all of them as one stepped line (`outline`). */
function binsPath({ edges, values, outline, slot }: Bars, x: Scale, y: Scale): string {
  const zeroY = roundToTenth(y.place(Math.max(0, y.from)))
  const tops = values.map(value => roundToTenth(y.place(value ?? 0)))
  const edgeXs = edges.map(edge => roundToTenth(x.place(edge)))
  if (outline) return `M${edgeXs[0]} ${zeroY}${tops.map((top, i) => `V${top}H${edgeXs[i + 1]}`).join('')}V${zeroY}`
  return tops
    .map((top, i) => {
      if (top === zeroY) return ''
      const [left, right] = barSides(edgeXs[i]!, edgeXs[i + 1]!, slot)
      return `M${roundToTenth(left)} ${zeroY}V${top}H${roundToTenth(right)}V${zeroY}z`
    })
    .join('')
}

/** The sides of a bar in a bin that several bars may share. @param slot its index, and the number of bars */
function barSides(left: number, right: number, slot: Bars['slot'] = [0, 1]): [left: number, right: number] {
  const [index, bars] = slot
  if (bars === 1) return [left + 0.5, right - 0.5]
  const width = ((right - left) * 0.76) / bars
  const start = left + (right - left) * 0.12 + width * index
  return [start, start + width]
}

/** The path of a mark at a value: a dot, or a triangle that points at it from below (`up`) or from above. */
function markPath(shape: Marks['shape'], x: number, y: number): string {
  const left = roundToTenth(x)
  const top = roundToTenth(y)
  if (shape === 'up') return `M${left} ${roundToTenth(y + 3)}l4.5 8h-9z`
  if (shape === 'down') return `M${left} ${roundToTenth(y - 3)}l4.5 -8h-9z`
  return `M${roundToTenth(x - 3)} ${top}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`
}

/** The ranges of x in which each band lasts, by the band's code. */
function runsByBand({ starts, codes, end }: Stripes): Map<number, { from: number; to: number }[]> {
  const runs = new Map<number, { from: number; to: number }[]>()
  codes.forEach((code, i) => {
    if (code < 0) return
    const run = { from: starts[i]!, to: starts[i + 1] ?? end }
    runs.set(code, [...(runs.get(code) ?? []), run])
  })
  return runs
}

/** The runs of values that are not null, each as its start and its end (exclusive). */
function knownRuns(values: Values): [from: number, to: number][] {
  const runs: [from: number, to: number][] = []
  let runStart: number | null = null
  for (let i = 0; i <= values.length; i++) {
    const isKnown = i < values.length && values[i] !== null
    if (isKnown) runStart ??= i
    else if (runStart !== null) {
      runs.push([runStart, i])
      runStart = null
    }
  }
  return runs
}

/** The points from index `from` to before `to`, as `x y x y` for a path. */
function pointList(xs: readonly number[], values: Values, from: number, to: number, x: Scale, y: Scale): string {
  return Array.from({ length: to - from }, (_, i) => {
    return `${roundToTenth(x.place(xs[from + i]!))} ${roundToTenth(y.place(values[from + i]!))}`
  }).join(' ')
}

function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10
}

/** The number of points for which a drawing on paper has room. */
const MAX_DRAWN_POINTS = 700

/** A chart in the page: its name, its legend, the drawing, and the values for the page's script. */
export function figure(fullChart: Chart, caption: TemplateValue = ''): Html {
  const chart = reducePoints(fullChart)
  const isDrawn = !isEmpty(chart)
  return html`<figure class="chart" id="${chart.id}">
<figcaption><strong>${chart.title}</strong> ${caption}${isDrawn && chart.y.log && ' (logarithmic scale)'}</figcaption>
${isDrawn && legend(chart)}
${isDrawn ? html`<div class="plot">${drawChart(reducePoints(fullChart, MAX_DRAWN_POINTS))}</div>` : html`<p class="empty">${chart.empty}</p>`}
${isDrawn && dataScript('data-chart', chart)}
</figure>`
}

/** The legend of a chart: the name of each part. `data-part` says to the page's script which part it is. */
function legend({ lines, ribbons, shades, bars, marks, stripes }: Chart): Html {
  const legendItem = (kind: string, i: number, swatch: string, label: string): Html =>
    html`<li data-part="${kind} ${i}"><span class="swatch ${swatch}"></span>${label}</li>`
  return html`<ul class="legend">
${lines.map((line, i) => legendItem('line', i, `${line.tone} ${lineSwatch(line)}`, line.label))}
${ribbons.map(({ tone, label }, i) => legendItem('ribbon', i, `${tone} block soft`, label))}
${shades.map(({ tone, label }, i) => legendItem('shades', i, `${tone} block shade`, label))}
${bars.map(({ tone, label, outline }, i) => legendItem('bars', i, `${tone} ${outline ? 'stroke' : 'block'}`, label))}
${marks.map(({ tone, label, shape }, i) => legendItem('marks', i, `${tone} ${shape}`, label))}
${stripes?.bands.map((band, code) => html`<li><span class="swatch block ${bandTone(code, stripes.bands.length)}"></span>${band}</li>`)}
</ul>`
}

function lineSwatch({ area, dashed }: Line): string {
  if (area) return 'block soft'
  return dashed ? 'stroke dashed' : 'stroke'
}

/** Draws estimates below each other with intervals and a line at no difference; x is in percent of the drawing. */
export function estimatesFigure({ id, title, names, baseline = null, estimates }: Estimates): Html {
  const known = [
    baseline,
    ...estimates.flatMap(({ value, low, high, median = null }) => [value, low, high, median]),
  ].filter(value => value !== null)
  const least = Math.min(0, ...known)
  const greatest = Math.max(0, ...known)
  const margin = (greatest - least) * 0.05 || 0.01
  const x = newScale(least - margin, greatest + margin, 0, 100)
  const steps = roundSteps(x.from, x.to, names === 'bands' ? 3 : 6)
  return html`<ul class="forest ${names}" id="${id}" aria-label="${title}">
${estimates.map(estimate => estimateRow(estimate, { steps, x, baseline, isShort: names === 'bands' }))}
<li>${axisLabels(steps, x)}</li>
</ul>`
}

/** The text of an estimate with its interval, or why it is not known. @param isShort leaves the interval out */
function estimateText({ value, low, high, reasonIfNull }: Estimate, isShort: boolean): string {
  if (value === null) return reasonIfNull
  const interval = low === null || isShort ? '' : ` [${signedPercentRange(low, high)}]`
  return `${signedPercent(value)}${interval}`
}

function estimateTone({ value, grey, tone }: Estimate): string {
  if (grey || value === null) return 'quiet'
  return tone === undefined ? 'accent' : TONE_CLASSES[tone]
}

/**
 * An estimate as a row of a figure: its label, drawing and text.
 * @param baseline where each row has a second vertical line; null: none
 * @param isShort draws a bar from 0 instead of a dot, and leaves the interval out of the text
 */
function estimateRow(
  estimate: Estimate,
  { steps, x, baseline, isShort }: { steps: readonly number[]; x: Scale; baseline: number | null; isShort: boolean },
): Html {
  const { label, note, value, low, high, median = null } = estimate
  const tone = estimateTone(estimate)
  const at = (point: number): string => percent(x.place(point))
  const whisker = (from: number, to: number): Html =>
    html`<g class="line ${tone}"><line x1="${at(from)}" x2="${at(to)}" y1="13" y2="13"/><line x1="${at(from)}" x2="${at(from)}" y1="9" y2="17"/><line x1="${at(to)}" x2="${at(to)}" y1="9" y2="17"/></g>`
  const dot = (to: number): Html => html`<circle class="fill ${tone}" cx="${at(to)}" cy="13" r="4.5"/>`
  const bar = (to: number): Html => {
    const left = x.place(Math.min(0, to))
    const right = x.place(Math.max(0, to))
    return html`<rect class="bar ${tone}" x="${percent(left)}" y="7" width="${percent(right - left)}" height="12"/>`
  }
  return html`<li><strong>${label}</strong><span class="note">${note}</span><svg class="strip" aria-hidden="true">
<g class="grid">${steps.map(step => verticalLine(at(step)))}</g><g class="rule">${verticalLine(at(0))}</g>${baseline !== null && html`<g class="rule baseline">${verticalLine(at(baseline))}</g>`}
${value !== null && isShort && bar(value)}${low !== null && high !== null && whisker(low, high)}${median !== null && html`<line class="line median" x1="${at(median)}" x2="${at(median)}" y1="5" y2="21"/>`}${value !== null && !isShort && dot(value)}
</svg><span class="told">${estimateText(estimate, isShort)}</span></li>`
}

/** A line from top to bottom. @param at position from the left, such as `40%` */
function verticalLine(at: string): Html {
  return html`<line x1="${at}" x2="${at}" y1="0" y2="100%"/>`
}

/** The labels below the rows of estimates, without those that an end would cut. */
function axisLabels(steps: readonly number[], x: Scale): Html {
  const inside = labelSteps('return', steps).filter(
    ({ at }) => x.place(at) > MIN_EDGE_DISTANCE && x.place(at) < 100 - MIN_EDGE_DISTANCE,
  )
  return html`<svg class="strip labels" aria-hidden="true">${inside.map(({ at, label }) => html`<text x="${percent(x.place(at))}" y="13" text-anchor="middle">${label}</text>`)}</svg>`
}

/** In percent of the width: a label nearer to an end would be cut. */
const MIN_EDGE_DISTANCE = 4

/** A position or a width on a drawing 100 units wide, as `12.5%`. */
function percent(position: number): string {
  return `${Math.round(position * 100) / 100}%`
}

/** In percent of the width: a narrower part has no room for its share. */
const MIN_LABELLED_WIDTH = 7

/** `12 of 40`, or `30.0%` for the bars of several tickers (`isBase`), which only have shares: their total is 1. */
function stackLabel(n: number, total: number, isBase: boolean): string {
  return isBase && total < 1.5 ? percentText(n, 1) : `${n} of ${total}`
}

/** Draws the shares of the seven performance bands, a bar per row, in percent of the page's width. Needs no script. */
export function stacksFigure({ id, title, names, rows }: Stacks): Html {
  return html`<ul class="forest ${names} stacked" id="${id}" aria-label="${title}">
${rows.map(stackedRow)}
</ul>
<ul class="legend">${PERFORMANCES.map((name, i) => html`<li><span class="swatch block out-${i}"></span>${keyInWords(name)}</li>`)}</ul>`
}

/** A row of shares: a rectangle for each performance band, with its share where there is room. */
function stackedRow({ label, note, counts, isBase }: Stacks['rows'][number]): Html {
  const total = counts.reduce((sum, n) => sum + n, 0)
  let x = 0
  const parts = counts.map((n, i) => {
    const width = total === 0 ? 0 : (100 * n) / total
    const left = x
    x += width
    return html`${
      width > 0 &&
      html`<rect class="out-${i}" x="${percent(left)}" y="3" width="${percent(width)}" height="18"${isBase && html` opacity="0.5"`}><title>${keyInWords(PERFORMANCES[i]!)}: ${stackLabel(n, total, isBase)}</title></rect>${
        width > MIN_LABELLED_WIDTH &&
        html`<text class="inside${!isBase && (i === 0 || i === 6) && ' end'}" x="${percent(left + width / 2)}" y="16" text-anchor="middle">${percentText(n / total, 0)}</text>`
      }`
    }`
  })
  return html`<li${isBase && html` class="base"`}><strong>${label}</strong><span class="note">${note}</span><svg class="strip" role="img" aria-label="${note}: ${counts.map((n, i) => `${keyInWords(PERFORMANCES[i]!)} ${stackLabel(n, total, isBase)}`).join(', ')}">${parts}</svg></li>`
}

/** Draws returns by year and month; the colours only repeat the numbers. */
export function monthsTable(months: readonly Month[]): Html {
  const years = [...new Set(months.map(({ year }) => year))].sort((a, b) => b - a)
  const returnByMonth = new Map(months.map(({ year, month, return: value }) => [year * 12 + month - 1, value]))
  const returnsOf = (year: number) => MONTHS.map((_, i) => returnByMonth.get(year * 12 + i))
  // The colours reach their deepest at the size that one month of twenty exceeds.
  const sizes = months.map(({ return: value }) => Math.abs(value ?? 0)).sort((a, b) => a - b)
  const deepestSize = sizes[Math.floor(sizes.length * 0.95)] || 0.01
  if (years.length === 0) return html`<p class="empty">There is no whole month.</p>`
  return html`<div class="scroll" role="region" tabindex="0" aria-label="Returns by month"><table class="months">
<caption><span>Return of the equity in each month, in percent; the first and the last may be parts of a month</span></caption>
<thead><tr><th scope="col">Year</th>${MONTHS.map(name => html`<th scope="col" class="num">${name}</th>`)}<th scope="col" class="num">Year</th></tr></thead>
<tbody>
${years.map(year => yearRow(year, returnsOf(year), deepestSize))}</tbody></table></div>`
}

/** The return of each month, and of the year. @param returns undefined outside the months; null from ruin on */
function yearRow(year: number, returns: readonly (number | null | undefined)[], deepestSize: number): Html {
  const growth = returns.reduce<number>((product, value) => product * (1 + (value ?? 0)), 1)
  const yearReturn = returns.includes(null) ? null : growth - 1
  return html`<tr><th scope="row">${year}</th>${returns.map(value => html`<td class="num ${heatClass(value ?? 0, deepestSize)}">${decimal(value == null ? null : value * 100, 1)}</td>`)}<td class="num strong">${signedPercent(yearReturn, 1)}</td></tr>
`
}

/** The class that colours a month by its return. @param deepestSize size of a return with the deepest colour */
function heatClass(value: number, deepestSize: number): string {
  if (value === 0) return ''
  const strength = Math.min(4, Math.ceil((Math.abs(value) / deepestSize) * 4))
  return `${value > 0 ? 'up' : 'down'}-${strength}`
}
