import type { Backtest } from '../../research/backtest/result.js'
import { count } from './amounts.js'
import { percentage } from './statistics.js'

/** The long form stands in the document, in the report, and at the end with `wide`. */
export function assumedText({ strategy, bars_a_year, seed }: Backtest): string {
  const { fill, exit, costs, portfolio, overlap } = strategy as unknown as StrategyWords
  const ends = Object.entries(exit).flatMap(([rule, value]) => exitWords(rule, value) ?? [])
  const cost = costs.bps + costs.slippage_bps
  const more = costs.per_share + costs.fixed + costs.borrow > 0 ? ' and more' : ''
  return [
    `${FILLS[fill] ?? fill}, ${cost} bp a side${more}; out ${ends.join(', or ')}.`,
    `At most ${count(portfolio.max_positions, 'position')}, ${SIZES[portfolio.sizing.method] ?? portfolio.sizing.method}; ${OVERLAPS[overlap] ?? overlap}.`,
    `${bars_a_year} bars a year, seed ${seed}. Buy and hold: the same tickers, without costs.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
}

/** What is read of the document of a strategy. */
interface StrategyWords {
  fill: string
  exit: Record<string, unknown>
  overlap: string
  costs: { bps: number; slippage_bps: number; per_share: number; fixed: number; borrow: number }
  portfolio: { max_positions: number; sizing: { method: string } }
}

const FILLS: Readonly<Record<string, string>> = {
  'next-open': 'Fills at the next open',
  'next-close': 'Fills at the next close',
  close: 'Fills at the close of the signal (not tradable on end-of-day data)',
}

const SIZES: Readonly<Record<string, string>> = {
  equal: 'equal parts of equity',
  'fixed-fraction': 'a fixed fraction of equity',
  'vol-target': 'sized by volatility',
}

const OVERLAPS: Readonly<Record<string, string>> = {
  skip: 'one a ticker, signals while it is on are skipped',
  allow: 'several a ticker',
  extend: 'one a ticker, held on by further signals',
}

function exitWords(rule: string, value: unknown): string | null {
  if (value === null || value === false) return null
  if (rule === 'hold') return `after ${value} bars`
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
