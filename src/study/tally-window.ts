import { PERFORMANCES, type Performance, UNDEFINED } from '../model/record.js'
import { TIMEFRAMES, type Timeframe, windowNames } from '../model/timeframe.js'
import { overlap } from '../statistics/overlap.js'
import { wilson } from '../statistics/wilson.js'
import { type Base, type BaseShare, measuredBase, theoreticalBase } from './base.js'
import { byPerformance, gainCount, NO_PRICES, type ReturnFigures, returnFigures, type Shares } from './figures.js'
import type { Member } from './tally-groups.js'

/** What followed over one window. events = n + pending + no_history. */
export interface TallyWindow {
  /** `20d` */
  window: string
  events: number
  /** Events that have a performance band. */
  n: number
  /** Windows that have not ended; from a server also those without enough history, which it does not tell apart. */
  pending: number
  /** Windows that have ended, after too little history to rank their return in. */
  no_history: number
  counts: Record<Performance, number>
  /** counts / n */
  shares: Shares
  /** Share of the three gain bands with its Wilson 95 % interval. */
  gain: { share: number | null; low: number | null; high: number | null }
  /** Why shares and gain are null; null when they are not. */
  reason: string | null
  /** Of all windows that have ended, those without enough history too. */
  returns: ReturnFigures
  /** Ended windows that share bars with another event's of the same ticker. */
  overlapping: number
  /** Ended windows left when none may share a bar with one before it, added up over the tickers. */
  independent: number
  base: Base
}

/** @param members at least one; of several, those with an event where there are any
 * @param w number of the window in the timeframe */
export function tallyWindow(members: readonly Member[], timeframe: Timeframe, w: number): TallyWindow {
  const parts = members.map(member => countMember(member, w, TIMEFRAMES[timeframe].windows[w]!))
  const add = (of: (part: Part) => number): number => parts.reduce((sum, part) => sum + of(part), 0)
  const counts = PERFORMANCES.map((_, i) => add(part => part.counts[i]!))
  const n = add(part => part.ranked)
  const gains = gainCount(counts)
  const interval = wilson(gains, n)
  const events = add(part => part.events)
  return {
    window: windowNames(timeframe)[w]!,
    events,
    n,
    pending: add(part => part.events - part.ended),
    no_history: add(part => part.ended - part.ranked),
    counts: byPerformance(i => counts[i]!),
    shares: byPerformance(i => (n === 0 ? null : counts[i]! / n)),
    gain: { share: n === 0 ? null : gains / n, low: interval?.low ?? null, high: interval?.high ?? null },
    reason: n > 0 ? null : events === 0 ? 'no event' : 'no event has a performance band for this window yet',
    returns: returnFigures(
      parts.flatMap(part => part.returns),
      parts.some(part => part.ended > 0) ? NO_PRICES : events === 0 ? 'no event' : 'no window has ended yet',
    ),
    overlapping: add(part => part.overlapping),
    independent: add(part => part.independent),
    base: baseOf(members, parts, w),
  }
}

interface Part {
  events: number
  /** Windows known to have ended. */
  ended: number
  ranked: number
  counts: number[]
  returns: number[]
  overlapping: number
  independent: number
}

function countMember({ source, rows }: Member, w: number, length: number): Part {
  const { ended, performances, returns } = source.outcomes[w]!
  const counts = PERFORMANCES.map(() => 0)
  const known: number[] = []
  const bars: number[] = []
  let ranked = 0
  for (const row of rows) {
    const performance = performances[row]!
    if (performance !== UNDEFINED) {
      counts[performance]!++
      ranked++
    }
    if (ended[row] === 1) bars.push(source.bars[row]!)
    if (!Number.isNaN(returns[row]!)) known.push(returns[row]!)
  }
  return { events: rows.length, ended: bars.length, ranked, counts, returns: known, ...overlap(bars, length) }
}

function baseOf(members: readonly Member[], parts: readonly Part[], w: number): Base {
  if (members.some(({ source }) => source.base === null)) return theoreticalBase()
  const pool: BaseShare[] = members.map(({ source }, i) => ({
    base: source.base![w]!,
    ranked: parts[i]!.ranked,
    ended: parts[i]!.returns.length,
  }))
  return measuredBase(pool)
}
