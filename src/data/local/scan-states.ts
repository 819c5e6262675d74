import { setImmediate } from 'node:timers/promises'
import { barsAt, transitions } from '../../core/engine/record.js'
import { didYouMean, InvalidParameter, quoted, suggest } from '../../core/errors.js'
import { zoneOf } from '../../core/fields/field.js'
import { cachedByName } from '../../core/fields/fundamentals.js'
import { Panel } from '../../core/fields/panel.js'
import { rsiZone } from '../../core/fields/technical.js'
import { compare, rollingRanks } from '../../core/indicators/rank.js'
import { type Day, mondayOf } from '../../core/model/day.js'
import { DEFINITIONS } from '../../core/model/definitions.js'
import {
  MARKET_CAP_TIERS,
  type MarketCapTier,
  type OversoldQuery,
  SEVERITIES,
  type Severity,
} from '../../core/model/event.js'
import { factsKnownBy, factsOf, type Security } from '../../core/model/facts.js'
import { type AssetClass, barsKnownBy, firstBars, type Series, type Transitions } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../core/model/terms.js'
import { median } from '../../core/statistics/moments.js'
import type { Store, TickerEntry } from '../store/store.js'
import { sectorKey } from './view.js'

/** The state of a sector's stocks on the date. */
interface SectorState {
  total: number
  oversold: number
  /** The zone of the median of their RSI. */
  zone: string
}

/** The number of tickers to read before other work of this process may run. */
const TICKERS_PER_TURN = 16

/** All tickers on one date; each is computed on first use, once. */
export class ScanStates {
  readonly store: Store
  readonly timeframe: Timeframe
  readonly date: Day
  readonly tickers: readonly ListedTicker[]
  readonly #once = cachedByName()
  #readTickers = 0

  constructor(store: Store, timeframe: Timeframe, date: Day, tickers: readonly ListedTicker[]) {
    this.store = store
    this.timeframe = timeframe
    this.date = date
    this.tickers = tickers
  }

  /** The state of a ticker; null if it is not scanned. */
  state({ entry }: ListedTicker): Promise<TickerState | null> {
    return this.#once(`ticker ${entry.ticker}`, async () => {
      if (++this.#readTickers % TICKERS_PER_TURN === 0) await setImmediate()
      return stateOfTicker(this.store, entry, this.timeframe, this.date)
    })
  }

  /** The state of a stock's sector, regardless of filters; null for a ticker without a sector. */
  async sector({ security }: ListedTicker): Promise<SectorState | null> {
    const key = sectorKey(security)
    return key === null ? null : this.#once(`sector ${key}`, () => this.#sectorState(key))
  }

  /** The state of a sector by its key; null if none of its tickers is scanned. */
  async #sectorState(key: string): Promise<SectorState | null> {
    const states: TickerState[] = []
    for (const member of this.tickers) {
      const state = sectorKey(member.security) === key ? await this.state(member) : null
      if (state !== null) states.push(state)
    }
    const medianRsi = median(states.map(state => state.rsi))
    if (medianRsi === null) return null
    return {
      total: states.length,
      oversold: states.filter(state => isOversold(state.zone)).length,
      zone: zoneOfRsi(medianRsi),
    }
  }
}

/** The states of earlier scans of the same store: another filter needs the same tickers. */
export class RecentScans {
  readonly #cache = new Map<string, ScanStates>()
  #version = ''

  /** The states of a date; computed for all tickers if they are not cached or something was written since. */
  async statesOn(
    store: Store,
    timeframe: Timeframe,
    date: Day,
    tickers: () => Promise<readonly ListedTicker[]>,
  ): Promise<ScanStates> {
    const version = await store.version()
    if (version !== this.#version) this.#cache.clear()
    this.#version = version
    const key = `${timeframe} ${date}`
    const states = this.#cache.get(key) ?? new ScanStates(store, timeframe, date, await tickers())
    // The map's order is the order of last use.
    this.#cache.delete(key)
    this.#cache.set(key, states)
    for (const oldest of [...this.#cache.keys()].slice(0, -MAX_SCANS)) this.#cache.delete(oldest)
    return states
  }

  /** Empties the cache. Needed after an error, which would otherwise be answered again. */
  forget(): void {
    this.#cache.clear()
  }
}

/** The most scans in the cache; one of a whole market takes a few MiB. */
const MAX_SCANS = 4

/** A ticker's state on its judged bar. */
interface TickerState {
  rsi: number
  /** The band in force. */
  zone: string
  /** Only if oversold or deep_oversold: details of a whole market would fill the memory. */
  oversold: OversoldDetails | null
}

/** The data that order and describe an oversold ticker. */
export interface OversoldDetails {
  zone: Severity
  /** The bars up to the judged one, which is the last. */
  panel: Panel
  changes: Transitions
  streaks: readonly Streak[]
  rarity: Rank
}

/** The rank of a value among `size` values: `2 · less + equal`. -1 if there are too few values. */
interface Rank {
  rank: number
  size: number
}

/**
 * The state of a ticker on a date: at its last bar that is final by then and not too old. null without such a bar or
 * band. It is computed from the bars with the rule of recorded events. Every ticker's RSI is needed anyway, and bars
 * are read faster than events with returns.
 */
async function stateOfTicker(
  store: Store,
  { ticker, assetClass }: TickerEntry,
  timeframe: Timeframe,
  date: Day,
): Promise<TickerState | null> {
  const daily = await store.bars(ticker)
  if (daily === null) return null
  const allBars = barsAt(timeframe, daily, assetClass)
  const series = firstBars(allBars, barsKnownBy(allBars, date))
  return hasStopped(series, date) ? null : stateAtEnd(new Panel(series))
}

/** Whether a ticker's last bar is too old to say anything about a date. */
export function hasStopped({ days, timeframe }: Pick<Series, 'days' | 'timeframe'>, date: Day): boolean {
  const last = days.at(-1)
  if (last === undefined) return true
  const end = timeframe === 'daily' ? last : mondayOf(last) + 6
  return date - end > OVERSOLD_RULES.maxAge
}

/**
 * The state on the last bar of a panel; null before the first RSI. From then on every bar has one, so the band of the
 * last bar is the band in force.
 */
function stateAtEnd(panel: Panel): TickerState | null {
  const rsi = panel.rsi().at(-1)!
  if (Number.isNaN(rsi)) return null
  const zone = zoneOfRsi(rsi)
  if (!isOversold(zone)) return { rsi, zone, oversold: null }
  const changes = transitions(rsiZone.classify(panel))
  const streaks = streaksOf(changes, rsiZone.bands, panel.rsi().length)
  return { rsi, zone, oversold: { zone, panel, changes, streaks, rarity: rankOfLast(panel) } }
}

function zoneOfRsi(rsi: number): string {
  return rsiZone.bands[zoneOf(rsi, DEFINITIONS.rsi.cuts, 100)]!
}

/** The rank of the last bar's RSI, as fields rank it. */
function rankOfLast({ rsi, series }: Panel): Rank {
  const { history, minHistory } = TIMEFRAMES[series.timeframe]
  const { rank, size } = rollingRanks(rsi().subarray(-history), history, minHistory)
  return { rank: rank.at(-1)!, size: size.at(-1)! }
}

/** Bars in a row on which the band in force is oversold or deep_oversold. */
export interface Streak {
  from: number
  /** The bar on which both bands were left; for a streak that still lasts, the number of bars. */
  to: number
}

/** The oversold streaks of a series, oldest first. @param bars the number of bars */
function streaksOf(changes: Transitions, bandsByCode: readonly string[], bars: number): Streak[] {
  const streaks: Streak[] = []
  const addPeriod = (code: number, from: number, to: number): void => {
    if (!isOversold(bandsByCode[code]!)) return
    const last = streaks.at(-1)
    if (last?.to === from) last.to = to
    else streaks.push({ from, to })
  }
  const { initialBar, initialBand } = changes
  addPeriod(initialBand, initialBar, changes.bars[0] ?? bars)
  for (let i = 0; i < changes.bars.length; i++)
    addPeriod(changes.bands[i]!, changes.bars[i]!, changes.bars[i + 1] ?? bars)
  return streaks
}

export function streakLength({ from, to }: Streak): number {
  return to - from
}

export function isOversold(band: string): band is Severity {
  return (SEVERITIES as readonly string[]).includes(band)
}

/**
 * Every length and cut that a scan adds to those of the fields. They affect no stored data, because a scan is computed
 * on demand. So they are not part of the store's definitions.
 */
export const OVERSOLD_RULES = {
  /** Calendar days that a ticker's last bar may be older than the date (of a week: than its Sunday). */
  maxAge: 7,
  /** In money, ascending; one fewer than MARKET_CAP_TIERS. */
  marketCapCuts: [50e6, 300e6, 2e9, 10e9, 200e9, 1e12],
  /** Percentiles of the RSI. */
  rarityCuts: [1, 3, 7, 15, 30],
  stochastic: { length: 14, smoothing: 3, cuts: [10, 20, 35, 65, 80, 90] },
  /** Volume ratios, ascending: VOLUME_CONTEXTS is the other way round. */
  volumeCuts: [0.7, 1.5, 2.5],
  /** Shares of the close; a distance equal to one is still the nearer. */
  distanceCuts: [0.005, 0.015, 0.03, 0.07, 0.15],
} as const

/** A ticker's row and its security. */
export interface ListedTicker {
  entry: TickerEntry
  security: Security | null
}

/** Whether a ticker passes the filters of a query. */
export async function matchesFilters(
  listed: ListedTicker,
  query: OversoldQuery,
  store: Store,
  date: Day,
): Promise<boolean> {
  const { asset_class, sector, market_cap_tier, min_market_cap_tier } = query
  if (sector !== undefined && sectorOf(listed)?.toLowerCase() !== sector.trim().toLowerCase()) return false
  const tier = marketCapTierOf(listed)
  if (market_cap_tier !== undefined && tier !== market_cap_tier) return false
  if (min_market_cap_tier !== undefined && tierRank(tier) < tierRank(min_market_cap_tier)) return false
  return asset_class === 'all' || (await assetClassOf(listed, store, date)) === asset_class
}

/** Throws InvalidParameter for a sector that no ticker of the store has, naming the nearest. */
export function refuseUnknownSector(sector: string, securities: Iterable<Security>, param = 'sector'): void {
  const spellings = new Map<string, string>()
  for (const security of securities) {
    const name = sectorOf({ security })
    if (name !== null && !spellings.has(name.toLowerCase())) spellings.set(name.toLowerCase(), name)
  }
  if (spellings.has(sector.trim().toLowerCase())) return
  const allowed = [...spellings.values()].sort()
  const suggestions = suggest(sector.trim(), allowed)
  const what =
    allowed.length === 0
      ? 'cannot be looked for: no sector of any ticker is known.'
      : `is not one of ${allowed.join(', ')}.${didYouMean(suggestions)}`
  const details = { param, value: sector, allowed, suggestions }
  throw new InvalidParameter(`sector ${quoted(sector)} ${what}`, details)
}

/** The sector as imported, trimmed; null if unknown. */
export function sectorOf({ security }: Pick<ListedTicker, 'security'>): string | null {
  return security?.sector?.trim() || null
}

/** The tier of a ticker's market capitalisation; null if that is unknown. */
export function marketCapTierOf({ security }: ListedTicker): MarketCapTier | null {
  const cap = security?.market_cap ?? null
  if (cap === null) return null
  return MARKET_CAP_TIERS[OVERSOLD_RULES.marketCapCuts.filter(cut => compare(cap, cut) >= 0).length]!
}

/** A ticker of unknown class is a stock when it has a sector, or any fact known by the day; otherwise null. */
export async function assetClassOf(listed: ListedTicker, store: Store, date: Day): Promise<AssetClass | null> {
  const storedClass = listed.security?.asset_class ?? listed.entry.assetClass
  if (storedClass !== null) return storedClass
  return sectorOf(listed) !== null || (await hasFacts(listed.entry.ticker, store, date)) ? 'stock' : null
}

async function hasFacts(ticker: string, store: Store, date: Day): Promise<boolean> {
  const known = factsKnownBy(factsOf(await store.sheets(ticker)), date)
  return Object.values(known).some(records => records.length > 0)
}

/** The rank of a tier of market capitalisation, from 0; -1 for an unknown one. */
function tierRank(tier: MarketCapTier | null): number {
  return tier === null ? -1 : MARKET_CAP_TIERS.indexOf(tier)
}
