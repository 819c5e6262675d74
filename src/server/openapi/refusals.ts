import { type BandsError, MethodNotAllowed, NotFound, Unauthorized, Unavailable } from '../../errors.js'
import type { EventsPage } from '../../model/event.js'
import type { OversoldMatch, OversoldPage } from '../../model/oversold.js'
import type { Tier } from '../../model/terms.js'
import { parametersOf, parseEvents } from '../../params/parse.js'
import { entitle, OVERSOLD_KEYS, PLANS } from '../../tiers.js'
import { type ErrorShape, EVENTS_PATH, errorBody, internalErrorBody, REQUEST_ID } from '../../wire/format.js'
import { type ErrorType, schemaName } from '../../wire/schemas.js'
import { ANSWERED, Malformed } from '../exchange.js'
import { limited, nameTaken } from '../meter.js'
import { LIMITS } from '../options.js'
import {
  type ExampleObject,
  headers,
  KNOWN_KEY,
  MOMENT,
  REQUEST_ID_EXAMPLE,
  type Reference,
  type ResponseObject,
  schemaRef,
} from './document.js'

interface Refusal {
  /** The component that describes it. */
  name: string
  /** Of the error in its body. */
  type: ErrorType
  description: string
  /** Its headers. */
  told: readonly string[]
  /** Example → what it shows, and the error that the server makes then. */
  examples: Readonly<Record<string, [summary: string, error: BandsError | 'internal']>>
}

/** The answers that are no answer, as components of the document. */
export function refusals(shape: ErrorShape): Record<string, ResponseObject> {
  return Object.fromEntries(
    Object.values(REFUSALS).map(({ name, type, description, told, examples }) => {
      const json = { schema: { ...schemaRef(schemaName(type)) }, examples: shown(examples, shape) }
      return [name, { description, headers: headers('Cache-Control', ...told), content: { 'application/json': json } }]
    }),
  )
}

/** References to some of them, by status. */
export function refused(...statuses: readonly (keyof typeof REFUSALS)[]): Record<string, Reference> {
  return Object.fromEntries(
    statuses.map(status => [status, { $ref: `#/components/responses/${REFUSALS[status].name}` }]),
  )
}

function shown(examples: Refusal['examples'], shape: ErrorShape): Record<string, ExampleObject> {
  return Object.fromEntries(
    Object.entries(examples).map(([name, [summary, error]]) => {
      const value = error === 'internal' ? internalErrorBody(REQUEST_ID_EXAMPLE, shape) : errorBody(error, shape)
      return [name, { summary, value }]
    }),
  )
}

const AAPL = { ticker: 'AAPL', field: 'rsi_zone' }
const GSPC = { ticker: 'GSPC', field: 'rsi_zone' }
const SPENT = { day: 12_000, hour: PLANS.plus.credits.hour }

const REFUSALS = {
  400: {
    name: 'BadRequest',
    type: 'invalid_parameter',
    description:
      'A parameter or a header is missing, given twice, unknown, or has a value that cannot be used. Not charged.',
    told: KNOWN_KEY,
    examples: {
      band: ['A band that the field does not have', thrownBy(() => parseEvents({ ...AAPL, band: 'oversol' }))],
      missing: ['A parameter is missing', thrownBy(() => parseEvents({ ticker: 'AAPL' } as never))],
      limit: ['A number that is out of range', thrownBy(() => parseEvents({ ...AAPL, limit: '1000' }))],
      unknown: [
        'A parameter that there is not',
        thrownBy(() => parseEvents({ ...AAPL, befor: '2018-01-01' } as never)),
      ],
      repeated: ['A parameter is given twice', thrownBy(() => parametersOf('ticker=AAPL&ticker=GSPC'))],
      context: ['A context that is not complete', thrownBy(() => parseEvents({ ...AAPL, context_ticker: 'GSPC' }))],
      idempotency: ['A name that another question has', nameTaken()],
    },
  },
  401: {
    name: 'Unauthorized',
    type: 'unauthorized',
    description: 'No key, more than one, or one that is not known, has expired or was revoked.',
    told: ['WWW-Authenticate', REQUEST_ID],
    examples: { unauthorized: ['No key that counts', new Unauthorized()] },
  },
  403: {
    name: 'Forbidden',
    type: 'tier_restricted',
    description: 'A field, a feature or a date that the tier of the key does not have. Not charged.',
    told: KNOWN_KEY,
    examples: {
      field: ['A field of a higher tier', thrownBy(() => entitle({ field: 'pe_vs_sector' }, 'plus'))],
      feature: ['A feature of a higher tier', thrownBy(() => entitle({ field: 'rsi_zone', context: GSPC }, 'free'))],
    },
  },
  404: {
    name: 'NotFound',
    type: 'not_found',
    description: 'A ticker, or a path, that is not there. Not charged.',
    told: KNOWN_KEY,
    examples: {
      ticker: ['A ticker that is not there', new NotFound('no bars for "APPL". Did you mean "AAPL"?', ['AAPL'])],
    },
  },
  405: {
    name: 'MethodNotAllowed',
    type: 'method_not_allowed',
    description: 'The path does not answer this method. Not charged; where no key is needed, no credits are told.',
    told: ['Allow', ...KNOWN_KEY],
    examples: { post: ['A POST', new MethodNotAllowed('POST', EVENTS_PATH, ANSWERED)] },
  },
  408: {
    name: 'RequestTimeout',
    type: 'invalid_parameter',
    description: 'The request did not arrive in time; the connection is closed.',
    told: [REQUEST_ID],
    examples: {
      slow: ['Too slow', new Malformed(408, `The request did not arrive in time (${timesInWords()}).`, 'request')],
    },
  },
  414: {
    name: 'UriTooLong',
    type: 'invalid_parameter',
    description: `The URL has more than ${LIMITS.urlLength} characters.`,
    told: [REQUEST_ID],
    examples: { url: ['Too long', new Malformed(414, `The URL has more than ${LIMITS.urlLength} characters.`, 'url')] },
  },
  429: {
    name: 'TooManyRequests',
    type: 'rate_limit_exceeded',
    description: 'The credits of the day or the hour do not suffice. Not charged.',
    told: ['Retry-After', ...KNOWN_KEY],
    examples: { hour: ['The hour is spent', limited(PLANS.plus.credits, SPENT, 1, MOMENT)] },
  },
  431: {
    name: 'HeadersTooLarge',
    type: 'invalid_parameter',
    description: `The URL and the headers have more than ${LIMITS.headBytes} bytes; the connection is closed.`,
    told: [REQUEST_ID],
    examples: {
      headers: [
        'Too large',
        new Malformed(431, `The URL and the headers have more than ${LIMITS.headBytes} bytes.`, 'headers'),
      ],
    },
  },
  500: {
    name: 'InternalError',
    type: 'internal_error',
    description: "A fault of the server's own. Not charged.",
    told: KNOWN_KEY,
    examples: { fault: ["A fault of the server's own", 'internal'] },
  },
  503: {
    name: 'DataUnavailable',
    type: 'data_unavailable',
    description: 'The data cannot be read now, or the server is about to stop. Not charged.',
    told: ['Retry-After', ...KNOWN_KEY],
    examples: { stopping: ['While it stops', new Unavailable('The server is shutting down.')] },
  },
} satisfies Record<number, Refusal>

/** Statuses that any request may get before its path is even looked at. */
export const MALFORMED = [408, 414, 431] as const

/** What the server itself says to such a request. */
function thrownBy(ask: () => unknown): BandsError {
  try {
    ask()
  } catch (error) {
    return error as BandsError
  }
  throw new Error(`${ask} is not refused`)
}

function timesInWords(): string {
  return `${LIMITS.headersTimeout / 1000} s for its head, ${LIMITS.requestTimeout / 1000} s in all`
}

/** Answers as the bundled sample gives them as of 2018-05-11. */

const DAILY: EventsPage = {
  ticker: 'AAPL',
  field: 'rsi_zone',
  timeframe: 'daily',
  events: [
    {
      date: '2018-02-08',
      band: 'oversold',
      prev_band: 'neutral_low',
      stability_at_entry: 'volatile',
      flips_recent_at_entry: 6,
      flips_lookback: '30d',
      duration_days: 1,
      aftermath: {
        '5d': { performance: 'sharp_gain' },
        '10d': { performance: 'sharp_gain' },
        '20d': { performance: 'sharp_gain' },
        '50d': { performance: 'flat' },
        '100d': null,
      },
    },
  ],
  total_occurrences: 10,
  query_range: '5y',
}

const FREE: EventsPage = {
  ticker: 'AAPL',
  field: 'rsi_zone',
  timeframe: 'daily',
  events: [{ date: '2018-05-09', band: 'overbought', prev_band: 'neutral_high', duration_days: null, aftermath: null }],
  total_occurrences: 13,
  query_range: '90d',
}

const WEEKLY: EventsPage = {
  ticker: 'AAPL',
  field: 'trend_direction',
  timeframe: 'weekly',
  events: [
    {
      date: '2018-05-11',
      band: 'strong_uptrend',
      prev_band: 'uptrend',
      stability_at_entry: 'volatile',
      flips_recent_at_entry: 6,
      flips_lookback: '12w',
      duration_weeks: null,
      aftermath: { '2w': null, '4w': null, '8w': null, '12w': null, '16w': null },
    },
  ],
  total_occurrences: 14,
  query_range: '5y',
}

const CONTEXT: EventsPage = {
  ...DAILY,
  total_occurrences: 2,
  context: { ticker: 'GSPC', field: 'trend_direction', band: 'downtrend' },
}

const NOTHING: EventsPage = { ...DAILY, events: [], total_occurrences: 0 }

export const EVENTS_EXAMPLES: Record<string, ExampleObject> = {
  daily: { summary: 'rsi_zone of AAPL, band oversold, limit 1, asked on Pro', value: DAILY },
  free: { summary: 'The newest event of rsi_zone of AAPL, asked on Free', value: FREE },
  weekly: { summary: 'A weekly band that is still active', value: WEEKLY },
  context: { summary: 'While GSPC was in a downtrend', value: CONTEXT },
  nothing: { summary: 'No event matches', value: NOTHING },
}

const MATCH: OversoldMatch = {
  ticker: 'SIM0004',
  asset_class: 'stock',
  rsi_zone: 'oversold',
  condition_rarity: 'extremely_rare',
  sector: 'Information Technology',
  market_cap_tier: 'mid',
  valuation_zone: 'undervalued',
  stochastic_zone: 'deep_oversold',
  days_in_oversold: 1,
  oversold_streaks_count: 8,
  volume_context: 'normal',
  volume_ratio_band: 'normal',
  trend_context: 'strong_downtrend',
  nearest_support_distance: null,
  sector_rsi_zone: 'neutral',
  earnings_proximity: 'not_soon',
  growth_zone: 'moderate_growth',
  analyst_consensus: 'hold',
  rsi_zone_stability: 'volatile',
  rsi_zone_flips_recent: 4,
  accumulation_state: 'strong_distribution',
  historical_median_oversold_days: 2,
  historical_max_oversold_days: 4,
  sector_agreement: false,
  sector_oversold_count: 1,
  sector_total_count: 8,
}

export const SCAN_EXAMPLES: Record<string, ExampleObject> = {
  pro: { summary: 'Asked on Pro', value: scanSeenBy('pro') },
  plus: { summary: 'Asked on Plus', value: scanSeenBy('plus') },
  free: { summary: 'Asked on Free', value: scanSeenBy('free') },
}

function scanSeenBy(tier: Tier): OversoldPage {
  const seen = Object.fromEntries(OVERSOLD_KEYS[tier].map(key => [key, MATCH[key]])) as unknown as OversoldMatch
  return { matches: [seen], total_scanned: 10, match_count: 1, data_status: 'eod' }
}
