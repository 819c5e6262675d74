import type { Day } from '../../model/day.js'
import type { RatingCounts } from '../../model/facts.js'
import type { Random } from '../../random.js'
import type { Business } from './business.js'
import type { Prices } from './prices.js'
import { sessionUpTo } from './quarters.js'

/** Days before the first bar on which coverage starts: more than the past that any field compares it with. */
const COVERED_BEFORE = 280
/** Days in which an analyst thinks an opinion over. */
const THINKING = 200
// What an analyst's opinion is made of beside the esteem of the company: its return over half a year, a mood that all
// its analysts share and that fades from one opinion to the next, and the analyst's own mind.
const MOMENTUM_DAYS = 182
const MOMENTUM = 0.8
const MOOD_MEMORY = 0.95
const MOOD = 0.12
const OWN_MIND = 0.75
/** Chance that an analyst takes leave of the company, or comes back, instead. */
const COVERAGE_CHANGE = 0.06

/** The counts of a company's analysts, a record for each day on which one of them changed, up to the last bar. */
export function drawRatings(business: Business, prices: Prices, random: Random): RatingCounts[] {
  const records: RatingCounts[] = []
  let mood = 0
  const opinion = (known: Day): number => {
    // Of the days before, because most opinions come before the session.
    const momentum = Math.max(-0.5, Math.min(0.5, prices.log(known - 1) - prices.log(known - MOMENTUM_DAYS)))
    const mind = business.esteem + MOMENTUM * momentum + mood + OWN_MIND * random.normal()
    return Math.max(1, Math.min(5, Math.round(mind)))
  }
  let day = prices.first - COVERED_BEFORE
  const opinions = Array.from({ length: business.analysts }, () => opinion(day))
  for (; ; day += wait(business.analysts, random)) {
    const known = sessionUpTo(day)
    if (known > prices.last) return records
    const analyst = random.below(opinions.length)
    mood = MOOD_MEMORY * mood + MOOD * random.normal()
    const leaves = random.uniform() < COVERAGE_CHANGE && opinions[analyst] !== NONE
    const before = opinions[analyst]
    opinions[analyst] = leaves ? NONE : opinion(known)
    const session = random.uniform() < 0.8 ? 'pre' : 'post'
    if (opinions[analyst] === before && records.length > 0) continue
    const counts = countsOf(opinions, known, session)
    // One record a day: the later takes the place of the earlier.
    if (records.at(-1)?.known === known) records.pop()
    records.push(counts)
  }
}

const NONE = 0

/** Days until the next analyst speaks; exponential, at least one. */
function wait(analysts: number, random: Random): number {
  return Math.ceil((-Math.log(1 - random.uniform()) * THINKING) / analysts)
}

function countsOf(opinions: readonly number[], known: Day, session: 'pre' | 'post'): RatingCounts {
  const holding = (opinion: number): number => opinions.filter(other => other === opinion).length
  return {
    known,
    session,
    strong_buy: holding(5),
    buy: holding(4),
    hold: holding(3),
    sell: holding(2),
    strong_sell: holding(1),
  }
}
