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
import type { HeaderList, OutgoingAnswer } from './encoding.js'
import type { Metrics } from './log.js'
import { creditHeaders, creditsUsedUpError, exceedsLimits, Meter, nameTakenError, requestNameHash } from './meter.js'
import type { Settings } from './options.js'
import type { Question, ReadQuestion, Service } from './question.js'
import type { QueuedCaller } from './queue.js'
import {
  type Caller,
  type CreditUse,
  type Exchange,
  type Handler,
  headerValues,
  JSON_TYPE,
  jsonAnswer,
} from './requests.js'
import type { ChangeList, ReadListQuestion } from './watchlist.js'

/**
 * The endpoints that need a valid key. Order of checks: key, parameters, then for an answer that is not cached tier,
 * ticker and credits, then whether the caller already has the answer. Then it is charged, and only after that sent.
 */
export class Questions {
  readonly meter: Meter
  readonly #settings: Settings
  readonly #metrics: Metrics
  readonly #accounts: Accounts
  #current: ServiceWithAnswers
  readonly #callers: Callers
  /** By URL, because parsing a query takes longer than finding its answer. */
  readonly #parsedQuestions = new Map<string, Question>()
  #secret: KeyObject | null = null

  constructor(service: Service, settings: Settings, metrics: Metrics) {
    this.#settings = settings
    this.#metrics = metrics
    this.#accounts = service.accounts
    this.#current = new ServiceWithAnswers(service, settings.limits)
    metrics.watchScans(() => this.#current.answers.queue.waitingJobs().length)
    this.#callers = new Callers(service.accounts)
    this.meter = new Meter(service.accounts, (charges, seconds) => metrics.countCommit(charges, seconds))
  }

  /** The data that answers come from now. */
  get service(): Service {
    return this.#current.service
  }

  /** Answers new requests from other data. Settles when the last answer from the old data is made. */
  takeOver(next: Service): Promise<void> {
    const before = this.#current
    this.#current = new ServiceWithAnswers(next, this.#settings.limits)
    return before.allFinished()
  }

  /** A handler for a path whose questions `read` parses. */
  questionHandler(path: string, read: ReadQuestion): Handler {
    return this.#chargedHandler(path, ({ url, search, pathTicker }) => {
      const parsed = this.#parsedQuestions.get(url)
      if (parsed !== undefined) return parsed
      const question = read(search, pathTicker)
      if (this.#parsedQuestions.size >= MAX_CACHED) this.#parsedQuestions.clear()
      if (url.length <= MAX_CACHED_URL) this.#parsedQuestions.set(url, question)
      return question
    })
  }

  /** A handler for a path whose questions are about the watch list of the account. */
  listQuestionHandler(path: string, read: ReadListQuestion): Handler {
    return this.#chargedHandler(path, async ({ search }, { account }) =>
      read(search, await this.#accounts.watchedTickers(account)),
    )
  }

  /** A handler that changes the watch list of the account, free of charge. */
  listChangeHandler(change: ChangeList): Handler {
    return this.withValidKey(async (exchange, { account }) => {
      readParams({}, parametersOf(exchange.search)) // refuses any parameter
      return uncachedJson(await change(this.#accounts, account, await readJsonBody(exchange)))
    })
  }

  /** A handler that finds the answer to a question, and charges it unless the caller already has it. */
  #chargedHandler(path: string, read: (exchange: Exchange, caller: Caller) => Question | Promise<Question>): Handler {
    return this.withValidKey(async (exchange, caller) => {
      const { request } = exchange
      const idempotency = requestNameHash(request.rawHeaders)
      if (exchange.hasBody) throw wrong('body', 'A question has no body.')
      const parsed = read(exchange, caller)
      const question = parsed instanceof Promise ? await parsed : parsed
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
      const { body, encodedBodies } = answer
      return { status: 200, headers: ['Content-Type', JSON_TYPE, ...headers], body, encodedBodies }
    })
  }

  /** Finds the answer in the cache, or computes it. */
  #findAnswer(exchange: Exchange, caller: Caller, question: Question): Promise<{ answer: Answer; isCached: boolean }> {
    return this.#current.use(({ answers, service }) =>
      answers.find(this.#queuedCaller(exchange, caller, { question, service }), question),
    )
  }

  /** A handler that shows the caller its limits and used credits, free of charge. */
  accountHandler(): Handler {
    return this.withValidKey(async (exchange, caller) => {
      checkAccountQuestion(exchange)
      const spent = await this.#creditsUsedBy(caller.account)
      exchange.credits = spent
      const limits = this.#settings.credits[caller.tier]
      const today = await this.#current.use(({ service }) => service.today())
      return uncachedJson(accountPage(caller, limits, spent.used, today))
    })
  }

  /** The caller as the queue needs it: `check` refuses a caller without enough credits. */
  #queuedCaller(exchange: Exchange, caller: Caller, question: QuestionForService): QueuedCaller & { tier: Tier } {
    return {
      tier: caller.tier,
      account: caller.account,
      check: () => this.#refuseWithoutCredits(exchange, caller, question),
      onQueued(stopWaiting) {
        exchange.stopWaiting = stopWaiting
        if (exchange.isGone) stopWaiting()
      },
    }
  }

  /**
   * Makes the ETag of an answer for an account, and adds it to the answer. It proves that the account has paid for the
   * answer. Without the secret it cannot be made from a guessed body, or from another account's answer.
   */
  async #makeTag(answer: Answer, account: number): Promise<string> {
    // An HMAC from the bytes of a key takes five times as long.
    this.#secret ??= createSecretKey(await this.#accounts.secret())
    const hmac = createHmac('sha256', this.#secret).update(`${account} `).update(answer.digest).digest('base64url')
    const tag = `"${hmac}"`
    answer.addTag(account, tag)
    return tag
  }

  /** A handler for callers with a valid key; throws Unauthorized. Every answer, errors too, reports their credits. */
  withValidKey(answer: (exchange: Exchange, caller: Caller) => Promise<OutgoingAnswer> | OutgoingAnswer): Handler {
    return async exchange => {
      const { now, credits } = this.#settings
      const { rawHeaders } = exchange.request
      const at = now()
      const caller = this.#callers.findReady(rawHeaders, at) ?? (await this.#callers.find(rawHeaders, at))
      exchange.caller = caller
      try {
        return await answer(exchange, caller)
      } finally {
        // If the credits cannot be read, the answer is sent without them.
        const spent = exchange.credits ?? (await this.#creditsUsedBy(caller.account).catch(() => null))
        if (spent !== null) exchange.creditHeaders = creditHeaders(credits[caller.tier], spent.used, spent.at)
      }
    }
  }

  async #creditsUsedBy(account: number): Promise<CreditUse> {
    const at = this.#settings.now()
    return { used: await this.#callers.usedCredits(account, at), at }
  }

  /**
   * Throws RateLimited if the caller has too few credits for a question, so that no time goes into its answer. A wrong
   * question throws its own error instead. A question without data throws nothing here: its answer, NotFound, is free.
   */
  async #refuseWithoutCredits(exchange: Exchange, caller: Caller, query: QuestionForService): Promise<void> {
    const { question, service } = query
    const { tier, account } = caller
    const spent = await this.#creditsUsedBy(account)
    if (!exceedsLimits(this.#settings.credits[tier], spent.used, question.credits)) return
    if (await question.isAnswerable(service, tier))
      throw this.#countRateLimited(exchange, tier, question.credits, spent)
  }

  /** Counts a refused request, and returns its error. */
  #countRateLimited(exchange: Exchange, tier: Tier, cost: number, spent: CreditUse): RateLimited {
    exchange.credits = spent
    this.#metrics.limited.inc({ tier })
    return creditsUsedUpError(this.#settings.credits[tier], spent.used, cost, spent.at)
  }

  /** Charges an answer, unless it is free or the caller has gone. Throws if the charge is refused, or not written. */
  async #charge(
    exchange: Exchange,
    { account, key, tier }: Caller,
    endpoint: string,
    { question, digest, credits }: Answer,
    idempotency: Charge['idempotency'],
  ): Promise<void> {
    if (exchange.isGone || credits === 0) return
    const at = this.#settings.now()
    const limits = this.#settings.credits[tier]
    const requestId = exchange.id
    const charge = { account, key, requestId, idempotency, question, answer: digest, endpoint, credits, limits, at }
    const { outcome, usedCredits } = await this.meter.charge(charge)
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
 * Remembers the callers and their used credits; both are read again when another process changes the accounts. Charges
 * by other servers are noticed after USAGE_MAX_AGE_MS. Limits are enforced where charges are written, not here.
 */
class Callers {
  readonly #accounts: Accounts
  readonly #version: OncePerTurn<string>
  /** By key, because a header can spell it in many ways. A lookup compares hashes, so its time reveals nothing. */
  readonly #keys = new Map<string, KeyEntry>()
  readonly #used = new Map<number, CreditUse>()
  /** How long the remembered credits of an account count as current. */
  readonly #maxAgeMs: number
  /** The version of the accounts, and the start of the day, for which the two maps are right. */
  #knownVersion = ''
  #knownDay = 0

  constructor(accounts: Accounts) {
    this.#accounts = accounts
    // Other servers may charge accounts in a network database, too.
    this.#maxAgeMs = accounts.pool === undefined ? Number.POSITIVE_INFINITY : USAGE_MAX_AGE_MS
    this.#version = new OncePerTurn(() => accounts.version())
  }

  /**
   * The caller; null if its key was not yet seen, or the accounts were not yet checked in this turn of the event loop.
   * Throws Unauthorized.
   * @param now milliseconds since 1970, as in all methods of this class
   */
  findReady(rawHeaders: readonly string[], now: number): Caller | null {
    const token = bearerToken(rawHeaders)
    if (this.#version.result !== this.#knownVersion || this.#knownDay !== dayStart(now)) return null
    const entry = this.#keys.get(token)
    return entry === undefined ? null : callerOf(entry, now)
  }

  /** The caller; reads its key from the accounts if it was not yet seen. Throws Unauthorized. */
  async find(rawHeaders: readonly string[], now: number): Promise<Caller> {
    const token = bearerToken(rawHeaders)
    await this.#forgetOutdated(now)
    const entry = this.#keys.get(token) ?? (await this.#lookUpKey(token, now))
    return callerOf(entry, now)
  }

  /** The credits that an account has used in the day and the hour of a time. */
  async usedCredits(account: number, now: number): Promise<UsedCredits> {
    await this.#forgetOutdated(now)
    const spent = this.#used.get(account)
    const isCurrent =
      spent !== undefined && hourStart(spent.at) === hourStart(now) && Math.abs(now - spent.at) < this.#maxAgeMs
    if (isCurrent) return spent.used
    return this.setUsedCredits(account, await this.#accounts.usedCredits(account, now), now).used
  }

  /** Remembers the credits that an account had used at a time. @param at milliseconds since 1970 */
  setUsedCredits(account: number, used: UsedCredits, at: number): CreditUse {
    const spent = { used, at }
    if (this.#used.size >= MAX_CACHED) this.#used.clear()
    this.#used.set(account, spent)
    return spent
  }

  /** Reads and remembers the entry of a key; null if the key is not valid. */
  async #lookUpKey(token: string, now: number): Promise<KeyEntry | null> {
    const version = this.#knownVersion
    const entry = await authenticate(this.#accounts, token, now)
    // After a change during the lookup, the entry may be old: do not remember it.
    if (entry === null || version !== this.#knownVersion) return entry
    if (this.#keys.size >= MAX_CACHED) this.#keys.clear()
    this.#keys.set(token, entry)
    return entry
  }

  /** Forgets keys and credits if the accounts have changed, or a new day has begun. */
  async #forgetOutdated(now: number): Promise<void> {
    const version = await this.#version.ask()
    if (version === this.#knownVersion && this.#knownDay === dayStart(now)) return
    this.#knownVersion = version
    this.#knownDay = dayStart(now)
    this.#keys.clear()
    this.#used.clear()
  }
}

/** The caller with a key. Throws Unauthorized unless the key is active. @param entry null: the key is unknown */
function callerOf(entry: KeyEntry | null, now: number): Caller {
  if (entry === null || keyState(entry, now) !== 'active') throw new Unauthorized()
  const { identity, account } = entry
  return { account: account.id, name: account.name, key: identity, tier: account.tier }
}

/** Maximum age of the remembered credits of an account that other servers may charge. */
const USAGE_MAX_AGE_MS = 1_000

/** Maximum number of keys, of accounts, and of questions, in memory. */
const MAX_CACHED = 10_000

/** Length of a URL; longer ones are rarely repeated. */
const MAX_CACHED_URL = 500

/**
 * The token of the one `Authorization` header, which must be `Bearer` in any case and one word after it. A second
 * header is refused, as two readers could take different ones. Throws Unauthorized.
 */
function bearerToken(rawHeaders: readonly string[]): string {
  const [header = '', another] = headerValues('authorization', rawHeaders)
  const token = /^bearer +([!-~]+)$/i.exec(header)?.[1]
  if (token === undefined || another !== undefined) throw new Unauthorized()
  return token
}

/** A JSON answer that no cache may store. */
function uncachedJson(page: object): OutgoingAnswer {
  const { status, headers, body } = jsonAnswer(200, page)
  return { status, headers: [...headers, 'Cache-Control', 'no-store'], body }
}

/** The headers of an answer. Only the caller's own cache may store it, because it depends on the tier of the key. */
function answerHeaders(etag: string, { asOf, data, note }: Answer): HeaderList {
  const headers = ['ETag', etag, 'Cache-Control', 'private, no-cache', 'Vary', 'Authorization', AS_OF, asOf, DATA, data]
  return note === null ? headers : [...headers, NOTE, note]
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
