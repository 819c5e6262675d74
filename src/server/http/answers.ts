import { formatDay } from '../../core/model/day.js'
import type { Tier } from '../../core/model/terms.js'
import { Coded } from './encoding.js'
import type { Limits } from './options.js'
import type { Found, Question, Service } from './question.js'
import { Job, Queue, type QueuedCaller } from './queue.js'
import { sha256 } from './requests.js'

/** The answer to one question of one tier, ready to be sent again and again. */
export interface Answer {
  /** A text, because that leaves in one piece with the head of the answer. */
  body: string
  coded: Coded
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
  readonly #version: () => Promise<string>
  readonly #most: number
  readonly #cache = new Map<string, CachedAnswer>()
  readonly #underWay = new Map<string, Promise<Answer>>()
  readonly #jobs = new Map<string, Job<Answer>>()
  #bytes = 0
  #seen = ''

  /** @param keptBytes size of the cache @param waiting maximum number of heavy questions in the queue */
  constructor(service: Service, { keptBytes, waiting }: Pick<Limits, 'keptBytes' | 'waiting'>) {
    this.queue = new Queue(service.scansAtOnce, waiting)
    this.#service = service
    this.#version = oncePerTurn(() => service.version())
    this.#most = keptBytes
  }

  /** @returns whether it was there, or was a part of one that was. Throws what checking and asking throw, Unavailable. */
  async find(caller: QueuedCaller & { tier: Tier }, question: Question): Promise<{ answer: Answer; kept: boolean }> {
    const version = await this.#version()
    if (version !== this.#seen) this.#begin(version)
    const { tier } = caller
    const answer = await this.#take(`${tier} ${question.normal}`, question, version)
    if (answer !== undefined) return { answer, kept: true }
    const whole = await this.#take(`${tier} ${question.whole}`, question, version)
    if (whole !== undefined) return { answer: this.#part(tier, whole, question), kept: true }
    await caller.check()
    const found = await (question.isHeavy ? this.#inTurn(caller, question, version) : this.#atOnce(tier, question))
    return { answer: this.#part(tier, found, question), kept: false }
  }

  /** @param version of the data as this caller saw it: a slower reply may have seen an older one */
  async #take(name: string, question: Question, version: string): Promise<Answer | undefined> {
    const cached = this.#cache.get(name)
    if (cached === undefined) return undefined
    if (cached.version !== version) {
      const stamp = await question.stamp(this.#service)
      if (stamp === null || stamp !== cached.stamp || (await this.#service.version()) !== version) return undefined
      cached.version = version
      // Equal in both versions of the data.
      cached.answer.data = await this.#service.snapshot()
    }
    if (this.#cache.get(name) === cached) {
      // The map's order is the order of last use.
      this.#cache.delete(name)
      this.#cache.set(name, cached)
    }
    return cached.answer
  }

  /** Cached with the full answer: cutting it out takes longer than sending it. */
  #part(tier: Tier, whole: Answer, question: Question): Answer {
    if (question.normal === question.whole) return whole
    const name = `${tier} ${question.normal}`
    const answer = this.#answer(name, question.normal, { ...whole, body: question.part(whole.body) })
    const cached = this.#cache.get(`${tier} ${question.whole}`)
    if (cached?.answer === whole) this.#keep(name, answer, cached)
    return answer
  }

  #atOnce(tier: Tier, question: Question): Promise<Answer> {
    const name = `${tier} ${question.whole}`
    let found = this.#underWay.get(name)
    if (found === undefined) {
      found = this.#find(tier, question, NEVER).finally(() => {
        if (this.#underWay.get(name) === found) this.#underWay.delete(name)
      })
      this.#underWay.set(name, found)
    }
    return found
  }

  async #inTurn(caller: QueuedCaller & { tier: Tier }, question: Question, version: string): Promise<Answer> {
    const { tier } = caller
    const name = `${tier} ${question.whole}`
    // A wrong question is refused at once, without waiting in the queue.
    await question.isAnswerable(this.#service, tier)
    const cached = await this.#take(name, question, version)
    if (cached !== undefined) return cached
    const known = this.#jobs.get(name)
    const job = known?.isOver === false ? known : new Job(signal => this.#find(tier, question, signal))
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

  async #find(tier: Tier, question: Question, signal: AbortSignal): Promise<Answer> {
    const name = `${tier} ${question.whole}`
    for (let tries = 1; ; tries++) {
      const version = await this.#service.version()
      const stamp = await question.stamp(this.#service)
      const asOf = formatDay(await this.#service.today())
      const data = await this.#service.snapshot()
      const found = await question.ask(this.#service, tier, signal)
      const answer = this.#answer(name, question.whole, { credits: question.credits, ...found, asOf, data })
      let isLasting = (await this.#service.version()) === version
      if (!isLasting && stamp !== null) isLasting = (await question.stamp(this.#service)) === stamp
      // The reason of an empty answer depends on more data than the answer.
      if (isLasting) this.#keep(name, answer, { stamp: answer.note === null ? stamp : null, version })
      // A write meanwhile may affect only parts of the answer; a scan reads one moment.
      if (isLasting || question.isHeavy || tries === MOST_TRIES) return answer
    }
  }

  #answer(name: string, question: string, found: Required<Found> & Pick<Answer, 'asOf' | 'data'>): Answer {
    const { body } = found
    const coded = new Coded(body, bytes => {
      const cached = this.#cache.get(name)
      if (cached?.answer === answer) this.#grow(cached, bytes)
    })
    const answer: Answer = { ...found, coded, digest: sha256(body), question: sha256(question) }
    return answer
  }

  #keep(name: string, answer: Answer, { stamp, version }: Pick<CachedAnswer, 'stamp' | 'version'>): void {
    const bytes = answer.body.length + 2 * name.length + OVERHEAD
    if (bytes > this.#most) return
    const cached = { answer, bytes: 0, stamp, version }
    this.#drop(name)
    this.#cache.set(name, cached)
    this.#grow(cached, bytes)
  }

  #grow(cached: CachedAnswer, bytes: number): void {
    cached.bytes += bytes
    this.#bytes += bytes
    for (const oldest of this.#cache.keys()) {
      if (this.#bytes <= this.#most) break
      this.#drop(oldest)
    }
  }

  #drop(name: string): void {
    this.#bytes -= this.#cache.get(name)?.bytes ?? 0
    this.#cache.delete(name)
  }

  /** Another version of the data. */
  #begin(version: string): void {
    this.#seen = version
    // Running work may have read old data.
    this.#underWay.clear()
    for (const [name, job] of this.#jobs) if (job.hasBegun) this.#jobs.delete(name)
  }
}

/**
 * The data that answer, and their finished answers. Each request takes one of these and keeps it to its end. So
 * no answer mixes two files of data, and nothing cached outlives its file.
 */
export class Served {
  readonly service: Service
  readonly answers: Answers
  #running = 0
  #ended: (() => void) | null = null

  constructor(service: Service, limits: Limits) {
    this.service = service
    this.answers = new Answers(service, limits)
  }

  /** Some work of a request on these data. */
  async during<T>(work: (served: Served) => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await work(this)
    } finally {
      this.#running--
      if (this.#running === 0) this.#ended?.()
    }
  }

  /** Settles when no request uses these data, once no more can begin. */
  async left(): Promise<void> {
    if (this.#running === 0) return
    await new Promise<void>(resolve => {
      this.#ended = resolve
    })
  }
}

const NEVER = new AbortController().signal

/** During an import of many files, an answer about many tickers would otherwise retry until its end. */
const MOST_TRIES = 3

/** Approximate bytes of an entry besides its texts. */
const OVERHEAD = 1_000

/**
 * Shares one answer among all callers in one turn of the event loop: requests that arrive together check for changes
 * together.
 */
export function oncePerTurn<T>(work: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null
  return () => {
    if (pending === null) {
      pending = work()
      setImmediate(() => {
        pending = null
      })
    }
    return pending
  }
}
