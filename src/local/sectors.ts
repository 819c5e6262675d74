import { barsAt } from '../engine/record.js'
import { Sector, type SectorView } from '../fields/sector.js'
import type { Facts, Security } from '../model/facts.js'
import type { Series } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { Store, TickerEntry } from '../store/store.js'
import { countedFacts, sectorKey } from './view.js'

/** A ticker with bars and with facts that count. */
export interface Member {
  entry: TickerEntry
  daily: Series
  facts: Facts
}

/** The tickers of a store, sector by sector; what has been read is kept, so it serves one run and not the next. */
export class Sectors {
  readonly #store: Store
  #securities: Promise<Map<string, Security>> | null = null
  readonly #members = new Map<string, Promise<Member[]>>()
  readonly #sectors = new Map<string, Promise<Sector>>()

  constructor(store: Store) {
    this.#store = store
  }

  /** What a ticker sees of its sector; null when it has none. */
  async seenFrom(ticker: string, timeframe: Timeframe): Promise<SectorView | null> {
    const key = sectorKey((await this.#known()).get(ticker))
    return key === null ? null : (await this.of(key, timeframe)).seenFrom(ticker)
  }

  async of(key: string, timeframe: Timeframe): Promise<Sector> {
    const name = `${timeframe} ${key}`
    const known = this.#sectors.get(name)
    if (known !== undefined) return known
    const made = this.members(key).then(members => {
      return new Sector(
        members.map(({ entry, daily, facts }) => ({
          ticker: entry.ticker,
          series: barsAt(timeframe, daily, entry.assetClass),
          facts,
        })),
      )
    })
    this.#sectors.set(name, made)
    return made
  }

  /** In the order of their tickers. */
  async members(key: string): Promise<Member[]> {
    const known = this.#members.get(key)
    if (known !== undefined) return known
    const read = this.#read(key)
    this.#members.set(key, read)
    return read
  }

  #known(): Promise<Map<string, Security>> {
    this.#securities ??= this.#store.securities()
    return this.#securities
  }

  async #read(key: string): Promise<Member[]> {
    const members: Member[] = []
    const securities = await this.#known()
    for (const ticker of [...securities.keys()].sort()) {
      if (sectorKey(securities.get(ticker)) !== key) continue
      const entry = await this.#store.ticker(ticker)
      const facts = entry === null ? null : countedFacts(await this.#store.sheets(ticker))
      if (entry !== null && facts !== null) members.push({ entry, daily: (await this.#store.bars(ticker))!, facts })
    }
    return members
  }
}
