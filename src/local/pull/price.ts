import type { PulledSeries } from '../../model/pulled.js'
import { knownEtag } from './pages.js'
import { PAGE, PAGE_COST } from './source.js'

/** Credits that something will cost: at least, and at most where that is known. */
export interface Price {
  least: number
  most: number | null
}

/** What a series costs from here on; of one that nothing has been told of yet nobody knows more than that it is asked. */
export function priceOf(kept: PulledSeries | null): Price {
  const under = kept?.under_way ?? null
  if (under === null) return { least: knownEtag(kept) === null ? PAGE_COST : 0, most: null }
  const most = Math.max(1, Math.ceil((under.total_occurrences - under.events.length) / PAGE)) * PAGE_COST
  return { least: under.whole ? most : PAGE_COST, most }
}

export function summed(prices: readonly Price[]): Price {
  const known = prices.every(({ most }) => most !== null)
  return {
    least: prices.reduce((sum, { least }) => sum + least, 0),
    most: known ? prices.reduce((sum, { most }) => sum + most!, 0) : null,
  }
}
