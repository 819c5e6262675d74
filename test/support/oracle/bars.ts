/** Section 0: bars, the cut at an as-of date, and weekly bars. Dates are "YYYY-MM-DD", so they compare as strings. */
export interface Bar {
  date: string
  open: number
  high: number
  low: number
  close: number
  /** null is unknown */
  volume: number | null
}

export type Timeframe = 'daily' | 'weekly'

export interface Options {
  asOf?: string | undefined
  assetClass?: 'stock' | 'crypto' | 'etf' | undefined
}

/** The table of section 0. */
export const SETTINGS = {
  daily: { hist: 1260, minHist: 252, pivotK: 10, pivotLookback: 252, flipBars: 30, flipsLookback: '30d', minRef: 252 },
  weekly: { hist: 260, minHist: 52, pivotK: 4, pivotLookback: 104, flipBars: 12, flipsLookback: '12w', minRef: 52 },
} as const

export const WINDOWS: Record<Timeframe, readonly (readonly [string, number])[]> = {
  daily: [
    ['5d', 5],
    ['10d', 10],
    ['20d', 20],
    ['50d', 50],
    ['100d', 100],
  ],
  weekly: [
    ['2w', 2],
    ['4w', 4],
    ['8w', 8],
    ['12w', 12],
    ['16w', 16],
  ],
}

export function barsAsOf(bars: Bar[], asOf?: string): Bar[] {
  return asOf === undefined ? bars : bars.filter(bar => bar.date <= asOf)
}

/** Bars of ISO weeks, the last one only when it is complete. Takes daily bars and cuts them at the as-of date. */
export function weeklyBars(bars: Bar[], options: Options = {}): Bar[] {
  const cut = barsAsOf(bars, options.asOf)
  const weeks: Bar[][] = []
  for (const bar of cut) {
    const week = weeks.at(-1)
    if (week !== undefined && mondayOf(week[0]!.date) === mondayOf(bar.date)) week.push(bar)
    else weeks.push([bar])
  }
  const last = weeks.at(-1)
  if (last !== undefined && !isComplete(last, cut, options)) weeks.pop()
  return weeks.map(weekBar)
}

/** The date, `days` calendar days later (earlier when negative). */
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10)
}

/** 1 is Monday, 7 is Sunday. */
export function weekday(date: string): number {
  const day = new Date(Date.parse(date)).getUTCDay()
  return day === 0 ? 7 : day
}

/** The day on which the week of a last session is final. */
export function finalOn(session: string, bars: Bar[], assetClass?: string | null): string {
  const weekends = assetClass === 'crypto' || bars.some(({ date }) => date <= session && weekday(date) > 5)
  const closing = dayAfter(session, (weekends ? 7 : 5) - weekday(session))
  return session >= closing ? session : dayAfter(closing, 1)
}

function mondayOf(date: string): string {
  return dayAfter(date, 1 - weekday(date))
}

/** Of the last week of `bars`, after which no later week has begun. */
function isComplete(week: Bar[], bars: Bar[], options: Options): boolean {
  const tradesAtWeekends = options.assetClass === 'crypto' || bars.some(bar => weekday(bar.date) >= 6)
  const closingWeekday = tradesAtWeekends ? 7 : 5
  const lastSession = week.at(-1)!.date
  if (weekday(lastSession) >= closingWeekday) return true
  const closingDay = dayAfter(mondayOf(lastSession), closingWeekday - 1)
  return options.asOf !== undefined && options.asOf > closingDay
}

function weekBar(week: Bar[]): Bar {
  let volume: number | null = 0
  for (const bar of week) volume = volume === null || bar.volume === null ? null : volume + bar.volume
  return {
    date: week.at(-1)!.date,
    open: week[0]!.open,
    high: Math.max(...week.map(bar => bar.high)),
    low: Math.min(...week.map(bar => bar.low)),
    close: week.at(-1)!.close,
    volume,
  }
}
