import { type Day, dayOf } from '../../model/day.js'
import type { ScheduledReport } from '../../model/facts.js'
import type { Random } from '../../random.js'
import type { Business } from './business.js'
import { sessionsUpTo } from './calendar.js'

/** Reports start so many quarters before that of the first bar: growth against the year before is known from the start. */
export const QUARTERS_BEFORE = 11

/** The dates of one quarter's report, fixed before anything else about it. */
export interface Quarter {
  /** Of its company, the quarter of the first bar being 0. */
  number: number
  /** Of its year, 0 to 3. */
  season: number
  end: Day
  reported: Day
  session: 'pre' | 'post'
  /** What was announced, in order; the last holds. */
  announced: readonly ScheduledReport[]
}

/** The last day of the quarter in which `day` lies, or of one so many later. */
export function quarterEnd(day: Day, shift: number, later: number): { end: Day; season: number } {
  const date = new Date(day * 86_400_000)
  const months = date.getUTCFullYear() * 12 + date.getUTCMonth()
  const quarter = Math.floor((months - shift) / 3) + later
  const next = (quarter + 1) * 3 + shift
  return { end: dayOf(Math.floor(next / 12), (next % 12) + 1, 1)! - 1, season: quarter % 4 }
}

/** The quarter of that number as seen from the first bar; `random` is the quarter's own. */
export function drawQuarter(number: number, first: Day, business: Business, random: Random): Quarter {
  const { end, season } = quarterEnd(first, business.shift, number)
  const reported = sessionUpTo(end + business.lag + random.below(4))
  const session = random.uniform() < business.early ? 'pre' : 'post'
  return { number, season, end, reported, session, announced: announcements(reported, random) }
}

/** The last session up to a day. */
export function sessionUpTo(day: Day): Day {
  return sessionsUpTo(day, 1, false)[0]!
}

/** A date five to nine weeks ahead; one in six is moved in the last weeks, mostly to a later one. */
function announcements(reported: Day, random: Random): ScheduledReport[] {
  const lead = 35 + random.below(26)
  const moved = random.uniform() < 1 / 6
  const days = random.uniform() < 0.8 ? 1 + random.below(8) : -1 - random.below(3)
  const notice = 4 + random.below(15)
  const planned = moved ? sessionUpTo(reported - days) : reported
  const first = { expected_date: planned, known: sessionUpTo(planned - lead) }
  if (planned === reported) return [first]
  return [first, { expected_date: reported, known: sessionUpTo(Math.min(planned, reported) - notice) }]
}
