import type { Used } from '../accounts/accounts.js'
import { DAY_MS, dayStart, HOUR_MS, hourStart } from '../accounts/periods.js'
import { RateLimited } from '../errors/service.js'
import type { CreditHeaders } from '../wire/headers.js'
import type { HeaderList } from './exchange.js'
import type { CreditLimits } from './options.js'

/** What an answer tells of the caller's credits. `used` may be above a limit that was lowered since. */
export function creditHeaders(limits: CreditLimits, used: Used, at: number): CreditHeaders {
  return {
    'X-Request-Limit': String(limits.day),
    'X-Requests-Used': String(used.day),
    'X-Requests-Remaining': String(Math.max(0, limits.day - used.day)),
    'X-Request-Reset': utc(dayStart(at) + DAY_MS),
    'X-Hourly-Request-Limit': String(limits.hour),
    'X-Hourly-Requests-Used': String(used.hour),
    'X-Hourly-Requests-Remaining': String(Math.max(0, limits.hour - used.hour)),
    'X-Hourly-Request-Reset': utc(hourStart(at) + HOUR_MS),
  }
}

/** The same as it is sent. */
export function listed(told: CreditHeaders): HeaderList {
  const list: string[] = []
  for (const name of NAMES) list.push(name, told[name])
  return list
}

const NAMES = [
  'X-Request-Limit',
  'X-Requests-Used',
  'X-Requests-Remaining',
  'X-Request-Reset',
  'X-Hourly-Request-Limit',
  'X-Hourly-Requests-Used',
  'X-Hourly-Requests-Remaining',
  'X-Hourly-Request-Reset',
] as const satisfies readonly (keyof CreditHeaders)[]

/** Why an answer was not given; the limit that is told is the one that lasts longer. */
export function limited(limits: CreditLimits, used: Used, credits: number, at: number): RateLimited {
  const ofDay = used.day + credits > limits.day
  const [period, limit, spent] = ofDay ? ['day', limits.day, used.day] : ['hour', limits.hour, used.hour]
  const reset = utc(ofDay ? dayStart(at) + DAY_MS : hourStart(at) + HOUR_MS)
  const cost = credits === 1 ? '1 credit' : `${credits} credits`
  const message = `This costs ${cost}, and ${spent} of the ${limit} of the ${period} are used; there are new ones at ${reset}.`
  return new RateLimited(message, reset)
}

/** Asked for at every answer, and the same for an hour. */
const spelled = new Map<number, string>()

/** 2026-03-24T00:00:00Z */
function utc(at: number): string {
  let text = spelled.get(at)
  if (text === undefined) {
    if (spelled.size > 100) spelled.clear()
    text = new Date(at).toISOString().replace('.000Z', 'Z')
    spelled.set(at, text)
  }
  return text
}
