import { setImmediate } from 'node:timers/promises'
import { stabilityOf } from '../../core/engine/record.js'
import { zoneOf } from '../../core/fields/field.js'
import type { Panel } from '../../core/fields/panel.js'
import { rsiZone } from '../../core/fields/technical.js'
import { slowStochastic } from '../../core/indicators/averages.js'
import { compare, zoneOfRank } from '../../core/indicators/rank.js'
import { countUpTo, type Day } from '../../core/model/day.js'
import {
  DISTANCES,
  type Distance,
  type OversoldPage,
  type OversoldQuery,
  RARITIES,
  type Rarity,
  SEVERITIES,
  VOLUME_CONTEXTS,
  type VolumeContext,
} from '../../core/model/event.js'
import type { Security } from '../../core/model/facts.js'
import type { Stability } from '../../core/model/series.js'
import { TIMEFRAMES, type Timeframe } from '../../core/model/terms.js'
import { firstItem } from '../../core/source.js'
import { median } from '../../core/statistics/moments.js'
import { entitleDate, type OversoldFigures, presentOversold } from '../../core/tiers.js'
import { Cache } from './cache.js'
import {
  assetClassOf,
  isOversold,
  type ListedTicker,
  marketCapTierOf,
  matchesFilters,
  OVERSOLD_RULES,
  type OversoldDetails,
  RecentScans,
  refuseUnknownSector,
  type ScanStates,
  type Streak,
  sectorOf,
  streakLength,
} from './scan-states.js'
import { lastBand } from './view.js'

/**
 * Which tickers are oversold: `GET /v1/scan/oversold`.
 *
 * Every ticker is judged on its last bar that is final on the date (default: today) and at most seven days older. A
 * weekly bar counts until seven days after its Sunday. A ticker without such a bar, or too young for an RSI, is not
 * scanned. Only data known on the date are used: a store that ends there gives the same answer. Undated data (class,
 * sector, market capitalisation) are the present ones.
 *
 * - rsi_zone and every other band of a field: the band in force, as in `bands now`. asset_class: a ticker of unknown
 *   class is a stock when it has a sector or facts, otherwise null, and then only in `all`. market_cap_tier: below 50 M
 *   nano, 300 M micro, 2 B small, 10 B mid, 200 B large, 1 T mega, otherwise ultra_mega.
 * - condition_rarity: the percentile of the RSI among its last 1260 values (weekly 260, at least 252 or 52 of them):
 *   below 1 extremely_rare, 3 very_rare, 7 rare, 15 uncommon, 30 occasional, otherwise common.
 * - stochastic_zone: slow %K of 14 bars, mean of 3, with the words of rsi_zone cut at 10, 20, 35, 65, 80, 90.
 * - A streak is an unbroken period in oversold or deep_oversold. days_in_oversold: bars of the present streak so far.
 *   oversold_streaks_count: streaks that touch the last 1260 (260) bars, the present one included. historical_median_
 *   and historical_max_oversold_days: lengths in bars of the ended ones among them.
 * - volume_context: by the volume ratio of this very bar: from 2.5 spike, 1.5 above_average, 0.7 normal, else
 *   below_average.
 * - nearest_support_distance: from the level of support_status to the close, in percent of the close: up to 0.5
 *   at_level, 1.5 very_close, 3 near, 7 moderate, 15 far, else very_far; null without a level, or once the close is
 *   more than 0.5 below it.
 * - sector_*: the stocks of the sector that are scanned on the date, regardless of the filters, itself included.
 *   sector_rsi_zone is the zone of their median RSI, sector_agreement whether that is oversold or deeper.
 * - rsi_zone_flips_recent: changes of rsi_zone on the last 30 (12) bars. rsi_zone_stability: as of an entry, for the
 *   band in force and its bars so far.
 * - Fundamental bands are left out for crypto and funds, and null if a company has none.
 *
 * Order: deep_oversold first, then the lower RSI; or the longest streak first; or the lowest percentile first. Ties are
 * ordered by the RSI, the streak and the percentile, then by the ticker. Throws like checkOversold. Throws Busy while a
 * needed fundamental band waits for an import, and the signal's reason after an abort.
 *
 * @param recent the states of earlier scans
 */
export async function scanOversold(
  cache: Cache,
  query: OversoldQuery,
  { recent: recentScans = new RecentScans(), signal }: { recent?: RecentScans; signal?: AbortSignal } = {},
): Promise<OversoldPage> {
  const { store, tier } = cache
  const { date, securities } = await checkOversold(cache, query)
  const states = await recentScans.statesOn(store, query.timeframe, date, async () =>
    (await store.tickers()).map(entry => ({ entry, security: securities.get(entry.ticker) ?? null })),
  )
  const { scanned, matches } = await findMatches(states, query, signal)
  const shown = sortMatches(matches, query.sort_by).slice(0, query.limit)
  const datedCache = new Cache(store, tier, date)
  const page: OversoldPage = { matches: [], total_scanned: scanned, match_count: matches.length, data_status: 'eod' }
  for (const match of shown) {
    page.matches.push(await presentOversold(await matchFigures(match, states, datedCache), tier))
    // A match takes milliseconds, so this lets the thread work on other requests.
    await setImmediate()
    signal?.throwIfAborted()
  }
  return page
}

/**
 * Checks a scan before any ticker is read, and returns its day and all securities. Throws InvalidParameter for a sector
 * without tickers and for a date out of range, TierRestricted for a date that only a higher tier has.
 */
export async function checkOversold(
  cache: Cache,
  { sector, date }: OversoldQuery,
): Promise<{ date: Day; securities: Map<string, Security> }> {
  const securities = await cache.store.securities()
  if (sector !== undefined) refuseUnknownSector(sector, securities.values())
  const today = await cache.today()
  if (date !== undefined) entitleDate(date, cache.tier, today)
  return { date: date ?? today, securities }
}

/** The tickers that match a scan, and the number of all scanned ones. Throws the signal's reason after an abort. */
async function findMatches(
  states: ScanStates,
  query: OversoldQuery,
  signal?: AbortSignal,
): Promise<{ scanned: number; matches: Match[] }> {
  const leastSeverity = SEVERITIES.indexOf(query.min_severity)
  const matches: Match[] = []
  let scanned = 0
  for (const listed of states.tickers) {
    if (!(await matchesFilters(listed, query, states.store, states.date))) continue
    const state = await states.state(listed)
    signal?.throwIfAborted()
    if (state === null) continue
    scanned++
    const { oversold: details, rsi } = state
    if (details !== null && SEVERITIES.indexOf(details.zone) >= leastSeverity) matches.push({ listed, rsi, details })
  }
  return { scanned, matches }
}

/** All figures of a match. @param datedCache the cache as of the scan's date */
async function matchFigures(
  { listed, details }: Match,
  states: ScanStates,
  datedCache: Cache,
): Promise<OversoldFigures> {
  const { entry } = listed
  const assetClass = await assetClassOf(listed, states.store, states.date)
  const inForce = bandsInForce(datedCache, entry.ticker, states.timeframe)
  return {
    ticker: () => entry.ticker,
    asset_class: () => assetClass,
    rsi_zone: () => details.zone,
    sector: () => sectorOf(listed),
    market_cap_tier: () => marketCapTierOf(listed),
    ...chartFigures(details),
    ...sectorFigures(listed, states),
    volume_ratio_band: () => inForce('volume_ratio_band'),
    trend_context: () => inForce('trend_direction'),
    accumulation_state: () => inForce('accumulation_state'),
    // Coins and funds have no such keys; for a stock, an unknown band is null.
    ...(assetClass === 'crypto' || assetClass === 'etf'
      ? {}
      : Object.fromEntries(FUNDAMENTAL_FIELDS.map(field => [field, () => inForce(field)]))),
  }
}

const FUNDAMENTAL_FIELDS = ['valuation_zone', 'earnings_proximity', 'growth_zone', 'analyst_consensus'] as const

const FIELDS_IN_FORCE = ['volume_ratio_band', 'trend_direction', 'accumulation_state', ...FUNDAMENTAL_FIELDS]

/**
 * Returns a function that reads a ticker's band in force by field; null without one. All fields are read together on
 * first use. The function throws Busy for a field that an import still has to derive.
 */
function bandsInForce(
  datedCache: Cache,
  ticker: string,
  timeframe: Timeframe,
): (field: string) => Promise<string | null> {
  const read = () =>
    firstItem(datedCache.views({ tickers: [ticker], timeframe, fields: FIELDS_IN_FORCE, outcomes: false }))
  let reading: ReturnType<typeof read> | undefined
  return async field => {
    reading ??= read()
    return lastBand(await (await reading)(field))
  }
}

/** The figures of a ticker's sector, each computed on demand. */
function sectorFigures(listed: ListedTicker, states: ScanStates) {
  const state = () => states.sector(listed)
  return {
    sector_rsi_zone: async () => (await state())?.zone ?? null,
    sector_agreement: async () => {
      const sectorState = await state()
      return sectorState === null ? null : isOversold(sectorState.zone)
    },
    sector_oversold_count: async () => (await state())?.oversold ?? null,
    sector_total_count: async () => (await state())?.total ?? null,
  } satisfies Partial<OversoldFigures>
}

/** The figures of a match from its bars, each computed on demand. */
function chartFigures(details: OversoldDetails) {
  const { panel, streaks } = details
  return {
    condition_rarity: () => rarityOf(details),
    stochastic_zone: () => stochasticZone(panel),
    days_in_oversold: () => streakLength(streaks.at(-1)!),
    oversold_streaks_count: () => recentStreaks(details).length,
    volume_context: () => volumeContext(panel.volumeRatio().at(-1)!),
    nearest_support_distance: () => distanceFromSupport(panel.series.close.at(-1)!, panel.support().level.at(-1)!),
    rsi_zone_stability: () => stabilitySoFar(details),
    rsi_zone_flips_recent: () => recentFlips(details),
    historical_median_oversold_days: () => median(endedLengths(details)),
    historical_max_oversold_days: () => {
      const lengths = endedLengths(details)
      return lengths.length === 0 ? null : Math.max(...lengths)
    },
  } satisfies Partial<OversoldFigures>
}

/** How rarely the RSI is this low; null where its history is too short. */
function rarityOf({ rarity: { rank, size } }: OversoldDetails): Rarity | null {
  return rank < 0 ? null : RARITIES[zoneOfRank(rank, size, OVERSOLD_RULES.rarityCuts)]!
}

/** The zone of the slow %K on the last bar, in the words of rsi_zone; null if there are too few bars. */
function stochasticZone({ series: { high, low, close } }: Panel): string | null {
  const { cuts, ...rules } = OVERSOLD_RULES.stochastic
  const neededBars = rules.length + rules.smoothing - 1
  const neededValues = (column: Float64Array): Float64Array => column.subarray(-neededBars)
  const value = slowStochastic(neededValues(high), neededValues(low), neededValues(close), rules).at(-1)!
  return Number.isNaN(value) ? null : rsiZone.bands[zoneOf(value, cuts, 100)]!
}

function volumeContext(ratio: number): VolumeContext | null {
  return Number.isNaN(ratio) ? null : VOLUME_CONTEXTS.toReversed()[zoneOf(ratio, OVERSOLD_RULES.volumeCuts)]!
}

/**
 * How far the close is above the support level. A close just below it counts as at the level. null if there is no level
 * (NaN), or the close is further below it.
 */
function distanceFromSupport(close: number, level: number): Distance | null {
  const distanceShare = (close - level) / close
  const { distanceCuts } = OVERSOLD_RULES
  if (Number.isNaN(distanceShare) || compare(distanceShare, -distanceCuts[0], 1) < 0) return null
  return DISTANCES[distanceCuts.filter(cut => compare(distanceShare, cut, 1) > 0).length]!
}

/** The streaks that touch the last bars of the series, as many as a rolling percentile covers. */
function recentStreaks({ panel, streaks }: OversoldDetails): Streak[] {
  const { days, timeframe } = panel.series
  const first = days.length - TIMEFRAMES[timeframe].history
  return streaks.filter(({ to }) => to > first)
}

/** The lengths in bars of the recent streaks that have ended: of all but the last one. */
function endedLengths(details: OversoldDetails): number[] {
  return recentStreaks(details).slice(0, -1).map(streakLength)
}

/** The number of changes of the RSI's zone within the lookback. */
function recentFlips({ panel, changes }: OversoldDetails): number {
  const { days, timeframe } = panel.series
  return changes.bars.length - countUpTo(changes.bars, days.length - 1 - TIMEFRAMES[timeframe].flipsLookback)
}

/** The stability of the band in force, by the rule for an entry and the bars it has lasted so far. */
function stabilitySoFar(details: OversoldDetails): Stability {
  const { panel, changes } = details
  return stabilityOf(recentFlips(details), panel.series.days.length - (changes.bars.at(-1) ?? changes.initialBar))
}

interface Match {
  listed: ListedTicker
  rsi: number
  details: OversoldDetails
}

/** Sorts matches by `sortBy`. Ties are ordered by severity, days and percentile, then by ticker. */
function sortMatches(matches: readonly Match[], sortBy: OversoldQuery['sort_by']): Match[] {
  const orders = [MATCH_ORDERS[sortBy], ...Object.values(MATCH_ORDERS)]
  return matches.toSorted((a, b) => {
    const deciding = orders.find(order => order(a, b) !== 0)
    if (deciding !== undefined) return deciding(a, b)
    return a.listed.entry.ticker < b.listed.entry.ticker ? -1 : 1
  })
}

const MATCH_ORDERS: Readonly<Record<OversoldQuery['sort_by'], (a: Match, b: Match) => number>> = {
  // The deeper band has the lower RSI.
  severity: (a, b) => roundRsi(a.rsi) - roundRsi(b.rsi),
  days_oversold: (a, b) => lastStreakLength(b) - lastStreakLength(a),
  condition_percentile: comparePercentiles,
}

/** An RSI in steps of 1e-8, so that values that differ only by rounding are equal. */
function roundRsi(rsi: number): number {
  return Math.round(rsi * 1e8)
}

/** The length in bars of the present streak. */
function lastStreakLength({ details }: Match): number {
  return streakLength(details.streaks.at(-1)!)
}

/** Orders by percentile, lowest first; matches without one (rank -1) come last. */
function comparePercentiles({ details: { rarity: a } }: Match, { details: { rarity: b } }: Match): number {
  if (a.rank < 0 || b.rank < 0) return Number(a.rank < 0) - Number(b.rank < 0)
  // rank / size, compared as integers.
  return a.rank * b.size - b.rank * a.size
}
