// For: the schemas of pages and errors, for server and client.
// In: pages and error bodies.
// Out: their JSON schemas, and checked answers.

import * as z from 'zod'
import { parseDay } from '../../core/model/day.js'
import { DEFINITIONS } from '../../core/model/definitions.js'
import { DISTANCES, MARKET_CAP_TIERS, RARITIES, SEVERITIES, VOLUME_CONTEXTS } from '../../core/model/event.js'
import { PERFORMANCES, STABILITIES } from '../../core/model/series.js'
import { TIER_NAMES, TIMEFRAME_NAMES } from '../../core/model/terms.js'
import type { ErrorShape } from './format.js'

/**
 * The HTTP schemas, shared by both ends: a server documents its answers with them, and a client checks answers with
 * them. Unknown keys are allowed, so that additions break no reader.
 */

export const DATE = z
  .string()
  .refine(text => parseDay(text) !== null, 'is not a calendar date')
  .meta({ format: 'date', description: 'A calendar date, as 2024-02-29.' })
export const TIMEFRAME = z.enum(TIMEFRAME_NAMES)
export const TIER = z.enum(TIER_NAMES)
export const STABILITY = z.enum(STABILITIES)
const SEVERITY = z.enum(SEVERITIES)
export const MARKET_CAP_TIER = z.enum(MARKET_CAP_TIERS)
const PERFORMANCE = z
  .enum(PERFORMANCES)
  .describe(`How a return ranked among those of the same ticker over as many bars: ${percentilesInWords()}.`)
export const BAND = z.string().nullable()
const KNOWN_CLASS = z.enum(['stock', 'crypto', 'etf'])
export const ASSET_CLASS = KNOWN_CLASS.nullable().describe('What it is; null where it is not known.')
export const COUNT = z.int().min(0)
const COUNT_OR_NULL = COUNT.nullable()

function percentilesInWords(): string {
  const edges = [0, ...DEFINITIONS.performance.cuts, 100]
  return PERFORMANCES.map((name, i) => `${name} from ${edges[i]} to ${edges[i + 1]} %`).join(', ')
}

/** As `5d` or `12w`. */
const BARS = z.string().regex(/^\d+[dw]$/)
const AFTERMATH = z.record(BARS, z.looseObject({ performance: PERFORMANCE }).nullable())

const BAND_EVENT = z.looseObject({
  date: DATE.describe('Date the transition occurred.'),
  band: z.string().describe('Band entered on this date.'),
  prev_band: z.string().describe('Band before the transition.'),
  stability_at_entry: STABILITY.describe('Plus and Pro.').optional(),
  flips_recent_at_entry: COUNT.describe('Events within the lookback, this one included. Plus and Pro.').optional(),
  flips_lookback: BARS.describe('Lookback of the flips in bars. Plus and Pro.').optional(),
  duration_days: COUNT_OR_NULL.describe('Bars the band lasted; null while it is active. Daily only.').optional(),
  duration_weeks: COUNT_OR_NULL.describe('Bars the band lasted; null while it is active. Weekly only.').optional(),
  aftermath: AFTERMATH.nullable().describe('How the return over each window ranked; null on Free.'),
})

export const EVENTS_PAGE = z.looseObject({
  ticker: z.string().describe('The ticker, in upper case.'),
  field: z.string().describe('The field.'),
  timeframe: TIMEFRAME.describe('The bars that bands are made of.'),
  events: z.array(BAND_EVENT).describe('Newest first.'),
  total_occurrences: COUNT.describe("Matching events within the tier's range, whatever the limit."),
  query_range: z.string().describe("The tier's range: 90d, 2y or 5y."),
  context: z
    .looseObject({ ticker: z.string(), field: z.string(), band: z.string() })
    .describe('Only when one was asked for.')
    .optional(),
})

const OVERSOLD_MATCH = z.looseObject({
  ticker: z.string().describe('The ticker.'),
  asset_class: ASSET_CLASS,
  rsi_zone: SEVERITY.describe('How oversold it is.'),
  condition_rarity: z
    .enum(RARITIES)
    .nullable()
    .describe('How rarely its RSI is as low as this; null where its history is too short.'),
  sector: z.string().nullable().describe('Its sector; null where it is not known.'),
  market_cap_tier: MARKET_CAP_TIER.nullable().describe('Its size; null where it is not known.'),
  valuation_zone: BAND.describe('Band of the field. Not for crypto and funds.').optional(),
  stochastic_zone: BAND.describe(
    'Where the close lies in the range of the last bars, in the words of `rsi_zone`. Plus and Pro.',
  ).optional(),
  days_in_oversold: COUNT.describe('Bars since it became oversold, that one included. Plus and Pro.').optional(),
  oversold_streaks_count: COUNT.describe(
    'Stays at or below oversold in its recent history, the present one included. Plus and Pro.',
  ).optional(),
  volume_context: z
    .enum(VOLUME_CONTEXTS)
    .nullable()
    .describe('The volume of the last bar against its usual one. Plus and Pro.')
    .optional(),
  volume_ratio_band: BAND.describe('Band of the field. Plus and Pro.').optional(),
  trend_context: BAND.describe('Band of `trend_direction`. Plus and Pro.').optional(),
  nearest_support_distance: z
    .enum(DISTANCES)
    .nullable()
    .describe('How far the close is above its support; null without one, or below it. Plus and Pro.')
    .optional(),
  sector_rsi_zone: BAND.describe(
    'Zone of the median RSI of the stocks in its sector; null without a sector. Plus and Pro.',
  ).optional(),
  earnings_proximity: BAND.describe('Band of the field. Not for crypto and funds. Plus and Pro.').optional(),
  growth_zone: BAND.describe('Band of the field. Not for crypto and funds. Plus and Pro.').optional(),
  analyst_consensus: BAND.describe('Band of the field. Not for crypto and funds. Plus and Pro.').optional(),
  rsi_zone_stability: STABILITY.describe(
    'How settled the zone is, by the bars it has lasted and its recent changes. Plus and Pro.',
  ).optional(),
  rsi_zone_flips_recent: COUNT.describe('Recent changes of `rsi_zone`. Plus and Pro.').optional(),
  accumulation_state: BAND.describe('Band of the field. Pro.').optional(),
  historical_median_oversold_days: z
    .number()
    .nullable()
    .describe('Of the ended ones among those stays, in bars; null without any. Pro.')
    .optional(),
  historical_max_oversold_days: COUNT_OR_NULL.describe(
    'The longest ended one among those stays, in bars; null without any. Pro.',
  ).optional(),
  sector_agreement: z
    .boolean()
    .nullable()
    .describe('Whether its sector as a whole is oversold too; null without a sector. Pro.')
    .optional(),
  sector_oversold_count: COUNT_OR_NULL.describe(
    'Stocks of its sector that are oversold; null without a sector. Pro.',
  ).optional(),
  sector_total_count: COUNT_OR_NULL.describe(
    'Stocks of its sector that were looked at; null without a sector. Pro.',
  ).optional(),
})

export const OVERSOLD_PAGE = z.looseObject({
  matches: z.array(OVERSOLD_MATCH).describe('In the order asked for, cut at `limit`.'),
  total_scanned: COUNT.describe(
    'Tickers of the filters that were looked at: those with a recent bar, and old enough to have a band.',
  ),
  match_count: COUNT.describe('All matches, regardless of `limit`.'),
  data_status: z.string().describe('Always `eod`: the data is of the end of a day.'),
})

const SUGGESTIONS = z.array(z.string()).describe('The nearest that there is, best first.').optional()
const UPGRADE = z.string().nullable().describe('The address of a higher tier; null if the server has none.')

/** Type of error → the keys of its body besides type and message, as errorBody writes them. */
const ERRORS = {
  invalid_parameter: {
    param: z.string().describe('The parameter or header at fault, spelled as in this document.'),
    value: z.unknown().describe('What was given.').optional(),
    allowed: z
      .union([z.array(z.string()), z.string()])
      .describe('The allowed values, or one phrase such as "an integer from 1 to 100".')
      .optional(),
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

export type AnySchema = z.ZodType

/** The schema of an error's whole body, by its type. */
export function errorSchemas(shape: ErrorShape): Record<string, z.ZodType> {
  const message = z.string().describe('One sentence.')
  return Object.fromEntries(
    Object.entries(ERRORS).map(([type, moreKeys]) => {
      const typeSchema = z.literal(type)
      const flat = z.looseObject({ error: typeSchema, message, ...moreKeys })
      const nested = z.looseObject({ error: z.looseObject({ type: typeSchema, message, ...moreKeys }) })
      return [type, shape === 'flat' ? flat : nested]
    }),
  )
}

/** `tier_restricted` → `TierRestricted` */
export function schemaName(type: string): string {
  return type.replace(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())
}

const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  EventsPage: EVENTS_PAGE,
  BandEvent: BAND_EVENT,
  Aftermath: AFTERMATH,
  OversoldPage: OVERSOLD_PAGE,
  OversoldMatch: OVERSOLD_MATCH,
  Date: DATE,
  Timeframe: TIMEFRAME,
  Tier: TIER,
  Stability: STABILITY,
  Performance: PERFORMANCE,
  Severity: SEVERITY,
  MarketCapTier: MARKET_CAP_TIER,
  KnownClass: KNOWN_CLASS,
}

/**
 * All pages and errors as JSON Schemas (draft 2020-12), by name. Inside a schema, named ones are references.
 * @param referencePrefix precedes the name in a reference, such as `#/components/schemas/`
 * @param pages further named schemas
 */
export function wireSchemas(
  shape: ErrorShape,
  referencePrefix: string,
  pages: Readonly<Record<string, z.ZodType>>,
): Record<string, Record<string, unknown>> {
  const registry = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries({ ...NAMED_SCHEMAS, ...pages })) registry.add(schema, { id })
  for (const [type, schema] of Object.entries(errorSchemas(shape))) registry.add(schema, { id: schemaName(type) })
  const { schemas } = z.toJSONSchema(registry, {
    uri: id => referencePrefix + id,
    override: ({ jsonSchema }) => {
      // zod adds JavaScript's largest safe integer as a limit; the specification has none.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  const withoutIds = Object.entries(schemas).map(([id, { $schema, $id, ...schema }]) => [id, schema])
  return Object.fromEntries(withoutIds)
}

/** The output of `events --json` and `scan oversold --json`. */
export function pageSchemas(): Record<string, Record<string, unknown>> {
  return { events: z.toJSONSchema(EVENTS_PAGE), oversold: z.toJSONSchema(OVERSOLD_PAGE) }
}
