import { countBelow } from '../../ascending.js'
import { pooledQuantile, type Weighted } from '../../statistics/pooled-quantile.js'

/** Bins of equal, round width from the least to the greatest value of either; a value on an edge lies in the bin above. */
export interface Histogram {
  /** Ascending; one more than there are bins. */
  edges: number[]
  events: number[]
  base: number[]
}

/** About so many bins between the tails of the base, and at most so many in all, however far the tails reach. */
const WANTED = 20
const MOST = 60

/**
 * @param events ascending
 * @param base of each ticker; the weights count for the width of the bins alone
 * @returns null without values, or where all are the same
 */
export function histogram(events: Float64Array, base: readonly Weighted[]): Histogram | null {
  const columns = [events, ...base.map(({ ascending }) => ascending)]
  if (events.length === 0 || columns.some(({ length }) => length === 0)) return null
  const low = columns.reduce((least, column) => Math.min(least, column[0]!), Number.POSITIVE_INFINITY)
  const high = columns.reduce((most, column) => Math.max(most, column.at(-1)!), Number.NEGATIVE_INFINITY)
  if (!(high > low)) return null
  const middle = base.length === 0 ? 0 : pooledQuantile(base, 0.99)! - pooledQuantile(base, 0.01)!
  const width = roundUp(Math.max(middle / WANTED, (high - low) / (MOST - 2)))
  const first = Math.floor(low / width)
  const bins = Math.floor(high / width) - first + 1
  const edges = Array.from({ length: bins + 1 }, (_, i) => round((first + i) * width))
  return { edges, events: counts([events], edges), base: counts(columns.slice(1), edges) }
}

/** The next number of the form 1, 2, 2.5 or 5 times a power of ten. */
function roundUp(width: number): number {
  const power = 10 ** Math.floor(Math.log10(width))
  const factor = [1, 2, 2.5, 5].find(step => step * power >= width) ?? 10
  return factor * power
}

/** 0.15000000000000002 would be an ugly edge. */
function round(edge: number): number {
  return Number(edge.toPrecision(12))
}

function counts(columns: readonly Float64Array[], edges: readonly number[]): number[] {
  const bins = new Array<number>(edges.length - 1).fill(0)
  for (const column of columns) {
    // The outermost edges take all, whatever rounding did to them.
    let below = 0
    bins.forEach((_, bin) => {
      const upTo = bin === bins.length - 1 ? column.length : countBelow(column, edges[bin + 1]!)
      bins[bin]! += upTo - below
      below = upTo
    })
  }
  return bins
}
