import type { Bands } from '../bands.js'
import { InvalidParameter } from '../errors.js'
import type { EventHistory, HistoricEvent } from '../model/event.js'
import type { Context, PoolQuery } from '../model/query.js'
import type { Timeframe } from '../model/timeframe.js'
import type { ContextTests } from './by-context.js'
import { concurrently } from './concurrently.js'
import { type Dwell, dwell, type Stay, staysOf } from './dwell.js'
import { type Leaving, leaving } from './leaving.js'
import { byVocabulary, tickersInOrder } from './order.js'
import { type Scope, scopeOf } from './scope.js'
import type { Vocabularies } from './tally-groups.js'
import { perBarMatrix, type TransitionRow, transitionMatrix } from './transition-matrix.js'

/** Each ticker counts once, whatever the order. The context splits, and leaves its band open. */
export type TransitionsQuery = Pick<PoolQuery, 'tickers' | 'field' | 'timeframe' | 'after' | 'before'> & {
  context?: Omit<Context, 'band'>
}

/** Which band follows which, and how long each lasts, in bars. */
export interface Transitions extends Scope, Figures {
  schema: 'bands.transitions/1'
  tickers: string[]
  field: string
  timeframe: Timeframe
  context: { ticker: string; field: string } | null
  bands: string[]
  /** The same for each band of the context, and whether it matters which; null without a context. */
  by_context: { groups: ({ context: string | null } & Figures)[]; tests: ContextTests } | null
  /** What the figures must be read with, in sentences. */
  notes: string[]
}

interface Figures {
  /** Events, each of which is one transition and begins one stay. */
  events: number
  matrix: TransitionRow[]
  per_bar: TransitionRow[]
  dwell: Dwell[]
  /** By band, window by window. */
  incidence: Leaving[]
}

/**
 * Counts transitions and stays, those of several tickers together. Throws NotFound for a ticker that is not there,
 * TierRestricted for a field or a context above the tier, InvalidParameter for no ticker, or a band to look for.
 * @param vocabularies bands of the field in their own order, all of which then have their row, and of the context
 */
export async function transitionsOf(
  bands: Bands,
  { tickers, ...query }: TransitionsQuery,
  vocabularies: Vocabularies = {},
): Promise<Transitions> {
  const names = tickersInOrder(tickers)
  if (names.length === 0) throw new InvalidParameter('transitions need a ticker.', { param: 'ticker' })
  refuseBands(query)
  const histories = await concurrently(names, ticker => bands.history({ ...query, ticker }))
  const events = histories.flatMap(history => history.events)
  const stays = histories.flatMap(staysOf)
  const order = bandsOf(events, vocabularies.field ?? [])
  const { field, timeframe, context = null } = query
  const figures = figuresOf(order, timeframe)
  return {
    schema: 'bands.transitions/1',
    ...{ tickers: names, field, timeframe, context },
    ...scopeOf(histories, query),
    bands: order,
    ...figures(events, stays),
    by_context: context === null ? null : await byContext(order, events, stays, figures, vocabularies.context),
    notes: notesOf(histories, context !== null),
  }
}

async function byContext(
  bands: readonly string[],
  events: readonly HistoricEvent[],
  stays: readonly Stay[],
  figures: (events: readonly HistoricEvent[], stays: readonly Stay[]) => Figures,
  vocabulary: readonly string[] = [],
): Promise<Transitions['by_context']> {
  // Loaded where it is asked for: the distributions take longer to load than the question to answer.
  const { contextsOf, contextTests } = await import('./by-context.js')
  const contexts = contextsOf(events, vocabulary)
  const groups = contexts.map(context => {
    const entered = events.filter(event => (event.context_band ?? null) === context)
    const begun = stays.filter(stay => stay.context === context)
    return { context, ...figures(entered, begun) }
  })
  return { groups, tests: contextTests(bands, contexts, events, stays) }
}

/** A history of some bands alone has gaps, in which stays would seem to last. */
function refuseBands(query: Partial<PoolQuery>): void {
  for (const [param, band] of [
    ['band', query.band],
    ['context_band', query.context?.band],
  ] as const) {
    if (band === undefined) continue
    throw new InvalidParameter(`transitions count every band; ${param} is none of their parameters.`, {
      param,
      value: band,
    })
  }
}

function bandsOf(events: readonly HistoricEvent[], vocabulary: readonly string[]): string[] {
  const seen = new Set(vocabulary)
  for (const { band, prev_band } of events) seen.add(prev_band).add(band)
  return [...seen].sort(byVocabulary(vocabulary))
}

function figuresOf(
  bands: readonly string[],
  timeframe: Timeframe,
): (events: readonly HistoricEvent[], stays: readonly Stay[]) => Figures {
  return (events, stays) => {
    const own = bands.map(band => ({ band, stays: stays.filter(stay => stay.band === band) }))
    return {
      events: events.length,
      matrix: transitionMatrix(bands, events),
      per_bar: perBarMatrix(bands, stays),
      dwell: own.map(({ band, stays }) => dwell(band, stays)),
      incidence: own.flatMap(({ band, stays }) => leaving(band, bands, stays, timeframe)),
    }
  }
}

function notesOf(histories: readonly EventHistory[], split: boolean): string[] {
  const notes = [
    'The stay in force before the first event in range is left out: when it began is not known.',
    'An active stay counts as one that lasts longer than its bars so far (right-censored); median and 90th percentile are Kaplan-Meier estimates.',
  ]
  if (!split) return notes
  notes.push(
    'A transition counts in the context of its day, a stay in that of the day it began. The tests are chi-square tests, and each row and band is one of its own: of twenty, one finds something by luck.',
  )
  if (histories.length > 1) {
    notes.push('They take stays as independent; tickers that move together make p too small.')
  }
  return notes
}
