import type { Random } from '../../random.js'

/** How many simulated tickers in a row share a sector: enough that few tickers already have peers. */
const SECTOR_BLOCK = 8

interface Sector {
  name: string
  /** Usual price over the earnings of four quarters. */
  pe: number
  /** Usual share of revenue that is earned. */
  margin: number
  /** Growth of the business a quarter, as a logarithm. */
  growth: number
}

/** The eleven sectors of the Global Industry Classification Standard. */
const SECTORS: readonly Sector[] = [
  { name: 'Information Technology', pe: 20, margin: 0.17, growth: 0.014 },
  { name: 'Health Care', pe: 18, margin: 0.12, growth: 0.01 },
  { name: 'Financials', pe: 12, margin: 0.19, growth: 0.006 },
  { name: 'Consumer Discretionary', pe: 17, margin: 0.08, growth: 0.01 },
  { name: 'Communication Services', pe: 16, margin: 0.13, growth: 0.008 },
  { name: 'Industrials', pe: 16, margin: 0.09, growth: 0.007 },
  { name: 'Consumer Staples', pe: 17, margin: 0.08, growth: 0.005 },
  { name: 'Energy', pe: 12, margin: 0.08, growth: 0.004 },
  { name: 'Utilities', pe: 16, margin: 0.11, growth: 0.004 },
  { name: 'Real Estate', pe: 18, margin: 0.2, growth: 0.006 },
  { name: 'Materials', pe: 14, margin: 0.09, growth: 0.005 },
]

/** What is true of one company for good, beside its bars. */
export interface Business {
  sector: string
  /** Price over earnings to which it returns. */
  pe: number
  margin: number
  /** Log growth a quarter of its early years, beyond that of its price; it fades. */
  growth: number
  priceToBook: number
  /** Shares outstanding at its beginning. */
  shares: number
  /** Cosine of the angle by which its own business cycle turns in a quarter. */
  turn: number
  /** Spread of what drives that cycle, a quarter. */
  swing: number
  /** How much more than revenue earnings swing with the cycle. */
  leverage: number
  /** Spread of the margin around its usual value, as a share of it. */
  unrest: number
  /** Chance of a write-off in a quarter. */
  writeOffs: number
  /** Factors of the four quarters of a year, of mean 1. */
  seasons: readonly number[]
  /** Months by which its quarters end later than those of the calendar. */
  shift: number
  /** Days from the end of a quarter to its report. */
  lag: number
  /** Chance that a report comes before the session. */
  early: number
  /** Spread of the analysts' errors, as a share of the earnings. */
  blur: number
  analysts: number
  /** The opinion, from 1 to 5, around which its analysts gather. */
  esteem: number
  insiders: number
  /** Chance that insiders sell in a quarter. */
  selling: number
}

/** The company of a ticker's number; `volume` is the usual number of shares traded on a day. */
export function drawBusiness(random: Random, index: number, volume: number): Business {
  const sector = SECTORS[Math.floor((index - 1) / SECTOR_BLOCK) % SECTORS.length]!
  const growth = sector.growth + 0.007 * random.normal()
  const fragile = random.uniform() < 0.2
  return {
    sector: sector.name,
    // Who grows faster costs more.
    pe: sector.pe * Math.exp(0.2 * random.normal() + 10 * (growth - sector.growth)),
    margin: sector.margin * Math.exp(0.3 * random.normal()),
    growth,
    priceToBook: 2.8 * Math.exp(0.5 * random.normal()),
    shares: Math.ceil(volume * 200 * Math.exp(0.4 * random.normal())),
    turn: 0.9 + 0.07 * random.uniform(),
    swing: 0.008 + 0.012 * random.uniform(),
    leverage: 1.2 + random.uniform(),
    unrest: fragile ? 0.25 + 0.2 * random.uniform() : 0.04 + 0.06 * random.uniform(),
    writeOffs: fragile ? 0.06 : 0.015,
    seasons: drawSeasons(random),
    shift: random.uniform() < 0.75 ? 0 : 1 + random.below(2),
    lag: 23 + random.below(17),
    early: random.uniform() < 0.55 ? 0.95 : 0.05,
    blur: 0.06 * Math.exp(0.5 * random.normal()),
    analysts: 6 + Math.min(34, Math.round(8 * Math.exp(0.6 * random.normal()))),
    esteem: Math.max(2.4, Math.min(4.6, 3.75 + 0.45 * random.normal())),
    insiders: 5 + random.below(8),
    selling: 0.35 + 0.4 * random.uniform(),
  }
}

function drawSeasons(random: Random): number[] {
  const strength = random.uniform() < 0.3 ? 0.15 : 0.03
  const raw = [0, 0, 0, 0].map(() => Math.exp(strength * random.normal()))
  const mean = raw.reduce((sum, factor) => sum + factor) / raw.length
  return raw.map(factor => factor / mean)
}
