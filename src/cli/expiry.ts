import { DAY_MS, HOUR_MS } from '../accounts/periods.js'
import { InvalidParameter, quoted } from '../errors.js'
import { parseDay } from '../model/day.js'

/** `90` → that many days from now; `2027-03-31` → the end of that day in UTC. Throws InvalidParameter. */
export function expiryValue(text: string, now: Date): Date {
  const days = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN
  if (days <= LONGEST_DAYS) return new Date(now.getTime() + days * DAY_MS)
  const day = parseDay(text)
  const allowed = `a number of days from 1 to ${LONGEST_DAYS}, or a date to come as YYYY-MM-DD`
  if (day !== null && (day + 1) * DAY_MS > now.getTime()) return new Date((day + 1) * DAY_MS)
  throw new InvalidParameter(`expires ${quoted(text)} is not ${allowed}.`, { param: 'expires', value: text, allowed })
}

const LONGEST_DAYS = 3_650

/** `0`, `12h`, `7d` → milliseconds. Throws InvalidParameter. */
export function graceValue(text: string): number {
  const [, number, unit] = /^(0|[1-9]\d{0,2})([hd]?)$/.exec(text) ?? []
  const length = Number(number) * (unit === 'h' ? HOUR_MS : DAY_MS)
  if (length <= LONGEST_GRACE && (unit !== '' || length === 0)) return length
  const allowed = 'a time from 0 to 7d, such as 12h or 2d'
  const suggestions = unit === '' && length <= LONGEST_GRACE ? [`${text}d`] : []
  throw new InvalidParameter(`grace ${quoted(text)} is not ${allowed}.`, {
    param: 'grace',
    value: text,
    allowed,
    suggestions,
  })
}

const LONGEST_GRACE = 7 * DAY_MS
