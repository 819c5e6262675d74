import * as z from 'zod'
import { TIER_NAMES } from '../model/tier.js'
import type { ErrorShape } from './error-body.js'

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
export const ERROR_TYPES = Object.keys(TOLD) as readonly ErrorType[]

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
