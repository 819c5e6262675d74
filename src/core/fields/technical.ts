import { LEVEL_STATES } from '../indicators/levels.js'
import { compare } from '../indicators/rank.js'
import { DEFINITIONS } from '../model/definitions.js'
import { UNDEFINED } from '../model/series.js'
import { TIMEFRAMES } from '../model/terms.js'
import {
  codesByBar,
  cutsInWords,
  type Field,
  type Reading,
  rankReading,
  rankZones,
  reading,
  zonesByBar,
} from './field.js'
import type { Panel } from './panel.js'

/** Fields from bars only, in the order of the specification. */

const { rsi, averages, volumeRatio, accumulation, atr, volatility, macd, levels } = DEFINITIONS

const RSI_BANDS = [
  'deep_oversold',
  'oversold',
  'neutral_low',
  'neutral',
  'neutral_high',
  'overbought',
  'deep_overbought',
] as const

export const rsiZone: Field<(typeof RSI_BANDS)[number]> = {
  name: 'rsi_zone',
  tier: 'free',
  needs: 'bars',
  bands: RSI_BANDS,
  summary: 'relative strength index, from deeply oversold to deeply overbought',
  rule: `RSI = 100·u/(u+d), u and d Wilder ${rsi.length} of the rises and falls between closes, seeded with the mean of the first ${rsi.length}; ${cutsInWords(RSI_BANDS, rsi.cuts)}`,
  warmUp: () => rsi.length,
  classify: panel => zonesByBar(panel.rsi(), rsi.cuts, 100, panel.from),
  readings: (panel, t) => [reading('close', panel.series.close[t]), reading('rsi', panel.rsi()[t])],
}

const { short, middle, long } = averages

export const trendDirection: Field = {
  name: 'trend_direction',
  tier: 'free',
  needs: 'bars',
  bands: ['strong_downtrend', 'downtrend', 'neutral', 'uptrend', 'strong_uptrend'],
  summary: 'where the close stands to its averages, and which way the last month points',
  rule: `a = signs of close - SMA ${short}, ${middle}, ${long} added up; g = sign of the slope of ln close over ${DEFINITIONS.slope.length} bars; strong_uptrend: a = 3 and g > 0; strong_downtrend: a = -3 and g < 0; uptrend: a = 3, or a ≥ 1 and g > 0; downtrend: a = -3, or a ≤ -1 and g < 0; otherwise neutral`,
  warmUp: () => long - 1,
  classify: panel => {
    const [close, ofShort, ofMiddle, ofLong] = closeAndAverages(panel)
    const slope = panel.slope()
    return codesByBar(close.length, Math.max(panel.from, long - 1), t => {
      const c = close[t]!
      const position = compare(c, ofShort[t]!) + compare(c, ofMiddle[t]!) + compare(c, ofLong[t]!)
      return NEUTRAL + stepsFromNeutral(position, compare(slope[t]!, 0, 1))
    })
  },
  readings: (panel, t) => [...averageReadings(panel, t), reading('slope20', panel.slope()[t], 'of ln close, a bar')],
}

/** Index among the five bands of the trend. */
const NEUTRAL = 2

/**
 * Steps of the trend's band from neutral: 2 strongly up .. -2 strongly down.
 * @param position signs of close - average of the three averages added up, -3..3 @param slope the sign of the slope
 */
function stepsFromNeutral(position: number, slope: number): number {
  if (position === 3) return slope > 0 ? 2 : 1
  if (position === -3) return slope < 0 ? -2 : -1
  if (position >= 1 && slope > 0) return 1
  return position <= -1 && slope < 0 ? -1 : 0
}

export const maAlignment: Field = {
  name: 'ma_alignment',
  tier: 'free',
  needs: 'bars',
  bands: ['aligned_bearish', 'mixed', 'aligned_bullish'],
  summary: 'whether close and averages are in one order',
  rule: `aligned_bullish: close > SMA ${short} > SMA ${middle} > SMA ${long}; aligned_bearish: the other way round; otherwise mixed`,
  warmUp: () => long - 1,
  classify: panel => {
    const [close, ofShort, ofMiddle, ofLong] = closeAndAverages(panel)
    return codesByBar(close.length, Math.max(panel.from, long - 1), t => {
      const steps =
        compare(close[t]!, ofShort[t]!) + compare(ofShort[t]!, ofMiddle[t]!) + compare(ofMiddle[t]!, ofLong[t]!)
      // All three steps must go the same way.
      return Math.abs(steps) === 3 ? MIXED + Math.sign(steps) : MIXED
    })
  },
  readings: averageReadings,
}

/** Index among the three bands of the alignment. */
const MIXED = 1

function closeAndAverages({ series, smaShort, smaMiddle, smaLong }: Panel) {
  return [series.close, smaShort(), smaMiddle(), smaLong()] as const
}

function averageReadings(panel: Panel, t: number): Reading[] {
  const names = ['close', `sma${short}`, `sma${middle}`, `sma${long}`]
  return closeAndAverages(panel).map((column, i) => reading(names[i]!, column[t]))
}

const VOLUME_BANDS = ['extremely_low', 'low', 'normal', 'above_average', 'high', 'extremely_high'] as const

export const volumeRatioBand: Field = {
  name: 'volume_ratio_band',
  tier: 'free',
  needs: 'bars',
  usesVolume: true,
  bands: VOLUME_BANDS,
  summary: "today's volume against the mean of the bars before it",
  rule: `volume / mean volume of the ${volumeRatio.length} bars before; undefined when one of them is unknown or fewer than ${volumeRatio.minPositive} are positive; ${cutsInWords(VOLUME_BANDS, volumeRatio.cuts)}`,
  warmUp: () => volumeRatio.length,
  classify: panel => zonesByBar(panel.volumeRatio(), volumeRatio.cuts, 1, panel.from),
  readings: (panel, t) => [reading('volume', panel.series.volume[t]), reading('volume_ratio', panel.volumeRatio()[t])],
}

const ACCUMULATION_BANDS = [
  'strong_distribution',
  'distribution',
  'neutral',
  'accumulation',
  'strong_accumulation',
] as const

export const accumulationState: Field = {
  name: 'accumulation_state',
  tier: 'free',
  needs: 'bars',
  usesVolume: true,
  bands: ACCUMULATION_BANDS,
  summary: 'whether volume has gone with the buyers or the sellers, against its own history',
  rule: `slope of the accumulation/distribution line over ${accumulation.length} bars by their mean volume (at least ${accumulation.minPositive} volumes positive); its rolling percentile: ${cutsInWords(ACCUMULATION_BANDS, accumulation.cuts)}`,
  warmUp: ({ series }) => accumulation.length - 1 + TIMEFRAMES[series.timeframe].minHistory - 1,
  classify: panel => rankZones(panel.accumulationRanks(), accumulation.cuts, panel.from),
  readings: (panel, t) => [
    reading('volume', panel.series.volume[t]),
    reading('adl_slope', panel.accumulation()[t]),
    rankReading('adl_pct', panel.accumulationRanks(), t),
  ],
}

const VOLATILITY_BANDS = ['low', 'normal', 'above_normal', 'high', 'extreme'] as const

export const volatilityRegime: Field = {
  name: 'volatility_regime',
  tier: 'free',
  needs: 'bars',
  bands: VOLATILITY_BANDS,
  summary: 'how wide the bars are against their own history',
  rule: `NATR = ATR ${atr.length} (Wilder) / close; its rolling percentile: ${cutsInWords(VOLATILITY_BANDS, volatility.cuts)}`,
  warmUp: ({ series }) => atr.length + TIMEFRAMES[series.timeframe].minHistory - 1,
  classify: panel => rankZones(panel.natrRanks(), volatility.cuts, panel.from),
  readings: (panel, t) => [
    reading('atr', panel.atr()[t]),
    reading('natr', panel.natr()[t]),
    rankReading('natr_pct', panel.natrRanks(), t),
  ],
}

const MACD_BANDS = ['expanding_negative', 'contracting_negative', 'contracting_positive', 'expanding_positive'] as const
const EXPANDING_NEGATIVE = 0
const CONTRACTING_NEGATIVE = 1
const CONTRACTING_POSITIVE = 2
const EXPANDING_POSITIVE = 3
const macdWarmUp = macd.slow + macd.signal - 2

export const macdState: Field = {
  name: 'macd_state',
  tier: 'free',
  needs: 'bars',
  bands: MACD_BANDS,
  summary: 'on which side of its signal line MACD is, and whether it grows',
  rule: `MACD = EMA ${macd.fast} - EMA ${macd.slow} of the close, signal = EMA ${macd.signal} of MACD, each seeded with the mean of its first values; positive above the signal, negative below, unchanged when equal; expanding when |MACD| is above the bar before, otherwise contracting`,
  warmUp: () => macdWarmUp,
  classify: panel => {
    const { from, series } = panel
    const { close } = series
    const { macd: line, signal } = panel.macd()
    /** 1 above the signal, -1 below, 0 where the lines meet. */
    const sideOn = (t: number): number => compare(line[t]!, signal[t]!, close[t]!)
    // When the lines meet the last side remains: a touch is no crossing. Here: the last side before the first bar.
    let side = 0
    for (let t = Math.min(from, line.length) - 1; side === 0 && t >= macdWarmUp; t--) side = sideOn(t)
    return codesByBar(line.length, Math.max(from, macdWarmUp), t => {
      side = sideOn(t) || side
      if (side === 0) return UNDEFINED
      const grows = compare(Math.abs(line[t]!), Math.abs(line[t - 1]!), close[t]!) > 0
      if (side > 0) return grows ? EXPANDING_POSITIVE : CONTRACTING_POSITIVE
      return grows ? EXPANDING_NEGATIVE : CONTRACTING_NEGATIVE
    })
  },
  readings: (panel, t) => [
    reading('macd', panel.macd().macd[t]),
    reading('macd_before', panel.macd().macd[t - 1]),
    reading('signal', panel.macd().signal[t]),
  ],
}

export const supportStatus = levelField('support', {
  summary: 'how the close stands to the nearest pivot low that is not above it',
  rule: `level = the highest pivot low in sight that is not above the previous close; breached: close below it (given up after ${levels.breaches} such closes in a row); approaching: close - level ≤ ${levels.approachingAtr} ATR; otherwise intact`,
})

export const resistanceStatus = levelField('resistance', {
  summary: 'how the close stands to the nearest pivot high that is not below it',
  rule: `level = the lowest pivot high in sight that is not below the previous close; breached: close above it (given up after ${levels.breaches} such closes in a row); approaching: level - close ≤ ${levels.approachingAtr} ATR; otherwise intact`,
})

/** The field for the state of the close relative to a level. @param words about it */
function levelField(level: 'support' | 'resistance', words: Pick<Field, 'summary' | 'rule'>): Field {
  return {
    name: `${level}_status`,
    tier: 'free',
    needs: 'bars',
    bands: LEVEL_STATES,
    ...words,
    // Needs an ATR, and a pivot with enough bars before and after it.
    warmUp: ({ series }) => Math.max(atr.length, 2 * TIMEFRAMES[series.timeframe].pivotReach),
    classify: panel => panel[level]().state,
    readings: (panel, t) => [
      reading('close', panel.series.close[t]),
      reading(`${level}_level`, panel[level]().level[t]),
      reading('atr', panel.atr()[t]),
    ],
  }
}
