import type { Day } from '../../../core/model/day.js'

/**
 * Which filings of a company count the same shares. Filings show it: one after a split restates the share counts and
 * per-share figures of earlier periods. One that repeats them unchanged has seen no split.
 */
class ShareBasis {
  readonly #splits: Split[] = []
  readonly #spansWithoutSplit: Span[] = []

  /** Whether no split is known or possible between two filing dates. */
  noSplitBetween(filedA: Day, filedB: Day): boolean {
    const between = { after: Math.min(filedA, filedB), upTo: Math.max(filedA, filedB) }
    return !this.#splits.some(split => spansOverlap(split, between))
  }

  /** Notes that a figure of one period was stated at both ends of a span. @param ratio shares now per share then */
  addObservation(span: Span, ratio: number): void {
    if (Math.abs(ratio - 1) < 0.02) this.#spansWithoutSplit.push(span)
    else this.#addSplit({ ...span, ratio })
    for (const spanWithoutSplit of this.#spansWithoutSplit)
      for (const split of this.#splits) cutOff(split, spanWithoutSplit)
  }

  /**
   * Adds a split, or narrows a known one: overlapping spans with the same ratio are the same split, in the overlap. A
   * ratio that is the product of overlapping known splits adds nothing.
   */
  #addSplit(newSplit: Split): void {
    const overlapping = this.#splits.filter(split => spansOverlap(split, newSplit))
    const sameSplit = overlapping.find(split => isCloseRatio(split.ratio, newSplit.ratio))
    if (sameSplit !== undefined) {
      sameSplit.after = Math.max(sameSplit.after, newSplit.after)
      sameSplit.upTo = Math.min(sameSplit.upTo, newSplit.upTo)
      return
    }
    const product = overlapping.reduce((ratio, split) => ratio * split.ratio, 1)
    if (!isCloseRatio(product, newSplit.ratio)) this.#splits.push(newSplit)
  }
}

/** The days after one filing date, up to another. */
interface Span {
  after: Day
  upTo: Day
}

interface Split extends Span {
  ratio: number
}

function spansOverlap(one: Span, other: Span): boolean {
  return Math.max(one.after, other.after) < Math.min(one.upTo, other.upTo)
}

/** Cuts a span without splits off a split's span; does nothing where it covers the split, as the two contradict. */
function cutOff(split: Split, spanWithoutSplit: Span): void {
  if (!spansOverlap(split, spanWithoutSplit)) return
  const startsInside = spanWithoutSplit.after <= split.after
  const endsInside = spanWithoutSplit.upTo >= split.upTo
  if (startsInside && !endsInside) split.after = spanWithoutSplit.upTo
  else if (endsInside && !startsInside) split.upTo = spanWithoutSplit.after
}

/** Whether two ratios are equal within 15 %: ratios of figures that are rounded to cents are not exact. */
function isCloseRatio(one: number, other: number): boolean {
  return Math.abs(one / other - 1) < 0.15
}

/** One figure as one filing states it. */
export interface FiledFact {
  /** Name without its taxonomy: `EarningsPerShareDiluted`. */
  concept: string
  /** `USD`, `USD/shares`, `shares`. */
  unit: string
  /** First day of the period; null for a figure of one day. */
  start: Day | null
  end: Day
  value: number
  form: string
  filed: Day
}

/** The figures of a report. A figure may have several names; in one filing the first name with a value counts. */
export const FIGURES = {
  // A company at a loss often states one figure that is both.
  eps: { unit: 'USD/shares', concepts: ['EarningsPerShareDiluted', 'EarningsPerShareBasicAndDiluted'] },
  revenue: {
    unit: 'USD',
    concepts: [
      'Revenues',
      'RevenueFromContractWithCustomerExcludingAssessedTax',
      'RevenueFromContractWithCustomerIncludingAssessedTax',
      'SalesRevenueNet',
    ],
  },
  income: { unit: 'USD', concepts: ['NetIncomeLoss'] },
  equity: { unit: 'USD', concepts: ['StockholdersEquity'] },
  /** Shares on one day: on the balance sheet, or on the cover some weeks later. */
  count: { unit: 'shares', concepts: ['CommonStockSharesOutstanding', 'EntityCommonStockSharesOutstanding'] },
  /** Shares of a period. */
  diluted: {
    unit: 'shares',
    concepts: [
      'WeightedAverageNumberOfDilutedSharesOutstanding',
      'WeightedAverageNumberOfShareOutstandingBasicAndDiluted',
    ],
  },
} as const satisfies Record<string, { unit: string; concepts: readonly string[] }>

type Figure = keyof typeof FIGURES

export const REPORT_CONCEPTS: ReadonlySet<string> = new Set(Object.values(FIGURES).flatMap(({ concepts }) => concepts))

const UNIT_OF_CONCEPT: ReadonlyMap<string, string> = new Map(
  Object.values(FIGURES).flatMap(({ unit, concepts }) => concepts.map(concept => [concept, unit])),
)

function isReadUnit(concept: string, unit: string): boolean {
  return UNIT_OF_CONCEPT.get(concept) === unit
}

/** Statements of periods and their amendments; a proxy statement or a prospectus repeats figures in other frames. */
export function isReportForm(form: string): boolean {
  return /^(10-[QK]T?|20-F|40-F|6-K|8-K)(\/A)?$/.test(form)
}

/** Why a fact is not read for reports; null when it is. */
export function whyNotRead({ concept, unit, form }: Pick<FiledFact, 'concept' | 'unit' | 'form'>): string | null {
  if (!REPORT_CONCEPTS.has(concept)) return 'facts are of concepts that no report is made of'
  if (!isReportForm(form)) return 'facts are in filings other than reports and are not read'
  return isReadUnit(concept, unit) ? null : 'facts are in units that are not read'
}

/** Days between period ends that mean the same quarter: some filings give the end of the month instead. */
const PERIOD_END_SLACK_DAYS = 7

/** The figures that a company's filings up to a date state, each as stated last. */
export class Ledger {
  readonly basis = new ShareBasis()
  /** Ends of periods, in the order in which filings first state them. */
  readonly periodEnds: Day[] = []
  readonly #entries = new Map<string, Entry>()
  readonly #countDays = new Set<Day>()
  readonly #conflictingNames = new Set<string>()

  /**
   * Adds the facts filed on a date, in the order in which they count. A figure that was filed before also shows whether
   * shares were split since. Two names with different values in one filing are not interchangeable.
   */
  addFiling(filed: Day, facts: readonly FiledFact[]): void {
    const items = facts.flatMap(fact => this.#readableItem(fact))
    const newEntries: NewEntry[] = []
    for (const item of items) {
      if (isImplausibleShareCount(item, items)) continue
      const key = keyOf(item.concept, item.term, item.end)
      const before = this.#entries.get(key)
      newEntries.push({ item, before })
      this.#entries.set(key, entryAfter(item, before, filed))
      if (item.figure === 'count') this.#countDays.add(item.end)
    }
    for (const newEntry of newEntries) {
      for (const other of items)
        if (contradicts(newEntry.item, other)) this.#conflictingNames.add(`${newEntry.item.concept} ${other.concept}`)
      const ratio = sharesRatio(newEntry, newEntries)
      if (ratio !== null) this.basis.addObservation({ after: newEntry.before!.filed, upTo: filed }, ratio)
    }
  }

  /** The value of a concept for a period; undefined if no filing states it. */
  entry(concept: string, term: Term, end: Day): Entry | undefined {
    return this.#entries.get(keyOf(concept, term, end))
  }

  /** The value of a figure: the first of its names with an entry that `accept` takes. */
  firstEntry(figure: Figure, term: Term, end: Day, accept: (entry: Entry) => boolean = () => true): Entry | null {
    for (const concept of FIGURES[figure].concepts) {
      const entry = this.entry(concept, term, end)
      if (entry !== undefined && accept(entry)) return entry
    }
    return null
  }

  /** The names of a figure that no filing has used for two different values, starting with `concept`. */
  interchangeableNames(figure: Figure, concept: string): string[] {
    const others = FIGURES[figure].concepts.filter(other => other !== concept)
    return [concept, ...others.filter(other => !this.#conflictingNames.has(`${concept} ${other}`))]
  }

  /** Share counts of the days from..to, those of balance sheets first, then the earliest. */
  countsWithin(from: Day, to: Day): Entry[] {
    const days = [...this.#countDays].filter(day => day >= from && day <= to).sort((a, b) => a - b)
    return FIGURES.count.concepts.flatMap(concept => days.flatMap(day => this.entry(concept, 'day', day) ?? []))
  }

  /** The period ends that are about a quarter before another. */
  endsOneQuarterBefore(end: Day): Day[] {
    return this.periodEnds.filter(earlier => isQuarter(end - earlier))
  }

  /** The fact as an item (figure, period and value), in a list; an empty list for a fact that is not read. */
  #readableItem({ concept, unit, start, end, value }: FiledFact): Item[] {
    const figure = FIGURE_OF.get(concept)
    if (figure === undefined || !isReadUnit(concept, unit) || !Number.isFinite(value)) return []
    const term = start === null ? 'day' : termOf(end - start)
    // A balance is of one day, any other figure of a period.
    const isBalance = figure === 'equity' || figure === 'count'
    if (term === null || isBalance !== (term === 'day')) return []
    // Filings state the end of one period some days apart, so a known end counts. A balance keeps its own day, because
    // that of the next day may follow a new rule of accounting.
    return [{ figure, concept, term, start, end: term === 'day' ? end : this.#periodEndNear(end), value }]
  }

  /** The known period end within PERIOD_END_SLACK_DAYS of a day; otherwise the day itself, which becomes known. */
  #periodEndNear(end: Day): Day {
    const known = this.periodEnds.find(other => Math.abs(other - end) <= PERIOD_END_SLACK_DAYS)
    if (known === undefined) this.periodEnds.push(end)
    return known ?? end
  }
}

const FIGURE_OF: ReadonlyMap<string, Figure> = new Map(
  (Object.keys(FIGURES) as Figure[]).flatMap(figure => FIGURES[figure].concepts.map(concept => [concept, figure])),
)

function keyOf(concept: string, term: Term, end: Day): string {
  return `${concept} ${term} ${end}`
}

/** The kind of a period of some days; null for other lengths. */
function termOf(days: number): Term | null {
  if (isQuarter(days)) return 'quarter'
  if (days >= 250 && days <= 290) return 'nine_months'
  return days >= 340 && days <= 380 ? 'year' : null
}

function isQuarter(days: number): boolean {
  return days >= 70 && days <= 110
}

/** Whether two names of a figure have different values for the same period: then the names are not interchangeable. */
function contradicts(one: Item, other: Item): boolean {
  const isSameFigure = one.figure === other.figure && one.term === other.term && one.end === other.end
  return isSameFigure && one.concept !== other.concept && differsBeyondRounding(one, other.value)
}

/**
 * Whether a number of diluted shares cannot be right, for example in thousands. Net income divided by earnings per
 * share in the same filing differs from it by more than a factor of 5. If the filing lacks one, or it is near 0, only a
 * number that is not positive is implausible.
 */
function isImplausibleShareCount(item: Item, filing: readonly Item[]): boolean {
  if (item.figure !== 'diluted') return false
  const statedValue = (figure: Figure) =>
    filing.find(other => other.figure === figure && other.term === item.term && other.end === item.end)?.value
  const eps = statedValue('eps')
  const income = statedValue('income')
  if (eps === undefined || income === undefined || Math.abs(eps) < 0.01 || income === 0) return item.value <= 0
  const ratioToExpected = item.value / Math.abs(income / eps)
  return ratioToExpected < 0.2 || ratioToExpected > 5
}

/** The length of a figure's period; `day` for a balance. */
export type Term = 'day' | 'quarter' | 'nine_months' | 'year'

/** A value in a filing, and its slot: concept and period. */
interface Item {
  figure: Figure
  concept: string
  term: Term
  start: Day | null
  end: Day
  value: number
}

/** A figure as the filings so far state it. */
export interface Entry {
  value: number
  start: Day | null
  /** The first filing that states this value, and the last. */
  since: Day
  filed: Day
  /** Whether an earlier filing stated another value. */
  restated: boolean
}

/** The entry of a slot (concept and period) after a filing. Another value filed on the same day replaces the first. */
function entryAfter(item: Item, before: Entry | undefined, filed: Day): Entry {
  const { value, start } = item
  if (before === undefined) return { value, start, since: filed, filed, restated: false }
  if (!differsBeyondRounding(item, before.value)) return { ...before, value, filed }
  if (before.filed === filed) return { ...before, value }
  return { value, start, since: filed, filed, restated: true }
}

/** Whether two values of a concept differ by more than rounding. */
export function conceptValuesDiffer(concept: string, value: number, other: number): boolean {
  const figure = FIGURE_OF.get(concept)
  return figure !== undefined && differsBeyondRounding({ figure, value }, other)
}

/** Whether a value differs from the earlier one by more than rounding. */
function differsBeyondRounding({ figure, value }: Pick<Item, 'figure' | 'value'>, before: number): boolean {
  const rounding = figure === 'eps' ? 0.006 : 0.001 * Math.max(Math.abs(value), Math.abs(before))
  return value !== before && Math.abs(value - before) >= rounding
}

/** An item of the present filing, and the entry that earlier filings made of its slot. */
interface NewEntry {
  item: Item
  before: Entry | undefined
}

/** The largest ratio of a split; a larger change is one of unit, such as to thousands. */
const MAX_SHARES_RATIO = 60

/**
 * The number of present shares per earlier share, judged by a figure from an earlier filing: 1 when the figure is the
 * same, null when it is no evidence. Share counts are the best evidence. Earnings per share count only if the filing
 * has no share count for the period and nothing else explains the change.
 */
function sharesRatio({ item, before }: NewEntry, filing: readonly NewEntry[]): number | null {
  if (before === undefined || (item.figure !== 'diluted' && item.figure !== 'eps')) return null
  if (item.figure === 'diluted') return ratioOfCounts(before.value, item.value)
  const samePeriod = filing.filter(entry => entry.item.term === item.term && entry.item.end === item.end)
  if (samePeriod.some(other => other.item.figure === 'diluted' && other.before !== undefined)) return null
  const ratio = ratioOfEarnings(before.value, item.value)
  // A restatement that also changed revenue explains a change of earnings per share.
  return ratio !== 1 && samePeriod.some(isRestatedRevenue) ? null : ratio
}

/** The ratio of two share counts: 1 when equal up to rounding, null when it is too small or too large for a split. */
function ratioOfCounts(then: number, now: number): number | null {
  const ratio = now / then
  if (Math.abs(ratio - 1) < 0.02) return 1
  return Math.abs(ratio - 1) < 0.05 || ratio > MAX_SHARES_RATIO || ratio < 1 / MAX_SHARES_RATIO ? null : ratio
}

/**
 * The ratio of shares that two earnings per share show: 1 when equal up to rounding, null when it is no simple
 * fraction. They are rounded to cents, so their ratio is a range.
 */
function ratioOfEarnings(then: number, now: number): number | null {
  if (then * now <= 0) return null
  const absThen = Math.abs(then)
  const absNow = Math.abs(now)
  // Each may be off by half a cent. Figures of few cents give a range too wide to be evidence.
  const low = (absThen - 0.005) / (absNow + 0.005)
  const high = (absThen + 0.005) / (absNow - 0.005)
  if (!(low > 0) || !(high / low < 1.3)) return null
  if (low <= 1 && high >= 1) return 1
  return containsSimpleFraction(low, high) || containsSimpleFraction(1 / high, 1 / low) ? absThen / absNow : null
}

/** Whether a range contains a fraction such as 3/2, 4 or 20: from 1.2 to MAX_SHARES_RATIO, over at most 4. */
function containsSimpleFraction(low: number, high: number): boolean {
  return [1, 2, 3, 4].some(denominator => {
    const numerator = Math.ceil(low * denominator)
    const fraction = numerator / denominator
    return numerator <= high * denominator && fraction >= 1.2 && fraction <= MAX_SHARES_RATIO
  })
}

function isRestatedRevenue({ item, before }: NewEntry): boolean {
  return item.figure === 'revenue' && before !== undefined && differsBeyondRounding(item, before.value)
}
