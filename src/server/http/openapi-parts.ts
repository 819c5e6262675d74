import { title } from '../../core/errors.js'
import { FIELDS } from '../../core/fields/index.js'
import { TIER_NAMES, type Tier } from '../../core/model/terms.js'
import type { Parameter } from '../../core/params/row.js'
import { PLANS } from '../../core/tiers.js'
import { HOUR_MS, REPEAT_MS } from '../accounts/accounts.js'
import { ERROR_SHAPE, ERROR_SHAPES, type ErrorShape, IDEMPOTENCY_KEY } from '../wire/format.js'
import { type Reference, type ResponseObject, type Schema, schemaReference, TEXT } from './openapi-answers.js'

/** The parts of an operation of the OpenAPI document: parameters and samples. */

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

/** Notes about the values of a parameter, by its name. */
const VALUE_NOTES: Readonly<Record<string, string>> = {
  Ticker: 'Letters in either case; answers have them in upper case.',
  Field: 'Which of them a tier may ask for, and which bands they have, is listed with the fields.',
  Band: 'Which of them a field has is listed with the fields.',
  Date: 'A calendar date, as 2024-02-29.',
  Sector: 'Neither blank nor with control characters.',
}

export function parameterSchemas(tables: readonly Readonly<Record<string, Parameter>>[]): Record<string, Schema> {
  const kinds = tables.flatMap(table => Object.values<Parameter>(table)).map(({ kind }) => kind)
  return Object.fromEntries(
    kinds.map(({ name = '', schema }) => [
      name,
      { ...schema, ...(name in VALUE_NOTES && { description: VALUE_NOTES[name] }) },
    ]),
  )
}

/** The parameters of a question, in the order of the specification. @param path names some of them in braces */
export function queryParameters(table: Readonly<Record<string, Parameter>>, path: string): ParameterObject[] {
  return Object.entries(table).map(([name, { kind, about, required, fallback }]) => ({
    name,
    in: path.includes(`{${name}}`) ? 'path' : 'query',
    description: name === 'field' ? `${about} ${fieldsInWords()}.` : about,
    ...(required && { required }),
    schema: { ...schemaReference(kind.name ?? ''), ...(fallback !== undefined && { default: fallback }) },
  }))
}

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

/** The key goes to curl through its standard input, so that no list of processes shows it. */
export function curlSample(label: string, path: string) {
  const source = `printf 'Authorization: Bearer %s' "$BANDS_API_KEY" | curl -H @- "$BANDS_URL${path}"`
  return { lang: 'Shell', label, source }
}

/** `Free: rsi_zone, …; Plus adds: …; Pro adds: …` */
function fieldsInWords(): string {
  const added = (tier: Tier): string[] => FIELDS.flatMap(field => (field.tier === tier ? [field.name] : []))
  return TIER_NAMES.map((tier, i) => `${title(tier)}${i === 0 ? '' : ' adds'}: ${added(tier).join(', ')}`).join('; ')
}

/** The tiers with a feature, as `Plus and Pro`. */
export function tiersWith(feature: 'aftermath' | 'context'): string {
  return TIER_NAMES.filter(tier => PLANS[tier][feature])
    .map(title)
    .join(' and ')
}
