import { daysAt, indicesIn, unionCalendar } from '../../core/model/calendar.js'
import type { Strategy } from '../../core/params/strategy.js'
import { mean } from '../../core/statistics/moments.js'
import { Random } from '../../core/statistics/random.js'
import { type RatioError, ratioError, ratioErrors } from '../../core/statistics/robust.js'
import { shiftsOf, tooShort } from '../../core/statistics/shift.js'
import { ROUNDING } from './comparison.js'
import { type ExitEvent, firstExitEvent, hasExitPrices, type LoadedStrategy, type Member } from './members.js'
import type { Backtest } from './result.js'
import { buyShares, fractionOf } from './sizing.js'
import { entryBar, entryPrice, fillsOf, followTrade, netReturn, type TakenTrade } from './trade.js'
import type { EntryRank } from './verdict.js'

/** The trades of one ticker, which random entry moves to other days. */
interface MovableTrades {
  /** Calendar index of each trade's signal; NO_DAY if its bar is not in the calendar. */
  dayIndices: Int32Array
  /** The net return of one of these trades if its signal came on another day; NaN if it could not be traded. */
  netAt: (dayIndex: number, trade: number) => number
}

/**
 * Compares the closed trades of a strategy with the same rules at random times. All signals move together by a random
 * number of days on the calendar of their tickers, which wraps round. Exits and costs stay, without a limit on
 * positions or money. The event that ends a trade (leave, on) keeps its distance from the signal: trades that last
 * longer vary more. No move is shorter than the longest trade. Up to 2,000 possible moves are all made, of more only
 * `draws`.
 *
 * Each mean net return, less the mean of all draws, is divided by its own Newey-West error over the days of the
 * signals. Signals in volatile times vary more than other days, and means alone would find too much there. With s = (1
 * + draws as high) / (1 + draws), p is two-sided, 2 min(s, 1 - s), and the strategy is better than a share 1 - s of the
 * draws (Davison & Hinkley, "Bootstrap methods and their application", 1997).
 *
 * Entries are not drawn one by one: events come in clusters and in several tickers at once, so such entries would vary
 * less than a strategy, and their p would be far too small. The calendar year is not kept, because it also contains the
 * fall that led to a signal.
 */
export function randomEntry(
  strategy: Strategy,
  trades: readonly TakenTrade[],
  draws: number,
): Backtest['random_entry'] {
  return randomEntryOf([{ strategy, trades }], draws)
}

export interface StrategyTrades {
  strategy: Strategy
  trades: readonly TakenTrade[]
}

/**
 * Tests the closed trades of several strategies against random entry, all moved together.
 * @param days signals move only among these days; null: all days on which a traded ticker has a band
 */
export function randomEntryOf(
  runs: readonly StrategyTrades[],
  draws: number,
  days: Int32Array | null = null,
): Backtest['random_entry'] {
  const seed = runs[0]?.strategy.seed ?? 1
  const untested = (reason: string) => ({ draws: 0, mean: null, p: null, better_than: null, reason })
  if (draws === 0) return untested('none were asked for')
  const closedRuns = runs.map(({ strategy, trades }) => ({ strategy, trades: closedTrades(trades) }))
  const allClosed = closedRuns.flatMap(run => run.trades)
  if (allClosed.length === 0) return untested('there is no closed trade')
  const bandDays = bandDaysOf(allClosed)
  const allowedDays = days === null ? null : new Set(days)
  const calendar = allowedDays === null ? bandDays : bandDays.filter(day => allowedDays.has(day))
  const movable = closedRuns.flatMap(({ strategy, trades }) => movableTrades(strategy, trades, calendar))
  // A source that only knows events has no band on some bars of signals.
  if (movable.some(trades => trades.dayIndices.includes(NO_DAY)))
    return untested('the band is not known on enough bars')
  const longest = longestTradeBars(allClosed)
  const random = Random.stream(new Random(seed).word(), SHIFT_STREAM)
  const shifts = shiftsOf(calendar.length, longest, { reps: draws, random })
  if (shifts.length === 0) return untested(tooShort(calendar.length, longest))
  const meanAfterShift = shiftTrades(movable, calendar.length, longest)
  const shiftedMeans = Array.from(shifts, meanAfterShift).filter(({ n }) => n > 0)
  if (shiftedMeans.length === 0) return untested('no move leaves a signal where its ticker makes a trade')
  const centre = mean(shiftedMeans.map(shifted => shifted.mean))!
  const rank = rankAmongDraws(meanAfterShift(0), shiftedMeans, centre)
  return { draws: shiftedMeans.length, mean: centre, ...rank }
}

/** Each purpose has a random stream of its own number. */
const SHIFT_STREAM = 2

function closedTrades(trades: readonly TakenTrade[]): TakenTrade[] {
  return trades.filter(({ end }) => end.why !== 'open')
}

/** The index of a signal whose bar is not in the calendar. */
const NO_DAY = -1

/** Bars from the signal to the exit of the longest closed trade. */
export function longestTradeBars(trades: readonly TakenTrade[]): number {
  return trades.reduce((most, { signal, end }) => Math.max(most, end.why === 'open' ? 0 : end.bar - signal), 1)
}

/** Each draw of a run is compared with this many moves, evenly spaced, because neighbouring moves hardly differ. */
export const DRAW_MOVES = 199

/**
 * Returns a test of random entry for many runs of one strategy; it answers null where a run cannot be tested. The net
 * return of a signal after each move (by days of the calendar) is computed once, when the first run trades it.
 * @param longest bars of the longest trade of a run; no move is shorter
 */
export function entryTest(
  { strategy, members }: LoadedStrategy,
  longest: number,
): (trades: readonly TakenTrade[]) => EntryRank | null {
  const withSignals = members.filter(({ signals }) => signals.bars.length > 0)
  const calendar = unionCalendar(withSignals.map(({ eligible, bars }) => daysAt(bars.days, eligible)))
  const possibleMoves = calendar.length - 2 * longest + 1
  const moveCount = Math.max(0, Math.min(DRAW_MOVES, possibleMoves))
  // In days of the calendar. The first, 0, is the run itself; the others are evenly spaced.
  const moves = new Int32Array(moveCount + 1)
  for (let i = 1; i <= moveCount; i++) moves[i] = longest + Math.floor(((i - 0.5) * possibleMoves) / moveCount)
  const movedByMember = new Map<Member, MovedSignalByIndex>()
  const buffer = new Float64Array(calendar.length * moves.length)
  return trades => {
    const closed = closedTrades(trades)
    if (moveCount === 0 || closed.length === 0) return null
    const signals: MovedSignal[] = []
    for (const { member, index } of closed) {
      const movedByIndex = movedByMember.get(member) ?? movedSignals(strategy, member, { calendar, moves })
      movedByMember.set(member, movedByIndex)
      const signal = movedByIndex(index)
      if (signal === null) return null
      signals.push(signal)
    }
    signals.sort((a, b) => a.dayIndex - b.dayIndex)
    // This run may have a longer trade than the first one; shorter moves do not count for it.
    const runLongest = longestTradeBars(closed)
    const isLongEnough = (move: number): boolean => move >= runLongest && move <= calendar.length - runLongest
    const [unmoved, ...moved] = meanAfterEachMove(signals, moves.length, runLongest, buffer)
    const usableMoves = moved.filter(({ n }, i) => n > 0 && isLongEnough(moves[i + 1]!))
    if (usableMoves.length === 0) return null
    const centre = mean(usableMoves.map(move => move.mean))!
    return entryRank(rankAmongDraws(unmoved!, usableMoves, centre))
  }
}

/** A signal and its trade after each move. */
interface MovedSignal {
  /** Calendar index of the signal. */
  dayIndex: number
  /** Net return after each move; 0 where the move makes no trade. */
  nets: Float64Array
  /** The moves that make no trade. */
  missing: readonly number[]
}

/** The moved trades of a ticker's signal, by the signal's index; null for one on a bar where no trade may begin. */
type MovedSignalByIndex = (index: number) => MovedSignal | null

/**
 * Returns a function of a signal's index: the net returns of its trade after each move, computed once. It is null for a
 * signal on a bar where no trade may begin. A move past the end of the calendar continues at its start.
 * @param moves in days of the calendar
 */
function movedSignals(
  strategy: Strategy,
  member: Member,
  { calendar, moves }: { calendar: Int32Array; moves: Int32Array },
): MovedSignalByIndex {
  const { length } = calendar
  const indices = indicesIn(calendar, member.bars.days)
  const barAt = eligibleBarByDay(member, indices, length)
  // By index of the signal; undefined until it is computed.
  const cache: (MovedSignal | null | undefined)[] = new Array(member.signals.bars.length)
  // netByDay is null where events end the trades, each at its own distance from the signal.
  const netByDay = commonNetReturns(strategy, member, barAt)
  const moveSignal = (signalBar: number): MovedSignal | null => {
    const dayIndex = indices[signalBar]!
    if (barAt[dayIndex] !== signalBar) return null
    const event = netByDay === null ? exitDistance(member, signalBar) : NO_EXIT_EVENT
    const nets = new Float64Array(moves.length)
    const missing: number[] = []
    for (let i = 0; i < moves.length; i++) {
      const movedTo = (dayIndex + moves[i]!) % length
      const net = netByDay === null ? movedNetReturn(strategy, member, barAt[movedTo]!, event) : netByDay[movedTo]!
      if (Number.isNaN(net)) missing.push(i)
      else nets[i] = net
    }
    return { dayIndex, nets, missing }
  }
  return index => {
    const cached = cache[index]
    const moved = cached === undefined ? moveSignal(member.signals.bars[index]!) : cached
    cache[index] = moved
    return moved
  }
}

/**
 * The mean net return of all signals after each move, and its error. A move shifts all signals by the same number of
 * days; those that then make no trade are left out of its mean.
 * @param signals in order of their days
 * @param moves number of moves
 * @param longest bars of the longest trade; the error counts correlations up to this distance
 * @param buffer one number a move and day; all draws share it, because a new one would take longer than the sums
 */
function meanAfterEachMove(
  signals: readonly MovedSignal[],
  moves: number,
  longest: number,
  buffer: Float64Array,
): RatioError[] {
  const signalDays = Int32Array.from(new Set(signals.map(({ dayIndex }) => dayIndex)))
  const sums = buffer.subarray(0, signalDays.length * moves).fill(0)
  const counts = new Float64Array(signalDays.length)
  // Indices into sums, once for each missing trade: it added 0, and ratioErrors must not count it.
  const missingTrades: number[] = []
  let day = 0
  for (const { dayIndex, nets, missing } of signals) {
    if (signalDays[day] !== dayIndex) day++
    counts[day]!++
    const from = day * moves
    for (let move = 0; move < moves; move++) sums[from + move]! += nets[move]!
    for (const move of missing) missingTrades.push(from + move)
  }
  return ratioErrors(signalDays, sums, counts, missingTrades, longest)
}

/**
 * Ranks the mean net return of the strategy among those of the draws. A draw counts as high if it lies as many of its
 * own errors above the centre as the strategy does.
 * @param centre mean of all draws
 */
function rankAmongDraws(
  strategy: RatioError,
  draws: readonly RatioError[],
  centre: number,
): Pick<Backtest['random_entry'], 'p' | 'better_than' | 'reason'> {
  const varies = ({ mean, error }: RatioError): boolean => error > ROUNDING * Math.abs(mean)
  if (!varies(strategy))
    return { p: null, better_than: null, reason: 'the trades end alike, so their variation is unknown' }
  const excess = strategy.mean - centre
  // A little lower, so that rounding does not hide an equal draw.
  const lowestT = (excess / strategy.error) * (1 - Math.sign(excess) * ROUNDING)
  // A draw that does not vary lies above the centre or below it, however near.
  const isAsHigh = (draw: RatioError): boolean =>
    varies(draw) ? (draw.mean - centre) / draw.error >= lowestT : draw.mean > centre
  const n = 1 + draws.length
  const shareAsHigh = (1 + draws.filter(isAsHigh).length) / n
  // Otherwise p would be 0 where every draw is as high.
  const least = Math.min(1, 2 / n)
  const p = Math.max(2 * Math.min(shareAsHigh, 1 - shareAsHigh), least)
  return { p, better_than: 1 - shareAsHigh, reason: null }
}

/** How a run ranks; null where it could not be tested. */
export function entryRank({ p, better_than }: Pick<Backtest['random_entry'], 'p' | 'better_than'>): EntryRank | null {
  return p === null || better_than === null ? null : { p, better_than }
}

/** The days on which one of the traded tickers has a band. */
function bandDaysOf(closed: readonly TakenTrade[]): Int32Array {
  const members = [...new Set(closed.map(({ member }) => member))]
  return unionCalendar(members.map(({ eligible, bars }) => daysAt(bars.days, eligible)))
}

/** The closed trades by ticker, then by signal, so sums have one order. A signal on no eligible bar gets NO_DAY. */
function movableTrades(strategy: Strategy, closed: readonly TakenTrade[], calendar: Int32Array): MovableTrades[] {
  const byMember = Map.groupBy(closed, ({ member }) => member)
  const members = [...byMember.keys()].sort((a, b) => (a.ticker < b.ticker ? -1 : 1))
  return members.map(member => {
    const indices = indicesIn(calendar, member.bars.days)
    const eligibleBarAt = eligibleBarByDay(member, indices, calendar.length)
    const signalBars = Int32Array.from(byMember.get(member)!, ({ signal }) => signal).sort()
    const dayIndices = signalBars.map(bar => {
      const dayIndex = indices[bar]!
      return eligibleBarAt[dayIndex] === bar ? dayIndex : NO_DAY
    })
    return { dayIndices, netAt: netReturnsByDay(strategy, member, signalBars, eligibleBarAt) }
  })
}

/** The eligible bar on each day of a calendar; -1 without one. */
function eligibleBarByDay({ eligible }: Member, indices: Int32Array, length: number): Int32Array {
  const barAt = new Int32Array(length).fill(-1)
  for (const bar of eligible) if (indices[bar]! >= 0) barAt[indices[bar]!] = bar
  return barAt
}

/** The event that ends a trade: its distance in bars from the signal, and which rule. */
interface EventAfter extends Pick<ExitEvent, 'why'> {
  after: number
}

const NO_EXIT_EVENT: EventAfter = { after: Number.POSITIVE_INFINITY, why: 'leave' }

/** The first event after a signal that ends its trade, and its distance in bars; infinite without an event. */
function exitDistance(member: Member, signal: number): EventAfter {
  const { bar, why } = firstExitEvent(member, signal)
  return { after: bar < 0 ? Number.POSITIVE_INFINITY : bar - signal, why }
}

/** The net return of a trade whose signal is moved to a bar; NaN if it could not be traded there. */
function movedNetReturn(strategy: Strategy, member: Member, bar: number, { after, why }: EventAfter): number {
  if (bar < 0) return Number.NaN
  const event = { bar: bar + after < member.bars.days.length ? bar + after : -1, why }
  return netReturnFrom(strategy, member, bar, event) ?? Number.NaN
}

/**
 * Returns a function for the net return of a trade if its signal came on another day; NaN where none is made.
 * @param signals the bar of each trade's signal
 * @param barAt the bar that could have been a signal on each day of the calendar; -1 without one
 */
function netReturnsByDay(
  strategy: Strategy,
  member: Member,
  signals: Int32Array,
  barAt: Int32Array,
): MovableTrades['netAt'] {
  // Without exit events, all trades from the same day have the same net return.
  const nets = commonNetReturns(strategy, member, barAt)
  if (nets !== null) return dayIndex => nets[dayIndex]!
  const exitDistances = Array.from(signals, signal => exitDistance(member, signal))
  return (dayIndex, trade) => movedNetReturn(strategy, member, barAt[dayIndex]!, exitDistances[trade]!)
}

/** The net return of any trade from each day of the calendar; null if events end trades at distances of their own. */
function commonNetReturns(strategy: Strategy, member: Member, barAt: Int32Array): Float64Array | null {
  if (member.exitEvents.length > 0) return null
  return Float64Array.from(barAt, bar => movedNetReturn(strategy, member, bar, NO_EXIT_EVENT))
}

/**
 * Returns a function that moves all trades by a number of days, and gives the mean net return of those that still make
 * a trade, with its error. Each trade counts on the day of its own signal.
 * @param days number of days of the calendar
 * @param longest bars of the longest trade; the error counts correlations up to this distance
 */
function shiftTrades(movable: readonly MovableTrades[], days: number, longest: number): (shift: number) => RatioError {
  const sums = new Float64Array(days)
  const counts = new Float64Array(days)
  return shift => {
    sums.fill(0)
    counts.fill(0)
    for (const { dayIndices, netAt } of movable) {
      for (let i = 0; i < dayIndices.length; i++) {
        const net = netAt((dayIndices[i]! + shift) % days, i)
        if (Number.isNaN(net)) continue
        sums[dayIndices[i]!]! += net
        counts[dayIndices[i]!]! += 1
      }
    }
    return ratioError(sums, counts, longest)
  }
}

/** Net return of a trade with its signal on a bar, bought from the starting capital; null if not made or still open. */
function netReturnFrom(strategy: Strategy, member: Member, bar: number, event: ExitEvent): number | null {
  const { bars } = member
  const { fill, exit, costs, portfolio } = strategy
  if (entryBar(fill, bar) >= bars.days.length || !hasExitPrices(member, exit, bar)) return null
  const end = followTrade(bars, strategy, bar, event)
  if (end.why === 'open') return null
  const size = buyShares(strategy, fractionOf(strategy, member, bar) * portfolio.capital, entryPrice(bars, fill, bar))
  return size === null ? null : netReturn(costs, fillsOf(member, strategy, bar, end, size.shares))
}
