import { RateLimited, Unauthorized, Unavailable, Upstream } from '../errors/service.js'
import { type BandsError, Busy, InvalidParameter, NotFound, type Offence, TierRestricted } from '../errors.js'
import { type Answer, statusText } from './answer.js'
import { moment } from './credits.js'

/** Who answered what, and how it may be told. */
export interface Occasion {
  /** The server, as sentences name it. */
  base: string
  /** The whole question. */
  url: string
  /** What the server says → what may be repeated of it. */
  repeat(text: string): string
  /** When the server may be asked again, UTC; null where it does not say. */
  again: string | null
}

/**
 * An answer that is none, as the error that the local engine throws for the same: told by the body in either of its
 * shapes, otherwise by its status. What no question could have brought about is Upstream.
 */
export function refusalOf(answer: Answer, occasion: Occasion): BandsError {
  const body = bodyOf(answer.document)
  const message = textOf(body.message, occasion)
  const rebuilt = byType(textOf(body.type, occasion), message, body, occasion)
  return rebuilt ?? byStatus(answer, message, body, occasion)
}

/** The members of an error's body, flat or nested, with its type as `type`; none where it is no object. */
export function bodyOf(document: unknown): Record<string, unknown> {
  if (!isRecord(document)) return {}
  const { error } = document
  return isRecord(error) ? error : { ...document, type: error }
}

function byType(type: string, message: string, body: Record<string, unknown>, occasion: Occasion): BandsError | null {
  if (message === '') return null
  switch (type) {
    case 'invalid_parameter':
      return new InvalidParameter(message, offenceOf(body, occasion))
    case 'not_found':
      return new NotFound(message, textsOf(body.suggestions, occasion))
    case 'unauthorized':
      return new Unauthorized(message)
    case 'tier_restricted':
      return restricted(message, body, occasion)
    case 'rate_limit_exceeded':
      return limited(message, body, occasion)
    case 'data_unavailable':
      return unavailable(message, occasion)
    case 'busy':
      return new Busy(message)
    default:
      return null
  }
}

/** For bodies of other servers, and of whatever stands before one. */
function byStatus(
  { status, headers, fault }: Answer,
  message: string,
  body: Record<string, unknown>,
  occasion: Occasion,
): BandsError {
  const { base, url, repeat, again } = occasion
  if (status === 400 && message !== '') return new InvalidParameter(message, offenceOf(body, occasion))
  if (status === 401) return new Unauthorized(message || undefined)
  if (status === 403 && body.upgrade_url !== undefined)
    return restricted(message || `${base} refuses this to your plan.`, body, occasion)
  if (status === 429) return limited(message || `${base} answered ${statusText(status)}.`, body, occasion)
  if (status === 503) return unavailable(message || `${base} answered ${statusText(status)}.`, occasion)
  if (status >= 300 && status < 400) {
    const target = typeof headers.location === 'string' ? ` to ${repeat(headers.location)}` : ''
    return new Upstream(`${base} answered ${status}, a redirect${target}; redirects are not followed.`, url, status)
  }
  const request = typeof body.request_id === 'string' ? ` (request ${repeat(body.request_id)})` : ''
  const said = message === '' ? (fault === null || status === 404 ? '' : `; it ${fault}`) : `: ${message}${request}`
  const address = status === 404 && message === '' ? '; is the address right?' : ''
  const sentence = `${base} answered ${statusText(status)}${said}${address}`
  return new Upstream(later(repeat(/[.?!]$/.test(sentence) ? sentence : `${sentence}.`), again), url, status)
}

function restricted(message: string, body: Record<string, unknown>, occasion: Occasion): TierRestricted {
  const word = (name: string): string => textOf(body[name], occasion) || 'unknown'
  const upgradeUrl = textOf(body.upgrade_url, occasion) || occasion.base
  return new TierRestricted(word('feature'), word('tier'), word('required_tier'), { message, upgradeUrl })
}

function limited(message: string, body: Record<string, unknown>, occasion: Occasion): RateLimited {
  const upgradeUrl = textOf(body.upgrade_url, occasion) || occasion.base
  return new RateLimited(message, moment(body.reset) ?? occasion.again, upgradeUrl)
}

function unavailable(message: string, { again }: Occasion): Unavailable {
  return new Unavailable(later(message, again))
}

function later(message: string, again: string | null): string {
  return again === null ? message : `${message} Try again after ${again}.`
}

function offenceOf(body: Record<string, unknown>, occasion: Occasion): Offence {
  const offence: Offence = { param: textOf(body.param, occasion) || 'request' }
  const { value, allowed } = body
  if (typeof value === 'string') offence.value = occasion.repeat(value)
  else if (typeof value === 'number' || typeof value === 'boolean') offence.value = value
  if (typeof allowed === 'string') offence.allowed = occasion.repeat(allowed)
  else if (Array.isArray(allowed)) offence.allowed = textsOf(allowed, occasion)
  if (Array.isArray(body.suggestions)) offence.suggestions = textsOf(body.suggestions, occasion)
  return offence
}

function textOf(value: unknown, { repeat }: Occasion): string {
  return typeof value === 'string' ? repeat(value) : ''
}

/** As many words as a list of allowed ones may have. */
const MOST_WORDS = 100

function textsOf(value: unknown, occasion: Occasion): string[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, MOST_WORDS).flatMap(word => (typeof word === 'string' ? [occasion.repeat(word)] : []))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
