import type { MarketBars } from '../market.js'
import type { Day } from '../model/day.js'

/**
 * Close-to-close return from each bar over the next `horizon` bars, C(t+h)/C(t) - 1, one a bar; NaN while the window has
 * not elapsed.
 *
 * A delisting that is known ends the windows that reach it: the return to the final price, then 0, that is
 * (1 + return to the last close) (1 + delisting return) - 1 (Shumway 1997; OpenSourceAP/CrossSection#49).
 */
export function forwardReturns({ series: { close }, delisting }: MarketBars, horizon: number): Float64Array {
  const bars = close.length
  const returns = new Float64Array(bars)
  const elapsed = Math.max(0, bars - horizon)
  for (let t = 0; t < elapsed; t++) returns[t] = close[t + horizon]! / close[t]! - 1
  const final = delisting?.price ?? Number.NaN
  for (let t = elapsed; t < bars; t++) returns[t] = final / close[t]! - 1
  return returns
}

/** Of some bars, how many have no return over a horizon and why, and how many have one that ends in a delisting. */
export interface LostWindows {
  /** The window's last bar is yet to come. */
  notElapsed: number
  /** The bars of the ticker end before the market's do, and what a share was worth in the end is not known. */
  delisted: number
  /** Not lost: they end with the final price of a delisting. */
  settled: number
}

/** @param asOf the market's day, against which bars that end early are told from the newest ones */
export function lostOf(
  { series, delisting }: Pick<MarketBars, 'series' | 'delisting'>,
  horizon: number,
  bars: ArrayLike<number>,
  asOf: Day | null,
): LostWindows {
  const count = series.days.length
  let reaching = 0
  for (let i = 0; i < bars.length; i++) if (bars[i]! + horizon >= count) reaching++
  const lost: LostWindows = { notElapsed: 0, delisted: 0, settled: 0 }
  const last = series.days.at(-1)
  if (delisting !== null) lost.settled = reaching
  else if (last !== undefined && asOf !== null && asOf - last > LONGEST_PAUSE) lost.delisted = reaching
  else lost.notElapsed = reaching
  return lost
}

/**
 * Calendar days without a bar after which a ticker counts as no longer traded: longer than any closing of an exchange
 * since 1914, a weekly bar included.
 */
const LONGEST_PAUSE = 14
