import { type CellTask, cellLooker, type GridData } from '../backtest/grid.js'
import type { Handler } from '../threads.js'

/** Trades combinations of a grid. */
export function begin(data: GridData): Handler {
  const look = cellLooker(data)
  return { answer: (task: CellTask) => ({ result: look(task) }) }
}
