import type { Tier } from '../../model/tier.js'

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

export interface HeaderObject {
  description: string
  schema: Schema
  example: string | number
}

export interface ExampleObject {
  summary: string
  value: unknown
}

export interface MediaTypeObject {
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
export interface TierObject {
  tier: Tier
  /** As `query_range` says it. */
  range: string
  aftermath: boolean
  context: boolean
  credits: { day: number; hour: number }
}

export interface FieldObject {
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
