import { formatDay } from '../../../core/model/day.js'
import { PERFORMANCES } from '../../../core/model/series.js'
import {
  barsText,
  classLabel,
  figureText,
  money,
  probability,
  ratio,
  returnText,
  share,
  shareText,
  UNKNOWN,
  whole,
} from '../../../core/numbers.js'
import type { Chart } from '../../present/chart.js'
import {
  type Described,
  type Cell as DescribedCell,
  type Table as DescribedTable,
  type Heading,
  isNumeric,
  type Kind,
  type Medium,
  type Paragraph,
  type Part,
  type Section,
  type Trend,
  type Value,
} from '../../present/description.js'
import { nameOfNote, SIGNS } from '../../present/words.js'
import { drawBars, drawChart, drawingWidth, longest, sparkline } from './chart.js'
import type { Block, Cell, Column, Screen, Table } from './table.js'
import { wrap } from './text.js'

/** The requested amount of detail. */
export interface Style {
  /** Every statistic and warning, with words instead of signs. */
  wide?: boolean
  /** The outcome of each signal. */
  explain?: boolean
}

type Drawn = Style & Pick<Screen, 'words' | 'unicode'>

/** A result as people see it on a screen. */
export function blocksOf(result: Described, screen: Screen, style: Style = {}): Block[] {
  const { paragraphs, warnings = [], notes = [], method = [] } = result
  const { words, unicode } = screen
  const blocks = paragraphs.flatMap(paragraph => paragraphBlocks(paragraph, screen, { ...style, words, unicode }))
  const end = { notes: [...warnings, ...named(notes, style)], faint: method }
  return end.notes.length === 0 && method.length === 0 ? blocks : [...blocks, end]
}

/** One line that names the notes; their sentences with --wide. */
function named(notes: readonly string[], { wide = false }: Style): readonly string[] {
  if (wide || notes.length === 0) return notes
  const names: string[] = []
  for (const name of notes.map(nameOf)) {
    if (names.length > 0 && [...names, name].join(BETWEEN).length > LINE) break
    names.push(name)
  }
  const left = notes.length - names.length
  return [`notes: ${[...names, ...(left > 0 ? [`${left} more`] : [])].join(BETWEEN)} (--wide)`]
}

const BETWEEN = ' · '
/** A line of 80 columns without `notes:`, `N more` and the option. */
const LINE = 54

/** The name of a note, on at most one line. */
function nameOf(note: string): string {
  const words = nameOfNote(note)
  return words.length <= LINE ? words : `${wrap(words, LINE - 1)[0]}…`
}

function isShown(on: Medium | undefined, { wide = false, explain = false, words }: Drawn): boolean {
  if (on === undefined || on === 'terminal') return true
  if (on === 'screen' || on === 'pipe') return words === (on === 'pipe')
  if (on === 'page') return false
  return on === 'explain' ? explain : wide === (on === 'wide')
}

/** The heading is above the first part with content. */
function paragraphBlocks(paragraph: Paragraph | Section, screen: Screen, style: Drawn): Block[] {
  if (!isShown(paragraph.on, style)) return []
  const shown = paragraph.parts.filter(part => isShown(part.on, style))
  const blocks = shown.flatMap(part => partBlocks(part, screen, style))
  if ('heading' in paragraph) {
    const { heading } = paragraph
    const [first = emptyBlock(shown, style), ...more] = blocks
    return [{ ...(heading.length === 0 ? {} : { title: heading }), ...first }, ...more]
  }
  const [first, ...more] = blocks
  if (first === undefined) return []
  const { title, phrases = [], untitled } = paragraph
  return untitled ? [first, ...more] : [{ title: [title, ...phrases, ...shown.flatMap(legend)], ...first }, ...more]
}

/** The legend of a chart, apart from its lines. */
function legend(part: Part): string[] {
  if (!('chart' in part)) return []
  const { lines, y } = part.chart
  const dotted = lines.filter(({ terminal }) => terminal === 'dotted').map(({ label }) => `dots: ${label}`)
  return [...dotted, ...(y.log ? ['logarithmic scale'] : [])]
}

/** The heads of an empty table, if the answer has nothing else. */
function emptyBlock(parts: readonly Part[], style: Drawn): Block {
  const part = parts.find(part => 'table' in part)
  return part === undefined ? {} : { table: drawn(part.table, style) }
}

function partBlocks(part: Part, screen: Screen, style: Drawn): Block[] {
  if ('notes' in part) return part.notes.length === 0 ? [] : [{ notes: part.notes }]
  if ('phrases' in part) return part.phrases.length === 0 ? [] : [{ phrases: part.phrases }]
  if ('list' in part) return part.list.length === 0 ? [] : [{ notes: part.list }]
  if ('table' in part) return part.table.rows.length === 0 ? [] : [{ table: drawn(part.table, style) }]
  if ('fold' in part)
    return part.fold.parts.filter(({ on }) => isShown(on, style)).flatMap(part => partBlocks(part, screen, style))
  const drawing = 'chart' in part ? drawnChart(part.chart, screen) : 'trend' in part ? trends(part.trend, screen) : []
  return drawing.length === 0 ? [] : [{ drawing }]
}

function drawn({ columns, rows, grey, grouped, limit, whole: output }: DescribedTable, style: Drawn): Table {
  const shownIndexes = [...columns.keys()].filter(i => isShown(columns[i]!.on, style))
  const shown = rows.slice(0, limit)
  const isSaid = (i: number, r: number): boolean =>
    grouped === true && !style.words && r > 0 && shown[r - 1]![i]!.content === shown[r]![i]!.content
  return {
    columns: shownIndexes.map(i => columnOf(columns[i]!, style)),
    rows: shown.map((row, r) =>
      shownIndexes.map((i, place): Cell => (place === 0 && isSaid(i, r) ? '' : cellOf(row[i]!, style, grey?.[r]))),
    ),
    ...(output === undefined ? {} : { whole: output }),
    ...(style.wide && { continued: true }),
  }
}

function columnOf(heading: Heading, { words }: Drawn): Column {
  const { title, sign, verbatim, kind } = heading
  const whole = verbatim ? title : title.toUpperCase()
  return { ...heading, title: words ? whole : (sign ?? whole), ...(isNumeric(kind) && { align: 'right' }) }
}

function cellOf({ kind, content, tone, mark = '', heat }: DescribedCell, style: Drawn, grey = false): Cell {
  const text =
    (typeof content === 'object' && content !== null
      ? pairText(kind, content, style)
      : valueText(kind, content, style)) +
    mark +
    (heat === undefined || style.words ? '' : ` ${SHADES[style.unicode ? 'unicode' : 'ascii'][heat]}`)
  if (grey) return { text, tone: 'faint' }
  return tone === undefined ? text : { text, tone }
}

/** From the lightest to the darkest, so that a map is read without colour. */
const SHADES = { unicode: ['·', '░', '▒', '▓', '█'], ascii: ['.', ':', '-', '+', '#'] }

function valueText(kind: Kind, value: Value, { words, wide = false }: Drawn): string {
  if (value === null) return UNKNOWN
  if (typeof value === 'number') return NUMBERS[kind](value)
  return kind === 'performance' && !words && !wide ? (OUTCOMES.get(value) ?? value) : value
}

/** How a window ended, as a sign. */
const OUTCOMES: ReadonlyMap<string, string> = new Map([
  ...PERFORMANCES.map((name, i): [string, string] => [name, SIGNS[i]!]),
  ['pending', '..'],
  ['no_history', '?'],
])

const NUMBERS: Readonly<Record<Kind, (value: number) => string>> = {
  text: String,
  date: String,
  window: String,
  count: value => whole(Math.round(value)),
  return: returnText,
  deviation: value => returnText(value).replace('+', ''),
  share: shareText,
  probability,
  ratio: value => ratio(value),
  tenth: value => ratio(value, 1),
  degrees: value => ratio(value, 0),
  // A difference of returns is far below 1, a t value is not.
  statistic: value => ratio(value, Math.abs(value) < 0.1 ? 4 : 2),
  price: figureText,
  money,
  lifted: whole,
  bars: barsText,
  performance: returnText,
  lettered: String,
}

/** `-1.2 to +4.5%`, `27-65%`, `12 (1.4)`, `+++ +12.0%`, `B oversold`. */
function pairText(kind: Kind, [first, second]: readonly [Value, Value], style: Drawn): string {
  const one = valueText(kind, first, style)
  const two = valueText(kind, second, style)
  if (kind === 'lettered') return style.words ? two : `${one} ${two}`
  if (kind === 'performance') return `${one} ${two}`
  if (kind === 'lifted') return `${one}${second === null ? '' : ` (${valueText('tenth', second, style)})`}`
  if (first === null || second === null) return UNKNOWN
  return `${one.replace(/%$/, '')}${kind === 'share' ? '-' : ' to '}${two}`
}

/** Sparklines next to words: equity and drawdown. */
function trends(lines: readonly Trend[], { width, unicode }: Screen): string[] {
  const name = longest(lines.map(line => line.name)) + 2
  const words = longest(lines.map(line => line.text))
  const barWidth = Math.max(4, Math.min(60, drawingWidth(width) - name - 2 - words))
  return lines.map(
    line => `${line.name.padEnd(name)}${sparkline(line.values, { width: barWidth, ascii: !unicode })}  ${line.text}`,
  )
}

const CHART_HEIGHT = 10

/** The lines of a chart that a terminal has room for; of a histogram its bars. */
function drawnChart(chart: Chart, screen: Screen): string[] {
  if (chart.bars.length > 0) return drawnBars(chart, screen)
  if (chart.x.values.length === 0) return [chart.empty]
  const { log } = chart.y
  const lines = chart.lines
    .filter(({ terminal }) => terminal !== undefined)
    .map(({ values, terminal }) => ({
      values: log ? values.map(value => (value === null ? null : Math.log(value))) : values,
      dotted: terminal === 'dotted',
    }))
  return drawChart(lines, {
    width: drawingWidth(screen.width),
    height: chart.x.unit === 'bars' ? CHART_HEIGHT - 1 : CHART_HEIGHT,
    ascii: !screen.unicode,
    label: value => (chart.y.unit === 'money' ? money(log ? Math.exp(value) : value) : returnText(value)),
    beneath: chart.x.unit === 'bars' ? barsBeneath(chart) : datesBeneath(chart),
  })
}

function barsBeneath({ x: { values } }: Chart): { at: number; text: string }[] {
  const first = values[0]!
  const last = values.at(-1)!
  const bars = [...new Set([first, 0, Math.round(last / 2), last])].filter(bar => bar >= first)
  return bars.map(bar => ({ at: (bar - first) / (last - first), text: bar > 0 ? `+${bar}` : String(bar) }))
}

function datesBeneath({ x: { values } }: Chart): { at: number; text: string }[] {
  return [values[0]!, values[Math.round((values.length - 1) / 2)]!, values.at(-1)!].map((day, i) => ({
    at: i / 2,
    text: formatDay(day),
  }))
}

const MOST_CLASSES = 12

/** Merges neighbouring classes of the first bars until they fit on a screen. */
function drawnBars({ bars }: Chart, { width, unicode }: Screen): string[] {
  const [{ edges, counts }, ...others] = bars as [Chart['bars'][number], ...Chart['bars']]
  const each = Math.ceil(counts.length / MOST_CLASSES)
  const classes = Array.from({ length: Math.ceil(counts.length / each) }, (_, i) => {
    const first = i * each
    const end = Math.min((i + 1) * each, counts.length)
    const n = sum(counts.slice(first, end))
    const shares = [counts, ...others.map(other => other.counts)].map(all => {
      const total = sum(all)
      return total === 0 ? UNKNOWN : share(sum(all.slice(first, end)) / total)
    })
    const text = others.length === 0 ? whole(n) : `${whole(n)}  ${shares.join(' / ')}`
    return { label: classLabel(edges[first]!, edges[end]!), value: n, text }
  })
  return drawBars(classes, { width: Math.min(80, drawingWidth(width)), ascii: !unicode })
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, n) => total + n, 0)
}
