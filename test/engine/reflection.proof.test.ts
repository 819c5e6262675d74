import { describe, expect } from 'vitest'
import { fieldNamed } from '../../src/fields/index.js'
import { Panel } from '../../src/fields/panel.js'
import type { Ranks } from '../../src/indicators/rank.js'
import { DEFINITIONS } from '../../src/model/definitions.js'
import { UNDEFINED } from '../../src/model/series.js'
import type { Bar } from '../support/oracle/index.js'
import { everywhere } from './drawn.js'
import { recording } from './shown.js'

describe('P07: prices p turned into A - p, highs and lows swapped, mirror the fields', () => {
  everywhere((bars, what) => {
    const original = recording(bars)
    const mirror = recording(reflected(bars))
    for (const timeframe of ['daily', 'weekly'] as const) {
      const here = new Panel(original[timeframe].series)
      const there = new Panel(mirror[timeframe].series)
      const at = `${what}, ${timeframe}`
      const last = here.series.close.length

      expectColumns(here.rsi, there.rsi, (x, y) => Math.abs(x + y - 100) < 1e-6, `${at} RSI`)
      const rsi = codes('rsi_zone', here, there)
      const onCut = (t: number): boolean => DEFINITIONS.rsi.cuts.some(cut => Math.abs(here.rsi[t]! - cut) < 1e-6)
      expectMirrored(rsi, 6, t => onCut(t), `${at} rsi_zone`)

      expectMirrored(codes('ma_alignment', here, there), 2, () => false, `${at} ma_alignment`)
      expectMirrored(
        codes('accumulation_state', here, there),
        4,
        onRankCut(here.accumulationRanks),
        `${at} accumulation`,
      )
      // The growth of |MACD| is the same on both sides, so the four codes mirror whole.
      expectMirrored(codes('macd_state', here, there), 3, () => false, `${at} macd_state`)

      for (const [own, other] of [
        ['support_status', 'resistance_status'],
        ['resistance_status', 'support_status'],
      ] as const) {
        const levels = classified(own, here)
        const mirrored = classified(other, there)
        const wrong = Array.from({ length: last }, (_, t) => t).filter(t => levels[t] !== mirrored[t])
        expect(wrong, `${at} ${own}`).toEqual([])
      }
    }
  })
})

function reflected(bars: Bar[]): Bar[] {
  const around = 2 * Math.max(...bars.flatMap(bar => [bar.open, bar.high, bar.close]))
  return bars.map(({ date, open, high, low, close, volume }) => ({
    date,
    open: around - open,
    high: around - low,
    low: around - high,
    close: around - close,
    volume,
  }))
}

function classified(name: string, panel: Panel): Uint8Array {
  return fieldNamed(name)!.classify(panel)
}

function codes(name: string, here: Panel, there: Panel): [Uint8Array, Uint8Array] {
  return [classified(name, here), classified(name, there)]
}

/** Zones are closed below and open above, so a value on a cut does not mirror; rounding may move one that is near. */
function onRankCut({ rank, size }: Ranks): (t: number) => boolean {
  return t => DEFINITIONS.accumulation.cuts.some(cut => 50 * rank[t]! === cut * size[t]!)
}

function expectMirrored(
  [here, there]: [Uint8Array, Uint8Array],
  highest: number,
  isEdge: (t: number) => boolean,
  what: string,
): void {
  const wrong = [...here.keys()].filter(t => {
    const expected = here[t] === UNDEFINED ? UNDEFINED : highest - here[t]!
    return there[t] !== expected && !isEdge(t)
  })
  expect(wrong, what).toEqual([])
}

function expectColumns(a: Float64Array, b: Float64Array, same: (x: number, y: number) => boolean, what: string): void {
  const wrong = [...a.keys()].filter(t => (Number.isNaN(a[t]!) ? !Number.isNaN(b[t]!) : !same(a[t]!, b[t]!)))
  expect(wrong, what).toEqual([])
}
