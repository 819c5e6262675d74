import type { Scale } from './scale.js'
import type { Marks, Stripes } from './spec.js'

type Values = readonly (number | null)[]

/** A line with a gap wherever there is no value; closed down to `floor` where one is given. */
export function linePath(xs: readonly number[], values: Values, x: Scale, y: Scale, floor?: number): string {
  return runsOf(values)
    .map(([from, to]) => {
      const line = pointsOf(xs, values, from, to, x, y)
      // A single point would leave nothing on paper.
      if (floor === undefined) return from + 1 === to ? `M${line}h.01` : `M${line}`
      return `M${tenth(x.place(xs[from]!))} ${tenth(floor)}L${line}V${tenth(floor)}z`
    })
    .join('')
}

/** The area between two lines, where both have values. */
export function ribbonPath(xs: readonly number[], low: Values, high: Values, x: Scale, y: Scale): string {
  const both = low.map((value, i) => (value === null || high[i] === null ? null : value))
  return runsOf(both)
    .map(([from, to]) => {
      const back = Array.from({ length: to - from }, (_, i) => {
        const at = to - 1 - i
        return `${tenth(x.place(xs[at]!))} ${tenth(y.place(high[at]!))}`
      })
      return `M${pointsOf(xs, low, from, to, x, y)}L${back.join(' ')}z`
    })
    .join('')
}

/** The bins of a histogram: each a block, or all of them as one stepped line. */
export function outlinePath(edges: readonly number[], values: Values, x: Scale, y: Scale, line: boolean): string {
  const floor = tenth(y.place(Math.max(0, y.from)))
  const tops = values.map(value => tenth(y.place(value ?? 0)))
  const sides = edges.map(edge => tenth(x.place(edge)))
  if (line) return `M${sides[0]} ${floor}${tops.map((top, i) => `V${top}H${sides[i + 1]}`).join('')}V${floor}`
  return tops
    .map((top, i) => (top === floor ? '' : `M${sides[i]! + 0.5} ${floor}V${top}H${sides[i + 1]! - 0.5}V${floor}z`))
    .join('')
}

/** A dot, or a triangle that points at the place. */
export function markPath(shape: Marks['shape'], x: number, y: number): string {
  const [left, top] = [tenth(x), tenth(y)]
  if (shape === 'up') return `M${left} ${tenth(y + 3)}l4.5 8h-9z`
  if (shape === 'down') return `M${left} ${tenth(y - 3)}l4.5 -8h-9z`
  return `M${tenth(x - 3)} ${top}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`
}

/** The runs of each band that occurs. */
export function stripeRuns({ starts, codes, end }: Stripes): Map<number, { from: number; to: number }[]> {
  const runs = new Map<number, { from: number; to: number }[]>()
  codes.forEach((code, i) => {
    if (code < 0) return
    const run = { from: starts[i]!, to: starts[i + 1] ?? end }
    const known = runs.get(code)
    if (known === undefined) runs.set(code, [run])
    else known.push(run)
  })
  return runs
}

/** From and (exclusive) to of the stretches that have values. */
function runsOf(values: Values): [number, number][] {
  const runs: [number, number][] = []
  let from = -1
  for (let i = 0; i <= values.length; i++) {
    const known = i < values.length && values[i] !== null
    if (known && from < 0) from = i
    if (!known && from >= 0) {
      runs.push([from, i])
      from = -1
    }
  }
  return runs
}

function pointsOf(xs: readonly number[], values: Values, from: number, to: number, x: Scale, y: Scale): string {
  return Array.from({ length: to - from }, (_, i) => {
    return `${tenth(x.place(xs[from + i]!))} ${tenth(y.place(values[from + i]!))}`
  }).join(' ')
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
