import { InvalidParameter } from '../../errors.js'
import type { Field } from '../../fields/field.js'
import { STABILITIES } from '../../model/record.js'
import { parseContext } from '../../query/context.js'
import { bandValue, fieldValue, tickerValue, timeframeValue, wordValue } from '../../query/values.js'
import type { ContextFilter, EventFilter } from '../filter.js'
import type { Params, Text, Texts } from './read.js'

/** Which events count, as people write it. */
export interface FilterParams {
  field: string
  timeframe?: string
  /** The bands entered; `all` (the default) is any. */
  band?: Texts
  /** The bands left. */
  prev_band?: Texts
  stability?: Texts
  max_flips?: Text
  /** `GSPC:trend_direction=downtrend`, short for the three below. */
  context?: string
  context_ticker?: string
  context_field?: string
  context_band?: Texts
  /** 1: the context as of its bar before the date of the event, for a market that closes later. */
  context_lag?: Text
  after?: string
  before?: string
}

export const FILTER_NAMES = [
  'field',
  'timeframe',
  'band',
  'prev_band',
  'stability',
  'max_flips',
  'context',
  'context_ticker',
  'context_field',
  'context_band',
  'context_lag',
  'after',
  'before',
] as const satisfies readonly (keyof FilterParams)[]

type FilterName = (typeof FILTER_NAMES)[number]

/** Throws InvalidParameter. */
export function parseFilter(params: Params<FilterName>): EventFilter {
  const text = params.text('field')
  if (text === undefined) throw new InvalidParameter('field is missing.', { param: 'field' })
  const field = fieldValue('field', text)
  return {
    field: field.name,
    timeframe: timeframeValue('timeframe', params.text('timeframe') ?? 'daily'),
    bands: bandsOf(params, 'band', field),
    prevBands: bandsOf(params, 'prev_band', field),
    stability: params.list('stability')?.map(word => wordValue('stability', word, STABILITIES)) ?? null,
    maxFlips: params.integer('max_flips', 0, 254) ?? null,
    context: contextOf(params),
    after: params.day('after'),
    before: params.day('before'),
  }
}

/** In the order of the vocabulary, so that the same question is written in one way. */
function bandsOf(
  params: Params<FilterName>,
  name: 'band' | 'prev_band' | 'context_band',
  field: Field,
): string[] | null {
  const chosen = params.list(name)?.map(band => bandValue(name, band, field))
  return chosen === undefined ? null : field.bands.filter(band => chosen.includes(band))
}

function contextOf(params: Params<FilterName>): ContextFilter | null {
  const lag = (params.integer('context_lag', 0, 1) ?? 0) as 0 | 1
  const short = params.text('context')
  const parts = (['context_ticker', 'context_field', 'context_band'] as const).filter(name => params.has(name))
  if (short !== undefined) {
    if (parts.length > 0)
      throw new InvalidParameter(`context says it all; leave ${parts.join(' and ')} out.`, { param: parts[0]! })
    return { ...parseContext('context', short), lag }
  }
  if (parts.length === 0) {
    if (params.has('context_lag'))
      throw new InvalidParameter('context_lag is for a context, and none is given.', { param: 'context_lag' })
    return null
  }
  const [ticker, name] = [params.text('context_ticker'), params.text('context_field')]
  if (ticker === undefined || name === undefined) {
    const missing = ticker === undefined ? 'context_ticker' : 'context_field'
    throw new InvalidParameter(`context_ticker and context_field go together; missing: ${missing}.`, { param: missing })
  }
  const field = fieldValue('context_field', name)
  return {
    ticker: tickerValue('context_ticker', ticker),
    field: field.name,
    bands: bandsOf(params, 'context_band', field),
    lag,
  }
}
