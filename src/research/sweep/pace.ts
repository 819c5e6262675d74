import { setImmediate } from 'node:timers/promises'

/** Milliseconds of work after which others get their turn. */
const SPELL = 40

/** Lets long work be watched and broken off: tells how far it is, and lets the event loop turn now and then. */
export class Pace {
  readonly #step: ((text: () => string) => void) | undefined
  #next = performance.now() + SPELL

  constructor(step: ((text: () => string) => void) | undefined) {
    this.#step = step
  }

  /** To be awaited as often as one likes. */
  async turn(text: () => string): Promise<void> {
    if (performance.now() < this.#next) return
    this.#step?.(text)
    await setImmediate()
    this.#next = performance.now() + SPELL
  }
}
