import type { Store } from '../store/store.js'

/**
 * What a run of imports has yet to record anew: tickers whose facts are new, sectors whose tickers are. Kept in the
 * store, so that nobody is answered from what is behind, and a run that was killed is finished by the next.
 */
export class Behind {
  readonly tickers: Set<string>
  readonly sectors: Set<string>

  constructor(keys: readonly string[] = []) {
    const named = (kind: string): Set<string> =>
      new Set(keys.filter(key => key.startsWith(kind)).map(key => key.slice(kind.length)))
    this.tickers = named(TICKER)
    this.sectors = named(SECTOR)
  }

  static async in(store: Store): Promise<Behind> {
    return new Behind(await store.unsettled())
  }

  get none(): boolean {
    return this.tickers.size === 0 && this.sectors.size === 0
  }

  /** As the store keeps it. */
  get keys(): string[] {
    return [...[...this.tickers].map(ticker => TICKER + ticker), ...[...this.sectors].map(key => SECTOR + key)].sort()
  }
}

const TICKER = 'ticker '
const SECTOR = 'sector '
