import { HOUR_MS, REPEAT_MS } from '../../accounts/periods.js'
import { PLANS } from '../../policy/plans.js'
import { AS_OF, type CreditHeaders, IDEMPOTENCY_KEY, REQUEST_ID } from '../../wire/headers.js'
import { creditHeaders } from '../credits.js'
import { ANSWERED } from '../reply.js'
import type { HeaderObject, ParameterObject, Reference, Schema } from './document.js'

const COUNT: Schema = { type: 'integer', minimum: 0 }
const TIME: Schema = { type: 'string', format: 'date-time' }
const TEXT: Schema = { type: 'string' }

/** When the examples happen, and to which account. */
export const MOMENT = Date.parse('2026-03-23T14:37:00Z')
export const REQUEST_ID_EXAMPLE = '0f5e6a0e-8d1c-4b0a-9a53-6f2f2c1f7d10'
const SHOWN = creditHeaders(PLANS.plus.credits, { day: 12, hour: 3 }, MOMENT)

const CREDITS: Readonly<Record<keyof CreditHeaders, string>> = {
  'X-Request-Limit': 'Credits of the account in a day of UTC.',
  'X-Requests-Used': 'Credits of the day that are spent, with those of this answer.',
  'X-Requests-Remaining': 'Credits of the day that are left.',
  'X-Request-Reset': 'When the next day begins, at 00:00 UTC.',
  'X-Hourly-Request-Limit': 'Credits of the account in an hour.',
  'X-Hourly-Requests-Used': 'Credits of the hour that are spent, with those of this answer.',
  'X-Hourly-Requests-Remaining': 'Credits of the hour that are left.',
  'X-Hourly-Request-Reset': 'When the next hour begins, on the hour.',
}

/** Every header that an answer may have, by name. */
export const HEADERS: Record<string, HeaderObject> = {
  ...creditHeaderObjects(),
  ETag: {
    description: 'Names this answer; with it in If-None-Match the same answer comes as 304, without body and free.',
    schema: TEXT,
    example: '"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"',
  },
  [AS_OF]: {
    description: 'The day that the answer stands on: ranges count back from it.',
    schema: { type: 'string', format: 'date' },
    example: '2026-03-23',
  },
  'Cache-Control': {
    description:
      "How the answer may be kept: only by the caller's own cache, and to be asked for again; an error not at all.",
    schema: TEXT,
    example: 'private, no-cache',
  },
  Vary: { description: 'What the answer depends on besides the URL.', schema: TEXT, example: 'Authorization' },
  [REQUEST_ID]: {
    description: "The server's own number of the request; its log has it too.",
    schema: TEXT,
    example: REQUEST_ID_EXAMPLE,
  },
  'Retry-After': { description: 'Seconds after which to ask again.', schema: COUNT, example: 1_380 },
  'WWW-Authenticate': { description: 'How to say who you are.', schema: TEXT, example: 'Bearer' },
  Allow: { description: 'The methods that the path answers.', schema: TEXT, example: ANSWERED.join(', ') },
}

/** What every answer to a known key tells. */
export const KNOWN_KEY = [...Object.keys(CREDITS), REQUEST_ID]

export function headers(...names: readonly string[]): Record<string, Reference> {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The headers that a request may have beside its key. */
export const REQUEST_HEADERS: Record<string, ParameterObject> = {
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'ETags of answers that the caller still has, or *. When one of them is the answer, it is 304 and free.',
    schema: TEXT,
  },
  IdempotencyKey: {
    name: IDEMPOTENCY_KEY,
    in: 'header',
    description: `The caller's own name for this request: the same question under the same name is free for ${REPEAT_MS / HOUR_MS} hours, another one is refused (when it would be charged: after 403 and 404).`,
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  },
}

export const REQUEST_HEADER_REFS: readonly Reference[] = Object.keys(REQUEST_HEADERS).map(name => ({
  $ref: `#/components/parameters/${name}`,
}))

function creditHeaderObjects(): Record<string, HeaderObject> {
  return Object.fromEntries(
    (Object.keys(CREDITS) as (keyof CreditHeaders)[]).map(name => {
      const isTime = name.endsWith('Reset')
      const example = isTime ? SHOWN[name] : Number(SHOWN[name])
      return [name, { description: CREDITS[name], schema: isTime ? TIME : COUNT, example }]
    }),
  )
}
