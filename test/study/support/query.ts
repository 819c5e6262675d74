import type { EventFilter } from '../../../src/params/strategy.js'
import type { StudyQuery } from '../../../src/study/result.js'

/** A complete query with the defaults of the command line; filter and the rest may be named side by side. */
export function queryOf(given: Partial<StudyQuery> & Partial<EventFilter> = {}): StudyQuery {
  const { field, timeframe, bands, prevBands, stability, maxFlips, context, after, before, ...rest } = given
  return {
    tickers: ['SIM'],
    filter: {
      field: field ?? 'rsi_zone',
      timeframe: timeframe ?? 'daily',
      bands: bands ?? null,
      prevBands: prevBands ?? null,
      stability: stability ?? null,
      maxFlips: maxFlips ?? null,
      context: context ?? null,
      after: after ?? null,
      before: before ?? null,
    },
    horizons: [5, 10, 20, 50, 100],
    path: { before: 20, after: 100 },
    benchmark: null,
    abnormal: 'none',
    minEvents: 20,
    reps: 999,
    resamples: 1999,
    seed: 1,
    naive: false,
    hansenHodrick: false,
    ...rest,
  }
}
