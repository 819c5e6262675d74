import { BandsError, UPGRADE_URL } from '../errors.js'

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
