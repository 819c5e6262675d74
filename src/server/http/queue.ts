import { Unavailable } from '../../core/errors.js'

export interface QueuedCaller {
  account: number
  /** Throws what keeps it from being computed. */
  check(): Promise<void>
  /** Receives the function to call when no caller waits any more. */
  onQueued(leave: () => void): void
}

interface Waiter<Result> {
  check(): Promise<void>
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Work that runs once for all waiting callers, and is aborted when none is left. */
export class Job<Result> {
  readonly #work: (signal: AbortSignal) => Promise<Result>
  readonly #abort = new AbortController()
  readonly #waiting = new Set<Waiter<Result>>()
  hasBegun = false
  /** Who comes now comes too late for it. */
  isOver = false

  constructor(work: (signal: AbortSignal) => Promise<Result>) {
    this.#work = work
  }

  /**
   * The result, for one more caller.
   * @param check called when the work begins; a caller that it refuses stops waiting
   * @param onQueued gets the function that stops waiting. Throws the errors of check and work
   */
  wait({ check, onQueued }: Pick<QueuedCaller, 'check' | 'onQueued'>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiter = { check, resolve, reject }
      this.#waiting.add(waiter)
      onQueued(() => {
        if (!this.#waiting.delete(waiter)) return
        reject(new Unavailable('The caller has gone.'))
        if (this.isWanted) return
        this.isOver = true
        this.#abort.abort()
      })
    })
  }

  get isWanted(): boolean {
    return this.#waiting.size > 0
  }

  async run(): Promise<void> {
    this.hasBegun = true
    await Promise.all([...this.#waiting].map(waiter => this.#checkWaiter(waiter)))
    try {
      const result = this.isWanted ? await this.#work(this.#abort.signal) : null
      this.isOver = true
      if (result !== null) for (const { resolve } of this.#waiting) resolve(result)
      this.#waiting.clear()
    } catch (error) {
      this.rejectAll(error)
    }
  }

  async #checkWaiter(waiter: Waiter<Result>): Promise<void> {
    try {
      await waiter.check()
    } catch (error) {
      this.#waiting.delete(waiter)
      waiter.reject(error)
    }
  }

  rejectAll(error: unknown): void {
    this.isOver = true
    for (const { reject } of this.#waiting) reject(error)
    this.#waiting.clear()
  }
}

type AnyJob = Pick<Job<unknown>, 'hasBegun' | 'isWanted' | 'run' | 'rejectAll'>

/**
 * The queue of jobs, one line per account. Accounts take turns, so a heavy account delays only itself. When the queue
 * is full, the longest line gives way to shorter ones.
 */
export class Queue {
  readonly #atOnce: number
  readonly #most: number
  /** By account, in the order of their next turns; a job with several callers is in the line of each. */
  readonly #lines = new Map<number, Set<AnyJob>>()
  #running = 0

  /** @param atOnce jobs that are worked on at once @param most jobs that may wait */
  constructor(atOnce: number, most: number) {
    this.#atOnce = atOnce
    this.#most = most
  }

  /** Puts a job at the end of an account's line, if it has not begun. Throws Unavailable where there is no room. */
  join(account: number, job: AnyJob): void {
    const line = this.#lines.get(account) ?? new Set()
    if (job.hasBegun || line.has(job)) return
    const isFull = this.#running >= this.#atOnce && this.waiting().length >= this.#most
    if (isFull && this.#lineCount(job) === 0) this.#makeRoom(line.size)
    line.add(job)
    this.#lines.set(account, line)
    this.#next()
  }

  waiting(): AnyJob[] {
    return [...new Set([...this.#lines.values()].flatMap(line => [...line]))]
  }

  drop(job: AnyJob): void {
    for (const [account, line] of this.#lines) {
      line.delete(job)
      if (line.size === 0) this.#lines.delete(account)
    }
  }

  #next(): void {
    while (this.#running < this.#atOnce) {
      const [first] = this.#lines
      if (first === undefined) return
      const [account, line] = first
      const [job] = line
      // Its next turn comes after all others.
      this.#lines.delete(account)
      this.#lines.set(account, line)
      this.drop(job!)
      this.#running++
      void job!.run().then(() => {
        this.#running--
        this.#next()
      })
    }
  }

  #lineCount(job: AnyJob): number {
    return [...this.#lines.values()].filter(line => line.has(job)).length
  }

  #makeRoom(size: number): void {
    const [longest = new Set<AnyJob>()] = [...this.#lines.values()].sort((a, b) => b.size - a.size)
    const last = [...longest].findLast(job => this.#lineCount(job) === 1)
    if (last === undefined || longest.size <= size + 1) throw tooManyScansError()
    this.drop(last)
    last.rejectAll(tooManyScansError())
  }
}

export function tooManyScansError(): Unavailable {
  return new Unavailable('More scans wait than this server can make; try again in a moment.')
}
