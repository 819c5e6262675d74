import type { Costs, Side } from './strategy.js'

/** One trade as its costs see it. */
export interface Fills {
  side: Side
  /** Prices of entry and exit before costs. */
  entry: number
  exit: number
  /** What fixed costs are spread over. */
  shares: number
  /** Calendar days from entry to exit, which a short pays borrow for. */
  days: number
}

/** The part of a price that a fill costs: the c of the formulas below. */
export function costShare({ bps, slippageBps }: Pick<Costs, 'bps' | 'slippageBps'>): number {
  return (bps + slippageBps) / 10_000
}

/** Return before costs. Long and short of the same trade add up to 0. */
export function grossReturn(side: Side, entry: number, exit: number): number {
  return side === 'long' ? exit / entry - 1 : 1 - exit / entry
}

/**
 * Return on the money put in, after costs of c of the price a side, money a share and money a fill:
 * long (P_x (1 - c) - a) / (P_e (1 + c) + a) - 1, short ((P_e (1 - c) - a) - (P_x (1 + c) + a)) / P_e less borrow for the
 * calendar days / 365, where a = per share + fixed / shares.
 */
export function netReturn(costs: Costs, fills: Fills): number {
  return netAt(costShare(costs), costs, fills)
}

/**
 * Cost a side, a fraction, at which the mean net return of the trades would be 0, everything else unchanged; null where it
 * is not above 0 even at no cost.
 */
export function breakEvenCost(costs: Costs, trades: readonly Fills[]): number | null {
  const total = (c: number): number => trades.reduce((sum, fills) => sum + netAt(c, costs, fills), 0)
  if (!(total(0) > 0)) return null
  let low = 0
  let high = 1
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2
    if (total(middle) > 0) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** As many as leave less than rounding does. */
const HALVINGS = 54

function netAt(c: number, { perShare, fixed, borrow }: Costs, { side, entry, exit, shares, days }: Fills): number {
  const added = perShare === 0 && fixed === 0 ? 0 : perShare + fixed / shares
  if (side === 'long') return (exit * (1 - c) - added) / (entry * (1 + c) + added) - 1
  return (entry * (1 - c) - added - exit * (1 + c) - added) / entry - (borrow * days) / 365
}
