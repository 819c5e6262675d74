import { performanceOf } from '../engine/outcomes.js'
import { fieldNamed } from '../fields/index.js'
import type { Panel } from '../fields/panel.js'
import type { Day } from '../model/day.js'
import type { Baseline } from '../model/event.js'
import type { HistoryQuery } from '../model/query.js'
import { UNDEFINED } from '../model/record.js'
import { TIMEFRAMES, windowNames } from '../model/timeframe.js'
import type { View } from './view.js'

/**
 * What any bar was followed by, to hold events against: every bar of the same ticker and range on which the field is
 * defined and the window has ended, whether or not anything happened on it.
 */
export function baselineOf(view: View, panel: Panel, query: HistoryQuery, rangeStart: Day): Baseline {
  const bars = eligibleBars(view, panel, query, rangeStart)
  const { windows } = TIMEFRAMES[view.timeframe]
  const found: Baseline = { bars: bars.length, windows: {} }
  windowNames(view.timeframe).forEach((name, w) => {
    const ended = bars.filter(bar => bar + windows[w]! < view.bars)
    found.windows[name] = {
      returns: Float64Array.from(ended, bar => view.outcomes.returns[w]![bar]!),
      performances: Uint8Array.from(ended, bar => {
        const rank = view.outcomes.ranks[w]![bar]!
        return rank < 0 ? UNDEFINED : performanceOf(rank, bar, windows[w]!)
      }),
    }
  })
  return found
}

function eligibleBars(view: View, panel: Panel, query: HistoryQuery, rangeStart: Day): number[] {
  const codes = fieldNamed(query.field)!.classify(panel)
  const after = Math.max(rangeStart, query.after ?? rangeStart)
  const before = query.before ?? Number.POSITIVE_INFINITY
  const bars: number[] = []
  for (let t = 0; t < view.bars; t++) {
    const day = view.days[t]!
    if (codes[t] !== UNDEFINED && day > after && day < before) bars.push(t)
  }
  return bars
}
