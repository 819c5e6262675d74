import { keyInWords } from '../../core/numbers.js'
import { LEVEL } from '../../core/statistics/verdict.js'
import type { Backtest, Trade } from '../../research/backtest/result.js'
import type { EventStudy, Occurrence } from '../../research/study/result.js'
import type { Sweep, SweepCell } from '../../research/sweep/result.js'
import { type Column, compact, type Table, tableOf, type Value, verdictTone } from './description.js'
import { compareTexts, stateText } from './words.js'

/** The table of a result that may be long. The script of its page builds it again, so that readers can sort it. */
export function longTable(result: EventStudy | Backtest | Sweep): Table {
  if (result.schema === 'bands.study/2') return occurrencesTable(result)
  return result.schema === 'bands.backtest/3' ? tradesTable(result) : cellsTable(result)
}

export const FULL_LIST_OPTIONS = {
  occurrences: '--write occurrences=FILE',
  trades: '--write trades=FILE',
  skipped: '--json',
  cells: '--write cells=FILE',
}

/** Each event of a study, with its later returns. */
export function occurrencesTable({ windows, context, occurrences }: EventStudy): Table {
  // Newest first, and by ticker on the same date.
  const rows = [...occurrences].sort((a, b) => compareTexts(b.date, a.date) || compareTexts(a.ticker, b.ticker))
  const hasStability = occurrences.some(({ stability }) => stability !== null)
  const longest = windows.at(-1)?.window
  const columns = compact<Column<Occurrence>>([
    { title: 'Date', kind: 'date', value: ({ date }) => date },
    { title: 'Ticker', kind: 'text', value: ({ ticker }) => ticker },
    { title: 'From', kind: 'text', value: ({ prev_band }) => prev_band },
    { title: 'To', kind: 'text', value: ({ band }) => band },
    hasStability && { title: 'Stability', kind: 'text', value: ({ stability }) => stability },
    hasStability && { title: 'Flips', kind: 'count', value: ({ flips }) => flips },
    context && { title: `${context.ticker} was`, kind: 'text', value: ({ context_band }) => context_band },
    { title: 'Close', kind: 'price', value: ({ close }) => close },
    ...windows.map(({ window }): Column<Occurrence> => {
      return { title: window, kind: 'return', value: ({ returns }) => returns[window] ?? null }
    }),
    longest && { title: `MFE ${longest}`, kind: 'return', value: ({ mfe }) => mfe[longest] ?? null },
    longest && { title: `MAE ${longest}`, kind: 'return', value: ({ mae }) => mae[longest] ?? null },
  ])
  return tableOf('Events, newest first', columns, rows, {
    sorted: { cut: 'the newest', fullListOption: FULL_LIST_OPTIONS.occurrences },
    empty: 'There is no such event.',
  })
}

export function tradesTable({ trades, ranking }: Backtest): Table {
  const rows = [...trades].sort((a, b) => compareTexts(b.entry_date, a.entry_date) || compareTexts(a.ticker, b.ticker))
  return tableOf('Trades, newest first', tradeColumns(trades, ranking), rows, {
    sorted: { cut: 'the newest', fullListOption: FULL_LIST_OPTIONS.trades },
    empty: 'There was no trade.',
  })
}

function tradeColumns(trades: readonly Trade[], ranking: Backtest['ranking']): Column<Trade>[] {
  const hasContext = trades.some(({ context_band }) => context_band !== null)
  return compact([
    { title: 'Signal', kind: 'date', value: ({ signal_date }) => signal_date },
    { title: 'Ticker', kind: 'text', value: ({ ticker }) => ticker },
    { title: 'Band', kind: 'text', value: changeText },
    hasContext && { title: 'Context', kind: 'text', value: ({ context_band }) => context_band },
    ...rankColumn<Trade>(ranking),
    { title: 'In', kind: 'date', value: ({ entry_date }) => entry_date },
    { title: 'at', kind: 'price', value: ({ entry_price }) => entry_price },
    { title: 'Out', kind: 'date', value: ({ exit_date }) => exit_date },
    { title: 'at', kind: 'price', value: ({ exit_price }) => exit_price },
    { title: 'Why', kind: 'text', value: ({ exit }) => keyInWords(exit) },
    { title: 'Bars', kind: 'count', value: ({ bars }) => bars },
    { title: 'Gross', kind: 'return', value: ({ gross }) => gross },
    { title: 'Net', kind: 'return', value: ({ net }) => net },
    { title: 'P&L', kind: 'money', value: ({ pnl }) => pnl },
    { title: 'MFE', kind: 'return', value: ({ mfe }) => mfe },
    { title: 'MAE', kind: 'return', value: ({ mae }) => mae },
  ])
}

/** `neutral → oversold` */
export function changeText({ prev_band, band }: Pick<Trade, 'prev_band' | 'band'>): string {
  return `${prev_band} → ${band}`
}

/** The column with the rank of each signal, a band or a number; no column without a ranking. */
export function rankColumn<Row extends Pick<Trade, 'rank'>>(ranking: Backtest['ranking']): Column<Row>[] {
  if (ranking === null) return []
  const hint = `${ranking.by}, the ${ranking.first} first`
  const value = ({ rank }: Row): Value => (typeof rank === 'number' ? Number(rank.toPrecision(6)) : rank)
  return [{ title: 'Rank', kind: 'text', hint, value }]
}

/** Every combination of a sweep, including those too small for a test, because they count as trials. */
export function cellsTable(sweep: Sweep, limit = 20): Table {
  const { cells } = sweep
  return tableOf('Combinations by corrected p, smallest first', cellColumns(sweep), cells, {
    grey: cells.map(({ grey }) => grey),
    limit,
    sorted: { cut: 'the first', fullListOption: FULL_LIST_OPTIONS.cells },
    filter: cells.map(cell => ({
      text: cellText(cell).toLowerCase(),
      field: cell.field,
      window: cell.window,
      isTested: cell.p !== null,
      isFound: isFound(cell),
    })),
    empty: 'There was no combination to test.',
  })
}

function isFound({ q }: SweepCell): boolean {
  return q !== null && q < LEVEL
}

/** The columns of combinations. A terminal has one column with the whole combination, a page one for each part. */
function cellColumns({ by, prev_band, contexts }: Sweep): Column<SweepCell>[] {
  const pageText = { kind: 'text', on: 'page' } as const
  const definition: Column<SweepCell> = { title: 'What', kind: 'text', on: 'terminal', value: cellText }
  if (by === 'ticker' || prev_band || contexts.length > 0) definition.wraps = true
  return compact<Column<SweepCell>>([
    { ...pageText, title: 'Field', value: cell => cell.field, mark: cell => (isFound(cell) ? ' ★' : undefined) },
    by === 'ticker' && { ...pageText, title: 'Ticker', value: ({ ticker }) => ticker ?? 'all' },
    { ...pageText, title: 'Band', value: ({ band }) => band },
    prev_band && { ...pageText, title: 'From', value: ({ prev_band }) => prev_band ?? 'any' },
    contexts.length > 0 && { ...pageText, title: 'Context', value: contextText },
    { title: 'Window', kind: 'window', on: 'page', value: ({ window }) => window },
    { title: 'q', kind: 'probability', value: ({ q }) => q, tone: cell => (isFound(cell) ? 'strong' : undefined) },
    { title: 'p', kind: 'probability', hidePriority: 7, hint: 'Newey-West t, effective clusters', value: ({ p }) => p },
    { title: 'Diff', kind: 'return', value: ({ diff }) => diff, tone: ({ verdict }) => verdictTone(verdict) },
    { title: '95%', kind: 'return', hidePriority: 8, hint: 'Stationary bootstrap', value: c => [c.low, c.high] },
    { title: 'n', kind: 'count', hidePriority: 0, value: ({ n }) => n },
    { title: 'Indep', kind: 'count', hidePriority: 5, value: ({ n_independent }) => n_independent },
    { title: 'After', kind: 'return', on: 'wide', value: ({ mean }) => mean },
    { title: 'Any', kind: 'return', on: 'wide', hint: 'Mean after any bar', value: ({ base }) => base },
    { title: 'Rose', kind: 'share', on: 'wide', value: ({ hit }) => hit },
    { title: 'Any rose', kind: 'share', on: 'page', value: ({ base_hit }) => base_hit },
    {
      title: 't',
      kind: 'ratio',
      on: 'wide',
      value: ({ t }) => t,
      tone: ({ t }) => (Math.abs(t ?? 0) > 3 ? 'strong' : undefined),
    },
    { title: 'Left out', kind: 'count', on: 'page', value: ({ lost }) => lost },
    definition,
    { ...pageText, title: 'Remark', optional: true, value: ({ reason }) => reason },
  ])
}

function contextText({ context }: SweepCell): string | null {
  return context === null ? null : `${context.ticker} ${context.field} = ${context.band}`
}

/** `AAPL rsi_zone = oversold from neutral, 20d, GSPC trend_direction = downtrend`. */
export function cellText(cell: SweepCell): string {
  const { ticker, field, band, prev_band, window } = cell
  const tickerText = ticker === null ? '' : `${ticker} `
  const fromBand = prev_band === null ? '' : ` from ${prev_band}`
  const context = contextText(cell)
  return `${tickerText}${stateText(field, [band])}${fromBand}, ${window}${context === null ? '' : `, ${context}`}`
}
