import { setImmediate } from 'node:timers/promises'
import type { Day } from '../../model/day.js'
import type { Timeframe } from '../../model/timeframe.js'
import type { Store } from '../../store/store.js'
import { sectorKey } from '../dossier.js'
import type { Listed } from './listed.js'
import { middleOf } from './middle.js'
import { type Standing, standingOf, zoneOfRsi } from './standing.js'
import { isOversold } from './streaks.js'

/** How the stocks of a sector stand on the date. */
export interface SectorStanding {
  total: number
  oversold: number
  /** The zone of the median of their RSI. */
  zone: string
}

/** Tickers read together before whoever else waits for this process is let in. */
const TURN = 16

/** All tickers on one date, each looked at when it is first asked for, and once. */
export class Standings {
  readonly store: Store
  readonly timeframe: Timeframe
  readonly date: Day
  readonly #members = new Map<string, Listed[]>()
  readonly #standings = new Map<string, Standing | null>()
  readonly #sectors = new Map<string, SectorStanding | null>()

  constructor(store: Store, timeframe: Timeframe, date: Day, tickers: readonly Listed[]) {
    this.store = store
    this.timeframe = timeframe
    this.date = date
    for (const listed of tickers) {
      const key = sectorKey(listed.security)
      if (key === null) continue
      const members = this.#members.get(key)
      if (members === undefined) this.#members.set(key, [listed])
      else members.push(listed)
    }
  }

  async standing({ entry }: Listed): Promise<Standing | null> {
    const known = this.#standings.get(entry.ticker)
    if (known !== undefined) return known
    if ((this.#standings.size + 1) % TURN === 0) await setImmediate()
    const found = await standingOf(this.store, entry, this.timeframe, this.date)
    this.#standings.set(entry.ticker, found)
    return found
  }

  /** The sector of a stock, under no filter; null where there is none. */
  async sector({ security }: Listed): Promise<SectorStanding | null> {
    const key = sectorKey(security)
    if (key === null) return null
    const known = this.#sectors.get(key)
    if (known !== undefined) return known
    const found = await this.#standingOf(this.#members.get(key) ?? [])
    this.#sectors.set(key, found)
    return found
  }

  async #standingOf(members: readonly Listed[]): Promise<SectorStanding | null> {
    const standings: Standing[] = []
    for (const member of members) {
      const standing = await this.standing(member)
      if (standing !== null) standings.push(standing)
    }
    const middle = middleOf(standings.map(standing => standing.rsi))
    if (middle === null) return null
    return {
      total: standings.length,
      oversold: standings.filter(standing => isOversold(standing.zone)).length,
      zone: zoneOfRsi(middle),
    }
  }
}
