import type { Backtest } from '../../research/backtest/result.js'
import { count } from './amounts.js'
import { percentage } from './statistics.js'

/** The long form stands in the document, in the report, and at the end with `wide`. */
export function assumedText({ strategy, bars_a_year, seed, validation }: Backtest): string {
  const { side, fill, exit, costs, portfolio, overlap } = strategy as unknown as StrategyWords
  const ends = Object.entries(exit).flatMap(([rule, value]) => exitWords(rule, value) ?? [])
  // What the tests below chose may be another one.
  const of = (validation?.candidates.length ?? 0) > 0 ? ' (the first candidate)' : ''
  const cash = portfolio.cash_rate === 0 ? '' : ` Cash earns ${percentage(portfolio.cash_rate)} a year.`
  return [
    `${FILLS[fill] ?? fill}, ${costWords(costs, side)}; out ${ends.join(', or ')}${of}.`,
    `At most ${count(portfolio.max_positions, 'position')}, ${sizeWords(portfolio)}; ${OVERLAPS[overlap] ?? overlap}.${cash}`,
    `${Number(bars_a_year.toFixed(1))} bars a year, seed ${seed}. Buy and hold: the same tickers, without costs.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
}

/** What is read of the document of a strategy. */
interface StrategyWords {
  side: string
  fill: string
  exit: Record<string, unknown>
  overlap: string
  costs: { bps: number; slippage_bps: number; per_share: number; fixed: number; borrow: number }
  portfolio: {
    max_positions: number
    sizing: { method: string; fraction?: number; target?: number; cap?: number }
    whole_shares: boolean
    cash_rate: number
  }
}

const FILLS: Readonly<Record<string, string>> = {
  'next-open': 'Fills at the next open',
  'next-close': 'Fills at the next close',
  close: 'Fills at the close of the signal (not tradable on end-of-day data)',
}

/** What a side costs; borrow is of what is short alone. */
function costWords({ bps, slippage_bps, per_share, fixed, borrow }: StrategyWords['costs'], side: string): string {
  return [
    `${Number((bps + slippage_bps).toFixed(6))} bp a side${slippage_bps > 0 ? ` (${slippage_bps} of it slippage)` : ''}`,
    ...(per_share > 0 ? [`${per_share} a share`] : []),
    ...(fixed > 0 ? [`${fixed} a fill`] : []),
    ...(side === 'short' && borrow > 0 ? [`${percentage(borrow)} a year for borrowed shares`] : []),
  ].join(' and ')
}

function sizeWords({ sizing, max_positions, whole_shares }: StrategyWords['portfolio']): string {
  const { method, fraction = 0, target = 0, cap = 0 } = sizing
  const whole = whole_shares ? ', whole shares' : ''
  if (method === 'fixed-fraction') return `each ${percentage(fraction)} of equity${whole}`
  if (method === 'vol-target')
    return `each sized to ${percentage(target)} volatility a year, at most ${percentage(cap)}${whole}`
  return `${max_positions === 1 ? 'all of equity' : `each 1/${max_positions} of equity`}${whole}`
}

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'one a ticker, signals while it is on are skipped',
  allow: 'several a ticker',
  extend: 'one a ticker, held on by further signals',
}

function exitWords(rule: string, value: unknown): string | null {
  if (value === null || value === false) return null
  if (rule === 'hold') return `after ${count(Number(value), 'bar')}`
  if (rule === 'leave') return 'when the band is left'
  if (rule === 'on') {
    const { field, bands } = value as { field: string; bands: string[] }
    return `when ${field} becomes ${bands.join(' or ')}`
  }
  return `at a ${rule === 'trailing' ? 'trailing stop' : rule} of ${distance(value)}`
}

function distance(value: unknown): string {
  if (typeof value === 'number') return percentage(value)
  return `${(value as { atr: number }).atr} ATR`
}
