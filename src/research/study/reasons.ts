import { TIMEFRAMES } from '../../model/timeframe.js'
import type { StudyQuery } from './query.js'
import type { StudyWindow } from './result.js'

/** Statistics that have no value without an event whose window has elapsed. */
const OF_EVENTS = [
  'mean',
  'median',
  'deviation',
  'p10',
  'p25',
  'p75',
  'p90',
  'best',
  'worst',
  'mfe',
  'mae',
  'diff',
  'lift',
  'histogram',
] as const satisfies readonly (keyof StudyWindow)[]

/** Why each statistic that is null is null; where a part has a reason of its own it stands there. */
export function reasonsOf(
  window: Omit<StudyWindow, 'reasons'>,
  { filter: { timeframe, context }, abnormal }: Pick<StudyQuery, 'filter' | 'abnormal'>,
  aftermathReason: string | null,
): Record<string, string> {
  const none = noReturns(window)
  const reasons: Record<string, string> = {}
  for (const name of OF_EVENTS) if (window[name] === null) reasons[name] = none ?? WHY[name] ?? 'no value'
  if (window.hit.share === null) reasons.hit = none!
  if (window.base.mean === null) reasons.base = none!
  if (window.context_base === null)
    reasons.context_base = context?.bands == null ? 'no band of a context was asked for' : none!
  if (window.abnormal === null && abnormal === 'none') reasons.abnormal = 'no model was asked for'
  const { aftermath } = window
  if (aftermath === null)
    reasons.aftermath =
      none ?? `no event has ${TIMEFRAMES[timeframe].minReference} windows of its ticker that had ended before it`
  else {
    if (aftermath.p === null) reasons['aftermath.g'] = reasons['aftermath.p'] = aftermathReason!
    if (aftermath.lift.includes(null)) reasons['aftermath.lift'] = 'no bar at all has such an aftermath'
  }
  return reasons
}

/** Where there are returns. */
const WHY: Partial<Record<(typeof OF_EVENTS)[number], string>> = {
  deviation: 'one return has no spread',
  lift: 'no bar at all was followed by a gain',
  histogram: 'all returns are the same',
}

function noReturns({ events, n, lost }: Pick<StudyWindow, 'events' | 'n' | 'lost'>): string | null {
  if (n > 0) return null
  if (events === 0) return 'no event'
  return lost.delisted === 0 ? 'no window has elapsed' : 'no window has elapsed, or trading ended for a price not known'
}
