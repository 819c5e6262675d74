import { compare } from '../indicators/rank.js'
import type { Day } from '../model/day.js'
import { DEFINITIONS } from '../model/definitions.js'
import { type Facts, firstUsableDay, type Report, type Session, type Split } from '../model/facts.js'
import { type Series, tradedClose } from '../model/series.js'

const { maxAge, leastGap, mostGap } = DEFINITIONS.quarters

/** No rule looks further back than the four quarters before the last four. */
const MAX_QUARTERS = 8

/** One quarter as known at a bar. Values a share are on the split basis of that bar; NaN is unknown. */
export interface Quarter {
  eps: number
  revenue: number
  bookValue: number
  report: Report
  /** The splits whose ratios divided the filed values a share. */
  splits: readonly Split[]
}

/** Consecutive quarters, newest first, at most eight. */
type Chain = readonly Quarter[]

/** The known quarters at each bar of a series. */
export class Quarters {
  readonly #days: Int32Array
  /** The newest quarters at each bar, however old; bars between two changes share one chain. */
  readonly #chains: Chain[]
  /** The newest quarters at each bar; empty where they are too old. */
  readonly #recent: Chain[]

  constructor(series: Series, { reports, splits }: Facts) {
    this.#days = series.days
    this.#chains = chainsByBar(series.days, new Timeline(reports, report => report), new SplitBasis(series, splits))
    this.#recent = this.#chains.map((chain, t) => (chain.length > 0 && this.#age(t) <= maxAge ? chain : NO_QUARTERS))
  }

  /** The counting chain at a bar; empty when no quarter is known or the newest is too old. */
  at(t: number): Chain {
    return this.#recent[t]!
  }

  /** A value of the chain at every bar. */
  column(figure: (chain: Chain) => number): Float64Array {
    const values = new Float64Array(this.#days.length)
    let previous: Chain = NO_QUARTERS
    let value = figure(previous)
    for (let t = 0; t < values.length; t++) {
      const chain = this.#recent[t]!
      if (chain !== previous) value = figure(chain)
      previous = chain
      values[t] = value
    }
    return values
  }

  /** The newest quarter known at a bar and its age in days, even when too old; null without any. */
  newest(t: number): { quarter: Quarter; age: number } | null {
    const quarter = this.#chains[t]![0]
    return quarter === undefined ? null : { quarter, age: this.#age(t) }
  }

  /** Days from the end of the newest quarter to a bar. */
  #age(t: number): number {
    return this.#days[t]! - this.#chains[t]![0]!.report.period_end
  }
}

const NO_QUARTERS: Chain = []

/**
 * The known quarters without a gap, newest first, at each bar. They change on a bar on which a report becomes usable or
 * a split begins to count. @param reports each version of each quarter's numbers; the latest usable one counts
 */
function chainsByBar(days: Int32Array, reports: Timeline<Report>, basis: SplitBasis): Chain[] {
  const chains = new Array<Chain>(days.length)
  const usable = reports.counts(days)
  const latestByEnd = new Map<Day, Report>()
  /** The ends of the known quarters, from the newest back. */
  const ends: Day[] = []
  let reportsRead = 0
  let splitsCounted = 0
  let chain = NO_QUARTERS
  for (let t = 0; t < days.length; t++) {
    const splits = basis.countInForce(days[t]!)
    if (usable[t] !== reportsRead || splits !== splitsCounted) {
      for (; reportsRead < usable[t]!; reportsRead++) {
        const report = reports.records[reportsRead]!
        if (!latestByEnd.has(report.period_end)) insertDescending(ends, report.period_end)
        latestByEnd.set(report.period_end, report)
      }
      splitsCounted = splits
      const chainReports = reportsToFirstGap(ends, latestByEnd)
      chain = chainReports.map(report => quarterFromReport(report, basis.splitsDividing(report, days[t]!)))
    }
    chains[t] = chain
  }
  return chains
}

/** Inserts the end of a quarter in order; it is nearly always the newest. */
function insertDescending(ends: Day[], end: Day): void {
  const firstEarlier = ends.findIndex(other => other < end)
  ends.splice(firstEarlier === -1 ? ends.length : firstEarlier, 0, end)
}

/** The latest report of each quarter, from the newest quarter back to the first gap; at most MAX_QUARTERS. */
function reportsToFirstGap(ends: readonly Day[], latest: ReadonlyMap<Day, Report>): Report[] {
  let length = Math.min(1, ends.length)
  while (length < Math.min(ends.length, MAX_QUARTERS)) {
    const gap = ends[length - 1]! - ends[length]!
    if (gap < leastGap || gap > mostGap) break
    length++
  }
  return ends.slice(0, length).map(end => latest.get(end)!)
}

/** A quarter from its report. @param splits whose ratios divide the filed values a share */
function quarterFromReport(report: Report, splits: readonly Split[]): Quarter {
  const divisor = splits.reduce((product, split) => product * split.ratio, 1)
  return {
    eps: report.eps === null ? Number.NaN : report.eps / divisor,
    revenue: report.revenue ?? Number.NaN,
    bookValue: report.book_value_ps === null ? Number.NaN : report.book_value_ps / divisor,
    report,
    splits,
  }
}

const QUARTERS_A_YEAR = 4

/** Sum of four quarters; NaN when one is missing. @param from how many newer quarters to skip */
export function sumOfYear(chain: Chain, figure: 'eps' | 'revenue', from = 0): number {
  let sum = 0
  for (let i = from; i < from + QUARTERS_A_YEAR; i++) sum += chain[i]?.[figure] ?? Number.NaN
  return sum
}

/** Revenue of four quarters / that of the four before, minus 1; NaN unless both are known and the latter positive. */
export function yearlyGrowth(chain: Chain): number {
  return relativeChange(sumOfYear(chain, 'revenue'), sumOfYear(chain, 'revenue', QUARTERS_A_YEAR))
}

/** Revenue of a quarter / that of four quarters earlier, minus 1; NaN unless the latter is positive. */
export function revenueGrowth(chain: Chain, from = 0): number {
  return relativeChange(chain[from]?.revenue ?? Number.NaN, chain[from + QUARTERS_A_YEAR]?.revenue ?? Number.NaN)
}

/** The change of EPS over four quarters / the size of the earlier EPS; NaN when that is unknown or too small. */
export function epsGrowth(chain: Chain, from = 0): number {
  const now = chain[from]?.eps ?? Number.NaN
  const earlier = chain[from + QUARTERS_A_YEAR]?.eps ?? Number.NaN
  const size = Math.abs(earlier)
  if (Number.isNaN(size) || compare(size, DEFINITIONS.directions.leastEps, 1) < 0) return Number.NaN
  return (now - earlier) / size
}

/** The change relative to an earlier value; NaN unless that is positive. */
function relativeChange(now: number, before: number): number {
  return before > 0 ? now / before - 1 : Number.NaN
}

/** Diluted earnings a share of the last four quarters / close (not adjusted for dividends); NaN where undefined. */
export function earningsYield(series: Series, facts: Facts, quarters = new Quarters(series, facts)): Float64Array {
  return divideByClose(series, quarters, chain => sumOfYear(chain, 'eps'))
}

/** Book value a share of the newest quarter / close; NaN where undefined. */
export function bookYield(series: Series, quarters: Quarters): Float64Array {
  return divideByClose(series, quarters, chain => chain[0]?.bookValue ?? Number.NaN)
}

/** A figure of the quarters at each bar, divided by its close as traded. */
function divideByClose(series: Series, quarters: Quarters, figure: (chain: Chain) => number): Float64Array {
  const figures = quarters.column(figure)
  const close = tradedClose(series)
  for (let t = 0; t < figures.length; t++) figures[t]! /= close[t]!
  return figures
}

/**
 * The split basis of a series. If prices jump at a split, they are not adjusted for it, and it divides values a share
 * from its day on. Otherwise prices are adjusted to the last bar's shares, and it divides values on all bars.
 */
export class SplitBasis {
  /** The splits up to the last bar, oldest first, and the first day from which each divides values a share. */
  readonly #splits: readonly { split: Split; dividesFrom: Day }[]

  constructor(series: Series, splits: readonly Split[]) {
    const last = series.days.at(-1) ?? Number.NEGATIVE_INFINITY
    const pastSplits = lastSplitPerDate(splits).filter(split => split.ex_date <= last)
    // Prices that do not jump at a split are adjusted for it on all bars.
    this.#splits = pastSplits.map(split => ({
      split,
      dividesFrom: pricesJumpAtSplit(series, split) ? split.ex_date : Number.NEGATIVE_INFINITY,
    }))
  }

  /** Number of splits that divide, on the bar of a day, values that were filed before all splits. */
  countInForce(day: Day): number {
    let count = 0
    for (const { dividesFrom } of this.#splits) if (dividesFrom <= day) count++
    return count
  }

  /** The splits whose ratios divide a report's values a share on the bar of a day, in order. */
  splitsDividing({ basis, known }: Report, day: Day): readonly Split[] {
    if (basis === 'bars') return []
    const dividing = this.#splits.filter(({ split, dividesFrom }) => split.ex_date > known && dividesFrom <= day)
    return dividing.map(({ split }) => split)
  }
}

/** The splits by date, one a date: the last one in the list. */
function lastSplitPerDate(splits: readonly Split[]): Split[] {
  const byDate = new Map(splits.map(split => [split.ex_date, split]))
  return [...byDate.values()].sort((a, b) => a.ex_date - b.ex_date)
}

/** Whether prices fall by the ratio on the split's day, rather than hardly move: they are then not adjusted for it. */
function pricesJumpAtSplit(series: Series, { ex_date, ratio }: Split): boolean {
  const t = series.days.findIndex(day => day >= ex_date)
  if (t <= 0) return false
  const close = tradedClose(series)
  const fall = Math.log(close[t - 1]! / close[t]!)
  return Math.abs(fall - Math.log(ratio)) < Math.abs(fall)
}

/**
 * Records of one kind in the order in which they become usable, so that the last usable one is the latest. Ties: the
 * date on which they became known, then the input order.
 */
export class Timeline<Item> {
  readonly records: readonly Item[]
  /** The first date on whose bar each record counts; ascending. */
  readonly usable: Int32Array

  /** @param when the date on which a record became known, and its session */
  constructor(records: readonly Item[], when: (record: Item) => { known: Day; session?: Session }) {
    const dated = records.map(record => ({ record, known: when(record).known, usable: firstUsableDay(when(record)) }))
    dated.sort((a, b) => a.usable - b.usable || a.known - b.known)
    this.records = dated.map(({ record }) => record)
    this.usable = Int32Array.from(dated, ({ usable }) => usable)
  }

  /** Number of usable records on each of the ascending days, or `daysEarlier` days before each. */
  counts(days: Int32Array, daysEarlier = 0): Int32Array {
    const counts = new Int32Array(days.length)
    let count = 0
    for (let t = 0; t < days.length; t++) {
      while (count < this.usable.length && this.usable[count]! <= days[t]! - daysEarlier) count++
      counts[t] = count
    }
    return counts
  }

  /** The latest usable record on each ascending day, or `daysEarlier` days before it; undefined before the first. */
  latest(days: Int32Array, daysEarlier = 0): (Item | undefined)[] {
    const counts = this.counts(days, daysEarlier)
    const latest = new Array<Item | undefined>(days.length)
    for (let t = 0; t < latest.length; t++) latest[t] = this.records[counts[t]! - 1]
    return latest
  }
}
