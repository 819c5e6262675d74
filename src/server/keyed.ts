import type { Used } from '../accounts/accounts.js'
import { MethodNotAllowed } from '../errors/service.js'
import { InvalidParameter, NotFound, quoted } from '../errors.js'
import { type Answer, Answers } from './answers.js'
import { Callers } from './callers.js'
import { matches } from './conditional.js'
import { creditHeaders, limited, listed } from './credits.js'
import type { Caller, Exchange, Outgoing } from './exchange.js'
import { nameTaken, requestName } from './idempotency.js'
import { Meter } from './meter.js'
import type { Metrics } from './metrics.js'
import type { Settings } from './options.js'
import { QUESTIONS, type Question } from './questions.js'
import { ANSWERED, JSON_TYPE } from './reply.js'
import type { Service } from './service.js'

/**
 * What is answered to a valid key alone. Checked in this order: the key, the parameters, the tier, whether there is such
 * a ticker, whether the caller has the answer already; then it is charged, and only then does it leave.
 */
export class Keyed {
  readonly meter: Meter
  readonly #settings: Settings
  readonly #metrics: Metrics
  readonly #answers: Answers
  readonly #callers: Callers

  constructor(service: Service, settings: Settings, metrics: Metrics) {
    this.#settings = settings
    this.#metrics = metrics
    this.#answers = new Answers(service, settings.limits.keptBytes)
    this.#callers = new Callers(service.accounts)
    this.meter = new Meter(service.accounts, (charges, seconds) => metrics.committed(charges, seconds))
  }

  /** The answer to the question that a path asks. Throws what is wrong with it. */
  question(path: string, read: (search: string) => Question): (exchange: Exchange) => Promise<Outgoing> {
    return exchange =>
      this.#forCaller(exchange, async caller => {
        const { search } = exchange
        const name = requestName(exchange.rawHeaders)
        if (exchange.hasBody) throw new InvalidParameter('A question has no body.', { param: 'body' })
        const { answer, kept } = await this.#answers.find(caller.tier, `${path}?${search}`, () => read(search))
        if (matches(exchange.headers['if-none-match'], answer.etag)) {
          this.#metrics.reused('not_modified')
          return { status: 304, headers: answer.headers, body: '' }
        }
        if (kept) this.#metrics.reused('cache')
        await this.#charge(exchange, caller, path, answer, name)
        return { status: 200, headers: ['Content-Type', JSON_TYPE, ...answer.headers], body: answer.body }
      })
  }

  /** Nothing is there, or not for this method. Throws NotFound, MethodNotAllowed. */
  nothing(exchange: Exchange): Promise<Outgoing> {
    const { method, path } = exchange
    return this.#forCaller(exchange, () => {
      if (QUESTIONS.has(path)) throw new MethodNotAllowed(method, path, ANSWERED)
      throw new NotFound(`there is nothing at ${quoted(path)}.`)
    })
  }

  /** Whatever becomes of the request of a known key, the answer tells its credits. Throws Unauthorized. */
  async #forCaller(exchange: Exchange, answer: (caller: Caller) => Promise<Outgoing> | Outgoing): Promise<Outgoing> {
    const { now, credits } = this.#settings
    const caller = await this.#callers.of(exchange.rawHeaders, now())
    exchange.caller = caller
    try {
      return await answer(caller)
    } finally {
      // The answer matters more than what it tells of credits.
      const told = exchange.credits ?? (await this.#creditsOf(caller.account).catch(() => null))
      if (told !== null) exchange.creditHeaders = listed(creditHeaders(credits[caller.tier], told.used, told.at))
    }
  }

  async #creditsOf(account: number): Promise<{ used: Used; at: number }> {
    const at = this.#settings.now()
    return { used: await this.#callers.used(account, at), at }
  }

  /** Throws RateLimited, InvalidParameter, Busy, StorageError. */
  async #charge(
    exchange: Exchange,
    caller: Caller,
    endpoint: string,
    answer: Answer,
    idempotency: Buffer | null,
  ): Promise<void> {
    // What cannot arrive is not charged.
    if (exchange.isGone) return
    const at = this.#settings.now()
    const limits = this.#settings.credits[caller.tier]
    const { account, key, tier } = caller
    const { credits, question } = answer
    const request = { account, key, requestId: exchange.id, idempotency, question, endpoint }
    const { outcome, used } = await this.meter.charge({ ...request, credits, limits, at })
    exchange.credits = { used, at }
    this.#callers.charged(account, used, at)
    if (outcome === 'conflict') throw nameTaken()
    if (outcome === 'limited') {
      this.#metrics.limited(tier)
      throw limited(limits, used, credits, at)
    }
    if (outcome === 'repeated') return
    exchange.charged = credits
    this.#metrics.charged(tier, credits)
  }
}
