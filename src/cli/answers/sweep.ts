import type { Sweep } from '../../research/sweep/result.js'
import type { Answer } from '../output.js'
import type { Row } from '../render/records.js'
import { type SweepStyle, sweepBlocks } from '../render/sweep.js'

/** All cells that were looked at; only people see a part of them. */
export function sweepAnswer(found: Sweep, style: SweepStyle): Answer {
  return {
    document: () => found,
    columns: CELL,
    rows: () => cellRows(found).rows,
    blocks: () => sweepBlocks(found, style),
  }
}

/** The cells, for a file too. */
export function cellRows({ cells, timeframe }: Sweep): { columns: readonly string[]; rows: Row[] } {
  return { columns: CELL, rows: cells.map((cell): Row => ({ timeframe, ...cell })) }
}

const CELL = [
  ...['ticker', 'field', 'timeframe', 'band', 'prev_band', 'context_ticker', 'context_field', 'context_band'],
  ...['window', 'horizon', 'events', 'n', 'n_indep', 'lost', 'mean', 'base', 'diff', 'hit', 'base_hit'],
  ...['low', 'high', 'p', 'q', 't', 'sharpe', 'grey', 'reason'],
]
