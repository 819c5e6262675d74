import { Random } from '../../random.js'
import { mean } from '../../statistics/moments.js'
import { shiftsOf, tooShort } from '../../statistics/shift.js'
import { placesIn, unionCalendar } from '../calendar.js'
import { netReturn } from './costs.js'
import { exitEventAfter, hasDistances, type Member } from './member.js'
import { type ExitEvent, entryBar, entryPrice, follow } from './path.js'
import type { Backtest } from './result.js'
import { bought, fractionOf } from './sizing.js'
import type { Strategy } from './strategy.js'
import type { Taken } from './trade.js'

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
 * after a signal, and trades that last longer vary more. p is the share of draws whose mean net return is as high, the
 * strategy counted as one of them: (1 + draws as high) / (1 + draws) (Davison & Hinkley, "Bootstrap methods and their
 * application", 1997). No move is shorter than the longest trade; where 2,000 or fewer are possible every one is looked at,
 * otherwise `draws`.
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
  const longest = closed.reduce((most, { signal, left }) => Math.max(most, left.bar - signal), 0)
  const random = Random.stream(new Random(strategy.seed).word(), 2)
  const shifts = shiftsOf(calendar.length, longest, { reps: draws, random })
  if (shifts.length === 0) return none(tooShort(calendar.length, longest))
  const means = Array.from(shifts, shift => meanAt(drawn, shift, calendar.length)).filter(found => found !== null)
  if (means.length === 0) return none('no move leaves a signal where its ticker makes a trade')
  // Means of the same returns in another order differ in the last digits.
  const own = mean(closed.map(({ net }) => net))! - 1e-12
  const asHigh = means.filter(found => found >= own).length
  return { draws: means.length, mean: mean(means), p: (1 + asHigh) / (1 + means.length), reason: null }
}

/** Days on which one of the tickers that were traded has a band. */
function calendarOf(closed: readonly Taken[]): Int32Array {
  const members = [...new Set(closed.map(({ member }) => member))]
  return unionCalendar(members.map(({ eligible, bars }) => eligible.map(bar => bars.days[bar]!)))
}

/** By ticker and signal, ascending, so that what is added up does not depend on the order of the trades. */
function drawnOf(strategy: Strategy, closed: readonly Taken[], calendar: Int32Array): Drawn[] {
  const signals = new Map<Member, number[]>()
  for (const { member, signal } of closed) {
    const own = signals.get(member)
    if (own === undefined) signals.set(member, [signal])
    else own.push(signal)
  }
  const byTicker = [...signals].sort(([{ ticker: a }], [{ ticker: b }]) => (a < b ? -1 : 1))
  return byTicker.map(([member, own]) => {
    const places = placesIn(calendar, member.bars.days)
    const known = new Set(member.eligible)
    const bars = Int32Array.from(own).sort()
    const signals = bars.map(bar => (known.has(bar) ? places[bar]! : -1))
    return { signals, netAt: netsOf(strategy, member, bars, calendar) }
  })
}

/** @param signals bars */
function netsOf(strategy: Strategy, member: Member, signals: Int32Array, calendar: Int32Array): Drawn['netAt'] {
  const barAt = new Int32Array(calendar.length).fill(-1)
  const places = placesIn(calendar, member.bars.days)
  for (const bar of member.eligible) barAt[places[bar]!] = bar
  const events = Array.from(signals, signal => {
    const { bar, why } = exitEventAfter(member, signal)
    return { after: bar < 0 ? Number.POSITIVE_INFINITY : bar - signal, why }
  })
  const from = (bar: number, { after, why }: (typeof events)[number]): number => {
    const event = { bar: bar + after < member.bars.days.length ? bar + after : -1, why }
    return (bar < 0 ? null : netFrom(strategy, member, bar, event)) ?? Number.NaN
  }
  if (member.leave !== null || member.on !== null) return (place, trade) => from(barAt[place]!, events[trade]!)
  // Without such an event all trades from a bar are the same.
  const nets = Float64Array.from(barAt, bar => from(bar, events[0]!))
  return place => nets[place]!
}

/** Mean net return of the trades `shift` days on; null where none of them lands on a bar that makes a trade. */
function meanAt(drawn: readonly Drawn[], shift: number, days: number): number | null {
  let [sum, n] = [0, 0]
  for (const { signals, netAt } of drawn) {
    for (let i = 0; i < signals.length; i++) {
      const net = netAt((signals[i]! + shift) % days, i)
      if (Number.isNaN(net)) continue
      sum += net
      n++
    }
  }
  return n === 0 ? null : sum / n
}

/** Net return of a trade from a bar, bought as the first one would be; null where it is no trade or does not close. */
function netFrom(strategy: Strategy, member: Member, bar: number, event: ExitEvent): number | null {
  const { bars } = member
  const { fill: at, side, costs, portfolio } = strategy
  if (entryBar(at, bar) >= bars.days.length || !hasDistances(member, strategy.exit, bar)) return null
  const left = follow(bars, strategy, bar, event)
  if (left.why === 'open') return null
  const entry = entryPrice(bars, at, bar)
  const size = bought(strategy, fractionOf(strategy, member, bar) * portfolio.capital, entry)
  if (size === null) return null
  const days = left.day - bars.days[entryBar(at, bar)]!
  return netReturn(costs, { side, entry, exit: left.price, shares: size.shares, days })
}
