import type { SectorView } from '../../src/core/fields/fundamentals.js'
import { BUILT_IN_FIELDS, type Field } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { type Day, parseDay } from '../../src/core/model/day.js'
import {
  type EarningsResult,
  type Facts,
  type Grade,
  type InsiderTrade,
  NO_FACTS,
  type RatingCounts,
  type Report,
} from '../../src/core/model/facts.js'
import { type Series, UNDEFINED } from '../../src/core/model/series.js'
import type { Timeframe } from '../../src/core/model/terms.js'

/** Facts and bars of a few lines, for cases that are worked out by hand. */

export function on(date: string): Day {
  const day = parseDay(date)
  if (day === null) throw new Error(`${date} is no date`)
  return day
}

/** Bars of one close on the given dates, each final on its own date. */
export function barsOn(
  dates: readonly string[],
  close: number | readonly number[] = 10,
  timeframe: Timeframe = 'daily',
) {
  return barsOnDays(dates.map(on), close, timeframe)
}

function barsOnDays(
  days: readonly Day[],
  close: number | readonly number[] = 10,
  timeframe: Timeframe = 'daily',
): Series {
  const column = Float64Array.from(days, (_, t) => (typeof close === 'number' ? close : close[t]!))
  return {
    timeframe,
    days: Int32Array.from(days),
    known: Int32Array.from(days),
    open: column,
    high: column,
    low: column,
    close: column,
    volume: new Float64Array(days.length).fill(100),
  }
}

/** A bar on every calendar day, so that first and last days show themselves. */
export function everyDay(from: string, count: number, close: number | readonly number[] = 10): Series {
  return barsOnDays(
    Array.from({ length: count }, (_, i) => on(from) + i),
    close,
  )
}

export function facts(some: Partial<Facts>): Facts {
  return { ...NO_FACTS, ...some }
}

/** The quarter of a period end, known 30 days later before the session unless told otherwise. */
export function report(period_end: string | Day, figures: Partial<Report> = {}): Report {
  const end = typeof period_end === 'number' ? period_end : on(period_end)
  const plain = {
    known: end + 30,
    session: 'pre',
    eps: null,
    revenue: null,
    book_value_ps: null,
    basis: 'bars',
  } as const
  return { period_end: end, ...plain, ...figures }
}

/** Quarters that ended 91 days apart, the newest on `last`, all known 30 days after `last`; figures newest first. */
export function quarters(
  last: string | Day,
  figure: 'eps' | 'revenue' | 'book_value_ps',
  newestFirst: readonly (number | null)[],
  more: Partial<Report> = {},
): Report[] {
  const end = typeof last === 'number' ? last : on(last)
  return newestFirst.map((value, i) => report(end - 91 * i, { known: end + 30, [figure]: value, ...more }))
}

export function earned(report_date: string, eps_estimate: number | null, eps_actual: number | null): EarningsResult {
  return { report_date: on(report_date), session: 'pre', eps_estimate, eps_actual }
}

/** Counts from strong buy to strong sell. */
export function counts(known: string, of: readonly [number, number, number, number, number]): RatingCounts {
  const [strong_buy, buy, hold, sell, strong_sell] = of
  return { known: on(known), session: 'pre', strong_buy, buy, hold, sell, strong_sell }
}

export function grade(known: string, firm: string, word: string): Grade {
  return { known: on(known), session: null, firm, grade: word }
}

/** A trade of so many shares, bought when positive; usable on the day. */
export function trade(known: string, insider: string, shares: number, value: number | null = null): InsiderTrade {
  return {
    known: on(known),
    session: 'pre',
    insider,
    side: shares > 0 ? 'buy' : 'sell',
    shares: Math.abs(shares),
    value,
  }
}

/** Others' yields that are the same on every bar. */
export function sectorOf(...yields: number[]): SectorView {
  const ascending = Float64Array.from(yields).sort()
  return { yieldsOfOthers: () => ascending }
}

/** A field's band on every bar, null where undefined. */
export function bandsOf(name: string, series: Series, known: Facts | null, sector?: SectorView): (string | null)[] {
  const field: Field = BUILT_IN_FIELDS.named(name)!
  const codes = field.classify(new Panel(series, known, sector ?? null))
  return Array.from(codes, code => (code === UNDEFINED ? null : field.bands[code]!))
}

/** A field's band on the last bar. */
export function lastBand(name: string, series: Series, known: Facts | null, sector?: SectorView): string | null {
  return bandsOf(name, series, known, sector).at(-1)!
}
