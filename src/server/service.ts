import type { Accounts } from '../accounts/accounts.js'
import type { Bands } from '../bands.js'
import type { Day } from '../model/day.js'
import type { Tier } from '../model/tier.js'

/** What a server stands on; lent to it, so that it knows neither the store nor the engine. */
export interface Service {
  /** The questions as a caller of a tier may ask them; closing it is not the server's business. */
  bands(tier: Tier): Bands
  accounts: Accounts
  /** Changes whenever an answer may: what was kept of earlier answers then counts no more. */
  version(): Promise<string>
  /** The day that ranges count back from. */
  today(): Promise<Day>
  /** Throws when the data cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}
