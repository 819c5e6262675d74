// For: draw descriptions on a terminal and in a pipe.
// In: a described table or chart, and the width.
// Out: lines of text.

import { printable } from '../../../core/errors.js'
import type { Heading, Tone } from '../../present/description.js'
import { flowPhrases, linesText, type Paint, wrap } from './text.js'

export interface Column extends Pick<Heading, 'title' | 'hidePriority' | 'wraps'> {
  align?: 'right'
  /** The name in the line about hidden columns (default: the title). */
  fullName?: string
}

export type Cell = string | { text: string; tone: Tone }

export interface Table {
  columns: readonly Column[]
  rows: readonly (readonly Cell[])[]
  /** The option for columns that do not fit here (default csv). */
  allColumnsIn?: 'json' | 'wide'
  /** Columns that do not fit go into a second table below; otherwise they are hidden. */
  continued?: boolean
}

export interface Block {
  title?: readonly string[] | undefined
  table?: Table | undefined
  /** A drawing, line by line, as it is. */
  drawing?: readonly string[]
  notes?: readonly string[] | undefined
  /** Phrases side by side, below the heading. */
  phrases?: readonly string[] | undefined
  /** Grey sentences at the end. */
  faint?: readonly string[] | undefined
}

const GAP = '  '

/** A column that wraps counts as at most this wide when columns are chosen. */
const MAX_WRAPPING_WIDTH = 40

/** The table without columns that do not fit (the highest `hidePriority` is hidden first), and the hidden indexes. */
export function fitToWidth(table: Table, width: number): { table: Table; hidden: number[] } {
  const widths = table.columns.map((column, i) =>
    Math.min(widthOf(column, i, table), column.wraps ? MAX_WRAPPING_WIDTH : Number.POSITIVE_INFINITY),
  )
  const shown = new Set(table.columns.keys())
  const hidden: number[] = []
  const shownWidth = (): number => [...shown].reduce((sum, i) => sum + widths[i]! + GAP.length, -GAP.length)
  const hideableColumns = [...shown].filter(i => table.columns[i]!.hidePriority !== undefined)
  hideableColumns.sort((a, b) => table.columns[b]!.hidePriority! - table.columns[a]!.hidePriority!)
  for (const i of hideableColumns) {
    if (shownWidth() <= width) break
    shown.delete(i)
    hidden.push(i)
  }
  return { table: selectColumns(table, i => shown.has(i)), hidden }
}

/**
 * A second table with the columns that were hidden in the first one. It repeats the first columns, which say what a row
 * is about. The last hidden column cannot be hidden again.
 */
function continuation(table: Table, hidden: readonly number[]): Table {
  const isFigure = (column: Column): boolean => column.align === 'right' || column.hidePriority !== undefined
  const firstFigureColumn = table.columns.findIndex(isFigure)
  const columns = table.columns.map((column, i) => {
    const { hidePriority: _, ...withoutPriority } = column
    return i === hidden.at(-1) ? withoutPriority : column
  })
  return selectColumns({ ...table, columns }, i => hidden.includes(i) || i < Math.max(firstFigureColumn, 1))
}

function selectColumns(table: Table, isWanted: (index: number) => boolean): Table {
  const select = <T>(items: readonly T[]): T[] => items.filter((_, i) => isWanted(i))
  return { ...table, columns: select(table.columns), rows: table.rows.map(select) }
}

/** The table as lines of aligned text, each character one column wide. */
export function plainTable({ columns, rows }: Table, paint: Paint): string[] {
  const widths = columns.map((column, i) => widthOf(column, i, { columns, rows }))
  const line = (cells: readonly Cell[]): string => {
    const padded = cells.map((cell, i) => {
      const text = paintCell(cell, paint)
      const space = ' '.repeat(widths[i]! - textOf(cell).length)
      if (columns[i]!.align === 'right') return space + text
      return i === cells.length - 1 ? text : text + space
    })
    return padded.join(GAP).trimEnd()
  }
  return [line(columns.map(column => ({ text: column.title, tone: 'strong' }))), ...rows.map(line)]
}

/** Lines of aligned text whose columns allow for the width of each character in a terminal. */
export async function terminalTable({ columns, rows }: Table, paint: Paint): Promise<string[]> {
  const { default: Drawer } = await import('cli-table3')
  const drawer = new Drawer({
    chars: { ...NO_BORDER, middle: GAP },
    head: columns.map(column => paint.strong(column.title)),
    colAligns: columns.map(column => column.align ?? 'left'),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
  })
  drawer.push(...rows.map(row => row.map(cell => paintCell(cell, paint))))
  return drawer
    .toString()
    .split('\n')
    .map(line => line.trimEnd())
}

const NO_BORDER = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap(side => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat('mid-mid')
    .map(part => [part, '']),
)

export function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text
}

function paintCell(cell: Cell, paint: Paint): string {
  return typeof cell === 'string' ? cell : paint[cell.tone](cell.text)
}

/** The number of characters in the longest text of a column, its title included. @param at index of the column */
function widthOf(column: Column, at: number, { rows }: Table): number {
  return rows.reduce((widest, row) => Math.max(widest, textOf(row[at]!).length), column.title.length)
}

export interface Screen {
  /** Columns; infinite without a limit. */
  width: number
  /** Whether the output is text for another program: words instead of signs, and every column. */
  isPiped: boolean
  unicode: boolean
  paint: Paint
}

/** The text of blocks. In a pipe a single table has nothing around it, so that its lines can be counted and cut. */
export async function blocksText(blocks: readonly Block[], screen: Screen): Promise<string> {
  const makeLegible = (text: string): string => (screen.unicode ? printable(text) : withAsciiSigns(printable(text)))
  const legibleBlocks = blocks.map(block => legibleBlock(block, makeLegible))
  const [first, ...more] = legibleBlocks
  const isPipe = screen.width === Number.POSITIVE_INFINITY
  if (isPipe && first?.table && more.length === 0 && !first.notes?.length)
    return linesText(plainTable(first.table, screen.paint))
  const parts: string[] = []
  for (const block of legibleBlocks) parts.push(...(await blockParts(block, screen)))
  return parts.join('\n')
}

/** A block with every text made legible, except drawings: these have colour codes, and no text of files. */
function legibleBlock(
  { title, table, notes, phrases, faint, ...rest }: Block,
  legible: (text: string) => string,
): Block {
  const legibleCell = (cell: Cell): Cell =>
    typeof cell === 'string' ? legible(cell) : { ...cell, text: legible(cell.text) }
  // Almost no text needs a change, and a market has a million cells.
  const isLegible = (cell: Cell): boolean => legible(textOf(cell)) === textOf(cell)
  const rows = table?.rows.map(row => (row.every(isLegible) ? row : row.map(legibleCell)))
  const texts = { title: title?.map(legible), phrases: phrases?.map(legible), notes: notes?.map(legible) }
  return { ...rest, ...texts, faint: faint?.map(legible), table: table && { ...table, rows: rows! } }
}

/** The parts of a block's text that blank lines separate: the heading, a table or drawing, the sentences below it. */
async function blockParts(block: Block, screen: Screen): Promise<string[]> {
  const { title = [], table, drawing, notes = [], phrases = [], faint = [] } = block
  const { width, paint } = screen
  const heading = [...flowPhrases(title, width).map(line => paint.strong(line)), ...flowPhrases(phrases, width, 2)]
  const faintLines = faint.flatMap(note => wrap(note, width)).map(line => paint.faint(line))
  const below = [...notes.flatMap(note => wrap(note, width)), ...faintLines]
  const middle =
    table !== undefined && table.rows.length > 0 ? await tableText(table, screen) : linesText(drawing ?? [])
  // Sentences directly follow their heading; tables and drawings are set apart.
  const parts = middle === '' ? [linesText([...heading, ...below])] : [linesText(heading), middle, linesText(below)]
  return parts.filter(part => part !== '')
}

/** The text of a table. If it does not fit, columns are hidden; they follow as a second table, or a line names them. */
async function tableText(table: Table, screen: Screen): Promise<string> {
  if (screen.width === Number.POSITIVE_INFINITY) return linesText(plainTable(table, screen.paint))
  const { table: fitting, hidden } = fitToWidth(wrapLastColumn(table, screen), screen.width)
  const narrow = cutLastColumn(wrapLastColumn(fitting, screen), screen)
  const lines = await terminalTable(narrow, screen.paint)
  if (hidden.length === 0) return linesText(lines)
  if (table.continued) return `${linesText([...lines, ''])}${await tableText(continuation(table, hidden), screen)}`
  const names = hidden.toSorted((a, b) => a - b).map(i => table.columns[i]!.fullName ?? table.columns[i]!.title)
  const note = `${names.join(', ')} hidden (terminal too narrow); --${table.allColumnsIn ?? 'csv'} shows every column`
  return linesText([...lines, ...wrap(note, screen.width)])
}

/** The table with the text of a wrapping last column divided into rows of one line each. */
function wrapLastColumn(table: Table, screen: Screen): Table {
  const widthLeft = lastColumnWidth(table, screen)
  if (table.columns.at(-1)?.wraps !== true || widthLeft < MIN_WRAPPING_WIDTH) return table
  const rows = table.rows.flatMap(row => {
    const otherCells = row.slice(0, -1)
    const [first = '', ...more] = wrap(textOf(row.at(-1)!), widthLeft)
    return [[...otherCells, first], ...more.map(line => [...otherCells.map(() => ''), line])]
  })
  return { ...table, rows }
}

/** A wrapping column needs at least this width. */
const MIN_WRAPPING_WIDTH = 24

function lastColumnWidth(table: Table, { width }: Screen): number {
  const otherColumns = table.columns.slice(0, -1)
  return otherColumns.reduce((widthLeft, column, i) => widthLeft - widthOf(column, i, table) - GAP.length, width)
}

/** The table with the texts of its last column cut to the width that is left, with a mark; numbers are never cut. */
function cutLastColumn(table: Table, screen: Screen): Table {
  const last = table.columns.length - 1
  if (table.columns[last]?.align === 'right') return table
  const widthLeft = lastColumnWidth(table, screen)
  const mark = screen.unicode ? '…' : '...'
  const cut = (cell: Cell): Cell => {
    const text = textOf(cell)
    if (text.length <= widthLeft || widthLeft <= mark.length) return cell
    const shortText = text.slice(0, widthLeft - mark.length) + mark
    return typeof cell === 'string' ? shortText : { ...cell, text: shortText }
  }
  return { ...table, rows: table.rows.map(row => row.map((cell, i) => (i === last ? cut(cell) : cell))) }
}

/** `3.1 of 12.4 MB`, or `3.1 MB` if the total is unknown. @param done in bytes, as `total` */
export function megabytesText(done: number, total: number | null): string {
  const mega = (bytes: number): string => (bytes / 1e6).toFixed(1)
  return total === null ? `${mega(done)} MB` : `${mega(done)} of ${mega(total)} MB`
}

/** A text with the signs of bands replaced by ASCII, for terminals without Unicode. Names from files stay. */
function withAsciiSigns(text: string): string {
  return text.replace(/[≤·’…]/g, sign => ASCII_SIGNS[sign]!)
}

const ASCII_SIGNS: Readonly<Record<string, string>> = { '≤': '<=', '·': '*', '’': "'", '…': '...' }
