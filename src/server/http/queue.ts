import { Unavailable } from '../../core/errors.js'

export interface QueuedCaller {
  account: number
  /** Throws if nothing may be computed for this caller. */
  check(): Promise<void>
  /** Receives a function, to be called when this caller has gone: then it waits no longer. */
  onQueued(stopWaiting: () => void): void
}

interface Waiter<Result> {
  check(): Promise<void>
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Work that runs once for all callers that wait for it, and is aborted when no caller waits any more. */
export class Job<Result> {
  readonly #work: (signal: AbortSignal) => Promise<Result>
  readonly #abort = new AbortController()
  readonly #waiting = new Set<Waiter<Result>>()
  hasBegun = false
  /** It has ended or was aborted; a later caller needs a new job. */
  isOver = false

  constructor(work: (signal: AbortSignal) => Promise<Result>) {
    this.#work = work
  }

  /**
   * Adds a caller, and resolves to the result. Rejects with the errors of `check` and of the work, or with Unavailable
   * if the caller has gone.
   * @param check called when the work begins; if it throws, this caller waits no longer
   * @param onQueued receives the function to call when this caller has gone
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

  /** Checks all callers, does the work unless none is left, and gives each its result or its error. Never rejects. */
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

  /** Rejects and removes a caller whose check throws. */
  async #checkWaiter(waiter: Waiter<Result>): Promise<void> {
    try {
      await waiter.check()
    } catch (error) {
      this.#waiting.delete(waiter)
      waiter.reject(error)
    }
  }

  /** Ends the job: all waiting callers get the error. */
  rejectAll(error: unknown): void {
    this.isOver = true
    for (const { reject } of this.#waiting) reject(error)
    this.#waiting.clear()
  }
}

type AnyJob = Pick<Job<unknown>, 'hasBegun' | 'isWanted' | 'run' | 'rejectAll'>

/**
 * A queue of jobs with one line per account. Accounts take turns, so an account with many jobs delays only itself. When
 * the queue is full, the last job of the longest line is refused in favour of an account with a shorter line.
 */
export class Queue {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  /** By account, in the order of their next turns; a job for several accounts is in the line of each. */
  readonly #lines = new Map<number, Set<AnyJob>>()
  #running = 0

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
  }

  /**
   * Adds a job to the end of an account's line, unless it has begun. A full queue refuses the last job of a longer line
   * instead, or throws Unavailable if there is none. A job that already waits for another account needs no room.
   */
  join(account: number, job: AnyJob): void {
    const line = this.#lines.get(account) ?? new Set()
    if (job.hasBegun || line.has(job)) return
    const isFull = this.#running >= this.#maxRunning && this.waitingJobs().length >= this.#maxWaiting
    if (isFull && this.#lineCount(job) === 0) this.#makeRoom(line.size)
    line.add(job)
    this.#lines.set(account, line)
    this.#startNext()
  }

  waitingJobs(): AnyJob[] {
    return [...new Set([...this.#lines.values()].flatMap(line => [...line]))]
  }

  /** Removes a job from all lines. */
  removeFromLines(job: AnyJob): void {
    for (const [account, line] of this.#lines) {
      line.delete(job)
      if (line.size === 0) this.#lines.delete(account)
    }
  }

  /** Starts waiting jobs, one of each account in turn, while fewer than the maximum run. */
  #startNext(): void {
    while (this.#running < this.#maxRunning) {
      const [firstEntry] = this.#lines
      if (firstEntry === undefined) return
      const [account, line] = firstEntry
      const [job] = line
      // The account's next turn comes after those of all others.
      this.#lines.delete(account)
      this.#lines.set(account, line)
      this.removeFromLines(job!)
      this.#running++
      // It never rejects: its callers get the failure.
      void job!.run().then(() => {
        this.#running--
        this.#startNext()
      })
    }
  }

  /** The number of accounts that wait for a job, each in its own line. */
  #lineCount(job: AnyJob): number {
    return [...this.#lines.values()].filter(line => line.has(job)).length
  }

  /**
   * Refuses the last job of the longest line. Throws Unavailable if that line would then be no longer than the
   * caller's.
   * @param callersJobs the number of jobs in the caller's line
   */
  #makeRoom(callersJobs: number): void {
    const [longest = new Set<AnyJob>()] = [...this.#lines.values()].sort((a, b) => b.size - a.size)
    // Only a job that no other account waits for.
    const last = [...longest].findLast(job => this.#lineCount(job) === 1)
    if (last === undefined || longest.size <= callersJobs + 1) throw tooManyScansError()
    this.removeFromLines(last)
    last.rejectAll(tooManyScansError())
  }
}

export function tooManyScansError(): Unavailable {
  return new Unavailable('More scans wait than this server can make; try again in a moment.')
}
