import type { Sweep, SweepCell } from '../../research/sweep/result.js'
import { count, decimal, gain, gainRange, NONE, probability, share } from '../format.js'
import { html } from '../html.js'
import { type Column, numbers, signTone } from './column.js'

/** Below this corrected p a cell counts as found. */
export const FOUND = 0.05

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

export function cellRows({ cells }: Sweep, { text, field, window, only }: CellFilter = NO_FILTER): SweepCell[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  return cells.filter(cell => {
    if ((field !== '' && cell.field !== field) || (window !== '' && cell.window !== window)) return false
    if ((only === 'found' && !isFound(cell.q)) || (only === 'tested' && cell.p === null)) return false
    return words.length === 0 || words.every(word => nameOf(cell).includes(word))
  })
}

export function isFound(q: number | null): boolean {
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
