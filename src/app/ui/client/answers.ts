import type { NamedList } from '../../../core/source.js'

/** The answer to a question. While it is waited for, `value` is that of the question before. */
export interface Answer<Value = unknown> {
  value: Value | null
  /** Why there is no answer, in a sentence; null if there is one, or while it is waited for. */
  refusal: string | null
  isWaiting: boolean
}

/** An answer with the text of its question, which is empty if it must be asked again. */
interface Slot extends Answer {
  question: string
}

export class Refusal extends Error {}

/** Sends a question to the server of the page, and returns its reply as text. Throws Refusal if it refuses or ended. */
export async function post(path: string, params: object): Promise<string> {
  const body = JSON.stringify(params)
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const reply = await fetch(path, request).catch(() => {
    throw new Refusal('bands does not answer: it was ended in the terminal. Start it again, and open the new address.')
  })
  const text = await reply.text()
  if (reply.ok) return text
  let message = text
  try {
    message = (JSON.parse(text) as { message: string }).message
  } catch {
    // It is a page of one sentence.
  }
  throw new Refusal(message)
}

/** The newest answer of each slot. A slot is a part of the page, and does not send the same question twice in a row. */
export class Answers {
  readonly #slots = new Map<string, Slot>()
  readonly #onAnswer: () => void

  constructor(onAnswer: () => void) {
    this.#onAnswer = onAnswer
  }

  /** The answer to a question of the library, as an object. */
  query<Value>(slot: string, params: object, name = slot): Answer<Value> {
    return this.#answer(slot, `/api/${name}`, params, JSON.parse) as Answer<Value>
  }

  /** A part of a page, as markup of the server. */
  markup(slot: string, params: object, name = slot): Answer<string> {
    return this.#answer(slot, `/draw/${name}`, params, text => text) as Answer<string>
  }

  /** The watch lists and named conditions. */
  lists(): Answer<NamedList[]> {
    return this.#answer('lists', '/lists/all', {}, JSON.parse) as Answer<NamedList[]>
  }

  /** The address of the report page that the server makes for a question. */
  reportAddress(name: string, params: object): Answer<string> {
    const read = (text: string): string => (JSON.parse(text) as { page: string }).page
    return this.#answer('report', `/report/${name}`, params, read) as Answer<string>
  }

  get isWaiting(): boolean {
    return [...this.#slots.values()].some(slot => slot.isWaiting)
  }

  /** Makes slots ask again when they are next read. Until the reply, their earlier answers stay. */
  forget(...slots: string[]): void {
    for (const slot of slots) {
      const slotAnswer = this.#slots.get(slot)
      if (slotAnswer !== undefined) this.#slots.set(slot, { ...slotAnswer, question: '', isWaiting: false })
    }
  }

  /**
   * The answer in a slot. A question other than the slot's last one is sent; until the reply, the earlier value stays.
   * @param read makes the value from the text of the reply
   */
  #answer(slot: string, path: string, params: object, read: (text: string) => unknown): Answer {
    const question = `${path} ${JSON.stringify(params)}`
    const earlier = this.#slots.get(slot)
    if (earlier?.question === question) return earlier
    const waiting: Slot = { question, value: earlier?.value ?? null, refusal: null, isWaiting: true }
    this.#slots.set(slot, waiting)
    const settle = (value: unknown, refusal: string | null): void => {
      // A newer question of the slot makes this answer useless.
      if (this.#slots.get(slot) !== waiting) return
      this.#slots.set(slot, { question, value, refusal, isWaiting: false })
      this.#onAnswer()
    }
    post(path, params).then(
      text => settle(read(text), null),
      (error: Error) => settle(null, error.message),
    )
    return waiting
  }
}
