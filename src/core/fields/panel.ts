import { atr, macd, natr, rsi, slope, sma } from '../indicators/averages.js'
import { logarithms } from '../indicators/columns.js'
import { type LevelRules, resistance, support } from '../indicators/levels.js'
import { percentile, type Ranks, rollingRanks } from '../indicators/rank.js'
import { accumulationSlope, volumeRatio } from '../indicators/volume.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import type { Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import { Fundamentals, lazily, type SectorView } from './fundamentals.js'

/**
 * The indicators of one series at the lengths of the definitions; each is computed on first use. Columns are as long as
 * the series, NaN where undefined; a value of bar t uses bars up to t.
 * With a first bar, columns are arbitrary before it, except for running values.
 */
export class Panel {
  readonly series: Series
  /** The data from dated facts; null without facts (crypto, ETFs). */
  readonly fundamentals: Fundamentals | null
  /** The first bar whose bands are needed. */
  readonly from: number

  readonly rsi = lazily(() => rsi(this.series.close, DEFINITIONS.rsi.length))
  readonly smaShort = lazily(() => sma(this.series.close, DEFINITIONS.averages.short))
  readonly smaMiddle = lazily(() => sma(this.series.close, DEFINITIONS.averages.middle))
  readonly smaLong = lazily(() => sma(this.series.close, DEFINITIONS.averages.long))
  /** Slope of the logarithm of the close, per bar. */
  readonly slope = lazily(() => {
    const { length } = DEFINITIONS.slope
    return slope(logarithms(this.series.close, this.from - length + 1), length, this.from)
  })
  readonly macd = lazily(() => macd(this.series.close, DEFINITIONS.macd))
  readonly atr = lazily(() => atr(this.series.high, this.series.low, this.series.close, DEFINITIONS.atr.length))
  /** ATR / close. */
  readonly natr = lazily(() => natr(this.atr(), this.series.close, this.#firstRanked))
  readonly natrRanks = lazily(() => this.#ranks(this.natr()))
  readonly volumeRatio = lazily(() => volumeRatio(this.series.volume, DEFINITIONS.volumeRatio, this.from))
  readonly accumulation = lazily(() => {
    const { high, low, close, volume } = this.series
    return accumulationSlope(high, low, close, volume, DEFINITIONS.accumulation, this.#firstRanked)
  })
  readonly accumulationRanks = lazily(() => this.#ranks(this.accumulation()))
  readonly support = lazily(() =>
    support(this.series.low, this.series.close, this.atr(), this.#levelRules(), this.from),
  )
  readonly resistance = lazily(() =>
    resistance(this.series.high, this.series.close, this.atr(), this.#levelRules(), this.from),
  )

  constructor(series: Series, facts: Facts | null = null, sector: SectorView | null = null, from = 0) {
    this.series = series
    this.from = from
    this.fundamentals = facts === null ? null : new Fundamentals(series, facts, sector)
  }

  /** The first bar of the ranked history. */
  get #firstRanked(): number {
    return this.from - TIMEFRAMES[this.series.timeframe].history + 1
  }

  #ranks(values: Float64Array): Ranks {
    const { history, minHistory } = TIMEFRAMES[this.series.timeframe]
    return rollingRanks(values, history, minHistory, this.from)
  }

  #levelRules(): LevelRules {
    const { pivotReach, pivotLookback } = TIMEFRAMES[this.series.timeframe]
    return { reach: pivotReach, lookback: pivotLookback, ...DEFINITIONS.levels }
  }
}

/** The columns of the indicators in an export, in its order. */
export const INDICATORS: readonly (readonly [name: string, column: (panel: Panel) => Float64Array])[] = [
  ['rsi', panel => panel.rsi()],
  ['atr', panel => panel.atr()],
  ['natr', panel => panel.natr()],
  ['natr_pct', panel => percentilesOf(panel.natrRanks())],
  ['macd', panel => panel.macd().macd],
  ['signal', panel => panel.macd().signal],
  ['sma20', panel => panel.smaShort()],
  ['sma50', panel => panel.smaMiddle()],
  ['sma200', panel => panel.smaLong()],
  ['slope20', panel => panel.slope()],
  ['volume_ratio', panel => panel.volumeRatio()],
  ['adl_slope', panel => panel.accumulation()],
  ['adl_pct', panel => percentilesOf(panel.accumulationRanks())],
  ['support_level', panel => panel.support().level],
  ['resistance_level', panel => panel.resistance().level],
]

/** The percentile of each bar, 0..100; NaN without a rank. */
function percentilesOf({ rank, size }: Ranks): Float64Array {
  return Float64Array.from(rank, (at, t) => percentile(at, size[t]!))
}
