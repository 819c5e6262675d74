/** Section 2: the nine technical fields and their vocabularies; one band a bar, null where undefined. */
import type { Bar, Timeframe } from './bars.js'
import { type Column, type Indicators, indicators, rollingRanks } from './indicators.js'
import { levels } from './levels.js'
import { above, below, signOf, zone, zoneOfRank } from './tolerance.js'

export const FIELDS = {
  rsi_zone: ['deep_oversold', 'oversold', 'neutral_low', 'neutral', 'neutral_high', 'overbought', 'deep_overbought'],
  trend_direction: ['strong_downtrend', 'downtrend', 'neutral', 'uptrend', 'strong_uptrend'],
  ma_alignment: ['aligned_bearish', 'mixed', 'aligned_bullish'],
  volume_ratio_band: ['extremely_low', 'low', 'normal', 'above_average', 'high', 'extremely_high'],
  accumulation_state: ['strong_distribution', 'distribution', 'neutral', 'accumulation', 'strong_accumulation'],
  volatility_regime: ['low', 'normal', 'above_normal', 'high', 'extreme'],
  macd_state: ['expanding_negative', 'contracting_negative', 'contracting_positive', 'expanding_positive'],
  support_status: ['intact', 'approaching', 'breached'],
  resistance_status: ['intact', 'approaching', 'breached'],
} as const

export type FieldName = keyof typeof FIELDS

type Bands = (string | null)[]

/** The bars are already of that timeframe. `known` are their indicators, where they have been computed before. */
export function bands(bars: Bar[], timeframe: Timeframe, field: FieldName, known?: Indicators): Bands {
  const given = known ?? indicators(bars, timeframe)
  switch (field) {
    case 'rsi_zone':
      return given.rsi.map(x => (x === null ? null : zone(x, [20, 30, 40, 60, 70, 80], FIELDS.rsi_zone, 100)))
    case 'trend_direction':
      return bars.map(({ close }, t) => trendDirection(close, given, t))
    case 'ma_alignment':
      return bars.map(({ close }, t) => maAlignment(close, given, t))
    case 'volume_ratio_band':
      return given.volume_ratio.map(x =>
        x === null ? null : zone(x, [0.3, 0.7, 1.5, 2.5, 4.0], FIELDS.volume_ratio_band, 1),
      )
    case 'accumulation_state':
      return rollingZones(given.adl_slope, timeframe, [10, 30, 70, 90], FIELDS.accumulation_state)
    case 'volatility_regime':
      return rollingZones(given.natr, timeframe, [20, 60, 80, 95], FIELDS.volatility_regime)
    case 'macd_state':
      return macdState(bars, given)
    case 'support_status':
      return levels(bars, given.atr, timeframe, 'support').map(state => state.band)
    case 'resistance_status':
      return levels(bars, given.atr, timeframe, 'resistance').map(state => state.band)
  }
}

function rollingZones(x: Column, timeframe: Timeframe, cuts: number[], names: readonly string[]): Bands {
  return rollingRanks(x, timeframe).map(of => (of === null ? null : zoneOfRank(of, cuts, names)))
}

function trendDirection(close: number, given: Indicators, t: number): string | null {
  const sma20 = given.sma20[t]!
  const sma50 = given.sma50[t]!
  const sma200 = given.sma200[t]!
  const slope20 = given.slope20[t]!
  if (sma20 === null || sma50 === null || sma200 === null || slope20 === null) return null
  const a = signOf(close, sma20) + signOf(close, sma50) + signOf(close, sma200)
  const g = signOf(slope20, 0, 1)
  if (a === 3 && g > 0) return 'strong_uptrend'
  if (a === -3 && g < 0) return 'strong_downtrend'
  if (a === 3 || (a >= 1 && g > 0)) return 'uptrend'
  if (a === -3 || (a <= -1 && g < 0)) return 'downtrend'
  return 'neutral'
}

function maAlignment(close: number, given: Indicators, t: number): string | null {
  const sma20 = given.sma20[t]!
  const sma50 = given.sma50[t]!
  const sma200 = given.sma200[t]!
  if (sma20 === null || sma50 === null || sma200 === null) return null
  if (above(close, sma20) && above(sma20, sma50) && above(sma50, sma200)) return 'aligned_bullish'
  if (below(close, sma20) && below(sma20, sma50) && below(sma50, sma200)) return 'aligned_bearish'
  return 'mixed'
}

function macdState(bars: Bar[], given: Indicators): Bands {
  let sign = 0
  return bars.map(({ close }, t) => {
    const macd = given.macd[t]!
    const signal = given.signal[t]!
    if (macd === null || signal === null) return null
    const difference = signOf(macd, signal, close)
    if (difference !== 0) sign = difference
    if (sign === 0) return null
    const growth = above(Math.abs(macd), Math.abs(given.macd[t - 1]!), close) ? 'expanding' : 'contracting'
    return sign > 0 ? `${growth}_positive` : `${growth}_negative`
  })
}
