import type { Charge, Charged, DayUsage, Used } from '../../src/accounts/accounts.js'

/** Credits as one would keep them on paper: every charge that was granted in one list, added up anew for each question. */
export class Books {
  readonly #granted: Charge[] = []

  charge(charge: Charge): Charged {
    const told = (outcome: Charged['outcome']): Charged => ({ outcome, used: this.used(charge.account, charge.at) })
    const before = this.#granted.findLast(
      other =>
        other.account === charge.account &&
        charge.idempotency !== null &&
        other.idempotency?.equals(charge.idempotency) === true &&
        charge.at - other.at < 48 * 3_600_000,
    )
    if (before !== undefined) return told(before.question.equals(charge.question) ? 'repeated' : 'conflict')
    const { day, hour } = this.used(charge.account, charge.at)
    if (day + charge.credits > charge.limits.day || hour + charge.credits > charge.limits.hour) return told('limited')
    this.#granted.push(charge)
    return told('charged')
  }

  used(account: number, at: number): Used {
    const own = this.#granted.filter(charge => charge.account === account)
    // 2026-03-24 and 2026-03-24T12
    const within = (length: number) => own.filter(charge => text(charge.at, length) === text(at, length))
    return { day: credits(within(10)), hour: credits(within(13)) }
  }

  usage(account: number): DayUsage[] {
    const own = this.#granted.filter(charge => charge.account === account)
    const dates = [...new Set(own.map(charge => text(charge.at, 10)))].sort().reverse()
    return dates.map(date => {
      const ofDay = own.filter(charge => text(charge.at, 10) === date)
      return { date, credits: credits(ofDay), requests: ofDay.length }
    })
  }

  total(): { rows: number; requests: number; credits: number } {
    return { rows: this.#granted.length, requests: this.#granted.length, credits: credits(this.#granted) }
  }
}

const text = (at: number, length: number): string => new Date(at).toISOString().slice(0, length)
const credits = (charges: readonly Charge[]): number => charges.reduce((sum, charge) => sum + charge.credits, 0)
