import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import {
  ConfigError,
  describeValue,
  printable,
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
  bodyOf,
  type Credits,
  creditsOf,
  type Headers,
  headerText,
  moment,
  readDocument,
  refusalOf,
} from './answer.js'
import { type Connections, connectionsTo, type Failure, failureOf, WIDTH } from './dispatcher.js'

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
  lent?: Partial<TestHooks>
}

interface TestHooks {
  /** In [0, 1). */
  random(): number
  /** Rejects when the signal says so. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** Milliseconds before the next attempt. `demanded`: the server demands this pause. */
interface Wait {
  ms: number
  demanded: boolean
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
  readonly #attempts: number
  readonly #hooks: TestHooks
  readonly #connections: Connections
  /** By URL: names of questions that may have been charged without an answer. A retry under the same name is free. */
  readonly #ids = new Map<string, string>()
  /** Running questions, and those that wait in line. */
  #running = 0
  readonly #line: (() => void)[] = []
  /** Aborted by an error that concerns all callers; its reason is that error. */
  #ending = new AbortController()
  /** On the clock of `performance`: the server wants no request before this time. */
  #quietUntil = 0

  /** Throws InvalidParameter for an address that cannot be used, ConfigError for a key that cannot be one. */
  constructor({ url, key, timeoutMs, retries, allowPlainHttp = false, env = process.env, lent }: TransportOptions) {
    this.address = addressOf(url, { allowPlainHttp })
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,512}$/.test(key))
      throw new ConfigError('the API key is empty, too long, or has characters that no key has.')
    this.#key = key
    this.#timeoutMs = checkedNumber('timeoutMs', timeoutMs ?? DEFAULT_TIMEOUT_MS, 1)
    this.#attempts = 1 + checkedNumber('retries', retries ?? DEFAULT_RETRIES, 0)
    this.#hooks = {
      random: Math.random,
      sleep: (ms, signal) => pause(ms, undefined, { signal }),
      now: Date.now,
      ...lent,
    }
    this.#connections = connectionsTo(this.address, env)
  }

  /**
   * The answer 200 to a GET, or 304 where the answer that a tag names was there already. Throws what the server refused
   * with, or Upstream.
   */
  async ask(path: string, params: URLSearchParams, { id, etag = null }: Named = {}): Promise<Answer> {
    const url = `${this.address.base}${path}${params.size === 0 ? '' : `?${params}`}`
    const name = id ?? this.#ids.get(url) ?? randomUUID()
    this.#ids.delete(url)
    try {
      return await this.#inTurn(ending => this.#patiently({ url, id: name, etag }, ending))
    } catch (error) {
      // It may have been answered, and charged, though the answer has not arrived.
      if (error instanceof Upstream) this.#ids.set(url, name)
      throw error
    }
  }

  /** The server's text, safe to repeat. */
  repeat(text: string): string {
    return repeatable(text, this.#key)
  }

  async close(): Promise<void> {
    await this.#connections.close()
  }

  /**
   * Runs a few tasks at once; the others wait in line. After an error such as a refused key no task starts.
   * @param task gets a signal that ends its waiting; the signal's reason is the error of another task
   */
  async #inTurn<Result>(task: (ending: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal } = this.#ending
    while (this.#running === WIDTH) await new Promise<void>(enter => this.#line.push(enter))
    this.#running++
    try {
      signal.throwIfAborted()
      return await task(signal)
    } catch (error) {
      if (concernsAll(error) && !signal.aborted) {
        this.#ending.abort(error)
        this.#ending = new AbortController()
      }
      throw error
    } finally {
      this.#running--
      this.#line.shift()?.()
    }
  }

  async #patiently(query: Omit<Question, 'deadline'>, ending: AbortSignal): Promise<Answer> {
    const deadline = new Deadline(this.#timeoutMs)
    const question = { ...query, deadline }
    let pause = this.#quiet
    for (let attempt = 1; ; attempt++) {
      if (pause > 0) await this.#hooks.sleep(pause, AbortSignal.any([deadline.signal, ending])).catch(() => {})
      ending.throwIfAborted()
      const tried = await this.#try(question)
      const wait = deadline.over ? null : this.#waitAfter(tried, attempt)
      if (wait === null || wait.ms >= deadline.left || attempt === this.#attempts)
        return this.#outcome(tried, question, attempt, wait)
      if (wait.demanded) this.#quietUntil = performance.now() + wait.ms
      pause = wait.ms
    }
  }

  /** Remaining time without requests, in milliseconds; below 0 once it is over. */
  get #quiet(): number {
    return this.#quietUntil - performance.now()
  }

  /** null: this is the last word. */
  #waitAfter(tried: Tried, attempt: number): Wait | null {
    const own = { ms: Math.max(backoff(attempt, this.#hooks.random), this.#quiet), demanded: false }
    if ('failure' in tried) return tried.failure.again ? own : null
    const { status, headers, document } = tried.answer
    if (status !== 429 && (status < 500 || status === 501)) return null
    const ms = retryAfter(headers, bodyOf(document).reset, this.#hooks.now())
    return ms === null ? own : { ms: Math.max(ms, this.#quiet), demanded: true }
  }

  #outcome(tried: Tried, { url, etag, deadline }: Question, attempt: number, wait: Wait | null): Answer {
    const { base } = this.address
    if ('failure' in tried) {
      const times = attempt === 1 ? '' : ` (asked ${attempt} times)`
      const within = deadline.over ? ` within ${this.#timeoutMs / 1000} s` : ''
      throw new Upstream(`${base} ${deadline.over ? 'did not answer' : tried.failure.what}${within}${times}.`, url)
    }
    const { answer } = tried
    if (answer.status === 200 && answer.fault === null) return answer
    if (answer.status === 304 && etag !== null) return answer
    if (answer.status === 200) throw new Upstream(this.repeat(`${base} ${answer.fault}.`), url, 200)
    const again = wait?.demanded ? momentAfter(this.#hooks.now(), wait.ms) : null
    throw refusalOf(answer, again)
  }

  /** A GET, until its answer is whole or the deadline passes. Never throws. */
  async #try({ url, id, etag, deadline }: Question): Promise<Tried> {
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
      const { signal } = deadline
      const response = request(url, {
        dispatcher,
        headers,
        headersTimeout: SILENCE_MS,
        bodyTimeout: SILENCE_MS,
        signal,
      })
      // While it connects, undici does not heed the signal.
      const { statusCode: status, headers: received, body } = await deadline.bound(response)
      const read = body.bytes()
      const good = status === 200
      // The body of a refusal is useful, but not required.
      const bytes = await (good ? read : read.catch(() => new Uint8Array()))
      this.credits = creditsOf(received) ?? this.credits
      this.ahead = aheadOf(received, this.#hooks.now()) ?? this.ahead
      const { base } = this.address
      const repeat = (text: string): string => this.repeat(text)
      return {
        answer: { base, url, repeat, status, headers: received, ...readDocument(received, bytes, { toShow: good }) },
      }
    } catch (thrown) {
      const { what, again } = failureOf(thrown)
      return { failure: { what: this.repeat(what), again } }
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
export interface Named {
  id?: string
  etag?: string | null
}

/** The longest timer of Node, about 25 days, and more attempts than anyone needs. */
const MOST = 2 ** 31 - 1

function checkedNumber(param: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least && value <= MOST) return value
  const allowed = `an integer from ${least} to ${MOST}`
  throw wrong(param, `${param} ${describeValue(value)} is not ${allowed}.`, { value, allowed })
}

function aheadOf(headers: Headers, now: number): number | null {
  const time = httpDate(headerText(headers, 'Date'))
  return time === null ? null : time - now
}

/** Whether other questions with the same key would fail alike. */
function concernsAll(error: unknown): boolean {
  return error instanceof Unauthorized || error instanceof RateLimited || error instanceof Unavailable
}

/** One attempt at a question: an answer, or why there is none. */
type Tried = { answer: Answer } | { failure: Failure }

/** Until the headers of an answer, and between two pieces of its body. */
const SILENCE_MS = 10_000

/** The end of all attempts at one question, beginning now. */
class Deadline {
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
function httpDate(text: string | null): number | null {
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
function repeatable(text: string, key: string): string {
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
