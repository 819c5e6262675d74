import { costShare, grossReturn, netReturn } from './costs.js'
import { exitEventAfter, type Member } from './member.js'
import { type Ending, entryBar, entryPrice, follow } from './path.js'
import type { Strategy } from './strategy.js'

/** A trade that was taken. */
export interface Taken {
  member: Member
  /** Index of its signal among those of the member. */
  index: number
  signal: number
  entryBar: number
  entryPrice: number
  shares: number
  invested: number
  left: Ending
  gross: number
  /** After all costs; of an open trade as if it were left at its last close. */
  net: number
}

/** How a trade from a signal goes, and which of the signals after it put its exit off. */
export interface Course {
  left: Ending
  /** Index of the first signal that no longer falls into the trade. */
  next: number
}

/**
 * Follows the trade of a signal. Signals fall into it while its exit lies after their bar; with `extend` each of them
 * counts the hold from itself.
 * @param end index after the last signal that counts
 */
export function courseOf(member: Member, strategy: Strategy, index: number, end = member.signals.bars.length): Course {
  const { bars: signals } = member.signals
  const signal = signals[index]!
  const event = exitEventAfter(member, signal)
  let left = follow(member.bars, strategy, signal, event)
  let next = index + 1
  for (; next < end && fallsInto(left, signals[next]!); next++)
    if (strategy.overlap === 'extend') left = follow(member.bars, strategy, signal, event, signals[next]!)
  return { left, next }
}

/** What a position that has not been left is worth at a price, and the day by which borrow has accrued. */
export function worthOf(strategy: Strategy, taken: Taken, price: number, day: number): number {
  const { shares, invested, entryPrice } = taken
  if (strategy.side === 'long') return shares * price
  const { costs } = strategy
  const kept = entryPrice * (1 - costShare(costs)) - costs.perShare
  const days = day - taken.member.bars.days[taken.entryBar]!
  return invested + shares * (kept - price) - costs.fixed - (shares * entryPrice * costs.borrow * days) / 365
}

/** @param bought shares and money of the entry */
export function takenFrom(
  member: Member,
  strategy: Strategy,
  index: number,
  left: Ending,
  bought: { shares: number; invested: number },
): Taken {
  const { side, fill, costs } = strategy
  const signal = member.signals.bars[index]!
  const at = entryBar(fill, signal)
  const entry = entryPrice(member.bars, fill, signal)
  const days = left.day - member.bars.days[at]!
  return {
    member,
    index,
    signal,
    entryBar: at,
    entryPrice: entry,
    ...bought,
    left,
    gross: grossReturn(side, entry, left.price),
    net: netReturn(costs, { side, entry, exit: left.price, shares: bought.shares, days }),
  }
}

function fallsInto({ why, bar }: Ending, signal: number): boolean {
  return why === 'open' || bar > signal
}
