import { describe, expect, it } from 'vitest'
import { weekly } from '../../src/core/engine/record.js'
import { BUILT_IN_FIELDS, TECHNICAL_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import type { Ranks } from '../../src/core/indicators/rank.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { DEFINITIONS } from '../../src/core/model/definitions.js'
import { barsKnownBy, type Series, UNDEFINED } from '../../src/core/model/series.js'
import { day, randomNumbers } from '../support/bars.js'
import { barsOf, seriesOf } from '../support/convert.js'
import { dayAfter } from '../support/oracle/bars.js'
import { type Bar, weeklyBars } from '../support/oracle/index.js'
import { everywhere, expectSame, recording, type Shown, shown } from './drawn.js'

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

// 2024-03-25 is a Monday; 2024-03-29 is Good Friday.
const SHORT_WEEK = ['2024-03-25', '2024-03-26', '2024-03-27', '2024-03-28'].map((date, i) => day(date, 10 + i))

describe('weekly bars', () => {
  it('hold first open, extremes, last close and date, and the summed volume', () => {
    const [monday, ...rest] = SHORT_WEEK
    const week = weekly(seriesOf([{ ...monday!, open: 7, high: 99 }, ...rest]))
    expect(barsOf(week)).toEqual([{ date: '2024-03-28', open: 7, high: 99, low: 9, close: 13, volume: 400 }])
  })

  it('have an unknown volume when one session has', () => {
    const week = weekly(seriesOf(SHORT_WEEK.with(2, { ...SHORT_WEEK[2]!, volume: null })))
    expect(barsOf(week)[0]!.volume).toBeNull()
  })

  it.each([
    ['a Thursday closes no week that could have a Friday', SHORT_WEEK, undefined, '2024-03-30'],
    ['a Friday closes it', [...SHORT_WEEK, day('2024-03-29', 14)], undefined, '2024-03-29'],
    ['crypto waits for Sunday', [...SHORT_WEEK, day('2024-03-29', 14)], 'crypto', '2024-04-01'],
    ['a Sunday closes it', [...SHORT_WEEK, day('2024-03-31', 14)], 'crypto', '2024-03-31'],
    ['a weekend bar before makes it wait', [day('2024-03-23', 9), ...SHORT_WEEK], undefined, '2024-04-01'],
    ['a weekend bar within makes it wait', [...SHORT_WEEK, day('2024-03-30', 14)], undefined, '2024-04-01'],
  ] as const)('%s', (_, bars, assetClass, known) => {
    expect(formatDay(weekly(seriesOf(bars), assetClass).known.at(-1)!)).toBe(known)
  })

  it('of weeks without a session do not exist; years change in mid-week', () => {
    const bars = ['2020-12-30', '2021-01-01', '2021-01-04', '2021-02-01'].map(date => day(date, 5))
    expect(barsOf(weekly(seriesOf(bars))).map(bar => bar.date)).toEqual(['2021-01-01', '2021-01-04', '2021-02-01'])
  })

  it('of nothing are nothing', () => {
    expect(weekly(seriesOf([])).days.length).toBe(0)
  })
})

it('the week that holds the first weekend session of all is shown when it is final, and never taken back', () => {
  // Bars that end on that Friday close the week; the Saturday reopens it. A view of the whole knows of the Saturday.
  const bars = [...SHORT_WEEK, day('2024-03-29', 14), day('2024-03-30', 15), day('2024-04-01', 16)]
  const shown = ['2024-03-29', '2024-03-30', '2024-03-31', '2024-04-01'].map(
    date => seenBy(weekly(seriesOf(bars)), parseDay(date)!).length,
  )
  expect(shown).toEqual([0, 0, 0, 1])
})

describe('P11: weekly of weekly is weekly', () => {
  everywhere((bars, what) => {
    const once = weekly(seriesOf(bars))
    expect(weekly({ ...once, timeframe: 'daily', known: once.days }), what).toEqual(once)
  })
})

describe("weekly bars equal the oracle's as of every day of the last weeks", () => {
  everywhere((bars, what) => {
    const week = weekly(seriesOf(bars))
    const newest = parseDay(bars.at(-1)!.date)!
    expect(seenBy(week, newest), what).toEqual(weeklyBars(bars))
    for (let date = newest - 9; date <= newest + 9; date++) {
      const asOf = formatDay(date)
      // In the week of the very first weekend session that session is not yet known on its Friday.
      const cut = bars.filter(bar => bar.date <= asOf)
      if (cut.length < bars.length && startsWeekends(bars, cut)) continue
      expect(seenBy(week, date), `${what} as of ${asOf}`).toEqual(weeklyBars(bars, { asOf }))
    }
  })
})

function seenBy(week: Series, date: number): Bar[] {
  return barsOf(week).slice(0, barsKnownBy(week, date))
}

function startsWeekends(bars: Bar[], cut: Bar[]): boolean {
  const onWeekend = ({ date }: Bar): boolean => [0, 6].includes(new Date(date).getUTCDay())
  return bars.some(onWeekend) && !cut.some(onWeekend)
}

describe('P07: prices p turned into A - p, highs and lows swapped, mirror the fields', () => {
  everywhere((bars, what) => {
    const original = recording(bars)
    const mirror = recording(reflected(bars))
    for (const timeframe of ['daily', 'weekly'] as const) {
      const here = new Panel(original[timeframe].series)
      const there = new Panel(mirror[timeframe].series)
      const at = `${what}, ${timeframe}`
      const last = here.series.close.length

      expectColumns(here.rsi(), there.rsi(), (x, y) => Math.abs(x + y - 100) < 1e-6, `${at} RSI`)
      const rsi = codes('rsi_zone', here, there)
      const onCut = (t: number): boolean => DEFINITIONS.rsi.cuts.some(cut => Math.abs(here.rsi()[t]! - cut) < 1e-6)
      expectMirrored(rsi, 6, t => onCut(t), `${at} rsi_zone`)

      expectMirrored(codes('ma_alignment', here, there), 2, () => false, `${at} ma_alignment`)
      expectMirrored(
        codes('accumulation_state', here, there),
        4,
        onRankCut(here.accumulationRanks()),
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
  return BUILT_IN_FIELDS.named(name)!.classify(panel)
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
