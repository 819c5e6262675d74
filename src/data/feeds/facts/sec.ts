import type { Day } from '../../../core/model/day.js'
import type { Report } from '../../../core/model/facts.js'
import { type Entry, FIGURES, type FiledFact, isReportForm, Ledger, type Term } from './sec-ledger.js'

/**
 * The quarters of one company from its filings, one record per version: by the day it became known, then by quarter.
 * A filing that only repeats a quarter makes no version; one that changes or adds a figure does. Missing figures are
 * carried over, per-share figures only while they count the same shares. An unknown figure is null.
 */
export function reportsOfFilings(facts: readonly FiledFact[]): Report[] {
  const ledger = new Ledger()
  const versions = new Map<Day, Version>()
  const reports: Report[] = []
  for (const [filed, filing] of byFilingDate(facts)) {
    ledger.addFiling(filed, filing)
    for (const end of [...ledger.periodEnds].sort((a, b) => a - b)) {
      const before = versions.get(end) ?? UNKNOWN
      const now = figuresAt(ledger, end, filed, before)
      if (now.eps === null && now.revenue === null) continue
      const news = FILED_FIGURES.filter(figure => isNews(now[figure], before[figure], filed))
      // If filings after a split omit these figures, the old ones are more useful than a book value alone.
      const lost = before.eps !== null && now.eps === null
      if (lost && news.every(figure => figure === 'book')) continue
      versions.set(end, now)
      if (news.length > 0) reports.push(recordOf(end, filed, now))
    }
  }
  return reports
}

type Figure = 'eps' | 'revenue' | 'book'
type Version = Readonly<Record<Figure, KnownFigure | null>>

const FILED_FIGURES: readonly Figure[] = ['eps', 'revenue', 'book']
const UNKNOWN: Version = { eps: null, revenue: null, book: null }

/** Filing dates ascending; of several filings on one day the amendment comes last and wins. */
function byFilingDate(facts: readonly FiledFact[]): [Day, FiledFact[]][] {
  const filings = Map.groupBy(
    facts.filter(({ form }) => isReportForm(form)),
    ({ filed }) => filed,
  )
  const rank = ({ form }: FiledFact) => (form.endsWith('/A') ? 2 : form.startsWith('10-') ? 1 : 0)
  for (const filing of filings.values()) filing.sort((a, b) => rank(a) - rank(b))
  return [...filings].sort(([a], [b]) => a - b)
}

/** The figures of a quarter known after a day's filings. */
function figuresAt(ledger: Ledger, end: Day, filed: Day, before: Version): Version {
  const sameShares = (known: KnownFigure | null) =>
    known !== null && ledger.basis.haveSameShares(known.filed, filed) ? known : null
  const reported = (figure: 'eps' | 'revenue') => {
    const stated = statedFigure(ledger, figure, end, filed)
    // A quarter's filed figure is not replaced by a difference of rounded figures.
    if (stated !== null || before[figure]?.stated) return stated
    const derived = derivedFigure(ledger, figure, end)
    return derived?.filed === filed ? derived : null
  }
  return {
    eps: latestFigure('eps', reported('eps'), before, sameShares(before.eps)),
    revenue: latestFigure('revenue', reported('revenue'), before, before.revenue),
    book: latestFigure('book', bookValue(ledger, end, filed), before, sameShares(before.book)),
  }
}

/** The new figure; the one before, confirmed, where the new one repeats it; what may be carried over without a new one. */
function latestFigure(
  figure: Figure,
  now: KnownFigure | null,
  before: Version,
  carried: KnownFigure | null,
): KnownFigure | null {
  if (now === null) return carried
  const last = before[figure]
  if (last === null || !isRepeat(figure, now, last)) return now
  return { value: last.value, filed: Math.max(now.filed, last.filed), stated: now.stated || last.stated }
}

/** Figures calculated from others may differ by their rounding. */
function isRepeat(figure: Figure, now: KnownFigure, before: KnownFigure): boolean {
  if (now.stated) return now.value === before.value
  const rounding = figure === 'eps' ? 0.015 : 0.005 * Math.max(Math.abs(now.value), Math.abs(before.value))
  return Math.abs(now.value - before.value) <= rounding
}

function isNews(now: KnownFigure | null, before: KnownFigure | null, filed: Day): boolean {
  return now !== null && now.filed === filed && now.value !== before?.value
}

function recordOf(end: Day, known: Day, { eps, revenue, book }: Version): Report {
  const figures = { eps: eps?.value ?? null, revenue: revenue?.value ?? null, book_value_ps: book?.value ?? null }
  return { period_end: end, known, session: null, ...figures, basis: 'filed' }
}

interface KnownFigure {
  value: number
  /** The last filing that it rests on. */
  filed: Day
  /** Whether a filing has the figure; otherwise it is calculated from others. */
  stated: boolean
}

/** Periods of one financial year start on the same day, give or take a slip. */
const START_SLACK = 5
/** A count from the cover of a report is of a day some weeks after the quarter. */
const COVER_DAYS = 75
const BALANCE_SLACK = 7

/** A figure of a quarter as one filing date states it, null when it does not. */
function statedFigure(ledger: Ledger, figure: 'eps' | 'revenue', end: Day, filed: Day): KnownFigure | null {
  const entry = ledger.firstEntry(figure, 'quarter', end, one => one.filed === filed)
  return entry === null ? null : { value: entry.value, filed, stated: true }
}

/**
 * A figure of the last quarter of a financial year: the year's minus that of its first nine months, or of its first
 * three quarters. Null where they are not known, or not of one kind: before and after a restatement or a split.
 */
function derivedFigure(ledger: Ledger, figure: 'eps' | 'revenue', end: Day): KnownFigure | null {
  // Filings change the name of a figure from one year to the next; the same name on both sides is surer.
  const ways = FIGURES[figure].concepts.map(concept => ledger.interchangeableNames(figure, concept))
  for (const names of [...ways.map(([concept]) => [concept!]), ...ways]) {
    const year = partialYear(ledger, names.slice(0, 1), 'year', end)
    if (year === null) continue
    const ofOneKind = (parts: Part[] | null) => parts?.every(part => isSubtractable(ledger, figure, year, part))
    const parts = [nineMonths(ledger, names, end, year), threeQuarters(ledger, names, end, year)].find(ofOneKind)
    if (!parts) continue
    const value = parts.reduce((rest, part) => rest - part.value, year.value)
    const filed = Math.max(year.filed, ...parts.map(part => part.filed))
    return { value: Math.round(value * 1e6) / 1e6, filed, stated: false }
  }
  return null
}

/** Equity at the end of a quarter over the shares there were, of filings that count the same shares as one of `filed`. */
function bookValue(ledger: Ledger, end: Day, filed: Day): KnownFigure | null {
  const equity = ledger.firstEntry('equity', 'day', end)
  const shares = equity === null ? null : sharesAt(ledger, end, filed)
  if (equity === null || shares === null) return null
  return { value: equity.value / shares.value, filed: Math.max(equity.filed, shares.filed), stated: false }
}

/** A figure of a period of a year. */
interface Part extends Entry {
  /** The mean number of shares of the same period. */
  shares: Entry | null
}

function nineMonths(ledger: Ledger, names: readonly string[], end: Day, year: Part): Part[] | null {
  const parts = ledger.endsOneQuarterBefore(end).map(before => partialYear(ledger, names, 'nine_months', before))
  const part = parts.find(one => one !== null && startSameDay(one, year))
  return part ? [part] : null
}

function threeQuarters(ledger: Ledger, names: readonly string[], end: Day, year: Part): Part[] | null {
  const parts: Part[] = []
  for (let last = end; parts.length < 3; ) {
    const before = ledger
      .endsOneQuarterBefore(last)
      .find(other => partialYear(ledger, names, 'quarter', other) !== null)
    if (before === undefined) return null
    parts.push(partialYear(ledger, names, 'quarter', before)!)
    last = before
  }
  return startSameDay(parts[2]!, year) ? parts : null
}

function partialYear(ledger: Ledger, names: readonly string[], term: Term, end: Day): Part | null {
  const entry = names.map(concept => ledger.entry(concept, term, end)).find(one => one !== undefined)
  return entry === undefined ? null : { ...entry, shares: ledger.firstEntry('diluted', term, end) }
}

function startSameDay(one: Entry, other: Entry): boolean {
  return Math.abs(one.start! - other.start!) <= START_SLACK
}

/** Whether a partial year's figure may be subtracted from the year's figure. */
function isSubtractable(ledger: Ledger, figure: 'eps' | 'revenue', year: Part, part: Part): boolean {
  // A restated figure goes with another only once that was stated again too.
  if ((year.restated && part.filed < year.since) || (part.restated && year.filed < part.since)) return false
  // Figures a share add up over a year only while the shares are about as many: not across a split or a flotation.
  const counts = year.shares === null || part.shares === null ? 1 : part.shares.value / year.shares.value
  return figure === 'revenue' || (ledger.basis.haveSameShares(year.filed, part.filed) && Math.abs(counts - 1) < 0.1)
}

/** The count of a day if the filings have one, else the mean of the quarter, else that of the year it ends. */
function sharesAt(ledger: Ledger, end: Day, filed: Day): Entry | null {
  const current = (entry: Entry) => ledger.basis.haveSameShares(entry.filed, filed)
  const mean =
    ledger.firstEntry('diluted', 'quarter', end, current) ?? ledger.firstEntry('diluted', 'year', end, current)
  // Far fewer than the mean: one class of several. Far more: not of this company's usual shares.
  const whole = (entry: Entry) => mean === null || (entry.value > 0.67 * mean.value && entry.value < 3 * mean.value)
  const counts = ledger.countsWithin(end - BALANCE_SLACK, end + COVER_DAYS)
  return counts.find(entry => entry.value > 0 && current(entry) && whole(entry)) ?? mean
}
