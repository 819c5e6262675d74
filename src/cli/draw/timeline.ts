import type { Timeline, TimelineBar } from '../../local/timeline.js'
import { drawLine } from './chart.js'
import { flow } from './text.js'

interface DrawingOptions {
  /** Columns of the whole drawing; no line is longer. */
  width: number
  /** Lines of the price plot. */
  height: number
  ascii: boolean
  /** Colours a text as the band of that place in the vocabulary; without it nothing is coloured. */
  paint?: (band: number, text: string) => string
}

/**
 * The price as a line; beneath it, column by column, the letter of the band that most of its bars were in, and a mark
 * where events happened (`^` for one, their number for more); then dates and what the letters mean. Letters rise with
 * the place in the vocabulary, so colour only repeats them. Nothing for a timeline without bars.
 */
export function drawTimeline({ bars, bands }: Timeline, options: DrawingOptions): string[] {
  if (bars.length === 0) return []
  const { height, ascii, paint = (_, text) => text } = options
  const labels = priceLabels(bars, height)
  const margin = labels[0]!.length
  const width = Math.max(1, options.width - margin - 2)
  const axis = ascii ? '|' : '│'
  const beneath = (text: string): string => `${' '.repeat(margin)}  ${text}`.trimEnd()
  const codes = bars.map(({ band }) => (band === null ? -1 : bands.indexOf(band)))
  const columns = columnsOf(bars.length, width)
  const closes = bars.map(({ close }) => close)
  return [
    ...drawLine(closes, { width, height, ascii }).map((row, i) => `${labels[i]} ${axis}${row}`.trimEnd()),
    beneath(
      strip(
        columns.map(at => commonest(at.map(i => codes[i]!))),
        paint,
      ),
    ),
    beneath(columns.map(at => mark(at.filter(i => bars[i]!.event).length)).join('')),
    beneath(dates(bars, width)),
    ...legend(codes, bands, options.width, paint),
  ]
}

/** The bars that fall on each column; a column between two bars repeats the bar before it. */
function columnsOf(bars: number, width: number): number[][] {
  const columns = Array.from({ length: width }, (): number[] => [])
  for (let i = 0; i < bars; i++) columns[bars === 1 ? 0 : Math.floor((i * (width - 1)) / (bars - 1) + 0.5)]!.push(i)
  return columns
}

/** The code that occurs most often, the later one of equals; null for a column without bars. */
function commonest(codes: readonly number[]): number | null {
  const counts = new Map<number, number>()
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1)
  return codes.toReversed().reduce<number | null>((best, code) => {
    return best === null || counts.get(code)! > counts.get(best)! ? code : best
  }, null)
}

/** Equal neighbours are painted together; a column without bars goes on with the band before it. */
function strip(codes: readonly (number | null)[], paint: (band: number, text: string) => string): string {
  let text = ''
  let run = ''
  let inRun = -1
  const close = (): void => {
    text += inRun < 0 ? run : paint(inRun, run)
    run = ''
  }
  for (const code of codes) {
    const next = code ?? inRun
    if (next !== inRun) close()
    inRun = next
    run += letterOf(next)
  }
  close()
  return text
}

function letterOf(code: number): string {
  return code < 0 ? '.' : String.fromCharCode('A'.charCodeAt(0) + code)
}

function mark(events: number): string {
  if (events < 2) return events === 0 ? ' ' : '^'
  return events > 9 ? '+' : String(events)
}

/** First and last date under their columns, and the middle one, as far as there is room. */
function dates(bars: readonly TimelineBar[], width: number): string {
  const [first, last] = [bars[0]!.date, bars.at(-1)!.date]
  if (width < last.length) return ''
  if (bars.length === 1) return first
  if (width < first.length + 2 + last.length) return last.padStart(width)
  const gap = width - first.length - last.length
  const middle = bars[Math.round((bars.length - 1) / 2)]!.date
  if (gap < middle.length + 6) return first + ' '.repeat(gap) + last
  const left = Math.floor((gap - middle.length) / 2)
  return first + ' '.repeat(left) + middle + ' '.repeat(gap - middle.length - left) + last
}

/** What each letter stands for and how many bars it was in force. */
function legend(
  codes: readonly number[],
  bands: readonly string[],
  width: number,
  paint: (band: number, text: string) => string,
): string[] {
  const names = new Map<string, number>()
  const phrases: string[] = []
  for (let code = -1; code < bands.length; code++) {
    const bars = codes.filter(other => other === code).length
    if (bars === 0) continue
    const phrase = `${letterOf(code)} ${code < 0 ? 'none yet' : bands[code]!} ${bars}`.slice(0, width)
    names.set(phrase, code)
    phrases.push(phrase)
  }
  return flow(phrases, width, 3).map(line => painted(line, names, paint))
}

function painted(
  line: string,
  names: ReadonlyMap<string, number>,
  paint: (band: number, text: string) => string,
): string {
  return line
    .split('   ')
    .map(phrase => {
      const code = names.get(phrase) ?? -1
      return code < 0 ? phrase : paint(code, phrase)
    })
    .join('   ')
}

/** One label a line: the highest close, the middle and the lowest, in as many decimals as tell them apart. */
function priceLabels(bars: readonly TimelineBar[], height: number): string[] {
  const closes = bars.map(({ close }) => close)
  const high = closes.reduce((a, b) => Math.max(a, b))
  const low = closes.reduce((a, b) => Math.min(a, b))
  const step = (high - low) / Math.max(1, height - 1) || high / 100
  const decimals = Math.min(8, Math.max(0, Math.ceil(-Math.log10(step))))
  const labels = Array.from({ length: height }, () => '')
  const last = height - 1
  for (const row of new Set([0, Math.floor(last / 2), last])) {
    const price = last === 0 ? high : high - ((high - low) * row) / last
    labels[row] = price.toFixed(decimals)
  }
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 0)
  return labels.map(label => label.padStart(longest))
}
