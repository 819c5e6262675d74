import { HOUR_MS, REPEAT_MS } from '../../accounts/accounts.js'
import { FIELDS } from '../../fields/index.js'
import { TIER_NAMES, type Tier } from '../../model/terms.js'
import { grantedFields, PLANS } from '../../tiers.js'
import { AS_OF, type CreditHeaders, IDEMPOTENCY_KEY, REQUEST_ID } from '../../wire/format.js'
import { ANSWERED } from '../exchange.js'
import { creditHeaders } from '../meter.js'

/** The part of OpenAPI 3.1 that this service uses, so that what writes a document and what reads it agree. */

export type Schema = Readonly<Record<string, unknown>>

export interface Reference {
  $ref: string
}

export interface ParameterObject {
  name: string
  in: 'query' | 'header'
  description: string
  required?: boolean
  schema: Schema
}

interface HeaderObject {
  description: string
  schema: Schema
  example: string | number
}

export interface ExampleObject {
  summary: string
  value: unknown
}

interface MediaTypeObject {
  schema: Schema
  examples?: Record<string, ExampleObject>
}

export interface ResponseObject {
  description: string
  headers?: Record<string, Reference>
  content?: Record<string, MediaTypeObject>
}

export interface CodeSample {
  lang: string
  label: string
  source: string
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
  'x-codeSamples'?: CodeSample[]
}

/** What a tier grants, for programs; the descriptions say it to people. */
interface TierObject {
  tier: Tier
  /** As `query_range` says it. */
  range: string
  aftermath: boolean
  context: boolean
  credits: { day: number; hour: number }
}

interface FieldObject {
  field: string
  /** The lowest tier that may ask for it. */
  tier: Tier
  summary: string
  bands: readonly string[]
}

export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, { get: Operation }>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, ParameterObject>
    headers: Record<string, HeaderObject>
    responses: Record<string, ResponseObject>
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>
  }
  'x-tiers': TierObject[]
  'x-fields': FieldObject[]
}

/** Where the schemas of a document lie. */
export const SCHEMAS_AT = '#/components/schemas/'

export function schemaRef(name: string): Reference {
  return { $ref: SCHEMAS_AT + name }
}

/** What a reference within the document points to. */
export function resolve<Found>(document: OpenApiDocument, found: Found | Reference): Found {
  if (!isReference(found)) return found
  const path = found.$ref.replace(/^#\//, '').split('/')
  return path.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document) as Found
}

export function isReference(found: unknown): found is Reference {
  return typeof found === 'object' && found !== null && '$ref' in found
}

export const TIERS: TierObject[] = TIER_NAMES.map(tier => {
  const { range, aftermath, context, credits } = PLANS[tier]
  return { tier, range, aftermath, context, credits: { ...credits } }
})

export const TIERED_FIELDS: FieldObject[] = FIELDS.map(({ name, tier, summary, bands }) => ({
  field: name,
  tier,
  summary,
  bands,
}))

/** `Free: rsi_zone, …; Plus adds: …; Pro adds: …` */
export function fieldsInWords(): string {
  return TIER_NAMES.map((tier, i) => `${title(tier)}${i === 0 ? '' : ' adds'}: ${added(tier).join(', ')}`).join('; ')
}

/** The tiers of which something is true, as `Plus and Pro`. */
export function tiersWith(feature: 'aftermath' | 'context'): string {
  return TIER_NAMES.filter(tier => PLANS[tier][feature])
    .map(title)
    .join(' and ')
}

/** `Free 90d, Plus 2y, Pro 5y` */
export function rangesInWords(): string {
  return TIER_NAMES.map(tier => `${title(tier)} ${PLANS[tier].range}`).join(', ')
}

function added(tier: Tier): string[] {
  return grantedFields(tier)
    .filter(field => field.tier === tier)
    .map(field => field.name)
}

export function title(tier: string): string {
  return tier.charAt(0).toUpperCase() + tier.slice(1)
}

const COUNT: Schema = { type: 'integer', minimum: 0 }
const TIME: Schema = { type: 'string', format: 'date-time' }
const TEXT: Schema = { type: 'string' }

/** When the examples happen, and to which account. */
export const MOMENT = Date.parse('2026-03-23T14:37:00Z')
export const REQUEST_ID_EXAMPLE = '0f5e6a0e-8d1c-4b0a-9a53-6f2f2c1f7d10'
const SHOWN = creditHeaders(PLANS.plus.credits, { day: 12, hour: 3 }, MOMENT)

const CREDITS: Readonly<Record<keyof CreditHeaders, string>> = {
  'X-Request-Limit': 'Credits of the account in a day of UTC.',
  'X-Requests-Used': 'Credits of the day that are spent, with those of this answer.',
  'X-Requests-Remaining': 'Credits of the day that are left.',
  'X-Request-Reset': 'When the next day begins, at 00:00 UTC.',
  'X-Hourly-Request-Limit': 'Credits of the account in an hour.',
  'X-Hourly-Requests-Used': 'Credits of the hour that are spent, with those of this answer.',
  'X-Hourly-Requests-Remaining': 'Credits of the hour that are left.',
  'X-Hourly-Request-Reset': 'When the next hour begins, on the hour.',
}

/** Every header that an answer may have, by name. */
export const HEADERS: Record<string, HeaderObject> = {
  ...creditHeaderObjects(),
  ETag: {
    description: 'Names this answer; with it in If-None-Match the same answer comes as 304, without body and free.',
    schema: TEXT,
    example: '"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"',
  },
  [AS_OF]: {
    description: 'The day that the answer stands on: ranges count back from it.',
    schema: { type: 'string', format: 'date' },
    example: '2026-03-23',
  },
  'Cache-Control': {
    description:
      "How the answer may be kept: only by the caller's own cache, and to be asked for again; an error not at all.",
    schema: TEXT,
    example: 'private, no-cache',
  },
  Vary: { description: 'What the answer depends on besides the URL.', schema: TEXT, example: 'Authorization' },
  [REQUEST_ID]: {
    description: "The server's own number of the request; its log has it too.",
    schema: TEXT,
    example: REQUEST_ID_EXAMPLE,
  },
  'Retry-After': { description: 'Seconds after which to ask again.', schema: COUNT, example: 1_380 },
  'WWW-Authenticate': { description: 'How to say who you are.', schema: TEXT, example: 'Bearer' },
  Allow: { description: 'The methods that the path answers.', schema: TEXT, example: ANSWERED.join(', ') },
}

/** What every answer to a known key tells. */
export const KNOWN_KEY = [...Object.keys(CREDITS), REQUEST_ID]

export function headers(...names: readonly string[]): Record<string, Reference> {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The headers that a request may have beside its key. */
export const REQUEST_HEADERS: Record<string, ParameterObject> = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'ETags of answers that the caller still has, or *. When one of them is the answer, it is 304 and free.',
    schema: TEXT,
  },
  IdempotencyKey: {
    name: IDEMPOTENCY_KEY,
    in: 'header',
    description: `The caller's own name for this request: the same question under the same name is free for ${REPEAT_MS / HOUR_MS} hours, another one is refused (when it would be charged: after 403 and 404).`,
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  },
}

export const REQUEST_HEADER_REFS: readonly Reference[] = Object.keys(REQUEST_HEADERS).map(name => ({
  $ref: `#/components/parameters/${name}`,
}))

function creditHeaderObjects(): Record<string, HeaderObject> {
  return Object.fromEntries(
    (Object.keys(CREDITS) as (keyof CreditHeaders)[]).map(name => {
      const isTime = name.endsWith('Reset')
      const example = isTime ? SHOWN[name] : Number(SHOWN[name])
      return [name, { description: CREDITS[name], schema: isTime ? TIME : COUNT, example }]
    }),
  )
}
