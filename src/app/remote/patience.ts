import { printable } from '../../core/errors.js'
import { type Headers, headerText, utcMoment } from './answer.js'

/** Milliseconds before the next attempt. `demanded`: the server demands this pause. */
export interface Wait {
  ms: number
  demanded: boolean
}

/** How often and how long a server is asked for one answer: queries, vendors and webhooks wait alike. */
export interface RetryRules<Outcome> {
  maxAttempts: number
  deadline: Deadline
  /** Stops the waiting; its reason is thrown. */
  stopSignal?: AbortSignal
  /** Milliseconds before the first attempt. */
  firstWaitMs?: number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** The wait after an attempt; null if the attempt is final. */
  waitAfter(outcome: Outcome, attemptNumber: number): Wait | null
  /** Called with a pause that the server demands of everyone. */
  onDemand?(ms: number): void
}

/**
 * Tries until an answer is final, the attempts are used up, or the next wait is longer than the time left. Returns the
 * outcome of the last attempt, the number of attempts, and the wait that another one would need; null if there is none.
 */
export async function tryUntilFinal<Outcome>(
  tryOnce: () => Promise<Outcome>,
  { maxAttempts, deadline, stopSignal, firstWaitMs = 0, sleep, waitAfter, onDemand }: RetryRules<Outcome>,
): Promise<{ outcome: Outcome; attempts: number; wait: Wait | null }> {
  const signal = stopSignal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, stopSignal])
  let pause = firstWaitMs
  for (let attemptNumber = 1; ; attemptNumber++) {
    if (pause > 0) await sleep(pause, signal).catch(() => {})
    stopSignal?.throwIfAborted()
    const outcome = await tryOnce()
    const wait = deadline.isOver ? null : waitAfter(outcome, attemptNumber)
    if (wait === null || wait.ms >= deadline.leftMs || attemptNumber === maxAttempts)
      return { outcome, attempts: attemptNumber, wait }
    if (wait.demanded) onDemand?.(wait.ms)
    pause = wait.ms
  }
}

/** Whether an answer with this status may be another one later. */
export function isTemporary(status: number): boolean {
  return status === 429 || (status >= 500 && status !== 501)
}

/** How long a server may take until the headers of an answer, and between two pieces of its body. */
export const SILENCE_MS = 10_000

/** The end of all attempts at one question, some milliseconds from now. */
export class Deadline {
  readonly signal: AbortSignal
  readonly #at: number
  readonly #passed: Promise<never>

  constructor(ms: number) {
    this.#at = performance.now() + ms
    this.signal = AbortSignal.timeout(ms)
    this.#passed = new Promise((_, reject) => this.signal.addEventListener('abort', () => reject(this.signal.reason)))
    this.#passed.catch(() => {})
  }

  get isOver(): boolean {
    return this.signal.aborted
  }

  get leftMs(): number {
    return this.#at - performance.now()
  }

  /** The result of some work, or a rejection at the deadline: for work that may ignore the signal. */
  untilDeadline<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([work, this.#passed])
  }
}

/** The n-th wait (1, 2 …) is a random part of this, doubled each time, so that callers do not come in step. */
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 8_000

/** Timers round to milliseconds on both sides; a wait must never be shorter than the requested one. */
const ROUNDING_MS = 5

/** Milliseconds to wait after the n-th attempt. @param random in [0, 1) */
export function backoff(attemptNumber: number, random: () => number): number {
  return random() * Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attemptNumber - 1))
}

/**
 * How long a server wants no requests, in milliseconds. Retry-After counts first, in seconds or as a date; then
 * `reset`. null for a missing, invalid or past value. Dates are compared with the server's own clock, or with `now` if
 * it is unknown.
 * @param reset the time of new credits in the body, such as 2026-03-24T00:00:00Z; any other value does not count
 */
export function retryAfter(headers: Headers, reset: unknown, now: number): number | null {
  // A header that was sent several times is a list.
  const values = [headers['retry-after'] ?? []].flat()
  const serverTime = httpDate(headerText(headers, 'Date')) ?? now
  const waits = values.map(text => waitOfText(text, serverTime))
  const longest = Math.max(...waits, Number.NEGATIVE_INFINITY)
  if (longest > 0) return longest + ROUNDING_MS
  const resetTime = utcMoment(reset)
  const untilReset = resetTime === null ? 0 : Date.parse(resetTime) - serverTime
  return untilReset > 0 ? untilReset + ROUNDING_MS : null
}

/** The milliseconds from `now` that a Retry-After header demands; negative infinity if it is unreadable. */
function waitOfText(text: string, now: number): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  const date = httpDate(text)
  return date === null ? Number.NEGATIVE_INFINITY : date - now
}

/** A date such as `Tue, 24 Mar 2026 00:00:00 GMT` in milliseconds since 1970; null for any other form. */
export function httpDate(text: string | null): number | null {
  if (text === null || !/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text)) return null
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : time
}

/** The moment after a wait, rounded up to the second: `2026-03-24T00:00:00Z`. null beyond the year 9999. */
export function momentAfter(now: number, waitMs: number): string | null {
  const moment = new Date(Math.ceil((now + waitMs) / 1000) * 1000)
  if (Number.isNaN(moment.getTime()) || moment.getUTCFullYear() > 9999) return null
  return moment.toISOString().replace('.000', '')
}

/** Enough for a list of all fields and bands. */
const MAX_CHARACTERS = 2000

/**
 * Text of a server or network library, safe to repeat. It has no key and no characters that control a terminal or the
 * direction of text, and is cut when long.
 */
export function safeToRepeat(text: string, key: string): string {
  const spellings = key.length < MIN_KEY_LENGTH ? [] : [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)]
  // The key is masked before anything is cut, because half a key would not be found.
  const withoutKey = spellings.reduce((result, spelling) => result.replaceAll(spelling, KEY_MASK), text)
  // A character takes one or two units of a string.
  const characters = [...withoutKey.slice(0, 2 * MAX_CHARACTERS + 2)]
  const cut = characters.length > MAX_CHARACTERS ? `${characters.slice(0, MAX_CHARACTERS).join('')}…` : withoutKey
  return printable(cut).replaceAll('\n', '\\u000a')
}

/** A shorter key is part of ordinary words, and not masked. */
const MIN_KEY_LENGTH = 4
const KEY_MASK = '****'
