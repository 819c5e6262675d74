import type { ChartPrices } from '../../../src/app/present/chart.js'
import { formatDay, parseDay, weekdayOf } from '../../../src/core/model/day.js'
import { Random } from '../../../src/core/statistics/random.js'

const BANDS = ['deep_oversold', 'oversold', 'neutral_low', 'neutral', 'neutral_high', 'overbought', 'deep_overbought']

export interface MadeOptions {
  ticker?: string
  bars?: number
  seed?: number
  weekly?: boolean
  /** Every so many bars is an event, about. */
  band?: string
}

/** A random walk, the band that its distance from its own average puts each bar in, and the bars that enter `band`. */
export function madePrices({
  ticker = 'AAPL',
  bars = 2520,
  seed = 1,
  weekly = false,
  band = 'oversold',
}: MadeOptions = {}): ChartPrices {
  const random = new Random(seed)
  const close: number[] = []
  let price = 100
  let average = 100
  const codes: number[] = []
  for (let bar = 0; bar < bars; bar++) {
    price *= Math.exp(0.0005 + 0.014 * random.normal())
    average += (price - average) / 20
    close.push(Number(price.toFixed(4)))
    const place = Math.round(3 + (price / average - 1) * 38)
    codes.push(bar < 20 ? -1 : Math.max(0, Math.min(6, place)))
  }
  const wanted = BANDS.indexOf(band)
  const events = codes.flatMap((code, at) => {
    return code === wanted && at > 0 && codes[at - 1] !== code && codes[at - 1] !== -1 ? [{ at, band }] : []
  })
  return { ticker, field: 'rsi_zone', dates: madeDates(bars, weekly), close, bands: BANDS, codes, events }
}

/** Weekdays, or Fridays, up to a day in the past. */
function madeDates(bars: number, weekly: boolean): string[] {
  const dates: string[] = []
  for (let day = parseDay('2026-11-20')!; dates.length < bars; day -= weekly ? 7 : 1) {
    if (weekdayOf(day) < 5) dates.push(formatDay(day))
  }
  return dates.reverse()
}
