import type { Backtest } from '../../research/backtest/result.js'
import type { EventStudy } from '../../research/study/result.js'
import type { Sweep } from '../../research/sweep/result.js'
import { type CellFilter, cellColumns, cellRows } from './cells.js'
import { type Column, sorted, tableRows } from './column.js'
import { occurrenceColumns, occurrenceRows } from './occurrences.js'
import { tradeColumns, tradeRows } from './trades.js'

export type Result = EventStudy | Backtest | Sweep

/** The table of a result that people sort: its columns, and its rows as markup in the order wanted. */
export interface SortedTable {
  /** Which columns can be sorted by. */
  sortable: boolean[]
  /** The rows that pass the filter, the first `most` of them, by a column or as the page was made. */
  rows(order: { column: number; descending: boolean } | null, filter: CellFilter | null, most: number): SortedRows
}

export interface SortedRows {
  text: string
  shown: number
  found: number
}

export function sortedTable(result: Result): SortedTable {
  if (result.schema === 'bands.study/1') return of(occurrenceColumns(result), () => occurrenceRows(result))
  if (result.schema === 'bands.backtest/1') return of(tradeColumns(result), () => tradeRows(result))
  return of(cellColumns(result), filter => cellRows(result, filter ?? undefined))
}

function of<Row>(columns: readonly Column<Row>[], rowsOf: (filter: CellFilter | null) => Row[]): SortedTable {
  return {
    sortable: columns.map(column => column.order !== undefined),
    rows(order, filter, most) {
      const all = rowsOf(filter)
      const column = order === null ? undefined : columns[order.column]
      const rows = column === undefined ? all : sorted(all, column, order?.descending ?? false)
      const shown = rows.slice(0, most)
      return { text: tableRows(columns, shown).text, shown: shown.length, found: rows.length }
    },
  }
}
