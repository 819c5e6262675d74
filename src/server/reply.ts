import { redacted } from '../accounts/redact.js'
import { MethodNotAllowed, RateLimited, Unauthorized, Unavailable } from '../errors/service.js'
import { BandsError, Busy, type ErrorCode, InvalidParameter, StorageError } from '../errors.js'
import { type ErrorShape, errorBody, internalErrorBody } from '../wire/error-body.js'
import type { HeaderList, Outgoing } from './exchange.js'

/** What each error costs; one that is not here is a fault of the server's own. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  invalid_parameter: 400,
  unauthorized: 401,
  tier_restricted: 403,
  not_found: 404,
  method_not_allowed: 405,
  rate_limit_exceeded: 429,
  data_unavailable: 503,
}

/** The methods of every path that there is. */
export const ANSWERED: readonly ('GET' | 'HEAD')[] = ['GET', 'HEAD']

export const JSON_TYPE = 'application/json; charset=utf-8'

/** A thing as JSON with its status. */
export function json(status: number, body: unknown): Outgoing {
  return { status, headers: ['Content-Type', JSON_TYPE], body: JSON.stringify(body) }
}

/**
 * What a caller is told of an error, in the shape that this server speaks. Of a fault of the server's own, nothing but
 * the request's number; of a fault of its disk, no path.
 */
export function refusal(
  thrown: unknown,
  { id, errors, now }: { id: string; errors: ErrorShape; now: number },
): Outgoing {
  const error = told(thrown)
  const status = error instanceof Malformed ? error.status : STATUSES[error?.code ?? 'upstream']
  const { headers, body } =
    error === null || status === undefined
      ? json(500, internalErrorBody(id, errors))
      : json(status, errorBody(error, errors))
  // A key that someone put into a parameter is not repeated to whoever reads the answer.
  return {
    status: status ?? 500,
    headers: [...headers, 'Cache-Control', 'no-store', ...more(error, now)],
    body: redacted(String(body)),
  }
}

/** A request that is no proper HTTP, or more of it than this server takes; `param` says which part. */
export class Malformed extends InvalidParameter {
  readonly status: number

  constructor(status: number, message: string, param: string) {
    super(message, { param })
    this.status = status
  }
}

/** null: nothing that a caller could make something of */
function told(thrown: unknown): BandsError | null {
  if (thrown instanceof Busy) return new Unavailable('The data is being changed; try again in a moment.')
  if (thrown instanceof StorageError) return new Unavailable('The data cannot be read at the moment; try again later.')
  return thrown instanceof BandsError ? thrown : null
}

function more(error: BandsError | null, now: number): HeaderList {
  if (error instanceof Unauthorized) return ['WWW-Authenticate', 'Bearer']
  if (error instanceof MethodNotAllowed) return ['Allow', error.allow.join(', ')]
  if (error instanceof Unavailable) return ['Retry-After', '5']
  if (!(error instanceof RateLimited) || error.reset === null) return []
  return ['Retry-After', String(Math.max(1, Math.ceil((Date.parse(error.reset) - now) / 1000)))]
}
