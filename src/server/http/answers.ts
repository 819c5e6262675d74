import { emptyNote, emptyScanNote } from '../../core/empty.js'
import { worded } from '../../core/errors.js'
import { BUILT_IN } from '../../core/fields/index.js'
import { type Day, formatDay } from '../../core/model/day.js'
import type { OversoldPage, OversoldQuery, SeriesKey } from '../../core/model/event.js'
import type { Tier } from '../../core/model/terms.js'
import { MAX_LIMIT, parametersOf, parseEvents, parseOversold } from '../../core/params/questions.js'
import type { Source, WaitingFields } from '../../core/source.js'
import { entitle, eventsCost, OVERSOLD_COST } from '../../core/tiers.js'
import type { Accounts } from '../accounts/accounts.js'
import { EVENTS_PATH, OVERSOLD_PATH } from '../wire/format.js'
import { Coded } from './encoding.js'
import type { Limits } from './options.js'
import { Job, Queue, type QueuedCaller } from './queue.js'
import { sha256 } from './requests.js'

/** The services that a server needs; passed in, so that it depends on neither the store nor the engine. */
export interface Service {
  /** The questions as a caller of a tier may ask them; closing it is not the server's business. */
  bands(tier: Tier): Source
  /** Throws the faults of a scan without running it. */
  checkOversold(tier: Tier, query: OversoldQuery): Promise<void>
  /**
   * The page of a scan as JSON, from one moment of the data. It takes long, so it runs outside this thread.
   * @param signal aborts it. Throws the errors of the query
   */
  oversold(tier: Tier, query: OversoldQuery, signal: AbortSignal): Promise<string>
  /** Scans that are made at once. */
  readonly scansAtOnce: number
  accounts: Accounts
  /** Changes whenever an answer may. */
  version(): Promise<string>
  /** Changes whenever answers about these series may. */
  stamp(series: readonly SeriesKey[]): Promise<string>
  /** The day that ranges count back from. */
  today(): Promise<Day>
  /** Of the newest bar of all; null if there is none. */
  newestDay(): Promise<Day | null>
  /** Fields that wait for an import; null: none does. */
  waiting(): Promise<WaitingFields | null>
  /** Throws when the data cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}

/** A parsed request URL. */
export interface Question {
  credits: number
  /** The normal spelling of the question. */
  normal: string
  /** The normal spelling of the question whose answer contains this one. */
  whole: string
  /** Is the same as long as the answer is; null: only as long as nothing is written. */
  stamp(service: Service): Promise<string | null>
  /** It takes long, so it waits in the queue, and stops when no caller waits for it any more. */
  isHeavy: boolean
  /** The body of the whole, and why it is empty. */
  ask(service: Service, tier: Tier, signal: AbortSignal): Promise<Pick<Answer, 'body' | 'note'>>
  /** Cuts the answer out of the full body. */
  part(body: string): string
  /** Whether there is an answer, judged without computing it. Throws TierRestricted, InvalidParameter. */
  isAnswerable(service: Service, tier: Tier): Promise<boolean>
}

/** Path → how its query is read. Reading throws InvalidParameter. */
export const QUESTIONS: ReadonlyMap<string, (search: string) => Question> = new Map([
  [EVENTS_PATH, readEvents],
  [OVERSOLD_PATH, readOversold],
])

export function readEvents(search: string): Question {
  const query = parseEvents(parametersOf(search))
  const normal = normalOf(EVENTS_PATH, query)
  const { timeframe, context } = query
  const series = [query, ...(context === undefined ? [] : [{ ...context, timeframe }])]
  return {
    credits: eventsCost(query),
    normal,
    whole: normal,
    stamp: service => service.stamp(series),
    isHeavy: false,
    async ask(service, tier) {
      const bands = service.bands(tier)
      const page = await bands.events(query)
      const why = page.total_occurrences > 0 ? null : await bands.whyEmpty(query)
      return { body: JSON.stringify(page), note: why && worded(emptyNote(why, query).reason) }
    },
    part: body => body,
    async isAnswerable(service, tier) {
      entitle(query, tier, BUILT_IN)
      const tickers = series.map(({ ticker }) => ticker)
      return (await service.bands(tier).known(tickers)).length === tickers.length
    },
  }
}

/** A scan reads every ticker regardless of its limit, so the cached answer serves all limits. */
function readOversold(search: string): Question {
  const query = parseOversold(parametersOf(search))
  const whole = { ...query, limit: MAX_LIMIT }
  return {
    credits: OVERSOLD_COST,
    normal: normalOf(OVERSOLD_PATH, query),
    whole: normalOf(OVERSOLD_PATH, whole),
    stamp: async () => null,
    isHeavy: true,
    async ask(service, tier, signal) {
      const body = await service.oversold(tier, whole, signal)
      if (!body.startsWith(NO_MATCH)) return { body, note: null }
      const day = query.date ?? (await service.today())
      return { body, note: emptyScanNote(query, JSON.parse(body), formatDay(day)) }
    },
    part: body => firstMatches(body, query.limit),
    async isAnswerable(service, tier) {
      await service.checkOversold(tier, query)
      return true
    },
  }
}

const NO_MATCH = '{"matches":[],'

function firstMatches(body: string, limit: number): string {
  if (limit === MAX_LIMIT) return body
  const page: OversoldPage = JSON.parse(body)
  return page.matches.length <= limit ? body : JSON.stringify({ ...page, matches: page.matches.slice(0, limit) })
}

/** Parsers sort the values of a query. */
function normalOf(path: string, query: object): string {
  return `${path} ${JSON.stringify(query)}`
}

/** The answer to one question of one tier, ready to be sent again and again. */
export interface Answer {
  /** A text, because that leaves in one piece with the head of the answer. */
  body: string
  coded: Coded
  /** SHA-256 of the body, and of the question. */
  digest: Buffer
  question: Buffer
  asOf: string
  /** Why it is empty, in ASCII; null where it is not. */
  note: string | null
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
      const found = await question.ask(this.#service, tier, signal)
      const answer = this.#answer(name, question.whole, { ...found, asOf })
      let isLasting = (await this.#service.version()) === version
      if (!isLasting && stamp !== null) isLasting = (await question.stamp(this.#service)) === stamp
      // The reason of an empty answer depends on more data than the answer.
      if (isLasting) this.#keep(name, answer, { stamp: answer.note === null ? stamp : null, version })
      // A write meanwhile may affect only parts of the answer; a scan reads one moment.
      if (isLasting || question.isHeavy || tries === MOST_TRIES) return answer
    }
  }

  #answer(name: string, question: string, { body, asOf, note }: Pick<Answer, 'body' | 'asOf' | 'note'>): Answer {
    const coded = new Coded(body, bytes => {
      const cached = this.#cache.get(name)
      if (cached?.answer === answer) this.#grow(cached, bytes)
    })
    const answer: Answer = { body, coded, digest: sha256(body), question: sha256(question), asOf, note }
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
