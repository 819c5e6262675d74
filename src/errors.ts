/**
 * Every error the product can say. An error knows what it is (`code`) and carries its payload; what it costs
 * (exit code, HTTP status) is the door's business.
 */
export type ErrorCode =
  | 'invalid_parameter'
  | 'not_found'
  | 'unauthorized'
  | 'tier_restricted'
  | 'bad_data'
  | 'storage'
  | 'config'
  | 'busy'
  | 'method_not_allowed'
  | 'rate_limit_exceeded'
  | 'data_unavailable'
  | 'upstream'

export class BandsError extends Error {
  override readonly name: string = 'BandsError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** What a machine reads beside `error` and `message`. */
  payload(): Record<string, unknown> {
    return {}
  }
}

export interface Offence {
  param: string
  value?: unknown
  /** What is allowed: the values, or one phrase such as "an integer from 1 to 100". */
  allowed?: readonly string[] | string
  /** The nearest allowed values, best first. */
  suggestions?: readonly string[]
}

/** A parameter with a value that cannot be used; `param` is spelled as in the specification (`context_ticker`). */
export class InvalidParameter extends BandsError {
  override readonly name = 'InvalidParameter'
  readonly offence: Offence
  /** The message without what is allowed, for a place that lists that by itself. */
  readonly brief: string

  constructor(message: string, offence: Offence, brief = message) {
    super('invalid_parameter', message)
    this.offence = offence
    this.brief = brief
  }

  get param(): string {
    return this.offence.param
  }

  override payload(): Record<string, unknown> {
    return { ...this.offence }
  }
}

/** A well-formed ticker, file or thing that is not there. */
export class NotFound extends BandsError {
  override readonly name = 'NotFound'
  readonly suggestions: readonly string[]

  constructor(message: string, suggestions: readonly string[] = []) {
    super('not_found', message)
    this.suggestions = suggestions
  }

  override payload(): Record<string, unknown> {
    return this.suggestions.length > 0 ? { suggestions: this.suggestions } : {}
  }
}

export const UPGRADE_URL = 'https://bands.invalid/pricing'

/** A field or feature above the caller's tier. */
export class TierRestricted extends BandsError {
  override readonly name = 'TierRestricted'
  readonly feature: string
  readonly tier: string
  readonly requiredTier: string
  readonly upgradeUrl: string

  /** @param told the words of a server that refused; its own message and where it sends the caller */
  constructor(
    feature: string,
    tier: string,
    requiredTier: string,
    told: { message?: string; upgradeUrl?: string } = {},
  ) {
    const message = told.message ?? `${feature} needs the ${title(requiredTier)} tier; you asked as ${title(tier)}.`
    super('tier_restricted', message)
    this.feature = feature
    this.tier = tier
    this.requiredTier = requiredTier
    this.upgradeUrl = told.upgradeUrl ?? UPGRADE_URL
  }

  override payload(): Record<string, unknown> {
    return { feature: this.feature, tier: this.tier, required_tier: this.requiredTier, upgrade_url: this.upgradeUrl }
  }
}

/** A setting of this machine (a configuration or credentials file, an address to listen on) that cannot be used. */
export class ConfigError extends BandsError {
  override readonly name = 'ConfigError'
  constructor(message: string, options?: ErrorOptions) {
    super('config', message, options)
  }
}

/** A place in a file: line and column count from 1; column is the character at which the faulty value starts. */
export interface Place {
  file: string
  line?: number
  column?: number
}

/** Input that cannot be taken as it is; the message starts with `file:line:column`. */
export class BadData extends BandsError {
  override readonly name = 'BadData'
  readonly place: Place

  constructor(place: Place, what: string, options?: ErrorOptions) {
    super('bad_data', `${at(place)}: ${what}`, options)
    this.place = place
  }

  override payload(): Record<string, unknown> {
    return { ...this.place }
  }
}

/** The store or this machine's disk fails; the message says what to do. */
export class StorageError extends BandsError {
  override readonly name = 'StorageError'
  constructor(message: string, options?: ErrorOptions) {
    super('storage', message, options)
  }
}

/** Someone else holds the store's one writing place; try later. */
export class Busy extends BandsError {
  override readonly name = 'Busy'
  constructor(message: string, options?: ErrorOptions) {
    super('busy', message, options)
  }
}

function at(place: Place): string {
  const { file, line, column } = place
  return [file, line, column].filter(part => part !== undefined).join(':')
}

/** A value as a message may show it: in quotes, control characters and line separators escaped, cut when it is long. */
export function quoted(text: string): string {
  const signs = [...text]
  const cut = signs.length > 40 ? `${signs.slice(0, 40).join('')}…` : text
  return JSON.stringify(cut).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const title = (tier: string): string => tier.charAt(0).toUpperCase() + tier.slice(1)

/** What a service over HTTP refuses, on either side of the wire. */

/** A key that is missing, unknown, expired or revoked; which of these is not told to whom it does not concern. */
export class Unauthorized extends BandsError {
  override readonly name = 'Unauthorized'
  constructor(message = 'Missing or invalid Bearer token.', options?: ErrorOptions) {
    super('unauthorized', message, options)
  }
}

/** The credits of the day or the hour are spent; `reset` is the moment from which there are new ones. */
export class RateLimited extends BandsError {
  override readonly name = 'RateLimited'
  /** UTC, as 2026-03-24T00:00:00Z; null where a server did not say. */
  readonly reset: string | null
  readonly upgradeUrl: string

  constructor(message: string, reset: string | null, upgradeUrl: string = UPGRADE_URL) {
    super('rate_limit_exceeded', message)
    this.reset = reset
    this.upgradeUrl = upgradeUrl
  }

  override payload(): Record<string, unknown> {
    return { reset: this.reset, upgrade_url: this.upgradeUrl }
  }
}

/** A path that is there, asked with a method that it does not answer. */
export class MethodNotAllowed extends BandsError {
  override readonly name = 'MethodNotAllowed'
  readonly allow: readonly string[]

  constructor(method: string, path: string, allow: readonly string[]) {
    super('method_not_allowed', `${path} does not answer ${method}; allowed: ${allow.join(', ')}.`)
    this.allow = allow
  }

  override payload(): Record<string, unknown> {
    return { allow: this.allow }
  }
}

/** A server that cannot answer now: its store cannot be read, or it is shutting down. */
export class Unavailable extends BandsError {
  override readonly name = 'Unavailable'
  constructor(message: string, options?: ErrorOptions) {
    super('data_unavailable', message, options)
  }
}

/** A remote server that cannot be reached, does not answer in time, or answers something else than was asked. */
export class Upstream extends BandsError {
  override readonly name = 'Upstream'
  readonly url: string
  /** The HTTP status, when there was an answer. */
  readonly status: number | null

  constructor(message: string, url: string, status: number | null = null, options?: ErrorOptions) {
    super('upstream', message, options)
    this.url = url
    this.status = status
  }

  override payload(): Record<string, unknown> {
    return { url: this.url, ...(this.status === null ? {} : { status: this.status }) }
  }
}

/**
 * The nearest allowed words to a mistyped one, best first: within two slips (one for up to four letters), case aside.
 * A slip is a letter missing, added, changed, or swapped with its neighbour (optimal string alignment).
 */
export function suggest(word: string, allowed: readonly string[], most = 3): string[] {
  const typed = word.toLowerCase()
  const reach = typed.length <= 4 ? 1 : 2
  return allowed
    .map(candidate => ({ candidate, slips: slipsBetween(typed, candidate.toLowerCase(), reach) }))
    .filter(({ slips }) => slips <= reach)
    .sort((a, b) => a.slips - b.slips || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, most)
    .map(({ candidate }) => candidate)
}

/** ` Did you mean "oversold"?`, or nothing. */
export function didYouMean(suggestions: readonly string[]): string {
  if (suggestions.length === 0) return ''
  return ` Did you mean ${suggestions.map(word => `"${word}"`).join(' or ')}?`
}

function slipsBetween(a: string, b: string, reach: number): number {
  if (Math.abs(a.length - b.length) > reach) return reach + 1
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
