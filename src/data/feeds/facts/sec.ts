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
      const before = versions.get(end) ?? NOTHING_KNOWN
      const version = figuresAfterFilings(ledger, end, filed, before)
      if (version.eps === null && version.revenue === null) continue
      const newFigures = FILED_FIGURES.filter(figure => isNewFigure(version[figure], before[figure], filed))
      // If filings after a split omit these figures, the old ones are more useful than a book value alone.
      const isEpsLost = before.eps !== null && version.eps === null
      if (isEpsLost && newFigures.every(figure => figure === 'book')) continue
      versions.set(end, version)
      if (newFigures.length > 0) reports.push(reportOf(end, filed, version))
    }
  }
  return reports
}

type Figure = 'eps' | 'revenue' | 'book'
type Version = Readonly<Record<Figure, KnownFigure | null>>

const FILED_FIGURES: readonly Figure[] = ['eps', 'revenue', 'book']
const NOTHING_KNOWN: Version = { eps: null, revenue: null, book: null }

/** Filing dates ascending; of several filings on one day the amendment comes last and wins. */
function byFilingDate(facts: readonly FiledFact[]): [Day, FiledFact[]][] {
  const filings = Map.groupBy(
    facts.filter(({ form }) => isReportForm(form)),
    ({ filed }) => filed,
  )
  const rankOfForm = ({ form }: FiledFact) => {
    if (form.endsWith('/A')) return 2
    return form.startsWith('10-') ? 1 : 0
  }
  for (const filing of filings.values()) filing.sort((a, b) => rankOfForm(a) - rankOfForm(b))
  return [...filings].sort(([a], [b]) => a - b)
}

/**
 * The figures of a quarter as known after the filings of a day.
 * @param end the last day of the quarter
 * @param filed the day of the filings, which the ledger already has
 * @param before the figures known before
 */
function figuresAfterFilings(ledger: Ledger, end: Day, filed: Day, before: Version): Version {
  const ifNoSplit = (known: KnownFigure | null) =>
    known !== null && ledger.basis.noSplitBetween(known.filed, filed) ? known : null
  const newFigure = (figure: 'eps' | 'revenue') => {
    const stated = statedFigure(ledger, figure, end, filed)
    // A difference of rounded figures does not replace a quarter's filed figure.
    if (stated !== null || before[figure]?.stated) return stated
    const derived = derivedFigure(ledger, figure, end)
    return derived?.filed === filed ? derived : null
  }
  return {
    eps: latestFigure('eps', newFigure('eps'), before, ifNoSplit(before.eps)),
    revenue: latestFigure('revenue', newFigure('revenue'), before, before.revenue),
    book: latestFigure('book', bookValue(ledger, end, filed), before, ifNoSplit(before.book)),
  }
}

/**
 * The latest value of a figure: the new one, or the earlier one where the new one only repeats it. A repeated value is
 * of the later filing, and `stated` (not calculated) if one of the two is.
 * @param carried the result without a new one: the earlier value if it may be carried over
 */
function latestFigure(
  figure: Figure,
  now: KnownFigure | null,
  before: Version,
  carried: KnownFigure | null,
): KnownFigure | null {
  if (now === null) return carried
  const earlier = before[figure]
  if (earlier === null || !isRepeat(figure, now, earlier)) return now
  return { value: earlier.value, filed: Math.max(now.filed, earlier.filed), stated: now.stated || earlier.stated }
}

/** Whether a figure only repeats an earlier one. One calculated from others may differ by rounding. */
function isRepeat(figure: Figure, now: KnownFigure, before: KnownFigure): boolean {
  if (now.stated) return now.value === before.value
  const rounding = figure === 'eps' ? 0.015 : 0.005 * Math.max(Math.abs(now.value), Math.abs(before.value))
  return Math.abs(now.value - before.value) <= rounding
}

/** Whether a figure is from the filings of a day, and differs from the earlier one. */
function isNewFigure(now: KnownFigure | null, before: KnownFigure | null, filed: Day): boolean {
  return now !== null && now.filed === filed && now.value !== before?.value
}

function reportOf(end: Day, known: Day, { eps, revenue, book }: Version): Report {
  const figures = { eps: eps?.value ?? null, revenue: revenue?.value ?? null, book_value_ps: book?.value ?? null }
  return { period_end: end, known, session: null, ...figures, basis: 'filed' }
}

interface KnownFigure {
  value: number
  /** The date of the last filing from which it comes. */
  filed: Day
  /** Whether a filing has the figure; otherwise it is calculated from others. */
  stated: boolean
}

/** Periods of one financial year start on the same day, give or take a slip. */
const MAX_START_DIFFERENCE_DAYS = 5
/** A count from the cover of a report is of a day some weeks after the quarter. */
const MAX_DAYS_TO_COVER_COUNT = 75
const MAX_DAYS_BEFORE_END = 7

/** A figure of a quarter as one filing date states it, null when it does not. */
function statedFigure(ledger: Ledger, figure: 'eps' | 'revenue', end: Day, filed: Day): KnownFigure | null {
  const entry = ledger.firstEntry(figure, 'quarter', end, candidate => candidate.filed === filed)
  return entry === null ? null : { value: entry.value, filed, stated: true }
}

/**
 * A figure of the last quarter of a financial year: the year's minus that of its first nine months, or of its first
 * three quarters. Null where they are not known, or not of one kind: before and after a restatement or a split.
 */
function derivedFigure(ledger: Ledger, figure: 'eps' | 'revenue', end: Day): KnownFigure | null {
  // Filings change a figure's name between years. One name on both sides is surer, so single names are tried first.
  const nameLists = FIGURES[figure].concepts.map(concept => ledger.interchangeableNames(figure, concept))
  for (const names of [...nameLists.map(([concept]) => [concept!]), ...nameLists]) {
    // The year under the first name; its parts under any of the names.
    const year = findPart(ledger, names.slice(0, 1), 'year', end)
    if (year === null) continue
    const candidates = [nineMonthsPart(ledger, names, end, year), threeQuarterParts(ledger, names, end, year)]
    const parts = candidates.find(list => list?.every(part => isSubtractable(ledger, figure, year, part)))
    if (!parts) continue
    const value = parts.reduce((rest, part) => rest - part.value, year.value)
    const filed = Math.max(year.filed, ...parts.map(part => part.filed))
    return { value: Math.round(value * 1e6) / 1e6, filed, stated: false }
  }
  return null
}

/** Equity per share at the end of a quarter; null if it is not known. The shares are counted as on the day `filed`. */
function bookValue(ledger: Ledger, end: Day, filed: Day): KnownFigure | null {
  const equity = ledger.firstEntry('equity', 'day', end)
  if (equity === null) return null
  const shares = sharesAt(ledger, end, filed)
  if (shares === null) return null
  return { value: equity.value / shares.value, filed: Math.max(equity.filed, shares.filed), stated: false }
}

interface PeriodFigure extends Entry {
  /** The mean number of shares of the same period. */
  shares: Entry | null
}

/** The figure of the first nine months of a year, as the only element of a list; null if it is not known. */
function nineMonthsPart(ledger: Ledger, names: readonly string[], end: Day, year: PeriodFigure): PeriodFigure[] | null {
  const parts = ledger.endsOneQuarterBefore(end).map(before => findPart(ledger, names, 'nine_months', before))
  const nineMonths = parts.find(part => part !== null && startOnSameDay(part, year))
  return nineMonths ? [nineMonths] : null
}

/** The figures of the three quarters before one that ends a year, latest first; null if one is not known. */
function threeQuarterParts(
  ledger: Ledger,
  names: readonly string[],
  end: Day,
  year: PeriodFigure,
): PeriodFigure[] | null {
  const parts: PeriodFigure[] = []
  let laterEnd = end
  while (parts.length < 3) {
    const ends = ledger.endsOneQuarterBefore(laterEnd)
    const quarterEnd = ends.find(day => findPart(ledger, names, 'quarter', day) !== null)
    if (quarterEnd === undefined) return null
    parts.push(findPart(ledger, names, 'quarter', quarterEnd)!)
    laterEnd = quarterEnd
  }
  return startOnSameDay(parts[2]!, year) ? parts : null
}

/** A figure of a period under the first name that has one, with the shares of the period; null if there is none. */
function findPart(ledger: Ledger, names: readonly string[], term: Term, end: Day): PeriodFigure | null {
  const [entry] = names.flatMap(concept => ledger.entry(concept, term, end) ?? [])
  return entry === undefined ? null : { ...entry, shares: ledger.firstEntry('diluted', term, end) }
}

/** Whether two periods start on the same day, up to MAX_START_DIFFERENCE_DAYS. */
function startOnSameDay(one: Entry, other: Entry): boolean {
  return Math.abs(one.start! - other.start!) <= MAX_START_DIFFERENCE_DAYS
}

/** Whether a partial year's figure may be subtracted from the year's figure. */
function isSubtractable(ledger: Ledger, figure: 'eps' | 'revenue', year: PeriodFigure, part: PeriodFigure): boolean {
  // A restated figure may count other things, so the other must have been filed again since the restatement.
  if ((year.restated && part.filed < year.since) || (part.restated && year.filed < part.since)) return false
  if (figure === 'revenue') return true
  // Figures a share add up over a year only while the shares are about as many: not across a split or a flotation.
  const ratio = year.shares === null || part.shares === null ? 1 : part.shares.value / year.shares.value
  return ledger.basis.noSplitBetween(year.filed, part.filed) && Math.abs(ratio - 1) < 0.1
}

/** The number of shares at a quarter's end: a count of about that day, else the mean of quarter or year; else null. */
function sharesAt(ledger: Ledger, end: Day, filed: Day): Entry | null {
  // A filing before a split counts other shares than those of the day `filed`.
  const hasNoSplit = (entry: Entry) => ledger.basis.noSplitBetween(entry.filed, filed)
  const meanCount =
    ledger.firstEntry('diluted', 'quarter', end, hasNoSplit) ?? ledger.firstEntry('diluted', 'year', end, hasNoSplit)
  // Far fewer than the mean: one class of several. Far more: not of this company's usual shares.
  const isPlausibleCount = (entry: Entry) =>
    meanCount === null || (entry.value > 0.67 * meanCount.value && entry.value < 3 * meanCount.value)
  const counts = ledger.countsWithin(end - MAX_DAYS_BEFORE_END, end + MAX_DAYS_TO_COVER_COUNT)
  return counts.find(entry => entry.value > 0 && hasNoSplit(entry) && isPlausibleCount(entry)) ?? meanCount
}
