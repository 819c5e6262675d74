import type { Facts } from '../../model/facts.js'
import { type Series, tradedClose } from '../../model/series.js'
import { ofYear } from './figures.js'
import { Quarters } from './quarters.js'

/** Diluted earnings a share of the last four quarters over the close (not adjusted for dividends); NaN where undefined. */
export function earningsYield(series: Series, facts: Facts, quarters = new Quarters(series, facts)): Float64Array {
  return overClose(
    series,
    quarters.column(chain => ofYear(chain, 'eps')),
  )
}

/** Book value a share of the newest quarter over the close; NaN where undefined. */
export function bookYield(series: Series, quarters: Quarters): Float64Array {
  return overClose(
    series,
    quarters.column(chain => chain[0]?.bookValue ?? Number.NaN),
  )
}

function overClose(series: Series, figures: Float64Array): Float64Array {
  const close = tradedClose(series)
  for (let t = 0; t < figures.length; t++) figures[t]! /= close[t]!
  return figures
}
