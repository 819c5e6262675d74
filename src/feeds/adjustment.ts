import type { Adjustment } from '../model/series.js'

export interface AdjustmentPlan {
  prices: Adjustment
  /** Whether prices are to be multiplied by adjusted close over close. */
  adjust: boolean
  /** What is done, in words for people. */
  note: string
}

/** What becomes of prices: adjusted wherever the file has an adjusted close, unless raw ones are wanted. */
export function adjustmentOf(hasAdjustedClose: boolean, wanted: Adjustment | undefined): AdjustmentPlan {
  if (hasAdjustedClose && wanted !== 'raw') return { prices: 'adjusted', adjust: true, note: 'adjusted by adj_close' }
  if (hasAdjustedClose) return { prices: 'raw', adjust: false, note: 'prices as they are; adj_close is not used' }
  if (wanted === 'adjusted')
    return { prices: 'adjusted', adjust: false, note: 'no adjusted close in the file: taken as adjusted, as you say' }
  return { prices: 'raw', adjust: false, note: 'no adjusted close in the file: prices as they are' }
}
