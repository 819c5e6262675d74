import { type BandsError, payloadAt } from '../../core/errors.js'

/** `flat` as the specification prints its 401; `nested` as the vendor's official clients read errors. */
export type ErrorShape = 'flat' | 'nested'
export const ERROR_SHAPES: readonly ErrorShape[] = ['flat', 'nested']

/** The body of an answer for an error. @param upgradeUrl where to get a higher tier; null: unknown */
export function errorBody(error: BandsError, shape: ErrorShape, upgradeUrl: string | null = null): ErrorBody {
  return shapedBody(error.code, error.message, payloadAt(error, upgradeUrl), shape)
}

type ErrorBody = Record<string, unknown>

/** The body of an answer for an internal error; it shows only the number of the request. */
export function internalErrorBody(requestId: string, shape: ErrorShape): ErrorBody {
  const payload = { request_id: requestId }
  return shapedBody('internal_error', 'The server failed; its log has the request id.', payload, shape)
}

/** The body of an error, flat or with all keys in one object `error`. @param payload more keys */
function shapedBody(type: string, message: string, payload: ErrorBody, shape: ErrorShape): ErrorBody {
  return shape === 'flat' ? { error: type, message, ...payload } : { error: { type, message, ...payload } }
}

/** The account's credits, sent with every answer to a known key; times in UTC, as 2026-03-24T00:00:00Z. */
export const CREDIT_HEADERS = {
  'X-Request-Limit': 'Credits of the account in a day of UTC.',
  'X-Requests-Used': 'Credits of the day that are spent, with those of this answer.',
  'X-Requests-Remaining': 'Credits of the day that are left.',
  'X-Request-Reset': 'When the next day begins, at 00:00 UTC.',
  'X-Hourly-Request-Limit': 'Credits of the account in an hour.',
  'X-Hourly-Requests-Used': 'Credits of the hour that are spent, with those of this answer.',
  'X-Hourly-Requests-Remaining': 'Credits of the hour that are left.',
  'X-Hourly-Request-Reset': 'When the next hour begins, on the hour.',
}

export type CreditHeaders = Record<keyof typeof CREDIT_HEADERS, string>

/** The server's own number of a request, also in its log. */
export const REQUEST_ID = 'X-Request-Id'

/** The as-of day of the answer, YYYY-MM-DD: ranges count back from it. Specific to bands. */
export const AS_OF = 'X-Bands-As-Of'

/** The hash of the data that the answer is from: servers with equal data send equal ones. Specific to bands. */
export const DATA = 'X-Bands-Data'

/** Why an answer is empty, in a sentence. Specific to bands; the specified page has no field for it. */
export const NOTE = 'X-Bands-Note'

/** A caller's name for a request: repeating it returns the same answer free of charge for 48 hours. */
export const IDEMPOTENCY_KEY = 'Idempotency-Key'

/** The shape of errors that a caller wants. */
export const ERROR_SHAPE = 'X-Bands-Errors'

/** How the vendor's JavaScript client identifies itself: web pages cannot set User-Agent. */
export const VENDORS_CLIENT = 'X-TickerDB-Client'

export const EVENTS_PATH = '/v1/events'
export const OVERSOLD_PATH = '/v1/scan/oversold'
export const SEARCH_PATH = '/v1/search'
export const SUMMARY_PATH = '/v1/summary/{ticker}'
export const BARS_PATH = '/v1/ohlcv/{ticker}'
export const SCHEMA_PATH = '/v1/schema/fields'
export const ACCOUNT_PATH = '/v1/account'
export const WATCHLIST_PATH = '/v1/watchlist'
export const WATCHLIST_CHANGES_PATH = '/v1/watchlist/changes'
