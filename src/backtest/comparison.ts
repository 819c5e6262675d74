import { countBelow, countUpTo, type Day, dateOf, mondayOf } from '../model/day.js'
import { grouped } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { Strategy } from '../params/strategy.js'
import type { MarketBars } from '../source.js'
import { deviation, mean } from '../statistics/moments.js'
import { Random } from '../statistics/random.js'
import { automaticLag, neweyWestAlpha, type RatioError, ratioError, regression } from '../statistics/robust.js'
import { freeRate } from '../statistics/sharpe.js'
import { shiftsOf, tooShort } from '../statistics/shift.js'
import { daysAt, placesIn, unionCalendar } from '../study/signals.js'
import type { Backtest, Benchmark } from './result.js'
import { bought, fractionOf } from './sizing.js'
import { type Curve, effectiveBarsAYear, equityStatistics, returnsOf, yearsOf } from './statistics.js'
import {
  type ExitEvent,
  entryBar,
  entryPrice,
  exitEventAfter,
  fillsOf,
  follow,
  hasDistances,
  type Member,
  netReturn,
  type Taken,
} from './trade.js'

/** What is held is bought at a close and never sold but at the end of its trading; start 1. */
interface Held extends Omit<Curve, 'start' | 'riskFree'> {
  /** Its bars. */
  days: Int32Array
}

/** What a strategy is held against: its curve, and the days of it. */
export interface Judged {
  timeframe: Timeframe
  days: Int32Array
  curve: Curve
}

type Tickers = readonly Pick<MarketBars, 'series' | 'delisting'>[]

/**
 * Buy and hold over a calendar, without costs, start 1: equal money in each ticker at the close of its first bar in the
 * calendar, cash until then, and cash again after a delisting.
 */
export function buyAndHold(tickers: Tickers, calendar: Int32Array, barsAYear: number): Held {
  const equity = new Float64Array(calendar.length)
  const held = new Uint8Array(calendar.length)
  const money = 1 / tickers.length
  let traded = 0
  for (const { series, delisting } of tickers) {
    const { days, close } = series
    let bar = countBelow(days, calendar[0] ?? 0)
    const first = close[bar] ?? Number.NaN
    const ends = delisting?.day ?? Number.POSITIVE_INFINITY
    if (bar < days.length) traded += money
    if (bar < days.length && ends <= calendar.at(-1)!) traded += (money * delisting!.price) / first
    for (let place = 0; place < calendar.length; place++) {
      const day = calendar[place]!
      if (bar === days.length || day < days[bar]!) {
        equity[place]! += money
        continue
      }
      while (bar + 1 < days.length && days[bar + 1]! <= day) bar++
      if (day < ends) held[place] = 1
      equity[place]! += (money * (day < ends ? close[bar]! : delisting!.price)) / first
    }
  }
  return { days: calendar, equity, traded, exposed: held.reduce((sum, one) => sum + one, 0), barsAYear }
}

/**
 * The same with a part of the equity alone, renewed at each close, and the rest in cash: what it brings to be in the
 * market as much as a strategy is on average. A negative part is held short.
 */
export function heldInPart(whole: Held, part: number, cashRate: number): Held {
  const equity = whole.equity.slice()
  let traded = equity.length === 0 ? 0 : Math.abs(part)
  for (let i = 1; i < equity.length; i++) {
    const before = equity[i - 1]!
    const grown = part * (whole.equity[i]! / whole.equity[i - 1]!)
    const interest = ((1 - Math.abs(part)) * cashRate * (whole.days[i]! - whole.days[i - 1]!)) / 365
    equity[i] = before * (1 + grown - part + interest)
    traded += Math.abs(part * equity[i]! - before * grown)
  }
  return { ...whole, equity, traded, exposed: part === 0 ? 0 : whole.exposed }
}

/** One ticker held over its own bars within a calendar, and to the end of its trading; without costs, start 1. */
export function heldAlone(ticker: MarketBars, calendar: Int32Array): Held {
  const { series, delisting, barsAYear } = ticker
  const end = calendar.at(-1) ?? -1
  const own = series.days.subarray(countBelow(series.days, calendar[0] ?? 0), countUpTo(series.days, end))
  const isLater = own.length > 0 && delisting !== null && delisting.day > own.at(-1)! && delisting.day <= end
  const days = isLater ? Int32Array.from([...own, delisting.day]) : own
  return { ...buyAndHold([ticker], days, barsAYear), exposed: own.length }
}

/**
 * A strategy against something held: the statistics of that over its own bars, and how the two go together on the bars
 * that both have.
 */
export function benchmarkOf(name: string, held: Held, judged: Judged): Benchmark {
  const { riskFree } = judged.curve
  const { own, other, barsAYear } = inCommon(held, judged)
  const free = freeRate(barsAYear, riskFree)
  const excess = own.map(value => value - free)
  const market = other.map(value => value - free)
  const isSound = own.every(Number.isFinite) && other.every(Number.isFinite)
  const line = isSound ? regression(excess, market) : null
  const active = own.map((value, i) => value - other[i]!)
  const spread = deviation(active)
  const information = isSound && spread ? (mean(active)! / spread) * Math.sqrt(barsAYear) : null
  const reasons: Record<string, string> = {}
  const t = line === null ? null : alphaT(excess, market)
  const few = own.length < 3 ? 'the two have fewer than three returns in common' : null
  const none = isSound ? few : 'one of the two fell to 0'
  if (line === null)
    for (const key of ['alpha', 'beta', 'correlation']) reasons[key] = none ?? 'one of the two does not vary'
  if (t === null) reasons.alpha_t = reasons.alpha ?? 'nothing is left that varies'
  if (information === null) reasons.information_ratio = none ?? 'the two do not differ'
  return {
    name,
    first: dateOf(held.days[0]),
    last: dateOf(held.days.at(-1)),
    statistics: equityStatistics({ ...held, start: 1, riskFree }),
    alpha: line === null ? null : line.alpha * barsAYear,
    alpha_t: t,
    beta: line?.beta ?? null,
    correlation: line?.r ?? null,
    information_ratio: information,
    years: yearsOf({ ...held, start: 1 }),
    equity: onDays(held, judged.days),
    reasons,
  }
}

/** Of the alpha by Newey and West, where rounding is not all that is left of the returns. */
function alphaT(excess: Float64Array, market: Float64Array): number | null {
  const found = neweyWestAlpha(excess, market, automaticLag(excess.length))
  return found === null || found.se <= NOTHING * (deviation(excess) ?? 0) ? null : found.t
}

/** The returns of both from each bar that they share to the next, and how many of those make a year. */
function inCommon(held: Held, { timeframe, days, curve }: Judged) {
  const [places, at] = sharedPlaces([days, held.days], timeframe) as [number[], number[]]
  const shared = Int32Array.from(places, i => days[i]!)
  // What the strategy began with counts as the value of its first day, as in its own returns.
  const own = Float64Array.from(places, i => curve.equity[i]!)
  if (places[0] === 0) own[0] = curve.start
  const other = Float64Array.from(at, i => held.equity[i]!)
  const whole = [
    { days, barsAYear: curve.barsAYear },
    { days: held.days, barsAYear: held.barsAYear },
  ].find(one => one.days.length === shared.length)
  return {
    own: returnsOf({ equity: own, start: own[0] ?? 1 }),
    other: returnsOf({ equity: other, start: other[0] ?? 1 }),
    barsAYear: whole?.barsAYear ?? effectiveBarsAYear(shared) ?? curve.barsAYear,
  }
}

/**
 * Of each of some calendars the places of the bars that all of them have. Weeks of two markets may end on different days
 * and are the same week.
 */
export function sharedPlaces(calendars: readonly Int32Array[], timeframe: Timeframe): number[][] {
  const barOf = timeframe === 'weekly' ? mondayOf : (day: Day): Day => day
  const places = calendars.map(days => new Map(Array.from(days, (day, i) => [barOf(day), i])))
  const shared = [...(places[0]?.keys() ?? [])].filter(bar => places.every(own => own.has(bar)))
  return places.map(own => shared.map(bar => own.get(bar)!))
}

/** Its equity at the last of its bars up to each of some days; null before the first and after the last. */
function onDays(held: Held, days: Int32Array): (number | null)[] {
  const last = held.days.at(-1) ?? Number.NEGATIVE_INFINITY
  return Array.from(days, day => (day > last ? null : (held.equity[countUpTo(held.days, day) - 1] ?? null)))
}

/** One ticker's part in the draws. */
interface Drawn {
  /** Place in the calendar of each trade's signal. */
  signals: Int32Array
  /** The net return of one of these trades if its signal were at another place; NaN where there is none. */
  netAt: (place: number, trade: number) => number
}

/**
 * What the same rules would have done at random times: the signals of all closed trades moved together, by a random number
 * of days on the calendar of their tickers, which wraps round, with the same exits and costs and no limit on places or
 * money. The event that ends a trade (leave, on) moves with its signal: of another bar it would come sooner or later than
 * after a signal, and trades that last longer vary more. No move is shorter than the longest trade; where 2,000 or fewer
 * are possible every one is looked at, otherwise `draws`.
 *
 * Each mean net return, less that of all draws, is divided by its own Newey-West error, that of the days of the signals:
 * signals that come in volatile times vary more than days like others do, and means alone find an edge in 8 to 19 % of
 * martingales. p is the share of draws that are as high then, the strategy counted as one of them: (1 + draws as high) /
 * (1 + draws) (Davison & Hinkley, "Bootstrap methods and their application", 1997).
 *
 * Entries that are drawn one by one come neither in clusters nor in several tickers at once, as events do, and vary less
 * by chance than a strategy does: on random walks 40 % of those p-values are below .05 of a dozen correlated tickers. Nor
 * is the calendar year held fixed, because it holds the fall that led to a signal, too.
 */
export function randomEntry(strategy: Strategy, trades: readonly Taken[], draws: number): Backtest['random_entry'] {
  const closed = trades.filter(({ left }) => left.why !== 'open')
  const none = (reason: string) => ({ draws: 0, mean: null, p: null, reason })
  if (draws === 0) return none('none were asked for')
  if (closed.length === 0) return none('there is no closed trade')
  const calendar = calendarOf(closed)
  const drawn = drawnOf(strategy, closed, calendar)
  // A signal is an eligible bar itself, unless whoever told the events does not know the band of every bar.
  if (drawn.some(({ signals }) => signals.includes(-1))) return none('the band is not known on enough bars')
  const longest = closed.reduce((most, { signal, left }) => Math.max(most, left.bar - signal), 1)
  const random = Random.stream(new Random(strategy.seed).word(), 2)
  const shifts = shiftsOf(calendar.length, longest, { reps: draws, random })
  if (shifts.length === 0) return none(tooShort(calendar.length, longest))
  const spread = spreadOver(drawn, calendar.length, longest)
  const all = Array.from(shifts, spread).filter(({ n }) => n > 0)
  if (all.length === 0) return none('no move leaves a signal where its ticker makes a trade')
  const centre = mean(all.map(one => one.mean))!
  return { draws: all.length, mean: centre, ...rankOf(spread(0), all, centre) }
}

/** An error that is a smaller part of the mean is rounding, and so is such a difference of two. */
const NOTHING = 1e-9

/** How rare it is among the draws to lie as many of its own errors above their centre. */
function rankOf(
  own: RatioError,
  all: readonly RatioError[],
  centre: number,
): Pick<Backtest['random_entry'], 'p' | 'reason'> {
  const varies = ({ mean, error }: RatioError): boolean => error > NOTHING * Math.abs(mean)
  if (!varies(own)) return { p: null, reason: 'the trades end alike: nothing tells how much they vary' }
  const least = ((own.mean - centre) / own.error) * (1 - Math.sign(own.mean - centre) * NOTHING)
  // What does not vary at all lies above the centre or below it, however near.
  const isAsHigh = (one: RatioError): boolean =>
    varies(one) ? (one.mean - centre) / one.error >= least : one.mean > centre
  return { p: (1 + all.filter(isAsHigh).length) / (1 + all.length), reason: null }
}

/** Days on which one of the tickers that were traded has a band. */
function calendarOf(closed: readonly Taken[]): Int32Array {
  const members = [...new Set(closed.map(({ member }) => member))]
  return unionCalendar(members.map(({ eligible, bars }) => daysAt(bars.days, eligible)))
}

/** By ticker and signal, ascending, so that what is added up does not depend on the order of the trades. */
function drawnOf(strategy: Strategy, closed: readonly Taken[], calendar: Int32Array): Drawn[] {
  const byTicker = [...grouped(closed, ({ member }) => member)].sort(([{ ticker: a }], [{ ticker: b }]) =>
    a < b ? -1 : 1,
  )
  return byTicker.map(([member, trades]) => {
    const places = placesIn(calendar, member.bars.days)
    const barAt = new Int32Array(calendar.length).fill(-1)
    for (const bar of member.eligible) barAt[places[bar]!] = bar
    const bars = Int32Array.from(trades, ({ signal }) => signal).sort()
    const signals = bars.map(bar => (barAt[places[bar]!] === bar ? places[bar]! : -1))
    return { signals, netAt: netsOf(strategy, member, bars, barAt) }
  })
}

/** @param signals bars, @param barAt the bar that could have been a signal at each place of the calendar; -1 without one */
function netsOf(strategy: Strategy, member: Member, signals: Int32Array, barAt: Int32Array): Drawn['netAt'] {
  const events = Array.from(signals, signal => {
    const { bar, why } = exitEventAfter(member, signal)
    return { after: bar < 0 ? Number.POSITIVE_INFINITY : bar - signal, why }
  })
  const from = (bar: number, { after, why }: (typeof events)[number]): number => {
    const event = { bar: bar + after < member.bars.days.length ? bar + after : -1, why }
    return (bar < 0 ? null : netFrom(strategy, member, bar, event)) ?? Number.NaN
  }
  if (member.ends.length > 0) return (place, trade) => from(barAt[place]!, events[trade]!)
  // Without such an event all trades from a bar are the same.
  const nets = Float64Array.from(barAt, bar => from(bar, events[0]!))
  return place => nets[place]!
}

/** The trades `shift` days on: those of them that land on a bar that makes a trade. Each counts on the day of its own signal. */
function spreadOver(drawn: readonly Drawn[], days: number, longest: number): (shift: number) => RatioError {
  const [sums, counts] = [new Float64Array(days), new Float64Array(days)]
  return shift => {
    sums.fill(0)
    counts.fill(0)
    for (const { signals, netAt } of drawn) {
      for (let i = 0; i < signals.length; i++) {
        const net = netAt((signals[i]! + shift) % days, i)
        if (Number.isNaN(net)) continue
        sums[signals[i]!]! += net
        counts[signals[i]!]! += 1
      }
    }
    return ratioError(sums, counts, longest)
  }
}

/** Net return of a trade from a bar, bought as the first one would be; null where it is no trade or does not close. */
function netFrom(strategy: Strategy, member: Member, bar: number, event: ExitEvent): number | null {
  const { bars } = member
  const { fill, exit, costs, portfolio } = strategy
  if (entryBar(fill, bar) >= bars.days.length || !hasDistances(member, exit, bar)) return null
  const left = follow(bars, strategy, bar, event)
  if (left.why === 'open') return null
  const size = bought(strategy, fractionOf(strategy, member, bar) * portfolio.capital, entryPrice(bars, fill, bar))
  return size && netReturn(costs, fillsOf(member, strategy, bar, left, size.shares))
}
