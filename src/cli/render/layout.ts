import type { Paint } from './paint.js'
import { ascii, printable } from './printable.js'
import { type Block, type Cell, fitted, plainTable, type Table, terminalTable, textOf } from './table.js'
import { flow, wrap } from './wrap.js'

/** What an answer for people is drawn for. */
export interface Screen {
  /** Columns; infinite where nobody cuts. */
  width: number
  /** Whole words instead of signs, and every column. */
  words: boolean
  unicode: boolean
  paint: Paint
}

/** Blocks → text. Into a pipe a lone table goes bare, so that its lines can be counted and cut. */
export async function laidOut(blocks: readonly Block[], screen: Screen): Promise<string> {
  const clean = blocks.map(block => cleaned(block, screen.unicode ? printable : text => ascii(printable(text))))
  const [only] = clean
  if (screen.width === Number.POSITIVE_INFINITY && clean.length === 1 && only?.table && !only.notes?.length)
    return text(plainTable(only.table, screen.paint))
  const parts: string[] = []
  for (const block of clean) parts.push(...(await blockParts(block, screen)))
  return parts.join('\n')
}

/** Everything but drawings, which may hold the codes of their colours, and hold no text of files. */
function cleaned({ title, table, notes, ...rest }: Block, legible: (text: string) => string): Block {
  const clean = (cell: Cell): Cell => (typeof cell === 'string' ? legible(cell) : { ...cell, text: legible(cell.text) })
  return {
    ...rest,
    ...(title === undefined ? {} : { title: title.map(legible) }),
    ...(notes === undefined ? {} : { notes: notes.map(legible) }),
    ...(table === undefined ? {} : { table: { ...table, rows: table.rows.map(row => row.map(clean)) } }),
  }
}

async function blockParts({ title, table, drawing, notes = [] }: Block, screen: Screen): Promise<string[]> {
  const heading = title === undefined ? [] : flow(title, screen.width).map(line => screen.paint.strong(line))
  const below = notes.flatMap(note => wrap(note, screen.width))
  const middle = table !== undefined && table.rows.length > 0 ? await tableText(table, screen) : text(drawing ?? [])
  // Sentences follow their heading at once; a table or a drawing stands apart from both.
  const parts = middle === '' ? [text([...heading, ...below])] : [text(heading), middle, text(below)]
  return parts.filter(part => part !== '')
}

async function tableText(whole: Table, screen: Screen): Promise<string> {
  if (screen.width === Number.POSITIVE_INFINITY) return text(plainTable(whole, screen.paint))
  const { table, left } = fitted(wrapped(whole, screen), screen.width)
  const narrow = narrowed(wrapped(table, screen), screen)
  const lines = await terminalTable(narrow, screen.paint)
  if (left.length > 0)
    lines.push(...wrap(`no room for ${left.join(', ')}: --output ${whole.whole ?? 'csv'} has all`, screen.width))
  return text(lines)
}

/** Text of a last column that wraps, line by line in rows of their own. */
function wrapped(table: Table, screen: Screen): Table {
  const room = roomOfLast(table, screen)
  if (table.columns.at(-1)?.wraps !== true || room < NARROWEST) return table
  const rows = table.rows.flatMap(row => {
    const before = row.slice(0, -1)
    const [first = '', ...more] = wrap(textOf(row.at(-1)!), room)
    return [[...before, first], ...more.map(line => [...before.map(() => ''), line])]
  })
  return { ...table, rows }
}

/** A column that wraps is worth its place from here on. */
const NARROWEST = 24

/** What the columns before leave to the last one. */
function roomOfLast({ columns, rows }: Table, { width }: Screen): number {
  const before = columns.slice(0, -1).map((column, i) => longest([column.title, ...rows.map(row => row[i]!)]))
  return width - before.reduce((sum, taken) => sum + taken + 2, 0)
}

/** A last column of text that still does not fit is cut, with a mark; a number never is. */
function narrowed(table: Table, screen: Screen): Table {
  const last = table.columns.length - 1
  if (table.columns[last]?.align === 'right') return table
  const room = roomOfLast(table, screen)
  const mark = screen.unicode ? '…' : '...'
  const cut = (cell: Cell): Cell => {
    const shown = textOf(cell)
    if (shown.length <= room || room <= mark.length) return cell
    const short = shown.slice(0, room - mark.length) + mark
    return typeof cell === 'string' ? short : { ...cell, text: short }
  }
  return { ...table, rows: table.rows.map(row => row.map((cell, i) => (i === last ? cut(cell) : cell))) }
}

function longest(cells: readonly Cell[]): number {
  return cells.reduce((most, cell) => Math.max(most, textOf(cell).length), 0)
}

function text(lines: readonly string[]): string {
  return lines.map(line => `${line}\n`).join('')
}
