import type { Backtest, Trade } from '../backtest/result.js'
import type { EventStudy, Occurrence } from '../study/result.js'
import type { Sweep, SweepCell } from '../sweep/result.js'
import {
  count,
  decimal,
  gain,
  gainRange,
  type Html,
  html,
  NONE,
  type Piece,
  price,
  probability,
  share,
  words,
} from './html.js'

export type Result = EventStudy | Backtest | Sweep

/** The table of a result that people sort: its columns, and its rows as markup in the order wanted. */
interface SortedTable {
  /** Which columns can be sorted by. */
  sortable: boolean[]
  /** The rows that pass the filter, the first `most` of them, by a column or as the page was made. */
  rows(order: { column: number; descending: boolean } | null, filter: CellFilter | null, most: number): SortedRows
}

interface SortedRows {
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

interface TableOptions<Row> {
  /** Names the table for whoever cannot see it, and above it for everyone. */
  caption: Piece
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** Said in place of a table without rows. */
  empty?: string
  /** Under this name the page's script finds the columns and the rows again, to sort them. */
  id?: string
  /** What the rows are when there are more than fit, such as `the newest`. */
  cut?: string
}

/** A table that scrolls within itself. More than MOST_ROWS rows are cut, and it says so. */
export function table<Row>({ caption, columns: all, rows, empty, id, cut = 'the first' }: TableOptions<Row>): Html {
  const columns = all.filter(({ shown }) => shown === undefined || rows.some(shown))
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`
  const shown = rows.slice(0, MOST_ROWS)
  return html`<div class="table-box"${id !== undefined && html` data-table="${id}"`}>
<div class="scroll" role="region" tabindex="0" aria-label="${captionText(caption)}"><table${columns.length > 13 && html` class="wide"`}>
<caption><span>${caption}</span></caption>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>
${tableRows(columns, shown)}</tbody></table></div>
${rows.length > shown.length && html`<p class="cut">Here are ${cut} ${count(shown.length)} of ${count(rows.length)} rows; all of them are in the JSON at the end of this page.</p>`}
</div>`
}

function heading<Row>({ title, hint, numeric }: Column<Row>): Html {
  return html`<th scope="col"${numeric && html` class="num"`}${hint !== undefined && html` title="${hint}"`}>${title}</th>`
}

function captionText(caption: Piece): Piece {
  return typeof caption === 'string' ? caption : 'table'
}

/** One column of a table that people sort: how a row is told, and by what it is ordered. */
export interface Column<Row> {
  title: string
  /** What it means, for whoever rests on it. */
  hint?: string
  /** Broken into lines where it is long. */
  wrap?: boolean
  /** Aligned right, with figures of one width. */
  numeric?: boolean
  text(row: Row): Piece
  /** By what rows are ordered; null comes last either way. Without it the column cannot be sorted by. */
  order?(row: Row): number | string | null
  /** Whether a row has something to tell in it; without such a row the column is left out. */
  shown?(row: Row): boolean
  /** Of a cell; undefined for none. */
  tone?(row: Row): 'gain' | 'loss' | 'quiet' | 'strong' | undefined
}

/** At most so many rows stand in the page; all of them are in its JSON. */
export const MOST_ROWS = 500

/** A column of one number, that rows can be ordered by. */
function numbers<Row>(
  title: string,
  value: (row: Row) => number | null,
  text: (value: number | null) => string,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { title, numeric: true, text: row => text(value(row)), order: value, ...more }
}

/** The rows of a table's body. The first column names the row. */
function tableRows<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  return html`${rows.map(row => html`<tr>${columns.map((column, i) => cell(column, row, i === 0))}</tr>\n`)}`
}

/** Rows in the order of a column; rows that are equal in it keep theirs, rows without a value come last. */
export function sorted<Row>(rows: readonly Row[], column: Column<Row>, descending: boolean): Row[] {
  const keyed = rows.map((row, i) => ({ row, i, key: column.order?.(row) ?? null }))
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null) || a.i - b.i
    const order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0
    return (descending ? -order : order) || a.i - b.i
  })
  return keyed.map(({ row }) => row)
}

/** The tone of a return. */
export function signTone(value: number | null): 'gain' | 'loss' | undefined {
  return value === null || value === 0 ? undefined : value > 0 ? 'gain' : 'loss'
}

function cell<Row>(column: Column<Row>, row: Row, names: boolean): Html {
  const classes = [column.numeric && 'num', column.wrap && 'wrap', column.tone?.(row)].filter(Boolean).join(' ')
  const attribute = classes === '' ? '' : html` class="${classes}"`
  return names
    ? html`<th scope="row"${attribute}>${column.text(row)}</th>`
    : html`<td${attribute}>${column.text(row)}</td>`
}

/** Below this corrected p a cell counts as found. */
const FOUND = 0.05

export function cellColumns({ by, prev_band, contexts }: Sweep): Column<SweepCell>[] {
  return [
    {
      title: 'Field',
      text: ({ field, q }) => html`${isFound(q) && html`<span class="found" title="q below 0.05">★ </span>`}${field}`,
      order: ({ field }) => field,
      tone,
    },
    ...(by === 'ticker' ? [TICKER] : []),
    { title: 'Band', text: ({ band }) => band, order: ({ band }) => band, tone },
    ...(prev_band ? [PREVIOUS] : []),
    ...contextColumn(contexts),
    { title: 'Window', text: ({ window }) => window, order: ({ horizon }) => horizon, tone },
    ...FIGURES,
    { title: 'Remark', text: ({ reason }) => reason ?? '', order: ({ reason }) => reason, tone },
  ]
}

export interface CellFilter {
  /** Every word of it must occur in what names the cell. */
  text: string
  field: string
  window: string
  only: '' | 'found' | 'tested'
}

function cellRows({ cells }: Sweep, { text, field, window, only }: CellFilter = NO_FILTER): SweepCell[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return cells.filter(cell => {
    if ((field !== '' && cell.field !== field) || (window !== '' && cell.window !== window)) return false
    if ((only === 'found' && !isFound(cell.q)) || (only === 'tested' && cell.p === null)) return false
    return words.length === 0 || words.every(word => nameOf(cell).includes(word))
  })
}

function isFound(q: number | null): boolean {
  return q !== null && q < FOUND
}

const NO_FILTER: CellFilter = { text: '', field: '', window: '', only: '' }

function nameOf({ ticker, field, band, prev_band, context, window }: SweepCell): string {
  const parts = [ticker, field, band, prev_band, context?.ticker, context?.field, context?.band, window]
  return parts.filter(Boolean).join(' ').toLowerCase()
}

function tone({ grey }: SweepCell): 'quiet' | undefined {
  return grey ? 'quiet' : undefined
}

const TICKER: Column<SweepCell> = {
  title: 'Ticker',
  text: ({ ticker }) => ticker ?? 'all',
  order: ({ ticker }) => ticker,
  tone,
}
const PREVIOUS: Column<SweepCell> = {
  title: 'From',
  text: ({ prev_band }) => prev_band ?? 'any',
  order: ({ prev_band }) => prev_band,
  tone,
}
/** The band alone where there is one context to be in. */
function contextColumn([first, ...others]: Sweep['contexts']): Column<SweepCell>[] {
  if (first === undefined) return []
  const title = others.length === 0 ? `${first.ticker} ${first.field}` : 'Context'
  const name = (context: NonNullable<SweepCell['context']>): string =>
    others.length === 0 ? context.band : `${context.ticker} ${context.field} = ${context.band}`
  const told = ({ context }: SweepCell): string | null => (context === null ? null : name(context))
  return [{ title, text: cell => told(cell) ?? NONE, order: told, tone }]
}

/** What decides first: how many, how likely by luck, how large. */
const FIGURES: readonly Column<SweepCell>[] = [
  numbers('n', ({ n }) => n, count, { tone }),
  numbers('Indep.', ({ n_indep }) => n_indep, count, { tone, hint: 'Windows that share no bar' }),
  numbers('q', ({ q }) => q, probability, { hint: 'p corrected for how many were tried', tone: found }),
  numbers('p', ({ p }) => p, probability, { hint: 'Joint circular shift', tone }),
  numbers('Difference', ({ diff }) => diff, gain, { tone: cell => tone(cell) ?? signTone(cell.diff) }),
  {
    title: '95% of it',
    hint: 'Stationary bootstrap',
    numeric: true,
    text: ({ low, high }) => gainRange(low, high),
    order: ({ low }) => low,
    tone,
  },
  numbers('Mean', ({ mean }) => mean, gain, { tone }),
  numbers('Any bar', ({ base }) => base, gain, { tone }),
  numbers('Above 0', ({ hit }) => hit, wholeShare, { tone }),
  numbers('Any bar', ({ base_hit }) => base_hit, wholeShare, { tone }),
  numbers('t', ({ t }) => t, decimal, { tone: ({ t }) => (t !== null && Math.abs(t) > 3 ? 'strong' : undefined) }),
  numbers('Lost', ({ lost }) => lost, count, { tone, hint: 'Windows that did not elapse, or were cut' }),
]

function found({ q }: SweepCell): 'strong' | undefined {
  return isFound(q) ? 'strong' : undefined
}

function wholeShare(value: number | null): string {
  return share(value, 0)
}

export function occurrenceColumns({ windows, context, occurrences }: EventStudy): Column<Occurrence>[] {
  const told = occurrences.some(({ stability }) => stability !== null)
  return [
    { title: 'Date', text: ({ date }) => date, order: ({ date }) => date },
    { title: 'Ticker', text: ({ ticker }) => ticker, order: ({ ticker }) => ticker },
    { title: 'From', text: ({ prev_band }) => prev_band, order: ({ prev_band }) => prev_band },
    { title: 'To', text: ({ band }) => band, order: ({ band }) => band },
    ...(told ? SETTLED : []),
    ...(context === null ? [] : [occurrenceContext(`${context.ticker} was`)]),
    { title: 'Close', numeric: true, text: ({ close }) => price(close), order: ({ close }) => close },
    ...windows.map(
      ({ window }): Column<Occurrence> => ({
        title: window,
        numeric: true,
        text: ({ returns }) => gain(returns[window]),
        order: ({ returns }) => returns[window] ?? null,
        tone: ({ returns }) => signTone(returns[window] ?? null),
      }),
    ),
    ...windows.slice(-1).flatMap(({ window }): Column<Occurrence>[] => [
      {
        title: `MFE ${window}`,
        numeric: true,
        text: ({ mfe }) => gain(mfe[window]),
        order: ({ mfe }) => mfe[window] ?? null,
      },
      {
        title: `MAE ${window}`,
        numeric: true,
        text: ({ mae }) => gain(mae[window]),
        order: ({ mae }) => mae[window] ?? null,
      },
    ]),
  ]
}

/** Newest first; of one date by ticker. */
export function occurrenceRows({ occurrences }: EventStudy): Occurrence[] {
  return [...occurrences].sort((a, b) => (a.date < b.date ? 1 : a.date > b.date ? -1 : a.ticker < b.ticker ? -1 : 1))
}

function occurrenceContext(title: string): Column<Occurrence> {
  return { title, text: ({ context_band }) => context_band ?? NONE, order: ({ context_band }) => context_band }
}

const SETTLED: readonly Column<Occurrence>[] = [
  { title: 'Stability', text: ({ stability }) => stability ?? NONE, order: ({ stability }) => stability },
  { title: 'Flips', numeric: true, text: ({ flips }) => flips ?? NONE, order: ({ flips }) => flips },
]

export function tradeColumns({ trades }: Backtest): Column<Trade>[] {
  const context = trades.some(({ context_band }) => context_band !== null)
  return [
    { title: 'Signal', text: ({ signal_date }) => signal_date, order: ({ signal_date }) => signal_date },
    { title: 'Ticker', text: ({ ticker }) => ticker, order: ({ ticker }) => ticker },
    { title: 'Band', text: ({ prev_band, band }) => `${prev_band} → ${band}`, order: ({ band }) => band },
    ...(context ? [CONTEXT] : []),
    { title: 'In', text: ({ entry_date }) => entry_date, order: ({ entry_date }) => entry_date },
    {
      title: 'at',
      numeric: true,
      text: ({ entry_price }) => price(entry_price),
      order: ({ entry_price }) => entry_price,
    },
    { title: 'Out', text: ({ exit_date }) => exit_date, order: ({ exit_date }) => exit_date },
    { title: 'at', numeric: true, text: ({ exit_price }) => price(exit_price), order: ({ exit_price }) => exit_price },
    { title: 'Why', text: ({ exit }) => words(exit), order: ({ exit }) => exit },
    { title: 'Bars', numeric: true, text: ({ bars }) => count(bars), order: ({ bars }) => bars },
    { title: 'Gross', numeric: true, text: ({ gross }) => gain(gross), order: ({ gross }) => gross },
    {
      title: 'Net',
      numeric: true,
      text: ({ net }) => gain(net),
      order: ({ net }) => net,
      tone: ({ net }) => signTone(net),
    },
    {
      title: 'P&L',
      hint: 'Money, net',
      numeric: true,
      text: ({ pnl }) => decimal(pnl, pnl > -100 && pnl < 100 ? 4 : 0),
      order: ({ pnl }) => pnl,
    },
    { title: 'MFE', numeric: true, text: ({ mfe }) => gain(mfe), order: ({ mfe }) => mfe },
    { title: 'MAE', numeric: true, text: ({ mae }) => gain(mae), order: ({ mae }) => mae },
  ]
}

/** Newest entry first; of one date by ticker. */
export function tradeRows({ trades }: Backtest): Trade[] {
  return [...trades].sort((a, b) => {
    if (a.entry_date !== b.entry_date) return a.entry_date < b.entry_date ? 1 : -1
    return a.ticker < b.ticker ? -1 : 1
  })
}

const CONTEXT: Column<Trade> = {
  title: 'Context',
  text: ({ context_band }) => context_band ?? NONE,
  order: ({ context_band }) => context_band,
}
