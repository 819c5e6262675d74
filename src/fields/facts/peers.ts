import { TOLERANCE } from '../../indicators/compare.js'
import type { Ranks } from '../../indicators/rank.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { SectorView } from '../sector.js'

/** How a ticker's earnings yield stands among those of its sector; columns, one value a bar. */
export interface Peers {
  /** How many others have a yield; 0 where the own is undefined. */
  count: Int32Array
  /** Median of the others' yields; NaN where they are too few. */
  median: Float64Array
  /** Rank of the negated own yield among itself and the others'; -1 where they are too few. */
  ranks: Ranks
}

export function peersOf(yields: Float64Array, sector: SectorView | null): Peers {
  const count = new Int32Array(yields.length)
  const median = new Float64Array(yields.length).fill(Number.NaN)
  const ranks = { rank: new Int32Array(yields.length).fill(-1), size: new Int32Array(yields.length) }
  for (let t = 0; sector !== null && t < yields.length; t++) {
    if (Number.isNaN(yields[t]!)) continue
    const others = sector.yieldsOfOthers(t)
    count[t] = others.length
    if (others.length < DEFINITIONS.peers.least) continue
    median[t] = middle(others)
    ranks.rank[t] = rankOfNegated(yields[t]!, others)
    ranks.size[t] = others.length + 1
  }
  return { count, median, ranks }
}

/** Median of ascending values; of an even number the mean of the two in the middle. */
function middle(ascending: Float64Array): number {
  const half = ascending.length >>> 1
  return ascending.length % 2 === 1 ? ascending[half]! : (ascending[half - 1]! + ascending[half]!) / 2
}

/** 2 · less + equal of -own among itself and the others negated: a negated value is below where its own is above. */
function rankOfNegated(own: number, others: Float64Array): number {
  let rank = 1
  for (const other of others) {
    if (other > own + TOLERANCE) rank += 2
    else if (other >= own - TOLERANCE) rank++
  }
  return rank
}
