import { createHash } from 'node:crypto'
import { type Day, formatDay } from '../../model/day.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import type { Trial } from '../../model/trials.js'
import type { EventFilter } from '../filter.js'

/** What makes a cell the same cell again: what was asked, of whom, and the data that answered. */
export interface CellSpec {
  tickers: readonly string[]
  filter: EventFilter
  horizon: number
  /** First and last day of the bars that count; null without any. */
  first: Day | null
  last: Day | null
}

/** As many tickers as a line names. */
const NAMED = 3

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
  const { field, timeframe, bands, prevBands, stability, maxFlips, context } = filter
  const parts = [
    `${field} = ${bands?.join(', ') ?? 'any'}`,
    prevBands === null ? '' : `from ${prevBands.join(', ')}`,
    stability === null ? '' : `stability ${stability.join(', ')}`,
    maxFlips === null ? '' : `at most ${maxFlips} flips`,
    context === null ? '' : contextInWords(context),
    `${horizon}${TIMEFRAMES[timeframe].unit}`,
    tickers.length <= NAMED ? tickers.toSorted().join(', ') : `${tickers.length} tickers`,
    first === null || last === null ? 'no bars' : `${formatDay(first)} to ${formatDay(last)}`,
  ]
  return parts.filter(part => part !== '').join('; ')
}

function contextInWords({ ticker, field, bands, lag }: NonNullable<EventFilter['context']>): string {
  return `while ${ticker} ${field} = ${bands?.join(', ') ?? 'any'}${lag === 1 ? ' a bar before' : ''}`
}
