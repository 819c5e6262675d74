import { counted, type InvalidParameter, RateLimited, wrong } from '../../core/errors.js'
import {
  type Accounts,
  type Charge,
  type ChargeResult,
  DAY_MS,
  dayStart,
  HOUR_MS,
  hourStart,
  type UsedCredits,
} from '../accounts/accounts.js'
import { IDEMPOTENCY_KEY } from '../wire/format.js'
import type { HeaderList } from './encoding.js'
import type { CreditLimits } from './options.js'
import { headerValues, sha256 } from './requests.js'

interface PendingCharge {
  charge: Charge
  resolve(result: ChargeResult): void
  reject(error: unknown): void
}

/**
 * Writes charges in batches, because a commit waits for the disk. Charges that arrive within two turns of the event
 * loop share a commit; those that arrive during a commit share the next one.
 */
export class Meter {
  readonly #accounts: Accounts
  readonly #onCommit: (charges: number, seconds: number) => void
  #pending: PendingCharge[] = []
  #running: Promise<void> | null = null

  /** @param onCommit is called after every commit, with the number of charges in it */
  constructor(accounts: Accounts, onCommit: (charges: number, seconds: number) => void) {
    this.#accounts = accounts
    this.#onCommit = onCommit
  }

  /** Resolves when the charge is on the disk, or was found free or refused. Throws Busy, StorageError. */
  charge(charge: Charge): Promise<ChargeResult> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ charge, resolve, reject })
      this.#running ??= this.#commitPending()
    })
  }

  async allCommitted(): Promise<void> {
    while (this.#running !== null) await this.#running
  }

  /** Commits batches until no charge is pending. */
  async #commitPending(): Promise<void> {
    while (this.#pending.length > 0) {
      // Two turns: callers who got an answer after the last commit send their next request in the second one.
      await nextTurn()
      await nextTurn()
      const batch = this.#pending
      this.#pending = []
      await this.#commit(batch)
    }
    this.#running = null
  }

  /** Writes a batch, and gives each charge its result or the error. Never rejects. */
  async #commit(batch: readonly PendingCharge[]): Promise<void> {
    const start = performance.now()
    try {
      const results = await this.#accounts.charge(batch.map(({ charge }) => charge))
      this.#onCommit(batch.length, (performance.now() - start) / 1000)
      for (const [i, { resolve }] of batch.entries()) resolve(results[i]!)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** The caller's credits as headers. @param used may exceed a lowered limit @param at milliseconds since 1970 */
export function creditHeaders(limits: CreditLimits, used: UsedCredits, at: number): HeaderList {
  return [
    'X-Request-Limit',
    String(limits.day),
    'X-Requests-Used',
    String(used.day),
    'X-Requests-Remaining',
    String(Math.max(0, limits.day - used.day)),
    'X-Request-Reset',
    utcText(dayStart(at) + DAY_MS),
    'X-Hourly-Request-Limit',
    String(limits.hour),
    'X-Hourly-Requests-Used',
    String(used.hour),
    'X-Hourly-Requests-Remaining',
    String(Math.max(0, limits.hour - used.hour)),
    'X-Hourly-Request-Reset',
    utcText(hourStart(at) + HOUR_MS),
  ]
}

/** Whether a cost would exceed the limit of the day or of the hour. */
export function exceedsLimits(limits: CreditLimits, used: UsedCredits, cost: number): boolean {
  return used.day + cost > limits.day || used.hour + cost > limits.hour
}

/** The error for a cost that exceeds a limit. If both limits are exceeded, it names the day. */
export function creditsUsedUpError(limits: CreditLimits, used: UsedCredits, cost: number, at: number): RateLimited {
  const period = used.day + cost > limits.day ? 'day' : 'hour'
  const reset = utcText(period === 'day' ? dayStart(at) + DAY_MS : hourStart(at) + HOUR_MS)
  const message = `This costs ${counted(cost, 'credit')}, and ${used[period]} of the ${limits[period]} of the ${period} are used; there are new ones at ${reset}.`
  return new RateLimited(message, reset)
}

/** A time, in milliseconds since 1970, as `2026-03-24T00:00:00Z`. Cached: all answers of an hour have the same two. */
function utcText(at: number): string {
  let text = utcTexts.get(at)
  if (text !== undefined) return text
  if (utcTexts.size >= MAX_UTC_TEXTS) utcTexts.clear()
  text = new Date(at).toISOString().replace('.000Z', 'Z')
  utcTexts.set(at, text)
  return text
}

const utcTexts = new Map<number, string>()
const MAX_UTC_TEXTS = 8

/** SHA-256 of the caller's name for a request, from its Idempotency-Key; null without one. Throws InvalidParameter. */
export function requestNameHash(rawHeaders: readonly string[]): Buffer | null {
  const [name, another] = headerValues(IDEMPOTENCY_KEY.toLowerCase(), rawHeaders)
  if (name === undefined) return null
  if (another !== undefined) throw wrong(IDEMPOTENCY_KEY, `${IDEMPOTENCY_KEY} is given twice.`)
  if (/^[!-~]{1,255}$/.test(name)) return sha256(name)
  const allowed = '1 to 255 visible ASCII characters'
  throw wrong(IDEMPOTENCY_KEY, `${IDEMPOTENCY_KEY} is not ${allowed}.`, { allowed })
}

/** The error for a name that was already used with another question. */
export function nameTakenError(): InvalidParameter {
  const message = `${IDEMPOTENCY_KEY} was given to another question within 48 hours; choose another one.`
  return wrong(IDEMPOTENCY_KEY, message)
}
