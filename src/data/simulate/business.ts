import { type Day, dayOf, isWeekend, monthOf, weekdayOf, yearOf } from '../../core/model/day.js'
import type { ScheduledReport, Session } from '../../core/model/facts.js'
import { barsKnownBy, type Series } from '../../core/model/series.js'
import type { Random } from '../../core/statistics/random.js'

/** How many simulated tickers in a row share a sector: enough that few tickers already have peers. */
const SECTOR_BLOCK = 8

/**
 * The eleven sectors of the Global Industry Classification Standard: the usual price over the earnings of four
 * quarters, the usual profit share of revenue, and the log growth of the business per quarter.
 */
const SECTORS = [
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

export type Business = ReturnType<typeof drawBusiness>

/**
 * Draws the company of a simulated ticker.
 * @param index the number of the ticker, from 1
 * @param volume its usual number of shares traded on a day
 */
export function drawBusiness(random: Random, index: number, volume: number) {
  const sector = SECTORS[Math.floor((index - 1) / SECTOR_BLOCK) % SECTORS.length]!
  const growth = sector.growth + 0.007 * random.normal()
  const isFragile = random.uniform() < 0.2
  return {
    sector: sector.name,
    /** Price over earnings to which it returns; higher for faster growth. */
    pe: sector.pe * Math.exp(0.2 * random.normal() + 10 * (growth - sector.growth)),
    margin: sector.margin * Math.exp(0.3 * random.normal()),
    /** Log growth a quarter of its early years, beyond that of its price; it fades. */
    growth,
    priceToBook: 2.8 * Math.exp(0.5 * random.normal()),
    /** Shares outstanding at its beginning. */
    shares: Math.ceil(volume * 200 * Math.exp(0.4 * random.normal())),
    /** Cosine of the angle by which its own business cycle turns in a quarter. */
    turn: 0.9 + 0.07 * random.uniform(),
    /** Spread of the random changes of that cycle, a quarter. */
    swing: 0.008 + 0.012 * random.uniform(),
    /** How many times as much as revenue the earnings change with the cycle. */
    leverage: 1.2 + random.uniform(),
    /** Spread of the margin around its usual value, as a share of it. */
    unrest: isFragile ? 0.25 + 0.2 * random.uniform() : 0.04 + 0.06 * random.uniform(),
    /** Chance of a write-off in a quarter. */
    writeOffs: isFragile ? 0.06 : 0.015,
    /** Factors of the four quarters of a year, of mean 1. */
    seasons: drawSeasons(random),
    /** Months by which its quarters end later than those of the calendar. */
    shift: random.uniform() < 0.75 ? 0 : 1 + random.below(2),
    /** Days from the end of a quarter to its report. */
    lag: 23 + random.below(17),
    /** Chance that a report comes before the session. */
    early: random.uniform() < 0.55 ? 0.95 : 0.05,
    /** Spread of the analysts' errors, as a share of the earnings. */
    errorSpread: 0.06 * Math.exp(0.5 * random.normal()),
    analysts: 6 + Math.min(34, Math.round(8 * Math.exp(0.6 * random.normal()))),
    /** The opinion, from 1 to 5, around which its analysts gather. */
    esteem: Math.max(2.4, Math.min(4.6, 3.75 + 0.45 * random.normal())),
    insiders: 5 + random.below(8),
    /** Chance that insiders sell in a quarter. */
    selling: 0.35 + 0.4 * random.uniform(),
  }
}

/** The factors of revenue in the four quarters of a year, of mean 1. */
function drawSeasons(random: Random): number[] {
  const strength = random.uniform() < 0.3 ? 0.15 : 0.03
  const factors = [0, 0, 0, 0].map(() => Math.exp(strength * random.normal()))
  const mean = factors.reduce((sum, factor) => sum + factor) / factors.length
  return factors.map(factor => factor / mean)
}

/** Number of quarters with reports before the first bar: growth against the year before is known from the start. */
export const QUARTERS_BEFORE = 11

/** The dates of one quarter's report, fixed before anything else about it. */
export type Quarter = ReturnType<typeof drawQuarter>

/**
 * The last day of the quarter that contains `day`, or of a later one, and its index in the year.
 * @param shift months from the end of a calendar quarter to that of the company's
 * @param later number of quarters later; negative for earlier
 */
export function quarterEnd(day: Day, shift: number, later: number): { end: Day; season: number } {
  // Months and quarters are counted from the year 0.
  const month = yearOf(day) * 12 + monthOf(day) - 1
  const quarter = Math.floor((month - shift) / 3) + later
  const monthAfter = (quarter + 1) * 3 + shift
  const firstDayAfter = dayOf(Math.floor(monthAfter / 12), (monthAfter % 12) + 1, 1)!
  return { end: firstDayAfter - 1, season: quarter % 4 }
}

/**
 * The dates of a quarter; `season` is its index in the year.
 * @param number counted from that of the first bar, which is 0
 * @param first day of the first bar
 */
export function drawQuarter(number: number, first: Day, business: Business, random: Random) {
  const { end, season } = quarterEnd(first, business.shift, number)
  const reported = sessionUpTo(end + business.lag + random.below(4))
  const session: Session = random.uniform() < business.early ? 'pre' : 'post'
  return { number, season, end, reported, session, announced: drawAnnouncements(reported, random) }
}

/** The last session up to a day. */
export function sessionUpTo(day: Day): Day {
  return sessionsUpTo(day, 1)[0]!
}

/**
 * The announced dates of a report, in order; the last one is right. A date is announced five to nine weeks ahead. One
 * in six is moved in the last weeks, mostly to a later one.
 */
function drawAnnouncements(reported: Day, random: Random): ScheduledReport[] {
  const daysAhead = 35 + random.below(26)
  const isMoved = random.uniform() < 1 / 6
  const daysLater = random.uniform() < 0.8 ? 1 + random.below(8) : -1 - random.below(3)
  const daysOfNotice = 4 + random.below(15)
  const planned = isMoved ? sessionUpTo(reported - daysLater) : reported
  const first = { expected_date: planned, known: sessionUpTo(planned - daysAhead) }
  if (planned === reported) return [first]
  const moved = { expected_date: reported, known: sessionUpTo(Math.min(planned, reported) - daysOfNotice) }
  return [first, moved]
}

// The simulated past before the first bar has one step a week.
const WEEKS_A_YEAR = 52
const YEARS = 12
// Per week: mean and standard deviation of the log return before the first bar.
const WEEKLY_DRIFT = 0.0012
const WEEKLY_SPREAD = 0.04

/** Log closes on any day: those of the bars, and before the first one a simulated past that leads up to it. */
export class Prices {
  readonly first: Day
  readonly last: Day
  readonly #bars: Series
  /** By weeks before the first bar, from 0. */
  readonly #past: Float64Array

  /** @param price the price before the first bar, to which the simulated past leads */
  constructor(bars: Series, price: number, random: Random) {
    this.#bars = bars
    this.first = bars.days[0]!
    this.last = bars.days.at(-1)!
    this.#past = new Float64Array(YEARS * WEEKS_A_YEAR + 1)
    this.#past[0] = Math.log(price)
    for (let week = 1; week < this.#past.length; week++)
      this.#past[week] = this.#past[week - 1]! - WEEKLY_DRIFT - WEEKLY_SPREAD * random.normal()
  }

  /** The logarithm of the close of the last session up to a day. */
  logClose(day: Day): number {
    if (day >= this.first) return Math.log(this.#bars.close[barsKnownBy(this.#bars, day) - 1]!)
    const week = Math.floor((this.first - 1 - day) / 7)
    return this.#past[Math.min(week, this.#past.length - 1)]!
  }
}

const THURSDAY = 3
const SATURDAY = 5
const SUNDAY = 6

/**
 * The last `count` sessions up to and including `end`, ascending. With `sevenDays` every day is one. Otherwise they are
 * Monday to Friday without New Year's Day, Independence Day, Thanksgiving and Christmas, a simplified American
 * calendar.
 */
export function sessionsUpTo(end: Day, count: number, sevenDays = false): Int32Array {
  const days = new Int32Array(count)
  const holidays = new Map<number, ReadonlySet<Day>>()
  const isSession = (day: Day): boolean => {
    if (sevenDays) return true
    if (isWeekend(day)) return false
    const year = yearOf(day)
    if (!holidays.has(year)) holidays.set(year, holidaysOf(year))
    return !holidays.get(year)!.has(day)
  }
  for (let day = end, i = count - 1; i >= 0; day--) if (isSession(day)) days[i--] = day
  return days
}

/** The days of a year on which the simulated exchange is closed, besides weekends. */
function holidaysOf(year: number): ReadonlySet<Day> {
  return new Set([
    observedHoliday(dayOf(year, 1, 1)!),
    observedHoliday(dayOf(year, 7, 4)!),
    thanksgiving(year),
    observedHoliday(dayOf(year, 12, 25)!),
  ])
}

/**
 * The day on which exchanges close for a holiday: the Friday before one on a Saturday, the Monday after one on a
 * Sunday. So a New Year's Day on a Saturday closes no day of its year. That is the rule of the New York exchange, too.
 */
function observedHoliday(holiday: Day): Day {
  const weekday = weekdayOf(holiday)
  if (weekday === SATURDAY) return holiday - 1
  return weekday === SUNDAY ? holiday + 1 : holiday
}

/** The fourth Thursday of November. */
function thanksgiving(year: number): Day {
  const november1 = dayOf(year, 11, 1)!
  const daysToThursday = (THURSDAY + 7 - weekdayOf(november1)) % 7
  return november1 + daysToThursday + 21
}
