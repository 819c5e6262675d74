import type { Day } from '../../model/day.js'
import type { Report, Split } from '../../model/facts.js'
import { type Series, tradedClose } from '../../model/series.js'

/**
 * On which shares the bars of a series are counted. Prices are taken for adjusted to the shares of the last bar, unless
 * they show the jump of a split themselves.
 */
export class SplitBasis {
  /** The splits up to the last bar, oldest first, and the first day on whose bars figures are divided by each. */
  readonly #splits: readonly { split: Split; from: Day }[]

  constructor(series: Series, splits: readonly Split[]) {
    const last = series.days.at(-1) ?? Number.NEGATIVE_INFINITY
    const counted = onePerDate(splits).filter(split => split.ex_date <= last)
    this.#splits = counted.map(split => ({
      split,
      from: jumps(series, split) ? split.ex_date : Number.NEGATIVE_INFINITY,
    }))
  }

  /** How many splits figures are divided by on the bar of a day, if they were filed before all of them. */
  inForce(day: Day): number {
    let count = 0
    for (const { from } of this.#splits) if (from <= day) count++
    return count
  }

  /** What a report's figures a share have to be divided by, one after the other, on the bar of a day. */
  dividing({ basis, known }: Report, day: Day): readonly Split[] {
    if (basis === 'bars') return []
    return this.#splits.filter(({ split, from }) => split.ex_date > known && from <= day).map(({ split }) => split)
  }
}

/** Splits told twice are one; of two ratios the one given last. */
function onePerDate(splits: readonly Split[]): Split[] {
  const byDate = new Map(splits.map(split => [split.ex_date, split]))
  return [...byDate.values()].sort((a, b) => a.ex_date - b.ex_date)
}

/** Whether prices fall by the ratio on the split's day: unadjusted ones do, adjusted ones hardly move. */
function jumps(series: Series, { ex_date, ratio }: Split): boolean {
  const after = series.days.findIndex(day => day >= ex_date)
  if (after <= 0) return false
  const close = tradedClose(series)
  const jump = Math.log(close[after - 1]! / close[after]!)
  return Math.abs(jump - Math.log(ratio)) < Math.abs(jump)
}
