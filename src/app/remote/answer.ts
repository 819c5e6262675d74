import { STATUS_CODES } from 'node:http'
import {
  type BandsError,
  Busy,
  faultOfMessage,
  InvalidParameter,
  type InvalidValue,
  invalid,
  NotFound,
  RateLimited,
  TierRestricted,
  Unauthorized,
  Unavailable,
  Upstream,
} from '../../core/errors.js'
import { dateOf } from '../../core/model/day.js'
import type { BandEvent, EventsPage, EventsQuery, OversoldPage, OversoldQuery } from '../../core/model/event.js'
import { parseTicker, TIER_NAMES, type Tier } from '../../core/model/terms.js'
import { isMapping } from '../../core/params/arguments.js'
import { PLANS } from '../../core/tiers.js'
import type { CreditHeaders } from '../../server/wire/format.js'
import { type AnySchema, EVENTS_PAGE, OVERSOLD_PAGE } from '../../server/wire/schemas.js'

export interface Answer {
  /** The server, as sentences name it. */
  base: string
  url: string
  /** A text of the server without the key and control characters, so that it is safe to show. */
  safeText(text: string): string
  status: number
  headers: Headers
  /** The body as a document; undefined where it is not one, or could not be read. */
  document: unknown
  /** Why there is no document, as the end of a sentence that begins with the server; null where there is one. */
  fault: string | null
}

function statusText(status: number): string {
  const name = STATUS_CODES[status]
  return name === undefined ? String(status) : `${status} ${name}`
}

/**
 * Parses a body whose headers must declare it as JSON. Returns a fault in words for any other body.
 * @param mustBeSafe whether a text with control characters of a terminal is a fault, because texts are shown unchanged
 */
export function readDocument(
  headers: Headers,
  bytes: Uint8Array,
  { mustBeSafe }: { mustBeSafe: boolean },
): Pick<Answer, 'document' | 'fault'> {
  const fault = headersFault(headers)
  if (fault !== null) return { document: undefined, fault }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { document: JSON.parse(text, mustBeSafe ? refuseControlCharacters : undefined) as unknown, fault: null }
  } catch (error) {
    let contents = 'something that is not JSON'
    if (error instanceof HasControlCharacters) contents = 'with control characters'
    else if (bytes.length === 0) contents = 'nothing'
    return { document: undefined, fault: `answered ${contents}` }
  }
}

/** Why headers do not declare a JSON body, as the end of a sentence; null if they do. */
function headersFault(headers: Headers): string | null {
  const { 'content-encoding': encoding = 'identity', 'content-type': declared = '' } = headers
  if (encoding !== 'identity') return `answered in the encoding ${String(encoding)}, which was not asked for`
  const type = String(declared)
  if (/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type)) return null
  return `answered ${type === '' ? 'without a content type' : `with ${type}`}, not JSON`
}

class HasControlCharacters extends Error {}

/** A reviver for JSON.parse that throws HasControlCharacters for a key or text with such characters. */
function refuseControlCharacters(key: string, value: unknown): unknown {
  if (CONTROL_CHARACTER.test(key) || (typeof value === 'string' && CONTROL_CHARACTER.test(value)))
    throw new HasControlCharacters()
  return value
}

const CONTROL_CHARACTER = /\p{Cc}/u

/**
 * The error that the local engine would throw instead of this answer. The type in the body decides, otherwise the
 * status. An error that no query can cause becomes Upstream.
 * @param retryAt UTC; null if the server does not say
 */
export function errorFromAnswer(answer: Answer, retryAt: string | null): BandsError {
  const { base, url, safeText } = answer
  const body = new ErrorBody(answer.document, safeText)
  const message = body.text('message')
  const text = message || `${base} answered ${statusText(answer.status)}.`
  const upgradeUrl = body.text('upgrade_url') || null
  switch (errorTypeOf(answer.status, body)) {
    case 'invalid_parameter':
      return invalidParameter(message, invalidValueOf(body))
    case 'not_found':
      return notFound(message, body.texts('suggestions'))
    case 'unauthorized':
      return new Unauthorized(message || undefined)
    case 'tier_restricted': {
      const textOrUnknown = (name: string): string => body.text(name) || 'unknown'
      const reason = message || `${base} refuses this to your plan.`
      const options = { message: reason, upgradeUrl }
      return new TierRestricted(
        textOrUnknown('feature'),
        textOrUnknown('tier'),
        textOrUnknown('required_tier'),
        options,
      )
    }
    case 'rate_limit_exceeded':
      return new RateLimited(text, utcMoment(body.text('reset')) ?? retryAt, upgradeUrl)
    case 'data_unavailable':
      return new Unavailable(withRetryTime(text, retryAt))
    case 'busy':
      return new Busy(message)
    default: {
      const what = safeText(`${base} ${unexpectedText(answer, body)}`)
      return new Upstream(withRetryTime(what, retryAt), url, answer.status)
    }
  }
}

/** The members of an error's body. Texts of the server are made safe to show. */
class ErrorBody {
  readonly #members: Record<string, unknown>
  readonly #safeText: (text: string) => string

  constructor(document: unknown, safeText: (text: string) => string) {
    this.#members = errorMembers(document)
    this.#safeText = safeText
  }

  /** A member; a text is made safe to show. */
  value(name: string): unknown {
    const value = this.#members[name]
    return typeof value === 'string' ? this.#safeText(value) : value
  }

  /** A text member; empty if there is none. */
  text(name: string): string {
    const value = this.value(name)
    return typeof value === 'string' ? value : ''
  }

  /** The texts in a member that is a list, at most MAX_LIST_LENGTH; empty if there is none. */
  texts(name: string): string[] {
    const value = this.#members[name]
    if (!Array.isArray(value)) return []
    return value.slice(0, MAX_LIST_LENGTH).flatMap(word => (typeof word === 'string' ? [this.#safeText(word)] : []))
  }
}

const MAX_LIST_LENGTH = 100

/**
 * The members of an error's body, with the type of the error as `type`. The body has one of two shapes:
 * `{ error: TYPE, … }` or `{ error: { type: TYPE, … } }`. Empty for a body that is no object.
 */
export function errorMembers(document: unknown): Record<string, unknown> {
  if (!isMapping(document)) return {}
  const { error } = document
  return isMapping(error) ? error : { ...document, type: error }
}

/**
 * The type of the error in an answer, as its body says. A body of another server or a proxy has none, and the status
 * decides. Null for a status without a type.
 */
function errorTypeOf(status: number, body: ErrorBody): string | null {
  const hasMessage = body.text('message') !== ''
  if (hasMessage && ERROR_TYPES.includes(body.text('type'))) return body.text('type')
  if (status === 400 && hasMessage) return 'invalid_parameter'
  if (status === 401) return 'unauthorized'
  if (status === 403 && body.value('upgrade_url') !== undefined) return 'tier_restricted'
  if (status === 429) return 'rate_limit_exceeded'
  return status === 503 ? 'data_unavailable' : null
}

const ERROR_TYPES: readonly string[] = [
  ...['invalid_parameter', 'not_found', 'unauthorized', 'tier_restricted', 'rate_limit_exceeded', 'data_unavailable'],
  'busy',
]

/** The unexpected answer, as the end of a sentence that begins with the server. */
function unexpectedText({ status, headers, fault }: Answer, body: ErrorBody): string {
  if (status >= 300 && status < 400) {
    const target = typeof headers.location === 'string' ? ` to ${headers.location}` : ''
    return `answered ${status}, a redirect${target}; redirects are not followed.`
  }
  const answered = `answered ${statusText(status)}`
  const message = body.text('message')
  const requestId = body.text('request_id')
  if (message !== '') return withPeriod(`${answered}: ${message}${requestId === '' ? '' : ` (request ${requestId})`}`)
  if (status === 404) return `${answered}; is the address right?`
  return withPeriod(fault === null ? answered : `${answered}; it ${fault}`)
}

/** Adds a full stop unless the sentence ends with a mark. */
function withPeriod(sentence: string): string {
  return /[.?!]$/.test(sentence) ? sentence : `${sentence}.`
}

/** The InvalidParameter for a server's message. If the message has a known fault, it reads like a local refusal. */
function invalidParameter(message: string, invalidValue: InvalidValue): InvalidParameter {
  const fault = faultOfMessage(message, invalidValue)
  return fault === null ? new InvalidParameter(message, invalidValue) : invalid(fault, invalidValue)
}

/** The NotFound for a server's message, which has the missing ticker in quotes. */
function notFound(message: string, suggestions: readonly string[]): NotFound {
  const name = /"([^"]+)"/.exec(message)?.[1]
  return new NotFound(message, suggestions, name === undefined ? {} : { missing: { kind: 'ticker', name } })
}

/** A message with the time from which on a repetition may succeed, if it is known. */
function withRetryTime(message: string, retryAt: string | null): string {
  return retryAt === null ? message : `${message} Try again after ${retryAt}.`
}

/** The parameter, value and allowed values that a server's error names. */
function invalidValueOf(body: ErrorBody): InvalidValue {
  const invalidValue: InvalidValue = { param: body.text('param') || 'request' }
  const value = body.value('value')
  const allowed = body.value('allowed')
  if (['string', 'number', 'boolean'].includes(typeof value)) invalidValue.value = value
  if (typeof allowed === 'string') invalidValue.allowed = allowed
  else if (Array.isArray(allowed)) invalidValue.allowed = body.texts('allowed')
  if (Array.isArray(body.value('suggestions'))) invalidValue.suggestions = body.texts('suggestions')
  return invalidValue
}

/** The account's credits as a server reports them; null if it does not. */
export interface Credits {
  day: Allowance | null
  hour: Allowance | null
}

export interface Allowance {
  limit: number
  used: number
  remaining: number
  /** When it resets: UTC, as 2026-03-24T00:00:00Z. */
  reset: string | null
}

/** Headers of an answer, by their names in lower case. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The credits in the headers of an answer; null if they have none or are unreadable. */
export function creditsOf(headers: Headers): Credits | null {
  const day = allowanceOf(headers, 'X-')
  const hour = allowanceOf(headers, 'X-Hourly-')
  return day === null && hour === null ? null : { day, hour }
}

/** The plan with exactly these credits; null if none has. */
export function tierOfCredits(credits: Credits | null): Tier | null {
  const day = credits?.day?.limit
  return TIER_NAMES.find(tier => PLANS[tier].credits.day === day) ?? null
}

/** The text of a header that was sent once. */
export function headerText(headers: Headers, name: string): string | null {
  const value = headers[name.toLowerCase()]
  return typeof value === 'string' ? value : null
}

/** The credits of an hour or a day in the headers; null if a number is missing or unreadable. */
function allowanceOf(headers: Headers, prefix: 'X-' | 'X-Hourly-'): Allowance | null {
  const text = (name: keyof CreditHeaders): string | null => headerText(headers, name)
  const limit = wholeNumberOf(text(`${prefix}Request-Limit`))
  const used = wholeNumberOf(text(`${prefix}Requests-Used`))
  const remaining = wholeNumberOf(text(`${prefix}Requests-Remaining`))
  if (limit === null || used === null || remaining === null) return null
  return { limit, used, remaining, reset: utcMoment(text(`${prefix}Request-Reset`)) }
}

/** A text of digits as a number; null for anything else. */
function wholeNumberOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** A text that is a moment in UTC, `2026-03-24T00:00:00Z`; null for anything else. */
export function utcMoment(text: unknown): string | null {
  if (typeof text !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text)) return null
  return Number.isNaN(Date.parse(text)) ? null : text
}

/**
 * The page of events in an answer, unchanged and with any unknown keys. Throws Upstream with the fault in one sentence
 * if it does not have the schema, or is not an answer to the query.
 */
export function eventsPageOf(answer: Answer, query: EventsQuery): EventsPage {
  refuseFaultyAnswer(shapeFault(EVENTS_PAGE, answer.document), 'a page of events', answer)
  const page = answer.document as EventsPage
  refuseFaultyAnswer(pageFault(page, query) ?? orderFault(page.events, query), 'the page that was asked for', answer)
  return page
}

/** The page of a scan in an answer, checked as in eventsPageOf. */
export function oversoldPageOf(answer: Answer, query: OversoldQuery): OversoldPage {
  refuseFaultyAnswer(shapeFault(OVERSOLD_PAGE, answer.document), 'a scan', answer)
  const page = answer.document as OversoldPage
  refuseFaultyAnswer(scanFault(page, query), 'the scan that was asked for', answer)
  return page
}

/** The document of an answer, checked only against a schema. @param what names it in the error */
export function pageOfSchema(answer: Answer, schema: AnySchema, what: string): unknown {
  refuseFaultyAnswer(shapeFault(schema, answer.document), what, answer)
  return answer.document
}

/** Throws Upstream if there is a fault. @param what the answer should have been, in words */
function refuseFaultyAnswer(fault: string | null, what: string, { base, url, safeText }: Answer): void {
  if (fault === null) return
  throw new Upstream(safeText(`${base} answered something that is not ${what}: ${fault}.`), url, 200)
}

/** The first difference between a page and its query, in words; null if there is none. */
function pageFault(page: EventsPage, query: EventsQuery): string | null {
  for (const name of ['ticker', 'field', 'timeframe'] as const)
    if (page[name] !== query[name]) return `${name} is ${JSON.stringify(page[name])}, not ${query[name]}`
  const { events, total_occurrences: total, context } = page
  if (events.length > query.limit) return `it has ${events.length} events, more than ${query.limit}`
  if (events.length !== Math.min(total, query.limit)) return `it has ${events.length} events of ${total}`
  if (context === undefined && query.context === undefined) return null
  if (query.context === undefined) return 'context is there, and was not asked for'
  if (context === undefined) return 'context is missing'
  for (const name of ['ticker', 'field', 'band'] as const)
    if (context[name] !== query.context[name])
      return `context.${name} is ${JSON.stringify(context[name])}, not ${query.context[name]}`
  return null
}

/** The first event outside the query or not older than the one before it, in words; null if there is none. */
function orderFault(events: readonly BandEvent[], { before, after, bands }: EventsQuery): string | null {
  let previousDate = dateOf(before)
  const oldestDate = dateOf(after)
  for (const [i, event] of events.entries()) {
    const path = `events[${i}]`
    // Dates such as 2026-03-24 sort as texts.
    if (previousDate !== null && event.date >= previousDate)
      return `${path}.date is ${event.date}, not before ${previousDate}`
    if (oldestDate !== null && event.date <= oldestDate) return `${path}.date is ${event.date}, not after ${oldestDate}`
    if (bands !== undefined && !bands.includes(event.band))
      return `${path}.band is ${JSON.stringify(event.band)}, not ${bands.join(' or ')}`
    if (event.band === event.prev_band) return `${path}.prev_band is the band that was entered`
    previousDate = event.date
  }
  return null
}

/** The first fault of a scan, in words; null if there is none. */
function scanFault(page: OversoldPage, query: OversoldQuery): string | null {
  const { matches, match_count: count, total_scanned: scanned } = page
  if (matches.length !== Math.min(count, query.limit)) return `it has ${matches.length} matches of ${count}`
  if (count > scanned) return `${count} of ${scanned} match`
  const tickers = new Set<string>()
  for (const [i, { ticker, rsi_zone }] of matches.entries()) {
    if (parseTicker(ticker) !== ticker) return `matches[${i}].ticker is ${JSON.stringify(ticker)}`
    if (tickers.has(ticker)) return `${ticker} is there twice`
    if (query.min_severity === 'deep_oversold' && rsi_zone !== query.min_severity)
      return `matches[${i}].rsi_zone is ${rsi_zone}`
    tickers.add(ticker)
  }
  return null
}

type Issue = NonNullable<ReturnType<AnySchema['safeParse']>['error']>['issues'][number]

/** The first mismatch with the schema, by path, such as `events[0].date is not a calendar date`; null without any. */
function shapeFault(schema: AnySchema, document: unknown): string | null {
  const issue = schema.safeParse(document).error?.issues[0]
  if (issue === undefined) return null
  let path = ''
  for (const key of issue.path) {
    if (typeof key === 'number') path += `[${key}]`
    else path += path === '' ? String(key) : `.${String(key)}`
  }
  return `${path === '' ? 'it' : path} ${issueText(issue)}`
}

/** The fault that zod reports, as the end of a sentence that begins with its path. */
function issueText(issue: Issue): string {
  if (issue.path.at(-1) === 'date') return 'is not a calendar date'
  if (issue.code === 'invalid_type')
    return `is missing or no ${issue.expected === 'record' ? 'object' : issue.expected}`
  if (issue.code === 'invalid_value') return `is none of ${issue.values.join(', ')}`
  return `is not as it should be (${issue.message})`
}
