import { rangeOf } from '../../core/model/calendar.js'
import { dateOf } from '../../core/model/day.js'
import type { Context, PoolQuery } from '../../core/model/event.js'
import { TIMEFRAMES } from '../../core/model/terms.js'
import type { EventFilter, TallyGrouping } from '../../core/params/studies.js'
import type { Trial } from '../../core/source.js'
import { cellTrials } from '../trials.js'

/**
 * The windows of a tally as trials: those of the equivalent study. No study is the equivalent of a group without a
 * value, such as the events before the first band of a context. Without prices the range of the data is unknown, and
 * nothing is logged.
 * @param by null: `groups` is one group of all events, whose value is null
 */
export function trialsOf(
  groups: readonly { value: string | null; tickers: readonly string[]; days: readonly Int32Array[] }[],
  query: PoolQuery & { horizon?: readonly number[] },
  by: TallyGrouping | null,
): Trial[] {
  const { horizon: windows = TIMEFRAMES[query.timeframe].windows } = query
  return groups.flatMap(({ value, tickers, days }) => {
    const hasEquivalent = by === null || value !== null
    if (!hasEquivalent || days.length === 0) return []
    const trialTickers = by === 'ticker' || by === 'sector' ? tickers : query.tickers
    const spec = { tickers: trialTickers, filter: filterOf(query, by, value), ...rangeOf(days) }
    const cells = windows.map(horizon => ({ horizon, p: null, test: null, sharpe: null }))
    return cellTrials(spec, cells)
  })
}

/** The events of one group as the filter of a study. @param by null: one group of all events, whose value is null */
function filterOf(query: PoolQuery, by: TallyGrouping | null, value: string | null): EventFilter {
  const { field, timeframe, bands = null, context, when, lag, after, before } = query
  // The value of the group if the events are grouped by this; otherwise null.
  const valueBy = (grouping: TallyGrouping): string | null => (by === grouping ? value : null)
  const listBy = (grouping: TallyGrouping): string[] | null => {
    const groupValue = valueBy(grouping)
    return groupValue === null ? null : [groupValue]
  }
  const year = valueBy('year')
  return {
    field,
    timeframe,
    bands: listBy('band') ?? bands,
    prev_bands: listBy('prev_band'),
    stability: listBy('stability') as EventFilter['stability'],
    max_flips: null,
    context: context === undefined ? null : contextOf(context, valueBy('context')),
    ...(when === undefined ? {} : { when }),
    ...(lag === undefined ? {} : { lag }),
    ...datesOf(year === null ? null : Number(year), { after: dateOf(after), before: dateOf(before) }),
  }
}

/** The context of a study. @param groupBand the band of the group; null where events are not grouped by the context */
function contextOf({ ticker, field, band }: Context, groupBand: string | null): EventFilter['context'] {
  const countedBand = groupBand ?? band
  return { ticker, field, bands: countedBand === undefined ? null : [countedBand], lag: 0 }
}

type Bounds = Pick<EventFilter, 'after' | 'before'>

/** The part of a query's dates that is in a year; null: all of them. Bounds are exclusive; dates sort in time order. */
function datesOf(year: number | null, { after, before }: Bounds): Bounds {
  if (year === null) return { after, before }
  const yearText = (number: number): string => String(number).padStart(4, '0')
  const dayBefore = `${yearText(year - 1)}-12-31`
  const dayAfter = `${yearText(year + 1)}-01-01`
  return {
    after: after !== null && after > dayBefore ? after : dayBefore,
    before: before !== null && before < dayAfter ? before : dayAfter,
  }
}
