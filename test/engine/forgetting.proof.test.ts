import { describe, expect } from 'vitest'
import { TECHNICAL_FIELDS } from '../../src/fields/index.js'
import { Panel } from '../../src/fields/panel.js'
import { DEFINITIONS } from '../../src/model/definitions.js'
import type { Series } from '../../src/model/series.js'
import { randomNumbers } from '../support/bars.js'
import { everywhere } from './drawn.js'
import { expectSame } from './same.js'
import { recording, shown } from './shown.js'

const { history, pivotLookback, pivotReach } = DEFINITIONS.timeframes.daily

/** Bars after which a windowed field has forgotten what was before. */
const WINDOWED: Record<string, number> = {
  trend_direction: DEFINITIONS.averages.long - 1,
  ma_alignment: DEFINITIONS.averages.long - 1,
  volume_ratio_band: DEFINITIONS.volumeRatio.length,
  accumulation_state: history + DEFINITIONS.accumulation.length - 1,
}

/** Recursive averages shrink what is past by 13/14 or 25/27 a bar: 600 bars leave 1e-19 of it. */
const FADED = 600
const RECURSIVE: Record<string, number> = {
  rsi_zone: FADED,
  macd_state: FADED,
  support_status: FADED + pivotLookback + pivotReach,
  resistance_status: FADED + pivotLookback + pivotReach,
  // Its percentile looks back over a whole window of ranges that must have faded too.
  volatility_regime: FADED + history,
}

describe('P08: dropping early bars changes no windowed field after its window', () => {
  everywhere((bars, what, seed) => expectForgotten(recording(bars).daily.series, WINDOWED, what, seed), {
    longest: 2_400,
  })
})

describe('P09: ... and no recursive field once it has faded', () => {
  everywhere((bars, what, seed) => expectForgotten(recording(bars).daily.series, RECURSIVE, what, seed), {
    longest: 2_800,
  })
})

describe('P10: unknown volume everywhere leaves the seven other fields as they are', () => {
  everywhere((bars, what) => {
    const known = recording(bars)
    const unknown = recording(bars.map(bar => ({ ...bar, volume: null })))
    for (const timeframe of ['daily', 'weekly'] as const) {
      const expected = { ...shown(known, timeframe), volume_ratio_band: [], accumulation_state: [] }
      expectSame(shown(unknown, timeframe), expected, `${what}, ${timeframe}`)
      expect(unknown[timeframe].fields.has('volume_ratio_band')).toBe(false)
      expect(unknown[timeframe].fields.has('accumulation_state')).toBe(false)
    }
  })
})

function expectForgotten(series: Series, windows: Record<string, number>, what: string, seed: number): void {
  const random = randomNumbers(seed)
  const whole = new Panel(series)
  for (let i = 0; i < 2; i++) {
    const dropped = 1 + Math.floor(random() * Math.max(1, series.close.length / 2))
    const rest = new Panel(tail(series, dropped))
    for (const [name, window] of Object.entries(windows)) {
      const field = TECHNICAL_FIELDS.find(known => known.name === name)!
      const long = field.classify(whole).subarray(dropped)
      const short = field.classify(rest)
      const wrong = [...short.keys()].filter(t => t >= window && short[t] !== long[t])
      expect(wrong, `${what}, ${name} after dropping ${dropped} bars`).toEqual([])
    }
  }
}

function tail(series: Series, from: number): Series {
  return {
    timeframe: series.timeframe,
    days: series.days.subarray(from),
    known: series.known.subarray(from),
    open: series.open.subarray(from),
    high: series.high.subarray(from),
    low: series.low.subarray(from),
    close: series.close.subarray(from),
    volume: series.volume.subarray(from),
  }
}
