import { title } from '../../core/errors.js'
import { FIELDS } from '../../core/fields/index.js'
import { TIER_NAMES } from '../../core/model/terms.js'
import type { Parameter } from '../../core/params/row.js'
import { PLANS } from '../../core/tiers.js'
import { HOUR_MS, REPEAT_MS } from '../accounts/accounts.js'
import { ERROR_SHAPE, ERROR_SHAPES, type ErrorShape, IDEMPOTENCY_KEY } from '../wire/format.js'
import {
  errorReferences,
  type Reference,
  type ResponseObject,
  type Schema,
  schemaReference,
  TEXT,
  UNCHANGED,
} from './openapi-answers.js'

export interface ParameterObject {
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
  requestBody?: { required: true; content: Record<string, { schema: Schema; example: unknown }> }
  /** By status. */
  responses: Record<string, ResponseObject | Reference>
  'x-codeSamples'?: ReturnType<typeof curlSample>[]
}

interface QuestionOperation extends Pick<Operation, 'operationId' | 'tags' | 'summary' | 'description'> {
  parameters: readonly ParameterObject[]
  answer: ResponseObject
  /** Besides COMMON_ERRORS. */
  errors: readonly (403 | 404 | 429)[]
  samples: ReturnType<typeof curlSample>[]
}

/** The operation of a question; adds what all questions share: a key, headers of requests, 304 and common errors. */
export function questionOperation({ parameters, answer, errors, samples, ...texts }: QuestionOperation): Operation {
  return {
    ...texts,
    security: [{ bearer: [] }],
    parameters: [...parameters, ...REQUEST_HEADERS],
    responses: { 200: answer, 304: UNCHANGED, ...errorReferences(...COMMON_ERRORS, ...errors) },
    'x-codeSamples': samples,
  }
}

/** The errors of every path that needs a key. */
export const COMMON_ERRORS = [400, 401, 405, 408, 414, 431, 500, 503] as const

/** Notes about the values of a parameter, by its name. */
const VALUE_NOTES: Readonly<Record<string, string>> = {
  Ticker: 'Letters in either case; answers have them in upper case.',
  Field: 'Which of them a tier may ask for, and which bands they have, is listed with the fields.',
  Band: 'Which of them a field has is listed with the fields.',
  Date: 'A calendar date, as 2024-02-29.',
  Sector: 'Neither blank nor with control characters.',
}

/** The schemas of the kinds of value that the parameters of some tables take, by name: Ticker, Date, Band and so on. */
export function parameterSchemas(tables: readonly Readonly<Record<string, Parameter>>[]): Record<string, Schema> {
  const schemas: Record<string, Schema> = {}
  for (const { kind } of tables.flatMap(table => Object.values<Parameter>(table))) {
    const { name = '', schema } = kind
    schemas[name] = name in VALUE_NOTES ? { ...schema, description: VALUE_NOTES[name] } : schema
  }
  return schemas
}

/** The parameters in a table. @param path has some of them in braces; the others are in the query */
export function queryParameters(table: Readonly<Record<string, Parameter>>, path: string): ParameterObject[] {
  return Object.entries(table).map(([name, { kind, about, required = false, fallback }]) => {
    const location = path.includes(`{${name}}`) ? 'path' : 'query'
    const description = name === 'field' ? `${about} ${fieldsInWords()}.` : about
    const reference = schemaReference(kind.name ?? '')
    const schema = fallback === undefined ? { ...reference } : { ...reference, default: fallback }
    return { name, in: location, description, ...(required && { required }), schema }
  })
}

/** The headers that a request may have, by their names as components. @param errors the default shape of errors */
export function requestHeaders(errors: ErrorShape): Record<string, ParameterObject> {
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

export const REQUEST_HEADERS: Reference[] = Object.keys(requestHeaders('flat')).map(name => ({
  $ref: `#/components/parameters/${name}`,
}))

/** A request as a command. curl reads the key from its standard input, so that no list of processes shows it. */
export function curlSample(label: string, path: string) {
  const source = `printf 'Authorization: Bearer %s' "$BANDS_API_KEY" | curl -H @- "$BANDS_URL${path}"`
  return { lang: 'Shell', label, source }
}

/** `Free: rsi_zone, …; Plus adds: …; Pro adds: …` */
function fieldsInWords(): string {
  const texts = TIER_NAMES.map((tier, i) => {
    const names = FIELDS.filter(field => field.tier === tier).map(({ name }) => name)
    return `${title(tier)}${i === 0 ? '' : ' adds'}: ${names.join(', ')}`
  })
  return texts.join('; ')
}

/** The tiers with a feature, as `Plus and Pro`. */
export function tiersWith(feature: 'aftermath' | 'context'): string {
  return TIER_NAMES.filter(tier => PLANS[tier][feature])
    .map(title)
    .join(' and ')
}
