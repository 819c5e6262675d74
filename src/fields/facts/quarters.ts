import type { Day } from '../../model/day.js'
import { DEFINITIONS } from '../../model/definitions.js'
import type { Facts, Report, Split } from '../../model/facts.js'
import type { Series } from '../../model/series.js'
import { SplitBasis } from './split-basis.js'
import { Timeline } from './timeline.js'

const { maxAge, leastGap, mostGap } = DEFINITIONS.quarters

/** No figure looks further back than the four quarters before the last four. */
const LONGEST = 8

/** One quarter as known at a bar; figures a share are on the split basis of that bar, NaN is an unknown figure. */
export interface Quarter {
  eps: number
  revenue: number
  bookValue: number
  report: Report
  /** The splits by whose ratios the filed figures a share were divided. */
  splits: readonly Split[]
}

/** Quarters one after the other, newest first, at most eight. */
export type Chain = readonly Quarter[]

/** The quarters known at each bar of a series. */
export class Quarters {
  readonly #days: Int32Array
  /** The newest quarters at each bar, however old; bars between two changes share one chain. */
  readonly #chains: Chain[]

  constructor(series: Series, { reports, splits }: Facts) {
    this.#days = series.days
    this.#chains = chains(series.days, new Timeline(reports, report => report), new SplitBasis(series, splits))
  }

  /** The chain that counts at a bar; empty when no quarter is known or the newest is too old. */
  at(t: number): Chain {
    const chain = this.#chains[t]!
    return chain.length > 0 && this.#age(t) <= maxAge ? chain : NONE
  }

  /** A figure of the chain at every bar. */
  column(figure: (chain: Chain) => number): Float64Array {
    const values = new Float64Array(this.#days.length)
    let last: Chain = NONE
    let value = figure(last)
    for (let t = 0; t < values.length; t++) {
      const chain = this.at(t)
      if (chain !== last) {
        last = chain
        value = figure(chain)
      }
      values[t] = value
    }
    return values
  }

  /** The newest quarter known at a bar and its age in days, even when it is too old to count; null without any. */
  newest(t: number): { quarter: Quarter; age: number } | null {
    const quarter = this.#chains[t]![0]
    return quarter === undefined ? null : { quarter, age: this.#age(t) }
  }

  #age(t: number): number {
    return this.#days[t]! - this.#chains[t]![0]!.report.period_end
  }
}

const NONE: Chain = []

function chains(days: Int32Array, versions: Timeline<Report>, basis: SplitBasis): Chain[] {
  const out = new Array<Chain>(days.length)
  const usable = versions.counts(days)
  const latest = new Map<Day, Report>()
  let counted = 0
  let inForce = 0
  let chain = NONE
  for (let t = 0; t < days.length; t++) {
    const splits = basis.inForce(days[t]!)
    if (usable[t] !== counted || splits !== inForce) {
      for (; counted < usable[t]!; counted++)
        latest.set(versions.records[counted]!.period_end, versions.records[counted]!)
      inForce = splits
      chain = newestFirst(latest).map(report => quarterOf(report, basis.dividing(report, days[t]!)))
    }
    out[t] = chain
  }
  return out
}

/** The latest version of each period, from the newest period back to the first gap. */
function newestFirst(latest: ReadonlyMap<Day, Report>): Report[] {
  const ends = Int32Array.from(latest.keys()).sort().reverse()
  let length = Math.min(1, ends.length)
  while (length < Math.min(ends.length, LONGEST)) {
    const gap = ends[length - 1]! - ends[length]!
    if (gap < leastGap || gap > mostGap) break
    length++
  }
  return Array.from(ends.subarray(0, length), end => latest.get(end)!)
}

function quarterOf(report: Report, splits: readonly Split[]): Quarter {
  const divisor = splits.reduce((product, split) => product * split.ratio, 1)
  return {
    eps: report.eps === null ? Number.NaN : report.eps / divisor,
    revenue: report.revenue ?? Number.NaN,
    bookValue: report.book_value_ps === null ? Number.NaN : report.book_value_ps / divisor,
    report,
    splits,
  }
}
