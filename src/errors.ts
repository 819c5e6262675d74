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

export function at(place: Place): string {
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
