import { formatDay } from '../../../core/model/day.js'
import { PERFORMANCES } from '../../../core/model/series.js'
import {
  barsText,
  classLabel,
  figureText,
  money,
  numberText,
  probability,
  ratio,
  returnText,
  share,
  shareText,
  UNKNOWN,
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
import { drawBars, drawChart, drawingWidth, maxLength, sparkline } from './chart.js'
import type { Block, Cell, Column, Screen, Table } from './table.js'
import { wrap } from './text.js'

/** The requested amount of detail. */
export interface Style {
  /** Every statistic and warning, with words instead of signs. */
  wide?: boolean
  explain?: boolean
}

type DrawStyle = Style & Pick<Screen, 'isPiped' | 'unicode'>

export function blocksOf(result: Described, screen: Screen, style: Style = {}): Block[] {
  const { paragraphs, warnings = [], notes = [], method = [] } = result
  const { isPiped, unicode } = screen
  const blocks = paragraphs.flatMap(paragraph => paragraphBlocks(paragraph, screen, { ...style, isPiped, unicode }))
  const lastBlock = { notes: [...warnings, ...noteNames(notes, style)], faint: method }
  return lastBlock.notes.length === 0 && method.length === 0 ? blocks : [...blocks, lastBlock]
}

/** One line with the names of the notes that fit, and the number of the others. With --wide: the notes themselves. */
function noteNames(notes: readonly string[], { wide = false }: Style): readonly string[] {
  if (wide || notes.length === 0) return notes
  const names: string[] = []
  for (const name of notes.map(shortNoteName)) {
    if (names.length > 0 && [...names, name].join(NOTE_SEPARATOR).length > MAX_NOTE_NAMES_LENGTH) break
    names.push(name)
  }
  const omitted = notes.length - names.length
  if (omitted > 0) names.push(`${omitted} more`)
  return [`notes: ${names.join(NOTE_SEPARATOR)} (--wide)`]
}

const NOTE_SEPARATOR = ' · '
/** In characters: a line of 80 columns less `notes:`, `N more` and `(--wide)`. */
const MAX_NOTE_NAMES_LENGTH = 54

function shortNoteName(note: string): string {
  const words = nameOfNote(note)
  return words.length <= MAX_NOTE_NAMES_LENGTH ? words : `${wrap(words, MAX_NOTE_NAMES_LENGTH - 1)[0]}…`
}

/** Whether a part is shown on this screen. @param medium the medium or detail of the part; undefined for all */
function isShown(medium: Medium | undefined, { wide = false, explain = false, isPiped }: DrawStyle): boolean {
  if (medium === undefined || medium === 'terminal') return true
  if (medium === 'screen') return !isPiped
  if (medium === 'pipe') return isPiped
  if (medium === 'page') return false
  if (medium === 'explain') return explain
  if (medium === 'wide') return wide
  // `short`: only without --wide.
  return !wide
}

/** The blocks of a paragraph or section, the first with its heading. An empty section is left out. */
function paragraphBlocks(paragraph: Paragraph | Section, screen: Screen, style: DrawStyle): Block[] {
  if (!isShown(paragraph.on, style)) return []
  const shown = paragraph.parts.filter(part => isShown(part.on, style))
  const blocks = shown.flatMap(part => partBlocks(part, screen, style))
  if ('heading' in paragraph) {
    const { heading } = paragraph
    const [first = emptyBlock(shown, style), ...more] = blocks
    return [heading.length === 0 ? first : { title: heading, ...first }, ...more]
  }
  const [first, ...more] = blocks
  if (first === undefined) return []
  const { title, phrases = [], untitled } = paragraph
  if (untitled) return blocks
  return [{ title: [title, ...phrases, ...shown.flatMap(chartLegend)], ...first }, ...more]
}

/** Phrases that explain the dotted lines and the scale of a chart; none for another part. */
function chartLegend(part: Part): string[] {
  if (!('chart' in part)) return []
  const { lines, y } = part.chart
  const phrases = lines.filter(({ terminal }) => terminal === 'dotted').map(({ label }) => `dots: ${label}`)
  return y.log ? [...phrases, 'logarithmic scale'] : phrases
}

/** The block of a paragraph without content: the column titles of its first table; empty without a table. */
function emptyBlock(parts: readonly Part[], style: DrawStyle): Block {
  const part = parts.find(part => 'table' in part)
  return part === undefined ? {} : { table: drawnTable(part.table, style) }
}

/** The blocks of a part; none for an empty one. */
function partBlocks(part: Part, screen: Screen, style: DrawStyle): Block[] {
  if ('notes' in part) return part.notes.length === 0 ? [] : [{ notes: part.notes }]
  if ('phrases' in part) return part.phrases.length === 0 ? [] : [{ phrases: part.phrases }]
  if ('list' in part) return part.list.length === 0 ? [] : [{ notes: part.list }]
  if ('table' in part) return part.table.rows.length === 0 ? [] : [{ table: drawnTable(part.table, style) }]
  if ('fold' in part)
    return part.fold.parts.filter(({ on }) => isShown(on, style)).flatMap(part => partBlocks(part, screen, style))
  let drawing: string[] = []
  if ('chart' in part) drawing = chartLines(part.chart, screen)
  else if ('trend' in part) drawing = trendLines(part.trend, screen)
  return drawing.length === 0 ? [] : [{ drawing }]
}

/** A table as the terminal draws it. With --wide, columns that do not fit follow in a second table. */
function drawnTable({ columns, rows, grey, grouped, limit, allColumnsIn }: DescribedTable, style: DrawStyle): Table {
  const shownColumns = [...columns.keys()].filter(i => isShown(columns[i]!.on, style))
  const shownRows = rows.slice(0, limit)
  const [groupColumn] = shownColumns
  // In a grouped table, the first column is blank where it repeats the row before.
  const isRepeated = (column: number, row: number): boolean =>
    grouped === true &&
    !style.isPiped &&
    column === groupColumn &&
    shownRows[row - 1]?.[column]?.content === shownRows[row]![column]!.content
  const drawn: Table = {
    columns: shownColumns.map(i => screenColumn(columns[i]!, style)),
    rows: shownRows.map((cells, row) =>
      shownColumns.map(i => (isRepeated(i, row) ? '' : screenCell(cells[i]!, style, grey?.[row]))),
    ),
  }
  if (allColumnsIn !== undefined) drawn.allColumnsIn = allColumnsIn
  // A command without --wide leaves it undefined.
  if (style.wide === false) drawn.allColumnsIn = 'wide'
  if (style.wide) drawn.continued = true
  return drawn
}

/** A column with its title in capitals; on a screen its sign replaces the title, if it has one. */
function screenColumn(heading: Heading, { isPiped }: DrawStyle): Column {
  const { title, screenTitle: sign, verbatimTitle: verbatim, kind } = heading
  const fullTitle = verbatim ? title : title.toUpperCase()
  const column: Column = { ...heading, title: fullTitle }
  if (!isPiped && sign !== undefined) {
    column.title = sign
    column.fullName = `${sign} (${title})`
  }
  return isNumeric(kind) ? { ...column, align: 'right' } : column
}

/** A cell as text, with its mark and, in a heat map, its shade. @param grey whether the whole row is faint */
function screenCell({ kind, content, tone, mark = '', heat }: DescribedCell, style: DrawStyle, grey = false): Cell {
  const isPair = typeof content === 'object' && content !== null
  const value = isPair ? pairText(kind, content, style) : valueText(kind, content, style)
  const shade = heat === undefined || style.isPiped ? '' : ` ${SHADES[style.unicode ? 'unicode' : 'ascii'][heat]}`
  const text = value + mark + shade
  if (grey) return { text, tone: 'faint' }
  return tone === undefined ? text : { text, tone }
}

/** Shades of a heat map from the lightest to the darkest, so that it can be read without colour. */
const SHADES = { unicode: ['·', '░', '▒', '▓', '█'], ascii: ['.', ':', '-', '+', '#'] }

/** The text of a value. On a screen, a sign replaces the name of a performance band. */
function valueText(kind: Kind, value: Value, { isPiped, wide = false }: DrawStyle): string {
  if (value === null) return UNKNOWN
  if (typeof value === 'number') return NUMBER_FORMATS[kind](value)
  return kind === 'performance' && !isPiped && !wide ? (OUTCOME_SIGNS.get(value) ?? value) : value
}

const OUTCOME_SIGNS: ReadonlyMap<string, string> = new Map([
  ...PERFORMANCES.map((name, i): [string, string] => [name, SIGNS[i]!]),
  ['pending', '..'],
  ['no_history', '?'],
])

const NUMBER_FORMATS: Readonly<Record<Kind, (value: number) => string>> = {
  text: String,
  date: String,
  window: String,
  count: value => numberText(Math.round(value)),
  return: returnText,
  deviation: value => returnText(value).replace('+', ''),
  share: shareText,
  probability,
  ratio: value => ratio(value),
  oneDecimal: value => ratio(value, 1),
  degrees: value => ratio(value, 0),
  // A difference of returns is far below 1, a t value is not.
  statistic: value => ratio(value, Math.abs(value) < 0.1 ? 4 : 2),
  price: figureText,
  money,
  countAndLift: numberText,
  bars: barsText,
  performance: returnText,
  lettered: String,
}

/** The text of a cell with two values: `-1.2 to +4.5%`, `27-65%`, `12 (1.4)`, `+++ +12.0%`, `B oversold`. */
function pairText(kind: Kind, [first, second]: readonly [Value, Value], style: DrawStyle): string {
  const firstText = valueText(kind, first, style)
  const secondText = valueText(kind, second, style)
  if (kind === 'lettered') return style.isPiped ? secondText : `${firstText} ${secondText}`
  if (kind === 'performance') return `${firstText} ${secondText}`
  if (kind === 'countAndLift')
    return second === null ? firstText : `${firstText} (${valueText('oneDecimal', second, style)})`
  if (first === null || second === null) return UNKNOWN
  return `${firstText.replace(/%$/, '')}${kind === 'share' ? '-' : ' to '}${secondText}`
}

/** Lines with a name, a sparkline and a text each, such as equity and drawdown. */
function trendLines(lines: readonly Trend[], { width, unicode }: Screen): string[] {
  const nameWidth = maxLength(lines.map(line => line.name)) + 2
  const textWidth = maxLength(lines.map(line => line.text))
  const barWidth = Math.max(4, Math.min(60, drawingWidth(width) - nameWidth - 2 - textWidth))
  return lines.map(
    line =>
      `${line.name.padEnd(nameWidth)}${sparkline(line.values, { width: barWidth, ascii: !unicode })}  ${line.text}`,
  )
}

/** In rows: the path of a study around its events, and any other chart. */
const PATH_HEIGHT = 9
const CHART_HEIGHT = 10

/** A chart as lines of text: a histogram as bars, otherwise the lines that are meant for a terminal. */
function chartLines(chart: Chart, screen: Screen): string[] {
  if (chart.bars.length > 0) return histogramLines(chart, screen)
  if (chart.x.values.length === 0) return [chart.empty]
  const { log } = chart.y
  // The average path of a price around events, bar by bar; other charts have dates.
  const isPath = chart.x.unit === 'bars'
  const lines = chart.lines
    .filter(({ terminal }) => terminal !== undefined)
    .map(({ values, terminal }) => ({
      values: log ? values.map(value => (value === null ? null : Math.log(value))) : values,
      dotted: terminal === 'dotted',
    }))
  return drawChart(lines, {
    width: drawingWidth(screen.width),
    height: isPath ? PATH_HEIGHT : CHART_HEIGHT,
    ascii: !screen.unicode,
    label: value => (chart.y.unit === 'money' ? money(log ? Math.exp(value) : value) : returnText(value)),
    axisTexts: isPath ? barAxisTexts(chart) : dateAxisTexts(chart),
  })
}

/** Texts below an axis of bars around an event: the first bar, the event (0), the middle after it and the last. */
function barAxisTexts({ x: { values } }: Chart): { at: number; text: string }[] {
  const first = values[0]!
  const last = values.at(-1)!
  const bars = [...new Set([first, 0, Math.round(last / 2), last])].filter(bar => bar >= first)
  return bars.map(bar => ({ at: (bar - first) / (last - first), text: bar > 0 ? `+${bar}` : String(bar) }))
}

/** Texts below an axis of days: the first, the middle and the last. */
function dateAxisTexts({ x: { values } }: Chart): { at: number; text: string }[] {
  return [values[0]!, values[Math.round((values.length - 1) / 2)]!, values.at(-1)!].map((day, i) => ({
    at: i / 2,
    text: formatDay(day),
  }))
}

const MAX_CLASSES = 12

/** A histogram as at most MAX_CLASSES lines. Each has the first series as a bar, and the share of each series. */
function histogramLines({ bars }: Chart, { width, unicode }: Screen): string[] {
  const { edges, counts } = bars[0]!
  const classesPerLine = Math.ceil(counts.length / MAX_CLASSES)
  const classes = Array.from({ length: Math.ceil(counts.length / classesPerLine) }, (_, i) => {
    const start = i * classesPerLine
    const end = Math.min(start + classesPerLine, counts.length)
    const firstCount = sum(counts.slice(start, end))
    const shares = bars.map(series => {
      const total = sum(series.counts)
      return total === 0 ? UNKNOWN : share(sum(series.counts.slice(start, end)) / total)
    })
    const text = bars.length === 1 ? numberText(firstCount) : `${numberText(firstCount)}  ${shares.join(' / ')}`
    return { label: classLabel(edges[start]!, edges[end]!), value: firstCount, text }
  })
  return drawBars(classes, { width: Math.min(80, drawingWidth(width)), ascii: !unicode })
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, n) => total + n, 0)
}
