import {
  type BandsError,
  Busy,
  faultIn,
  InvalidParameter,
  invalid,
  NotFound,
  type Offence,
  RateLimited,
  TierRestricted,
  Unauthorized,
  Unavailable,
  Upstream,
} from '../errors.js'
import { TIER_NAMES, type Tier } from '../model/terms.js'
import { PLANS } from '../tiers.js'
import type { CreditHeaders } from '../wire/format.js'

/** What came back, whole. */
export interface Answer {
  status: number
  headers: Headers
  /** The document, where the body is one; undefined where it is something else or could not be read. */
  document: unknown
  /** Why there is no document, as the end of a sentence that begins with who answered; null where there is one. */
  fault: string | null
}

/** The names of statuses that a server or something before it answers with. */
const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
}

function statusText(status: number): string {
  const name = STATUS_NAMES[status]
  return name === undefined ? String(status) : `${status} ${name}`
}

/**
 * The document of a body, which must say of itself that it is JSON, and be it. What is to be shown as it was sent may hold
 * nothing that steers a terminal, nor be nested so deeply that nobody can write it again.
 */
export function readDocument(
  headers: Headers,
  bytes: Uint8Array,
  { toShow }: { toShow: boolean },
): Pick<Answer, 'document' | 'fault'> {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    return { document: undefined, fault: `answered in the encoding ${String(encoding)}, which was not asked for` }
  const type = String(headers['content-type'] ?? '')
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
    return {
      document: undefined,
      fault: `answered ${type === '' ? 'without a content type' : `with ${type}`}, not JSON`,
    }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { document: JSON.parse(text, toShow ? showable : undefined) as unknown, fault: null }
  } catch (error) {
    if (error instanceof NotShowable) return { document: undefined, fault: 'answered with control characters' }
    return {
      document: undefined,
      fault: bytes.length === 0 ? 'answered nothing' : 'answered something that is not JSON',
    }
  }
}

class NotShowable extends Error {}

function showable(key: string, value: unknown): unknown {
  if (CONTROL.test(key) || (typeof value === 'string' && CONTROL.test(value))) throw new NotShowable()
  return value
}

const CONTROL = /\p{Cc}/u

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
      return invalidAs(message, offenceOf(body, occasion))
    case 'not_found':
      return notFoundAs(message, textsOf(body.suggestions, occasion))
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
  if (status === 400 && message !== '') return invalidAs(message, offenceOf(body, occasion))
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

/** With the kind of fault, where the message words one, so that it can be worded for people as a refusal from here. */
function invalidAs(message: string, offence: Offence): InvalidParameter {
  const fault = faultIn(message, offence)
  return fault === null ? new InvalidParameter(message, offence) : invalid(fault, offence)
}

/** The message alone says which ticker it is that is not there. */
function notFoundAs(message: string, suggestions: readonly string[]): NotFound {
  const name = /"([^"]+)"/.exec(message)?.[1]
  return new NotFound(message, suggestions, name === undefined ? {} : { missing: { kind: 'ticker', name } })
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
