import * as z from 'zod'
import type { ErrorShape } from './error-body.js'
import { ERROR_BODIES, ERROR_TYPES } from './error-schema.js'
import { AFTERMATH, BAND_EVENT, EVENTS_PAGE, OVERSOLD_MATCH, OVERSOLD_PAGE } from './pages.js'

export type JsonSchema = Record<string, unknown>

const PAGES = {
  EventsPage: EVENTS_PAGE,
  BandEvent: BAND_EVENT,
  Aftermath: AFTERMATH,
  OversoldPage: OVERSOLD_PAGE,
  OversoldMatch: OVERSOLD_MATCH,
} satisfies Record<string, z.ZodType>

/** The name of a schema after what it is the schema of, such as an error's type: `tier_restricted` → `TierRestricted`. */
export function schemaName(word: string): string {
  return word.replace(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())
}

/**
 * What goes over HTTP as JSON Schemas (draft 2020-12) by name, each thing once: one that stands in another is a
 * reference to `at` and its name.
 */
export function wireSchemas(shape: ErrorShape, at: string): Record<string, JsonSchema> {
  const named = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(PAGES)) named.add(schema, { id })
  for (const type of ERROR_TYPES) named.add(ERROR_BODIES[shape][type], { id: schemaName(type) })
  const { schemas } = z.toJSONSchema(named, { uri: id => at + id, override: ({ jsonSchema }) => tidy(jsonSchema) })
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema]))
}

/** Zod says what JavaScript can count to, and of a date only how it is spelled. */
function tidy(schema: JsonSchema): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.pattern !== DATE_SPELLING) return
  delete schema.pattern
  schema.format = 'date'
}

const DATE_SPELLING = '^\\d{4}-\\d{2}-\\d{2}$'
