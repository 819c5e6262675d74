import { fieldNamed } from '../../fields/index.js'
import { TIMEFRAMES } from '../../model/timeframe.js'
import type { EventFilter } from '../filter.js'
import type { SweepQuery } from './query.js'

/** Which events make a cell, apart from window and ticker: places in the query's lists, codes in the vocabularies. */
export interface Condition {
  field: number
  band: number
  prevBand: number | null
  context: { which: number; band: number } | null
}

/** A combination that is looked at. */
export interface Key {
  condition: Condition
  horizon: number
  /** null: all tickers together */
  ticker: string | null
}

type Asked = Pick<SweepQuery, 'fields' | 'contexts' | 'prevBand' | 'timeframe'>

/** Every combination of one field's bands, with those left and those of a context where they are told apart. */
export function conditionsOf(query: Asked, field: number): Condition[] {
  const bands = vocabulary(query.fields[field]!).map((_, band) => band)
  const contexts: Condition['context'][] = query.contexts.flatMap((context, which) =>
    vocabulary(context.field).map((_, band) => ({ which, band })),
  )
  return bands.flatMap(band =>
    (query.prevBand ? bands.filter(left => left !== band) : [null]).flatMap(prevBand =>
      (contexts.length > 0 ? contexts : [null]).map(context => ({ field, band, prevBand, context })),
    ),
  )
}

/** The words of a condition. */
export interface Told {
  field: string
  band: string
  prev_band: string | null
  context: { ticker: string; field: string; band: string } | null
}

export function told({ field, band, prevBand, context }: Condition, query: Asked): Told {
  const name = query.fields[field]!
  const bands = vocabulary(name)
  const where = context === null ? null : query.contexts[context.which]!
  return {
    field: name,
    band: bands[band]!,
    prev_band: prevBand === null ? null : bands[prevBand]!,
    context: where && { ticker: where.ticker, field: where.field, band: vocabulary(where.field)[context!.band]! },
  }
}

/** What a cell is called: its words alone, so that the name stays whatever else is looked at. */
export function nameOf({ condition, horizon, ticker }: Key, query: Asked): string {
  const { field, band, prev_band, context } = told(condition, query)
  const lag = condition.context !== null && query.contexts[condition.context.which]!.lag === 1
  const parts = [
    `${field} = ${band}`,
    prev_band === null ? '' : `from ${prev_band}`,
    context === null ? '' : `while ${context.ticker} ${context.field} = ${context.band}${lag ? ' a bar before' : ''}`,
    windowName(horizon, query),
    ticker ?? '',
  ]
  return parts.filter(part => part !== '').join('; ')
}

export function windowName(horizon: number, { timeframe }: Pick<SweepQuery, 'timeframe'>): string {
  return `${horizon}${TIMEFRAMES[timeframe].unit}`
}

/** The same as an event study asks for it. */
export function filterOf(condition: Condition, query: SweepQuery): EventFilter {
  const { field, band, prev_band, context } = told(condition, query)
  const { timeframe, after, before } = query
  return {
    field,
    timeframe,
    bands: [band],
    prevBands: prev_band === null ? null : [prev_band],
    stability: null,
    maxFlips: null,
    context: context && {
      ticker: context.ticker,
      field: context.field,
      bands: [context.band],
      lag: query.contexts[condition.context!.which]!.lag,
    },
    after,
    before,
  }
}

function vocabulary(field: string): readonly string[] {
  return fieldNamed(field)!.bands
}
