import { formatDay } from '../model/day.js'
import type { Tier } from '../model/tier.js'
import { AS_OF } from '../wire/headers.js'
import type { HeaderList } from './exchange.js'
import type { Question } from './questions.js'
import type { Service } from './service.js'
import { sha256 } from './sha256.js'
import { oncePerTurn } from './turn.js'

/** The answer to one question of one tier, ready to be sent again and again. */
export interface Answer {
  /** A text, because that leaves in one piece with the head of the answer. */
  body: string
  /** Strong: another body has another. */
  etag: string
  headers: HeaderList
  credits: number
  /** SHA-256 of what was asked. */
  question: Buffer
}

/**
 * Finished answers by tier and URL, of one version of the data. Those asked for last are kept, up to a number of bytes;
 * of equal questions that are under way at once, one is computed.
 */
export class Answers {
  readonly #service: Service
  readonly #version: () => Promise<string>
  readonly #most: number
  readonly #kept = new Map<string, Answer>()
  readonly #underWay = new Map<string, Promise<Answer>>()
  #bytes = 0
  #seen = ''

  constructor(service: Service, most: number) {
    this.#service = service
    this.#version = oncePerTurn(() => service.version())
    this.#most = most
  }

  /**
   * @param read called only when the answer is not there already
   * @returns whether it was there as well. Throws what reading and asking throw.
   */
  async find(tier: Tier, url: string, read: () => Question): Promise<{ answer: Answer; kept: boolean }> {
    const version = await this.#version()
    if (version !== this.#seen) this.#forget(version)
    const name = `${tier} ${url}`
    const kept = this.#kept.get(name)
    if (kept !== undefined) {
      // Last in the map is asked for last.
      this.#kept.delete(name)
      this.#kept.set(name, kept)
      return { answer: kept, kept: true }
    }
    let found = this.#underWay.get(name)
    if (found === undefined) {
      found = this.#find(tier, name, read()).finally(() => {
        if (this.#underWay.get(name) === found) this.#underWay.delete(name)
      })
      this.#underWay.set(name, found)
    }
    return { answer: await found, kept: false }
  }

  async #find(tier: Tier, name: string, question: Question): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const version = await this.#service.version()
      const answer = await this.#ask(tier, question)
      const unchanged = (await this.#service.version()) === version
      if (unchanged && version === this.#seen) this.#keep(name, answer)
      // What was written meanwhile may be in one part of the answer and not in another.
      if (unchanged || tries === MOST_TRIES) return answer
    }
  }

  async #ask(tier: Tier, question: Question): Promise<Answer> {
    const asOf = formatDay(await this.#service.today())
    const body = JSON.stringify(await question.ask(this.#service.bands(tier)))
    const etag = `"${sha256(body).toString('base64url')}"`
    const headers = headersOf(etag, asOf)
    return { body, etag, headers, credits: question.credits, question: sha256(question.normal) }
  }

  #keep(name: string, answer: Answer): void {
    const bytes = sizeOf(name, answer)
    if (bytes > this.#most) return
    this.#kept.set(name, answer)
    this.#bytes += bytes
    for (const [oldest, other] of this.#kept) {
      if (this.#bytes <= this.#most) break
      this.#kept.delete(oldest)
      this.#bytes -= sizeOf(oldest, other)
    }
  }

  #forget(version: string): void {
    this.#seen = version
    this.#kept.clear()
    this.#underWay.clear()
    this.#bytes = 0
  }
}

/** While an import writes file after file, an answer that looks at many tickers would wait for its end. */
const MOST_TRIES = 3

/** About what an entry takes besides its texts. */
const OVERHEAD = 1_000

function sizeOf(name: string, { body }: Answer): number {
  return body.length + 2 * name.length + OVERHEAD
}

/** The body depends on the tier of the key, so no cache but the caller's own may keep it. */
function headersOf(etag: string, asOf: string): HeaderList {
  return ['ETag', etag, 'Cache-Control', 'private, no-cache', 'Vary', 'Authorization', AS_OF, asOf]
}
