import * as z from 'zod'
import { parseDay } from '../model/day.js'
import { DISTANCES, MARKET_CAP_TIERS, RARITIES, SEVERITIES, VOLUME_CONTEXTS } from '../model/oversold.js'
import { PERFORMANCES, STABILITIES } from '../model/series.js'
import { TIER_NAMES, TIMEFRAME_NAMES } from '../model/terms.js'
import type { ErrorShape } from './format.js'

/**
 * What goes over HTTP, once for both ends: a server documents its answers with these schemas, and a client checks with
 * them what it was sent. Keys that nobody here knows are let through: an addition breaks no reader.
 */

const DATE = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine(text => parseDay(text) !== null, 'is not a calendar date')
const COUNT = z.int().min(0)
const DURATION = COUNT.nullable()

const AFTERMATH = z.record(
  z.string().regex(/^\d+[dw]$/),
  z.looseObject({ performance: z.enum(PERFORMANCES) }).nullable(),
)

const BAND_EVENT = z.looseObject({
  date: DATE.describe('Date the transition occurred.'),
  band: z.string().describe('Band entered on this date.'),
  prev_band: z.string().describe('Band before the transition.'),
  stability_at_entry: z.enum(STABILITIES).optional().describe('Plus and Pro.'),
  flips_recent_at_entry: COUNT.optional().describe('Events within the lookback, this one included. Plus and Pro.'),
  flips_lookback: z
    .string()
    .regex(/^\d+[dw]$/)
    .optional()
    .describe('Lookback of the flips in bars. Plus and Pro.'),
  duration_days: DURATION.optional().describe('Bars the band lasted; null while it is active. Daily only.'),
  duration_weeks: DURATION.optional().describe('Bars the band lasted; null while it is active. Weekly only.'),
  aftermath: AFTERMATH.nullable().describe('How the return over each window ranked; null on Free.'),
})

export const EVENTS_PAGE = z.looseObject({
  ticker: z.string(),
  field: z.string(),
  timeframe: z.enum(TIMEFRAME_NAMES as [string, ...string[]]),
  events: z.array(BAND_EVENT).describe('Newest first.'),
  total_occurrences: COUNT.describe("Matching events within the tier's range, whatever the limit."),
  query_range: z.string().describe("The tier's range: 90d, 2y or 5y."),
  context: z.looseObject({ ticker: z.string(), field: z.string(), band: z.string() }).optional(),
})

const BAND = z.string().nullable().optional()

const OVERSOLD_MATCH = z.looseObject({
  ticker: z.string(),
  asset_class: z.enum(['stock', 'crypto', 'etf']).nullable(),
  rsi_zone: z.enum(SEVERITIES),
  condition_rarity: z.enum(RARITIES).nullable(),
  sector: z.string().nullable(),
  market_cap_tier: z.enum(MARKET_CAP_TIERS).nullable(),
  valuation_zone: BAND,
  stochastic_zone: BAND,
  days_in_oversold: COUNT.optional(),
  oversold_streaks_count: COUNT.optional(),
  volume_context: z.enum(VOLUME_CONTEXTS).nullable().optional(),
  volume_ratio_band: BAND,
  trend_context: BAND,
  nearest_support_distance: z.enum(DISTANCES).nullable().optional(),
  sector_rsi_zone: BAND,
  earnings_proximity: BAND,
  growth_zone: BAND,
  analyst_consensus: BAND,
  rsi_zone_stability: z.enum(STABILITIES).optional(),
  rsi_zone_flips_recent: COUNT.optional(),
  accumulation_state: BAND,
  historical_median_oversold_days: z.number().nullable().optional(),
  historical_max_oversold_days: COUNT.nullable().optional(),
  sector_agreement: z.boolean().nullable().optional(),
  sector_oversold_count: COUNT.nullable().optional(),
  sector_total_count: COUNT.nullable().optional(),
})

export const OVERSOLD_PAGE = z.looseObject({
  matches: z.array(OVERSOLD_MATCH),
  total_scanned: COUNT,
  match_count: COUNT,
  data_status: z.string(),
})

/**
 * The errors that go over HTTP, by their type: what each tells beside its type and its sentence, as errorBody writes it.
 * Keys that nobody here knows are let through, as in pages.ts.
 */

const TIER = z.enum(TIER_NAMES as [string, ...string[]])
const SUGGESTIONS = z.array(z.string()).optional().describe('The nearest that there is, best first.')
const UPGRADE = z.string().describe('Where a higher tier is to be had.')

const TOLD = {
  invalid_parameter: {
    param: z.string().describe('The parameter or header at fault, spelled as in this document.'),
    value: z.unknown().optional().describe('What was given.'),
    allowed: z
      .union([z.array(z.string()), z.string()])
      .optional()
      .describe('The allowed values, or one phrase such as "an integer from 1 to 100".'),
    suggestions: SUGGESTIONS,
  },
  unauthorized: {},
  tier_restricted: {
    feature: z.string().describe('The field or feature that was asked for.'),
    tier: TIER.describe("The caller's tier."),
    required_tier: TIER.describe('The lowest tier that has it.'),
    upgrade_url: UPGRADE,
  },
  not_found: { suggestions: SUGGESTIONS },
  method_not_allowed: { allow: z.array(z.string()).describe('The methods that the path answers.') },
  rate_limit_exceeded: {
    reset: z.string().nullable().describe('From when there are new credits: UTC, as 2026-03-24T00:00:00Z.'),
    upgrade_url: UPGRADE,
  },
  internal_error: { request_id: z.string().describe('Under which the log has it; the same as in X-Request-Id.') },
  data_unavailable: {},
} satisfies Record<string, z.ZodRawShape>

export type ErrorType = keyof typeof TOLD
const ERROR_TYPES = Object.keys(TOLD) as readonly ErrorType[]

/** Error type → schema of its whole body. */
export const ERROR_BODIES: Readonly<Record<ErrorShape, Readonly<Record<ErrorType, z.ZodType>>>> = {
  flat: bodies((type, told) => z.looseObject({ error: z.literal(type), ...sentence(), ...told })),
  nested: bodies((type, told) =>
    z.looseObject({ error: z.looseObject({ type: z.literal(type), ...sentence(), ...told }) }),
  ),
}

function bodies(bodyOf: (type: ErrorType, told: z.ZodRawShape) => z.ZodType): Record<ErrorType, z.ZodType> {
  const made = ERROR_TYPES.map(type => [type, bodyOf(type, TOLD[type])] as const)
  return Object.fromEntries(made) as Record<ErrorType, z.ZodType>
}

function sentence() {
  return { message: z.string().describe('One sentence.') }
}

type JsonSchema = Record<string, unknown>

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
