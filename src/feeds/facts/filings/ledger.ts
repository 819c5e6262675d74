import type { Day } from '../../../model/day.js'
import { FIGURES, type Figure, type FiledFact, isCounted } from './concepts.js'
import { type Entry, entryAfter, type Item, isOther, type Term } from './entry.js'
import { type Posted, sharesRatio } from './restated.js'
import { ShareBasis } from './share-basis.js'

/** Quarters end on the same day whichever filing states them, but for filings that give the end of the month instead. */
const SLACK = 7

/** All that the filings of a company up to a date state, the latest word on each figure. */
export class Ledger {
  readonly basis = new ShareBasis()
  /** Ends of periods, in the order in which filings first state them. */
  readonly ends: Day[] = []
  readonly #entries = new Map<string, Entry>()
  readonly #countDays = new Set<Day>()
  readonly #unlike = new Set<string>()

  /** Takes in all that was filed on a date, which is later than those before. */
  post(filed: Day, facts: readonly FiledFact[]): void {
    const items = facts.flatMap(fact => this.#itemsOf(fact))
    const posted: Posted[] = []
    for (const item of items) {
      if (contradicted(item, items)) continue
      const key = keyOf(item.concept, item.term, item.end)
      const before = this.#entries.get(key)
      posted.push({ item, before })
      this.#entries.set(key, entryAfter(item, before, filed))
      if (item.figure === 'count') this.#countDays.add(item.end)
    }
    for (const one of posted) {
      for (const other of items) if (isRival(one.item, other)) this.#unlike.add(`${one.item.concept} ${other.concept}`)
      const ratio = sharesRatio(one, posted)
      if (ratio !== null) this.basis.observe({ after: one.before!.filed, upTo: filed }, ratio)
    }
  }

  entry(concept: string, term: Term, end: Day): Entry | undefined {
    return this.#entries.get(keyOf(concept, term, end))
  }

  /** What is stated of a figure, by the first of its names that has an entry which `accept` takes. */
  first(figure: Figure, term: Term, end: Day, accept: (entry: Entry) => boolean = () => true): Entry | null {
    for (const concept of FIGURES[figure].concepts) {
      const entry = this.entry(concept, term, end)
      if (entry !== undefined && accept(entry)) return entry
    }
    return null
  }

  /** The names of a figure that no filing has used for two different values, the given one first. */
  namesLike(figure: Figure, concept: string): string[] {
    const others = FIGURES[figure].concepts.filter(other => other !== concept)
    return [concept, ...others.filter(other => !this.#unlike.has(`${concept} ${other}`))]
  }

  /** Share counts of the days from..to, those of balance sheets first, then the earliest. */
  countsWithin(from: Day, to: Day): Entry[] {
    const days = [...this.#countDays].filter(day => day >= from && day <= to).sort((a, b) => a - b)
    return FIGURES.count.concepts.flatMap(concept => days.flatMap(day => this.entry(concept, 'day', day) ?? []))
  }

  /** The ends about a quarter before one. */
  endsBefore(end: Day): Day[] {
    return this.ends.filter(earlier => isQuarter(end - earlier))
  }

  #itemsOf({ concept, unit, start, end, value }: FiledFact): Item[] {
    const figure = FIGURE_OF.get(concept)
    if (figure === undefined || !isCounted(concept, unit) || !Number.isFinite(value)) return []
    const term = start === null ? 'day' : termOf(end - start)
    if (term === null || (term === 'day') !== (figure === 'equity' || figure === 'count')) return []
    // Not so for balances: that of the next morning may be one that a new rule of accounting has changed.
    return [{ figure, concept, term, start, end: term === 'day' ? end : this.#usual(end), value }]
  }

  #usual(end: Day): Day {
    const known = this.ends.find(other => Math.abs(other - end) <= SLACK)
    if (known === undefined) this.ends.push(end)
    return known ?? end
  }
}

const FIGURE_OF: ReadonlyMap<string, Figure> = new Map(
  (Object.keys(FIGURES) as Figure[]).flatMap(figure => FIGURES[figure].concepts.map(concept => [concept, figure])),
)

function keyOf(concept: string, term: Term, end: Day): string {
  return `${concept} ${term} ${end}`
}

function termOf(days: number): Term | null {
  if (isQuarter(days)) return 'quarter'
  if (days >= 250 && days <= 290) return 'nine_months'
  return days >= 340 && days <= 380 ? 'year' : null
}

function isQuarter(days: number): boolean {
  return days >= 70 && days <= 110
}

/** Whether two names of a figure have different values for the same period. */
function isRival(one: Item, other: Item): boolean {
  const samePlace = one.figure === other.figure && one.term === other.term && one.end === other.end
  return samePlace && one.concept !== other.concept && isOther(one, other.value)
}

/** Whether a count is far from net income over earnings a share in the same filing: stated in thousands, say. */
function contradicted(item: Item, filing: readonly Item[]): boolean {
  if (item.figure !== 'diluted') return false
  const stated = (figure: Figure) =>
    filing.find(other => other.figure === figure && other.term === item.term && other.end === item.end)?.value
  const [eps, income] = [stated('eps'), stated('income')]
  if (eps === undefined || income === undefined || Math.abs(eps) < 0.01 || income === 0) return item.value <= 0
  const times = item.value / Math.abs(income / eps)
  return times < 0.2 || times > 5
}
