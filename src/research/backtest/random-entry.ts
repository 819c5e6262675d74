import { Random } from '../../random.js'
import { mean } from '../../statistics/moments.js'
import { shiftsOf, tooShort } from '../../statistics/shift.js'
import { placesIn, unionCalendar } from '../calendar.js'
import { netReturn } from './costs.js'
import { exitEventAfter, hasDistances, type Member } from './member.js'
import { entryBar, entryPrice, follow } from './path.js'
import type { Backtest } from './result.js'
import { bought, fractionOf } from './sizing.js'
import type { Strategy } from './strategy.js'
import type { Taken } from './trade.js'

/** One ticker's part in the draws. */
interface Drawn {
  /** Place in the calendar of each trade's signal. */
  signals: Int32Array
  /** By place: the net return of a trade from there; NaN where there is none. */
  nets: Float64Array
}

/**
 * What the same rules would have done at random times: the signals of all closed trades moved together, by a random number
 * of days on the calendar of their tickers, which wraps round, with the same exits and costs and no limit on places or
 * money. p is the share of draws whose mean net return is as high, the strategy counted as one of them:
 * (1 + draws as high) / (1 + draws) (Davison & Hinkley, "Bootstrap methods and their application", 1997). No move is
 * shorter than the longest trade; where 2,000 or fewer are possible every one is looked at, otherwise `draws`.
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
  const longest = Math.max(...closed.map(({ signal, left }) => left.bar - signal))
  const random = Random.stream(new Random(strategy.seed).word(), 2)
  const shifts = shiftsOf(calendar.length, longest, { reps: draws, random })
  if (shifts.length === 0) return none(tooShort(calendar.length, longest))
  const means = Array.from(shifts, shift => meanAt(drawn, shift, calendar.length)).filter(found => found !== null)
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

/** By ticker, ascending, so that what is added up does not depend on the order of the trades. */
function drawnOf(strategy: Strategy, closed: readonly Taken[], calendar: Int32Array): Drawn[] {
  const signals = new Map<Member, number[]>()
  for (const { member, signal } of closed.toSorted((a, b) => (a.member.ticker < b.member.ticker ? -1 : 1)))
    signals.set(member, [...(signals.get(member) ?? []), signal])
  return [...signals].map(([member, own]) => {
    const { days } = member.bars
    const places = placesIn(calendar, days)
    const nets = new Float64Array(calendar.length).fill(Number.NaN)
    for (const bar of member.eligible) nets[places[bar]!] = netFrom(strategy, member, bar) ?? Number.NaN
    const known = new Set(member.eligible)
    return { signals: Int32Array.from(own, bar => (known.has(bar) ? places[bar]! : -1)), nets }
  })
}

/** Mean net return of the trades `shift` days on; null where none of them lands on a bar that makes a trade. */
function meanAt(drawn: readonly Drawn[], shift: number, days: number): number | null {
  let [sum, n] = [0, 0]
  for (const { signals, nets } of drawn) {
    for (let i = 0; i < signals.length; i++) {
      const net = nets[(signals[i]! + shift) % days]!
      if (Number.isNaN(net)) continue
      sum += net
      n++
    }
  }
  return n === 0 ? null : sum / n
}

/** Net return of a trade from a bar, bought as the first one would be; null where it is no trade or does not close. */
function netFrom(strategy: Strategy, member: Member, bar: number): number | null {
  const { bars } = member
  const { fill: at, side, costs, portfolio } = strategy
  if (entryBar(at, bar) >= bars.days.length || !hasDistances(member, strategy.exit, bar)) return null
  const left = follow(bars, strategy, bar, exitEventAfter(member, bar))
  if (left.why === 'open') return null
  const entry = entryPrice(bars, at, bar)
  const size = bought(strategy, fractionOf(strategy, member, bar) * portfolio.capital, entry)
  if (size === null) return null
  const days = left.day - bars.days[entryBar(at, bar)]!
  return netReturn(costs, { side, entry, exit: left.price, shares: size.shares, days })
}
