import { formatDay } from '../../core/model/day.js'
import type { Tier } from '../../core/model/terms.js'
import { Coded } from './encoding.js'
import type { Limits } from './options.js'
import type { Question, QuestionResult, Service } from './question.js'
import { Job, Queue, type QueuedCaller } from './queue.js'
import { sha256 } from './requests.js'

/** The answer to one question of one tier, ready to be sent again and again. */
export interface Answer {
  /** A text, because that leaves in one piece with the head of the answer. */
  body: string
  coded: Coded
  /** Its tags by account, each made once. */
  tags: ReadonlyMap<number, string>
  addTag(account: number, tag: string): void
  /** SHA-256 of the body, and of the question. */
  digest: Buffer
  question: Buffer
  asOf: string
  /** The hash of the data that it is from. */
  data: string
  /** Why it is empty, in ASCII; null where it is not. */
  note: string | null
  /** Its price. */
  credits: number
}

interface CachedAnswer {
  answer: Answer
  /** Its size, including its codings. */
  bytes: number
  /** Of its question when it was computed. */
  stamp: string | null
  /** The version of the data for which it was last seen to be the answer. */
  version: string
}

/**
 * Finished answers by tier and question. The last used ones are cached, up to a number of bytes, while their data are
 * unchanged. Equal questions at the same time are computed once.
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
  #dataVersion = ''

  /** @param keptBytes size of the cache @param waiting maximum number of heavy questions in the queue */
  constructor(service: Service, { keptBytes, waiting }: Pick<Limits, 'keptBytes' | 'waiting'>) {
    this.queue = new Queue(service.scansAtOnce, waiting)
    this.#service = service
    this.#version = new OncePerTurn(() => service.version())
    this.#maxBytes = keptBytes
  }

  /** The cached answer; null if it is not cached, or the data were not yet checked in this turn of the event loop. */
  findReady(tier: Tier, question: Question): Answer | null {
    const version = this.#version.known
    if (version === null || version !== this.#dataVersion) return null
    const name = nameOf(tier, question)
    const cached = this.#cache.get(name)
    if (cached?.version !== version) return null
    this.#markUsed(name, cached)
    return cached.answer
  }

  /** @returns whether it was there, or was a part of one that was. Throws what checking and asking throw, Unavailable. */
  async find(
    caller: QueuedCaller & { tier: Tier },
    question: Question,
  ): Promise<{ answer: Answer; isCached: boolean }> {
    const version = await this.#version.ask()
    if (version !== this.#dataVersion) this.#startVersion(version)
    const { tier } = caller
    const answer = await this.#findCached(nameOf(tier, question), question, version)
    if (answer !== undefined) return { answer, isCached: true }
    const whole = await this.#findCached(`${tier} ${question.fullKey}`, question, version)
    if (whole !== undefined) return { answer: this.#cutOut(tier, whole, question), isCached: true }
    await caller.check()
    const found = await (question.isHeavy
      ? this.#computeInQueue(caller, question, version)
      : this.#computeOnce(tier, question))
    return { answer: this.#cutOut(tier, found, question), isCached: false }
  }

  /** @param version of the data as this caller saw it: a slower reply may have seen an older one */
  async #findCached(name: string, question: Question, version: string): Promise<Answer | undefined> {
    const cached = this.#cache.get(name)
    if (cached === undefined) return undefined
    if (cached.version !== version) {
      const stamp = await question.stamp(this.#service)
      if (stamp === null || stamp !== cached.stamp || (await this.#service.version()) !== version) return undefined
      cached.version = version
      // Equal in both versions of the data.
      cached.answer.data = await this.#service.snapshot()
    }
    if (this.#cache.get(name) === cached) this.#markUsed(name, cached)
    return cached.answer
  }

  /** The map's order is the order of last use. */
  #markUsed(name: string, cached: CachedAnswer): void {
    this.#cache.delete(name)
    this.#cache.set(name, cached)
  }

  /** Cached with the full answer: cutting it out takes longer than sending it. */
  #cutOut(tier: Tier, whole: Answer, question: Question): Answer {
    if (question.key === question.fullKey) return whole
    const name = nameOf(tier, question)
    const answer = this.#makeAnswer(name, question.key, { ...whole, body: question.cutOut(whole.body) })
    const cached = this.#cache.get(`${tier} ${question.fullKey}`)
    if (cached?.answer === whole) this.#addToCache(name, answer, cached)
    return answer
  }

  #computeOnce(tier: Tier, question: Question): Promise<Answer> {
    const name = `${tier} ${question.fullKey}`
    let found = this.#running.get(name)
    if (found === undefined) {
      found = this.#compute(tier, question, NEVER_ABORTED).finally(() => {
        if (this.#running.get(name) === found) this.#running.delete(name)
      })
      this.#running.set(name, found)
    }
    return found
  }

  async #computeInQueue(caller: QueuedCaller & { tier: Tier }, question: Question, version: string): Promise<Answer> {
    const { tier } = caller
    const name = `${tier} ${question.fullKey}`
    // A wrong question is refused at once, without waiting in the queue.
    await question.isAnswerable(this.#service, tier)
    const cached = await this.#findCached(name, question, version)
    if (cached !== undefined) return cached
    const known = this.#jobs.get(name)
    const job = known?.isOver === false ? known : new Job(signal => this.#compute(tier, question, signal))
    this.queue.join(caller.account, job)
    this.#jobs.set(name, job)
    try {
      return await job.wait(caller)
    } finally {
      if (!job.isWanted) {
        this.queue.drop(job)
        if (this.#jobs.get(name) === job) this.#jobs.delete(name)
      }
    }
  }

  async #compute(tier: Tier, question: Question, signal: AbortSignal): Promise<Answer> {
    const name = `${tier} ${question.fullKey}`
    for (let tries = 1; ; tries++) {
      const version = await this.#service.version()
      const stamp = await question.stamp(this.#service)
      const asOf = formatDay(await this.#service.today())
      const data = await this.#service.snapshot()
      const found = await question.answer(this.#service, tier, signal)
      const answer = this.#makeAnswer(name, question.fullKey, { credits: question.credits, ...found, asOf, data })
      let isLasting = (await this.#service.version()) === version
      if (!isLasting && stamp !== null) isLasting = (await question.stamp(this.#service)) === stamp
      // The reason of an empty answer depends on more data than the answer.
      if (isLasting) this.#addToCache(name, answer, { stamp: answer.note === null ? stamp : null, version })
      // A write meanwhile may affect only parts of the answer; a scan reads one moment.
      if (isLasting || question.isHeavy || tries === MAX_TRIES) return answer
    }
  }

  #makeAnswer(name: string, question: string, found: Required<QuestionResult> & Pick<Answer, 'asOf' | 'data'>): Answer {
    const { body } = found
    const grow = (bytes: number): void => {
      const cached = this.#cache.get(name)
      if (cached?.answer === answer) this.#addBytes(cached, bytes)
    }
    const tags = new Map<number, string>()
    const addTag = (account: number, tag: string): void => {
      tags.set(account, tag)
      grow(TAG_BYTES)
    }
    const coded = new Coded(body, grow)
    const answer: Answer = { ...found, coded, tags, addTag, digest: sha256(body), question: sha256(question) }
    return answer
  }

  #addToCache(name: string, answer: Answer, { stamp, version }: Pick<CachedAnswer, 'stamp' | 'version'>): void {
    const bytes = answer.body.length + 2 * name.length + ENTRY_OVERHEAD_BYTES
    if (bytes > this.#maxBytes) return
    const cached = { answer, bytes: 0, stamp, version }
    this.#removeFromCache(name)
    this.#cache.set(name, cached)
    this.#addBytes(cached, bytes)
  }

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

  /** Another version of the data. */
  #startVersion(version: string): void {
    this.#dataVersion = version
    // Running work may have read old data.
    this.#running.clear()
    for (const [name, job] of this.#jobs) if (job.hasBegun) this.#jobs.delete(name)
  }
}

/**
 * The data that answer, and their finished answers. Each request takes one of these and keeps it to its end. So
 * no answer mixes two files of data, and nothing cached outlives its file.
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

  /** Some work of a request on these data. */
  async use<T>(work: (served: ServiceWithAnswers) => Promise<T>): Promise<T> {
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

/** During an import of many files, an answer about many tickers would otherwise retry until its end. */
const MAX_TRIES = 3

/** Approximate bytes of an entry besides its texts, and of a tag. */
const ENTRY_OVERHEAD_BYTES = 1_000
const TAG_BYTES = 150

/** The name of an answer in the cache; kept, because to join and hash it takes as long as to find the answer. */
function nameOf(tier: Tier, question: Question): string {
  question.names ??= {}
  question.names[tier] ??= `${tier} ${question.key}`
  return question.names[tier]
}

/**
 * Shares one result among all callers in one turn of the event loop: requests that arrive together check for changes
 * together.
 */
export class OncePerTurn<T> {
  readonly #work: () => Promise<T>
  #pending: Promise<T> | null = null
  #known: T | null = null

  constructor(work: () => Promise<T>) {
    this.#work = work
  }

  /** The result of this turn; null if it is not there yet. */
  get known(): T | null {
    return this.#known
  }

  ask(): Promise<T> {
    if (this.#pending !== null) return this.#pending
    const pending = this.#work()
    this.#pending = pending
    pending.then(
      result => {
        if (this.#pending === pending) this.#known = result
      },
      () => {},
    )
    setImmediate(() => {
      this.#pending = null
      this.#known = null
    })
    return pending
  }
}
