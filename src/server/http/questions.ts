import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { type RateLimited, Unauthorized, wrong } from '../../core/errors.js'
import type { Tier } from '../../core/model/terms.js'
import { parametersOf } from '../../core/params/questions.js'
import { readParams } from '../../core/params/row.js'
import {
  type Accounts,
  type Charge,
  dayStart,
  hourStart,
  type KeyEntry,
  keyState,
  type UsedCredits,
} from '../accounts/accounts.js'
import { authenticate } from '../accounts/key.js'
import { AS_OF, DATA, NOTE } from '../wire/format.js'
import { accountPage, checkAccountQuestion, readJsonBody } from './account.js'
import { type Answer, OncePerTurn, ServiceWithAnswers } from './answers.js'
import type { HeaderList, Outgoing } from './encoding.js'
import type { Metrics } from './log.js'
import { creditHeaders, creditsUsedUpError, exceedsLimits, Meter, nameTakenError, requestNameHash } from './meter.js'
import type { Settings } from './options.js'
import type { Question, ReadQuestion, Service } from './question.js'
import type { QueuedCaller } from './queue.js'
import { type Caller, type CreditUse, type Exchange, type Handler, headerValues, JSON_TYPE, json } from './requests.js'
import type { ChangeList, ReadListQuestion } from './watchlist.js'

/**
 * The endpoints that need a valid key. Order of checks: key, parameters, tier, ticker. Then come the credits, for an
 * answer that is not cached, before it is computed; then whether the caller already has it. Then it is charged, and
 * only after that sent.
 */
export class Questions {
  readonly meter: Meter
  readonly #settings: Settings
  readonly #metrics: Metrics
  readonly #accounts: Accounts
  #current: ServiceWithAnswers
  readonly #callers: Callers
  /** By URL: to read a query takes longer than to find its answer. */
  readonly #parsedQuestions = new Map<string, Question>()
  #secret: KeyObject | null = null

  constructor(service: Service, settings: Settings, metrics: Metrics) {
    this.#settings = settings
    this.#metrics = metrics
    this.#accounts = service.accounts
    this.#current = new ServiceWithAnswers(service, settings.limits)
    metrics.watchScans(() => this.#current.answers.queue.waiting().length)
    this.#callers = new Callers(service.accounts)
    this.meter = new Meter(service.accounts, (charges, seconds) => metrics.committed(charges, seconds))
  }

  /** The data that answer now. */
  get service(): Service {
    return this.#current.service
  }

  /** Requests are answered from other data from now on. Settles when the last answer from the old data was made. */
  takeOver(next: Service): Promise<void> {
    const before = this.#current
    this.#current = new ServiceWithAnswers(next, this.#settings.limits)
    return before.allFinished()
  }

  /** Answers the question of a path. Throws its faults. */
  questionHandler(path: string, read: ReadQuestion): Handler {
    return this.#chargedHandler(path, ({ url, search, pathTicker }) => {
      const known = this.#parsedQuestions.get(url)
      if (known !== undefined) return known
      const question = read(search, pathTicker)
      if (this.#parsedQuestions.size >= MAX_CACHED) this.#parsedQuestions.clear()
      if (url.length <= MAX_CACHED_URL) this.#parsedQuestions.set(url, question)
      return question
    })
  }

  /** The same about the watch list of the account. */
  listQuestionHandler(path: string, read: ReadListQuestion): Handler {
    return this.#chargedHandler(path, async ({ search }, { account }) =>
      read(search, await this.#accounts.watchedTickers(account)),
    )
  }

  /** Changes the watch list of the account. Free. Throws its faults. */
  listChangeHandler(change: ChangeList): Handler {
    return this.withValidKey(async (exchange, { account }) => {
      readParams({}, parametersOf(exchange.search))
      const written = await readJsonBody(exchange)
      const { status, headers, body } = json(200, await change(this.#accounts, account, written))
      return { status, headers: [...headers, 'Cache-Control', 'no-store'], body }
    })
  }

  #chargedHandler(path: string, read: (exchange: Exchange, caller: Caller) => Question | Promise<Question>): Handler {
    return this.withValidKey(async (exchange, caller) => {
      const { request } = exchange
      const idempotency = requestNameHash(request.rawHeaders)
      if (exchange.hasBody) throw wrong('body', 'A question has no body.')
      const asked = read(exchange, caller)
      const question = asked instanceof Promise ? await asked : asked
      const ready = this.#current.answers.findReady(caller.tier, question)
      const { answer, isCached } =
        ready === null ? await this.#findAnswer(exchange, caller, question) : { answer: ready, isCached: true }
      const etag = answer.tags.get(caller.account) ?? (await this.#makeTag(answer, caller.account))
      const headers = answerHeaders(etag, answer)
      if (namesTag(request.headers['if-none-match'], etag)) {
        this.#metrics.reused.inc({ how: 'not_modified' })
        return { status: 304, headers, body: '' }
      }
      if (isCached) this.#metrics.reused.inc({ how: 'cache' })
      await this.#charge(exchange, caller, path, answer, idempotency)
      const { body, coded } = answer
      return { status: 200, headers: ['Content-Type', JSON_TYPE, ...headers], body, coded }
    })
  }

  #findAnswer(exchange: Exchange, caller: Caller, question: Question): Promise<{ answer: Answer; isCached: boolean }> {
    return this.#current.use(({ answers, service }) =>
      answers.find(this.#queuedCaller(exchange, caller, { question, service }), question),
    )
  }

  /** The limits of a caller and its use of them. Free, and never kept. Throws its faults. */
  account(): Handler {
    return this.withValidKey(async (exchange, caller) => {
      checkAccountQuestion(exchange)
      const spent = await this.#creditsUsedBy(caller.account)
      exchange.credits = spent
      const limits = this.#settings.credits[caller.tier]
      const today = await this.#current.use(({ service }) => service.today())
      const { status, headers, body } = json(200, accountPage(caller, limits, spent.used, today))
      return { status, headers: [...headers, 'Cache-Control', 'no-store'], body }
    })
  }

  #queuedCaller(
    exchange: Exchange,
    { tier, account }: Caller,
    asked: QuestionForService,
  ): QueuedCaller & { tier: Tier } {
    return {
      tier,
      account,
      check: () => this.#refuseWithoutCredits(exchange, tier, account, asked),
      onQueued(leave) {
        exchange.stopWaiting = leave
        if (exchange.isGone) leave()
      },
    }
  }

  /**
   * A strong tag: other bodies have other tags. A caller that sends one has paid for it, because it cannot be forged,
   * neither from a guessed body nor from another account's answer.
   */
  async #makeTag(answer: Answer, account: number): Promise<string> {
    // An HMAC from the bytes of a key takes five times as long.
    this.#secret ??= createSecretKey(await this.#accounts.secret())
    const code = createHmac('sha256', this.#secret).update(`${account} `).update(answer.digest).digest('base64url')
    const tag = `"${code}"`
    answer.addTag(account, tag)
    return tag
  }

  /**
   * Answers only callers with a valid key; every answer, errors included, reports their credits. Throws Unauthorized.
   */
  withValidKey(answer: (exchange: Exchange, caller: Caller) => Promise<Outgoing> | Outgoing): Handler {
    return async exchange => {
      const { now, credits } = this.#settings
      const { rawHeaders } = exchange.request
      const at = now()
      const caller = this.#callers.findReady(rawHeaders, at) ?? (await this.#callers.find(rawHeaders, at))
      exchange.caller = caller
      try {
        return await answer(exchange, caller)
      } finally {
        // The answer matters more than its report of credits.
        const spent = exchange.credits ?? (await this.#creditsUsedBy(caller.account).catch(() => null))
        if (spent !== null) exchange.creditHeaders = creditHeaders(credits[caller.tier], spent.used, spent.at)
      }
    }
  }

  async #creditsUsedBy(account: number): Promise<CreditUse> {
    const at = this.#settings.now()
    return { used: await this.#callers.used(account, at), at }
  }

  /**
   * Without enough credits an answer is not computed: that would take time from paying callers. Throws RateLimited, and
   * before that the faults of the question.
   */
  async #refuseWithoutCredits(
    exchange: Exchange,
    tier: Tier,
    account: number,
    { question, service }: QuestionForService,
  ): Promise<void> {
    const spent = await this.#creditsUsedBy(account)
    if (!exceedsLimits(this.#settings.credits[tier], spent.used, question.credits)) return
    if (await question.isAnswerable(service, tier))
      throw this.#countRateLimited(exchange, tier, question.credits, spent)
  }

  #countRateLimited(exchange: Exchange, tier: Tier, cost: number, spent: CreditUse): RateLimited {
    exchange.credits = spent
    this.#metrics.limited.inc({ tier })
    return creditsUsedUpError(this.#settings.credits[tier], spent.used, cost, spent.at)
  }

  /** Throws RateLimited, InvalidParameter, Busy, StorageError. */
  async #charge(
    exchange: Exchange,
    { account, key, tier }: Caller,
    endpoint: string,
    { question, digest, credits }: Answer,
    idempotency: Charge['idempotency'],
  ): Promise<void> {
    // What cannot arrive is not charged.
    if (exchange.isGone || credits === 0) return
    const at = this.#settings.now()
    const limits = this.#settings.credits[tier]
    const requestId = exchange.id
    const cost = { account, key, requestId, idempotency, question, answer: digest, endpoint, credits, limits, at }
    const { outcome, usedCredits } = await this.meter.charge(cost)
    exchange.credits = this.#callers.setUsedCredits(account, usedCredits, at)
    if (outcome === 'conflict') throw nameTakenError()
    if (outcome === 'limited') throw this.#countRateLimited(exchange, tier, credits, { used: usedCredits, at })
    if (outcome === 'repeated') return
    exchange.charged = credits
    this.#metrics.credits.inc({ tier }, credits)
  }
}

/** A question, and the data that answer it. */
interface QuestionForService {
  question: Question
  service: Service
}

/**
 * The callers and their usage. Both are looked up once, and again when another process changed the accounts. Its own
 * charges are known here; those of other servers are read. Limits are enforced where charges are written.
 */
class Callers {
  readonly #accounts: Accounts
  readonly #version: OncePerTurn<string>
  /**
   * Until the next day. By the key, because its caller could spell the header in thousands of ways. A lookup compares
   * whole hashes, so its time reveals nothing.
   */
  readonly #keys = new Map<string, KeyEntry>()
  readonly #used = new Map<number, CreditUse>()
  /** How long an account's usage counts as current, in milliseconds. */
  readonly #maxAgeMs: number
  /** The version of the accounts and the start of the day for which the two maps hold. */
  #seen = ''
  #seenDay = 0

  constructor(accounts: Accounts) {
    this.#accounts = accounts
    // Other servers may charge accounts in a network database, too.
    this.#maxAgeMs = accounts.pool === undefined ? Number.POSITIVE_INFINITY : USAGE_MAX_AGE_MS
    this.#version = new OncePerTurn(() => accounts.version())
  }

  /**
   * The caller; null if its key was not yet seen, or the accounts were not yet checked in this turn of the event loop.
   * Throws Unauthorized.
   * @param now milliseconds since 1970, here and below
   */
  findReady(rawHeaders: readonly string[], now: number): Caller | null {
    const token = bearerToken(rawHeaders)
    if (this.#version.known !== this.#seen || this.#seenDay !== dayStart(now)) return null
    const entry = this.#keys.get(token)
    return entry === undefined ? null : callerOf(entry, now)
  }

  /** Throws Unauthorized. */
  async find(rawHeaders: readonly string[], now: number): Promise<Caller> {
    const token = bearerToken(rawHeaders)
    await this.#forgetOutdated(now)
    return callerOf(this.#keys.get(token) ?? (await this.#lookUpKey(token, now)), now)
  }

  async used(account: number, now: number): Promise<UsedCredits> {
    await this.#forgetOutdated(now)
    const known = this.#used.get(account)
    if (known && hourStart(known.at) === hourStart(now) && Math.abs(now - known.at) < this.#maxAgeMs) return known.used
    return this.setUsedCredits(account, await this.#accounts.usedCredits(account, now), now).used
  }

  /** Remembers and returns an account's usage at a moment. */
  setUsedCredits(account: number, used: UsedCredits, at: number): CreditUse {
    const spent = { used, at }
    if (this.#used.size >= MAX_CACHED) this.#used.clear()
    this.#used.set(account, spent)
    return spent
  }

  async #lookUpKey(token: string, now: number): Promise<KeyEntry | null> {
    const version = this.#seen
    const entry = await authenticate(this.#accounts, token, now)
    // A change during the lookup may have been missed.
    if (entry === null || version !== this.#seen) return entry
    if (this.#keys.size >= MAX_CACHED) this.#keys.clear()
    this.#keys.set(token, entry)
    return entry
  }

  async #forgetOutdated(now: number): Promise<void> {
    const version = await this.#version.ask()
    if (version === this.#seen && this.#seenDay === dayStart(now)) return
    this.#seen = version
    this.#seenDay = dayStart(now)
    this.#keys.clear()
    this.#used.clear()
  }
}

/** Throws Unauthorized unless the key is active. */
function callerOf(entry: KeyEntry | null, now: number): Caller {
  if (entry === null || keyState(entry, now) !== 'active') throw new Unauthorized()
  const { identity, account } = entry
  return { account: account.id, name: account.name, key: identity, tier: account.tier }
}

/** Maximum age of the reported credits of an account that other servers charge, in milliseconds. */
const USAGE_MAX_AGE_MS = 1_000

/** Maximum number of keys, of accounts, and of questions, in memory. */
const MAX_CACHED = 10_000

/** Longer URLs are hardly repeated. */
const MAX_CACHED_URL = 500

/**
 * The token of the one `Authorization` header, which must be `Bearer` in any case and one word after it. A second header
 * is refused, as two readers could take different ones. Throws Unauthorized.
 */
function bearerToken(rawHeaders: readonly string[]): string {
  const [header = '', another] = headerValues('authorization', rawHeaders)
  const token = /^bearer +([!-~]+)$/i.exec(header)?.[1]
  if (token === undefined || another !== undefined) throw new Unauthorized()
  return token
}

/** The body depends on the tier of the key, so no cache but the caller's own may keep it. */
function answerHeaders(etag: string, { asOf, data, note }: Answer): HeaderList {
  const about = [AS_OF, asOf, DATA, data, ...(note === null ? [] : [NOTE, note])]
  return ['ETag', etag, 'Cache-Control', 'private, no-cache', 'Vary', 'Authorization', ...about]
}

/**
 * Whether an `If-None-Match` contains the tag of the answer. Weak tags count as well, because the request changes
 * nothing (RFC 9110, 13.1.2). `*` does not count: its sender may have no answer.
 */
export function namesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag) return true
  return Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(etag)
}
