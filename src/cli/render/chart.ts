import { drawLines, type Line, scaleOf } from './line.js'

export interface ChartOptions {
  /** Columns of the whole drawing; no line is longer. */
  width: number
  height: number
  ascii: boolean
  /** A value of the vertical axis in words. */
  label(value: number): string
  /** Words beneath, each at its place of the horizontal axis: 0 is the left end, 1 the right one. */
  beneath: readonly { at: number; text: string }[]
}

/** Lines on one scale with its highest, middle and lowest value at the left. Nothing where no value is known. */
export function drawChart(lines: readonly Line[], options: ChartOptions): string[] {
  const { low, high } = scaleOf(lines)
  if (low > high) return []
  const { height, ascii } = options
  const labels = labelsOf(low, high, options)
  const margin = labels[0]!.length
  const width = Math.max(1, options.width - margin - 2)
  const axis = ascii ? '|' : '│'
  return [
    ...drawLines(lines, { width, height, ascii }).map((row, i) => `${labels[i]} ${axis}${row}`.trimEnd()),
    `${' '.repeat(margin + 2)}${axisWords(options.beneath, width)}`.trimEnd(),
  ]
}

/** Wider than this a drawing is harder to follow. */
const WIDEST = 120
/** Where nobody tells how wide. */
const USUAL = 80

/** Columns of a drawing on a screen. */
export function drawingWidth(width: number): number {
  return width === Number.POSITIVE_INFINITY ? USUAL : Math.min(width, WIDEST)
}

function labelsOf(low: number, high: number, { height, label }: ChartOptions): string[] {
  const labels = Array.from({ length: height }, () => '')
  const last = height - 1
  for (const row of new Set([0, Math.floor(last / 2), last]))
    labels[row] = label(last === 0 ? high : high - ((high - low) * row) / last)
  const longest = labels.reduce((most, text) => Math.max(most, text.length), 0)
  return labels.map(text => text.padStart(longest))
}

/** Each word about its place; one that would touch the one before is left out. */
function axisWords(words: ChartOptions['beneath'], width: number): string {
  let line = ''
  for (const { at, text } of words) {
    const start = Math.round(at * (width - text.length))
    if (start < 0 || (line !== '' && start < line.length + 2)) continue
    line = line.padEnd(start) + text
  }
  return line
}
