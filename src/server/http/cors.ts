import type { IncomingMessage } from 'node:http'
import { ERROR_SHAPE, IDEMPOTENCY_KEY, VENDORS_CLIENT } from '../wire/format.js'

/**
 * Browsers hide answers from pages of another origin unless the server allows it, and ask first whether a page may send
 * a key. One configured origin is allowed; all other origins see a server without CORS.
 */

/** An origin whose pages may ask; undefined: none. */
type Cors = string | undefined

/** The CORS headers of an answer. @param headers the other headers of the answer, names and values in turn */
export function corsHeaders(request: IncomingMessage, cors: Cors, headers: readonly string[]): readonly string[] {
  if (cors === undefined) return []
  if (request.headers.origin !== cors) return VARY_BY_ORIGIN
  // By default a page can read hardly any header, neither the remaining credits nor the as-of day.
  const headerNames = new Set(headers.filter((_, i) => i % 2 === 0))
  return [
    ...VARY_BY_ORIGIN,
    ...['Access-Control-Allow-Origin', cors],
    ...['Access-Control-Expose-Headers', [...headerNames].join(', ')],
  ]
}

const VARY_BY_ORIGIN = ['Vary', 'Origin'] as const

/** Whether a browser asks, without a key, if a page of the allowed origin may send its request. */
export function isPreflight({ method, headers }: IncomingMessage, cors: Cors): boolean {
  if (cors === undefined || method !== 'OPTIONS' || headers.origin !== cors) return false
  return headers['access-control-request-method'] !== undefined
}

/** The headers of the answer to a preflight request. It allows all request headers that this server reads. */
export function preflightHeaders(methods: readonly string[]): readonly string[] {
  return [
    ...['Access-Control-Allow-Methods', methods.join(', ')],
    ...['Access-Control-Allow-Headers', READ_HEADERS.join(', ')],
    // Two hours, the longest that browsers remember it.
    ...['Access-Control-Max-Age', '7200'],
  ]
}

const READ_HEADERS = ['Authorization', 'Content-Type', 'If-None-Match', IDEMPOTENCY_KEY, ERROR_SHAPE, VENDORS_CLIENT]
