import { counted, title } from '../../core/errors.js'
import { FIELDS } from '../../core/fields/index.js'
import { TIER_NAMES, TIMEFRAME_NAMES, type Tier, windowNames } from '../../core/model/terms.js'
import { EVENTS, OVERSOLD } from '../../core/params/questions.js'
import type { Parameter } from '../../core/params/row.js'
import { eventsCost, OVERSOLD_COST, PLANS } from '../../core/tiers.js'
import { HOUR_MS, REPEAT_MS } from '../accounts/accounts.js'
import {
  AS_OF,
  ERROR_SHAPE,
  ERROR_SHAPES,
  type ErrorShape,
  EVENTS_PATH,
  IDEMPOTENCY_KEY,
  OVERSOLD_PATH,
} from '../wire/format.js'
import { wireSchemas } from '../wire/schemas.js'
import {
  EVENTS_EXAMPLES,
  found,
  HEADERS,
  OVERSOLD_EXAMPLES,
  type Reference,
  type ResponseObject,
  refusals,
  refused,
  SCHEMAS_AT,
  type Schema,
  schemaRef,
  status,
  TEXT,
  UNCHANGED,
} from './openapi-answers.js'

/**
 * The service as an OpenAPI 3.1 document. Other tables fill it in: parameters and limits, answer schemas, tiers and
 * fields. Errors are thrown here, exactly as the server throws them.
 */
export function openApi({ version, errors }: { version: string; errors: ErrorShape }) {
  const paths: Record<string, { get: Operation }> = {
    [EVENTS_PATH]: { get: events() },
    [OVERSOLD_PATH]: { get: oversold() },
    '/healthz': { get: health() },
    '/readyz': { get: readiness() },
  }
  const components = {
    schemas: { ...wireSchemas(errors, SCHEMAS_AT), ...parameterSchemas() },
    parameters: requestHeaders(errors),
    headers: HEADERS,
    responses: refusals(errors),
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: ABOUT_KEYS } },
  }
  return {
    openapi: '3.1.0',
    info: { title: 'bands', version, description: `${ABOUT}\n\n${aboutErrors(errors)}` },
    servers: [{ url: '/' }],
    tags: [
      { name: 'events', description: 'Questions about band events; each needs a key and costs credits.' },
      { name: 'service', description: 'Whether the server runs, and can answer; free, and without a key.' },
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
  const other = ERROR_SHAPES.filter(known => known !== shape).join()
  const chosen = `This document describes errors that are ${shape}. With \`${ERROR_SHAPE}: ${other}\` a caller is sent the other shape, and a document about it. The vendor's official clients are known by what they send, and have \`nested\`.`
  return `Every path answers GET and HEAD. An error's body has ${type}, one sentence in \`message\`, and more keys. The first of several mistakes is reported: the key (401), the request (400), the tier (403), the ticker (404), the credits (429).\n\n${chosen}`
}

const ABOUT_KEYS = `Send the key with every request as \`Authorization: Bearer bands_…\`, in one such header. In the examples it is \`BANDS_API_KEY\`, and \`BANDS_URL\` is where the service is reached. An account may have any number of keys; tier and credits are the account's.

Only answers 200 are charged. Credits are counted in days and hours of UTC; every answer to a known key says what is left.`

function events(): Operation {
  const context = { ticker: '', field: '', band: '' }
  const oversold = `${EVENTS_PATH}?ticker=AAPL&field=rsi_zone&band=oversold`
  return {
    operationId: 'searchEvents',
    tags: ['events'],
    summary: 'Historical band events of one ticker and one field',
    description: `An event is recorded whenever the band of a field changes. Costs ${counted(eventsCost({}), 'credit')}, with a context ${counted(eventsCost({ context }), 'credit')}.

Events lie within the range of the tier, counted back from the day in \`${AS_OF}\`: ${rangesInWords()}. ${tiersWith('aftermath')} see \`stability_at_entry\`, \`flips_recent_at_entry\`, \`flips_lookback\` and what followed; for others \`aftermath\` is null.

\`aftermath\` has a key for each window of bars after the event: ${windowsInWords()}. A window that has not elapsed, or had too little history to be ranked against, is null.

\`context_ticker\`, \`context_field\` and \`context_band\` go together, for ${tiersWith('context')}. They keep the events on whose date the second ticker was in that band: the one it entered last, on or before the date.`,
    security: [{ bearer: [] }],
    parameters: [...query(EVENTS), ...REQUEST_HEADERS],
    responses: {
      200: found('The events, newest first; none is an answer too.', 'EventsPage', EVENTS_EXAMPLES),
      304: UNCHANGED,
      ...refused(400, 401, 403, 404, 405, 408, 414, 431, 429, 500, 503),
    },
    'x-codeSamples': [
      curl('The last times AAPL became oversold', oversold),
      curl(
        'The same while an index was in a downtrend',
        `${oversold}&context_ticker=GSPC&context_field=trend_direction&context_band=downtrend`,
      ),
      curl(
        'On weekly bars, of one year',
        `${EVENTS_PATH}?ticker=AAPL&field=trend_direction&timeframe=weekly&after=2016-12-31&before=2018-01-01`,
      ),
    ],
  }
}

function oversold(): Operation {
  const large = `${OVERSOLD_PATH}?asset_class=stock&min_market_cap_tier=large&min_severity=deep_oversold`
  return {
    operationId: 'scanOversold',
    tags: ['events'],
    summary: 'Which tickers are oversold',
    description: `The tickers whose \`rsi_zone\` is oversold or deep_oversold on a date. Costs ${counted(OVERSOLD_COST, 'credit')}, however many tickers are looked at.

What a match says depends on the tier; keys of a higher tier are left out, and those of fundamentals for crypto and funds. \`match_count\` counts all matches, \`matches\` is cut at \`limit\`.`,
    security: [{ bearer: [] }],
    parameters: [...query(OVERSOLD), ...REQUEST_HEADERS],
    responses: {
      200: found('The matches in the order asked for; none is an answer too.', 'OversoldPage', OVERSOLD_EXAMPLES),
      304: UNCHANGED,
      ...refused(400, 401, 403, 405, 408, 414, 431, 429, 500, 503),
    },
    'x-codeSamples': [curl('Large stocks that are deeply oversold', large)],
  }
}

function health(): Operation {
  return {
    operationId: 'health',
    tags: ['service'],
    summary: 'Whether the server runs',
    description: 'Answers as long as the process does, in any state of its data.',
    security: [],
    responses: { 200: status('The server runs.', 'ok'), ...refused(405, 408, 414, 431) },
  }
}

function readiness(): Operation {
  return {
    ...health(),
    operationId: 'readiness',
    summary: 'Whether the server can answer',
    description:
      'Looks whether the data can be read and charges be written, and the server is not about to stop. While fields wait for an import of facts, questions about them get 503, and `waiting` says for how long they have waited.',
    responses: {
      200: status('The server can answer.', 'ready', { waiting: WAITING }),
      ...refused(405, 408, 414, 431, 503),
    },
  }
}

/** Fields that wait for an import of facts; absent where none does. */
const WAITING: Schema = {
  type: 'object',
  properties: {
    fields: { type: 'integer', description: 'How many fields wait.' },
    since: { type: ['string', 'null'], description: 'When they began to wait; null where that is not known.' },
    seconds: { type: ['integer', 'null'], description: 'The same as a number of seconds.' },
  },
  required: ['fields', 'since', 'seconds'],
}

/** Notes about the values of a parameter, by its name. */
const VALUES: Readonly<Record<string, string>> = {
  Ticker: 'Letters in either case; answers have them in upper case.',
  Field: 'Which of them a tier may ask for, and which bands they have, is listed with the fields.',
  Band: 'Which of them a field has is listed with the fields.',
  Date: 'A calendar date, as 2024-02-29.',
  Sector: 'Neither blank nor with control characters.',
}

function parameterSchemas(): Record<string, Schema> {
  const kinds = [EVENTS, OVERSOLD].flatMap(table => Object.values<Parameter>(table)).map(({ kind }) => kind)
  return Object.fromEntries(
    kinds.map(({ name = '', schema }) => [name, { ...schema, ...(name in VALUES && { description: VALUES[name] }) }]),
  )
}

/** The parameters of a question, in the order of the specification. */
function query(table: Readonly<Record<string, Parameter>>): ParameterObject[] {
  return Object.entries(table).map(([name, { kind, about, required, fallback }]) => ({
    name,
    in: 'query',
    description: name === 'field' ? `${about} ${fieldsInWords()}.` : about,
    ...(required && { required }),
    schema: { ...schemaRef(kind.name ?? ''), ...(fallback !== undefined && { default: fallback }) },
  }))
}

function requestHeaders(errors: ErrorShape): Record<string, ParameterObject> {
  return {
    IfNoneMatch: {
      name: 'If-None-Match',
      in: 'header',
      description:
        'ETags of answers that the caller still has. When one of them is the answer, it is 304 and free; * names none.',
      schema: TEXT,
    },
    IdempotencyKey: {
      name: IDEMPOTENCY_KEY,
      in: 'header',
      description: `The caller's own name for this request: the same answer to the same question under the same name is free for ${REPEAT_MS / HOUR_MS} hours, another question is refused (when it would be charged: after 403 and 404).`,
      schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
    },
    ErrorShape: {
      name: ERROR_SHAPE,
      in: 'header',
      description: 'The shape of errors.',
      schema: { type: 'string', enum: ERROR_SHAPES, default: errors },
    },
  }
}

const REQUEST_HEADERS: Reference[] = Object.keys(requestHeaders('flat')).map(name => ({
  $ref: `#/components/parameters/${name}`,
}))

/** The key goes to curl through its standard input, so that no list of processes shows it. */
function curl(label: string, path: string) {
  const source = `printf 'Authorization: Bearer %s' "$BANDS_API_KEY" | curl -H @- "$BANDS_URL${path}"`
  return { lang: 'Shell', label, source }
}

/** `daily 5d, 10d; weekly 2w, 4w` */
function windowsInWords(): string {
  return TIMEFRAME_NAMES.map(timeframe => `${timeframe} ${windowNames(timeframe).join(', ')}`).join('; ')
}

/** `Free 90d, Plus 2y, Pro 5y` */
function rangesInWords(): string {
  return TIER_NAMES.map(tier => `${title(tier)} ${PLANS[tier].range}`).join(', ')
}

/** The tiers with a feature, as `Plus and Pro`. */
function tiersWith(feature: 'aftermath' | 'context'): string {
  return TIER_NAMES.filter(tier => PLANS[tier][feature])
    .map(title)
    .join(' and ')
}

/** `Free: rsi_zone, …; Plus adds: …; Pro adds: …` */
function fieldsInWords(): string {
  const added = (tier: Tier): string[] => FIELDS.flatMap(field => (field.tier === tier ? [field.name] : []))
  return TIER_NAMES.map((tier, i) => `${title(tier)}${i === 0 ? '' : ' adds'}: ${added(tier).join(', ')}`).join('; ')
}

interface ParameterObject {
  name: string
  in: string
  description: string
  required?: boolean
  schema: Schema
}

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  /** Paragraphs with an empty line between, `code` in backticks; nothing else of Markdown. */
  description: string
  security: Record<string, string[]>[]
  parameters?: (ParameterObject | Reference)[]
  /** By status. */
  responses: Record<string, ResponseObject | Reference>
  'x-codeSamples'?: ReturnType<typeof curl>[]
}

export type OpenApiDocument = ReturnType<typeof openApi>

/** What a reference within the document points to. */
export function resolve<Found>(document: OpenApiDocument, found: Found | Reference): Found {
  if (!isReference(found)) return found
  const path = found.$ref.replace(/^#\//, '').split('/')
  return path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document) as Found
}

export function isReference(found: unknown): found is Reference {
  return typeof found === 'object' && found !== null && '$ref' in found
}
