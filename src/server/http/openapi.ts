import { counted, title } from '../../core/errors.js'
import { FIELDS } from '../../core/fields/index.js'
import { TIER_NAMES, TIMEFRAME_NAMES, windowNames } from '../../core/model/terms.js'
import { BARS } from '../../core/params/pages.js'
import { EVENTS, OVERSOLD } from '../../core/params/questions.js'
import { SEARCH } from '../../core/params/search.js'
import { SUMMARY } from '../../core/params/summary.js'
import { eventsCost, OVERSOLD_COST, PLANS } from '../../core/tiers.js'
import {
  ACCOUNT_PATH,
  AS_OF,
  BARS_PATH,
  ERROR_SHAPE,
  ERROR_SHAPES,
  type ErrorShape,
  EVENTS_PATH,
  OVERSOLD_PATH,
  SCHEMA_PATH,
  SEARCH_PATH,
  SUMMARY_PATH,
  WATCHLIST_CHANGES_PATH,
  WATCHLIST_PATH,
} from '../wire/format.js'
import { PAGES } from '../wire/page-schemas.js'
import { wireSchemas } from '../wire/schemas.js'
import {
  answerWithBody,
  EVENTS_EXAMPLES,
  errorAnswers,
  errorReferences,
  HEADERS,
  OVERSOLD_EXAMPLES,
  type Reference,
  SCHEMAS_AT,
  type Schema,
  statusAnswer,
} from './openapi-answers.js'
import { accountOperation, barsOperation, fieldsOperation, searchOperation, summaryOperation } from './openapi-pages.js'
import {
  curlSample,
  type Operation,
  parameterSchemas,
  queryParameters,
  questionOperation,
  requestHeaders,
  tiersWith,
} from './openapi-parts.js'
import { watchlistChangesOperation, watchlistOperations } from './openapi-watchlist.js'

/** Makes the OpenAPI 3.1 document from the tables of parameters, schemas, tiers and fields. */
export function openApi({ version, errors }: { version: string; errors: ErrorShape }) {
  const paths: Record<string, { get: Operation } & Partial<Record<'post' | 'delete', Operation>>> = {
    [EVENTS_PATH]: { get: eventsOperation() },
    [OVERSOLD_PATH]: { get: oversoldOperation() },
    [SUMMARY_PATH]: { get: summaryOperation() },
    [SEARCH_PATH]: { get: searchOperation() },
    [BARS_PATH]: { get: barsOperation() },
    [SCHEMA_PATH]: { get: fieldsOperation() },
    [ACCOUNT_PATH]: { get: accountOperation() },
    [WATCHLIST_PATH]: watchlistOperations(),
    [WATCHLIST_CHANGES_PATH]: { get: watchlistChangesOperation() },
    '/healthz': { get: healthOperation() },
    '/readyz': { get: readinessOperation() },
  }
  const components = {
    schemas: {
      ...wireSchemas(errors, SCHEMAS_AT, PAGES),
      ...parameterSchemas([EVENTS, OVERSOLD, SUMMARY, SEARCH, BARS]),
    },
    parameters: requestHeaders(errors),
    headers: HEADERS,
    responses: errorAnswers(errors),
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: ABOUT_KEYS } },
  }
  return {
    openapi: '3.1.0',
    info: { title: 'bands', version, description: `${ABOUT}\n\n${aboutErrors(errors)}` },
    servers: [{ url: '/' }],
    tags: [
      { name: 'events', description: 'Questions about band events; each needs a key and costs credits.' },
      { name: 'tickers', description: 'Tickers and their prices; each question needs a key and costs credits.' },
      { name: 'watchlist', description: 'The watch list of an account; each question needs a key.' },
      { name: 'service', description: 'The server and the account; free.' },
    ],
    paths,
    components,
    'x-tiers': TIER_NAMES.map(tier => {
      const { range, aftermath, context, credits } = PLANS[tier]
      return { tier, range, aftermath, context, credits: { ...credits } }
    }),
    'x-fields': FIELDS.map(({ name, tier, summary, bands }) => ({ field: name, tier, summary, bands })),
  }
}

const ABOUT = `When did a ticker change band, and what followed?

A band is a category such as oversold, made of a ticker's bars and facts. Every change of a band is an event; the service answers with events, what followed them, and which tickers are oversold.`

function aboutErrors(shape: ErrorShape): string {
  const type = shape === 'flat' ? 'its type in `error`' : 'one object, `error`, with its type in `type`'
  const otherShape = ERROR_SHAPES.filter(known => known !== shape).join()
  const aboutShape = `This document describes errors that are ${shape}. With \`${ERROR_SHAPE}: ${otherShape}\` a caller is sent the other shape, and a document about it. The vendor's official clients are known by what they send, and have \`nested\`.`
  return `Every path answers GET and HEAD; a watch list is changed by POST and DELETE. An error's body has ${type}, one sentence in \`message\`, and more keys. The first of several mistakes is reported: the key (401), the request (400), the tier (403), the ticker (404), the credits (429).\n\n${aboutShape}`
}

const ABOUT_KEYS = `Send the key with every request as \`Authorization: Bearer bands_…\`, in one such header. In the examples it is \`BANDS_API_KEY\`, and \`BANDS_URL\` is where the service is reached. An account may have any number of keys; tier and credits are the account's.

Only answers 200 are charged. Credits are counted in days and hours of UTC; every answer to a known key says what is left.`

function eventsOperation(): Operation {
  const context = { ticker: '', field: '', band: '' }
  const oversoldPath = `${EVENTS_PATH}?ticker=AAPL&field=rsi_zone&band=oversold`
  return questionOperation({
    operationId: 'searchEvents',
    tags: ['events'],
    summary: 'Historical band events of one ticker and one field',
    description: `An event is recorded whenever the band of a field changes. Costs ${counted(eventsCost({}), 'credit')}, with a context ${counted(eventsCost({ context }), 'credit')}.

Events lie within the range of the tier, counted back from the day in \`${AS_OF}\`: ${rangesInWords()}. ${tiersWith('aftermath')} see \`stability_at_entry\`, \`flips_recent_at_entry\`, \`flips_lookback\` and what followed; for others \`aftermath\` is null.

\`aftermath\` has a key for each window of bars after the event: ${windowsInWords()}. A window that has not elapsed, or had too little history to be ranked against, is null.

\`context_ticker\`, \`context_field\` and \`context_band\` go together, for ${tiersWith('context')}. They keep the events on whose date the second ticker was in that band: the one it entered last, on or before the date.`,
    parameters: queryParameters(EVENTS, EVENTS_PATH),
    answer: answerWithBody('The events, newest first; none is an answer too.', 'EventsPage', EVENTS_EXAMPLES),
    errors: [403, 404, 429],
    samples: [
      curlSample('The last times AAPL became oversold', oversoldPath),
      curlSample(
        'The same while an index was in a downtrend',
        `${oversoldPath}&context_ticker=GSPC&context_field=trend_direction&context_band=downtrend`,
      ),
      curlSample(
        'On weekly bars, of one year',
        `${EVENTS_PATH}?ticker=AAPL&field=trend_direction&timeframe=weekly&after=2016-12-31&before=2018-01-01`,
      ),
    ],
  })
}

function oversoldOperation(): Operation {
  const largeStocksPath = `${OVERSOLD_PATH}?asset_class=stock&min_market_cap_tier=large&min_severity=deep_oversold`
  return questionOperation({
    operationId: 'scanOversold',
    tags: ['events'],
    summary: 'Which tickers are oversold',
    description: `The tickers whose \`rsi_zone\` is oversold or deep_oversold on a date. Costs ${counted(OVERSOLD_COST, 'credit')}, however many tickers are looked at.

What a match says depends on the tier; keys of a higher tier are left out, and those of fundamentals for crypto and funds. \`match_count\` counts all matches, \`matches\` is cut at \`limit\`.`,
    parameters: queryParameters(OVERSOLD, OVERSOLD_PATH),
    answer: answerWithBody(
      'The matches in the order asked for; none is an answer too.',
      'OversoldPage',
      OVERSOLD_EXAMPLES,
    ),
    errors: [403, 429],
    samples: [curlSample('Large stocks that are deeply oversold', largeStocksPath)],
  })
}

function healthOperation(): Operation {
  return {
    operationId: 'health',
    tags: ['service'],
    summary: 'Whether the server runs',
    description: 'Answers as long as the process does, in any state of its data.',
    security: [],
    responses: { 200: statusAnswer('The server runs.', 'ok'), ...errorReferences(405, 408, 414, 431) },
  }
}

function readinessOperation(): Operation {
  return {
    ...healthOperation(),
    operationId: 'readiness',
    summary: 'Whether the server can answer',
    description:
      'Looks whether the data can be read and charges be written, and the server is not about to stop. While fields wait for an import of facts, questions about them get 503, and `waiting` says for how long they have waited.',
    responses: {
      200: statusAnswer('The server can answer.', 'ready', { waiting: WAITING_FIELDS }),
      ...errorReferences(405, 408, 414, 431, 503),
    },
  }
}

/** Fields that wait for an import of facts; absent where none does. */
const WAITING_FIELDS: Schema = {
  type: 'object',
  properties: {
    fields: { type: 'integer', description: 'How many fields wait.' },
    since: { type: ['string', 'null'], description: 'When they began to wait; null where that is not known.' },
    seconds: { type: ['integer', 'null'], description: 'The same as a number of seconds.' },
  },
  required: ['fields', 'since', 'seconds'],
}

/** `daily 5d, 10d; weekly 2w, 4w` */
function windowsInWords(): string {
  return TIMEFRAME_NAMES.map(timeframe => `${timeframe} ${windowNames(timeframe).join(', ')}`).join('; ')
}

/** `Free 90d, Plus 2y, Pro 5y` */
function rangesInWords(): string {
  return TIER_NAMES.map(tier => `${title(tier)} ${PLANS[tier].range}`).join(', ')
}

export type OpenApiDocument = ReturnType<typeof openApi>

/** The part of the document that a reference points to; any other part as it is. */
export function resolveReference<Part>(document: OpenApiDocument, part: Part | Reference): Part {
  if (!isReference(part)) return part
  let target: unknown = document
  for (const name of part.$ref.replace(/^#\//, '').split('/')) target = (target as Record<string, unknown>)[name]
  return target as Part
}

export function isReference(part: unknown): part is Reference {
  return typeof part === 'object' && part !== null && '$ref' in part
}
