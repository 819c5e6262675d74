// What grows and how: bench/scale.json keeps the last figures of each size; of them come scale.svg and the table in README.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { putTable } from './readme.mjs'
import { SIZES, STEPS } from './scale.mjs'

const [KEPT, SVG] = ['scale.json', 'scale.svg'].map(name => fileURLToPath(new URL(`./${name}`, import.meta.url)))
/** Two rows of sizes, and what of a size is drawn from left to right. */
const AXES = [
  { title: 'tickers of 1,250 bars', sizes: ['T100', 'T505', 'T2000', 'T12000'], at: size => SIZES[size][0] },
  { title: 'bars of each of 505 tickers', sizes: ['T505', 'B2500', 'B5000', 'B10000'], at: size => SIZES[size][1] },
]
const FIGURES = [
  { title: 'seconds of processor', of: ({ cpu }) => cpu, ticks: [0.1, 1, 10, 100, 1000] },
  { title: 'peak memory, MiB', of: ({ peak }) => peak / 2 ** 20, ticks: [10, 100, 1000] },
]
const COLOURS = [
  '#1b6ca8',
  '#d1495b',
  '#2e933c',
  '#8e5ea2',
  '#e28413',
  '#3a3a3a',
  '#00a6a6',
  '#a15c38',
  '#7d8597',
  '#b5179e',
]
const WIDTH = 330
const HEIGHT = 250
const LEFT = 60
const TOP = 34
const RIGHT = 130
const GAP = 64

let isKept = false

/** Keeps the figures of a row of scale; others are not its business. */
export function keep({ row, group, wall, cpu, peak, written, samples }, { name }) {
  if (group !== 'scale') return
  const [size, ...step] = row.split('-')
  const floor = samples.floor[0].cpu
  const figures = { wall, cpu, peak, written }
  const medians = Object.fromEntries(Object.entries(figures).map(([key, found]) => [key, found?.median ?? null]))
  const all = kept()
  all[size] ??= {}
  all[size][step.join('-')] = { build: name, ...medians, floor }
  writeFileSync(KEPT, `${JSON.stringify(all, null, 2)}\n`)
  isKept = true
}

function kept() {
  return existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, 'utf8')) : {}
}

/** Draws what is kept, where this run has kept something. */
export function draw() {
  if (!isKept) return
  const all = kept()
  writeFileSync(SVG, picture(all))
  putTable('scale', table(all))
}

/**
 * The power of the size that a figure grows with, by least squares of the logarithms; of processor time what a bare node
 * takes is left out, because it does not grow. 1 is as much as the work.
 */
function growth(all, axis, step) {
  const points = axis.sizes.flatMap(size => {
    const { cpu, floor } = all[size]?.[step] ?? {}
    return cpu - floor > 0 ? [[Math.log(axis.at(size)), Math.log(cpu - floor)]] : []
  })
  if (points.length < 2) return null
  const mean = i => points.reduce((sum, point) => sum + point[i], 0) / points.length
  const x = mean(0)
  const y = mean(1)
  const sum = of => points.reduce((total, point) => total + of(point), 0)
  return sum(([a, b]) => (a - x) * (b - y)) / sum(([a]) => (a - x) ** 2)
}

function table(all) {
  const sizes = Object.keys(SIZES).filter(size => size in all)
  const head = sizes.map(size => SIZES[size].map(n => n.toLocaleString('en')).join(' x '))
  const rule = sizes.map(() => '---')
  const rows = Object.keys(STEPS).map(step => {
    const cells = sizes.map(size => cellOf(all[size][step]))
    const powers = AXES.map(axis => growth(all, axis, step)?.toFixed(2) ?? '')
    return `| ${[step, ...cells, ...powers].join(' | ')} |`
  })
  const builds = [...new Set(sizes.flatMap(size => Object.values(all[size]).map(({ build }) => build)))]
  return `![Seconds of processor and peak memory by tickers and by bars](scale.svg)

Seconds of wall clock, seconds of processor, peak memory and what was written, of ${builds.join(', ')}; the last two columns are
the powers of tickers and of bars that processor time grows with, without that of a bare node (1: as the work does).

| | ${head.join(' | ')} | tickers | bars |
|---|${rule.join('|')}|---|---|
${rows.join('\n')}
`
}

function cellOf(figures) {
  if (figures === undefined) return ''
  const { wall, cpu, peak, written } = figures
  const seconds = value => (value < 10 ? value.toFixed(2) : value.toFixed(0))
  const mib = value => `${Math.round(value / 2 ** 20).toLocaleString('en')} MiB`
  return `${seconds(wall)} s, ${seconds(cpu)} s, ${mib(peak)}${written > 2 ** 20 ? `, ${mib(written)} written` : ''}`
}

function picture(all) {
  const panels = FIGURES.flatMap((figure, row) =>
    AXES.map((axis, column) => {
      const x = LEFT + column * (WIDTH + RIGHT)
      const y = TOP + row * (HEIGHT + GAP)
      return `<g transform="translate(${x} ${y})">${panel(all, figure, axis)}</g>`
    }),
  )
  const width = LEFT + 2 * (WIDTH + RIGHT)
  const height = TOP + 2 * (HEIGHT + GAP)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<title>Seconds of processor and peak memory by tickers and by bars</title>
<rect width="${width}" height="${height}" fill="#fff"/>
${panels.join('\n')}
</svg>
`
}

/** Both scales are logarithmic, so that what grows as the work does is a line that rises as the grey one. */
function panel(all, figure, axis) {
  const points = axis.sizes.map(axis.at)
  const along = value => (Math.log(value / points[0]) / Math.log(points.at(-1) / points[0])) * WIDTH
  const low = figure.ticks[0] / 2
  const high = figure.ticks.at(-1) * 2
  const up = value => HEIGHT - (Math.log(value / low) / Math.log(high / low)) * HEIGHT
  const shades = points.map(
    n =>
      `<path d="M${r(along(n))} 0V${HEIGHT}" stroke="#eee"/>${words(along(n), HEIGHT + 14, n.toLocaleString('en'), 'middle')}`,
  )
  const ticks = figure.ticks.map(
    n => `<path d="M0 ${r(up(n))}H${WIDTH}" stroke="#eee"/>${words(-6, up(n) + 4, n.toLocaleString('en'), 'end')}`,
  )
  const lines = Object.keys(STEPS).map((step, i) => ({
    ...lineOf(all, figure, axis, step, { along, up }),
    colour: COLOURS[i],
  }))
  return [
    ...shades,
    ...ticks,
    words(0, -12, `${figure.title}, by ${axis.title}`, 'start'),
    workLine(points, { along, up, low, high }),
    ...lines.map(
      ({ path, places, colour }) =>
        `<g fill="none" stroke="${colour}"><path d="${path}" stroke-width="1.8"/>${dots(places)}</g>`,
    ),
    ...labels(lines),
  ].join('\n')
}

/** What grows as its work, through the middle. */
function workLine(points, { along, up, low, high }) {
  const middle = Math.sqrt(low * high)
  const half = Math.sqrt(points.at(-1) / points[0])
  const path = `M${r(along(points[0]))} ${r(up(middle / half))}L${r(along(points.at(-1)))} ${r(up(middle * half))}`
  return `<path d="${path}" stroke="#bbb" stroke-dasharray="4 4"/>`
}

function lineOf(all, figure, axis, step, { along, up }) {
  const places = axis.sizes.flatMap(size => {
    const figures = all[size]?.[step]
    return figures === undefined ? [] : [[along(axis.at(size)), up(figure.of(figures))]]
  })
  const path = places.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${r(x)} ${r(y)}`).join('')
  return { step, path, places, end: places.at(-1) }
}

function dots(places) {
  return places.map(([x, y]) => `<circle cx="${r(x)}" cy="${r(y)}" r="2"/>`).join('')
}

/** Names at the ends of lines, moved apart where they would lie on each other. */
function labels(lines) {
  const ended = lines.filter(({ end }) => end !== undefined).toSorted((a, b) => a.end[1] - b.end[1])
  let free = Number.NEGATIVE_INFINITY
  return ended.map(({ step, end: [x, y], colour }) => {
    free = Math.max(y + 4, free + 12)
    return words(x + 6, free, step, 'start', colour)
  })
}

function words(x, y, text, anchor, colour = '#333') {
  return `<text x="${r(x)}" y="${r(y)}" text-anchor="${anchor}" fill="${colour}">${text}</text>`
}

function r(value) {
  return Number(value.toFixed(1))
}
