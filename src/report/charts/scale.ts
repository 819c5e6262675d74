import { type Chart, heights } from './spec.js'

export interface Extent {
  from: number
  to: number
}

/** From values to places on a drawing. */
export interface Scale extends Extent {
  place(value: number): number
}

/** What a chart shows from the left edge to the right: bins whole, otherwise the first to the last x. */
export function widthOf({ x: { values }, bars, stripes }: Chart): Extent {
  const edges = bars[0]?.edges
  const from = edges?.[0] ?? values[0] ?? 0
  const to = edges?.at(-1) ?? Math.max(values.at(-1) ?? 1, stripes?.end ?? Number.NEGATIVE_INFINITY)
  return to > from ? { from, to } : { from: from - 1, to: to + 1 }
}

/** The heights that a chart shows, with air above and below, and never without extent. */
export function heightOf(chart: Chart): Extent {
  return airy(heights(chart) ?? { least: 0, greatest: 1 }, chart.y)
}

/**
 * A range of values with air around it; a side that ends at 0 by nature has none.
 *
 * @param foot share of the height to leave free at the bottom
 */
export function airy(
  { least, greatest }: { least: number; greatest: number },
  { log, zero, unit }: Chart['y'],
  foot = 0,
): Extent {
  if (log && least > 0) {
    const air = Math.max((greatest / least) ** 0.05, 1.002)
    return { from: least / air / (greatest / least) ** foot, to: greatest * air }
  }
  const air = (greatest - least) * 0.06 || Math.abs(greatest) * 0.05 || (unit === 'count' ? 1 : 0.01)
  const from = zero && least === 0 ? 0 : least - air
  const to = zero && greatest === 0 && least < 0 ? 0 : greatest + air
  return { from: from - (to - from) * foot, to }
}

/** Values from `from` to `to` onto places from `start` to `end`. */
export function scale(from: number, to: number, start: number, end: number, log = false): Scale {
  const bend = log ? Math.log : (value: number) => value
  const factor = (end - start) / (bend(to) - bend(from))
  return { from, to, place: value => start + (bend(value) - bend(from)) * factor }
}
