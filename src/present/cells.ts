import type { Sweep, SweepCell } from '../sweep/result.js'
import { type Column, plain, type Table, tableOf } from './description.js'

/** Every cell of a sweep, those too small for a test included: they were looked at, too. */
export function cellsTable(sweep: Sweep, limit = 20): Table {
  const { cells } = sweep
  return tableOf('Cells by corrected p, smallest first', cellColumns(sweep), cells, {
    grey: cells.map(({ grey }) => grey),
    limit,
    sorted: { cut: 'the first' },
    filter: cells.map(cell => ({
      text: cellText(cell).toLowerCase(),
      field: cell.field,
      window: cell.window,
      isTested: cell.p !== null,
      isFound: isFound(cell),
    })),
    empty: 'There was no cell to look at.',
  })
}

/** Below this corrected p a cell counts as found. */
const FOUND = 0.05

function isFound({ q }: SweepCell): boolean {
  return q !== null && q < FOUND
}

/** What makes a cell stands last on a terminal, where it may go on in lines below; a page has a column for each part of it. */
function cellColumns({ by, prev_band, contexts }: Sweep): Column<SweepCell>[] {
  const page = { kind: 'text', on: 'page' } as const
  return [
    { ...page, title: 'Field', of: cell => cell.field, mark: cell => (isFound(cell) ? ' ★' : undefined) },
    ...(by === 'ticker' ? [{ ...page, title: 'Ticker', of: ({ ticker }: SweepCell) => ticker ?? 'all' }] : []),
    { ...page, title: 'Band', of: ({ band }) => band },
    ...(prev_band ? [{ ...page, title: 'From', of: ({ prev_band }: SweepCell) => prev_band ?? 'any' }] : []),
    ...(contexts.length > 0 ? [{ ...page, title: 'Context', of: contextText }] : []),
    { title: 'Window', kind: 'window', on: 'page', of: ({ window }) => window },
    {
      title: 'q',
      kind: 'probability',
      hint: 'p corrected for how many were tried',
      of: ({ q }) => q,
      tone: cell => (isFound(cell) ? 'strong' : undefined),
    },
    { title: 'p', kind: 'probability', spare: 3, hint: 'Joint circular shift', of: ({ p }) => p },
    { title: 'n', kind: 'count', spare: 0, of: ({ n }) => n },
    { title: 'Indep', kind: 'count', spare: 5, hint: 'Windows that share no bar', of: ({ n_indep }) => n_indep },
    { title: 'Mean', kind: 'return', spare: 4, of: ({ mean }) => mean },
    { title: 'Any bar', kind: 'return', spare: 7, hint: 'Mean after any bar', of: ({ base }) => base, tone: plain },
    { title: 'Diff', kind: 'return', hint: 'Mean, less that of any bar', of: ({ diff }) => diff },
    { title: '95%', kind: 'return', spare: 8, hint: 'Stationary bootstrap', of: ({ low, high }) => [low, high] },
    { title: 'Hit', kind: 'share', spare: 6, hint: 'Share above 0', of: ({ hit }) => hit },
    {
      title: 'Any hit',
      kind: 'share',
      on: 'page',
      hint: 'Share above 0 after any bar',
      of: ({ base_hit }) => base_hit,
    },
    {
      title: 't',
      kind: 'ratio',
      spare: 9,
      hint: 'Above 3 is what is asked of a finding after decades of looking',
      of: ({ t }) => t,
      tone: ({ t }) => (t !== null && Math.abs(t) > 3 ? 'strong' : undefined),
    },
    {
      title: 'Lost',
      kind: 'count',
      on: 'page',
      hint: 'Windows that did not elapse, or were cut',
      of: ({ lost }) => lost,
    },
    { title: 'Cell', kind: 'text', wraps: true, on: 'terminal', of: cellText },
    { ...page, title: 'Remark', optional: true, of: ({ reason }) => reason },
  ]
}

function contextText({ context }: SweepCell): string | null {
  return context === null ? null : `${context.ticker} ${context.field} = ${context.band}`
}

/** `AAPL rsi_zone = oversold from neutral, 20d, GSPC trend_direction = downtrend`. */
export function cellText(cell: SweepCell): string {
  const { ticker, field, band, prev_band, window } = cell
  const who = ticker === null ? '' : `${ticker} `
  const left = prev_band === null ? '' : ` from ${prev_band}`
  const context = contextText(cell)
  return `${who}${field} = ${band}${left}, ${window}${context === null ? '' : `, ${context}`}`
}
