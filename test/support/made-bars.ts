import type { Bar } from './oracle/index.js'

/** Bars of the given closes on weekdays from Monday 2018-01-01: open at the close, high and low 1 away, volume 100. */
export function series(closes: number[]): Bar[] {
  return closes.map((close, t) => day(dateOf(t), close))
}

/** Weekdays from 2018-01-01, a Monday. */
export function dateOf(t: number): string {
  const days = 7 * Math.floor(t / 5) + (t % 5)
  return new Date(Date.parse('2018-01-01') + days * 86_400_000).toISOString().slice(0, 10)
}

export function day(date: string, close: number): Bar {
  return { date, open: close, high: close + 1, low: close - 1, close, volume: 100 }
}
