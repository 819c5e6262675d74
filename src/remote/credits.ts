import type { Tier } from '../model/tier.js'
import { TIER_NAMES } from '../model/tier.js'
import { PLANS } from '../policy/plans.js'
import type { CreditHeaders } from '../wire/headers.js'

/** What a server told of an account's credits; null where it did not tell. */
export interface Credits {
  day: Allowance | null
  hour: Allowance | null
}

export interface Allowance {
  limit: number
  used: number
  remaining: number
  /** When it begins anew: UTC, as 2026-03-24T00:00:00Z. */
  reset: string | null
}

/** Headers of an answer, by their names in lower case. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** From the headers of an answer; null where they hold nothing of it, or nothing that can be read. */
export function creditsOf(headers: Headers): Credits | null {
  const day = allowance(headers, 'X-Request-Limit', 'X-Requests-Used', 'X-Requests-Remaining', 'X-Request-Reset')
  const hour = allowance(
    headers,
    'X-Hourly-Request-Limit',
    'X-Hourly-Requests-Used',
    'X-Hourly-Requests-Remaining',
    'X-Hourly-Request-Reset',
  )
  return day === null && hour === null ? null : { day, hour }
}

/** The plan that grants just so much; null where none does. */
export function tierOfCredits(credits: Credits | null): Tier | null {
  const day = credits?.day?.limit
  return TIER_NAMES.find(tier => PLANS[tier].credits.day === day) ?? null
}

/** The text of a header that was sent once. */
export function headerText(headers: Headers, name: string): string | null {
  const value = headers[name.toLowerCase()]
  return typeof value === 'string' ? value : null
}

function allowance(headers: Headers, ...names: [Name, Name, Name, Name]): Allowance | null {
  const [limit = null, used = null, remaining = null] = names.slice(0, 3).map(name => count(headerText(headers, name)))
  if (limit === null || used === null || remaining === null) return null
  return { limit, used, remaining, reset: moment(headerText(headers, names[3])) }
}

type Name = keyof CreditHeaders

function count(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** A moment in UTC to the second, the only form in which one is passed on; null for anything else. */
export function moment(text: unknown): string | null {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) return null
  return Number.isNaN(Date.parse(text)) ? null : text
}
