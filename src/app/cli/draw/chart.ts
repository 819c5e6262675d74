import { stripVTControlCharacters } from 'node:util'
import type { Timeline, TimelineBar } from '../../../data/local/timeline.js'
import { flowPhrases } from './text.js'

/** The size of a drawing in characters. No line is longer than `width`. */
interface Size {
  width: number
  height: number
  ascii: boolean
}

interface ChartOptions extends Size {
  /** The label of a value on the vertical axis. */
  label(value: number): string
  /** Texts below the horizontal axis; `at` is from 0 at the left end to 1 at the right end. */
  axisTexts: readonly { at: number; text: string }[]
}

/** Draws lines on one scale, with the highest, middle and lowest value at the left. Empty if no value is known. */
export function drawChart(lines: readonly Line[], options: ChartOptions): string[] {
  const { low, high } = scaleOf(lines)
  if (low > high) return []
  const { height, ascii } = options
  const labels = axisLabels(low, high, options)
  const margin = labels[0]!.length
  const width = Math.max(1, options.width - margin - 2)
  const axis = ascii ? '|' : '│'
  return [
    ...drawLines(lines, { width, height, ascii }).map((row, i) => `${labels[i]} ${axis}${row}`.trimEnd()),
    `${' '.repeat(margin + 2)}${placeAxisTexts(options.axisTexts, width)}`.trimEnd(),
  ]
}

/** In columns; a wider drawing is harder to follow. */
const MAX_WIDTH = 120
/** In columns, if the terminal does not report its width. */
const DEFAULT_WIDTH = 80

/** The width of a drawing on a screen. @param width of the screen; infinite if unknown */
export function drawingWidth(width: number): number {
  return width === Number.POSITIVE_INFINITY ? DEFAULT_WIDTH : Math.min(width, MAX_WIDTH)
}

/** The label of each row: the highest value at the top, the middle one, the lowest at the bottom, otherwise blanks. */
function axisLabels(low: number, high: number, { height, label }: ChartOptions): string[] {
  const labels = Array.from({ length: height }, () => '')
  const last = height - 1
  for (const row of new Set([0, Math.floor(last / 2), last]))
    labels[row] = label(last === 0 ? high : high - ((high - low) * row) / last)
  const width = maxLength(labels)
  return labels.map(text => text.padStart(width))
}

/** The texts in one line, each at its position; a text that would touch the one before it is omitted. */
function placeAxisTexts(axisTexts: ChartOptions['axisTexts'], width: number): string {
  let line = ''
  for (const { at, text } of axisTexts) {
    const start = Math.round(at * (width - text.length))
    if (start < 0 || (line !== '' && start < line.length + 2)) continue
    line = line.padEnd(start) + text
  }
  return line
}

/** How dots become characters: the number of dots across and down one, and the character for a bit set of dots. */
interface Pen {
  across: number
  down: number
  character(dots: number): string
}

/** Braille: eight dots a character, numbered down the left column, then the right; then the low row (Unicode 15.12). */
const BRAILLE_BITS = [0x01, 0x02, 0x04, 0x40, 0x08, 0x10, 0x20, 0x80]
const BRAILLE: Pen = {
  across: 2,
  down: 4,
  character: dots =>
    dots === 0
      ? ' '
      : String.fromCharCode(0x2800 + BRAILLE_BITS.reduce((sum, bit, i) => sum + (dots & (1 << i) ? bit : 0), 0)),
}

/** Two dots a character, the upper and the lower. */
const ASCII: Pen = { across: 1, down: 2, character: dots => " '.:"[dots]! }

interface Line {
  /** null for a gap in the line. */
  values: readonly (number | null)[]
  /** Dots, to distinguish it from a solid line. */
  dotted?: boolean
}

/** Draws lines on one scale from left to right, as `height` rows of `width` characters; low values at the bottom. */
export function drawLines(lines: readonly Line[], { width, height, ascii }: Size): string[] {
  const pen = ascii ? ASCII : BRAILLE
  // The dots of each character, as bits.
  const cells = Array.from({ length: height }, () => new Uint8Array(width))
  const setDot = (x: number, y: number): void => {
    const row = cells[Math.floor(y / pen.down)]!
    row[Math.floor(x / pen.across)]! |= 1 << ((x % pen.across) * pen.down + (y % pen.down))
  }
  const scale = scaleOf(lines)
  for (const { values, dotted = false } of lines) {
    const dots = dotPositions(values, scale, width * pen.across, height * pen.down)
    dots.forEach((dot, i) => {
      if (dot === null) return
      const [x, y] = dot
      const [fromX, fromY] = dots[Math.max(0, i - 1)] ?? dot
      plotSegment(fromX, fromY, x, y, (dotX, dotY) => {
        if (!dotted || dotX % DOT_SPACING === 0) setDot(dotX, dotY)
      })
    })
  }
  return cells.map(row => Array.from(row, pen.character).join(''))
}

/** Columns of dots between the dots of a dotted line. */
const DOT_SPACING = 4

/** The lowest and the highest value of all lines. Without values `low` is above `high`. */
export function scaleOf(lines: readonly Line[]): { low: number; high: number } {
  const known = lines.flatMap(({ values }) => values.filter(value => value !== null))
  return {
    high: known.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
    low: known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
  }
}

/** The position of each value on a grid of dots, null for a gap; a flat line is in the middle. */
function dotPositions(
  values: readonly (number | null)[],
  { low, high }: { low: number; high: number },
  width: number,
  height: number,
): ([x: number, y: number] | null)[] {
  return values.map((value, i) => {
    if (value === null) return null
    const x = values.length === 1 ? 0 : Math.round((i * (width - 1)) / (values.length - 1))
    const share = high === low ? 0.5 : (high - value) / (high - low)
    return [x, Math.round(share * (height - 1))]
  })
}

/** Calls `setDot` for each dot from one position to another, without gaps. */
function plotSegment(x: number, y: number, toX: number, toY: number, setDot: (x: number, y: number) => void): void {
  const steps = Math.max(Math.abs(toX - x), Math.abs(toY - y), 1)
  for (let i = 0; i <= steps; i++) {
    setDot(Math.round(x + ((toX - x) * i) / steps), Math.round(y + ((toY - y) * i) / steps))
  }
}

export interface Bar {
  label: string
  value: number
  text: string
}

/** Draws horizontal bars on one scale from 0, in eighths of a character, between label and text. */
export function drawBars(bars: readonly Bar[], { width, ascii }: { width: number; ascii: boolean }): string[] {
  const labelWidth = maxLength(bars.map(bar => bar.label))
  const textWidth = maxLength(bars.map(bar => bar.text))
  const barWidth = Math.max(8, width - labelWidth - textWidth - 4)
  const maxValue = bars.reduce((max, bar) => Math.max(max, bar.value), 0)
  return bars.map(bar => {
    const length = maxValue === 0 ? 0 : (bar.value / maxValue) * barWidth
    const blocks = ascii ? '#'.repeat(Math.round(length)) : eighthBlocks(length)
    const axis = ascii ? '|' : '│'
    return `${bar.label.padStart(labelWidth)} ${axis}${blocks}${blocks === '' ? '' : ' '}${bar.text}`.trimEnd()
  })
}

/** A bar of some length in characters, to an eighth of one; a length above 0 is at least one eighth. */
function eighthBlocks(length: number): string {
  const eighths = length === 0 ? 0 : Math.max(1, Math.round(length * 8))
  const rest = eighths % 8
  return '█'.repeat(Math.floor(eighths / 8)) + (rest === 0 ? '' : EIGHTHS[rest - 1]!)
}

const EIGHTHS = '▏▎▍▌▋▊▉'

export function maxLength(texts: readonly string[]): number {
  return texts.reduce((max, text) => Math.max(max, text.length), 0)
}

/** A line of blocks that rise with the values. Of more than `width`, a column shows the last that falls on it. */
export function sparkline(values: readonly number[], { width, ascii }: { width: number; ascii: boolean }): string {
  const blocks = ascii ? ASCII_BLOCKS : BLOCKS
  const columns = Math.min(width, values.length)
  const shown = Array.from({ length: columns }, (_, i) => values[Math.ceil(((i + 1) * values.length) / columns) - 1]!)
  const { high, low } = scaleOf([{ values: shown }])
  const top = blocks.length - 1
  const levelOf = (value: number): number => (high === low ? Math.floor(top / 2) : ((value - low) / (high - low)) * top)
  return shown.map(value => blocks[Math.round(levelOf(value))]!).join('')
}

const BLOCKS = '▁▂▃▄▅▆▇█'
const ASCII_BLOCKS = '.:-=+*#@'

/** `height` is that of the price, without the lines below it. */
interface TimelineOptions extends Size {
  /** Colours a text by the band's index in the vocabulary; absent: no colour. */
  paint?: (bandIndex: number, text: string) => string
}

/** The price as a line; below it the most frequent band and the events of each column, dates and a legend. */
export function drawTimeline({ bars, bands }: Timeline, options: TimelineOptions): string[] {
  if (bars.length === 0) return []
  const { paint = (_, text) => text } = options
  const line = { values: bars.map(({ close }) => close) }
  const { low, high } = scaleOf([line])
  const label = (price: number): string => price.toFixed(labelDecimals(low, high, options.height))
  const plot = drawChart([line], { ...options, label, axisTexts: [] }).slice(0, options.height)
  const margin = plot[0]!.search(/[|│]/) + 1
  const width = Math.max(1, options.width - margin)
  const codes = bandCodes(bars, bands)
  const columns = barsByColumn(bars.length, width)
  const columnCodes = columns.map(indexes => mostFrequent(indexes.map(i => codes[i]!)))
  const marks = columns.map(indexes => eventMark(indexes.filter(i => bars[i]!.event).length))
  const linesBelow = [bandStrip(columnCodes, paint), marks.join(''), dateAxis(bars, width)]
  return [
    ...plot,
    ...linesBelow.map(text => `${' '.repeat(margin)}${text}`.trimEnd()),
    ...bandLegend(codes, bands, options.width, paint),
  ]
}

/** In columns; a narrower picture of a price shows nothing. */
const MIN_PICTURE_WIDTH = 36
/** Blanks between two pictures. */
const GAP = 3

/** Draws several tickers as small pictures in rows, each with its own price scale. One legend explains the letters. */
export function drawMultiples(timelines: readonly Timeline[], options: TimelineOptions): string[] {
  const maxAcross = Math.floor((options.width + GAP) / (MIN_PICTURE_WIDTH + GAP))
  const picturesPerRow = Math.max(1, Math.min(timelines.length, maxAcross))
  const width = Math.floor((options.width + GAP) / picturesPerRow) - GAP
  const pictures = timelines.map(timeline => drawPicture(timeline, { ...options, width }))
  const lines: string[] = []
  for (let at = 0; at < pictures.length; at += picturesPerRow) {
    const row = pictures.slice(at, at + picturesPerRow)
    const height = Math.max(...row.map(({ length }) => length))
    for (let i = 0; i < height; i++) {
      const cells = row.map(picture => picture[i] ?? ' '.repeat(width))
      lines.push(cells.join(' '.repeat(GAP)).trimEnd())
    }
    lines.push('')
  }
  const { bands = [] } = timelines[0] ?? {}
  const codes = timelines.flatMap(({ bars }) => bandCodes(bars, bands))
  return [...lines, ...bandLegend(codes, bands, options.width, options.paint ?? ((_, text) => text))]
}

/** The lines of one picture, padded to its width regardless of colour codes. */
function drawPicture(timeline: Timeline, options: TimelineOptions): string[] {
  const { ticker, bars } = timeline
  const title = `${ticker}  ${bars.length === 0 ? 'no bars' : (bars.at(-1)!.band ?? 'no band yet')}`
  // Price, bands, marks and dates; the shared legend is omitted.
  const lines = options.height + 3
  const drawn = drawTimeline(timeline, options).slice(0, lines)
  const padded = (line: string): string =>
    line + ' '.repeat(Math.max(0, options.width - stripVTControlCharacters(line).length))
  return [title.slice(0, options.width).padEnd(options.width), ...drawn.map(padded)]
}

/** The code of a bar without a band yet; the code of a band is its index in the vocabulary. */
const NO_BAND = -1

function bandCodes(bars: readonly TimelineBar[], bands: readonly string[]): number[] {
  return bars.map(({ band }) => (band === null ? NO_BAND : bands.indexOf(band)))
}

/** The indexes of the bars that fall on each column; none for a column between two bars. */
function barsByColumn(barCount: number, width: number): number[][] {
  const columns = Array.from({ length: width }, (): number[] => [])
  for (let i = 0; i < barCount; i++) {
    const column = barCount === 1 ? 0 : Math.round((i * (width - 1)) / (barCount - 1))
    columns[column]!.push(i)
  }
  return columns
}

/** The most frequent code of a column, the last of equally frequent ones; null for a column without bars. */
function mostFrequent(codes: readonly number[]): number | null {
  const counts = new Map<number, number>()
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1)
  return codes.toReversed().reduce<number | null>((best, code) => {
    return best === null || counts.get(code)! > counts.get(best)! ? code : best
  }, null)
}

/**
 * The band's letter for each column; a column without bars (null) repeats the letter before. Equal letters in a row are
 * coloured together.
 */
function bandStrip(codes: readonly (number | null)[], paint: (bandIndex: number, text: string) => string): string {
  let text = ''
  let run = ''
  let runCode = NO_BAND
  const endRun = (): void => {
    text += runCode === NO_BAND ? run : paint(runCode, run)
    run = ''
  }
  for (const code of codes) {
    const next = code ?? runCode
    if (next !== runCode) endRun()
    runCode = next
    run += bandLetter(next)
  }
  endRun()
  return text
}

/** `A` for the first band of the vocabulary; `.` for no band yet. */
function bandLetter(code: number): string {
  return code === NO_BAND ? '.' : String.fromCharCode('A'.charCodeAt(0) + code)
}

/** The mark of a column: blank, `^` for one event, their number, or `+` for more than nine. */
function eventMark(events: number): string {
  if (events < 2) return events === 0 ? ' ' : '^'
  return events > 9 ? '+' : String(events)
}

/** The dates of the first and last bar, and of the middle one if there is room. Only the last if both do not fit. */
function dateAxis(bars: readonly TimelineBar[], width: number): string {
  const first = bars[0]!.date
  const last = bars.at(-1)!.date
  const minGap = 2
  const minGapOfMiddle = 3
  if (width < last.length) return ''
  if (bars.length === 1) return first
  if (width < first.length + minGap + last.length) return last.padStart(width)
  const gap = width - first.length - last.length
  const middle = bars[Math.round((bars.length - 1) / 2)]!.date
  if (gap < middle.length + 2 * minGapOfMiddle) return first + ' '.repeat(gap) + last
  const left = Math.floor((gap - middle.length) / 2)
  return first + ' '.repeat(left) + middle + ' '.repeat(gap - middle.length - left) + last
}

/** The lines that explain the letters, with the number of bars of each band. @param codes of all bars */
function bandLegend(
  codes: readonly number[],
  bands: readonly string[],
  width: number,
  paint: (bandIndex: number, text: string) => string,
): string[] {
  const phrases = [NO_BAND, ...bands.keys()].flatMap(code => {
    const barCount = codes.filter(other => other === code).length
    const name = code === NO_BAND ? 'none yet' : bands[code]!
    return barCount === 0 ? [] : [`${bandLetter(code)} ${name} ${barCount}`.slice(0, width)]
  })
  // Colours come after wrapping, because lines have to fit by their visible width.
  const paintPhrase = (phrase: string): string => {
    const code = bands.findIndex((_, i) => phrase.startsWith(bandLetter(i)))
    return code < 0 ? phrase : paint(code, phrase)
  }
  const gap = ' '.repeat(GAP)
  return flowPhrases(phrases, width, GAP).map(line => line.split(gap).map(paintPhrase).join(gap))
}

/** The number of decimals that makes the price labels distinct. A flat line counts as having steps of 1 %. */
function labelDecimals(low: number, high: number, height: number): number {
  const step = (high - low) / Math.max(1, height - 1) || high / 100
  return Math.min(8, Math.max(0, Math.ceil(-Math.log10(step))))
}
