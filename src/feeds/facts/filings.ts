import type { Day } from '../../model/day.js'
import type { Report } from '../../model/facts.js'
import { type FiledFact, isReportForm } from './filings/concepts.js'
import { bookValue, derivedFigure, type Known, statedFigure } from './filings/figures.js'
import { Ledger } from './filings/ledger.js'

export { type FiledFact, isCounted, isReportForm, REPORT_CONCEPTS } from './filings/concepts.js'

/**
 * The quarters of one company as its filings state them, one record a version: by the day it became known, then by
 * quarter. A filing that repeats a quarter makes no version, one that changes or adds a figure does. What it leaves out
 * is carried over, figures a share only while they count the same shares; a figure that is not known is null.
 */
export function reportsOfFilings(facts: readonly FiledFact[]): Report[] {
  const ledger = new Ledger()
  const versions = new Map<Day, Version>()
  const reports: Report[] = []
  for (const [filed, filing] of byFilingDate(facts)) {
    ledger.post(filed, filing)
    for (const end of [...ledger.ends].sort((a, b) => a - b)) {
      const before = versions.get(end) ?? UNKNOWN
      const now = figuresAt(ledger, end, filed, before)
      if (now.eps === null && now.revenue === null) continue
      const news = FIGURES.filter(figure => isNews(now[figure], before[figure], filed))
      // Figures that filings after a split say nothing of are better kept as they were then than lost for a book value.
      const lost = before.eps !== null && now.eps === null
      if (lost && news.every(figure => figure === 'book')) continue
      versions.set(end, now)
      if (news.length > 0) reports.push(recordOf(end, filed, now))
    }
  }
  return reports
}

type Figure = 'eps' | 'revenue' | 'book'
type Version = Readonly<Record<Figure, Known | null>>

const FIGURES: readonly Figure[] = ['eps', 'revenue', 'book']
const UNKNOWN: Version = { eps: null, revenue: null, book: null }

/** Filing dates ascending; of what is filed on one day the amendment comes last and so has the last word. */
function byFilingDate(facts: readonly FiledFact[]): [Day, FiledFact[]][] {
  const filings = new Map<Day, FiledFact[]>()
  for (const fact of facts) {
    if (!isReportForm(fact.form)) continue
    const filing = filings.get(fact.filed)
    if (filing === undefined) filings.set(fact.filed, [fact])
    else filing.push(fact)
  }
  const rank = ({ form }: FiledFact) => (form.endsWith('/A') ? 2 : form.startsWith('10-') ? 1 : 0)
  for (const filing of filings.values()) filing.sort((a, b) => rank(a) - rank(b))
  return [...filings].sort(([a], [b]) => a - b)
}

/** What is known of a quarter once a day's filings are out. */
function figuresAt(ledger: Ledger, end: Day, filed: Day, before: Version): Version {
  const sameShares = (known: Known | null) => (known !== null && ledger.basis.same(known.filed, filed) ? known : null)
  const reported = (figure: 'eps' | 'revenue') => {
    const stated = statedFigure(ledger, figure, end, filed)
    // What a filing states of the quarter itself is not replaced by a difference of rounded figures.
    if (stated !== null || before[figure]?.stated) return stated
    const derived = derivedFigure(ledger, figure, end)
    return derived?.filed === filed ? derived : null
  }
  return {
    eps: latest('eps', reported('eps'), before, sameShares(before.eps)),
    revenue: latest('revenue', reported('revenue'), before, before.revenue),
    book: latest('book', bookValue(ledger, end, filed), before, sameShares(before.book)),
  }
}

/** The new figure; the one before, confirmed, where the new one repeats it; what may be carried over without a new one. */
function latest(figure: Figure, now: Known | null, before: Version, carried: Known | null): Known | null {
  if (now === null) return carried
  const last = before[figure]
  if (last === null || !isRepeat(figure, now, last)) return now
  return { value: last.value, filed: Math.max(now.filed, last.filed), stated: now.stated || last.stated }
}

/** Figures that are worked out of others may differ by the rounding of those. */
function isRepeat(figure: Figure, now: Known, before: Known): boolean {
  if (now.stated) return now.value === before.value
  const rounding = figure === 'eps' ? 0.015 : 0.005 * Math.max(Math.abs(now.value), Math.abs(before.value))
  return Math.abs(now.value - before.value) <= rounding
}

function isNews(now: Known | null, before: Known | null, filed: Day): boolean {
  return now !== null && now.filed === filed && now.value !== before?.value
}

function recordOf(end: Day, known: Day, { eps, revenue, book }: Version): Report {
  const figures = { eps: eps?.value ?? null, revenue: revenue?.value ?? null, book_value_ps: book?.value ?? null }
  return { period_end: end, known, session: null, ...figures, basis: 'filed' }
}
