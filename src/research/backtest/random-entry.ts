import { daysAt, indicesIn, unionCalendar } from '../../core/model/calendar.js'
import type { Strategy } from '../../core/params/strategy.js'
import { mean } from '../../core/statistics/moments.js'
import { Random } from '../../core/statistics/random.js'
import { type RatioError, ratioError, ratioErrors } from '../../core/statistics/robust.js'
import { shiftsOf, tooShort } from '../../core/statistics/shift.js'
import { NOTHING } from './comparison.js'
import type { Backtest } from './result.js'
import { bought, fractionOf } from './sizing.js'
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
  type Ready,
  type Taken,
} from './trade.js'
import type { EntryRank } from './verdict.js'

/** The trades of one ticker, which random entry moves to other days. */
interface MovableTrades {
  /** Index in the calendar of each trade's signal; -1 if its bar is not in the calendar. */
  signals: Int32Array
  /** The net return of one of these trades if its signal came on another day; NaN if it could not be traded. */
  netAt: (dayIndex: number, trade: number) => number
}

/**
 * What the same rules would have done at random times: the signals of all closed trades moved together, by a random number
 * of days on the calendar of their tickers, which wraps round, with the same exits and costs and no limit on positions or
 * money. The event that ends a trade (leave, on) moves with its signal: of another bar it would come sooner or later than
 * after a signal, and trades that last longer vary more. No move is shorter than the longest trade; where 2,000 or fewer
 * are possible every one is looked at, otherwise `draws`.
 *
 * Each mean net return, less that of all draws, is divided by its own Newey-West error, that of the days of the signals:
 * signals that come in volatile times vary more than days like others do, and means alone find too much there.
 * With s = (1 + draws as high) / (1 + draws), p is two-sided, 2 min(s, 1 - s), and the strategy is better than
 * a share 1 - s of the draws (Davison & Hinkley, "Bootstrap methods and their application", 1997).
 *
 * Entries that are drawn one by one come neither in clusters nor in several tickers at once, as events do, and vary less
 * by chance than a strategy does: with correlated tickers their p is far too small. Nor
 * is the calendar year held fixed, because it holds the fall that led to a signal, too.
 */
export function randomEntry(strategy: Strategy, trades: readonly Taken[], draws: number): Backtest['random_entry'] {
  return randomEntryOf([{ strategy, trades }], draws)
}

/** The trades of one strategy. */
export interface StrategyTrades {
  strategy: Strategy
  trades: readonly Taken[]
}

/** Random entry of several strategies together. @param days signals move only among these days (default all) */
export function randomEntryOf(
  runs: readonly StrategyTrades[],
  draws: number,
  days: Int32Array | null = null,
): Backtest['random_entry'] {
  const seed = runs[0]?.strategy.seed ?? 1
  const own = runs.map(({ strategy, trades }) => {
    return { strategy, closed: trades.filter(({ left }) => left.why !== 'open') }
  })
  const closed = own.flatMap(run => run.closed)
  const none = (reason: string) => ({ draws: 0, mean: null, p: null, better_than: null, reason })
  if (draws === 0) return none('none were asked for')
  if (closed.length === 0) return none('there is no closed trade')
  const all = calendarOf(closed)
  const allowed = days === null ? null : new Set(days)
  const calendar = allowed === null ? all : all.filter(day => allowed.has(day))
  const drawn = own.flatMap(({ strategy, closed }) => movableTrades(strategy, closed, calendar))
  // A signal is an eligible bar itself, unless whoever told the events does not know the band of every bar.
  if (drawn.some(({ signals }) => signals.includes(-1))) return none('the band is not known on enough bars')
  const longest = longestOf(closed)
  const random = Random.stream(new Random(seed).word(), 2)
  const shifts = shiftsOf(calendar.length, longest, { reps: draws, random })
  if (shifts.length === 0) return none(tooShort(calendar.length, longest))
  const spread = spreadOver(drawn, calendar.length, longest)
  const moved = Array.from(shifts, spread).filter(({ n }) => n > 0)
  if (moved.length === 0) return none('no move leaves a signal where its ticker makes a trade')
  const centre = mean(moved.map(one => one.mean))!
  return { draws: moved.length, mean: centre, ...rankOf(spread(0), moved, centre) }
}

/** Bars from the signal to the exit of the longest closed trade. */
export function longestOf(trades: readonly Taken[]): number {
  return trades.reduce((most, { signal, left }) => Math.max(most, left.why === 'open' ? 0 : left.bar - signal), 1)
}

/** Each draw of a run is compared with this number of moves, evenly spaced: neighbouring moves say almost the same. */
export const MOVES = 199

/**
 * The p of random entry for many runs of one strategy. The net return of a signal after each move is computed once, when the first
 * run trades it.
 * @param longest bars of the longest trade of a run: the moves begin there
 */
export function entryTest(
  { strategy, members }: Ready,
  longest: number,
): (trades: readonly Taken[]) => EntryRank | null {
  const signalled = members.filter(({ signals }) => signals.bars.length > 0)
  const calendar = unionCalendar(signalled.map(({ eligible, bars }) => daysAt(bars.days, eligible)))
  const possible = calendar.length - 2 * longest + 1
  const count = Math.max(0, Math.min(MOVES, possible))
  // The first is no move: the run itself.
  const moves = Int32Array.from({ length: count + 1 }, (_, i) =>
    i === 0 ? 0 : longest + Math.floor(((i - 0.5) * possible) / count),
  )
  const landings = new Map<Member, Landing>()
  const buffer = new Float64Array(calendar.length * moves.length)
  return trades => {
    const closed = trades.filter(({ left }) => left.why !== 'open')
    if (count === 0 || closed.length === 0) return null
    const rows = closed.map(({ member, index }) => {
      const landing = landings.get(member) ?? landingOf(strategy, member, { calendar, moves })
      landings.set(member, landing)
      return landing(index)
    })
    if (rows.some(row => row === null)) return null
    const sorted = (rows as MovedSignal[]).sort((a, b) => a.place - b.place)
    const own = longestOf(closed)
    const isFar = (move: number): boolean => move >= own && move <= calendar.length - own
    const [first, ...all] = errorsOf(sorted, moves.length, own, buffer).filter((_, i) => i === 0 || isFar(moves[i]!))
    const known = all.filter(({ n }) => n > 0)
    return known.length === 0 ? null : entryRank(rankOf(first!, known, mean(known.map(one => one.mean))!))
  }
}

/** A signal, its place in the calendar, and the net return of its trade after each move; 0 after those that miss one. */
interface MovedSignal {
  place: number
  nets: Float64Array
  missing: readonly number[]
}

/** The moved trades of one signal of a ticker, by its index; null where the signal is no eligible bar. */
type Landing = (index: number) => MovedSignal | null

function landingOf(
  strategy: Strategy,
  member: Member,
  { calendar, moves }: { calendar: Int32Array; moves: Int32Array },
): Landing {
  const { length } = calendar
  const indices = indicesIn(calendar, member.bars.days)
  const barAt = eligibleAt(member, indices, length)
  const known: (MovedSignal | null | undefined)[] = new Array(member.signals.bars.length)
  const shared = sharedNets(strategy, member, barAt)
  const moved = (signal: number): MovedSignal | null => {
    const place = indices[signal]!
    if (barAt[place] !== signal) return null
    const event = shared === null ? eventAfter(member, signal) : NEVER
    const nets = new Float64Array(moves.length)
    const missing: number[] = []
    for (let move = 0; move < moves.length; move++) {
      const from = (place + moves[move]!) % length
      const net = shared === null ? movedNet(strategy, member, barAt[from]!, event) : shared[from]!
      if (Number.isNaN(net)) missing.push(move)
      else nets[move] = net
    }
    return { place, nets, missing }
  }
  return index => {
    const found = known[index] === undefined ? moved(member.signals.bars[index]!) : known[index]
    known[index] = found
    return found
  }
}

/**
 * Mean and error after each move.
 * @param signals in order of their days
 * @param buffer for a number a move and day, which all draws share: asking for it anew takes longer than the sums
 */
function errorsOf(signals: readonly MovedSignal[], moves: number, longest: number, buffer: Float64Array): RatioError[] {
  const at = Int32Array.from(new Set(signals.map(({ place }) => place)))
  const sums = buffer.subarray(0, at.length * moves).fill(0)
  const counts = new Float64Array(at.length)
  const missed: number[] = []
  let day = 0
  for (const { place, nets, missing } of signals) {
    if (at[day] !== place) day++
    counts[day]!++
    const from = day * moves
    for (let move = 0; move < moves; move++) sums[from + move]! += nets[move]!
    for (const move of missing) missed.push(from + move)
  }
  return ratioErrors(at, sums, counts, missed, longest)
}

/** How rare it is among the draws to lie as many of its own errors above their centre. */
function rankOf(
  own: RatioError,
  all: readonly RatioError[],
  centre: number,
): Pick<Backtest['random_entry'], 'p' | 'better_than' | 'reason'> {
  const varies = ({ mean, error }: RatioError): boolean => error > NOTHING * Math.abs(mean)
  if (!varies(own)) return { p: null, better_than: null, reason: 'the trades end alike, so their variation is unknown' }
  const least = ((own.mean - centre) / own.error) * (1 - Math.sign(own.mean - centre) * NOTHING)
  // What does not vary at all lies above the centre or below it, however near.
  const isAsHigh = (one: RatioError): boolean =>
    varies(one) ? (one.mean - centre) / one.error >= least : one.mean > centre
  const n = 1 + all.length
  const above = (1 + all.filter(isAsHigh).length) / n
  // The floor holds where every move is as high.
  return { p: Math.max(2 * Math.min(above, 1 - above), Math.min(1, 2 / n)), better_than: 1 - above, reason: null }
}

/** How a run ranks; null where it could not be tested. */
export function entryRank({ p, better_than }: Pick<Backtest['random_entry'], 'p' | 'better_than'>): EntryRank | null {
  return p === null || better_than === null ? null : { p, better_than }
}

/** Days on which one of the tickers that were traded has a band. */
function calendarOf(closed: readonly Taken[]): Int32Array {
  const members = [...new Set(closed.map(({ member }) => member))]
  return unionCalendar(members.map(({ eligible, bars }) => daysAt(bars.days, eligible)))
}

/** The trades by ticker and signal, ascending, so that sums do not depend on the order of the trades. */
function movableTrades(strategy: Strategy, closed: readonly Taken[], calendar: Int32Array): MovableTrades[] {
  const byTicker = [...Map.groupBy(closed, ({ member }) => member)].sort(([{ ticker: a }], [{ ticker: b }]) =>
    a < b ? -1 : 1,
  )
  return byTicker.map(([member, trades]) => {
    const indices = indicesIn(calendar, member.bars.days)
    const barAt = eligibleAt(member, indices, calendar.length)
    const bars = Int32Array.from(trades, ({ signal }) => signal).sort()
    const signals = bars.map(bar => (barAt[indices[bar]!] === bar ? indices[bar]! : -1))
    return { signals, netAt: netsOf(strategy, member, bars, barAt) }
  })
}

/** The eligible bar on each day of a calendar; -1 without one. */
function eligibleAt({ eligible }: Member, indices: Int32Array, length: number): Int32Array {
  const barAt = new Int32Array(length).fill(-1)
  for (const bar of eligible) if (indices[bar]! >= 0) barAt[indices[bar]!] = bar
  return barAt
}

/** The event that ends a trade: its distance in bars from the signal, and which rule. */
interface EventAfter extends Pick<ExitEvent, 'why'> {
  after: number
}

/** For a strategy in which no event ends a trade. */
const NEVER: EventAfter = { after: Number.POSITIVE_INFINITY, why: 'leave' }

function eventAfter(member: Member, signal: number): EventAfter {
  const { bar, why } = exitEventAfter(member, signal)
  return { after: bar < 0 ? Number.POSITIVE_INFINITY : bar - signal, why }
}

/** The net return of a trade whose signal is moved to a bar; NaN if it could not be traded there. */
function movedNet(strategy: Strategy, member: Member, bar: number, { after, why }: EventAfter): number {
  if (bar < 0) return Number.NaN
  const event = { bar: bar + after < member.bars.days.length ? bar + after : -1, why }
  return netFrom(strategy, member, bar, event) ?? Number.NaN
}

/**
 * The net return of each trade on each day of the calendar.
 * @param signals bars
 * @param barAt the bar that could have been a signal on each day of the calendar; -1 without one
 */
function netsOf(strategy: Strategy, member: Member, signals: Int32Array, barAt: Int32Array): MovableTrades['netAt'] {
  const nets = sharedNets(strategy, member, barAt)
  if (nets !== null) return dayIndex => nets[dayIndex]!
  const events = Array.from(signals, signal => eventAfter(member, signal))
  return (dayIndex, trade) => movedNet(strategy, member, barAt[dayIndex]!, events[trade]!)
}

/** The net return of any trade from each day of the calendar; null where events end trades at a distance of their own. */
function sharedNets(strategy: Strategy, member: Member, barAt: Int32Array): Float64Array | null {
  return member.ends.length > 0 ? null : Float64Array.from(barAt, bar => movedNet(strategy, member, bar, NEVER))
}

/** The trades `shift` days on: those of them that land on a bar that makes a trade. Each counts on the day of its own signal. */
function spreadOver(drawn: readonly MovableTrades[], days: number, longest: number): (shift: number) => RatioError {
  const sums = new Float64Array(days)
  const counts = new Float64Array(days)
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
