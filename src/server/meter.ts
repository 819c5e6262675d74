import type { Accounts, Charge, Charged } from '../accounts/accounts.js'

interface Waiting {
  charge: Charge
  resolve(charged: Charged): void
  reject(error: unknown): void
}

/**
 * Writes charges down many at a time: a commit waits for the disk, and all charges that arrive in two turns of the event
 * loop, or while a commit is under way, share the next one.
 */
export class Meter {
  readonly #accounts: Accounts
  readonly #told: (charges: number, seconds: number) => void
  #waiting: Waiting[] = []
  #running: Promise<void> | null = null

  /** @param told hears of every commit */
  constructor(accounts: Accounts, told: (charges: number, seconds: number) => void) {
    this.#accounts = accounts
    this.#told = told
  }

  /** Settles when the charge is on the disk, or is not to be. Throws Busy, StorageError. */
  charge(charge: Charge): Promise<Charged> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ charge, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Settles when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // In the second turn those ask again whose answers the last commit has released: half as many commits.
      await turn()
      await turn()
      const batch = this.#waiting
      this.#waiting = []
      await this.#commit(batch)
    }
    this.#running = null
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const start = performance.now()
    try {
      const charged = await this.#accounts.charge(batch.map(({ charge }) => charge))
      this.#told(batch.length, (performance.now() - start) / 1000)
      for (const [i, { resolve }] of batch.entries()) resolve(charged[i]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
