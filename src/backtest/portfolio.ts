import { byRank, readRank } from '../language/rank.js'
import { daysAt, placesIn, rangeOf, unionCalendar } from '../model/calendar.js'
import { countBelow, parseDay } from '../model/day.js'
import type { Strategy } from '../params/strategy.js'
import type { Random } from '../statistics/random.js'
import { type SkipReason, sizeOf } from './sizing.js'
import {
  entryBar,
  type Member,
  openValue,
  type Ready,
  type Taken,
  type TradePath,
  takenTrade,
  tradePath,
} from './trade.js'

/** What became of the signals of a strategy, and of its money. */
export interface Simulation extends Ready {
  /** The days of the part, and on each at the close: equity, value of the positions, how many they are. */
  days: Int32Array
  equity: Float64Array
  value: Float64Array
  positions: Int32Array
  /** Days on which a position was on between open and close. */
  exposed: number
  /**
   * Of each day: the share of the equity at the close before that was on between open and close, valued at that close, or
   * at the price of an entry at the open; NaN without any equity.
   */
  exposure: Float64Array
  /** Money that went through entries and exits. */
  traded: number
  /** Money that cash earned. */
  interest: number
  /** In the order of their entries. */
  trades: Taken[]
  skipped: { member: Member; index: number; reason: SkipReason }[]
  /** Days with more signals than places or money, and those on which several equal signals competed for the last ones. */
  contested: number
  tied: number
  /** Signals that put off an exit, that have no bar after them yet, and whose trade would reach out of the part. */
  extended: number
  pending: number
  purged: number
}

/** What all runs of a strategy over a part share: the signals that are due, and the trade of each, followed once. */
export interface Plan extends Ready {
  calendar: Int32Array
  part: CalendarPart
  candidates: Candidates
  /** The trade of each candidate, once a run has followed it. */
  paths: (TradePath | undefined)[]
}

/** @param part signals of these days only, and no trade that reaches beyond them while the calendar goes on */
export function planOf(
  { strategy, members }: Ready,
  calendar: Int32Array = portfolioCalendar(members),
  part: CalendarPart = { from: 0, to: calendar.length },
): Plan {
  const candidates = candidatesOf(members, strategy, calendar, part)
  return { strategy, members, calendar, part, candidates, paths: [] }
}

/**
 * Runs a strategy over the days of a calendar. On each: interest on cash, exits at the open, entries at the open, exits
 * within the bar and at the close, entries at the close, marks. How a trade ends is looked up when it begins, but money and
 * places know of it on its day alone.
 *
 * Dates that end the signals end the days, too, with the last trade of them.
 *
 * @param random shuffles the equal signals of a day; without it they stay in order of ticker
 * @param isBrief leaves out which signals were skipped
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
  /** Of each member: index of the first signal that does not fall into a trade. */
  readonly #free: Int32Array
  readonly #random: Random | null
  readonly #isBrief: boolean
  /** How the signals of a day are ordered; null: all are equal. */
  readonly #order: Order | null
  /** The signals of a day. */
  readonly #signals: Int32Array
  readonly #result: Simulation
  readonly #positions: Positions
  #cash: number
  /** At the close before. */
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
      ...{ exposed: 0, traded: 0, interest: 0, contested: 0, tied: 0, extended: 0, pending: 0, purged: 0 },
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
    // What was bought at the last close of its ticker ends there, too.
    if (!opens) this.#leave(index, false)
    this.#mark(index)
  }

  /** Whether the dates have ended, nothing is held and nothing is still to be bought. At least one day is lived. */
  isOver(index: number): boolean {
    if (this.#isCut || index === this.#part.from || this.#calendar[index]! < this.#before) return false
    return this.#positions.count === 0 && index > this.#candidates.lastDue
  }

  /** @param end place after the last day that was lived */
  done(end: number): Simulation {
    const days = end - this.#part.from
    const waiting = this.#candidates.unfilled.filter(candidate => this.#isFree(candidate)).length
    if (this.#isCut) this.#result.purged += waiting
    else this.#result.pending = waiting
    const [equity, value] = [this.#result.equity.subarray(0, days), this.#result.value.subarray(0, days)]
    const [positions, exposure] = [this.#result.positions.subarray(0, days), this.#result.exposure.subarray(0, days)]
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
    let [last, first] = [-1, -1]
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
    const [which, index] = [this.#candidates.memberOf[candidate]!, this.#candidates.signalOf[candidate]!]
    const ahead = this.#isCut ? this.#follow(candidate) : null
    if (ahead !== null && this.#exitIndex(which, ahead.left) >= this.#part.to) {
      this.#result.purged++
      // What it would have kept out must not come in because it is known to end late.
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

  /** The signals that fall into a trade are not entries any more. */
  #occupy(which: number, index: number, next: number): void {
    if (this.#strategy.overlap === 'allow') return
    const member = this.#result.members[which]!
    this.#free[which] = next
    if (this.#strategy.overlap === 'extend') this.#result.extended += next - index - 1
    else for (let i = index + 1; i < next; i++) this.#skip(member, i, 'in_trade')
  }

  #exitIndex(which: number, { why, bar, day }: Taken['left']): number {
    if (why === 'open') return Number.POSITIVE_INFINITY
    return why === 'delisted' ? countBelow(this.#calendar, day) : this.#candidates.indices[which]![bar]!
  }

  /** What is on from the open up to the close, before anything of it is left at that close. */
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

/** What becomes of a signal when it is due. */
type SignalOutcome = SkipReason | 'taken' | 'purged'

/** Compares two candidates: the one that comes first before. */
type Order = (a: number, b: number) => number

function candidatesByRank(members: readonly Member[], { memberOf, signalOf }: Candidates, rank: string): Order {
  const order = byRank(readRank(rank))
  const ranks = Float64Array.from(memberOf, (member, i) => members[member]!.ranks![signalOf[i]!]!)
  return (a, b) => order(ranks[a]!, ranks[b]!)
}

/** Fisher & Yates within each group of equal ones, from its last place down. */
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
  taken: Taken
  /** Place in the calendar of each bar of its ticker. */
  indices: Int32Array
  /** Bar by which it was marked last, and by what price: that of the entry until its first close. */
  bar: number
  price: number
  isOver: boolean
}

const NONE: readonly Taken[] = []

/** The positions of a portfolio. Each is filed under the day on which it ends, so that a day looks at its own only. */
class Positions {
  readonly #strategy: Strategy
  /** In the order of their entries; those that are over go with the next marks. */
  #open: Position[] = []
  readonly #ending = new Map<number, Position[]>()
  #count = 0

  constructor(strategy: Strategy) {
    this.#strategy = strategy
  }

  get count(): number {
    return this.#count
  }

  /** @param exitPlace of the calendar; not a finite one for a trade that stays open */
  add(taken: Taken, indices: Int32Array, exitIndex: number): void {
    const position = { taken, indices, bar: taken.entryBar, price: taken.entry, isOver: false }
    this.#open.push(position)
    this.#count++
    if (!Number.isFinite(exitIndex)) return
    const ending = this.#ending.get(exitIndex)
    if (ending === undefined) this.#ending.set(exitIndex, [position])
    else ending.push(position)
  }

  /** Those that are left at a place, in the order of their entries: at its open alone, or all that are still there. */
  leave(index: number, atOpen: boolean): readonly Taken[] {
    const ending = this.#ending.get(index)
    if (ending === undefined) return NONE
    const left: Taken[] = []
    for (const position of ending) {
      if (position.isOver || (atOpen && !position.taken.left.atOpen)) continue
      position.isOver = true
      left.push(position.taken)
    }
    this.#count -= left.length
    return left
  }

  /** Of the shares that are on, by the price of each position's last mark. */
  value(): number {
    let value = 0
    for (const { taken, price, isOver } of this.#open) if (!isOver) value += taken.shares * price
    return value
  }

  /**
   * At the close of a day, by the last close of each: what all of them add to the equity, and the value of the shares, of
   * shorts too counted as it is.
   */
  mark(index: number, day: number): { worth: number; gross: number } {
    let [worth, gross] = [0, 0]
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

/** A part of the calendar, by its places: from the first up to and without the last. */
export interface CalendarPart {
  from: number
  to: number
  /** Signals only up to and without this place; `to` unless given. */
  signalsTo?: number
}

/** The signals of a part, numbered in order of members: of each its member, and its place among the signals of that. */
interface Candidates {
  memberOf: Int32Array
  signalOf: Int32Array
  /**
   * By place of the calendar on which they would be filled, in the order of members. Those of a place are from its own
   * `dueFrom` up to that of the next.
   */
  due: Int32Array
  dueFrom: Int32Array
  /** The greatest number due on one day. */
  most: number
  /** The last place with any; -1 without. */
  lastDue: number
  /** Those without a bar in the part to be filled on. */
  unfilled: readonly number[]
  /** Of each member: index after its last signal in the part. */
  ends: Int32Array
  /** Of each member: the place of each of its bars; -1 before the calendar begins. */
  indices: Int32Array[]
}

/**
 * Days of all members from the first bar on which one of them could have had a signal, and the days on which trading of
 * one ended after the last bar of all.
 */
export function portfolioCalendar(members: readonly Member[]): Int32Array {
  const { first } = rangeOf(members.map(({ bars, eligible }) => daysAt(bars.days, eligible)))
  if (first === null) return new Int32Array()
  const calendar = unionCalendar(members.map(({ bars }) => bars.days))
  const last = calendar.at(-1)!
  const ends = new Set(members.map(({ bars }) => bars.delisting?.day ?? last).filter(day => day > last))
  const from = countBelow(calendar, first)
  return Int32Array.from([...calendar.subarray(from), ...[...ends].sort((a, b) => a - b)])
}

function candidatesOf(
  members: readonly Member[],
  { fill }: Pick<Strategy, 'fill'>,
  calendar: Int32Array,
  { from, to, signalsTo = to }: CalendarPart,
): Candidates {
  const indices = members.map(({ bars }) => placesIn(calendar, bars.days))
  const ends = new Int32Array(members.length)
  const all: { member: number; signal: number; index: number }[] = []
  members.forEach(({ signals }, member) => {
    const own = indices[member]!
    signals.bars.forEach((bar, signal) => {
      if (own[bar]! < from || own[bar]! >= signalsTo) return
      ends[member] = signal + 1
      all.push({ member, signal, index: own[entryBar(fill, bar)] ?? to })
    })
  })
  const dueFrom = new Int32Array(calendar.length + 2)
  for (const { index } of all) if (index < to) dueFrom[index + 1]!++
  for (let index = 0; index <= calendar.length; index++) dueFrom[index + 1]! += dueFrom[index]!
  const due = new Int32Array(dueFrom.at(-1)!)
  const next = dueFrom.slice()
  const unfilled: number[] = []
  for (const [candidate, { index }] of all.entries())
    if (index < to) due[next[index]!++] = candidate
    else unfilled.push(candidate)
  return {
    memberOf: Int32Array.from(all, ({ member }) => member),
    signalOf: Int32Array.from(all, ({ signal }) => signal),
    due,
    dueFrom,
    most: dueFrom.reduce((most, end, index) => Math.max(most, end - (dueFrom[index - 1] ?? 0)), 0),
    lastDue: all.reduce((last, { index }) => (index < to ? Math.max(last, index) : last), -1),
    unfilled,
    ends,
    indices,
  }
}
