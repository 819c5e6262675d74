import { rankOrder, readRank } from '../../core/language/rank.js'
import { countBelow, parseDay } from '../../core/model/day.js'
import type { Strategy } from '../../core/params/strategy.js'
import type { Random } from '../../core/statistics/random.js'
import { type CalendarPart, type Candidates, candidatesOf, portfolioCalendar } from './candidates.js'
import { type SkipReason, sizeOf } from './sizing.js'
import { type Member, openValue, type Ready, type TakenTrade, type TradePath, takenTrade, tradePath } from './trade.js'

/** The outcome of a strategy's signals and money. */
export interface Simulation extends Ready {
  /** The days of the part, and the values at each close: equity, value of the positions, number of positions. */
  days: Int32Array
  equity: Float64Array
  value: Float64Array
  positions: Int32Array
  /** Days with an open position between open and close. */
  exposed: number
  /**
   * Exposure of each day: share of the previous close's equity that was in positions between open and close. Positions
   * count at that close, or at their entry price at the open. NaN without equity.
   */
  exposure: Float64Array
  /** Money traded in entries and exits. */
  traded: number
  /** Interest on cash. */
  interest: number
  /** In the order of their entries. */
  trades: TakenTrade[]
  skipped: { member: Member; index: number; reason: SkipReason }[]
  /** Days with more signals than slots or money, and days on which equal signals competed for the last slots. */
  contested: number
  tied: number
  /** Signals that postponed an exit; signals without a next bar yet; signals whose trade would end outside the part. */
  extended: number
  pending: number
  purged: number
}

/**
 * The data that all runs of a strategy over a part share: the pending signals, and the trade of each, computed once.
 */
export interface Plan extends Ready {
  calendar: Int32Array
  part: CalendarPart
  candidates: Candidates
  /** The trade of each candidate, once a run has computed it. */
  paths: (TradePath | undefined)[]
}

/** @param part only signals of these days; a trade must not end after them while the calendar continues */
export function planRuns(
  { strategy, members }: Ready,
  calendar: Int32Array = portfolioCalendar(members),
  part: CalendarPart = { from: 0, to: calendar.length },
): Plan {
  const candidates = candidatesOf(members, strategy, calendar, part)
  return { strategy, members, calendar, part, candidates, paths: [] }
}

/**
 * Runs a strategy over the days of a calendar. Order of each day: interest on cash, exits at the open, entries at the
 * open, exits within the bar and at the close, entries at the close, marks. The end of a trade is computed when it
 * begins, but changes money and slots only on its day.
 *
 * Where dates end the signals, the run ends with their last trade.
 *
 * @param random shuffles the equal signals of a day; without it they stay in order of ticker
 * @param isBrief leaves out the skipped signals
 */
export function runOf(plan: Plan, random: Random | null, isBrief = false): Simulation {
  const { from, to } = plan.part
  const run = new Run(plan, random, isBrief)
  let index = from
  while (index < to && !run.isOver(index)) run.day(index++)
  return run.done(index)
}

class Run {
  readonly #strategy: Strategy
  readonly #calendar: Int32Array
  readonly #part: CalendarPart
  /** First day without signals. */
  readonly #before: number
  readonly #candidates: Candidates
  readonly #paths: Plan['paths']
  /** For each member, index of the first signal after its last trade. */
  readonly #free: Int32Array
  readonly #random: Random | null
  readonly #isBrief: boolean
  /** The order of a day's signals; null: all are equal. */
  readonly #order: Order | null
  /** The signals of a day. */
  readonly #signals: Int32Array
  readonly #result: Simulation
  readonly #positions: Positions
  #cash: number
  /** Equity at the previous close. */
  #equity: number

  constructor(
    { strategy, members, calendar, part, candidates, paths: courses }: Plan,
    random: Random | null,
    isBrief: boolean,
  ) {
    this.#strategy = strategy
    this.#calendar = calendar
    this.#part = part
    const { before } = strategy.entry
    this.#before = before === null ? Number.POSITIVE_INFINITY : parseDay(before)!
    this.#candidates = candidates
    this.#paths = courses
    this.#free = new Int32Array(members.length)
    this.#positions = new Positions(strategy)
    this.#random = random
    this.#isBrief = isBrief
    this.#order = strategy.rank === undefined ? null : candidatesByRank(members, candidates, strategy.rank)
    this.#signals = new Int32Array(candidates.most)
    this.#cash = strategy.portfolio.capital
    this.#equity = this.#cash
    const count = part.to - part.from
    this.#result = {
      strategy,
      members,
      days: calendar.subarray(part.from, part.to),
      equity: new Float64Array(count),
      value: new Float64Array(count),
      positions: new Int32Array(count),
      exposure: new Float64Array(count),
      trades: [],
      skipped: [],
      exposed: 0,
      traded: 0,
      interest: 0,
      contested: 0,
      tied: 0,
      extended: 0,
      pending: 0,
      purged: 0,
    }
  }

  day(index: number): void {
    const opens = this.#strategy.fill === 'next-open'
    this.#earn(index)
    this.#leave(index, true)
    if (opens) this.#enter(index)
    this.#expose(index)
    this.#leave(index, false)
    if (!opens) this.#enter(index)
    // A position bought at the last close of its ticker ends there, too.
    if (!opens) this.#leave(index, false)
    this.#mark(index)
  }

  /** Whether the dates have ended and nothing is open or pending. A run has at least one day. */
  isOver(index: number): boolean {
    if (this.#isCut || index === this.#part.from || this.#calendar[index]! < this.#before) return false
    return this.#positions.count === 0 && index > this.#candidates.lastDue
  }

  /** @param end index after the last day of the run */
  done(end: number): Simulation {
    const days = end - this.#part.from
    const waiting = this.#candidates.unfilled.filter(candidate => this.#isFree(candidate)).length
    if (this.#isCut) this.#result.purged += waiting
    else this.#result.pending = waiting
    const equity = this.#result.equity.subarray(0, days)
    const value = this.#result.value.subarray(0, days)
    const positions = this.#result.positions.subarray(0, days)
    const exposure = this.#result.exposure.subarray(0, days)
    return { ...this.#result, days: this.#result.days.subarray(0, days), equity, value, positions, exposure }
  }

  get #isFull(): boolean {
    return this.#positions.count >= this.#strategy.portfolio.max_positions
  }

  get #isCut(): boolean {
    return this.#part.to < this.#calendar.length
  }

  #earn(index: number): void {
    const { cash_rate } = this.#strategy.portfolio
    if (cash_rate === 0 || index === this.#part.from || !(this.#cash > 0)) return
    const interest = (this.#cash * cash_rate * (this.#calendar[index]! - this.#calendar[index - 1]!)) / 365
    this.#cash += interest
    this.#result.interest += interest
  }

  #leave(index: number, atOpen: boolean): void {
    for (const { invested, net, shares, left } of this.#positions.leave(index, atOpen)) {
      this.#cash += invested * (1 + net)
      this.#result.traded += shares * left.price
    }
  }

  #isFree(candidate: number): boolean {
    const { memberOf, signalOf } = this.#candidates
    return signalOf[candidate]! >= this.#free[memberOf[candidate]!]!
  }

  #enter(index: number): void {
    const { due, dueFrom } = this.#candidates
    let n = 0
    for (let at = dueFrom[index]!; at < dueFrom[index + 1]!; at++)
      if (this.#isFree(due[at]!)) this.#signals[n++] = due[at]!
    if (n === 0) return
    const found = this.#signals.subarray(0, n)
    if (this.#order !== null) found.sort(this.#order)
    if (this.#random !== null) shuffleEqual(found, this.#order, this.#random)
    let last = -1
    let first = -1
    for (let i = 0; i < n; i++) {
      if (this.#isBrief && !this.#isCut && this.#isFull) {
        // Nothing else happens on this day, and nobody counts the signals that are skipped.
        if (first < 0) first = i
        break
      }
      const fate = this.#consider(found[i]!)
      if (fate === 'taken') last = i
      else if (first < 0 && (fate === 'no_place' || fate === 'no_cash')) first = i
    }
    if (last < 0 || first < 0) return
    this.#result.contested++
    if (this.#order === null || this.#order(found[last]!, found[first]!) === 0) this.#result.tied++
  }

  #consider(candidate: number): SignalOutcome {
    const { strategy, members } = this.#result
    const which = this.#candidates.memberOf[candidate]!
    const index = this.#candidates.signalOf[candidate]!
    const ahead = this.#isCut ? this.#follow(candidate) : null
    if (ahead !== null && this.#exitIndex(which, ahead.left) >= this.#part.to) {
      this.#result.purged++
      // A purged trade still blocks later signals: its late end must not let them in.
      this.#occupy(which, index, ahead.next)
      return 'purged'
    }
    if (this.#isBrief && this.#isFull) return 'no_place'
    const member = members[which]!
    const purse = { open: this.#positions.count, equity: this.#equity, cash: this.#cash }
    const size = sizeOf(strategy, member, member.signals.bars[index]!, purse)
    if (typeof size === 'string') {
      this.#skip(member, index, size)
      return size
    }
    const path = ahead ?? this.#follow(candidate)
    const taken = takenTrade(member, strategy, index, path.left, size)
    this.#cash -= size.invested
    this.#result.traded += size.shares * taken.entry
    this.#result.trades.push(taken)
    this.#positions.add(taken, this.#candidates.indices[which]!, this.#exitIndex(which, path.left))
    this.#occupy(which, index, path.next)
    return 'taken'
  }

  #follow(candidate: number): TradePath {
    const { memberOf, signalOf, ends } = this.#candidates
    const { members, strategy } = this.#result
    const which = memberOf[candidate]!
    this.#paths[candidate] ??= tradePath(members[which]!, strategy, signalOf[candidate]!, ends[which])
    return this.#paths[candidate]
  }

  #skip(member: Member, index: number, reason: SkipReason): void {
    if (!this.#isBrief) this.#result.skipped.push({ member, index, reason })
  }

  /** Signals during a trade are not entries. */
  #occupy(which: number, index: number, next: number): void {
    if (this.#strategy.overlap === 'allow') return
    const member = this.#result.members[which]!
    this.#free[which] = next
    if (this.#strategy.overlap === 'extend') this.#result.extended += next - index - 1
    else for (let i = index + 1; i < next; i++) this.#skip(member, i, 'in_trade')
  }

  #exitIndex(which: number, { why, bar, day }: TakenTrade['left']): number {
    if (why === 'open') return Number.POSITIVE_INFINITY
    return why === 'delisted' ? countBelow(this.#calendar, day) : this.#candidates.indices[which]![bar]!
  }

  /** The exposure from open to close, before the exits at that close. */
  #expose(index: number): void {
    const share = this.#equity > 0 ? this.#positions.value() / this.#equity : Number.NaN
    this.#result.exposure[index - this.#part.from] = share
    if (this.#positions.count > 0) this.#result.exposed++
  }

  #mark(index: number): void {
    const at = index - this.#part.from
    const { worth, gross } = this.#positions.mark(index, this.#calendar[index]!)
    this.#equity = this.#cash + worth
    this.#result.equity[at] = this.#equity
    this.#result.value[at] = gross
    this.#result.positions[at] = this.#positions.count
  }
}

/** The outcome of a pending signal. */
type SignalOutcome = SkipReason | 'taken' | 'purged'

/** Compares two candidates; negative where the first comes first. */
type Order = (a: number, b: number) => number

function candidatesByRank(members: readonly Member[], { memberOf, signalOf }: Candidates, rank: string): Order {
  const order = rankOrder(readRank(rank))
  const ranks = Float64Array.from(memberOf, (member, i) => members[member]!.ranks![signalOf[i]!]!)
  return (a, b) => order(ranks[a]!, ranks[b]!)
}

/** Fisher-Yates shuffle within each group of equal signals, from the last index down. */
function shuffleEqual(sorted: Int32Array, order: Order | null, random: Random): void {
  for (let from = 0, to = 1; from < sorted.length; from = to++) {
    while (to < sorted.length && (order === null || order(sorted[from]!, sorted[to]!) === 0)) to++
    for (let i = to - 1; i > from; i--) {
      const j = from + random.below(i - from + 1)
      const item = sorted[i]!
      sorted[i] = sorted[j]!
      sorted[j] = item
    }
  }
}

interface Position {
  taken: TakenTrade
  /** Calendar index of each bar of its ticker. */
  indices: Int32Array
  /** Bar and price of the last mark; the entry price until the first close. */
  bar: number
  price: number
  isOver: boolean
}

const NO_TRADES: readonly TakenTrade[] = []

/** The open positions. They are indexed by the day of their end, so that a day visits only its own. */
class Positions {
  readonly #strategy: Strategy
  /** In the order of their entries; closed positions are removed at the next mark. */
  #open: Position[] = []
  readonly #ending = new Map<number, Position[]>()
  #count = 0

  constructor(strategy: Strategy) {
    this.#strategy = strategy
  }

  get count(): number {
    return this.#count
  }

  /**
   * @param indices the calendar index of each bar of its ticker
   * @param exitIndex calendar index of the exit; infinite for a trade that stays open
   */
  add(taken: TakenTrade, indices: Int32Array, exitIndex: number): void {
    const position = { taken, indices, bar: taken.entryBar, price: taken.entry, isOver: false }
    this.#open.push(position)
    this.#count++
    if (!Number.isFinite(exitIndex)) return
    const ending = this.#ending.get(exitIndex)
    if (ending === undefined) this.#ending.set(exitIndex, [position])
    else ending.push(position)
  }

  /**
   * The positions that end at a calendar index, in the order of their entries: only those at the open, or all that
   * remain.
   */
  leave(index: number, atOpen: boolean): readonly TakenTrade[] {
    const ending = this.#ending.get(index)
    if (ending === undefined) return NO_TRADES
    const left: TakenTrade[] = []
    for (const position of ending) {
      if (position.isOver || (atOpen && !position.taken.left.atOpen)) continue
      position.isOver = true
      left.push(position.taken)
    }
    this.#count -= left.length
    return left
  }

  /** Value of the open shares at each position's last mark. */
  value(): number {
    let value = 0
    for (const { taken, price, isOver } of this.#open) if (!isOver) value += taken.shares * price
    return value
  }

  /**
   * Marks all positions at the last close of their tickers. Returns their part of the equity, and the gross value of
   * the shares, shorts counted as positive.
   */
  mark(index: number, day: number): { worth: number; gross: number } {
    let worth = 0
    let gross = 0
    let remaining = 0
    for (const position of this.#open) {
      if (position.isOver) continue
      this.#open[remaining++] = position
      const { taken, indices } = position
      while (position.bar + 1 < indices.length && indices[position.bar + 1]! <= index) position.bar++
      position.price = taken.member.bars.close[position.bar]!
      worth += openValue(this.#strategy, taken, position.price, day)
      gross += taken.shares * position.price
    }
    this.#open.length = remaining
    return { worth, gross }
  }
}
