import { count, decimal, gain, price, probability, share } from '../format.js'
import type { XUnit, YUnit } from './spec.js'

export interface Tick {
  at: number
  label: string
}

/** How many steps a chart of that height has room for. */
export function stepsUp(height: number): number {
  return height < 160 ? 3 : 5
}

/** About `wanted` round numbers from `least` to `greatest`: steps of 1, 2 or 5 times a power of ten. */
export function roundSteps(least: number, greatest: number, wanted: number): number[] {
  const span = greatest - least
  if (!(span > 0)) return [least]
  const rough = span / wanted
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map(times => times * power).find(size => size >= rough * 0.72)!
  const first = Math.ceil(least / step - 1e-9)
  const last = Math.floor(greatest / step + 1e-9)
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

/** Round numbers on a logarithmic scale: 1, 2 and 5 times the powers of ten, or evenly where those are too few. */
export function logSteps(least: number, greatest: number, wanted: number): number[] {
  const found: number[] = []
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(greatest)); power++) {
    for (const times of [1, 2, 5]) {
      const at = Number((times * 10 ** power).toPrecision(12))
      if (at >= least && at <= greatest) found.push(at)
    }
  }
  return found.length >= 3 ? found : roundSteps(least, greatest, wanted)
}

/** Starts of years, or of months where the range is short. */
export function dateTicks(from: number, to: number, wanted: number): Tick[] {
  const span = to - from
  if (span < 3) return [{ at: from, label: dateText(from) }]
  if (span < 60) return roundSteps(from, to, wanted / 2).map(at => ({ at, label: dateLabel(at) }))
  const months = [1, 2, 3, 6, 12, 24, 60, 120].find(step => span / 30.44 / step <= wanted) ?? 240
  const ticks: Tick[] = []
  const start = new Date(from * DAY_MS)
  for (let month = start.getUTCFullYear() * 12; ; month += months) {
    const year = Math.floor(month / 12)
    if (months >= 12 && year % (months / 12) !== 0) {
      month += 12 - months
      continue
    }
    const at = Date.UTC(year, month % 12, 1) / DAY_MS
    if (at > to) return ticks
    if (at >= from) ticks.push({ at, label: dateLabel(at) })
  }
}

/** A year by its first day, a month by its own, otherwise the date. */
export function dateLabel(day: number): string {
  const [year, month, date] = dateText(day).split('-')
  if (date !== '01') return dateText(day)
  return month === '01' ? year! : `${MONTHS[Number(month) - 1]} ${year}`
}

/** A value of an axis, as written beside it. */
export function axisLabel(unit: XUnit | YUnit, at: number, step: number): string {
  if (unit === 'date') return dateText(at)
  if (unit === 'bars') return at > 0 ? `+${at}` : String(at)
  if (unit === 'return') return gain(at, step < 0.01 ? (step < 0.001 ? 2 : 1) : 0)
  if (unit === 'share') return share(at, step < 0.01 ? 1 : 0)
  if (unit === 'p') return decimal(at, 2)
  if (unit === 'multiple') return decimal(at, step < 0.1 ? 2 : step < 1 ? 1 : 0)
  return unit === 'count' ? count(at) : price(at).replace(/\.0+$/, '')
}

/** A value under the pointer. */
export function valueText(unit: XUnit | YUnit, value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (unit === 'date') return dateText(value)
  if (unit === 'bars') return `bar ${axisLabel('bars', value, 1)}`
  if (unit === 'return') return gain(value)
  if (unit === 'share') return share(value)
  if (unit === 'p') return probability(value)
  if (unit === 'multiple') return decimal(value, 3)
  return unit === 'count' ? count(value) : price(value)
}

/** YYYY-MM-DD of days since 1970-01-01. */
export function dateText(day: number): string {
  return new Date(Math.round(day) * DAY_MS).toISOString().slice(0, 10)
}

export const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const DAY_MS = 86_400_000
