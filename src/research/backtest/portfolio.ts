import { countBelow } from '../../ascending.js'
import { Random } from '../../random.js'
import { type Candidates, candidatesOf, type Part } from './candidates.js'
import type { Member } from './member.js'
import { Positions } from './positions.js'
import { type SkipReason, sizeOf } from './sizing.js'
import type { Strategy } from './strategy.js'
import { type Course, courseOf, type Taken, takenFrom } from './trade.js'

/** What became of the signals of a strategy, and of its money. */
export interface Simulation {
  /** The days of the part, and on each at the close: equity, value of the positions, how many they are. */
  days: Int32Array
  equity: Float64Array
  value: Float64Array
  positions: Int32Array
  /** Days on which a position was on between open and close. */
  exposed: number
  /** Money that went through entries and exits. */
  traded: number
  /** Money that cash earned. */
  interest: number
  /** In the order of their entries. */
  trades: Taken[]
  skipped: { member: Member; signal: number; reason: SkipReason }[]
  /** Signals that put off an exit, that have no bar after them yet, and whose trade would reach out of the part. */
  extended: number
  pending: number
  purged: number
}

/**
 * Runs a strategy over the days of a calendar. On each: interest on cash, exits at the open, entries at the open, exits
 * within the bar and at the close, entries at the close, marks. How a trade ends is looked up when it begins, but money and
 * places know of it on its day alone.
 *
 * @param part signals of these days only, and no trade that reaches beyond them while the calendar goes on
 */
export function simulate(
  members: readonly Member[],
  strategy: Strategy,
  calendar: Int32Array,
  part: Part = { from: 0, to: calendar.length },
): Simulation {
  const run = new Run(members, strategy, calendar, part)
  for (let place = part.from; place < part.to; place++) run.day(place)
  return run.done()
}

class Run {
  readonly #members: readonly Member[]
  readonly #strategy: Strategy
  readonly #calendar: Int32Array
  readonly #part: Part
  readonly #candidates: Candidates
  /** Of each member: index of the first signal that does not fall into a trade. */
  readonly #free: Int32Array
  readonly #random: Random
  readonly #result: Simulation
  readonly #positions: Positions
  #cash: number
  /** At the close before. */
  #equity: number
  /** Whether a position was on between the open and the close of the day. */
  #isExposed = false

  constructor(members: readonly Member[], strategy: Strategy, calendar: Int32Array, part: Part) {
    this.#members = members
    this.#strategy = strategy
    this.#calendar = calendar
    this.#part = part
    this.#candidates = candidatesOf(members, strategy, calendar, part)
    this.#free = new Int32Array(members.length)
    this.#positions = new Positions(strategy)
    this.#random = Random.stream(new Random(strategy.seed).word(), 1)
    this.#cash = strategy.portfolio.capital
    this.#equity = this.#cash
    const count = part.to - part.from
    this.#result = {
      days: calendar.subarray(part.from, part.to),
      equity: new Float64Array(count),
      value: new Float64Array(count),
      positions: new Int32Array(count),
      exposed: 0,
      traded: 0,
      interest: 0,
      trades: [],
      skipped: [],
      extended: 0,
      pending: 0,
      purged: 0,
    }
  }

  day(place: number): void {
    const opens = this.#strategy.fill === 'next-open'
    this.#earn(place)
    this.#leave(place, true)
    if (opens) this.#enter(place)
    this.#isExposed = this.#positions.count > 0
    this.#leave(place, false)
    if (!opens) this.#enter(place)
    this.#mark(place)
  }

  done(): Simulation {
    const { unfilled } = this.#candidates
    const waiting = unfilled.filter(([member, signal]) => signal >= this.#free[member]!).length
    if (this.#isCut) this.#result.purged += waiting
    else this.#result.pending = waiting
    return this.#result
  }

  get #isCut(): boolean {
    return this.#part.to < this.#calendar.length
  }

  #earn(place: number): void {
    const { cashRate } = this.#strategy.portfolio
    if (cashRate === 0 || place === this.#part.from || !(this.#cash > 0)) return
    const interest = (this.#cash * cashRate * (this.#calendar[place]! - this.#calendar[place - 1]!)) / 365
    this.#cash += interest
    this.#result.interest += interest
  }

  #leave(place: number, atOpen: boolean): void {
    for (const { invested, net, shares, left } of this.#positions.leave(place, atOpen)) {
      this.#cash += invested * (1 + net)
      this.#result.traded += shares * left.price
    }
  }

  #enter(place: number): void {
    const { starts, members, signals } = this.#candidates
    const found: number[] = []
    for (let i = starts[place]!; i < starts[place + 1]!; i++) if (signals[i]! >= this.#free[members[i]!]!) found.push(i)
    if (this.#strategy.portfolio.shuffle) shuffle(found, this.#random)
    for (const i of found) this.#consider(members[i]!, signals[i]!)
  }

  #consider(which: number, index: number): void {
    const member = this.#members[which]!
    const strategy = this.#strategy
    const signal = member.signals.bars[index]!
    const follow = (): Course => courseOf(member, strategy, index, this.#candidates.ends[which])
    const ahead = this.#isCut ? follow() : null
    if (ahead !== null && this.#exitPlace(which, ahead.left) >= this.#part.to) {
      this.#result.purged++
      // What it would have kept out must not come in because it is known to end late.
      this.#occupy(which, index, ahead.next)
      return
    }
    const size = sizeOf(strategy, member, signal, {
      open: this.#positions.count,
      equity: this.#equity,
      cash: this.#cash,
    })
    if (typeof size === 'string') {
      this.#result.skipped.push({ member, signal, reason: size })
      return
    }
    const course = ahead ?? follow()
    const taken = takenFrom(member, strategy, index, course.left, size)
    this.#cash -= size.invested
    this.#result.traded += size.shares * taken.entryPrice
    this.#result.trades.push(taken)
    this.#positions.add(taken, this.#candidates.places[which]!, this.#exitPlace(which, course.left))
    this.#occupy(which, index, course.next)
  }

  /** The signals that fall into a trade are not entries any more. */
  #occupy(which: number, index: number, next: number): void {
    if (this.#strategy.overlap === 'allow') return
    const member = this.#members[which]!
    this.#free[which] = next
    if (this.#strategy.overlap === 'extend') this.#result.extended += next - index - 1
    else
      for (let i = index + 1; i < next; i++)
        this.#result.skipped.push({ member, signal: member.signals.bars[i]!, reason: 'in_trade' })
  }

  #exitPlace(which: number, { why, bar, day }: Taken['left']): number {
    if (why === 'open') return Number.POSITIVE_INFINITY
    return why === 'delisted' ? countBelow(this.#calendar, day) : this.#candidates.places[which]![bar]!
  }

  #mark(place: number): void {
    const at = place - this.#part.from
    const { worth, gross } = this.#positions.mark(place, this.#calendar[place]!)
    this.#equity = this.#cash + worth
    this.#result.equity[at] = this.#equity
    this.#result.value[at] = gross
    this.#result.positions[at] = this.#positions.count
    if (this.#isExposed) this.#result.exposed++
  }
}

/** Fisher & Yates, from the last place down. */
function shuffle(items: number[], random: Random): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const item = items[i]!
    items[i] = items[j]!
    items[j] = item
  }
}
