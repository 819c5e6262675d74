import { TIMEFRAME_NAMES, type Timeframe, windowNames } from '../model/terms.js'
import { EVENTS, OVERSOLD, type Parameter } from '../params/parameters.js'
import { eventsCost, OVERSOLD_COST } from '../tiers.js'
import { AS_OF, type ErrorShape, EVENTS_PATH, OVERSOLD_PATH, REQUEST_ID } from '../wire/format.js'
import {
  type CodeSample,
  type ExampleObject,
  fieldsInWords,
  HEADERS,
  headers,
  KNOWN_KEY,
  type OpenApiDocument,
  type Operation,
  type ParameterObject,
  REQUEST_HEADER_REFS,
  REQUEST_HEADERS,
  type ResponseObject,
  rangesInWords,
  schemaRef,
  TIERED_FIELDS,
  TIERS,
  tiersWith,
} from './openapi/document.js'
import { EVENTS_EXAMPLES, MALFORMED, refusals, refused, SCAN_EXAMPLES } from './openapi/refusals.js'
import { kindRef, schemas } from './openapi/schemas.js'

interface OpenApiOptions {
  version: string
  /** The shape of errors that this server speaks; the document describes no other. */
  errors: ErrorShape
  /** Where the server is reached, such as https://bands.example; without it, where the document was found. */
  url?: string
}

/**
 * The service as an OpenAPI 3.1 document, made of what it works with: the tables of parameters, the schemas of answers,
 * the tiers, and the errors themselves.
 */
export function openApi({ version, errors, url }: OpenApiOptions): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: { title: 'bands', version, description: about(errors) },
    servers: [{ url: url ?? '/' }],
    tags: TAGS.map(tag => ({ ...tag })),
    paths: operations(url ?? '$BANDS_URL'),
    components: {
      schemas: schemas(errors),
      parameters: REQUEST_HEADERS,
      headers: HEADERS,
      responses: refusals(errors),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: keys(url) } },
    },
    'x-tiers': TIERS,
    'x-fields': TIERED_FIELDS,
  }
}

function about(shape: ErrorShape): string {
  return `When did a ticker change band, and what followed?

A band is a category such as oversold, made of a ticker's bars and facts. Every change of a band is an event; the service tells events, what followed them, and which tickers are oversold.

Every path answers GET and HEAD. ${ERRORS[shape]} Of several things that are wrong, the first is told: the key (401), the request (400), the tier (403), the ticker (404), the credits (429).`
}

const ERRORS: Readonly<Record<ErrorShape, string>> = {
  flat: "An error's body has its type in `error`, one sentence in `message`, and more beside them.",
  nested:
    "An error's body has one object, `error`, with its type in `type`, one sentence in `message`, and more beside them.",
}

function keys(url: string | undefined): string {
  return `A key is sent with every question as \`Authorization: Bearer bands_…\`, in one such header. In the examples it is \`BANDS_API_KEY\`${url === undefined ? ', and `BANDS_URL` is where the service is reached' : ''}. An account may have any number of keys; tier and credits are the account's.

Only answers 200 are charged. Credits are counted in days and hours of UTC; what is left is told with every answer to a known key.`
}

const TAGS = [
  { name: 'events', description: 'Questions about band events; each needs a key and costs credits.' },
  { name: 'service', description: 'Whether the server runs, and can answer; free, and without a key.' },
]

/** What the service answers, by path. @param url where it is reached, for the examples */
function operations(url: string): Record<string, { get: Operation }> {
  return {
    [EVENTS_PATH]: { get: events(url) },
    [OVERSOLD_PATH]: { get: oversold(url) },
    '/healthz': { get: health() },
    '/readyz': { get: readiness() },
  }
}

function events(url: string): Operation {
  const cost = credits(eventsCost({}))
  const costWithContext = credits(eventsCost({ context: { ticker: '', field: '', band: '' } }))
  return {
    operationId: 'searchEvents',
    tags: ['events'],
    summary: 'Historical band events of one ticker and one field',
    description: paragraphs(
      `An event is recorded whenever the band of a field changes. Costs ${cost}, with a context ${costWithContext}.`,
      `Events lie within the range of the tier, counted back from the day that \`${AS_OF}\` tells: ${rangesInWords()}. ${tiersWith('aftermath')} see \`stability_at_entry\`, \`flips_recent_at_entry\`, \`flips_lookback\` and what followed; for others \`aftermath\` is null.`,
      `\`aftermath\` has a key for each window of bars after the event: ${TIMEFRAME_NAMES.map(windowsInWords).join('; ')}. A window that has not elapsed, or had too little history to be ranked against, is null.`,
      `\`context_ticker\`, \`context_field\` and \`context_band\` go together, for ${tiersWith('context')}. They keep the events on whose date the second ticker was in that band: the one it entered last, on or before the date.`,
    ),
    security: [{ bearer: [] }],
    parameters: [...parametersIn(EVENTS), ...REQUEST_HEADER_REFS],
    responses: {
      200: found('The events, newest first; none is an answer too.', 'EventsPage', EVENTS_EXAMPLES),
      304: unchanged(),
      ...refused(400, 401, 403, 404, 405, ...MALFORMED, 429, 500, 503),
    },
    'x-codeSamples': [
      curl(url, 'The last times AAPL became oversold', `${EVENTS_PATH}?ticker=AAPL&field=rsi_zone&band=oversold`),
      curl(
        url,
        'The same while an index was in a downtrend',
        `${EVENTS_PATH}?ticker=AAPL&field=rsi_zone&band=oversold` +
          '&context_ticker=GSPC&context_field=trend_direction&context_band=downtrend',
      ),
      curl(
        url,
        'On weekly bars, of one year',
        `${EVENTS_PATH}?${['ticker=AAPL', 'field=trend_direction', 'timeframe=weekly', 'after=2016-12-31', 'before=2018-01-01'].join('&')}`,
      ),
    ],
  }
}

function oversold(url: string): Operation {
  return {
    operationId: 'scanOversold',
    tags: ['events'],
    summary: 'Which tickers are oversold',
    description: paragraphs(
      `The tickers whose \`rsi_zone\` is oversold or deep_oversold on a date. Costs ${credits(OVERSOLD_COST)}, however many tickers are looked at.`,
      `What a match tells depends on the tier; keys of a higher tier are left out, and those of fundamentals for crypto and funds. \`match_count\` counts all matches, \`matches\` is cut at \`limit\`.`,
    ),
    security: [{ bearer: [] }],
    parameters: [...parametersIn(OVERSOLD), ...REQUEST_HEADER_REFS],
    responses: {
      200: found('The matches in the order asked for; none is an answer too.', 'OversoldPage', SCAN_EXAMPLES),
      304: unchanged(),
      ...refused(400, 401, 403, 405, ...MALFORMED, 429, 500, 503),
    },
    'x-codeSamples': [
      curl(
        url,
        'Large stocks that are deeply oversold',
        `${OVERSOLD_PATH}?asset_class=stock&min_market_cap_tier=large&min_severity=deep_oversold`,
      ),
    ],
  }
}

function health(): Operation {
  return {
    operationId: 'health',
    tags: ['service'],
    summary: 'Whether the server runs',
    description: 'Answers as long as the process does, whatever the state of its data.',
    security: [],
    responses: { 200: status('The server runs.', 'ok'), ...refused(405, ...MALFORMED) },
  }
}

function readiness(): Operation {
  return {
    operationId: 'readiness',
    tags: ['service'],
    summary: 'Whether the server can answer',
    description: 'Looks whether the data and the accounts can be read, and the server is not about to stop.',
    security: [],
    responses: { 200: status('The server can answer.', 'ready'), ...refused(405, ...MALFORMED, 503) },
  }
}

function found(description: string, schema: string, examples: Record<string, ExampleObject>): ResponseObject {
  const json = { schema: { ...schemaRef(schema) }, examples }
  return { description, headers: headers(...OF_ANSWERS), content: { 'application/json': json } }
}

function unchanged(): ResponseObject {
  const description = 'The answer is one that If-None-Match names. Without a body, and not charged.'
  return { description, headers: headers(...OF_ANSWERS) }
}

const OF_ANSWERS = ['ETag', AS_OF, 'Cache-Control', 'Vary', ...KNOWN_KEY]

function status(description: string, word: string): ResponseObject {
  const schema = { type: 'object', properties: { status: { type: 'string', const: word } }, required: ['status'] }
  const examples = { [word]: { summary: description, value: { status: word } } }
  return { description, headers: headers(REQUEST_ID), content: { 'application/json': { schema, examples } } }
}

/** The key goes to curl through its standard input, so that no list of processes shows it. */
function curl(url: string, label: string, path: string): CodeSample {
  return {
    lang: 'Shell',
    label,
    source: `printf 'Authorization: Bearer %s' "$BANDS_API_KEY" | curl -H @- "${url}${path}"`,
  }
}

function windowsInWords(timeframe: Timeframe): string {
  return `${timeframe} ${windowNames(timeframe).join(', ')}`
}

function credits(count: number): string {
  return count === 1 ? '1 credit' : `${count} credits`
}

function paragraphs(...texts: readonly string[]): string {
  return texts.join('\n\n')
}

/** The query parameters of a table, in its order. */
function parametersIn(table: Readonly<Record<string, Parameter>>): ParameterObject[] {
  return Object.entries(table).map(([name, { kind, about, required, fallback }]) => ({
    name,
    in: 'query',
    description: name === 'field' ? `${about} ${fieldsInWords()}.` : about,
    ...(required && { required }),
    schema: { ...kindRef(kind), ...(fallback !== undefined && { default: fallback }) },
  }))
}
