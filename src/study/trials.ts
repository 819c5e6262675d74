import { createHash } from 'node:crypto'
import { type Day, formatDay } from '../model/day.js'
import { TIMEFRAMES } from '../model/terms.js'
import type { EventFilter } from '../params/strategy.js'
import type { Trial } from '../source.js'
import { filterWords, tickerWords } from './signals.js'

/** What makes a cell the same cell again: what was asked, of whom, and the data that answered. */
export interface CellSpec {
  tickers: readonly string[]
  filter: EventFilter
  horizon: number
  /** First and last day of the bars that count; null without any. */
  first: Day | null
  last: Day | null
}

/** A cell as the trial ledger keeps it: the same cell has the same hash, whichever command looked at it. */
export function cellTrial(spec: CellSpec, found: { p: number | null; sharpe: number | null }): Trial {
  return {
    hash: createHash('sha256')
      .update(canonical(documentOf(spec)))
      .digest('hex'),
    spec: inWords(spec),
    ...found,
  }
}

/** JSON whose bytes depend on the values alone: keys ascending, no spaces. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

function documentOf({ tickers, filter, horizon, first, last }: CellSpec): unknown {
  const { context } = filter
  return {
    kind: 'cell',
    tickers: tickers.toSorted(),
    ...filter,
    bands: sorted(filter.bands),
    prevBands: sorted(filter.prevBands),
    stability: sorted(filter.stability),
    context: context === null ? null : { ...context, bands: sorted(context.bands) },
    horizon,
    first,
    last,
  }
}

function sorted(values: readonly string[] | null): string[] | null {
  return values === null ? null : values.toSorted()
}

function inWords({ tickers, filter, horizon, first, last }: CellSpec): string {
  return [
    ...filterWords(filter),
    `${horizon}${TIMEFRAMES[filter.timeframe].unit}`,
    tickerWords(tickers),
    first === null || last === null ? 'no bars' : `${formatDay(first)} to ${formatDay(last)}`,
  ].join('; ')
}
