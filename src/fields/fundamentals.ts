import { type Ranks, rollingRanks } from '../indicators/rank.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { EarningsResult, Facts } from '../model/facts.js'
import type { Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/timeframe.js'
import { epsGrowth, revenueGrowth, yearlyGrowth } from './facts/figures.js'
import { type Dealings, dealings } from './facts/insiders.js'
import { type NextReport, nextReports } from './facts/next-report.js'
import { type Consensus, consensuses } from './facts/opinions.js'
import { type Peers, peersOf } from './facts/peers.js'
import { Quarters } from './facts/quarters.js'
import { Timeline } from './facts/timeline.js'
import { bookYield, earningsYield } from './facts/yields.js'
import { once } from './once.js'
import type { SectorView } from './sector.js'

/** A rate of growth at the newest quarter, and the same one quarter before. */
export interface GrowthRates {
  now: Float64Array
  before: Float64Array
}

/**
 * What is known of a company at each bar of its series, each figure computed once, when it is first asked for. Columns
 * are as long as the series, NaN where undefined; a value of bar t uses the facts that are usable on its date.
 */
export class Fundamentals {
  readonly series: Series
  readonly #facts: Facts
  readonly #sector: SectorView | null
  readonly #once = once()

  constructor(series: Series, facts: Facts, sector: SectorView | null) {
    this.series = series
    this.#facts = facts
    this.#sector = sector
  }

  get quarters(): Quarters {
    return this.#once('quarters', () => new Quarters(this.series, this.#facts))
  }

  /** Earnings of four quarters a share over the close. */
  get yield(): Float64Array {
    return this.#once('yield', () => earningsYield(this.series, this.#facts, this.quarters))
  }

  /** Rolling ranks of the negated yield: dear is high. */
  get yieldRanks(): Ranks {
    return this.#once('yieldRanks', () => this.#ranks(this.yield))
  }

  /** Book value a share over the close. */
  get bookYield(): Float64Array {
    return this.#once('bookYield', () => bookYield(this.series, this.quarters))
  }

  get bookRanks(): Ranks {
    return this.#once('bookRanks', () => this.#ranks(this.bookYield))
  }

  /** Whether the ticker has a sector to be compared with. */
  get hasSector(): boolean {
    return this.#sector !== null
  }

  get peers(): Peers {
    return this.#once('peers', () => peersOf(this.yield, this.#sector))
  }

  /** Revenue of four quarters over that of the four before, minus 1. */
  get growth(): Float64Array {
    return this.#once('growth', () => this.quarters.column(yearlyGrowth))
  }

  get revenueGrowth(): GrowthRates {
    return this.#once('revenueGrowth', () => ({
      now: this.quarters.column(chain => revenueGrowth(chain)),
      before: this.quarters.column(chain => revenueGrowth(chain, 1)),
    }))
  }

  get epsGrowth(): GrowthRates {
    return this.#once('epsGrowth', () => ({
      now: this.quarters.column(chain => epsGrowth(chain)),
      before: this.quarters.column(chain => epsGrowth(chain, 1)),
    }))
  }

  /** Reports against what was expected, in the order in which they became usable, and how many were so at each bar. */
  get earnings(): { timeline: Timeline<EarningsResult>; usable: Int32Array } {
    return this.#once('earnings', () => {
      const timeline = new Timeline(this.#facts.earnings, ({ report_date, session }) => ({
        known: report_date,
        session,
      }))
      return { timeline, usable: timeline.counts(this.series.days) }
    })
  }

  get nextReports(): NextReport[] {
    const { schedule } = this.#facts
    return this.#once('nextReports', () => nextReports(this.series.days, schedule, this.earnings.timeline))
  }

  /** The analysts' opinion in force on each bar's date, and on the date 90 days earlier; undefined before the first. */
  get consensus(): { now: (Consensus | undefined)[]; before: (Consensus | undefined)[] } {
    return this.#once('consensus', () => {
      const timeline = consensuses(this.#facts)
      const inForce = (ago: number): (Consensus | undefined)[] =>
        Array.from(timeline.counts(this.series.days, ago), count => timeline.records[count - 1])
      return { now: inForce(0), before: inForce(DEFINITIONS.consensus.lookback) }
    })
  }

  /** Insiders' trades of the last 90 days; null before the first trade ever. */
  get dealings(): (Dealings | null)[] {
    return this.#once('dealings', () => dealings(this.series.days, this.#facts.insiders))
  }

  #ranks(yields: Float64Array): Ranks {
    const { history, minHistory } = TIMEFRAMES[this.series.timeframe]
    return rollingRanks(
      yields.map(value => -value),
      history,
      minHistory,
    )
  }
}
