import { printable } from '../../core/errors.js'
import { type Headers, headerText, utcMoment } from './answer.js'

/** How often and how long a server is asked for one answer. Queries, vendors and webhooks wait alike. */

/** Milliseconds before the next attempt. `demanded`: the server demands this pause. */
export interface Wait {
  ms: number
  demanded: boolean
}

/** What decides between one attempt and the next. */
export interface Patience<Tried> {
  attempts: number
  deadline: Deadline
  /** Ends the waiting; its reason is thrown. */
  ending?: AbortSignal
  /** Milliseconds before the first attempt. */
  first?: number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** null: this is the last word. */
  waitAfter(tried: Tried, attempt: number): Wait | null
  /** Called with a pause that the server demands of everyone. */
  onDemand?(ms: number): void
}

/**
 * Tries until an answer is final, the attempts are used up, or the next wait is longer than the time left. Returns the
 * last attempt, its number, and the wait that was still needed.
 */
export async function patiently<Tried>(
  once: () => Promise<Tried>,
  { attempts, deadline, ending, first = 0, sleep, waitAfter, onDemand }: Patience<Tried>,
): Promise<{ tried: Tried; attempt: number; wait: Wait | null }> {
  const signal = ending === undefined ? deadline.signal : AbortSignal.any([deadline.signal, ending])
  let pause = first
  for (let attempt = 1; ; attempt++) {
    if (pause > 0) await sleep(pause, signal).catch(() => {})
    ending?.throwIfAborted()
    const tried = await once()
    const wait = deadline.over ? null : waitAfter(tried, attempt)
    if (wait === null || wait.ms >= deadline.left || attempt === attempts) return { tried, attempt, wait }
    if (wait.demanded) onDemand?.(wait.ms)
    pause = wait.ms
  }
}

/** Until the headers of an answer, and between two pieces of its body. */
export const SILENCE_MS = 10_000

/** The end of all attempts at one question, beginning now. */
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

  get over(): boolean {
    return this.signal.aborted
  }

  get left(): number {
    return this.#at - performance.now()
  }

  /** The result of some work, or a rejection at the deadline: for work that may ignore the signal. */
  bound<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([work, this.#passed])
  }
}

/** The n-th wait (1, 2 …) is a random part of this, doubled each time (full jitter), so that callers do not come in step. */
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 8_000

/** Timers round to milliseconds on both sides; a wait must never be shorter than the requested one. */
const ROUNDING_MS = 5

/** @param random in [0, 1) */
export function backoff(attempt: number, random: () => number): number {
  return random() * Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempt - 1))
}

/**
 * How long a server wants no requests, in milliseconds. Retry-After counts first, in seconds or as a date; then the
 * time of new credits in the body. null for a missing, invalid or past value. Dates are compared with the server's own
 * clock, if known.
 */
export function retryAfter(headers: Headers, reset: unknown, now: number): number | null {
  const value = headers['retry-after']
  const clock = httpDate(headerText(headers, 'Date')) ?? now
  const waits = [value ?? []].flat().map(text => wait(text, clock))
  const longest = Math.max(...waits, Number.NEGATIVE_INFINITY)
  if (longest > 0) return longest + ROUNDING_MS
  const moments = utcMoment(reset)
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

/** In characters; enough for a list of all fields and bands. */
const LONGEST = 2000

/**
 * Text of a server or network library, safe to repeat. It has no key and no characters that control a terminal or the
 * direction of text, and is cut when long.
 */
export function repeatable(text: string, key: string): string {
  const spellings = key.length < SHORTEST ? [] : [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)]
  // Before anything is cut: half a key would not be found.
  const discreet = spellings.reduce((said, spelling) => said.replaceAll(spelling, HIDDEN), text)
  // No sign takes more than two units.
  const signs = [...discreet.slice(0, 2 * LONGEST + 2)]
  const cut = signs.length > LONGEST ? `${signs.slice(0, LONGEST).join('')}…` : discreet
  return printable(cut).replaceAll('\n', '\\u000a')
}

/** Anything shorter is part of ordinary words. */
const SHORTEST = 4
const HIDDEN = '****'
