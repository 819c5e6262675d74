import type { Local } from './local/index.js'
import type { EventHistory, EventsPage } from './model/event.js'
import type { EventsParams } from './model/query.js'
import type { Tier } from './model/tier.js'
import { openLocal } from './open.js'
import { parseEvents, parseHistory } from './query/parse.js'
import { dayValue, tierValue } from './query/values.js'
import type { TickerEntry } from './store/store.js'

export interface BandsOptions {
  /** The database file; otherwise BANDS_DB, otherwise the user's own, otherwise the bundled sample. */
  db?: string
  /** Default pro. */
  tier?: Tier
  /** Answer as of this date, `YYYY-MM-DD`: nothing that was not yet known then is used or shown. */
  asOf?: string
}

/**
 * Opens a cache for questions; nothing is written. Throws InvalidParameter for an option, NotFound for a database that
 * was named and is missing, StorageError for one that cannot be read.
 */
export async function openBands({ db, tier = 'pro', asOf }: BandsOptions = {}): Promise<BandsClient> {
  const { local } = openLocal({
    ...(db === undefined ? {} : { db }),
    tier: tierValue('tier', tier),
    asOf: asOf === undefined ? null : dayValue('as_of', asOf),
  })
  return new BandsClient(local)
}

/**
 * The questions as a program asks them: parameters spelled as in the specification, answers as the command line prints
 * them with `--json`. Every question may throw InvalidParameter, TierRestricted or NotFound.
 */
export class BandsClient {
  readonly #local: Local

  constructor(local: Local) {
    this.#local = local
  }

  /** `GET /v1/events`: the newest matching transitions of one field of one ticker, with their aftermath. */
  async events(params: EventsParams): Promise<EventsPage> {
    return this.#local.events(parseEvents(params))
  }

  /** All matching transitions, oldest first, with raw returns and percentiles. */
  async history(params: Omit<EventsParams, 'limit'>): Promise<EventHistory> {
    return this.#local.history(parseHistory(params))
  }

  /** What is loaded. */
  async tickers(): Promise<TickerEntry[]> {
    return this.#local.cache.store.tickers()
  }

  async close(): Promise<void> {
    await this.#local.close()
  }
}
