import { describe, expect, it } from 'vitest'
import { rankZones, zonesByBar } from '../../src/core/fields/field.js'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { resistance, support } from '../../src/core/indicators/levels.js'
import { DEFINITIONS } from '../../src/core/model/definitions.js'
import { opinionOf } from '../../src/core/model/facts.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import { series } from '../support/bars.js'
import { seriesOf } from '../support/convert.js'
import type { Bar } from '../support/oracle/index.js'
import {
  bandsOf as bandsKnown,
  barsOn,
  counts,
  everyDay,
  facts,
  grade,
  lastBand as lastKnown,
  on,
  trade,
} from './made-facts.js'

/** Band of a field on the last bar. */
function lastBand(name: string, bars: Bar[]): string | null {
  const field = BUILT_IN_FIELDS.named(name)!
  const code = field.classify(new Panel(seriesOf(bars))).at(-1)!
  return code === UNDEFINED ? null : field.bands[code]!
}

const bandsOf = (name: string): readonly string[] => BUILT_IN_FIELDS.named(name)!.bands

describe('rsi_zone, tolerance 1e-8', () => {
  // One rise of g and one fall of 100 - g among 14 changes: RSI = 100 g / 100.
  const withRsi = (rsi: number) => series([1000, 1000 + rsi, ...Array(13).fill(1000 + rsi - (100 - rsi))])

  it.each(DEFINITIONS.rsi.cuts.map((cut, i) => [cut, i] as const))('cut %d', (cut, i) => {
    const [under, upper] = bandsOf('rsi_zone').slice(i)
    expect(lastBand('rsi_zone', withRsi(cut - 1))).toBe(under)
    expect(lastBand('rsi_zone', withRsi(cut - 1.1e-8))).toBe(under)
    expect(lastBand('rsi_zone', withRsi(cut - 0.9e-8))).toBe(upper)
    expect(lastBand('rsi_zone', withRsi(cut))).toBe(upper)
    expect(lastBand('rsi_zone', withRsi(cut + 1))).toBe(upper)
  })
})

describe('volume_ratio_band, tolerance 1e-10', () => {
  const withRatio = (ratio: number) =>
    series(Array(51).fill(50)).map((bar, t) => ({ ...bar, volume: t === 50 ? ratio : 1 }))

  it.each(DEFINITIONS.volumeRatio.cuts.map((cut, i) => [cut, i] as const))('cut %d', (cut, i) => {
    const [under, upper] = bandsOf('volume_ratio_band').slice(i)
    expect(lastBand('volume_ratio_band', withRatio(cut - 1.1e-10))).toBe(under)
    expect(lastBand('volume_ratio_band', withRatio(cut - 0.9e-10))).toBe(upper)
    expect(lastBand('volume_ratio_band', withRatio(cut))).toBe(upper)
  })
})

describe('percentile zones are compared in integers', () => {
  it.each([
    ['accumulation_state', DEFINITIONS.accumulation.cuts],
    ['volatility_regime', DEFINITIONS.volatility.cuts],
    ['the aftermath', DEFINITIONS.performance.cuts],
  ] as const)('%s', (_, cuts) => {
    cuts.forEach((cut, i) => {
      // Of 1,000: percentile = rank / 20, so the cut is at rank 20 · cut.
      const rank = Int32Array.of(20 * cut - 1, 20 * cut, 20 * cut + 1, -1)
      expect([...rankZones({ rank, size: Int32Array.of(1000, 1000, 1000, 0) }, cuts)]).toEqual([
        i,
        i + 1,
        i + 1,
        UNDEFINED,
      ])
    })
  })

  it('is exact where a division is not', () => {
    // 100 · 0.57 is 56.99999999999999; 57 of 100 below is the cut itself.
    expect([...rankZones({ rank: Int32Array.of(114), size: Int32Array.of(100) }, [57])]).toEqual([1])
  })

  it('zones of numbers hold [lower, upper)', () => {
    expect([...zonesByBar(Float64Array.of(-5, 0, 1, 2, 3, Number.NaN), [0, 2], 1)]).toEqual([0, 1, 1, 2, 2, UNDEFINED])
  })
})

describe('trend_direction and ma_alignment after 200 flat bars of 100 and one step', () => {
  const stepped = (step: number) => series([...Array(200).fill(100), 100 + step])

  it.each([
    // Above SMA 20 by 19/20 of the step: equal up to 1e-8. The slope is 9.5 / 665 of the relative step: flat up to 1e-10.
    [1.0e-8, 'neutral', 'neutral'],
    [1.1e-8, 'uptrend', 'downtrend'],
    [6.9e-7, 'uptrend', 'downtrend'],
    [7.1e-7, 'strong_uptrend', 'strong_downtrend'],
    [1, 'strong_uptrend', 'strong_downtrend'],
  ])('trend of a step of %d', (step, up, down) => {
    expect(lastBand('trend_direction', stepped(step))).toBe(up)
    expect(lastBand('trend_direction', stepped(-step))).toBe(down)
  })

  it.each([
    // SMA 50 stands above SMA 200 by (1/50 - 1/200) of the step: equal up to 1e-8, a step of 6.67e-7.
    [6.6e-7, 'mixed', 'mixed'],
    [6.8e-7, 'aligned_bullish', 'aligned_bearish'],
  ])('alignment of a step of %d', (step, up, down) => {
    expect(lastBand('ma_alignment', stepped(step))).toBe(up)
    expect(lastBand('ma_alignment', stepped(-step))).toBe(down)
  })
})

describe('macd_state after a flat start', () => {
  // The first bar after a step: MACD = (2/13 - 2/27) · step, its signal a fifth of that; both in units of a close of 100.
  const stepped = (...steps: number[]) => series([...Array(60).fill(100), ...steps.map(step => 100 + step)])
  const part = (2 / 13 - 2 / 27) * 0.8

  it('has no sign until MACD leaves its signal by 1e-10 of the close', () => {
    expect(lastBand('macd_state', stepped(0))).toBeNull()
    expect(lastBand('macd_state', stepped(0.98e-8 / part))).toBeNull()
    expect(lastBand('macd_state', stepped(1.02e-8 / part))).toBe('expanding_positive')
    expect(lastBand('macd_state', stepped(-1.02e-8 / part))).toBe('expanding_negative')
  })

  it('keeps the last sign while the lines are equal, and calls no growth contracting', () => {
    const bandAfter = (bars: number) => lastBand('macd_state', stepped(1, ...Array(bars).fill(1)))
    expect(bandAfter(8)).toBe('expanding_positive')
    expect(bandAfter(9)).toBe('contracting_positive')
    // Long after the step both lines are 0 within the tolerance; below its signal MACD went in between.
    expect(bandAfter(900)).toBe('contracting_negative')
  })
})

describe('support and resistance', () => {
  // A pivot low of 17 at bar 2, known at bar 4; ATR 2; scale of the close, 19: tolerance 1.9e-9 (1.7e-9 where it is 17).
  const low = Float64Array.of(19, 18, 17, 18, 20, 21)
  const rules = { reach: 2, lookback: 10, approachingAtr: 1, breaches: 3 }
  const atr = new Float64Array(6).fill(2)

  it.each([
    [19 + 2.1e-9, 0],
    [19 + 1.5e-9, 1],
    [19, 1],
    [17, 1],
    [17 - 1.5e-9, 1],
    [17 - 2.1e-9, 2],
    [16, 2],
  ])('a last close of %d', (last, state) => {
    const close = Float64Array.of(20, 19, 18, 19, 21, last)
    expect(support(low, close, atr, rules).state[5]).toBe(state)
    const flip = (values: Float64Array): Float64Array => values.map(value => 36 - value)
    // Closes of 17 to 19 turned over at 36 have about the same tolerance.
    expect(resistance(flip(low), flip(close), atr, rules).state[5]).toBe(state)
  })
})

/** What random records do not reach. */
describe('analysts and insiders', () => {
  it('have a mean with a tolerance of 1e-10 at its cuts', () => {
    // n analysts of each, one changed over: 4.5 − 1 / 2n, that is 0.5e-10 and 2e-10 under the cut.
    const consensus = (strong: number, buy: number) =>
      lastKnown(
        'analyst_consensus',
        barsOn(['2018-03-01']),
        facts({ ratings: [counts('2018-03-01', [strong, buy, 0, 0, 0])] }),
      )
    expect(consensus(1e10 - 1, 1e10 + 1)).toBe('strong_buy')
    expect(consensus(2.5e9 - 1, 2.5e9 + 1)).toBe('buy')
  })

  it.each(['', 'Not Rated', 'buys', 'strong-buy', 'constructor'])('have no opinion by the grade %j', word => {
    expect(opinionOf(word)).toBeNull()
  })

  it('go by the latest of grades and counts, on one date by the counts', () => {
    const grades = ['Alpha', 'Beta', 'Gamma'].map(firm => grade('2018-03-02', firm, 'Buy'))
    const held = { ...counts('2018-03-02', [0, 0, 3, 0, 0]), session: null }
    const bands = (known: string) =>
      bandsKnown(
        'analyst_consensus',
        everyDay('2018-03-02', 3),
        facts({ grades, ratings: [{ ...held, known: on(known) }] }),
      )
    expect(bands('2018-03-01')).toEqual(['hold', 'buy', 'buy'])
    expect(bands('2018-03-02')).toEqual([null, 'hold', 'hold'])
    expect(bands('2018-03-03')).toEqual([null, 'buy', 'hold'])
  })

  // 0.1 + 0.2 + 0.3 - 0.6 is 1.1e-16 or 0 in doubles, as the order wants it.
  it.each([[[0.1, 0.2, 0.3, -0.6]], [[-0.6, 0.3, 0.2, 0.1]], [[0.3, -0.6, 0.1, 0.2]]])(
    'take parts of shares that add up to nothing for nothing: %j',
    parts => {
      const insiders = parts.map(shares => trade('2018-03-01', 'A', shares))
      expect(lastKnown('net_direction', barsOn(['2018-03-01']), facts({ insiders }))).toBe('neutral')
    },
  )
})
