import type { Day } from '../../src/model/day.js'
import type { Facts, Report, Session } from '../../src/model/facts.js'
import { randomNumbers } from '../support/bars.js'

/**
 * Facts of a seed with all that makes them hard: gaps between quarters, restated versions, figures and sessions that are
 * lacking, ties, weekends, few analysts, words that do not count. They begin three years before the first of some days
 * (every fifth company's some months after it). Filed figures and splits are of days before the first.
 */
export function randomFacts(seed: number, days: Int32Array): Facts {
  if (days.length === 0) return randomFacts(seed, Int32Array.of(16_000))
  const made = new Made(seed, days[0]! + (seed % 5 === 4 ? 100 : -1_150), days.at(-1)! + 60)
  return {
    reports: made.reports(days[0]!),
    earnings: made.earnings(),
    schedule: made.schedule(),
    ratings: made.ratings(),
    grades: made.grades(),
    insiders: made.insiders(),
    splits: [
      { ex_date: days[0]! - 500, ratio: 4 },
      { ex_date: days[0]! - 100, ratio: 0.5 },
    ],
  }
}

class Made {
  readonly #random: () => number
  readonly #first: Day
  readonly #last: Day
  readonly #trouble: number

  constructor(seed: number, first: Day, last: Day) {
    this.#random = randomNumbers(seed * 31 + 7)
    this.#first = first
    this.#last = last
    // Every third company has tidy records, so that long chains come up.
    this.#trouble = seed % 3 === 0 ? 0 : 1
  }

  reports(firstBar: Day): Report[] {
    const found: Report[] = []
    for (let end = this.#first; end < this.#last; end += this.#gap()) {
      for (let version = 0, known = end; version === 0 || this.#chance(0.2); version++) {
        known += this.#whole(15, 70) + 80 * version
        found.push(this.#report(end, known, firstBar))
      }
    }
    return found
  }

  #report(period_end: Day, known: Day, firstBar: Day): Report {
    const basis = known < firstBar && this.#random() < 0.5 ? 'filed' : 'bars'
    // Few values, so that equal figures and growth on a cut come up.
    return {
      period_end,
      known,
      session: this.#session(),
      eps: this.#chance(0.05) ? null : pick([-0.3, 0, 0.01, 0.5, 1, 1, 1, 1, 1.05, 1.2], this.#random()),
      revenue: this.#chance(0.05) ? null : this.#whole(-1, 15) * 10 + 100,
      book_value_ps: this.#chance(0.2) ? null : this.#whole(1, 40),
      basis,
    }
  }

  earnings(): Facts['earnings'] {
    return this.#some(70, 130).map(report_date => ({
      report_date,
      session: this.#session(),
      eps_estimate: this.#chance(0.1) ? null : pick([-0.2, 0, 0.5, 1, 1, 1], this.#random()),
      eps_actual: this.#chance(0.1) ? null : pick([-0.2, 0, 0.85, 0.97, 0.98, 1, 1.02, 1.15], this.#random()),
    }))
  }

  schedule(): Facts['schedule'] {
    if (this.#trouble === 0) return []
    return this.#some(0, 160).map(known => ({ known, expected_date: known + this.#whole(-5, 90) }))
  }

  ratings(): Facts['ratings'] {
    return this.#some(0, 60).map(known => ({
      known,
      session: this.#session(),
      strong_buy: this.#whole(0, 6),
      buy: this.#whole(0, 3),
      hold: this.#whole(0, 2),
      sell: this.#whole(0, 1),
      strong_sell: this.#whole(0, 2),
    }))
  }

  grades(): Facts['grades'] {
    if (this.#random() < 0.5) return []
    return this.#some(0, 40).map(known => ({
      known,
      session: this.#session(),
      firm: pick(['Alpha', 'ALPHA', 'Beta & Co', 'Gamma', 'Delta', 'Epsilon', 'Zeta'], this.#random()),
      grade: pick(['Buy', 'strong buy', 'HOLD', 'Equal-Weight', 'sell', 'Strong Sell', 'No Opinion'], this.#random()),
    }))
  }

  insiders(): Facts['insiders'] {
    return this.#some(0, this.#trouble === 0 ? 250 : 40).map(known => ({
      known,
      session: this.#session(),
      insider: pick(['A', 'B', 'C', 'D', 'E'], this.#random()),
      side: this.#random() < 0.6 ? 'buy' : 'sell',
      shares: this.#whole(1, 4) * 100,
      value: this.#chance(0.2) ? null : this.#whole(0, 5) * 1000,
    }))
  }

  /** Days that lie so far apart. */
  #some(least: number, most: number): Day[] {
    const found: Day[] = []
    for (let day = this.#first; day < this.#last; day += this.#whole(least, most)) found.push(day)
    return found
  }

  #gap(): number {
    if (this.#chance(0.08)) return pick([69, 70, 110, 111, 182], this.#random())
    return 91 + this.#whole(-2, 2)
  }

  #session(): Session {
    return pick(['pre', 'post', null] as const, this.#random())
  }

  #chance(of: number): boolean {
    return this.#random() < of * this.#trouble
  }

  #whole(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1))
  }
}

function pick<T>(values: readonly T[], at: number): T {
  return values[Math.floor(at * values.length)]!
}
