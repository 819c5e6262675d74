import type { Paint } from './paint.js'

export interface Column {
  title: string
  align?: 'right'
  /** Of a last column: text that does not fit goes on in lines below. */
  wraps?: true
  /** Columns that may be left out on a narrow terminal: the highest goes first. */
  spare?: number
}

export type Cell = string | { text: string; tone: keyof Paint }

export interface Table {
  columns: readonly Column[]
  rows: readonly (readonly Cell[])[]
  /** The output that has what finds no room here; csv unless given. */
  whole?: 'json'
}

/** A piece of an answer for people: what it is about, a table, sentences. */
export interface Block {
  title?: readonly string[]
  table?: Table
  /** A drawing, line by line, as it is. */
  drawing?: readonly string[]
  notes?: readonly string[]
}

const GAP = '  '

/** More than this no other column makes room for: what a last column has beyond it goes on in lines below. */
const WIDEST = 40

/** The table without the columns that do not fit, and the titles of those. */
export function fitted(table: Table, width: number): { table: Table; left: string[] } {
  const widths = table.columns.map((column, i) =>
    Math.min(widthOf(column, i, table), column.wraps ? WIDEST : Number.POSITIVE_INFINITY),
  )
  const kept = new Set(table.columns.keys())
  const left: string[] = []
  const total = (): number => [...kept].reduce((sum, i) => sum + widths[i]! + GAP.length, -GAP.length)
  const spares = [...kept].filter(i => table.columns[i]!.spare !== undefined)
  spares.sort((a, b) => table.columns[b]!.spare! - table.columns[a]!.spare!)
  for (const i of spares) {
    if (total() <= width) break
    kept.delete(i)
    left.push(table.columns[i]!.title)
  }
  const only = <T>(items: readonly T[]): T[] => items.filter((_, i) => kept.has(i))
  return { table: { columns: only(table.columns), rows: table.rows.map(only) }, left }
}

/** Lines of aligned text. */
export function plainTable({ columns, rows }: Table, paint: Paint): string[] {
  const widths = columns.map((column, i) => widthOf(column, i, { columns, rows }))
  const line = (cells: readonly Cell[]): string =>
    cells
      .map((cell, i) => {
        const space = ' '.repeat(widths[i]! - textOf(cell).length)
        const last = i === cells.length - 1
        return columns[i]!.align === 'right' ? space + painted(cell, paint) : painted(cell, paint) + (last ? '' : space)
      })
      .join(GAP)
      .trimEnd()
  return [line(columns.map(column => ({ text: column.title, tone: 'strong' }))), ...rows.map(line)]
}

/** The same through the terminal's table drawer. */
export async function terminalTable({ columns, rows }: Table, paint: Paint): Promise<string[]> {
  const { default: Drawer } = await import('cli-table3')
  const drawer = new Drawer({
    chars: { ...NO_BORDER, middle: GAP },
    head: columns.map(column => paint.strong(column.title)),
    colAligns: columns.map(column => column.align ?? 'left'),
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
  })
  drawer.push(...rows.map(row => row.map(cell => painted(cell, paint))))
  return drawer
    .toString()
    .split('\n')
    .map(line => line.trimEnd())
}

export function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text
}

function painted(cell: Cell, paint: Paint): string {
  return typeof cell === 'string' ? cell : paint[cell.tone](cell.text)
}

function widthOf(column: Column, at: number, { rows }: Table): number {
  return rows.reduce((widest, row) => Math.max(widest, textOf(row[at]!).length), column.title.length)
}

const NO_BORDER = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap(side => [side, `${side}-mid`, `${side}-left`, `${side}-right`])
    .concat('mid-mid')
    .map(part => [part, '']),
)
