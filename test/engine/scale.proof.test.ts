import { describe, expect } from 'vitest'
import { randomNumbers } from '../support/bars.js'
import { dayAfter } from '../support/oracle/bars.js'
import type { Bar } from '../support/oracle/index.js'
import { everywhere } from './drawn.js'
import { expectSame } from './same.js'
import { recording, type Shown, shown } from './shown.js'

const TIMEFRAMES = ['daily', 'weekly'] as const
const PRICE_FACTORS = [0.01, 3, 1024, 1 / 7]
const VOLUME_FACTORS = [1e-6, 0.1, 3, 1e9]

describe('P02: junk after a bar changes nothing dated up to it', () => {
  everywhere((bars, what, seed) => {
    const random = randomNumbers(seed)
    const whole = recording(bars)
    for (let i = 0; i < 3; i++) {
      const c = Math.floor(random() * bars.length)
      const shocked = recording(bars.map((bar, t) => (t <= c ? bar : junk(bar.date, random))))
      for (const timeframe of TIMEFRAMES) {
        const at = `${what}, ${timeframe}, junk after ${bars[c]!.date}`
        expectSame(shown(shocked, timeframe, bars[c]!.date), shown(whole, timeframe, bars[c]!.date), at)
      }
    }
  })
})

describe('P03: price times a constant gives identical events and aftermath', () => {
  everywhere((bars, what) => {
    for (const factor of PRICE_FACTORS) expectUnchanged(bars, repriced(bars, factor), `${what}, price × ${factor}`)
  })
})

describe('P04: volume times a positive constant gives identical events', () => {
  everywhere((bars, what) => {
    for (const factor of VOLUME_FACTORS) {
      const other = bars.map(bar => ({ ...bar, volume: bar.volume === null ? null : bar.volume * factor }))
      expectUnchanged(bars, other, `${what}, volume × ${factor}`)
    }
  })
})

describe('P05: dates moved by whole weeks move the events with them', () => {
  everywhere((bars, what) => {
    for (const weeks of [-1_000, 1, 523]) {
      const moved = recording(bars.map(bar => ({ ...bar, date: dayAfter(bar.date, 7 * weeks) })))
      for (const timeframe of TIMEFRAMES) {
        const back = movedBy(shown(moved, timeframe), -7 * weeks)
        expectSame(back, shown(recording(bars), timeframe), `${what}, ${timeframe}, moved by ${weeks} weeks`)
      }
    }
  })
})

describe('P13: rescaling all bars before a date changes no event before it', () => {
  everywhere((bars, what, seed) => {
    const random = randomNumbers(seed + 1)
    const at = Math.floor(random() * bars.length)
    const asOf = dayAfter(bars[at]!.date, -1)
    const whole = recording(bars)
    for (const factor of [0.25, 0.993, 10]) {
      const adjusted = recording([...repriced(bars.slice(0, at), factor), ...bars.slice(at)])
      for (const timeframe of TIMEFRAMES) {
        const when = `${what}, ${timeframe}, × ${factor} before ${bars[at]!.date}`
        expectSame(shown(adjusted, timeframe, asOf), shown(whole, timeframe, asOf), when)
      }
    }
  })
})

function expectUnchanged(bars: Bar[], other: Bar[], what: string): void {
  const own = recording(bars)
  const theirs = recording(other)
  for (const timeframe of TIMEFRAMES)
    expectSame(shown(theirs, timeframe), shown(own, timeframe), `${what}, ${timeframe}`)
}

function repriced(bars: Bar[], factor: number): Bar[] {
  return bars.map(({ open, high, low, close, ...rest }) => ({
    ...rest,
    open: open * factor,
    high: high * factor,
    low: low * factor,
    close: close * factor,
  }))
}

function junk(date: string, random: () => number): Bar {
  const prices = Array.from({ length: 4 }, () => 10 ** (6 * random() - 3)).sort((a, b) => a - b)
  const [low, open, close, high] = prices as [number, number, number, number]
  const draw = random()
  return { date, open, high, low, close, volume: draw < 0.2 ? null : draw < 0.3 ? 0 : 10 ** (12 * random()) }
}

function movedBy(events: Shown, days: number): Shown {
  const moved = Object.entries(events).map(([field, list]) => [
    field,
    list.map(event => ({ ...event, date: dayAfter(event.date, days) })),
  ])
  expect(moved.length).toBe(9)
  return Object.fromEntries(moved) as Shown
}
