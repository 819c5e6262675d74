import type { Day } from '../model/day.js'
import type { HistoryQuery } from '../model/query.js'
import { bandEnteredBy, eventsUpTo, type View } from './view.js'

/**
 * Numbers of the events that match, oldest first. All bounds are exclusive but the end of the view itself.
 * @param rangeStart the tier's range: events lie after this day
 * @param context the second ticker's view when the query has a context
 */
export function search(view: View, query: HistoryQuery, rangeStart: Day, context: View | null): number[] {
  const { record, days } = view
  if (record === null) return []
  const from = eventsUpTo(view, Math.max(rangeStart, query.after ?? rangeStart))
  const to = query.before === undefined ? view.events : eventsUpTo(view, query.before - 1)
  const band = query.band === undefined ? null : view.bands.indexOf(query.band)
  const contextBand = query.context?.band === undefined ? null : context!.bands.indexOf(query.context.band)
  const found: number[] = []
  for (let i = from; i < to; i++) {
    if (band !== null && record.bands[i] !== band) continue
    if (contextBand !== null && bandEnteredBy(context!, days[record.bars[i]!]!) !== contextBand) continue
    found.push(i)
  }
  return found
}
