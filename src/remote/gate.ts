/**
 * Lets a few tasks run at once, the others wait in line. An error that concerns them all, such as a refused key, ends
 * the waiting of every other task at once: none is started that would meet the same.
 */
export class Gate {
  readonly #concernsAll: (error: unknown) => boolean
  #free: number
  #line: { enter(): void; turnAway(error: unknown): void }[] = []
  #ending = new AbortController()

  constructor(width: number, concernsAll: (error: unknown) => boolean) {
    this.#free = width
    this.#concernsAll = concernsAll
  }

  /** @param task told by the signal that an error of another ends its waiting; the signal's reason is that error */
  async pass<Result>(task: (ending: AbortSignal) => Promise<Result>): Promise<Result> {
    await this.#enter()
    const { signal } = this.#ending
    try {
      return await task(signal)
    } catch (error) {
      if (this.#concernsAll(error) && !signal.aborted) this.#turnAway(error)
      throw error
    } finally {
      this.#leave()
    }
  }

  async #enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((enter, turnAway) => this.#line.push({ enter, turnAway }))
  }

  #leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free++
    else next.enter()
  }

  #turnAway(error: unknown): void {
    const line = this.#line
    this.#line = []
    this.#ending.abort(error)
    this.#ending = new AbortController()
    for (const waiting of line) waiting.turnAway(error)
  }
}
