import { type Headers, headerText, moment } from './credits.js'

/** The n-th wait (1, 2 …) is a random part of this, doubled each time (full jitter), so that callers do not come in step. */
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 8_000

/** Timers are rounded to milliseconds on both sides; a wait that was asked for is never shorter than it. */
const ROUNDING_MS = 5

/** @param random in [0, 1) */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1))
}

/**
 * How long a server asks to be left alone, in milliseconds: by Retry-After, in seconds or as a date, otherwise by the
 * moment at which the body says that there are new credits. null where it asks for nothing that can be obeyed: no number,
 * no date of HTTP, or one that is past. Dates are counted from the server's own clock where it tells the time.
 */
export function askedWait(headers: Headers, reset: unknown, now: number): number | null {
  const told = headers['retry-after']
  const clock = httpDate(headerText(headers, 'Date')) ?? now
  const waits = [told ?? []].flat().map(text => wait(text, clock))
  const asked = Math.max(...waits, Number.NEGATIVE_INFINITY)
  if (asked > 0) return asked + ROUNDING_MS
  const moments = moment(reset)
  const left = moments === null ? 0 : Date.parse(moments) - clock
  return left > 0 ? left + ROUNDING_MS : null
}

function wait(text: string, clock: number): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = httpDate(text)
  return date === null ? Number.NEGATIVE_INFINITY : date - clock
}

/** The one form of dates that HTTP has senders use; others are read differently by everyone. */
export function httpDate(text: string | null): number | null {
  if (text === null || !/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return null
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : time
}

/** The moment after a wait, to the second and rounded up; null where there is no such date. */
export function momentAfter(now: number, wait: number): string | null {
  const at = new Date(Math.ceil((now + wait) / 1000) * 1000)
  return Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9999 ? null : at.toISOString().replace('.000', '')
}
