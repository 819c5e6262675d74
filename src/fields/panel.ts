import { atr, macd, natr, rsi, slope, sma } from '../indicators/averages.js'
import { logarithms } from '../indicators/columns.js'
import { type LevelRules, type Levels, resistance, support } from '../indicators/levels.js'
import { type Ranks, rollingRanks } from '../indicators/rank.js'
import { accumulationSlope, volumeRatio } from '../indicators/volume.js'
import { DEFINITIONS } from '../model/definitions.js'
import type { Facts } from '../model/facts.js'
import type { Series } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import { Fundamentals, once, type SectorView } from './fundamentals.js'

/**
 * The indicators of one series at the lengths of the definitions, each computed once, when it is first asked for.
 * All are columns as long as the series, NaN where undefined; a value of bar t uses bars up to t. Who asks for bars from
 * one of them on alone is spared the others, of which columns then tell nothing, but for those that go on from bar to bar.
 */
export class Panel {
  readonly series: Series
  /** The figures made of dated facts; null where there are no facts (crypto, ETFs). */
  readonly fundamentals: Fundamentals | null
  /** The first bar that bands of bars are asked of. */
  readonly from: number
  readonly #once = once()

  constructor(series: Series, facts: Facts | null = null, sector: SectorView | null = null, from = 0) {
    this.series = series
    this.from = from
    this.fundamentals = facts === null ? null : new Fundamentals(series, facts, sector)
  }

  get rsi(): Float64Array {
    return this.#once('rsi', () => rsi(this.series.close, DEFINITIONS.rsi.length))
  }

  get smaShort(): Float64Array {
    return this.#once('smaShort', () => sma(this.series.close, DEFINITIONS.averages.short))
  }

  get smaMiddle(): Float64Array {
    return this.#once('smaMiddle', () => sma(this.series.close, DEFINITIONS.averages.middle))
  }

  get smaLong(): Float64Array {
    return this.#once('smaLong', () => sma(this.series.close, DEFINITIONS.averages.long))
  }

  /** Slope of the logarithm of the close, per bar. */
  get slope(): Float64Array {
    const { length } = DEFINITIONS.slope
    return this.#once('slope', () => slope(logarithms(this.series.close, this.from - length + 1), length, this.from))
  }

  get macd(): { macd: Float64Array; signal: Float64Array } {
    return this.#once('macd', () => macd(this.series.close, DEFINITIONS.macd))
  }

  get atr(): Float64Array {
    const { high, low, close } = this.series
    return this.#once('atr', () => atr(high, low, close, DEFINITIONS.atr.length))
  }

  /** ATR over close. */
  get natr(): Float64Array {
    return this.#once('natr', () => natr(this.atr, this.series.close, this.#firstRanked))
  }

  get natrRanks(): Ranks {
    return this.#once('natrRanks', () => this.#ranks(this.natr))
  }

  get volumeRatio(): Float64Array {
    return this.#once('volumeRatio', () => volumeRatio(this.series.volume, DEFINITIONS.volumeRatio, this.from))
  }

  get accumulation(): Float64Array {
    const { high, low, close, volume } = this.series
    const slopes = () => accumulationSlope(high, low, close, volume, DEFINITIONS.accumulation, this.#firstRanked)
    return this.#once('accumulation', slopes)
  }

  get accumulationRanks(): Ranks {
    return this.#once('accumulationRanks', () => this.#ranks(this.accumulation))
  }

  get support(): Levels {
    const { low, close } = this.series
    return this.#once('support', () => support(low, close, this.atr, this.#levelRules(), this.from))
  }

  get resistance(): Levels {
    const { high, close } = this.series
    return this.#once('resistance', () => resistance(high, close, this.atr, this.#levelRules(), this.from))
  }

  /** The first bar among which values are ranked. */
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
