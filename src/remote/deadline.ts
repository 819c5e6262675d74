/** The end of all attempts at one question, beginning now. */
export class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #at: number

  constructor(ms: number) {
    this.#at = performance.now() + ms
    this.#timer = setTimeout(() => this.#controller.abort(), ms)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get over(): boolean {
    return this.signal.aborted
  }

  get left(): number {
    return this.#at - performance.now()
  }

  /** What becomes of some work, or a rejection as soon as the deadline passes: for work that may not heed the signal. */
  bound<Result>(work: Promise<Result>): Promise<Result> {
    const { signal } = this
    return new Promise((resolve, reject) => {
      const passed = () => reject(signal.reason)
      signal.addEventListener('abort', passed)
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', passed))
    })
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
