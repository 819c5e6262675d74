import type { Bands } from '../bands.js'
import { InvalidParameter } from '../errors.js'
import type { EventHistory, HistoricEvent } from '../model/event.js'
import type { PoolQuery } from '../model/query.js'
import type { Timeframe } from '../model/timeframe.js'
import { concurrently } from './concurrently.js'
import { type Dwell, dwell, staysOf } from './dwell.js'
import { byVocabulary, tickersInOrder } from './order.js'
import { type Scope, scopeOf } from './scope.js'

/** Each ticker counts once, whatever the order. */
export type TransitionsQuery = Pick<PoolQuery, 'tickers' | 'field' | 'timeframe' | 'after' | 'before'>

/** Which band follows which, and how long each lasts, in bars. */
export interface Transitions extends Scope {
  schema: 'bands.transitions/1'
  tickers: string[]
  field: string
  timeframe: Timeframe
  /** Events, each of which is one transition and begins one stay. */
  events: number
  bands: string[]
  matrix: TransitionRow[]
  dwell: Dwell[]
  /** What the figures must be read with, in sentences. */
  notes: string[]
}

export interface TransitionRow {
  from: string
  /** Transitions out of the band. */
  n: number
  /** By the band entered; null for the band itself, which cannot follow itself. */
  counts: Record<string, number | null>
  /** counts / n */
  shares: Record<string, number | null>
  /** Why shares are null beyond the diagonal; null when they are not. */
  reason: string | null
}

const NOTES = [
  'The stay in force before the first event in range is left out: when it began is not known.',
  'An active stay counts as one that lasts longer than its bars so far (right-censored); median and 90th percentile are Kaplan-Meier estimates.',
]

/**
 * Counts transitions and stays, those of several tickers together. Throws NotFound for a ticker that is not there,
 * TierRestricted for a field above the tier, InvalidParameter for no ticker.
 * @param vocabulary bands of the field in their own order, all of which then have their row; otherwise those seen
 */
export async function transitionsOf(
  bands: Bands,
  { tickers, ...query }: TransitionsQuery,
  vocabulary: readonly string[] = [],
): Promise<Transitions> {
  const names = tickersInOrder(tickers)
  if (names.length === 0) throw new InvalidParameter('transitions need a ticker.', { param: 'ticker' })
  const histories = await concurrently(names, ticker => bands.history({ ...query, ticker }))
  const events = histories.flatMap(history => history.events)
  const order = bandsOf(events, vocabulary)
  return {
    schema: 'bands.transitions/1',
    tickers: names,
    field: query.field,
    timeframe: query.timeframe,
    ...scopeOf(histories, query),
    events: events.length,
    bands: order,
    matrix: order.map(from => row(from, order, events)),
    dwell: dwells(order, histories),
    notes: NOTES,
  }
}

function bandsOf(events: readonly HistoricEvent[], vocabulary: readonly string[]): string[] {
  const seen = new Set(vocabulary)
  for (const { band, prev_band } of events) seen.add(prev_band).add(band)
  return [...seen].sort(byVocabulary(vocabulary))
}

function row(from: string, bands: readonly string[], events: readonly HistoricEvent[]): TransitionRow {
  const left = events.filter(event => event.prev_band === from)
  const n = left.length
  const count = (to: string): number | null => (to === from ? null : left.filter(event => event.band === to).length)
  const counts = Object.fromEntries(bands.map(to => [to, count(to)]))
  const share = (to: string): number | null => (n === 0 || to === from ? null : counts[to]! / n)
  return {
    from,
    n,
    counts,
    shares: Object.fromEntries(bands.map(to => [to, share(to)])),
    reason: n === 0 ? 'never left in range' : null,
  }
}

function dwells(bands: readonly string[], histories: readonly EventHistory[]): Dwell[] {
  const stays = histories.flatMap(staysOf)
  return bands.map(band =>
    dwell(
      band,
      stays.filter(stay => stay.band === band),
    ),
  )
}
