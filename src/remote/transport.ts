import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { RateLimited, Unauthorized, Unavailable, Upstream } from '../errors/service.js'
import { ConfigError, InvalidParameter } from '../errors.js'
import { IDEMPOTENCY_KEY } from '../wire/headers.js'
import { type Address, addressOf } from './address.js'
import type { Answer } from './answer.js'
import { attempt, type Tried } from './attempt.js'
import { type Credits, creditsOf, type Headers, headerText } from './credits.js'
import { Deadline } from './deadline.js'
import { DEFAULT_RETRIES, DEFAULT_TIMEOUT_MS } from './defaults.js'
import { repeatable } from './discretion.js'
import { type Connections, connectionsTo } from './dispatcher.js'
import { Gate } from './gate.js'
import { askedWait, backoff, httpDate, momentAfter } from './patience.js'
import { bodyOf, refusalOf } from './refusal.js'

export interface TransportOptions {
  /** What the paths of the specification are relative to: https, or plain http to this machine. */
  url: string
  /** Sent as a bearer token to that address and nowhere else; never told again. */
  key: string
  /** For one question, with all its attempts, waits and bodies; 30 seconds unless given. */
  timeoutMs?: number
  /** Attempts after the first; 3 unless given. */
  retries?: number
  /** Sends the key over plain http to another machine, where everyone on the way can read it. */
  allowPlainHttp?: boolean
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up; that of the process unless given. */
  env?: NodeJS.ProcessEnv
  /** Chance, waiting and time, for tests. */
  lent?: Partial<Lent>
}

interface Lent {
  /** In [0, 1). */
  random(): number
  /** Rejects when the signal says so. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** Questions under way at once: enough to hide the latency of a server, few enough not to trip its limits. */
const WIDTH = 4
const CONNECT_MS = 5_000

/** In milliseconds, before the next attempt. `asked`: by the server, so that nothing may be sent before. */
interface Wait {
  ms: number
  asked: boolean
}

/** Asks one server over HTTP, patiently and with one key. Everything it throws is safe to be shown. */
export class Transport {
  readonly address: Address
  /** What the newest answer told; null while none has. */
  credits: Credits | null = null
  /** By how many milliseconds its clock is ahead of ours, to about a second; null while it has not told the time. */
  ahead: number | null = null
  readonly #key: string
  readonly #timeoutMs: number
  readonly #attempts: number
  readonly #lent: Lent
  readonly #gate = new Gate(WIDTH, concernsAll)
  readonly #connections: Connections
  /** By URL, of questions that may have been charged in vain: asked again under the same name, they cost nothing. */
  readonly #ids = new Map<string, string>()
  /** On the clock of `performance`: before this the server wants to hear nothing, whatever the question. */
  #quietUntil = 0

  /** Throws InvalidParameter for an address that cannot be used, ConfigError for a key that cannot be one. */
  constructor({ url, key, timeoutMs, retries, allowPlainHttp, env, lent }: TransportOptions) {
    this.address = addressOf(url, { allowPlainHttp: allowPlainHttp ?? false })
    if (typeof key !== 'string' || !/^[\x21-\x7e]{1,512}$/.test(key))
      throw new ConfigError('the API key is empty, too long, or has characters that no key has.')
    this.#key = key
    this.#timeoutMs = checkedNumber('timeoutMs', timeoutMs ?? DEFAULT_TIMEOUT_MS, 1)
    this.#attempts = 1 + checkedNumber('retries', retries ?? DEFAULT_RETRIES, 0)
    this.#lent = { random: Math.random, sleep, now: Date.now, ...lent }
    this.#connections = connectionsTo(this.address, {
      env: env ?? process.env,
      connections: WIDTH,
      connectMs: CONNECT_MS,
    })
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
      return await this.#gate.pass(ending => this.#patiently({ url, id: name, etag }, ending))
    } catch (error) {
      // It may have been answered, and charged, though the answer has not arrived.
      if (error instanceof Upstream) this.#ids.set(url, name)
      throw error
    }
  }

  /** What a server says, as it may be repeated. */
  repeat(text: string): string {
    return repeatable(text, this.#key)
  }

  async close(): Promise<void> {
    await this.#connections.close()
  }

  async #patiently(asked: Omit<Question, 'deadline'>, ending: AbortSignal): Promise<Answer> {
    const deadline = new Deadline(this.#timeoutMs)
    const question = { ...asked, deadline }
    try {
      let pause = this.#quiet
      for (let attempt = 1; ; attempt++) {
        if (pause > 0) await this.#lent.sleep(pause, AbortSignal.any([deadline.signal, ending])).catch(() => {})
        ending.throwIfAborted()
        const tried = await this.#try(question)
        const wait = deadline.over ? null : this.#waitAfter(tried, attempt)
        if (wait === null || wait.ms >= deadline.left || attempt === this.#attempts)
          return this.#outcome(tried, question, attempt, wait)
        if (wait.asked) this.#quietUntil = performance.now() + wait.ms
        pause = wait.ms
      }
    } finally {
      deadline.end()
    }
  }

  /** How long the server wants to hear nothing yet, in milliseconds; below 0 once that is over. */
  get #quiet(): number {
    return this.#quietUntil - performance.now()
  }

  /** null: this is the last word. */
  #waitAfter(tried: Tried, attempt: number): Wait | null {
    const own = { ms: Math.max(backoff(attempt, this.#lent.random), this.#quiet), asked: false }
    if ('failure' in tried) return tried.failure.again ? own : null
    const { status, headers, document } = tried.answer
    if (status !== 429 && (status < 500 || status === 501)) return null
    const ms = askedWait(headers, bodyOf(document).reset, this.#lent.now())
    return ms === null ? own : { ms: Math.max(ms, this.#quiet), asked: true }
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
    const again = wait?.asked ? momentAfter(this.#lent.now(), wait.ms) : null
    throw refusalOf(answer, { base, url, again, repeat: text => this.repeat(text) })
  }

  async #try({ url, id, etag, deadline }: Question): Promise<Tried> {
    const headers = {
      authorization: `Bearer ${this.#key}`,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'bands',
      [IDEMPOTENCY_KEY]: id,
      ...(etag === null ? {} : { 'if-none-match': etag }),
    }
    const tried = await attempt(url, headers, { dispatcher: this.#connections.dispatcher, deadline })
    if ('failure' in tried) return { failure: { ...tried.failure, what: this.repeat(tried.failure.what) } }
    this.credits = creditsOf(tried.answer.headers) ?? this.credits
    this.ahead = aheadOf(tried.answer.headers, this.#lent.now()) ?? this.ahead
    return tried
  }
}

interface Question {
  url: string
  /** The same in every attempt, so that a server charges it once. */
  id: string
  etag: string | null
  deadline: Deadline
}

/** How a question is known to the server, and what it has answered before. */
export interface Named {
  id?: string
  etag?: string | null
}

/** The longest that a timer of node waits, about 25 days; more attempts than that nobody makes. */
const MOST = 2 ** 31 - 1

function checkedNumber(param: string, value: number, least: number): number {
  if (Number.isInteger(value) && value >= least && value <= MOST) return value
  const allowed = `an integer from ${least} to ${MOST}`
  throw new InvalidParameter(`${param} ${String(value)} is not ${allowed}.`, { param, value, allowed })
}

function aheadOf(headers: Headers, now: number): number | null {
  const told = httpDate(headerText(headers, 'Date'))
  return told === null ? null : told - now
}

/** Whoever asks with the same key would hear the same. */
function concernsAll(error: unknown): boolean {
  return error instanceof Unauthorized || error instanceof RateLimited || error instanceof Unavailable
}

async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal })
}
