import { formatDay } from '../../core/model/day.js'
import type { Tier } from '../../core/model/terms.js'
import { EncodedBodies } from './encoding.js'
import type { Limits } from './options.js'
import type { Question, QuestionResult, Service } from './question.js'
import { Job, Queue, type QueuedCaller } from './queue.js'
import { sha256 } from './requests.js'

/** The answer to one question of one tier, ready to be sent again and again. */
export interface Answer {
  /** A string, because node sends that in one piece with the head of the answer. */
  body: string
  encodedBodies: EncodedBodies
  /** The ETags of the answer, by account. */
  tags: ReadonlyMap<number, string>
  addTag(account: number, tag: string): void
  /** SHA-256 of the body. */
  digest: Buffer
  /** SHA-256 of the question. */
  question: Buffer
  asOf: string
  /** The hash of the data that the answer is from. */
  data: string
  /** Why the answer is empty, in ASCII; null if it is not empty. */
  note: string | null
  credits: number
}

interface CachedAnswer {
  answer: Answer
  /** Size of the entry, including the encoded bodies. */
  bytes: number
  /** A hash that changes with the data of the question; null: only `version` says whether the answer is right. */
  stamp: string | null
  /** The latest version of the data for which this is known to be the answer. */
  version: string
}

/**
 * Finds or computes answers by tier and question. Answers are cached while their data are unchanged, up to a number of
 * bytes; the one used longest ago is removed first. Equal questions at the same time are computed once.
 */
export class Answers {
  readonly queue: Queue
  readonly #service: Service
  readonly #version: OncePerTurn<string>
  readonly #maxBytes: number
  readonly #cache = new Map<string, CachedAnswer>()
  readonly #running = new Map<string, Promise<Answer>>()
  readonly #jobs = new Map<string, Job<Answer>>()
  #bytes = 0
  /** The version of the data at the last `find`. */
  #dataVersion = ''

  /** @param cacheBytes size of the cache @param waiting maximum number of heavy questions in the queue */
  constructor(service: Service, { cacheBytes, waiting }: Pick<Limits, 'cacheBytes' | 'waiting'>) {
    this.queue = new Queue(service.scansAtOnce, waiting)
    this.#service = service
    this.#version = new OncePerTurn(() => service.version())
    this.#maxBytes = cacheBytes
  }

  /** The cached answer; null if it is not cached, or the data were not yet checked in this turn of the event loop. */
  findReady(tier: Tier, question: Question): Answer | null {
    const version = this.#version.result
    // After a change of the data only `find` can judge which answers are still right.
    if (version === null || version !== this.#dataVersion) return null
    const name = cacheName(tier, question)
    const cached = this.#cache.get(name)
    if (cached?.version !== version) return null
    this.#markUsed(name, cached)
    return cached.answer
  }

  /**
   * The answer, and whether it or its full answer was cached. A full answer contains those of several questions, from
   * which they are cut. Throws the errors of the question and of `caller.check`, which runs before an answer is
   * computed, and Unavailable if too many scans wait.
   */
  async find(
    caller: QueuedCaller & { tier: Tier },
    question: Question,
  ): Promise<{ answer: Answer; isCached: boolean }> {
    const version = await this.#version.ask()
    if (version !== this.#dataVersion) this.#startVersion(version)
    const { tier } = caller
    const answer = await this.#findCached(cacheName(tier, question), question, version)
    if (answer !== undefined) return { answer, isCached: true }
    const full = await this.#findCached(fullCacheName(tier, question), question, version)
    if (full !== undefined) return { answer: this.#cutOut(tier, full, question), isCached: true }
    await caller.check()
    const computing = question.isHeavy
      ? this.#computeInQueue(caller, question, version)
      : this.#computeOnce(tier, question)
    return { answer: this.#cutOut(tier, await computing, question), isCached: false }
  }

  /**
   * A cached answer that is right for a version of the data; undefined if there is none. An answer of another version
   * is right if the stamp of the question, a hash of its own data, is the same.
   */
  async #findCached(name: string, question: Question, version: string): Promise<Answer | undefined> {
    const cached = this.#cache.get(name)
    if (cached === undefined) return undefined
    if (cached.version !== version) {
      const stamp = await question.stamp(this.#service)
      if (stamp === null || stamp !== cached.stamp || (await this.#service.version()) !== version) return undefined
      cached.version = version
      // The answer is the same in both versions, so it may name the new one.
      cached.answer.data = await this.#service.snapshot()
    }
    if (this.#cache.get(name) === cached) this.#markUsed(name, cached)
    return cached.answer
  }

  /** Moves an entry to the end of the cache, whose order is the order of last use. */
  #markUsed(name: string, cached: CachedAnswer): void {
    this.#cache.delete(name)
    this.#cache.set(name, cached)
  }

  /** Makes the answer to a question from its full answer, and caches it if that is cached. */
  #cutOut(tier: Tier, full: Answer, question: Question): Answer {
    if (question.key === question.fullKey) return full
    const name = cacheName(tier, question)
    const answer = this.#makeAnswer(name, question.key, { ...full, body: question.cutOut(full.body) })
    const cached = this.#cache.get(fullCacheName(tier, question))
    if (cached?.answer === full) this.#addToCache(name, answer, cached)
    return answer
  }

  /** The full answer. Callers with an equal question at the same time share one computation. */
  #computeOnce(tier: Tier, question: Question): Promise<Answer> {
    const name = fullCacheName(tier, question)
    let computation = this.#running.get(name)
    if (computation === undefined) {
      computation = this.#compute(tier, question, NEVER_ABORTED).finally(() => {
        if (this.#running.get(name) === computation) this.#running.delete(name)
      })
      this.#running.set(name, computation)
    }
    return computation
  }

  /** The full answer, computed when its turn in the queue comes. Callers with an equal question share one job. */
  async #computeInQueue(caller: QueuedCaller & { tier: Tier }, question: Question, version: string): Promise<Answer> {
    const { tier } = caller
    const name = fullCacheName(tier, question)
    // Throws for a wrong question, so that its caller does not wait in the queue.
    await question.isAnswerable(this.#service, tier)
    const cached = await this.#findCached(name, question, version)
    if (cached !== undefined) return cached
    const running = this.#jobs.get(name)
    const job = running?.isOver === false ? running : new Job(signal => this.#compute(tier, question, signal))
    this.queue.join(caller.account, job)
    this.#jobs.set(name, job)
    try {
      return await job.wait(caller)
    } finally {
      if (!job.isWanted) {
        this.queue.removeFromLines(job)
        if (this.#jobs.get(name) === job) this.#jobs.delete(name)
      }
    }
  }

  /** Computes the full answer, and again if the data change meanwhile; caches it if they do not. */
  async #compute(tier: Tier, question: Question, signal: AbortSignal): Promise<Answer> {
    const name = fullCacheName(tier, question)
    for (let tries = 1; ; tries++) {
      const version = await this.#service.version()
      const stamp = await question.stamp(this.#service)
      const asOf = formatDay(await this.#service.today())
      const data = await this.#service.snapshot()
      const result = await question.answer(this.#service, tier, signal)
      const answer = this.#makeAnswer(name, question.fullKey, { credits: question.credits, ...result, asOf, data })
      let isCurrent = (await this.#service.version()) === version
      if (!isCurrent && stamp !== null) isCurrent = (await question.stamp(this.#service)) === stamp
      // The note of an empty answer depends on more data than the stamp covers.
      if (isCurrent) this.#addToCache(name, answer, { stamp: answer.note === null ? stamp : null, version })
      // After a write during the computation, parts of the answer may differ in age; but a scan reads one moment.
      if (isCurrent || question.isHeavy || tries === MAX_TRIES) return answer
    }
  }

  /**
   * Makes an answer whose later parts, encoded bodies and tags, count as bytes of the cache while it is cached.
   * @param name of the answer in the cache @param key of the question
   */
  #makeAnswer(name: string, key: string, result: Required<QuestionResult> & Pick<Answer, 'asOf' | 'data'>): Answer {
    const { body } = result
    const addCachedBytes = (bytes: number): void => {
      const cached = this.#cache.get(name)
      if (cached?.answer === answer) this.#addBytes(cached, bytes)
    }
    const tags = new Map<number, string>()
    const addTag = (account: number, tag: string): void => {
      tags.set(account, tag)
      addCachedBytes(TAG_BYTES)
    }
    const encodedBodies = new EncodedBodies(body, addCachedBytes)
    const answer: Answer = { ...result, encodedBodies, tags, addTag, digest: sha256(body), question: sha256(key) }
    return answer
  }

  /** Caches an answer in place of an earlier one of this name; not one that is larger than the whole cache. */
  #addToCache(name: string, answer: Answer, { stamp, version }: Pick<CachedAnswer, 'stamp' | 'version'>): void {
    const bytes = answer.body.length + 2 * name.length + ENTRY_OVERHEAD_BYTES
    if (bytes > this.#maxBytes) return
    const cached = { answer, bytes: 0, stamp, version }
    this.#removeFromCache(name)
    this.#cache.set(name, cached)
    this.#addBytes(cached, bytes)
  }

  /** Counts bytes for an entry, and removes the entries used longest ago if the cache is too large. */
  #addBytes(cached: CachedAnswer, bytes: number): void {
    cached.bytes += bytes
    this.#bytes += bytes
    for (const oldest of this.#cache.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#removeFromCache(oldest)
    }
  }

  #removeFromCache(name: string): void {
    this.#bytes -= this.#cache.get(name)?.bytes ?? 0
    this.#cache.delete(name)
  }

  /** Notes a new version of the data, and separates running work from new questions. */
  #startVersion(version: string): void {
    this.#dataVersion = version
    // Running work may have read old data.
    this.#running.clear()
    for (const [name, job] of this.#jobs) if (job.hasBegun) this.#jobs.delete(name)
  }
}

/**
 * The data of one file and the answers from them. A request uses one of these from start to end. So no answer mixes two
 * files, and no cached answer outlives its file.
 */
export class ServiceWithAnswers {
  readonly service: Service
  readonly answers: Answers
  #running = 0
  #onAllFinished: (() => void) | null = null

  constructor(service: Service, limits: Limits) {
    this.service = service
    this.answers = new Answers(service, limits)
  }

  /** Runs the work of a request on these data. */
  async use<T>(work: (data: ServiceWithAnswers) => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await work(this)
    } finally {
      this.#running--
      if (this.#running === 0) this.#onAllFinished?.()
    }
  }

  /** Settles when no request uses these data, once no more can begin. */
  async allFinished(): Promise<void> {
    if (this.#running === 0) return
    await new Promise<void>(resolve => {
      this.#onAllFinished = resolve
    })
  }
}

const NEVER_ABORTED = new AbortController().signal

/** A limit, because an answer about many tickers could otherwise be computed again until a long import ends. */
const MAX_TRIES = 3

/** Approximate bytes of an entry besides its texts, and of a tag. */
const ENTRY_OVERHEAD_BYTES = 1_000
const TAG_BYTES = 150

/** The name of a question's full answer in the cache. */
function fullCacheName(tier: Tier, { fullKey }: Question): string {
  return `${tier} ${fullKey}`
}

/** The name of an answer in the cache. The question remembers it, because building it takes as long as a lookup. */
function cacheName(tier: Tier, question: Question): string {
  question.names ??= {}
  question.names[tier] ??= `${tier} ${question.key}`
  return question.names[tier]
}

/** Does some work at most once in each turn of the event loop, and shares the result among all callers. */
export class OncePerTurn<T> {
  readonly #work: () => Promise<T>
  #pending: Promise<T> | null = null
  #result: T | null = null

  constructor(work: () => Promise<T>) {
    this.#work = work
  }

  /** The result of this turn; null if there is none yet. */
  get result(): T | null {
    return this.#result
  }

  /** The result of this turn; `result` has it once it is there. The first caller starts the work. */
  ask(): Promise<T> {
    if (this.#pending !== null) return this.#pending
    const pending = this.#work()
    this.#pending = pending
    pending.then(
      result => {
        if (this.#pending === pending) this.#result = result
      },
      () => {},
    )
    setImmediate(() => {
      this.#pending = null
      this.#result = null
    })
    return pending
  }
}
