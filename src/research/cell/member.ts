import { placesIn, unionCalendar } from '../calendar.js'

/**
 * One ticker's part in a cell. Its base bars are those on which the field has a band and the window has elapsed: what
 * the events, which are some of them, are held against.
 */
export interface Member {
  ticker: string
  /** Bar number of each base bar, ascending. */
  bars: Int32Array
  /** r_h of each base bar. */
  returns: Float64Array
  /** Place of each base bar on the cell's calendar, ascending. */
  places: Int32Array
  /** The events, as indices into the base bars, ascending. */
  events: Int32Array
  /** Mean of `returns`; NaN without base bars. */
  base: number
  /** Returns less `base`. */
  excess: Float64Array
}

/** The same before there is a calendar: days in place of places on it. */
export interface MemberBars extends Omit<Member, 'places'> {
  days: Int32Array
}

/**
 * @param forward r_h of every bar, NaN where the window has not elapsed
 * @param eligible bars on which the field has a band, ascending
 * @param signals bars of the events, ascending, all of them eligible
 */
export function memberBars(
  ticker: string,
  days: Int32Array,
  forward: Float64Array,
  eligible: Int32Array,
  signals: Int32Array,
): MemberBars {
  const bars = eligible.filter(bar => !Number.isNaN(forward[bar]!))
  const events = placesIn(bars, signals).filter(index => index >= 0)
  const returns = new Float64Array(bars.length)
  const dates = new Int32Array(bars.length)
  let sum = 0
  for (let i = 0; i < bars.length; i++) {
    returns[i] = forward[bars[i]!]!
    dates[i] = days[bars[i]!]!
    sum += returns[i]!
  }
  const base = sum / bars.length
  return { ticker, bars, returns, days: dates, events, base, excess: returns.map(r => r - base) }
}

/**
 * Puts members on their common calendar: the union of the days of the base bars of those that have events. One ticker's
 * calendar is its own base bars.
 */
export function onCalendar(members: readonly MemberBars[]): { members: Member[]; calendar: Int32Array } {
  const counting = members.filter(({ events }) => events.length > 0)
  const calendar = unionCalendar(counting.map(({ days }) => days))
  return { calendar, members: counting.map(member => ({ ...member, places: placesIn(calendar, member.days) })) }
}
