import { type Chart, roundSteps, type XUnit, type YUnit } from '../present/chart.js'
import { count, decimal, percentText, price, probability, signedPercent } from './table.js'

/** Whether a chart has nothing to draw: no known value of a line or ribbon, and no bar above 0. */
export function isEmpty({ lines, bars, ribbons }: Chart): boolean {
  const hasValue = (values: readonly (number | null)[]): boolean => values.some(value => value !== null)
  const hasLine = lines.some(({ values }) => hasValue(values)) || ribbons.some(({ low }) => hasValue(low))
  const hasBar = bars.some(({ values }) => values.some(value => value !== null && value !== 0))
  return !hasLine && !hasBar
}

/** The least and the greatest value that a chart draws, 0 included if its axis begins there; null without any value. */
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

/** Points of a line in the data of a page: more than a wide screen shows. */
const MAX_PAGE_POINTS = 2000

export interface Extent {
  from: number
  to: number
}

/** An axis: its range of values, and the position of a value on the drawing. */
export interface Scale extends Extent {
  place(value: number): number
}

/** The range of the x axis: all bins of a histogram, otherwise the first to the last x. */
export function xExtent({ x: { values }, bars, stripes }: Chart): Extent {
  const edges = bars[0]?.edges
  const from = edges?.[0] ?? values[0] ?? 0
  const to = edges?.at(-1) ?? Math.max(values.at(-1) ?? 1, stripes?.end ?? Number.NEGATIVE_INFINITY)
  return to > from ? { from, to } : { from: from - 1, to: to + 1 }
}

/** The range of the y axis: all values with a margin, and never empty. */
export function yExtent(chart: Chart): Extent {
  return withMargin(valueExtent(chart) ?? { least: 0, greatest: 1 }, chart.y)
}

/** The range of an axis: the values with a margin, except at an end of 0 if the axis begins at 0 (`zero`). */
export function withMargin(
  { least, greatest }: { least: number; greatest: number },
  { log, zero, unit }: Chart['y'],
): Extent {
  if (log && least > 0) {
    const factor = Math.max((greatest / least) ** 0.05, 1.002)
    return { from: least / factor, to: greatest * factor }
  }
  const margin = (greatest - least) * 0.06 || Math.abs(greatest) * 0.05 || (unit === 'count' ? 1 : 0.01)
  return {
    from: zero && least === 0 ? 0 : least - margin,
    to: zero && greatest === 0 && least < 0 ? 0 : greatest + margin,
  }
}

/** The chart cut to a range, with a point beyond each end. @param hidden parts by their legend name: `line 0` */
export function visiblePart(chart: Chart, { from, to }: Extent, hidden: ReadonlySet<string>): Chart {
  const { x, marks } = chart
  const start = Math.max(0, x.values.findIndex(value => value >= from) - 1)
  const afterRange = x.values.findIndex(value => value > to)
  const end = afterRange < 0 ? x.values.length : afterRange + 1
  const visible = <Part>(parts: readonly Part[], kind: string): Part[] =>
    parts.filter((_, i) => !hidden.has(`${kind} ${i}`))
  const cut = <Value>(values: readonly Value[]): Value[] => values.slice(start, end)
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
      const indexes = at.flatMap((position, i) => (position >= from && position <= to ? [i] : []))
      const pick = <Value>(column: readonly Value[]): Value[] => indexes.map(i => column[i]!)
      return { ...mark, at: pick(at), values: pick(values), notes: pick(notes) }
    }),
  }
}

/** A scale that maps the values `from` to `to` onto the positions `start` to `end`. @param log logarithmic */
export function newScale(from: number, to: number, start: number, end: number, log = false): Scale {
  const transform = log ? Math.log : (value: number) => value
  const factor = (end - start) / (transform(to) - transform(from))
  return { from, to, place: value => start + (transform(value) - transform(from)) * factor }
}

export interface Tick {
  at: number
  label: string
}

/** The number of steps that the y axis of a drawing of this height has room for. */
export function stepsOfHeight(height: number): number {
  return height < 160 ? 3 : 5
}

/** Round numbers on a logarithmic scale: 1, 2 and 5 times the powers of ten, or evenly spaced if those are too few. */
export function logSteps(least: number, greatest: number, wanted: number): number[] {
  const steps: number[] = []
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(greatest)); power++) {
    for (const factor of [1, 2, 5]) {
      const step = Number((factor * 10 ** power).toPrecision(12))
      if (step >= least && step <= greatest) steps.push(step)
    }
  }
  return steps.length >= 3 ? steps : roundSteps(least, greatest, wanted)
}

/** About `wanted` ticks, in days since 1970-01-01: starts of years or months, or days in a range of less than 60. */
export function dateTicks(from: number, to: number, wanted: number): Tick[] {
  const span = to - from
  if (span < 3) return [{ at: from, label: dateText(from) }]
  if (span < 60) return roundSteps(from, to, wanted / 2).map(at => ({ at, label: dateLabel(at) }))
  const monthsApart = [1, 2, 3, 6, 12, 24, 60, 120].find(step => span / AVERAGE_DAYS_PER_MONTH / step <= wanted) ?? 240
  const ticks: Tick[] = []
  const firstYear = new Date(from * MS_PER_DAY).getUTCFullYear()
  // Months since the year 0. Steps of several years begin with a year that the step divides: 1990, 2000.
  let month = Math.floor((firstYear * 12) / monthsApart) * monthsApart
  for (;;) {
    const at = Date.UTC(Math.floor(month / 12), month % 12, 1) / MS_PER_DAY
    if (at > to) return ticks
    if (at >= from) ticks.push({ at, label: dateLabel(at) })
    month += monthsApart
  }
}

/** `2018` for the first day of a year, `Feb 2018` for the first day of a month, otherwise the date. */
export function dateLabel(day: number): string {
  const [year, month, date] = dateText(day).split('-')
  if (date !== '01') return dateText(day)
  return month === '01' ? year! : `${MONTHS[Number(month) - 1]} ${year}`
}

/** The number of decimals in labels that are `step` apart: one for each limit that the step is below. */
function decimalsFor(step: number, ...limits: number[]): number {
  return limits.filter(limit => step < limit).length
}

/** The label of an axis value, with more decimals for a small `step`: the distance from one label to the next. */
export function axisLabel(unit: XUnit | YUnit, at: number, step: number): string {
  if (unit === 'date') return dateText(at)
  if (unit === 'year') return String(at)
  if (unit === 'bars') return at > 0 ? `+${at}` : String(at)
  if (unit === 'return') return signedPercent(at, decimalsFor(step, 0.01, 0.001))
  if (unit === 'share') return percentText(at, decimalsFor(step, 0.01))
  if (unit === 'p') return decimal(at, 2)
  if (unit === 'money') return at < 1000 ? decimal(at, decimalsFor(step, 1, 0.1)) : count(at)
  if (unit === 'ratio') return decimal(at, decimalsFor(step, 1))
  return unit === 'count' ? count(at) : price(at).replace(/\.0+$/, '')
}

/** A tick with its label for each step; the distance of the steps decides the number of digits. */
export function labelSteps(unit: XUnit | YUnit, steps: readonly number[]): Tick[] {
  const step = steps.length > 1 ? steps[1]! - steps[0]! : 1
  return steps.map(at => ({ at, label: axisLabel(unit, at, step) }))
}

/** The labelled ticks of the x axis, as many as a drawing of a width has room for; only whole years. */
export function ticksOfX(unit: XUnit, { from, to }: Scale, width: number): Tick[] {
  if (unit === 'date') return dateTicks(from, to, width / 90)
  const ticks = labelSteps(unit, roundSteps(from, to, width / 75))
  return unit === 'year' ? ticks.filter(({ at }) => Number.isInteger(at)) : ticks
}

/** The text of a value under the pointer, with more digits than on an axis. */
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
const AVERAGE_DAYS_PER_MONTH = 30.44

/** Ascending indexes of at most `maxPoints` points, among them the extremes of each column in several equal parts. */
export function indexesToDraw(
  columns: readonly ArrayLike<number | null>[],
  length: number,
  maxPoints: number,
): number[] {
  if (length <= maxPoints) return Array.from({ length }, (_, i) => i)
  const indexes = new Set<number>([0, length - 1])
  const partCount = Math.max(1, Math.floor((maxPoints - indexes.size) / (2 * columns.length)))
  for (let part = 0; part < partCount; part++) {
    const from = Math.floor((part * length) / partCount)
    const to = Math.floor(((part + 1) * length) / partCount)
    for (const column of columns) addExtremes(column, from, to, indexes)
  }
  return [...indexes].sort((a, b) => a - b)
}

/** Adds the indexes of the least and the greatest known value from `from` to before `to` to `indexes`. */
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

/** The chart with at most `maxPoints` points, as indexesToDraw chooses them, and values of six significant digits. */
export function reducePoints(chart: Chart, maxPoints = MAX_PAGE_POINTS): Chart {
  const columns = [...chart.lines.map(({ values }) => values), ...chart.ribbons.flatMap(({ low, high }) => [low, high])]
  const indexes = indexesToDraw(columns, chart.x.values.length, maxPoints)
  const pick = (values: readonly (number | null)[]): (number | null)[] => indexes.map(i => roundToSixDigits(values[i]))
  return {
    ...chart,
    x: { ...chart.x, values: indexes.map(i => chart.x.values[i]!) },
    lines: chart.lines.map(line => ({ ...line, values: pick(line.values) })),
    ribbons: chart.ribbons.map(ribbon => ({ ...ribbon, low: pick(ribbon.low), high: pick(ribbon.high) })),
  }
}

/** A value with six significant digits, to halve the size of a page; null for one that is missing or not finite. */
function roundToSixDigits(value: number | null | undefined): number | null {
  if (value === null || value === undefined || !Number.isFinite(value)) return null
  return Number(value.toPrecision(6))
}
