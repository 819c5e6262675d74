import type { Strategy } from '../../core/params/strategy.js'
import { hasExitPrices, type Member } from './members.js'
import { costShare, entryPrice } from './trade.js'

/** Why a signal is not traded. no_size: the money buys no share, or a rule needs an ATR that has no value yet. */
export type SkipReason = 'in_trade' | 'no_price' | 'no_place' | 'no_cash' | 'no_size'

/** The portfolio at an entry: open positions, equity at the previous close, cash. */
interface Funds {
  open: number
  equity: number
  cash: number
}

interface Size {
  shares: number
  /** Costs of entry included. */
  invested: number
}

/** The size of an entry: its share of the equity, at most all the cash; or why there is no trade. */
export function sizeOf(strategy: Strategy, member: Member, signal: number, funds: Funds): SkipReason | Size {
  const { portfolio, fill, exit } = strategy
  const price = entryPrice(member.bars, fill, signal)
  if (!(price > 0 && Number.isFinite(price))) return 'no_price'
  if (funds.open >= portfolio.max_positions) return 'no_place'
  const fraction = fractionOf(strategy, member, signal)
  if (!hasExitPrices(member, exit, signal) || Number.isNaN(fraction)) return 'no_size'
  const budget = Math.min(fraction * funds.equity, funds.cash)
  if (!(budget > funds.equity * ROUNDING_CASH)) return 'no_cash'
  return buyShares(strategy, budget, price) ?? 'no_size'
}

/** Less cash than this part of the equity is the rounding error of money that was spent. */
const ROUNDING_CASH = 1e-9

/** The share of equity for a position; NaN if the ATR has no value yet. @param signalBar index of its signal's bar */
export function fractionOf({ portfolio }: Strategy, { bars, prices }: Member, signalBar: number): number {
  const { size, max_positions } = portfolio
  if (size.method === 'equal') return 1 / max_positions
  if (size.method === 'fixed-fraction') return size.fraction
  // Normalised ATR (Forman 2006) as a fraction, scaled from a bar to a year by the square root of time.
  const volatility = (bars.atr![signalBar]! / bars.close[signalBar]!) * Math.sqrt(prices.barsAYear)
  return volatility > 0 ? Math.min(size.cap, size.target / volatility) : Number.NaN
}

/** The most open positions where tickers are fewer than slots, so that some equity is always cash; otherwise null. */
export function usableSlots(
  { overlap, portfolio }: Pick<Strategy, 'overlap' | 'portfolio'>,
  tickers: number,
): number | null {
  const { size, max_positions } = portfolio
  return overlap !== 'allow' && size.method === 'equal' && tickers < max_positions ? tickers : null
}

/** Shares that a budget buys, and their cost with the fees of the entry; null where it buys none. */
export function buyShares(
  { side, costs, portfolio }: Pick<Strategy, 'side' | 'costs' | 'portfolio'>,
  budget: number,
  price: number,
): Size | null {
  const isLong = side === 'long'
  const moneyPerShare = isLong ? price * (1 + costShare(costs)) + costs.per_share : price
  const fixed = isLong ? costs.fixed : 0
  const affordable = (budget - fixed) / moneyPerShare
  const shares = portfolio.whole_shares ? Math.floor(affordable) : affordable
  if (!(shares > 0 && Number.isFinite(shares))) return null
  return { shares, invested: portfolio.whole_shares ? shares * moneyPerShare + fixed : budget }
}
