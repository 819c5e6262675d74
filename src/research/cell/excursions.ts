import type { MarketBars } from '../../market.js'

/** How far prices went in favour and against over a window, as fractions of the close of the event. */
export interface Excursions {
  /** Greatest high / close - 1, at least 0. */
  mfe: number
  /** Least low / close - 1, at most 0. */
  mae: number
}

/** Over the `horizon` bars after `bar`, as far as there are bars, and the final price of a delisting where it comes first. */
export function excursions({ series, delisting }: MarketBars, bar: number, horizon: number): Excursions {
  const { close, high, low } = series
  const last = bar + horizon
  let most = close[bar]!
  let least = close[bar]!
  for (let t = bar + 1; t <= last && t < close.length; t++) {
    if (high[t]! > most) most = high[t]!
    if (low[t]! < least) least = low[t]!
  }
  if (last >= close.length && delisting !== null) {
    most = Math.max(most, delisting.price)
    least = Math.min(least, delisting.price)
  }
  return { mfe: most / close[bar]! - 1, mae: least / close[bar]! - 1 }
}
