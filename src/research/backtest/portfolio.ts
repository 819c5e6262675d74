import { rankOrder, readRank } from '../../core/language/rank.js'
import { countBelow, parseDay } from '../../core/model/day.js'
import type { Strategy } from '../../core/params/strategy.js'
import type { Random } from '../../core/statistics/random.js'
import { type CalendarPart, type Candidates, candidatesOf, portfolioCalendar } from './candidates.js'
import type { LoadedStrategy, Member } from './members.js'
import { type SkipReason, sizeOf } from './sizing.js'
import { openValue, type TakenTrade, type TradePath, takenTrade, tradePath } from './trade.js'

/** The outcome of a strategy's signals and money. */
export interface Simulation extends LoadedStrategy {
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

/** The data that all runs of a strategy over a part share; each trade is computed once. */
export interface Plan extends LoadedStrategy {
  calendar: Int32Array
  part: CalendarPart
  candidates: Candidates
  /** The trade of each candidate, once a run has computed it. */
  paths: (TradePath | undefined)[]
}

/**
 * Collects the data that all runs of a strategy over a part of the calendar share. The runs add the trades to `paths`.
 * @param part the days whose signals count; if the calendar goes on after the part, their trades must end within it
 */
export function planRuns(
  { strategy, members }: LoadedStrategy,
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
 * @param isBrief lists no skipped signals, which saves the sizes of those without a place
 */
export function runPlan(plan: Plan, random: Random | null, { isBrief } = { isBrief: false }): Simulation {
  const { from, to } = plan.part
  const run = new Run(plan, random, isBrief)
  let index = from
  while (index < to && !run.isOver(index)) run.tradeDay(index++)
  return run.resultUpTo(index)
}

class Run {
  readonly #strategy: Strategy
  readonly #calendar: Int32Array
  readonly #part: CalendarPart
  /** First day without signals. */
  readonly #signalsEnd: number
  readonly #candidates: Candidates
  readonly #paths: Plan['paths']
  /** For each member, index of the first signal after its last trade. */
  readonly #nextSignal: Int32Array
  readonly #random: Random | null
  readonly #isBrief: boolean
  /** The order of a day's signals; null: all are equal. */
  readonly #order: Order | null
  /** Memory for the candidates of a day. */
  readonly #buffer: Int32Array
  readonly #result: Simulation
  readonly #positions: Positions
  #cash: number
  /** Equity at the previous close. */
  #equity: number

  constructor({ strategy, members, calendar, part, candidates, paths }: Plan, random: Random | null, isBrief: boolean) {
    this.#strategy = strategy
    this.#calendar = calendar
    this.#part = part
    const { before } = strategy.entry
    this.#signalsEnd = before === null ? Number.POSITIVE_INFINITY : parseDay(before)!
    this.#candidates = candidates
    this.#paths = paths
    this.#nextSignal = new Int32Array(members.length)
    this.#positions = new Positions(strategy)
    this.#random = random
    this.#isBrief = isBrief
    this.#order = strategy.rank === undefined ? null : orderByRank(members, candidates, strategy.rank)
    this.#buffer = new Int32Array(candidates.maxFillsADay)
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

  /**
   * Trades a day: interest, exits and entries at the open, other exits, entries at the close.
   * @param index calendar index of the day
   */
  tradeDay(index: number): void {
    const entersAtOpen = this.#strategy.fill === 'next-open'
    this.#addInterest(index)
    this.#closeTrades(index, { onlyAtOpen: true })
    if (entersAtOpen) this.#takeSignals(index)
    this.#recordExposure(index)
    this.#closeTrades(index)
    if (!entersAtOpen) {
      this.#takeSignals(index)
      // A position bought at the last close of its ticker ends there, too.
      this.#closeTrades(index)
    }
    this.#recordClose(index)
  }

  /** Whether the dates have ended and nothing is open or pending. A run has at least one day. */
  isOver(index: number): boolean {
    if (this.#endsEarly || index === this.#part.from || this.#calendar[index]! < this.#signalsEnd) return false
    return this.#positions.count === 0 && index > this.#candidates.lastFillDay
  }

  /**
   * The result of the days before an index; the last step of a run. Counts the signals that still wait for a fill: as
   * pending, or as purged where the run ends before the data do. A signal within an earlier trade of its ticker does
   * not wait.
   * @param end calendar index after the last day of the run
   */
  resultUpTo(end: number): Simulation {
    const count = end - this.#part.from
    const { days, equity, value, positions, exposure } = this.#result
    const waiting = this.#candidates.unfilled.filter(candidate => this.#isOutsideTrades(candidate)).length
    if (this.#endsEarly) this.#result.purged += waiting
    else this.#result.pending = waiting
    return {
      ...this.#result,
      days: days.subarray(0, count),
      equity: equity.subarray(0, count),
      value: value.subarray(0, count),
      positions: positions.subarray(0, count),
      exposure: exposure.subarray(0, count),
    }
  }

  get #isFull(): boolean {
    return this.#positions.count >= this.#strategy.portfolio.max_positions
  }

  /** Whether the part ends before the calendar does: trades that would end after it are purged. */
  get #endsEarly(): boolean {
    return this.#part.to < this.#calendar.length
  }

  /** Adds the interest on cash since the day before, if cash is above 0. */
  #addInterest(index: number): void {
    const { cash_rate } = this.#strategy.portfolio
    if (cash_rate === 0 || index === this.#part.from || !(this.#cash > 0)) return
    const interest = (this.#cash * cash_rate * (this.#calendar[index]! - this.#calendar[index - 1]!)) / 365
    this.#cash += interest
    this.#result.interest += interest
  }

  /** Closes the trades that end on a day, or only those that end at its open. */
  #closeTrades(index: number, { onlyAtOpen = false } = {}): void {
    for (const { invested, net, shares, end } of this.#positions.close(index, onlyAtOpen)) {
      this.#cash += invested * (1 + net)
      this.#result.traded += shares * end.price
    }
  }

  /** Whether a candidate falls into no earlier trade of its ticker. */
  #isOutsideTrades(candidate: number): boolean {
    const { memberOf, signalOf } = this.#candidates
    return signalOf[candidate]! >= this.#nextSignal[memberOf[candidate]!]!
  }

  /**
   * Trades the candidates of a day, and counts whether they competed for slots or money. They competed as equals where
   * the last one taken ranks like the first one refused.
   */
  #takeSignals(index: number): void {
    const candidates = this.#candidatesOn(index)
    let lastTaken = -1
    let firstRefused = -1
    for (let i = 0; i < candidates.length; i++) {
      if (this.#isBrief && !this.#endsEarly && this.#isFull) {
        // All other candidates of the day are refused, and a brief result does not list them. A part that ends early
        // looks at each, because it may purge it.
        if (firstRefused < 0) firstRefused = i
        break
      }
      const outcome = this.#tryCandidate(candidates[i]!)
      if (outcome === 'taken') lastTaken = i
      else if (firstRefused < 0 && (outcome === 'no_place' || outcome === 'no_cash')) firstRefused = i
    }
    if (lastTaken < 0 || firstRefused < 0) return
    this.#result.contested++
    if (this.#order === null || this.#order(candidates[lastTaken]!, candidates[firstRefused]!) === 0)
      this.#result.tied++
  }

  /**
   * The candidates that fill on a calendar index and fall into no earlier trade, by rank. Equal ones are shuffled, or
   * without `#random` in order of ticker.
   */
  #candidatesOn(index: number): Int32Array {
    const { byFillDay, fillDayStarts } = this.#candidates
    let count = 0
    for (let i = fillDayStarts[index]!; i < fillDayStarts[index + 1]!; i++)
      if (this.#isOutsideTrades(byFillDay[i]!)) this.#buffer[count++] = byFillDay[i]!
    if (count === 0) return NO_CANDIDATES
    const candidates = this.#buffer.subarray(0, count)
    if (this.#order !== null) candidates.sort(this.#order)
    if (this.#random !== null) shuffleEqual(candidates, this.#order, this.#random)
    return candidates
  }

  /** Trades a candidate if there is money and a position slot for it, and its trade ends within the part. */
  #tryCandidate(candidate: number): SignalOutcome {
    const { strategy, members } = this.#result
    const memberIndex = this.#candidates.memberOf[candidate]!
    const signalIndex = this.#candidates.signalOf[candidate]!
    // Only a part that ends early needs the end of a trade before its size.
    const earlyPath = this.#endsEarly ? this.#pathOf(candidate) : null
    if (earlyPath !== null && this.#exitIndex(memberIndex, earlyPath.end) >= this.#part.to) {
      this.#result.purged++
      // A purged trade still blocks later signals: its late end must not let them in.
      this.#blockSignals(memberIndex, signalIndex, earlyPath.next)
      return 'purged'
    }
    if (this.#isBrief && this.#isFull) return 'no_place'
    const member = members[memberIndex]!
    const funds = { open: this.#positions.count, equity: this.#equity, cash: this.#cash }
    const size = sizeOf(strategy, member, member.signals.bars[signalIndex]!, funds)
    if (typeof size === 'string') {
      this.#recordSkip(member, signalIndex, size)
      return size
    }
    const path = earlyPath ?? this.#pathOf(candidate)
    const taken = takenTrade(member, strategy, signalIndex, path.end, size)
    this.#cash -= size.invested
    this.#result.traded += size.shares * taken.entry
    this.#result.trades.push(taken)
    this.#positions.add(taken, this.#candidates.calendarIndices[memberIndex]!, this.#exitIndex(memberIndex, path.end))
    this.#blockSignals(memberIndex, signalIndex, path.next)
    return 'taken'
  }

  /** The trade of a candidate, computed once for all runs of the plan. */
  #pathOf(candidate: number): TradePath {
    const { memberOf, signalOf, signalEnds } = this.#candidates
    const { members, strategy } = this.#result
    const memberIndex = memberOf[candidate]!
    this.#paths[candidate] ??= tradePath(members[memberIndex]!, strategy, signalOf[candidate]!, signalEnds[memberIndex])
    return this.#paths[candidate]
  }

  #recordSkip(member: Member, index: number, reason: SkipReason): void {
    if (!this.#isBrief) this.#result.skipped.push({ member, index, reason })
  }

  /**
   * Skips the signals during a trade, or counts them as extending it. Does nothing where trades may overlap.
   * @param index the trade's own signal
   * @param next the first signal after the trade
   */
  #blockSignals(memberIndex: number, index: number, next: number): void {
    if (this.#strategy.overlap === 'allow') return
    const member = this.#result.members[memberIndex]!
    this.#nextSignal[memberIndex] = next
    if (this.#strategy.overlap === 'extend') this.#result.extended += next - index - 1
    else for (let i = index + 1; i < next; i++) this.#recordSkip(member, i, 'in_trade')
  }

  /** Calendar index of the end of a trade; infinite for an open one. */
  #exitIndex(memberIndex: number, { why, bar, day }: TakenTrade['end']): number {
    if (why === 'open') return Number.POSITIVE_INFINITY
    return why === 'delisted' ? countBelow(this.#calendar, day) : this.#candidates.calendarIndices[memberIndex]![bar]!
  }

  /** Records the exposure from open to close: after the entries at the open, before the later exits. */
  #recordExposure(index: number): void {
    const share = this.#equity > 0 ? this.#positions.lastValue() / this.#equity : Number.NaN
    this.#result.exposure[index - this.#part.from] = share
    if (this.#positions.count > 0) this.#result.exposed++
  }

  /** Values all positions at a day's close, and records the equity. */
  #recordClose(index: number): void {
    const resultIndex = index - this.#part.from
    const { worth, gross } = this.#positions.mark(index, this.#calendar[index]!)
    this.#equity = this.#cash + worth
    this.#result.equity[resultIndex] = this.#equity
    this.#result.value[resultIndex] = gross
    this.#result.positions[resultIndex] = this.#positions.count
  }
}

type SignalOutcome = SkipReason | 'taken' | 'purged'

/** Compares two candidates; negative where the first comes first. */
type Order = (a: number, b: number) => number

/** The order of candidates by the ranks of their signals. */
function orderByRank(members: readonly Member[], { memberOf, signalOf }: Candidates, rank: string): Order {
  const order = rankOrder(readRank(rank))
  const ranks = Float64Array.from(memberOf, (member, i) => members[member]!.ranks![signalOf[i]!]!)
  return (a, b) => order(ranks[a]!, ranks[b]!)
}

/** Fisher-Yates shuffle within each group of equal signals, from the last index down. */
function shuffleEqual(sorted: Int32Array, order: Order | null, random: Random): void {
  let from = 0
  while (from < sorted.length) {
    // The group is from `from` to before `to`.
    let to = from + 1
    while (to < sorted.length && (order === null || order(sorted[from]!, sorted[to]!) === 0)) to++
    for (let i = to - 1; i > from; i--) {
      const chosen = from + random.below(i - from + 1)
      const swapped = sorted[i]!
      sorted[i] = sorted[chosen]!
      sorted[chosen] = swapped
    }
    from = to
  }
}

interface Position {
  taken: TakenTrade
  /** Calendar index of each bar of its ticker. */
  calendarIndices: Int32Array
  /** Bar and price of the last mark; the entry price until the first close. */
  bar: number
  price: number
  isOver: boolean
}

// Shared, because most days have neither entries nor exits.
const NO_CANDIDATES = new Int32Array()
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
   * Adds the position of a trade.
   * @param calendarIndices the calendar index of each bar of its ticker
   * @param exitIndex calendar index of the exit; infinite for a trade that stays open
   */
  add(taken: TakenTrade, calendarIndices: Int32Array, exitIndex: number): void {
    const position = { taken, calendarIndices, bar: taken.entryBar, price: taken.entry, isOver: false }
    this.#open.push(position)
    this.#count++
    if (!Number.isFinite(exitIndex)) return
    const ending = this.#ending.get(exitIndex)
    if (ending === undefined) this.#ending.set(exitIndex, [position])
    else ending.push(position)
  }

  /** Removes the positions that end at a calendar index, and returns their trades in the order of their entries. */
  close(index: number, onlyAtOpen: boolean): readonly TakenTrade[] {
    const ending = this.#ending.get(index)
    if (ending === undefined) return NO_TRADES
    const closed: TakenTrade[] = []
    for (const position of ending) {
      if (position.isOver || (onlyAtOpen && !position.taken.end.atOpen)) continue
      position.isOver = true
      closed.push(position.taken)
    }
    this.#count -= closed.length
    return closed
  }

  /** Value of the open shares at each position's last mark. */
  lastValue(): number {
    let value = 0
    for (const { taken, price, isOver } of this.#open) if (!isOver) value += taken.shares * price
    return value
  }

  /**
   * Marks each open position at the last close of its ticker up to a day. Also drops the positions that are over.
   * @param index calendar index of the day
   * @returns their part of the equity, and the gross value of the shares, shorts counted as positive
   */
  mark(index: number, day: number): { worth: number; gross: number } {
    let worth = 0
    let gross = 0
    let stillOpen = 0
    for (const position of this.#open) {
      if (position.isOver) continue
      this.#open[stillOpen++] = position
      const { taken, calendarIndices } = position
      while (position.bar + 1 < calendarIndices.length && calendarIndices[position.bar + 1]! <= index) position.bar++
      position.price = taken.member.bars.close[position.bar]!
      worth += openValue(this.#strategy, taken, position.price, day)
      gross += taken.shares * position.price
    }
    this.#open.length = stillOpen
    return { worth, gross }
  }
}
