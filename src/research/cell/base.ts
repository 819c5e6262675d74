import { pooledQuantile, type Weighted } from '../../statistics/pooled-quantile.js'
import type { MemberBars } from './member.js'

/** What follows any bar of the tickers that have events, each counting as its events do. */
export interface Base {
  /** Bars. */
  n: number
  mean: number | null
  median: number | null
  /** Share of returns above 0. */
  hit: number | null
  /** Of returns, about their mean. */
  deviation: number | null
  /** Each ticker's returns, ascending, and its events. */
  columns: Weighted[]
}

export function baseOf(members: readonly Pick<MemberBars, 'returns' | 'events' | 'base'>[]): Base {
  const counting = members.filter(({ events }) => events.length > 0)
  const events = counting.reduce((sum, member) => sum + member.events.length, 0)
  if (events === 0) return { n: 0, mean: null, median: null, hit: null, deviation: null, columns: [] }
  const weighted = (of: (member: (typeof counting)[number]) => number): number =>
    counting.reduce((sum, member) => sum + member.events.length * of(member), 0) / events
  const columns = counting.map(({ returns, events: { length: weight } }) => ({ ascending: returns.toSorted(), weight }))
  const mean = weighted(({ base }) => base)
  return {
    n: counting.reduce((sum, { returns }) => sum + returns.length, 0),
    mean,
    median: pooledQuantile(columns, 0.5),
    hit: weighted(({ returns }) => gains(returns) / returns.length),
    deviation: Math.sqrt(weighted(({ returns }) => meanSquare(returns, mean))),
    columns,
  }
}

function meanSquare(returns: Float64Array, centre: number): number {
  let sum = 0
  for (const value of returns) sum += (value - centre) ** 2
  return sum / returns.length
}

/** How many are above 0. */
export function gains(returns: ArrayLike<number>): number {
  let count = 0
  for (let i = 0; i < returns.length; i++) if (returns[i]! > 0) count++
  return count
}
