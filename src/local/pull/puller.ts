import { randomUUID } from 'node:crypto'
import { type Store, takePlace, type Writer } from '../../store/store.js'
import type { PageSource } from './pages.js'
import { digestOf, type PullPlan, type PullReport, type PullRequest, planOf } from './plan.js'
import { type PullWatch, Work } from './work.js'

export interface PullOptions extends PullWatch {
  /** Never spends more; what is missing then is pulled by the next run. */
  maxCredits?: number
  /** Told before anything is asked. */
  onPlan?(plan: PullPlan): void | Promise<void>
}

/**
 * The one who pulls into a store, from `begin` to `close`. Every page is kept as it comes, with the place to go on from,
 * so that a pull that is stopped is gone on with by the next, and pays nothing twice.
 */
export class Puller {
  readonly store: Store
  readonly #writer: Writer
  readonly #now: () => Date

  private constructor(store: Store, writer: Writer, now: () => Date) {
    this.store = store
    this.#writer = writer
    this.#now = now
  }

  /** Takes the store's one writing place. Throws Busy naming the holder, or with `wait` stays until it is free. */
  static async begin(
    store: Store,
    writer: Writer,
    { wait = false, now = () => new Date() }: { wait?: boolean; now?: () => Date } = {},
  ): Promise<Puller> {
    await takePlace(store, writer, { wait })
    return new Puller(store, writer, now)
  }

  /**
   * Pulls what is missing and what may have changed. What goes wrong on the way is in the report, with all that came
   * before it. Throws InvalidParameter, before anything is asked, for a ticker that something else has told of.
   */
  async pull(source: PageSource, request: PullRequest, options: PullOptions = {}): Promise<PullReport> {
    const now = this.#now()
    const plan = await planOf(this.store, source.url, request, now)
    await options.onPlan?.(plan)
    const asked = { url: source.url, asked: digestOf(request) }
    const run = plan.run ?? { id: randomUUID(), ...asked, started: now.toISOString() }
    await this.store.pulled.setRun(run)
    const work = new Work({ store: this.store, source, request, plan, run, now: this.#now }, options)
    const report = await work.done(options.maxCredits ?? null)
    if (report.stopped === null) await this.store.pulled.setRun(null)
    return report
  }

  async close(): Promise<void> {
    try {
      await this.store.unlock(this.#writer)
    } finally {
      await this.store.close()
    }
  }
}
