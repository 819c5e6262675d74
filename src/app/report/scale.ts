import { type Bars, type Chart, roundSteps, type XUnit, type YUnit } from '../present/chart.js'
import { count, decimal, percentText, price, probability, signedPercent } from './table.js'

export function isEmpty({ lines, bars, ribbons }: Chart): boolean {
  const known = (values: readonly (number | null)[]): boolean => values.some(value => value !== null)
  return !(lines.some(line => known(line.values)) || ribbons.some(ribbon => known(ribbon.low)) || bars.some(hasBars))
}

/** The least and the greatest value that a chart draws; null without any. */
export function valueExtent({ lines, ribbons, bars, marks, y }: Chart): { least: number; greatest: number } | null {
  const columns = [lines, bars, marks].flatMap(parts => parts.map(({ values }) => values))
  let least = Number.POSITIVE_INFINITY
  let greatest = Number.NEGATIVE_INFINITY
  for (const column of [...columns, ...ribbons.flatMap(({ low, high }) => [low, high])]) {
    for (const value of column) {
      if (value === null) continue
      if (value < least) least = value
      if (value > greatest) greatest = value
    }
  }
  if (least > greatest) return null
  return y.zero ? { least: Math.min(0, least), greatest: Math.max(0, greatest) } : { least, greatest }
}

function hasBars({ values }: Bars): boolean {
  return values.some(value => value !== null && value !== 0)
}

const MAX_PAGE_POINTS = 2000

export interface Extent {
  from: number
  to: number
}

/** From values to places on a drawing. */
export interface Scale extends Extent {
  place(value: number): number
}

/** The range of x: whole bins, otherwise the first to the last x. */
export function xExtent({ x: { values }, bars, stripes }: Chart): Extent {
  const edges = bars[0]?.edges
  const from = edges?.[0] ?? values[0] ?? 0
  const to = edges?.at(-1) ?? Math.max(values.at(-1) ?? 1, stripes?.end ?? Number.NEGATIVE_INFINITY)
  return to > from ? { from, to } : { from: from - 1, to: to + 1 }
}

/** The heights that a chart shows, with air above and below, and never without extent. */
export function yExtent(chart: Chart): Extent {
  return withMargin(valueExtent(chart) ?? { least: 0, greatest: 1 }, chart.y)
}

/** Adds a margin to a range of values, except on a side that naturally ends at 0. */
export function withMargin(
  { least, greatest }: { least: number; greatest: number },
  { log, zero, unit }: Chart['y'],
): Extent {
  if (log && least > 0) {
    const air = Math.max((greatest / least) ** 0.05, 1.002)
    return { from: least / air, to: greatest * air }
  }
  const air = (greatest - least) * 0.06 || Math.abs(greatest) * 0.05 || (unit === 'count' ? 1 : 0.01)
  return {
    from: zero && least === 0 ? 0 : least - air,
    to: zero && greatest === 0 && least < 0 ? 0 : greatest + air,
  }
}

/**
 * The part of a chart in a range, with one point beyond each end. Hidden parts are left out, by their names in the
 * legend: `line 0`.
 */
export function visiblePart(chart: Chart, { from, to }: Extent, hidden: ReadonlySet<string>): Chart {
  const { x, marks } = chart
  const first = Math.max(0, x.values.findIndex(value => value >= from) - 1)
  const beyond = x.values.findIndex(value => value > to)
  const end = beyond < 0 ? x.values.length : beyond + 1
  const visible = <Part>(parts: readonly Part[], kind: string): Part[] =>
    parts.filter((_, i) => !hidden.has(`${kind} ${i}`))
  const cut = <Value>(values: readonly Value[]): Value[] => values.slice(first, end)
  return {
    ...chart,
    x: { ...x, values: cut(x.values) },
    lines: visible(chart.lines, 'line').map(line => ({ ...line, values: cut(line.values) })),
    ribbons: visible(chart.ribbons, 'ribbon').map(ribbon => ({
      ...ribbon,
      low: cut(ribbon.low),
      high: cut(ribbon.high),
    })),
    shades: visible(chart.shades, 'shades'),
    bars: visible(chart.bars, 'bars'),
    marks: visible(marks, 'marks').map(({ at, values, notes, ...mark }) => {
      const inside = at.flatMap((place, i) => (place >= from && place <= to ? [i] : []))
      const of = <Value>(all: readonly Value[]): Value[] => inside.map(i => all[i]!)
      return { ...mark, at: of(at), values: of(values), notes: of(notes) }
    }),
  }
}

/** Values from `from` to `to` onto places from `start` to `end`. */
export function newScale(from: number, to: number, start: number, end: number, log = false): Scale {
  const bend = log ? Math.log : (value: number) => value
  const factor = (end - start) / (bend(to) - bend(from))
  return { from, to, place: value => start + (bend(value) - bend(from)) * factor }
}

export interface Tick {
  at: number
  label: string
}

export function stepsOfHeight(height: number): number {
  return height < 160 ? 3 : 5
}

/** Round numbers on a logarithmic scale: 1, 2 and 5 times the powers of ten, or evenly spaced if those are too few. */
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

/** Starts of years, or of months in a short range. */
export function dateTicks(from: number, to: number, wanted: number): Tick[] {
  const span = to - from
  if (span < 3) return [{ at: from, label: dateText(from) }]
  if (span < 60) return roundSteps(from, to, wanted / 2).map(at => ({ at, label: dateLabel(at) }))
  const months = [1, 2, 3, 6, 12, 24, 60, 120].find(step => span / 30.44 / step <= wanted) ?? 240
  const ticks: Tick[] = []
  const start = new Date(from * MS_PER_DAY)
  for (let month = start.getUTCFullYear() * 12; ; month += months) {
    const year = Math.floor(month / 12)
    if (months >= 12 && year % (months / 12) !== 0) {
      month += 12 - months
      continue
    }
    const at = Date.UTC(year, month % 12, 1) / MS_PER_DAY
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

/** The label of an axis value. */
export function axisLabel(unit: XUnit | YUnit, at: number, step: number): string {
  if (unit === 'date') return dateText(at)
  if (unit === 'year') return String(at)
  if (unit === 'bars') return at > 0 ? `+${at}` : String(at)
  if (unit === 'return') return signedPercent(at, step < 0.01 ? (step < 0.001 ? 2 : 1) : 0)
  if (unit === 'share') return percentText(at, step < 0.01 ? 1 : 0)
  if (unit === 'p') return decimal(at, 2)
  if (unit === 'money') return at < 1000 ? decimal(at, step < 0.1 ? 2 : step < 1 ? 1 : 0) : count(at)
  if (unit === 'ratio') return decimal(at, step < 1 ? 1 : 0)
  return unit === 'count' ? count(at) : price(at).replace(/\.0+$/, '')
}

/** A value under the pointer. */
export function valueText(unit: XUnit | YUnit, value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  if (unit === 'date') return dateText(value)
  if (unit === 'year') return String(value)
  if (unit === 'bars') return `bar ${axisLabel('bars', value, 1)}`
  if (unit === 'return') return signedPercent(value)
  if (unit === 'share') return percentText(value)
  if (unit === 'p') return probability(value)
  if (unit === 'money') return value < 1000 ? decimal(value, 3) : count(value)
  if (unit === 'ratio') return decimal(value, 2)
  return unit === 'count' ? count(value) : price(value)
}

/** YYYY-MM-DD of days since 1970-01-01. */
function dateText(day: number): string {
  return new Date(Math.round(day) * MS_PER_DAY).toISOString().slice(0, 10)
}

export const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const MS_PER_DAY = 86_400_000

/**
 * Chooses the drawn ones of `length` points without losing extremes: the least and greatest of each column in equal
 * parts. The first and last are always drawn. Returns all points if there are no more than `most`.
 */
export function indexesToDraw(columns: readonly ArrayLike<number | null>[], length: number, most: number): number[] {
  if (length <= most) return Array.from({ length }, (_, i) => i)
  const indexes = new Set<number>([0, length - 1])
  const stretches = Math.max(1, Math.floor((most - indexes.size) / (2 * columns.length)))
  for (let part = 0; part < stretches; part++) {
    const from = Math.floor((part * length) / stretches)
    const to = Math.floor(((part + 1) * length) / stretches)
    for (const column of columns) addExtremes(column, from, to, indexes)
  }
  return [...indexes].sort((a, b) => a - b)
}

function addExtremes(column: ArrayLike<number | null>, from: number, to: number, indexes: Set<number>): void {
  let least = -1
  let greatest = -1
  for (let i = from; i < to; i++) {
    const value = column[i]
    if (value === null || value === undefined) continue
    if (least < 0 || value < column[least]!) least = i
    if (greatest < 0 || value > column[greatest]!) greatest = i
  }
  if (least >= 0) indexes.add(least).add(greatest)
}

/** The chart for a page: no more points than a screen can show, all extremes, and six significant digits. */
export function reducePoints(chart: Chart, most = MAX_PAGE_POINTS): Chart {
  const columns = [...chart.lines.map(({ values }) => values), ...chart.ribbons.flatMap(({ low, high }) => [low, high])]
  const indexes = indexesToDraw(columns, chart.x.values.length, most)
  const cut = (values: readonly (number | null)[]): (number | null)[] => indexes.map(i => roundToSixDigits(values[i]))
  return {
    ...chart,
    x: { ...chart.x, values: indexes.map(i => chart.x.values[i]!) },
    lines: chart.lines.map(line => ({ ...line, values: cut(line.values) })),
    ribbons: chart.ribbons.map(ribbon => ({ ...ribbon, low: cut(ribbon.low), high: cut(ribbon.high) })),
  }
}

/** Rounded to six significant digits: more than any screen shows, and half the page. */
function roundToSixDigits(value: number | null | undefined): number | null {
  return value === null || value === undefined || !Number.isFinite(value) ? null : Number(value.toPrecision(6))
}
