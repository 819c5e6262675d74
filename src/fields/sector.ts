import { countBelow, type Day } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import { barsKnownBy, type Series } from '../model/series.js'
import { earningsYield } from './quarters.js'

/** A ticker of a sector; all members have one timeframe. */
export interface SectorMember {
  ticker: string
  series: Series
  /** null: it has no facts, and so no earnings yield. */
  facts: Facts | null
}

/** A sector as one of its tickers sees it. */
export interface SectorView {
  /**
   * Earnings yields of the sector's other tickers at bar t of the own series, ascending: each that has one at its last
   * bar on or before the own bar's date, at most seven days old and final by the day on which the own bar is final. The
   * next call may use their memory again.
   */
  yieldsOfOthers(t: number): Float64Array
}

/**
 * The earnings yields of a sector's tickers. What stands on one date is put in order once and serves every ticker, which
 * leaves its own value out.
 */
export class Sector {
  readonly #members: readonly Peer[]
  readonly #snapshots = new Map<number, Float64Array>()

  constructor(members: readonly SectorMember[]) {
    this.#members = members.flatMap(({ ticker, series, facts }) =>
      facts === null ? [] : [{ ticker, series, yields: earningsYield(series, facts) }],
    )
  }

  /** A ticker that is no member, or has no facts, sees no other. */
  seenFrom(ticker: string): SectorView {
    const own = this.#members.find(member => member.ticker === ticker)
    if (own === undefined) return { yieldsOfOthers: () => new Float64Array() }
    const { days, known } = own.series
    return { yieldsOfOthers: t => without(this.#snapshot(days[t]!, known[t]!), own.yields[t]!) }
  }

  /** All yields that stand on a date, ascending, made of bars that are final by the day `known`. */
  #snapshot(date: Day, known: Day): Float64Array {
    // Both are numbers of days, below a million.
    const key = date * 1_000_000 + known
    let yields = this.#snapshots.get(key)
    if (yields === undefined) {
      yields = this.#standings(date, known).sort()
      this.#snapshots.set(key, yields)
    }
    return yields
  }

  /** In a loop: of every date of a sector, `from` and `filter` take several times as long. */
  #standings(date: Day, known: Day): Float64Array {
    const found = new Float64Array(this.#members.length)
    let count = 0
    for (let i = 0; i < found.length; i++) {
      const value = standing(this.#members[i]!, date, known)
      if (!Number.isNaN(value)) found[count++] = value
    }
    return found.subarray(0, count)
  }
}

interface Peer {
  ticker: string
  series: Series
  yields: Float64Array
}

/** The yield at the last bar on or before a date; NaN when that bar is too old or has none. */
function standing({ series, yields }: Peer, date: Day, known: Day): number {
  let t = barsKnownBy(series, known) - 1
  while (t >= 0 && series.days[t]! > date) t--
  return t >= 0 && date - series.days[t]! <= DEFINITIONS.peers.maxAge ? yields[t]! : Number.NaN
}

/** Room for the others' yields: every bar of every ticker of a sector asks for them. */
let rest = new Float64Array()

/** Ascending values without one of them; the whole when the value is NaN. */
function without(values: Float64Array, value: number): Float64Array {
  const at = countBelow(values, value)
  if (values[at] !== value) return values
  const others = values.length - 1
  if (rest.length < others) rest = new Float64Array(2 * others)
  // Loops: they are few, and a call to copy them costs more.
  for (let i = 0; i < at; i++) rest[i] = values[i]!
  for (let i = at; i < others; i++) rest[i] = values[i + 1]!
  return rest.subarray(0, others)
}
