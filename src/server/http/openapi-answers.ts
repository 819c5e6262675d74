import { type BandsError, MethodNotAllowed, NotFound, Unauthorized, Unavailable } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import type { BandEvent, EventsPage, OversoldMatch, OversoldPage } from '../../core/model/event.js'
import type { Tier } from '../../core/model/terms.js'
import { entitle, OVERSOLD_KEYS, PLANS } from '../../core/tiers.js'
import {
  AS_OF,
  CREDIT_HEADERS,
  DATA,
  type ErrorShape,
  EVENTS_PATH,
  errorBody,
  internalErrorBody,
  NOTE,
  REQUEST_ID,
} from '../wire/format.js'
import { schemaName } from '../wire/schemas.js'
import { creditHeaders, creditsUsedUpError, nameTakenError } from './meter.js'
import { LIMITS } from './options.js'
import { readEvents } from './question.js'
import { tooManyScansError } from './queue.js'
import { headTooLargeError, READ_METHODS, tooSlowError, urlTooLongError } from './requests.js'

export type Schema = Readonly<Record<string, unknown>>

export interface Reference {
  $ref: string
}

export interface HeaderObject {
  description: string
  schema: Schema
  example: string | number
}

interface ExampleObject {
  summary: string
  value: unknown
}

export interface ResponseObject {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, { schema: Schema; examples?: Record<string, ExampleObject> }>
}

/** The path of the schemas in the document. */
export const SCHEMAS_AT = '#/components/schemas/'

export function schemaReference(name: string): Reference {
  return { $ref: SCHEMAS_AT + name }
}

export function headerReferences(names: readonly string[]): Record<string, Reference> {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

export const TEXT: Schema = { type: 'string' }
const COUNT: Schema = { type: 'integer', minimum: 0 }
const TIME: Schema = { type: 'string', format: 'date-time' }

/** The time, the note, the data and the request number of the examples. */
const EXAMPLE_TIME = Date.parse('2026-03-23T14:37:00Z')
const EXAMPLE_NOTE = "AAPL's daily rsi_zone never became deep_oversold; it became neutral, overbought and oversold."
const EXAMPLE_DATA = '013b61eefde0a1277f696747bfa3831a'
const EXAMPLE_ID = '0f5e6a0e-8d1c-4b0a-9a53-6f2f2c1f7d10'

/** Every header that an answer may have, by name. */
export const HEADERS: Record<string, HeaderObject> = {
  ...creditHeaderObjects(),
  ETag: textHeader(
    "Names this answer to this account; with it in If-None-Match the account's same answer comes as 304, without body and free.",
    '"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"',
  ),
  [AS_OF]: {
    description: 'The day of the answer: ranges count back from it.',
    schema: { type: 'string', format: 'date' },
    example: '2026-03-23',
  },
  [DATA]: textHeader('The hash of the data that the answer is from: equal for servers with equal data.', EXAMPLE_DATA),
  [NOTE]: textHeader('Why the answer is empty, in a sentence; absent where it is not.', EXAMPLE_NOTE),
  'Cache-Control': textHeader(
    "How the answer may be kept: only by the caller's own cache, and to be asked for again; an error not at all.",
    'private, no-cache',
  ),
  Vary: textHeader('What the answer depends on besides the URL.', 'Authorization'),
  [REQUEST_ID]: textHeader("The server's own number of the request; its log has it too.", EXAMPLE_ID),
  'Retry-After': { description: 'Seconds after which to ask again.', schema: COUNT, example: 1_380 },
  'WWW-Authenticate': textHeader('How to send the key.', 'Bearer'),
  Allow: textHeader('The methods that the path answers.', READ_METHODS.join(', ')),
}

function textHeader(description: string, example: string): HeaderObject {
  return { description, schema: TEXT, example }
}

/** The headers about credits, by name. The examples are the values that an answer would have. */
function creditHeaderObjects(): Record<string, HeaderObject> {
  // Names and values in turn.
  const exampleHeaders = creditHeaders(PLANS.plus.credits, { day: 12, hour: 3 }, EXAMPLE_TIME)
  const objects = Object.entries(CREDIT_HEADERS).map(([name, description]): [string, HeaderObject] => {
    const example = exampleHeaders[exampleHeaders.indexOf(name) + 1]!
    const isTime = name.endsWith('Reset')
    return [name, { description, schema: isTime ? TIME : COUNT, example: isTime ? example : Number(example) }]
  })
  return Object.fromEntries(objects)
}

/** The headers of every answer to a valid key, of those without an ETag, and of those to a question. */
const KNOWN_KEY_HEADERS = [...Object.keys(CREDIT_HEADERS), REQUEST_ID]
export const UNTAGGED_HEADERS = ['Cache-Control', ...KNOWN_KEY_HEADERS]
const ANSWER_HEADERS = ['ETag', AS_OF, DATA, NOTE, 'Cache-Control', 'Vary', ...KNOWN_KEY_HEADERS]

export const UNCHANGED: ResponseObject = {
  description: 'The answer is one that If-None-Match names. Without a body, and not charged.',
  headers: headerReferences(ANSWER_HEADERS),
}

/** An answer with a JSON body. @param schema its name */
export function answerWithBody(
  description: string,
  schema: string,
  examples: Record<string, ExampleObject>,
  headers: readonly string[] = ANSWER_HEADERS,
): ResponseObject {
  const content = { 'application/json': { schema: { ...schemaReference(schema) }, examples } }
  return { description, headers: headerReferences(headers), content }
}

/** An answer with a status that is always the same word. @param moreProperties besides `status` */
export function statusAnswer(description: string, word: string, moreProperties: Schema = {}): ResponseObject {
  const properties = { status: { type: 'string', const: word }, ...moreProperties }
  const schema = { type: 'object', properties, required: ['status'] }
  const examples = { [word]: { summary: description, value: { status: word } } }
  return { description, headers: headerReferences([REQUEST_ID]), content: { 'application/json': { schema, examples } } }
}

interface ErrorAnswer {
  name: string
  description: string
  /** Default: the headers of every answer to a valid key. */
  headers?: readonly string[]
  /** Title and error of each example, by its name. */
  examples: Readonly<Record<string, [summary: string, error: BandsError | 'internal']>>
}

const AAPL = 'ticker=AAPL&field=rsi_zone'
const GSPC = { ticker: 'GSPC', field: 'rsi_zone' }
const HOUR_USED_UP = { day: 12_000, hour: PLANS.plus.credits.hour }

/** The errors by status. */
const ERROR_ANSWERS = {
  400: {
    name: 'BadRequest',
    description:
      'A parameter or a header is missing, given twice, unknown, or has a value that cannot be used. Not charged.',
    examples: {
      band: ['A band that the field does not have', errorThrownBy(() => readEvents(`${AAPL}&band=oversol`))],
      missing: ['A parameter is missing', errorThrownBy(() => readEvents('ticker=AAPL'))],
      limit: ['A number that is out of range', errorThrownBy(() => readEvents(`${AAPL}&limit=1000`))],
      unknown: ['A parameter that there is not', errorThrownBy(() => readEvents(`${AAPL}&befor=2018-01-01`))],
      repeated: ['A parameter is given twice', errorThrownBy(() => readEvents(`${AAPL}&ticker=GSPC`))],
      context: ['A context that is not complete', errorThrownBy(() => readEvents(`${AAPL}&context_ticker=GSPC`))],
      idempotency: ['A name that another question has', nameTakenError()],
    },
  },
  401: {
    name: 'Unauthorized',
    description: 'No key, more than one, or one that is not known, has expired or was revoked.',
    headers: ['WWW-Authenticate', REQUEST_ID],
    examples: { unauthorized: ['No key that counts', new Unauthorized()] },
  },
  403: {
    name: 'Forbidden',
    description: 'A field, a feature or a date that the tier of the key does not have. Not charged.',
    examples: {
      field: [
        'A field of a higher tier',
        errorThrownBy(() => entitle({ field: 'pe_vs_sector' }, 'plus', BUILT_IN_FIELDS)),
      ],
      feature: [
        'A feature of a higher tier',
        errorThrownBy(() => entitle({ field: 'rsi_zone', context: GSPC }, 'free', BUILT_IN_FIELDS)),
      ],
    },
  },
  404: {
    name: 'NotFound',
    description: 'A ticker, or a path, that is not there. Not charged.',
    examples: {
      ticker: ['A ticker that is not there', new NotFound('no bars for "APPL". Did you mean "AAPL"?', ['AAPL'])],
    },
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path does not answer this method. Not charged; where no key is needed, no credits are shown.',
    headers: ['Allow', ...KNOWN_KEY_HEADERS],
    examples: { post: ['A POST', new MethodNotAllowed('POST', EVENTS_PATH, READ_METHODS)] },
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request did not arrive in time; the connection is closed.',
    headers: [REQUEST_ID],
    examples: { slow: ['Too slow', tooSlowError(LIMITS)] },
  },
  414: {
    name: 'UriTooLong',
    description: urlTooLongError(LIMITS).message,
    headers: [REQUEST_ID],
    examples: { url: ['Too long', urlTooLongError(LIMITS)] },
  },
  429: {
    name: 'TooManyRequests',
    description: 'The credits of the day or the hour do not suffice. Not charged.',
    headers: ['Retry-After', ...KNOWN_KEY_HEADERS],
    examples: { hour: ['The hour is spent', creditsUsedUpError(PLANS.plus.credits, HOUR_USED_UP, 1, EXAMPLE_TIME)] },
  },
  431: {
    name: 'HeadersTooLarge',
    description: `The URL and the headers have more than ${LIMITS.headBytes} bytes; the connection is closed.`,
    headers: [REQUEST_ID],
    examples: { headers: ['Too large', headTooLargeError(LIMITS)] },
  },
  500: {
    name: 'InternalError',
    description: "A fault of the server's own. Not charged.",
    examples: { fault: ["A fault of the server's own", 'internal'] },
  },
  503: {
    name: 'DataUnavailable',
    description:
      'The data cannot be read now, more scans wait than the server can make, or it is about to stop. Not charged.',
    headers: ['Retry-After', ...KNOWN_KEY_HEADERS],
    examples: {
      stopping: ['While it stops', new Unavailable('The server is shutting down.')],
      scans: ['When too many scans wait', tooManyScansError()],
    },
  },
} satisfies Record<number, ErrorAnswer>

export function errorReferences(...statuses: readonly (keyof typeof ERROR_ANSWERS)[]): Record<string, Reference> {
  return Object.fromEntries(
    statuses.map(status => [status, { $ref: `#/components/responses/${ERROR_ANSWERS[status].name}` }]),
  )
}

/** All errors with their examples, by name. */
export function errorAnswers(shape: ErrorShape): Record<string, ResponseObject> {
  const answers: Record<string, ResponseObject> = {}
  const errors = Object.values<ErrorAnswer>(ERROR_ANSWERS)
  for (const { name, description, headers = KNOWN_KEY_HEADERS, examples } of errors) {
    const exampleObjects: Record<string, ExampleObject> = {}
    // The same for all examples of an answer.
    let errorType = ''
    for (const [exampleName, [summary, error]] of Object.entries(examples)) {
      const value = error === 'internal' ? internalErrorBody(EXAMPLE_ID, shape) : errorBody(error, shape)
      exampleObjects[exampleName] = { summary, value }
      errorType = error === 'internal' ? 'internal_error' : error.code
    }
    answers[name] = answerWithBody(description, schemaName(errorType), exampleObjects, ['Cache-Control', ...headers])
  }
  return answers
}

/** The error that some work throws, for an example. */
function errorThrownBy(work: () => unknown): BandsError {
  try {
    work()
  } catch (error) {
    return error as BandsError
  }
  throw new Error(`${work} is not refused`)
}

/** Examples: answers from the bundled sample as of 2018-05-11. */

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
  ...DAILY,
  events: [{ date: '2018-05-09', band: 'overbought', prev_band: 'neutral_high', duration_days: null, aftermath: null }],
  total_occurrences: 13,
  query_range: '90d',
}

const STILL_ACTIVE: BandEvent = {
  date: '2018-05-11',
  band: 'strong_uptrend',
  prev_band: 'uptrend',
  stability_at_entry: 'volatile',
  flips_recent_at_entry: 6,
  flips_lookback: '12w',
  duration_weeks: null,
  aftermath: { '2w': null, '4w': null, '8w': null, '12w': null, '16w': null },
}

const DOWNTREND = { ticker: 'GSPC', field: 'trend_direction', band: 'downtrend' }

export const EVENTS_EXAMPLES: Record<string, ExampleObject> = {
  daily: { summary: 'rsi_zone of AAPL, band oversold, limit 1, asked on Pro', value: DAILY },
  free: { summary: 'The newest event of rsi_zone of AAPL, asked on Free', value: FREE },
  weekly: {
    summary: 'A weekly band that is still active',
    value: { ...DAILY, field: 'trend_direction', timeframe: 'weekly', events: [STILL_ACTIVE], total_occurrences: 14 },
  },
  context: { summary: 'While GSPC was in a downtrend', value: { ...DAILY, total_occurrences: 2, context: DOWNTREND } },
  nothing: { summary: 'No event matches', value: { ...DAILY, events: [], total_occurrences: 0 } },
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

export const OVERSOLD_EXAMPLES: Record<string, ExampleObject> = {
  pro: { summary: 'Asked on Pro', value: scanForTier('pro') },
  plus: { summary: 'Asked on Plus', value: scanForTier('plus') },
  free: { summary: 'Asked on Free', value: scanForTier('free') },
}

/** The example of a scan with the keys that a tier sees. */
function scanForTier(tier: Tier): OversoldPage {
  const match = Object.fromEntries(OVERSOLD_KEYS[tier].map(key => [key, MATCH[key]])) as unknown as OversoldMatch
  return { matches: [match], total_scanned: 10, match_count: 1, data_status: 'eod' }
}
