/**
 * GET /v1/scan/oversold from the words of its definitions alone, for well-formed questions that the tier may ask. Of the
 * project only the types of records are known here.
 */
import type { Facts } from '../../../src/core/model/facts.js'
import { type Bar, dayAfter, finalOn, SETTINGS, type Timeframe, weekday, weeklyBars } from './bars.js'
import { type Company, type FundamentalName, oracleFundamentals } from './facts.js'
import { atMost } from './facts-tolerance.js'
import { bands, FIELDS } from './fields.js'
import { type Column, indicators, rollingRanks } from './indicators.js'
import type { Tier } from './search.js'
import { below, equal, type Rank, zone, zoneOfRank } from './tolerance.js'

export interface ScannedTicker {
  ticker: string
  /** Daily. */
  bars: Bar[]
  assetClass: 'stock' | 'crypto' | 'etf' | null
  sector: string | null
  marketCap: number | null
  /** As they lie in the store, whatever the class. */
  facts: Facts
}

export interface Scan {
  asset_class?: string
  sector?: string
  market_cap_tier?: string
  min_market_cap_tier?: string
  min_severity?: string
  sort_by?: string
  limit?: number
  timeframe?: string
  date?: string
  tier: Tier
  today: string
}

const CAPS = ['nano', 'micro', 'small', 'mid', 'large', 'mega', 'ultra_mega']
const RARITIES = ['extremely_rare', 'very_rare', 'rare', 'uncommon', 'occasional', 'common']
const FUNDAMENTALS = ['valuation_zone', 'earnings_proximity', 'growth_zone', 'analyst_consensus'] as const

/** The table of the page: which keys a tier adds. */
const KEYS: Record<Tier, string[]> = {
  free: [...['ticker', 'asset_class', 'rsi_zone', 'condition_rarity', 'sector', 'market_cap_tier'], 'valuation_zone'],
  plus: [
    ...['stochastic_zone', 'days_in_oversold', 'oversold_streaks_count', 'volume_context', 'volume_ratio_band'],
    ...['trend_context', 'nearest_support_distance', 'sector_rsi_zone', 'earnings_proximity', 'growth_zone'],
    ...['analyst_consensus', 'rsi_zone_stability', 'rsi_zone_flips_recent'],
  ],
  pro: [
    ...['accumulation_state', 'historical_median_oversold_days', 'historical_max_oversold_days'],
    ...['sector_agreement', 'sector_oversold_count', 'sector_total_count'],
  ],
}

/** A market whose tickers are worked out once, for many questions. */
export class OracleMarket {
  readonly #all: ScannedTicker[]
  readonly #worked = new Map<string, Worked>()

  constructor(all: ScannedTicker[]) {
    this.#all = all
  }

  page(scan: Scan): Record<string, unknown> {
    const date = scan.date ?? scan.today
    const timeframe = (scan.timeframe ?? 'daily') as Timeframe
    const everyone = this.#all.flatMap(one => this.#observed(one, timeframe, date))
    const scanned = everyone.filter(one => passes(one, scan))
    const severities = scan.min_severity === 'deep_oversold' ? ['deep_oversold'] : ['deep_oversold', 'oversold']
    const found = scanned.filter(({ zone }) => severities.includes(zone))
    const by = [scan.sort_by ?? 'severity', 'severity', 'days_oversold', 'condition_percentile']
    found.sort((a, b) => by.map(one => order(a, b, one)).find(found => found !== 0) ?? (a.ticker < b.ticker ? -1 : 1))
    return {
      matches: found.slice(0, scan.limit ?? 20).map(one => shown(one, everyone, scan.tier)),
      total_scanned: scanned.length,
      match_count: found.length,
      data_status: 'eod',
    }
  }

  /** A ticker at its last bar that is final on the date and not too old; none without a band there. */
  #observed(one: ScannedTicker, timeframe: Timeframe, date: string): Observed[] {
    const worked = this.#work(one, timeframe)
    const t = worked.final.filter(day => day <= date).length - 1
    if (t < 0) return []
    const last = worked.bars[t]!.date
    const end = timeframe === 'daily' ? last : dayAfter(last, 7 - weekday(last))
    if (date > dayAfter(end, 7)) return []
    const zone = worked.zones[t]!
    return zone === null ? [] : [{ ...one, timeframe, date, worked, t, zone, ...stays(worked.zones, t, timeframe) }]
  }

  #work(one: ScannedTicker, timeframe: Timeframe): Worked {
    const key = `${timeframe} ${one.ticker}`
    const known = this.#worked.get(key)
    if (known !== undefined) return known
    const bars = barsOf(one, timeframe)
    const given = indicators(bars, timeframe)
    const peers =
      isStock(one) && one.sector !== null ? this.#all.filter(other => other !== one && sameSector(one, other)) : []
    const worked: Worked = {
      bars,
      final: bars.map(({ date }) => (timeframe === 'daily' ? date : finalOn(date, one.bars, one.assetClass))),
      rsi: given.rsi,
      rsiRanks: rollingRanks(given.rsi, timeframe),
      zones: carried(bands(bars, timeframe, 'rsi_zone', given)),
      stochastic: bars.map((_, t) => stochastic(bars, t)),
      volumeRatio: given.volume_ratio,
      volume: bands(bars, timeframe, 'volume_ratio_band', given),
      trend: bands(bars, timeframe, 'trend_direction', given),
      accumulation: bands(bars, timeframe, 'accumulation_state', given),
      support: given.support_level,
      fundamentals: oracleFundamentals(
        company(one, timeframe),
        timeframe,
        peers.map(other => company(other, timeframe)),
      ),
    }
    this.#worked.set(key, worked)
    return worked
  }
}

interface Worked {
  bars: Bar[]
  /** The day from which on each is final. */
  final: string[]
  rsi: Column
  rsiRanks: (Rank | null)[]
  /** The band in force on every bar. */
  zones: (string | null)[]
  stochastic: Column
  volumeRatio: Column
  volume: (string | null)[]
  trend: (string | null)[]
  accumulation: (string | null)[]
  support: Column
  fundamentals: Record<FundamentalName, (string | null)[]>
}

interface Observed extends ScannedTicker, Stays {
  timeframe: Timeframe
  date: string
  worked: Worked
  t: number
  zone: string
}

/** All bars, the last week too, whether or not it is over. */
function barsOf({ bars, assetClass }: ScannedTicker, timeframe: Timeframe): Bar[] {
  if (timeframe === 'daily') return bars
  return weeklyBars(bars, { asOf: dayAfter(bars.at(-1)!.date, 7), assetClass: assetClass ?? undefined })
}

function company(one: ScannedTicker, timeframe: Timeframe): Company {
  const bars = barsOf(one, timeframe)
  const number = (date: string): number => Date.parse(date) / 86_400_000
  const dated = Object.values(one.facts).some(records => records.length > 0)
  return {
    ticker: one.ticker,
    days: bars.map(({ date }) => number(date)),
    known: bars.map(({ date }) => number(timeframe === 'daily' ? date : finalOn(date, one.bars, one.assetClass))),
    closes: bars.map(({ close }) => close),
    facts: isStock(one) && dated ? one.facts : null,
  }
}

/** For comparisons between companies, a class that nobody told counts as that of stocks. */
function isStock({ assetClass }: ScannedTicker): boolean {
  return assetClass === null || assetClass === 'stock'
}

function sameSector(a: ScannedTicker, b: ScannedTicker): boolean {
  if (!isStock(a) || !isStock(b) || a.sector === null || b.sector === null) return false
  return a.sector.trim().toLowerCase() === b.sector.trim().toLowerCase()
}

/** What is shown as the class: a stock also where only a sector or some fact of that day says so. */
function classOf({ assetClass, sector, facts, date }: Observed): string | null {
  if (assetClass !== null) return assetClass
  const day = Date.parse(date) / 86_400_000
  const dates = [
    ...[...facts.reports, ...facts.schedule, ...facts.ratings, ...facts.grades, ...facts.insiders].map(x => x.known),
    ...facts.earnings.map(x => x.report_date),
    ...facts.splits.map(x => x.ex_date),
  ]
  return sector !== null || dates.some(known => known <= day) ? 'stock' : null
}

function capOf({ marketCap }: ScannedTicker): string | null {
  return marketCap === null ? null : zone(marketCap, [50e6, 300e6, 2e9, 10e9, 200e9, 1e12], CAPS, marketCap)
}

function passes(one: Observed, scan: Scan): boolean {
  const { asset_class = 'all', sector, market_cap_tier, min_market_cap_tier } = scan
  if (asset_class !== 'all' && classOf(one) !== asset_class) return false
  if (sector !== undefined && one.sector?.trim().toLowerCase() !== sector.trim().toLowerCase()) return false
  const cap = capOf(one)
  if (market_cap_tier !== undefined && cap !== market_cap_tier) return false
  return min_market_cap_tier === undefined || (cap !== null && CAPS.indexOf(cap) >= CAPS.indexOf(min_market_cap_tier))
}

/** The RSI as matches are ordered by it: to eight decimals, so that rounding decides nothing. */
const ordered = ({ worked, t }: Observed): number => Math.round(worked.rsi[t]! * 1e8)

function order(a: Observed, b: Observed, by: string): number {
  if (by === 'days_oversold') return b.days - a.days
  if (by === 'condition_percentile') {
    const x = a.worked.rsiRanks[a.t]!
    const y = b.worked.rsiRanks[b.t]!
    if (x === null || y === null) return Number(x === null) - Number(y === null)
    return (2 * x.less + x.equal) * y.n - (2 * y.less + y.equal) * x.n
  }
  return a.zone === b.zone ? ordered(a) - ordered(b) : a.zone === 'deep_oversold' ? -1 : 1
}

interface Stays {
  /** Bars of the present stay at or below oversold, 0 where there is none. */
  days: number
  count: number
  /** Lengths of the ended ones, ascending. */
  ended: number[]
  /** Bars since the band in force was entered, that bar included, and how often the band changed lately. */
  bandBars: number
  flips: number
}

function stays(zones: readonly (string | null)[], t: number, timeframe: Timeframe): Stays {
  const { hist, flipBars } = SETTINGS[timeframe]
  const forced = zones.slice(0, t + 1)
  const low = (i: number): boolean => forced[i] === 'oversold' || forced[i] === 'deep_oversold'
  const runs: { from: number; to: number }[] = []
  for (let i = 0; i <= t; i += 1) {
    if (!low(i)) continue
    if (i > 0 && low(i - 1)) runs.at(-1)!.to = i
    else runs.push({ from: i, to: i })
  }
  const touching = runs.filter(({ to }) => to > t - hist)
  const length = ({ from, to }: { from: number; to: number }): number => to - from + 1
  let bandBars = 1
  while (bandBars <= t && forced[t - bandBars] === forced[t]) bandBars += 1
  const changed = forced.map((band, i) => i > 0 && forced[i - 1] !== null && band !== forced[i - 1])
  return {
    days: low(t) ? length(runs.at(-1)!) : 0,
    count: touching.length,
    ended: touching
      .filter(({ to }) => to < t)
      .map(length)
      .sort((a, b) => a - b),
    bandBars,
    flips: changed.filter((did, i) => did && i > t - flipBars).length,
  }
}

/** Undefined bars keep the band in force. */
function carried(column: readonly (string | null)[]): (string | null)[] {
  let band: string | null = null
  return column.map(own => {
    band = own ?? band
    return band
  })
}

function inForce(column: readonly (string | null)[], t: number): string | null {
  return column.slice(0, t + 1).findLast(band => band !== null) ?? null
}

/** Mean of the last three of where the close stands between the lowest low and the highest high of 14 bars. */
function stochastic(bars: Bar[], t: number): number | null {
  if (t < 15) return null
  const raw = [t - 2, t - 1, t].map(s => {
    const window = bars.slice(s - 13, s + 1)
    const high = Math.max(...window.map(bar => bar.high))
    const low = Math.min(...window.map(bar => bar.low))
    if (equal(high, low)) return 50
    return Math.min(100, Math.max(0, (100 * (bars[s]!.close - low)) / (high - low)))
  })
  return (raw[0]! + raw[1]! + raw[2]!) / 3
}

function shown(one: Observed, everyone: readonly Observed[], tier: Tier): Record<string, unknown> {
  const all: Record<string, unknown> = { ...known(one), ...charted(one), ...compared(one, everyone) }
  const keys = { free: KEYS.free, plus: [...KEYS.free, ...KEYS.plus], pro: [...KEYS.free, ...KEYS.plus, ...KEYS.pro] }
  return Object.fromEntries(keys[tier].filter(key => key in all).map(key => [key, all[key]]))
}

function known(one: Observed): Record<string, unknown> {
  const { ticker, zone, sector, assetClass, worked, t } = one
  const of = worked.rsiRanks[t]!
  const common = {
    ...{
      ticker,
      asset_class: classOf(one),
      rsi_zone: zone,
      sector: sector?.trim() ?? null,
      market_cap_tier: capOf(one),
    },
    condition_rarity: of === null ? null : zoneOfRank(of, [1, 3, 7, 15, 30], RARITIES),
  }
  if (assetClass === 'crypto' || assetClass === 'etf') return common
  return { ...common, ...Object.fromEntries(FUNDAMENTALS.map(name => [name, inForce(worked.fundamentals[name], t)])) }
}

function charted({ worked, t, days, count, ended, bandBars, flips }: Observed): Record<string, unknown> {
  const k = worked.stochastic[t]!
  const ratio = worked.volumeRatio[t]!
  const middle = ended.length / 2
  const median = ended.length % 2 === 1 ? ended[Math.floor(middle)]! : (ended[middle - 1]! + ended[middle]!) / 2
  const age = bandBars <= 2 ? 'fresh' : bandBars <= 9 ? 'holding' : 'established'
  return {
    stochastic_zone: k === null ? null : zone(k, [10, 20, 35, 65, 80, 90], FIELDS.rsi_zone, 100),
    days_in_oversold: days,
    oversold_streaks_count: count,
    volume_context:
      ratio === null ? null : zone(ratio, [0.7, 1.5, 2.5], ['below_average', 'normal', 'above_average', 'spike'], 1),
    volume_ratio_band: inForce(worked.volume, t),
    trend_context: inForce(worked.trend, t),
    nearest_support_distance: distance(worked.bars[t]!.close, worked.support[t]!),
    rsi_zone_stability: flips >= 4 ? 'volatile' : age,
    rsi_zone_flips_recent: flips,
    accumulation_state: inForce(worked.accumulation, t),
    historical_median_oversold_days: ended.length === 0 ? null : median,
    historical_max_oversold_days: ended.at(-1) ?? null,
  }
}

function distance(close: number, support: number | null): string | null {
  if (support === null) return null
  const away = (close - support) / close
  if (below(away, -0.005, 1)) return null
  if (atMost(away, 0.005)) return 'at_level'
  if (atMost(away, 0.015)) return 'very_close'
  if (atMost(away, 0.03)) return 'near'
  if (atMost(away, 0.07)) return 'moderate'
  return atMost(away, 0.15) ? 'far' : 'very_far'
}

function compared(one: Observed, everyone: readonly Observed[]): Record<string, unknown> {
  const sector = everyone.filter(other => sameSector(one, other))
  if (sector.length === 0)
    return { sector_rsi_zone: null, sector_agreement: null, sector_oversold_count: null, sector_total_count: null }
  const values = sector.map(({ worked, t }) => worked.rsi[t]!).sort((a, b) => a - b)
  const half = Math.floor(values.length / 2)
  const median = values.length % 2 === 1 ? values[half]! : (values[half - 1]! + values[half]!) / 2
  const band = zone(median, [20, 30, 40, 60, 70, 80], FIELDS.rsi_zone, 100)
  return {
    sector_rsi_zone: band,
    sector_agreement: band === 'oversold' || band === 'deep_oversold',
    sector_oversold_count: sector.filter(other => other.zone === 'oversold' || other.zone === 'deep_oversold').length,
    sector_total_count: sector.length,
  }
}
