import { negated } from '../indicators/columns.js'
import { type Ranks, rollingRanks, TOLERANCE } from '../indicators/rank.js'
import { countBelow, countUpTo, type Day } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import { barsKnownBy, type Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import { consensusTimeline, dealingsByBar, nextReports } from './dated-facts.js'
import { bookYield, earningsYield, epsGrowth, Quarters, revenueGrowth, Timeline, yearlyGrowth } from './quarters.js'

/** Returns a function that computes a value when its name is first used, and caches it. */
export function cachedByName(): <T>(name: string, make: () => T) => T {
  const values = new Map<string, unknown>()
  return <T>(name: string, make: () => T): T => {
    if (!values.has(name)) values.set(name, make())
    return values.get(name) as T
  }
}

/** Returns a function that computes a value on the first call, and caches it. */
export function lazily<T>(make: () => T): () => T {
  let cached: { value: T } | null = null
  return () => {
    cached ??= { value: make() }
    return cached.value
  }
}

/** A growth rate at the newest quarter, and the same rate one quarter before. */
export interface GrowthRates {
  now: Float64Array
  before: Float64Array
}

/**
 * The known data of a company at each bar of its series; each is computed on first use. Columns are as long as the
 * series, NaN where undefined; a value of bar t uses the facts that are usable on its date.
 */
export class Fundamentals {
  readonly series: Series
  readonly #facts: Facts
  readonly #sector: SectorView | null

  constructor(series: Series, facts: Facts, sector: SectorView | null) {
    this.series = series
    this.#facts = facts
    this.#sector = sector
  }

  /** Whether the ticker has a sector to compare with. */
  get hasSector(): boolean {
    return this.#sector !== null
  }

  readonly quarters = lazily(() => new Quarters(this.series, this.#facts))
  /** Earnings a share of four quarters / close. */
  readonly yield = lazily(() => earningsYield(this.series, this.#facts, this.quarters()))
  readonly yieldRanks = lazily(() => this.#yieldRanks(this.yield()))
  /** Book value a share / close. */
  readonly bookYield = lazily(() => bookYield(this.series, this.quarters()))
  readonly bookRanks = lazily(() => this.#yieldRanks(this.bookYield()))
  readonly peers = lazily(() => peersOf(this.yield(), this.#sector))
  /** Revenue of four quarters / that of the four before, minus 1. */
  readonly growth = lazily(() => this.quarters().column(yearlyGrowth))
  readonly revenueGrowth = lazily(() => this.#growthRates(revenueGrowth))
  readonly epsGrowth = lazily(() => this.#growthRates(epsGrowth))
  /** Reports with their estimates in the order in which they became usable, and their number at each bar. */
  readonly earnings = lazily(() => {
    const timeline = new Timeline(this.#facts.earnings, ({ report_date: known, session }) => ({ known, session }))
    return { timeline, usable: timeline.counts(this.series.days) }
  })
  readonly nextReports = lazily(() => nextReports(this.series.days, this.#facts.schedule, this.earnings().timeline))
  /** The current analysts' opinion on each bar's date, and 90 days earlier; undefined before the first. */
  readonly consensus = lazily(() => {
    const timeline = consensusTimeline(this.#facts)
    const { days } = this.series
    return { now: timeline.latest(days), before: timeline.latest(days, DEFINITIONS.consensus.lookback) }
  })
  /** Insiders' trades of the last 90 days; null before the first trade. */
  readonly dealings = lazily(() => dealingsByBar(this.series.days, this.#facts.insiders))

  #growthRates(rate: typeof revenueGrowth): GrowthRates {
    const quarters = this.quarters()
    return { now: quarters.column(chain => rate(chain)), before: quarters.column(chain => rate(chain, 1)) }
  }

  /** Rolling ranks of negated yields: expensive is high. */
  #yieldRanks(yields: Float64Array): Ranks {
    const { history, minHistory } = TIMEFRAMES[this.series.timeframe]
    return rollingRanks(negated(yields), history, minHistory)
  }
}

/** Compares a ticker's earnings yield with those of the other tickers of its sector, bar by bar. */
function peersOf(yields: Float64Array, sector: SectorView | null) {
  /** Number of other tickers with a yield; 0 where the own yield is undefined. */
  const count = new Int32Array(yields.length)
  /** Median of the others' yields; NaN with too few. */
  const median = new Float64Array(yields.length).fill(Number.NaN)
  /** Rank of the negated own yield among itself and the others'; -1 with too few. */
  const ranks: Ranks = { rank: new Int32Array(yields.length).fill(-1), size: new Int32Array(yields.length) }
  for (let t = 0; sector !== null && t < yields.length; t++) {
    if (Number.isNaN(yields[t]!)) continue
    const others = sector.yieldsOfOthers(t)
    count[t] = others.length
    if (others.length < DEFINITIONS.peers.least) continue
    median[t] = medianOfAscending(others)
    ranks.rank[t] = rankOfNegated(yields[t]!, others)
    ranks.size[t] = others.length + 1
  }
  return { count, median, ranks }
}

/** Median of ascending values; of an even number the mean of the middle two. */
function medianOfAscending(ascending: Float64Array): number {
  const half = ascending.length >>> 1
  return ascending.length % 2 === 1 ? ascending[half]! : (ascending[half - 1]! + ascending[half]!) / 2
}

/**
 * The rank, 2 · less + equal, of a negated value among itself and others, also negated: the greater ones become less.
 * @param others ascending, not negated
 */
function rankOfNegated(value: number, others: Float64Array): number {
  const greater = others.length - countUpTo(others, value + TOLERANCE)
  const greaterOrEqual = others.length - countBelow(others, value - TOLERANCE)
  const equalToItself = 1
  return equalToItself + greater + greaterOrEqual
}

/** A ticker of a sector; all members have one timeframe. */
export interface SectorMember {
  ticker: string
  series: Series
  /** null: it has no facts, and so no earnings yield. */
  facts: Facts | null
}

/** A sector from the view of one ticker. */
export interface SectorView {
  /**
   * Earnings yields of the sector's other tickers at bar t of the own series, ascending. Each counts with its last bar
   * on or before the own bar's date, at most seven days old, and final by the day on which the own bar is. The next
   * call reuses the memory.
   */
  yieldsOfOthers(t: number): Float64Array
}

/** The earnings yields of a sector's tickers. Those of one date are sorted once for all tickers. */
export class Sector {
  readonly #members: readonly Peer[]
  /** By date and final day. */
  readonly #sortedYields = new Map<number, Float64Array>()

  constructor(members: readonly SectorMember[]) {
    this.#members = members.flatMap(({ ticker, series, facts }) =>
      facts === null ? [] : [{ ticker, series, yields: earningsYield(series, facts) }],
    )
  }

  /** The sector from the view of a ticker. There are no others if it is no member, or has no facts. */
  seenFrom(ticker: string): SectorView {
    const viewer = this.#members.find(member => member.ticker === ticker)
    if (viewer === undefined) return { yieldsOfOthers: () => new Float64Array() }
    const { days, known } = viewer.series
    return { yieldsOfOthers: t => withoutValue(this.#sortedYieldsOn(days[t]!, known[t]!), viewer.yields[t]!) }
  }

  /** The known yields of all members on a date, ascending, from bars that are final by the day `known`. */
  #sortedYieldsOn(date: Day, known: Day): Float64Array {
    // Both are numbers of days, below a million.
    const key = date * 1_000_000 + known
    let yields = this.#sortedYields.get(key)
    if (yields === undefined) {
      yields = this.#yieldsOn(date, known).sort()
      this.#sortedYields.set(key, yields)
    }
    return yields
  }

  /** The known yields of all members on a date, in their order. */
  #yieldsOn(date: Day, known: Day): Float64Array {
    const yields = new Float64Array(this.#members.length)
    let count = 0
    // For every date of a sector, `from` and `filter` take several times as long as a loop.
    for (let i = 0; i < yields.length; i++) {
      const value = yieldOn(this.#members[i]!, date, known)
      if (!Number.isNaN(value)) yields[count++] = value
    }
    return yields.subarray(0, count)
  }
}

interface Peer {
  ticker: string
  series: Series
  yields: Float64Array
}

/** The yield at the last bar up to a date that is final by the day `known`. NaN if it is too old or has none. */
function yieldOn({ series, yields }: Peer, date: Day, known: Day): number {
  let t = barsKnownBy(series, known) - 1
  while (t >= 0 && series.days[t]! > date) t--
  return t >= 0 && date - series.days[t]! <= DEFINITIONS.peers.maxAge ? yields[t]! : Number.NaN
}

/** Buffer of the others' yields: every bar of every ticker of a sector needs one. */
let othersBuffer = new Float64Array()

/** Ascending values without one of them; all of them when the value is NaN. The next call reuses the memory. */
function withoutValue(values: Float64Array, value: number): Float64Array {
  const at = countBelow(values, value)
  if (values[at] !== value) return values
  const others = values.length - 1
  if (othersBuffer.length < others) othersBuffer = new Float64Array(2 * others)
  // Loops: there are few values, and a call to copy them costs more.
  for (let i = 0; i < at; i++) othersBuffer[i] = values[i]!
  for (let i = at; i < others; i++) othersBuffer[i] = values[i + 1]!
  return othersBuffer.subarray(0, others)
}
