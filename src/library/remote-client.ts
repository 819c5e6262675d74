import { basename } from 'node:path'
import { InvalidParameter, NotFound } from '../errors.js'
import type { Field } from '../fields/field.js'
import { localMarket } from '../local/market.js'
import type { Market } from '../market.js'
import type { Timeframe } from '../model/timeframe.js'
import type { Trials } from '../model/trials.js'
import { databasePath, type Opened, openLocal, openTrials } from '../open.js'
import { grantedFields } from '../policy/entitle.js'
import type { Credits, Remote } from '../remote/index.js'
import type { NowQuery } from '../study/now.js'
import { Studies } from './studies.js'

/** A database that has prices. */
export interface PricesChoice {
  /** The file; otherwise BANDS_DB, otherwise the user's own. */
  db?: string
  /** false: studies note nothing in the ledger of trials, which lies beside it. */
  ledger?: boolean
}

/**
 * A server, asked by a program. A question that was answered is not asked again: open another for fresh answers. Every
 * question may throw Unauthorized, RateLimited, Unavailable and Upstream, too.
 */
export class RemoteClient extends Studies {
  readonly #remote: Remote
  readonly #bars: PricesChoice | undefined
  #prices: Opened | null = null
  protected readonly tier = null

  constructor(remote: Remote, bars?: PricesChoice) {
    super(remote)
    this.#remote = remote
    this.#bars = bars
  }

  /** What the newest answer told of the account's credits; null while none did. */
  get credits(): Credits | null {
    return this.#remote.credits
  }

  /** Whether the key is accepted, at no cost. Throws Unauthorized where it is not. */
  async checkKey(): Promise<void> {
    await this.#remote.checkKey()
  }

  protected async grantedFields(tickers: readonly string[], timeframe: Timeframe): Promise<readonly Field[]> {
    const [first] = tickers
    return first === undefined ? [] : grantedFields(await this.#remote.tierFor(first, timeframe))
  }

  protected async lacking(): Promise<NowQuery['skip']> {
    return undefined
  }

  override async close(): Promise<void> {
    try {
      await this.#prices?.local.close()
    } finally {
      await super.close()
    }
  }

  protected async market(): Promise<Market> {
    if (this.#bars === undefined)
      throw new InvalidParameter('bars is missing: a server tells events, not prices, and a study needs both.', {
        param: 'bars',
        allowed: 'openRemote({ url, key, bars: { db } }), which names a database that has the prices',
      })
    this.#prices ??= await openLocal(this.#bars)
    if (this.#prices.sample)
      throw new NotFound(`there are no prices at ${databasePath(this.#bars)}; bands import FILE loads them.`)
    const { toldMarket } = await import('../research/told.js')
    return toldMarket(this.#remote, localMarket(this.#prices.local, { emulate: false }))
  }

  protected async trials(): Promise<Trials | null> {
    return this.#bars?.ledger === false ? null : openTrials(this.#bars ?? {})
  }

  protected get source(): string {
    return `events of ${this.#remote.url}, prices of ${basename(databasePath(this.#bars))}`
  }
}
