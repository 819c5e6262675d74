import type { NamedList } from '../../../core/source.js'

/** An answer as far as it is known. The one before is shown until the next is there. */
export interface Answer<Value = unknown> {
  value: Value | null
  /** Why there is none, in a sentence. */
  refusal: string | null
  isWaiting: boolean
}

interface Slot extends Answer {
  /** The question, as text. */
  question: string
}

export class Refusal extends Error {}

/** Sends a question to the server of the page. Throws Refusal. */
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

/** Answers by name. A question that is asked already is not sent again, and the newest wins. */
export class Answers {
  readonly #slots = new Map<string, Slot>()
  readonly #changed: () => void

  constructor(changed: () => void) {
    this.#changed = changed
  }

  /** The answer to a question of the library, as an object. */
  of<Value>(slot: string, params: object, name = slot): Answer<Value> {
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

  /** The address of a report page. */
  page(name: string, params: object): Answer<string> {
    const read = (text: string): string => (JSON.parse(text) as { page: string }).page
    return this.#answer('report', `/report/${name}`, params, read) as Answer<string>
  }

  get isWaiting(): boolean {
    return [...this.#slots.values()].some(slot => slot.isWaiting)
  }

  /** Asks again the next time; until then the answer stays. */
  forget(...slots: string[]): void {
    for (const slot of slots) {
      const known = this.#slots.get(slot)
      if (known !== undefined) this.#slots.set(slot, { ...known, question: '', isWaiting: false })
    }
  }

  #answer(slot: string, path: string, params: object, read: (text: string) => unknown): Answer {
    const question = `${path} ${JSON.stringify(params)}`
    const known = this.#slots.get(slot)
    if (known?.question === question) return known
    const asked: Slot = { question, value: known?.value ?? null, refusal: null, isWaiting: true }
    this.#slots.set(slot, asked)
    const end = (found: Partial<Slot>): void => {
      if (this.#slots.get(slot) !== asked) return
      this.#slots.set(slot, { ...asked, ...found, isWaiting: false })
      this.#changed()
    }
    post(path, params).then(
      text => end({ value: read(text) }),
      (error: Error) => end({ value: null, refusal: error.message }),
    )
    return asked
  }
}
