import { type Day, weekdaysAfter } from '../../model/day.js'
import type { InsiderTrade } from '../../model/facts.js'
import type { Random } from '../../random.js'
import type { Business } from './business.js'
import type { Prices } from './prices.js'
import { type Quarter, sessionUpTo } from './quarters.js'

// A fall of this much (log) within this many days brings insiders to buy.
const FALL = -0.12
const FALL_DAYS = 182
const BUYING = 0.2
const BUYING_AFTER_FALL = 0.5
// Median values of a trade; purchases are smaller than sales.
const SALE = 600_000
const PURCHASE = 250_000
/** Days after a report in which insiders may trade, and of one cluster. */
const WINDOW = 45
const CLUSTER = 10

/** Chance that one insider does the opposite of the others. */
const LONER = 0.3

/**
 * The open-market trades after a quarter's report, by filing date. Sales are more frequent, purchases come when the
 * price has fallen, both in clusters of several people within days. Nobody is on both sides.
 */
export function drawTrades(quarter: Quarter, business: Business, prices: Prices, random: Random): InsiderTrade[] {
  const fallen = prices.log(quarter.reported) - prices.log(quarter.reported - FALL_DAYS) < FALL
  const sellers = random.uniform() < (fallen ? business.selling / 2 : business.selling) ? crowd(random) : 0
  const buyers = random.uniform() < (fallen ? BUYING_AFTER_FALL : BUYING) ? crowd(random) : 0
  const loner = sellers + buyers > 0 && random.uniform() < LONER ? 1 : 0
  const { insiders } = business
  const first = random.below(insiders)
  const people = (count: number, from: number, step: number): number[] =>
    Array.from({ length: Math.min(count, insiders >> 1) }, (_, i) => (from + step * i) % insiders)
  const sold = people(Math.max(sellers, loner), first, 1)
  const bought = people(Math.max(buyers, loner), first + insiders - 1, insiders - 1)
  const opening = quarter.reported + 2
  return [
    ...cluster({ side: 'sell', value: SALE, people: sold, opening }, prices, random),
    ...cluster({ side: 'buy', value: PURCHASE, people: bought, opening }, prices, random),
  ].sort((a, b) => a.known - b.known)
}

/** How many people act together. */
function crowd(random: Random): number {
  return 1 + Math.floor(-1.8 * Math.log(1 - random.uniform()))
}

interface Cluster {
  side: 'buy' | 'sell'
  /** Median value of a trade. */
  value: number
  people: readonly number[]
  /** From this day on. */
  opening: Day
}

function cluster({ side, value, people, opening }: Cluster, prices: Prices, random: Random): InsiderTrade[] {
  const from = opening + random.below(WINDOW - CLUSTER)
  return people.flatMap(person =>
    Array.from({ length: random.uniform() < 0.3 ? 2 : 1 }, (): InsiderTrade => {
      const day = sessionUpTo(from + random.below(CLUSTER))
      const price = Math.round(100 * Math.exp(prices.log(day))) / 100
      const shares = 10 * Math.ceil((value * Math.exp(random.normal())) / price / 10)
      // Filed in the evening, mostly on the second day after the trade.
      const known = sessionUpTo(weekdaysAfter(day, Math.min(2, random.below(5))))
      return { known, session: 'post', insider: titleOf(person), side, shares, value: Math.round(shares * price) }
    }),
  )
}

function titleOf(person: number): string {
  return TITLES[person] ?? `Director ${person - TITLES.length + 1}`
}

const TITLES = ['Chief Executive Officer', 'Chief Financial Officer', 'General Counsel']
