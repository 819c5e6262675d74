import type { Strategy } from '../params/strategy.js'
import { costShare, entryPrice, hasDistances, type Member } from './trade.js'

/** Why a signal is no trade; no_size: too little for one share, or a rule stands on an ATR that is not there yet. */
export type SkipReason = 'in_trade' | 'no_price' | 'no_place' | 'no_cash' | 'no_size'

/** A portfolio at the moment of an entry: positions, equity at the close before, cash. */
interface Funds {
  open: number
  equity: number
  cash: number
}

/** What an entry buys. */
interface Size {
  shares: number
  /** Costs of entry included. */
  invested: number
}

/** What the entry of a signal buys with its share of the equity, at most all the cash; or why it buys nothing. */
export function sizeOf(strategy: Strategy, member: Member, signal: number, purse: Funds): SkipReason | Size {
  const { portfolio, fill, exit } = strategy
  const price = entryPrice(member.bars, fill, signal)
  if (!(price > 0 && Number.isFinite(price))) return 'no_price'
  if (purse.open >= portfolio.max_positions) return 'no_place'
  const fraction = fractionOf(strategy, member, signal)
  if (!hasDistances(member, exit, signal) || Number.isNaN(fraction)) return 'no_size'
  const budget = Math.min(fraction * purse.equity, purse.cash)
  if (!(budget > purse.equity * DUST)) return 'no_cash'
  return bought(strategy, budget, price) ?? 'no_size'
}

/** Less than this part of the equity is what rounding leaves of cash that was spent. */
const DUST = 1e-9

/** Share of equity that a position is given; NaN where the rule has no value yet. */
export function fractionOf({ portfolio }: Strategy, { bars, prices }: Member, signal: number): number {
  const { sizing, max_positions } = portfolio
  if (sizing.method === 'equal') return 1 / max_positions
  if (sizing.method === 'fixed-fraction') return sizing.fraction
  // Normalised ATR (Forman 2006) as a fraction, from a bar to a year by the square root of time.
  const volatility = (bars.atr![signal]! / bars.close[signal]!) * Math.sqrt(prices.barsAYear)
  return volatility > 0 ? Math.min(sizing.cap, sizing.target / volatility) : Number.NaN
}

/** Where fewer tickers than places leave a part of the equity in cash for ever: how many can be on, of how many; else null. */
export function idleSlots(
  { overlap, portfolio }: Pick<Strategy, 'overlap' | 'portfolio'>,
  tickers: number,
): { most: number; places: number } | null {
  const { sizing, max_positions: places } = portfolio
  const isIdle = overlap !== 'allow' && sizing.method === 'equal' && tickers < places
  return isIdle ? { most: tickers, places } : null
}

/** Shares that a budget buys, and what they really take of it; null where that is none. */
export function bought(
  { side, costs, portfolio }: Pick<Strategy, 'side' | 'costs' | 'portfolio'>,
  budget: number,
  price: number,
): Size | null {
  const isLong = side === 'long'
  const each = isLong ? price * (1 + costShare(costs)) + costs.per_share : price
  const fixed = isLong ? costs.fixed : 0
  const affordable = (budget - fixed) / each
  const shares = portfolio.whole_shares ? Math.floor(affordable) : affordable
  if (!(shares > 0 && Number.isFinite(shares))) return null
  return { shares, invested: portfolio.whole_shares ? shares * each + fixed : budget }
}
