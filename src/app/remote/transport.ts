import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import {
  ConfigError,
  describeValue,
  RateLimited,
  Unauthorized,
  Unavailable,
  Upstream,
  wrong,
} from '../../core/errors.js'
import { IDEMPOTENCY_KEY } from '../../server/wire/format.js'
import { type Address, addressOf, DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS } from './address.js'
import {
  type Answer,
  type Credits,
  creditsOf,
  errorFromAnswer,
  errorMembers,
  type Headers,
  headerText,
  readDocument,
} from './answer.js'
import { type Connections, connectionsTo, type Failure, failureOf, MAX_CONNECTIONS } from './dispatcher.js'
import type { GetHooks } from './get.js'
import {
  backoff,
  Deadline,
  httpDate,
  isTemporary,
  momentAfter,
  retryAfter,
  SILENCE_MS,
  safeToRepeat,
  tryUntilFinal,
  type Wait,
} from './patience.js'

export interface TransportOptions {
  /** Base URL of the specified paths: https, or http to this machine. */
  url: string
  /** Sent as a bearer token to that address only; never shown. */
  key: string
  /** For one question, including all attempts, waits and bodies (default 30 seconds). */
  timeoutMs?: number
  /** Attempts after the first (default 3). */
  retries?: number
  /** Sends the key over plain http to another machine, where everyone on the way can read it. */
  allowPlainHttp?: boolean
  /** Source of HTTPS_PROXY, HTTP_PROXY and NO_PROXY (default: the process environment). */
  env?: Readonly<Record<string, string | undefined>>
  /** Chance, waiting and time, for tests. @internal */
  hooks?: Partial<TestHooks>
}

interface TestHooks extends Pick<GetHooks, 'random' | 'now'> {
  /** Rejects when the signal says so. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Queries one server over HTTP with one key and with retries. All its errors are safe to show. */
export class Transport {
  readonly address: Address
  /** From the newest answer; null before the first. */
  credits: Credits | null = null
  /** How many milliseconds its clock is ahead of ours, to about a second; null if unknown. */
  ahead: number | null = null
  readonly #key: string
  readonly #timeoutMs: number
  readonly #maxAttempts: number
  readonly #hooks: TestHooks
  readonly #connections: Connections
  /** By URL: names of questions that may have been charged without an answer. A retry under the same name is free. */
  readonly #unansweredIds = new Map<string, string>()
  /** Running questions, and those that wait in line. */
  #runningTasks = 0
  readonly #waiting: (() => void)[] = []
  /** Aborted by an error that concerns all running tasks; its reason is that error. */
  #stopAll = new AbortController()
  /** On the clock of `performance`: the server wants no request before this time. */
  #quietUntil = 0

  /** Throws InvalidParameter for an address that cannot be used, ConfigError for a key that cannot be one. */
  constructor({ url, key, timeoutMs, retries, allowPlainHttp = false, env = process.env, hooks }: TransportOptions) {
    this.address = addressOf(url, { allowPlainHttp })
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,512}$/.test(key))
      throw new ConfigError('the API key is empty, too long, or has characters that no key has.')
    this.#key = key
    this.#timeoutMs = integerInRange('timeoutMs', timeoutMs ?? DEFAULT_TIMEOUT_MS, 1)
    this.#maxAttempts = 1 + integerInRange('retries', retries ?? DEFAULT_RETRIES, 0)
    this.#hooks = {
      random: Math.random,
      sleep: (ms, signal) => pause(ms, undefined, { signal }),
      now: Date.now,
      ...hooks,
    }
    this.#connections = connectionsTo(this.address, env)
  }

  /**
   * Sends a GET. Returns an answer 200, or 304 if the answer with this ETag is unchanged. Throws the error of the
   * server's refusal, or Upstream.
   */
  async ask(path: string, params: URLSearchParams, { id, etag = null }: RequestName = {}): Promise<Answer> {
    const url = `${this.address.base}${path}${params.size === 0 ? '' : `?${params}`}`
    const requestId = id ?? this.#unansweredIds.get(url) ?? randomUUID()
    this.#unansweredIds.delete(url)
    try {
      return await this.#runInTurn(stopSignal => this.#askWithRetries({ url, id: requestId, etag }, stopSignal))
    } catch (error) {
      // The server may have charged an answer that has not arrived.
      if (error instanceof Upstream) this.#unansweredIds.set(url, requestId)
      throw error
    }
  }

  /** A text of the server that is safe to show: without the key and control characters. */
  safeText(text: string): string {
    return safeToRepeat(text, this.#key)
  }

  async close(): Promise<void> {
    await this.#connections.close()
  }

  /**
   * Runs a task once fewer than MAX_CONNECTIONS are running. An error such as a refused key ends all running and
   * waiting tasks; tasks that come later run.
   * @param task gets a signal that stops its waiting; the signal's reason is the error of another task
   */
  async #runInTurn<Result>(task: (stopSignal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal } = this.#stopAll
    while (this.#runningTasks === MAX_CONNECTIONS) await new Promise<void>(enter => this.#waiting.push(enter))
    this.#runningTasks++
    try {
      signal.throwIfAborted()
      return await task(signal)
    } catch (error) {
      if (concernsAll(error) && !signal.aborted) {
        this.#stopAll.abort(error)
        this.#stopAll = new AbortController()
      }
      throw error
    } finally {
      this.#runningTasks--
      this.#waiting.shift()?.()
    }
  }

  /** Asks until an answer is final or the deadline passes. @param stopSignal stops the waiting; its reason is thrown */
  async #askWithRetries(query: Omit<Question, 'deadline'>, stopSignal: AbortSignal): Promise<Answer> {
    const deadline = new Deadline(this.#timeoutMs)
    const question = { ...query, deadline }
    const { outcome, attempts, wait } = await tryUntilFinal(() => this.#tryOnce(question), {
      maxAttempts: this.#maxAttempts,
      deadline,
      stopSignal,
      sleep: this.#hooks.sleep,
      firstWaitMs: this.#quietMs,
      waitAfter: (outcome, attemptNumber) => this.#waitAfter(outcome, attemptNumber),
      onDemand: ms => {
        this.#quietUntil = performance.now() + ms
      },
    })
    return this.#answerOrThrow(outcome, question, attempts, wait)
  }

  /** Remaining time without requests, in milliseconds; below 0 once it is over. */
  get #quietMs(): number {
    return this.#quietUntil - performance.now()
  }

  /** The wait before the next attempt; null if the attempt is final. */
  #waitAfter(outcome: Attempt, attemptNumber: number): Wait | null {
    const ownWait = { ms: Math.max(backoff(attemptNumber, this.#hooks.random), this.#quietMs), demanded: false }
    if ('failure' in outcome) return outcome.failure.canRetry ? ownWait : null
    const { status, headers, document } = outcome.answer
    if (!isTemporary(status)) return null
    const ms = retryAfter(headers, errorMembers(document).reset, this.#hooks.now())
    return ms === null ? ownWait : { ms: Math.max(ms, this.#quietMs), demanded: true }
  }

  /**
   * Returns the answer of the last attempt, or throws the error that its status or failure means.
   * @param wait the wait that another attempt would need; null if the last one is final
   */
  #answerOrThrow(outcome: Attempt, { url, etag, deadline }: Question, attempts: number, wait: Wait | null): Answer {
    const { base } = this.address
    if ('failure' in outcome) {
      const what = deadline.isOver ? `did not answer within ${this.#timeoutMs / 1000} s` : outcome.failure.what
      const times = attempts === 1 ? '' : ` (asked ${attempts} times)`
      throw new Upstream(`${base} ${what}${times}.`, url)
    }
    const { answer } = outcome
    if (answer.status === 200 && answer.fault === null) return answer
    if (answer.status === 304 && etag !== null) return answer
    if (answer.status === 200) throw new Upstream(this.safeText(`${base} ${answer.fault}.`), url, 200)
    const retryAt = wait?.demanded ? momentAfter(this.#hooks.now(), wait.ms) : null
    throw errorFromAnswer(answer, retryAt)
  }

  /** Sends one request, and waits until its answer is whole or the deadline passes. Never throws. */
  async #tryOnce({ url, id, etag, deadline }: Question): Promise<Attempt> {
    const { dispatcher } = this.#connections
    const headers = {
      authorization: `Bearer ${this.#key}`,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'bands',
      [IDEMPOTENCY_KEY]: id,
      ...(etag === null ? {} : { 'if-none-match': etag }),
    }
    try {
      const timeouts = { headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS, signal: deadline.signal }
      const response = request(url, { dispatcher, headers, ...timeouts })
      // While it connects, undici does not heed the signal.
      const { statusCode: status, headers: received, body } = await deadline.untilDeadline(response)
      const reading = body.bytes()
      const isOk = status === 200
      // A refusal counts even if its body cannot be read. The texts of its body are shown only after safeText.
      const bytes = await (isOk ? reading : reading.catch(() => new Uint8Array()))
      this.credits = creditsOf(received) ?? this.credits
      this.ahead = clockDifference(received, this.#hooks.now()) ?? this.ahead
      const { base } = this.address
      const safeText = (text: string): string => this.safeText(text)
      const parsed = readDocument(received, bytes, { mustBeSafe: isOk })
      return { answer: { base, url, safeText, status, headers: received, ...parsed } }
    } catch (thrown) {
      const { what, canRetry } = failureOf(thrown)
      return { failure: { what: this.safeText(what), canRetry } }
    }
  }
}

interface Question {
  url: string
  /** The same in every attempt, so that a server charges it once. */
  id: string
  etag: string | null
  deadline: Deadline
}

/** The name of a question at the server, and the ETag of its earlier answer. */
export interface RequestName {
  id?: string
  etag?: string | null
}

/** The largest value of an option: the longest timer of Node, about 25 days in milliseconds. */
const MAX_OPTION = 2 ** 31 - 1

function integerInRange(param: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least && value <= MAX_OPTION) return value
  const allowed = `an integer from ${least} to ${MAX_OPTION}`
  throw wrong(param, `${param} ${describeValue(value)} is not ${allowed}.`, { value, allowed })
}

/** How many milliseconds a server's clock is ahead of `now`; null without a readable date in the headers. */
function clockDifference(headers: Headers, now: number): number | null {
  const time = httpDate(headerText(headers, 'Date'))
  return time === null ? null : time - now
}

/** Whether other questions with the same key would fail alike. */
function concernsAll(error: unknown): boolean {
  return error instanceof Unauthorized || error instanceof RateLimited || error instanceof Unavailable
}

/** The outcome of one attempt at a question: an answer, or why there is none. */
type Attempt = { answer: Answer } | { failure: Failure }
