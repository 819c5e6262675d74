import { describe, expect, it } from 'vitest'
import { TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { PERFORMANCES } from '../../src/core/model/series.js'
import { dateOf, day, series } from '../support/bars.js'
import { dayAfter } from '../support/oracle/bars.js'
import type { Bar } from '../support/oracle/index.js'
import { expectSame, onRealBars, recording, shown, viewIn } from './drawn.js'

const NAMES = ['daily', 'weekly'] as const

describe('L1: a flat series', () => {
  it.each([0, 1])('rests in the middle of every field, high and low %d away from the close', range => {
    const flat = series(Array(1_600).fill(50)).map(bar => ({ ...bar, high: 50 + range, low: 50 - range }))
    const recorded = recording(flat)
    for (const timeframe of NAMES) {
      expect(lastBands(recorded, timeframe)).toEqual({
        rsi_zone: 'neutral',
        trend_direction: 'neutral',
        ma_alignment: 'mixed',
        volume_ratio_band: 'normal',
        accumulation_state: 'neutral',
        volatility_regime: 'normal',
        macd_state: null,
        support_status: null,
        resistance_status: null,
      })
      expect(Object.values(shown(recorded, timeframe)).flat()).toEqual([])
    }
  })
})

describe('L2, L3: a geometric rise and its mirror', () => {
  const rise = Array.from({ length: 700 }, (_, t) => 10 * 1.004 ** t)
  const mirrored = rise.map(close => 400 - close)

  it('a rise enters its bands once and stays', () => {
    expect(rise.at(-1)!).toBeLessThan(200)
    expectOnce(rise, {
      rsi_zone: 'deep_overbought',
      trend_direction: 'strong_uptrend',
      ma_alignment: 'aligned_bullish',
      macd_state: 'expanding_positive',
    })
  })

  it('the mirror enters the opposites', () => {
    expectOnce(mirrored, {
      rsi_zone: 'deep_oversold',
      trend_direction: 'strong_downtrend',
      ma_alignment: 'aligned_bearish',
      macd_state: 'expanding_negative',
    })
  })

  function expectOnce(closes: number[], bands: Record<string, string>): void {
    const recorded = recording(ranged(closes))
    expect(lastBands(recorded, 'daily')).toMatchObject(bands)
    const events = shown(recorded, 'daily')
    for (const field of Object.keys(bands)) expect(events[field], field).toEqual([])
  }
})

describe('L4: one step up in a flat series', () => {
  it('is one RSI event, and RSI is 100 for ever', () => {
    const recorded = recording(series([...Array(200).fill(50), ...Array(1_000).fill(51)]))
    const view = shown(recorded, 'daily').rsi_zone!
    expect(view).toMatchObject([
      {
        date: dateOf(200),
        band: 'deep_overbought',
        prev_band: 'neutral',
        duration: null,
        stability_at_entry: 'established',
      },
    ])
  })
})

describe('L5: one day of fivefold volume', () => {
  it('is extremely high for exactly one bar', () => {
    const bars = series(Array(200).fill(50)).map((bar, t) => ({ ...bar, volume: t === 120 ? 500 : 100 }))
    expect(shown(recording(bars), 'daily').volume_ratio_band).toMatchObject([
      { date: dateOf(120), band: 'extremely_high', prev_band: 'normal', duration: 1 },
      { date: dateOf(121), band: 'normal', prev_band: 'extremely_high', duration: null },
    ])
  })
})

describe('L6: zero returns among zero returns', () => {
  it('are flat at every window', () => {
    const volume = (t: number) => (t % 30 === 0 ? 700 : 100)
    const bars = series(Array(900).fill(50)).map((bar, t) => ({ ...bar, volume: volume(t) }))
    const ranked = shown(recording(bars), 'daily').volume_ratio_band!.flatMap(event => Object.values(event.aftermath))
    expect(ranked.filter(band => band !== null).length).toBeGreaterThan(50)
    expect(new Set(ranked)).toEqual(new Set([null, PERFORMANCES[3]]))
  })
})

describe('L7: an inner session of a week that holds no extreme', () => {
  it('can be dropped when its volume goes to the day before', () => {
    const monday = day('2024-01-01', 10)
    const tuesday = day('2024-01-02', 10.5)
    const wednesday = day('2024-01-03', 12)
    expect(withoutInner([monday, tuesday, wednesday])).toEqual([{ ...monday, volume: 200 }, wednesday])
    const highest = [monday, { ...tuesday, high: 14 }, wednesday]
    expect(withoutInner(highest)).toEqual(highest)
  })

  onRealBars((bars, name) => {
    const thinner = withoutInner(bars)
    if (bars.length > 100) expect(thinner.length, name).toBeLessThan(bars.length)
    expectSame(shown(recording(thinner), 'weekly'), shown(recording(bars), 'weekly'), name)
  })
})

/** Leaves out sessions that are neither first nor last of their week, nor hold its high or low. */
function withoutInner(bars: Bar[]): Bar[] {
  const kept: Bar[] = []
  for (const [t, bar] of bars.entries()) {
    const week = bars.slice(Math.max(0, t - 6), t + 7).filter(other => mondayOf(other.date) === mondayOf(bar.date))
    const inner = bar !== week[0] && bar !== week.at(-1)
    const extreme = bar.high >= Math.max(...highs(week, bar)) || bar.low <= Math.min(...lows(week, bar))
    const before = kept.at(-1)
    if (!inner || extreme || before === undefined) kept.push(bar)
    else kept[kept.length - 1] = { ...before, volume: sumOf(before.volume, bar.volume) }
  }
  return kept
}

const highs = (week: Bar[], but: Bar): number[] => week.filter(bar => bar !== but).map(bar => bar.high)
const lows = (week: Bar[], but: Bar): number[] => week.filter(bar => bar !== but).map(bar => bar.low)

function sumOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b
}

function mondayOf(date: string): string {
  return dayAfter(date, -((new Date(date).getUTCDay() + 6) % 7))
}

/** Bars of the closes with a range of 1 % each way. */
function ranged(closes: number[]): Bar[] {
  return closes.map((close, t) => ({ ...day(dateOf(t), close), high: close * 1.01, low: close * 0.99 }))
}

function lastBands(
  recorded: ReturnType<typeof recording>,
  timeframe: 'daily' | 'weekly',
): Record<string, string | null> {
  const found: Record<string, string | null> = {}
  for (const { name } of TECHNICAL_FIELDS) {
    const { record, bands, events } = viewIn(recorded, timeframe, name)
    const code = record === null || events > 0 ? record?.bands[events - 1] : record.initialBand
    found[name] = code === undefined ? null : bands[code]!
  }
  return found
}
