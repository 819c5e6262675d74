import { countBelow, countUpTo } from '../../ascending.js'
import type { Member } from './member.js'

/** Of the Gregorian calendar. */
const DAYS_A_YEAR = 365.25
/** Days that a ticker lacks and bars a year too many beyond this are those of another calendar, not holidays or gaps. */
const TOLERANCE = 0.05

/**
 * What bars are annualised by. Tickers of one calendar have its number; where calendars differ no such number fits the
 * days of all of them, and it is the returns that there are over the years that they take.
 * @param parts days of the portfolio, in one piece or in several
 */
export function barsAYearOf(members: readonly Pick<Member, 'prices'>[], ...parts: readonly Int32Array[]): number {
  const most = Math.max(...members.map(({ prices }) => prices.barsAYear))
  const found = effectiveBarsAYear(...parts)
  if (found === null) return most
  if (members.some(({ prices }) => prices.barsAYear !== most)) return found
  // Weeks of two markets may end on different days: twice as many days then have a bar.
  const isCrowded = found > most * (1 + TOLERANCE)
  return isCrowded && parts.some(part => members.some(member => isForeign(member, part))) ? found : most
}

/** Returns / years from first day to last; null without any. */
export function effectiveBarsAYear(...parts: readonly Int32Array[]): number | null {
  const some = parts.filter(({ length }) => length > 1)
  const returns = some.reduce((sum, { length }) => sum + length - 1, 0)
  const days = some.reduce((sum, part) => sum + part.at(-1)! - part[0]!, 0)
  return days === 0 ? null : (returns * DAYS_A_YEAR) / days
}

/** Whether a ticker has no bar on many of the days from its first to its last. */
function isForeign({ prices }: Pick<Member, 'prices'>, days: Int32Array): boolean {
  const own = prices.series.days
  const [first, last] = [Math.max(own[0]!, days[0]!), Math.min(own.at(-1)!, days.at(-1)!)]
  const within = (column: Int32Array): number => Math.max(0, countUpTo(column, last) - countBelow(column, first))
  return within(own) < within(days) * (1 - TOLERANCE)
}
