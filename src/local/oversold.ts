import { setImmediate } from 'node:timers/promises'
import type { Day } from '../model/day.js'
import { type OversoldPage, type OversoldQuery, SEVERITIES } from '../model/oversold.js'
import { entitleDate } from '../policy/entitle.js'
import { presentOversold } from '../policy/present-oversold.js'
import { Cache } from './cache.js'
import { figuresOf } from './oversold/figures.js'
import { checkSector, type Listed, passes } from './oversold/listed.js'
import { inOrder, type Match } from './oversold/order.js'
import { Standings } from './oversold/standings.js'

/**
 * Which tickers are oversold: `GET /v1/scan/oversold`.
 *
 * Every ticker is looked at on its last bar that is final on the date (today unless given), if that is at most seven days
 * older (a week's bar: seven days after its Sunday); one without such a bar, or too young for an RSI, is not scanned. All
 * that is told was known on the date: a store that ends there gives the same answer. What is known without a date (class,
 * sector, market capitalisation) is that of now.
 *
 * - rsi_zone and every other band of a field: the band in force, as `bands now` tells it. asset_class: a ticker of no
 *   known class is a stock when it has a sector or facts, otherwise null, and then only in `all`. market_cap_tier: below
 *   50 M nano, 300 M micro, 2 B small, 10 B mid, 200 B large, 1 T mega, otherwise ultra_mega.
 * - condition_rarity: the percentile of the RSI among its last 1260 values (weekly 260, at least 252 or 52 of them): below
 *   1 extremely_rare, 3 very_rare, 7 rare, 15 uncommon, 30 occasional, otherwise common.
 * - stochastic_zone: slow %K of 14 bars, mean of 3, in the words of rsi_zone cut at 10, 20, 35, 65, 80, 90.
 * - A streak is a stay at oversold or deep_oversold, whichever of the two. days_in_oversold: bars of the present one so
 *   far. oversold_streaks_count: those that touch the last 1260 (260) bars, the present one included;
 *   historical_median_ and historical_max_oversold_days: lengths in bars of the ended ones among them.
 * - volume_context: of this very bar, volume ratio from 2.5 spike, 1.5 above_average, 0.7 normal, else below_average.
 * - nearest_support_distance: from the level that support_status was judged by to the close, in percent of the close: up
 *   to 0.5 at_level, 1.5 very_close, 3 near, 7 moderate, 15 far, else very_far; null without a level, or once the close is
 *   more than 0.5 below it.
 * - sector_*: the stocks of the sector that are scanned on the date, whatever the filters, itself included; sector_rsi_zone
 *   is the zone of their median RSI, sector_agreement whether that is oversold or deeper.
 * - rsi_zone_flips_recent: changes of rsi_zone on the last 30 (12) bars; rsi_zone_stability: as of an entry, for the band
 *   in force and the bars that it has lasted so far.
 * - Fundamental bands are left out for crypto and funds, and null where a company has none.
 *
 * Order: deep_oversold first, then the lower RSI; or the longest streak first; or the lowest percentile first. Ties by
 * ticker. Throws InvalidParameter for a sector that no ticker has and for a date out of range, TierRestricted for a date
 * that only a higher tier has, Busy while a fundamental band that is to be shown waits for an import.
 */
export async function oversold(cache: Cache, query: OversoldQuery): Promise<OversoldPage> {
  const { store, tier } = cache
  const securities = await store.securities()
  if (query.sector !== undefined) checkSector(query.sector, securities.values())
  const date = await dateOf(cache, query)
  const tickers = (await store.tickers()).map(
    (entry): Listed => ({ entry, security: securities.get(entry.ticker) ?? null }),
  )
  const standings = new Standings(store, query.timeframe, date, tickers)
  const { scanned, matches } = await matching(tickers, standings, query)
  const shown = inOrder(matches, query.sortBy).slice(0, query.limit)
  const then = new Cache(store, tier, date)
  const page: OversoldPage = { matches: [], total_scanned: scanned, match_count: matches.length, data_status: 'eod' }
  for (const match of shown) {
    page.matches.push(await presentOversold(await figuresOf(match, standings, then), tier))
    // A match costs milliseconds, and this process may have others to answer.
    await setImmediate()
  }
  return page
}

async function dateOf(cache: Cache, { date }: OversoldQuery): Promise<Day> {
  const today = await cache.today()
  if (date === undefined) return today
  entitleDate(date, cache.tier, today)
  return date
}

async function matching(
  tickers: readonly Listed[],
  standings: Standings,
  query: OversoldQuery,
): Promise<{ scanned: number; matches: Match[] }> {
  const least = SEVERITIES.indexOf(query.minSeverity)
  const matches: Match[] = []
  let scanned = 0
  for (const listed of tickers) {
    if (!(await passes(listed, query, standings.store, standings.date))) continue
    const standing = await standings.standing(listed)
    if (standing === null) continue
    scanned++
    const { low, rsi } = standing
    if (low !== null && SEVERITIES.indexOf(low.zone) >= least) matches.push({ listed, rsi, low })
  }
  return { scanned, matches }
}
