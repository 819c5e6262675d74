import { byRank, readRank } from '../language/rank.js'
import { countBelow, parseDay } from '../model/day.js'
import type { Strategy } from '../params/strategy.js'
import { Random } from '../statistics/random.js'
import { daysAt, placesIn, rangeOf, unionCalendar } from '../study/signals.js'
import { type SkipReason, sizeOf } from './sizing.js'
import { type Course, courseOf, entryBar, type Member, type Ready, type Taken, takenFrom, worthOf } from './trade.js'

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
  /** Days on which a rank decided which of several signals found a place, and those on which equal ranks left that open. */
  contested: number
  tied: number
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
 * Dates that end the signals end the days, too, with the last trade of them.
 *
 * @param part signals of these days only, and no trade that reaches beyond them while the calendar goes on
 */
export function simulate(
  ready: Ready,
  calendar: Int32Array = portfolioCalendar(ready.members),
  part: Part = { from: 0, to: calendar.length },
): Simulation {
  const run = new Run(ready, calendar, part)
  let place = part.from
  while (place < part.to && !run.isOver(place)) run.day(place++)
  return run.done(place)
}

class Run {
  readonly #strategy: Strategy
  readonly #calendar: Int32Array
  readonly #part: Part
  /** First day without signals. */
  readonly #before: number
  readonly #candidates: Candidates
  /** Of each member: index of the first signal that does not fall into a trade. */
  readonly #free: Int32Array
  readonly #random: Random
  /** How the signals of a day are ordered; null: as they come. */
  readonly #byRank: ((a: Candidate, b: Candidate) => number) | null
  readonly #result: Simulation
  readonly #positions: Positions
  #cash: number
  /** At the close before. */
  #equity: number

  constructor({ strategy, members }: Ready, calendar: Int32Array, part: Part) {
    this.#strategy = strategy
    this.#calendar = calendar
    this.#part = part
    const { before } = strategy.entry
    this.#before = before === null ? Number.POSITIVE_INFINITY : parseDay(before)!
    this.#candidates = candidatesOf(members, strategy, calendar, part)
    this.#free = new Int32Array(members.length)
    this.#positions = new Positions(strategy)
    this.#random = Random.stream(new Random(strategy.seed).word(), 1)
    this.#byRank = strategy.rank === undefined ? null : candidatesByRank(members, strategy.rank)
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

  day(place: number): void {
    const opens = this.#strategy.fill === 'next-open'
    this.#earn(place)
    this.#leave(place, true)
    if (opens) this.#enter(place)
    this.#expose(place)
    this.#leave(place, false)
    if (!opens) this.#enter(place)
    // What was bought at the last close of its ticker ends there, too.
    if (!opens) this.#leave(place, false)
    this.#mark(place)
  }

  /** Whether the dates have ended, nothing is held and nothing is still to be bought. At least one day is lived. */
  isOver(place: number): boolean {
    if (this.#isCut || place === this.#part.from || this.#calendar[place]! < this.#before) return false
    return this.#positions.count === 0 && place > this.#candidates.lastDue
  }

  /** @param end place after the last day that was lived */
  done(end: number): Simulation {
    const { unfilled } = this.#candidates
    const days = end - this.#part.from
    const waiting = unfilled.filter(([member, signal]) => signal >= this.#free[member]!).length
    if (this.#isCut) this.#result.purged += waiting
    else this.#result.pending = waiting
    const [equity, value] = [this.#result.equity.subarray(0, days), this.#result.value.subarray(0, days)]
    const [positions, exposure] = [this.#result.positions.subarray(0, days), this.#result.exposure.subarray(0, days)]
    return { ...this.#result, days: this.#result.days.subarray(0, days), equity, value, positions, exposure }
  }

  get #isCut(): boolean {
    return this.#part.to < this.#calendar.length
  }

  #earn(place: number): void {
    const { cash_rate } = this.#strategy.portfolio
    if (cash_rate === 0 || place === this.#part.from || !(this.#cash > 0)) return
    const interest = (this.#cash * cash_rate * (this.#calendar[place]! - this.#calendar[place - 1]!)) / 365
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
    const due = this.#candidates.due.get(place) ?? []
    const found = due.filter(([member, signal]) => signal >= this.#free[member]!)
    if (this.#strategy.portfolio.shuffle) shuffle(found, this.#random)
    // Equal ones stay in the order of their tickers, or in the one that was drawn.
    if (this.#byRank !== null) found.sort(this.#byRank)
    const fates = found.map(([member, signal]) => this.#consider(member, signal))
    if (this.#byRank !== null) this.#count(found, fates, this.#byRank)
  }

  /** Whether there were more signals than places or money for them, and whether their ranks told which came first. */
  #count(found: readonly Candidate[], fates: readonly Fate[], order: (a: Candidate, b: Candidate) => number): void {
    const last = fates.lastIndexOf('taken')
    const first = fates.findIndex(fate => fate === 'no_place' || fate === 'no_cash')
    if (last < 0 || first < 0) return
    this.#result.contested++
    if (order(found[last]!, found[first]!) === 0) this.#result.tied++
  }

  #consider(which: number, index: number): Fate {
    const { strategy } = this.#result
    const member = this.#result.members[which]!
    const signal = member.signals.bars[index]!
    const follow = (): Course => courseOf(member, strategy, index, this.#candidates.ends[which])
    const ahead = this.#isCut ? follow() : null
    if (ahead !== null && this.#exitPlace(which, ahead.left) >= this.#part.to) {
      this.#result.purged++
      // What it would have kept out must not come in because it is known to end late.
      this.#occupy(which, index, ahead.next)
      return 'purged'
    }
    const purse = { open: this.#positions.count, equity: this.#equity, cash: this.#cash }
    const size = sizeOf(strategy, member, signal, purse)
    if (typeof size === 'string') {
      this.#result.skipped.push({ member, index, reason: size })
      return size
    }
    const course = ahead ?? follow()
    const taken = takenFrom(member, strategy, index, course.left, size)
    this.#cash -= size.invested
    this.#result.traded += size.shares * taken.entry
    this.#result.trades.push(taken)
    this.#positions.add(taken, this.#candidates.places[which]!, this.#exitPlace(which, course.left))
    this.#occupy(which, index, course.next)
    return 'taken'
  }

  /** The signals that fall into a trade are not entries any more. */
  #occupy(which: number, index: number, next: number): void {
    if (this.#strategy.overlap === 'allow') return
    const member = this.#result.members[which]!
    this.#free[which] = next
    if (this.#strategy.overlap === 'extend') this.#result.extended += next - index - 1
    else for (let i = index + 1; i < next; i++) this.#result.skipped.push({ member, index: i, reason: 'in_trade' })
  }

  #exitPlace(which: number, { why, bar, day }: Taken['left']): number {
    if (why === 'open') return Number.POSITIVE_INFINITY
    return why === 'delisted' ? countBelow(this.#calendar, day) : this.#candidates.places[which]![bar]!
  }

  /** What is on from the open up to the close, before anything of it is left at that close. */
  #expose(place: number): void {
    const share = this.#equity > 0 ? this.#positions.value() / this.#equity : Number.NaN
    this.#result.exposure[place - this.#part.from] = share
    if (this.#positions.count > 0) this.#result.exposed++
  }

  #mark(place: number): void {
    const at = place - this.#part.from
    const { worth, gross } = this.#positions.mark(place, this.#calendar[place]!)
    this.#equity = this.#cash + worth
    this.#result.equity[at] = this.#equity
    this.#result.value[at] = gross
    this.#result.positions[at] = this.#positions.count
  }
}

/** What becomes of a signal when it is due. */
type Fate = SkipReason | 'taken' | 'purged'

/** The one that comes first before. */
function candidatesByRank(members: readonly Member[], rank: string): (a: Candidate, b: Candidate) => number {
  const order = byRank(readRank(rank))
  const rankOf = ([member, signal]: Candidate): number => members[member]!.ranks![signal]!
  return (a, b) => order(rankOf(a), rankOf(b))
}

/** Fisher & Yates, from the last place down. */
function shuffle(items: unknown[], random: Random): void {
  for (let i = items.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const item = items[i]
    items[i] = items[j]
    items[j] = item
  }
}

interface Position {
  taken: Taken
  /** Place in the calendar of each bar of its ticker. */
  places: Int32Array
  /** Bar by which it was marked last, and by what price: that of the entry until its first close. */
  bar: number
  price: number
  isOver: boolean
}

/** The positions of a portfolio. Each is filed under the day on which it ends, so that a day looks at its own only. */
class Positions {
  readonly #strategy: Strategy
  /** In the order of their entries; those that are over go with the next marks. */
  #held: Position[] = []
  readonly #ending = new Map<number, Position[]>()
  #count = 0

  constructor(strategy: Strategy) {
    this.#strategy = strategy
  }

  get count(): number {
    return this.#count
  }

  /** @param exitPlace of the calendar; not a finite one for a trade that stays open */
  add(taken: Taken, places: Int32Array, exitPlace: number): void {
    const position = { taken, places, bar: taken.entryBar, price: taken.entry, isOver: false }
    this.#held.push(position)
    this.#count++
    if (!Number.isFinite(exitPlace)) return
    const ending = this.#ending.get(exitPlace)
    if (ending === undefined) this.#ending.set(exitPlace, [position])
    else ending.push(position)
  }

  /** Those that are left at a place, in the order of their entries: at its open alone, or all that are still there. */
  leave(place: number, atOpen: boolean): Taken[] {
    const left: Taken[] = []
    for (const position of this.#ending.get(place) ?? []) {
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
    for (const { taken, price, isOver } of this.#held) if (!isOver) value += taken.shares * price
    return value
  }

  /**
   * At the close of a day, by the last close of each: what all of them add to the equity, and the value of the shares, of
   * shorts too counted as it is.
   */
  mark(place: number, day: number): { worth: number; gross: number } {
    let [worth, gross] = [0, 0]
    let kept = 0
    for (const position of this.#held) {
      if (position.isOver) continue
      this.#held[kept++] = position
      const { taken, places } = position
      while (position.bar + 1 < places.length && places[position.bar + 1]! <= place) position.bar++
      position.price = taken.member.bars.close[position.bar]!
      worth += worthOf(this.#strategy, taken, position.price, day)
      gross += taken.shares * position.price
    }
    this.#held.length = kept
    return { worth, gross }
  }
}

/** A part of the calendar, by its places: from the first up to and without the last. */
export interface Part {
  from: number
  to: number
  /** Signals only up to and without this place; `to` unless given. */
  signalsTo?: number
}

/** The signals of a part. */
interface Candidates {
  /** By place of the calendar on which they would be filled, in the order of members: each one's member and its signal. */
  due: ReadonlyMap<number, readonly Candidate[]>
  /** The last of these places; -1 without any. */
  lastDue: number
  /** Those without a bar in the part to be filled on. */
  unfilled: readonly Candidate[]
  /** Of each member: index after its last signal in the part. */
  ends: Int32Array
  /** Of each member: the place of each of its bars; -1 before the calendar begins. */
  places: Int32Array[]
}

type Candidate = readonly [member: number, signal: number]

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
  { from, to, signalsTo = to }: Part,
): Candidates {
  const places = members.map(({ bars }) => placesIn(calendar, bars.days))
  const ends = new Int32Array(members.length)
  const due = new Map<number, Candidate[]>()
  const unfilled: Candidate[] = []
  members.forEach(({ signals }, member) => {
    const own = places[member]!
    signals.bars.forEach((bar, signal) => {
      if (own[bar]! < from || own[bar]! >= signalsTo) return
      ends[member] = signal + 1
      const place = own[entryBar(fill, bar)] ?? to
      const there = place < to ? due.get(place) : unfilled
      if (there === undefined) due.set(place, [[member, signal]])
      else there.push([member, signal])
    })
  })
  return { due, lastDue: Math.max(-1, ...due.keys()), unfilled, ends, places }
}
