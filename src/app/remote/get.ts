import { request } from 'undici'
import type { Address } from './address.js'
import type { Headers } from './answer.js'
import { type Connections, connectionsTo, type Failure, failureOf } from './dispatcher.js'
import { backoff, Deadline, isTemporary, retryAfter, tryUntilFinal, type Wait } from './patience.js'

/** One answer to a GET, as it came. */
export interface Page {
  status: number
  headers: Headers
  text: string
}

/** The outcome of one attempt: an answer, or why there is none. */
export type Attempt = Page | { failure: Failure }

/** Chance, waiting and time; a test replaces them. */
export interface GetHooks {
  /** In [0, 1). */
  random(): number
  sleep(ms: number): Promise<void>
  /** Milliseconds since 1970, UTC. */
  now(): number
}

export interface GetOptions {
  headers: Readonly<Record<string, string>>
  /** Called before every attempt: it waits for the pace of the vendor. */
  waitForTurn(): Promise<void>
  /** The status that a vendor writes into the body of a refusal with 200; 200 for any other body. */
  statusOf(page: Page): number
  /** The name of the header with the time from which on calls are allowed again, in seconds since 1970. */
  reset?: string | undefined
  /** For one attempt, in milliseconds. */
  timeoutMs: number
}

/** Limits for one answer: the attempts, and the time for them and their waits. */
const MAX_ATTEMPTS = 5
const MAX_TOTAL_MS = 15 * 60_000

/** GETs of one address with retries. A redirect is not followed: a key must not reach another server. */
export class Getter {
  readonly #connections: Connections
  readonly #hooks: GetHooks

  constructor(address: Address, env: NodeJS.ProcessEnv, hooks: GetHooks) {
    this.#connections = connectionsTo(address, env)
    this.#hooks = hooks
  }

  /**
   * Tries until an answer is final. Returns the outcome of the last attempt, its status judged by `options.statusOf`,
   * and the wait that another attempt would need; null if there is none. Never throws.
   */
  async get(url: string, options: GetOptions): Promise<{ outcome: Attempt; wait: Wait | null }> {
    return tryUntilFinal(
      async () => {
        await options.waitForTurn()
        return this.#tryOnce(url, options)
      },
      {
        maxAttempts: MAX_ATTEMPTS,
        deadline: new Deadline(MAX_TOTAL_MS),
        sleep: this.#hooks.sleep,
        waitAfter: (outcome, attemptNumber) => this.#waitAfter(outcome, attemptNumber, options),
      },
    )
  }

  async close(): Promise<void> {
    await this.#connections.close()
  }

  /** Sends one request. Returns a failure instead of throwing. */
  async #tryOnce(url: string, { headers, timeoutMs, statusOf }: GetOptions): Promise<Attempt> {
    const { dispatcher } = this.#connections
    const deadline = new Deadline(timeoutMs)
    try {
      const response = request(url, { dispatcher, headers, signal: deadline.signal })
      // While it connects, undici does not heed the signal.
      const { statusCode, headers: received, body } = await deadline.untilDeadline(response)
      const page = { status: statusCode, headers: received, text: await body.text() }
      return { ...page, status: statusCode === 200 ? statusOf(page) : statusCode }
    } catch (thrown) {
      return { failure: deadline.isOver ? { what: 'takes too long to answer', canRetry: true } : failureOf(thrown) }
    }
  }

  /** The wait before the next attempt; null if this one is final. */
  #waitAfter(outcome: Attempt, attemptNumber: number, { reset }: GetOptions): Wait | null {
    const ownWait = { ms: backoff(attemptNumber, this.#hooks.random), demanded: false }
    if ('failure' in outcome) return outcome.failure.canRetry ? ownWait : null
    const { status, headers } = outcome
    if (!isTemporary(status)) return null
    const now = this.#hooks.now()
    const ms = retryAfter(headers, undefined, now) ?? msUntilReset(headers, reset, now)
    return ms === null ? ownWait : { ms, demanded: true }
  }
}

/** Milliseconds until the time in a header of the vendor, which has seconds since 1970; null if missing or past. */
function msUntilReset(headers: Headers, name: string | undefined, now: number): number | null {
  if (name === undefined) return null
  const resetMs = Number(headers[name]) * 1000
  return resetMs > now ? resetMs - now : null
}
